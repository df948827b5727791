"""Cuts runs into slices of a few seconds of work each.

A slice costs about 15 ms of Python on all sides together, and its engine starts in 20 ms: slices
have to be long. A slice whose worker dies is done again: slices have to be short. Near the end they
get shorter, so that no worker waits long for the last one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from netstudy.plan_lines import RUN_LINE_BYTES
from netstudy.wire import Run

_LONGEST_S = 5.0
"""Work of a slice as long as much is left."""
_SHORTEST_S = 0.5
_ROUNDS_LEFT = 4
"""Each CPU gets about this number of further slices, each a fraction of the work left."""
_RECORD_BYTES = 16_000_000
"""Most bytes of records of a slice: it is in memory as a whole, on the worker and here."""
_PLAN_BYTES = 4_000_000
"""Most bytes of a slice's plan: dask warns of tasks of 10 MB, which its scheduler keeps."""
_MEMORY = 0.8
"""Weight of the slices before the last one in the ratio of measured to estimated work."""


@dataclass(frozen=True)
class Cost:
    """The estimated cost of a run."""

    seconds: float
    """CPU time of the engine."""
    record_bytes: int
    plan_bytes: int
    """Size of the run in a plan with all of its parts, which other runs may share."""
    packets: int


class Cutter:
    """The runs that are still to be handed out, in order."""

    def __init__(self, runs: Sequence[Run], cost: Callable[[Run], Cost]) -> None:
        """`cost` estimates a run."""
        self._runs = runs
        self._cost = cost
        self._next = 0
        self._left_s = sum(cost(run).seconds for run in runs)
        self._estimated_s = 0.0
        self._measured_s = 0.0

    def is_done(self) -> bool:
        """Whether all runs are handed out."""
        return self._next == len(self._runs)

    def learn(self, runs: Sequence[Run], seconds: float) -> None:
        """Correct the estimate by the measured time of a slice."""
        estimated_s = sum(self._cost(run).seconds for run in runs)
        self._estimated_s = _MEMORY * self._estimated_s + estimated_s
        self._measured_s = _MEMORY * self._measured_s + seconds

    def next(self, cpus: int) -> tuple[Run, ...]:
        """The next slice, of at least one run; `cpus` is the number of slices at a time."""
        wanted_s = self._left_s * self._ratio / (_ROUNDS_LEFT * cpus)
        limit_s = min(max(wanted_s, _SHORTEST_S), _LONGEST_S) / self._ratio
        begin, seconds, records, plan = self._next, 0.0, 0, 0
        parts: set[int] = set()
        while self._next < len(self._runs):
            run = self._runs[self._next]
            cost = self._cost(run)
            seconds += cost.seconds
            records += cost.record_bytes
            plan += RUN_LINE_BYTES if id(run.workload) in parts else cost.plan_bytes
            parts.add(id(run.workload))
            is_full = seconds > limit_s or records > _RECORD_BYTES or plan > _PLAN_BYTES
            if is_full and self._next > begin:
                break
            self._left_s -= cost.seconds
            self._next += 1
        return tuple(self._runs[begin : self._next])

    @property
    def _ratio(self) -> float:
        """Measured to estimated work."""
        return self._measured_s / self._estimated_s if self._estimated_s > 0 else 1.0


def halves(runs: tuple[Run, ...]) -> list[tuple[Run, ...]]:
    """The runs in two parts; one part if there is only one run."""
    half = (len(runs) + 1) // 2
    return [part for part in (runs[:half], runs[half:]) if part]
