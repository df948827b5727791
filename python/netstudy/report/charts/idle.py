"""The idle level in figures of probes: the probe's latency before the workload begins."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from statistics import median
from typing import Any

from netstudy.analysis.cells import CellRow
from netstudy.analysis.metrics import Metric
from netstudy.analysis.workloads.probe import idle_of
from netstudy.report.numbers import interval_of, measured

_ALIKE = 0.05
"""Idle levels that differ by at most this share of the highest value in the chart are drawn as one
line."""


def idle_rules(cells: Sequence[CellRow], metric: Metric) -> list[dict[str, Any]]:
    """A horizontal line at the idle level, for a figure of a probe's latency under load. Empty for
    other metrics, and if the idle levels of the cells differ too much."""
    idle = idle_of(metric)
    values = [] if idle is None else _known(cells, idle)
    if idle is None or not values:
        return []
    highest = max([*_known(cells, metric), *values])
    if max(values) - min(values) > _ALIKE * highest:
        return []
    shown = interval_of(min(values), max(values), idle.decimals)
    shown = measured(median(values), idle.decimals) if shown is None else shown
    return [{"y": median(values), "text": f"while idle {shown.in_unit(idle.unit)}"}]


def idle_lines(
    cells: Sequence[CellRow], metric: Metric, place: Callable[[CellRow], tuple[float, str] | None]
) -> Iterator[dict[str, Any]]:
    """The idle level of each cell, for one dotted line per series; `place` gives the x and the
    series of a cell. Empty if a single horizontal line shows all of them."""
    idle = idle_of(metric)
    if idle is None or idle_rules(cells, metric):
        return
    for cell in cells:
        value, at = cell.value(idle), place(cell)
        if value is not None and at is not None:
            yield {"x": at[0], "y": value, "series": at[1]}


def _known(cells: Sequence[CellRow], metric: Metric) -> list[float]:
    values = (cell.value(metric) for cell in cells)
    return [value for value in values if value is not None]
