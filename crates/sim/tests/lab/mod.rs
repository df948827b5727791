//! Runs of a plan, written so that a test shows only the values that it depends on.

#![allow(dead_code, reason = "the unit tests of `src/run` use a part of it")]

use std::ops::ControlFlow;

use netstudy_records::{
    Buffer, CongestionControl, ConnectionSamples, Forwarding, Group, Host, Incast,
    IngressQueuedConfig, IterationSamples, Jitter, Link, Network, Nic, Node, OffloadRule,
    OutputQueuedConfig, Phase, PhaseKind, PhaseTimes, Port, Readings, Recovery, Roles, RtoRule,
    Run, RunRecord, SharedMemoryConfig, Status, Switch, Tcp, Times, Treatment, Until, WindowRule,
    Workload,
};
use netstudy_sim::Progress;

pub(crate) const GUARANTEED: Buffer = Buffer::SharedMemory(SharedMemoryConfig {
    pool_bytes: 435_000,
    port_reserve_bytes: 0,
    cell_bytes: 512,
    alpha: 8.0,
    ingress_guarantee_frames: 1,
});
pub(crate) const INGRESS: Buffer = Buffer::IngressQueued(IngressQueuedConfig {
    ingress_buffer_bytes: 86_000,
    ingress_cell_bytes: 1,
    ingress_reserve_frames: 1,
    egress_buffer_bytes: 7_000,
    random_arbitration_pct: 75,
});
pub(crate) const DROP_TAIL: Buffer = drop_tail(512_000);
pub(crate) const DEEP: Buffer = drop_tail(1 << 40);

/// A private drop-tail buffer of so many bytes for each port.
pub(crate) const fn drop_tail(port_buffer_bytes: u64) -> Buffer {
    Buffer::OutputQueued(OutputQueuedConfig { port_buffer_bytes })
}

/// 10 Gbit/s, 1 µs a link, MTU 9000, one block of 4 MB from each server, once, no random delay.
pub(crate) fn run(servers: u32, buffer: Buffer) -> Run {
    let group = |name: &str| Group {
        name: name.to_owned(),
        profile: "lab".to_owned(),
        tcp: tcp(),
        nic: Nic {
            send_latency_ns: 0,
            receive_latency_ns: 0,
            receive_jitter_ns: 0,
            receive_frame_ns: 0,
            receive_rate_bps: None,
            transmit_queue_frames: 10_000,
            packet_rate_pps: None,
            receive_ring_frames: None,
            receive_refill_frames: 1,
            interrupt_delay_ns: 0,
            poll_weight_frames: None,
            receive_merge_bytes: 0,
            honours_pause: false,
            pause_high_frames: None,
            pause_low_frames: None,
            pause_quanta: u16::MAX,
            checksum_offload: None,
        },
        cpu_quota_pct: None,
        memory_bytes: None,
        local_path: None,
        cpu: None,
        bus: None,
        disk: None,
        dscp: None,
    };
    let servers: Vec<_> = (1..=servers).map(|number| format!("server-{number}")).collect();
    let host = |name: &str, group: &str| {
        Node::Host(Host { name: name.to_owned(), group: group.to_owned(), machine: None })
    };
    let switch = Switch {
        name: "switch".to_owned(),
        profile: "lab".to_owned(),
        ports: 4096,
        buffer,
        forwarding: Forwarding::StoreAndForward,
        latency_ns: 0,
        ecn_threshold_bytes: None,
        honours_pause: false,
        pause_high_bytes: None,
        pause_low_bytes: None,
        pause_quanta: u16::MAX,
    };
    let client = "client".to_owned();
    let nodes = [host(&client, "client"), Node::Switch(switch)];
    Run {
        id: "000000000000".to_owned(),
        cases: vec!["lab".to_owned()],
        treatment: Treatment::new(),
        replicate: 1,
        seed: "0123456789abcdef".to_owned(),
        network: Network {
            groups: vec![group("client"), group("server")],
            nodes: nodes
                .into_iter()
                .chain(servers.iter().map(|name| host(name, "server")))
                .collect(),
            links: [&client].into_iter().chain(&servers).map(|name| link(name)).collect(),
            shared_clock: false,
        },
        workload: Workload::Incast(Incast {
            roles: Roles { client: vec![client], server: servers },
            block_bytes: 4_000_000,
            striped: false,
            request_bytes: 64,
            request_spacing_ns: 0,
            start_jitter: Jitter::None,
        }),
        probe: None,
        phases: vec![phase(PhaseKind::Measure, 1)],
        instruments: Vec::new(),
        trace: false,
    }
}

/// A link of a host to the switch.
fn link(host: &str) -> Link {
    let port = |node: &str, name: &str| Port {
        node: node.to_owned(),
        name: name.to_owned(),
        rate_bps: 10_000_000_000,
        nic: None,
        queue: None,
        path: None,
    };
    Link { a: port(host, "eth0"), b: port("switch", host), delay_ns: 1_000, mtu_bytes: 9_000 }
}

fn phase(kind: PhaseKind, count: u32) -> Phase {
    Phase { kind, until: Some(Until::Count { count }) }
}

/// Measures `iterations`, after `warmup` iterations.
pub(crate) fn set_iterations(run: &mut Run, warmup: u32, iterations: u32) {
    run.phases = vec![phase(PhaseKind::WarmUp, warmup), phase(PhaseKind::Measure, iterations)];
    if warmup == 0 {
        run.phases.remove(0);
    }
}

/// Phases that last for these times, in milliseconds.
pub(crate) fn set_times(run: &mut Run, phases: &[(PhaseKind, u64)]) {
    let lasts = |&(kind, ms)| Phase { kind, until: Some(Until::Time { ns: ms * 1_000_000 }) };
    run.phases = phases.iter().map(lasts).collect();
}

/// Sets the rate of a link, either way.
pub(crate) fn set_rate(link: &mut Link, rate_bps: u64) {
    link.a.rate_bps = rate_bps;
    link.b.rate_bps = rate_bps;
}

/// The switch of a run, to be changed.
pub(crate) fn switch(run: &mut Run) -> &mut Switch {
    let switch = run.network.nodes.iter_mut().find_map(|node| match node {
        Node::Switch(switch) => Some(switch),
        _ => None,
    });
    switch.expect("the lab has a switch")
}

fn tcp() -> Tcp {
    Tcp {
        profile: "rfc".to_owned(),
        congestion_control: CongestionControl::Reno,
        recovery: Recovery::Rfc,
        rack: true,
        tail_loss_probe: true,
        rto_rule: RtoRule::Rfc6298,
        offload_burst_bytes: 0,
        offload_rule: OffloadRule::Deferral,
        offload_request_bytes: 0,
        limit_output_bytes: 0,
        sack: true,
        timestamps: true,
        ecn: false,
        initial_window_segments: None,
        initial_rto_ns: 1_000_000_000,
        min_rto_ns: 200_000_000,
        max_rto_ns: 120_000_000_000,
        clock_tick_ns: 0,
        delayed_ack_ns: 40_000_000,
        ack_every_segments: 2,
        quick_ack_segments: 0,
        quick_ack_disorder: false,
        ack_pushed: false,
        nodelay: true,
        restart_after_idle: true,
        send_buffer_bytes: 4_194_304,
        receive_buffer_bytes: 6_291_456,
        window_rule: WindowRule::Buffer,
    }
}

/// A whole TCP of `hardware/tcp`.
pub(crate) fn whole_tcp(profile: &str) -> Tcp {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../schema/examples/tcp.json");
    let text = std::fs::read_to_string(path).expect("the example is there");
    let tcps: serde_json::Value = serde_json::from_str(&text).expect("it is JSON");
    serde_json::from_value(tcps[profile].clone()).expect("the profile is there")
}

/// As [`run`], with a whole TCP on every host.
pub(crate) fn run_with(profile: &str, servers: u32, buffer: Buffer) -> Run {
    let mut run = run(servers, buffer);
    for group in &mut run.network.groups {
        group.tcp = whole_tcp(profile);
    }
    run
}

/// The whole TCPs.
pub(crate) const PROFILES: [&str; 3] = ["linux-2.6.18", "linux-6", "rfc"];

/// The incast workload of a run, to be changed.
pub(crate) fn incast(run: &mut Run) -> &mut Incast {
    match &mut run.workload {
        Workload::Incast(incast) => incast,
        _ => panic!("the lab's workload is an incast"),
    }
}

struct Silent;

impl Progress for Silent {
    fn carried(&mut self, _packets: u64) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

/// Simulates the run, whether or not it succeeds.
pub(crate) fn make(run: &Run) -> RunRecord {
    netstudy_sim::run(run, &mut Silent)
}

/// Simulates the run, which must be valid.
pub(crate) fn make_ok(run: &Run) -> RunRecord {
    let record = make(run);
    assert_eq!(record.status, Status::Ok, "{:?} {:?}", record.error, record.checks);
    check_waits(&record);
    // The parts of each unit of work add up in every run of these tests.
    let traced = make(&Run { trace: true, ..run.clone() });
    assert_eq!(traced.status, Status::Ok, "{:?} {:?}", traced.error, traced.checks);
    record
}

/// The columns that say why senders waited.
pub(crate) fn waits(record: &RunRecord) -> [(&'static str, Vec<u64>); 8] {
    let table = connections(record);
    let known = |column: &Option<Times>| {
        let column = column.as_ref().expect("the simulator knows all times");
        column.iter().map(|time| time.expect("of all connections")).collect()
    };
    [
        ("idle", known(&table.idle_ns)),
        ("sent", known(&table.sent_ns)),
        ("peer window", known(&table.peer_window_ns)),
        ("own buffer", known(&table.own_buffer_ns)),
        ("congestion window", known(&table.congestion_window_ns)),
        ("recovery", known(&table.recovery_ns)),
        ("own interface", known(&table.own_interface_ns)),
        ("timer", known(&table.timer_ns)),
    ]
}

/// Checks that the times of each connection add up to the measuring phase, for one end that sends
/// data or for both.
fn check_waits(record: &RunRecord) {
    let PhaseTimes { start_ns, end_ns, .. } = measure(record);
    let waits = waits(record);
    for row in 0..connections(record).client.len() {
        let sum: u64 = waits.iter().map(|(_, column)| column[row]).sum();
        let is_of = |ends| sum.abs_diff(ends * (end_ns - start_ns)) <= 9 * ends;
        assert!(is_of(1) || is_of(2), "{sum} ns of {} ns, {waits:?}", end_ns - start_ns);
    }
}

/// Growth of a counter over the measuring phase, summed up over the hosts of a group: `server`; or over
/// the switch's ports to them: `switch.server`. Of a maximum, the largest one.
pub(crate) fn counter(record: &RunRecord, whose: &str, name: &str) -> u64 {
    let grown = |readings: &Readings| match readings[name][..] {
        [_, Some(end)] if name.ends_with("_max") => end,
        [Some(base), Some(end)] => end - base,
        _ => panic!("{name} of {whose} was not read at two edges"),
    };
    let in_group = |node: &str, group: &str| record.nodes[node].group == group;
    let values: Vec<u64> = if let Some((switch, group)) = whose.split_once('.') {
        let ports = record.ports[switch].iter();
        ports.filter(|(node, _)| in_group(node, group)).map(|(_, read)| grown(read)).collect()
    } else {
        let nodes = record.counters.iter();
        nodes.filter(|(node, _)| in_group(node, whose)).map(|(_, read)| grown(read)).collect()
    };
    if name.ends_with("_max") {
        values.into_iter().max().unwrap_or(0)
    } else {
        values.into_iter().sum()
    }
}

/// Samples of the iterations.
pub(crate) fn iterations(record: &RunRecord) -> &IterationSamples {
    record.samples.iteration.as_ref().expect("an ended run has iterations")
}

/// Samples of the connections.
pub(crate) fn connections(record: &RunRecord) -> &ConnectionSamples {
    record.samples.connection.as_ref().expect("an ended run has connections")
}

/// A column that real systems may not report, and the simulator always knows.
pub(crate) fn known(column: Option<&Vec<u64>>) -> &[u64] {
    column.expect("the simulator counts it")
}

/// The measuring phase.
pub(crate) fn measure(record: &RunRecord) -> PhaseTimes {
    let phase = record.phases.iter().find(|phase| phase.kind == PhaseKind::Measure);
    *phase.expect("an ended run has a measuring phase")
}

/// Bytes that the client received.
pub(crate) fn bytes_received(record: &RunRecord) -> u64 {
    connections(record).bytes_received.iter().sum()
}

/// The share of the client's link that payload fills.
pub(crate) fn utilisation(run: &Run, record: &RunRecord) -> f64 {
    let measure = measure(record);
    let bits = bytes_received(record) * 8;
    let took_s = (measure.end_ns - measure.start_ns) as f64 / 1e9;
    bits as f64 / took_s / run.network.links[0].b.rate_bps as f64
}
