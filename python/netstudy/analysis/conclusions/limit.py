"""`limit`: how large a factor or a metric can become while a condition holds.

A level keeps the condition if its 95 % interval lies on the right side of the bound, and breaks it
if the interval lies on the wrong side; between them it is undecided. Where only single runs are
known, the value decides.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from netstudy.analysis.cells import CellRow
from netstudy.analysis.claims import Claim
from netstudy.analysis.conclusions.base import Drawn
from netstudy.analysis.conclusions.cells import Cells
from netstudy.analysis.metrics import Metric
from netstudy.study.conclusions.limit import Limit
from netstudy.study.levels import is_numeric
from netstudy.study.outcome import Bound
from netstudy.study.vocabulary import MetricName
from netstudy.wire import Level, Treatment

Holding = Literal["keeps", "breaks", "undecided"]


@dataclass(frozen=True, eq=False)
class LargestValue:
    """The largest value of a metric while a condition holds."""

    metric: Metric
    best: CellRow | None
    """The cell with the largest value while the condition holds; None: it holds in no cell."""
    kept: int
    broken: int
    """Number of cells that break the condition; cells without a value are not counted."""


@dataclass(frozen=True, eq=False)
class LevelsHeld:
    """Which levels of a factor keep a condition, at one setting of the other factors."""

    factor: str
    held: Treatment
    cells: tuple[tuple[CellRow, Holding], ...]
    """In the order of the levels; without levels that have no value."""

    @property
    def broken(self) -> CellRow | None:
        """The first level that breaks the condition."""
        return next((cell for cell, holding in self.cells if holding == "breaks"), None)

    @property
    def largest(self) -> CellRow | None:
        """The largest level that keeps the condition and has no level below it that breaks it; None
        if there is none."""
        return next(reversed(self._kept(before=True)), None)

    @property
    def again(self) -> tuple[CellRow, ...]:
        """Levels that keep the condition above one that breaks it."""
        return tuple(self._kept(before=False))

    @property
    def undecided(self) -> tuple[CellRow, ...]:
        """Levels whose interval includes the bound."""
        return tuple(cell for cell, holding in self.cells if holding == "undecided")

    def _kept(self, *, before: bool) -> list[CellRow]:
        order = [cell for cell, _ in self.cells]
        end = len(order) if self.broken is None else order.index(self.broken)
        return [
            cell
            for place, (cell, holding) in enumerate(self.cells)
            if holding == "keeps" and (place < end) == before
        ]

    def level(self, cell: CellRow) -> Level:
        """The level of a cell."""
        return cell.treatment[self.factor]


@dataclass(frozen=True, eq=False)
class LimitReached(Drawn[Limit]):
    """How large something can become while a condition holds."""

    kind = Limit
    bound: Bound
    condition: Metric
    value: LargestValue | None
    """None: the levels of a factor are sought."""
    levels: tuple[LevelsHeld, ...] = ()
    """One for each setting of the other factors."""

    @classmethod
    def draw(cls, asked: Limit, cells: Cells) -> LimitReached | None:
        """Find the largest level or value among the cells that keep the condition."""
        bound = asked.while_
        condition = cells.metric(bound.metric)
        if condition is None:
            return None
        if (factor := str(asked.limit)) in cells.study.factors:
            levels = tuple(_levels_held(cells, factor, bound, condition))
            return cls(bound, condition, None, levels) if levels else None
        assert isinstance(asked.limit, MetricName), "it is no factor"
        metric = cells.metric(asked.limit)
        if metric is None:
            return None
        return cls(bound, condition, _largest_value(cells, metric, bound, condition))

    @property
    def about(self) -> Metric:
        """The metric whose largest value is sought, else that of the condition."""
        return self.condition if self.value is None else self.value.metric

    def claims(self) -> tuple[Claim, ...]:
        """The level up to which the condition holds, at each setting."""
        return tuple(
            Claim("holds", one.factor, (one.level(one.largest),), self.condition)
            for one in self.levels
            if one.largest is not None
        )


def _largest_value(cells: Cells, metric: Metric, bound: Bound, condition: Metric) -> LargestValue:
    values = [(row, row.value(condition)) for row in cells.rows]
    kept = [row for row, value in values if value is not None and bound.holds(value)]
    broken = [row for row, value in values if value is not None and not bound.holds(value)]
    measured = [row for row in kept if row.value(metric) is not None]
    best = max(measured, key=lambda row: row.value(metric) or 0.0, default=None)
    return LargestValue(metric, best, len(kept), len(broken))


def _levels_held(
    cells: Cells, factor: str, bound: Bound, condition: Metric
) -> Iterator[LevelsHeld]:
    for held, rows in cells.along(factor):
        ordered = [*rows]
        if is_numeric([row.treatment[factor] for row in rows]):
            ordered.sort(key=lambda row: float(row.treatment[factor]))
        found = [(row, _holding(row, bound, condition)) for row in ordered]
        known = tuple((row, holding) for row, holding in found if holding is not None)
        if known:
            yield LevelsHeld(factor, held, known)


def _holding(row: CellRow, bound: Bound, condition: Metric) -> Holding | None:
    estimate = row.estimate(condition)
    if estimate is None:
        return None
    interval = estimate.interval
    ends = (estimate.value,) if interval is None else (interval.low, interval.high)
    kept = {bound.holds(end) for end in ends}
    return "undecided" if len(kept) > 1 else "keeps" if kept == {True} else "breaks"
