"""The protocol between the controller of a real testbed and the agents in its hosts.

`crates/records/src/agent.rs` has the same types in Rust; both are tested against
`schema/examples/agent-*`. An agent reads a plan and commands, and writes records; each of these is
a line of JSON. Times are nanoseconds of CLOCK_MONOTONIC, which all processes of a machine share.
"""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address
from typing import Annotated, Final, Literal

from pydantic import Field, TypeAdapter

from netstudy.wire import Jitter, Load, NoJitter, Operation, Until
from netstudy.wire_model import Wire

AGENT_SCHEMA: Final = "netstudy/agent/3"
AGENT_RECORD_SCHEMA: Final = "netstudy/agent-record/3"

Address = IPv4Address | IPv6Address
Times = tuple[int, ...]
"""Nanoseconds, one value per iteration; points in time are given by CLOCK_MONOTONIC."""


class SocketOptions(Wire):
    """Options of an agent's connections; None: the kernel's default."""

    congestion_control: str | None = None
    """The kernel's name of the congestion control (TCP_CONGESTION)."""
    send_buffer_bytes: int | None = Field(default=None, gt=0)
    """SO_SNDBUF as passed to the kernel, which doubles it for its own bookkeeping: socket(7)."""
    receive_buffer_bytes: int | None = Field(default=None, gt=0)
    """SO_RCVBUF, likewise."""
    no_delay: bool = True
    """TCP_NODELAY: short writes do not wait for acknowledgments."""
    zero_copy: bool = False
    """The server sends responses without copying them into the kernel (sendfile(2)). This is
    cheaper if the interface computes checksums, and more expensive if the kernel has to."""
    dscp: int = Field(default=0, ge=0, le=63)
    """Differentiated services code point of the packets (IP_TOS, IPV6_TCLASS)."""


class InstrumentPlan(Wire):
    """The counters that an agent reads at intervals."""

    counters_interval_ms: int | None = Field(default=None, gt=0)
    """Time between two samples of the host's counters; None: counters are read only on command."""
    connections_interval_ms: int | None = Field(default=None, gt=0)
    """Time between two samples of TCP_INFO of each connection; None: it is not sampled."""
    interfaces: tuple[str, ...] = ()
    """Names of the host's interfaces to read."""
    looks_interval_ms: int | None = Field(
        default=None, gt=0, exclude_if=lambda asked: asked is None
    )
    """Time between two looks at each connection that sends, by which waits for timers are found
    (`WaitsRecord`) and readings taken (`ReadingsRecord`); None: there are no looks."""
    namespace_cpu: bool = Field(default=False, exclude_if=lambda asked: not asked)
    """Whether the CPU time of all processes in the host's network namespace is counted as well as
    the agent's own, as for a host where an application runs."""


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
    """The number that the peer gives this connection."""


class AcceptConnection(Wire):
    """A connection that the peer opens; the peer sends the number that this agent gives the
    connection."""

    kind: Literal["accept"] = "accept"
    local: Address
    """The address that the agent listens on."""
    peer: Address
    """The only address from which the connection is accepted."""


ConnectionPlan = Annotated[OpenConnection | AcceptConnection, Field(discriminator="kind")]


Direction = Literal["get", "put", "both"]
"""Direction of a transfer's payload: from the server to the client; from the client to the server,
whose application confirms the receipt; or both at once, each with the full size."""


class FixedSize(Wire):
    """Each transfer has a fixed size, the same in each direction that it has."""

    kind: Literal["fixed"] = "fixed"
    bytes: int = Field(gt=0)


class Stream(Wire):
    """A transfer has no fixed size: it carries as many bytes as it can until its phase ends."""

    kind: Literal["stream"] = "stream"


TransferSize = Annotated[FixedSize | Stream, Field(discriminator="kind")]


class ClosedLoop(Wire):
    """A request is sent when an earlier one has been answered."""

    kind: Literal["closed"] = "closed"
    outstanding: int = Field(default=1, gt=0)
    """Number of requests that a connection has in flight at a time."""
    think_ns: int = Field(default=0, ge=0)
    """Pause between a response and the request that follows it."""


class OpenLoop(Wire):
    """Each connection sends requests at a fixed interval, whether or not the last one was answered.

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
    """The number of this server among the servers, so that it draws the same delays as in the
    simulator."""
    seed: str
    """Seed of the run: 16 hexadecimal digits."""


class IncastClient(Wire):
    """Sends a request to every server at once, waits for all responses, and repeats this. It has a
    connection to each server."""

    kind: Literal["incast-client"] = "incast-client"
    request_bytes: int = Field(gt=0)
    response_bytes: tuple[Annotated[int, Field(gt=0)], ...] = Field(min_length=1)
    """Response size of each server, in the order of the connections."""
    iterations: int = Field(gt=0)
    """Number of iterations in the measuring phase."""
    warmup_iterations: int = Field(default=0, ge=0)
    request_spacing_ns: int = Field(default=0, ge=0)
    """Time between the request to one server and the request to the next."""


class TransferServer(Wire):
    """The server of transfers, to which `TransferClient` connects."""

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
    starts_ns: tuple[Annotated[int, Field(ge=0)], ...] = ()
    """Delay of the start of each connection; empty: all start together."""
    warmup: Until
    """A time, or a number of transfers; for a stream, a time, or 0 transfers."""
    measure: Until
    """A time, or at least one transfer; for a stream, a time."""


class MemoryStore(Wire):
    """Files are not stored: sent data are generated in memory, and received data are discarded."""

    kind: Literal["memory"] = "memory"


class FolderStore(Wire):
    """The data are read from or written to files in a folder."""

    kind: Literal["folder"] = "folder"
    folder: str
    """An existing folder."""
    place: Literal["ram", "cache", "disk"]
    """The medium of the folder and the use of the page cache: `ram` is a RAM disk; `cache` is a
    disk, with the file in the page cache; `disk` is a disk, and the file is dropped from the page
    cache before each transfer."""
    synced: bool = False
    """Whether a received file must be on the disk before its transfer counts as ended
    (fsync(2))."""


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
    """Size of the file that the server sends."""
    store: FileStore = MemoryStore()
    data_path: DataPath = "copying"
    login: FtpLogin | None = None
    """A user who may log in from any of the accepted addresses; None: only the agents of the run
    may log in, with the run's token."""
    verify: bool = True
    """Whether each received byte is verified."""


class FtpClient(Wire):
    """Fetches or sends a file by FTP, again and again, with one session for each connection."""

    kind: Literal["ftp-client"] = "ftp-client"
    direction: Literal["get", "put"]
    size_bytes: int = Field(gt=0)
    path: str = "data"
    """Name of the file at the server; when files are sent to the server, the number of the
    connection at the server is appended."""
    store: FileStore = MemoryStore()
    data_path: DataPath = "copying"
    login: FtpLogin | None = None
    """The user as whom the client logs in; None: it logs in as an agent of the run, with the run's
    token."""
    verify: bool = True
    """Whether each received byte is verified."""
    pause_ns: int = Field(default=0, ge=0)
    """Time from the end of a transfer to the start of the next one of the same session."""
    warmup: Until
    measure: Until


class RequestServer(Wire):
    """Answers each request as soon as the whole request has arrived."""

    kind: Literal["request-server"] = "request-server"
    request_bytes: int = Field(gt=0)
    response_bytes: int = Field(gt=0)
    writes: int = Field(default=1, gt=0)
    """Number of writes of a response."""


class RequestClient(Wire):
    """Sends requests and waits for their responses."""

    kind: Literal["request-client"] = "request-client"
    request_bytes: int = Field(gt=0)
    response_bytes: int = Field(gt=0)
    schedule: RequestSchedule
    warmup: Until
    measure: Until


class Deck(Wire):
    """The registered users of one generator, which it draws like cards from a deck."""

    first: int = Field(ge=0)
    """Number of the first user in the deck."""
    step: int = Field(gt=0)
    """Difference between the numbers of one user and the next: the number of generators."""
    users: int = Field(ge=0)


class TransactionClient(Wire):
    """A load generator: simulates users of an application over HTTP.

    The plan lists no connections for a generator, since it opens one for each of its users.
    """

    kind: Literal["transaction-client"] = "transaction-client"
    target: Endpoint
    """The endpoint that the application server listens on."""
    local: Address
    """Its own address."""
    host: str
    """The name of the application server in requests."""
    script: Literal["brokerage", "plain"]
    """Whether the generator knows the requests of each operation (`brokerage`), or the plan lists
    them (`plain`). Users of the brokerage log in before anything else."""
    mix: tuple[Operation, ...] = Field(min_length=1)
    load: Load
    """This generator's own users, or the time between its own submissions."""
    deck: Deck = Deck(first=0, step=1, users=0)
    """The registered users of the brokerage that this generator draws from."""
    quotes: int = Field(default=0, ge=0)
    """Number of stocks that the brokerage quotes."""
    page_images: int = Field(default=0, ge=0)
    """Number of images on each page of the brokerage; each is one more page element."""
    statistics_every_ns: int = Field(gt=0)
    """Time between two blocks of statistics."""
    request_timeout_ns: int = Field(gt=0)
    """A request that is not fully answered within this time is an error, and its connection is
    closed."""
    seed: str
    """Seed of the run: 16 hexadecimal digits. With the host's name, it gives the same random
    numbers as in the simulator."""
    number: int = Field(ge=0)
    """The number of this generator among the generators; it distinguishes the data that each
    generator creates in the application."""
    warmup: Until
    """A time; or a count of 0: no warm-up."""
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
"""Parses the task of an agent in the traffic of a run."""


class ProbeServer(Wire):
    """Answers the requests of a latency probe. The probe has connections of its own, which come
    last in the plan."""

    kind: Literal["server"] = "server"
    connections: int = Field(default=1, gt=0)
    """Number of the probe's connections."""
    request_bytes: int = Field(default=64, gt=0)
    response_bytes: int = Field(default=64, gt=0)


class ProbeClient(Wire):
    """Sends the requests of a latency probe, except between the phases."""

    kind: Literal["client"] = "client"
    connections: int = Field(default=1, gt=0)
    """Number of the probe's connections, which come last in the plan."""
    request_bytes: int = Field(default=64, gt=0)
    response_bytes: int = Field(default=64, gt=0)
    interval_ns: int = Field(default=10_000_000, gt=0)
    """Time between two requests of a connection."""
    idle_ns: int = Field(default=0, ge=0)
    """Length of the phase before the workload, with only the probe; 0: there is no such phase."""


ProbePlan = Annotated[ProbeServer | ProbeClient, Field(discriminator="kind")]


class AgentPlan(Wire):
    """The task of one agent: the first line on its standard input."""

    schema_: Literal["netstudy/agent/3"] = Field(default=AGENT_SCHEMA, alias="schema")
    run: str
    node: str
    token: str = Field(pattern="^[0-9a-fA-F]{32}$", repr=False)
    """A secret by which the agents of a run recognise each other. It is never shown."""
    time_limit_ms: int = Field(gt=0)
    """After this time the agent ends with an error, even in the middle of its work."""
    silence_limit_ms: int | None = Field(default=None, gt=0, lt=2**31)
    """How long all peers that still have data to send may be silent; None: up to the time limit.
    Servers ignore it."""
    progress_interval_ms: int | None = Field(default=None, gt=0, lt=2**31)
    """Time between two progress records of a client while it has traffic; None: the client writes
    none."""
    cpu: int | None = None
    """The CPU that the agent is pinned to; None: the kernel chooses."""
    socket: SocketOptions = SocketOptions()
    instruments: InstrumentPlan = InstrumentPlan()
    port: int = Field(default=0, ge=0, le=65_535)
    """Port to listen on, at each local address of the connections that the agent accepts; 0: one of
    `ports`."""
    ports: tuple[int, int] | None = Field(default=None, exclude_if=lambda ports: ports is None)
    """First and last port that the agent may listen on, data connections of FTP included, unless
    `port` is given; None: the kernel chooses ports."""
    connections: tuple[ConnectionPlan, ...]
    """The agent's connections, numbered from 0: first the workload's connections, then the probe's.
    Only observers have none."""
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
    schema_: Literal["netstudy/agent-record/3"] = Field(default=AGENT_RECORD_SCHEMA, alias="schema")
    version: str
    """The engine's version."""
    node: str
    pid: int
    """The process id in the agent's own pid namespace."""
    listening: tuple[Endpoint, ...]
    """The endpoints on which the agent listens: one for each local address of the connections that
    it accepts, in order."""


class ConnectionRecord(Wire):
    """A connection is open. Its options are given as the kernel reports them."""

    kind: Literal["connection"] = "connection"
    connection: int
    """Its number."""
    local: Endpoint
    peer: Endpoint
    congestion_control: str
    send_buffer_bytes: int
    """As the kernel reports it: twice the requested size."""
    receive_buffer_bytes: int
    no_delay: bool


PhaseName = Literal["idle", "warm-up", "measure"]
"""Phases of a client, in order. In the phase `idle` only the probe runs; this phase exists only if
the plan sets a time for it."""


class InTime(Wire):
    """How many bytes each connection of a client had carried when the time of a phase was over."""

    bytes_received: tuple[int, ...]
    """All verified."""
    bytes_acknowledged: tuple[int, ...] | None
    """Bytes acknowledged by the peer's TCP; None: the kernel does not report them (TCP_INFO)."""


class PhaseRecord(Wire):
    """A phase of a client has ended, and nothing is in flight.

    After the measuring phase the client waits for the command `stop`, after other phases for `go`.
    """

    kind: Literal["phase"] = "phase"
    name: PhaseName
    from_ns: int
    to_ns: int
    """For a measuring phase that ends after a time, the end of that time, even if something was
    still in flight."""
    quiet_ns: int
    """Time at which all traffic of the phase had arrived."""
    bytes_received: tuple[int, ...]
    """Bytes received on each connection until then, all of them verified."""
    bytes_sent: tuple[int, ...]
    """Bytes handed to the kernel on each connection until then."""
    in_time: InTime | None
    """Bytes that connections had carried at `to_ns`; None: the phase did not end after a time."""


class ProgressRecord(Wire):
    """Progress of a client, which also shows that the client is alive."""

    kind: Literal["progress"] = "progress"
    at_ns: int
    samples: int
    """How many iterations, transfers or requests of this phase have completed; the probe's requests
    do not count."""
    bytes: int
    """Bytes sent and received so far, over all phases and connections."""


class ConnectionCounters(Wire):
    """Counters of a connection since it was opened."""

    connection: int
    """Its number."""
    bytes_received: int
    """Bytes received by the application, all verified."""
    bytes_sent: int
    """Bytes that the application handed to the kernel."""
    tcp: dict[str, int]
    """Values from the kernel (TCP_INFO): srtt_us, rttvar_us, min_rtt_us, rto_us, cwnd_segments,
    ssthresh_segments, delivery_rate_bytes_per_s, unacked_segments, peer_window_bytes,
    retransmissions, timeouts, delivered_segments, and the payload tcp_bytes_sent (retransmissions
    included), tcp_bytes_acked and tcp_bytes_received; and the times busy_us, peer_window_us and
    own_buffer_us, which the kernel counts in jiffies. Values that the kernel does not report are
    absent: Linux before 6.7 has no timeouts, before 5.4 no peer_window_bytes, before 4.19 no
    tcp_bytes_sent. When a connection opens, both ends recognise
    each other by 36 bytes and a one-byte answer. TCP's counters include these bytes; the
    application's counters do not."""


class SnapshotRecord(Wire):
    """All counters of a host at one instant."""

    kind: Literal["snapshot"] = "snapshot"
    name: str
    """Name in the command."""
    at_ns: int
    counters: dict[str, int]
    """Values that only grow, by name."""
    gauges: dict[str, int]
    """Momentary values (gauges) of the host, by name."""
    missing: dict[str, str]
    """Name of each value that could not be read -> the reason."""
    connections: tuple[ConnectionCounters, ...]
    """The counters of all connections that the agent has opened or accepted."""
    cost_ns: int
    """Duration of the reading."""
    raw: dict[str, str]
    """File or command -> its text, byte for byte."""


class IterationsRecord(Wire):
    """Start and end of each iteration of the measuring phase."""

    kind: Literal["iterations"] = "iterations"
    started_ns: Times
    """When the first request of each iteration was due."""
    ended_ns: Times
    """When the last byte of each iteration arrived."""


class RequestsRecord(Wire):
    """Times of a client's requests to one server of an incast, in the measuring phase."""

    kind: Literal["requests"] = "requests"
    connection: int
    """Number of the connection to the server."""
    intended_ns: Times
    """When each request was due."""
    sent_ns: Times
    """When each request was handed to the kernel."""
    first_byte_ns: Times
    """When the client read the first bytes of each response."""
    done_ns: Times
    """When the client read the last byte of each response."""


class ServedRecord(Wire):
    """Requests that a server of an incast received, warm-up included."""

    kind: Literal["served"] = "served"
    requested_ns: Times
    """When the server read the last byte of each request."""
    begun_ns: Times
    """When the first bytes of each response were handed to the kernel."""
    answered_ns: Times
    """When the last byte of each response was handed to the kernel."""


class TransfersRecord(Wire):
    """Transfers of the measuring phase, in the order in which they ended."""

    kind: Literal["transfers"] = "transfers"
    connection: tuple[int, ...]
    bytes_received: tuple[int, ...]
    """Payload that the client received."""
    bytes_sent: tuple[int, ...]
    """Payload that the client sent."""
    started_ns: Times
    """When each transfer was due."""
    ended_ns: Times
    """When the last byte, or the confirmation, arrived; for a stream, the end of the phase's
    time."""
    first_byte_ns: Times | None = None
    """Only for files: when the first byte of the data arrived, or was sent."""


class SessionsRecord(Wire):
    """Log-ins of an FTP client's sessions, in the order in which they completed."""

    kind: Literal["sessions"] = "sessions"
    connection: tuple[int, ...]
    connect_ns: Times
    """Time until the control connection was open."""
    login_ns: Times
    """Time from then until the session was ready for transfers."""


class SecondsRecord(Wire):
    """Bytes that each connection of a client's workload carried in each second, from the start of
    its measuring phase until the time of the phase was over. If the phase does not end after a
    time, until the client was stopped. The last second may be incomplete. Of transfers and
    requests; absent if the kernel does not report acknowledged bytes."""

    kind: Literal["seconds"] = "seconds"
    connection: tuple[int, ...]
    start_ns: Times
    """Start of the second, counted from the start of the phase."""
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
    """For transactions, the thing that was timed: `page element`, `transaction`, or an
    operation."""
    latency: Literal["response", "service", "first-byte"] = "response"
    """`response`: from when the request was due to the last byte of the answer. `service`: from
    when it was sent to the last byte. `first-byte`: from when it was sent to the first byte."""
    phase: PhaseName
    """The phase in which the requests were due; for transactions, the phase in which they ended."""
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
    """A histogram with three significant digits (HdrHistogram): the upper bound of each class in
    nanoseconds, and the number of requests in the class. Empty classes are left out."""


class TransactionsRecord(Wire):
    """Operations of a generator in its measuring phase, one row per operation."""

    kind: Literal["transactions"] = "transactions"
    operation: tuple[str, ...]
    offered: tuple[int, ...]
    """Submissions that were due, or in flight when the phase began: the sum of the columns
    completed, network errors, server errors, not met and unfinished."""
    carried: tuple[int, ...]
    """Submissions in flight when the phase began."""
    not_met: tuple[int, ...]
    """Submissions that were not made because too many were in flight."""
    completed: tuple[int, ...]
    """Submissions that ended in the phase without an error."""
    unfinished: tuple[int, ...]
    """Submissions in flight when the phase ended."""
    page_elements: tuple[int, ...]
    """Successful HTTP answers."""
    network_errors: tuple[int, ...]
    """Submissions that failed because of their connection."""
    server_errors: tuple[int, ...]
    """Submissions that the application refused or answered with an error."""
    bytes_read: tuple[int, ...]
    """Headers included."""
    bytes_written: tuple[int, ...]
    """Headers included."""


class TransactionErrorsRecord(Wire):
    """Errors of a generator in its measuring phase, one row per operation and reason."""

    kind: Literal["transaction-errors"] = "transaction-errors"
    operation: tuple[str, ...]
    reason: tuple[str, ...]
    """`503`, `connection reset`, `timed out` and the like."""
    count: tuple[int, ...]


class StatisticsRecord(Wire):
    """Statistics of a generator at intervals, cumulative from the start of its measuring phase: the
    last row covers the whole phase."""

    kind: Literal["statistics"] = "statistics"
    at_ns: Times
    """Time since the phase began."""
    users: tuple[int, ...]
    page_elements: tuple[int, ...]
    """Successful HTTP answers."""
    transactions: tuple[int, ...]
    """Operations that ended without an error."""
    network_errors: tuple[int, ...]
    """Submissions that failed because of their connection."""
    server_errors: tuple[int, ...]
    """Submissions that the application refused or answered with an error."""
    bytes_read: tuple[int, ...]
    """Headers included."""
    bytes_written: tuple[int, ...]
    """Headers included."""
    response_sum_ns: tuple[int, ...]
    """Sum of the response times of all page elements."""
    not_met: tuple[int, ...]
    """Submissions that were due but not made."""
    starved_users: tuple[int, ...]
    """Users who wait for an answer and have had none since the phase began."""


class SamplesRecord(Wire):
    """Samples of the host, taken at intervals. Absent if the plan sets no interval."""

    kind: Literal["samples"] = "samples"
    at_ns: Times
    """Start of each sample."""
    late_ns: Times
    """Lateness of that start."""
    cost_ns: Times
    """Duration of the reading."""
    skipped: int
    """Samples that were skipped because an earlier one took too long."""
    values: dict[str, tuple[int | None, ...]]
    """Counters and gauges by name, with a value for each sample; None: the value could not be
    read."""


class ConnectionSeriesRecord(Wire):
    """TCP_INFO of a connection at intervals. Absent if the plan sets no interval."""

    kind: Literal["connection-series"] = "connection-series"
    connection: int
    at_ns: Times
    values: dict[str, tuple[int, ...]]
    """Name, as in ConnectionCounters.tcp -> a value for each sample."""


class ReadingsRecord(Wire):
    """Readings of a connection, and of the CPU time of the agent."""

    kind: Literal["readings"] = "readings"
    connection: int
    taken: Literal["before-responses", "at-last-bytes", "at-intervals"]
    """`before-responses`: by a server of an incast, before each response, and at the end.
    `at-last-bytes`: by its client, at the last byte of each response. `at-intervals`: by the looks;
    of many readings, every second one is left out, and again."""
    at_ns: Times
    cpu_ns: Times
    """CPU time of the agent until then, all its threads included."""
    waited_ns: Times | None
    """Time in which threads of the agent that carry traffic waited for a CPU until then; None: the
    kernel does not count it (CONFIG_SCHED_INFO)."""
    idle_ns: Times | None = Field(default=None, exclude_if=lambda told: told is None)
    """When the thread that carries traffic last had nothing to do before the reading; None: the
    readings were taken at intervals."""
    values: dict[str, tuple[int, ...]]
    """Name, as in ConnectionCounters.tcp -> a value for each reading."""


WaitEnd = Literal["timeout", "retransmission", "progress"]
"""The end of a wait of a sender: the retransmission timer; a retransmission without a timeout, that
is a tail loss probe or a loss that RACK found; an acknowledgment or new data."""


class WaitsRecord(Wire):
    """Times in which a connection had data outstanding, but at two looks or more had neither sent
    anything nor heard of an arrival: it waited for an acknowledgment or for a timer. One row per
    wait. The record is absent if the kernel does not report everything that is looked at (Linux
    before 6.7 counts no timeouts of a connection)."""

    kind: Literal["waits"] = "waits"
    connection: int
    before_ns: Times
    """The last look before the wait: the wait began later."""
    from_ns: Times
    """The first look at which nothing moved any more."""
    to_ns: Times
    """The last look at which still nothing had moved."""
    until_ns: Times
    """The look after the wait: the wait ended earlier."""
    round_trip_ns: Times
    """The longest usual round trip at the time: the smoothed one plus four deviations (RFC 6298,
    2.3). An acknowledgment may have been under way for so long; a longer wait was one for a
    timer."""
    ended: tuple[WaitEnd, ...]


class RefusedRecord(Wire):
    """Number of connections that a listening agent refused: it closed them at once."""

    kind: Literal["refused"] = "refused"
    wrong_address: int
    """Connections from or to an address that the plan does not list for them."""
    wrong_token: int
    """Connections without the token, or with an unexpected number."""


class PacingRecord(Wire):
    """Lateness of messages that had a due time.

    For a client, these are requests that do not wait for an earlier response; for a server, delayed
    responses. Absent if there were none.
    """

    kind: Literal["pacing"] = "pacing"
    due_ns: Times
    """When each message was due."""
    late_ns: Times
    """Lateness of each message."""
    one_of: int = 1
    """Only one of this many messages is recorded; 1 (all are recorded) for up to 262,144
    messages."""


class ErrorRecord(Wire):
    """Why an agent or the switch ends early; no record follows this one."""

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
    | ReadingsRecord
    | WaitsRecord
    | RefusedRecord
    | PacingRecord
    | ErrorRecord
    | EndRecord,
    Field(discriminator="kind"),
]

AGENT_RECORD: Final[TypeAdapter[AgentRecord]] = TypeAdapter(AgentRecord)
"""Parses a line of an agent's output."""
COMMAND: Final[TypeAdapter[Command]] = TypeAdapter(Command)
"""Parses a command, as an agent does."""
