"""`compare`: the levels of a factor, compared with a base level."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from netstudy.analysis.claims import Claim
from netstudy.analysis.conclusions.base import Drawn, deciding
from netstudy.analysis.conclusions.cells import Cells
from netstudy.analysis.conclusions.levels import Bundle, LevelsCompared, bundles, claims_of
from netstudy.analysis.effects import PairEffect
from netstudy.study.conclusions.compare import Comparison
from netstudy.study.selection import one_level
from netstudy.study.vocabulary import MetricName
from netstudy.wire import Level


@dataclass(frozen=True, eq=False)
class TradeOff:
    """Two levels of a factor compared in several metrics, to show gains that have a cost."""

    factor: str
    level: Level
    base: Level
    pairs: tuple[PairEffect, ...]
    """One for each metric, in the order of the study."""

    def leading(self, pair: PairEffect) -> Level | None:
        """The level that is better in a metric. If the metric has no better direction, lower counts
        as better for percentages, such as utilisations, and higher for all other units. None: the
        levels are equal, no difference is shown, or each level is better in some setting."""
        if not pair.is_shown or pair.turns or self.is_equal(pair):
            return None
        direction = pair.metric.direction
        is_cost = direction == "lower" or (direction == "neutral" and pair.metric.unit == "%")
        return self.level if (pair.contrast.value > 0) != is_cost else self.base

    def is_equal(self, pair: PairEffect) -> bool:
        """Whether the levels are equal in a metric at every setting."""
        return all(row.outcome == "same" for row in pair.rows)

    @property
    def leaders(self) -> tuple[Level, ...]:
        """The levels that lead in some metric, each once."""
        found = (self.leading(pair) for pair in self.pairs)
        return tuple(dict.fromkeys(one for one in found if one is not None))

    @property
    def is_open(self) -> bool:
        """Whether some metric shows neither a lead nor equality."""
        return any(self.leading(one) is None and not self.is_equal(one) for one in self.pairs)


@dataclass(frozen=True, eq=False)
class Compared(Drawn[Comparison]):
    """The levels of a factor, compared with a base level."""

    kind = Comparison
    levels: tuple[LevelsCompared, ...]
    """One for each metric, in the order of the study."""
    trade_offs: tuple[TradeOff, ...]
    bundles: tuple[Bundle, ...]
    unmeasured: tuple[MetricName, ...]
    """Metrics that the conclusion names but no run measured."""

    @classmethod
    def draw(cls, asked: Comparison, cells: Cells) -> Compared | None:
        """Compare every level with the base, in each metric."""
        every = cells.levels.get(asked.compare, ())
        factor = cells.study.factors[asked.compare]
        base = next(iter(every), None) if asked.base is None else one_level(factor, asked.base)
        named = [cells.metric(name) for name in asked.on] if asked.on else [deciding(cells)]
        found = [
            LevelsCompared(metric, asked.compare, chosen)
            for metric in filter(None, named)
            if (pairs := cells.pairs(metric, asked.compare, base))
            and (chosen := tuple(one for one in pairs if one.base == base))
        ]
        if not found:
            return None
        return cls(
            levels=tuple(found),
            trade_offs=tuple(_trade_offs(asked.compare, found)),
            bundles=tuple(bundles(cells, found)),
            unmeasured=tuple(name for name in asked.on if cells.metric(name) is None),
        )

    def claims(self) -> tuple[Claim, ...]:
        """Which levels differ, and which are equal."""
        return claims_of(self.compared)

    @property
    def compared(self) -> tuple[LevelsCompared, ...]:
        """The comparisons in each metric."""
        return self.levels


def _trade_offs(factor: str, found: Sequence[LevelsCompared]) -> Iterator[TradeOff]:
    """A trade-off for every pair of levels that was compared in several metrics."""
    together: dict[tuple[Level, Level], list[PairEffect]] = {}
    for one in found:
        for pair in one.pairs:
            together.setdefault((pair.level, pair.base), []).append(pair)
    for (level, base), pairs in together.items():
        if len(pairs) > 1:
            yield TradeOff(factor, level, base, tuple(pairs))
