"""The messages of the processes of one run; the record of the run is made from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final, Protocol, TypeVar

from netstudy import wire
from netstudy.plan.paths import Routes
from netstudy.testbed.real.agent_specs import AgentSpec, AgentSpecs
from netstudy.testbed.real.allowance import Allowance
from netstudy.testbed.real.application import ApplicationEvidence
from netstudy.testbed.real.clocks import Bracket, Clocks, Instant
from netstudy.testbed.real.snmp import Polls
from netstudy.testbed.real.switch_wire import (
    PathStatistics,
    SwitchClock,
    SwitchDrops,
    SwitchLinks,
    SwitchRecord,
    SwitchSamples,
    SwitchSnapshot,
)
from netstudy.testbed.real.sysstat import Recording
from netstudy.testbed.real.wire import (
    AgentRecord,
    ConnectionCounters,
    PacingRecord,
    PhaseRecord,
    ReadingsRecord,
    SnapshotRecord,
)

SWITCH: Final = "switch"
"""Name of the process that runs all switches; there is none if the kernel is the switch."""
OneT = TypeVar("OneT")


@dataclass(frozen=True)
class AgentEvidence:
    """An agent's counters at the start and end of phases, and its other records."""

    spec: AgentSpec
    host: str
    """The host, or the zone with a network stack of its own, whose counters the agent reads."""
    interface: str
    """The interface that the agent reads, by the name of its port in the plan; a zone's virtual
    interface is named after the port that it uses."""
    device: str
    """The kernel's name of this interface."""
    snapshots: Mapping[str, SnapshotRecord]
    """Start or end of a phase -> the counters at that time."""
    records: tuple[AgentRecord, ...]

    def all_of(self, kind: type[OneT]) -> list[OneT]:
        """The agent's records of a kind, in order."""
        return [record for record in self.records if isinstance(record, kind)]

    def one(self, kind: type[OneT]) -> OneT:
        """The agent's only record of a kind. Raises LookupError if there is none, or more than
        one."""
        return _one(self.all_of(kind), kind, self.spec.endpoint)

    def phase(self, name: str) -> PhaseRecord:
        """A client's record of a phase. Raises LookupError when the client did not have that
        phase."""
        found = [one for one in self.all_of(PhaseRecord) if one.name == name]
        return _one(found, PhaseRecord, self.spec.endpoint)

    def connection(self, number: int, edge: str) -> ConnectionCounters:
        """Counters of a connection at the start or end of a phase. Raises LookupError if the
        connection was not open."""
        found = [one for one in self.snapshots[edge].connections if one.connection == number]
        return _one(found, ConnectionCounters, self.spec.endpoint)

    def readings(self, number: int) -> list[ReadingsRecord]:
        """The readings of a connection, which has that number at this agent."""
        return [one for one in self.all_of(ReadingsRecord) if one.connection == number]

    def late_ns(self, first_ns: int, last_ns: int) -> list[int]:
        """Lateness of each message that was due between two instants."""
        return [
            late_ns
            for pacing in self.all_of(PacingRecord)
            for due_ns, late_ns in zip(pacing.due_ns, pacing.late_ns, strict=True)
            if first_ns <= due_ns <= last_ns
        ]


@dataclass(frozen=True)
class Readings:
    """Counters of ports at one moment."""

    at_ns: int
    ports: Mapping[str, Mapping[str, Mapping[str, int]]]
    """Switch -> port -> counter -> value."""


class SwitchEvidence(Protocol):
    """The counters of a run's switches."""

    def readings(self, edge: str) -> Readings | None:
        """The counters of all ports at the start or end of a phase; None: there is no switch."""

    def queues(self, edge: str) -> Sequence[wire.QueueStatistics]:
        """Counters of queue disciplines by then, by class; empty: no port has one."""

    def paths(self, edge: str) -> Sequence[PathStatistics]:
        """Counters of imperfect links by then; empty: all links are perfect."""

    @property
    def checks(self) -> Sequence[wire.Check]:
        """The switches' own checks, of the links."""

    @property
    def drops(self) -> Sequence[SwitchDrops] | None:
        """For each switch, the time and egress port of each drop; None: these switches only count
        drops."""

    @property
    def samples(self) -> Sequence[SwitchSamples]:
        """Samples of ports, taken at intervals."""

    @property
    def clock(self) -> SwitchClock | None:
        """How well the switches kept to their times; None: the kernel is the switch."""


@dataclass(frozen=True)
class UserSpaceSwitches:
    """The engine's own switches: their counters at the start and end of phases, and their final
    records."""

    snapshots: Mapping[str, SwitchSnapshot]
    records: tuple[SwitchRecord, ...]

    def readings(self, edge: str) -> Readings:
        """See SwitchEvidence.readings."""
        taken = self.snapshots[edge]
        return Readings(
            taken.at_ns,
            {
                switch: {port: counted.by_name for port, counted in ports.items()}
                for switch, ports in taken.counters.items()
            },
        )

    def queues(self, edge: str) -> Sequence[wire.QueueStatistics]:
        """See SwitchEvidence.queues."""
        return self.snapshots[edge].queues

    def paths(self, edge: str) -> Sequence[PathStatistics]:
        """See SwitchEvidence.paths."""
        return self.snapshots[edge].paths

    @property
    def checks(self) -> list[wire.Check]:
        """See SwitchEvidence.checks."""
        found = (one for one in self.records if isinstance(one, SwitchLinks))
        return [check for one in found for check in one.checks]

    @property
    def drops(self) -> list[SwitchDrops]:
        """See SwitchEvidence.drops."""
        return [one for one in self.records if isinstance(one, SwitchDrops)]

    @property
    def samples(self) -> list[SwitchSamples]:
        """See SwitchEvidence.samples."""
        return [one for one in self.records if isinstance(one, SwitchSamples)]

    @property
    def clock(self) -> SwitchClock:
        """See SwitchEvidence.clock."""
        return _one(
            [one for one in self.records if isinstance(one, SwitchClock)], SwitchClock, SWITCH
        )


@dataclass(frozen=True)
class KernelSwitch:
    """The kernel's queues, which count drops but do not record when they happen. A network without
    a switch, and therefore without ports to read."""

    snapshots: Mapping[str, Readings]
    drops: None = None
    checks: tuple[()] = ()
    samples: tuple[()] = ()
    clock: None = None

    def readings(self, edge: str) -> Readings | None:
        """See SwitchEvidence.readings."""
        return self.snapshots.get(edge)

    def queues(self, edge: str) -> Sequence[wire.QueueStatistics]:  # noqa: ARG002
        """See SwitchEvidence.queues."""
        return ()

    def paths(self, edge: str) -> Sequence[PathStatistics]:  # noqa: ARG002
        """See SwitchEvidence.paths."""
        return ()


@dataclass(frozen=True)
class Evidence:
    """All evidence of a run."""

    run: wire.Run
    specs: AgentSpecs
    agents: Mapping[AgentSpec, AgentEvidence]
    switch: SwitchEvidence
    edges: tuple[str, ...]
    """The starts and ends of phases at which counters were read, in order."""
    phases: tuple[wire.PhaseTimes, ...]
    """The phases that took place, in order."""
    tick_ns: int
    """Time between two ticks of the kernels' clocks: the resolution of TCP's timers and times."""
    clocks: Clocks
    """The clocks of all nodes; the phases are by that of the first client."""
    machines: Mapping[str, str]
    """Host or zone -> the machine that it runs on."""
    polls: tuple[Polls, ...] = ()
    """The pollers' readings by SNMP."""
    burst_bytes: int = 0
    """How many bytes the queue of a link may send at once, above its rate, after it was idle."""
    cpus: Mapping[str, float] = field(default_factory=dict)
    """Host -> number of CPUs that its processes may use."""
    application: ApplicationEvidence | None = None
    """The records of the application; None: the servers are agents."""
    recordings: tuple[Recording, ...] = ()
    """sysstat's recordings."""
    hardware: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """Host -> growth of its hardware counters in the measuring phase."""
    hardware_note: str | None = None
    """Why hardware counters were not read, or a note that they leave out the kernel's work; None:
    they were read and are complete."""
    allowed: Allowance | None = None
    """The activity of others that does not spoil the run; None: the hosts are the run's own."""
    application_connections: int = 0
    """The largest number of simultaneous connections that the application may have had."""

    @property
    def clients(self) -> list[AgentEvidence]:
        """The clients, in order."""
        return [self.agents[spec] for spec in self.specs.clients]

    @property
    def servers(self) -> list[AgentEvidence]:
        """The servers, in order."""
        return [self.agents[spec] for spec in self.specs.servers]

    @cached_property
    def hosts(self) -> dict[str, AgentEvidence]:
        """Host -> its first agent, whose readings of the host's counters are used."""
        found: dict[str, AgentEvidence] = {}
        for spec in self.specs.all:
            agent = self.agents[spec]
            found.setdefault(agent.host, agent)
        return found

    def agents_of(self, host: str) -> list[AgentEvidence]:
        """All agents of a host and its zones; for a zone, the agents of the zone."""
        inside = {zone.name for zone in self.run.network.zones if zone.host == host}
        return [agent for agent in self.agents.values() if agent.host in (host, *inside)]

    @cached_property
    def interfaces(self) -> dict[tuple[str, str], AgentEvidence]:
        """Host and port -> the agent that reads the interface. Zones with a network stack of their
        own are among the hosts."""
        found: dict[tuple[str, str], AgentEvidence] = {}
        for spec in self.specs.all:
            agent = self.agents[spec]
            found.setdefault((agent.host, agent.interface), agent)
        return found

    @cached_property
    def routes(self) -> Routes:
        """The paths through the network."""
        return Routes(self.run.network)

    def below(self, agent: AgentEvidence) -> AgentEvidence | None:
        """The agent that reads the host's interface that the given agent's traffic uses; for an
        agent of a zone, the interface below the zone's virtual interface. None: no agent reads
        it."""
        host = {zone.name: zone.host for zone in self.run.network.zones}.get(agent.host, agent.host)
        return self.interfaces.get((host, agent.interface))

    @property
    def measure(self) -> wire.PhaseTimes:
        """The measuring phase. Raises LookupError when there was none."""
        return _one([one for one in self.phases if one.kind == "measure"], wire.PhaseTimes, "run")

    @property
    def counted_ns(self) -> int:
        """The time in which the counters of the measuring phase grow: from the start of the phase
        until nothing is in flight."""
        starts = (self.by_first(one, one.phase("measure").from_ns) for one in self.clients)
        return self.quiet_ns - min(found.low_ns for found in starts)

    @property
    def quiet_ns(self) -> int:
        """Time at which all traffic of the measuring phase had arrived, by the first client's
        clock."""
        each = (self.by_first(one, one.phase("measure").quiet_ns) for one in self.clients)
        return max(found.high_ns for found in each)

    def instant(self, agent: AgentEvidence, at_ns: int) -> Instant:
        """A time of an agent."""
        return Instant(self.domain(agent), at_ns)

    def domain(self, agent: AgentEvidence) -> str:
        """The clock of an agent."""
        return self.clocks.domains[agent.spec.node]

    def by_first(self, agent: AgentEvidence, at_ns: int) -> Bracket:
        """A time of an agent, by the clock of the first client. Raises NoBoundError."""
        return self.clocks.translate(self.instant(agent, at_ns), self.domain(self.clients[0]))

    def measured_by(self, agent: AgentEvidence) -> tuple[int, int]:
        """Start and end of the measuring phase by an agent's clock. With another clock than the
        first client's, the times at which the agent read its counters."""
        if self.domain(agent) == self.domain(self.clients[0]):
            return self.measure.start_ns, self.measure.end_ns
        edges = (wire.MEASURE_START, wire.MEASURE_END)
        start_ns, end_ns = (agent.snapshots[edge].at_ns for edge in edges)
        return start_ns, end_ns

    def is_by_its_clock(self, polls: Polls) -> bool:
        """True if the times of a poller are by the clock of the switch in records, which is that of
        one host that polls it."""
        return self.clocks.domains[polls.from_] == self.clocks.domains[polls.switch]

    @cached_property
    def read_machines(self) -> dict[str, AgentEvidence]:
        """Machine -> the first agent on it, whose readings of the machine's counters are used."""
        found: dict[str, AgentEvidence] = {}
        for agent in self.hosts.values():
            found.setdefault(self.machines[agent.host], agent)
        return found

    @property
    def sending(self) -> tuple[wire.Role, ...]:
        """The roles (client, server or both) that send the workload's data."""
        return self.run.workload.sending

    def connection_growth(self, row: int, role: wire.Role) -> tuple[int, int, dict[str, int]]:
        """Growth of the counters at one end of a connection in the measuring phase: bytes that the
        application received and verified, bytes that it sent, and TCP's own counters; empty: the
        kernel reports none. Raises LookupError if it reported them at one of the edges only."""
        spec, number = self.specs.end(row, role)
        agent = self.agents[spec]
        first = agent.connection(number, wire.MEASURE_START)
        last = agent.connection(number, wire.MEASURE_END)
        if bool(first.tcp) != bool(last.tcp):
            raise LookupError(f"{spec.endpoint}: no TCP_INFO of connection {number} at an edge")
        return (
            last.bytes_received - first.bytes_received,
            last.bytes_sent - first.bytes_sent,
            {name: value - first.tcp[name] for name, value in last.tcp.items()},
        )


def _one(found: list[OneT], kind: type[OneT], who: str) -> OneT:
    if len(found) != 1:
        raise LookupError(f"{who} wrote {len(found)} records {kind.__name__}, not one")
    return found[0]
