//! The state machine with the phases Open, Disorder, Recovery and Loss (`tcp_fastretrans_alert`),
//! and the actions of its steps.
//!
//! On a connection without SACK, each duplicate acknowledgment counts as a segment that arrived out
//! of order (RFC 6582; `tcp_add_reno_sack`, `tcp_remove_reno_sacks`, `tcp_newreno_mark_lost`).
//!
//! A reduction of the window is undone if it was spurious, that is, if the segments were late and
//! not lost. Two signs show that a reduction was spurious: an acknowledgment echoes a timestamp
//! from before the first retransmission (Eifel, RFC 3522; `tcp_packet_delayed`), or a segment that
//! was never retransmitted arrives after a timeout (F-RTO, RFC 5682). Linux also uses DSACK (RFC
//! 3708), but here the receivers do not send it.

use netstudy_units::{Duration, Time};

use super::state::{AckInfo, Probe, Reduction, TIMEOUT_MIN, Timer, expiry, is_before};
use crate::recovery::algorithm::Phase;
use crate::{CongestionControl, Endpoint, Flags, Segment};

/// `tcp_fastretrans_alert`
#[cold]
pub(super) fn alert(end: &mut Endpoint, now: Time, segment: &Segment, info: &mut AckInfo) {
    end.counters.duplicate_acks_received += u64::from(!info.advanced);
    // Searches for losses only if the acknowledgment is a duplicate, or if SACKs leave a hole that
    // is too wide to come from reordering.
    let mut finds = info.duplicate || (info.newly_sacked > 0 && is_hole_wide(end));
    // Step A of the kernel: a congestion mark justifies the reduction of the window, even if no
    // segment was lost.
    if segment.flags.contains(Flags::ECE) {
        end.recovery.prr.undo.forbid();
    }
    if end.phase == Phase::Open {
        end.recovery.prr.undo.first_repeat = None;
    } else if end.phase == Phase::Recovery && end.snd_una >= end.recovery_point {
        end.dup_acks = 0;
        if undo_recovery(end, now, segment) {
            return;
        }
        end_reduction(end);
    }
    let enters = match end.phase {
        Phase::Recovery => {
            if !info.advanced {
                take_duplicate(end, info);
            } else if undo_partly(end, now, segment, info) {
                // The other segments may be late too, so another retransmission could be
                // unnecessary.
                end.recovery.holds_retransmissions = true;
                return;
            } else {
                finds |= is_hole_wide(end);
            }
            find_losses(end, now, info);
            end.phase != Phase::Recovery && end.sent.lost() > 0
        }
        Phase::Loss => {
            process_loss(end, now, segment, info);
            find_losses(end, now, info);
            // Slow start retransmits the rest. Only a lost retransmission begins a new recovery in
            // this phase.
            if end.phase != Phase::Open && !info.copy_lost {
                return;
            }
            look_for_recovery(end, now, info)
        }
        Phase::Open | Phase::Disorder => look_for_recovery(end, now, info),
    };
    if enters {
        enter_recovery(end);
    }
    if !end.recovery.prr.uses_rack && end.sack && finds && end.phase == Phase::Recovery {
        update_scoreboard(end, enters);
    }
}

/// The part of the state machine that is common to all phases except Recovery. Returns whether a
/// recovery must begin.
fn look_for_recovery(end: &mut Endpoint, now: Time, info: &mut AckInfo) -> bool {
    if info.advanced {
        end.dup_acks = 0;
    }
    take_duplicate(end, info);
    find_losses(end, now, info);
    // `tcp_time_to_recover`
    let by_count = !end.recovery.prr.uses_rack
        && end.sent.sacked() + end.dup_acks >= end.recovery.prr.rack.reordering;
    if end.sent.lost() > 0 || by_count {
        return true;
    }
    // `tcp_try_to_open`
    forget_repeats(end);
    keep_open(end);
    false
}

fn take_duplicate(end: &mut Endpoint, info: &mut AckInfo) {
    if info.duplicate && !end.sack {
        info.delivered += add_duplicate(end);
    }
}

/// `tcp_identify_packet_loss`
fn find_losses(end: &mut Endpoint, now: Time, info: &mut AckInfo) {
    if end.sent.is_empty() {
        return;
    }
    if !end.sack {
        lose_oldest_by_duplicates(end, info.advanced);
    } else if end.recovery.prr.uses_rack {
        let copies = end.sent.retransmitted();
        info.restarts_timer &= !look_for_overdue(end, now);
        info.copy_lost |= end.sent.retransmitted() < copies;
    }
}

/// `tcp_force_fast_retransmit`
fn is_hole_wide(end: &Endpoint) -> bool {
    let width = u64::from(end.recovery.prr.rack.reordering) * u64::from(end.mss);
    sacked_end(end) > end.snd_una + width
}

/// `tcp_update_scoreboard`: without RACK, a segment is lost if the number of SACKed segments above
/// it reaches the reordering tolerance (RFC 6675, 4). At the beginning of a recovery, at least the
/// oldest segment is lost.
fn update_scoreboard(end: &mut Endpoint, begins: bool) {
    let reordering = end.recovery.prr.rack.reordering;
    if end.sent.sacked() >= reordering {
        end.sent.decide_lost(reordering);
    } else if begins {
        end.sent.lose_oldest();
    }
}

/// `tcp_enter_recovery`
pub(super) fn enter_recovery(end: &mut Endpoint) {
    end.recovery.prr.undo.begin(threshold_to_keep(end), end.window.cwnd);
    begin_reduction(end);
    end.phase = Phase::Recovery;
    end.counters.fast_recoveries += 1;
}

/// `tcp_init_cwnd_reduction`
pub(super) fn begin_reduction(end: &mut Endpoint) {
    end.recovery_point = end.snd_nxt;
    end.recovery.prr.probe.end();
    end.recovery.prr.reduction = Reduction::new(end.window.cwnd);
    end.window.credit = 0;
    end.lower_threshold();
}

/// `tcp_end_cwnd_reduction`: sets the window to the threshold, unless the reduction was undone or
/// the congestion control sets the window itself.
fn end_reduction(end: &mut Endpoint) {
    if end.recovery.prr.undo.is_open && end.paced.is_none() {
        end.window.cwnd = end.window.ssthresh;
    }
}

/// `tcp_try_keep_open`
pub(super) fn keep_open(end: &mut Endpoint) {
    let is_clear =
        end.sent.sacked() + end.sent.lost() + end.dup_acks == 0 && !end.sent.is_any_repeated();
    let phase = if is_clear { Phase::Open } else { Phase::Disorder };
    if phase != end.phase {
        end.phase = phase;
        end.recovery_point = end.snd_nxt;
    }
}

/// Handles an acknowledgment after a timeout (`tcp_process_loss`; RFC 5682, 3.1).
fn process_loss(end: &mut Endpoint, now: Time, segment: &Segment, info: &mut AckInfo) {
    let recovered = end.snd_una >= end.recovery_point;
    // Like in the kernel, the echoed timestamp takes precedence over F-RTO.
    if info.advanced && undo_loss(end, now, segment, false) {
        return;
    }
    if end.recovery.prr.undo.after_timeout {
        if info.original_arrived && undo_loss(end, now, segment, true) {
            return;
        }
        if end.snd_nxt > end.recovery_point {
            // Step 3.a: data sent after the timeout arrived, but earlier data did not.
            end.recovery.prr.undo.after_timeout &= info.newly_sacked == 0 && !info.duplicate;
        } else if info.advanced && !recovered {
            // Step 2.b: the acknowledgments of new data will show whether the timeout was spurious.
            if end.has_more_to_send() {
                end.recovery.holds_retransmissions = true;
                return;
            }
            end.recovery.prr.undo.after_timeout = false;
        }
    }
    if recovered {
        undo_recovery(end, now, segment);
    } else if !end.sack && end.snd_nxt > end.recovery_point && info.duplicate {
        take_duplicate(end, info);
    } else if info.advanced {
        end.dup_acks = 0;
    }
}

/// The retransmission timer expired (`tcp_enter_loss`).
pub(super) fn enter_loss(end: &mut Endpoint, now: Time) {
    let is_new = matches!(end.phase, Phase::Open | Phase::Disorder);
    let after_progress = end.phase == Phase::Loss && end.recovery.prr.advanced_in_loss;
    let sacked = end.sent.sacked();
    end.dup_acks = 0;
    lose_timed_out(end, now, end.sack && end.recovery.prr.uses_rack);
    if is_new || end.recovery_point <= end.snd_una || after_progress {
        let (ssthresh, cwnd) = (threshold_to_keep(end), end.window.cwnd);
        end.lower_threshold();
        // The loss of a SYN does not concern the window.
        if end.snd_nxt > 1 {
            end.recovery.prr.undo.begin(ssthresh, cwnd);
        }
    }
    if is_new {
        end.recovery.prr.rack.doubt_reordering(sacked);
    }
    // RFC 5682 (3.1, step 1; 3.2): no F-RTO if another recovery is in progress, except for a
    // repeated timeout of the same data.
    end.recovery.prr.undo.after_timeout =
        is_new || (end.phase == Phase::Loss && !end.recovery.prr.advanced_in_loss);
    forget_probe(end);
    end.ecn.lowered_at = 0;
    end.congestion.on_timeout();
    if let Some(account) = end.delivery_account(now) {
        end.congestion.on_loss(&account);
    }
    end.window.cwnd = end.in_flight() + 1;
    end.window.credit = 0;
    end.phase = Phase::Loss;
    end.recovery.prr.advanced_in_loss = false;
    end.recovery_point = end.snd_nxt;
}

// ---- without SACK

/// Counts a duplicate acknowledgment. Returns how many segments this acknowledgment delivered.
fn add_duplicate(end: &mut Endpoint) -> u32 {
    let before = end.dup_acks;
    end.dup_acks += 1;
    limit_duplicates(end, 0);
    end.dup_acks.saturating_sub(before)
}

/// Handles the acknowledgment of `segments` segments. Each of them, except the one that filled the
/// hole, had caused a duplicate acknowledgment; these duplicates are removed. Returns how many of
/// the segments were not counted as delivered before.
pub(super) fn remove_duplicates(end: &mut Endpoint, segments: u32) -> u32 {
    if segments == 0 {
        return 0;
    }
    let delivered = segments.saturating_sub(end.dup_acks).max(1);
    end.dup_acks = end.dup_acks.saturating_sub(segments - 1);
    limit_duplicates(end, segments);
    delivered
}

/// Limits the duplicate acknowledgments to the outstanding segments. More duplicates than that mean
/// that the path reorders (`tcp_check_reno_reordering`).
fn limit_duplicates(end: &mut Endpoint, acknowledged: u32) {
    let out = end.sent.len();
    let holes = end.sent.lost().max(1).min(out);
    if end.dup_acks + holes > out {
        end.dup_acks = out - holes;
        end.recovery.prr.rack.see_reordering(out + acknowledged);
    }
}

/// `tcp_newreno_mark_lost`
fn lose_oldest_by_duplicates(end: &mut Endpoint, advanced: bool) {
    let lost = match end.phase {
        Phase::Open | Phase::Disorder => end.dup_acks >= end.recovery.prr.rack.reordering,
        Phase::Recovery => advanced,
        Phase::Loss => false,
    };
    if lost {
        end.sent.lose_oldest();
    }
}

// ---- the scoreboard

/// `tcp_highest_sack_seq`
#[inline]
pub(super) fn sacked_end(end: &Endpoint) -> u64 {
    if end.sent.sacked() == 0 {
        return end.snd_una;
    }
    end.sent.sacked_end().unwrap_or(end.snd_una)
}

/// `tcp_check_sack_reordering`: the segment at `lowest` arrived after a later segment that was
/// SACKed.
pub(super) fn see_reordering(end: &mut Endpoint, lowest: u64) {
    let sacked_end = sacked_end(end);
    if lowest < sacked_end {
        let segments = (sacked_end - lowest).div_ceil(u64::from(end.mss));
        end.recovery.prr.rack.see_reordering(segments.min(u64::from(u32::MAX)) as u32);
    }
}

// ---- losses by time (RFC 8985; `net/ipv4/tcp_recovery.c`)

/// How long a segment may still be missing after a later segment has arrived, without counting as
/// lost (RFC 8985, 6.2, step 4; `tcp_rack_reo_wnd`). DSACK, which would widen this window, is not
/// modeled.
fn reordering_window(end: &Endpoint) -> Duration {
    let rack = &end.recovery.prr.rack;
    let repairs = matches!(end.phase, Phase::Recovery | Phase::Loss);
    if !rack.reordering_seen && (repairs || end.sent.sacked() >= rack.reordering) {
        return Duration::ZERO;
    }
    let quarter = rack.min_rtt.unwrap_or(Duration::ZERO).div(4);
    quarter.min(end.rtt.srtt().unwrap_or(Duration::ZERO))
}

/// `tcp_rack_detect_loss`; returns how long to wait for segments that are not lost yet.
pub(super) fn lose_overdue(end: &mut Endpoint, now: Time) -> Option<Duration> {
    let patience = end.recovery.prr.rack.rtt + reordering_window(end);
    end.sent.lose_overdue(now, end.recovery.prr.rack.latest, patience)
}

/// `tcp_rack_mark_lost`. Returns whether it set the timer for possibly reordered segments.
fn look_for_overdue(end: &mut Endpoint, now: Time) -> bool {
    if !core::mem::take(&mut end.recovery.prr.rack.advanced) {
        return false;
    }
    let Some(wait) = lose_overdue(end, now) else { return false };
    let wait = wait + TIMEOUT_MIN;
    run_timer(end, now, Timer::Reordering, wait.min(end.rtt.rto()));
    true
}

/// Marks segments lost after a retransmission timeout (`tcp_timeout_mark_lost`).
fn lose_timed_out(end: &mut Endpoint, now: Time, by_time: bool) {
    let patience = if by_time { end.recovery.prr.rack.rtt } else { Duration::ZERO };
    end.sent.lose_timed_out(now, patience);
}

/// Cancels any tail loss probe.
fn forget_probe(end: &mut Endpoint) {
    end.recovery.prr.probe = Probe::default();
    end.recovery.probe_due = false;
    end.recovery.new_data_at_once = false;
}

// ---- the timer, one for three purposes, as in Linux (`icsk_retransmit_timer`)

pub(super) fn run_timer(end: &mut Endpoint, now: Time, timer: Timer, after: Duration) {
    end.recovery.prr.timer = timer;
    end.recovery.prr.timer_armed_at = now;
    end.rto_at = expiry(now, after, end.config.clock_tick, end.config.clock_phase);
}

/// Restarts the retransmission timer.
pub(super) fn restart_retransmission(end: &mut Endpoint, now: Time) {
    run_timer(end, now, Timer::Retransmission, end.rtt.rto());
}

/// Sets the timer for retransmission. The timeout counts from now, or from the transmission of the
/// oldest segment if the timer was set for another purpose (`tcp_rearm_rto`).
pub(super) fn rearm_retransmission(end: &mut Endpoint, now: Time) {
    let after = match end.recovery.prr.timer {
        Timer::Retransmission => end.rtt.rto(),
        Timer::Reordering | Timer::Probe => until_retransmission(end, now),
    };
    run_timer(end, now, Timer::Retransmission, after);
    end.recovery.prr.timer_armed_at = (now + after).saturating_sub(end.rtt.rto());
}

/// The time until the retransmission timeout of the oldest segment, at least a microsecond
/// (`tcp_rto_delta_us`).
pub(super) fn until_retransmission(end: &Endpoint, now: Time) -> Duration {
    let sent_at = end.sent.oldest().map_or(now, |oldest| oldest.sent_at);
    let due = sent_at + end.rtt.rto();
    due.since(now.min(due)).max(Duration::from_us(1))
}

// ---- undoing

/// The time in milliseconds at which the segment with the echoed timestamp was sent.
pub(super) fn echoed_ms(end: &Endpoint, now: Time, segment: &Segment) -> Option<u64> {
    if !end.timestamps || !segment.timestamps {
        return None;
    }
    let ago_us = Endpoint::timestamp(now).wrapping_sub(segment.ts_echo);
    Some(now.as_us().saturating_sub(u64::from(ago_us)) / 1000)
}

/// The threshold that would be restored if a reduction because of a loss were undone
/// (`tcp_current_ssthresh`).
fn threshold_to_keep(end: &Endpoint) -> Option<u32> {
    let kept = end.window.ssthresh.max(end.three_quarters());
    (!end.is_lowered_for_mark()).then_some(kept)
}

/// Whether the acknowledgment is for a segment that was sent before the first retransmission, so
/// the segment was late and not lost. Timestamps are compared in milliseconds, the unit of Linux
/// (`tcp_tsopt_ecr_before`).
fn was_only_late(end: &Endpoint, now: Time, segment: &Segment) -> bool {
    match end.recovery.prr.undo.first_repeat {
        None => true,
        Some(repeat) => is_before(echoed_ms(end, now, segment), repeat),
    }
}

fn may_undo(end: &Endpoint, now: Time, segment: &Segment) -> bool {
    end.recovery.prr.undo.is_open && was_only_late(end, now, segment)
}

/// `tcp_undo_cwnd_reduction`
fn undo_reduction(end: &mut Endpoint, now: Time) {
    if let Some(ssthresh) = end.recovery.prr.undo.ssthresh {
        match end.delivery_account(now) {
            None => end.window.cwnd = end.window.cwnd.max(end.recovery.prr.undo.cwnd),
            Some(account) => end.congestion.on_undo(&account),
        }
        end.window.ssthresh = end.window.ssthresh.max(ssthresh);
    }
    end.recovery.prr.undo.is_open = false;
    end.recovery.prr.rack.look_again();
    end.window_judged_at = now;
    end.counters.undone_reductions += 1;
}

/// Without SACK, a phase lasts until data sent after its beginning is acknowledged, because
/// duplicates may still arrive (RFC 6582, 3.2; `tcp_is_non_sack_preventing_reopen`).
const fn holds_phase(end: &Endpoint) -> bool {
    !end.sack && end.snd_una == end.recovery_point
}

/// If none of the outstanding segments was retransmitted, a spurious retransmission can no longer
/// be detected.
fn forget_repeats(end: &mut Endpoint) {
    if !end.sent.is_any_repeated() {
        end.recovery.prr.undo.first_repeat = None;
    }
}

/// Everything sent before the recovery is acknowledged. Returns whether the phase continues
/// (`tcp_try_undo_recovery`).
fn undo_recovery(end: &mut Endpoint, now: Time, segment: &Segment) -> bool {
    if may_undo(end, now, segment) {
        undo_reduction(end, now);
    }
    if holds_phase(end) {
        forget_repeats(end);
        return true;
    }
    end.phase = Phase::Open;
    false
}

/// Handles a partial acknowledgment in a recovery. If the reduction looks spurious, it is undone
/// once no retransmission is in flight; returns true until then (`tcp_try_undo_partial`).
fn undo_partly(end: &mut Endpoint, now: Time, segment: &Segment, info: &AckInfo) -> bool {
    if !may_undo(end, now, segment) {
        return false;
    }
    see_reordering(end, info.prior_una);
    if end.sent.retransmitted() > 0 {
        return true;
    }
    forget_repeats(end);
    end.sent.find_again();
    undo_reduction(end, now);
    keep_open(end);
    false
}

/// `tcp_try_undo_loss`. `is_sure`: a segment that was never retransmitted has arrived.
fn undo_loss(end: &mut Endpoint, now: Time, segment: &Segment, is_sure: bool) -> bool {
    if !is_sure && !may_undo(end, now, segment) {
        return false;
    }
    end.sent.find_again();
    undo_reduction(end, now);
    end.recovery.prr.advanced_in_loss = true;
    if !holds_phase(end) && (is_sure || end.sack) {
        end.phase = Phase::Open;
    }
    true
}
