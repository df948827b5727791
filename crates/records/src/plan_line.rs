use serde::{Deserialize, Serialize};

use crate::{Instrument, Network, Phase, Probe, Treatment, Workload};

/// The schema that this engine reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum PlanSchema {
    /// Lines: the parts that runs share, and one line for each run.
    #[serde(rename = "netstudy/plan/3")]
    V3,
}

/// The first line of a plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlanHead {
    /// Version of this contract.
    pub schema: PlanSchema,
    /// Name of the study.
    pub study: String,
    /// Seed from which the seeds of all runs were derived.
    pub seed: i64,
    /// Number of runs, so that a plan that breaks off is noticed.
    pub runs: usize,
}

/// A further line of a plan. A part stands before the first line that names it; the name is a hash
/// of the part's content.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum PlanLine {
    /// Nodes and links.
    Network {
        /// Name of the part.
        name: String,
        /// The part.
        network: Network,
    },
    /// A workload on a network.
    Workload {
        /// Name of the part.
        name: String,
        /// The part.
        workload: Box<Workload>,
    },
    /// Parts that the runs of a treatment share.
    Treatment(TreatmentPart),
    /// A run.
    Run(RunLine),
}

/// Parts that the runs of a treatment share.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TreatmentPart {
    /// Name of the part.
    pub name: String,
    /// Test cases that share the runs.
    pub cases: Vec<String>,
    /// The treatment.
    pub treatment: Treatment,
    /// Name of the network.
    pub network: String,
    /// A probe during the workload; none: no probe.
    #[serde(default)]
    pub probe: Option<Probe>,
    /// The phases of the runs, in order.
    pub phases: Vec<Phase>,
    /// Samplers with their intervals.
    #[serde(default)]
    pub instruments: Vec<Instrument>,
}

/// One run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunLine {
    /// A hash of treatment and replicate.
    pub id: String,
    /// Name of the treatment.
    pub of: String,
    /// Name of the workload.
    pub workload: String,
    /// Number of the replicate, from 1.
    pub replicate: u32,
    /// Seed of the run: 16 hexadecimal digits.
    pub seed: String,
    /// True if the simulator traces where the time of this run goes.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub trace: bool,
}
