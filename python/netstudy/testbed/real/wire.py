"""What crosses between the controller of a real testbed and the agents in its hosts.

The same contract as `crates/records/src/agent.rs`; both sides are tested against
`schema/examples/agent-*`. A plan and commands go in, records come out, each a line of JSON. Times
are nanoseconds of CLOCK_MONOTONIC, which all processes of a machine share.
"""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address
from typing import Annotated, Final, Literal

from pydantic import Field, TypeAdapter

from netstudy.wire import Jitter, NoJitter, Until, Wire

AGENT_SCHEMA: Final = "netstudy/agent/2"
AGENT_RECORD_SCHEMA: Final = "netstudy/agent-record/2"

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


class InstrumentPlan(Wire):
    """What an agent reads at intervals."""

    counters_interval_ms: int | None = Field(default=None, gt=0)
    """Between two samples of the host's counters; None: snapshots are taken on command only."""
    connections_interval_ms: int | None = Field(default=None, gt=0)
    """Between two samples of TCP_INFO of each connection; None: no series."""
    interfaces: tuple[str, ...] = ()
    """Of the host."""


class Endpoint(Wire):
    """Where a server listens."""

    address: Address
    port: int = Field(ge=0, le=65_535)


class OpenConnection(Wire):
    """A connection that the agent opens."""

    kind: Literal["open"] = "open"
    local: Address
    """Where it comes from."""
    peer: Endpoint
    """Where the peer listens."""
    peer_number: int = Field(ge=0, lt=2**32)
    """Its number at the peer."""


class AcceptConnection(Wire):
    """A connection that the peer opens, saying its number here."""

    kind: Literal["accept"] = "accept"
    local: Address
    """Where the agent listens for it."""
    peer: Address
    """The only address that it is taken from."""


ConnectionPlan = Annotated[OpenConnection | AcceptConnection, Field(discriminator="kind")]


Direction = Literal["get", "put", "both"]
"""Which way a transfer's payload goes: from the server to the client; from the client to the
server, whose application confirms it; both at once, each of the whole size."""


class FixedSize(Wire):
    """A transfer carries so many bytes, each way that it goes."""

    kind: Literal["fixed"] = "fixed"
    bytes: int = Field(gt=0)


class Stream(Wire):
    """A transfer carries as much as goes in the time of the phase."""

    kind: Literal["stream"] = "stream"
    chunk_bytes: int = Field(default=65_536, gt=0)
    """Payload that is asked for, or confirmed, at a time."""
    ahead_bytes: int = Field(default=4_194_304, gt=0)
    """Payload asked for, or sent, before the first chunk of it is there: at least a chunk. Must
    exceed the bandwidth-delay product and the queues; more prolongs the end of the phase."""


TransferSize = Annotated[FixedSize | Stream, Field(discriminator="kind")]


class ClosedLoop(Wire):
    """A request is sent when an earlier one has been answered."""

    kind: Literal["closed"] = "closed"
    outstanding: int = Field(default=1, gt=0)
    """Requests of a connection that are under way at a time."""
    think_ns: int = Field(default=0, ge=0)
    """From a response to the next request in its place."""


class OpenLoop(Wire):
    """A connection's requests are sent at an interval, whether or not the last one was answered.

    Response times count from when a request was due.
    """

    kind: Literal["every"] = "every"
    interval_ns: int = Field(gt=0)


RequestSchedule = Annotated[ClosedLoop | OpenLoop, Field(discriminator="kind")]


class IncastServer(Wire):
    """Answers the requests of one client."""

    kind: Literal["incast-server"] = "incast-server"
    request_bytes: int = Field(gt=0)
    response_bytes: int = Field(gt=0)
    start_jitter: Jitter = NoJitter()
    """Delay between the receipt of a request and the first byte of the response."""
    number: int = Field(ge=1)
    """Among the servers: its delays are those that the simulator draws for it."""
    seed: str
    """Seed of the run: 16 hexadecimal digits."""


class IncastClient(Wire):
    """Asks every server at once, waits for all, repeats: a connection a server."""

    kind: Literal["incast-client"] = "incast-client"
    request_bytes: int = Field(gt=0)
    response_bytes: tuple[Annotated[int, Field(gt=0)], ...] = Field(min_length=1)
    """Of each server, in the order of the connections."""
    iterations: int = Field(gt=0)
    """Of the measuring phase."""
    warmup_iterations: int = Field(default=0, ge=0)
    request_spacing_ns: int = Field(default=0, ge=0)
    """Time between the request to one server and that to the next."""


class TransferServer(Wire):
    """The other end of transfers."""

    kind: Literal["transfer-server"] = "transfer-server"
    direction: Direction
    size: TransferSize
    request_bytes: int = Field(default=64, gt=0)
    """Of a request, and of a confirmation."""


class TransferClient(Wire):
    """Makes transfers on each of its connections, one after the other."""

    kind: Literal["transfer-client"] = "transfer-client"
    direction: Direction
    size: TransferSize
    request_bytes: int = Field(default=64, gt=0)
    """Of a request, and of a confirmation."""
    pause_ns: int = Field(default=0, ge=0)
    """From the end of a transfer to the start of the next one on the same connection."""
    warmup: Until
    """Of a stream: a time, or no transfer."""
    measure: Until
    """Of a stream: a time. Else at least one transfer."""


class RequestServer(Wire):
    """Answers each whole request at once."""

    kind: Literal["request-server"] = "request-server"
    request_bytes: int = Field(gt=0)
    response_bytes: int = Field(gt=0)


class RequestClient(Wire):
    """Sends requests and waits for their responses."""

    kind: Literal["request-client"] = "request-client"
    request_bytes: int = Field(gt=0)
    response_bytes: int = Field(gt=0)
    schedule: RequestSchedule
    warmup: Until
    measure: Until


class Observer(Wire):
    """Reads the counters of a host that has no part in the traffic, or of an interface that has
    none. It has no connections."""

    kind: Literal["observer"] = "observer"


AgentWorkload = Annotated[
    IncastServer
    | IncastClient
    | TransferServer
    | TransferClient
    | RequestServer
    | RequestClient
    | Observer,
    Field(discriminator="kind"),
]

AGENT_WORKLOAD: Final[TypeAdapter[AgentWorkload]] = TypeAdapter(AgentWorkload)
"""Reads a part in the traffic of a run."""


class ProbeServer(Wire):
    """Answers the requests of a latency probe, on connections of its own, the last of the plan."""

    kind: Literal["server"] = "server"
    connections: int = Field(default=1, gt=0)
    """How many are the probe's."""
    request_bytes: int = Field(default=64, gt=0)
    response_bytes: int = Field(default=64, gt=0)


class ProbeClient(Wire):
    """Sends the requests of a latency probe, except between the phases, when it rests."""

    kind: Literal["client"] = "client"
    connections: int = Field(default=1, gt=0)
    """How many are the probe's: the last of the plan."""
    request_bytes: int = Field(default=64, gt=0)
    response_bytes: int = Field(default=64, gt=0)
    interval_ns: int = Field(default=10_000_000, gt=0)
    """Between two requests of a connection."""
    idle_ns: int = Field(default=0, ge=0)
    """Time in which it is alone, before the workload begins; 0: there is no such phase."""


ProbePlan = Annotated[ProbeServer | ProbeClient, Field(discriminator="kind")]


class AgentPlan(Wire):
    """What one agent is to do: the first line on its standard input."""

    schema_: Literal["netstudy/agent/2"] = Field(default=AGENT_SCHEMA, alias="schema")
    run: str
    node: str
    token: str = Field(pattern="^[0-9a-fA-F]{32}$", repr=False)
    """What the agents of a run know each other by. It is never shown."""
    time_limit_ms: int = Field(gt=0)
    """The agent ends with an error after this time, whatever it is doing."""
    silence_limit_ms: int | None = Field(default=None, gt=0, lt=2**31)
    """How long all peers that owe something may be silent; None: as the time limit allows. Servers
    do not look at it."""
    progress_interval_ms: int | None = Field(default=None, gt=0, lt=2**31)
    """Between two signs of life of a client while its traffic goes on; None: it gives none."""
    cpu: int | None = None
    """CPU that the agent stays on; None: wherever the kernel puts it."""
    socket: SocketOptions = SocketOptions()
    instruments: InstrumentPlan = InstrumentPlan()
    port: int = Field(default=0, ge=0, le=65_535)
    """Where it listens, at each local address of connections that it accepts; 0: ports that the
    kernel chooses."""
    connections: tuple[ConnectionPlan, ...]
    """Numbered from 0: first those of the workload, then those of the probe. Observers alone have
    none."""
    workload: AgentWorkload
    probe: ProbePlan | None = None


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
    schema_: Literal["netstudy/agent-record/2"] = Field(default=AGENT_RECORD_SCHEMA, alias="schema")
    version: str
    """Of the engine."""
    node: str
    pid: int
    """In the agent's own pid namespace."""
    listening: tuple[Endpoint, ...]
    """Each local address of connections that it accepts, in order."""


class ConnectionRecord(Wire):
    """A connection is open; its options are as the kernel says they are."""

    kind: Literal["connection"] = "connection"
    connection: int
    """Its number."""
    local: Endpoint
    peer: Endpoint
    congestion_control: str
    send_buffer_bytes: int
    """Bookkeeping included: twice what was asked for."""
    receive_buffer_bytes: int
    no_delay: bool


PhaseName = Literal["idle", "warm-up", "measure"]
"""Phases of a client, in their order. In the first one the probe is alone; it is there only if the
plan has a time for it."""


class InTime(Wire):
    """What each connection of a client had carried in a phase when its time was over."""

    bytes_received: tuple[int, ...]
    """Each byte is the one that was sent."""
    bytes_acknowledged: tuple[int, ...]
    """By the peer's TCP."""


class PhaseRecord(Wire):
    """A phase of a client has ended and nothing is under way any more.

    After the measuring phase the client waits for `stop`, after the others for `go`.
    """

    kind: Literal["phase"] = "phase"
    name: PhaseName
    from_ns: int
    to_ns: int
    """A measuring phase that ends after a time ends then, whatever is under way."""
    quiet_ns: int
    """When nothing of it was under way any more."""
    bytes_received: tuple[int, ...]
    """On each connection until then; each byte is the one that was sent."""
    bytes_sent: tuple[int, ...]
    """Handed to the kernel on each connection until then."""
    in_time: InTime | None
    """What connections had carried at `to_ns`; None: the phase did not end after a time."""


class ProgressRecord(Wire):
    """A sign of life of a client, and how far it is."""

    kind: Literal["progress"] = "progress"
    at_ns: int
    samples: int
    """Iterations, transfers or requests of this phase that have ended, the probe's left out."""
    bytes: int
    """Sent and received so far, all phases and connections together."""


class ConnectionCounters(Wire):
    """What was counted of a connection since it was opened."""

    connection: int
    """Its number."""
    bytes_received: int
    """By the application; each byte is the one that was sent."""
    bytes_sent: int
    """That it handed to the kernel."""
    tcp: dict[str, int]
    """What the kernel says (TCP_INFO): srtt_us, rttvar_us, min_rtt_us, rto_us, cwnd_segments,
    ssthresh_segments, delivery_rate_bytes_per_s, retransmissions, timeouts, and the payload
    tcp_bytes_sent (retransmissions included), tcp_bytes_acked and tcp_bytes_received. The 36 bytes
    by which both ends know each other when a connection opens, and the one that answers them, are
    among TCP's bytes alone."""


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
    connections: tuple[ConnectionCounters, ...]
    """Those of the agent's that have been opened."""
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
    """When the requests of an incast's measuring phase to one server were."""

    kind: Literal["requests"] = "requests"
    connection: int
    """Number of the server's connection."""
    intended_ns: Times
    """When each was due."""
    sent_ns: Times
    """When it was handed to the kernel."""
    first_byte_ns: Times
    """When the first bytes of the response were read."""
    done_ns: Times
    """When its last byte was read."""


class ServedRecord(Wire):
    """Requests that a server of an incast got, warm-up included."""

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


class TransfersRecord(Wire):
    """Transfers of the measuring phase, in the order in which they ended."""

    kind: Literal["transfers"] = "transfers"
    connection: tuple[int, ...]
    bytes_received: tuple[int, ...]
    """Payload that the client received."""
    bytes_sent: tuple[int, ...]
    """Payload that it sent."""
    started_ns: Times
    """When it was due."""
    ended_ns: Times
    """When its last byte was there, or was confirmed; of a stream: the end of the phase's time."""


class SecondsRecord(Wire):
    """What each connection of a client's workload carried in each second, from the start of its
    measuring phase until its time was over, or, without one, until it was stopped. The end cuts
    the last second off. Of transfers and requests."""

    kind: Literal["seconds"] = "seconds"
    connection: tuple[int, ...]
    start_ns: Times
    """Of the second, from the start of the phase."""
    bytes_received: tuple[int, ...]
    """By the client; each byte is the one that was sent."""
    bytes_sent: tuple[int, ...]
    """Of the client's, those that the server has acknowledged (`tcpi_bytes_acked`)."""


class ResponseTimesRecord(Wire):
    """Response times of one phase: from when each request was due to the end of its response."""

    kind: Literal["response-times"] = "response-times"
    of: Literal["workload", "probe"]
    """Whose requests."""
    phase: PhaseName
    """In which the requests were due."""
    count: int
    """Those that were answered in it."""
    unanswered: int
    """Those that had no answer when the time of the phase was over."""
    min_ns: int | None
    """None: no request was answered."""
    max_ns: int | None
    """Likewise."""
    sum_ns: int
    histogram: tuple[tuple[int, int], ...]
    """With three significant digits (HdrHistogram): upper bound of each class in nanoseconds, and
    how many are in it. A class with none is left out."""


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


class ConnectionSeriesRecord(Wire):
    """What the kernel told of a connection at intervals. Absent when the plan has no interval."""

    kind: Literal["connection-series"] = "connection-series"
    connection: int
    at_ns: Times
    values: dict[str, tuple[int, ...]]
    """By name, as in ConnectionCounters.tcp, a value a sample."""


class RefusedRecord(Wire):
    """Connections that an agent that listens closed at once."""

    kind: Literal["refused"] = "refused"
    wrong_address: int
    """They came from another address than that of their plan, or to another one."""
    wrong_token: int
    """They did not know the token, or the number of a connection that is to come."""


class PacingRecord(Wire):
    """How late messages were written that were due at an instant.

    Of a client: requests that do not follow from what came; of a server: delayed responses. Absent
    when there was none.
    """

    kind: Literal["pacing"] = "pacing"
    due_ns: Times
    """The instants."""
    late_ns: Times
    """How late each was met."""
    one_of: int = 1
    """One of so many instants is kept; 1 up to 262,144 of them."""


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
    | ServedRecord
    | TransfersRecord
    | SecondsRecord
    | ResponseTimesRecord
    | SamplesRecord
    | ConnectionSeriesRecord
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
