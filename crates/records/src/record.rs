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
    /// The writer: the first record.
    Engine {
        /// Version of this contract.
        schema: RecordSchema,
        /// Version of the engine.
        version: String,
        /// The testbed of the runs.
        testbed: String,
    },
    /// How far the engine is.
    Progress {
        /// Runs that have ended.
        runs_done: usize,
        /// Runs of the plan.
        runs: usize,
        /// Useful data packets so far, over all runs.
        packets: u64,
        /// Useful data packets of the plan; 0: not known, since runs last for a time.
        packets_planned: u64,
        /// The run that is being made; none: none is, or several at once.
        #[serde(default)]
        under_way: Option<RunUnderWay>,
    },
    /// The outcome of a run.
    Run(Box<RunRecord>),
    /// The stream came to its end: the last record.
    End {
        /// Runs that have ended.
        runs: usize,
    },
}

/// Progress of the current run, in its workload's counts, or in milliseconds where its phases last for
/// a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunUnderWay {
    /// The part done.
    pub done: u64,
    /// All that there is to do, warm-up included.
    pub of: u64,
}

/// The outcome of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    /// It ended and holds against every law.
    Ok,
    /// It ended and breaks a law.
    Invalid,
    /// It did not end.
    Failed,
}

/// How the simulator computes a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// Most hops of a frame are computed when it enters them.
    ClosedForm,
    /// Each hop of a frame is an event: slower, and able to express PAUSE.
    PerHop,
}

/// A conservation law that a run was held against.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Check {
    /// The law.
    pub law: String,
    /// Whether the run obeys it.
    pub holds: bool,
    /// The figures.
    pub detail: String,
}

/// A phase that took place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PhaseTimes {
    /// Which.
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
    /// The group of a host; a switch is a group of its own.
    pub group: String,
    /// The clock that its times are of. Times of different clocks must not be compared.
    pub clock: String,
    /// CPUs that a host may use, of which `host_cpu_ns` is the busy time; none: not known, or a
    /// simulated host whose frames cost no CPU time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpus: Option<f64>,
    /// Name of the file that describes its machine, `captures/nodes/<name>.json`; none: simulated, or
    /// not captured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub environment: Option<String>,
    /// When its counters were read at each edge, by that clock; none: at the edge itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_at_ns: Option<Vec<u64>>,
}

/// Samples of the measuring phase: tables, a column a quantity.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Samples {
    /// A row an iteration of an incast.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub iteration: Option<IterationSamples>,
    /// A row a connection of the workload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connection: Option<ConnectionSamples>,
    /// A row a transfer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transfer: Option<TransferSamples>,
    /// Latencies of requests, a histogram each kind of request, client and phase.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub request: Vec<RequestHistogram>,
    /// A row a connection and second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub second: Option<SecondSamples>,
    /// A row a generator of load and operation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transaction: Option<TransactionSamples>,
    /// A row a generator, operation and kind of error; none: nobody submits operations.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<TransactionErrors>,
    /// A row a generator and interval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub statistics: Option<StatisticsSamples>,
}

/// One value an iteration of the measuring phase.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct IterationSamples {
    /// From the first request to the last byte.
    pub completion_ns: Vec<u64>,
    /// Frames that switch ports dropped; none: they are not known by iteration, as with queues of
    /// a kernel, which only count.
    #[serde(default)]
    pub dropped_packets: Option<Vec<u64>>,
    /// Segments that the servers retransmitted.
    pub retransmissions: Vec<u64>,
    /// Expiries of the servers' retransmission timers.
    pub timeouts: Vec<u64>,
}

/// One value a connection of the workload over the measuring phase, in the order of the plan.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConnectionSamples {
    /// The node that opened it.
    pub client: Vec<String>,
    /// The node that listened.
    pub server: Vec<String>,
    /// Application bytes that the client received, each of them verified where the testbed is real.
    pub bytes_received: Vec<u64>,
    /// Application bytes of the client that the server received, requests included.
    pub bytes_sent: Vec<u64>,
    /// Time that the client's iterations, transfers or requests took: from the start of each to its
    /// last byte.
    pub busy_ns: Vec<u64>,
    /// Segments retransmitted by the ends that send data: the server's where clients only ask, the client's
    /// where they send, both where both do.
    pub retransmissions: Vec<u64>,
    /// Expiries of those ends' retransmission timers.
    pub timeouts: Vec<u64>,
    /// Of sessions: time until the control connection was open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connect_ns: Option<Vec<u64>>,
    /// Of sessions: time from there until the session was ready for transfers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub login_ns: Option<Vec<u64>>,
}

/// One value a transfer that ended in the measuring phase.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TransferSamples {
    /// Its connection: the row of [`ConnectionSamples`].
    pub connection: Vec<u32>,
    /// When it was due, by the clock of its client.
    pub start_ns: Vec<u64>,
    /// When the client knew that all bytes were there.
    pub end_ns: Vec<u64>,
    /// Application bytes that the client received.
    pub bytes_received: Vec<u64>,
    /// Application bytes that the client sent.
    pub bytes_sent: Vec<u64>,
    /// Of files: when the first byte of data came to the client, or left it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_byte_ns: Option<Vec<u64>>,
}

/// The time of a request that a histogram holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Latency {
    /// From when it was due to the last byte of its answer.
    #[default]
    Response,
    /// From when it was sent to the last byte of its answer.
    Service,
    /// From when it was sent to the first byte of its answer.
    FirstByte,
}

impl Latency {
    /// Whether it is the one that needs no word.
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
    /// Which time of them.
    #[serde(default, skip_serializing_if = "Latency::is_response")]
    pub latency: Latency,
    /// The phase that the requests were due in.
    pub phase: PhaseKind,
    /// The node that asked.
    pub client: String,
    /// The node that answered.
    pub server: String,
    /// Requests.
    pub count: u64,
    /// Requests that had no answer when the phase was over, and are in no bucket.
    pub unanswered: u64,
    /// The shortest latency.
    pub min_ns: u64,
    /// The longest one.
    pub max_ns: u64,
    /// The sum of all.
    pub sum_ns: u64,
    /// Decimal digits that buckets keep.
    pub significant_digits: u8,
    /// The highest latency of each bucket that is not empty, ascending.
    pub value_ns: Vec<u64>,
    /// Requests in it.
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
    /// Application bytes of the client that the server received: on testbeds of real hosts, those
    /// acknowledged by its TCP.
    pub bytes_sent: Vec<u64>,
}

/// Samples of one node, port or connection: a column a counter, a value a sample.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Series {
    /// Whose.
    pub node: String,
    /// The port; none: the node's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub port: Option<String>,
    /// Which connection, as a row of [`ConnectionSamples`]; none: of no single one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connection: Option<u32>,
    /// The sampler.
    pub instrument: InstrumentKind,
    /// When, by the node's clock.
    pub at_ns: Vec<u64>,
    /// Counters since the run began and states of the moment, by name; none: it could not be read.
    pub values: BTreeMap<String, Vec<Option<u64>>>,
}

/// A limit of a testbed of real machines, and how much of it a run took.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TestbedLimit {
    /// The limited resource.
    pub name: String,
    /// How much the run took; none: it could not be measured.
    pub value: Option<f64>,
    /// The most with which the run still counts.
    pub allowed: f64,
    /// Unit of both; empty for a count.
    pub unit: String,
    /// Whether the run measured the testbed instead of the system under study.
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

/// Readings by name: a value an edge of [`RunRecord::edges`]; none: it was not read there.
pub type Readings = BTreeMap<String, Vec<Option<u64>>>;

/// The start or the end of phases: an instant at which the counters of all nodes are read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Edge {
    /// `measure-start`, `measure-end` and the like.
    pub name: String,
    /// When, by the clock of the run's first client.
    pub at_ns: u64,
    /// At the end of a phase: since when nothing of the phase was in flight any more; none: since
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
    /// How it was simulated; none: it was not simulated.
    pub mode: Option<Mode>,
    /// Why it failed.
    pub error: Option<String>,
    /// The laws.
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
    /// Counters of their ports and interfaces: node, port, counter.
    #[serde(default)]
    pub ports: BTreeMap<String, BTreeMap<String, Readings>>,
    /// Series of samplers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub series: Vec<Series>,
    /// Whether the testbed was the limit; the simulator has none.
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
    /// Metric and its value, where the run was made elsewhere and published.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub published: BTreeMap<String, f64>,
    /// Metric and one unit of the last digit of its published value.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub published_rounding: BTreeMap<String, f64>,
}
