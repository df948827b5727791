"""Too few repetitions to compare a first one with later ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from netstudy.analysis.caveats.base import Caveat, Planned
from netstudy.plan.identity import canonical


@dataclass(frozen=True)
class FewRepetitions(Caveat):
    """A first repetition that the study asks about cannot be judged."""

    repetitions: int
    """Largest number of repetitions of any setting."""
    needed: int
    """Number of repetitions that a conclusion of the study needs."""

    @classmethod
    def in_plan(cls, planned: Planned) -> Iterator[FewRepetitions]:
        """One caveat for the plan."""
        needed = max((asked.repetitions_min for asked in planned.study.conclude), default=1)
        counts = Counter(canonical(run.treatment) for run in planned.plan.runs)
        most = planned.repetitions or max(counts.values(), default=0)
        if most < needed:
            yield cls(most, needed)
