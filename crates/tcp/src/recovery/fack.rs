//! Loss recovery of Linux 2.6.18: forward acknowledgment and rate halving.
//!
//! The names are those of `net/ipv4/tcp_input.c` (`tcp_ack`, `tcp_fastretrans_alert` and the functions
//! they call). Left out: undoing a needless reduction, which takes reordering or spurious timeouts; and
//! marking segments lost because they are older than the timeout although the timer was restarted
//! (`tcp_head_timedout`).

use netstudy_units::Time;

use super::{Algorithm, DUP_THRESH, InUse, Phase};
use crate::{Acked, CongestionControl, Endpoint, Segment, SentSegment};

/// Segments that may leave in a burst when something looks lost (`tcp_max_burst`).
const MAX_BURST: u32 = 3;

/// State of a connection under this recovery.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct State {
    /// Something was acknowledged since the timeout that began the phase Loss (`icsk_retransmits` is
    /// zero).
    advanced_in_loss: bool,
    /// A reduction that the kernel may still undo (`undo_marker`). Nothing is undone here, but the
    /// phase Disorder lasts until more is acknowledged.
    reduced: bool,
}

/// Forward acknowledgment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fack;

impl Algorithm for Fack {
    /// Forward acknowledgment is about SACK: without it, NewReno.
    fn on_options(end: &mut Endpoint) {
        if !end.sack {
            end.recovery.in_use = InUse::Rfc;
        }
    }

    #[inline(always)]
    fn on_ack<const FAST: bool>(
        end: &mut Endpoint,
        now: Time,
        segment: &Segment,
        window_changed: bool,
    ) {
        on_ack(end, now, segment, window_changed);
    }

    #[inline(always)]
    fn on_sent(end: &mut Endpoint, now: Time) {
        if end.config.restart_after_idle {
            validate_window(end, now);
        }
        end.start_retransmission(now);
    }

    /// Restarts the timer when the oldest segment is retransmitted (`tcp_xmit_retransmit_queue`).
    fn on_retransmitted(end: &mut Endpoint, now: Time, again: &SentSegment) {
        if again.start == end.snd_una {
            end.rto_at = now + end.rtt.rto();
        }
    }

    /// Forward retransmission, at the end of `tcp_xmit_retransmit_queue`.
    fn next_in_case(end: &mut Endpoint, now: Time) -> Option<SentSegment> {
        end.sent.retransmit_forward(now, end.snd_nxt)
    }

    /// A recovery that the timer ends is the same loss event, and a timeout after progress in the phase
    /// Loss is another one (`tcp_enter_loss`).
    fn enter_loss(end: &mut Endpoint, _now: Time) {
        let is_same_event = match end.phase {
            Phase::Open | Phase::Disorder => false,
            Phase::Recovery => true,
            Phase::Loss => !end.recovery.fack.advanced_in_loss,
        };
        let reduced = !end.sent.any_sent_twice();
        end.recovery.fack = State { advanced_in_loss: false, reduced };
        super::lose_all(end, is_same_event);
    }
}

/// `tcp_ack`
#[inline]
fn on_ack(end: &mut Endpoint, now: Time, segment: &Segment, window_changed: bool) {
    let mut prior_in_flight = end.in_flight();
    let advanced = segment.ack > end.snd_una;
    let mut newly_sacked = 0;
    if !segment.sack.is_empty() {
        newly_sacked = end.sent.mark_sacked(segment.ack, &segment.sack);
        prior_in_flight = end.in_flight();
    }
    let mut segments = 0;
    if advanced {
        let acked = end.sent.acknowledge(segment.ack);
        segments = acked.segments;
        end.snd_una = segment.ack;
        end.take_delivered(now, segment, &acked);
        end.restart_retransmission(now);
    }
    let is_duplicate = !advanced && segment.sequence_len() == 0 && !window_changed;
    if end.phase == Phase::Open && !is_duplicate && newly_sacked == 0 {
        if advanced {
            end.window_judged_at = now;
            raise_window(end, now, segments, prior_in_flight);
        }
        return;
    }
    if end.sent.is_empty() && !advanced {
        return;
    }
    end.window_judged_at = now;
    end.counters.duplicate_acks_received += u64::from(!advanced);
    if end.phase == Phase::Recovery && newly_sacked > 0 {
        let newest = segment.sack.iter(segment.ack).map(|block| block.end).max();
        end.sent.lose_copies(newest.unwrap_or(0));
    }
    if advanced && end.phase != Phase::Recovery {
        raise_window(end, now, segments, prior_in_flight);
    }
    alert(end, advanced, is_duplicate);
}

/// `tcp_cong_avoid` behind `tcp_is_cwnd_limited`
#[inline]
fn raise_window(end: &mut Endpoint, now: Time, segments: u32, in_flight: u32) {
    if end.is_lowered_for_mark() {
        return;
    }
    let left = end.window.cwnd.saturating_sub(in_flight);
    // With segmentation offload, deferred data still counts as use of the window.
    if left == 0 || (end.config.offload_bytes > 0 && left * 3 < end.window.cwnd) {
        end.congestion.on_ack(Acked { now, segments }, &mut end.window);
    }
}

/// `tcp_fastretrans_alert`
#[cold]
fn alert(end: &mut Endpoint, advanced: bool, is_duplicate: bool) {
    if end.phase != Phase::Open && end.snd_una >= end.recovery_point {
        leave_phase(end);
    }
    let mut find_losses = is_duplicate;
    match end.phase {
        Phase::Recovery => {
            if advanced {
                // `tcp_try_undo_partial`
                find_losses = end.sent.facked() > DUP_THRESH;
            }
        }
        Phase::Loss => {
            end.recovery.fack.advanced_in_loss |= advanced;
            moderate_window(end);
            return;
        }
        Phase::Open | Phase::Disorder => {
            if !is_time_to_recover(end) {
                try_to_open(end);
                return;
            }
            start_rate_halving(end);
            find_losses = true;
        }
    }
    if find_losses {
        update_scoreboard(end);
    }
    lower_window(end);
}

/// All data sent before the phase began is acknowledged.
fn leave_phase(end: &mut Endpoint) {
    match end.phase {
        Phase::Recovery => {
            end.window.cwnd = end.window.cwnd.min(end.window.ssthresh);
            end.phase = Phase::Open;
        }
        Phase::Loss => end.phase = Phase::Open,
        Phase::Disorder if !end.recovery.fack.reduced || end.snd_una > end.recovery_point => {
            end.recovery.fack.reduced = false;
            end.phase = Phase::Open;
        }
        Phase::Disorder | Phase::Open => {}
    }
}

/// `tcp_time_to_recover`
fn is_time_to_recover(end: &Endpoint) -> bool {
    let out = end.sent.len();
    end.sent.lost() > 0
        || end.sent.facked() > DUP_THRESH
        || (out <= DUP_THRESH
            && out > 0
            && end.sent.sacked() >= (out / 2).max(DUP_THRESH)
            && end.snd_nxt >= end.write_end)
}

/// `tcp_try_to_open`
fn try_to_open(end: &mut Endpoint) {
    let is_open =
        end.sent.sacked() == 0 && end.sent.retransmitted() == 0 && !end.recovery.fack.reduced;
    let phase = if is_open { Phase::Open } else { Phase::Disorder };
    if phase != end.phase {
        end.phase = phase;
        end.recovery_point = end.snd_nxt;
    }
    moderate_window(end);
}

fn start_rate_halving(end: &mut Endpoint) {
    end.recovery_point = end.snd_nxt;
    end.lower_threshold();
    end.window.credit = 0;
    end.phase = Phase::Recovery;
    end.recovery.fack.reduced = true;
    end.counters.fast_recoveries += 1;
}

/// `tcp_update_scoreboard`: all but the last three segments up to the newest SACKed one are lost.
fn update_scoreboard(end: &mut Endpoint) {
    let lost = end.sent.facked().saturating_sub(DUP_THRESH).max(1);
    end.sent.lose_head(lost, end.recovery_point);
}

/// `tcp_cwnd_down`: down by one on every second acknowledgment, not below the threshold, and never more
/// than one above the segments in flight.
fn lower_window(end: &mut Endpoint) {
    let decrement = end.window.credit + 1;
    end.window.credit = decrement & 1;
    if decrement > 1 && end.window.cwnd > end.window.ssthresh {
        end.window.cwnd -= 1;
    }
    end.window.cwnd = end.window.cwnd.min(end.in_flight() + 1);
}

/// `tcp_moderate_cwnd`
fn moderate_window(end: &mut Endpoint) {
    end.window.cwnd = end.window.cwnd.min(end.in_flight() + MAX_BURST);
}

/// `tcp_cwnd_validate`: a window that was neither used up nor judged by an acknowledgment for a
/// timeout, because the application had nothing to send, shrinks half way to the used part.
fn validate_window(end: &mut Endpoint, now: Time) {
    let out = end.sent.len();
    if out >= end.window.cwnd {
        end.window_used = 0;
        end.window_judged_at = now;
        return;
    }
    end.starve_window(now, out);
}
