//! Loss recovery by the RFCs: with SACK RFC 6675, without it NewReno (RFC 6582).

use netstudy_units::Time;

use super::Acknowledged;
use super::algorithm::{Algorithm, DUP_THRESH, Phase, begin_loss};
use crate::{Acked, CongestionControl, Endpoint, SackBlocks, Segment, SentSegment};

/// State that this recovery keeps for a connection.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct State {
    /// A rescue retransmission is allowed once data beyond this offset is acknowledged (`RescueRxt`
    /// of RFC 6675, 2). The offset is the end of the first retransmission of the recovery; after a
    /// rescue retransmission, it is the recovery point.
    rescue_after: u64,
}

/// RFC 6675 and RFC 6582.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rfc;

impl Algorithm for Rfc {
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn on_ack<const FAST: bool>(
        end: &mut Endpoint,
        now: Time,
        segment: &Segment,
        window_changed: bool,
    ) {
        if segment.ack > end.snd_una {
            advance::<FAST>(end, now, segment);
        } else if segment.sequence_len() == 0 || !segment.sack.is_empty() {
            take_duplicate(end, segment.ack, &segment.sack, window_changed);
        }
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn on_sent(end: &mut Endpoint, now: Time) {
        end.start_retransmission(now);
    }

    /// `NextSeg` (3) and (4) of RFC 6675.
    fn next_in_case(end: &mut Endpoint, now: Time) -> Option<SentSegment> {
        end.sent.retransmit_forward(now).or_else(|| rescue(end, now))
    }

    /// The threshold falls only once per loss event (RFC 5681, 3.1).
    fn enter_loss(end: &mut Endpoint, _now: Time) {
        begin_loss(end, end.phase == Phase::Loss);
        end.sent.lose_all();
    }
}

#[cfg_attr(not(debug_assertions), inline(always))]
fn advance<const FAST: bool>(end: &mut Endpoint, now: Time, segment: &Segment) {
    let in_flight = end.in_flight();
    let acked = end.sent.acknowledge(segment.ack);
    end.snd_una = segment.ack;
    end.take_delivered(now, segment, &acked);
    end.restart_retransmission(now);
    // Duplicate acknowledgments for segments that are now acknowledged no longer count: the
    // receiver holds only the segments above.
    if end.dup_acks > 0 {
        end.dup_acks = end.dup_acks.saturating_sub(acked.segments.saturating_sub(1));
    }
    if !segment.sack.is_empty() {
        end.sent.sack(segment.ack, &segment.sack);
    }
    if end.phase == Phase::Open && end.sent.sacked() == 0 {
        grow::<FAST>(end, now, &acked, in_flight);
    } else {
        advance_recovery(end, now, &acked, in_flight);
    }
}

/// The window grows only while it limits sending (RFC 2861, 3).
#[cfg_attr(not(debug_assertions), inline(always))]
fn grow<const FAST: bool>(end: &mut Endpoint, now: Time, acked: &Acknowledged, in_flight: u32) {
    if in_flight >= end.window.cwnd && (FAST || !end.is_lowered_for_mark()) {
        let acked = Acked { now, segments: acked.segments };
        end.congestion.on_ack(acked, &mut end.window);
    }
}

#[cold]
fn advance_recovery(end: &mut Endpoint, now: Time, acked: &Acknowledged, in_flight: u32) {
    match end.phase {
        Phase::Open | Phase::Disorder => {
            end.dup_acks = 0;
            grow::<false>(end, now, acked, in_flight);
        }
        Phase::Recovery if end.snd_una >= end.recovery_point => end_recovery(end),
        Phase::Recovery => repair_partial(end),
        Phase::Loss if end.snd_una >= end.recovery_point => end_loss(end),
        Phase::Loss => grow_in_loss(end, now, acked),
    }
    react_to_losses(end);
}

/// When recovery ends, the window is set to the threshold (RFC 6675, 5; RFC 6582, 3.2).
const fn end_recovery(end: &mut Endpoint) {
    end.window.cwnd = end.window.ssthresh;
    end.window.credit = 0;
    end.dup_acks = 0;
    end.phase = Phase::Open;
}

const fn end_loss(end: &mut Endpoint) {
    end.dup_acks = 0;
    end.phase = Phase::Open;
}

/// Without SACK, a partial acknowledgment means that the next segment is lost too. That segment is
/// retransmitted at once (RFC 6582, 3.2, step 3).
fn repair_partial(end: &mut Endpoint) {
    if !end.sack {
        end.sent.lose_oldest();
        end.recovery.retransmits_at_once = end.sent.may_retransmit();
    }
}

fn grow_in_loss(end: &mut Endpoint, now: Time, acked: &Acknowledged) {
    let acked = Acked { now, segments: acked.segments };
    end.congestion.on_ack(acked, &mut end.window);
}

#[inline]
fn take_duplicate(end: &mut Endpoint, ack: u64, sack: &SackBlocks, window_changed: bool) {
    end.counters.duplicate_acks_received += 1;
    if end.sack {
        if !sack.is_empty() {
            end.sent.sack(ack, sack);
        }
    } else if !window_changed {
        count_duplicate(end);
    }
    react_to_losses(end);
}

fn count_duplicate(end: &mut Endpoint) {
    end.dup_acks = (end.dup_acks + 1).min(end.sent.len());
    // RFC 6582 (3.2, step 1): recovery begins only if data sent after the last recovery began or
    // the last timeout fired is acknowledged. Otherwise the duplicate acknowledgments may come from
    // unnecessary retransmissions.
    if end.dup_acks >= DUP_THRESH && end.snd_una > end.recovery_point {
        end.sent.lose_oldest();
    }
}

/// Enters recovery if a loss was found; otherwise sets the phase to Disorder or Open.
fn react_to_losses(end: &mut Endpoint) {
    if matches!(end.phase, Phase::Recovery | Phase::Loss) {
        return;
    }
    if end.sent.lost() > 0 {
        enter_recovery(end);
    } else if end.sent.sacked() > 0 || end.dup_acks > 0 {
        end.phase = Phase::Disorder;
    } else {
        end.phase = Phase::Open;
    }
}

fn enter_recovery(end: &mut Endpoint) {
    end.lower_threshold();
    end.window.cwnd = end.window.ssthresh;
    end.window.credit = 0;
    end.recovery_point = end.snd_nxt;
    end.phase = Phase::Recovery;
    end.recovery.rfc.rescue_after = end.sent.oldest_end();
    // RFC 6675 (5, step 4.3); RFC 5681 (3.2, step 3): the first retransmission is sent at once; the
    // other retransmissions follow when the window has room.
    end.recovery.retransmits_at_once = end.sent.may_retransmit();
    end.counters.fast_recoveries += 1;
}

/// Once per recovery, retransmits the newest unSACKed segment: no SACK of later data could ever
/// reveal its loss (`NextSeg` (4)).
fn rescue(end: &mut Endpoint, now: Time) -> Option<SentSegment> {
    if end.snd_una <= end.recovery.rfc.rescue_after {
        return None;
    }
    end.recovery.rfc.rescue_after = end.recovery_point;
    end.sent.rescue(now)
}
