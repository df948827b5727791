//! The congestion window upon an acknowledgment: proportional rate reduction in a recovery (RFC 6937),
//! otherwise growth, if the window limits the sender (`tcp_cwnd_validate`, `tcp_is_cwnd_limited`).

use netstudy_units::Time;

use super::ack::AckInfo;
use crate::recovery::{DUP_THRESH, Phase};
use crate::{Acked, CongestionControl, Endpoint};

/// One reduction of the window, from the loss that began it (`tcp_init_cwnd_reduction`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Reduction {
    /// The window at the loss (`RecoverFS` in segments; `prior_cwnd`).
    before: u32,
    /// Segments delivered since (`prr_delivered`).
    delivered: u32,
    /// Segments sent since (`prr_out`).
    pub(super) sent: u32,
}

/// Segments that an acknowledgment delivers in a recovery.
#[derive(Clone, Copy, Debug)]
struct Delivery {
    /// Segments that it acknowledged or reported for the first time.
    segments: u32,
    /// It acknowledged more than before, and no more losses were found: retransmissions get through
    /// (`SafeACK` of the revision of RFC 6937, draft-ietf-tcpm-prr-rfc6937bis).
    is_safe: bool,
}

impl Reduction {
    pub(super) const fn new(cwnd: u32) -> Self {
        Self { before: cwnd, delivered: 0, sent: 0 }
    }

    /// Segments that may be sent upon a delivery (`tcp_cwnd_reduction`).
    fn allowance(&mut self, delivery: Delivery, in_flight: u32, ssthresh: u32) -> u32 {
        self.delivered += delivery.segments;
        let sendable = if in_flight > ssthresh {
            let share = u64::from(ssthresh) * u64::from(self.delivered);
            (share.div_ceil(u64::from(self.before)) as u32).saturating_sub(self.sent)
        } else {
            // Slow start back to the threshold, as far as it is safe.
            let bound = self.delivered.saturating_sub(self.sent).max(delivery.segments);
            (bound + u32::from(delivery.is_safe)).min(ssthresh - in_flight)
        };
        // The retransmission that begins a recovery always goes out.
        sendable.max(u32::from(self.sent == 0))
    }
}

/// Use of the window in a round trip.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct WindowUse {
    /// It was in full use.
    full: bool,
    /// Most segments that were not acknowledged.
    most: u32,
    /// The round trip is over when this is acknowledged.
    until: u64,
}

/// Judges the use of the window when something was sent, or waits for more room in it.
#[inline]
pub(super) fn judge_use(end: &mut Endpoint, now: Time, waits: bool) {
    let full = waits || end.in_flight() >= end.window.cwnd;
    let out = end.sent.len();
    let used = &mut end.recovery.prr.window_use;
    if full || end.snd_una >= used.until || (!used.full && out > used.most) {
        *used = WindowUse { full, most: out, until: end.snd_nxt };
    }
    if is_limiting(end) {
        end.window_used = 0;
        end.window_judged_at = now;
    } else if end.config.restart_after_idle {
        end.starve_window(now, out);
    }
}

/// In slow start the window may grow to twice the used part.
#[inline]
const fn is_limiting(end: &Endpoint) -> bool {
    let used = &end.recovery.prr.window_use;
    used.full || (end.window.in_slow_start() && end.window.cwnd < 2 * used.most)
}

/// `tcp_cong_control`: reduces the window in a recovery; otherwise lets it grow if it is in use.
#[inline]
pub(super) fn control(end: &mut Endpoint, now: Time, info: &AckInfo) {
    if end.phase == Phase::Recovery {
        let is_safe = info.advanced && end.sent.losses() == info.prior_losses;
        reduce(end, info.delivered, is_safe);
        return;
    }
    // On a path that reorders, SACKs count as well (`tcp_may_raise_cwnd`).
    let reorders = end.recovery.prr.rack.reordering > DUP_THRESH;
    if !(info.advanced || (reorders && info.newly_sacked > 0)) {
        return;
    }
    if is_limiting(end) && !end.is_lowered_for_mark() {
        let acked = Acked { now, segments: info.delivered };
        end.congestion.on_ack(acked, &mut end.window);
    }
    end.window_judged_at = now;
}

/// `tcp_cwnd_reduction`
pub(super) fn reduce(end: &mut Endpoint, segments: u32, is_safe: bool) {
    if segments > 0 {
        let in_flight = end.in_flight();
        let delivery = Delivery { segments, is_safe };
        let allowance =
            end.recovery.prr.reduction.allowance(delivery, in_flight, end.window.ssthresh);
        end.window.cwnd = (in_flight + allowance).max(1);
    }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use std::vec::Vec;

    use super::*;

    const fn one(is_safe: bool) -> Delivery {
        Delivery { segments: 1, is_safe }
    }

    #[test]
    fn above_the_threshold_seven_leave_for_ten() {
        let mut reduction = Reduction::new(100);
        // RFC 6937 (3.1): ceil(70 x delivered / 100) - out. Each that may leave does.
        let mut left = Vec::new();
        for _ in 0..10 {
            let allowed = reduction.allowance(one(false), 90, 70);
            reduction.sent += allowed;
            left.push(allowed);
        }
        assert_eq!(left, [1, 1, 1, 0, 1, 1, 0, 1, 1, 0]);
        assert_eq!(reduction.sent, 7);
    }

    #[test]
    fn below_the_threshold_one_leaves_for_one_and_two_when_it_is_safe() {
        let mut reduction = Reduction { before: 100, delivered: 10, sent: 10 };
        assert_eq!(reduction.allowance(one(false), 40, 70), 1);
        reduction.sent += 1;
        assert_eq!(reduction.allowance(one(true), 40, 70), 2);
    }

    #[test]
    fn the_threshold_is_not_exceeded() {
        let mut reduction = Reduction { before: 100, delivered: 50, sent: 10 };
        assert_eq!(reduction.allowance(one(true), 68, 70), 2);
        assert_eq!(reduction.allowance(one(true), 70, 70), 0);
    }

    #[test]
    fn the_first_retransmission_always_goes_out() {
        let mut reduction = Reduction::new(10);
        assert_eq!(reduction.allowance(Delivery { segments: 3, is_safe: false }, 7, 7), 1);
    }
}
