//! Messages between the controller of a real testbed and the agents in its hosts. An agent reads a
//! plan and then commands, and writes records. Each message is a line of JSON.
//!
//! `python/netstudy/testbed/real/wire.py` defines the same messages; both definitions are tested
//! against `schema/examples/agent-*`. Times are nanoseconds of `CLOCK_MONOTONIC`, which all
//! processes of a machine share.

use std::collections::BTreeMap;
use std::fmt;
use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use crate::{DataPath, Direction, Jitter, Latency, Load, Operation, PhaseKind, Until, spans};

/// The schema of the plan that an agent reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum AgentSchema {
    /// Any workload, several connections, phases, a range of ports.
    #[serde(rename = "netstudy/agent/3")]
    V3,
}

/// The schema of the records that an agent writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum AgentRecordSchema {
    /// Samples by kind, bytes of each connection, series. Whatever the kernel does not report is
    /// absent.
    #[serde(rename = "netstudy/agent-record/3")]
    V3,
}

/// Bytes that a client transferred on each connection before the time of a phase was over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InTime {
    /// Bytes received, each of them verified.
    pub bytes_received: Vec<u64>,
    /// Bytes sent that the peer's TCP had acknowledged; none: the kernel does not report them
    /// (`TCP_INFO`).
    pub bytes_acknowledged: Option<Vec<u64>>,
}

/// The task of one agent: the first line on its standard input.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AgentPlan {
    /// Version of this contract.
    pub schema: AgentSchema,
    /// Identifier of the run.
    pub run: String,
    /// Name of the host.
    pub node: String,
    /// A secret that all agents of a run know, and by which they identify each other.
    pub token: Token,
    /// After this time the agent ends with an error, whatever it is doing.
    pub time_limit_ms: u64,
    /// If the agent waits for data and all peers that owe data are silent for longer than this, it
    /// ends with an error. None: only the time limit ends the agent. Servers ignore this limit.
    pub silence_limit_ms: Option<u32>,
    /// Time between two progress records, which a client writes while its traffic runs; none: it
    /// writes no such records.
    pub progress_interval_ms: Option<u32>,
    /// CPU that the agent is pinned to; none: the kernel chooses.
    pub cpu: Option<u32>,
    /// Options of the agent's connections.
    pub socket: SocketOptions,
    /// What is read from the host and its connections during the run.
    pub instruments: InstrumentPlan,
    /// The port at which the agent listens, on each local address of connections that it accepts.
    /// 0: a port of `ports`.
    pub port: u16,
    /// First and last port at which the agent may listen, for connections of the plan and for data
    /// connections of FTP, as long as no single port is asked for. None: the kernel chooses a port.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ports: Option<(u16, u16)>,
    /// The agent's connections, numbered from 0: first those of the workload, then those of the
    /// probe. Only observers have none.
    pub connections: Vec<ConnectionPlan>,
    /// The agent's role in the traffic.
    pub workload: AgentWorkload,
    /// The agent's role in the latency probe, which runs at the same time as the workload; none:
    /// there is no probe.
    pub probe: Option<ProbePlan>,
}

/// A secret of one run: 32 hexadecimal digits. It is never shown.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String")]
pub struct Token(String);

impl Token {
    /// Hexadecimal digits of a token.
    pub const LENGTH: usize = 32;

    /// The digits.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

impl TryFrom<String> for Token {
    type Error = &'static str;

    fn try_from(digits: String) -> Result<Self, Self::Error> {
        // The error message must not contain the token.
        let is_token =
            digits.len() == Self::LENGTH && digits.bytes().all(|b| b.is_ascii_hexdigit());
        is_token.then_some(Self(digits)).ok_or("a token is 32 hexadecimal digits")
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(…)")
    }
}

/// Options of a TCP socket. An option that is none has the kernel's default.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SocketOptions {
    /// The kernel's name of the congestion control (`TCP_CONGESTION`).
    pub congestion_control: Option<String>,
    /// The value of `SO_SNDBUF` that is passed to the kernel. The kernel doubles it to have room
    /// for bookkeeping: socket(7).
    pub send_buffer_bytes: Option<u32>,
    /// The value of `SO_RCVBUF`, which the kernel doubles too.
    pub receive_buffer_bytes: Option<u32>,
    /// `TCP_NODELAY`: short writes do not wait for acknowledgments.
    pub no_delay: bool,
    /// Responses are sent without copying data from the server to the kernel (sendfile(2)). This
    /// saves CPU time if the interface computes checksums, but costs CPU time if the kernel must
    /// compute them.
    #[serde(default)]
    pub zero_copy: bool,
    /// Differentiated services code point of the packets that are sent, 0 to 63 (RFC 2474), which
    /// the kernel gets as the upper six bits of `IP_TOS` or `IPV6_TCLASS`.
    #[serde(default)]
    pub dscp: u8,
}

/// What is read at intervals.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InstrumentPlan {
    /// Time between two samples of the host's counters; none: counters are only read on command.
    pub counters_interval_ms: Option<u64>,
    /// Time between two samples of `TCP_INFO` of each connection; none: no series.
    pub connections_interval_ms: Option<u64>,
    /// Network interfaces of the host.
    pub interfaces: Vec<String>,
    /// Time between two looks at each connection that sends, by which waits for timers are found
    /// and [`AgentRecord::Readings`] taken; none: there are no looks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub looks_interval_ms: Option<u64>,
    /// Also count the CPU time of all processes in the host's network namespace: its applications
    /// and the agent.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub namespace_cpu: bool,
}

/// A connection of an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum ConnectionPlan {
    /// The agent opens it.
    Open {
        /// The agent's address.
        local: IpAddr,
        /// Address and port at which the peer listens.
        peer: Endpoint,
        /// The number of this connection at the peer.
        peer_number: u32,
    },
    /// The peer opens it, and sends the number that the connection has at this agent.
    Accept {
        /// The address at which the agent listens for it.
        local: IpAddr,
        /// The only address from which the agent accepts it.
        peer: IpAddr,
    },
}

/// Size of a transfer, in each direction that has data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum TransferSize {
    /// A fixed number of bytes.
    Fixed {
        /// Number of bytes.
        bytes: u64,
    },
    /// As many bytes as possible within the time of the phase.
    Stream,
}

/// Where the data of a file come from or go to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum FileStore {
    /// The data are generated in memory, or discarded on receipt.
    Memory,
    /// The data are in a file.
    Folder {
        /// The folder of the file, which exists already.
        folder: String,
        /// The medium of the folder, and whether files are in the page cache.
        place: FilePlace,
        /// Whether a received file is flushed to the disk before its transfer ends (fsync(2)).
        synced: bool,
    },
}

/// The place of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FilePlace {
    /// On a RAM disk.
    Ram,
    /// On a disk, and in the page cache.
    Cache,
    /// On a disk. Before each transfer, the file is evicted from the page cache.
    Disk,
}

/// A user of an FTP server.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FtpLogin {
    /// The user's name.
    pub user: String,
    /// The user's password, which is never shown.
    pub password: String,
}

impl fmt::Debug for FtpLogin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FtpLogin({}, …)", self.user)
    }
}

/// The role of an agent in the traffic of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum AgentWorkload {
    /// Answers the requests of one client.
    IncastServer {
        /// Size of a request.
        request_bytes: u64,
        /// Size of the response to each request.
        response_bytes: u64,
        /// Delay between the receipt of a request and the first byte of the response.
        start_jitter: Jitter,
        /// The server's number, from 1. In the simulator, the server with the same number draws the
        /// same random delays.
        number: u32,
        /// Seed of the run: 16 hexadecimal digits.
        seed: String,
    },
    /// Sends a request to every server at once, waits for all responses, and repeats. One
    /// connection for each server.
    IncastClient {
        /// Size of a request.
        request_bytes: u64,
        /// Size of the response of each server.
        response_bytes: Vec<u64>,
        /// Iterations of the measuring phase.
        iterations: u32,
        /// Iterations of the warm-up.
        warmup_iterations: u32,
        /// Time between the request to one server and that to the next.
        #[serde(deserialize_with = "spans::ns")]
        request_spacing_ns: u64,
    },
    /// The server of a transfer workload.
    TransferServer {
        /// Direction of the data.
        direction: Direction,
        /// Size of each transfer.
        size: TransferSize,
        /// Size of a request, and of a confirmation.
        request_bytes: u64,
    },
    /// Makes transfers on each of its connections, one after the other.
    TransferClient {
        /// Direction of the data.
        direction: Direction,
        /// Size of each transfer.
        size: TransferSize,
        /// Size of a request, and of a confirmation.
        request_bytes: u64,
        /// Time from the end of a transfer to the start of the next one on the same connection.
        #[serde(deserialize_with = "spans::ns")]
        pause_ns: u64,
        /// Delay of the start of each connection; empty: all start together.
        #[serde(default, deserialize_with = "spans::all_ns")]
        starts_ns: Vec<u64>,
        /// How long the warm-up lasts.
        warmup: Until,
        /// How long the measuring phase lasts.
        measure: Until,
    },
    /// Sends a file by FTP to its clients, or takes files from them.
    FtpServer {
        /// Direction of the files: `get` or `put`.
        direction: Direction,
        /// Size of the file that it sends.
        size_bytes: u64,
        /// Source or destination of the data.
        store: FileStore,
        /// How it sends a file from a folder.
        data_path: DataPath,
        /// A user who may log in from any of the accepted addresses; each log-in gets the next
        /// connection number. None: only agents of this run may log in, with the run's token.
        login: Option<FtpLogin>,
        /// Whether each byte that it receives is verified.
        verify: bool,
    },
    /// Repeatedly fetches or sends a file by FTP; each connection is a session.
    FtpClient {
        /// Direction of the files: `get` or `put`.
        direction: Direction,
        /// Size of the file.
        size_bytes: u64,
        /// Path of the file at the server. For a put, the connection's number is appended to it.
        path: String,
        /// Source or destination of the data.
        store: FileStore,
        /// How it sends a file from a folder.
        data_path: DataPath,
        /// The user and password with which it logs in; none: it logs in as an agent of this run,
        /// with the run's token.
        login: Option<FtpLogin>,
        /// Whether each byte that it receives is verified.
        verify: bool,
        /// Time from the end of a transfer to the start of the next one of the same session.
        #[serde(deserialize_with = "spans::ns")]
        pause_ns: u64,
        /// How long the warm-up lasts.
        warmup: Until,
        /// How long the measuring phase lasts.
        measure: Until,
    },
    /// Answers each complete request at once.
    RequestServer {
        /// Size of a request.
        request_bytes: u64,
        /// Size of a response.
        response_bytes: u64,
        /// Number of writes in which the server hands a response to the kernel.
        writes: u32,
    },
    /// Sends requests and waits for their responses.
    RequestClient {
        /// Size of a request.
        request_bytes: u64,
        /// Size of a response.
        response_bytes: u64,
        /// When requests are sent.
        schedule: RequestSchedule,
        /// How long the warm-up lasts.
        warmup: Until,
        /// How long the measuring phase lasts.
        measure: Until,
    },
    /// Users of an application over HTTP: one of the load generators.
    TransactionClient(Box<TransactionClient>),
    /// Reads the counters of a host or an interface without traffic. It has no connections.
    Observer,
}

/// A load generator: users of an application over HTTP. Its connections are not listed in the plan;
/// it opens one for each of its users.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TransactionClient {
    /// Address and port of the application server.
    pub target: Endpoint,
    /// Its own address.
    pub local: IpAddr,
    /// The name of the application server in requests (HTTP `Host`).
    pub host: String,
    /// Who knows the requests of each operation.
    pub script: TransactionScript,
    /// The operations, and the share of each.
    pub mix: Vec<Operation>,
    /// The load that this generator creates: its users, or the time between its submissions.
    pub load: Load,
    /// The registered users of the brokerage that this generator logs in.
    pub deck: Deck,
    /// Quoted stocks of the brokerage.
    pub quotes: u32,
    /// How many page elements a page of the brokerage has in addition to the page itself.
    pub page_images: u32,
    /// Time between two rows of statistics.
    #[serde(deserialize_with = "spans::ns")]
    pub statistics_every_ns: u64,
    /// If a request has no complete answer after this time, it counts as an error, and the
    /// connection is closed.
    #[serde(deserialize_with = "spans::ns")]
    pub request_timeout_ns: u64,
    /// Seed of the run, 16 hexadecimal digits. The generator combines it with the name of the host,
    /// and then draws the same random numbers as in the simulator.
    pub seed: String,
    /// The generator's number, from 0. It is part of the names of objects that this generator
    /// creates in the application, so that they differ from those of other generators.
    pub number: u32,
    /// Duration of the warm-up: a time, or a count of 0 for no warm-up.
    pub warmup: Until,
    /// Duration of the measuring phase: a time.
    pub measure: Until,
}

/// When readings of a connection were taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Taken {
    /// By a server: before each response, and at the end.
    BeforeResponses,
    /// By a client: at the last byte of each response.
    AtLastBytes,
    /// At an interval. Of many readings, every second one is left out, and again.
    AtIntervals,
}

/// The end of a wait of a sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WaitEnd {
    /// The retransmission timer fired.
    Timeout,
    /// A segment was retransmitted without a timeout: a tail loss probe, or a loss that RACK found.
    Retransmission,
    /// An acknowledgment arrived, or new data were sent.
    Progress,
}

/// Who knows the requests of each operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TransactionScript {
    /// The generator itself knows the requests of the brokerage. Users log in first.
    Brokerage,
    /// The plan lists the requests.
    Plain,
}

/// The registered users that one generator logs in, in random order like cards from a deck.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Deck {
    /// Number of its first user.
    pub first: u32,
    /// Difference between the numbers of successive users in the deck. It is the number of
    /// generators.
    pub step: u32,
    /// Number of users in the deck.
    pub users: u32,
}

/// When a connection's requests are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum RequestSchedule {
    /// A new request is sent when an earlier one has been answered (closed loop).
    Closed {
        /// Number of requests outstanding at the same time.
        outstanding: u32,
        /// Time from a response to the request that replaces it.
        #[serde(deserialize_with = "spans::ns")]
        think_ns: u64,
    },
    /// Requests are sent at an interval, whether or not the previous one has been answered (open
    /// loop). A response time is counted from when the request was due.
    Every {
        /// The interval.
        #[serde(deserialize_with = "spans::ns")]
        interval_ns: u64,
    },
}

/// The role of an agent in the latency probe, which sends small requests at an interval. The probe
/// has separate connections, the last ones in the plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum ProbePlan {
    /// Answers each complete request at once.
    Server {
        /// Number of connections of the probe.
        connections: u32,
        /// Size of a request.
        request_bytes: u64,
        /// Size of a response.
        response_bytes: u64,
    },
    /// Sends the requests, except between phases.
    Client {
        /// Number of connections of the probe.
        connections: u32,
        /// Size of a request.
        request_bytes: u64,
        /// Size of a response.
        response_bytes: u64,
        /// Time between two requests on the same connection.
        #[serde(deserialize_with = "spans::ns")]
        interval_ns: u64,
        /// Duration of the idle phase, in which only the probe runs. It comes before the workload.
        /// 0: no idle phase.
        #[serde(deserialize_with = "spans::ns")]
        idle_ns: u64,
    },
}

/// Address and port at which a server listens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Endpoint {
    /// The server's address.
    pub address: IpAddr,
    /// The server's port.
    pub port: u16,
}

/// Commands that the controller sends to a process of the testbed after the plan, one per line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "command", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Command {
    /// Read all counters now.
    Snapshot {
        /// The name of the record to write.
        name: String,
    },
    /// Begin the next phase: after the idle phase the workload, after the warm-up the measuring
    /// phase.
    Go,
    /// Write the remaining records and exit.
    Stop,
}

/// One line of an agent's output.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum AgentRecord {
    /// The agent is ready: the first record.
    Ready {
        /// Version of this contract.
        schema: AgentRecordSchema,
        /// Version of the engine.
        version: String,
        /// Name of the host.
        node: String,
        /// Process id of the agent, in its own pid namespace.
        pid: u32,
        /// Addresses and ports at which the agent listens: one for each local address of the
        /// connections that it accepts, in the order of the plan.
        listening: Vec<Endpoint>,
    },
    /// A connection has been opened; its options, as the kernel reports them.
    Connection {
        /// Its number.
        connection: u32,
        /// This end.
        local: Endpoint,
        /// The other end.
        peer: Endpoint,
        /// Congestion control in use.
        congestion_control: String,
        /// Size of the send buffer with room for bookkeeping: twice the requested size.
        send_buffer_bytes: u64,
        /// Size of the receive buffer, also twice the requested size.
        receive_buffer_bytes: u64,
        /// Whether short writes are sent at once.
        no_delay: bool,
    },
    /// A phase of a client has ended, and nothing is in flight any more. The phases are
    /// [`PhaseKind::Idle`] (if the plan has an idle phase), [`PhaseKind::WarmUp`] and
    /// [`PhaseKind::Measure`]. After [`PhaseKind::Measure`] the client waits for [`Command::Stop`],
    /// after the others for [`Command::Go`].
    Phase {
        /// The phase.
        name: PhaseKind,
        /// When the phase began.
        from_ns: u64,
        /// When the phase ended. A measuring phase with a fixed duration ends after this duration,
        /// even if data are still in flight.
        to_ns: u64,
        /// When the last data of the phase had arrived.
        quiet_ns: u64,
        /// Bytes received and verified on each connection, until `quiet_ns`.
        bytes_received: Vec<u64>,
        /// Bytes handed to the kernel on each connection until `quiet_ns`.
        bytes_sent: Vec<u64>,
        /// Bytes transferred on each connection until `to_ns`; none: the phase has no fixed
        /// duration.
        in_time: Option<InTime>,
    },
    /// Progress of a client.
    Progress {
        /// When.
        at_ns: u64,
        /// How many iterations, transfers or requests of the workload have ended in this phase.
        /// Requests of the probe are not included.
        samples: u64,
        /// Bytes sent and received so far, in all phases and on all connections together.
        bytes: u64,
    },
    /// Counters of the host.
    Snapshot(Snapshot),
    /// Start and end of each iteration of the measuring phase.
    Iterations {
        /// When the first request of each iteration was due.
        started_ns: Vec<u64>,
        /// When the last byte had arrived.
        ended_ns: Vec<u64>,
    },
    /// Requests that the client of an incast sent to one server in the measuring phase.
    Requests {
        /// Number of the server's connection.
        connection: u32,
        /// When each request was due.
        intended_ns: Vec<u64>,
        /// When each request was handed to the kernel.
        sent_ns: Vec<u64>,
        /// When the first bytes of the response were read.
        first_byte_ns: Vec<u64>,
        /// When the last byte of the response was read.
        done_ns: Vec<u64>,
    },
    /// Requests that a server of an incast received, warm-up included.
    Served {
        /// When the last byte of each request was read.
        requested_ns: Vec<u64>,
        /// When the first bytes of the response were handed to the kernel.
        begun_ns: Vec<u64>,
        /// When the last byte of the response was handed to the kernel.
        answered_ns: Vec<u64>,
    },
    /// Transfers of the measuring phase, in the order in which they ended.
    Transfers {
        /// Connection of each transfer.
        connection: Vec<u32>,
        /// Payload that the client received.
        bytes_received: Vec<u64>,
        /// Payload that it sent.
        bytes_sent: Vec<u64>,
        /// When each transfer was due.
        started_ns: Vec<u64>,
        /// When the last byte of the transfer had arrived or was confirmed. For a stream: when the
        /// time of the phase was over.
        ended_ns: Vec<u64>,
        /// For files: when the first data byte arrived or was sent.
        #[serde(default)]
        first_byte_ns: Option<Vec<u64>>,
    },
    /// Log-ins of an FTP client's sessions, in the order in which they were completed.
    Sessions {
        /// Connection of each session.
        connection: Vec<u32>,
        /// Time until the control connection was open.
        connect_ns: Vec<u64>,
        /// Time from then until the session was ready for transfers.
        login_ns: Vec<u64>,
    },
    /// Bytes that each connection of the workload carried in each second, from the start of the
    /// client's measuring phase until the agent was stopped. Only clients of transfers and requests
    /// write this record. It is absent if the kernel does not report acknowledged bytes.
    Seconds {
        /// Connection of each row.
        connection: Vec<u32>,
        /// Start of the second, from the start of the phase.
        start_ns: Vec<u64>,
        /// Bytes that the client received, each of them verified.
        bytes_received: Vec<u64>,
        /// Bytes that the client sent and the server's TCP acknowledged (`tcpi_bytes_acked`).
        bytes_sent: Vec<u64>,
    },
    /// Times of the requests of one phase.
    ResponseTimes {
        /// Whether the requests belong to the workload or to the probe.
        of: RequestsOf,
        /// For transactions: `page element`, `transaction`, or an operation.
        #[serde(default)]
        operation: Option<String>,
        /// From when to when each time is measured.
        #[serde(default)]
        latency: Latency,
        /// The phase in which the requests were due. For transactions: the phase in which they
        /// ended.
        phase: PhaseKind,
        /// Number of requests answered in the phase.
        count: u64,
        /// Number of requests that had no answer when the time of the phase was over.
        unanswered: u64,
        /// The shortest time; none: no request.
        min_ns: Option<u64>,
        /// The longest time; none: no request.
        max_ns: Option<u64>,
        /// The sum of all times.
        sum_ns: u64,
        /// A histogram with three significant digits (`HdrHistogram`): pairs of the upper bound of
        /// a class in nanoseconds and the number of requests in this class. Empty classes are
        /// omitted.
        histogram: Vec<(u64, u64)>,
    },
    /// Operations of a generator in its measuring phase. The columns are those of
    /// [`TransactionSamples`](crate::TransactionSamples).
    Transactions {
        /// The operation.
        operation: Vec<String>,
        /// Submissions that were due in the phase or in progress when it began: the sum of
        /// completed, network errors, server errors, not met and unfinished.
        offered: Vec<u64>,
        /// Submissions in progress when the phase began.
        carried: Vec<u64>,
        /// Submissions not started because too many were in progress.
        not_met: Vec<u64>,
        /// Submissions that ended in the phase without an error.
        completed: Vec<u64>,
        /// Submissions in progress when the phase ended.
        unfinished: Vec<u64>,
        /// HTTP responses with a success status.
        page_elements: Vec<u64>,
        /// Submissions that failed because of an error of the connection.
        network_errors: Vec<u64>,
        /// Submissions that the application rejected or failed to process.
        server_errors: Vec<u64>,
        /// Bytes read, headers included.
        bytes_read: Vec<u64>,
        /// Bytes written, headers included.
        bytes_written: Vec<u64>,
    },
    /// Errors of a generator in its measuring phase, by reason.
    TransactionErrors {
        /// The operation.
        operation: Vec<String>,
        /// `503`, `connection reset`, `timed out` and the like.
        reason: Vec<String>,
        /// Number of these errors.
        count: Vec<u64>,
    },
    /// Statistics of a generator at intervals, counted from the start of its measuring phase. The
    /// columns are those of [`StatisticsSamples`](crate::StatisticsSamples). The last row covers
    /// the whole phase.
    Statistics {
        /// Time since the phase began.
        at_ns: Vec<u64>,
        /// Users of the generator.
        users: Vec<u64>,
        /// HTTP responses with a success status.
        page_elements: Vec<u64>,
        /// Operations that ended without an error.
        transactions: Vec<u64>,
        /// Submissions that failed because of an error of the connection.
        network_errors: Vec<u64>,
        /// Submissions that the application rejected or failed to process.
        server_errors: Vec<u64>,
        /// Bytes read, headers included.
        bytes_read: Vec<u64>,
        /// Bytes written, headers included.
        bytes_written: Vec<u64>,
        /// Sum of the response times of all page elements.
        response_sum_ns: Vec<u64>,
        /// Submissions that were due but not started.
        not_met: Vec<u64>,
        /// Users who wait for an answer and have had none since the phase began.
        starved_users: Vec<u64>,
    },
    /// Samples of the host's counters, taken at an interval. This record is absent if the plan has
    /// no interval.
    Samples {
        /// When each sample started.
        at_ns: Vec<u64>,
        /// How late each sample started.
        late_ns: Vec<u64>,
        /// Time that the reading took.
        cost_ns: Vec<u64>,
        /// Samples skipped because the previous one took longer than the interval.
        skipped: u64,
        /// Counters and gauges by name, one value per sample; none: the value could not be read.
        values: BTreeMap<String, Vec<Option<u64>>>,
    },
    /// Samples of the kernel's `TCP_INFO` of a connection, taken at an interval. This record is
    /// absent if the plan has no interval. Values that the kernel does not report are absent.
    ConnectionSeries {
        /// Its number.
        connection: u32,
        /// When each sample was taken.
        at_ns: Vec<u64>,
        /// Values by name, one per sample. The names are those of [`ConnectionCounters::tcp`].
        values: BTreeMap<String, Vec<u64>>,
    },
    /// Readings of a connection, and of the CPU time of the agent.
    Readings {
        /// Its number.
        connection: u32,
        /// When they were taken.
        taken: Taken,
        /// The times.
        at_ns: Vec<u64>,
        /// CPU time of the agent until then, all its threads included.
        cpu_ns: Vec<u64>,
        /// Time in which threads of the agent that carry traffic waited for a CPU until then; none:
        /// the kernel does not count it (`CONFIG_SCHED_INFO`).
        waited_ns: Option<Vec<u64>>,
        /// When the thread that carries traffic last had nothing to do before the reading; none:
        /// the readings were taken at intervals.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        idle_ns: Option<Vec<u64>>,
        /// Values by name, one per reading. They have the names of [`ConnectionCounters::tcp`]. Values
        /// that the kernel does not report are absent.
        values: BTreeMap<String, Vec<u64>>,
    },
    /// Times in which a connection had data outstanding, but at two looks or more had neither sent
    /// anything nor heard of an arrival: it waited for an acknowledgment or for a timer. One row per
    /// wait. This record is absent if the kernel does not report all that is looked at (Linux before
    /// 6.7 counts no timeouts of a connection).
    Waits {
        /// Its number.
        connection: u32,
        /// The last look before the wait: the wait began later.
        before_ns: Vec<u64>,
        /// The first look at which nothing moved any more.
        from_ns: Vec<u64>,
        /// The last look at which still nothing had moved.
        to_ns: Vec<u64>,
        /// The look after the wait: the wait ended earlier.
        until_ns: Vec<u64>,
        /// The longest usual round trip at the time: the smoothed one plus four deviations
        /// (RFC 6298, 2.3). An acknowledgment may have been under way for so long; a longer wait was
        /// one for a timer.
        round_trip_ns: Vec<u64>,
        /// The ends of the waits.
        ended: Vec<WaitEnd>,
    },
    /// Incoming connections that the agent rejected.
    Refused {
        /// Connections from, or to, an address that is not in the plan.
        wrong_address: u64,
        /// Connections with a wrong token, with a wrong connection number, or with a greeting that
        /// came too late, and connections in excess of the plan.
        wrong_token: u64,
    },
    /// How late timed messages were sent. Timed messages are requests that do not wait for a
    /// response, and delayed responses of a server. This record is absent if there were no timed
    /// messages.
    Pacing {
        /// When each message was due.
        due_ns: Vec<u64>,
        /// How late each message was sent.
        late_ns: Vec<u64>,
        /// Only every `one_of`-th message is kept. With up to 262,144 messages it is 1: all are
        /// kept.
        one_of: u64,
    },
    /// Why the agent ends early. This is then the last record.
    Error {
        /// The error, with the peer that it concerns.
        message: String,
    },
    /// The agent has written all records: the last record.
    End,
}

/// Whose requests the response times are of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RequestsOf {
    /// The workload's.
    Workload,
    /// The latency probe's.
    Probe,
}

/// All counters of a host at one instant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Snapshot {
    /// The name given by the command.
    pub name: String,
    /// When.
    pub at_ns: u64,
    /// Counters by name.
    pub counters: BTreeMap<String, u64>,
    /// Gauges of the host, by name.
    pub gauges: BTreeMap<String, u64>,
    /// Sources that could not be read, with the reason.
    pub missing: BTreeMap<String, String>,
    /// The open connections of the agent.
    pub connections: Vec<ConnectionCounters>,
    /// Time that the reading took.
    pub cost_ns: u64,
    /// The unchanged output of the kernel, by file or query.
    pub raw: BTreeMap<String, String>,
}

/// Counters of a connection since it was opened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConnectionCounters {
    /// Its number.
    pub connection: u32,
    /// Bytes that the application received, each of them verified.
    pub bytes_received: u64,
    /// Bytes that the application handed to the kernel.
    pub bytes_sent: u64,
    /// The kernel's `TCP_INFO`, by name: `srtt_us`, `rttvar_us`, `min_rtt_us`, `rto_us`,
    /// `cwnd_segments`, `ssthresh_segments`, `delivery_rate_bytes_per_s`, `retransmissions`,
    /// `timeouts`, and the payload `tcp_bytes_sent` (retransmissions included), `tcp_bytes_acked`
    /// and `tcp_bytes_received`. TCP's bytes include the greeting of a connection (36 bytes) and
    /// the answer to it (1 byte); the application's bytes do not. Values that the kernel does not
    /// report are absent: Linux before 6.7 has no `timeouts`, before 5.4 no `peer_window_bytes`,
    /// before 4.19 no `tcp_bytes_sent`.
    pub tcp: BTreeMap<String, u64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example(name: &str) -> String {
        let path = format!("{}/../../schema/examples/{name}", env!("CARGO_MANIFEST_DIR"));
        std::fs::read_to_string(path).expect("the example is there")
    }

    /// Checks that an example is the same after reading and writing.
    fn assert_same<T: Serialize + for<'a> Deserialize<'a>>(text: &str) -> T {
        let value: T = serde_json::from_str(text).expect("the example is of the contract");
        let again = serde_json::to_value(&value).expect("it is JSON");
        assert_eq!(again, serde_json::from_str::<serde_json::Value>(text).expect("it is JSON"));
        value
    }

    #[test]
    fn the_example_plans_are_plans() {
        let client: AgentPlan = assert_same(&example("agent-client.json"));
        assert!(matches!(client.workload, AgentWorkload::IncastClient { .. }));
        let server: AgentPlan = assert_same(&example("agent-server.json"));
        assert!(matches!(server.workload, AgentWorkload::IncastServer { .. }));
        assert_eq!(client.token, server.token);
    }

    #[test]
    fn the_example_workloads_hold_one_of_each_kind() {
        let text = example("agent-workloads.jsonl");
        let workloads: Vec<AgentWorkload> = text.lines().map(assert_same).collect();
        let kinds: std::collections::HashSet<_> =
            workloads.iter().map(std::mem::discriminant).collect();
        assert_eq!(kinds.len(), 10);
    }

    #[test]
    fn the_example_records_hold_one_of_each_kind() {
        let text = example("agent-records.jsonl");
        let records: Vec<AgentRecord> = text.lines().map(assert_same).collect();
        let kinds: std::collections::HashSet<_> =
            records.iter().map(std::mem::discriminant).collect();
        assert_eq!(kinds.len(), 23);
    }

    #[test]
    fn the_example_commands_are_commands() {
        let commands: Vec<Command> =
            example("agent-commands.jsonl").lines().map(assert_same).collect();
        let snapshot = Command::Snapshot { name: "measure-start".to_owned() };
        assert_eq!(commands, [snapshot, Command::Go, Command::Stop]);
    }

    #[test]
    fn an_unknown_field_is_refused_at_every_level() {
        for (from, to) in [
            ("\"run\":", "\"extra\": 1, \"run\":"),
            ("\"no_delay\":", "\"extra\": 1, \"no_delay\":"),
            ("\"interfaces\":", "\"extra\": 1, \"interfaces\":"),
            ("\"request_bytes\":", "\"extra\": 1, \"request_bytes\":"),
        ] {
            let text = example("agent-server.json").replacen(from, to, 1);
            let error = serde_json::from_str::<AgentPlan>(&text).expect_err("it is refused");
            assert!(error.to_string().contains("unknown field `extra`"), "{error}");
        }
    }

    #[test]
    fn a_token_is_neither_shown_nor_repeated_when_it_is_refused() {
        let digits = "0123456789abcdef0123456789abcdef";
        let token = Token::try_from(digits.to_owned()).expect("a token");
        assert_eq!(format!("{token:?}"), "Token(…)");
        for bad in [&digits[1..], "0123456789abcdef0123456789abcdeg"] {
            let text = format!("\"{bad}\"");
            let error = serde_json::from_str::<Token>(&text).expect_err("not a token");
            assert!(!error.to_string().contains("123456789"), "{error}");
        }
    }
}
