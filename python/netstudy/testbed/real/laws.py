"""Laws that hold for every workload: no link exceeds its rate, and frames do not vanish or appear
on the way."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from netstudy import wire
from netstudy.testbed.real.counters import growth
from netstudy.testbed.real.evidence import Evidence, Readings
from netstudy.units import CHECK_SEQUENCE_BYTES, ETHERNET_HEADER_BYTES, FRAMING_BYTES

_GAP_BYTES = FRAMING_BYTES - ETHERNET_HEADER_BYTES - CHECK_SEQUENCE_BYTES
"""Bytes on the wire in addition to a frame: preamble with delimiter, gap (IEEE 802.3, 4.4.2)."""


_TRAILING_BYTES = 2 * 90
"""Additional frames allowed for each connection: two acknowledgments, sent after its last byte was
read."""


@dataclass(frozen=True)
class _End:
    """Counters at one end of a link in the measuring phase; None: this end was not read."""

    port: wire.Port
    sent: int | None
    received: int | None
    sent_bytes: int | None
    """Bytes on the wire, including the gaps between frames."""
    lost: int
    """Frames that its link lost, minus its duplicates."""

    @property
    def arrives(self) -> int | None:
        """Frames that arrive at the other end; None: unknown."""
        return None if self.sent is None else self.sent - self.lost

    @property
    def name(self) -> str:
        return f"{self.port.node} {self.port.name}"


def port_growth(evidence: Evidence) -> dict[str, dict[str, dict[str, int]]]:
    """Switch -> port -> growth of its counters over the measuring phase."""
    first = evidence.switch.readings(wire.MEASURE_START)
    last = evidence.switch.readings(wire.MEASURE_END)
    if first is None or last is None:
        return {}
    return {
        switch: {port: _grown(first, switch, port, counted) for port, counted in ports.items()}
        for switch, ports in last.ports.items()
    }


def _grown(first: Readings, switch: str, port: str, last: Mapping[str, int]) -> dict[str, int]:
    before = first.ports[switch][port]
    return {
        name: value if name in wire.MAXIMA else value - before[name] for name, value in last.items()
    }


def conserved(evidence: Evidence) -> Iterator[wire.Check]:
    """Every frame sent at one end of a link is received at the other, and every frame that a switch
    receives is forwarded or counted as dropped. Counters are read while nothing is in flight."""
    ports = port_growth(evidence)
    broken = [
        f"{one.name} sent {one.sent}{_less(one.lost)}, {other.name} received {other.received}"
        for link in evidence.run.network.links
        for one, other in _directions(link, evidence, ports)
        if one.arrives is not None and other.received is not None and one.arrives != other.received
    ]
    broken += list(_of_switches(ports))
    compared = sum(
        one.sent is not None and other.received is not None
        for link in evidence.run.network.links
        for one, other in _directions(link, evidence, ports)
    )
    yield wire.Check(
        law="every frame that is sent comes to the other end of its link, and through each switch "
        "or into its count of drops",
        holds=not broken,
        detail="; ".join(broken) or f"{compared} directions of links, {len(ports)} switches",
    )


def _less(lost: int) -> str:
    return f" (less {lost} that the link lost)" if lost else ""


def _lost(port: wire.Port, evidence: Evidence) -> int:
    """Frames that the link lost in the measuring phase, minus its duplicates."""
    counted = [
        sum(
            one.frames_lost - one.frames_duplicated
            for one in evidence.switch.paths(edge)
            if (one.node, one.port) == (port.node, port.name)
        )
        for edge in (wire.MEASURE_START, wire.MEASURE_END)
        if port.path is not None
    ]
    return counted[1] - counted[0] if counted else 0


def _of_switches(ports: Mapping[str, Mapping[str, Mapping[str, int]]]) -> Iterator[str]:
    for switch, counted in ports.items():
        if not all("frames_received" in one for one in counted.values()):
            continue
        came = sum(
            _counted(one, "frames_received", "frames_originated") for one in counted.values()
        )
        names = ("frames_forwarded", "frames_dropped", "frames_unaddressed", "frames_consumed")
        went = sum(_counted(one, *names) for one in counted.values())
        if came != went:
            yield f"{switch} received or made {came}, forwarded, dropped or took {went}"


def _counted(port: Mapping[str, int], *names: str) -> int:
    """A counter for frames from or to the switch itself; only a polled switch has such frames."""
    return sum(port.get(name, 0) for name in names)


def _directions(
    link: wire.Link, evidence: Evidence, ports: Mapping[str, Mapping[str, Mapping[str, int]]]
) -> tuple[tuple[_End, _End], tuple[_End, _End]]:
    a, b = (_end(port, evidence, ports) for port in link.ports)
    return (a, b), (b, a)


def _end(
    port: wire.Port, evidence: Evidence, ports: Mapping[str, Mapping[str, Mapping[str, int]]]
) -> _End:
    if port.node in ports:
        counted = ports[port.node].get(port.name, {})
        frames = counted.get("frames_forwarded")
        size = counted.get("bytes_forwarded")
        came = counted.get("frames_received")
        return _End(port, frames, came, _on_wire(frames, size, 0), _lost(port, evidence))
    agent = evidence.interfaces.get((port.node, port.name))
    if agent is None:
        return _End(port, None, None, None, 0)
    own = growth(agent, "interface")
    frames, size = own.get("interface_packets_sent"), own.get("interface_bytes_sent")
    received = own.get("interface_packets_received")
    on_wire = _on_wire(frames, size, CHECK_SEQUENCE_BYTES)
    return _End(port, frames, received, on_wire, _lost(port, evidence))


def _on_wire(frames: int | None, size: int | None, more: int) -> int | None:
    return None if frames is None or size is None else size + (_GAP_BYTES + more) * frames


def below_line_rate(evidence: Evidence) -> Iterator[wire.Check]:
    """Checks that no direction of a link carried more than its rate allows, from the start of the
    measuring phase until nothing is in flight. Frames count with the gaps between them. The check
    allows for the burst that a kernel queue may send at once after it was idle, and for
    acknowledgments of the last byte."""
    connections = len(evidence.specs.connections) + evidence.application_connections
    allowed_bytes = evidence.burst_bytes + _TRAILING_BYTES * connections
    shares = list(line_shares(evidence, allowed_bytes))
    if not shares:
        return
    busiest, port = max(shares, key=lambda found: found[0])
    yield wire.Check(
        law="no link carries more than its rate",
        holds=busiest <= 1,
        detail=f"the busiest direction, from {port.node} {port.name}, "
        f"carried {100 * busiest:.2f} % of its rate",
    )


def line_shares(evidence: Evidence, allowed_bytes: int = 0) -> Iterator[tuple[float, wire.Port]]:
    """The share of its rate that each end of a link used, from the start of the measuring phase
    until nothing was in flight, without `allowed_bytes`. Ends that were not read are left out."""
    ports = port_growth(evidence)
    for link in evidence.run.network.links:
        for one, _ in _directions(link, evidence, ports):
            if one.sent_bytes is not None:
                bits = 8 * max(one.sent_bytes - allowed_bytes, 0)
                yield bits * 1e9 / evidence.counted_ns / one.port.rate_bps, one.port
