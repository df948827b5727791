"""The formulas of node metrics: they compute a number, in the unit of the metric, from the growth
of counters.

A formula gives a numerator and a denominator for one node. The formula's rule combines the nodes of
a group: rates are added up, percentages are averaged, and for ratios of counters the counters are
added up first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

from netstudy.analysis.metrics import Direction
from netstudy.analysis.nodes.capacities import busiest_cpu, in_use, waiting
from netstudy.analysis.nodes.growth import Fraction, Growth
from netstudy.analysis.nodes.places import Kind
from netstudy.analysis.nodes.queues import dropped_at_departure, sojourn, sojourn_percentile
from netstudy.analysis.samples import BITS_PER_MEGABIT, NS_PER_S, Floats
from netstudy.plan.workloads.base import Permit
from netstudy.units import CHECK_SEQUENCE_BYTES, UNCOUNTED_BYTES
from netstudy.wire import InstrumentKind

BYTES_PER_MB = 1e6

Rule = Literal["sum", "mean", "ratio", "largest"]
"""How a formula combines the nodes of a group."""

_SENT, _RECEIVED = "interface_bytes_sent", "interface_bytes_received"
_PACKETS_OUT, _PACKETS_IN = "interface_packets_sent", "interface_packets_received"
_SWITCH_UNCOUNTED_BYTES = UNCOUNTED_BYTES - CHECK_SEQUENCE_BYTES
"""Bytes of a frame on the wire that a switch does not count. The check sequence is not among them:
a switch counts it."""


@dataclass(frozen=True)
class Formula:
    """Computes a quantity from counters."""

    of: Callable[[Growth], Fraction | None]
    rule: Rule
    unit: str
    label: str
    """Name of the quantity in the middle of a sentence; words like `of app` follow."""
    text: str
    """The formula in words and symbols."""
    direction: Direction = "neutral"
    decimals: int = 1
    source: str = "counters of the interfaces"
    sampled_by: tuple[InstrumentKind, ...] = ("host",)
    """Instruments whose samples contain the counters; the first one present is used."""


def _rate(
    *counters: str, scale: float, of_node: bool = False
) -> Callable[[Growth], Fraction | None]:
    def of(growth: Growth) -> Fraction | None:
        found = growth.node(*counters) if of_node else growth.ports(*counters)
        return None if found is None else (found * scale, growth.seconds)

    return of


def _count(*counters: str, of_node: bool = False) -> Callable[[Growth], Fraction | None]:
    def of(growth: Growth) -> Fraction | None:
        found = growth.node(*counters) if of_node else growth.ports(*counters)
        return None if found is None else (found, np.ones(found.size))

    return of


def _ratio_of(above: str, below: str) -> Callable[[Growth], Fraction | None]:
    def of(growth: Growth) -> Fraction | None:
        numerator, denominator = growth.ports(above), growth.ports(below)
        return None if numerator is None or denominator is None else (numerator, denominator)

    return of


def _short_frames(growth: Growth) -> Fraction | None:
    short = growth.ports("frames_received_64", "frames_received_65_127")
    frames = growth.ports("frames_received")
    return None if short is None or frames is None else (short * 100.0, frames)


def _longest_queue(growth: Growth) -> Fraction | None:
    """The longest queue of any port: the largest of the ports' maxima."""
    found = [growth.line(line, "queue_bytes_max") for line in growth.place.lines]
    known = [one for one in found if one is not None]
    if not known or len(known) < len(found):
        return None
    longest = np.max(known, axis=0)
    return longest, np.ones(longest.size)


def _queue(growth: Growth) -> Fraction | None:
    """The bytes in the queue, weighted by the length of each interval."""
    waiting = growth.waiting("queue_bytes")
    return None if waiting is None else (waiting * growth.seconds, growth.seconds)


def _packet_bytes(growth: Growth) -> Fraction | None:
    octets, packets = growth.ports(_SENT, _RECEIVED), growth.ports(_PACKETS_OUT, _PACKETS_IN)
    return None if octets is None or packets is None else (octets, packets)


def _cpu(growth: Growth) -> Fraction | None:
    busy = growth.node("host_cpu_ns")
    if busy is None or growth.cpus is None:
        return None
    return busy * 100.0, growth.seconds * NS_PER_S * growth.cpus


def _cpu_a_byte(growth: Growth) -> Fraction | None:
    busy, octets = growth.node("host_cpu_ns"), growth.ports(_SENT, _RECEIVED)
    return None if busy is None or octets is None else (busy, octets)


_CARRIED = 0.9
"""Times of sockets are used only if these sockets sent at least this share of the bytes at the
interfaces. The share is lower if connections ended before the reading, because their times are
lost."""


def _limited(counter: str) -> Callable[[Growth], Fraction | None]:
    """The time of this counter, as a share of the time in which sockets had data to send."""

    def of(growth: Growth) -> Fraction | None:
        limited, busy = growth.node(counter), growth.node("flow_busy_us")
        carried, octets = growth.node("bytes_sent"), growth.ports(_SENT)
        if limited is None or busy is None or carried is None or octets is None:
            return None
        return (limited * 100.0, busy) if (carried >= _CARRIED * octets).all() else None

    return of


def _busy(counter: str) -> Callable[[Growth], Fraction | None]:
    """The time of this counter as a share of all time; the counter is in ms (kernel) or in ns
    (simulator)."""

    def of(growth: Growth) -> Fraction | None:
        for unit, per_second in (("ms", 1e3), ("ns", NS_PER_S)):
            found = growth.node(f"{counter}_{unit}")
            if found is not None:
                return found * 100.0 / per_second, growth.seconds
        return None

    return of


def _cycles(growth: Growth) -> Fraction | None:
    cycles, instructions = growth.node("cpu_cycles"), growth.node("cpu_instructions")
    return None if cycles is None or instructions is None else (cycles, instructions)


def _utilisation(*directions: Literal["sends", "receives"]) -> Callable[[Growth], Fraction | None]:
    """The utilisation of the busier direction of the busiest line."""

    def of(growth: Growth) -> Fraction | None:
        shares = [
            share
            for line in growth.place.lines
            for direction in directions
            if (share := _share(growth, line.port, direction, getattr(line, f"{direction}_bps")))
            is not None
        ]
        if len(shares) < len(directions) * len(growth.place.lines) or not shares:
            return None
        return np.max(shares, axis=0) * 100.0 * growth.seconds, growth.seconds

    return of


def _share(growth: Growth, port: str, direction: str, rate_bps: int) -> Floats | None:
    """Bits on the wire divided by the line's capacity, from the counters of a host or a switch."""
    out = direction == "sends"
    of_host = (_SENT, _PACKETS_OUT) if out else (_RECEIVED, _PACKETS_IN)
    of_switch = (
        ("bytes_forwarded", "frames_forwarded") if out else ("bytes_received", "frames_received")
    )
    for (octets_name, frames_name), gap in (
        (of_host, UNCOUNTED_BYTES),
        (of_switch, _SWITCH_UNCOUNTED_BYTES),
    ):
        octets, frames = growth.read(port, octets_name), growth.read(port, frames_name)
        if octets is not None and frames is not None:
            waiting = growth.read(port, "queue_bytes") if octets_name == "bytes_forwarded" else None
            carried = octets + gap * frames - (0.0 if waiting is None else waiting)
            return np.asarray(carried * 8 / rate_bps / growth.seconds)
    return None


def _drops(queue: str, driver: str) -> Callable[[Growth], Fraction | None]:
    """The sum of the drops in the queue and in the driver. If queue drops were counted only for the
    host as a whole, this total is used, provided that the place contains all ports."""

    def of(growth: Growth) -> Fraction | None:
        queued, by_driver = growth.ports(queue), growth.ports(driver)
        if queued is None and growth.place.are_all:
            queued = growth.node(queue)
        found = [part for part in (queued, by_driver) if part is not None]
        return (np.asarray(np.sum(found, axis=0)), growth.seconds) if found else None

    return of


_BUSY = ("cpu_user_ms", "cpu_nice_ms", "cpu_system_ms", "cpu_irq_ms", "cpu_softirq_ms")
_ALL = (*_BUSY, "cpu_steal_ms", "cpu_idle_ms", "cpu_iowait_ms")


def _cpus(*counters: str) -> Callable[[Growth], Fraction | None]:
    """The CPU time of these counters, as a share of the time of all CPUs of a machine."""

    def of(growth: Growth) -> Fraction | None:
        part, whole = growth.node(*counters), growth.node(*_ALL)
        return None if part is None or whole is None else (part * 100.0, whole)

    return of


_TO_MBPS = 8 / BITS_PER_MEGABIT
_SWITCH = "counters of the switch's ports"
_NETWORK_TEXT = "bytes of the interfaces, Ethernet headers included × 8 ÷ time"


def _traffic(*counters: str, label: str) -> Formula:
    return Formula(_rate(*counters, scale=_TO_MBPS), "sum", "Mbit/s", label, _NETWORK_TEXT)


def _packets(*counters: str, label: str) -> Formula:
    text = "packets of the interfaces ÷ time"
    return Formula(_rate(*counters, scale=1.0), "sum", "1/s", label, text, decimals=0)


def _full(*directions: Literal["sends", "receives"], label: str) -> Formula:
    text = "bits on the wire, preamble and gap included ÷ what the line carries in that time × 100"
    return Formula(_utilisation(*directions), "mean", "%", label, text)


def _disk_and_swap() -> dict[str, Formula]:
    source = "/proc of the machine"
    return {
        "disk_mb_per_s": Formula(
            _rate("disk_read_bytes", "disk_written_bytes", scale=1 / BYTES_PER_MB, of_node=True),
            "sum",
            "MB/s",
            "disk traffic",
            "bytes read and written ÷ time",
            source=source,
        ),
        "disk_busy_pct": Formula(
            _busy("disk_busy"),
            "mean",
            "%",
            "disk busy",
            "time with at least one request under way ÷ time × 100",
            source=source,
        ),
        # In pages of 4 KiB, to be comparable with pswpin/s and pswpout/s of sar.
        "swap_pages_per_s": Formula(
            _rate("swapped_in_bytes", "swapped_out_bytes", scale=1 / 4096, of_node=True),
            "sum",
            "1/s",
            "swapping",
            "bytes swapped in and out ÷ 4,096 ÷ time",
            direction="lower",
            source=source,
        ),
    }


def _permits(kind: Permit, permits: str) -> dict[str, Formula]:
    """How many of the permits of a host are in use, and how many jobs wait for one."""
    source = "counters of the application"
    return {
        f"{kind}_busy_pct": Formula(
            in_use(kind),
            "mean",
            "%",
            f"{permits} in use",
            f"time in use of the {permits}, added up ÷ time × their number × 100",
            source=source,
        ),
        f"{kind}_waiting": Formula(
            waiting(kind),
            "sum",
            "",
            f"jobs that wait for {permits}",
            f"time that jobs waited for {permits}, added up ÷ time",
            direction="lower",
            decimals=2,
            source=source,
        ),
    }


_BUSIEST_CPU_TEXT = "busy time of the CPU that was busy for longest ÷ time × 100"
_OF_HOSTS: Final[dict[str, Formula]] = {
    "network_mbps": _traffic(_SENT, _RECEIVED, label="network traffic"),
    "receive_mbps": _traffic(_RECEIVED, label="traffic received"),
    "send_mbps": _traffic(_SENT, label="traffic sent"),
    "packets_per_s": _packets(_PACKETS_OUT, _PACKETS_IN, label="packet rate"),
    "receive_packets_per_s": _packets(_PACKETS_IN, label="rate of received packets"),
    "send_packets_per_s": _packets(_PACKETS_OUT, label="rate of sent packets"),
    "packet_bytes_mean": Formula(
        _packet_bytes,
        "ratio",
        "B",
        "mean packet size",
        "bytes of the interfaces ÷ packets, received and sent",
        decimals=0,
    ),
    "utilisation_pct": _full("sends", "receives", label="utilisation"),
    "receive_utilisation_pct": _full("receives", label="utilisation, receiving"),
    "send_utilisation_pct": _full("sends", label="utilisation, sending"),
    "segments_retransmitted": Formula(
        _count("segments_retransmitted", of_node=True),
        "sum",
        "segments",
        "segments sent again",
        "TCP segments sent again in the phase; mean over the runs",
        direction="lower",
        source="TCP counters of the host",
    ),
    "timeouts": Formula(
        _count("timeouts", of_node=True),
        "sum",
        "timeouts",
        "TCP timeouts",
        "expiries of retransmission timers in the phase; mean over the runs",
        direction="lower",
        source="TCP counters of the host",
    ),
    "txdrop_per_s": Formula(
        _drops("nic_queue_drops", "interface_send_drops"),
        "sum",
        "1/s",
        "packets dropped when sending",
        "packets that queue or driver of the interfaces dropped before they were sent ÷ time",
        direction="lower",
    ),
    "rxdrop_per_s": Formula(
        _drops("ring_drops", "interface_receive_drops"),
        "sum",
        "1/s",
        "packets dropped when received",
        "packets that ring or driver of the interfaces dropped ÷ time",
        direction="lower",
    ),
    "cpu_pct": Formula(
        _cpu,
        "mean",
        "%",
        "CPU",
        "CPU time of the host (in namespaces that of its processes, in the simulator what "
        "the model's costs take) ÷ time × CPUs that it may use × 100",
        source="CPU time of the host",
    ),
    "busiest_cpu_pct": Formula(
        busiest_cpu,
        "mean",
        "%",
        "busiest CPU",
        f"{_BUSIEST_CPU_TEXT}, where the CPUs of the host are counted one by one, or it has only "
        "one",
        source="CPU time of the host",
    ),
    "cpu_ns_per_byte": Formula(
        _cpu_a_byte,
        "ratio",
        "ns",
        "CPU a byte",
        "CPU time of the host ÷ bytes received and sent by its interfaces",
        direction="lower",
        decimals=3,
        source="CPU time of the host",
    ),
    "cycles_per_instruction": Formula(
        _cycles,
        "ratio",
        "",
        "cycles per instruction (CPI)",
        "cycles ÷ instructions that the CPUs of the host retired, where their hardware counters "
        "are read",
        direction="lower",
        decimals=2,
        source="hardware counters of the CPUs",
    ),
    **_disk_and_swap(),
    **_permits("threads", "threads"),
    **_permits("pool", "connections of the pool"),
    **_permits("database_slots", "slots of the database"),
    "memory_bus_busy_pct": Formula(
        _busy("memory_bus_busy"),
        "mean",
        "%",
        "memory bus busy",
        "time in which the memory's channels moved bytes ÷ time × 100, in simulated hosts",
        source="counters of simulated hosts",
    ),
    "io_bus_busy_pct": Formula(
        _busy("io_bus_busy"),
        "mean",
        "%",
        "I/O bus busy",
        "time in which the I/O channels moved bytes ÷ time × 100, in simulated hosts",
        source="counters of simulated hosts",
    ),
    "receiver_limited_pct": Formula(
        _limited("flow_receiver_limited_us"),
        "ratio",
        "%",
        "time that the receive window was the limit",
        "time in which the other end's window was the limit ÷ time with data to send × 100, where "
        "the sockets that were read sent the data",
        direction="lower",
        source="TCP_INFO of the connections; in simulated hosts, the same times of all connections",
    ),
    "sender_limited_pct": Formula(
        _limited("flow_sender_limited_us"),
        "ratio",
        "%",
        "time that the send buffer was the limit",
        "time in which the send buffer was the limit ÷ time with data to send × 100, where the "
        "sockets that were read sent the data",
        direction="lower",
        source="TCP_INFO of the connections; in simulated hosts, the same times of all connections",
    ),
}


def _of_port(
    of: Callable[[Growth], Fraction | None],
    rule: Rule,
    unit: str,
    label: str,
    text: str,
    *,
    direction: Direction = "neutral",
    decimals: int = 1,
) -> Formula:
    return Formula(
        of, rule, unit, label, text, direction, decimals, _SWITCH, sampled_by=("ports", "snmp")
    )


def _left(growth: Growth) -> Fraction | None:
    """The rate of bytes that left the switch. The counter of forwarded bytes includes frames that
    still wait in the port's queue; they are subtracted if the queue length is known."""
    forwarded, queued = growth.ports("bytes_forwarded"), growth.ports("queue_bytes")
    if forwarded is None:
        return None
    left = forwarded if queued is None else forwarded - queued
    return left * _TO_MBPS, growth.seconds


_PORT_OUT = _of_port(
    _left,
    "sum",
    "Mbit/s",
    "outgoing traffic",
    "bytes of frames that left by the port, checksum included × 8 ÷ time",
)
_OF_SWITCHES: Final[dict[str, Formula]] = {
    "port_mbps": _PORT_OUT,
    "port_out_mbps": _PORT_OUT,
    "port_in_mbps": _of_port(
        _rate("bytes_received", scale=_TO_MBPS),
        "sum",
        "Mbit/s",
        "incoming traffic",
        "bytes of frames that came in by the port, checksum included × 8 ÷ time",
    ),
    "port_out_packets_per_s": _of_port(
        _rate("frames_forwarded", scale=1.0),
        "sum",
        "1/s",
        "frames out",
        "frames that left by the port ÷ time",
        decimals=0,
    ),
    "port_in_packets_per_s": _of_port(
        _rate("frames_received", scale=1.0),
        "sum",
        "1/s",
        "frames in",
        "frames that came in by the port ÷ time",
        decimals=0,
    ),
    "port_out_frame_bytes_mean": _of_port(
        _ratio_of("bytes_forwarded", "frames_forwarded"),
        "ratio",
        "B",
        "mean frame out",
        "bytes of frames that left by the port, checksum included ÷ frames",
        decimals=0,
    ),
    "port_in_frame_bytes_mean": _of_port(
        _ratio_of("bytes_received", "frames_received"),
        "ratio",
        "B",
        "mean frame in",
        "bytes of frames that came in by the port, checksum included ÷ frames",
        decimals=0,
    ),
    "port_in_short_frames_pct": _of_port(
        _short_frames,
        "ratio",
        "%",
        "short frames in",
        "frames of up to 127 bytes that came in by the port, as etherStatsTable counts them ÷ "
        "frames × 100",
    ),
    "port_utilisation_pct": _of_port(
        _utilisation("sends"),
        "mean",
        "%",
        "utilisation, out",
        "bits on the wire, preamble and gap included ÷ what the line carries in that time × 100",
    ),
    "port_in_utilisation_pct": _of_port(
        _utilisation("receives"),
        "mean",
        "%",
        "utilisation, in",
        "bits on the wire, preamble and gap included ÷ what the line carries in that time × 100",
    ),
    "port_drops": _of_port(
        _count("frames_dropped"),
        "sum",
        "packets",
        "dropped packets",
        "frames that the port dropped in the phase; mean over the runs",
        direction="lower",
    ),
    "port_marks": _of_port(
        _count("frames_marked"),
        "sum",
        "packets",
        "marked packets",
        "frames that the port marked (ECN) in the phase; mean over the runs",
    ),
    "port_queue_bytes": Formula(
        _queue,
        "sum",
        "B",
        "queue",
        "bytes in the port's queue when a sampler read it; mean over the time of the phase",
        direction="lower",
        decimals=0,
        source=_SWITCH,
        sampled_by=("ports",),
    ),
    "port_queue_bytes_max": _of_port(
        _longest_queue,
        "largest",
        "B",
        "longest queue",
        "bytes in the port's queue at most, since the run began; mean over the runs",
        direction="lower",
        decimals=0,
    ),
    "port_sojourn_ms": _of_port(
        sojourn,
        "ratio",
        "ms",
        "mean time in the queue",
        "time in the port's queue discipline, without the time on the wire; mean over its frames",
        direction="lower",
        decimals=2,
    ),
    **{
        f"port_sojourn_p{percent}_ms": _of_port(
            sojourn_percentile(percent),
            "largest",
            "ms",
            f"{words} of the time in the queue",
            f"time in the port's queue discipline that {percent} % of its frames do not exceed; "
            "mean over the runs",
            direction="lower",
            decimals=2,
        )
        for percent, words in ((50, "median"), (99, "99th percentile"))
    },
    "port_departure_drops": _of_port(
        dropped_at_departure,
        "sum",
        "packets",
        "packets dropped from the queue",
        "frames that the port's queue discipline dropped when it took them out, which port_drops "
        "includes; mean over the runs",
        direction="lower",
    ),
    "port_lost": _of_port(
        _count("link_frames_lost"),
        "sum",
        "packets",
        "packets lost on the link",
        "frames that the port sent and its link lost; mean over the runs",
        direction="lower",
    ),
}

_OF_LINKS: Final[dict[str, Formula]] = {
    "utilisation_pct": Formula(
        _utilisation("sends", "receives"),
        "largest",
        "%",
        "utilisation",
        "bits on the wire, preamble and gap included ÷ what the line carries in that time × 100, "
        "of the fullest link in its fuller direction, as a switch at its end counted them",
    )
}


def _of_machine(*counters: str, label: str, text: str) -> Formula:
    return Formula(
        _cpus(*counters),
        "ratio",
        "%",
        label,
        f"{text} ÷ time of all CPUs of the machine × 100",
        source="/proc/stat of the machine",
    )


_OF_MACHINES: Final[dict[str, Formula]] = {
    "cpu_pct": _of_machine(*_BUSY, label="CPU", text="time not idle, not waiting, not stolen"),
    "busiest_cpu_pct": Formula(
        busiest_cpu, "mean", "%", "busiest CPU", _BUSIEST_CPU_TEXT, source="/proc of the machine"
    ),
    "softirq_pct": _of_machine(
        "cpu_softirq_ms", label="soft interrupts", text="time in soft interrupts"
    ),
    "steal_pct": _of_machine(
        "cpu_steal_ms", label="stolen time", text="time that the hypervisor gave to others"
    ),
    **_disk_and_swap(),
}

FORMULAS: Final[Mapping[Kind, Mapping[str, Formula]]] = {
    "host": _OF_HOSTS,
    "switch": _OF_SWITCHES,
    "link": _OF_LINKS,
    "machine": _OF_MACHINES,
}
"""Kind of scope -> name of a quantity, as in `study.vocabulary` -> its formula."""
