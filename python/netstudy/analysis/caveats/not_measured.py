"""Metrics that the study names, but that have no value."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from netstudy.analysis.asked import asked_metrics
from netstudy.analysis.caveats.base import Analysed, Caveat, Planned
from netstudy.analysis.cells import CellTable
from netstudy.analysis.claims import Claim
from netstudy.analysis.metrics import Metric
from netstudy.analysis.named import figure_named, metric_named
from netstudy.analysis.workloads import further_of, metrics_of
from netstudy.study.undrawn import shown
from netstudy.study.vocabulary import MetricName


@dataclass(frozen=True)
class NotMeasured(Caveat):
    """A metric that the study names, but that no run measured."""

    metric: Metric
    places: tuple[str, ...]
    """Paths in the study where it is named."""

    @classmethod
    def in_results(cls, analysed: Analysed) -> Iterator[NotMeasured]:
        """One caveat for each metric. Leaves out metrics for which the study gives a reason, or
        that merely have too few samples."""
        study, cells = analysed.planned.study, analysed.cells
        explained = {empty.column for _, table in study.tables for empty in table.empty}
        places: dict[Metric, dict[str, None]] = {}
        for path, name in asked_metrics(study):
            metric = metric_named(name, cells.vocabulary)
            if metric is not None and name not in explained and _is_missing(metric, cells):
                places.setdefault(metric, {})[path] = None
        for place, figure in study.figures:
            metric = figure_named(figure.name, cells.vocabulary) if figure.name else None
            if metric is not None and _is_missing(metric, cells):
                places.setdefault(metric, {})[shown(place)] = None
        return (cls(metric, tuple(paths)) for metric, paths in places.items())

    def forbids(self, claim: Claim) -> bool:
        """Claims about this metric."""
        return claim.metric == self.metric


@dataclass(frozen=True)
class NotInData(Caveat):
    """A part of the study for which tables or files have no values: such a study is refused."""

    path: str
    """Path of the part in the study."""
    data: str
    """The kind of data: published data, or files."""


@dataclass(frozen=True)
class MetricNotInData(NotInData):
    """A metric that the tables or files do not give."""

    name: MetricName


@dataclass(frozen=True)
class FigureNotInData(NotInData):
    """A figure of a metric that the tables or files do not give."""

    name: str


@dataclass(frozen=True)
class SamplesNotInData(NotInData):
    """A figure of samples, which values of a table are not."""

    kind: str


def not_in_data(planned: Planned) -> Iterator[NotInData]:
    """Each part that the tables or files lack; none if they have all that the study names."""
    metrics = (*metrics_of(planned.plan), *further_of(planned.plan))
    is_measured = planned.study.is_measured
    data = "files" if is_measured else "published data"
    for path, asked in dict.fromkeys(asked_metrics(planned.study)):
        if not is_given(asked, metrics):
            yield MetricNotInData(path, data, asked)
    for place, figure in planned.study.figures:
        if figure.name is not None and figure_named(figure.name, metrics) is None:
            yield FigureNotInData(shown(place), data, figure.name)
        elif not is_measured and (figure.kind == "time series" or figure.is_distribution):
            yield SamplesNotInData(shown(place), data, figure.kind)


def _is_missing(metric: Metric, cells: CellTable) -> bool:
    rows = [row for row in cells.rows if row.runs]
    return bool(rows) and all(
        row.estimate(metric) is None and row.lacking(metric) is None for row in rows
    )


def is_given(name: MetricName, metrics: Sequence[Metric]) -> bool:
    """Whether one of the metrics has that name; a name without a statistic means the mean."""
    return any(metric.name in name.spellings for metric in metrics)
