"""The interface that each kind of conclusion offers to the rest of a study."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import ClassVar, Protocol

from pydantic import Field

from netstudy.documents.fields import NameValue, WordsValue
from netstudy.documents.problems import Path, Problem
from netstudy.documents.validation import Model
from netstudy.study.levels import LevelValue
from netstudy.study.vocabulary import MetricName
from netstudy.wire import Level


class Checks(Protocol):
    """Checks of the names that a conclusion uses; each gives the problems it finds, with their
    places in the study's file."""

    def problem(self, path: Path, message: str) -> Problem:
        """A problem at this place."""

    def factor(self, path: Path, name: str) -> Iterator[Problem]:
        """A factor that no test case of the conclusion has."""

    def level(self, path: Path, factor: str, level: Level | None) -> Iterator[Problem]:
        """A level that the factor does not have. None if no level is given, or if the study has no
        such factor, which `factor` reports."""

    def metric(self, path: Path, metric: MetricName) -> Iterator[Problem]:
        """A metric that the study does not measure."""

    def column(self, path: Path, name: MetricName | str) -> Iterator[Problem]:
        """A name that is neither a factor of the conclusion's test cases nor a metric that the
        study measures."""

    def metrics(self, path: Path, metrics: Iterable[MetricName]) -> Iterator[Problem]:
        """Metrics in a list at `path` that the study does not measure."""

    def base(
        self, path: Path, factor: str, base: Level | None, on: Collection[MetricName]
    ) -> Iterator[Problem]:
        """A base level that the factor does not have, or that differs from the 100 % of a table
        with one of the metrics. None: the first level."""


class Conclusion(Model):
    """Keys that all conclusions have."""

    compares: ClassVar[bool] = False
    """Whether the conclusion compares levels in the way of a study's `compare`, so that it needs
    replicates."""
    repetitions_min: ClassVar[int] = 1
    """Fewest repetitions of a setting for this conclusion."""

    case: WordsValue | None = None
    """The test case from which the conclusion is drawn; by default, all test cases."""
    at: dict[NameValue, LevelValue] = Field(default_factory=dict)
    """Levels at which the conclusion is drawn."""

    @classmethod
    def key(cls) -> str:
        """The key that identifies the kind: the first key that only this kind has."""
        fields = cls.model_fields
        own = next(name for name in fields if name not in Conclusion.model_fields)
        return fields[own].alias or own

    @property
    def title(self) -> str:
        """The kind and its subject, as a heading."""
        return self.key()

    @property
    def metrics(self) -> tuple[MetricName, ...]:
        """The metrics that the conclusion names."""
        return ()

    @property
    def needs(self) -> tuple[MetricName, ...]:
        """The named metrics that must have values."""
        return self.metrics

    def problems(self, checks: Checks, path: Path) -> Iterator[Problem]:  # noqa: ARG002  # of kinds
        """Problems of the keys that only this kind has; `path` is the conclusion's place in the
        file."""
        yield from ()
