"""Finds cells whose repetitions all have the same value, so that repeating them shows nothing.

A deterministic run gives the same values for every seed. The interval over the replicates then has
zero width and says nothing about run-to-run variation, and there is no spread with which a first
repetition could be compared.
"""

from __future__ import annotations

from collections.abc import Sequence

from netstudy.analysis.cells import CellRow
from netstudy.analysis.intervals import ROUNDING
from netstudy.analysis.metrics import Metric


def are_equal(values: Sequence[float]) -> bool:
    """Whether two or more values are equal within floating-point error. False if all are 0, because
    that may be a finding, such as no drops in any run."""
    if len(values) < 2 or not any(values):
        return False
    return max(values) - min(values) <= ROUNDING * max(map(abs, values))


def shows_nothing(row: CellRow, metric: Metric) -> bool:
    """Whether all runs of a cell gave the same value of a metric. False for published values,
    because the exact values may differ although the printed digits are equal."""
    estimate = row.estimate(metric)
    if estimate is None or estimate.rounding is not None:
        return False
    values = metric.reading.of_each(row.runs)
    known = [value for value in values if value is not None]
    return len(known) == len(values) and are_equal(known)
