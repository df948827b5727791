"""Progress and time limits of the runs of a plan, which are executed one after the other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from netstudy import wire
from netstudy.plan.estimate import estimate_of
from netstudy.testbed.real.processes import START_S
from netstudy.testbed.real.wire import ProgressRecord
from netstudy.testbed.workloads import traffic_of

_SLOWDOWN = 50
"""A workload may take this many times as long as its links need, since goodput can collapse that
far."""
_EACH_S = 2.0
"""Time added to the limit for each sample of a phase, in case of a series of retransmission
timeouts."""
_TAIL_S = 60.0
"""Time added to the limit for each phase, for the transfers in progress at its end."""
_UNHEARD_S = 3.0
"""A client may be silent for this much longer than the servers. So the client, which knows more
than the supervisor, is the first to report that the servers are silent."""


class Progress:
    """Turns the number of completed runs into progress records."""

    def __init__(self, plan: wire.Plan) -> None:
        """No run has ended yet."""
        from netstudy.plan import useful_packets

        self._runs = plan.runs
        self._packets = [useful_packets(run) for run in plan.runs]

    def between(self, runs_done: int) -> wire.ProgressRecord:
        """The progress when `runs_done` runs have ended and none is in progress."""
        return self._record(runs_done, sum(self._packets[:runs_done]), None)

    def within(self, runs_done: int, under_way: wire.RunUnderWay) -> wire.ProgressRecord:
        """The progress when `runs_done` runs have ended and the next one is in progress."""
        own = self._packets[runs_done] * under_way.done // max(under_way.of, 1)
        return self._record(runs_done, sum(self._packets[:runs_done]) + own, under_way)

    def _record(
        self, runs_done: int, packets: int, under_way: wire.RunUnderWay | None
    ) -> wire.ProgressRecord:
        return wire.ProgressRecord(
            runs_done=runs_done,
            runs=len(self._runs),
            packets=packets,
            packets_planned=sum(self._packets),
            under_way=under_way,
        )


class UnderWay:
    """Progress of one run: in iterations, transfers or the like, or in milliseconds if its
    measuring phase ends after a time."""

    def __init__(self, run: wire.Run) -> None:
        """The run is in its first phase."""
        self._samples: dict[str, int] = {}
        self._since_ns: dict[str, int] = {}
        self._timed = isinstance(run.until("measure"), wire.UntilTime)
        kinds: tuple[wire.PhaseKind, ...] = ("idle", "warm-up", "measure")
        present = [kind for kind in kinds if run.until(kind) or kind != "idle"]
        self._lengths = [self._length(run.until(kind)) for kind in present]
        self._each = 1 if self._timed else traffic_of(run.workload).counted(run.workload)
        self._phase = 0

    def _length(self, until: wire.UntilCount | wire.UntilTime | None) -> int:
        """Length of a phase in the unit of the run's progress; 0 if the end of the phase is given
        in the other unit."""
        match until:
            case wire.UntilTime(ns=ns) if self._timed:
                return ns // 1_000_000
            case wire.UntilCount(count=count) if not self._timed:
                return count
            case _:
                return 0

    def next_phase(self) -> None:
        """The clients enter their next phase."""
        self._phase += 1
        self._samples, self._since_ns = {}, {}

    def listener(
        self, client: str, tell: Callable[[wire.RunUnderWay], None] | None
    ) -> Callable[[Any], None]:
        """A callback that is given a client's records and reports the progress of the run to
        `tell`."""

        def on_record(record: object) -> None:
            if isinstance(record, ProgressRecord) and tell is not None:
                self._samples[client] = record.samples
                since_ns = self._since_ns.setdefault(client, record.at_ns)
                tell(self._now(record.at_ns - since_ns))

        return on_record

    def _now(self, passed_ns: int) -> wire.RunUnderWay:
        length = self._lengths[self._phase]
        counted = sum(self._samples.values()) // self._each
        own = passed_ns // 1_000_000 if self._timed else counted
        done = sum(self._lengths[: self._phase]) + min(own, length)
        return wire.RunUnderWay(done=done, of=sum(self._lengths))


@dataclass(frozen=True)
class TimeLimits:
    """Time limits of one run, and of the silence of its processes."""

    run: wire.Run
    silence_s: float
    """How long all servers may be silent, apart from the delays that the study asks for."""
    start_s: float = START_S

    @cached_property
    def run_s(self) -> float:
        """Time limit of the run."""
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
        recorded = (one.every_ns / 1e9 for one in self.run.instruments if one.sysstat)
        return self.start_s + timed_s + _SLOWDOWN * counted_s + room_s + max(recorded, default=0)

    @property
    def run_ms(self) -> int:
        """`run_s` in milliseconds, for the plans of processes."""
        return int(1_000 * self.run_s)

    @property
    def server_silence_s(self) -> float:
        """How long the servers may be silent while a client waits for them."""
        wait_ns = traffic_of(self.run.workload).longest_wait_ns(self.run.workload)
        return self.silence_s + wait_ns / 1e9

    @property
    def client_silence_s(self) -> float:
        """How long a client may be silent."""
        return self.server_silence_s + _UNHEARD_S
