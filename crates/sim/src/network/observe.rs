//! Where a simulation tells what happens to each frame, for tests that compare the two modes.

use netstudy_units::Time;

use super::Frame;

/// Something that happens to a frame. Ports are those of the switch; those of a second one are numbered
/// behind them, and so on. Hosts are named after the port of a star, or the interface of any other network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Moment {
    /// The switch judges it, having got it by this port.
    Arrived(usize),
    /// The switch drops it instead of sending it by this port.
    Dropped(usize),
    /// Its last bit leaves the switch by this port.
    Left(usize),
    /// The ring of this host is full.
    RingDropped(usize),
    /// It is with the TCP of this host.
    Delivered(usize),
}

/// Is told of each moment of each frame. What it does not use is compiled away.
pub(crate) trait Observer {
    /// Whether it uses anything of that.
    const WATCHES: bool = true;

    /// `moment` is at `at`, which may lie ahead of the clock.
    #[inline(always)]
    fn note(&mut self, _moment: Moment, _at: Time, _frame: &Frame) {}
}

/// Somebody watches from elsewhere.
impl<O: Observer> Observer for &mut O {
    const WATCHES: bool = O::WATCHES;

    fn note(&mut self, moment: Moment, at: Time, frame: &Frame) {
        (**self).note(moment, at, frame);
    }
}

/// Nobody watches.
impl Observer for () {
    const WATCHES: bool = false;
}
