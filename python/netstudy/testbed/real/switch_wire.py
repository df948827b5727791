"""The plan and the records of the user-space switches (`netstudy-engine switch`).

The first line of the program's standard input is the plan, and each further line is a command
(`netstudy.testbed.real.wire.Command`). Each line of its standard output is a record. The engine's
own types are in `crates/records/src/switch_plan.rs`; both sets of types are tested against
`schema/examples/switch-plan.json` and `switch-records.jsonl`. Times are nanoseconds of
CLOCK_MONOTONIC, which all processes of a machine share.
"""

from __future__ import annotations

from typing import Annotated, Final, Literal

from pydantic import Field

from netstudy.buffers import Buffer
from netstudy.queues import Queue
from netstudy.testbed.real.wire import EndRecord, ErrorRecord
from netstudy.wire import Check, LinkPath, QueueStatistics
from netstudy.wire_model import Wire

SWITCH_PLAN_SCHEMA: Final = "netstudy/switch/2"
SWITCH_RECORD_SCHEMA: Final = "netstudy/switch-record/2"


FRAMES_RECEIVED_BY_SIZE: Final = (
    "frames_received_64",
    "frames_received_65_127",
    "frames_received_128_255",
    "frames_received_256_511",
    "frames_received_512_1023",
    "frames_received_1024_1518",
    "frames_received_over_1518",
)
"""Counters of received frames by size, check sequence included: the size classes of RMON's
etherStatsTable (RFC 2819, 5), and a class for longer frames."""


class Management(Wire):
    """The switch's own address, at which it answers SNMPv2c (UDP port 161)."""

    mac: str = Field(pattern="^([0-9a-f]{2}:){5}[0-9a-f]{2}$")
    ip: str
    community: str = Field(repr=False)
    """The community. Requests with another community are not answered."""


class SwitchElement(Wire):
    """A switch."""

    name: str
    buffer: Buffer
    forwarding: Literal["store-and-forward", "cut-through"] = "store-and-forward"
    latency_ns: int = Field(default=0, ge=0)
    ecn_threshold_bytes: int | None = Field(default=None, ge=0)
    management: Management | None = None
    """Address of the switch; None: it has no address."""


class SwitchHost(Wire):
    """How a host is reached."""

    interface: str
    """The network interface that leads to the host, in the network namespace of the switch
    process."""
    macs: tuple[Annotated[str, Field(pattern="^([0-9a-f]{2}:){5}[0-9a-f]{2}$")], ...]
    """Ethernet addresses of the host and its zones at this link: only frames for these addresses
    are sent to the link."""


class SwitchLinkEnd(Wire):
    """An end of a link."""

    node: str
    """Name of a switch of the plan, or of a host."""
    port: str
    """Its port there. The ports of a switch are numbered in the order of the links."""
    rate_bps: int = Field(gt=0)
    """Rate at which this end sends, in bits per second."""
    host: SwitchHost | None = None
    """How the host is reached; None: this end is at a switch."""
    queue: Queue | None = Field(default=None, exclude_if=lambda queue: queue is None)
    """The discipline of the frames that wait to be sent from this end, which is at a switch. None:
    they leave in the order in which they came."""
    path: LinkPath | None = Field(default=None, exclude_if=lambda path: path is None)
    """Loss, duplicates and random delay of frames that this end sends; None: a perfect link."""


class SwitchLink(Wire):
    """A full-duplex link: between host and switch, two switches, or two hosts."""

    a: SwitchLinkEnd
    b: SwitchLinkEnd
    delay_ns: int = Field(ge=0)
    """Propagation delay in each direction."""
    mtu_bytes: int = Field(ge=576, le=65_535)
    """Largest IP packet."""


class SwitchSampling(Wire):
    """A switch whose ports are read at intervals, from the time when it is ready."""

    switch: str
    port: str | None = None
    """None: all ports."""
    every_ns: int = Field(gt=0)


class SwitchPlan(Wire):
    """The switches of one run, with their links: one process runs all of them."""

    schema_: Literal["netstudy/switch/2"] = Field(default=SWITCH_PLAN_SCHEMA, alias="schema")
    run: str
    time_limit_ms: int = Field(gt=0)
    """When this time is over, the process ends itself with an error."""
    cpu: int | None = Field(default=None, ge=0)
    """A CPU reserved for the process, which stays on this CPU and does not sleep between frames.
    None: the system chooses."""
    seed: str
    """Seed of the random choices at egress ports: 16 hexadecimal digits."""
    switches: tuple[SwitchElement, ...]
    """Empty if all links lead from host to host."""
    links: tuple[SwitchLink, ...] = Field(min_length=1)
    """The links between switches must not form a cycle."""
    sampled: tuple[SwitchSampling, ...] = ()
    paced_ingress: bool = False
    """Whether frames arrive at the rate of their link, as over a wire; if false, they arrive as
    fast as hosts hand them over."""


class SwitchReady(Wire):
    """The first record. From then on frames are forwarded."""

    kind: Literal["ready"] = "ready"
    schema_: Literal["netstudy/switch-record/2"] = Field(
        default=SWITCH_RECORD_SCHEMA, alias="schema"
    )
    version: str
    run: str
    pid: int


class SwitchPortCounters(Wire):
    """Counters of a port since the switch was ready."""

    frames_received: int
    """Frames that arrived at this port."""
    bytes_received: int
    """Check sequences included."""
    frames_forwarded: int
    """Frames accepted for sending by this port. At a port with a queue discipline: frames that have
    left the queue."""
    bytes_forwarded: int
    frames_dropped: int
    """Frames for this port that were dropped, for lack of buffer space or by a discipline."""
    bytes_dropped: int
    frames_marked: int
    queue_bytes: int
    """Bytes that wait for this port at the time of the reading."""
    queue_bytes_max: int
    frames_unaddressed: int
    """Frames that arrived at this port for an address that no other port leads to."""
    frames_consumed: int
    """Frames that arrived at this port for the switch itself: polls."""
    frames_originated: int
    """Frames that the switch itself originated at this port. They also count as forwarded or
    dropped frames."""
    frames_received_by_size: tuple[int, int, int, int, int, int, int]
    """Name in FRAMES_RECEIVED_BY_SIZE -> count."""

    @property
    def by_name(self) -> dict[str, int]:
        """All counters, each a number."""
        counted: dict[str, int] = self.model_dump(exclude={"frames_received_by_size"})
        sizes = zip(FRAMES_RECEIVED_BY_SIZE, self.frames_received_by_size, strict=True)
        return counted | dict(sizes)


class PathStatistics(Wire):
    """Counters of the frames that one end of an imperfect link has sent, since the switch began."""

    node: str
    port: str
    frames_lost: int
    frames_duplicated: int
    frames_reordered: int
    """Frames that arrive before a frame that was sent earlier."""

    @property
    def by_name(self) -> dict[str, int]:
        """The counters by their names in a run's record."""
        counted: dict[str, int] = self.model_dump(exclude={"node", "port"})
        return {f"link_{name}": value for name, value in counted.items()}


class SwitchSnapshot(Wire):
    """The counters of each switch and port, in answer to a command."""

    kind: Literal["snapshot"] = "snapshot"
    name: str
    at_ns: int
    counters: dict[str, dict[str, SwitchPortCounters]]
    queues: tuple[QueueStatistics, ...] = ()
    """Counters of each queue discipline since the switch was ready, by class. Empty: no port has
    one."""
    paths: tuple[PathStatistics, ...] = ()
    """One for each direction of a link that is not perfect."""
    cost_ns: int
    """Duration of the reading, during which nothing was forwarded."""
    raw: dict[str, str]
    """The full text of the files in /proc that were read at the same time."""


class SwitchDrops(Wire):
    """Each frame that a switch dropped for lack of buffer space or by a queue discipline: when, and
    the number of its egress port."""

    kind: Literal["drops"] = "drops"
    switch: str
    at_ns: tuple[int, ...]
    egress: tuple[int, ...]


class SwitchSamples(Wire):
    """Samples of a port, taken at intervals."""

    kind: Literal["samples"] = "samples"
    switch: str
    port: str
    at_ns: tuple[int, ...]
    values: dict[str, tuple[int, ...]]
    """Counter -> its values."""


class SwitchLinks(Wire):
    """Whether links lost, duplicated and delayed frames as asked."""

    kind: Literal["links"] = "links"
    checks: tuple[Check, ...]


class SwitchClock(Wire):
    """How late the switch sent frames. If frames were late, the run measured the switch program
    instead of the network."""

    kind: Literal["clock"] = "clock"
    departures: int
    departures_late: int
    """Frames that left later than their port allows: by more than the time of a full frame, or 50
    µs if that is longer."""
    late_ns_p50: int
    late_ns_p99: int
    late_ns_max: int
    frames_lost: int
    """Frames that were lost before or after the switch, or for lack of memory in it."""
    kept_up: bool
    """Whether the switch's timing leaves the run valid."""
    why: str | None
    """If the run is not valid, the reason."""
    cpu_ns: int


SwitchRecord = Annotated[
    SwitchReady
    | SwitchSnapshot
    | SwitchDrops
    | SwitchSamples
    | SwitchLinks
    | SwitchClock
    | ErrorRecord
    | EndRecord,
    Field(discriminator="kind"),
]
