"""`plateau`: where throughput stops growing."""

from __future__ import annotations

from dataclasses import dataclass

from netstudy.analysis.claims import Claim
from netstudy.analysis.conclusions.base import Drawn
from netstudy.analysis.conclusions.cells import Cells, Growth
from netstudy.analysis.conclusions.growth import claims_of_growth
from netstudy.study.conclusions.plateau import Plateau


@dataclass(frozen=True, eq=False)
class Levelled(Drawn[Plateau]):
    """How throughput grows with its load."""

    kind = Plateau
    growths: tuple[Growth, ...]
    """One for each setting of the other factors."""

    @classmethod
    def draw(cls, asked: Plateau, cells: Cells) -> Levelled | None:  # noqa: ARG003  # of the base
        """Judge the growth at each setting."""
        found = tuple(cells.growths(cells.load))
        return cls(found) if found else None

    @property
    def is_open(self) -> bool:
        """Whether it is decided at no setting."""
        return not self.claims()

    def claims(self) -> tuple[Claim, ...]:
        """Where growth ends, or that it goes on."""
        return claims_of_growth(self.growths)
