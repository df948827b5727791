"""Finds cells in which many requests were still unanswered at the end of the phase. Their
percentiles are too low, because unanswered requests have no latency."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from netstudy.analysis.cells import CellRow, CellTable
from netstudy.analysis.metrics import Metric

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


def _rows(cells: CellTable, metric: Metric) -> list[CellRow]:
    return [row for row in cells.rows if (row.value(metric) or 0.0) >= SEEN_PCT]
