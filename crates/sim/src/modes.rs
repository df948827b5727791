//! How a run is carried out: in closed form, or with one event a hop.

use std::ops::ControlFlow;

use netstudy_fabric::stepped::Architecture;
use netstudy_fabric::{OverSwitch, SwitchBuffer, SwitchSetup, over_switch};
use netstudy_records as records;
use netstudy_records::{Buffer, Mode};

use crate::hops::Hops;
use crate::hosts::Frame;
use crate::incast::Simulation;
use crate::limits::{Limited, Unlimited};
use crate::observe::Observer;
use crate::parties::Setup;
use crate::snapshot::Outcome;

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
    let reserved = |port| setup.star.reserved_bytes(port);
    let switch = SwitchSetup {
        links: &setup.star.port_links(),
        marked_above_bytes: setup.star.ecn_threshold_bytes,
        reserved_bytes: &reserved,
    };
    over_switch(&buffer.into(), &switch, Execution { mode, setup, observer, on_iteration })
}

/// A set-up that is to be carried out.
struct Execution<'a, O> {
    mode: Mode,
    setup: &'a Setup<'a>,
    observer: O,
    on_iteration: &'a mut OnIteration<'a>,
}

impl<O: Observer> OverSwitch<Frame> for Execution<'_, O> {
    type Output = Result<Outcome, String>;

    /// Chooses the code for the limits of interfaces once, so that no choice is left a packet.
    fn over<B: SwitchBuffer<Frame>, A: Architecture<Frame>>(
        self,
        closed_form: impl FnOnce() -> B,
        stepped: impl FnOnce() -> A,
    ) -> Self::Output {
        let Self { mode, setup, observer, on_iteration } = self;
        match mode {
            Mode::PerHop => Hops::new(setup, stepped(), observer).run(on_iteration),
            Mode::ClosedForm if setup.star.is_limited() => {
                Simulation::<_, Limited, _>::run(setup, closed_form(), observer, on_iteration)
            }
            Mode::ClosedForm => {
                Simulation::<_, Unlimited, _>::run(setup, closed_form(), observer, on_iteration)
            }
        }
    }
}
