//! The two modes, frame by frame: what is computed when a frame enters a hop is what happens there.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use netstudy_records::{Buffer, CongestionControl, Run, RunRecord};
use netstudy_tcp::Segment;
use netstudy_units::Time;
use proptest::prelude::*;

use crate::hosts::Frame;
use crate::observe::{Moment, Observer};
use crate::run::tests::{Silent, cases, scenario};
use crate::run::{simulate, try_run_by};

/// Everything that happened to every frame, by place and kind in the order of time.
#[derive(Debug, Default, PartialEq)]
struct Trace(BTreeMap<Moment, Vec<(Time, u32, Segment)>>);

impl Observer for Trace {
    fn note(&mut self, moment: Moment, at: Time, frame: &Frame) {
        self.0.entry(moment).or_default().push((at, frame.connection, frame.segment));
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

/// What a run gave, and its trace until it ended.
fn traced(run: &Run, per_hop: bool) -> (Result<RunRecord, String>, Trace) {
    let mut trace = Trace::default();
    let mut end = Time::NEVER;
    let record = try_run_by(
        &mut |buffer, setup, on_iteration: &mut dyn FnMut() -> ControlFlow<()>| {
            let outcome = if per_hop {
                super::simulate(buffer, setup, &mut trace, on_iteration)
            } else {
                simulate(buffer, setup, &mut trace, on_iteration)
            };
            end = outcome.as_ref().map_or(Time::NEVER, |outcome| outcome.measure_to);
            outcome
        },
        run,
        &mut Silent,
    );
    (record, trace.until(end))
}

/// The record without what depends on how far hosts are ahead of the clock when counters are read; what
/// they did until then is in the trace.
fn comparable(record: Result<RunRecord, String>) -> Result<RunRecord, String> {
    record.map(|mut record| {
        record.counters.clear();
        for check in &mut record.checks {
            check.detail.clear();
        }
        if let Some(samples) = &mut record.iterations {
            samples.retransmissions.clear();
            samples.timeouts.clear();
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

/// Scenarios of all architectures, some with congestion notification or another congestion control.
fn scenarios() -> impl Strategy<Value = Run> {
    let control = prop_oneof![
        Just(None),
        Just(Some(CongestionControl::Cubic)),
        Just(Some(CongestionControl::Dctcp)),
    ];
    (scenario(buffers()), control, any::<bool>(), 0..60_000_u64).prop_map(
        |(mut run, control, ecn, threshold)| {
            for group in &mut run.network.hosts {
                group.tcp.ecn = ecn;
                if let Some(control) = control {
                    group.tcp.congestion_control = control;
                }
            }
            run.network.switch.ecn_threshold_bytes = (threshold > 9_000).then_some(threshold);
            run
        },
    )
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn every_frame_is_everywhere_at_the_same_time_in_both_modes(run in scenarios()) {
        let (closed_form, frames) = traced(&run, false);
        let (per_hop, frames_per_hop) = traced(&run, true);
        prop_assert_eq!(comparable(per_hop), comparable(closed_form));
        prop_assert!(frames.len() > 0, "no frame was seen");
        prop_assert_eq!(frames_per_hop, frames);
    }
}
