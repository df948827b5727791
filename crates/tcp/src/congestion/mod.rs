//! Congestion control: how large the congestion window may be. One algorithm, one file.
//!
//! Windows count segments, as Linux does; all of them are of one size but the last of a write.

mod reno;

pub use reno::Reno;

use netstudy_units::{Duration, Time};

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
    /// The smoothed round-trip time, if known.
    pub srtt: Option<Duration>,
}

/// The decisions in which congestion controls differ.
pub trait CongestionControl {
    /// New data was acknowledged outside of recovery while the window was in full use.
    fn on_ack(&mut self, acked: Acked, window: &mut Window);

    /// The slow start threshold after a loss was found at `in_flight` segments.
    fn ssthresh_after_loss(&mut self, in_flight: u32, window: &Window) -> u32;

    /// The retransmission timer expired.
    fn on_timeout(&mut self);
}

/// The congestion controls that a connection can be given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Congestion {
    /// RFC 5681.
    Reno(Reno),
}

impl CongestionControl for Congestion {
    #[inline]
    fn on_ack(&mut self, acked: Acked, window: &mut Window) {
        match self {
            Self::Reno(reno) => reno.on_ack(acked, window),
        }
    }

    fn ssthresh_after_loss(&mut self, in_flight: u32, window: &Window) -> u32 {
        match self {
            Self::Reno(reno) => reno.ssthresh_after_loss(in_flight, window),
        }
    }

    fn on_timeout(&mut self) {
        match self {
            Self::Reno(reno) => reno.on_timeout(),
        }
    }
}
