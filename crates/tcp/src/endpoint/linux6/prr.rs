//! Proportional rate reduction (RFC 6937): how much may be sent for what is delivered in a recovery.

/// One reduction of the window, from the loss that began it (`tcp_init_cwnd_reduction`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Prr {
    /// The window at the loss (`RecoverFS` in segments; `prior_cwnd`).
    before: u32,
    /// Segments delivered since (`prr_delivered`).
    delivered: u32,
    /// Segments sent since (`prr_out`).
    pub(super) sent: u32,
}

/// What an acknowledgment in a recovery told.
#[derive(Clone, Copy, Debug)]
pub(super) struct Delivery {
    /// Segments that it acknowledged or reported for the first time.
    pub(super) segments: u32,
    /// It acknowledged more than before, and no more losses were found: retransmissions get through
    /// (`SafeACK` of the revision of RFC 6937, draft-ietf-tcpm-prr-rfc6937bis).
    pub(super) is_safe: bool,
}

impl Prr {
    pub(super) const fn new(cwnd: u32) -> Self {
        Self { before: cwnd, delivered: 0, sent: 0 }
    }

    /// Segments that may be sent upon a delivery (`tcp_cwnd_reduction`).
    pub(super) fn allowance(&mut self, delivery: Delivery, in_flight: u32, ssthresh: u32) -> u32 {
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
        let mut prr = Prr::new(100);
        // RFC 6937 (3.1): ceil(70 x delivered / 100) - out. Each that may leave does.
        let mut left = Vec::new();
        for _ in 0..10 {
            let allowed = prr.allowance(one(false), 90, 70);
            prr.sent += allowed;
            left.push(allowed);
        }
        assert_eq!(left, [1, 1, 1, 0, 1, 1, 0, 1, 1, 0]);
        assert_eq!(prr.sent, 7);
    }

    #[test]
    fn below_the_threshold_one_leaves_for_one_and_two_when_it_is_safe() {
        let mut prr = Prr { before: 100, delivered: 10, sent: 10 };
        assert_eq!(prr.allowance(one(false), 40, 70), 1);
        prr.sent += 1;
        assert_eq!(prr.allowance(one(true), 40, 70), 2);
    }

    #[test]
    fn the_threshold_is_not_exceeded() {
        let mut prr = Prr { before: 100, delivered: 50, sent: 10 };
        assert_eq!(prr.allowance(one(true), 68, 70), 2);
        assert_eq!(prr.allowance(one(true), 70, 70), 0);
    }

    #[test]
    fn the_first_retransmission_always_goes_out() {
        let mut prr = Prr::new(10);
        assert_eq!(prr.allowance(Delivery { segments: 3, is_safe: false }, 7, 7), 1);
    }
}
