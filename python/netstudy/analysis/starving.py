"""Finds cells of closed loops in which users or connections got nothing in the whole phase. There,
the mean response time is that of all users (`closed_loop`)."""

from __future__ import annotations

from dataclasses import dataclass

from netstudy.analysis.cells import CellRow, CellTable
from netstudy.analysis.workloads import WorkloadAnalysis
from netstudy.analysis.workloads.closed_loop import Starved


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
