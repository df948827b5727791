//! Tests that results do not change if frames for a private egress are judged as soon as they are
//! sent ([`netstudy_fabric::SwitchBuffer::is_private`]).

#[path = "../../tests/lab/mod.rs"]
pub(crate) mod lab;

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use netstudy_records::{
    Buffer, CongestionControl, Forwarding, IngressQueuedConfig, Jitter, Mode, Recovery, RtoRule,
    Run, RunRecord, SharedMemoryConfig,
};
use proptest::prelude::*;

use super::{Manner, carry_out};
use crate::Progress;

pub(crate) struct Silent;

impl Progress for Silent {
    fn carried(&mut self, _packets: u64) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

fn jitter() -> impl Strategy<Value = Jitter> {
    prop_oneof![
        Just(Jitter::None),
        (1..200_000_u64).prop_map(|max_ns| Jitter::Uniform { max_ns }),
        (1..200_000_u64).prop_map(|mean_ns| Jitter::Exponential { mean_ns }),
    ]
}

/// Drop-tail buffers per port, some of them small.
fn buffers() -> impl Strategy<Value = Buffer> {
    let room = || prop_oneof![9_018..40_000_u64, 40_000..400_000_u64];
    prop_oneof![
        room().prop_map(lab::drop_tail),
        (room(), 0..40_000_u64, prop_oneof![Just(1_u32), Just(512)], 0..3_u32).prop_map(
            |(pool_bytes, port_reserve_bytes, cell_bytes, ingress_guarantee_frames)| {
                let alpha = if pool_bytes % 2 == 0 { 0.5 } else { 8.0 };
                Buffer::SharedMemory(SharedMemoryConfig {
                    pool_bytes,
                    port_reserve_bytes,
                    cell_bytes,
                    alpha,
                    ingress_guarantee_frames,
                })
            }
        ),
        (room(), 1..300_u32, 0..4_u32, 0..30_000_u32, 0..101_u32).prop_map(
            |(
                ingress_buffer_bytes,
                ingress_cell_bytes,
                ingress_reserve_frames,
                egress_buffer_bytes,
                random_arbitration_pct,
            )| {
                Buffer::IngressQueued(IngressQueuedConfig {
                    ingress_buffer_bytes,
                    ingress_cell_bytes,
                    ingress_reserve_frames,
                    egress_buffer_bytes,
                    random_arbitration_pct,
                })
            }
        ),
    ]
}

/// A small incast over one switch.
pub(crate) fn scenario() -> impl Strategy<Value = Run> {
    let workload = (1..8_u32, 1..400_000_u64, 1..6_u32, 0..3_u32, 0..20_000_u64, jitter());
    let network = (
        buffers(),
        prop_oneof![Just(1500_u32), Just(9000)],
        any::<bool>(),
        0..5_000_u64,
        [1..50_000_u64, 1..50_000_u64],
    );
    let delay = prop_oneof![Just(0_u64), 1..60_000_u64];
    let latency = (0..20_000_u64, prop_oneof![Just(0_u64), 1..30_000_u64]);
    let hosts = (any::<bool>(), latency, 0..3_000_u64, delay, 2..200_u32, any::<u64>());
    (workload, network, hosts).prop_map(|(workload, network, hosts)| {
        let (servers, block_bytes, iterations, warmup, request_spacing_ns, start_jitter) = workload;
        let (buffer, mtu_bytes, cuts_through, latency_ns, delays_ns) = network;
        let (is_linux, latency, receive_frame_ns, interrupt_delay_ns, queue_frames, seed) = hosts;
        let (host_latency_ns, receive_jitter_ns) = latency;
        let mut run = lab::run(servers, buffer);
        run.seed = format!("{seed:016x}");
        lab::switch(&mut run).latency_ns = latency_ns;
        if cuts_through {
            lab::switch(&mut run).forwarding = Forwarding::CutThrough;
        }
        let [client, server] = delays_ns;
        let delays_ns = std::iter::once(client).chain(std::iter::repeat(server));
        for (link, delay_ns) in run.network.links.iter_mut().zip(delays_ns) {
            link.mtu_bytes = mtu_bytes;
            link.delay_ns = delay_ns;
        }
        for group in &mut run.network.groups {
            group.nic.send_latency_ns = host_latency_ns;
            group.nic.receive_latency_ns = host_latency_ns / 3;
            group.nic.receive_jitter_ns = receive_jitter_ns;
            group.nic.receive_frame_ns = receive_frame_ns;
            group.nic.interrupt_delay_ns = interrupt_delay_ns;
            group.nic.transmit_queue_frames = queue_frames;
            group.tcp.limit_output_bytes = [0, 1, 20_000, 1 << 20][(seed / 2 % 4) as usize];
            if is_linux {
                group.tcp.congestion_control = CongestionControl::Bic;
                group.tcp.recovery = Recovery::Fack;
                group.tcp.rto_rule = RtoRule::Linux;
                group.tcp.offload_burst_bytes = 65_536;
                group.tcp.clock_tick_ns = 1_000_000;
                group.tcp.quick_ack_segments = 16;
                group.tcp.quick_ack_disorder = seed % 3 == 0;
                group.tcp.ack_pushed = seed % 2 == 0;
            }
        }
        let incast = lab::incast(&mut run);
        incast.block_bytes = block_bytes.max(u64::from(servers));
        incast.request_spacing_ns = request_spacing_ns;
        incast.start_jitter = start_jitter;
        lab::set_iterations(&mut run, warmup, iterations);
        run
    })
}

/// The record without counters of hosts and of servers' ports, and frames that the client has sent.
/// These counters differ: if frames to servers are judged at once, servers have already received
/// the frames that are in flight when an iteration ends, and the client has already sent the
/// answers to them. Results and their times do not differ.
fn comparable(record: Result<RunRecord, String>) -> Result<RunRecord, String> {
    record.map(|mut record| {
        record.counters.retain(|node, _| node == "client");
        record.ports.retain(|node, _| node == "switch" || node == "client");
        let switch = record.ports.entry("switch".to_owned()).or_default();
        switch.retain(|port, _| port == "client");
        let ahead = ["bytes_received", "interface_packets_sent", "interface_bytes_sent"];
        for counted in record.ports.values_mut().flat_map(BTreeMap::values_mut) {
            // The total, and the counters by size.
            counted.retain(|name, _| !name.starts_with("frames_received"));
            counted.retain(|name, _| !ahead.contains(&name.as_str()));
        }
        for check in &mut record.checks {
            check.detail.clear();
        }
        if let Some(connections) = &mut record.samples.connection {
            connections.bytes_sent.clear();
        }
        record
    })
}

/// A short run unless `PROPTEST_CASES` is set.
pub(crate) fn cases() -> ProptestConfig {
    let short = ProptestConfig { cases: 100, ..ProptestConfig::default() };
    if std::env::var_os("PROPTEST_CASES").is_some() { ProptestConfig::default() } else { short }
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn judging_private_frames_at_once_gives_the_same_record(run in scenario()) {
        let made = |sends_ahead| {
            let mode = Some(Mode::ClosedForm);
            let manner = Manner { mode, all_steps: false, sends_ahead, tracer: () };
            carry_out(&run, manner, &mut Silent)
        };
        let (at_once, in_order) = (made(true), made(false));
        let (at_once, in_order) = (comparable(at_once), comparable(in_order));
        prop_assert_eq!(at_once, in_order);
    }
}
