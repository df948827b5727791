//! Reports of a network while it runs: trace points of frames, for tests that compare the closed
//! form with the event-driven simulation, and the nodes of a trace of time.

use std::cell::RefMut;

use netstudy_units::Time;

use super::frame::Frame;
use crate::account::{SharedTrace, Trace};

/// An event in the life of a frame. Switch ports are numbered consecutively over all switches. A
/// host is identified by the number of its port (star) or of its interface (other networks).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum TracePoint {
    /// The frame has arrived at this port, and the switch judges it.
    Arrived(usize),
    /// The switch drops the frame instead of sending it from this port.
    Dropped(usize),
    /// The last bit of the frame leaves the switch at this port.
    Left(usize),
    /// The frame is lost on this wire.
    Lost(usize),
    /// The host drops the frame because its ring is full.
    RingDropped(usize),
    /// The TCP of the host gets the segment.
    Delivered(usize),
}

/// Gets every trace point of every frame. The tracer `()` does nothing and costs no time.
pub(crate) trait Tracer {
    /// Whether trace points are reported.
    const TRACES: bool = true;
    /// Whether the time of units of work is traced. Only event-driven networks can do this.
    const ACCOUNTS: bool = false;

    /// Reports that the frame is at `point` at the time `at`, which may be ahead of the clock.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn note(&mut self, _point: TracePoint, _at: Time, _frame: &Frame) {}

    /// The trace of time, if [`Self::ACCOUNTS`].
    fn trace(&self) -> RefMut<'_, Trace> {
        unreachable!("only a tracer with accounts has a trace of time")
    }
}

impl<O: Tracer> Tracer for &mut O {
    const TRACES: bool = O::TRACES;
    const ACCOUNTS: bool = O::ACCOUNTS;

    fn note(&mut self, point: TracePoint, at: Time, frame: &Frame) {
        (**self).note(point, at, frame);
    }

    fn trace(&self) -> RefMut<'_, Trace> {
        (**self).trace()
    }
}

impl Tracer for SharedTrace {
    const TRACES: bool = false;
    const ACCOUNTS: bool = true;

    fn trace(&self) -> RefMut<'_, Trace> {
        self.borrow_mut()
    }
}

/// No tracer.
impl Tracer for () {
    const TRACES: bool = false;
}
