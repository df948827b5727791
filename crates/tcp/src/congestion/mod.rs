//! Congestion control: how large the congestion window may be. One algorithm, one file.
//!
//! Windows count segments, as Linux does; all of them are of one size but the last of a write.

mod bic;
mod reno;

pub use bic::Bic;
pub use reno::Reno;

use netstudy_units::Time;

/// The congestion window and what belongs to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Congestion window in segments, at least 1.
    pub cwnd: u32,
    /// Slow start threshold in segments.
    pub ssthresh: u32,
    /// Segments acknowledged since the window last grew in congestion avoidance.
    pub credit: u32,
}

impl Window {
    /// A window of `cwnd` segments whose slow start has no end yet (RFC 5681, 3.1).
    #[must_use]
    pub const fn new(cwnd: u32) -> Self {
        Self { cwnd, ssthresh: u32::MAX, credit: 0 }
    }

    /// Whether the window is in slow start.
    #[must_use]
    #[inline]
    pub const fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }
}

/// An acknowledgment of new data, as congestion controls see it.
#[derive(Clone, Copy, Debug)]
pub struct Acked {
    /// When it arrived.
    pub now: Time,
    /// Segments that it acknowledged.
    pub segments: u32,
}

/// The decisions in which congestion controls differ.
pub trait CongestionControl {
    /// New data was acknowledged outside of recovery while the window was in full use.
    fn on_ack(&mut self, acked: Acked, window: &mut Window);

    /// Segments were acknowledged while nothing looked lost, whether or not the window was in use.
    #[inline]
    fn on_delivered(&mut self, _segments: u32) {}

    /// The slow start threshold after a loss was found with `flight` segments sent and not
    /// acknowledged.
    fn ssthresh_after_loss(&mut self, window: &Window, flight: u32) -> u32;

    /// The retransmission timer expired.
    fn on_timeout(&mut self) {}

    /// The slow start threshold of a new connection.
    fn initial_ssthresh(&self) -> u32 {
        u32::MAX
    }
}

/// The congestion controls that a connection can be given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Congestion {
    /// RFC 5681.
    Reno(Reno),
    /// Linux 2.6.18.
    Bic(Bic),
}

macro_rules! each {
    ($self:ident, $control:ident => $call:expr) => {
        match $self {
            Self::Reno($control) => $call,
            Self::Bic($control) => $call,
        }
    };
}

impl CongestionControl for Congestion {
    #[inline]
    fn on_ack(&mut self, acked: Acked, window: &mut Window) {
        each!(self, control => control.on_ack(acked, window));
    }

    #[inline]
    fn on_delivered(&mut self, segments: u32) {
        each!(self, control => control.on_delivered(segments));
    }

    fn ssthresh_after_loss(&mut self, window: &Window, flight: u32) -> u32 {
        each!(self, control => control.ssthresh_after_loss(window, flight))
    }

    fn on_timeout(&mut self) {
        each!(self, control => control.on_timeout());
    }

    fn initial_ssthresh(&self) -> u32 {
        each!(self, control => control.initial_ssthresh())
    }
}
