//! One run of a plan: from its description to its record.

use std::ops::ControlFlow;

use netstudy_records as records;
use netstudy_records::{Buffer, RunRecord};
use netstudy_tcp::Segment;
use netstudy_units::Duration;
use netstudy_workload::IncastConfig;

use crate::modes::{self, OnIteration};
use crate::parties::Setup;
use crate::record;
use crate::snapshot::Outcome;
use crate::wiring::Star;

/// Told of each iteration that has ended.
pub trait Progress {
    /// An iteration of `packets` useful data packets has ended. The answer says whether to go on.
    fn iteration(&mut self, packets: u64) -> ControlFlow<()>;
}

/// Makes one run. A run that cannot be made, or does not end, is a record as well.
#[must_use]
pub fn run(run: &records::Run, progress: &mut dyn Progress) -> RunRecord {
    let mode = modes::mode(run);
    try_run_by(
        |buffer, setup, on_iteration| modes::simulate(mode, buffer, setup, (), on_iteration),
        run,
        progress,
    )
    .unwrap_or_else(|error| record::of_failure(run, error))
}

/// Data packets that a run carries when none is lost, warm-up included.
#[must_use]
pub fn useful_packets(run: &records::Run) -> u64 {
    let records::Workload::Incast(incast) = &run.workload;
    let servers = run.network.hosts.iter().find(|group| group.name == incast.servers);
    let config = workload(incast, servers.map_or(0, |group| group.count));
    packets_per_iteration(&config, &run.network) * u64::from(config.iterations)
}

fn packets_per_iteration(config: &IncastConfig, network: &records::Network) -> u64 {
    let headers = Segment::BASE_HEADER_BYTES + Segment::TIMESTAMPS_BYTES;
    let mtu = network.links.iter().map(|link| link.mtu_bytes).min().unwrap_or(1500);
    let mss = u64::from(mtu.saturating_sub(headers).max(1));
    (0..config.servers).map(|server| config.response_bytes(server).div_ceil(mss)).sum()
}

fn workload(incast: &records::Incast, servers: u32) -> IncastConfig {
    IncastConfig {
        servers,
        block_bytes: incast.block_bytes,
        striped: incast.striped,
        iterations: incast.warmup_iterations + incast.iterations,
        request_bytes: incast.request_bytes,
        request_spacing: Duration::from_ns(incast.request_spacing_ns),
    }
}

/// Makes one run with `simulate`, which carries a set-up out over a switch with the given buffer.
pub(crate) fn try_run_by(
    simulate: impl FnOnce(&Buffer, &Setup<'_>, &mut OnIteration<'_>) -> Result<Outcome, String>,
    run: &records::Run,
    progress: &mut dyn Progress,
) -> Result<RunRecord, String> {
    let records::Workload::Incast(incast) = &run.workload;
    let star = Star::new(run)?;
    let config = workload(incast, star.servers);
    let setup = Setup {
        star: &star,
        workload: config,
        warmup_iterations: incast.warmup_iterations,
        start_jitter: &incast.start_jitter,
        seed: &run.seed,
    };
    let packets = packets_per_iteration(&config, &run.network);
    let mut on_iteration = || progress.iteration(packets);
    let outcome = simulate(&run.network.switch.buffer, &setup, &mut on_iteration)?;
    Ok(record::of_outcome(run, &star, &config, outcome))
}

#[cfg(test)]
pub(crate) mod tests;
