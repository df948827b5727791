"""How long a run, and a silence in it, may be before it is given up."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from netstudy import wire
from netstudy.plan.estimate import estimate_of
from netstudy.testbed.real.process import START_S
from netstudy.testbed.workloads import traffic_of

_SLOWDOWN = 50
"""How much slower than its links a workload may be: goodput collapses by that much."""
_EACH_S = 2.0
"""Added for each of what a phase counts: room for a series of timeouts."""
_TAIL_S = 60.0
"""Added to each phase: room for what is under way when its time is over."""
_UNHEARD_S = 3.0
"""How much longer than servers a client may be silent: it notices their silence, gives a sign of
life before that, and knows more of it than who only hears nothing of the client."""


@dataclass(frozen=True)
class Patience:
    """The limits of one run."""

    run: wire.Run
    silence_s: float
    """How long nothing may come of any server, beside the delays that the study asks for."""
    start_s: float = START_S

    @cached_property
    def run_s(self) -> float:
        """How long the run may take."""
        timed_s = sum(
            phase.until.ns / 1e9
            for phase in self.run.phases
            if isinstance(phase.until, wire.UntilTime)
        )
        counts = [
            phase.until.count
            for phase in self.run.phases
            if isinstance(phase.until, wire.UntilCount)
        ]
        counted_s = max(estimate_of([self.run]).line_seconds - timed_s, 0.0)
        room_s = sum(counts) * _EACH_S + len(self.run.phases) * _TAIL_S
        return self.start_s + timed_s + _SLOWDOWN * counted_s + room_s

    @property
    def run_ms(self) -> int:
        """The same in milliseconds, as processes are told."""
        return int(1_000 * self.run_s)

    @property
    def server_silence_s(self) -> float:
        """How long all servers that owe something may be silent."""
        wait_ns = traffic_of(self.run.workload).longest_wait_ns(self.run.workload)
        return self.silence_s + wait_ns / 1e9

    @property
    def client_silence_s(self) -> float:
        """How long a client may give no sign of life."""
        return self.server_silence_s + _UNHEARD_S
