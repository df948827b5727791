"""Cells in which so many requests had no answer when the phase was over that percentiles are too
low: what was never answered has no latency."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from netstudy.analysis.cells import CellRow, CellTable
from netstudy.analysis.metrics import Metric

SEEN_PCT: Final = 1.0
"""From this share on: the slowest hundredth may be those without an answer."""


@dataclass(frozen=True, eq=False)
class Truncated:
    """The cells of one share."""

    metric: Metric
    rows: tuple[CellRow, ...]


def truncated(cells: CellTable) -> Iterator[Truncated]:
    """Of the workload's own requests, and of its probe's."""
    for metric in cells.vocabulary:
        rows = _rows(cells, metric) if metric.is_share and "unanswered" in metric.name else []
        if rows:
            yield Truncated(metric, tuple(rows))


def _rows(cells: CellTable, metric: Metric) -> list[CellRow]:
    return [row for row in cells.rows if (row.value(metric) or 0.0) >= SEEN_PCT]
