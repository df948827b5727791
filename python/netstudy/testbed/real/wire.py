"""What crosses between the controller of a real testbed and the agents in its hosts.

The same contract as `crates/records/src/agent.rs`; both sides are tested against
`schema/examples/agent-*`. A plan and commands go in, records come out, each a line of JSON. Times
are nanoseconds of CLOCK_MONOTONIC, which all processes of a machine share.
"""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address
from typing import Annotated, Final, Literal

from pydantic import Field, TypeAdapter

from netstudy.wire import Jitter, NoJitter, Wire

AGENT_SCHEMA: Final = "netstudy/agent/1"
AGENT_RECORD_SCHEMA: Final = "netstudy/agent-record/1"

Address = IPv4Address | IPv6Address
Times = tuple[int, ...]
"""Nanoseconds, one an iteration; instants are of CLOCK_MONOTONIC."""


class SocketOptions(Wire):
    """Options of an agent's connections; None: what the kernel does by itself."""

    congestion_control: str | None = None
    """By the kernel's name for it (TCP_CONGESTION)."""
    send_buffer_bytes: int | None = Field(default=None, gt=0)
    """SO_SNDBUF as passed to the kernel, which doubles it for its own bookkeeping: socket(7)."""
    receive_buffer_bytes: int | None = Field(default=None, gt=0)
    """SO_RCVBUF, likewise."""
    no_delay: bool = True
    """TCP_NODELAY: short writes do not wait for acknowledgments."""
    zero_copy: bool = False
    """Responses are sent without a copy on the way from the server to the kernel (sendfile(2)).
    Cheaper where the interface takes care of checksums; dearer where the kernel has to."""


class ProbePlan(Wire):
    """What an agent reads of its host."""

    interval_ms: int | None = Field(default=None, gt=0)
    """Time between two samples; None: snapshots are taken on command only."""
    interfaces: tuple[str, ...] = ()


class Endpoint(Wire):
    """Where a server listens."""

    address: Address
    port: int = Field(ge=0, le=65_535)


class IncastServerRole(Wire):
    """Answers the requests of one client."""

    kind: Literal["incast-server"] = "incast-server"
    address: Address
    port: int = Field(default=0, ge=0, le=65_535)
    """0: one that the kernel chooses."""
    client: Address
    """The only address that it takes connections from."""
    request_bytes: int = Field(gt=0)
    response_bytes: int = Field(gt=0)
    start_jitter: Jitter = NoJitter()
    """Delay between the receipt of a request and the first byte of the response."""
    number: int = Field(ge=1)
    """Among the servers: its delays are those that the simulator draws for it."""
    seed: str
    """Seed of the run: 16 hexadecimal digits."""


class IncastClientRole(Wire):
    """Asks every server at once, waits for all, repeats."""

    kind: Literal["incast-client"] = "incast-client"
    address: Address
    """Where its connections come from."""
    servers: tuple[Endpoint, ...] = Field(min_length=1)
    request_bytes: int = Field(gt=0)
    response_bytes: tuple[Annotated[int, Field(gt=0)], ...]
    """Of each server, in their order."""
    iterations: int = Field(gt=0)
    """Of the measuring phase."""
    warmup_iterations: int = Field(default=0, ge=0)
    request_spacing_ns: int = Field(default=0, ge=0)
    """Time between the request to one server and that to the next."""
    silence_limit_ms: int | None = Field(default=None, gt=0, lt=2**31)
    """How long all servers that owe something may be silent; None: as the time limit allows."""
    progress_interval_ms: int | None = Field(default=None, gt=0, lt=2**31)
    """Time between two signs of life while its traffic goes on; None: it gives none."""


AgentRole = Annotated[IncastServerRole | IncastClientRole, Field(discriminator="kind")]


class AgentPlan(Wire):
    """What one agent is to do: the first line on its standard input."""

    schema_: Literal["netstudy/agent/1"] = Field(default=AGENT_SCHEMA, alias="schema")
    run: str
    node: str
    token: str = Field(pattern="^[0-9a-fA-F]{32}$", repr=False)
    """What the agents of a run know each other by. It is never shown."""
    time_limit_ms: int = Field(gt=0)
    """The agent ends with an error after this time, whatever it is doing."""
    cpu: int | None = None
    """Processor that the agent stays on; None: wherever the kernel puts it."""
    socket: SocketOptions = SocketOptions()
    probe: ProbePlan = ProbePlan()
    role: AgentRole


class SnapshotCommand(Wire):
    """Read all counters now."""

    command: Literal["snapshot"] = "snapshot"
    name: str


class GoCommand(Wire):
    """Begin the measuring phase."""

    command: Literal["go"] = "go"


class StopCommand(Wire):
    """Write what is left to be written, and end."""

    command: Literal["stop"] = "stop"


Command = Annotated[SnapshotCommand | GoCommand | StopCommand, Field(discriminator="command")]


class ReadyRecord(Wire):
    """The agent is there: the first record."""

    kind: Literal["ready"] = "ready"
    schema_: Literal["netstudy/agent-record/1"] = Field(default=AGENT_RECORD_SCHEMA, alias="schema")
    version: str
    """Of the engine."""
    node: str
    pid: int
    """In the agent's own pid namespace."""
    address: Address
    port: int | None
    """Where it listens; None: it does not."""


class ConnectionRecord(Wire):
    """A connection is open; its options are as the kernel says they are."""

    kind: Literal["connection"] = "connection"
    peer: Endpoint
    congestion_control: str
    send_buffer_bytes: int
    """Bookkeeping included: twice what was asked for."""
    receive_buffer_bytes: int
    no_delay: bool


class PhaseRecord(Wire):
    """A phase of an incast client has ended."""

    kind: Literal["phase"] = "phase"
    name: Literal["warmed-up", "measured"]
    """After the first it waits for `go`, after the second for `stop`."""
    at_ns: int


class ProgressRecord(Wire):
    """A sign of life of an incast client, and how far it is."""

    kind: Literal["progress"] = "progress"
    at_ns: int
    iterations: int
    """Of this phase, those that have ended."""
    bytes: int
    """Verified so far, warm-up included."""


class SnapshotRecord(Wire):
    """All counters of a host at one instant."""

    kind: Literal["snapshot"] = "snapshot"
    name: str
    """What the command named it."""
    at_ns: int
    counters: dict[str, int]
    """What grows, by name."""
    gauges: dict[str, int]
    """What does not: states of the host, by name."""
    missing: dict[str, str]
    """What could not be read, with the reason."""
    cost_ns: int
    """Time that reading them took."""
    raw: dict[str, str]
    """What they were read from, byte for byte, by where it was."""


class IterationsRecord(Wire):
    """When each iteration of the measuring phase was."""

    kind: Literal["iterations"] = "iterations"
    started_ns: Times
    """When its first request was due."""
    ended_ns: Times
    """When the last byte was there."""


class RequestsRecord(Wire):
    """When the requests of the measuring phase to one server were."""

    kind: Literal["requests"] = "requests"
    server: int
    """Index of the server, from 0."""
    intended_ns: Times
    """When each was due."""
    sent_ns: Times
    """When it was handed to the kernel."""
    first_byte_ns: Times
    """When the first bytes of the response were read."""
    done_ns: Times
    """When its last byte was read."""


class VerifiedRecord(Wire):
    """Bytes that were received and are those that were sent, warm-up included."""

    kind: Literal["verified"] = "verified"
    bytes: int


class ServedRecord(Wire):
    """Requests that a server got, warm-up included."""

    kind: Literal["served"] = "served"
    requested_ns: Times
    """When the last byte of each was read."""
    begun_ns: Times
    """When the first bytes of the response were handed to the kernel."""
    answered_ns: Times
    """When its last byte was."""
    retransmissions: tuple[int, ...]
    """Segments that the connection had sent again as of each request, and at the end
    (`tcpi_total_retrans`)."""
    timeouts: tuple[int, ...]
    """Its retransmission timeouts, likewise (`tcpi_total_rto`)."""


class SamplesRecord(Wire):
    """What was read of the host at intervals. Absent when the plan has no interval."""

    kind: Literal["samples"] = "samples"
    at_ns: Times
    """When each sample was begun."""
    late_ns: Times
    """How late that was."""
    cost_ns: Times
    """Time that reading it took."""
    skipped: int
    """Samples that were left out, because an earlier one took until they were over."""
    values: dict[str, tuple[int | None, ...]]
    """Counters and states by name, a value a sample; None: it could not be read."""


class RefusedRecord(Wire):
    """Connections that a server closed at once."""

    kind: Literal["refused"] = "refused"
    wrong_address: int
    """They came from another address than the client's."""
    wrong_token: int
    """They did not know the token, or came after the client was there."""


class PacingRecord(Wire):
    """How late what was due at an instant was done.

    Of a client: requests that are not the first of their iteration; of a server: delayed responses.
    Absent when there was none.
    """

    kind: Literal["pacing"] = "pacing"
    due_ns: Times
    """The instants."""
    late_ns: Times
    """How late each was met."""


class ErrorRecord(Wire):
    """Why an agent or the switch ends early; nothing follows it."""

    kind: Literal["error"] = "error"
    message: str


class EndRecord(Wire):
    """An agent or the switch has written all: the last record."""

    kind: Literal["end"] = "end"


AgentRecord = Annotated[
    ReadyRecord
    | ConnectionRecord
    | PhaseRecord
    | ProgressRecord
    | SnapshotRecord
    | IterationsRecord
    | RequestsRecord
    | VerifiedRecord
    | ServedRecord
    | SamplesRecord
    | RefusedRecord
    | PacingRecord
    | ErrorRecord
    | EndRecord,
    Field(discriminator="kind"),
]

AGENT_RECORD: Final[TypeAdapter[AgentRecord]] = TypeAdapter(AgentRecord)
"""Reads a line of an agent's output."""
COMMAND: Final[TypeAdapter[Command]] = TypeAdapter(Command)
"""Reads a command, as an agent does."""
