//! How a run is carried out: in closed form, or with one event a hop.

use std::ops::ControlFlow;

use netstudy_fabric::SwitchBuffer;
use netstudy_fabric::stepped::Architecture;
use netstudy_fabric::switch::{
    IngressBuffers, IngressQueued, IngressQueuedConfig, OutputQueued, PacketMemory, PortBuffers,
    SharedMemory, SharedMemoryConfig,
};
use netstudy_records as records;
use netstudy_records::{Buffer, Mode};

use crate::hops::Hops;
use crate::hosts::Frame;
use crate::incast::{Outcome, Setup, Simulation};
use crate::limits::{Limited, Unlimited};
use crate::observe::Observer;

/// Hears of each iteration that has ended, and says whether to go on.
pub(crate) type OnIteration<'a> = dyn FnMut() -> ControlFlow<()> + 'a;

/// The mode of a run: closed form, unless it has what only one event a hop can express.
pub(crate) fn mode(run: &records::Run) -> Mode {
    let switch = &run.network.switch;
    let needs_hops = |nic: &records::Nic| {
        nic.honours_pause || nic.pause_high_frames.is_some() || nic.receive_merge_bytes > 0
    };
    let per_hop = switch.honours_pause
        || switch.pause_high_bytes.is_some()
        || run.network.hosts.iter().any(|group| needs_hops(&group.nic));
    if per_hop { Mode::PerHop } else { Mode::ClosedForm }
}

/// Carries a set-up out in `mode`, over a switch with the given buffer.
pub(crate) fn simulate(
    mode: Mode,
    buffer: &Buffer,
    setup: &Setup<'_>,
    observer: impl Observer,
    on_iteration: &mut OnIteration<'_>,
) -> Result<Outcome, String> {
    let links = setup.star.port_links();
    let marked_above = setup.star.ecn_threshold_bytes;
    let execution = Execution { mode, setup, observer, on_iteration };
    match *buffer {
        Buffer::OutputQueued { port_buffer_bytes } => execution.over(
            || OutputQueued::new(&links, port_buffer_bytes).marking_above(marked_above),
            || PortBuffers::new(links.len(), port_buffer_bytes).marking_above(marked_above),
        ),
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
            execution.over(
                || SharedMemory::new(&links, &config).marking_above(marked_above),
                || PacketMemory::new(links.len(), &config).marking_above(marked_above),
            )
        }
        Buffer::IngressQueued {
            ingress_buffer_bytes,
            egress_buffer_bytes,
            random_arbitration_pct: random_pct,
        } => {
            let config =
                IngressQueuedConfig { ingress_buffer_bytes, egress_buffer_bytes, random_pct };
            let reserved = |port| setup.star.reserved_bytes(port);
            execution.over(
                || {
                    let switch = IngressQueued::new(&links, &config);
                    switch.reserving(reserved).marking_above(marked_above)
                },
                || {
                    let buffers = IngressBuffers::new(&links, &config);
                    buffers.reserving(reserved).marking_above(marked_above)
                },
            )
        }
    }
}

/// A set-up that is to be carried out.
struct Execution<'a, O> {
    mode: Mode,
    setup: &'a Setup<'a>,
    observer: O,
    on_iteration: &'a mut OnIteration<'a>,
}

impl<O: Observer> Execution<'_, O> {
    /// Chooses the code for the switch and the limits of interfaces once, so that no choice is left a
    /// packet. Of the two forms of the switch, the one that the mode takes is made.
    fn over<B: SwitchBuffer<Frame>, A: Architecture<Frame>>(
        self,
        closed_form: impl FnOnce() -> B,
        stepped: impl FnOnce() -> A,
    ) -> Result<Outcome, String> {
        let Self { mode, setup, observer, on_iteration } = self;
        match mode {
            Mode::PerHop => Hops::new(setup, stepped(), observer).run(on_iteration),
            Mode::ClosedForm if setup.star.is_limited() => {
                Simulation::<B, Limited, O>::new(setup, closed_form(), observer).run(on_iteration)
            }
            Mode::ClosedForm => {
                Simulation::<B, Unlimited, O>::new(setup, closed_form(), observer).run(on_iteration)
            }
        }
    }
}
