//! Loss recovery: which segments count as lost, when they are retransmitted, and how far the
//! congestion window falls. Each algorithm is one file or folder. The algorithm of Linux 2.6.18 is
//! in the module `linux_2_6_18`, with the rest of that kernel's TCP.
//!
//! An algorithm implements [`Algorithm`]. It reads and changes the whole endpoint, so its functions
//! take the endpoint as an argument; its own state is a field of [`LossRecovery`]. The endpoint
//! calls the functions below, which have the same names as those of [`Algorithm`]; only their macro
//! `ask!` selects the algorithm. Decisions that are needed for each sent segment are fields of
//! [`LossRecovery`] that the algorithms set, because reading a field is cheaper than a call.
//!
//! `sent` is the queue of sent segments with the SACK scoreboard, which all algorithms share.

pub(crate) mod algorithm;
mod prr;
mod rfc;
pub(crate) mod sent;

use netstudy_units::{Duration, Time};

pub(crate) use sent::{Acknowledged, Place};
pub use sent::{SentSegment, SentSegments};

use crate::linux_2_6_18::fack::{self, Fack};
use crate::{Config, Endpoint, Segment};
use algorithm::Algorithm;
use prr::Prr;
use rfc::Rfc;

/// Ways to find and repair losses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recovery {
    /// RFC 6675; without SACK, RFC 6582.
    Rfc,
    /// Forward acknowledgment with rate halving, as in Linux 2.6.18 (Mathis and Mahdavi, SIGCOMM
    /// 1996; the kernel's `net/ipv4/tcp_input.c`). A connection without SACK uses [`Self::Rfc`]
    /// instead.
    Fack,
    /// Proportional rate reduction (RFC 6937) as in Linux 6, which also undoes unnecessary
    /// reductions. Works with or without SACK.
    Prr {
        /// Whether losses are found by time (RFC 8985). Otherwise three SACKed segments above a
        /// segment show its loss (RFC 6675).
        rack: bool,
        /// Whether tail loss probes are sent before the timeout (RFC 8985, 7).
        tail_loss_probe: bool,
    },
}

/// The algorithms that a connection can use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum InUse {
    Rfc,
    Fack,
    Prr,
}

impl InUse {
    const fn of(recovery: Recovery) -> Self {
        match recovery {
            Recovery::Rfc => Self::Rfc,
            Recovery::Fack => Self::Fack,
            Recovery::Prr { .. } => Self::Prr,
        }
    }
}

/// Calls a function of the algorithm in use.
macro_rules! ask {
    ($in_use:expr, $algorithm:ident => $call:expr) => {
        match $in_use {
            InUse::Rfc => {
                type $algorithm = Rfc;
                $call
            }
            InUse::Fack => {
                type $algorithm = Fack;
                $call
            }
            InUse::Prr => {
                type $algorithm = Prr;
                $call
            }
        }
    };
}

/// Loss recovery of a connection: decisions that the sending side must follow, and the state of
/// each algorithm.
///
/// The states of all algorithms are separate fields, not an enum. So an algorithm can access its
/// state directly while it changes the rest of the endpoint.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "instructions are independent")]
pub(crate) struct LossRecovery {
    in_use: InUse,
    /// The next retransmission is sent even if the window is full.
    pub(crate) retransmits_at_once: bool,
    /// Until the next acknowledgment, only new data may be sent.
    pub(crate) holds_retransmissions: bool,
    /// The newest segment is to be retransmitted as a probe.
    pub(crate) probe_due: bool,
    /// One new segment may be sent beyond the window.
    pub(crate) new_data_at_once: bool,
    rfc: rfc::State,
    pub(crate) fack: fack::State,
    prr: prr::State,
}

impl LossRecovery {
    pub(crate) fn new(recovery: Recovery) -> Self {
        let (rack, tail_loss_probe) = match recovery {
            Recovery::Prr { rack, tail_loss_probe } => (rack, tail_loss_probe),
            Recovery::Rfc | Recovery::Fack => (false, false),
        };
        Self {
            in_use: InUse::of(recovery),
            retransmits_at_once: false,
            holds_retransmissions: false,
            probe_due: false,
            new_data_at_once: false,
            rfc: rfc::State::default(),
            fack: fack::State::default(),
            prr: prr::State::new(rack, tail_loss_probe),
        }
    }

    /// The minimum round-trip time, if the algorithm in use records it. Only [`Prr`] does. With
    /// other algorithms, the state of [`Prr`] stays empty, so no check of the algorithm is needed
    /// here.
    pub(crate) const fn min_rtt(&self) -> Option<Duration> {
        self.prr.min_rtt()
    }

    /// Switches to [`Rfc`], because the configured algorithm needs SACK and the connection has
    /// none.
    pub(crate) const fn follow_rfcs(&mut self) {
        self.in_use = InUse::Rfc;
    }

    /// Whether the endpoint's fast path may be taken. The fast path exists only for [`Rfc`]: on it,
    /// [`on_ack`] calls [`Rfc`] directly, and `on_sent` is replaced by a start of the
    /// retransmission timer.
    pub(crate) fn has_fast_path(&self) -> bool {
        self.in_use == InUse::Rfc
    }
}

pub(crate) fn min_rto(config: &Config) -> Duration {
    ask!(InUse::of(config.recovery), A => A::min_rto(config))
}

pub(crate) fn on_options(end: &mut Endpoint) {
    ask!(end.recovery.in_use, A => A::on_options(end));
}

#[cfg_attr(not(debug_assertions), inline(always))]
pub(crate) fn on_ack<const FAST: bool>(
    end: &mut Endpoint,
    now: Time,
    segment: &Segment,
    window_changed: bool,
) {
    if FAST {
        Rfc::on_ack::<true>(end, now, segment, window_changed);
    } else {
        ask!(end.recovery.in_use, A => A::on_ack::<false>(end, now, segment, window_changed));
    }
}

#[cfg_attr(not(debug_assertions), inline(always))]
pub(crate) fn on_idle_ack(end: &mut Endpoint, segment: &Segment, window_changed: bool) {
    ask!(end.recovery.in_use, A => A::on_idle_ack(end, segment, window_changed));
}

#[cfg_attr(not(debug_assertions), inline(always))]
pub(crate) fn on_sent(end: &mut Endpoint, now: Time) {
    ask!(end.recovery.in_use, A => A::on_sent(end, now));
}

pub(crate) fn on_retransmitted(end: &mut Endpoint, now: Time, again: &SentSegment) {
    ask!(end.recovery.in_use, A => A::on_retransmitted(end, now, again));
}

pub(crate) fn on_deferred(end: &mut Endpoint, now: Time) {
    ask!(end.recovery.in_use, A => A::on_deferred(end, now));
}

pub(crate) fn next_lost(end: &mut Endpoint, now: Time) -> Option<SentSegment> {
    ask!(end.recovery.in_use, A => A::next_lost(end, now))
}

pub(crate) fn next_in_case(end: &mut Endpoint, now: Time) -> Option<SentSegment> {
    ask!(end.recovery.in_use, A => A::next_in_case(end, now))
}

pub(crate) fn timer_armed_at(end: &Endpoint) -> Time {
    ask!(end.recovery.in_use, A => A::timer_armed_at(end))
}

pub(crate) fn on_timer(end: &mut Endpoint, now: Time) {
    ask!(end.recovery.in_use, A => A::on_timer(end, now));
}

pub(crate) fn enter_loss(end: &mut Endpoint, now: Time) {
    ask!(end.recovery.in_use, A => A::enter_loss(end, now));
}

pub(crate) fn flight_size(end: &Endpoint) -> u32 {
    ask!(end.recovery.in_use, A => A::flight_size(end))
}
