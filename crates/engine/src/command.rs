//! The `sim` command.

use std::collections::HashMap;
use std::fmt;
use std::io;
use std::num::NonZeroUsize;
use std::time::Duration;

use clap::Args;
use netstudy_records::{PlannedRun, Record, RecordSchema, read_plan};
use netstudy_sim as sim;

use crate::panics;
use crate::pool::{self, Event};
use crate::writer::Writer;

/// Options of a simulation.
#[derive(Args)]
pub(crate) struct SimArguments {
    /// Runs made at the same time [default: one for each core]
    #[arg(long)]
    threads: Option<NonZeroUsize>,
    /// Write each run when it ends, not in the order of the plan
    #[arg(long)]
    as_completed: bool,
    /// Interval between progress records
    #[arg(long, value_name = "MILLISECONDS", value_parser = clap::value_parser!(u64).range(1..))]
    progress_ms: Option<u64>,
}

/// Why the command ended early.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The plan cannot be read.
    Plan(String),
    /// The records cannot be written.
    Output(io::Error),
}

impl Failure {
    /// 2 for bad input, 3 for a testbed that failed.
    pub(crate) const fn exit_code(&self) -> u8 {
        match self {
            Self::Plan(_) => 2,
            Self::Output(_) => 3,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Plan(error) => write!(f, "the plan on standard input: {error}"),
            Self::Output(error) => write!(f, "writing records to standard output: {error}"),
        }
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}

/// Reads the plan, makes the runs in it, and writes a record of each.
pub(crate) fn simulate(arguments: &SimArguments) -> Result<(), Failure> {
    panics::rest_where_there_are_last_words();
    let plan = read_plan(io::stdin().lock()).map_err(Failure::Plan)?;
    let mut writer = Writer::new(io::stdout().lock(), plan.len(), arguments.as_completed);
    writer.write(&Record::Engine {
        schema: RecordSchema::V2,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        testbed: "sim".to_owned(),
    })?;
    let threads = arguments.threads.unwrap_or_else(default_threads);
    let packets = packets_of(&plan.sound);
    let packets_planned = packets_planned(&packets);
    let every = arguments.progress_ms.map(Duration::from_millis);
    let (runs, failed) = (plan.len(), plan.failed.len());
    // Runs that cannot be made are already known here: they need no thread, and count as done in
    // the progress.
    for (place, record) in plan.failed {
        writer.write_run(place, Box::new(record))?;
    }
    pool::make_runs(plan.sound.into(), &packets, threads, every, sim::run, |event| match event {
        Event::Ended(index, record) => writer.write_run(plan.places[index], record),
        Event::Progress { runs_done, packets } => writer.write(&Record::Progress {
            runs_done: failed + runs_done,
            runs,
            packets,
            packets_planned,
            under_way: None,
        }),
    })?;
    writer.write(&Record::End { runs })?;
    Ok(())
}

/// Useful data packets of each run; computed once for equal runs.
fn packets_of(runs: &[PlannedRun]) -> Vec<u64> {
    let mut known = HashMap::new();
    let of = |run: &PlannedRun| sim::useful_packets(&run.run());
    runs.iter().map(|run| *known.entry(run.kind()).or_insert_with(|| of(run))).collect()
}

/// Useful data packets of all runs. 0 if any run has a fixed duration, because how many packets it
/// sends is unknown in advance.
fn packets_planned(packets: &[u64]) -> u64 {
    if packets.contains(&0) { 0 } else { packets.iter().sum() }
}

fn default_threads() -> NonZeroUsize {
    std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN)
}
