"""Cross-checks of a run: compares independent instruments that counted the same thing.

The instruments are the applications' own bytes, TCP_INFO of each connection, the TCP counters of
each namespace, interfaces, the ports of switches, and the counters of these ports by SNMP. An
interface counts 4 bytes less per frame than a switch, since only the switch counts the check
sequence (IEEE 802.3, 3.1.1).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from netstudy.testbed.real.counters import growth, machine_growth, summed
from netstudy.testbed.real.evidence import AgentEvidence, Evidence
from netstudy.testbed.real.laws import port_growth
from netstudy.testbed.real.snmp import Polls
from netstudy.testbed.real.sysstat import Grown, Recording
from netstudy.testbed.workloads import traffic_of
from netstudy.units import (
    CHECK_SEQUENCE_BYTES,
    ETHERNET_HEADER_BYTES,
    IP_TCP_HEADER_BYTES,
    TIMESTAMPS_BYTES,
)
from netstudy.wire import MEASURE_END, MEASURE_START, Reconciliation, Role

_SHORTEST_FRAME_BYTES = 64  # IEEE 802.3, 4.4.2
_COMMANDS = 0.01
"""The commands of a protocol, whose bytes applications do not count, may take up to this share of
all bytes."""
_SLOW = "the agent shows what it counted up to its last refresh"
_DUPLICATE_REPORT_BYTES = 12
"""The size of a padded SACK option with one block (RFC 2018, 3; RFC 2883)."""


@dataclass(frozen=True)
class _Counted:
    """The counters of the measuring phase that the checks use."""

    evidence: Evidence

    @cached_property
    def ports(self) -> dict[str, dict[str, dict[str, int]]]:
        return port_growth(self.evidence)

    @cached_property
    def senders(self) -> list[AgentEvidence]:
        """For each host that sends the workload's data, one of its agents."""
        parts = [spec for spec in self.evidence.specs.all if spec.role in self.evidence.sending]
        return list(
            {one.host: one for one in (self.evidence.agents[spec] for spec in parts)}.values()
        )

    @cached_property
    def sent(self) -> dict[str, int]:
        """Counters of the hosts that send data."""
        return summed(growth(one, "host") for one in self.senders)

    @cached_property
    def receiving(self) -> list[AgentEvidence]:
        """The agents of hosts, and of zones with a stack of their own, that only receive data: one
        agent per interface."""
        sending = {one.host for one in self.senders}
        found = self.evidence.interfaces.values()
        return [one for one in found if one.host not in sending and one.spec.role != "observer"]

    @cached_property
    def receivers(self) -> list[AgentEvidence]:
        """The agents of hosts that only receive data, one for each interface; virtual interfaces of
        zones are left out."""
        sending = set(map(id, _below(self.evidence, self.senders)))
        return [one for one in _below(self.evidence, self.receiving) if id(one) not in sending]

    @cached_property
    def received(self) -> dict[str, int]:
        """Counters of the receivers' interfaces."""
        return summed(growth(one, "interface") for one in self.receivers)

    @cached_property
    def to_receivers(self) -> dict[str, int]:
        """Counters of the switch ports that lead to the receivers."""
        return summed(
            self.ports.get(far.node, {}).get(far.name, {})
            for one in self.receivers
            for link in self.evidence.run.network.links
            for end, far in ((link.a, link.b), (link.b, link.a))
            if (end.node, end.name) == (one.host, one.interface)
        )

    @cached_property
    def dropped(self) -> int | None:
        """Frames that switches dropped on the path of data; None: there is no switch."""
        if not self.ports:
            return None
        return sum(
            counted["frames_dropped"]
            for switch, ports in self.ports.items()
            for port, counted in ports.items()
            if (switch, port) in self._on_path
        )

    @cached_property
    def lost(self) -> int:
        """Frames that imperfect links lost on the path of data."""
        lost = {
            edge: sum(
                one.frames_lost
                for one in self.evidence.switch.paths(edge)
                if (one.node, one.port) in self._on_path
            )
            for edge in (MEASURE_START, MEASURE_END)
        }
        return lost[MEASURE_END] - lost[MEASURE_START]

    @cached_property
    def in_flight_at_edges(self) -> int:
        """Segments of data that were in flight at both edges of the measuring phase."""
        return sum(
            agent.connection(number, edge).tcp.get("unacked_segments", 0)
            for agent in self.senders
            for number in range(len(agent.spec.rows))
            for edge in (MEASURE_START, MEASURE_END)
        )

    @cached_property
    def _on_path(self) -> set[tuple[str, str]]:
        """The nodes and ports that send data."""
        evidence = self.evidence
        return {
            (port.node, port.name)
            for row in evidence.specs.workload
            for role in evidence.sending
            for port, _ in evidence.routes.route(*self._direction(row, role)).hops
        }

    def _direction(self, row: int, role: str) -> tuple[str, str]:
        one = self.evidence.specs.connections[row]
        return (one.client, one.server) if role == "client" else (one.server, one.client)

    def tcp(self, name: str) -> int | None:
        """The sum of a counter of TCP_INFO over all connections, as counted at the ends that send
        data; None: the kernel of one of them does not report it."""
        hosts = {one.host for one in self.senders}
        grown = [
            _growth_of(agent, number)
            for agent in self.evidence.agents.values()
            if agent.host in hosts
            for number in range(len(agent.spec.rows))
        ]
        if any(name not in one for one in grown):
            return None
        return sum(one[name] for one in grown)


def _below(evidence: Evidence, agents: Iterable[AgentEvidence]) -> list[AgentEvidence]:
    """The agents that read the interfaces that the data of the given agents pass, each agent once.
    Data that stay inside a host pass no interface."""
    found = (evidence.below(one) for one in agents)
    return list({id(one): one for one in found if one is not None}.values())


def _growth_of(agent: AgentEvidence, number: int) -> Mapping[str, int]:
    """Empty: the kernel reports no counters of the connection."""
    first, last = (agent.connection(number, edge) for edge in (MEASURE_START, MEASURE_END))
    return {name: value - first.tcp.get(name, 0) for name, value in last.tcp.items()}


def reconciliation(evidence: Evidence) -> tuple[Reconciliation, ...]:
    """The result of every check whose counters exist."""
    found = _Counted(evidence)
    checks = [_forwarded, _frame_bytes, _losses, _flows, _timeouts, _into_switch, _polled]
    work = evidence.run.workload
    if evidence.application is not None:  # agents cannot see the application's connections
        checks = [_polled]
    checks.append(_recorded)
    if traffic_of(work).is_all_payload(work):
        checks = [_payload, _forwarded, _frame_bytes, _wire, *checks[2:]]
    return tuple(one for check in checks for one in check(found))


def _payload(found: _Counted) -> Iterator[Reconciliation]:
    """Checks that the bytes that applications verified are the bytes that TCP delivered, at both
    ends of all connections."""
    verified = delivered = 0
    for agent in found.evidence.agents.values():
        for number in range(len(agent.spec.rows)):
            first, last = (agent.connection(number, edge) for edge in (MEASURE_START, MEASURE_END))
            verified += last.bytes_received - first.bytes_received
            grown = _growth_of(agent, number)
            if "tcp_bytes_received" not in grown:
                return
            delivered += grown["tcp_bytes_received"]
    yield _compared(
        "payload that the applications verified = that their TCP delivered", verified, delivered
    )


def _forwarded(found: _Counted) -> Iterator[Reconciliation]:
    if "interface_packets_received" in found.received and "frames_forwarded" in found.to_receivers:
        yield _compared(
            "frames that switches forwarded to who receives data = that their interfaces received",
            found.to_receivers["frames_forwarded"],
            found.received["interface_packets_received"],
        )


def _frame_bytes(found: _Counted) -> Iterator[Reconciliation]:
    if "interface_bytes_received" in found.received and "bytes_forwarded" in found.to_receivers:
        frames = found.received["interface_packets_received"]
        yield _compared(
            "bytes that switches forwarded to who receives data = bytes of their interfaces and "
            "check sequences",
            found.to_receivers["bytes_forwarded"],
            found.received["interface_bytes_received"] + CHECK_SEQUENCE_BYTES * frames,
        )


def _wire(found: _Counted) -> Iterator[Reconciliation]:
    """Checks that the payload plus the headers of all frames equals the bytes that the receiving
    interfaces counted.

    A receiver of duplicate data reports it in a TCP option, which takes bytes. A segment that was
    retransmitted although it was not lost arrives twice, so the interface counts its payload twice.
    """
    payload = _wire_payload(found)
    if "interface_bytes_received" not in found.received or payload is None:
        return
    options, full_payload = _segment(found)
    frames = found.received["interface_packets_received"]
    retransmitted = found.sent.get("segments_retransmitted", 0)
    copies = max(retransmitted - (found.dropped or 0) - found.lost, 0)
    reports = summed(growth(one, "host") for one in found.receiving).get("dsacks_received", 0)
    header_bytes = ETHERNET_HEADER_BYTES + IP_TCP_HEADER_BYTES + options
    yield _compared(
        "bytes of the interfaces that receive data = payload and headers of its frames",
        found.received["interface_bytes_received"],
        payload + frames * header_bytes + reports * _DUPLICATE_REPORT_BYTES,
        tolerance=copies * full_payload,
        explained=f"{copies} segments were sent again that were not lost, and arrived twice",
    )


def _segment(found: _Counted) -> tuple[int, int]:
    """The number of bytes in TCP's options, and the payload of the largest segment."""
    network = found.evidence.run.network
    groups = {node.name: node.group for node in network.nodes if node.kind != "switch"}
    stamps = network.group(groups[found.senders[0].spec.node]).tcp.timestamps
    options = TIMESTAMPS_BYTES if stamps else 0
    mtu_bytes = max(link.mtu_bytes for link in network.links)
    return options, mtu_bytes - IP_TCP_HEADER_BYTES - options


def _wire_payload(found: _Counted) -> int | None:
    """Payload that reached the receivers over links, summed over their connections; None: the
    kernel of one of them does not report it."""
    hosts = {one.host for one in found.receiving}
    total = 0
    for agent in found.evidence.agents.values():
        if agent.host not in hosts:
            continue
        for number, row in enumerate(agent.spec.rows):
            one = found.evidence.specs.connections[row]
            if found.evidence.routes.route(one.client, one.server).hops:
                grown = _growth_of(agent, number)
                if "tcp_bytes_received" not in grown:
                    return None
                total += grown["tcp_bytes_received"]
    return total


def _losses(found: _Counted) -> Iterator[Reconciliation]:
    """Checks that each dropped or lost frame with data was retransmitted once. Tail loss probes and
    spurious retransmissions come on top.

    If both ends send, acknowledgments without data use the same queues as data and may be dropped
    too, but are never retransmitted. Switches do not count them separately. So there may then be
    more drops than retransmissions, but not fewer.
    """
    if "segments_retransmitted" not in found.sent or found.dropped is None:
        return
    probes = found.sent.get("loss_probes", 0)
    doubles = found.sent.get("dsacked_segments_received", 0)
    timeouts = found.sent.get("timeouts", 0)
    # After a timeout, TCP also resends segments that were only delayed.
    after_timeouts = timeouts + found.sent.get("slow_start_retransmissions", 0)
    retransmitted, dropped = found.sent["segments_retransmitted"], found.dropped + found.lost
    over_edges = _over_edges(found, dropped)
    tolerance = probes + doubles + after_timeouts + over_edges
    explained = (
        f"{probes} tail loss probes, {doubles} segments reported as duplicates, "
        f"{after_timeouts} sent again by {timeouts} timeouts, which resend delayed segments as "
        f"well, and up to {over_edges} lost before an edge of the phase and sent again after it"
    )
    if len(found.evidence.sending) > 1:
        explained += (
            "; both ends send, and switches do not tell frames with data from acknowledgments, "
            "which nobody sends again: any of the drops may be of these"
        )
        if dropped > retransmitted:
            tolerance = max(tolerance, dropped)
    yield _compared(
        "segments that were sent again = frames that switches dropped and links lost on the way of "
        "data",
        retransmitted,
        dropped,
        tolerance=tolerance,
        explained=explained,
    )


def _over_edges(found: _Counted, lost: int) -> int:
    """How many segments may be lost before an edge of the measuring phase and retransmitted after
    it: a share of the segments in flight at the edges, as large as that of all segments (mean and
    five standard deviations of a Poisson law)."""
    sent = found.sent.get("segments_sent", 0)
    mean = lost / sent * found.in_flight_at_edges if sent else 0
    return math.ceil(mean + 5 * math.sqrt(mean))


def _flows(found: _Counted) -> Iterator[Reconciliation]:
    counted = found.tcp("retransmissions")
    if "segments_retransmitted" in found.sent and counted is not None:
        yield _compared(
            "segments sent again by the connections of who sends data = by their namespaces",
            counted,
            found.sent["segments_retransmitted"],
        )


def _timeouts(found: _Counted) -> Iterator[Reconciliation]:
    counted = found.tcp("timeouts")
    if "timeouts" in found.sent and counted is not None:
        yield _compared(
            "timeouts of the connections of who sends data = of their namespaces",
            counted,
            found.sent["timeouts"],
        )


def _into_switch(found: _Counted) -> Iterator[Reconciliation]:
    sending = {one.host for one in found.senders}
    own = [one for one in found.evidence.interfaces.values() if one.host in sending]
    sent = summed(growth(one, "interface") for one in _below(found.evidence, own))
    if "interface_packets_sent" in sent and len(found.ports) == 1 and found.receivers:
        port = found.to_receivers
        yield _compared(
            "frames that senders' interfaces sent = that the switch forwarded to who receives data "
            "or dropped",
            sent["interface_packets_sent"],
            port.get("frames_forwarded", 0) + port.get("frames_dropped", 0),
        )


def _polled(found: _Counted) -> Iterator[Reconciliation]:
    """Compares the counters of a port read by SNMP with the switch's own counters, and with the
    interface and the application of the host behind the port. At the start and end of the phase,
    the switch is polled while nothing is in flight."""
    asked = {(one.node, one.port) for one in found.evidence.run.instruments if one.kind == "snmp"}
    for polls in found.evidence.polls:
        for samples in polls.samples:
            if (polls.switch, samples.port) in asked:
                yield from _polled_port(found, _Polled(found, polls, samples.port))


@dataclass(frozen=True)
class _Polled:
    """A port that was polled."""

    found: _Counted
    polls: Polls
    port: str

    @property
    def name(self) -> str:
        return f"{self.polls.switch} {self.port}"

    def growth(self, counter: str) -> int | None:
        edges = self.polls.edges
        if MEASURE_START not in edges or MEASURE_END not in edges:
            return None
        course = self.polls.course(self.port)
        return course.growth(counter, edges[MEASURE_START], edges[MEASURE_END])

    def tolerance(self, growth: int) -> int:
        """Allowed difference: at the start and the end, the counters of a slow SNMP agent may be up
        to one refresh old."""
        if not self.polls.is_slow or self.polls.refresh_ns is None:
            return 0
        return round(2 * growth * self.polls.refresh_ns / self.found.evidence.counted_ns)

    @cached_property
    def behind(self) -> AgentEvidence | None:
        """The agent that reads the interface at the other end of the port's link; None: the port
        leads to another switch."""
        for link in self.found.evidence.run.network.links:
            for end, far in (link.ports, link.ports[::-1]):
                if (end.node, end.name) == (self.polls.switch, self.port):
                    return self.found.evidence.interfaces.get((far.node, far.name))
        return None


def _polled_port(found: _Counted, polled: _Polled) -> Iterator[Reconciliation]:
    own = found.ports.get(polled.polls.switch, {}).get(polled.port, {})
    for counter, what in (("bytes_received", "came in"), ("bytes_forwarded", "went out")):
        shown = polled.growth(counter)
        if shown is not None and counter in own:
            yield _compared(
                f"bytes that {what} at {polled.name}, by SNMP = by the switch itself",
                shown,
                own[counter],
                tolerance=polled.tolerance(shown),
                explained=_SLOW,
            )
    shown = polled.growth("bytes_received")
    if polled.behind is None or shown is None:
        return
    host, sent = polled.behind.host, growth(polled.behind, "interface")
    # The switch counts check sequences and padding; the interface counts neither.
    if "interface_bytes_sent" in sent:
        frames = sent["interface_packets_sent"]
        yield _compared(
            f"bytes that came in at {polled.name}, by SNMP = bytes that the interface of {host} "
            "sent, and check sequences",
            shown,
            sent["interface_bytes_sent"] + CHECK_SEQUENCE_BYTES * frames,
            tolerance=polled.tolerance(shown) + _padding_bytes(found) * frames,
            explained="short frames are padded on the wire" if _padding_bytes(found) else _SLOW,
        )
        yield from _application(found, polled, shown)


def _padding_bytes(found: _Counted) -> int:
    """By how many bytes an acknowledgment is padded, since a frame has a minimum length."""
    options, _ = _segment(found)
    frame_bytes = ETHERNET_HEADER_BYTES + IP_TCP_HEADER_BYTES + options + CHECK_SEQUENCE_BYTES
    return max(_SHORTEST_FRAME_BYTES - frame_bytes, 0)


def _application(found: _Counted, polled: _Polled, shown: int) -> Iterator[Reconciliation]:
    """Checks that the bytes of the port equal the payload that applications received from the host
    behind it plus the headers of the frames."""
    assert polled.behind is not None, "the caller has looked"
    evidence, host = found.evidence, polled.behind.host
    frames = polled.growth("frames_received")
    payload = 0
    ends: tuple[tuple[Role, Role], ...] = (("client", "server"), ("server", "client"))
    for row in evidence.specs.workload:
        for role, other in ends:
            sender, _ = evidence.specs.end(row, role)
            if evidence.agents[sender].host == host:
                payload += evidence.connection_growth(row, other)[0]
    if frames is None or not payload:
        return
    options, full_payload = _segment(found)
    header_bytes = ETHERNET_HEADER_BYTES + IP_TCP_HEADER_BYTES + options + CHECK_SEQUENCE_BYTES
    # Retransmitted payload passes the port twice, but reaches the application only once.
    again = growth(evidence.hosts[host], "host").get("segments_retransmitted", 0)
    all_payload = traffic_of(evidence.run.workload).is_all_payload(evidence.run.workload)
    tolerance = polled.tolerance(shown) + again * full_payload + _padding_bytes(found) * frames
    yield _compared(
        f"bytes that came in at {polled.name}, by SNMP = what applications received from {host}, "
        "and headers of its frames",
        shown,
        payload + frames * header_bytes,
        tolerance=tolerance if all_payload else tolerance + round(_COMMANDS * shown),
        explained=(
            f"{again} segments were sent again"
            if all_payload
            else "commands, replies, and the opening and closing of their connections"
        ),
    )


_NEIGHBOUR_FRAMES = 4
"""How many ARP frames hosts may exchange over a link between the readings of two instruments."""
_SAR_OF_INTERFACES = {
    "rxkB/s": ("bytes that {} received", "interface_bytes_received"),
    "txkB/s": ("bytes that {} sent", "interface_bytes_sent"),
    "rxpck/s": ("packets that {} received", "interface_packets_received"),
    "txpck/s": ("packets that {} sent", "interface_packets_sent"),
    "txdrop/s": ("packets that {} dropped when sending", "interface_send_drops"),
}
"""Figure of sar -> description of its counter, and the agents' counter of the same quantity."""
_SAR_BUSY = ("%user", "%nice", "%system")
_BUSY = ("cpu_user_ms", "cpu_nice_ms", "cpu_system_ms", "cpu_irq_ms", "cpu_softirq_ms")
_MS_PER_TICK = 10  # proc(5): USER_HZ
_NS_PER_MS = 1_000_000


def _recorded(found: _Counted) -> Iterator[Reconciliation]:
    """Compares sysstat's recordings with the agents' counters. The CPU time in any host's recording
    is that of the whole machine."""
    recordings = found.evidence.recordings
    for one in recordings:
        for (host, port), agent in found.evidence.interfaces.items():
            if host == one.host and port in one.interfaces:
                own = growth(agent, "interface")
                yield from _recorded_interface(f"{host} {port}", one.interfaces[port], own)
        own = growth(found.evidence.hosts[one.host], "host")
        if "segments_retransmitted" in own and "retrans/s" in one.tcp:
            yield _compared(
                f"segments that {one.host} retransmitted, by sar = by the probes",
                one.tcp["retrans/s"],
                own["segments_retransmitted"],
            )
    if recordings:
        yield _recorded_cpu(found.evidence, recordings[0])


def _recorded_interface(
    name: str, shown: Grown, own: Mapping[str, int]
) -> Iterator[Reconciliation]:
    for figure, (what, counter) in _SAR_OF_INTERFACES.items():
        if figure in shown and counter in own:
            frames = 0 if figure == "txdrop/s" else _NEIGHBOUR_FRAMES
            yield _compared(
                f"{what.format(name)}, by sar ({figure}) = by the probes",
                shown[figure],
                own[counter],
                tolerance=frames * (_SHORTEST_FRAME_BYTES if "kB" in figure else 1),
                explained="hosts ask for each other's addresses while nothing else is in flight",
            )


def _recorded_cpu(evidence: Evidence, one: Recording) -> Reconciliation:
    own = machine_growth(evidence, one.host)
    snapshots = evidence.read_machines[evidence.machines[one.host]].snapshots
    outside_ns = snapshots[MEASURE_START].at_ns - one.began_ns
    outside_ns += one.ended_ns - snapshots[MEASURE_END].at_ns
    cpus = round(
        _MS_PER_TICK * sum(one.cpu_ticks.values()) * _NS_PER_MS / (one.ended_ns - one.began_ns)
    )
    rounded_ms = 2 * _MS_PER_TICK * len(_BUSY)
    return _compared(
        f"CPU time of the machine in ms, by sar at {one.host} = by the probes",
        _MS_PER_TICK * sum(one.cpu_ticks.get(name, 0) for name in _SAR_BUSY),
        sum(own.get(name, 0) for name in _BUSY),
        tolerance=rounded_ms + max(cpus, 1) * outside_ns // _NS_PER_MS,
        explained=f"sar read the counters {outside_ns / 1e9:.1f} s longer, in all",
    )


def _compared(
    check: str, left: int, right: int, *, tolerance: int = 0, explained: str | None = None
) -> Reconciliation:
    difference = left - right
    return Reconciliation(
        check=check,
        left=left,
        right=right,
        difference=difference,
        tolerance=tolerance,
        explained=explained if difference else None,
        holds=abs(difference) <= tolerance,
    )
