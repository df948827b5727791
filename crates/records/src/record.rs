use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{
    InstrumentKind, PhaseKind, StatisticsSamples, TransactionErrors, TransactionSamples, Treatment,
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
    /// It ended and obeys every conservation law.
    Ok,
    /// It ended and breaks a conservation law.
    Invalid,
    /// It did not end.
    Failed,
}

/// How the simulator computes a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// The departure of a frame from most hops is computed when it arrives there.
    ClosedForm,
    /// Event-driven: each hop of a frame is an event. Slower, but can model PAUSE.
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
    /// When it began, by the clock of the run's first client.
    pub start_ns: u64,
    /// When it ended.
    pub end_ns: u64,
}

/// A node of the run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RecordNode {
    /// `host`, `zone` or `switch`.
    pub kind: String,
    /// The group of a host; a switch is its own group.
    pub group: String,
    /// The clock of its timestamps. Times of different clocks must not be compared.
    pub clock: String,
    /// Number of CPUs that a host may use; `host_cpu_ns` is their busy time. None: unknown, or a
    /// simulated host whose frames cost no CPU time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpus: Option<f64>,
    /// Name of the file that describes its machine, `captures/nodes/<name>.json`; none: simulated, or
    /// not captured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub environment: Option<String>,
    /// When its counters were read at each edge, by its clock; none: at the edge itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_at_ns: Option<Vec<u64>>,
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
    /// Latencies of requests: one histogram per kind of request, client and phase.
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
}

/// One value per iteration of the measuring phase.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct IterationSamples {
    /// Time from the first request to the last byte.
    pub completion_ns: Vec<u64>,
    /// Frames that switch ports dropped; none: unknown per iteration, for example with kernel
    /// queues, which only have totals.
    #[serde(default)]
    pub dropped_packets: Option<Vec<u64>>,
    /// Segments that the servers retransmitted.
    pub retransmissions: Vec<u64>,
    /// Expiries of the servers' retransmission timers.
    pub timeouts: Vec<u64>,
}

/// One value per connection of the workload over the measuring phase, in the order of the plan.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConnectionSamples {
    /// The node that opened it.
    pub client: Vec<String>,
    /// The node that listened.
    pub server: Vec<String>,
    /// Application bytes that the client received, each of them verified on real testbeds.
    pub bytes_received: Vec<u64>,
    /// Application bytes of the client that the server received, requests included.
    pub bytes_sent: Vec<u64>,
    /// Time that the client's iterations, transfers or requests took: from the start of each to its
    /// last byte.
    pub busy_ns: Vec<u64>,
    /// Segments retransmitted by the ends that send data: the server if the client only sends
    /// requests, the client if it sends the data, both if both do.
    pub retransmissions: Vec<u64>,
    /// Expiries of the retransmission timers of the same ends.
    pub timeouts: Vec<u64>,
    /// For sessions: time until the control connection was open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connect_ns: Option<Vec<u64>>,
    /// For sessions: time from then until the session was ready for transfers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub login_ns: Option<Vec<u64>>,
}

/// One value per transfer that ended in the measuring phase.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TransferSamples {
    /// Its connection, as a row of [`ConnectionSamples`].
    pub connection: Vec<u32>,
    /// When it was due, by the clock of its client.
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

/// The interval of a request that a histogram measures.
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
    /// Whether it is the default, which is not written.
    #[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
    fn is_response(&self) -> bool {
        *self == Self::Response
    }
}

/// Latencies of the requests of one client: a log-linear histogram (`HdrHistogram`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestHistogram {
    /// `request`, `probe`, `page element`, `transaction`, or an operation of an application.
    pub operation: String,
    /// The interval that is measured.
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
    /// Application bytes of the client that the server received: on testbeds of real hosts, the
    /// bytes that the server's TCP acknowledged.
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
    /// The connection, as a row of [`ConnectionSamples`]; none: not of a single connection.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connection: Option<u32>,
    /// The sampler.
    pub instrument: InstrumentKind,
    /// When each sample was taken, by the node's clock.
    pub at_ns: Vec<u64>,
    /// Counters since the start of the run, and current states, by name; none: not readable.
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
    /// Whether the value exceeds the limit, so that the run measured the testbed instead of the
    /// system under study.
    pub exceeded: bool,
    /// True if this makes the run invalid.
    #[serde(default)]
    pub invalidates: bool,
    /// Source of the value, and its text.
    pub evidence: String,
}

/// Two instruments that counted the same thing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reconciliation {
    /// The quantities that should be equal, the left instrument first.
    pub check: String,
    /// The left instrument's value.
    pub left: f64,
    /// The right instrument's value.
    pub right: f64,
    /// Left minus right.
    pub difference: f64,
    /// The largest difference, either way, that the instruments themselves allow.
    pub tolerance: f64,
    /// The cause of the difference, where it is known.
    pub explained: Option<String>,
    /// Whether the two agree.
    pub holds: bool,
}

/// Readings by name: one value per edge of [`RunRecord::edges`]; none: not read at this edge.
pub type Readings = BTreeMap<String, Vec<Option<u64>>>;

/// The start or the end of phases: an instant at which the counters of all nodes are read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Edge {
    /// `measure-start`, `measure-end` and the like.
    pub name: String,
    /// When, by the clock of the run's first client.
    pub at_ns: u64,
    /// At the end of a phase: the time from which nothing of the phase was in flight any more;
    /// none: `at_ns`.
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
    /// How it was simulated; none: not a simulated run.
    pub mode: Option<Mode>,
    /// Why it failed.
    pub error: Option<String>,
    /// The checked conservation laws.
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
    /// Factor of all link rates of the study, such as `1/20`; none: 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scaled_by: Option<String>,
    /// Values of a published run, by metric.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub published: BTreeMap<String, f64>,
    /// By metric: one unit of the last digit of its published value.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub published_rounding: BTreeMap<String, f64>,
}
