//! The state machine: Open, Disorder, Recovery and Loss (`tcp_fastretrans_alert`).
//!
//! On a connection without SACK, duplicate acknowledgments stand for segments that arrived out of order
//! (RFC 6582; `tcp_add_reno_sack`, `tcp_remove_reno_sacks`, `tcp_newreno_mark_lost`).

use netstudy_units::Time;

use super::ack::{self, AckInfo};
use super::window::Reduction;
use super::{probe, rack, undo};
use crate::recovery::Phase;
use crate::{CongestionControl, Endpoint, Flags, Segment};

/// `tcp_fastretrans_alert`
#[cold]
pub(super) fn alert(end: &mut Endpoint, now: Time, segment: &Segment, info: &mut AckInfo) {
    end.counters.duplicate_acks_received += u64::from(!info.advanced);
    let mut finds = info.duplicate || (info.newly_sacked > 0 && is_hole_wide(end));
    if segment.flags.contains(Flags::ECE) {
        end.recovery.prr.undo.forbid();
    }
    if end.phase == Phase::Open {
        end.recovery.prr.undo.first_repeat = None;
    } else if end.phase == Phase::Recovery && end.snd_una >= end.recovery_point {
        end.dup_acks = 0;
        if undo::undo_recovery(end, now, segment) {
            return;
        }
        end_reduction(end);
    }
    let enters = match end.phase {
        Phase::Recovery => {
            if !info.advanced {
                take_duplicate(end, info);
            } else if undo::undo_partly(end, now, segment, info) {
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

/// The part of the state machine that is common to all phases without a recovery: whether one is
/// to begin.
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
    undo::forget_repeats(end);
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
        info.restarts_timer &= !rack::look_for_overdue(end, now);
        info.copy_lost |= end.sent.retransmitted() < copies;
    }
}

/// `tcp_force_fast_retransmit`
fn is_hole_wide(end: &Endpoint) -> bool {
    let width = u64::from(end.recovery.prr.rack.reordering) * u64::from(end.mss);
    ack::sacked_end(end) > end.snd_una + width
}

/// `tcp_update_scoreboard`: without RACK, a segment is lost if as many above it are SACKed as
/// reordering explains (RFC 6675, 4), and the oldest one where a recovery begins.
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
    end.recovery.prr.undo.begin(undo::threshold_to_keep(end), end.window.cwnd);
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

/// `tcp_end_cwnd_reduction`: the window is the threshold, unless the reduction was undone.
fn end_reduction(end: &mut Endpoint) {
    if end.recovery.prr.undo.is_open() {
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

/// An acknowledgment behind a timeout (`tcp_process_loss`; RFC 5682, 3.1).
fn process_loss(end: &mut Endpoint, now: Time, segment: &Segment, info: &mut AckInfo) {
    let recovered = end.snd_una >= end.recovery_point;
    if info.advanced && undo::undo_loss(end, now, segment, false) {
        return;
    }
    if end.recovery.prr.undo.after_timeout {
        if info.original_arrived && undo::undo_loss(end, now, segment, true) {
            return;
        }
        if end.snd_nxt > end.recovery_point {
            // Step 3.a: data sent since arrived, and earlier data did not.
            end.recovery.prr.undo.after_timeout &= info.newly_sacked == 0 && !info.duplicate;
        } else if info.advanced && !recovered {
            // Step 2.b: new data will show whether the rest arrived as well.
            if end.has_more_to_send() {
                end.recovery.holds_retransmissions = true;
                return;
            }
            end.recovery.prr.undo.after_timeout = false;
        }
    }
    if recovered {
        undo::undo_recovery(end, now, segment);
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
    rack::lose_timed_out(end, now, end.sack && end.recovery.prr.uses_rack);
    if is_new || end.recovery_point <= end.snd_una || after_progress {
        let (ssthresh, cwnd) = (undo::threshold_to_keep(end), end.window.cwnd);
        end.lower_threshold();
        // The loss of a SYN is no matter of the window.
        if end.snd_nxt > 1 {
            end.recovery.prr.undo.begin(ssthresh, cwnd);
        }
    }
    if is_new {
        end.recovery.prr.rack.doubt_reordering(sacked);
    }
    end.recovery.prr.undo.after_timeout =
        is_new || (end.phase == Phase::Loss && !end.recovery.prr.advanced_in_loss);
    probe::forget(end);
    end.ecn.lowered_at = 0;
    end.congestion.on_timeout();
    end.window.cwnd = end.in_flight() + 1;
    end.window.credit = 0;
    end.phase = Phase::Loss;
    end.recovery.prr.advanced_in_loss = false;
    end.recovery_point = end.snd_nxt;
}

// ---- without SACK

/// A duplicate acknowledgment came; how many segments it delivered.
fn add_duplicate(end: &mut Endpoint) -> u32 {
    let before = end.dup_acks;
    end.dup_acks += 1;
    limit_duplicates(end, 0);
    end.dup_acks.saturating_sub(before)
}

/// Segments out of `segments` acknowledged ones that were not counted as delivered yet. One filled the
/// hole, the others remove duplicates.
pub(super) fn remove_duplicates(end: &mut Endpoint, segments: u32) -> u32 {
    if segments == 0 {
        return 0;
    }
    let delivered = segments.saturating_sub(end.dup_acks).max(1);
    end.dup_acks = end.dup_acks.saturating_sub(segments - 1);
    limit_duplicates(end, segments);
    delivered
}

/// More duplicates than segments on the way mean that the path reorders
/// (`tcp_check_reno_reordering`).
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
