//! The two modes, frame by frame: what is computed when a frame enters a hop is what happens there.

use std::collections::BTreeMap;

use netstudy_records::{Buffer, CongestionControl, Mode, Nic, Run, RunRecord};
use netstudy_tcp::Segment;
use netstudy_units::Time;
use proptest::prelude::*;

use crate::network::{Frame, Moment, Observer};
use crate::run::tests::{Silent, cases, lab, scenario};
use crate::run::{Manner, carry_out};

/// Everything that happened to every frame, by place and kind in the order of time.
#[derive(Debug, Default, PartialEq)]
struct Trace(BTreeMap<Moment, Vec<(Time, u32, Segment)>>);

impl Observer for Trace {
    fn note(&mut self, moment: Moment, at: Time, frame: &Frame) {
        self.0.entry(moment).or_default().push((at, frame.to.0, frame.segment));
    }
}

impl Trace {
    /// What lies behind `end` is cut off: hosts that are ahead of the clock have begun with it.
    fn until(mut self, end: Time) -> Self {
        for moments in self.0.values_mut() {
            assert!(moments.is_sorted_by_key(|moment| moment.0), "a FIFO is out of order");
            moments.retain(|moment| moment.0 <= end);
        }
        self.0.retain(|_, moments| !moments.is_empty());
        self
    }

    fn len(&self) -> usize {
        self.0.values().map(Vec::len).sum()
    }
}

/// What a run gave in `mode`, and its trace until it ended.
fn traced(run: &Run, mode: Mode) -> (Result<RunRecord, String>, Trace) {
    let mut trace = Trace::default();
    let manner = Manner { mode: Some(mode), sends_ahead: true, observer: &mut trace };
    let record = carry_out(run, manner, &mut Silent);
    let end = record.as_ref().ok().map(lab::measure);
    (record, trace.until(end.map_or(Time::NEVER, |end| Time::from_ps(end.end_ns * 1000))))
}

/// The record without what depends on how far hosts are ahead of the clock when counters are read; what
/// they did until then is in the trace.
fn comparable(record: Result<RunRecord, String>) -> Result<RunRecord, String> {
    record.map(|mut record| {
        record.mode = None;
        record.counters.clear();
        record.ports.clear();
        for check in &mut record.checks {
            check.detail.clear();
        }
        if let Some(samples) = &mut record.samples.iteration {
            samples.retransmissions.clear();
            samples.timeouts.clear();
        }
        if let Some(connections) = &mut record.samples.connection {
            connections.retransmissions.clear();
            connections.timeouts.clear();
            connections.bytes_sent.clear();
        }
        record
    })
}

fn buffers() -> impl Strategy<Value = Buffer> {
    let room = || prop_oneof![9_018..40_000_u64, 40_000..400_000_u64];
    prop_oneof![
        room().prop_map(|port_buffer_bytes| Buffer::OutputQueued { port_buffer_bytes }),
        (room(), 0..40_000_u64, prop_oneof![Just(1_u32), Just(512)], 0..3_u32).prop_map(
            |(pool_bytes, port_reserve_bytes, cell_bytes, ingress_guarantee_frames)| {
                let alpha = if pool_bytes % 2 == 0 { 0.5 } else { 8.0 };
                Buffer::SharedMemory {
                    pool_bytes,
                    port_reserve_bytes,
                    cell_bytes,
                    alpha,
                    ingress_guarantee_frames,
                }
            }
        ),
        (room(), 0..30_000_u32, 0..101_u32).prop_map(
            |(ingress_buffer_bytes, egress_buffer_bytes, random_arbitration_pct)| {
                Buffer::IngressQueued {
                    ingress_buffer_bytes,
                    egress_buffer_bytes,
                    random_arbitration_pct,
                }
            }
        ),
    ]
}

/// What an interface may have: packets a second, descriptors, interrupt delay, processor rate.
type Limits = (Option<u64>, Option<u32>, u64, Option<u64>);

fn limits() -> impl Strategy<Value = Limits> {
    let limits = (
        prop::option::of(50_000..20_000_000_u64),
        prop::option::of(1..200_u32),
        prop_oneof![Just(0_u64), 1..100_000_u64],
        prop::option::of(500_000_000..20_000_000_000_u64),
    );
    prop_oneof![Just((None, None, 0, None)), limits]
}

fn limit(nic: &mut Nic, limits: Limits) {
    let (packet_rate, ring, interrupt_delay_ns, receive_rate) = limits;
    nic.packet_rate_pps = packet_rate;
    nic.receive_ring_frames = ring;
    nic.interrupt_delay_ns = interrupt_delay_ns;
    nic.receive_rate_bps = receive_rate;
}

/// Scenarios of all architectures, some with limits of interfaces, with one of the whole TCPs, with
/// congestion notification or another congestion control.
fn scenarios() -> impl Strategy<Value = Run> {
    let whole_tcp = prop::option::of(prop::sample::select(&lab::PROFILES[..]));
    let control = prop_oneof![
        2 => Just(None),
        1 => Just(Some(CongestionControl::Cubic)),
        1 => Just(Some(CongestionControl::Dctcp)),
    ];
    let tcp = (whole_tcp, control, any::<bool>());
    let hosts = (limits(), limits());
    (scenario(buffers()), tcp, 0..60_000_u64, hosts).prop_map(
        |(mut run, (whole_tcp, control, ecn), threshold, hosts)| {
            limit(&mut run.network.groups[0].nic, hosts.0);
            limit(&mut run.network.groups[1].nic, hosts.1);
            for group in &mut run.network.groups {
                if let Some(profile) = whole_tcp {
                    group.tcp = lab::whole_tcp(profile);
                }
                group.tcp.ecn = ecn;
                if let Some(control) = control {
                    group.tcp.congestion_control = control;
                }
            }
            lab::switch(&mut run).ecn_threshold_bytes = (threshold > 9_000).then_some(threshold);
            run
        },
    )
}

/// Links and hosts whose times are multiples of one frame's, so that much happens at the same time: a
/// frame arrives when the processor has dealt with the one before, a descriptor is freed when the
/// next frame needs it, servers' frames meet at the switch.
fn in_step(servers: u32, buffer: Buffer) -> Run {
    // A byte takes 1 ns, a full frame 1538 ns.
    const FRAME_NS: u64 = 1538;
    let mut run = lab::run(servers, buffer);
    for link in &mut run.network.links {
        lab::set_rate(link, 8_000_000_000);
        link.delay_ns = FRAME_NS;
        link.mtu_bytes = 1500;
    }
    for group in &mut run.network.groups {
        group.nic.receive_frame_ns = FRAME_NS;
        group.nic.interrupt_delay_ns = 4 * FRAME_NS;
        group.nic.receive_ring_frames = Some(5);
    }
    lab::incast(&mut run).block_bytes = 400_000;
    lab::set_iterations(&mut run, 0, 3);
    run
}

#[test]
fn what_happens_at_the_same_time_happens_in_the_same_order_in_both_modes() {
    for buffer in [lab::GUARANTEED, lab::INGRESS, lab::DROP_TAIL] {
        for servers in [1, 4] {
            let run = in_step(servers, buffer.clone());
            let (closed_form, frames) = traced(&run, Mode::ClosedForm);
            let (per_hop, frames_per_hop) = traced(&run, Mode::PerHop);
            assert!(frames.0.contains_key(&Moment::RingDropped(0)), "the ring is never full");
            assert_eq!(comparable(per_hop), comparable(closed_form));
            assert_eq!(frames_per_hop, frames);
        }
    }
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn every_frame_is_everywhere_at_the_same_time_in_both_modes(run in scenarios()) {
        let (closed_form, frames) = traced(&run, Mode::ClosedForm);
        let (per_hop, frames_per_hop) = traced(&run, Mode::PerHop);
        prop_assert_eq!(comparable(per_hop), comparable(closed_form));
        prop_assert!(frames.len() > 0, "no frame was seen");
        prop_assert_eq!(frames_per_hop, frames);
    }
}
