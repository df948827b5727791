//! One run of a plan: from its description to its record.

use std::collections::BTreeMap;
use std::iter::repeat;
use std::ops::ControlFlow;

use netstudy_fabric::switch::{IngressQueued, OutputQueued, SharedMemory, SharedMemoryConfig};
use netstudy_fabric::{PauseCounters, PortCounters, SwitchBuffer};
use netstudy_records as records;
use netstudy_records::{Buffer, Check, Mode, Phase, RunRecord, Status};
use netstudy_tcp::{Counters, Segment};
use netstudy_units::Duration;
use netstudy_workload::IncastConfig;

use crate::hops;
use crate::hosts::{Frame, NicCounters};
use crate::incast::{Connection, Outcome, Setup, Simulation};
use crate::limits::{Limited, Unlimited};
use crate::observe::Observer;
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
    try_run_by(
        &mut |buffer, setup, on_iteration| match mode(run) {
            Mode::ClosedForm => simulate(buffer, setup, (), on_iteration),
            Mode::PerHop => hops::simulate(buffer, setup, (), on_iteration),
        },
        run,
        progress,
    )
}

/// How a run is carried out: in closed form, unless it has what only one event a hop can express.
fn mode(run: &records::Run) -> Mode {
    let switch = &run.network.switch;
    let needs_hops = |nic: &records::Nic| {
        nic.honours_pause || nic.pause_high_frames.is_some() || nic.receive_merge_bytes > 0
    };
    let per_hop = switch.honours_pause
        || switch.pause_high_bytes.is_some()
        || run.network.hosts.iter().any(|group| needs_hops(&group.nic));
    if per_hop { Mode::PerHop } else { Mode::ClosedForm }
}

/// Carries out a set-up over a switch with the given buffer.
type Simulate<'a> = dyn FnMut(&Buffer, &Setup<'_>, &mut dyn FnMut() -> ControlFlow<()>) -> Result<Outcome, String>
    + 'a;

pub(crate) fn try_run_by(
    simulate: &mut Simulate<'_>,
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

/// Chooses the code for the switch and the limits of interfaces once, so that no choice is left a packet.
pub(crate) fn simulate(
    buffer: &Buffer,
    setup: &Setup<'_>,
    observer: impl Observer,
    on_iteration: &mut dyn FnMut() -> ControlFlow<()>,
) -> Result<Outcome, String> {
    fn go<B: SwitchBuffer<Frame>>(
        setup: &Setup<'_>,
        switch: B,
        observer: impl Observer,
        on_iteration: &mut dyn FnMut() -> ControlFlow<()>,
    ) -> Result<Outcome, String> {
        if setup.star.is_limited() {
            Simulation::<B, Limited, _>::new(setup, switch, observer).run(on_iteration)
        } else {
            Simulation::<B, Unlimited, _>::new(setup, switch, observer).run(on_iteration)
        }
    }
    let links = setup.star.port_links();
    let marked_above = setup.star.ecn_threshold_bytes;
    match *buffer {
        Buffer::OutputQueued { port_buffer_bytes } => {
            let switch = OutputQueued::new(&links, port_buffer_bytes);
            go(setup, switch.marking_above(marked_above), observer, on_iteration)
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
            go(setup, switch.marking_above(marked_above), observer, on_iteration)
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
            )
            .reserving(setup.star.reserved_bytes());
            go(setup, switch.marking_above(marked_above), observer, on_iteration)
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
        mode: Some(mode(run)),
        error: None,
        checks: Vec::new(),
        measure: None,
        bytes_received: None,
        iterations: None,
        connections: None,
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
        connections: Some(connections(&outcome)),
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
    debug_assert!(run.network.hosts.iter().all(|group| group.name != switch));
    BTreeMap::from([
        (
            incast.client.clone(),
            merged([
                host_counters(&base.client, &end.client),
                nic_counters(&base.client_nic, &end.client_nic),
                pause_counters(&base.client_pauses, &end.client_pauses),
            ]),
        ),
        (
            incast.servers.clone(),
            merged([
                host_counters(&base.servers, &end.servers),
                nic_counters(&base.server_nics, &end.server_nics),
                pause_counters(&base.server_pauses, &end.server_pauses),
            ]),
        ),
        (
            format!("{switch}.{}", incast.client),
            merged([
                port_counters(&base.client_port, &end.client_port, outcome.client_queue_bytes_max),
                pause_counters(&base.client_port_pauses, &end.client_port_pauses),
            ]),
        ),
        (
            format!("{switch}.{}", incast.servers),
            merged([
                port_counters(
                    &base.server_ports,
                    &end.server_ports,
                    outcome.server_queue_bytes_max,
                ),
                pause_counters(&base.server_port_pauses, &end.server_port_pauses),
            ]),
        ),
    ])
}

/// How each connection's counters grew; a run without warm-up has nothing to take off.
fn connections(outcome: &Outcome) -> records::ConnectionSamples {
    let grown = |value: fn(&Connection) -> u64| {
        let base = outcome.base.connections.iter().map(value).chain(repeat(0));
        let end = outcome.end.connections.iter().map(value);
        end.zip(base).map(|(end, base)| end - base).collect::<Vec<_>>()
    };
    records::ConnectionSamples {
        bytes_received: grown(|c| c.bytes_received),
        receiving_ns: grown(|c| c.receiving.as_ps()).iter().map(|ps| ps / 1000).collect(),
        retransmissions: grown(|c| c.retransmissions),
        timeouts: grown(|c| c.timeouts),
    }
}

type Table = BTreeMap<String, u64>;

fn merged<const N: usize>(tables: [Table; N]) -> Table {
    tables.into_iter().flatten().collect()
}

fn host_counters(base: &Counters, end: &Counters) -> Table {
    let grown =
        |name: &str, counter: fn(&Counters) -> u64| (name.to_owned(), counter(end) - counter(base));
    Table::from([
        grown("segments_sent", |c| c.segments_sent),
        grown("segments_received", |c| c.segments_received),
        grown("segments_retransmitted", |c| c.segments_retransmitted),
        grown("timeouts", |c| c.timeouts),
        grown("fast_recoveries", |c| c.fast_recoveries),
        grown("loss_probes", |c| c.loss_probes),
        grown("loss_probe_recoveries", |c| c.loss_probe_recoveries),
        grown("undone_reductions", |c| c.undone_reductions),
        grown("acks_sent", |c| c.acks_sent),
        grown("duplicate_acks_received", |c| c.duplicate_acks_received),
        grown("ece_acks_received", |c| c.ece_acks_received),
        grown("bytes_sent", |c| c.bytes_sent),
        grown("bytes_received", |c| c.bytes_received),
    ])
}

fn nic_counters(base: &NicCounters, end: &NicCounters) -> Table {
    let grown = |name: &str, counter: fn(&NicCounters) -> u64| {
        (name.to_owned(), counter(end) - counter(base))
    };
    Table::from([
        grown("nic_queue_drops", |c| c.queue_drops),
        grown("ring_drops", |c| c.ring_drops),
    ])
}

fn pause_counters(base: &PauseCounters, end: &PauseCounters) -> Table {
    let grown = |name: &str, counter: fn(&PauseCounters) -> u64| {
        (name.to_owned(), counter(end) - counter(base))
    };
    Table::from([
        grown("pauses_sent", |c| c.pauses_sent),
        grown("pauses_received", |c| c.pauses_received),
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
pub(crate) mod tests;
