//! Trace points of frames, for tests that compare the closed form with the event-driven simulation.

use netstudy_units::Time;

use super::frame::Frame;

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
    /// The host drops the frame because its ring is full.
    RingDropped(usize),
    /// The TCP of the host gets the segment.
    Delivered(usize),
}

/// Gets every trace point of every frame. The tracer `()` does nothing and costs no time.
pub(crate) trait Tracer {
    /// Whether trace points are reported.
    const TRACES: bool = true;

    /// Reports that the frame is at `point` at the time `at`, which may be ahead of the clock.
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
