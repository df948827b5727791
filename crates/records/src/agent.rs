//! Messages between the controller of a real testbed and the agents in its hosts: a plan and commands
//! coming in, records going out, each a line of JSON.
//!
//! The same contract as `python/netstudy/testbed/real/wire.py`; both sides are tested against
//! `schema/examples/agent-*`. Times are nanoseconds of `CLOCK_MONOTONIC`, which all processes of a
//! machine share.

use std::collections::BTreeMap;
use std::fmt;
use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use crate::{DataPath, Direction, Jitter, Latency, Load, Operation, PhaseKind, Until, spans};

/// The schema of the plan that an agent reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum AgentSchema {
    /// Any workload, several connections, phases.
    #[serde(rename = "netstudy/agent/2")]
    V2,
}

/// The schema of the records that an agent writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum AgentRecordSchema {
    /// Samples by kind, bytes of each connection, series.
    #[serde(rename = "netstudy/agent-record/2")]
    V2,
}

/// Bytes that each connection of a client carried within the time of a phase.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InTime {
    /// Bytes received, each of them verified.
    pub bytes_received: Vec<u64>,
    /// Bytes that the peer's TCP had acknowledged.
    pub bytes_acknowledged: Vec<u64>,
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
    /// Shared secret by which the agents of a run identify each other.
    pub token: Token,
    /// The agent ends with an error after this time, in any state.
    pub time_limit_ms: u64,
    /// How long all peers that owe something may be silent before that is an error; none: as long as
    /// the time limit allows. Servers do not look at it.
    pub silence_limit_ms: Option<u32>,
    /// Time between two signs of life of a client while its traffic goes on; none: it gives none.
    pub progress_interval_ms: Option<u32>,
    /// CPU that the agent stays on; none: wherever the kernel puts it.
    pub cpu: Option<u32>,
    /// Options of its connections.
    pub socket: SocketOptions,
    /// Readings of the host and of its connections meanwhile.
    pub instruments: InstrumentPlan,
    /// The port that it listens on, at each local address of connections that it accepts; 0: ports
    /// that the kernel chooses.
    pub port: u16,
    /// Its connections, numbered from 0: the workload's, then the probe's. Only observers have none.
    pub connections: Vec<ConnectionPlan>,
    /// Its part in the traffic.
    pub workload: AgentWorkload,
    /// Its part in the latency probe that runs with the workload; none: there is no probe.
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
        // The message must not repeat the token.
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

/// Options of a TCP socket; none: the kernel's default.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SocketOptions {
    /// Congestion control by the kernel's name for it (`TCP_CONGESTION`).
    pub congestion_control: Option<String>,
    /// `SO_SNDBUF` as passed to the kernel, which doubles it for its own bookkeeping: socket(7).
    pub send_buffer_bytes: Option<u32>,
    /// `SO_RCVBUF`, likewise.
    pub receive_buffer_bytes: Option<u32>,
    /// `TCP_NODELAY`: short writes do not wait for acknowledgments.
    pub no_delay: bool,
    /// Responses are sent without a copy on the way from the server to the kernel (sendfile(2)).
    /// Cheaper where the interface takes care of checksums; dearer where the kernel has to.
    #[serde(default)]
    pub zero_copy: bool,
}

/// Readings at intervals.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InstrumentPlan {
    /// Time between two samples of the host's counters; none: snapshots are taken on command only.
    pub counters_interval_ms: Option<u64>,
    /// Time between two samples of `TCP_INFO` of each connection; none: no series.
    pub connections_interval_ms: Option<u64>,
    /// Network interfaces of the host.
    pub interfaces: Vec<String>,
    /// The CPU time of all processes in the host's network namespace is counted too: its applications run
    /// there as well as the agent.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub namespace_cpu: bool,
}

/// A connection of an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum ConnectionPlan {
    /// The agent opens it.
    Open {
        /// Where it comes from.
        local: IpAddr,
        /// Where the peer listens.
        peer: Endpoint,
        /// Its number at the peer.
        peer_number: u32,
    },
    /// The peer opens it, and says its number here.
    Accept {
        /// Where the agent listens for it.
        local: IpAddr,
        /// The only address that it is taken from.
        peer: IpAddr,
    },
}

/// How much a transfer carries, each way that it goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum TransferSize {
    /// A fixed number of bytes.
    Fixed {
        /// How many.
        bytes: u64,
    },
    /// As much as goes in the time of the phase.
    Stream {
        /// Payload that is asked for, or confirmed, at a time.
        chunk_bytes: u64,
        /// Payload asked for, or sent, before the first chunk of it is there. Must exceed the
        /// bandwidth-delay product and the queues; more prolongs the end of the phase.
        ahead_bytes: u64,
    },
}

/// Where the data of a file come from, or go.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum FileStore {
    /// They are made in memory, or discarded.
    Memory,
    /// They are in a file.
    Folder {
        /// Its folder, which is there.
        folder: String,
        /// The medium of the folder, and the treatment of the page cache.
        place: FilePlace,
        /// Whether a received file is on the disk before its transfer has ended (fsync(2)).
        synced: bool,
    },
}

/// Where a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FilePlace {
    /// On a RAM disk.
    Ram,
    /// On a disk, and in the page cache.
    Cache,
    /// On a disk; before each transfer it is taken out of the page cache.
    Disk,
}

/// A user of an FTP server.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FtpLogin {
    /// Its name.
    pub user: String,
    /// Its password. It is never shown.
    pub password: String,
}

impl fmt::Debug for FtpLogin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FtpLogin({}, …)", self.user)
    }
}

/// A part in the traffic of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum AgentWorkload {
    /// Answers the requests of one client.
    IncastServer {
        /// Size of a request.
        request_bytes: u64,
        /// Size of its response to each request.
        response_bytes: u64,
        /// Delay between the receipt of a request and the first byte of the response.
        start_jitter: Jitter,
        /// Its number among the servers, from 1: it draws the same delays as the simulator for that number.
        number: u32,
        /// Seed of the run: 16 hexadecimal digits.
        seed: String,
    },
    /// Asks every server at once, waits for all, repeats: a connection a server.
    IncastClient {
        /// Size of a request.
        request_bytes: u64,
        /// Size of the response of each server.
        response_bytes: Vec<u64>,
        /// Iterations of the measuring phase.
        iterations: u32,
        /// Iterations before it.
        warmup_iterations: u32,
        /// Time between the request to one server and that to the next.
        #[serde(deserialize_with = "spans::ns")]
        request_spacing_ns: u64,
    },
    /// The other end of transfers.
    TransferServer {
        /// Which way they go.
        direction: Direction,
        /// Size of each transfer.
        size: TransferSize,
        /// Size of a request, and of a confirmation.
        request_bytes: u64,
    },
    /// Makes transfers on each of its connections, one after the other.
    TransferClient {
        /// Which way they go.
        direction: Direction,
        /// Size of each transfer.
        size: TransferSize,
        /// Size of a request, and of a confirmation.
        request_bytes: u64,
        /// Time from the end of a transfer to the start of the next one on the same connection.
        #[serde(deserialize_with = "spans::ns")]
        pause_ns: u64,
        /// How long the warm-up lasts.
        warmup: Until,
        /// How long the measuring phase lasts.
        measure: Until,
    },
    /// Sends a file by FTP to its clients, or takes files from them.
    FtpServer {
        /// Which way files go: `get` or `put`.
        direction: Direction,
        /// Size of the file that it sends.
        size_bytes: u64,
        /// Where the data come from, or go.
        store: FileStore,
        /// How it sends a file of a folder.
        data_path: DataPath,
        /// Who may log in: from any of the accepted addresses, as one connection after the other; none:
        /// the agents of the run, by its token.
        login: Option<FtpLogin>,
        /// Whether each byte that it receives is verified.
        verify: bool,
    },
    /// Fetches a file by FTP, or sends it, again and again: a session a connection.
    FtpClient {
        /// Which way files go: `get` or `put`.
        direction: Direction,
        /// Size of the file.
        size_bytes: u64,
        /// Its name at the server; of a put, the connection's number is added to it.
        path: String,
        /// Where the data come from, or go.
        store: FileStore,
        /// How it sends a file of a folder.
        data_path: DataPath,
        /// By which name it logs in; none: as an agent of the run, by its token.
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
    /// Answers each whole request at once.
    RequestServer {
        /// Size of a request.
        request_bytes: u64,
        /// Size of a response.
        response_bytes: u64,
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
    /// Users of an application over HTTP: one of the generators of load.
    TransactionClient(Box<TransactionClient>),
    /// Reads the counters of a host that has no part in the traffic, or of an interface that has none.
    /// It has no connections.
    Observer,
}

/// Users of an application over HTTP: one of the generators of load. The plan has no connections of it: it opens
/// one for each of its users.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TransactionClient {
    /// Where the application server listens.
    pub target: Endpoint,
    /// Its own address.
    pub local: IpAddr,
    /// The name of the application server in requests.
    pub host: String,
    /// Who knows the requests of operations.
    pub script: TransactionScript,
    /// The operations, and how often each is drawn.
    pub mix: Vec<Operation>,
    /// Who submits when: this generator's own users, or the time between its own submissions.
    pub load: Load,
    /// Registered users of the brokerage that it deals.
    pub deck: Deck,
    /// Quoted stocks of the brokerage.
    pub quotes: u32,
    /// Further page elements of a page of the brokerage, after the page itself.
    pub page_images: u32,
    /// Time between two blocks of statistics.
    #[serde(deserialize_with = "spans::ns")]
    pub statistics_every_ns: u64,
    /// Time until a request without a whole answer is an error, and its connection is closed.
    #[serde(deserialize_with = "spans::ns")]
    pub request_timeout_ns: u64,
    /// Seed of the run, 16 hexadecimal digits: with the host's name it gives the simulator's draws.
    pub seed: String,
    /// Its number among the generators, from 0: tells what it makes at the application from what others make.
    pub number: u32,
    /// How long the warm-up lasts: a time, or a count of 0 for none.
    pub warmup: Until,
    /// How long the measuring phase lasts: a time.
    pub measure: Until,
}

/// Who knows the requests of operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TransactionScript {
    /// The generator: they are the brokerage's. Users log in before anything else.
    Brokerage,
    /// The plan.
    Plain,
}

/// Registered users that one generator deals, like cards.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Deck {
    /// Number of its first user.
    pub first: u32,
    /// From one user to the next: the number of generators.
    pub step: u32,
    /// How many users it has.
    pub users: u32,
}

/// When a connection's requests are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum RequestSchedule {
    /// When an earlier one has been answered (closed loop).
    Closed {
        /// Requests under way at a time.
        outstanding: u32,
        /// Time from a response to the next request in its place.
        #[serde(deserialize_with = "spans::ns")]
        think_ns: u64,
    },
    /// At an interval, whether or not the last one has been answered (open loop). Response times
    /// count from when a request was due.
    Every {
        /// The interval.
        #[serde(deserialize_with = "spans::ns")]
        interval_ns: u64,
    },
}

/// A part in the latency probe: small requests at an interval on connections of their own, the last
/// ones of the plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum ProbePlan {
    /// Answers each whole request at once.
    Server {
        /// How many of the connections are the probe's.
        connections: u32,
        /// Size of a request.
        request_bytes: u64,
        /// Size of a response.
        response_bytes: u64,
    },
    /// Sends the requests. It rests between the phases.
    Client {
        /// How many of the connections are the probe's.
        connections: u32,
        /// Size of a request.
        request_bytes: u64,
        /// Size of a response.
        response_bytes: u64,
        /// Time between two requests of a connection.
        #[serde(deserialize_with = "spans::ns")]
        interval_ns: u64,
        /// Time in which only the probe runs, before the workload begins; 0: there is no such phase.
        #[serde(deserialize_with = "spans::ns")]
        idle_ns: u64,
    },
}

/// Where a server listens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Endpoint {
    /// Its address.
    pub address: IpAddr,
    /// Its port.
    pub port: u16,
}

/// Commands of the controller to a process of the testbed, after the plan: one per line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "command", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Command {
    /// Read all counters now.
    Snapshot {
        /// The name of the record to be written.
        name: String,
    },
    /// Begin the next phase: that of the workload behind the idle one, the measuring phase behind the
    /// warm-up.
    Go,
    /// Write the remaining records, and end.
    Stop,
}

/// One line of an agent's output.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum AgentRecord {
    /// The agent is there: the first record.
    Ready {
        /// Version of this contract.
        schema: AgentRecordSchema,
        /// Version of the engine.
        version: String,
        /// Name of the host.
        node: String,
        /// Process of the agent, in its own pid namespace.
        pid: u32,
        /// Where it listens: each local address of connections that it accepts, in order.
        listening: Vec<Endpoint>,
    },
    /// A connection is open, its options are as the kernel says they are.
    Connection {
        /// Its number.
        connection: u32,
        /// This end.
        local: Endpoint,
        /// The other end.
        peer: Endpoint,
        /// Congestion control in use.
        congestion_control: String,
        /// Send buffer, bookkeeping included: twice the requested size.
        send_buffer_bytes: u64,
        /// Room to receive, likewise.
        receive_buffer_bytes: u64,
        /// Whether short writes are sent at once.
        no_delay: bool,
    },
    /// A phase of a client has ended, with nothing under way any more: [`PhaseKind::Idle`] if the plan
    /// has a time for it, [`PhaseKind::WarmUp`], [`PhaseKind::Measure`]. After the last one the client
    /// waits for [`Command::Stop`], after the others for [`Command::Go`].
    Phase {
        /// Which.
        name: PhaseKind,
        /// When it began.
        from_ns: u64,
        /// When it ended. A measuring phase with a time ends then, even with data under way.
        to_ns: u64,
        /// When nothing of it was under way any more.
        quiet_ns: u64,
        /// Bytes received on each connection until then, each of them verified.
        bytes_received: Vec<u64>,
        /// Bytes handed to the kernel on each connection until then.
        bytes_sent: Vec<u64>,
        /// Bytes that each connection carried until `to_ns`, if the phase ended after a time.
        in_time: Option<InTime>,
    },
    /// A sign of life of a client, and how far it is.
    Progress {
        /// When.
        at_ns: u64,
        /// Iterations, transfers or requests of this phase that have ended, the probe's left out.
        samples: u64,
        /// Bytes sent and received so far, all phases and connections together.
        bytes: u64,
    },
    /// Counters of the host.
    Snapshot(Snapshot),
    /// When each iteration of the measuring phase was.
    Iterations {
        /// When its first request was due.
        started_ns: Vec<u64>,
        /// When the last byte was there.
        ended_ns: Vec<u64>,
    },
    /// When the requests of an incast's measuring phase to one server were.
    Requests {
        /// Number of the server's connection.
        connection: u32,
        /// When each was due.
        intended_ns: Vec<u64>,
        /// When it was handed to the kernel.
        sent_ns: Vec<u64>,
        /// When the first bytes of the response were read.
        first_byte_ns: Vec<u64>,
        /// When its last byte was read.
        done_ns: Vec<u64>,
    },
    /// Requests that a server of an incast got, warm-up included.
    Served {
        /// When the last byte of each was read.
        requested_ns: Vec<u64>,
        /// When the first bytes of the response were handed to the kernel.
        begun_ns: Vec<u64>,
        /// When its last byte was.
        answered_ns: Vec<u64>,
        /// Segments that the connection had retransmitted as of each request, and at the end
        /// (`tcpi_total_retrans`).
        retransmissions: Vec<u64>,
        /// Its retransmission timeouts, likewise (`tcpi_total_rto`).
        timeouts: Vec<u64>,
    },
    /// Transfers of the measuring phase, in the order in which they ended.
    Transfers {
        /// Connection of each.
        connection: Vec<u32>,
        /// Payload that the client received.
        bytes_received: Vec<u64>,
        /// Payload that it sent.
        bytes_sent: Vec<u64>,
        /// When it was due.
        started_ns: Vec<u64>,
        /// When its last byte was there, or was confirmed; of a stream: the end of the phase's time.
        ended_ns: Vec<u64>,
        /// Of files: when the first byte of its data came, or left.
        #[serde(default)]
        first_byte_ns: Option<Vec<u64>>,
    },
    /// Log-ins of the sessions of a client of FTP, in the order in which they were complete.
    Sessions {
        /// Connection of each.
        connection: Vec<u32>,
        /// Time until the control connection was open.
        connect_ns: Vec<u64>,
        /// Time from there until the session was ready for transfers.
        login_ns: Vec<u64>,
    },
    /// Bytes of each connection of the workload in each second from the start of the client's measuring
    /// phase until the agent was stopped. Of clients of transfers and requests.
    Seconds {
        /// Connection of each row.
        connection: Vec<u32>,
        /// Start of the second, from the start of the phase.
        start_ns: Vec<u64>,
        /// Bytes that the client received, each of them verified.
        bytes_received: Vec<u64>,
        /// Bytes of the client that the server has acknowledged (`tcpi_bytes_acked`).
        bytes_sent: Vec<u64>,
    },
    /// Times of the requests of one phase.
    ResponseTimes {
        /// Whose requests.
        of: RequestsOf,
        /// Of transactions: `page element`, `transaction`, or an operation.
        #[serde(default)]
        operation: Option<String>,
        /// From when to when.
        #[serde(default)]
        latency: Latency,
        /// The phase in which the requests were due; of transactions: in which they ended.
        phase: PhaseKind,
        /// How many were answered in it.
        count: u64,
        /// How many were not: they had no answer when the time of the phase was over.
        unanswered: u64,
        /// The shortest; none: there was no request.
        min_ns: Option<u64>,
        /// The longest, likewise.
        max_ns: Option<u64>,
        /// All together.
        sum_ns: u64,
        /// A histogram with three significant digits (`HdrHistogram`): upper bound of each class, in
        /// nanoseconds, and how many are in it. A class with none is left out.
        histogram: Vec<(u64, u64)>,
    },
    /// Operations of a generator in its measuring phase, as [`TransactionSamples`](crate::TransactionSamples).
    Transactions {
        /// The operation.
        operation: Vec<String>,
        /// Submissions that were due, or were under way when the phase began: the sum of completed, network
        /// errors, server errors, not met and unfinished.
        offered: Vec<u64>,
        /// Submissions that were under way when the phase began.
        carried: Vec<u64>,
        /// Submissions that were not begun, since too many were under way.
        not_met: Vec<u64>,
        /// Submissions that ended in the phase without an error.
        completed: Vec<u64>,
        /// Submissions that were under way when the phase ended.
        unfinished: Vec<u64>,
        /// Answers of HTTP with success.
        page_elements: Vec<u64>,
        /// Submissions that failed on their connection.
        network_errors: Vec<u64>,
        /// Submissions that the application refused or failed at.
        server_errors: Vec<u64>,
        /// Bytes read, headers included.
        bytes_read: Vec<u64>,
        /// Bytes written, headers included.
        bytes_written: Vec<u64>,
    },
    /// Errors of a generator in its measuring phase, by their reason.
    TransactionErrors {
        /// The operation.
        operation: Vec<String>,
        /// `503`, `connection reset`, `timed out` and the like.
        reason: Vec<String>,
        /// How often.
        count: Vec<u64>,
    },
    /// Statistics of a generator at intervals, since its measuring phase began, as
    /// [`StatisticsSamples`](crate::StatisticsSamples): the last row is the whole phase.
    Statistics {
        /// Time since the phase began.
        at_ns: Vec<u64>,
        /// Its users.
        users: Vec<u64>,
        /// Answers of HTTP with success.
        page_elements: Vec<u64>,
        /// Operations that ended without an error.
        transactions: Vec<u64>,
        /// Submissions that failed on their connection.
        network_errors: Vec<u64>,
        /// Submissions that the application refused or failed at.
        server_errors: Vec<u64>,
        /// Bytes read, headers included.
        bytes_read: Vec<u64>,
        /// Bytes written, headers included.
        bytes_written: Vec<u64>,
        /// Response times of all page elements together.
        response_sum_ns: Vec<u64>,
        /// Submissions that were due and not begun.
        not_met: Vec<u64>,
    },
    /// Readings of the host at intervals. Absent when the plan has no interval.
    Samples {
        /// When each sample was begun.
        at_ns: Vec<u64>,
        /// How late that was.
        late_ns: Vec<u64>,
        /// Time that reading it took.
        cost_ns: Vec<u64>,
        /// Samples that were left out, because an earlier one took until they were over.
        skipped: u64,
        /// Counters and states by name, a value a sample; none: it could not be read.
        values: BTreeMap<String, Vec<Option<u64>>>,
    },
    /// The kernel's `TCP_INFO` of a connection at intervals. Absent when the plan has no interval.
    ConnectionSeries {
        /// Its number.
        connection: u32,
        /// When each sample was taken.
        at_ns: Vec<u64>,
        /// By name, as in [`ConnectionCounters::tcp`], a value a sample.
        values: BTreeMap<String, Vec<u64>>,
    },
    /// Connections that an agent that listens closed at once.
    Refused {
        /// They came from another address than that of their plan, or to another one.
        wrong_address: u64,
        /// They did not know the token or the number of a connection that is to come, were too slow to say
        /// it, or were one too many.
        wrong_token: u64,
    },
    /// Scheduling lateness of timed messages: requests of a client that do not follow a response,
    /// delayed responses of a server. Absent when there was none.
    Pacing {
        /// The instants.
        due_ns: Vec<u64>,
        /// How late each was met.
        late_ns: Vec<u64>,
        /// Every `one_of`-th time is kept; 1 up to 262,144 of them.
        one_of: u64,
    },
    /// Why the agent ends early; nothing follows it.
    Error {
        /// The error, and the peer concerned.
        message: String,
    },
    /// The agent has written all: the last record.
    End,
}

/// Whose requests response times are of.
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
    /// States of the host, by name.
    pub gauges: BTreeMap<String, u64>,
    /// Sources that could not be read, with the reason.
    pub missing: BTreeMap<String, String>,
    /// The agent's connections that have been opened.
    pub connections: Vec<ConnectionCounters>,
    /// Time that reading them took.
    pub cost_ns: u64,
    /// The text behind the readings, byte for byte, by its place.
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
    /// Bytes that it handed to the kernel.
    pub bytes_sent: u64,
    /// The kernel's `TCP_INFO`, by name: `srtt_us`, `rttvar_us`, `min_rtt_us`, `rto_us`,
    /// `cwnd_segments`, `ssthresh_segments`, `delivery_rate_bytes_per_s`, `retransmissions`,
    /// `timeouts`, and the payload `tcp_bytes_sent` (retransmissions included), `tcp_bytes_acked` and
    /// `tcp_bytes_received`. Only TCP's bytes include the greeting of a connection, 36 bytes, and its
    /// answer of one byte.
    pub tcp: BTreeMap<String, u64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example(name: &str) -> String {
        let path = format!("{}/../../schema/examples/{name}", env!("CARGO_MANIFEST_DIR"));
        std::fs::read_to_string(path).expect("the example is there")
    }

    /// The text of an example survives reading and writing.
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
        assert_eq!(kinds.len(), 21);
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
