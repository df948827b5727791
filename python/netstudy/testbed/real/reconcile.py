"""What independent instruments of a run counted of the same thing, held against each other.

The instruments: the application's own bytes, TCP_INFO of each connection, the TCP counters of each
namespace, its interface, and the switch's ports. A frame on an interface has 4 bytes less than in a
switch, which counts the check sequence as well (IEEE 802.3, 3.1.1).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from netstudy.testbed.real.counters import growth
from netstudy.testbed.real.evidence import Evidence, summed
from netstudy.testbed.real.incast import response_bytes
from netstudy.units import CHECK_SEQUENCE_BYTES, ETHERNET_HEADER_BYTES, header_bytes
from netstudy.wire import Reconciliation, Run

_DUPLICATE_REPORT_BYTES = 12
"""A SACK option with one block, padded (RFC 2018, 3; RFC 2883)."""


@dataclass(frozen=True)
class _Counted:
    """All counters of the measuring phase that the checks look at."""

    client: dict[str, int]
    servers: dict[str, int]
    client_port: dict[str, int]
    payload_bytes: int
    header_bytes: int
    """Of a data segment, from Ethernet to the timestamps option."""
    full_payload_bytes: int
    """Of a full data segment."""


def reconciliation(run: Run, evidence: Evidence) -> tuple[Reconciliation, ...]:
    """Every check for which the counters are there; one that does not hold is kept as such."""
    found = _counted(run, evidence)
    checks = (_payload, _forwarded, _frame_bytes, _wire, _losses, _flows, _timeouts, _into_switch)
    return tuple(one for check in checks for one in check(found))


def _counted(run: Run, evidence: Evidence) -> _Counted:
    asked = sum(response_bytes(run.workload, len(evidence.servers)))
    tcp = next(group.tcp for group in run.network.hosts if group.name == run.workload.servers)
    headers = header_bytes(timestamps=tcp.timestamps)
    mtu_bytes = min(link.mtu_bytes for link in run.network.links)
    return _Counted(
        client=growth(evidence.client),
        servers=summed(growth(server) for server in evidence.servers),
        client_port=evidence.switch.growth(evidence.client.node),
        payload_bytes=asked * len(evidence.iterations.started_ns),
        header_bytes=ETHERNET_HEADER_BYTES + headers,
        full_payload_bytes=mtu_bytes - headers,
    )


def _payload(found: _Counted) -> Iterator[Reconciliation]:
    """Bytes that the application asked for and bytes that TCP delivered."""
    if "bytes_received" in found.client:
        yield _compared(
            "payload that the client's application verified = that its TCP delivered",
            found.payload_bytes,
            found.client["bytes_received"],
        )


def _forwarded(found: _Counted) -> Iterator[Reconciliation]:
    if "interface_packets_received" in found.client and "frames_forwarded" in found.client_port:
        yield _compared(
            "frames that the switch forwarded to the client = that its interface received",
            found.client_port["frames_forwarded"],
            found.client["interface_packets_received"],
        )


def _frame_bytes(found: _Counted) -> Iterator[Reconciliation]:
    if "interface_bytes_received" in found.client:
        frames = found.client["interface_packets_received"]
        yield _compared(
            "bytes that the switch forwarded to the client = bytes of its interface and check "
            "sequences",
            found.client_port["bytes_forwarded"],
            found.client["interface_bytes_received"] + CHECK_SEQUENCE_BYTES * frames,
        )


def _wire(found: _Counted) -> Iterator[Reconciliation]:
    """Payload with the headers of its frames against the bytes of the client's interface.

    Where a request came twice, the server reports that in an option. What was sent again and not
    lost before arrives twice: its payload comes on top.
    """
    if "interface_bytes_received" not in found.client:
        return
    frames = found.client["interface_packets_received"]
    sent_again = found.servers.get("segments_retransmitted", 0)
    copies = max(sent_again - found.client_port["frames_dropped"], 0)
    reports = found.client.get("dsacks_received", 0)
    yield _compared(
        "bytes of the client's interface = payload and headers of its frames",
        found.client["interface_bytes_received"],
        found.payload_bytes + frames * found.header_bytes + reports * _DUPLICATE_REPORT_BYTES,
        tolerance=copies * found.full_payload_bytes,
        explained=f"{copies} segments were sent again that were not lost, and arrived twice",
    )


def _losses(found: _Counted) -> Iterator[Reconciliation]:
    """Each drop of data is repaired by one retransmission; probes and needless ones come on top."""
    if "segments_retransmitted" not in found.servers:
        return
    probes = found.servers.get("loss_probes", 0)
    doubles = found.servers.get("dsacked_segments_received", 0)
    timeouts = found.servers.get("timeouts", 0)
    after_timeouts = timeouts + found.servers.get("slow_start_retransmissions", 0)
    yield _compared(
        "segments that the servers sent again = frames that the switch dropped before the client",
        found.servers["segments_retransmitted"],
        found.client_port["frames_dropped"],
        tolerance=probes + doubles + after_timeouts,
        explained=(
            f"{probes} tail loss probes, {doubles} segments reported as duplicates, "
            f"{after_timeouts} sent again by {timeouts} timeouts, which resend what was not lost "
            "as well"
        ),
    )


def _flows(found: _Counted) -> Iterator[Reconciliation]:
    if "flow_segments_retransmitted" in found.servers:
        yield _compared(
            "segments sent again by the servers' connections = by their namespaces",
            found.servers["flow_segments_retransmitted"],
            found.servers["segments_retransmitted"],
        )


def _timeouts(found: _Counted) -> Iterator[Reconciliation]:
    if "flow_timeouts" in found.servers:
        yield _compared(
            "timeouts of the servers' connections = of their namespaces",
            found.servers["flow_timeouts"],
            found.servers["timeouts"],
        )


def _into_switch(found: _Counted) -> Iterator[Reconciliation]:
    if "interface_packets_sent" in found.servers:
        port = found.client_port
        yield _compared(
            "frames that the servers' interfaces sent = that the switch forwarded or dropped",
            found.servers["interface_packets_sent"],
            port["frames_forwarded"] + port["frames_dropped"],
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
