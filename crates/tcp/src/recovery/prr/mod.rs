//! Loss recovery of Linux 6: RACK, tail loss probes, proportional rate reduction and F-RTO.
//!
//! The names in brackets are the kernel's (`net/ipv4/tcp_input.c` where no other file is named):
//! `ack` is its `tcp_ack`, `phases` its state machine, `window` its congestion window. `rack` and
//! `probe` find losses, `undo` reverts needless reductions, and `timer` is the one timer for all.
//!
//! Left out: DSACK (RFC 2883), which only receivers with `fack` send here, and everything that depends on it;
//! the phase CWR for congestion marks (see the endpoint's `ecn`); receivers that renege on SACKed data.

mod ack;
mod phases;
mod probe;
mod rack;
mod timer;
mod undo;
mod window;

use netstudy_units::{Duration, Time};

use super::{Algorithm, Phase};
use crate::{Config, Endpoint, Segment, SentSegment};
use probe::Probe;
use rack::Rack;
use timer::Timer;
use undo::Undo;
use window::{Reduction, WindowUse};

/// State of a connection under this recovery.
#[derive(Clone, Copy, Debug)]
pub(super) struct State {
    /// Losses are found by time (RACK), otherwise by three SACKed segments above.
    uses_rack: bool,
    /// The tail of a flight is probed before the timeout.
    probes_tail: bool,
    /// Something was acknowledged since the timeout that began the phase Loss (`icsk_retransmits` is
    /// zero).
    advanced_in_loss: bool,
    timer: Timer,
    probe: Probe,
    window_use: WindowUse,
    rack: Rack,
    reduction: Reduction,
    undo: Undo,
}

impl State {
    pub(super) fn new(uses_rack: bool, probes_tail: bool) -> Self {
        Self {
            uses_rack,
            probes_tail,
            advanced_in_loss: false,
            timer: Timer::default(),
            probe: Probe::default(),
            window_use: WindowUse::default(),
            rack: Rack::new(),
            reduction: Reduction::default(),
            undo: Undo::default(),
        }
    }

    pub(super) const fn min_rtt(&self) -> Option<Duration> {
        self.rack.min_rtt()
    }
}

/// Proportional rate reduction (RFC 6937), with the additions of Linux 6.
#[derive(Clone, Copy, Debug)]
pub(super) struct Prr;

impl Algorithm for Prr {
    /// The least timeout is whole ticks (`tcp_rto_min`).
    fn min_rto(config: &Config) -> Duration {
        let tick = config.clock_tick;
        if tick == Duration::ZERO {
            return config.min_rto;
        }
        tick * config.min_rto.as_ps().div_ceil(tick.as_ps())
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn on_ack<const FAST: bool>(
        end: &mut Endpoint,
        now: Time,
        segment: &Segment,
        window_changed: bool,
    ) {
        ack::on_ack(end, now, segment, window_changed);
    }

    fn on_idle_ack(end: &mut Endpoint, segment: &Segment, window_changed: bool) {
        ack::on_idle_ack(end, segment, window_changed);
    }

    #[inline(never)]
    fn on_sent(end: &mut Endpoint, now: Time) {
        end.recovery.prr.reduction.sent += u32::from(end.phase == Phase::Recovery);
        if end.recovery.new_data_at_once {
            probe::sent_new_data(end);
        } else if end.snd_nxt > 1 {
            probe::schedule_behind(end, now);
        } else {
            timer::restart_retransmission(end, now);
        }
        window::judge_use(end, now, false);
    }

    /// `tcp_retransmit_skb`, and the end of `tcp_xmit_retransmit_queue`
    fn on_retransmitted(end: &mut Endpoint, now: Time, again: &SentSegment) {
        end.recovery.prr.reduction.sent += u32::from(end.phase == Phase::Recovery);
        end.recovery.prr.undo.first_repeat.get_or_insert(now);
        end.sent.note_copy(again);
        if again.start == end.snd_una && end.recovery.prr.timer != Timer::Reordering {
            timer::restart_retransmission(end, now);
        }
    }

    fn on_deferred(end: &mut Endpoint, now: Time) {
        window::judge_use(end, now, true);
    }

    fn on_timer(end: &mut Endpoint, now: Time) {
        timer::expired(end, now);
    }

    fn enter_loss(end: &mut Endpoint, now: Time) {
        phases::enter_loss(end, now);
    }

    /// The window is halved whether or not it is used (`tcp_reno_ssthresh`).
    fn flight_size(end: &Endpoint) -> u32 {
        end.window.cwnd
    }
}
