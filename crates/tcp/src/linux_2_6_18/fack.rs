//! Loss recovery of Linux 2.6.18: forward acknowledgment and rate halving.
//!
//! The kernel names below are functions of `net/ipv4/tcp_input.c` (`tcp_ack`,
//! `tcp_fastretrans_alert` and the functions that they call). The queue of sent packets is in the
//! module `queue`, and the queue's additional state in `scoreboard`.

use netstudy_units::Time;

use super::queue::tagging::{Report, Tagged};
use super::scoreboard::REORDERING;
use crate::recovery::algorithm::{Algorithm, Phase, begin_loss};
use crate::{Acked, CongestionControl, Endpoint, Segment, SentSegment};

/// Maximum burst, in segments, while losses are suspected (`tcp_max_burst`).
const MAX_BURST: u32 = 3;

/// State that this recovery keeps for a connection.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct State {
    /// New data was acknowledged after the timeout that began the phase Loss (`icsk_retransmits` is
    /// zero).
    advanced_in_loss: bool,
    /// A segment was retransmitted since the phase Open ended (`retrans_stamp`).
    retransmitted: bool,
    /// Threshold before the last reduction, which an undo restores (`prior_ssthresh`).
    prior_ssthresh: u32,
}

/// Forward acknowledgment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fack;

impl Algorithm for Fack {
    /// Forward acknowledgment needs SACK; a connection without SACK uses NewReno.
    fn on_options(end: &mut Endpoint) {
        if end.sack {
            end.hold_packets();
        } else {
            end.recovery.follow_rfcs();
        }
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn on_ack<const FAST: bool>(
        end: &mut Endpoint,
        now: Time,
        segment: &Segment,
        window_changed: bool,
    ) {
        on_ack(end, now, segment, window_changed);
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn on_sent(end: &mut Endpoint, now: Time) {
        if end.config.restart_after_idle {
            validate_window(end, now);
        }
        end.start_retransmission(now);
    }

    /// Restarts the timer when the oldest segment is retransmitted (`tcp_xmit_retransmit_queue`).
    fn on_retransmitted(end: &mut Endpoint, now: Time, again: &SentSegment) {
        end.recovery.fack.retransmitted = true;
        if again.start == end.snd_una {
            end.rto_at = now + end.rtt.rto();
        }
    }

    /// The first pass of `tcp_xmit_retransmit_queue`.
    fn next_lost(end: &mut Endpoint, now: Time) -> Option<SentSegment> {
        if end.sent.holds_packets() {
            end.sent.retransmit_lost_packet(now, end.snd_nxt)
        } else {
            end.sent.retransmit_next(now)
        }
    }

    /// Forward retransmission, at the end of `tcp_xmit_retransmit_queue`.
    fn next_in_case(end: &mut Endpoint, now: Time) -> Option<SentSegment> {
        end.sent.retransmit_packet_forward(now, end.snd_nxt)
    }

    /// A timeout during a recovery belongs to the same loss event as the recovery. A timeout in the
    /// phase Loss is a new loss event if new data was acknowledged in this phase
    /// (`tcp_enter_loss`).
    fn enter_loss(end: &mut Endpoint, _now: Time) {
        let is_same_event = match end.phase {
            Phase::Open | Phase::Disorder => false,
            Phase::Recovery => true,
            Phase::Loss => !end.recovery.fack.advanced_in_loss,
        };
        if !is_same_event {
            end.recovery.fack.prior_ssthresh = threshold_to_keep(end);
        }
        end.recovery.fack.advanced_in_loss = false;
        begin_loss(end, is_same_event);
        // Before the options are known, the queue holds only the SYN, not packets.
        if end.sent.holds_packets() {
            end.sent.lose_all_packets();
        } else {
            end.sent.lose_all();
        }
    }
}

/// `tcp_ack`
#[inline]
fn on_ack(end: &mut Endpoint, now: Time, segment: &Segment, window_changed: bool) {
    let mut tagged = Tagged::default();
    if !segment.sack.is_empty() {
        tagged = end.sent.tag(&Report {
            ack: segment.ack,
            blocks: &segment.sack,
            snd_una: end.snd_una,
            phase: end.phase,
            phase_end: end.recovery_point,
        });
    }
    let prior_in_flight = end.in_flight();
    let advanced = segment.ack > end.snd_una;
    let mut segments = 0;
    if advanced {
        let acked = end.sent.acknowledge_packets(segment.ack);
        segments = acked.segments;
        end.snd_una = segment.ack;
        // A partially acknowledged segment does not count (`FLAG_DATA_ACKED`).
        if segments > 0 {
            end.take_delivered(now, segment, &acked);
            end.restart_retransmission(now);
        }
    }
    let is_duplicate = !advanced && segment.sequence_len() == 0 && !window_changed;
    if end.phase == Phase::Open && !is_duplicate && !tagged.is_news {
        if segments > 0 {
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
    if segments > 0 && end.phase != Phase::Recovery {
        raise_window(end, now, segments, prior_in_flight);
    }
    alert(end, now, advanced, is_duplicate, tagged);
}

/// `tcp_cong_avoid`, if `tcp_is_cwnd_limited`
#[inline]
fn raise_window(end: &mut Endpoint, now: Time, segments: u32, in_flight: u32) {
    if end.is_lowered_for_mark() {
        return;
    }
    let left = end.window.cwnd.saturating_sub(in_flight);
    // With segmentation offload, data may be deferred, so an almost fully used window counts too.
    if left == 0 || (end.config.offload_bytes > 0 && left * 3 < end.window.cwnd) {
        end.congestion.on_ack(Acked { now, segments }, &mut end.window);
    }
}

/// `tcp_fastretrans_alert`
#[cold]
fn alert(end: &mut Endpoint, now: Time, advanced: bool, is_duplicate: bool, tagged: Tagged) {
    let excess = segments_beyond_reordering(end);
    // Data sent since the phase began has arrived, so earlier data that has not arrived is lost
    // (step C of the kernel).
    if tagged.is_beyond_phase
        && end.phase != Phase::Open
        && end.snd_una < end.recovery_point
        && excess > 0
    {
        end.sent.lose_oldest_packets(excess, end.recovery_point);
    }
    if end.phase == Phase::Open {
        end.recovery.fack.retransmitted = false;
    } else if end.snd_una >= end.recovery_point {
        leave_phase(end);
    }
    let mut find_losses = is_duplicate;
    match end.phase {
        Phase::Recovery => {
            if advanced {
                find_losses = !undo_partly(end) && segments_beyond_reordering(end) > 0;
            }
        }
        Phase::Loss => {
            end.recovery.fack.advanced_in_loss |= advanced;
            // All segments are marked lost already, and slow start retransmits them.
            moderate_window(end);
            return;
        }
        Phase::Open | Phase::Disorder => {
            if end.phase == Phase::Disorder {
                undo_needless(end);
            }
            if !is_time_to_recover(end, now) {
                try_to_open(end);
                return;
            }
            start_rate_halving(end);
        }
    }
    if find_losses || is_oldest_timed_out(end, now) {
        update_scoreboard(end, now);
    }
    lower_window(end);
}

/// Number of segments by which `fackets_out` exceeds the reordering tolerance.
fn segments_beyond_reordering(end: &Endpoint) -> u32 {
    end.sent.facked_segments().saturating_sub(end.sent.packets().reordering())
}

/// Ends the phase, because all data sent before the phase began is acknowledged.
fn leave_phase(end: &mut Endpoint) {
    match end.phase {
        Phase::Recovery => {
            undo_if_none_repeated(end);
            end.window.cwnd = end.window.cwnd.min(end.window.ssthresh);
            end.phase = Phase::Open;
        }
        Phase::Loss => {
            end.recovery.fack.advanced_in_loss = true;
            undo_if_none_repeated(end);
            end.phase = Phase::Open;
        }
        Phase::Disorder => {
            undo_needless(end);
            if !end.sent.packets().may_undo() || end.snd_una > end.recovery_point {
                end.sent.packets_mut().end_undo();
                end.phase = Phase::Open;
            }
        }
        Phase::Open => {}
    }
}

/// True if the sender sent the oldest packet more than one RTO ago (`tcp_head_timedout`).
fn is_oldest_timed_out(end: &Endpoint, now: Time) -> bool {
    let rto = end.rtt.rto();
    end.sent.oldest().is_some_and(|oldest| now.since(oldest.sent_at) > rto)
}

/// `tcp_time_to_recover`
fn is_time_to_recover(end: &Endpoint, now: Time) -> bool {
    let out = end.sent.len();
    end.sent.lost() > 0
        || segments_beyond_reordering(end) > 0
        || is_oldest_timed_out(end, now)
        || (out <= end.sent.packets().reordering()
            && out > 0
            && end.sent.sacked() >= (out / 2).max(REORDERING)
            && end.snd_nxt >= end.write_end)
}

/// `tcp_try_to_open`
fn try_to_open(end: &mut Endpoint) {
    if end.sent.retransmitted() == 0 {
        end.recovery.fack.retransmitted = false;
    }
    let is_open =
        end.sent.sacked() == 0 && end.sent.retransmitted() == 0 && !end.sent.packets().may_undo();
    let phase = if is_open { Phase::Open } else { Phase::Disorder };
    if phase != end.phase {
        end.phase = phase;
        end.recovery_point = end.snd_nxt;
    }
    moderate_window(end);
}

fn start_rate_halving(end: &mut Endpoint) {
    end.recovery.fack.prior_ssthresh = threshold_to_keep(end);
    end.recovery_point = end.snd_nxt;
    let copies = end.sent.retransmitted();
    end.sent.packets_mut().begin_undo(end.snd_una, copies);
    end.lower_threshold();
    end.window.credit = 0;
    end.phase = Phase::Recovery;
    end.counters.fast_recoveries += 1;
}

/// `tcp_update_scoreboard`: with forward acknowledgment, all packets before the newest SACKed one
/// are lost, except for the reordering tolerance; without forward acknowledgment, only the oldest
/// packet is lost.
fn update_scoreboard(end: &mut Endpoint, now: Time) {
    let lost =
        if end.sent.packets().is_forward() { segments_beyond_reordering(end).max(1) } else { 1 };
    end.sent.lose_oldest_packets(lost, end.recovery_point);
    if is_oldest_timed_out(end, now) {
        let rto = end.rtt.rto();
        end.sent.lose_late_packets(|sent_at| now.since(sent_at) > rto);
    }
}

/// `tcp_cwnd_down`: lowers the window by one on every second acknowledgment, but not below the
/// threshold. Keeps the window at most one segment above the segments in flight.
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

/// Threshold that an undo would restore (`tcp_current_ssthresh`).
fn threshold_to_keep(end: &Endpoint) -> u32 {
    if end.phase == Phase::Recovery {
        end.window.ssthresh
    } else {
        end.window.ssthresh.max(end.three_quarters())
    }
}

/// True if the window reduction was spurious: the sender retransmitted nothing, or the receiver
/// reported every retransmission as a duplicate (`tcp_may_undo`). The kernel also checks for a
/// timestamp from before the retransmission. This is not modeled, because it works only if the
/// round-trip time is several ticks.
fn may_undo(end: &Endpoint) -> bool {
    let packets = end.sent.packets();
    packets.is_all_needless() || (packets.may_undo() && !end.recovery.fack.retransmitted)
}

/// `tcp_try_undo_recovery`
fn undo_if_none_repeated(end: &mut Endpoint) {
    if may_undo(end) {
        undo(end, true);
        end.sent.packets_mut().end_undo();
    }
}

/// `tcp_try_undo_dsack`
fn undo_needless(end: &mut Endpoint) {
    if end.sent.packets().is_all_needless() {
        undo(end, true);
        end.sent.packets_mut().end_undo();
    }
}

/// `tcp_try_undo_partial`
fn undo_partly(end: &mut Endpoint) -> bool {
    let may = may_undo(end);
    if may {
        let late = end.sent.facked_segments() + 1;
        end.sent.packets_mut().came_late(late);
        undo(end, false);
    }
    may
}

/// `tcp_undo_cwr`: restores the window, and the threshold as well if the `whole` phase was
/// spurious.
fn undo(end: &mut Endpoint, whole: bool) {
    let prior = end.recovery.fack.prior_ssthresh;
    end.window.cwnd = end.congestion.undone(end.window.cwnd);
    if whole {
        end.window.ssthresh = end.window.ssthresh.max(prior);
    }
    moderate_window(end);
    end.counters.undone_reductions += 1;
}

/// `tcp_cwnd_validate`: shrinks the window to the mean of its size and its used part, because the
/// application had nothing to send. This happens if for one timeout the window was not fully used
/// and no acknowledgment caused a check of its use.
fn validate_window(end: &mut Endpoint, now: Time) {
    let out = end.sent.len();
    if out >= end.window.cwnd {
        end.window_used = 0;
        end.window_judged_at = now;
        return;
    }
    end.starve_window(now, out);
}
