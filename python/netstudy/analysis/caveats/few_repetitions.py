"""Too few repetitions to compare a first one with later ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from netstudy.analysis.caveats.base import Caveat, Planned
from netstudy.analysis.conclusions import LEAST_REPETITIONS
from netstudy.plan.identity import canonical
from netstudy.study.outcome import FirstRepetition


@dataclass(frozen=True)
class FewRepetitions(Caveat):
    """A first repetition that the study asks about cannot be judged."""

    repetitions: int
    """Largest number of repetitions of any setting."""

    @classmethod
    def in_plan(cls, planned: Planned) -> Iterator[FewRepetitions]:
        """One caveat for the plan."""
        if not any(isinstance(asked, FirstRepetition) for asked in planned.study.conclude):
            return
        counts = Counter(canonical(run.treatment) for run in planned.plan.runs)
        most = planned.repetitions or max(counts.values(), default=0)
        if most < LEAST_REPETITIONS:
            yield cls(most)
