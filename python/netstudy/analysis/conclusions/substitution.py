"""`substitution`: the effect of replacing one part while everything else stays the same."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from netstudy.analysis.ceilings import ceiling_at
from netstudy.analysis.cells import CellRow
from netstudy.analysis.claims import Claim
from netstudy.analysis.conclusions.base import Drawn
from netstudy.analysis.conclusions.bottleneck import full_at, level_at
from netstudy.analysis.conclusions.cells import Cells
from netstudy.analysis.conclusions.levels import Bundle, LevelsCompared, bundles, claim_of
from netstudy.analysis.effects import PairEffect
from netstudy.analysis.metrics import Metric
from netstudy.analysis.speedups import speedup
from netstudy.analysis.verdict import Comparison
from netstudy.study.conclusions.substitution import Substitution
from netstudy.study.selection import one_level
from netstudy.units import quantity
from netstudy.wire import Level, Treatment

if TYPE_CHECKING:
    from netstudy.study import Study
    from netstudy.study.levels import FactorLevel


@dataclass(frozen=True, eq=False)
class Replaced:
    """The changes when one level of a factor replaces another."""

    factor: str
    level: Level
    base: Level
    """The level that was replaced."""
    throughput: PairEffect | None
    """The effect on throughput; None: it was not measured at both levels."""
    others: tuple[PairEffect, ...]
    """The effects on the other compared metrics."""
    losses: tuple[PairEffect, ...]
    """Effects on drops, retransmissions and similar losses that differ at some setting."""
    limited: tuple[Treatment, ...] = ()
    """The settings at which the replaced part limits throughput. It does if all that is full with
    the base has spare capacity with the replacement; or, where nothing is known to be full, if the
    gain shows that the part takes more than half of the time of a unit of work."""
    ceilings: tuple[tuple[Treatment, float], ...] = ()
    """Settings at which the time of a unit of work is known exactly -> the most that throughput can
    gain, in percent: the part that is replaced saves no more than its own share of the time."""

    @property
    def claim(self) -> Claim | None:
        """The claim about throughput."""
        if self.throughput is None or not self.limited:
            return None if self.throughput is None else claim_of(self.throughput)
        return Claim("limits", self.factor, (self.base,), self.throughput.metric)

    def changes(self, pair: PairEffect) -> list[tuple[Treatment, tuple[float, float]]]:
        """The settings at which a loss differs, with the value before and after."""
        return [
            (context, _ways(row))
            for context, row in zip(pair.contexts, pair.rows, strict=True)
            if row.outcome == "different"
        ]

    def removes(self, pair: PairEffect) -> bool:
        """True if the replacement reduces a loss to at most 1 % of its value with the base, at
        every setting that has such losses."""
        rows = [row for row in pair.rows if row.value or row.base_value]
        return all(
            row.outcome == "different" and after <= before / 100
            for row in rows
            for before, after in [_ways(row)]
        )


def _ways(row: Comparison) -> tuple[float, float]:
    """A loss before and after the replacement."""
    return (row.base_value or 0.0, row.value or 0.0)


@dataclass(frozen=True, eq=False)
class Substituted(Drawn[Substitution]):
    """The effect of each level that replaces the base."""

    kind = Substitution
    replaced: tuple[Replaced, ...]
    bundles: tuple[Bundle, ...]

    @classmethod
    def draw(cls, asked: Substitution, cells: Cells) -> Substituted | None:
        """Compare every level with the base: throughput, other metrics, losses."""
        factor = asked.substitution
        if factor not in cells.levels:
            return None
        first = cells.levels[factor][0]
        base = first if asked.base is None else one_level(cells.study.factors[factor], asked.base)
        throughput = cells.throughput
        compared = [throughput] if throughput else []
        wanted = (*_of_comparison(cells), *cells.table.workload.compared_on)
        compared = list(dict.fromkeys([*compared, *cells.table.measured(wanted)]))
        # A loss may also be a compared metric, so both lists below read the same pairs.
        by_metric = {
            one.name: {
                pair.level: pair for pair in cells.pairs(one, factor, base) if pair.base == base
            }
            for one in dict.fromkeys((*compared, *_losses(cells)))
        }
        levels = [
            LevelsCompared(one, factor, tuple(by_metric[one.name].values())) for one in compared
        ]
        found = []
        for level in cells.levels[factor]:
            pairs = {name: pair[level] for name, pair in by_metric.items() if level in pair}
            if level == base or not pairs:
                continue
            deciding = None if throughput is None else pairs.get(throughput.name)
            found.append(
                Replaced(
                    factor=factor,
                    level=level,
                    base=base,
                    throughput=deciding,
                    limited=tuple(_limited(cells, deciding)) if deciding is not None else (),
                    ceilings=() if deciding is None else tuple(_ceilings(cells, deciding)),
                    others=tuple(
                        pairs[one.name]
                        for one in compared
                        if one != throughput and one.name in pairs
                    ),
                    losses=tuple(
                        pair
                        for one in _losses(cells)
                        if (pair := pairs.get(one.name))
                        and any(row.outcome == "different" for row in pair.rows)
                    ),
                )
            )
        return cls(tuple(found), tuple(bundles(cells, levels))) if found else None

    @property
    def compared(self) -> tuple[LevelsCompared, ...]:
        """The comparisons of throughput."""
        pairs = tuple(one.throughput for one in self.replaced if one.throughput is not None)
        return (LevelsCompared(pairs[0].metric, pairs[0].factor, pairs),) if pairs else ()

    def claims(self) -> tuple[Claim, ...]:
        """The claim about each replacement."""
        return tuple(claim for one in self.replaced if (claim := one.claim) is not None)


def _limited(cells: Cells, pair: PairEffect) -> Iterator[Treatment]:
    """The settings at which the part that was replaced limits throughput."""
    for context, row in zip(pair.contexts, pair.rows, strict=True):
        if row.winner != pair.level or row.ratio is None:
            continue
        before, after = (
            _full(cells, {**context, pair.factor: level}) for level in (pair.base, pair.level)
        )
        gain = 1 / row.ratio if pair.metric.direction == "lower" else row.ratio
        share = share_of_time(gain, _raised(cells.study, pair))
        if not before & after if before else share > _MOST_OF_TIME:
            yield context


_MOST_OF_TIME: Final = 0.5
"""With more than this share of the time of a unit of work, a part takes more than any other."""


def _full(cells: Cells, treatment: Treatment) -> set[Hashable]:
    """The resources that are full in one cell, or may be."""
    return {key for row in _rows(cells, treatment) for key in full_at(cells, row)}


def _rows(cells: Cells, treatment: Treatment) -> list[CellRow]:
    return [row for row in cells.rows if row.treatment == treatment]


def _ceilings(cells: Cells, pair: PairEffect) -> Iterator[tuple[Treatment, float]]:
    """The most that throughput can gain by each replacement, in percent."""
    if pair.metric.direction == "lower":
        return
    for context in pair.contexts:
        before, after = (
            _rows(cells, {**context, pair.factor: level}) for level in (pair.base, pair.level)
        )
        for old, new in zip(before, after, strict=False):
            level = level_at(cells, old)
            change = speedup(old.planned[0], new.planned[0])
            if level is None or change is None:
                continue
            most = ceiling_at(level, change)
            if most is not None and math.isfinite(most):
                yield context, 100 * (most - 1)


def share_of_time(gain: float, factor: float | None) -> float:
    """The share of the time of a unit of work that a part takes, if throughput gains `gain` times
    when the part becomes `factor` times as fast: the part saves 1 - 1/factor of its time. None, or
    a factor smaller than the gain, which then is no speed of the part: the part counts as removed,
    so that the share is at least this."""
    saved = 1.0 if factor is None or factor < gain else 1 - 1 / factor
    return (1 - 1 / gain) / saved


def _raised(study: Study, pair: PairEffect) -> float | None:
    """How many times as large the level is as the base, or the other way round; None if they are no
    quantities of one dimension."""
    found = [_quantity(study.factors[pair.factor].level(one)) for one in (pair.level, pair.base)]
    (dimension, value), (other, base) = ((None, 0.0) if one is None else one for one in found)
    if dimension is None or dimension != other or value <= 0 or base <= 0 or value == base:
        return None
    return max(value / base, base / value)


def _quantity(level: FactorLevel | None) -> tuple[str, float] | None:
    """The quantity of a level, with its dimension, if it has only one."""
    values = [] if level is None else [*level.fields.values()] or [level.name]
    if len(values) != 1 or isinstance(values[0], bool):
        return None
    if isinstance(values[0], int | float):
        return "number", float(values[0])
    found = quantity(values[0])
    return None if found is None else (found[0], float(found[1]))


def _of_comparison(cells: Cells) -> tuple[Metric, ...]:
    """The metrics in `compare.on` of the study."""
    asked = cells.study.compare
    named = () if asked is None else tuple(cells.metric(name) for name in asked.on)
    return tuple(one for one in named if one is not None)


def _losses(cells: Cells) -> tuple[Metric, ...]:
    """Loss metrics that the study names, else the workload's own."""
    bases = ("drop", "segments_retransmitted", "retransmissions", "timeouts")
    named = [one for one in cells.table.asked if any(base in one.name for base in bases)]
    workload = cells.table.workload
    own = (workload.drops, workload.retransmissions)
    return cells.table.measured(dict.fromkeys(named or own))
