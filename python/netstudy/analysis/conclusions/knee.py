"""`knee`: the level above which a factor brings no further gain."""

from __future__ import annotations

from dataclasses import dataclass

from netstudy.analysis.claims import Claim
from netstudy.analysis.conclusions.base import Drawn
from netstudy.analysis.conclusions.cells import Cells, Growth
from netstudy.analysis.conclusions.growth import claims_of_growth
from netstudy.study.conclusions.knee import Knee


@dataclass(frozen=True, eq=False)
class KneeFound(Drawn[Knee]):
    """How throughput grows with the factor."""

    kind = Knee
    growths: tuple[Growth, ...]
    """One for each setting of the other factors."""

    @classmethod
    def draw(cls, asked: Knee, cells: Cells) -> KneeFound | None:
        """Judge the growth at each setting."""
        found = tuple(cells.growths(asked.knee))
        return cls(found) if found else None

    @property
    def is_open(self) -> bool:
        """Whether it is decided at no setting."""
        return not self.claims()

    def claims(self) -> tuple[Claim, ...]:
        """Where growth ends, or that it goes on."""
        return claims_of_growth(self.growths)
