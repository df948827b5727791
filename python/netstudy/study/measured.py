"""The part `measured` of a study: files with runs that were measured elsewhere.

A study with this part has no topology and no workload; its factors are labels. A pattern names
files relative to the study's folder. `{driver}` in it stands for the level of the factor `driver`
and `{replicate}` for the number of a repetition; any other name in braces stands for a text that
may be the block. `*` stands for any text inside the name of a file or folder.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Annotated, ClassVar, Final

from pydantic import Field, model_validator

from netstudy.documents.fields import Choice, NameValue, Typed, WholeValue, WordsValue
from netstudy.documents.shapes import OneOrMore, Short
from netstudy.documents.validation import Model, fault
from netstudy.formats import formats
from netstudy.formats.measured import Better
from netstudy.study.levels import LevelValue
from netstudy.study.outcome import MeasuredTable
from netstudy.study.vocabulary import Quantity
from netstudy.study.workloads import Workload
from netstudy.study.workloads.base import STATISTICS, MetricWords, Spec, WorkloadMetric
from netstudy.wire import Level

MEASURED: Final = "measured"
"""The key of this part, and the kind of workload of its runs."""
REPLICATE: Final = "replicate"
"""The name in a pattern that stands for the number of a repetition."""
OF_THE_RUN: Final = ("dir", "stem")
"""Names in a pattern for files of hosts: the folder of the run's own file, and its name without the
last suffix."""
PLACEHOLDER: Final = re.compile(r"\{([^{}]*)\}")

Patterns = Annotated[tuple[WordsValue, ...], OneOrMore()]
"""One pattern or a list of them."""


class DeclaredMetric(Model):
    """A metric that the study itself declares."""

    better: Annotated[
        Better, Typed(Choice(("lower", "higher", "neither"), "a direction"), refs=False)
    ]
    """The better direction: lower, higher or neither."""
    unit: WordsValue = ""
    """Unit of the values; by default none, for a plain count."""
    decimals: WholeValue = 2
    """Decimals that tables print."""
    label: WordsValue | None = None
    """Its name in the middle of a sentence; by default, the metric's name."""


class FilesAt(Model):
    """Files that were measured at the same levels."""

    files: Patterns
    """Patterns; each file is a repetition."""
    at: dict[NameValue, LevelValue] = Field(default_factory=dict)
    """Factor -> the level at which they were measured, for factors that no pattern names."""


class MeasuredRuns(Spec):
    """Runs that were measured elsewhere."""

    files: Annotated[
        tuple[Annotated[FilesAt, Short("files", "a pattern of files")], ...], OneOrMore()
    ] = ()
    """Patterns that name the factors, such as `lab/{driver}/{clients}c-{replicate}.json`, or files
    with their levels. The format of a file is recognised by its content."""
    hosts: dict[NameValue, Patterns] = Field(default_factory=dict)
    """Host -> patterns for files that were recorded on this host during the same runs, by sadf,
    nstat, ss, tc or ethtool. Names in braces are as in `files`; `{dir}` and `{stem}` stand for the
    folder of the run's own file and its name without the last suffix. A file of several runs is cut
    to the time of each run."""
    tables: Annotated[tuple[MeasuredTable, ...], OneOrMore()] = ()
    """CSV files with columns that the study names."""
    block: NameValue | None = None
    """The name in `files` that stands for the block of a run: the session or day in which it was
    measured. By default, a gap in time above ten times the median one begins a new block."""

    timed: ClassVar[bool] = False

    @model_validator(mode="after")
    def _names_files(self) -> MeasuredRuns:
        if not self.files and not self.tables:
            raise fault("needs files, or tables")
        if self.hosts and not self.files:
            raise fault("belong to runs of files, and there are none", "hosts")
        return self

    @property
    def words(self) -> MetricWords:  # type: ignore[override]  # depends on the formats there are
        """Everything that a format of load generators measures."""
        return MetricWords(metrics_of_files(), {})

    @property
    def patterns(self) -> Iterator[tuple[int, int, str, Mapping[str, Level]]]:
        """Each pattern of `files` with its levels, after its two indices in the file."""
        for index, one in enumerate(self.files):
            for number, text in enumerate(one.files):
                yield index, number, text, one.at

    @property
    def names(self) -> set[str]:
        """The names in braces in `files`."""
        return {name for _, _, text, _ in self.patterns for name in PLACEHOLDER.findall(text)}


class WorkloadOfFiles(Workload):
    """Stands for the workload of a study whose runs were measured elsewhere."""

    measured: MeasuredRuns

    @classmethod
    def of(cls, runs: MeasuredRuns) -> WorkloadOfFiles:
        """The workload of these runs."""
        return cls.model_construct(measured=runs)


def declared(label: str) -> WorkloadMetric:
    """A metric that files give. Which statistics and samples there are is known once they are
    read."""
    return WorkloadMetric(label, STATISTICS, samples="each", by_second=True)


def metrics_of_files() -> dict[str, WorkloadMetric]:
    """Every quantity of a format, as a metric of runs."""
    return {one.name: declared(one.label) for form in formats() for one in form.quantities}


def metrics_of_hosts() -> dict[str, Quantity]:
    """Every quantity of a format, as a metric of hosts."""
    return {
        one.name: Quantity(one.label, at_port=True) for form in formats() for one in form.quantities
    }
