"""What crosses between the front and the engine: the plan going in, records coming out.

Both are JSON; `schema/plan.schema.json` and `schema/record.schema.json` are exported from these
models, and the engine's own types (crates/records) are tested against the same examples in
`schema/examples/`. Every number carries its unit at the end of its name and is an integer unless
the name says otherwise, so that the same plan gives the same bytes on every machine.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Final, Literal

from pydantic import BaseModel, ConfigDict, Field

PLAN_SCHEMA: Final = "netstudy/plan/1"
RECORD_SCHEMA: Final = "netstudy/record/1"

Level = str | int | float | bool
"""The level of a factor as a plan names it: what tables print and `--only` selects."""


class Wire(BaseModel):
    """Base of everything on the wire: immutable, and closed against unknown fields."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)


class Tcp(Wire):
    """The TCP of one host group."""

    profile: str
    congestion_control: Literal[
        "reno", "reno-ack-counting", "bic", "cubic", "cubic-hystart", "dctcp"
    ] = "reno"
    recovery: Literal["rfc", "fack", "prr"] = "rfc"
    """How losses are found and repaired: RFC 6675 (without SACK, RFC 6582), forward
    acknowledgment and rate halving as in Linux 2.6.18, or proportional rate reduction as in
    Linux 6."""
    rack: bool = True
    """Recovery `prr`: losses are found by time (RFC 8985), else by three SACKed segments above."""
    tail_loss_probe: bool = True
    """Recovery `prr`: the tail of a flight is probed before the timeout (RFC 8985, 7)."""
    sack: bool = True
    timestamps: bool = True
    ecn: bool = False
    """Explicit congestion notification (RFC 3168), if the peer has it too. DCTCP always has it."""
    initial_window_segments: int | None = None
    """None: by RFC 3390, min(4 MSS, max(2 MSS, 4380 bytes))."""
    rto_rule: Literal["rfc-6298", "linux"] = "rfc-6298"
    """What the minimum RTO bounds: the timeout, or its part for variation."""
    initial_rto_ns: int = 1_000_000_000
    min_rto_ns: int = 200_000_000
    max_rto_ns: int = 120_000_000_000
    clock_tick_ns: int = 0
    """Granularity of the clock by which timeouts fire and CUBIC grows; 0 is exact."""
    delayed_ack_ns: int = 40_000_000
    ack_every_segments: int = 2
    quick_ack_segments: int = 0
    """Segments acknowledged at once when data starts to come, also after a gap longer than the
    timeout, and after a copy of old data (Linux: 16)."""
    ack_pushed: bool = False
    """Mark the end of what was written (PSH), and acknowledge it as soon as it is read, unless the
    receiver answers what it receives (Linux)."""
    read_at_once_pct: int = Field(default=0, ge=0, le=100)
    """Share of received segments upon which the application reads at once, which sends an
    acknowledgment that waits."""
    restart_after_idle: bool = True
    """Shrink cwnd after an idle RTO (RFC 5681, 4.1; RFC 2861)."""
    offload_burst_bytes: int = 0
    """Largest burst that segmentation offload makes of several segments; 0 is no offload."""
    offload_rule: Literal["deferral", "autosizing"] = "deferral"
    """Bursts are put off until a third of the window can go at once (Linux 2.6.18), or are made by
    the pacing rate (Linux 6)."""
    send_buffer_bytes: int = 4_194_304
    receive_buffer_bytes: int = 6_291_456


class Nic(Wire):
    """The network interface of one host group and what it costs the host."""

    send_latency_ns: int = 0
    receive_latency_ns: int = 0
    receive_jitter_ns: int = Field(default=0, ge=0)
    """Mean of what a segment takes beyond that, at random (exponential); the order stays."""
    receive_frame_ns: int = 0
    """Processor time that a received frame costs, whatever its size."""
    receive_rate_bps: int | None = None
    """Rate at which the processor deals with the bytes of received frames; None: at once."""
    transmit_queue_frames: int = 1000
    packet_rate_pps: int | None = Field(default=None, gt=0)
    """Frames a second that it carries at most in either direction; None: no limit."""
    receive_ring_frames: int | None = Field(default=None, gt=0)
    """Descriptors of the receive ring, each taken by a frame until the processor has dealt with it;
    None: no end of them. A frame that finds none is dropped by the host."""
    interrupt_delay_ns: int = Field(default=0, ge=0)
    """From the first frame in the ring to the processor, when that idles."""
    poll_weight_frames: int | None = Field(default=None, gt=0)
    """Frames that the processor takes in one batch at most; None: all there are."""
    receive_merge_bytes: int = Field(default=0, ge=0)
    """Payload of a segment merged from several of a batch at most; 0: none is merged."""
    honours_pause: bool = False
    """Whether it pauses when the switch asks for it (IEEE 802.3, annex 31B)."""
    pause_high_frames: int | None = Field(default=None, ge=0)
    """It asks for a pause when more descriptors are in use; None: never."""
    pause_low_frames: int | None = Field(default=None, ge=0)
    """The pause ends when no more are in use; None: half of pause_high_frames."""
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
    port_buffer_bytes: int


class SharedMemory(Wire):
    """One packet memory for all ports, with dynamic thresholds (Choudhury & Hahne 1998)."""

    kind: Literal["shared-memory"] = "shared-memory"
    pool_bytes: int
    port_reserve_bytes: int = 0
    """Memory of a port's own, used before the pool."""
    cell_bytes: int = 1
    """A frame occupies whole cells."""
    alpha: float = 8.0
    """A queue may hold alpha times the pool's free part."""
    ingress_guarantee_frames: int = 0
    """Frames that an ingress port may always have queued, whatever the pool holds."""


class IngressQueued(Wire):
    """A private buffer an ingress port in virtual output queues; the egress pulls from them."""

    kind: Literal["ingress-queued"] = "ingress-queued"
    ingress_buffer_bytes: int
    egress_buffer_bytes: int = 0
    random_arbitration_pct: int = Field(default=0, ge=0, le=100)
    """Share of the egress' choices made at random; the others are round robin."""


Buffer = Annotated[OutputQueued | SharedMemory | IngressQueued, Field(discriminator="kind")]


class Switch(Wire):
    """The switch that all links meet in."""

    profile: str
    ports: int = Field(ge=1)
    buffer: Buffer
    forwarding: Literal["store-and-forward", "cut-through"] = "store-and-forward"
    latency_ns: int = 0
    ecn_threshold_bytes: int | None = None
    """A frame that is subject to marks is marked when it meets a longer queue; None: no marks.
    Ingress-queued: when it leaves more behind for the same egress."""
    honours_pause: bool = False
    """Whether an egress pauses when its host asks for it (IEEE 802.3, annex 31B)."""
    pause_high_bytes: int | None = Field(default=None, ge=0)
    """It asks a host to pause when frames from there hold more of the buffer; None: never."""
    pause_low_bytes: int | None = Field(default=None, ge=0)
    """The pause ends when they hold no more; None: half of pause_high_bytes."""
    pause_quanta: int = Field(default=65_535, ge=2, le=65_535)
    """How long a pause is asked for, in 512 bit times; asked for again after half of it."""


class Link(Wire):
    """A full-duplex Ethernet link from each host of a group to the switch.

    `between` names the group and the switch.
    """

    between: tuple[str, str]
    rate_bps: int = Field(gt=0)
    delay_ns: int = Field(ge=0)
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
    max_ns: int


class ExponentialJitter(Wire):
    kind: Literal["exponential"] = "exponential"
    mean_ns: int


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
    request_bytes: int = 64
    request_spacing_ns: int = 0
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
