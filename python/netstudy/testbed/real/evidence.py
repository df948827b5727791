"""What the processes of one run said: the material that its record is made of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from netstudy.testbed.real.switch_wire import (
    SwitchClock,
    SwitchDrops,
    SwitchPortCounters,
    SwitchRecord,
    SwitchSnapshot,
)
from netstudy.testbed.real.wire import (
    AgentRecord,
    IterationsRecord,
    PacingRecord,
    RequestsRecord,
    ServedRecord,
    SnapshotRecord,
    VerifiedRecord,
)

OneT = TypeVar("OneT")


@dataclass(frozen=True)
class HostEvidence:
    """An agent's counters around the measuring phase, and what it wrote at its end."""

    node: str
    before: SnapshotRecord
    after: SnapshotRecord
    records: tuple[AgentRecord, ...]

    def all_of(self, kind: type[OneT]) -> list[OneT]:
        """Its records of a kind, in order."""
        return [record for record in self.records if isinstance(record, kind)]

    def one(self, kind: type[OneT]) -> OneT:
        """Its record of a kind. Raises LookupError when there is none."""
        return _one(self.all_of(kind), kind, self.node)

    def late_ns(self, phase: IterationsRecord) -> list[int]:
        """How late each thing was that was due at an instant of the phase."""
        first_ns, last_ns = phase.started_ns[0], phase.ended_ns[-1]
        return [
            late_ns
            for pacing in self.all_of(PacingRecord)
            for due_ns, late_ns in zip(pacing.due_ns, pacing.late_ns, strict=True)
            if first_ns <= due_ns <= last_ns
        ]


class SwitchEvidence(Protocol):
    """What the switch of a run counted over the measuring phase."""

    def growth(self, node: str) -> dict[str, int]:
        """The counters of the port to a node; the longest queue, where known, is the run's."""

    @property
    def drops(self) -> SwitchDrops | None:
        """When it dropped, and at which egress; None: it only counts."""

    @property
    def clock(self) -> SwitchClock | None:
        """How well it kept to its times; None: the kernel is the switch."""

    @property
    def burst_bytes(self) -> int:
        """What a port may send faster than its rate after it was idle."""


@dataclass(frozen=True)
class UserSpaceSwitch:
    """The engine's own switch: its counters around the measuring phase, and its last words."""

    before: SwitchSnapshot
    after: SwitchSnapshot
    records: tuple[SwitchRecord, ...]
    burst_bytes: int = 0

    @property
    def drops(self) -> SwitchDrops:
        """See SwitchEvidence.drops."""
        return _one([one for one in self.records if isinstance(one, SwitchDrops)], SwitchDrops)

    @property
    def clock(self) -> SwitchClock:
        """See SwitchEvidence.clock."""
        return _one([one for one in self.records if isinstance(one, SwitchClock)], SwitchClock)

    def growth(self, node: str) -> dict[str, int]:
        """See SwitchEvidence.growth."""
        return _port_growth(self.before.counters[node], self.after.counters[node])


@dataclass(frozen=True)
class KernelSwitch:
    """The kernel's queues, which count and do not tell when: node -> counters of its port."""

    before: Mapping[str, Mapping[str, int]]
    after: Mapping[str, Mapping[str, int]]
    burst_bytes: int

    @property
    def drops(self) -> None:
        """See SwitchEvidence.drops."""
        return

    @property
    def clock(self) -> None:
        """See SwitchEvidence.clock."""
        return

    def growth(self, node: str) -> dict[str, int]:
        """See SwitchEvidence.growth."""
        return {name: value - self.before[node][name] for name, value in self.after[node].items()}


@dataclass(frozen=True)
class Evidence:
    """All of a run."""

    client: HostEvidence
    servers: tuple[HostEvidence, ...]
    """In the order of the plan."""
    switch: SwitchEvidence

    @property
    def hosts(self) -> tuple[HostEvidence, ...]:
        """The client, then the servers."""
        return (self.client, *self.servers)

    @property
    def iterations(self) -> IterationsRecord:
        """When each iteration of the measuring phase was."""
        return self.client.one(IterationsRecord)

    @property
    def requests(self) -> list[RequestsRecord]:
        """The requests of the measuring phase, by server."""
        return sorted(self.client.all_of(RequestsRecord), key=lambda one: one.server)

    @property
    def verified_bytes(self) -> int:
        """Bytes that came as they were sent, warm-up included."""
        return self.client.one(VerifiedRecord).bytes

    @property
    def served(self) -> list[ServedRecord]:
        """What each server answered, warm-up included."""
        return [server.one(ServedRecord) for server in self.servers]


def _one(found: list[OneT], kind: type[OneT], node: str = "switch") -> OneT:
    if len(found) != 1:
        raise LookupError(f"{node} wrote {len(found)} records {kind.__name__}, not one")
    return found[0]


def _port_growth(before: SwitchPortCounters, after: SwitchPortCounters) -> dict[str, int]:
    first, last = before.model_dump(), after.model_dump()
    maxima = ("queue_bytes_max",)
    return {name: last[name] - (0 if name in maxima else first[name]) for name in last}


def summed(parts: Iterable[Mapping[str, int]], maxima: Sequence[str] = ()) -> dict[str, int]:
    """Counters of several nodes as those of one: sums, and the largest of each maximum."""
    total: dict[str, int] = {}
    for part in parts:
        for name, value in part.items():
            before = total.get(name, 0)
            total[name] = max(before, value) if name in maxima else before + value
    return total
