"""Formats between the front end and the engine: the engine reads a plan and writes records.

Both are lines of JSON (`plan_lines`: the lines of a plan); `schema/plan.schema.json` and
`schema/record.schema.json` are exported from these models, and the engine's own types
(crates/records) are tested against the same examples in `schema/examples/`. The name of every
number ends in the unit. Almost all numbers are integers, so that the same plan gives the same bytes
on every machine.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import cycle, islice
from typing import Annotated, Any, ClassVar, Final, Literal, TypeVar

from pydantic import Field

from netstudy.buffers import Buffer
from netstudy.queues import CodePoint, Queue
from netstudy.wire_model import UINT32_MAX, Said, Wire

RECORD_SCHEMA: Final = "netstudy/record/2"

_TIMER_MAX_NS: Final = 3_600_000_000_000
"""An hour: the longest that the simulator waits for an iteration."""
_PATH_MAX_NS: Final = 60_000_000_000
"""A minute: the longest delay that one element of a path may add to a packet."""
_WORK_MAX_NS: Final = 1_000_000_000
"""A second: the longest time for which a host may process one frame."""
_WINDOW_MAX: Final = 2**30
"""Bytes; the largest window of TCP (RFC 7323, 2.3)."""
_DATAGRAM_MIN: Final = 576
"""Bytes that every host accepts at once (RFC 791, 3.2)."""
_RATE_MIN_BPS: Final = 1_000

SIMULATED_CONTROLS: Final = (
    "reno",
    "reno-ack-counting",
    "bic",
    "cubic",
    "cubic-hystart",
    "dctcp",
    "bbr",
)
"""Congestion controls of the simulator."""

Level = str | int | float | bool
"""A level of a factor, as it is written in plans, in tables and after `--only`."""


class Tcp(Wire):
    """The TCP of one host group.

    Each field except `profile` can be set in studies and in hardware profiles; `knobs.py` takes its
    name, unit, bounds, default and description from here.
    """

    NOT_ABOVE: ClassVar[tuple[tuple[str, str], ...]] = (
        ("min_rto_ns", "max_rto_ns"),
        ("initial_rto_ns", "max_rto_ns"),
    )
    """Pairs of fields: the value of the first must not exceed the value of the second."""
    NEEDS: ClassVar[tuple[tuple[str, str], ...]] = (
        ("offload_request_bytes", "offload_burst_bytes"),
        ("quick_ack_disorder", "quick_ack_segments"),
    )
    """Pairs of fields: the first has no effect without the second."""
    ONLY_WITH: ClassVar[tuple[tuple[str, str, str], ...]] = (
        ("offload_request_bytes", "recovery", "fack"),
    )
    """Triples (field, other field, value): the field has no effect unless the other field has this
    value."""
    REQUIRES: ClassVar[tuple[tuple[str, str, str, str], ...]] = (
        ("congestion_control", "bbr", "recovery", "prr"),
    )
    """(field, value, other field, other value): with this value of the field, the other field must
    have the other value."""

    profile: str
    congestion_control: Annotated[
        str, Said(what="a congestion control", words=SIMULATED_CONTROLS)
    ] = Field(default="reno", pattern=r"^[a-z][a-z0-9_-]{0,16}$")
    """The algorithm that sets cwnd after slow start; `bbr` (version 1, as in Linux 6) also paces,
    and needs the recovery `prr`. On real testbeds, any name that the kernel offers (`netstudy
    doctor` lists them)."""
    recovery: Annotated[Literal["rfc", "fack", "prr"], Said(what="a way of loss recovery")] = "rfc"
    """How losses are detected and repaired: `rfc` (RFC 6675; without SACK, RFC 6582), `fack`
    (forward acknowledgment and rate halving, Linux 2.6.18) or `prr` (proportional rate reduction,
    Linux 6)."""
    rack: bool = True
    """With `prr`: losses are detected by time (RFC 8985; `tcp_recovery` of Linux); if false, by
    three SACKed segments after the lost one."""
    tail_loss_probe: bool = True
    """With `prr`: the tail of a flight is probed before the timeout (RFC 8985, 7;
    `tcp_early_retrans` of Linux)."""
    sack: bool = True
    """Selective acknowledgments (RFC 2018)."""
    timestamps: bool = True
    """Timestamps (RFC 7323): they add 12 bytes to each segment, and every ack gives an RTT
    sample."""
    ecn: bool = False
    """Explicit congestion notification (RFC 3168) if the peer has it, too; always on with
    `dctcp`."""
    initial_window_segments: int | None = Field(default=None, ge=1)
    """Initial cwnd in segments; by default, as in RFC 3390: min(4 MSS, max(2 MSS, 4380 bytes)).
    Larger: many flows that start together overrun a buffer at once."""
    rto_rule: Annotated[Literal["rfc-6298", "linux"], Said(what="an RTO rule")] = "rfc-6298"
    """Whether the minimum RTO is a lower bound for the whole timeout (`rfc-6298`), or only for the
    timeout's variance term (`linux`)."""
    initial_rto_ns: int = Field(default=1_000_000_000, ge=1, le=_TIMER_MAX_NS)
    """RTO before the first RTT sample. Longer: losses before the first sample are repaired
    later."""
    min_rto_ns: int = Field(default=200_000_000, ge=0, le=_TIMER_MAX_NS)
    """Minimum RTO. Longer: an incast waits longer after a tail loss. Too short: there are spurious
    timeouts."""
    max_rto_ns: int = Field(default=120_000_000_000, ge=1_000_000, le=_TIMER_MAX_NS)
    """Maximum RTO, at which exponential backoff ends. Longer: TCP notices later that a path works
    again."""
    clock_tick_ns: int = Field(default=0, ge=0, le=_WORK_MAX_NS)
    """Granularity of the clock by which timeouts fire and CUBIC grows; `0 ns` is exact. Longer:
    timeouts fire later, and windows grow in larger steps."""
    delayed_ack_ns: int = Field(default=40_000_000, ge=0, le=_TIMER_MAX_NS)
    """How long an ack may wait for a second segment; with `0 ns`, segments are acknowledged at
    once. Longer: a single segment is acknowledged later, in the worst case after the sender's
    timeout."""
    ack_every_segments: int = Field(default=2, ge=1)
    """Number of full segments after which an ack is sent at once. More: there are fewer acks, and a
    window that is counted in acks grows more slowly."""
    quick_ack_segments: int = Field(default=0, ge=0)
    """Number of segments that are acknowledged at once when data start to arrive, when they arrive
    again after a gap longer than the timeout, and after duplicate data (Linux: 16). More: there are
    more acks."""
    quick_ack_disorder: bool = False
    """Whether out-of-order data start quick acks as well, and only a short segment counts as the
    end of a write (Linux before 4.18). If true, windows grow faster after a loss."""
    ack_pushed: bool = False
    """Whether the end of a write is marked (PSH) and acknowledged as soon as it is read, unless the
    receiver sends a response (Linux). If false, a last odd segment waits for `delayed_ack`."""
    nodelay: bool = True
    """Whether short segments are sent at once (`TCP_NODELAY`). If false, a short segment waits for
    the acknowledgment of an earlier short one (Nagle's rule: RFC 896; RFC 9293, 3.7.4; in
    Minshall's variant, as in Linux): fewer packets, and a wait of `delayed_ack` within a message
    that is written in parts."""
    restart_after_idle: bool = True
    """Whether cwnd shrinks when the connection was idle for an RTO (RFC 5681, 4.1; RFC 2861)."""
    offload_burst_bytes: int = Field(default=0, ge=0, le=_WINDOW_MAX)
    """Largest burst of segments that segmentation offload sends at once; `0 B` turns offload off.
    Larger: more frames reach a queue at once."""
    offload_rule: Annotated[
        Literal["deferral", "autosizing"], Said(what="a way of segmentation offload")
    ] = "deferral"
    """`deferral` (Linux 2.6.18): a burst waits for a third of the window. `autosizing` (Linux 6):
    the size of a burst follows from the pacing rate."""
    offload_request_bytes: int = Field(default=0, ge=0, le=_WINDOW_MAX, multiple_of=4096)
    """Bytes of one adapter request, in whole pages of 4 KiB: the adapter segments each request of a
    packet separately; `0 B`: one request for the whole packet. Larger: there are fewer short
    frames. Only with `fack`."""
    limit_output_bytes: int = Field(default=0, ge=0, le=_WINDOW_MAX)
    """TCP small queues (Linux since 3.6): the most memory that a connection's packets may take in
    the sending host before the next packet waits. Up to this limit, they may take as much as the
    pacing rate carries in a millisecond, or two packets if that is more. Such a host also holds
    packets back while `transmit_queue` of its interface is full. `0 B` means no limit, and a full
    queue drops packets. Larger: the queue in the sender is longer."""
    send_buffer_bytes: int = Field(default=4_194_304, ge=_DATAGRAM_MIN, le=_WINDOW_MAX)
    """Size of the sending socket's buffer, which limits the window. Larger: queues are longer and
    take more memory."""
    receive_buffer_bytes: int = Field(default=6_291_456, ge=_DATAGRAM_MIN, le=_WINDOW_MAX)
    """Size of the receiving socket's buffer (`sk_rcvbuf` of Linux, twice the value of `SO_RCVBUF`),
    which limits the window: see `window_rule`. Larger: queues are longer and take more memory."""
    window_rule: Annotated[
        Literal["buffer", "scaling-ratio"], Said(what="a rule for the receive window")
    ] = "buffer"
    """How much of the receive buffer is offered as window: all of it (`buffer`, RFC 9293), or the
    payload of the packets that fit into it (`scaling-ratio`, Linux since 6.6): about 0.62 of the
    buffer at MTU 1500, and 0.68 at MTU 9000."""


class Nic(Wire):
    """The network interface of one host group, and what it costs the host. Each field can be set in
    studies and in hardware profiles, as in `Tcp`.
    """

    NOT_ABOVE: ClassVar[tuple[tuple[str, str], ...]] = (
        ("pause_low_frames", "pause_high_frames"),
        ("receive_refill_frames", "receive_ring_frames"),
    )
    NEEDS: ClassVar[tuple[tuple[str, str], ...]] = (
        ("pause_low_frames", "pause_high_frames"),
        ("pause_quanta", "pause_high_frames"),
        ("receive_refill_frames", "receive_ring_frames"),
    )
    """Pairs of fields: the first has no effect without the second."""

    send_latency_ns: int = Field(default=0, ge=0, le=_PATH_MAX_NS)
    """Latency from the socket to the wire."""
    receive_latency_ns: int = Field(default=0, ge=0, le=_PATH_MAX_NS)
    """Latency from the wire to the socket."""
    receive_jitter_ns: int = Field(default=0, ge=0, le=_WORK_MAX_NS)
    """Mean of a random (exponential) latency that is added for each segment; segments stay in
    order. With 0, all flows through a bottleneck run in step, so that losses repeat in a
    pattern."""
    receive_frame_ns: Annotated[int, Said(name="receive_per_frame")] = Field(
        default=0, ge=0, le=_WORK_MAX_NS
    )
    """Processor time that a received frame costs, whatever its size."""
    receive_rate_bps: int | None = Field(default=None, ge=_RATE_MIN_BPS)
    """Rate at which the processor handles the bytes of received frames; by default, bytes cost no
    time."""
    transmit_queue_frames: int = Field(default=1000, ge=1)
    """The most frames that may wait to be sent. While the queue is full, hosts with `limit_output`
    hold packets back, as Linux does; other hosts lose them."""
    packet_rate_pps: int | None = Field(default=None, ge=1)
    """The most frames per second in either direction, whatever their size; by default, there is no
    limit."""
    receive_ring_frames: int | None = Field(default=None, ge=1)
    """Number of descriptors in the receive ring; by default, there is no limit. A frame takes a
    descriptor until the processor has handled the frame. If no descriptor is free, the host drops
    the frame."""
    receive_refill_frames: int = Field(default=1, ge=1, le=UINT32_MAX)
    """Number of descriptors that the driver returns to the interface at once, when the processor
    has handled this number of frames. More: the ring has fewer free descriptors at times, and
    losses are consecutive."""
    interrupt_delay_ns: int = Field(default=0, ge=0, le=_WORK_MAX_NS)
    """Interrupt coalescing: time from the arrival of a first frame in the ring until an idle
    processor starts to work. Longer: batches are fewer and larger, and round trips take longer."""
    poll_weight_frames: int | None = Field(default=None, ge=1)
    """The most frames that the processor takes from the ring in one batch; by default, all of
    them."""
    receive_merge_bytes: int = Field(default=0, ge=0, le=_WINDOW_MAX)
    """Largest payload of a segment that LRO or GRO merges from a batch; with `0 B`, none are
    merged."""
    honours_pause: bool = False
    """Whether the interface pauses when the switch asks for it (IEEE 802.3, annex 31B)."""
    pause_high_frames: int | None = Field(default=None, ge=0)
    """XOFF threshold: the interface asks the switch to pause when more frames than this wait in the
    receive ring; by default, never. Higher: there is less room for frames in flight."""
    pause_low_frames: int | None = Field(default=None, ge=0)
    """XON threshold: the pause ends when at most this many frames wait; by default, half of
    `pause_high`."""
    pause_quanta: int = Field(default=65_535, ge=2, le=65_535)
    """Requested length of a pause, in 512 bit times; requested again after half of this time."""
    checksum_offload: bool | None = None
    """Whether the interface computes and checks the checksums of TCP; by default, the machine's
    setting. The simulator does not model it; give the cost of packets under `cpu`."""


class LocalPath(Wire):
    """The path of packets between two endpoints on the same host. Each field can be set in studies
    and in hardware profiles, as in `Tcp`.
    """

    latency_ns: int = Field(default=0, ge=0, le=_PATH_MAX_NS)
    """Latency from the socket of one endpoint to the socket of the other, without the copy."""
    rate_bps: int | None = Field(default=None, ge=_RATE_MIN_BPS)
    """Rate at which the host copies packets from one endpoint to the other, one at a time; by
    default, copies take no time."""
    mtu_bytes: int = Field(default=65_535, ge=576, le=65_535)
    """Largest IP packet. Larger: there are fewer packets, and the window changes in coarser
    steps."""


_COST_MAX_PS_PER_BYTE: Final = 1_000_000_000
"""A millisecond: the most that a byte may cost."""


class Cpu(Wire):
    """The CPUs of one host group in the simulator, and the CPU time that work takes.

    Each field can be set in studies and in hardware profiles, as in `Tcp`. To send a byte of a file
    with `data path: copying` costs `file_read_per_byte` and `send_per_byte`; with `sendfile`, it
    costs `sendfile_per_byte`. To receive a byte costs `receive_per_byte`, and also
    `file_write_per_byte` if the byte is written to a file.
    """

    cpus: int = Field(default=1, ge=1, le=4096)
    """Number of CPUs that share the work. Only one CPU at a time handles the packets of an
    interface, and only one at a time the data of a connection, since an application has one process
    per connection."""
    speed_pct: int = Field(default=100, ge=1, le=1_000_000)
    """Speed of the CPUs: with `200 %`, everything costs half as much CPU time."""
    service: Annotated[Literal["fixed", "exponential"], Said(what="a kind of service time")] = (
        "fixed"
    )
    """Whether a piece of work (a call, or the packets that reach an interface at once) always takes
    exactly its cost (`fixed`), or an exponentially distributed time with this mean, as in queueing
    models."""
    send_packet_ns: Annotated[int, Said(name="send_per_packet")] = Field(
        default=0, ge=0, le=_WORK_MAX_NS
    )
    """CPU time for sending a packet; acknowledgments count as packets."""
    receive_packet_ns: Annotated[int, Said(name="receive_per_packet")] = Field(
        default=0, ge=0, le=_WORK_MAX_NS
    )
    """CPU time for receiving a packet; acknowledgments count as packets."""
    send_ps_per_byte: Annotated[int, Said(name="send_per_byte")] = Field(
        default=0, ge=0, le=_COST_MAX_PS_PER_BYTE
    )
    """CPU time for copying a byte from the application to the socket."""
    receive_ps_per_byte: Annotated[int, Said(name="receive_per_byte")] = Field(
        default=0, ge=0, le=_COST_MAX_PS_PER_BYTE
    )
    """CPU time for copying a byte from the socket to the application."""
    sendfile_ps_per_byte: Annotated[int, Said(name="sendfile_per_byte")] = Field(
        default=0, ge=0, le=_COST_MAX_PS_PER_BYTE
    )
    """CPU time for sending a byte of a file without a copy (sendfile(2))."""
    file_read_ps_per_byte: Annotated[int, Said(name="file_read_per_byte")] = Field(
        default=0, ge=0, le=_COST_MAX_PS_PER_BYTE
    )
    """CPU time for copying a byte from the page cache to the application (read(2))."""
    file_write_ps_per_byte: Annotated[int, Said(name="file_write_per_byte")] = Field(
        default=0, ge=0, le=_COST_MAX_PS_PER_BYTE
    )
    """CPU time for copying a byte from the application to the page cache (write(2))."""
    call_ns: Annotated[int, Said(name="per_call")] = Field(default=0, ge=0, le=_WORK_MAX_NS)
    """CPU time of a system call that moves data, whatever the number of bytes."""
    call_bytes: Annotated[int, Said(name="call_size")] = Field(default=65_536, ge=1, le=_WINDOW_MAX)
    """The most bytes that one call moves. Larger: calls are fewer and longer."""


class Bus(Wire):
    """The buses of one host group in the simulator; the rate of a bus is the sum of the rates of
    its channels.

    A copy crosses the memory bus twice; a frame or a disk block crosses the I/O bus and the memory
    bus once each.
    """

    memory_channels: int = Field(default=1, ge=1, le=4096)
    """Number of memory channels."""
    memory_channel_bps: Annotated[int | None, Said(name="memory_channel_rate")] = Field(
        default=None, ge=_RATE_MIN_BPS
    )
    """Rate of each channel; by default, memory never limits the host."""
    io_channels: int = Field(default=1, ge=1, le=4096)
    """Number of channels between devices and memory."""
    io_channel_bps: Annotated[int | None, Said(name="io_channel_rate")] = Field(
        default=None, ge=_RATE_MIN_BPS
    )
    """Rate of each channel; by default, the I/O bus never limits the host."""


class Disk(Wire):
    """The disk of one host group in the simulator, and its page cache."""

    disk_rate_bps: Annotated[int, Said(name="rate")] = Field(
        default=1_000_000_000, ge=_RATE_MIN_BPS
    )
    """Rate of sequential reads and writes."""
    access_ns: Annotated[int, Said(name="access_time")] = Field(default=0, ge=0, le=_WORK_MAX_NS)
    """Seek time of a request that does not continue the previous one on the disk, such as when
    several files take turns."""
    write_cache_bytes: Annotated[int, Said(name="write_cache")] = Field(default=0, ge=0, le=2**50)
    """The most written bytes that may wait for the disk; when there are more, writers wait. Larger:
    short writes seem as fast as memory."""
    page_cache_bytes: Annotated[int, Said(name="page_cache")] = Field(default=2**50, ge=0, le=2**50)
    """Largest file that stays in the page cache (`from: cache`); a larger file is read from the
    disk each time."""


class Group(Wire):
    """Properties of identical hosts."""

    name: str
    profile: str
    """Profile from which the figures came."""
    tcp: Tcp
    nic: Nic
    cpu_quota_pct: float | None = Field(default=None, ge=1)
    """Limit for the processor time of each host's processes, in percent of one processor, in steps
    of 0.001; None: no limit. Only testbeds of real hosts can impose it."""
    memory_bytes: int | None = Field(default=None, ge=1)
    """Main memory of each host; None: not given. The simulator does not model it."""
    local_path: LocalPath | None = None
    """The path inside a simulated host. None: packets have the latencies and the processor costs of
    the host's first interface."""
    cpu: Cpu | None = None
    """Simulated CPUs and the cost of work; None: only the costs in `nic`. Real hosts have their own
    CPUs, buses and disks."""
    bus: Bus | None = None
    """Simulated buses; None: buses never limit the host."""
    disk: Disk | None = None
    """A simulated disk; None: there is none."""
    dscp: CodePoint | None = Field(default=None, exclude_if=lambda dscp: dscp is None)
    """Differentiated services code point of the packets that the hosts send, by which queue
    disciplines tell classes apart; None: 0."""


class Switch(Wire):
    """A switch.

    The fields of the switch and of its buffer can be set in studies and in hardware profiles, as in
    `Tcp`.
    """

    NOT_ABOVE: ClassVar[tuple[tuple[str, str], ...]] = (("pause_low_bytes", "pause_high_bytes"),)
    NEEDS: ClassVar[tuple[tuple[str, str], ...]] = (
        ("pause_low_bytes", "pause_high_bytes"),
        ("pause_quanta", "pause_high_bytes"),
    )

    kind: Literal["switch"] = "switch"
    name: str
    profile: str
    ports: int = Field(ge=1)
    """Number of ports that hosts can be linked to."""
    buffer: Buffer
    forwarding: Annotated[
        Literal["store-and-forward", "cut-through"], Said(what="a way of forwarding")
    ] = "store-and-forward"
    """`cut-through`: a frame may leave before it has fully arrived; `store-and-forward`: it may
    not."""
    latency_ns: int = Field(default=0, ge=0, le=_PATH_MAX_NS)
    """Latency from the ingress port to the egress port, without queueing."""
    ecn_threshold_bytes: int | None = Field(default=None, ge=0)
    """ECN threshold: a frame of a host with `ecn` or `dctcp` is marked if the queue is longer than
    this when the frame arrives (in an ingress-queued switch: if more bytes for the same egress port
    remain behind the frame when it leaves); by default, never. Lower: queues are shorter. Too low:
    the link runs empty."""
    honours_pause: bool = False
    """Whether an egress port pauses when its host asks for it (IEEE 802.3, annex 31B)."""
    pause_high_bytes: int | None = Field(default=None, ge=0)
    """XOFF threshold: the switch asks a host to pause when the host's frames occupy more of the
    buffer than this; by default, never. Higher: there is less room for frames in flight."""
    pause_low_bytes: int | None = Field(default=None, ge=0)
    """XON threshold: the pause ends when the host's frames occupy at most this much; by default,
    half of `pause_high`."""
    pause_quanta: int = Field(default=65_535, ge=2, le=65_535)
    """Requested length of a pause, in 512 bit times; requested again after half of this time."""


class Host(Wire):
    """A host. Its interfaces are the ports with this host's name in the links."""

    kind: Literal["host"] = "host"
    name: str
    group: str
    machine: str | None = None
    """The machine that the host runs on; None: the testbed's own."""


Stack = Literal["own", "shared"]
"""The network stack of a zone. `own`: a stack of its own, with a virtual interface on an interface
of the host, so that data to a zone at another interface cross the wire. `shared`: the host's stack,
which delivers data to any other zone of the host locally."""


class Zone(Wire):
    """An endpoint on a host that has its own address and shares the host's interfaces."""

    kind: Literal["zone"] = "zone"
    name: str
    group: str
    host: str
    interface: str
    """The interface of the host to which the zone's address belongs."""
    stack: Stack = "shared"
    """`shared`: the zone's address is in its host's network stack. `own`: the zone has a network
    stack of its own."""


Node = Annotated[Host | Zone | Switch, Field(discriminator="kind")]


class NoJitter(Wire):
    kind: Literal["none"] = "none"


class UniformJitter(Wire):
    kind: Literal["uniform"] = "uniform"
    max_ns: int = Field(ge=0, le=_PATH_MAX_NS)


class ExponentialJitter(Wire):
    kind: Literal["exponential"] = "exponential"
    mean_ns: int = Field(ge=0, le=_PATH_MAX_NS)


Jitter = Annotated[NoJitter | UniformJitter | ExponentialJitter, Field(discriminator="kind")]


class IndependentLoss(Wire):
    """Each frame is lost with the same probability."""

    kind: Literal["independent"] = "independent"
    share_ppm: int = Field(ge=0, le=999_999)
    """Millionths of the frames that are lost. Over a link that loses all, nothing ends."""


class GilbertElliottLoss(Wire):
    """Losses in bursts: the link is in a good or a bad state (Gilbert 1960, Elliott 1963)."""

    kind: Literal["gilbert-elliott"] = "gilbert-elliott"
    to_bad_ppm: int = Field(ge=0, le=1_000_000)
    """Millionths of the frames in the good state that are the last ones there."""
    to_good_ppm: int = Field(ge=0, le=1_000_000)
    """Millionths of the frames in the bad state that are the last ones there."""
    in_bad_ppm: int = Field(ge=0, le=1_000_000)
    """Millionths of the frames in the bad state that are lost."""
    in_good_ppm: int = Field(ge=0, le=1_000_000)
    """Millionths of the frames in the good state that are lost."""


Loss = Annotated[IndependentLoss | GilbertElliottLoss, Field(discriminator="kind")]


class LinkPath(Wire):
    """One direction of a link that loses, duplicates or delays frames at random."""

    extra_delay_ns: int = Field(default=0, ge=0, le=_PATH_MAX_NS)
    """Constant delay of this direction in addition to the link's."""
    loss: Loss | None = None
    """None: frames are lost only where they find no room in a queue."""
    duplicate_ppm: int = Field(default=0, ge=0, le=1_000_000)
    """Millionths of the frames that arrive twice."""
    jitter: Jitter = NoJitter()
    """Random delay of each frame in addition to the constant one."""
    reorders: bool = False
    """True if a frame may overtake those sent before it; otherwise it waits for them."""


class Port(Wire):
    """An end of a link: an interface of a host, or a port of a switch."""

    node: str
    name: str
    """Unique within its node."""
    rate_bps: int = Field(ge=_RATE_MIN_BPS)
    """Rate at which this end sends."""
    nic: Nic | None = None
    """The interface, if it differs from the group's; None at a switch."""
    queue: Queue | None = Field(default=None, exclude_if=lambda queue: queue is None)
    """The discipline of the frames that wait to be sent from this end. None: they leave in the
    order in which they came, a switch has room for them as its buffer says, and an interface for
    `transmit_queue_frames`."""
    path: LinkPath | None = Field(default=None, exclude_if=lambda given: given is None)
    """Loss, duplicates and random delay of frames that this end sends; None: a perfect link."""

    def halved(self) -> Port:
        """The end with half of the delay that its direction has in addition to the link's."""
        if self.path is None:
            return self
        half_ns = self.path.extra_delay_ns // 2
        path = self.path.model_copy(update={"extra_delay_ns": half_ns})
        return self.model_copy(update={"path": path})


class Link(Wire):
    """A full-duplex Ethernet link."""

    a: Port
    b: Port
    delay_ns: int = Field(ge=0, le=_PATH_MAX_NS)
    """Propagation time in one direction. It is the same in both, except for `Port.path`."""
    mtu_bytes: int = Field(ge=576)

    @property
    def ports(self) -> tuple[Port, Port]:
        """Both ends."""
        return self.a, self.b

    def halved(self) -> Link:
        """The link with half of its propagation time in each direction."""
        return self.model_copy(
            update={"a": self.a.halved(), "b": self.b.halved(), "delay_ns": self.delay_ns // 2}
        )

    def delay_from_ns(self, port: Port) -> int:
        """Propagation time of frames that this end sends, without random parts."""
        return self.delay_ns + (port.path.extra_delay_ns if port.path is not None else 0)


NamedT = TypeVar("NamedT", Group, Host | Zone | Switch)


class Network(Wire):
    """A graph of hosts, zones and switches; names are unique."""

    groups: tuple[Group, ...]
    nodes: tuple[Node, ...]
    links: tuple[Link, ...]
    shared_clock: bool = False
    """Whether the clocks of all hosts tick at the same instants, as in namespaces of one
    machine."""

    @property
    def hosts(self) -> tuple[Host, ...]:
        """The nodes that are hosts, in order."""
        return tuple(node for node in self.nodes if isinstance(node, Host))

    @property
    def switches(self) -> tuple[Switch, ...]:
        """The nodes that are switches, in order."""
        return tuple(node for node in self.nodes if isinstance(node, Switch))

    @property
    def zones(self) -> tuple[Zone, ...]:
        """The nodes that are zones, in order."""
        return tuple(node for node in self.nodes if isinstance(node, Zone))

    def group(self, name: str) -> Group:
        """The group with this name. Raises KeyError if there is none."""
        return _named(self.groups, name)

    def node(self, name: str) -> Host | Zone | Switch:
        """The node with this name. Raises KeyError if there is none."""
        return _named(self.nodes, name)


def _named(among: tuple[NamedT, ...], name: str) -> NamedT:
    for one in among:
        if one.name == name:
            return one
    raise KeyError(name)


Role = Literal["client", "server"]
"""Clients open connections, servers listen."""


class Roles(Wire):
    """Which endpoints ask and which answer: names of hosts and zones, or `host@interface` for a
    host with several interfaces."""

    client: tuple[str, ...] = Field(min_length=1)
    """Endpoints that open connections."""
    server: tuple[str, ...] = Field(min_length=1)
    """Endpoints that listen."""

    @property
    def pairs(self) -> Iterator[tuple[str, str]]:
        """Pairs each client with a server. The larger role decides the number of pairs; the members
        of the smaller role are used again in turn."""
        count = max(len(self.client), len(self.server))
        return islice(zip(cycle(self.client), cycle(self.server), strict=False), count)


class Incast(Wire):
    """One client asks every server at once for a block, waits for all blocks, and repeats.

    A phase ends after a given number of iterations.
    """

    kind: Literal["incast"] = "incast"
    roles: Roles
    """One client, some servers."""
    block_bytes: int = Field(gt=0)
    """Size of the response of each server; if striped, of the responses of all servers together."""
    striped: bool = False
    request_bytes: int = Field(default=64, gt=0)
    request_spacing_ns: int = Field(default=0, ge=0, le=_PATH_MAX_NS)
    """Time between the request to one server and the request to the next."""
    start_jitter: Jitter = NoJitter()
    """Random delay between the arrival of a request at a server and the first byte of the
    response."""

    @property
    def response_bytes(self) -> tuple[int, ...]:
        """Size of the response of each server in an iteration: the block, or the server's part of
        it if striped. If the block does not divide evenly, the first servers send one byte more
        (crates/workload/src/incast.rs)."""
        servers = len(self.roles.server)
        if not self.striped:
            return (self.block_bytes,) * servers
        each, rest = divmod(self.block_bytes, servers)
        return tuple(each + (index < rest) for index in range(servers))

    @property
    def connected(self) -> Iterator[tuple[str, str]]:
        """Client and server of each connection."""
        return self.roles.pairs

    @property
    def sending(self) -> tuple[Role, ...]:
        """The roles that send data: the client only asks."""
        return ("server",)


class Ftp(Wire):
    """Transfers of files by FTP: each flow is a session, and each transfer has a data
    connection."""

    source: Literal["memory", "ram", "cache", "disk"] = "memory"
    """Where the sender has the file: `memory`, it generates the bytes itself; `ram`, on a RAM disk;
    `cache`, in the page cache; `disk`, on a disk, from which each transfer reads it."""
    sink: Literal["null", "ram", "disk", "synced disk"] = "null"
    """Where the receiver puts the bytes: `null`, nowhere; `ram`, on a RAM disk; `disk`, on a disk;
    `synced disk`, on a disk, with fsync before the transfer ends."""
    data_path: Literal["copying", "sendfile"] = "copying"
    """How the sender sends the file: by reads and writes, or without a copy (sendfile(2))."""


class Transfer(Wire):
    """Each pair of client and server moves bytes, one transfer after the other.

    A phase ends after a given number of transfers per flow or after a given duration.
    """

    kind: Literal["transfer"] = "transfer"
    roles: Roles
    direction: Literal["get", "put", "both"] = "get"
    """From the server, to the server, or both ways at once over the same connection."""
    size_bytes: int | None = Field(default=None, gt=0)
    """Bytes of a transfer in each direction; None: a transfer lasts until the phase ends."""
    flows: int = Field(default=1, gt=0)
    """Number of connections of each pair, all used at the same time."""
    request_bytes: int = Field(default=64, gt=0)
    """Size of the request for a transfer, and of the answer that confirms a transfer."""
    pause_ns: int = Field(default=0, ge=0)
    """Time between the end of a transfer and the start of the next one of the same flow."""
    starts_ns: tuple[Annotated[int, Field(ge=0)], ...] = ()
    """Delay of the start of each connection, in the order of `connected`; empty: all start
    together."""
    ftp: Ftp | None = None
    """Settings of FTP; None: the bytes follow the request on the same connection."""

    @property
    def connected(self) -> Iterator[tuple[str, str]]:
        """Client and server of each connection; the flows of a pair are next to each other."""
        return (pair for pair in self.roles.pairs for _ in range(self.flows))

    @property
    def sending(self) -> tuple[Role, ...]:
        """The roles that send data; requests and confirmations do not count."""
        ways: dict[str, tuple[Role, ...]] = {"get": ("server",), "put": ("client",)}
        return ways.get(self.direction, ("client", "server"))


class Request(Wire):
    """Each pair of client and server exchanges requests and responses.

    A phase ends after a given number of requests per connection or after a given duration.
    """

    kind: Literal["request"] = "request"
    roles: Roles
    request_bytes: int = Field(default=64, gt=0)
    response_bytes: int = Field(default=64, gt=0)
    writes: int = Field(default=1, gt=0)
    """Number of writes in which the server hands a response to its connection; the parts are as
    equal as possible, the first ones larger."""
    connections: int = Field(default=1, gt=0)
    """Number of connections of each pair."""
    outstanding: int = Field(default=1, gt=0)
    """Number of requests on a connection that may wait for responses at the same time."""
    think_ns: int = Field(default=0, ge=0)
    """Time between a response and the next request."""
    every_ns: int | None = Field(default=None, gt=0)
    """Interval of requests, whether or not they are answered; None: a new request is sent only
    after an answer."""

    @property
    def connected(self) -> Iterator[tuple[str, str]]:
        """Client and server of each connection; the connections of a pair are next to each
        other."""
        return (pair for pair in self.roles.pairs for _ in range(self.connections))

    @property
    def sending(self) -> tuple[Role, ...]:
        """The roles that send data: both send messages."""
        return ("client", "server")


class TierRoles(Roles):
    """The load generators, the application server, and the database."""

    server: tuple[str, ...] = Field(min_length=1, max_length=1)
    """The host of the application server."""
    database: tuple[str, ...] = Field(default=(), max_length=1)
    """The host of the database; empty if the database has no host of its own."""


class PasswordSource(Wire):
    """Where to read the password of a role: plans and records contain only this place, never the
    password."""

    env: str | None = None
    """An environment variable."""
    pgpass: str | None = None
    """A password file of libpq."""


class ExistingDatabase(Wire):
    """A PostgreSQL server that the run uses but does not start."""

    host: str
    """An address, or the folder of the server's Unix socket."""
    port: int = Field(default=5432, ge=1, le=65_535)
    """The TCP port, which is also part of the Unix socket's name."""
    user: str
    database: str
    password: PasswordSource | None = None
    """None: the server asks for none."""


class Brokerage(Wire):
    """The brokerage application, which is part of the engine."""

    kind: Literal["brokerage"] = "brokerage"
    variant: str | None = None
    """Name of the variant, only for people; None: the default settings."""
    threads: int | None = Field(default=None, gt=0)
    """Number of threads of the application server; None: one per CPU."""
    pool_connections: int = Field(default=16, gt=0)
    """Connections to the database."""
    page_images: int = Field(default=0, ge=0, le=9)
    """Images per page; each adds a page element."""
    database: Literal["postgresql", "sqlite"] = "postgresql"
    """A server on the database's host, or a file on the application's host."""
    data: Literal["ram", "disk"] = "disk"
    """Where the database keeps its tables."""
    users: int = Field(default=15_000, gt=0)
    """Registered users."""
    quotes: int = Field(default=10_000, gt=0)
    """Quoted stocks."""
    existing: ExistingDatabase | None = None
    """The server that has the data; None: the run starts a server of its own."""


class Program(Wire):
    """Any program that answers HTTP."""

    kind: Literal["program"] = "program"
    start: tuple[str, ...] = Field(min_length=1)
    """The program and its arguments."""
    port: int = Field(ge=1, le=65_535)
    """Port on which the program listens, at the address of its host."""
    ready_path: str = "/"
    """Path that answers with success as soon as the program is ready."""


Application = Annotated[Brokerage | Program, Field(discriminator="kind")]


class HttpRequest(Wire):
    """An HTTP request."""

    method: Literal["GET", "POST"] = "GET"
    path: str
    """Path and query."""
    body: str | None = None
    content_type: str | None = None
    """Media type of the body."""


class Operation(Wire):
    """An operation of a mix."""

    name: str
    share_ppm: int = Field(ge=0, le=1_000_000)
    """The share of this operation among all operations, in millionths; all shares add up to a
    million."""
    elements_ppm: int = Field(gt=0)
    """Mean number of page elements of one operation, in millionths."""
    requests: tuple[HttpRequest, ...] = ()
    """Requests of the operation; empty: the application itself defines them."""


class ClosedLoad(Wire):
    """Users who submit, wait for the answer, think, and submit again."""

    kind: Literal["closed"] = "closed"
    users: int = Field(gt=0)
    """Number of users in total; they are divided among the load generators."""
    think_ns: int = Field(default=0, ge=0)
    """Time from an answer to the next submission."""
    think: Literal["fixed", "exponential"] = "fixed"
    """How the think time varies."""


class OpenLoad(Wire):
    """Submissions at a rate, whether or not earlier ones are answered."""

    kind: Literal["open"] = "open"
    interval_ps: int = Field(gt=0)
    """Mean time between two submissions of all generators together, in picoseconds."""
    arrivals: Literal["poisson", "uniform"] = "poisson"
    """`poisson`: submissions are independent of each other; `uniform`: they come at equal
    intervals."""
    users: int = Field(default=1_000, gt=0)
    """The most submissions that may be in flight, over all load generators; at this limit, further
    submissions are not begun."""


Load = Annotated[ClosedLoad | OpenLoad, Field(discriminator="kind")]


class Costs(Wire):
    """The costs of a page element in the simulator."""

    profile: str
    """Profile from which the figures came."""
    request_bytes: int = Field(default=400, gt=0)
    """Bytes of a request of a page element."""
    response_bytes: int = Field(default=9_200, gt=0)
    """Bytes of the answer."""
    app_cpu_ns: int = Field(ge=0, le=_WORK_MAX_NS)
    """CPU time of the application server with one CPU."""
    app_cpu_growth_ppm: int = Field(default=0, ge=0, le=1_000_000)
    """Fraction of this CPU time that each further CPU adds to it."""
    database_calls: int = Field(default=1, ge=0)
    """Requests to the database, one after the other."""
    database_request_bytes: int = Field(default=200, gt=0)
    """Bytes of a request to the database."""
    database_response_bytes: int = Field(default=600, gt=0)
    """Bytes of the answer."""
    database_cpu_ns: int = Field(default=0, ge=0, le=_WORK_MAX_NS)
    """CPU time of the database for all requests together."""
    database_disk_cpu_ns: int = Field(default=0, ge=0, le=_WORK_MAX_NS)
    """Additional CPU time of the database if its tables are on a disk; 0 if they are on a RAM
    disk."""
    database_shared_cpu_ns: int = Field(default=0, ge=0, le=_WORK_MAX_NS)
    """CPU time for work that the database does only once for all concurrent requests, which hold
    slots, such as a flush of the log. A single request takes all of this time; concurrent requests
    share it."""
    database_hold_ns: int = Field(default=0, ge=0, le=_WORK_MAX_NS)
    """Additional time in which the requests hold a slot without using a CPU, for example while they
    wait for the log."""
    database_contention_ns: int = Field(default=0, ge=0, le=_WORK_MAX_NS)
    """Time for which requests, while they hold a slot, wait for locks of other requests if all
    other slots are in use. If fewer slots are in use, the time is proportionally shorter; a single
    request does not wait."""
    database_buffer_wait_ns: int = Field(default=0, ge=0, le=_WORK_MAX_NS)
    """Time for which requests, while they hold a slot, wait for a buffer of the database's
    interface, if the interface's queue has room for 1000 frames. The time is inversely proportional
    to this room."""
    database_slots: int = Field(default=64, gt=0)
    """The most requests that the database works on at a time."""
    database_disk_ns: int = Field(default=0, ge=0, le=_WORK_MAX_NS)
    """Disk time of the database for all requests together."""
    delay_ns: int = Field(default=0, ge=0, le=_WORK_MAX_NS)
    """Additional time in which all tiers are idle."""
    service: Literal["fixed", "exponential"] = "exponential"
    """Distribution of the time of each piece of work."""
    threads: int | None = Field(default=None, gt=0)
    """The most page elements that the application server works on at a time; None: no limit."""
    pool_connections: int = Field(default=64, gt=0)
    """Connections of the application server to the database."""


class Transactions(Wire):
    """Users submit operations to an application server, which queries its database.

    A phase ends after a given duration.
    """

    kind: Literal["transactions"] = "transactions"
    roles: TierRoles
    application: Application
    mix: tuple[Operation, ...] = Field(min_length=1)
    """The operations with their shares."""
    load: Load
    """The number of users or the rate of submissions."""
    statistics_every_ns: int = Field(default=1_000_000_000, gt=0)
    """Time between two blocks of statistics of a generator."""
    costs: Costs | None = None
    """Costs of a page element in the simulator. Plans for real hosts may leave them out, since only
    the simulator uses them."""

    @property
    def connected(self) -> Iterator[tuple[str, str]]:
        """Load generator and server of each pair. Between them, there is a connection for each
        user."""
        return self.roles.pairs

    @property
    def sending(self) -> tuple[Role, ...]:
        """The roles that send data: both send messages."""
        return ("client", "server")


class MeasuredValue(Wire):
    """A value that a table gives for a run."""

    metric: str
    """Name of the metric in the study."""
    value: float
    rounding: float = Field(gt=0)
    """One unit of the last digit that the source prints."""
    row: str
    """File and line of the value."""


class MeasuredFile(Wire):
    """A file of measurements of a run."""

    path: str
    """Path, relative to the study's folder."""
    sha256: str
    bytes: int
    format: str
    """Name of the format, as it was recognised."""
    node: str | None = None
    """The host that the file is about; None: it is the file of a load generator."""
    test: int = 0
    """Which of the measurements in the file it is, from 0."""


class MeasuredMetric(Wire):
    """A metric that files of measurements give."""

    name: str
    """Name in the study, with the host if it is read there: `sender.cpu_pct`."""
    label: str
    """Its name in the middle of a sentence."""
    unit: str
    """Unit of the values; empty for a plain count."""
    direction: Literal["lower", "higher", "neutral"]
    """The better direction."""
    decimals: int = Field(ge=0)
    """Decimals that tables print."""
    formula: str
    """How the tool finds the value."""
    instrument: str
    """The tool."""
    samples: Literal["each", "histogram"] | None = None
    """How the files give samples of it; None: they give only its values."""


class Measured(Wire):
    """A run that was measured elsewhere, known only by the values of a table or by the content of
    files. In the plan, its network has no nodes.
    """

    kind: Literal["measured"] = "measured"
    of: str | None
    """Kind of the workload that was run, such as `incast`; None: it is not known."""
    source: tuple[str, ...] = ()
    """Author and publication of the values of a table."""
    given: tuple[MeasuredValue, ...] = ()
    """The values of a table."""
    files: tuple[MeasuredFile, ...] = ()
    """The file of the load generator, then the files of hosts."""
    block: str | None = None
    """The session in which it was measured, if the study names it."""
    metrics: tuple[MeasuredMetric, ...] = ()
    """The metrics in the files of the run."""

    @property
    def roles(self) -> Roles:
        """Empty, since no endpoints are known."""
        return Roles.model_construct(client=(), server=())

    @property
    def connected(self) -> Iterator[tuple[str, str]]:
        """Client and server of each connection: empty, since none are known."""
        return self.roles.pairs

    @property
    def sending(self) -> tuple[Role, ...]:
        """The roles that send data: empty, since none are known."""
        return ()


Traffic = Incast | Transfer | Request | Transactions
"""Workloads that testbeds run."""
Workload = Annotated[Traffic | Measured, Field(discriminator="kind")]


class Probe(Wire):
    """Small requests at a fixed interval, on a connection of their own for each pair of the
    workload: they measure the latency that other traffic sees under this load."""

    every_ns: int = Field(gt=0)
    """Time from one request to the next, whether or not the first is answered."""
    request_bytes: int = Field(default=64, gt=0)
    response_bytes: int = Field(default=64, gt=0)


PhaseKind = Literal[
    "load",
    "configure",
    "gather-statistics",
    "idle",
    "warm-up",
    "stop",
    "reset",
    "measure",
    "cool-down",
]
"""The kinds of phases.

`load`, `configure` and `gather-statistics` prepare an application; in `idle` only the probe runs,
before the workload begins; in `warm-up` the workload runs and no sample is kept; in `stop` it
pauses until nothing is in flight, and begins again with the next phase; `reset` restores the
initial state of an application's data; `measure` is the measuring phase, the same for all
instruments; in `cool-down` the workload has ended and transfers in flight finish.
"""
APPLICATION_PHASES: Final[tuple[PhaseKind, ...]] = (
    "load",
    "configure",
    "gather-statistics",
    "reset",
)
"""Phases of a workload with an application, in their order."""


class UntilCount(Wire):
    """Ends a phase after a number of iterations, transfers or requests of the workload."""

    kind: Literal["count"] = "count"
    count: int = Field(ge=0)


class UntilTime(Wire):
    """Ends a phase after a fixed duration."""

    kind: Literal["time"] = "time"
    ns: int = Field(gt=0)


Until = Annotated[UntilCount | UntilTime, Field(discriminator="kind")]


class Phase(Wire):
    """A phase of a run, in the plan."""

    kind: PhaseKind
    until: Until | None = None
    """When the phase ends; None: when the work of the phase is done."""


InstrumentKind = Literal["host", "tcp", "ports", "snmp"]
"""The quantities that an instrument reads. `host`: processor, memory, disk and interfaces of a
host, like sar. `tcp`: a host's connections (round-trip times, congestion windows), from TCP_INFO.
`ports`: the ports of a switch, read by the switch itself. `snmp`: the ports of a switch, read by
SNMP."""


class SecretSource(Wire):
    """Where to read a community or a password: plans and records contain only this place, never the
    secret."""

    env: str | None = None
    """An environment variable."""
    file: str | None = None
    """A file whose first line is the secret."""


SnmpAuthentication = Literal["SHA", "SHA-224", "SHA-256", "SHA-384", "SHA-512"]
"""How messages of SNMPv3 are signed (RFC 3414, 7; RFC 7860)."""
SnmpCipher = Literal["AES"]
"""How messages of SNMPv3 are encrypted: AES with a key of 128 bits (RFC 3826)."""


class SnmpAccess(Wire):
    """Credentials of a poller: a community (SNMPv2c), or a user (SNMPv3)."""

    community: SecretSource | None = None
    """None: the testbed generates a community for its emulated switches in each run."""
    user: str | None = None
    """The user of SNMPv3; None: SNMPv2c."""
    authentication: SnmpAuthentication = "SHA"
    authentication_password: SecretSource | None = None
    """Required with a user."""
    privacy: SnmpCipher | None = None
    """None: messages are signed but not encrypted."""
    privacy_password: SecretSource | None = None


class Instrument(Wire):
    """An instrument, which takes samples at a fixed interval."""

    kind: InstrumentKind
    node: str
    port: str | None = None
    """The port that is read; None: all ports."""
    every_ns: int = Field(gt=0)
    from_: str | None = Field(default=None, alias="from")
    """The node that polls; None: the node itself."""
    access: SnmpAccess | None = None
    """Credentials for SNMP; None: nobody polls by SNMP."""
    sysstat: bool = False
    """For a host: sysstat's own program records the measuring phase as well."""


Treatment = dict[str, Level]


@dataclass(frozen=True, slots=True)
class Run:
    """One treatment and one replicate. Runs share the objects that are equal, so that a million of
    them fit into memory; `plan_lines` reads and writes them."""

    id: str
    """12 hexadecimal digits, a hash of treatment and replicate. --only and --set do not change
    it."""
    cases: tuple[str, ...]
    treatment: Treatment
    replicate: int
    """From 1."""
    seed: str
    """16 hexadecimal digits, derived from the plan's seed, the treatment and the replicate."""
    network: Network
    workload: Workload
    phases: tuple[Phase, ...]
    """In order; one of them is the measuring phase. Empty if the phases are not known."""
    probe: Probe | None = None
    """Small requests during the workload; None: there are none."""
    instruments: tuple[Instrument, ...] = ()
    trace: bool = False
    """True if the simulator traces where the time of each unit of work goes."""

    def until(self, kind: PhaseKind) -> UntilCount | UntilTime | None:
        """The end condition of the first phase of a kind; None: there is no such phase, or it has
        no limit."""
        return next((phase.until for phase in self.phases if phase.kind == kind), None)

    def count(self, kind: PhaseKind) -> int:
        """Number of iterations, transfers or requests of a phase; 0 if the phase ends after a fixed
        duration or is absent."""
        until = self.until(kind)
        return until.count if isinstance(until, UntilCount) else 0


@dataclass(frozen=True, slots=True)
class Plan:
    """The runs of a study, in the order in which they are made."""

    study: str
    seed: int
    runs: tuple[Run, ...]

    def with_runs(self, runs: Iterable[Run]) -> Plan:
        """The same plan with other runs."""
        return replace(self, runs=tuple(runs))


class EngineRecord(Wire):
    """First record of a stream: tells which engine wrote the stream."""

    kind: Literal["engine"] = "engine"
    schema_: Literal["netstudy/record/2"] = Field(default=RECORD_SCHEMA, alias="schema")
    version: str
    testbed: str


class RunUnderWay(Wire):
    """Progress of the current run, counted in iterations, transfers or requests, or in milliseconds
    if the phases have a fixed duration."""

    done: int
    of: int
    """The total, warm-up included."""


class ProgressRecord(Wire):
    """Progress of the engine; written only on request, and never kept."""

    kind: Literal["progress"] = "progress"
    runs_done: int
    runs: int
    packets: int
    """Useful data packets carried so far, over all runs."""
    packets_planned: int
    """Useful data packets of the plan; 0: unknown, because runs have a fixed duration."""
    under_way: RunUnderWay | None = None
    """Progress of the current run; None: no current run, or several at once."""


class Check(Wire):
    """The check of a run against a conservation law (contract 4)."""

    law: str
    holds: bool
    detail: str


class IterationSamples(Wire):
    """One value per iteration of the measuring phase; all columns have the same length."""

    completion_ns: tuple[int, ...]
    """Time from the first request to the last byte from the last server."""
    dropped_packets: tuple[int, ...] | None = None
    """Frames that switch ports dropped. None: drops are not known for each iteration, as with
    kernel queues, which count only the total; `ports` may have this total."""
    retransmissions: tuple[int, ...] | None = None
    """Segments that the servers retransmitted. None: a server's system does not report TCP_INFO."""
    timeouts: tuple[int, ...] | None = None
    """Number of times that the servers' retransmission timers expired. None: a server's kernel does
    not count them for each connection (Linux before 6.7)."""


class ConnectionSamples(Wire):
    """One value per connection of the workload over the measuring phase, in the order of the plan.

    Bytes divided by busy time is the throughput of a connection while it had work to do; the
    fairness index is computed from these throughputs (Jain, Chiu and Hawe, DEC-TR-301, 1984).
    """

    client: tuple[str, ...]
    """The node that opened the connection."""
    server: tuple[str, ...]
    """The node that accepted the connection."""
    bytes_received: tuple[int, ...]
    """Application bytes that the client received; real testbeds verify each byte."""
    bytes_sent: tuple[int, ...]
    """Application bytes of the client that the server received, requests included."""
    busy_ns: tuple[int, ...]
    """Total time for which the client was busy: from the start of each iteration, transfer or
    request to the last byte."""
    retransmissions: tuple[int, ...] | None = None
    """Segments retransmitted by the ends that send data: by the server if clients only ask, by the
    client if only clients send, by both if both send. None: the system of one of them does not
    report TCP_INFO."""
    timeouts: tuple[int, ...] | None = None
    """Number of times that the retransmission timers of these ends expired. None: the kernel of one
    of them does not count them for each connection (Linux before 6.7)."""
    connect_ns: tuple[int, ...] | None = None
    """FTP only: time until the control connection was open."""
    login_ns: tuple[int, ...] | None = None
    """FTP only: time from the opening of the control connection until the session was ready for
    transfers."""
    idle_ns: tuple[int | None, ...] | None = None
    """Nothing was to be sent, and nothing was outstanding. On real hosts, all time but
    `tcpi_busy_time`; it includes the opening of the connection."""
    sent_ns: tuple[int | None, ...] | None = None
    """Everything written was sent, and its acknowledgment was awaited; also that of a SYN, so this
    includes the opening of the connection."""
    peer_window_ns: tuple[int | None, ...] | None = None
    """The window of the receiver had no room. On real hosts: `tcpi_rwnd_limited`."""
    own_buffer_ns: tuple[int | None, ...] | None = None
    """The send buffer had no room. On real hosts: `tcpi_sndbuf_limited`, which also needs an
    application that waits for room."""
    congestion_window_ns: tuple[int | None, ...] | None = None
    """The congestion window had no room, outside of loss recovery."""
    recovery_ns: tuple[int | None, ...] | None = None
    """Loss recovery, fast or after a timeout, let no more segments into the network."""
    own_interface_ns: tuple[int | None, ...] | None = None
    """Too much data of the connection waited at the sender's own interface (TCP small queues)."""
    timer_ns: tuple[int | None, ...] | None = None
    """A retransmission timeout or a tail loss probe ended the wait, which counts from when its
    timer was armed."""
    last: tuple[int, ...] | None = None
    """Incast only: number of iterations whose last byte arrived on this connection."""


class TransferSamples(Wire):
    """One value per transfer that ended in the measuring phase."""

    connection: tuple[int, ...]
    """The row of ConnectionSamples."""
    start_ns: tuple[int, ...]
    """When the transfer was due, by the clock of its client."""
    end_ns: tuple[int, ...]
    """When the client knew that all bytes had arrived."""
    bytes_received: tuple[int, ...]
    """Application bytes that the client received."""
    bytes_sent: tuple[int, ...]
    """Application bytes of the client that the server received."""
    first_byte_ns: tuple[int, ...] | None = None
    """FTP only: when the first byte of the file reached the client (get) or left it (put)."""


class RequestHistogram(Wire):
    """Latencies of the requests of one client: a log-linear histogram (HdrHistogram)."""

    operation: str
    """`request`, `probe`, `page element`, `transaction`, or an operation of an application."""
    latency: Literal["response", "service", "first-byte"] = "response"
    """`response`: from the time when a request was due to the last byte of the answer. `service`:
    from the sending of the request to the last byte. `first-byte`: from the sending of the request
    to the first byte."""
    phase: PhaseKind
    """The phase in which the requests were due."""
    client: str
    """The node that asked."""
    server: str
    """The node that answered."""
    count: int
    unanswered: int
    """Requests without an answer at the end of the phase; they are in no bucket."""
    min_ns: int
    max_ns: int
    sum_ns: int
    significant_digits: int
    """Significant decimal digits of the buckets."""
    value_ns: tuple[int, ...]
    """The highest latency of each bucket that is not empty, ascending."""
    requests: tuple[int, ...]
    """Number of requests in each bucket."""


class SecondSamples(Wire):
    """Bytes of a connection in each second of the measuring phase."""

    connection: tuple[int, ...]
    """The row of ConnectionSamples."""
    start_ns: tuple[int, ...]
    """Start of the second, counted from the start of the phase. The last row may cover only a part
    of a second."""
    bytes_received: tuple[int, ...]
    """Application bytes that the client received."""
    bytes_sent: tuple[int, ...]
    """Application bytes of the client that the server received: on testbeds of real hosts, bytes
    that the server's TCP has acknowledged."""


class TransactionSamples(Wire):
    """Outcomes of the operations of the measuring phase: one row per generator and operation."""

    client: tuple[str, ...]
    """The generator."""
    operation: tuple[str, ...]
    """The operation."""
    offered: tuple[int, ...]
    """Submissions that were due, or in flight when the phase began: the sum of `completed`,
    `network_errors`, `server_errors`, `not_met` and `unfinished`."""
    carried: tuple[int, ...] = ()
    """Submissions in flight when the phase began. Empty in records of versions that did not count
    them."""
    not_met: tuple[int, ...]
    """Submissions that were not begun, because too many were in flight."""
    completed: tuple[int, ...]
    """Submissions that ended in the phase without an error."""
    unfinished: tuple[int, ...]
    """Submissions in flight when the phase ended."""
    page_elements: tuple[int, ...]
    """Number of successful HTTP responses."""
    network_errors: tuple[int, ...]
    """Submissions whose connection failed: it was refused, was cut or timed out."""
    server_errors: tuple[int, ...]
    """Submissions that the application refused or could not process: 4xx, 5xx, or a wrong page."""
    bytes_read: tuple[int, ...]
    """Bytes, including headers."""
    bytes_written: tuple[int, ...]
    """Bytes, including headers."""


class TransactionErrors(Wire):
    """Errors of the measuring phase by their reason: one row per generator, operation and
    reason."""

    client: tuple[str, ...]
    """The generator."""
    operation: tuple[str, ...]
    """The operation."""
    reason: tuple[str, ...]
    """`503`, `connection reset`, `timed out` and the like."""
    count: tuple[int, ...]
    """Number of these errors."""


class StatisticsSamples(Wire):
    """Statistics of each load generator at intervals. They are cumulative from the start of the
    measuring phase, so the last row of a generator is about the whole phase."""

    client: tuple[str, ...]
    """The generator."""
    at_ns: tuple[int, ...]
    """Time since the phase began."""
    users: tuple[int, ...]
    """Number of the generator's users."""
    page_elements: tuple[int, ...]
    """Number of successful HTTP responses."""
    transactions: tuple[int, ...]
    """Operations that ended without an error."""
    network_errors: tuple[int, ...]
    """Submissions whose connection failed."""
    server_errors: tuple[int, ...]
    """Submissions that the application refused or could not process."""
    bytes_read: tuple[int, ...]
    """Bytes, including headers."""
    bytes_written: tuple[int, ...]
    """Bytes, including headers."""
    response_sum_ns: tuple[int, ...]
    """Sum of the response times of all page elements."""
    not_met: tuple[int, ...]
    """Submissions that were due and not begun."""
    starved_users: tuple[int, ...] = ()
    """Users who wait for an answer and have had none since the phase began. Empty in records of
    versions that did not count them."""


Reason = Literal[
    "own", "peer-window", "own-buffer", "congestion-window", "recovery", "own-interface"
]
"""Why something had to happen before the last byte of a unit of work could be sent. `own`: the
bytes of the unit itself. `peer-window`, `own-buffer`, `congestion-window`: that window had no room
until an acknowledgment arrived. `recovery`: the bytes were sent again. `own-interface`: earlier
bytes of the connection had to leave the host (TCP small queues)."""
Place = Literal[
    "application",
    "cpu",
    "memory-bus",
    "io-bus",
    "disk",
    "database-hold",
    "cpu-queue",
    "memory-bus-queue",
    "io-bus-queue",
    "disk-queue",
    "queue",
    "pause",
    "thread",
    "pool",
    "database-slot",
    "connection",
    "host-latency",
    "interrupt",
    "packet-rate-sending",
    "packet-rate-receiving",
    "serialization",
    "switch-latency",
    "propagation",
    "retransmission-timer",
    "probe-timer",
    "reordering-timer",
    "window-probe-timer",
    "delayed-ack-timer",
    "think",
    "generator",
    "not-known",
]
"""Where time passed. The queues are waits for the CPU, bus, disk or port that is named. `pause`:
the port was paused (IEEE 802.3x). `thread`, `pool`, `database-slot`, `connection`: the wait until a
thread, a connection to the database, a slot of the database, or the connection of the request was
free. `database-hold`: a request of the database waited for logs and locks. `interrupt`: the
interface delayed its interrupt. `generator`: the load generator spaced its requests, or was late.
`not-known`: real testbeds only."""


UnitOfWork = Literal["iteration", "transfer", "request", "transaction", "interval"]
"""`interval`: about 100 ms of an unsized stream, between the sending of two segments; on real
testbeds, all of it together."""


class TimeAccount(Wire):
    """Where the time of units of work went: the sums of the parts of their times.

    A part is a reason and a place. In the view `journey`, a wait in a queue is a part. In the view
    `cause`, the work in front stands for the wait. The parts of each unit add up to its
    time in both views; of a real testbed, each part has bounds.
    """

    view: Literal["journey", "cause"]
    """How the times are divided."""
    group: Literal["all", "middle", "slowest", "worst", "median-member"]
    """`all`: every unit of the measuring phase. `middle`: the middle tenth by their times.
    `slowest`: the slowest 2 %, at least one. `worst`: the slowest one. `median-member`: for each
    iteration, the connection whose response was complete when half of the others were; its time is
    from the start of the iteration to its own last byte. Where a run has very many units, `middle`
    and `slowest` are chosen from every second unit, every fourth, and so on."""
    unit: UnitOfWork
    """The kind of the units."""
    units: int
    """Number of units in the group."""
    whole_ps: int
    """Sum of their times."""
    number: int | None = None
    """Group `worst`: the number of the unit in the measuring phase, from 1."""
    connection: int | None = None
    """Group `worst`: the connection whose last byte ended the unit, as a row of
    ConnectionSamples."""
    reason: tuple[Reason, ...]
    place: tuple[Place, ...]
    node: tuple[str, ...]
    """The host, zone or switch of each place; of a link or port, the sending node. Empty: none."""
    to: tuple[str, ...]
    """Of a link, a port or an interface: the node at the other end. Empty: none."""
    low_ps: tuple[int, ...]
    """Lower bound of each part, summed over the units."""
    high_ps: tuple[int, ...] | None = None
    """Upper bound of each part; None: equal to `low_ps`, the parts are exact."""

    def rows(self) -> Iterator[tuple[Reason, Place, str, str, int, int]]:
        """Each part: its reason, place, node and the node at the other end, and its bounds."""
        high_ps = self.low_ps if self.high_ps is None else self.high_ps
        columns = (self.reason, self.place, self.node, self.to, self.low_ps, high_ps)
        return zip(*columns, strict=True)


class QueueStatistics(Wire):
    """Counters of a queue discipline for the frames of one class, over the measuring phase."""

    node: str
    """The host or the switch."""
    port: str
    """The interface or the port whose discipline it is."""
    dscp: CodePoint
    """The class: the code point of the frames (RFC 2474, 3)."""
    frames_offered: int
    """Frames that arrived for the port."""
    bytes_offered: int
    """Check sequences included, as in all numbers of bytes here."""
    frames_sent: int
    """Frames that left the queue for the wire."""
    bytes_sent: int
    frames_dropped_at_arrival: int
    """Frames dropped when a frame arrived: for lack of room, or by the rule of the discipline."""
    bytes_dropped_at_arrival: int
    frames_dropped_at_departure: int
    """Frames dropped when they were taken out of the queue."""
    bytes_dropped_at_departure: int
    frames_marked: int
    """Frames that got a congestion mark."""
    sojourn_sum_ns: int
    """Sum of the times that the sent frames were in the queue."""
    sojourn_ns: tuple[int, ...]
    """A histogram of these times: the highest time of each bucket that is not empty, ascending. A
    bucket is at most 1/128 of its values wide."""
    frames: tuple[int, ...]
    """Number of frames in each bucket."""


class Samples(Wire):
    """Samples of the measuring phase: tables with one column per quantity."""

    iteration: IterationSamples | None = None
    connection: ConnectionSamples | None = None
    transfer: TransferSamples | None = None
    request: tuple[RequestHistogram, ...] = ()
    second: SecondSamples | None = None
    transaction: TransactionSamples | None = None
    error: TransactionErrors | None = None
    statistics: StatisticsSamples | None = None
    time: tuple[TimeAccount, ...] = ()
    """Where the time of units of work went. Empty: the run was not traced."""
    queue: tuple[QueueStatistics, ...] = Field(default=(), exclude_if=lambda queue: not queue)
    """One entry per class of each queue discipline. Empty: no port and no interface has one."""


SAMPLE_TABLES: Final[dict[str, tuple[str, ...]]] = {
    name: tuple(table.model_fields)
    for name, table in (
        ("iteration", IterationSamples),
        ("connection", ConnectionSamples),
        ("transfer", TransferSamples),
        ("second", SecondSamples),
        ("transaction", TransactionSamples),
        ("error", TransactionErrors),
        ("statistics", StatisticsSamples),
    )
}
"""Table of samples -> its columns."""
HISTOGRAM_TABLES: Final[dict[str, tuple[str, ...]]] = {
    "request": ("operation", "latency", "phase", "client", "server", "value_ns", "requests")
}
"""Table of histograms -> its columns, with one row per bucket."""


class PhaseTimes(Wire):
    """A completed phase."""

    kind: PhaseKind
    start_ns: int
    """By the clock of the run's first client."""
    end_ns: int


Modelled = Literal[
    "cpu",
    "memory_bus",
    "io_bus",
    "disk",
    "packet_rate",
    "threads",
    "pool",
    "database_slots",
]
"""A capacity of a host that the simulator can model: CPU time, the rates of the buses, a disk, the
packet rate of an interface; threads of the application server, its connections to the database, and
the requests that the database works on at a time."""


class RecordNode(Wire):
    """A node of the run."""

    kind: Literal["host", "zone", "switch"]
    group: str
    """Group of the host or zone; for a switch, its own name."""
    clock: str
    """Name of the clock from which the node's timestamps come. Timestamps of different clocks must
    not be compared."""
    cpus: float | None = Field(default=None, gt=0)
    """Number of CPUs that a host may use; `host_cpu_ns` is their busy time. In namespaces: the CPUs
    to which the host's processes are pinned, or less with a quota. In the simulator: one for each
    interface whose frames cost processor time, and one for packets that stay inside the host. None:
    the number is not known, or frames cost the simulated host no processor time."""
    modelled: tuple[Modelled, ...] | None = None
    """For a simulated host or zone: which of its capacities are modelled. A capacity that is not in
    the list limits nothing in this run. None: a switch, or a real host, where all of them are
    real."""
    environment: str | None = None
    """Name of the file that describes the node's machine, `captures/nodes/<name>.json`. None: the
    node was simulated, or nothing was captured."""
    read_at_ns: tuple[int, ...] | None = None
    """When the node's counters were read for each edge, on the node's clock; None: at the edge
    itself."""


class ClockBounds(Wire):
    """Bounds of a clock's times, compared with the clock of the run's first client."""

    offset_low_ns: int
    """Bounds of the clock's time less that of the first client's clock, at the start of the
    measuring phase."""
    offset_high_ns: int
    drift_low_ppm: float
    """Bounds of the mean rate at which the offset grows over the run, in parts per million."""
    drift_high_ppm: float
    uncertainty_ns: int
    """Half the widest bounds of a time in the measuring phase, as a time of the first client's
    clock."""


class Edge(Wire):
    """The start or the end of a phase: an instant at which the counters of all nodes are read."""

    name: str
    """`measure-start`, `measure-end` and the like."""
    at_ns: int
    """By the clock of the run's first client."""
    quiet_ns: int | None = None
    """For the end of a phase: when the last traffic of the phase had arrived, on the same clock.
    Counters are read after this. None: they were read at the end of the phase itself."""


MEASURE_START: Final = "measure-start"
MEASURE_END: Final = "measure-end"
"""The edges of the measuring phase."""
OTHERS_CPU: Final = "CPU time of others"
"""Begins the name of a limit, which ends with the machine in brackets: CPU time of programs that
are not the run's, as a share of the time of all CPUs of the machine."""
MAXIMA: Final = ("queue_bytes_max",)
"""Readings that are the largest value so far instead of a count."""

Readings = dict[str, tuple[int | None, ...]]
"""Counter -> the values at all edges; None: the counter was not read at this edge."""
Edges = tuple[int | None, int | None]
"""Indices of the edges at the start and at the end of a phase; None: no counters were read
there."""


def growth_between(name: str, values: tuple[int | None, ...], edges: Edges) -> int | None:
    """Growth of a counter between two edges; for counters in `MAXIMA`, the maximum since the run
    began. None: the counter was not read at both edges."""
    first, last = edges
    if first is None or last is None:
        return None
    start, end = values[first], values[last]
    if start is None or end is None:
        return None
    return end if name in MAXIMA else end - start


class Series(Wire):
    """Samples of one node, port or connection: one column per counter, one value per sample."""

    node: str
    port: str | None = None
    """None: the samples are of the node itself."""
    connection: int | None = None
    """A row of ConnectionSamples; None: the samples are not of a connection."""
    instrument: InstrumentKind
    at_ns: tuple[int, ...]
    """Times of the samples, on the node's clock."""
    values: dict[str, tuple[int | None, ...]]
    """Name -> values: of a counter since the run began, or of a level such as the length of a
    queue. None: the value could not be read."""


HARDWARE_COUNTERS: Final = "hardware counters"
"""Key in a run's environment: why cycles and instructions are not counted, or that the counts do
not include kernel work."""
DEPARTURES: Final = "different from the study"
"""Key in a run's environment: a list of the settings that the testbed does not impose, one sentence
per line; older records have all sentences in one line."""
DISTURBED_ATTEMPTS: Final = "attempts that the machine disturbed, before the one that is shown"
"""Name of the limit that counts the repeated attempts of a run."""


class TestbedLimit(Wire):
    """A resource of a real testbed, and how much of it the run used. If this is more than
    `allowed`, the run measured the testbed instead of the network under study."""

    __test__: ClassVar[bool] = False  # not a test case, whatever its name suggests to pytest

    name: str
    """The resource, such as the processor of the switch or the backlog queue."""
    value: float | None = None
    """How much the run used; None: this could not be measured."""
    allowed: float
    """Largest acceptable value."""
    unit: str = ""
    """Unit of `value` and `allowed`; empty for a count."""
    exceeded: bool
    invalidates: bool = False
    """Whether the run is invalid only because of this limit."""
    evidence: str = ""
    """Where the value was read, and the raw reading."""


class Reconciliation(Wire):
    """A comparison of two instruments that counted the same quantity, or quantities with a known
    ratio."""

    check: str
    """The two quantities that should be equal, the left one first: `frames that servers sent =
    frames that the switch received`."""
    left: float
    right: float
    difference: float
    """Left minus right."""
    tolerance: float
    """The largest difference, in either direction, that the inaccuracy of the instruments can
    explain."""
    explained: str | None = None
    """The cause of the difference, if known."""
    holds: bool


class MeasuredSeries(Wire):
    """Values of consecutive intervals, from a file of measurements."""

    metric: str
    starts_s: tuple[float, ...]
    """Start of each interval since the start of the measuring phase."""
    ends_s: tuple[float, ...]
    values: tuple[float | None, ...]
    """None: the file has no value for this interval."""


class MeasuredSamples(Wire):
    """Samples of a quantity, from a file of measurements: each, or counted in buckets."""

    metric: str
    """The metric without a statistic."""
    values: tuple[float, ...]
    """The samples in the order of time, or the highest value of each bucket, ascending."""
    counts: tuple[int, ...] = ()
    """Number of samples in each bucket; empty: `values` are single samples."""


class MeasuredRun(Wire):
    """The values of a run that was measured elsewhere."""

    values: dict[str, float]
    """Metric -> value."""
    rounding: dict[str, float] = Field(default_factory=dict)
    """Metric -> one unit of the last digit that the source prints, for the values of a table."""
    files: tuple[MeasuredFile, ...] = ()
    tools: dict[str, str] = Field(default_factory=dict)
    """Path of a file -> the program that wrote it, with its version if the file gives it."""
    started_s: float | None = None
    """Start of the measurement in seconds since 1970, UTC; None: no file says when."""
    window_s: tuple[float, float] | None = None
    """Start and end of the measuring phase in seconds since 1970; None: no file says when."""
    block: str | None = None
    """The session in which it was measured, if the study names it."""
    settings: dict[str, str] = Field(default_factory=dict)
    """Settings of the measurement that its file names."""
    series: tuple[MeasuredSeries, ...] = ()
    samples: tuple[MeasuredSamples, ...] = ()
    notes: tuple[str, ...] = ()
    """Parts of the files that were left out, and why; each a sentence."""


class RunRecord(Wire):
    """The outcome of one run. A failed run has the reason in `error`; a run that breaks a
    conservation law is kept, with the status `invalid`."""

    kind: Literal["run"] = "run"
    run: str
    treatment: Treatment
    replicate: int
    seed: str
    status: Literal["ok", "invalid", "failed"]
    mode: Literal["closed-form", "per-hop"] | None = None
    """Mode of the simulator: most hops are computed in closed form, or each hop is an event, which
    is slower but can model PAUSE. None: the run was not simulated."""
    error: str | None = None
    checks: tuple[Check, ...] = ()
    nodes: dict[str, RecordNode] = Field(default_factory=dict)
    phases: tuple[PhaseTimes, ...] = ()
    """The phases that ended; one is the measuring phase, unless the run failed or was measured
    elsewhere."""
    samples: Samples = Samples()
    edges: tuple[Edge, ...] = ()
    counters: dict[str, Readings] = Field(default_factory=dict)
    """Node -> the node's counters since the run began."""
    ports: dict[str, dict[str, Readings]] = Field(default_factory=dict)
    """Node -> port or interface -> the port's counters since the run began."""
    series: tuple[Series, ...] = ()
    limits: tuple[TestbedLimit, ...] = ()
    """Whether the testbed itself limited the run; empty for the simulator, which has no such
    limits."""
    reconciliation: tuple[Reconciliation, ...] = ()
    """Comparisons between the counts of independent instruments."""
    environment: dict[str, str] = Field(default_factory=dict)
    """Properties of the machine, such as `kernel` and `testbed`; empty for the simulator."""
    clocks: dict[str, ClockBounds] = Field(default_factory=dict, exclude_if=lambda told: not told)
    """Clock -> its bounds, for each clock but that of the first client; absent if all nodes have
    the same clock. A clock whose times could not be compared is missing."""
    scaled_by: str | None = None
    """Factor by which the rates of links and queues of the study were multiplied, such as `1/20`;
    None: they were not changed."""
    measured: MeasuredRun | None = Field(default=None, exclude_if=lambda known: known is None)
    """The values of a run that was measured elsewhere; absent for all others."""

    @property
    def measure(self) -> PhaseTimes | None:
        """The measuring phase; None: the run did not complete it."""
        return self.phase("measure")

    def phase(self, kind: PhaseKind) -> PhaseTimes | None:
        """The phase of this kind; None: the run had no such phase, or did not complete it."""
        return next((phase for phase in self.phases if phase.kind == kind), None)

    def edges_of(self, kind: PhaseKind) -> Edges:
        """Indices in `edges` of the start and the end of the phase of this kind. The edge at the
        end of a phase may also be the start of the next one. None: no counters were read there."""
        names = {edge.name: place for place, edge in enumerate(self.edges)}
        kinds = [phase.kind for phase in self.phases]
        place = kinds.index(kind) if kind in kinds else -1
        before = f"{kinds[place - 1]}-end" if place > 0 else ""
        after = f"{kinds[place + 1]}-start" if 0 <= place < len(kinds) - 1 else ""
        start = names.get(f"{kind}-start", names.get(before))
        end = names.get(f"{kind}-end", names.get(after))
        return start, end

    @property
    def bytes_received(self) -> int | None:
        """Application bytes that all clients received in the measuring phase."""
        table = self.samples.connection
        return None if table is None else sum(table.bytes_received)

    def growth(self, readings: Readings, phase: PhaseKind = "measure") -> dict[str, int]:
        """Growth of counters over a phase; for counters in `MAXIMA`, the maximum since the run
        began. A counter that was not read at both edges is left out, since a missing value is not
        zero.
        """
        edges = self.edges_of(phase)
        grown = {name: growth_between(name, values, edges) for name, values in readings.items()}
        return {name: growth for name, growth in grown.items() if growth is not None}


class EndRecord(Wire):
    """Last record of a complete stream."""

    kind: Literal["end"] = "end"
    runs: int


Record = Annotated[
    EngineRecord | ProgressRecord | RunRecord | EndRecord, Field(discriminator="kind")
]


def to_json(model: Wire, **kwargs: Any) -> str:
    """Compact JSON with the fields in their declared order: the same model gives the same bytes."""
    return model.model_dump_json(by_alias=True, **kwargs)
