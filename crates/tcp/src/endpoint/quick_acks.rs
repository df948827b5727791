//! When a receiver acknowledges every segment at once.

use netstudy_units::{Duration, Time};

/// Quick acknowledgments of Linux: at the start of a stream of data, and where it starts again, each
/// segment is acknowledged at once, since a small window grows with each acknowledgment
/// (`tcp_event_data_recv`, `tcp_enter_quickack_mode` and `tcp_dec_quickack_mode` of
/// `net/ipv4/tcp_input.c` and `tcp_output.c`).
#[derive(Clone, Debug)]
pub(super) struct QuickAcks {
    /// Acknowledgments at a start; zero: none is quick.
    most: u32,
    left: u32,
    /// The application answers what it receives, so that acknowledgments may wait for its data
    /// (`pingpong`).
    interactive: bool,
    /// When data arrived last.
    heard_at: Option<Time>,
}

impl QuickAcks {
    pub(super) const fn new(most: u32) -> Self {
        Self { most, left: 0, interactive: false, heard_at: None }
    }

    /// Data has arrived. At the start, and after a gap longer than the timeout, the sender begins with
    /// a small window.
    #[inline]
    pub(super) fn hear(&mut self, now: Time, rto: impl FnOnce() -> Duration) {
        if self.most == 0 {
            return;
        }
        let before = self.heard_at.replace(now);
        if before.is_none_or(|before| now.since(before) > rto()) {
            self.left = self.most;
        }
    }

    /// Data that was there already has arrived again: an acknowledgment may be lost.
    pub(super) const fn hear_copy(&mut self) {
        self.left = self.most;
        self.interactive = false;
    }

    /// A gap in the data has been filled.
    pub(super) const fn gap_filled(&mut self) {
        self.interactive = false;
    }

    /// Data is sent at `now`: soon after some was received, it looks like an answer.
    #[inline]
    pub(super) fn send_data(&mut self, now: Time, delayed_ack: Duration) {
        if let Some(heard_at) = self.heard_at
            && now.since(heard_at) < delayed_ack
        {
            self.interactive = true;
        }
    }

    /// An acknowledgment is sent.
    #[inline]
    pub(super) const fn send_ack(&mut self) {
        self.left = self.left.saturating_sub(1);
    }

    /// Whether a segment is acknowledged at once.
    #[inline]
    pub(super) const fn are_due(&self) -> bool {
        self.left > 0 && !self.interactive
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTO: Duration = Duration::from_ms(200);
    const DELAY: Duration = Duration::from_ms(40);

    fn at_ms(ms: u64) -> Time {
        Time::ZERO + Duration::from_ms(ms)
    }

    fn spent(most: u32) -> QuickAcks {
        let mut quick = QuickAcks::new(most);
        for _ in 0..most {
            quick.hear(at_ms(1), || RTO);
            assert!(quick.are_due());
            quick.send_ack();
        }
        assert!(!quick.are_due());
        quick
    }

    #[test]
    fn a_gap_longer_than_the_timeout_begins_them_again() {
        let mut quick = spent(16);
        quick.hear(at_ms(201), || RTO);
        assert!(!quick.are_due(), "a gap of just the timeout");
        quick.hear(at_ms(402), || RTO);
        assert!(quick.are_due());
    }

    #[test]
    fn who_answers_at_once_lets_acknowledgments_wait() {
        let mut quick = QuickAcks::new(16);
        quick.hear(at_ms(1), || RTO);
        quick.send_data(at_ms(41), DELAY);
        assert!(quick.are_due(), "the answer of a slow application");
        quick.send_data(at_ms(40), DELAY);
        assert!(!quick.are_due());
        quick.gap_filled();
        assert!(quick.are_due());
    }

    #[test]
    fn a_copy_asks_for_acknowledgments() {
        let mut quick = spent(16);
        quick.hear_copy();
        assert!(quick.are_due());
    }

    #[test]
    fn without_the_mode_none_is_quick() {
        let mut quick = QuickAcks::new(0);
        quick.hear(at_ms(1), || RTO);
        quick.hear(at_ms(1000), || RTO);
        quick.hear_copy();
        assert!(!quick.are_due());
    }
}
