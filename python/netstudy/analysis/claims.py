"""Claims of the headline of a conclusion. Caveats are asked about them: one that forbids a claim
keeps it out of the answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from netstudy.analysis.metrics import Metric
from netstudy.wire import Level

ClaimKind = Literal["different", "equal", "limits", "growth ends", "still grows", "holds"]
"""Levels differ, or are equal within the noise; a resource limits throughput;
growth ends at a level, or still goes on at it; a condition holds up to a level."""


@dataclass(frozen=True)
class Claim:
    """A claim about a metric and the levels of a factor."""

    kind: ClaimKind
    factor: str | None = None
    """None: the claim is about no factor, such as a resource that limits the only setting."""
    levels: tuple[Level, ...] = ()
    """The levels that differ or are equal, or the level at which growth ends, a resource limits or
    a condition holds."""
    metric: Metric | None = None
    """None: a claim that is not about a metric."""
    worse: Level | None = None
    """For levels that differ: the one with the worse value wherever a difference is shown; None:
    neither has it everywhere, or no value is better."""
    is_settled: bool = False
    """True if the claim is about pairs of cells of which each had a measuring phase long enough, as
    verdicts of "same" are."""
