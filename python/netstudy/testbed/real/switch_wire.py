"""What the user-space switch (`netstudy-engine switch`) is told, and what it says.

The plan is the first line of its standard input, a command (`netstudy.testbed.real.wire.Command`)
each further one; a record is a line of its standard output. The engine's own types are in
`crates/records/src/switch_plan.rs`; both are tested against `schema/examples/switch-plan.json` and
`switch-records.jsonl`. Times are nanoseconds of CLOCK_MONOTONIC, which all processes of a machine
share.
"""

from __future__ import annotations

from typing import Annotated, Final, Literal

from pydantic import Field

from netstudy.testbed.real.wire import EndRecord, ErrorRecord
from netstudy.wire import Buffer, Wire

SWITCH_PLAN_SCHEMA: Final = "netstudy/switch/1"
SWITCH_RECORD_SCHEMA: Final = "netstudy/switch-record/1"


class SwitchPort(Wire):
    """A port, and the link to the node behind it."""

    node: str
    interface: str
    """The network interface, in the switch's network namespace, that is this port."""
    mac: str = Field(pattern="^([0-9a-f]{2}:){5}[0-9a-f]{2}$")
    """The Ethernet address of the node: frames for it leave by this port, all others go nowhere."""
    rate_bps: int = Field(gt=0)
    """Bit rate at which frames leave."""
    delay_ns: int = Field(ge=0)
    """How long a frame is on its way over the link, to the node or from it."""


class SwitchPlan(Wire):
    """A switch of one run."""

    schema_: Literal["netstudy/switch/1"] = Field(default=SWITCH_PLAN_SCHEMA, alias="schema")
    run: str
    time_limit_ms: int = Field(gt=0)
    """After that time the switch ends by itself, with an error."""
    cpu: int | None = Field(default=None, ge=0)
    """The processor that it stays on and that nothing else wants: there it is awake between frames.
    None: whichever the system chooses."""
    seed: str
    """16 hexadecimal digits, from which the random choices of an egress come."""
    ports: tuple[SwitchPort, ...] = Field(min_length=1)
    buffer: Buffer
    forwarding: Literal["store-and-forward", "cut-through"] = "store-and-forward"
    latency_ns: int = Field(default=0, ge=0)
    ecn_threshold_bytes: int | None = Field(default=None, ge=0)
    mtu_bytes: int = Field(ge=576, le=65_535)
    """Largest IP packet that any port carries."""
    paced_ingress: bool = False
    """Whether frames also come at the rate of their link, as over a wire; else as fast as hosts
    hand them over."""


class SwitchReady(Wire):
    """Frames are forwarded from now on: the first record."""

    kind: Literal["ready"] = "ready"
    schema_: Literal["netstudy/switch-record/1"] = Field(
        default=SWITCH_RECORD_SCHEMA, alias="schema"
    )
    version: str
    run: str
    pid: int


class SwitchPortCounters(Wire):
    """What is counted at a port since the switch was ready."""

    frames_forwarded: int
    bytes_forwarded: int
    """Check sequences included."""
    frames_dropped: int
    """Frames towards this port that found no room."""
    bytes_dropped: int
    frames_marked: int
    queue_bytes_max: int
    frames_unaddressed: int
    """Frames that came by this port for an address that is behind no other one."""


class SwitchSnapshot(Wire):
    """The counters of each port, by node, as asked for."""

    kind: Literal["snapshot"] = "snapshot"
    name: str
    at_ns: int
    counters: dict[str, SwitchPortCounters]
    cost_ns: int
    """How long reading took, in which nothing was forwarded."""
    raw: dict[str, str]
    """Files of /proc that were read with them, whole."""


class SwitchDrops(Wire):
    """Each frame that was dropped for want of room: when it arrived, and its egress' number."""

    kind: Literal["drops"] = "drops"
    at_ns: tuple[int, ...]
    egress: tuple[int, ...]


class SwitchClock(Wire):
    """How well the switch kept to its times. Where it did not, the run measured something else."""

    kind: Literal["clock"] = "clock"
    departures: int
    departures_late: int
    """Those of them that were later than their port allows: by a full frame, or by 50 µs if that is
    longer."""
    late_ns_p50: int
    late_ns_p99: int
    late_ns_max: int
    frames_lost: int
    """Frames that were lost before or behind the switch, or that it had no place for."""
    kept_up: bool
    """Whether the run is valid as far as the switch is concerned."""
    why: str | None
    """Why it is not."""
    cpu_ns: int


SwitchRecord = Annotated[
    SwitchReady | SwitchSnapshot | SwitchDrops | SwitchClock | ErrorRecord | EndRecord,
    Field(discriminator="kind"),
]
