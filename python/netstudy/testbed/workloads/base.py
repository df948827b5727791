"""The interface between workloads and the parts of a real testbed that are the same for all
workloads."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any, ClassVar, Final, Generic, TypeVar

from netstudy import wire
from netstudy.testbed.real import wire as agent_wire
from netstudy.testbed.real.agent_specs import AgentSpec
from netstudy.testbed.real.application import Served
from netstudy.testbed.real.clocks import NoBoundError
from netstudy.testbed.real.evidence import AgentEvidence, Evidence

WireT = TypeVar("WireT", bound=wire.Traffic)


RAM_FOLDER: Final = "/run/files"
"""Folder of the agents' files on a RAM disk."""
DISK_FOLDER: Final = "/run/disk"
"""Folder of the agents' files on a disk."""


class Traffic(ABC, Generic[WireT]):
    """A workload on real hosts: the tasks of its agents, and the samples and laws from their
    evidence."""

    wired: ClassVar[type[wire.Traffic]]
    """The type that describes this workload in a plan."""

    @abstractmethod
    def client(self, run: wire.Run, spec: AgentSpec) -> agent_wire.AgentWorkload:
        """The task of an agent that opens connections."""

    @abstractmethod
    def server(self, run: wire.Run, spec: AgentSpec) -> agent_wire.AgentWorkload:
        """The task of an agent that listens."""

    def unsupported(self, run: wire.Run) -> Iterator[str]:  # noqa: ARG002
        """Parts of the workload that agents do not support, one sentence each."""
        yield from ()

    def folders(self, work: WireT) -> frozenset[str]:  # noqa: ARG002
        """Which of RAM_FOLDER and DISK_FOLDER the agents need."""
        return frozenset()

    def is_all_payload(self, work: WireT) -> bool:  # noqa: ARG002
        """Whether connections are open before the measuring phase and carry only bytes that the
        applications count: then payload and TCP's bytes are equal."""
        return True

    @abstractmethod
    def counted(self, work: WireT) -> int:
        """How many samples all clients together make for each count of one in the plan."""

    @abstractmethod
    def resized(self, work: WireT, share: float) -> wire.Traffic:
        """The workload to use in a trial of the machine's capacity: with messages scaled by
        `share`, and without pauses. It may be a different workload that fills the same links."""

    def is_looked_at(self, role: wire.Role) -> bool:  # noqa: ARG002
        """True if the agents of a role look at their connections at intervals; else they read them
        at each message."""
        return True

    def longest_wait_ns(self, work: WireT) -> int:  # noqa: ARG002
        """The longest time for which the workload itself may keep all ends idle."""
        return 0

    @abstractmethod
    def usual_ns(self, evidence: Evidence) -> float | None:
        """The usual duration of one sample, in nanoseconds; None if there was no sample."""

    @abstractmethod
    def samples(self, evidence: Evidence) -> wire.Samples:
        """The tables of the measuring phase. Raises LookupError when something is missing."""

    def limits(self, evidence: Evidence) -> Iterator[wire.TestbedLimit]:  # noqa: ARG002
        """Limits of the traffic generators."""
        yield from ()

    @abstractmethod
    def checks(self, evidence: Evidence) -> Iterator[wire.Check]:
        """The workload's own laws."""


class ApplicationTraffic(Traffic[WireT]):
    """A workload whose server is not an agent but an application on its host."""

    @abstractmethod
    def served(self, run: wire.Run) -> Served:
        """The application and its hosts."""

    @abstractmethod
    def generator(
        self, run: wire.Run, spec: AgentSpec, local: agent_wire.Address, target: agent_wire.Endpoint
    ) -> agent_wire.AgentWorkload:
        """The task of an agent that sends requests to the application at `target`, from its own
        address `local`."""

    @abstractmethod
    def application_phases(self, work: WireT) -> Collection[wire.PhaseKind]:
        """The phases in which the application has work to do."""

    def client(self, run: wire.Run, spec: AgentSpec) -> agent_wire.AgentWorkload:  # noqa: ARG002
        """See Traffic.client. Never called: the task needs addresses, so `generator` returns it."""
        raise AssertionError("the task of a generator needs addresses")

    def server(self, run: wire.Run, spec: AgentSpec) -> agent_wire.AgentWorkload:  # noqa: ARG002
        """See Traffic.server. Never called: the application listens, not an agent."""
        raise AssertionError("no agent listens in place of the application")

    def is_all_payload(self, work: WireT) -> bool:  # noqa: ARG002
        """See Traffic.is_all_payload: the application, which need not be ours, opens and closes
        connections."""
        return False


AnyTraffic = Traffic[Any]


def until(run: wire.Run, kind: wire.PhaseKind) -> wire.Until:
    """When a phase ends, in the form that agents take; if the run lacks the phase, a count of 0."""
    return run.until(kind) or wire.UntilCount(count=0)


def connection_samples(evidence: Evidence, busy_ns: Mapping[int, int]) -> wire.ConnectionSamples:
    """A row for each connection of the workload; `busy_ns` says how long each was busy.

    Bytes count that the applications at both ends verified in the measuring phase. If the phase
    ends after a time, bytes count that the client had received and that its peer had acknowledged
    at that time; only the client knows these numbers.
    """
    rows = evidence.specs.workload
    connections = [evidence.specs.connections[row] for row in rows]
    of_client = [evidence.connection_growth(row, "client") for row in rows]
    of_server = [evidence.connection_growth(row, "server") for row in rows]
    ends = {"client": of_client, "server": of_server}

    def total(name: str) -> tuple[int, ...] | None:
        grown = [[ends[role][row][2].get(name) for role in evidence.sending] for row in rows]
        if any(None in each for each in grown):
            return None
        return tuple(sum(filter(None, each)) for each in grown)

    whole_ns = len(evidence.sending) * (evidence.measure.end_ns - evidence.measure.start_ns)

    def time_ns(name: str) -> tuple[int | None, ...]:
        # The counters grow until nothing is in flight any more, which may be after the phase.
        grown = [[ends[role][row][2].get(name) for role in evidence.sending] for row in rows]
        known = [None if None in each else 1000 * sum(filter(None, each)) for each in grown]
        return tuple(None if time is None else min(time, whole_ns) for time in known)

    whole = [(got, gave) for (got, _, _), (gave, _, _) in zip(of_client, of_server, strict=True)]
    carried = [
        _in_time(evidence, row, gave) or (got, gave)
        for row, (got, gave) in zip(rows, whole, strict=True)
    ]
    return wire.ConnectionSamples(
        client=tuple(one.node("client") for one in connections),
        server=tuple(one.node("server") for one in connections),
        bytes_received=tuple(received for received, _ in carried),
        bytes_sent=tuple(sent for _, sent in carried),
        busy_ns=tuple(busy_ns.get(row, 0) for row in rows),
        retransmissions=total("retransmissions"),
        timeouts=total("timeouts"),
        idle_ns=tuple(None if busy is None else whole_ns - busy for busy in time_ns("busy_us")),
        peer_window_ns=time_ns("peer_window_us"),
        own_buffer_ns=time_ns("own_buffer_us"),
    )


def phase_ns(evidence: Evidence) -> dict[int, int]:
    """Connection's row -> duration of the measuring phase at the connection's client."""
    return {
        row: client.phase("measure").to_ns - client.phase("measure").from_ns
        for client in evidence.clients
        for row in client.spec.own
    }


def _in_time(evidence: Evidence, row: int, sent: int) -> tuple[int, int] | None:
    """How many bytes a connection had received and sent when the time of the measuring phase was
    over; None: the phase did not end after a time.

    A client whose kernel does not report acknowledged bytes sends nothing but requests; for it, all
    bytes that it has `sent` in the phase count."""
    spec, number = evidence.specs.end(row, "client")
    carried = evidence.agents[spec].phase("measure").in_time
    if carried is None:
        return None
    acknowledged = carried.bytes_acknowledged
    return carried.bytes_received[number], sent if acknowledged is None else acknowledged[number]


def if_comparable(
    accounts: Callable[[], tuple[wire.TimeAccount, ...]],
) -> tuple[wire.TimeAccount, ...]:
    """Accounts of time; none if they need to compare clocks that cannot be compared."""
    try:
        return accounts()
    except NoBoundError:
        return ()


def histograms(evidence: Evidence) -> tuple[wire.RequestHistogram, ...]:
    """Latencies of requests and of probes, one for each client and phase."""
    return tuple(
        wire.RequestHistogram(
            operation="probe" if record.of == "probe" else "request",
            phase=record.phase,
            client=agent.spec.node,
            server=", ".join(_servers(evidence, agent.spec, record.of)),
            count=record.count,
            unanswered=record.unanswered,
            min_ns=record.min_ns or 0,
            max_ns=record.max_ns or 0,
            sum_ns=record.sum_ns,
            significant_digits=_DIGITS,
            value_ns=tuple(value for value, _ in record.histogram),
            requests=tuple(count for _, count in record.histogram),
        )
        for agent in evidence.clients
        for record in agent.all_of(agent_wire.ResponseTimesRecord)
        if record.count + record.unanswered
    )


def seconds(evidence: Evidence) -> wire.SecondSamples | None:
    """A row for each connection of the workload and each second that began in the measuring phase
    for sure. Bytes that a client sends count from when the server's TCP has acknowledged them.
    None: the kernel of a client does not report that, and the client writes no table."""
    if any(not agent.all_of(agent_wire.SecondsRecord) for agent in evidence.clients):
        return None
    rows = sorted(
        (start_ns, agent.spec.rows[number], received, sent)
        for agent in evidence.clients
        for number, start_ns, received, sent in _seconds_of(agent)
        if _is_before_end(evidence, agent, start_ns)
    )
    starts, connections, received, sent = zip(*rows, strict=True) if rows else ((), (), (), ())
    return wire.SecondSamples(
        connection=connections, start_ns=starts, bytes_received=received, bytes_sent=sent
    )


def _is_before_end(evidence: Evidence, agent: AgentEvidence, start_ns: int) -> bool:
    at_ns = agent.phase("measure").from_ns + start_ns
    return evidence.by_first(agent, at_ns).high_ns < evidence.measure.end_ns


def _seconds_of(agent: AgentEvidence) -> Iterator[tuple[int, int, int, int]]:
    record = agent.one(agent_wire.SecondsRecord)
    columns = (record.connection, record.start_ns, record.bytes_received, record.bytes_sent)
    return zip(*columns, strict=True)


_DIGITS = 3
"""The number of significant digits of the agents' histograms."""


def _servers(evidence: Evidence, spec: AgentSpec, of: str) -> Iterator[str]:
    rows = spec.probes if of == "probe" else spec.own
    yield from dict.fromkeys(evidence.specs.connections[row].node("server") for row in rows)
