"""Buffers that never filled, so that their size made no difference."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from netstudy.analysis.caveats.base import Analysed, Caveat, Planned, compares_within
from netstudy.analysis.claims import Claim
from netstudy.analysis.design import groups_of_nodes
from netstudy.analysis.ideal import split
from netstudy.analysis.samples import RunSample, dropped_at_ports
from netstudy.analysis.workloads import WorkloadAnalysis
from netstudy.analysis.workloads.signals import pauses
from netstudy.units import CHECK_SEQUENCE_BYTES, ETHERNET_HEADER_BYTES, header_bytes
from netstudy.wire import Level, Run


@dataclass(frozen=True)
class Depth:
    """The size of a buffer at one level, and the largest number of bytes that were, or could be, in
    the buffer."""

    level: Level
    size_bytes: int
    most_bytes: int | None
    """After the runs, the longest queue of any run; before, the most data that senders can have in
    flight. None: not known."""


@dataclass(frozen=True)
class CannotFill(Caveat):
    """Levels of a buffer that all senders together cannot fill."""

    factor: str
    depths: tuple[Depth, ...]

    @classmethod
    def in_plan(cls, planned: Planned) -> Iterator[CannotFill]:
        """One caveat for each factor that changes buffers only."""
        design = planned.design
        for factor, kind in design.kinds.items():
            depths = []
            for level in design.levels[factor] if kind == "buffer" else ():
                each = [
                    Depth(level, _smallest_buffer(run), _at_once(run, planned.workload))
                    for run in design.runs
                    if run.treatment.get(factor) == level
                ]
                if all(_fits(one) for one in each):
                    depths.append(max(each, key=lambda one: one.most_bytes or 0))
            if len(depths) > 1:
                yield cls(factor, tuple(depths))

    @classmethod
    def in_results(cls, analysed: Analysed) -> Iterator[CannotFill]:
        """Without the factors of which the runs give the longest queues."""
        filled = {one.factor for one in NeverFilled.in_results(analysed)}
        return (one for one in cls.in_plan(analysed.planned) if one.factor not in filled)

    def forbids(self, claim: Claim) -> bool:
        """Comparisons of these levels with each other."""
        return compares_within(claim, self.factor, [one.level for one in self.depths])


@dataclass(frozen=True)
class NeverFilled(Caveat):
    """Levels of a buffer that was never full: no run had drops or PAUSE frames."""

    factor: str
    depths: tuple[Depth, ...]

    @classmethod
    def in_results(cls, analysed: Analysed) -> Iterator[NeverFilled]:
        """One caveat for each factor that changes buffers only."""
        rows, factors = analysed.rows, analysed.cells.factors
        for factor, kind in analysed.planned.design.kinds.items():
            depths = []
            for level in factors[factor] if kind == "buffer" else ():
                of_level = (row for row in rows if row.treatment.get(factor) == level)
                runs = [run for row in of_level for run in row.runs]
                if runs and all(map(_had_room, runs)):
                    depths.append(_deepest(level, runs))
            if len(depths) > 1:
                yield cls(factor, tuple(depths))

    def forbids(self, claim: Claim) -> bool:
        """Comparisons of these levels with each other."""
        return compares_within(claim, self.factor, [one.level for one in self.depths])


def _fits(one: Depth) -> bool:
    return one.most_bytes is not None and one.most_bytes <= one.size_bytes


def _had_room(run: RunSample) -> bool:
    return dropped_at_ports(run.record) == 0 and not pauses(run.record)


def _smallest_buffer(run: Run) -> int:
    return min(switch.buffer.queue_bytes() for switch in run.network.switches)


def _at_once(run: Run, workload: WorkloadAnalysis) -> int | None:
    """Most bytes of frames that all senders together can have in flight; None: not known."""
    if workload.offered is None:
        return None
    total = 0.0
    groups = groups_of_nodes(run.network)
    mtu = min(link.mtu_bytes for link in run.network.links)  # most headers, for an upper bound
    for (client, server), offered in zip(
        run.workload.connected, workload.offered(run), strict=True
    ):
        ends = {"client": groups[split(client)[0]], "server": groups[split(server)[0]]}
        for role in run.workload.sending:
            sender = ends[role].tcp
            receiver = ends["server" if role == "client" else "client"].tcp
            window = min(sender.send_buffer_bytes, receiver.receive_buffer_bytes)
            payload = window if offered is None else min(window, offered)
            full = mtu - header_bytes(timestamps=sender.timestamps)
            total += payload * (mtu + ETHERNET_HEADER_BYTES + CHECK_SEQUENCE_BYTES) / full
    return int(total)


def _deepest(level: Level, runs: Sequence[RunSample]) -> Depth:
    found = [value for run in runs if (value := _longest_queue(run)) is not None]
    most = max(found) if found and len(found) == len(runs) else None
    return Depth(level, _smallest_buffer(runs[0].planned), most)


_LONGEST = "queue_bytes_max"


def _longest_queue(run: RunSample) -> int | None:
    grown = [
        run.record.growth({name: read for name, read in readings.items() if name == _LONGEST})
        for switch in run.planned.network.switches
        for readings in run.record.ports.get(switch.name, {}).values()
    ]
    known = [longest for one in grown for longest in one.values()]
    return max(known) if known else None
