"""Compared levels whose difference cannot be credited to one thing.

Either the levels themselves differ in several fields, or other factors always change together with
the compared one, so that no two cells differ in nothing but the compared factor.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from netstudy.analysis.cells import CellRow, CellTable
from netstudy.analysis.conclusions.levels import differing
from netstudy.analysis.effects import PairEffect, pair_effects
from netstudy.analysis.metrics import Metric
from netstudy.wire import Level

if TYPE_CHECKING:
    from netstudy.study import Study


@dataclass(frozen=True, eq=False)
class Inseparable:
    """Two compared levels of a factor that differ in several things."""

    case: str
    factor: str
    things: tuple[str, ...]
    """The fields in which the levels differ; or the factors that change together, the compared one
    first."""
    are_factors: bool
    effect: PairEffect
    """The effect of all the things together on the deciding metric."""

    @property
    def is_equal(self) -> bool:
        """Whether the levels are equal at every setting."""
        outcomes = {row.outcome for row in self.effect.rows} - {"missing"}
        return outcomes == {"same"}


def inseparable(
    study: Study,
    table: CellTable,
    factor: str,
    base: Level,
    metric: Metric,
    margin_pct: float | None,
) -> Iterator[Inseparable]:
    """The levels of a factor, in each test case, that differ from the base in several things."""
    for case in table.cases:
        rows = table.of_case(case)
        pairs = {one.level: one for one in _pairs(rows, table, factor, base, metric, margin_pct)}
        for level in _levels_in(rows, factor):
            if level == base:
                continue
            if level in pairs:
                fields = tuple(differing(study, factor, level, base))
                if len(fields) > 1:
                    yield Inseparable(case, factor, fields, False, pairs[level])
                continue
            others = _changing(rows, factor, level, base)
            effect = _together(rows, table, factor, (level, base), others, metric, margin_pct)
            if effect is not None:
                yield Inseparable(case, factor, (factor, *others), True, effect)


def _levels_in(rows: Sequence[CellRow], factor: str) -> tuple[Level, ...]:
    return tuple(dict.fromkeys(row.treatment[factor] for row in rows if factor in row.treatment))


def _pairs(
    rows: Sequence[CellRow],
    table: CellTable,
    factor: str,
    base: Level,
    metric: Metric,
    margin_pct: float | None,
) -> list[PairEffect]:
    """The effect of each level against the base, over all cells that differ in nothing else."""
    levels = {
        name: tuple(level for level in every if level in _levels_in(rows, name))
        for name, every in table.factors.items()
    }
    levels = {name: found for name, found in levels.items() if len(found) > 1}
    if base not in levels.get(factor, ()):
        return []
    order = tuple(sorted(levels[factor], key=lambda level: level != base))
    found = pair_effects(rows, {**levels, factor: order}, metric, margin_pct)
    return [one for one in found.get(factor, ()) if one.base == base]


def _changing(rows: Sequence[CellRow], factor: str, level: Level, base: Level) -> tuple[str, ...]:
    """The other factors that have no level in common at the two levels of this one."""
    sides = [[row for row in rows if row.treatment.get(factor) == one] for one in (level, base)]
    names = dict.fromkeys(name for side in sides for row in side for name in row.treatment)
    return tuple(
        name
        for name in names
        if name != factor
        and not set.intersection(*({row.treatment.get(name) for row in side} for side in sides))
    )


def _together(
    rows: Sequence[CellRow],
    table: CellTable,
    factor: str,
    levels: tuple[Level, Level],
    others: Sequence[str],
    metric: Metric,
    margin_pct: float | None,
) -> PairEffect | None:
    """The effect of factors that change together; None if there are none, or if one level stands
    for several combinations of the others."""
    level, base = levels
    merged = [
        replace(row, treatment={k: v for k, v in row.treatment.items() if k not in others})
        for row in rows
        if row.treatment.get(factor) in levels
    ]
    is_unique = len({frozenset(row.treatment.items()) for row in merged}) == len(merged)
    if not others or not is_unique:
        return None
    found = _pairs(merged, table, factor, base, metric, margin_pct)
    return next((one for one in found if one.level == level), None)
