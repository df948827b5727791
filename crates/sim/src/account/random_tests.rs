//! Random networks and workloads: the parts of each unit of work add up to its time, and a trace
//! changes no result.

use netstudy_records::{
    Application, Bus, Costs, Cpu, DataPath, Database, Direction, Disk, FileSink, FileSource, Ftp,
    Load, Medium, Mode, Node, Operation, Phase, PhaseKind, Request, Roles, Run, RunRecord, Service,
    TierRoles, Transactions, Transfer, Until, Workload,
};
use proptest::prelude::*;
use proptest::sample::Index;

use crate::network::general::tests::random_runs;
use crate::run::tests::{Silent, cases, lab, scenario};
use crate::run::{Manner, carry_out};

const MS: u64 = 1_000_000;

/// Random choices in addition to the network.
#[derive(Clone, Debug)]
struct Draw {
    choices: [Index; 6],
    bits: u64,
    ns: [u64; 4],
    bytes: u64,
}

impl Draw {
    fn is(&self, bit: u32) -> bool {
        self.bits >> bit & 1 == 1
    }

    /// One of these choices.
    fn one_of<T: Clone>(&self, number: usize, all: &[T]) -> T {
        self.choices[number].get(all).clone()
    }
}

fn draws() -> impl Strategy<Value = Draw> {
    let ns = [0..3_000_u64, 0..20_000, 0..200_000, 0..2 * MS];
    (any::<[Index; 6]>(), any::<u64>(), ns, 1..400_000_u64)
        .prop_map(|(choices, bits, ns, bytes)| Draw { choices, bits, ns, bytes })
}

fn hosts(run: &Run) -> Vec<String> {
    let of_host = |node: &Node| match node {
        Node::Host(host) => Some(host.name.clone()),
        _ => None,
    };
    run.network.nodes.iter().filter_map(of_host).collect()
}

/// Limits of interfaces, segments that are merged, and pauses.
fn limit_interfaces(run: &mut Run, draw: &Draw) {
    for group in &mut run.network.groups {
        let nic = &mut group.nic;
        nic.packet_rate_pps = draw.one_of(0, &[None, None, Some(100_000), Some(1_000_000)]);
        nic.interrupt_delay_ns = draw.ns[1];
        nic.receive_merge_bytes = draw.one_of(1, &[0, 0, 20_000, 65_535]);
        nic.poll_weight_frames = draw.one_of(2, &[None, Some(1), Some(4), Some(64)]);
        if draw.is(0) {
            nic.receive_ring_frames = Some(64);
            nic.honours_pause |= draw.is(1);
            nic.pause_high_frames = draw.is(2).then_some(8);
            nic.pause_low_frames = nic.pause_high_frames.map(|high| high / 2);
        }
    }
}

/// CPUs, buses and disks. Then received frames cost no time at the interface.
fn add_stations(run: &mut Run, draw: &Draw) {
    for group in &mut run.network.groups {
        (group.nic.receive_frame_ns, group.nic.interrupt_delay_ns) = (0, 0);
        group.cpu = Some(Cpu {
            cpus: draw.one_of(3, &[1, 2, 3]),
            service: if draw.is(4) { Service::Fixed } else { Service::Exponential },
            send_packet_ns: draw.ns[0],
            receive_packet_ns: draw.ns[1] / 4,
            send_ps_per_byte: draw.ns[0],
            receive_ps_per_byte: draw.ns[1] / 2,
            file_read_ps_per_byte: draw.ns[0] / 2,
            file_write_ps_per_byte: draw.ns[1] / 8,
            call_ns: draw.ns[1],
            call_bytes: 20_000,
            ..Cpu::FREE
        });
        group.bus = draw.is(5).then_some(Bus {
            memory_channels: 1,
            memory_channel_bps: draw.is(6).then_some(4_000_000_000),
            io_channels: 1,
            io_channel_bps: draw.is(7).then_some(1_000_000_000),
        });
        group.disk = Some(Disk {
            disk_rate_bps: draw.one_of(4, &[100_000_000, 1_000_000_000]),
            access_ns: draw.ns[2],
            write_cache_bytes: draw.one_of(5, &[0, 50_000, 1 << 30]),
            page_cache_bytes: 1 << 40,
        });
    }
}

pub(super) fn timed(run: &mut Run, warmup_ms: u64, measure_ms: u64) {
    let phase = |kind, ms| Phase { kind, until: Some(Until::Time { ns: ms * MS }) };
    run.phases = vec![phase(PhaseKind::WarmUp, warmup_ms), phase(PhaseKind::Measure, measure_ms)];
}

/// One or two clients, and the other hosts as servers.
fn roles(run: &Run, draw: &Draw) -> Roles {
    let mut client = hosts(run);
    let server = client.split_off(if client.len() > 2 && draw.is(8) { 2 } else { 1 });
    Roles { client, server }
}

/// The incast of the run, between all its hosts.
fn incast(mut run: Run) -> Run {
    let mut client = hosts(&run);
    let server = client.split_off(1);
    lab::incast(&mut run).roles = Roles { client, server };
    let incast = lab::incast(&mut run);
    incast.block_bytes = incast.block_bytes.min(400_000);
    run
}

fn requests(mut run: Run, draw: &Draw) -> Run {
    lab::set_iterations(&mut run, 1, 8);
    let every_ns = draw.is(10).then_some(1 + draw.ns[3]);
    run.workload = Workload::Request(Request {
        writes: 1,
        roles: roles(&run, draw),
        request_bytes: 1 + draw.bytes % 2_000,
        response_bytes: 1 + draw.bytes / 4,
        connections: 2,
        outstanding: if every_ns.is_some() { 1 } else { 1 + (draw.bits % 3) as u32 },
        think_ns: if every_ns.is_some() { 0 } else { draw.ns[1] },
        every_ns,
    });
    run
}

fn transfer(run: &Run, draw: &Draw) -> Transfer {
    let directions = [Direction::Get, Direction::Put, Direction::Both];
    Transfer {
        roles: roles(run, draw),
        direction: draw.one_of(0, &directions),
        size_bytes: Some(draw.bytes),
        flows: 1 + u32::from(draw.is(11)),
        request_bytes: 64,
        pause_ns: if draw.is(12) { draw.ns[2] } else { 0 },
        starts_ns: Vec::new(),
        ftp: None,
    }
}

fn transfers(mut run: Run, draw: &Draw) -> Run {
    lab::set_iterations(&mut run, 1, 3);
    run.workload = Workload::Transfer(transfer(&run, draw));
    run
}

fn streams(mut run: Run, draw: &Draw) -> Run {
    timed(&mut run, 20, 300);
    for link in &mut run.network.links {
        lab::set_rate(link, 20_000_000);
    }
    run.workload = Workload::Transfer(Transfer { size_bytes: None, ..transfer(&run, draw) });
    run
}

fn files(mut run: Run, draw: &Draw) -> Run {
    lab::set_iterations(&mut run, 1, 3);
    let has_disk = run.network.groups[0].disk.is_some();
    let sources = [FileSource::Memory, FileSource::Ram, FileSource::Cache, FileSource::Disk];
    let sinks = [FileSink::Null, FileSink::Ram, FileSink::Disk, FileSink::SyncedDisk];
    let ftp = Ftp {
        source: draw.one_of(1, &sources[..if has_disk { 4 } else { 2 }]),
        sink: draw.one_of(2, &sinks[..if has_disk { 4 } else { 2 }]),
        data_path: draw.one_of(3, &[DataPath::Copying, DataPath::Sendfile]),
    };
    let direction = if draw.is(13) { Direction::Get } else { Direction::Put };
    run.workload =
        Workload::Transfer(Transfer { direction, ftp: Some(ftp), ..transfer(&run, draw) });
    run
}

fn transactions(mut run: Run, draw: &Draw) -> Run {
    timed(&mut run, 50, 400);
    let names = hosts(&run);
    let operation = |name: &str, share_ppm| Operation {
        name: name.to_owned(),
        share_ppm,
        elements_ppm: 1_000_000,
        requests: Vec::new(),
    };
    let users = 1 + (draw.bits % 6) as u32;
    run.workload = Workload::Transactions(Transactions {
        roles: TierRoles {
            client: names[2..].iter().chain(&names[..1]).take(2).cloned().collect(),
            server: vec![names[1].clone()],
            database: (names.len() > 3).then(|| names[0].clone()).into_iter().collect(),
        },
        application: Application::Brokerage {
            variant: None,
            threads: None,
            pool_connections: 16,
            page_images: (draw.bits % 3) as u32,
            database: Database::Postgresql,
            data: Medium::Disk,
            users: 15_000,
            quotes: 10_000,
            existing: None,
        },
        mix: vec![operation("home", 400_000), operation("sell", 600_000)],
        load: if draw.is(14) {
            Load::Closed { users, think_ns: draw.ns[3], think: Service::Exponential }
        } else {
            let arrivals = netstudy_records::Arrivals::Poisson;
            Load::Open { interval_ps: 8_000_000_000, arrivals, users: 2 * users }
        },
        statistics_every_ns: 1_000_000_000,
        costs: Some(Costs {
            profile: "lab".to_owned(),
            request_bytes: 200,
            response_bytes: 1 + draw.bytes / 100,
            app_cpu_ns: draw.ns[3],
            app_cpu_growth_ppm: 0,
            database_calls: 1 + (draw.bits / 7 % 3) as u32,
            database_request_bytes: 100,
            database_response_bytes: 500,
            database_cpu_ns: draw.ns[3] / 3,
            database_disk_cpu_ns: 0,
            database_shared_cpu_ns: draw.ns[2],
            database_hold_ns: draw.ns[2],
            database_contention_ns: draw.ns[1],
            database_buffer_wait_ns: 0,
            database_slots: 1 + (draw.bits / 3 % 2) as u32,
            database_disk_ns: draw.ns[2] / 2,
            delay_ns: draw.ns[2],
            service: if draw.is(15) { Service::Fixed } else { Service::Exponential },
            threads: draw.is(16).then_some(2),
            pool_connections: 2,
        }),
    });
    run
}

/// A random run of any workload over any network.
fn any_run() -> impl Strategy<Value = Run> {
    let network = prop_oneof![scenario(), random_runs()];
    (network, draws(), 0..6_usize).prop_map(|(mut run, draw, workload)| {
        // With a shorter queue, retransmissions of several connections can be lost in step for ever.
        for group in &mut run.network.groups {
            let frames = &mut group.nic.transmit_queue_frames;
            *frames = 16.max(*frames);
        }
        if draw.is(17) {
            limit_interfaces(&mut run, &draw);
        }
        if draw.is(18) {
            add_stations(&mut run, &draw);
        }
        match workload {
            0 => requests(run, &draw),
            1 => transfers(run, &draw),
            2 => streams(run, &draw),
            3 => files(run, &draw),
            4 => transactions(run, &draw),
            _ => incast(run),
        }
    })
}

/// The record of a run by events, with a trace or without; an error if it cannot end, as over a
/// switch whose buffer never admits a frame.
pub(super) fn made(run: &Run, trace: bool, all_steps: bool) -> Result<RunRecord, String> {
    let run = Run { trace, ..run.clone() };
    let manner = Manner { mode: Some(Mode::PerHop), all_steps, sends_ahead: true, tracer: () };
    carry_out(&run, manner, &mut Silent)
}

/// The law of the account, and the rest of the record without the additions of a trace.
fn law_and_rest(mut record: RunRecord) -> (netstudy_records::Check, RunRecord) {
    let law = record.checks.pop().expect("the law comes last");
    record.samples.time.clear();
    if let Some(connections) = &mut record.samples.connection {
        connections.last = None;
    }
    // It is valid if all checks hold.
    (law, record)
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn the_parts_of_any_unit_add_up_and_a_trace_changes_nothing(
        run in any_run(),
        all_steps in any::<bool>(),
    ) {
        let (traced, untraced) = (made(&run, true, all_steps), made(&run, false, all_steps));
        let Ok(traced) = traced else {
            prop_assert_eq!(traced, untraced);
            return Ok(());
        };
        let (law, traced) = law_and_rest(traced);
        prop_assert_eq!(&law.law, "the parts of each unit of work add up to its time");
        prop_assert!(law.holds, "{}", law.detail);
        prop_assert_eq!(Ok(traced), untraced);
    }
}
