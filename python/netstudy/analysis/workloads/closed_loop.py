"""Closed loops with users that get no answer.

The mean of the answered requests leaves out users that wait through the whole phase. The
interactive response time law does not: users ÷ throughput − think time is the mean response time of
all users (Jain, The Art of Computer Systems Performance Analysis, 33.5). Where many requests have
no answer, only the law gives the mean.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

from netstudy.analysis.samples import Floats, Terms

TOLERANCE: Final = 0.02
"""Smallest relative difference between the law and the mean of the answered requests that counts.
At the edges of a phase, the law differs by the requests that begin before it and end after it."""
SIGMAS: Final = 3.0
"""Standard deviations of a number of requests in progress that chance explains. The numbers scatter
at most like Poisson's."""


@dataclass(frozen=True)
class Starved:
    """Users or connections that had work to do in the measuring phase, and got nothing."""

    noun: str
    number: int
    of: int
    """All users or connections of the run."""


def no_bytes(moved: Floats | None) -> Starved | None:
    """The connections that carried nothing, given the bytes of each; None: not sampled."""
    if moved is None:
        return None
    return Starved("connection", int((moved == 0).sum()), moved.size)


@dataclass(frozen=True, eq=False)
class ClosedLoop:
    """The response times of a closed loop in the measuring phase of a run."""

    answered: Terms
    """Response times, and the number of answered requests; one term, or one an interval."""
    law: Terms
    """Response times of all users by the law, and the number of requests; in the same unit."""
    expected: float
    """Requests in progress, in the mean over the phase, if all took as long as those answered."""
    in_progress: float
    """Requests that were in progress."""
    starved: Starved | None
    """None: not counted."""
    noun: str
    """The noun for `users`."""
    users: int
    """Users, or requests that wait for answers or think at the same time."""
    think_s: float
    """Think time for each request, in the mean."""
    per_s: float
    """Requests a second."""

    @property
    def is_cut_off(self) -> bool:
        """Whether requests without an answer make the mean of the answered ones too low."""
        answered, law = (_ratio(*terms) for terms in (self.answered, self.law))
        chance = self.expected + SIGMAS * math.sqrt(self.expected)
        waits = bool(self.starved and self.starved.number) or self.in_progress > chance
        return waits and law > (1 + TOLERANCE) * answered

    @property
    def mean(self) -> Terms:
        """The response times of all users."""
        return self.law if self.is_cut_off else self.answered


def _ratio(above: Floats, below: Floats) -> float:
    return float(above.sum() / below.sum())
