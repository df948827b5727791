"""A testbed that was itself the limit, or whose instruments disagree."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from netstudy.analysis.caveats.base import Analysed, Caveat
from netstudy.analysis.testbed import CheckFound, LimitFound


@dataclass(frozen=True)
class ExceededLimit(Caveat):
    """A limit of the testbed that some run exceeded."""

    limit: LimitFound

    @classmethod
    def in_results(cls, analysed: Analysed) -> Iterator[ExceededLimit]:
        """One caveat for each limit."""
        return map(cls, analysed.testbed.exceeded)


@dataclass(frozen=True)
class DisagreeingInstruments(Caveat):
    """Two instruments that disagree in some run."""

    check: CheckFound

    @classmethod
    def in_results(cls, analysed: Analysed) -> Iterator[DisagreeingInstruments]:
        """One caveat for each check."""
        return map(cls, analysed.testbed.disagreeing)
