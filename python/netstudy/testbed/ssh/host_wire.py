"""Messages between the controller and the process that represents a host: `netstudy-engine host`.

Each line, in both directions, is `NAME<TAB>LINE`. The name is that of a child of the host's
process, and LINE a line of the child's standard input or output; or the name is empty, and LINE is
a command or a record of the host itself. `crates/records/src/host.rs` has the same types in Rust;
both are tested against `schema/examples/host-*`. Times are nanoseconds of the host's own clocks.
"""

from __future__ import annotations

from ipaddress import IPv4Address
from typing import Annotated, Final, Literal

from pydantic import Field, TypeAdapter

from netstudy.testbed.real.wire import AGENT_SCHEMA
from netstudy.wire_model import Wire

AGENT_PROTOCOL: Final = int(AGENT_SCHEMA.rpartition("/")[2])
"""Version of the messages between controller and agent, which `hello` reports."""

_OFFLOADS: Final = {
    "tso": "tx-tcp-segmentation",
    "gso": "tx-generic-segmentation",
    "gro": "rx-gro",
    "gro-hw": "rx-gro-hw",
    "lro": "rx-lro",
}
"""Names of offloads, and the kernel's names of the features that they are."""

Port = Annotated[int, Field(ge=0, le=65_535)]


class AliveCommand(Wire):
    """The controller is there. The answer is an alive record."""

    command: Literal["alive"] = "alive"


class ClockCommand(Wire):
    """Read the clocks now."""

    command: Literal["clock"] = "clock"
    n: int


class StartCommand(Wire):
    """Start a child. The answer is a started record."""

    command: Literal["start"] = "start"
    name: str
    program: Literal["agent"] = "agent"


class CloseCommand(Wire):
    """Close the standard input of a child."""

    command: Literal["close"] = "close"
    name: str


class SignalCommand(Wire):
    """Send SIGTERM to a child, or SIGKILL to its process group."""

    command: Literal["signal"] = "signal"
    name: str
    signal: Literal["TERM", "KILL"]


class ReadCommand(Wire):
    """Read files. In a path, `*` stands for any characters of a component."""

    command: Literal["read"] = "read"
    n: int
    paths: tuple[str, ...]


class InterfacesCommand(Wire):
    """List the network interfaces."""

    command: Literal["interfaces"] = "interfaces"
    n: int


class ListenCommand(Wire):
    """Answer the probes of reach commands at a TCP and a UDP port of the same number."""

    command: Literal["listen"] = "listen"
    n: int
    local: IPv4Address
    peers: tuple[IPv4Address, ...]
    port: Port = 0
    """0: any free port."""
    for_ms: int = Field(gt=0)


class UnlistenCommand(Wire):
    """Close the ports of a listen command now; None: the ports of all listen commands."""

    command: Literal["unlisten"] = "unlisten"
    n: int | None = Field(default=None, exclude_if=lambda number: number is None)


class ReachCommand(Wire):
    """Send probes to a peer that listens."""

    command: Literal["reach"] = "reach"
    n: int
    local: IPv4Address
    peer: IPv4Address
    port: Port
    sizes: tuple[int, ...]
    """Bytes of IP packets with don't-fragment, in the order in which they are tried: descending."""
    timeout_ms: int = Field(gt=0)


HostCommand = Annotated[
    AliveCommand
    | ClockCommand
    | StartCommand
    | CloseCommand
    | SignalCommand
    | ReadCommand
    | InterfacesCommand
    | ListenCommand
    | UnlistenCommand
    | ReachCommand,
    Field(discriminator="command"),
]


class HelloRecord(Wire):
    """The first record: the host, its kernel, and the user of the session."""

    kind: Literal["hello"] = "hello"
    version: str
    """Version of the engine."""
    agent_protocol: int
    architecture: str
    kernel: str
    boot_id: str
    time_namespace: str | None
    """None: the kernel has no time namespaces (before Linux 5.6)."""
    tick_ns: int
    """Time between two interrupts of the kernel's clock: a jiffy."""
    pid: int
    user: str
    uid: int
    cpus: int
    """CPUs that the host's process may use."""


class LockedRecord(Wire):
    """Another process holds the lock of this host: the last record."""

    kind: Literal["locked"] = "locked"
    pid: int | None
    """None: the owner is not visible from this user's session."""
    uid: int | None
    since: str | None
    """When the owner was started (UTC)."""


class LeaseOverRecord(Wire):
    """The controller was not heard of for the time of the lease: the last record."""

    kind: Literal["lease-over"] = "lease-over"


class AliveRecord(Wire):
    """Answer to an alive command."""

    kind: Literal["alive"] = "alive"


class ClockRecord(Wire):
    """Both clocks, read one after the other."""

    kind: Literal["clock"] = "clock"
    n: int
    monotonic_ns: int
    realtime_ns: int


class StartedRecord(Wire):
    """A child was started."""

    kind: Literal["started"] = "started"
    name: str
    pid: int


class PausedRecord(Wire):
    """A child was stopped (SIGSTOP) by somebody, and does not go on by itself."""

    kind: Literal["paused"] = "paused"
    name: str


class EndedRecord(Wire):
    """A child has ended, and all of its output was passed on."""

    kind: Literal["ended"] = "ended"
    name: str
    code: int | None
    """Exit code; None: a signal has killed it."""
    signal: int | None
    errors: str
    """The last lines of its standard error."""


class FilesRecord(Wire):
    """Text of files by path. Files that cannot be read are missing."""

    kind: Literal["read"] = "read"
    n: int
    files: dict[str, str]


class HostInterface(Wire):
    """A network interface of a host."""

    device: str
    addresses: tuple[str, ...]
    """Addresses with the length of their prefix: `192.0.2.1/24`."""
    mtu: int
    """The largest IP packet, in bytes."""
    up: bool
    """True if the interface is switched on and has a carrier."""
    speed_bps: int | None
    """Rate of the link; None: unknown."""
    duplex: Literal["half", "full"] | None
    kind: str
    """The kernel's name of its kind: veth, bridge; ether for hardware."""
    features: dict[str, str] | None
    """Feature, by the kernel's name -> its state, as `ethtool -k` prints it, such as `on` or
    `off [fixed]`; None: the kernel does not report it (before Linux 5.6)."""
    qdiscs: tuple[str, ...]
    """Kinds of its queueing disciplines."""

    def has(self, address: IPv4Address) -> bool:
        """True if the interface has an address."""
        return str(address) in [own.partition("/")[0] for own in self.addresses]

    @property
    def offloads(self) -> tuple[str, ...] | None:
        """Offloads that are on; None: not known."""
        if self.features is None:
            return None
        on = [name for name, state in self.features.items() if state.startswith("on")]
        return tuple(short for short, name in _OFFLOADS.items() if name in on)


class InterfacesRecord(Wire):
    """All network interfaces, in the order of their numbers."""

    kind: Literal["interfaces"] = "interfaces"
    n: int
    interfaces: tuple[HostInterface, ...]


class ListeningRecord(Wire):
    """The ports are open."""

    kind: Literal["listening"] = "listening"
    n: int
    port: Port


class ReachedRecord(Wire):
    """Outcome of the probes to a peer."""

    kind: Literal["reached"] = "reached"
    n: int
    tcp: str | None
    """Why no TCP connection could be opened; None: it was opened."""
    connect_ns: int | None
    largest_bytes: int | None
    """Size of the first packet that was answered; None: no packet was answered."""
    told_mtu_bytes: int | None
    """MTU of the path by which the kernel refused a packet; None: it refused no packet."""


class HostErrorRecord(Wire):
    """A line or a command that cannot be obeyed. The session goes on."""

    kind: Literal["error"] = "error"
    message: str


HostRecord = Annotated[
    HelloRecord
    | LockedRecord
    | LeaseOverRecord
    | AliveRecord
    | ClockRecord
    | StartedRecord
    | PausedRecord
    | EndedRecord
    | FilesRecord
    | InterfacesRecord
    | ListeningRecord
    | ReachedRecord
    | HostErrorRecord,
    Field(discriminator="kind"),
]
HOST_RECORD: Final[TypeAdapter[HostRecord]] = TypeAdapter(HostRecord)
HOST_COMMAND: Final[TypeAdapter[HostCommand]] = TypeAdapter(HostCommand)
