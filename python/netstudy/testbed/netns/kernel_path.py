"""The kernel as the switch: a bridge, and on each port a queue with the link's rate and bytes.

The hierarchical token bucket (htb) gives the rate; below it a bfifo holds as many bytes as the
port's buffer and drops what does not fit. The hosts' ends have the link's rate too, so that a burst
arrives at the switch as a link would bring it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from netstudy import wire
from netstudy.testbed.netns.layout import INTERFACE, Host, Layout
from netstudy.units import (
    CHECK_SEQUENCE_BYTES,
    ETHERNET_HEADER_BYTES,
    FRAMING_BYTES,
    format_duration,
)

WIRE_OVERHEAD_BYTES: Final = FRAMING_BYTES - ETHERNET_HEADER_BYTES
"""What a frame takes on the wire beside the bytes that the kernel counts: check sequence, preamble
with delimiter, gap (IEEE 802.3, 3.1.1 and 4.4.2)."""
_LATENESS_NS = 100_000
"""How much later than asked for a timer of the kernel may be without loss of rate: a bucket holds
what the link carries meanwhile. Smaller ones were measured to lose rate (1 frame of MTU 1500 at
1 Gbit/s: 458 Mbit/s)."""
_IN_THE_NOISE_NS = 5_000
"""A time that cannot be seen: a datagram and its answer take about 5 µs through the bridge, when
no process has to be woken for them, and 15 µs in one of 100 cases."""


def refusals(network: wire.Network) -> list[str]:
    """What the kernel's path cannot do of a network, a sentence each; empty when it can."""
    switch = network.switch
    return [
        *_buffer(switch.buffer),
        *_forwarding(switch),
        *_pause(network),
        *_held_back(network),
    ]


def _buffer(buffer: wire.OutputQueued | wire.SharedMemory | wire.IngressQueued) -> Iterator[str]:
    if not isinstance(buffer, wire.OutputQueued):
        yield (
            f"A switch that is {buffer.kind} cannot be made of the kernel's queues, which hold "
            "each port's frames apart: use the user-space switch."
        )


def _forwarding(switch: wire.Switch) -> Iterator[str]:
    if switch.forwarding == "cut-through":
        yield "The kernel's bridge stores and forwards: it cannot cut through."
    if switch.ecn_threshold_bytes is not None:
        yield "The kernel's byte-limited queue (bfifo) cannot mark frames."


def _pause(network: wire.Network) -> Iterator[str]:
    if network.switch.honours_pause or network.switch.pause_high_bytes is not None:
        yield "The kernel's bridge knows no PAUSE."


def _held_back(network: wire.Network) -> Iterator[str]:
    """Times for which frames would have to be held back, which no queue here can."""
    for name, time_ns in _times(network):
        if time_ns > _IN_THE_NOISE_NS:
            yield (
                f"The kernel's queues cannot hold frames back, as a {name} of "
                f"{format_duration(time_ns)} asks for: use the user-space switch."
            )


def departures(network: wire.Network) -> list[str]:
    """What the kernel's path leaves out, and is too little to be seen: a sentence each."""
    return [
        f"A {name} of {format_duration(time_ns)} is not imposed: the kernel's own path takes as "
        "long, and varies by more."
        for name, time_ns in _times(network)
        if time_ns <= _IN_THE_NOISE_NS
    ]


def _times(network: wire.Network) -> Iterator[tuple[str, int]]:
    for delay_ns in sorted({link.delay_ns for link in network.links if link.delay_ns}):
        yield "delay of a link", delay_ns
    if network.switch.latency_ns:
        yield "latency of the switch", network.switch.latency_ns


def port_queues(layout: Layout, buffer: wire.OutputQueued) -> list[str]:
    """Commands of `tc` in the switch's namespace: a port's rate and its buffer."""
    return [
        line
        for host in layout.hosts
        for line in (
            *_rate(host.port, host.link),
            f"qdisc add dev {host.port} parent 1:1 handle 10: bfifo "
            f"limit {_counted_bytes(buffer.port_buffer_bytes, host.link)}",
        )
    ]


def host_queue(host: Host) -> list[str]:
    """Commands of `tc` in a host's namespace: its link's rate, and its interface's queue."""
    return [
        *_rate(INTERFACE, host.link),
        f"qdisc add dev {INTERFACE} parent 1:1 handle 10: pfifo "
        f"limit {host.nic.transmit_queue_frames}",
    ]


def _rate(device: str, link: wire.Link) -> Iterator[str]:
    burst = burst_bytes(link)
    yield f"qdisc add dev {device} root handle 1: htb default 1"
    yield (
        f"class add dev {device} parent 1: classid 1:1 htb rate {link.rate_bps}bit "
        f"burst {burst}b cburst {burst}b quantum {link.mtu_bytes} overhead {WIRE_OVERHEAD_BYTES}"
    )


def burst_bytes(link: wire.Link) -> int:
    """The depth of a token bucket: two frames, or what the link carries while a timer is late."""
    frame = link.mtu_bytes + FRAMING_BYTES
    return max(2 * frame, link.rate_bps * _LATENESS_NS // 8_000_000_000)


def _counted_bytes(buffer_bytes: int, link: wire.Link) -> int:
    """A buffer as the kernel counts it: without the check sequences, which real switches store.

    Exact for full frames; of smaller ones, it holds fewer bytes than the switch by a few percent.
    """
    counted = link.mtu_bytes + ETHERNET_HEADER_BYTES
    return buffer_bytes * counted // (counted + CHECK_SEQUENCE_BYTES)
