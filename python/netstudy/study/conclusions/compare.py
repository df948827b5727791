"""`compare`: the levels of a factor, compared with a base level."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from netstudy.documents.fields import NameValue
from netstudy.documents.problems import Path, Problem
from netstudy.study.conclusions.base import Checks, Conclusion
from netstudy.study.levels import LevelValue
from netstudy.study.outcome import Metrics
from netstudy.study.vocabulary import MetricName


class Comparison(Conclusion):
    """A comparison of the levels of a factor with a base level."""

    compares: ClassVar[bool] = True

    compare: NameValue
    """The factor whose levels are compared."""
    base: LevelValue | None = None
    """The level that the others are compared with; by default, the first."""
    on: Metrics = ()
    """Metrics to compare."""

    @property
    def metrics(self) -> tuple[MetricName, ...]:
        """The metrics to compare."""
        return self.on

    @property
    def title(self) -> str:
        """The key and the factor."""
        return f"{self.key()} {self.compare}"

    def problems(self, checks: Checks, path: Path) -> Iterator[Problem]:
        """An unknown factor or base, and metrics that the study does not measure."""
        yield from checks.factor((*path, "compare"), self.compare)
        yield from checks.metrics((*path, "on"), self.on)
        yield from checks.base((*path, "base"), self.compare, self.base, self.on)
