"""`substitution`: the effect of replacing one part while everything else stays the same."""

from __future__ import annotations

from dataclasses import dataclass

from netstudy.analysis.conclusions.base import Drawn
from netstudy.analysis.conclusions.cells import Cells
from netstudy.analysis.conclusions.levels import Bundle, LevelsCompared, bundles
from netstudy.analysis.effects import PairEffect
from netstudy.analysis.metrics import Metric
from netstudy.analysis.verdict import Comparison
from netstudy.study.conclusions.substitution import Substitution
from netstudy.study.selection import one_level
from netstudy.wire import Level, Treatment


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
    """Effects on drops, retransmissions and similar losses, for those that differ at some
    setting."""

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
    is_by_change = True
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
            found.append(
                Replaced(
                    factor=factor,
                    level=level,
                    base=base,
                    throughput=None if throughput is None else pairs.get(throughput.name),
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
