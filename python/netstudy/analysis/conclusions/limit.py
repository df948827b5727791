"""`limit`: how large a metric can become while a condition holds."""

from __future__ import annotations

from dataclasses import dataclass

from netstudy.analysis.cells import CellRow
from netstudy.analysis.conclusions.base import Drawn
from netstudy.analysis.conclusions.cells import Cells
from netstudy.analysis.metrics import Metric
from netstudy.study.conclusions.limit import Limit
from netstudy.study.outcome import Bound


@dataclass(frozen=True, eq=False)
class LimitReached(Drawn[Limit]):
    """The largest value of a metric while a condition holds."""

    kind = Limit
    metric: Metric
    bound: Bound
    condition: Metric
    best: CellRow | None
    """The cell with the largest value while the condition holds; None: it holds in no cell."""
    kept: int
    broken: int
    """Number of cells that break the condition; cells without a value are not counted."""

    @classmethod
    def draw(cls, asked: Limit, cells: Cells) -> LimitReached | None:
        """Find the largest value among the cells that satisfy the condition."""
        bound = asked.while_
        metric, condition = cells.metric(asked.limit), cells.metric(bound.metric)
        if metric is None or condition is None:
            return None
        values = [(row, row.value(condition)) for row in cells.rows]
        kept = [row for row, value in values if value is not None and bound.holds(value)]
        broken = [row for row, value in values if value is not None and not bound.holds(value)]
        measured = [row for row in kept if row.value(metric) is not None]
        best = max(measured, key=lambda row: row.value(metric) or 0.0, default=None)
        return cls(metric, bound, condition, best, len(kept), len(broken))
