"""A testbed that was itself the limit, or whose instruments disagree."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from netstudy.analysis.caveats.base import OF_EVERY_CELL, Analysed, Caveat, reads
from netstudy.analysis.claims import Claim
from netstudy.analysis.testbed import CheckFound, LimitFound


@dataclass(frozen=True)
class ExceededLimit(Caveat):
    """A limit of the testbed that some run exceeded."""

    limit: LimitFound

    @classmethod
    def in_results(cls, analysed: Analysed) -> Iterator[ExceededLimit]:
        """One caveat for each limit."""
        return map(cls, analysed.testbed.exceeded)

    def forbids(self, claim: Claim) -> bool:
        """Equality, limits and ends of growth in runs that the testbed itself limited."""
        limited = [one.treatment for one in self.limit.exceeded if one.is_in_numbers]
        by_limit = claim.kind == "limits" or claim.kind in OF_EVERY_CELL
        return by_limit and any(reads(claim, treatment) for treatment in limited)


@dataclass(frozen=True)
class DisagreeingInstruments(Caveat):
    """Two instruments that disagree in some run."""

    check: CheckFound

    @classmethod
    def in_results(cls, analysed: Analysed) -> Iterator[DisagreeingInstruments]:
        """One caveat for each check."""
        return map(cls, analysed.testbed.disagreeing)
