//! Congestion control: the size of the congestion window. Each algorithm is one file that
//! implements [`CongestionControl`]. BIC is in the module `linux_2_6_18`, with the rest of that
//! kernel's TCP.
//!
//! Windows are counted in segments, like in Linux. All segments have the same size, except the last
//! segment of a write.

mod bbr;
pub(crate) mod control;
mod cubic;
mod dctcp;
mod hystart;
mod reno;

pub use bbr::{Bbr, Mode, Model};
pub use control::{
    Account, Acked, CongestionControl, Delivered, DeliveryRate, Feedback, RateSample, Repair,
    Window,
};
pub use cubic::Cubic;
pub use dctcp::Dctcp;
pub use reno::Reno;

use netstudy_units::Time;

use crate::Jiffies;
use crate::linux_2_6_18::bic::Bic;

/// The congestion controls that a connection can use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Congestion {
    /// RFC 5681.
    Reno(Reno),
    /// Linux 2.6.18.
    Bic(Bic),
    /// RFC 9438, as in Linux 6.
    Cubic(Cubic),
    /// RFC 8257.
    Dctcp(Dctcp),
    /// Version 1, as in Linux 6.
    Bbr(Bbr),
}

macro_rules! each {
    ($self:ident, $control:ident => $call:expr) => {
        match $self {
            Self::Reno($control) => $call,
            Self::Bic($control) => $call,
            Self::Cubic($control) => $call,
            Self::Dctcp($control) => $call,
            Self::Bbr($control) => $call,
        }
    };
}

impl Congestion {
    /// Whether [`CongestionControl::on_delivered`] does anything.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) const fn heeds_deliveries(&self) -> bool {
        match self {
            Self::Reno(_) | Self::Dctcp(_) | Self::Bbr(_) => false,
            Self::Bic(_) | Self::Cubic(_) => true,
        }
    }
}

impl CongestionControl for Congestion {
    fn keep_time(&mut self, clock: Jiffies) {
        each!(self, control => control.keep_time(clock));
    }

    #[inline]
    fn on_ack(&mut self, acked: Acked, window: &mut Window) {
        each!(self, control => control.on_ack(acked, window));
    }

    #[inline]
    fn on_delivered(&mut self, delivered: &Delivered, window: &mut Window) {
        each!(self, control => control.on_delivered(delivered, window));
    }

    fn on_restart(&mut self, now: Time, last_sent_at: Time) {
        each!(self, control => control.on_restart(now, last_sent_at));
    }

    fn ssthresh_after_loss(&mut self, window: &Window, flight: u32) -> u32 {
        each!(self, control => control.ssthresh_after_loss(window, flight))
    }

    fn needs_ecn(&self) -> bool {
        each!(self, control => control.needs_ecn())
    }

    fn on_feedback(&mut self, feedback: &Feedback) {
        each!(self, control => control.on_feedback(feedback));
    }

    fn ssthresh_after_mark(&mut self, window: &Window, flight: u32) -> u32 {
        each!(self, control => control.ssthresh_after_mark(window, flight))
    }

    fn on_timeout(&mut self) {
        each!(self, control => control.on_timeout());
    }

    fn undone(&self, cwnd: u32) -> u32 {
        each!(self, control => control.undone(cwnd))
    }

    fn initial_ssthresh(&self) -> u32 {
        each!(self, control => control.initial_ssthresh())
    }

    #[inline]
    fn owns_window(&self) -> bool {
        matches!(self, Self::Bbr(_))
    }

    fn on_open(&mut self, account: &Account, window: &Window) {
        each!(self, control => control.on_open(account, window));
    }

    fn on_sample(&mut self, sample: &RateSample, window: &mut Window) -> bool {
        each!(self, control => control.on_sample(sample, window))
    }

    fn on_start(&mut self, account: &Account, window: &mut Window) {
        each!(self, control => control.on_start(account, window));
    }

    fn on_loss(&mut self, account: &Account) {
        each!(self, control => control.on_loss(account));
    }

    fn on_undo(&mut self, account: &Account) {
        each!(self, control => control.on_undo(account));
    }

    fn burst_segments_min(&self) -> Option<u64> {
        each!(self, control => control.burst_segments_min())
    }

    fn pacing_bytes_per_s(&self) -> u64 {
        each!(self, control => control.pacing_bytes_per_s())
    }
}
