"""Cells in which so many requests had no answer when the phase was over that percentiles are too
low: what was never answered has no latency."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from netstudy.analysis.cells import CellRow, CellTable
from netstudy.analysis.metrics import Metric
from netstudy.analysis.named import metric_named

SEEN_PCT: Final = 1.0
"""From this share on: the slowest hundredth may be those without an answer."""
_SHARES: Final = ("unanswered_pct", "probe_unanswered_pct")


@dataclass(frozen=True, eq=False)
class Truncated:
    """The cells of one share."""

    metric: Metric
    rows: tuple[CellRow, ...]


def truncated(cells: CellTable) -> Iterator[Truncated]:
    """Of the workload's own requests, and of its probe's."""
    for name in _SHARES:
        metric = metric_named(name, cells.vocabulary)
        rows = [] if metric is None else _rows(cells, metric)
        if metric is not None and rows:
            yield Truncated(metric, tuple(rows))


def _rows(cells: CellTable, metric: Metric) -> list[CellRow]:
    return [row for row in cells.rows if (row.value(metric) or 0.0) >= SEEN_PCT]
