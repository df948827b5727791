"""Finds parts of a study that name missing values. Before a run, they are refused if the published
data lack the values; after a run, they are reported if no run measured the values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from netstudy.analysis.metrics import Metric
from netstudy.analysis.named import figure_named, metric_named
from netstudy.analysis.order_statistics import Lacking
from netstudy.analysis.workloads import metrics_of
from netstudy.study.not_reported import shown
from netstudy.study.vocabulary import MetricName
from netstudy.wire import Plan

if TYPE_CHECKING:
    from netstudy.analysis.cells import CellTable
    from netstudy.documents.problems import Path
    from netstudy.study import Study

Wanted = tuple[str, MetricName]
"""A path in the study, and the metric that the study names there."""


def not_given(study: Study, plan: Plan) -> list[str]:
    """One sentence for each part that the published data lack; empty if they contain everything
    that the study names."""
    metrics = metrics_of(plan)
    return [
        *(
            f"{path} asks for {name}, which the published data do not give; {_advice(path)}."
            for path, name in dict.fromkeys(_wanted(study))
            if not is_given(name, metrics)
        ),
        *_figures(study, metrics),
    ]


def not_measured(study: Study, cells: CellTable) -> dict[str, Metric]:
    """Path in the study -> the metric that is named there but has no value in any cell. Leaves out
    metrics for which the study gives a reason, or that merely have too few samples."""
    explained = {empty.column for _, table in study.tables for empty in table.empty}
    found: dict[str, Metric] = {}
    for path, name in _wanted(study):
        metric = metric_named(name, cells.vocabulary)
        if metric is not None and name not in explained and _is_missing(metric, cells):
            found[path] = metric
    for place, figure in study.figures:
        metric = figure_named(figure.name, cells.vocabulary) if figure.name else None
        if metric is not None and _is_missing(metric, cells):
            found[shown(place)] = metric
    return found


@dataclass(frozen=True)
class TooFew:
    """A percentile that the study names, but for which cells have too few samples."""

    metric: Metric
    places: tuple[str, ...]
    """Paths in the study where the percentile is named."""
    cells: int
    """Number of cells with too few samples."""
    every: int
    """Number of cells with runs."""
    fewest: Lacking


def too_few(study: Study, cells: CellTable) -> tuple[TooFew, ...]:
    """Percentiles that the study names, but for which some cells have too few samples."""
    places: dict[Metric, list[str]] = {}
    for path, name in dict.fromkeys(_wanted(study)):
        metric = metric_named(name, cells.vocabulary)
        if metric is not None:
            places.setdefault(metric, []).append(path)
    rows = [row for row in cells.rows if row.runs]
    found = []
    for metric, paths in places.items():
        lacking = [one for row in rows if (one := row.lacking(metric)) is not None]
        if lacking:
            fewest = min(lacking, key=lambda one: one.samples)
            found.append(TooFew(metric, tuple(paths), len(lacking), len(rows), fewest))
    return tuple(found)


def _is_missing(metric: Metric, cells: CellTable) -> bool:
    rows = [row for row in cells.rows if row.runs]
    return bool(rows) and all(
        row.estimate(metric) is None and row.lacking(metric) is None for row in rows
    )


def is_given(name: MetricName, metrics: Sequence[Metric]) -> bool:
    """Whether one of the metrics has that name; a name without a statistic means the mean."""
    return any(metric.name in name.spellings for metric in metrics)


def _wanted(study: Study) -> Iterator[Wanted]:
    """Every metric that the study names, except by the name of a figure."""
    if study.compare is not None:
        yield from _each(("compare", "on"), study.compare.on)
    yield from _in_tables(study)
    yield from _in_figures(study)
    for conclusion in study.conclude:
        yield from _each(("conclude", conclusion.key()), conclusion.needs)
    for index, requirement in enumerate(study.require):
        yield from _each(("require", index), (requirement.that.metric,))
    for index, expected in enumerate(study.expect):
        yield from _each(("expect", index), (expected.metric,))


def _in_tables(study: Study) -> Iterator[Wanted]:
    for path, table in study.tables:
        for key, names in (("columns", table.columns), ("cell", table.cell)):
            for index, name in enumerate(names):
                if isinstance(name, MetricName) and str(name) not in study.factors:
                    yield shown((*path, key, index)), name


def _in_figures(study: Study) -> Iterator[Wanted]:
    for path, figure in study.figures:
        yield from _each(path, figure.metrics)


def _figures(study: Study, metrics: Sequence[Metric]) -> Iterator[str]:
    for path, figure in study.figures:
        if figure.name is not None and figure_named(figure.name, metrics) is None:
            advice = _advice(shown(path))
            yield f"{shown(path)} is {figure.name}, which the published data do not give; {advice}."
        elif figure.kind == "time series" or figure.is_distribution:
            advice, kind = _advice(shown(path)), figure.kind
            what = f"a {kind}" if kind in ("time series", "histogram") else f"of the kind {kind}"
            yield f"{shown(path)} is {what}, and published values are no samples; {advice}."


def _advice(path: str) -> str:
    return f"leave it out with --without {path}"


def _each(path: Path, names: Iterable[MetricName]) -> Iterator[Wanted]:
    return ((shown(path), name) for name in names)
