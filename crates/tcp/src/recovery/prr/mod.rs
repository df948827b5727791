//! Loss recovery of Linux 6: RACK, tail loss probes, proportional rate reduction and F-RTO.
//!
//! The names in brackets are those of the kernel's functions (in `net/ipv4/tcp_input.c` unless
//! another file is given). `state` holds data and pure computations; `phases` is the state machine,
//! which uses `state`; `events` handles acknowledgments, transmissions and the timer, and uses
//! both.
//!
//! Not modeled: DSACK (RFC 2883) and everything that depends on it, because here only receivers
//! configured with `fack` send DSACK; the phase CWR for congestion marks (see the module `ecn` of
//! the endpoint); receivers that renege on SACKed data.

mod events;
mod phases;
mod state;

use netstudy_units::{Duration, Time};

use super::algorithm::{Algorithm, Phase};
use crate::{Config, Endpoint, Segment, SentSegment};
pub(super) use state::State;
use state::Timer;

/// Proportional rate reduction (RFC 6937), with the additions of Linux 6.
#[derive(Clone, Copy, Debug)]
pub(super) struct Prr;

impl Algorithm for Prr {
    /// The minimum timeout is rounded up to whole ticks (`tcp_rto_min`).
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
        events::on_ack(end, now, segment, window_changed);
    }

    fn on_idle_ack(end: &mut Endpoint, segment: &Segment, window_changed: bool) {
        events::on_idle_ack(end, segment, window_changed);
    }

    #[inline(never)]
    fn on_sent(end: &mut Endpoint, now: Time) {
        end.recovery.prr.reduction.sent += u32::from(end.phase == Phase::Recovery);
        if end.recovery.new_data_at_once {
            events::probe_sent_new_data(end);
        } else if end.snd_nxt > 1 {
            events::schedule_probe_behind(end, now);
        } else {
            phases::restart_retransmission(end, now);
        }
        events::judge_window_use(end, now, false);
        if end.paced.is_some() {
            events::stamp_newest(end, now);
        }
    }

    /// `tcp_retransmit_skb`, and the end of `tcp_xmit_retransmit_queue`
    fn on_retransmitted(end: &mut Endpoint, now: Time, again: &SentSegment) {
        end.recovery.prr.reduction.sent += u32::from(end.phase == Phase::Recovery);
        end.recovery.prr.undo.first_repeat.get_or_insert(now);
        end.sent.note_copy(again);
        if end.paced.is_some() {
            end.stamp_again(now, again.start, again.len);
        }
        if again.start == end.snd_una && end.recovery.prr.timer != Timer::Reordering {
            phases::restart_retransmission(end, now);
        }
    }

    fn on_deferred(end: &mut Endpoint, now: Time) {
        events::judge_window_use(end, now, true);
    }

    fn timer_armed_at(end: &Endpoint) -> Time {
        end.recovery.prr.timer_armed_at
    }

    fn on_timer(end: &mut Endpoint, now: Time) {
        events::timer_expired(end, now);
    }

    fn enter_loss(end: &mut Endpoint, now: Time) {
        phases::enter_loss(end, now);
    }

    /// The threshold is computed from the whole window, whether or not the window is fully used
    /// (`tcp_reno_ssthresh`).
    fn flight_size(end: &Endpoint) -> u32 {
        end.window.cwnd
    }
}
