//! Undoing a needless reduction of the window: segments that seemed lost were only late.
//!
//! Two signs of it: an acknowledgment echoes a timestamp from before the first retransmission (Eifel,
//! RFC 3522; `tcp_packet_delayed`), and after a timeout a segment arrives that was never retransmitted
//! (F-RTO, RFC 5682). The third sign of Linux, DSACK (RFC 3708), needs receivers that send it.

use netstudy_units::Time;

use super::ack::{self, AckInfo};
use super::phases;
use crate::recovery::Phase;
use crate::{Endpoint, Segment};

/// The state before a reduction.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Undo {
    /// There is a reduction that may be undone (`undo_marker`).
    is_open: bool,
    /// The threshold before it; none: it is not restored (`prior_ssthresh`).
    ssthresh: Option<u32>,
    /// The window before it (`prior_cwnd`).
    cwnd: u32,
    /// Time of the first retransmission (`retrans_stamp`).
    pub(super) first_repeat: Option<Time>,
    /// Detection of a needless timeout is under way (`frto`).
    pub(super) after_timeout: bool,
}

impl Undo {
    pub(super) const fn begin(&mut self, ssthresh: Option<u32>, cwnd: u32) {
        self.is_open = true;
        self.ssthresh = ssthresh;
        self.cwnd = cwnd;
    }

    /// The reduction stands.
    pub(super) const fn forbid(&mut self) {
        self.ssthresh = None;
    }

    pub(super) const fn is_open(&self) -> bool {
        self.is_open
    }
}

/// The threshold to which a reduction by a loss would be undone (`tcp_current_ssthresh`).
pub(super) fn threshold_to_keep(end: &Endpoint) -> Option<u32> {
    let kept = end.window.ssthresh.max(end.three_quarters());
    (!end.is_lowered_for_mark()).then_some(kept)
}

/// The acknowledgment is for a segment that arrived before the first retransmission. Timestamps are
/// compared in milliseconds, the unit of Linux (`tcp_tsopt_ecr_before`).
fn was_only_late(end: &Endpoint, now: Time, segment: &Segment) -> bool {
    match end.recovery.prr.undo.first_repeat {
        None => true,
        Some(repeat) => is_before(echoed_ms(end, now, segment), repeat),
    }
}

/// When the segment was sent whose timestamp is echoed, in milliseconds.
pub(super) fn echoed_ms(end: &Endpoint, now: Time, segment: &Segment) -> Option<u64> {
    if !end.timestamps || !segment.timestamps {
        return None;
    }
    let ago_us = Endpoint::timestamp(now).wrapping_sub(segment.ts_echo);
    Some(now.as_us().saturating_sub(u64::from(ago_us)) / 1000)
}

fn may_undo(end: &Endpoint, now: Time, segment: &Segment) -> bool {
    end.recovery.prr.undo.is_open && was_only_late(end, now, segment)
}

/// `tcp_undo_cwnd_reduction`
fn undo_reduction(end: &mut Endpoint, now: Time) {
    if let Some(ssthresh) = end.recovery.prr.undo.ssthresh {
        end.window.cwnd = end.window.cwnd.max(end.recovery.prr.undo.cwnd);
        end.window.ssthresh = end.window.ssthresh.max(ssthresh);
    }
    end.recovery.prr.undo.is_open = false;
    end.recovery.prr.rack.look_again();
    end.window_judged_at = now;
    end.counters.undone_reductions += 1;
}

/// Without SACK a phase is held until more is acknowledged than was sent when it began, since
/// duplicates may still come (RFC 6582, 3.2; `tcp_is_non_sack_preventing_reopen`).
const fn holds_phase(end: &Endpoint) -> bool {
    !end.sack && end.snd_una == end.recovery_point
}

/// Once no outstanding segment is retransmitted, a needless retransmission cannot be detected any more.
pub(super) fn forget_repeats(end: &mut Endpoint) {
    if !end.sent.is_any_repeated() {
        end.recovery.prr.undo.first_repeat = None;
    }
}

/// All that was sent before the recovery is acknowledged. Whether the phase is held
/// (`tcp_try_undo_recovery`).
pub(super) fn undo_recovery(end: &mut Endpoint, now: Time, segment: &Segment) -> bool {
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

/// More is acknowledged in a recovery. Returns whether the rest waits for segments on the way
/// (`tcp_try_undo_partial`).
pub(super) fn undo_partly(
    end: &mut Endpoint,
    now: Time,
    segment: &Segment,
    info: &AckInfo,
) -> bool {
    if !may_undo(end, now, segment) {
        return false;
    }
    ack::see_reordering(end, info.prior_una);
    if end.sent.retransmitted() > 0 {
        return true;
    }
    forget_repeats(end);
    end.sent.find_again();
    undo_reduction(end, now);
    phases::keep_open(end);
    false
}

/// `tcp_try_undo_loss`; `is_sure` when a segment arrived that was never retransmitted.
pub(super) fn undo_loss(end: &mut Endpoint, now: Time, segment: &Segment, is_sure: bool) -> bool {
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

/// Whether the echoed segment was sent in a millisecond before `at`.
pub(super) fn is_before(echo_ms: Option<u64>, at: Time) -> bool {
    echo_ms.is_some_and(|echo| echo < at.as_us() / 1000)
}
