"""How far a testbed is that makes the runs of a plan one after the other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from netstudy import wire
from netstudy.testbed.real.wire import ProgressRecord
from netstudy.testbed.workloads import traffic_of


class Progress:
    """Turns what has ended of a plan into progress records."""

    def __init__(self, plan: wire.Plan) -> None:
        """Nothing has ended."""
        from netstudy.plan import useful_packets

        self._runs = plan.runs
        self._packets = [useful_packets(run) for run in plan.runs]

    def between(self, runs_done: int) -> wire.ProgressRecord:
        """So many runs have ended, and none is under way."""
        return self._record(runs_done, sum(self._packets[:runs_done]), None)

    def within(self, runs_done: int, under_way: wire.RunUnderWay) -> wire.ProgressRecord:
        """The run after so many is so far."""
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
    """How far one run is: in what its workload counts, or in milliseconds where its measuring phase
    lasts for a time."""

    def __init__(self, run: wire.Run) -> None:
        """In its first phase."""
        self._samples: dict[str, int] = {}
        self._since_ns: int | None = None
        self._timed = isinstance(run.until("measure"), wire.UntilTime)
        kinds: tuple[wire.PhaseKind, ...] = ("idle", "warm-up", "measure")
        there = [kind for kind in kinds if run.until(kind) or kind != "idle"]
        self._lengths = [self._length(run.until(kind)) for kind in there]
        self._each = 1 if self._timed else traffic_of(run.workload).counted(run.workload)
        self._phase = 0

    def _length(self, until: wire.UntilCount | wire.UntilTime | None) -> int:
        """Of a phase, in the unit of the run; what has another unit does not count."""
        match until:
            case wire.UntilTime(ns=ns) if self._timed:
                return ns // 1_000_000
            case wire.UntilCount(count=count) if not self._timed:
                return count
            case _:
                return 0

    def next_phase(self) -> None:
        """The next phase of the clients begins."""
        self._phase += 1
        self._samples, self._since_ns = {}, None

    def listener(
        self, client: str, tell: Callable[[wire.RunUnderWay], None] | None
    ) -> Callable[[Any], None]:
        """What hears all that a client writes, and tells how far the run is."""

        def heard(record: object) -> None:
            if isinstance(record, ProgressRecord) and tell is not None:
                self._samples[client] = record.samples
                self._since_ns = self._since_ns or record.at_ns
                tell(self._now(record.at_ns))

        return heard

    def _now(self, at_ns: int) -> wire.RunUnderWay:
        length = self._lengths[self._phase]
        if self._timed:
            own = (at_ns - (self._since_ns or at_ns)) // 1_000_000
        else:
            own = sum(self._samples.values()) // self._each
        done = sum(self._lengths[: self._phase]) + min(own, length)
        return wire.RunUnderWay(done=done, of=sum(self._lengths))
