"""Uses the kernel as the switch, and as a direct link between two hosts. The switch is a bridge.
Each port has a queue that is limited in rate and in bytes: a hierarchical token bucket (htb) sets
the rate, and a bfifo in it stores as many bytes as the port's buffer and drops the rest. The hosts'
ends of the links are limited to the link's rate too, so that a burst reaches the switch no faster
than over a real link.
"""

from __future__ import annotations

from collections.abc import Iterator

from netstudy import buffers, wire
from netstudy.plan.paths import is_star
from netstudy.testbed.netns.layout import Interface, Layout
from netstudy.testbed.real.random_links import random_links
from netstudy.units import (
    CHECK_SEQUENCE_BYTES,
    ETHERNET_HEADER_BYTES,
    FRAMING_BYTES,
    UNCOUNTED_BYTES,
    bytes_in,
    format_duration,
)

_LATENESS_NS = 100_000
"""How late a kernel timer may be without loss of throughput: the token bucket holds the bytes that
the link carries in this time. Smaller buckets lost rate in measurements (one frame of MTU 1500 at 1
Gbit/s gave 458 Mbit/s)."""
_IN_THE_NOISE_NS = 5_000
"""Times below this are within the noise: a datagram and its answer take about 5 µs through the
bridge if no process has to be woken, and 15 µs in one of 100 cases."""


def unsupported(network: wire.Network) -> list[str]:
    """Parts of a network that the kernel cannot emulate, one sentence each; empty if it can emulate
    all."""
    if not is_star(network):
        return [
            "The kernel's path carries hosts around one switch, each with one link, and no other "
            "network: use --testbed netns."
        ]
    (switch,) = network.switches
    lossy = random_links(network, "the user-space switch has and the kernel's queues do not")
    return [*_buffer(switch.buffer), *_forwarding(switch), *_held_back(network), *lossy]


def _buffer(buffer: buffers.Buffer) -> Iterator[str]:
    if buffer.kernel_queue_bytes() is None:
        yield (
            f"A switch that is {buffer.kind} cannot be made of the kernel's queues, which hold "
            "each port's frames apart: use the user-space switch."
        )


def _forwarding(switch: wire.Switch) -> Iterator[str]:
    if switch.forwarding == "cut-through":
        yield "The kernel's bridge stores and forwards: it cannot cut through."
    if switch.ecn_threshold_bytes is not None:
        yield "The kernel's byte-limited queue (bfifo) cannot mark frames."


def _held_back(network: wire.Network) -> Iterator[str]:
    """Refuses delays and latencies: the kernel's queues cannot hold frames back for a time."""
    for name, time_ns in _times(network):
        if time_ns > _IN_THE_NOISE_NS:
            yield (
                f"The kernel's queues cannot hold frames back, as a {name} of "
                f"{format_duration(time_ns)} asks for: use the user-space switch."
            )


def departures(network: wire.Network) -> list[str]:
    """Delays and latencies that are ignored because they are too small to be noticed, one sentence
    each."""
    return [
        f"A {name} of {format_duration(time_ns)} is not imposed: the kernel's own path takes as "
        "long, and varies by more."
        for name, time_ns in _times(network)
        if time_ns <= _IN_THE_NOISE_NS
    ]


def _times(network: wire.Network) -> Iterator[tuple[str, int]]:
    for delay_ns in sorted({link.delay_ns for link in network.links if link.delay_ns}):
        yield "delay of a link", delay_ns
    for switch in network.switches:
        if switch.latency_ns:
            yield "latency of the switch", switch.latency_ns


def port_queues(layout: Layout) -> list[str]:
    """Commands of `tc` in the switches' namespace that set a port's rate and buffer."""
    (switch,) = layout.network.switches
    room_bytes = switch.buffer.kernel_queue_bytes()
    assert room_bytes is not None, "unsupported() refuses others"
    return [
        line
        for one in layout.switched
        for line in (
            *_rate(one.peer[1], one.far, one.link),
            f"qdisc add dev {one.peer[1]} parent 1:1 handle 10: bfifo "
            f"limit {_counted_bytes(room_bytes, one.link)}",
        )
    ]


def host_queue(interface: Interface) -> list[str]:
    """Commands of `tc` in a host's namespace that set the rate of its link and the queue of its
    interface.

    A Linux queue that is full refuses a frame, so TCP knows at once and keeps the frame. But an
    interface with few buffers drops frames that it has accepted, and TCP must detect the loss. The
    queue of such an interface therefore accepts every frame and, when full, drops the oldest.
    """
    frames = interface.nic.transmit_queue_frames
    kind = "pfifo_head_drop" if frames < wire.Nic().transmit_queue_frames else "pfifo"
    return [
        *_rate(interface.device, interface.end, interface.link),
        f"qdisc add dev {interface.device} parent 1:1 handle 10: {kind} limit {frames}",
    ]


def _rate(device: str, end: wire.Port, link: wire.Link) -> Iterator[str]:
    burst = burst_bytes(end, link)
    yield f"qdisc add dev {device} root handle 1: htb default 1"
    yield (
        f"class add dev {device} parent 1: classid 1:1 htb rate {end.rate_bps}bit "
        f"burst {burst}b cburst {burst}b quantum {link.mtu_bytes} overhead {UNCOUNTED_BYTES}"
    )


def burst_bytes(end: wire.Port, link: wire.Link) -> int:
    """The depth of a token bucket: two frames, or the bytes that the link carries while a timer is
    late, if that is more."""
    return max(2 * frame_bytes(link), bytes_in(end.rate_bps, _LATENESS_NS))


def frame_bytes(link: wire.Link) -> int:
    """Size of the largest frame, counting all bytes on the wire."""
    return link.mtu_bytes + FRAMING_BYTES


def _counted_bytes(buffer_bytes: int, link: wire.Link) -> int:
    """The size of a buffer as the kernel counts it: real switches also store the check sequence of
    each frame, which the kernel does not count. The size is exact for full frames. With smaller
    frames, the queue holds a few percent less than the switch's buffer would."""
    counted = link.mtu_bytes + ETHERNET_HEADER_BYTES
    return buffer_bytes * counted // (counted + CHECK_SEQUENCE_BYTES)
