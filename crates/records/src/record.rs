use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::Treatment;

/// The schema that this engine writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum RecordSchema {
    /// The first one.
    #[serde(rename = "netstudy/record/1")]
    V1,
}

/// One line of the engine's output.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Record {
    /// Who writes: the first record.
    Engine {
        /// Version of this contract.
        schema: RecordSchema,
        /// Version of the engine.
        version: String,
        /// What the runs were made on.
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
        /// Useful data packets of the plan.
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

/// How far the run is that is being made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunUnderWay {
    /// Iterations that have ended.
    pub iterations_done: u32,
    /// Iterations in all, warm-up included.
    pub iterations: u32,
}

/// What became of a run.
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

/// How the simulator carries a run out.
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

/// The measuring phase, the same for all instruments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Phase {
    /// Virtual time of its start.
    pub start_ns: u64,
    /// Virtual time of its end.
    pub end_ns: u64,
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
    /// Segments that hosts sent again.
    pub retransmissions: Vec<u64>,
    /// Expiries of hosts' retransmission timers.
    pub timeouts: Vec<u64>,
}

/// One value a connection over the measuring phase, in the order of the servers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConnectionSamples {
    /// Application bytes that the client received.
    pub bytes_received: Vec<u64>,
    /// Time that the client waited for them: from the start of each iteration to their last byte.
    pub receiving_ns: Vec<u64>,
    /// Segments that the server sent again.
    pub retransmissions: Vec<u64>,
    /// Expiries of the server's retransmission timer.
    pub timeouts: Vec<u64>,
}

/// Something that a testbed of real machines can do only so much of, and how much a run took.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TestbedLimit {
    /// What is limited.
    pub name: String,
    /// How much the run took; none: it could not be measured.
    pub value: Option<f64>,
    /// The most with which the run still counts.
    pub allowed: f64,
    /// Unit of both; empty for a count.
    pub unit: String,
    /// Whether the run measured the testbed and not what was studied.
    pub exceeded: bool,
    /// Whether the run is invalid for that, and for nothing else.
    #[serde(default)]
    pub invalidates: bool,
    /// Where the value was read, and what stood there.
    pub evidence: String,
}

/// Two instruments that counted the same thing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reconciliation {
    /// What should be equal, the left instrument first.
    pub check: String,
    /// What the left one counted.
    pub left: f64,
    /// What the right one counted.
    pub right: f64,
    /// Left minus right.
    pub difference: f64,
    /// The largest difference, either way, that the instruments themselves allow.
    pub tolerance: f64,
    /// What the difference comes from, where that is known.
    pub explained: Option<String>,
    /// Whether the two agree.
    pub holds: bool,
}

/// Growth of counters by node or port over the measuring phase.
pub type Counters = BTreeMap<String, BTreeMap<String, u64>>;

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
    /// What became of it.
    pub status: Status,
    /// How it was simulated; none: it was not simulated.
    pub mode: Option<Mode>,
    /// Why it failed.
    pub error: Option<String>,
    /// The laws.
    pub checks: Vec<Check>,
    /// When it was measured.
    pub measure: Option<Phase>,
    /// Application bytes that the client received in the measuring phase.
    pub bytes_received: Option<u64>,
    /// What each iteration gave.
    pub iterations: Option<IterationSamples>,
    /// What each connection gave.
    pub connections: Option<ConnectionSamples>,
    /// What the nodes counted.
    pub counters: Counters,
    /// Whether the testbed was the limit; the simulator has none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub limits: Vec<TestbedLimit>,
    /// What independent instruments counted, held against each other.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reconciliation: Vec<Reconciliation>,
    /// What the run was made on; empty for the simulator.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub environment: BTreeMap<String, String>,
    /// What all link rates of the study were multiplied by, such as `1/20`; none: nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scaled_by: Option<String>,
}
