"""What crosses between the front and the engine: the plan going in, records coming out.

Both are JSON; `schema/plan.schema.json` and `schema/record.schema.json` are exported from these
models, and the engine's own types (crates/records) are tested against the same examples in
`schema/examples/`. Every number carries its unit at the end of its name and is an integer unless
the name says otherwise, so that the same plan gives the same bytes on every machine.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Final, Literal

from pydantic import BaseModel, ConfigDict, Field

PLAN_SCHEMA: Final = "netstudy/plan/1"
RECORD_SCHEMA: Final = "netstudy/record/1"

_TIMER_MAX_NS: Final = 3_600_000_000_000
"""An hour: the longest that the simulator waits for an iteration."""
_PATH_MAX_NS: Final = 60_000_000_000
"""A minute: what a part of the path may add to a packet's time."""
_WORK_MAX_NS: Final = 1_000_000_000
"""A second: what a host may take for one frame."""
_WINDOW_MAX: Final = 2**30
"""Bytes; the largest window of TCP (RFC 7323, 2.3)."""
_DATAGRAM_MIN: Final = 576
"""Bytes that every host accepts at once (RFC 791, 3.2)."""
_RATE_MIN_BPS: Final = 1_000
_UINT32_MAX: Final = 2**32 - 1

Level = str | int | float | bool
"""The level of a factor as a plan names it: what tables print and `--only` selects."""


class Wire(BaseModel):
    """Base of everything on the wire: immutable, and closed against unknown fields."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)


@dataclass(frozen=True)
class Said:
    """How studies and profiles speak of a setting, where its name here does not tell.

    Else the name is the one here without its unit, and the words are the name's.
    """

    name: str | None = None
    what: str | None = None
    """A level of it in words, for messages: "a way of loss recovery"."""


class Tcp(Wire):
    """The TCP of one host group.

    Each field but `profile` is a setting of studies and a figure of profiles: `knobs.py` takes
    name, unit, bounds, default and description from here.
    """

    NOT_ABOVE: ClassVar[tuple[tuple[str, str], ...]] = (
        ("min_rto_ns", "max_rto_ns"),
        ("initial_rto_ns", "max_rto_ns"),
    )
    """Fields of which the first one's value is at most the second one's."""

    profile: str
    congestion_control: Literal[
        "reno", "reno-ack-counting", "bic", "cubic", "cubic-hystart", "dctcp"
    ] = "reno"
    """Which algorithm sets cwnd after slow start."""
    recovery: Annotated[Literal["rfc", "fack", "prr"], Said(what="a way of loss recovery")] = "rfc"
    """How losses are found and repaired: `rfc` (RFC 6675; without SACK, RFC 6582), `fack` (forward
    acknowledgment and rate halving, Linux 2.6.18) or `prr` (proportional rate reduction, Linux
    6)."""
    rack: bool = True
    """With `prr`: losses are found by time (RFC 8985; `tcp_recovery` of Linux), else by three
    SACKed segments above."""
    tail_loss_probe: bool = True
    """With `prr`: the tail of a flight is probed before the timeout (RFC 8985, 7;
    `tcp_early_retrans` of Linux)."""
    sack: bool = True
    """Selective acknowledgments (RFC 2018)."""
    timestamps: bool = True
    """Timestamps (RFC 7323): 12 bytes a segment, and an RTT sample from every ack."""
    ecn: bool = False
    """Explicit congestion notification (RFC 3168) if the peer has it too; `dctcp` has it always."""
    initial_window_segments: int | None = Field(default=None, ge=1)
    """Initial cwnd in segments; without it RFC 3390 decides: min(4 MSS, max(2 MSS, 4380 bytes)).
    Larger: many flows that start together overrun a buffer at once."""
    rto_rule: Annotated[Literal["rfc-6298", "linux"], Said(what="an RTO rule")] = "rfc-6298"
    """What the minimum RTO bounds: the timeout (`rfc-6298`) or its part for variation (`linux`)."""
    initial_rto_ns: int = Field(default=1_000_000_000, ge=1, le=_TIMER_MAX_NS)
    """RTO before the first RTT sample. Longer: what is lost before it is sent again later."""
    min_rto_ns: int = Field(default=200_000_000, ge=0, le=_TIMER_MAX_NS)
    """Least RTO. Longer: an incast that loses a tail waits longer; too short: spurious timeouts."""
    max_rto_ns: int = Field(default=120_000_000_000, ge=1_000_000, le=_TIMER_MAX_NS)
    """Where exponential backoff ends. Longer: a path that comes back is found later."""
    clock_tick_ns: int = Field(default=0, ge=0, le=_WORK_MAX_NS)
    """Granularity of the clock by which timeouts fire and CUBIC grows; `0 ns` is exact. Longer:
    timeouts fire later, and windows grow in leaps."""
    delayed_ack_ns: int = Field(default=40_000_000, ge=0, le=_TIMER_MAX_NS)
    """How long an ack may wait for a second segment; `0 ns` acknowledges at once. Longer: a lone
    segment is acknowledged later, up to the sender's timeout."""
    ack_every_segments: int = Field(default=2, ge=1)
    """Full segments after which an ack is sent at the latest. More: fewer acks, and a window that
    is counted in acks grows more slowly."""
    quick_ack_segments: int = Field(default=0, ge=0)
    """Segments acknowledged at once when data starts to come, also after a gap longer than the
    timeout, and after a copy of old data (Linux: 16). More: more acks."""
    ack_pushed: bool = False
    """Mark the end of what was written (PSH) and acknowledge it as soon as it is read, unless the
    receiver answers what it receives (Linux). Without it a last odd segment waits for
    `delayed_ack`."""
    read_at_once_pct: int = Field(default=0, ge=0, le=100)
    """Share of segments upon which the application reads at once, which sends a waiting ack. More:
    more acks."""
    restart_after_idle: bool = True
    """Shrink cwnd after an idle RTO (RFC 5681, 4.1; RFC 2861)."""
    offload_burst_bytes: int = Field(default=0, ge=0, le=_WINDOW_MAX)
    """Largest burst that segmentation offload makes of several segments; `0 B` is no offload.
    Larger: more frames reach a queue at once."""
    offload_rule: Annotated[
        Literal["deferral", "autosizing"], Said(what="a way of segmentation offload")
    ] = "deferral"
    """Bursts wait for a third of the window (`deferral`, Linux 2.6.18), or are made by the pacing
    rate (`autosizing`, Linux 6)."""
    send_buffer_bytes: int = Field(default=4_194_304, ge=_DATAGRAM_MIN, le=_WINDOW_MAX)
    """What the sending socket holds: a limit of the window. Larger: longer queues, and more
    memory."""
    receive_buffer_bytes: int = Field(default=6_291_456, ge=_DATAGRAM_MIN, le=_WINDOW_MAX)
    """What the receiving socket holds: a limit of the window. Larger: longer queues, and more
    memory."""


class Nic(Wire):
    """The network interface of one host group and what it costs the host.

    Each field is a setting of studies and a figure of profiles, as those of `Tcp` are.
    """

    NOT_ABOVE: ClassVar[tuple[tuple[str, str], ...]] = (("pause_low_frames", "pause_high_frames"),)

    send_latency_ns: int = Field(default=0, ge=0, le=_PATH_MAX_NS)
    """From the socket to the wire."""
    receive_latency_ns: int = Field(default=0, ge=0, le=_PATH_MAX_NS)
    """From the wire to the socket."""
    receive_jitter_ns: int = Field(default=0, ge=0, le=_WORK_MAX_NS)
    """Mean of what a segment takes beyond that, at random (exponential); segments stay in order.
    Without any, all flows of a bottleneck stay in step with it, and losses repeat a pattern."""
    receive_frame_ns: Annotated[int, Said(name="receive_per_frame")] = Field(
        default=0, ge=0, le=_WORK_MAX_NS
    )
    """Processor time that a received frame costs, whatever its size."""
    receive_rate_bps: int | None = Field(default=None, ge=_RATE_MIN_BPS)
    """Rate at which the processor deals with the bytes of received frames; without it at once."""
    transmit_queue_frames: int = Field(default=1000, ge=1)
    """Frames that wait for the wire at most."""
    packet_rate_pps: int | None = Field(default=None, ge=1)
    """Frames a second that it carries at most in either direction, whatever their size; without it
    no limit."""
    receive_ring_frames: int | None = Field(default=None, ge=1)
    """Descriptors of the receive ring, each taken by a frame until the processor has dealt with it;
    without it no end of them. A frame that finds none free is dropped by the host."""
    interrupt_delay_ns: int = Field(default=0, ge=0, le=_WORK_MAX_NS)
    """From the first frame in the ring to the processor, when that idles. Longer: fewer, larger
    batches, and a longer round trip."""
    poll_weight_frames: int | None = Field(default=None, ge=1)
    """Frames that the processor takes from the ring in one batch at most; without it all there
    are."""
    receive_merge_bytes: int = Field(default=0, ge=0, le=_WINDOW_MAX)
    """Payload of a segment that LRO or GRO makes of several of a batch at most; `0 B` merges
    none."""
    honours_pause: bool = False
    """Whether it pauses when the switch asks for it (IEEE 802.3, annex 31B)."""
    pause_high_frames: int | None = Field(default=None, ge=0)
    """It asks the switch to pause when more descriptors are in use; without it never. Higher: less
    room for frames that are under way."""
    pause_low_frames: int | None = Field(default=None, ge=0)
    """The pause ends when no more are in use; without it half of `pause_high`."""
    pause_quanta: int = Field(default=65_535, ge=2, le=65_535)
    """How long a pause is asked for, in 512 bit times; asked for again after half of it."""


class HostGroup(Wire):
    """`count` identical hosts. A single one bears the group's name, several name-1, name-2 …"""

    name: str
    count: int = Field(ge=1)
    profile: str
    tcp: Tcp
    nic: Nic
    cpu_quota_pct: int | None = Field(default=None, gt=0)
    """Processor time that the host's processes may take, in percent of one processor; None: all
    there is. Only testbeds of real hosts can impose it."""


class OutputQueued(Wire):
    """A private drop-tail buffer a port."""

    kind: Literal["output-queued"] = "output-queued"
    port_buffer_bytes: int = Field(ge=0)
    """The private drop-tail buffer of each port."""


class SharedMemory(Wire):
    """One packet memory for all ports, with dynamic thresholds (Choudhury & Hahne 1998)."""

    kind: Literal["shared-memory"] = "shared-memory"
    pool_bytes: int = Field(ge=0)
    """What all ports share."""
    port_reserve_bytes: int = Field(default=0, ge=0)
    """A port's own part, used before the pool."""
    cell_bytes: int = Field(default=1, ge=1, le=_UINT32_MAX)
    """The unit that frames are stored in: a frame occupies whole cells."""
    alpha: float = Field(default=8.0, gt=0)
    """A queue may hold alpha times the free pool. Larger: one port may take more."""
    ingress_guarantee_frames: int = Field(default=0, ge=0)
    """Frames that an ingress port may always have queued, whatever the pool holds."""


class IngressQueued(Wire):
    """A private buffer an ingress port in virtual output queues; the egress pulls from them."""

    kind: Literal["ingress-queued"] = "ingress-queued"
    ingress_buffer_bytes: int = Field(ge=0)
    """The private buffer of each ingress port."""
    egress_buffer_bytes: int = Field(default=0, ge=0, le=_UINT32_MAX)
    """What waits at the egress port."""
    random_arbitration_pct: int = Field(default=0, ge=0, le=100)
    """Share of the egress' choices made at random, the others round robin."""


Buffer = Annotated[OutputQueued | SharedMemory | IngressQueued, Field(discriminator="kind")]


class Switch(Wire):
    """The switch that all links meet in.

    Its fields and those of its buffer are settings of studies and figures of profiles, as those of
    `Tcp` are.
    """

    NOT_ABOVE: ClassVar[tuple[tuple[str, str], ...]] = (("pause_low_bytes", "pause_high_bytes"),)

    profile: str
    ports: int = Field(ge=1)
    """Ports that hosts can be linked to."""
    buffer: Buffer
    forwarding: Annotated[
        Literal["store-and-forward", "cut-through"], Said(what="a way of forwarding")
    ] = "store-and-forward"
    """Whether a frame leaves before it has fully come in."""
    latency_ns: int = Field(default=0, ge=0, le=_PATH_MAX_NS)
    """From the port it came in to the port it leaves by, without queueing."""
    ecn_threshold_bytes: int | None = Field(default=None, ge=0)
    """Frames of hosts with `ecn` are marked when they meet a longer queue (ingress-queued: when
    they leave more behind for the same egress); without it never. Lower: shorter queues, until the
    link runs empty."""
    honours_pause: bool = False
    """Whether an egress pauses when its host asks for it (IEEE 802.3, annex 31B)."""
    pause_high_bytes: int | None = Field(default=None, ge=0)
    """It asks a host to pause when frames from there hold more of the buffer; without it never.
    Higher: less room for frames that are under way."""
    pause_low_bytes: int | None = Field(default=None, ge=0)
    """The pause ends when they hold no more; without it half of `pause_high`."""
    pause_quanta: int = Field(default=65_535, ge=2, le=65_535)
    """How long a pause is asked for, in 512 bit times; asked for again after half of it."""


class Link(Wire):
    """A full-duplex Ethernet link from each host of a group to the switch.

    `between` names the group and the switch.
    """

    between: tuple[str, str]
    rate_bps: int = Field(ge=_RATE_MIN_BPS)
    """Bits a second in each direction."""
    delay_ns: int = Field(ge=0, le=_PATH_MAX_NS)
    """Propagation time one way."""
    mtu_bytes: int = Field(ge=576)


class Network(Wire):
    hosts: tuple[HostGroup, ...]
    switch: Switch
    links: tuple[Link, ...]
    shared_clock: bool = False
    """The clocks of all hosts tick at the same instants, as those of namespaces do."""


class NoJitter(Wire):
    kind: Literal["none"] = "none"


class UniformJitter(Wire):
    kind: Literal["uniform"] = "uniform"
    max_ns: int = Field(ge=0, le=_PATH_MAX_NS)


class ExponentialJitter(Wire):
    kind: Literal["exponential"] = "exponential"
    mean_ns: int = Field(ge=0, le=_PATH_MAX_NS)


Jitter = Annotated[NoJitter | UniformJitter | ExponentialJitter, Field(discriminator="kind")]


class Incast(Wire):
    """One client asks every server at once for a block, waits for all, repeats."""

    kind: Literal["incast"] = "incast"
    client: str
    servers: str
    block_bytes: int = Field(gt=0)
    """Unstriped: what each server sends. Striped: what all of them send together."""
    striped: bool = False
    iterations: int = Field(gt=0)
    warmup_iterations: int = Field(default=0, ge=0)
    request_bytes: int = Field(default=64, ge=1)
    request_spacing_ns: int = Field(default=0, ge=0, le=_PATH_MAX_NS)
    """Time between the requests to one server and the next."""
    start_jitter: Jitter = NoJitter()
    """Delay between a server's receipt of a request and its first byte, drawn anew each time."""


Treatment = dict[str, Level]


class Run(Wire):
    """One treatment and one replicate."""

    id: str
    """12 hexadecimal digits, a hash of treatment and replicate: stable under --only and --set."""
    cases: tuple[str, ...]
    treatment: Treatment
    replicate: int = Field(ge=1)
    seed: str
    """16 hexadecimal digits, derived from the plan's seed, the treatment and the replicate."""
    network: Network
    workload: Incast


class Plan(Wire):
    schema_: Literal["netstudy/plan/1"] = Field(default=PLAN_SCHEMA, alias="schema")
    study: str
    seed: int
    runs: tuple[Run, ...]


class EngineRecord(Wire):
    """First record of a stream: who wrote it."""

    kind: Literal["engine"] = "engine"
    schema_: Literal["netstudy/record/1"] = Field(default=RECORD_SCHEMA, alias="schema")
    version: str
    testbed: str


class RunUnderWay(Wire):
    """How far the run is that is being made."""

    iterations_done: int
    iterations: int
    """Warm-up included."""


class ProgressRecord(Wire):
    """How far the engine is; written only when asked for, and never kept."""

    kind: Literal["progress"] = "progress"
    runs_done: int
    runs: int
    packets: int
    """Useful data packets carried so far, over all runs."""
    packets_planned: int
    under_way: RunUnderWay | None = None
    """None: none is, or several at once."""


class Check(Wire):
    """A conservation law that the run was held against (contract 4)."""

    law: str
    holds: bool
    detail: str


class IterationSamples(Wire):
    """One value an iteration of the measuring phase, all of the same length."""

    completion_ns: tuple[int, ...]
    dropped_packets: tuple[int, ...] | None = None
    """Frames that switch ports dropped. None: drops are not known by iteration, as with queues of
    a kernel, which only count; `counters` may have their total."""
    retransmissions: tuple[int, ...]
    timeouts: tuple[int, ...]


class ConnectionSamples(Wire):
    """One value a connection over the measuring phase, in the order of the servers.

    Bytes by time is the throughput that a connection got while it had something to receive: what
    an index of fairness compares (Jain, Chiu and Hawe, DEC-TR-301, 1984).
    """

    bytes_received: tuple[int, ...]
    """Application bytes that the client received."""
    receiving_ns: tuple[int, ...]
    """Time that the client waited for them: from the start of each iteration to their last byte."""
    retransmissions: tuple[int, ...]
    """Segments that the server sent again."""
    timeouts: tuple[int, ...]
    """Expiries of the server's retransmission timer."""


class Phase(Wire):
    start_ns: int
    end_ns: int


DISTURBED_ATTEMPTS: Final = "attempts that the machine disturbed, before the one that is shown"
"""The name of the limit that tells how often a run was made again."""


class TestbedLimit(Wire):
    """Something that a testbed of real machines can do only so much of, and how much of it the
    run took: beyond what is allowed, the run measured the testbed and not what was studied."""

    __test__: ClassVar[bool] = False  # not a test case, whatever its name suggests to pytest

    name: str
    """What is limited: the switch's processor, the lateness of its clock, the backlog queue …"""
    value: float | None = None
    """How much the run took; None: it could not be measured."""
    allowed: float
    """The most with which the run still counts."""
    unit: str = ""
    """Unit of `value` and `allowed`; empty for a count."""
    exceeded: bool
    invalidates: bool = False
    """Whether the run is invalid for that, and for nothing else."""
    evidence: str = ""
    """Where the value was read, and what stood there."""


class Reconciliation(Wire):
    """Two instruments that counted the same thing, or two that are in a known proportion."""

    check: str
    """What should be equal, the left instrument first: `frames that servers sent = frames that
    the switch received`."""
    left: float
    right: float
    difference: float
    """Left minus right."""
    tolerance: float
    """The largest difference, either way, that the instruments themselves allow."""
    explained: str | None = None
    """What the difference comes from, where that is known."""
    holds: bool


class RunRecord(Wire):
    """The outcome of one run. A failed one says why; one that breaks a law is kept as invalid."""

    kind: Literal["run"] = "run"
    run: str
    treatment: Treatment
    replicate: int
    seed: str
    status: Literal["ok", "invalid", "failed"]
    mode: Literal["closed-form", "per-hop"] | None = None
    """How the simulator carried it out: most hops of a frame computed when it enters them, or one
    event a hop, which is slower and can express PAUSE. None: it was not simulated."""
    error: str | None = None
    checks: tuple[Check, ...] = ()
    measure: Phase | None = None
    bytes_received: int | None = None
    """Application bytes that the client received in the measuring phase."""
    iterations: IterationSamples | None = None
    connections: ConnectionSamples | None = None
    counters: dict[str, dict[str, int]] = {}
    """Node or port -> counter -> its growth over the measuring phase (maxima: over the run)."""
    limits: tuple[TestbedLimit, ...] = ()
    """Whether the testbed itself was the limit; empty for the simulator, which has none."""
    reconciliation: tuple[Reconciliation, ...] = ()
    """What independent instruments counted, held against each other."""
    environment: dict[str, str] = {}
    """What the run was made on, such as `kernel` and `testbed`; empty for the simulator."""
    scaled_by: str | None = None
    """What all link rates of the study were multiplied by, such as `1/20`; None: nothing."""


class EndRecord(Wire):
    """Last record of a stream that came to its end."""

    kind: Literal["end"] = "end"
    runs: int


Record = Annotated[
    EngineRecord | ProgressRecord | RunRecord | EndRecord, Field(discriminator="kind")
]


def to_json(model: Wire, **kwargs: Any) -> str:
    """Compact JSON with the fields in their declared order: the same model gives the same bytes."""
    return model.model_dump_json(by_alias=True, **kwargs)
