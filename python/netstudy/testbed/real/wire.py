"""The protocol between the controller of a real testbed and the agents in its hosts.

`crates/records/src/agent.rs` is the same contract; both sides are tested against
`schema/examples/agent-*`. A plan and commands go in, records come out, each a line of JSON. Times
are nanoseconds of CLOCK_MONOTONIC, which all processes of a machine share.
"""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address
from typing import Annotated, Final, Literal

from pydantic import Field, TypeAdapter

from netstudy.wire import Jitter, Load, NoJitter, Operation, Until
from netstudy.wire_model import Wire

AGENT_SCHEMA: Final = "netstudy/agent/2"
AGENT_RECORD_SCHEMA: Final = "netstudy/agent-record/2"

Address = IPv4Address | IPv6Address
Times = tuple[int, ...]
"""Nanoseconds, one an iteration; instants are of CLOCK_MONOTONIC."""


class SocketOptions(Wire):
    """Options of an agent's connections; None: the kernel's default."""

    congestion_control: str | None = None
    """The kernel's name of it (TCP_CONGESTION)."""
    send_buffer_bytes: int | None = Field(default=None, gt=0)
    """SO_SNDBUF as passed to the kernel, which doubles it for its own bookkeeping: socket(7)."""
    receive_buffer_bytes: int | None = Field(default=None, gt=0)
    """SO_RCVBUF, likewise."""
    no_delay: bool = True
    """TCP_NODELAY: short writes do not wait for acknowledgments."""
    zero_copy: bool = False
    """The server sends responses without copying them into the kernel (sendfile(2)). Cheaper if the
    interface computes checksums; more expensive if the kernel has to."""


class InstrumentPlan(Wire):
    """The counters that an agent reads at intervals."""

    counters_interval_ms: int | None = Field(default=None, gt=0)
    """Between two samples of the host's counters; None: snapshots are taken on command only."""
    connections_interval_ms: int | None = Field(default=None, gt=0)
    """Between two samples of TCP_INFO of each connection; None: no series."""
    interfaces: tuple[str, ...] = ()
    """Names of the host's interfaces to read."""
    namespace_cpu: bool = Field(default=False, exclude_if=lambda asked: not asked)
    """Whether the CPU time of all processes in the host's network namespace is counted too, not
    only the agent's: applications run there."""


class Endpoint(Wire):
    """Address and port that a server listens on."""

    address: Address
    port: int = Field(ge=0, le=65_535)


class OpenConnection(Wire):
    """A connection that the agent opens."""

    kind: Literal["open"] = "open"
    local: Address
    """Its own address."""
    peer: Endpoint
    """The endpoint that the peer listens on."""
    peer_number: int = Field(ge=0, lt=2**32)
    """The connection's number at the peer."""


class AcceptConnection(Wire):
    """A connection that the peer opens, stating its number here."""

    kind: Literal["accept"] = "accept"
    local: Address
    """The address that the agent listens on."""
    peer: Address
    """The only address that it is accepted from."""


ConnectionPlan = Annotated[OpenConnection | AcceptConnection, Field(discriminator="kind")]


Direction = Literal["get", "put", "both"]
"""Direction of a transfer's payload: from the server to the client; from the client to the server,
whose application confirms it; both at once, each of the whole size."""


class FixedSize(Wire):
    """Each transfer has a fixed size, in each of its directions."""

    kind: Literal["fixed"] = "fixed"
    bytes: int = Field(gt=0)


class Stream(Wire):
    """A transfer carries as much as it can until its phase ends."""

    kind: Literal["stream"] = "stream"
    chunk_bytes: int = Field(default=65_536, gt=0)
    """Payload of one request or confirmation."""
    ahead_bytes: int = Field(default=4_194_304, gt=0)
    """Payload requested, or sent, before its first chunk has arrived: at least a chunk. Must exceed
    the bandwidth-delay product and the queues; a larger value prolongs the end of the phase."""


TransferSize = Annotated[FixedSize | Stream, Field(discriminator="kind")]


class ClosedLoop(Wire):
    """A request is sent when an earlier one has been answered."""

    kind: Literal["closed"] = "closed"
    outstanding: int = Field(default=1, gt=0)
    """Requests of a connection in flight at a time."""
    think_ns: int = Field(default=0, ge=0)
    """Pause between a response and the request that follows it."""


class OpenLoop(Wire):
    """A connection's requests are sent at an interval, whether or not the last one was answered.

    Response times count from the time when a request was due.
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
    """Its number among the servers: its delays are the ones that the simulator draws for it."""
    seed: str
    """Seed of the run: 16 hexadecimal digits."""


class IncastClient(Wire):
    """Asks every server at once, waits for all responses, repeats; a connection for each server."""

    kind: Literal["incast-client"] = "incast-client"
    request_bytes: int = Field(gt=0)
    response_bytes: tuple[Annotated[int, Field(gt=0)], ...] = Field(min_length=1)
    """Response size of each server, in the order of the connections."""
    iterations: int = Field(gt=0)
    """Number of iterations in the measuring phase."""
    warmup_iterations: int = Field(default=0, ge=0)
    request_spacing_ns: int = Field(default=0, ge=0)
    """Time between the request to one server and that to the next."""


class TransferServer(Wire):
    """The other end of transfers."""

    kind: Literal["transfer-server"] = "transfer-server"
    direction: Direction
    size: TransferSize
    request_bytes: int = Field(default=64, gt=0)
    """Size of a request, and of a confirmation."""


class TransferClient(Wire):
    """Makes transfers on each of its connections, one after the other."""

    kind: Literal["transfer-client"] = "transfer-client"
    direction: Direction
    size: TransferSize
    request_bytes: int = Field(default=64, gt=0)
    """Size of a request, and of a confirmation."""
    pause_ns: int = Field(default=0, ge=0)
    """Pause between the end of a transfer and the start of the next one on the same connection."""
    warmup: Until
    """A time, or a number of transfers; a stream takes a time, or no transfer."""
    measure: Until
    """A time, or at least one transfer; a stream takes a time."""


class MemoryStore(Wire):
    """The data of files are generated in memory, or discarded."""

    kind: Literal["memory"] = "memory"


class FolderStore(Wire):
    """The data of files are in a file."""

    kind: Literal["folder"] = "folder"
    folder: str
    """Its folder, which exists."""
    place: Literal["ram", "cache", "disk"]
    """The medium of the folder and the use of the page cache: `ram` is a RAM disk; `cache` a disk
    whose file is in the page cache; `disk` one whose file is dropped from the page cache before
    each transfer."""
    synced: bool = False
    """Whether a received file is on the disk before its transfer has ended (fsync(2))."""


FileStore = Annotated[MemoryStore | FolderStore, Field(discriminator="kind")]
DataPath = Literal["copying", "sendfile"]
"""How a file is sent: by reading it and writing to the socket, or by sendfile(2)."""


class FtpLogin(Wire):
    """A user of an FTP server."""

    user: str
    password: str = Field(repr=False)


class FtpServer(Wire):
    """Sends a file by FTP to its clients, or takes files from them."""

    kind: Literal["ftp-server"] = "ftp-server"
    direction: Literal["get", "put"]
    size_bytes: int = Field(gt=0)
    """Size of the file that it sends."""
    store: FileStore = MemoryStore()
    data_path: DataPath = "copying"
    login: FtpLogin | None = None
    """Who may log in, from any of the accepted addresses; None: the agents of the run, by its
    token."""
    verify: bool = True
    """Whether each byte that it receives is verified."""


class FtpClient(Wire):
    """Fetches a file by FTP, or sends it, again and again: a session a connection."""

    kind: Literal["ftp-client"] = "ftp-client"
    direction: Literal["get", "put"]
    size_bytes: int = Field(gt=0)
    path: str = "data"
    """Name of the file at the server; of a put, the connection's number there is added to it."""
    store: FileStore = MemoryStore()
    data_path: DataPath = "copying"
    login: FtpLogin | None = None
    """The name with which it logs in; None: as an agent of the run, by its token."""
    verify: bool = True
    """Whether each byte that it receives is verified."""
    pause_ns: int = Field(default=0, ge=0)
    """Time from the end of a transfer to the start of the next one of the same session."""
    warmup: Until
    measure: Until


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


class Deck(Wire):
    """Registered users that one generator deals, like cards."""

    first: int = Field(ge=0)
    """Number of its first user."""
    step: int = Field(gt=0)
    """Distance from one user to the next: the number of generators."""
    users: int = Field(ge=0)


class TransactionClient(Wire):
    """Users of an application over HTTP: one of the generators of load.

    The plan has no connections of it: it opens one for each of its users.
    """

    kind: Literal["transaction-client"] = "transaction-client"
    target: Endpoint
    """The endpoint that the application server listens on."""
    local: Address
    """Its own address."""
    host: str
    """The name of the application server in requests."""
    script: Literal["brokerage", "plain"]
    """Who knows the requests of operations: the generator, or the plan. Users of the brokerage log
    in before anything else."""
    mix: tuple[Operation, ...] = Field(min_length=1)
    load: Load
    """This generator's own users, or the time between its own submissions."""
    deck: Deck = Deck(first=0, step=1, users=0)
    """Registered users of the brokerage that it deals."""
    quotes: int = Field(default=0, ge=0)
    """Quoted stocks of the brokerage."""
    page_images: int = Field(default=0, ge=0)
    """Images per page of the brokerage, each one more page element."""
    statistics_every_ns: int = Field(gt=0)
    """Time between two blocks of statistics."""
    request_timeout_ns: int = Field(gt=0)
    """Time until a request without a whole answer is an error, and its connection is closed."""
    seed: str
    """Seed of the run, 16 hexadecimal digits: with the host's name it gives the draws of the
    simulator."""
    number: int = Field(ge=0)
    """Its number among the generators: distinguishes the data that it creates at the application
    from the other generators' data."""
    warmup: Until
    """A time, or a count of 0 for none."""
    measure: Until
    """A time."""


class Observer(Wire):
    """Reads the counters of a host or an interface that takes no part in the traffic. It has no
    connections."""

    kind: Literal["observer"] = "observer"


AgentWorkload = Annotated[
    IncastServer
    | IncastClient
    | TransferServer
    | TransferClient
    | FtpServer
    | FtpClient
    | RequestServer
    | RequestClient
    | TransactionClient
    | Observer,
    Field(discriminator="kind"),
]

AGENT_WORKLOAD: Final[TypeAdapter[AgentWorkload]] = TypeAdapter(AgentWorkload)
"""Reads an agent's part in the traffic of a run."""


class ProbeServer(Wire):
    """Answers the requests of a latency probe, on connections of its own, the last of the plan."""

    kind: Literal["server"] = "server"
    connections: int = Field(default=1, gt=0)
    """Number of the probe's connections."""
    request_bytes: int = Field(default=64, gt=0)
    response_bytes: int = Field(default=64, gt=0)


class ProbeClient(Wire):
    """Sends the requests of a latency probe, except between the phases."""

    kind: Literal["client"] = "client"
    connections: int = Field(default=1, gt=0)
    """Number of the probe's connections: the last of the plan."""
    request_bytes: int = Field(default=64, gt=0)
    response_bytes: int = Field(default=64, gt=0)
    interval_ns: int = Field(default=10_000_000, gt=0)
    """Between two requests of a connection."""
    idle_ns: int = Field(default=0, ge=0)
    """Length of the phase before the workload, with only the probe; 0: there is no such phase."""


ProbePlan = Annotated[ProbeServer | ProbeClient, Field(discriminator="kind")]


class AgentPlan(Wire):
    """The task of one agent: the first line on its standard input."""

    schema_: Literal["netstudy/agent/2"] = Field(default=AGENT_SCHEMA, alias="schema")
    run: str
    node: str
    token: str = Field(pattern="^[0-9a-fA-F]{32}$", repr=False)
    """Shared secret by which the agents of a run recognise each other. It is never shown."""
    time_limit_ms: int = Field(gt=0)
    """After this time the agent ends with an error, whatever it is doing."""
    silence_limit_ms: int | None = Field(default=None, gt=0, lt=2**31)
    """Time for which all peers with outstanding data may be silent; None: up to the time limit.
    Servers ignore it."""
    progress_interval_ms: int | None = Field(default=None, gt=0, lt=2**31)
    """Between two progress records of a client while its traffic goes on; None: it writes none."""
    cpu: int | None = None
    """CPU that the agent stays on; None: the kernel chooses."""
    socket: SocketOptions = SocketOptions()
    instruments: InstrumentPlan = InstrumentPlan()
    port: int = Field(default=0, ge=0, le=65_535)
    """Port to listen on, at each local address of connections that it accepts; 0: ports that the
    kernel chooses."""
    connections: tuple[ConnectionPlan, ...]
    """Numbered from 0: first the workload's, then the probe's. Only observers have none."""
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
    """Write the remaining records, and end."""

    command: Literal["stop"] = "stop"


Command = Annotated[SnapshotCommand | GoCommand | StopCommand, Field(discriminator="command")]


class ReadyRecord(Wire):
    """The agent has started: the first record."""

    kind: Literal["ready"] = "ready"
    schema_: Literal["netstudy/agent-record/2"] = Field(default=AGENT_RECORD_SCHEMA, alias="schema")
    version: str
    """The engine's version."""
    node: str
    pid: int
    """The process id in the agent's own pid namespace."""
    listening: tuple[Endpoint, ...]
    """An endpoint for each local address of connections that it accepts, in order."""


class ConnectionRecord(Wire):
    """A connection is open; its options are the ones that the kernel reports."""

    kind: Literal["connection"] = "connection"
    connection: int
    """Its number."""
    local: Endpoint
    peer: Endpoint
    congestion_control: str
    send_buffer_bytes: int
    """As the kernel accounts it: twice the requested size."""
    receive_buffer_bytes: int
    no_delay: bool


PhaseName = Literal["idle", "warm-up", "measure"]
"""Phases of a client, in order. In `idle` only the probe runs; it exists only if the plan gives it
a time."""


class InTime(Wire):
    """Bytes that each connection of a client had carried when the time of a phase was over."""

    bytes_received: tuple[int, ...]
    """All verified."""
    bytes_acknowledged: tuple[int, ...]
    """Bytes acknowledged by the peer's TCP."""


class PhaseRecord(Wire):
    """A phase of a client has ended and nothing is in flight any more.

    After the measuring phase the client waits for `stop`, after the others for `go`.
    """

    kind: Literal["phase"] = "phase"
    name: PhaseName
    from_ns: int
    to_ns: int
    """A measuring phase that ends after a time ends then, whatever is in flight."""
    quiet_ns: int
    """Time from which nothing of it was in flight any more."""
    bytes_received: tuple[int, ...]
    """On each connection until then, all verified."""
    bytes_sent: tuple[int, ...]
    """Handed to the kernel on each connection until then."""
    in_time: InTime | None
    """Bytes that connections had carried at `to_ns`; None: the phase did not end after a time."""


class ProgressRecord(Wire):
    """Progress of a client; shows that it is alive."""

    kind: Literal["progress"] = "progress"
    at_ns: int
    samples: int
    """Iterations, transfers or requests of this phase that have completed, without the probe's."""
    bytes: int
    """Sent and received so far, over all phases and connections."""


class ConnectionCounters(Wire):
    """Counters of a connection since it was opened."""

    connection: int
    """Its number."""
    bytes_received: int
    """Bytes received by the application, all verified."""
    bytes_sent: int
    """Handed by the application to the kernel."""
    tcp: dict[str, int]
    """From the kernel (TCP_INFO): srtt_us, rttvar_us, min_rtt_us, rto_us, cwnd_segments,
    ssthresh_segments, delivery_rate_bytes_per_s, retransmissions, timeouts, and the payload
    tcp_bytes_sent (retransmissions included), tcp_bytes_acked and tcp_bytes_received. Only TCP's
    bytes include the 36 bytes by which both ends recognise each other when a connection opens, and
    the one byte that answers them."""


class SnapshotRecord(Wire):
    """All counters of a host at one instant."""

    kind: Literal["snapshot"] = "snapshot"
    name: str
    """Name in the command."""
    at_ns: int
    counters: dict[str, int]
    """Values that only grow, by name."""
    gauges: dict[str, int]
    """Other values, states of the host, by name."""
    missing: dict[str, str]
    """Name of each value that could not be read -> the reason."""
    connections: tuple[ConnectionCounters, ...]
    """The agent's connections that have been opened."""
    cost_ns: int
    """Duration of the reading."""
    raw: dict[str, str]
    """File or command -> its text, byte for byte."""


class IterationsRecord(Wire):
    """Start and end of each iteration of the measuring phase."""

    kind: Literal["iterations"] = "iterations"
    started_ns: Times
    """The time when its first request was due."""
    ended_ns: Times
    """Arrival of its last byte."""


class RequestsRecord(Wire):
    """Times of an incast's requests to one server in the measuring phase."""

    kind: Literal["requests"] = "requests"
    connection: int
    """Number of the server's connection."""
    intended_ns: Times
    """The time when each request was due."""
    sent_ns: Times
    """The time when it was handed to the kernel."""
    first_byte_ns: Times
    """The time when the first bytes of the response were read."""
    done_ns: Times
    """The time when its last byte was read."""


class ServedRecord(Wire):
    """Requests that a server of an incast received, warm-up included."""

    kind: Literal["served"] = "served"
    requested_ns: Times
    """The time when the last byte of each request was read."""
    begun_ns: Times
    """The time when the first bytes of the response were handed to the kernel."""
    answered_ns: Times
    """The time when its last byte was handed to the kernel."""
    retransmissions: tuple[int, ...]
    """Segments that the connection had retransmitted at each request, and at the end
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
    """The time when it was due."""
    ended_ns: Times
    """Arrival of its last byte, or of the confirmation; of a stream: the end of the phase's
    time."""
    first_byte_ns: Times | None = None
    """Of files: when the first byte of its data came, or left."""


class SessionsRecord(Wire):
    """Log-ins of the sessions of a client of FTP, in the order in which they were complete."""

    kind: Literal["sessions"] = "sessions"
    connection: tuple[int, ...]
    connect_ns: Times
    """Time until the control connection was open."""
    login_ns: Times
    """Time from there until the session was ready for transfers."""


class SecondsRecord(Wire):
    """Bytes that each connection of a client's workload carried in each second, from the start of
    its measuring phase until the phase's time was over or, without one, until it was stopped. The
    last second may be incomplete. Of transfers and requests."""

    kind: Literal["seconds"] = "seconds"
    connection: tuple[int, ...]
    start_ns: Times
    """Start of the second, from the start of the phase."""
    bytes_received: tuple[int, ...]
    """Bytes received by the client, all verified."""
    bytes_sent: tuple[int, ...]
    """Bytes sent by the client that the server has acknowledged (`tcpi_bytes_acked`)."""


class ResponseTimesRecord(Wire):
    """Times of the requests of one phase."""

    kind: Literal["response-times"] = "response-times"
    of: Literal["workload", "probe"]
    """Origin of the requests."""
    operation: str | None = None
    """Of transactions: `page element`, `transaction`, or an operation."""
    latency: Literal["response", "service", "first-byte"] = "response"
    """`response`: from its due time to the last byte of the answer. `service`: from its sending to
    the last byte. `first-byte`: from its sending to the first byte."""
    phase: PhaseName
    """The phase in which the requests were due; of transactions: in which they ended."""
    count: int
    """Requests answered in the phase."""
    unanswered: int
    """Requests without an answer when the time of the phase was over."""
    min_ns: int | None
    """None if no request was answered."""
    max_ns: int | None
    """None if no request was answered."""
    sum_ns: int
    histogram: tuple[tuple[int, int], ...]
    """With three significant digits (HdrHistogram): upper bound of each class in nanoseconds, and
    its number of requests. Empty classes are left out."""


class TransactionsRecord(Wire):
    """Operations of a generator in its measuring phase: a row an operation."""

    kind: Literal["transactions"] = "transactions"
    operation: tuple[str, ...]
    offered: tuple[int, ...]
    """Submissions that were due, or in flight when the phase began: the sum of completed, network
    errors, server errors, not met and unfinished."""
    carried: tuple[int, ...]
    """Submissions in flight when the phase began."""
    not_met: tuple[int, ...]
    """Submissions that were not begun: too many were in flight."""
    completed: tuple[int, ...]
    """Submissions that ended in the phase without an error."""
    unfinished: tuple[int, ...]
    """Submissions in flight when the phase ended."""
    page_elements: tuple[int, ...]
    """Answers of HTTP with success."""
    network_errors: tuple[int, ...]
    """Submissions that failed on their connection."""
    server_errors: tuple[int, ...]
    """Submissions that the application refused or failed at."""
    bytes_read: tuple[int, ...]
    """Headers included."""
    bytes_written: tuple[int, ...]
    """Headers included."""


class TransactionErrorsRecord(Wire):
    """Errors of a generator in its measuring phase: a row an operation and reason."""

    kind: Literal["transaction-errors"] = "transaction-errors"
    operation: tuple[str, ...]
    reason: tuple[str, ...]
    """`503`, `connection reset`, `timed out` and the like."""
    count: tuple[int, ...]


class StatisticsRecord(Wire):
    """Statistics of a generator at intervals, cumulative from the start of its measuring phase: the
    last row is the whole phase."""

    kind: Literal["statistics"] = "statistics"
    at_ns: Times
    """Time since the phase began."""
    users: tuple[int, ...]
    page_elements: tuple[int, ...]
    """Answers of HTTP with success."""
    transactions: tuple[int, ...]
    """Operations that ended without an error."""
    network_errors: tuple[int, ...]
    """Submissions that failed on their connection."""
    server_errors: tuple[int, ...]
    """Submissions that the application refused or failed at."""
    bytes_read: tuple[int, ...]
    """Headers included."""
    bytes_written: tuple[int, ...]
    """Headers included."""
    response_sum_ns: tuple[int, ...]
    """Response times of all page elements together."""
    not_met: tuple[int, ...]
    """Submissions that were due and not begun."""


class SamplesRecord(Wire):
    """Samples of the host, taken at intervals. Absent when the plan has no interval."""

    kind: Literal["samples"] = "samples"
    at_ns: Times
    """Start of each sample."""
    late_ns: Times
    """Lateness of that start."""
    cost_ns: Times
    """Duration of the reading."""
    skipped: int
    """Samples left out because an earlier one overran them."""
    values: dict[str, tuple[int | None, ...]]
    """Counters and states by name, a value for each sample; None: it could not be read."""


class ConnectionSeriesRecord(Wire):
    """TCP_INFO of a connection at intervals. Absent when the plan has no interval."""

    kind: Literal["connection-series"] = "connection-series"
    connection: int
    at_ns: Times
    values: dict[str, tuple[int, ...]]
    """By name, as in ConnectionCounters.tcp, a value for each sample."""


class RefusedRecord(Wire):
    """Connections that a listening agent closed at once."""

    kind: Literal["refused"] = "refused"
    wrong_address: int
    """Connections from or to an address other than their plan's."""
    wrong_token: int
    """Connections without the token, or with an unexpected number."""


class PacingRecord(Wire):
    """Lateness of messages that were due at an instant.

    Of a client: requests that do not wait for an earlier response; of a server: delayed responses.
    Absent when there was none.
    """

    kind: Literal["pacing"] = "pacing"
    due_ns: Times
    """The instants."""
    late_ns: Times
    """Lateness at each instant."""
    one_of: int = 1
    """Only one of this many instants is kept; 1 up to 262,144 instants."""


class ErrorRecord(Wire):
    """Why an agent or the switch ends early; nothing follows it."""

    kind: Literal["error"] = "error"
    message: str


class EndRecord(Wire):
    """An agent or the switch has written everything: the last record."""

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
    | SessionsRecord
    | SecondsRecord
    | ResponseTimesRecord
    | TransactionsRecord
    | TransactionErrorsRecord
    | StatisticsRecord
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
