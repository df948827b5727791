"""Finds cells in which many requests were still unanswered at the end of the phase. Their
percentiles are too low, because unanswered requests have no latency. In a closed loop, users or
connections that got nothing in the whole phase are counted too, and the mean response time is that
of all users (`closed_loop`)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from netstudy.analysis.cells import CellRow, CellTable
from netstudy.analysis.metrics import Metric
from netstudy.analysis.workloads import WorkloadAnalysis
from netstudy.analysis.workloads.closed_loop import Starved

SEEN_PCT: Final = 1.0
"""Smallest share of unanswered requests that is reported: they may be exactly the slowest 1 %."""


@dataclass(frozen=True, eq=False)
class Truncated:
    """The cells with too high a share of unanswered requests, in one metric."""

    metric: Metric
    rows: tuple[CellRow, ...]


def truncated(cells: CellTable) -> Iterator[Truncated]:
    """The truncated cells, for the workload's own requests and for the probe's."""
    for metric in cells.vocabulary:
        rows = _rows(cells, metric) if metric.is_share and "unanswered" in metric.name else []
        if rows:
            yield Truncated(metric, tuple(rows))


@dataclass(frozen=True, eq=False)
class Starving:
    """A cell in which users or connections got nothing, or in which the mean of the answered
    requests is too low."""

    row: CellRow
    starved: Starved | None
    """Over all runs of the cell; None: not counted."""
    answered: float | None
    """The mean of the answered requests, where the cell's mean is that of all users instead."""


def starving(cells: CellTable) -> tuple[Starving, ...]:
    """The cells with starved users or connections."""
    found = (
        Starving(row, _starved(row, cells.workload), _answered(row, cells.workload))
        for row in cells.rows
    )
    return tuple(
        one for one in found if one.answered is not None or (one.starved and one.starved.number)
    )


def _starved(row: CellRow, workload: WorkloadAnalysis) -> Starved | None:
    if workload.starved is None:
        return None
    counts = [one for run in row.runs if (one := workload.starved(run)) is not None]
    if not counts or len(counts) < len(row.runs):
        return None
    return Starved(counts[0].noun, sum(one.number for one in counts), sum(one.of for one in counts))


def _answered(row: CellRow, workload: WorkloadAnalysis) -> float | None:
    if workload.closed_loop is None:
        return None
    loops = [one for run in row.runs if (one := workload.closed_loop(run)) is not None]
    if not any(one.is_cut_off for one in loops):
        return None
    sums = [float(sum(one.answered[part].sum() for one in loops)) for part in (0, 1)]
    return sums[0] / sums[1]


def _rows(cells: CellTable, metric: Metric) -> list[CellRow]:
    return [row for row in cells.rows if (row.value(metric) or 0.0) >= SEEN_PCT]
