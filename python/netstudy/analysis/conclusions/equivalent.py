"""`equivalent`: whether levels are the same within the noise."""

from __future__ import annotations

from dataclasses import dataclass

from netstudy.analysis.claims import Claim
from netstudy.analysis.conclusions.base import Drawn
from netstudy.analysis.conclusions.cells import Cells
from netstudy.analysis.conclusions.levels import Bundle, LevelsCompared, bundles, claims_of
from netstudy.study.conclusions.equivalent import Equivalence


@dataclass(frozen=True, eq=False)
class FactorAlike:
    """The levels of one factor, and the pairs that differ in several things at once."""

    levels: LevelsCompared
    bundles: tuple[Bundle, ...]


@dataclass(frozen=True, eq=False)
class Alike(Drawn[Equivalence]):
    """The levels of each factor, compared in one metric."""

    kind = Equivalence
    factors: tuple[FactorAlike, ...]

    @classmethod
    def draw(cls, asked: Equivalence, cells: Cells) -> Alike | None:
        """Compare every pair of levels of every factor."""
        metric = cells.metric(asked.equivalent)
        if metric is None:
            return None
        levels = [
            LevelsCompared(metric, factor, pairs)
            for factor in cells.levels
            if (pairs := cells.pairs(metric, factor))
        ]
        found = tuple(FactorAlike(one, tuple(bundles(cells, [one]))) for one in levels)
        return cls(found) if found else None

    def claims(self) -> tuple[Claim, ...]:
        """Which levels differ, and which are equal."""
        return claims_of(self.compared)

    @property
    def compared(self) -> tuple[LevelsCompared, ...]:
        """The comparison of each factor's levels."""
        return tuple(one.levels for one in self.factors)
