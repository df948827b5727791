//! Trace points of frames, for tests that compare the two modes.

use netstudy_units::Time;

use super::frame::Frame;

/// An event in the life of a frame. Switch ports are numbered through: a second switch's after the first's.
/// A host has the number of its port (star) or of its interface (other networks).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum TracePoint {
    /// The switch decides on it; it arrived by this port.
    Arrived(usize),
    /// The switch drops it instead of sending it by this port.
    Dropped(usize),
    /// Its last bit leaves the switch by this port.
    Left(usize),
    /// The ring of this host is full.
    RingDropped(usize),
    /// The host's TCP gets it.
    Delivered(usize),
}

/// Hears of every trace point of every frame. Without a tracer, `()`, the calls compile to nothing.
pub(crate) trait Tracer {
    /// False: no trace point is reported.
    const TRACES: bool = true;

    /// The frame is at `point` at the time `at`, which may lie ahead of the clock.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn note(&mut self, _point: TracePoint, _at: Time, _frame: &Frame) {}
}

impl<O: Tracer> Tracer for &mut O {
    const TRACES: bool = O::TRACES;

    fn note(&mut self, point: TracePoint, at: Time, frame: &Frame) {
        (**self).note(point, at, frame);
    }
}

/// No tracer.
impl Tracer for () {
    const TRACES: bool = false;
}
