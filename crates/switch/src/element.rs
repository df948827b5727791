//! One switch among several, whichever buffer it has.

use netstudy_fabric::stepped::{Architecture, Departure, PausePolicy, Stepped};
use netstudy_fabric::switch::Arrival;
use netstudy_fabric::{OverSwitch, PortCounters, SwitchBuffer, SwitchSetup, over_switch};
use netstudy_random::Stream;
use netstudy_units::Time;

use crate::frame::Frame;
use crate::plan::Checked;

/// A switch without its type: switches of several architectures stand side by side, and a call by a
/// table is nothing beside the system calls of a frame.
pub(crate) trait Element {
    /// See [`Stepped::offer`].
    fn offer(&mut self, arrival: &Arrival, frame: Frame) -> bool;

    /// See [`Stepped::next_step`].
    fn next_step(&self) -> Time;

    /// See [`Stepped::step`].
    fn step(&mut self, now: Time, chance: &mut Stream) -> Option<Departure<Frame>>;

    /// See [`Stepped::counters`].
    fn counters(&self, port: u32) -> PortCounters;

    /// See [`Stepped::queue_bytes_max`].
    fn queue_bytes_max(&self, port: u32) -> u64;
}

impl<A: Architecture<Frame>> Element for Stepped<Frame, A> {
    fn offer(&mut self, arrival: &Arrival, frame: Frame) -> bool {
        self.offer(arrival, frame)
    }

    fn next_step(&self) -> Time {
        self.next_step()
    }

    fn step(&mut self, now: Time, chance: &mut Stream) -> Option<Departure<Frame>> {
        self.step(now, chance)
    }

    fn counters(&self, port: u32) -> PortCounters {
        *self.counters(port)
    }

    fn queue_bytes_max(&self, port: u32) -> u64 {
        self.queue_bytes_max(port)
    }
}

/// The switch of the plan with that number.
pub(crate) fn element(checked: &Checked, switch: usize) -> Box<dyn Element> {
    let description = &checked.plan.switches[switch];
    let links = checked.links(switch);
    let setup = SwitchSetup {
        links: &links,
        marked_above_bytes: description.ecn_threshold_bytes.unwrap_or(u64::MAX),
        reserved_bytes: &|port| checked.reserved_bytes(switch, port),
    };
    over_switch(&(&description.buffer).into(), &setup, Boxed { links: &links })
}

/// Makes the switch over the architecture of its buffer.
struct Boxed<'a> {
    links: &'a [netstudy_fabric::Link],
}

impl OverSwitch<Frame> for Boxed<'_> {
    type Output = Box<dyn Element>;

    fn over<B: SwitchBuffer<Frame>, A: Architecture<Frame> + 'static>(
        self,
        _closed_form: impl FnOnce() -> B,
        stepped: impl FnOnce() -> A,
    ) -> Self::Output {
        Box::new(Stepped::new(self.links, stepped(), PausePolicy::default()))
    }
}
