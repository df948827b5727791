"""Cells whose repetitions are all alike: repeating them shows nothing.

A deterministic run gives the same values whatever its seed. Its replicates then have an interval of
no width, which tells nothing of how far another run would differ, and there is no spread that a
first repetition could be held against.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from netstudy.analysis.cells import CellRow
from netstudy.analysis.intervals import ROUNDING
from netstudy.analysis.metrics import Metric


def are_equal(values: Sequence[float]) -> bool:
    """Whether two or more values are the same, but for errors of floating point. Nothing at all,
    such as no drops in any run, is a finding and no lack of one."""
    if len(values) < 2 or not any(values):
        return False
    return max(values) - min(values) <= ROUNDING * max(map(abs, values))


def shows_nothing(row: CellRow, metric: Metric) -> bool:
    """Whether all runs of a cell gave the same value of a metric. Published values that are the
    same to their last digit may differ beyond it."""
    estimate = row.estimate(metric)
    if estimate is None or estimate.rounding is not None:
        return False
    values = [metric.reading.of_run(run) for run in row.runs]
    known = [value for value in values if value is not None]
    return len(known) == len(values) and are_equal(known)


def repeated_for_nothing(rows: Iterable[CellRow], metric: Metric) -> list[CellRow]:
    """The cells whose repetitions are all alike."""
    return [row for row in rows if shows_nothing(row, metric)]
