"""What the parts of a real testbed that know no workload ask of each of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Generic, TypeVar

from netstudy import wire
from netstudy.testbed.real import wire as agent_wire
from netstudy.testbed.real.agent_specs import AgentSpec
from netstudy.testbed.real.evidence import AgentEvidence, Evidence

WireT = TypeVar("WireT", bound=wire.Traffic)


class Traffic(ABC, Generic[WireT]):
    """A workload on real hosts: the parts of its agents, and what their evidence comes to."""

    wired: ClassVar[type[wire.Traffic]]
    """What a plan carries."""

    @abstractmethod
    def client(self, run: wire.Run, spec: AgentSpec) -> agent_wire.AgentWorkload:
        """What an agent that opens connections does."""

    @abstractmethod
    def server(self, run: wire.Run, spec: AgentSpec) -> agent_wire.AgentWorkload:
        """What an agent that listens does."""

    def unsupported(self, run: wire.Run) -> Iterator[str]:  # noqa: ARG002
        """What agents cannot do of it, a sentence each."""
        yield from ()

    @abstractmethod
    def counted(self, work: WireT) -> int:
        """Samples that all clients together have when a count of one is done."""

    @abstractmethod
    def resized(self, work: WireT, share: float) -> WireT:
        """The same with messages of that share of their size, and without pauses: for a trial of
        the machine."""

    def longest_wait_ns(self, work: WireT) -> int:  # noqa: ARG002
        """Time for which a workload itself may have all of its ends do nothing."""
        return 0

    @abstractmethod
    def usual_ns(self, evidence: Evidence) -> float | None:
        """How long one of what it counts takes usually; None: nothing was counted."""

    @abstractmethod
    def samples(self, evidence: Evidence) -> wire.Samples:
        """The tables of the measuring phase. Raises LookupError when something is missing."""

    @abstractmethod
    def checks(self, evidence: Evidence) -> Iterator[wire.Check]:
        """The laws that are its own."""


AnyTraffic = Traffic[Any]


def until(run: wire.Run, kind: wire.PhaseKind) -> wire.Until:
    """When a phase ends, as an agent is told; one that the run does not have is empty."""
    return run.until(kind) or wire.UntilCount(count=0)


def connection_samples(evidence: Evidence, busy_ns: Mapping[int, int]) -> wire.ConnectionSamples:
    """A row a connection of the workload; `busy_ns` says how long each was busy.

    Bytes are those that the applications at both ends verified in the measuring phase. Of a phase
    that ends after a time: what the client had received and what its peer had acknowledged then, as
    the client alone knows that time.
    """
    rows = evidence.specs.workload
    connections = [evidence.specs.connections[row] for row in rows]
    of_client = [evidence.connection_growth(row, "client") for row in rows]
    of_server = [evidence.connection_growth(row, "server") for row in rows]
    ends = {"client": of_client, "server": of_server}

    def sent_again(name: str) -> tuple[int, ...]:
        return tuple(sum(ends[role][row][2][name] for role in evidence.sending) for row in rows)

    in_time = [_in_time(evidence, row) for row in rows]
    whole = [(got, gave) for (got, _, _), (gave, _, _) in zip(of_client, of_server, strict=True)]
    carried = [own or all_of_it for own, all_of_it in zip(in_time, whole, strict=True)]
    return wire.ConnectionSamples(
        client=tuple(one.node("client") for one in connections),
        server=tuple(one.node("server") for one in connections),
        bytes_received=tuple(received for received, _ in carried),
        bytes_sent=tuple(sent for _, sent in carried),
        busy_ns=tuple(busy_ns.get(row, 0) for row in rows),
        retransmissions=sent_again("retransmissions"),
        timeouts=sent_again("timeouts"),
    )


def phase_ns(evidence: Evidence) -> dict[int, int]:
    """Row -> how long its client measured."""
    return {
        row: client.phase("measure").to_ns - client.phase("measure").from_ns
        for client in evidence.clients
        for row in client.spec.own
    }


def _in_time(evidence: Evidence, row: int) -> tuple[int, int] | None:
    """What a connection had received and sent when the time of the phase was over; None: the phase
    did not end after a time."""
    spec, number = evidence.specs.end(row, "client")
    carried = evidence.agents[spec].phase("measure").in_time
    if carried is None:
        return None
    return carried.bytes_received[number], carried.bytes_acknowledged[number]


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


def seconds(evidence: Evidence) -> wire.SecondSamples:
    """A row a connection of the workload and second of the measuring phase, which ends with the
    last client. Bytes of the client count when the server's TCP has acknowledged them."""
    rows = sorted(
        (start_ns, agent.spec.rows[number], received, sent)
        for agent in evidence.clients
        for number, start_ns, received, sent in _seconds_of(agent)
        if agent.phase("measure").from_ns + start_ns < evidence.measure.end_ns
    )
    starts, connections, received, sent = zip(*rows, strict=True) if rows else ((), (), (), ())
    return wire.SecondSamples(
        connection=connections, start_ns=starts, bytes_received=received, bytes_sent=sent
    )


def _seconds_of(agent: AgentEvidence) -> Iterator[tuple[int, int, int, int]]:
    told = agent.one(agent_wire.SecondsRecord)
    columns = (told.connection, told.start_ns, told.bytes_received, told.bytes_sent)
    return zip(*columns, strict=True)


_DIGITS = 3
"""As agents keep them."""


def _servers(evidence: Evidence, spec: AgentSpec, of: str) -> Iterator[str]:
    rows = spec.probes if of == "probe" else spec.own
    yield from dict.fromkeys(evidence.specs.connections[row].node("server") for row in rows)
