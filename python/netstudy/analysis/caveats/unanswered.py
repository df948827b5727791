"""Cells in which many requests were still unanswered at the end of the phase. Their percentiles are
too low, because unanswered requests have no latency."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from netstudy.analysis.caveats.base import Analysed, Caveat
from netstudy.analysis.cells import CellRow
from netstudy.analysis.metrics import Metric

SEEN_PCT: Final = 1.0
"""Smallest share of unanswered requests that is reported: they may be exactly the slowest 1 %."""


@dataclass(frozen=True)
class Unanswered(Caveat):
    """The cells with too high a share of unanswered requests, of the workload or of the probe."""

    share: Metric
    cells: tuple[CellRow, ...]
    of: int
    """Number of cells of the plan."""

    @classmethod
    def in_results(cls, analysed: Analysed) -> Iterator[Unanswered]:
        """One caveat for the workload's own requests, and one for the probe's."""
        table = analysed.cells
        for metric in table.vocabulary:
            if metric.is_share and "unanswered" in metric.name:
                cells = [row for row in table.rows if (row.value(metric) or 0.0) >= SEEN_PCT]
                if cells:
                    yield cls(metric, tuple(cells), len(table.rows))
