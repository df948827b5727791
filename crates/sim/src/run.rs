//! One run of a plan: from its description to its record.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use netstudy_fabric::switch::{IngressQueued, OutputQueued, SharedMemory, SharedMemoryConfig};
use netstudy_fabric::{PortCounters, SwitchBuffer};
use netstudy_records as records;
use netstudy_records::{Buffer, Check, Phase, RunRecord, Status};
use netstudy_tcp::{Counters, Segment};
use netstudy_units::Duration;
use netstudy_workload::IncastConfig;

use crate::hosts::Frame;
use crate::incast::{Outcome, Setup, Simulation};
use crate::wiring::Star;

/// Told of each iteration that has ended.
pub trait Progress {
    /// An iteration of `packets` useful data packets has ended. The answer says whether to go on.
    fn iteration(&mut self, packets: u64) -> ControlFlow<()>;
}

/// Makes one run. A run that cannot be made, or does not end, is a record as well.
#[must_use]
pub fn run(run: &records::Run, progress: &mut dyn Progress) -> RunRecord {
    match try_run(run, progress) {
        Ok(record) => record,
        Err(error) => RunRecord { status: Status::Failed, error: Some(error), ..empty_record(run) },
    }
}

/// Data packets that a run carries when none is lost, warm-up included.
#[must_use]
pub fn useful_packets(run: &records::Run) -> u64 {
    let records::Workload::Incast(incast) = &run.workload;
    let servers = run.network.hosts.iter().find(|group| group.name == incast.servers);
    let config = workload(incast, servers.map_or(0, |group| group.count));
    let mtu = run.network.links.iter().map(|link| link.mtu_bytes).min().unwrap_or(1500);
    packets_per_iteration(&config, mtu) * u64::from(config.iterations)
}

fn packets_per_iteration(config: &IncastConfig, mtu_bytes: u32) -> u64 {
    let headers = Segment::BASE_HEADER_BYTES + Segment::TIMESTAMPS_BYTES;
    let mss = u64::from(mtu_bytes.saturating_sub(headers).max(1));
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

fn try_run(run: &records::Run, progress: &mut dyn Progress) -> Result<RunRecord, String> {
    try_run_by(simulate, run, progress)
}

/// Carries out a set-up over a switch with the given buffer.
type Simulate =
    fn(&Buffer, &Setup<'_>, &mut dyn FnMut() -> ControlFlow<()>) -> Result<Outcome, String>;

fn try_run_by(
    simulate: Simulate,
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
    let packets = packets_per_iteration(&config, star.server.tcp.mtu_bytes);
    let mut on_iteration = || progress.iteration(packets);
    let outcome = simulate(&run.network.switch.buffer, &setup, &mut on_iteration)?;
    Ok(record(run, &star, incast, &config, outcome))
}

/// Chooses the code for the switch once, so that no choice is left a packet.
fn simulate(
    buffer: &Buffer,
    setup: &Setup<'_>,
    on_iteration: &mut dyn FnMut() -> ControlFlow<()>,
) -> Result<Outcome, String> {
    fn go<B: SwitchBuffer<Frame>>(
        setup: &Setup<'_>,
        switch: B,
        on_iteration: &mut dyn FnMut() -> ControlFlow<()>,
    ) -> Result<Outcome, String> {
        Simulation::new(setup, switch).run(on_iteration)
    }
    let links = setup.star.port_links();
    let marked_above = setup.star.ecn_threshold_bytes;
    match *buffer {
        Buffer::OutputQueued { port_buffer_bytes } => {
            let switch = OutputQueued::new(&links, port_buffer_bytes);
            go(setup, switch.marking_above(marked_above), on_iteration)
        }
        Buffer::SharedMemory {
            pool_bytes,
            port_reserve_bytes,
            cell_bytes,
            alpha,
            ingress_guarantee_frames,
        } => {
            let config = SharedMemoryConfig {
                pool_bytes,
                port_reserve_bytes,
                cell_bytes,
                alpha,
                ingress_guarantee_frames,
            };
            let switch = SharedMemory::new(&links, &config);
            go(setup, switch.marking_above(marked_above), on_iteration)
        }
        Buffer::IngressQueued {
            ingress_buffer_bytes,
            egress_buffer_bytes,
            random_arbitration_pct,
        } => {
            let switch = IngressQueued::new(
                &links,
                ingress_buffer_bytes,
                egress_buffer_bytes,
                random_arbitration_pct,
            );
            go(setup, switch.marking_above(marked_above), on_iteration)
        }
    }
}

fn empty_record(run: &records::Run) -> RunRecord {
    RunRecord {
        run: run.id.clone(),
        treatment: run.treatment.clone(),
        replicate: run.replicate,
        seed: run.seed.clone(),
        status: Status::Ok,
        error: None,
        checks: Vec::new(),
        measure: None,
        bytes_received: None,
        iterations: None,
        counters: BTreeMap::new(),
    }
}

fn record(
    run: &records::Run,
    star: &Star,
    incast: &records::Incast,
    config: &IncastConfig,
    outcome: Outcome,
) -> RunRecord {
    let bytes_received = outcome.end.client.bytes_received - outcome.base.client.bytes_received;
    let expected_bytes = config.iteration_bytes() * u64::from(incast.iterations);
    let took = outcome.measure_to.since(outcome.measure_from);
    let checks = vec![
        all_bytes_arrived(bytes_received, expected_bytes),
        below_line_rate(star, bytes_received, took),
        frames_conserved(&outcome),
    ];
    let status = if checks.iter().all(|check| check.holds) { Status::Ok } else { Status::Invalid };
    RunRecord {
        status,
        checks,
        measure: Some(Phase {
            start_ns: outcome.measure_from.as_ns(),
            end_ns: outcome.measure_to.as_ns(),
        }),
        bytes_received: Some(bytes_received),
        counters: counters(run, incast, &outcome),
        iterations: Some(outcome.samples),
        ..empty_record(run)
    }
}

fn all_bytes_arrived(received: u64, expected: u64) -> Check {
    Check {
        law: "every byte that was asked for arrives once".to_owned(),
        holds: received == expected,
        detail: format!("received {received} B of {expected} B"),
    }
}

/// Payload cannot come faster than full frames carry it.
fn below_line_rate(star: &Star, bytes: u64, took: Duration) -> Check {
    let client = &star.client;
    let mtu = client.tcp.mtu_bytes;
    let payload = mtu - Segment::BASE_HEADER_BYTES;
    let frame = client.link.serialization(netstudy_fabric::ethernet::frame_bytes(mtu));
    let least = u128::from(bytes) * u128::from(frame.as_ps()) / u128::from(payload);
    Check {
        law: "goodput stays below what the client's link can carry".to_owned(),
        holds: u128::from(took.as_ps()) >= least,
        detail: format!("{bytes} B in {took}, at least {} ns on the wire", least / 1000),
    }
}

fn frames_conserved(outcome: &Outcome) -> Check {
    let ports = [&outcome.end.client_port, &outcome.end.server_ports];
    let judged: u64 = ports.iter().map(|port| port.frames_forwarded + port.frames_dropped).sum();
    let accounted = judged + outcome.frames_under_way;
    Check {
        law: "frames sent are forwarded, dropped or under way".to_owned(),
        holds: outcome.frames_sent == accounted,
        detail: format!("sent {}, accounted for {accounted}", outcome.frames_sent),
    }
}

fn counters(run: &records::Run, incast: &records::Incast, outcome: &Outcome) -> records::Counters {
    let (base, end) = (&outcome.base, &outcome.end);
    let switch = "switch";
    let client_port =
        port_counters(&base.client_port, &end.client_port, outcome.client_queue_bytes_max);
    let server_ports =
        port_counters(&base.server_ports, &end.server_ports, outcome.server_queue_bytes_max);
    let client_drops = end.client_nic_drops - base.client_nic_drops;
    let server_drops = end.server_nic_drops - base.server_nic_drops;
    debug_assert!(run.network.hosts.iter().all(|group| group.name != switch));
    BTreeMap::from([
        (incast.client.clone(), host_counters(&base.client, &end.client, client_drops)),
        (incast.servers.clone(), host_counters(&base.servers, &end.servers, server_drops)),
        (format!("{switch}.{}", incast.client), client_port),
        (format!("{switch}.{}", incast.servers), server_ports),
    ])
}

type Table = BTreeMap<String, u64>;

fn host_counters(base: &Counters, end: &Counters, nic_queue_drops: u64) -> Table {
    let grown =
        |name: &str, counter: fn(&Counters) -> u64| (name.to_owned(), counter(end) - counter(base));
    Table::from([
        grown("segments_sent", |c| c.segments_sent),
        grown("segments_received", |c| c.segments_received),
        grown("segments_retransmitted", |c| c.segments_retransmitted),
        grown("timeouts", |c| c.timeouts),
        grown("fast_recoveries", |c| c.fast_recoveries),
        grown("acks_sent", |c| c.acks_sent),
        grown("duplicate_acks_received", |c| c.duplicate_acks_received),
        grown("ece_acks_received", |c| c.ece_acks_received),
        grown("bytes_sent", |c| c.bytes_sent),
        grown("bytes_received", |c| c.bytes_received),
        ("nic_queue_drops".to_owned(), nic_queue_drops),
    ])
}

fn port_counters(base: &PortCounters, end: &PortCounters, queue_bytes_max: u64) -> Table {
    let grown = |name: &str, counter: fn(&PortCounters) -> u64| {
        (name.to_owned(), counter(end) - counter(base))
    };
    Table::from([
        grown("frames_forwarded", |c| c.frames_forwarded),
        grown("bytes_forwarded", |c| c.bytes_forwarded),
        grown("frames_dropped", |c| c.frames_dropped),
        grown("bytes_dropped", |c| c.bytes_dropped),
        grown("frames_marked", |c| c.frames_marked),
        ("queue_bytes_max".to_owned(), queue_bytes_max),
    ])
}

#[cfg(test)]
mod tests;
