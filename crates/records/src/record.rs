use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{
    InstrumentKind, PhaseKind, QueueStatistics, StatisticsSamples, TimeAccount, TransactionErrors,
    TransactionSamples, Treatment,
};

/// The schema that this engine writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum RecordSchema {
    /// Samples by kind, counters at the edges of phases.
    #[serde(rename = "netstudy/record/2")]
    V2,
}

/// One line of the engine's output.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Record {
    /// The engine that writes: the first record.
    Engine {
        /// Version of this contract.
        schema: RecordSchema,
        /// Version of the engine.
        version: String,
        /// The testbed of the runs.
        testbed: String,
    },
    /// Progress of the engine.
    Progress {
        /// Runs that have ended.
        runs_done: usize,
        /// Runs of the plan.
        runs: usize,
        /// Useful data packets so far, over all runs.
        packets: u64,
        /// Useful data packets of the plan; 0: unknown, because runs have a fixed duration.
        packets_planned: u64,
        /// Progress of the current run; none: no current run, or several at once.
        #[serde(default)]
        under_way: Option<RunUnderWay>,
    },
    /// The outcome of a run.
    Run(Box<RunRecord>),
    /// End of the stream: the last record.
    End {
        /// Runs that have ended.
        runs: usize,
    },
}

/// Progress of the current run: iterations, transfers or requests, or milliseconds if its phases
/// have a fixed duration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunUnderWay {
    /// The part done.
    pub done: u64,
    /// The total, warm-up included.
    pub of: u64,
}

/// The outcome of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    /// The run ended, and obeys every conservation law.
    Ok,
    /// The run ended, but breaks a conservation law.
    Invalid,
    /// The run did not end.
    Failed,
}

/// How the simulator computes a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// When a frame arrives at a hop, the time at which it will depart is computed at once, at most
    /// hops.
    ClosedForm,
    /// Event-driven: a frame causes an event at each hop. This is slower, but can model PAUSE.
    PerHop,
}

/// A conservation law that a run was checked against.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Check {
    /// The law.
    pub law: String,
    /// Whether the run obeys it.
    pub holds: bool,
    /// The compared values.
    pub detail: String,
}

/// A phase that took place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PhaseTimes {
    /// The kind of the phase.
    pub kind: PhaseKind,
    /// When the phase began, by the clock of the run's first client.
    pub start_ns: u64,
    /// When the phase ended, by the same clock.
    pub end_ns: u64,
}

/// A node of the run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RecordNode {
    /// `host`, `zone` or `switch`.
    pub kind: String,
    /// The group of a host; a switch is its own group.
    pub group: String,
    /// Name of the clock that the node's timestamps come from. Times of different clocks must not
    /// be compared.
    pub clock: String,
    /// Number of CPUs that a host may use; `host_cpu_ns` is the time for which they were busy.
    /// None: the number is unknown, or the host is simulated and its frames cost no CPU time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpus: Option<f64>,
    /// For a simulated host or zone: which of its capacities are modelled. A capacity that is not in
    /// the list limits nothing in this run. None: a switch, or a real host, where all of them are
    /// real.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub modelled: Option<Vec<Modelled>>,
    /// Name of the file that describes the node's machine, `captures/nodes/<name>.json`. None: the
    /// node was simulated, or its machine was not captured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub environment: Option<String>,
    /// When its counters were read at each edge, by its clock; none: at the edge itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_at_ns: Option<Vec<u64>>,
}

/// Bounds of a clock's times, compared with the clock of the run's first client.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClockBounds {
    /// Lower bound of the clock's time less that of the first client's clock, at the start of the
    /// measuring phase.
    pub offset_low_ns: i64,
    /// Upper bound of the same.
    pub offset_high_ns: i64,
    /// Lower bound of the mean rate at which the offset grows over the run, in parts per million.
    pub drift_low_ppm: f64,
    /// Upper bound of the same.
    pub drift_high_ppm: f64,
    /// Half the widest bounds of a time in the measuring phase.
    pub uncertainty_ns: u64,
}

/// A capacity of a host that the simulator can model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Modelled {
    /// CPU time: work costs some.
    Cpu,
    /// The rate of the memory bus.
    MemoryBus,
    /// The rate of the I/O bus.
    IoBus,
    /// A disk.
    Disk,
    /// The packet rate of an interface.
    PacketRate,
    /// The number of threads of the application server.
    Threads,
    /// The number of connections from the application server to the database.
    Pool,
    /// The number of requests that the database works on at a time.
    DatabaseSlots,
}

/// Samples of the measuring phase: tables with one column per quantity.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Samples {
    /// One row per iteration of an incast.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub iteration: Option<IterationSamples>,
    /// One row per connection of the workload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connection: Option<ConnectionSamples>,
    /// One row per transfer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transfer: Option<TransferSamples>,
    /// Latencies of requests. There is one histogram for each kind of request, client and phase.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub request: Vec<RequestHistogram>,
    /// One row per connection and second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub second: Option<SecondSamples>,
    /// One row per load generator and operation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transaction: Option<TransactionSamples>,
    /// One row per generator, operation and kind of error; none: the workload has no operations.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<TransactionErrors>,
    /// One row per generator and interval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub statistics: Option<StatisticsSamples>,
    /// Where the time of units of work went. Empty: the run was not traced.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub time: Vec<TimeAccount>,
    /// One entry per class of each queue discipline. Empty: no port and no interface has one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub queue: Vec<QueueStatistics>,
}

/// One value per iteration of the measuring phase.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct IterationSamples {
    /// Time from the first request to the last byte.
    pub completion_ns: Vec<u64>,
    /// Frames that switch ports dropped. None: not known per iteration, for example because kernel
    /// queues only count totals.
    #[serde(default)]
    pub dropped_packets: Option<Vec<u64>>,
    /// Segments that the servers retransmitted. None: a server's system does not report `TCP_INFO`.
    #[serde(default)]
    pub retransmissions: Option<Vec<u64>>,
    /// Expiries of the servers' retransmission timers. None: a server's kernel does not count them
    /// for each connection (Linux before 6.7).
    #[serde(default)]
    pub timeouts: Option<Vec<u64>>,
}

/// One value per connection of the workload over the measuring phase, in the order of the plan.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConnectionSamples {
    /// The node that opened it.
    pub client: Vec<String>,
    /// The node that listened.
    pub server: Vec<String>,
    /// Application bytes that the client received. On real testbeds every byte is verified.
    pub bytes_received: Vec<u64>,
    /// Application bytes of the client that the server received, requests included.
    pub bytes_sent: Vec<u64>,
    /// Total duration of the client's iterations, transfers or requests, each from its start to its
    /// last byte.
    pub busy_ns: Vec<u64>,
    /// Segments that were retransmitted by the end that sends the data (the server if the client
    /// only sends requests), or by both ends if both send data. None: the system of one of them does
    /// not report `TCP_INFO`.
    #[serde(default)]
    pub retransmissions: Option<Vec<u64>>,
    /// How often the retransmission timers of the same ends expired. None: the kernel of one of them
    /// does not count that for each connection (Linux before 6.7).
    #[serde(default)]
    pub timeouts: Option<Vec<u64>>,
    /// For sessions: time until the control connection was open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connect_ns: Option<Vec<u64>>,
    /// For sessions: time from then until the session was ready for transfers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub login_ns: Option<Vec<u64>>,
    /// This and the next seven columns: why the ends that send data sent no more, and for how long.
    /// The times of both ends are added if both send data; control connections do not count.
    /// The eight of a simulated connection add up to the length of the phase, for each of its ends.
    /// This column: nothing was to be sent, and nothing was outstanding. On Linux hosts: all time
    /// but the kernel's `tcpi_busy_time`; it includes the opening of the connection.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle_ns: Option<Times>,
    /// Everything written was sent, and its acknowledgment was awaited; also that of a SYN.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sent_ns: Option<Times>,
    /// The peer's window had no room. On Linux hosts: the kernel's `tcpi_rwnd_limited`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peer_window_ns: Option<Times>,
    /// The send buffer had no room. On Linux hosts: the kernel's `tcpi_sndbuf_limited`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own_buffer_ns: Option<Times>,
    /// The congestion window had no room, and loss recovery had not set it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub congestion_window_ns: Option<Times>,
    /// Loss recovery, fast or after a timeout, let no more segments into the network.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recovery_ns: Option<Times>,
    /// Too much data of the connection waited at the host's own interface (small queue).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own_interface_ns: Option<Times>,
    /// A retransmission timeout or a tail loss probe ended the wait, which counts from when the
    /// timer was armed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timer_ns: Option<Times>,
    /// Incast only: number of iterations whose last byte arrived on this connection.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<Vec<u64>>,
}

/// A time for each connection; none: it could not be read, for example because the connection was
/// closed before the end of the phase. The kernel counts in jiffies (1 to 10 ms).
pub type Times = Vec<Option<u64>>;

/// One value per transfer that ended in the measuring phase.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TransferSamples {
    /// The connection of each transfer, as a row of [`ConnectionSamples`].
    pub connection: Vec<u32>,
    /// When each transfer was due, by the clock of its client.
    pub start_ns: Vec<u64>,
    /// When the client knew that all bytes had arrived.
    pub end_ns: Vec<u64>,
    /// Application bytes that the client received.
    pub bytes_received: Vec<u64>,
    /// Application bytes that the client sent.
    pub bytes_sent: Vec<u64>,
    /// For files: when the client received or sent the first data byte.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_byte_ns: Option<Vec<u64>>,
}

/// From when to when a histogram measures a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Latency {
    /// From the time the request was due to the last byte of its answer.
    #[default]
    Response,
    /// From the time the request was sent to the last byte of its answer.
    Service,
    /// From the time the request was sent to the first byte of its answer.
    FirstByte,
}

impl Latency {
    /// True for the default value, which is omitted from the output.
    #[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
    fn is_response(&self) -> bool {
        *self == Self::Response
    }
}

/// Latencies of the requests of one client, as a log-linear histogram (`HdrHistogram`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestHistogram {
    /// `request`, `probe`, `page element`, `transaction`, or an operation of an application.
    pub operation: String,
    /// From when to when each request is measured.
    #[serde(default, skip_serializing_if = "Latency::is_response")]
    pub latency: Latency,
    /// The phase in which the requests were due.
    pub phase: PhaseKind,
    /// The node that sent the requests.
    pub client: String,
    /// The node that answered them.
    pub server: String,
    /// Number of requests.
    pub count: u64,
    /// Requests without an answer at the end of the phase; they are in no bucket.
    pub unanswered: u64,
    /// The shortest latency.
    pub min_ns: u64,
    /// The longest latency.
    pub max_ns: u64,
    /// The sum of all latencies.
    pub sum_ns: u64,
    /// Significant decimal digits of the buckets.
    pub significant_digits: u8,
    /// The highest latency of each non-empty bucket, ascending.
    pub value_ns: Vec<u64>,
    /// Number of requests in each bucket.
    pub requests: Vec<u64>,
}

/// Bytes of a connection in each second of the measuring phase.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SecondSamples {
    /// The row of [`ConnectionSamples`].
    pub connection: Vec<u32>,
    /// Start of the second, from the start of the phase.
    pub start_ns: Vec<u64>,
    /// Application bytes that the client received.
    pub bytes_received: Vec<u64>,
    /// Application bytes that the server received from the client. On testbeds of real hosts, these
    /// are the bytes that the server's TCP acknowledged.
    pub bytes_sent: Vec<u64>,
}

/// Samples of one node, port or connection: one column per counter, one value per sample.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Series {
    /// The node.
    pub node: String,
    /// The port; none: samples of the node itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub port: Option<String>,
    /// The connection, as a row of [`ConnectionSamples`]; none: the samples do not belong to a
    /// single connection.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connection: Option<u32>,
    /// The sampler.
    pub instrument: InstrumentKind,
    /// When each sample was taken, by the node's clock.
    pub at_ns: Vec<u64>,
    /// By name: counters since the start of the run, and current levels such as queue lengths.
    /// None: the value could not be read.
    pub values: BTreeMap<String, Vec<Option<u64>>>,
}

/// A limit of a real testbed, and how much of it a run used.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TestbedLimit {
    /// The limited resource.
    pub name: String,
    /// The amount that the run used; none: not measurable.
    pub value: Option<f64>,
    /// The largest acceptable value.
    pub allowed: f64,
    /// Unit of both; empty for a count.
    pub unit: String,
    /// Whether the value exceeds the limit. If so, the run measured the testbed instead of the
    /// system under study.
    pub exceeded: bool,
    /// True if this makes the run invalid.
    #[serde(default)]
    pub invalidates: bool,
    /// Where the value was read, and the text that was read.
    pub evidence: String,
}

/// Two instruments that counted the same thing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reconciliation {
    /// Names the two quantities that should be equal; the left instrument comes first.
    pub check: String,
    /// The left instrument's value.
    pub left: f64,
    /// The right instrument's value.
    pub right: f64,
    /// Left minus right.
    pub difference: f64,
    /// The largest difference in either direction that can be due to the instruments themselves.
    pub tolerance: f64,
    /// The cause of the difference, where it is known.
    pub explained: Option<String>,
    /// Whether the two agree.
    pub holds: bool,
}

/// Counters by name, with one value for each edge in [`RunRecord::edges`]; none: not read at this
/// edge.
pub type Readings = BTreeMap<String, Vec<Option<u64>>>;

/// The start or the end of phases: an instant at which the counters of all nodes are read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Edge {
    /// `measure-start`, `measure-end` and the like.
    pub name: String,
    /// When, by the clock of the run's first client.
    pub at_ns: u64,
    /// At the end of a phase: when nothing of the phase was in flight any more; none: this was at
    /// `at_ns`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quiet_ns: Option<u64>,
}

/// The outcome of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunRecord {
    /// Identifier of the run.
    pub run: String,
    /// Its treatment.
    pub treatment: Treatment,
    /// Its replicate.
    pub replicate: u32,
    /// Its seed.
    pub seed: String,
    /// Its outcome.
    pub status: Status,
    /// How the run was simulated; none: it was not simulated.
    pub mode: Option<Mode>,
    /// Why the run failed.
    pub error: Option<String>,
    /// The conservation laws that the run was checked against.
    pub checks: Vec<Check>,
    /// Its nodes.
    #[serde(default)]
    pub nodes: BTreeMap<String, RecordNode>,
    /// Its phases; one of them is the measuring phase.
    #[serde(default)]
    pub phases: Vec<PhaseTimes>,
    /// Its samples.
    #[serde(default)]
    pub samples: Samples,
    /// When counters were read.
    #[serde(default)]
    pub edges: Vec<Edge>,
    /// Counters of nodes since the run began.
    #[serde(default)]
    pub counters: BTreeMap<String, Readings>,
    /// Counters of the nodes' ports and interfaces, by node, port and counter.
    #[serde(default)]
    pub ports: BTreeMap<String, BTreeMap<String, Readings>>,
    /// Series of samplers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub series: Vec<Series>,
    /// Limits of the testbed, and how much of them the run used; the simulator has none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub limits: Vec<TestbedLimit>,
    /// Counters of independent instruments, compared with each other.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reconciliation: Vec<Reconciliation>,
    /// The machines of the run; empty for the simulator.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub environment: BTreeMap<String, String>,
    /// Bounds of each clock but that of the first client; empty if all nodes have the same clock.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub clocks: BTreeMap<String, ClockBounds>,
    /// Factor by which all link rates of the study were multiplied, such as `1/20`; none: 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scaled_by: Option<String>,
}
