//! When a receiver acknowledges every segment at once.

use netstudy_units::{Duration, Time};

use crate::linux_2_6_18::receiver::Disorder;
use crate::{Config, Jiffies};

/// Quick acknowledgments of Linux: when data starts to flow, or resumes after a pause, each segment
/// is acknowledged at once, because the sender's small window grows with each acknowledgment
/// (`tcp_event_data_recv`, `tcp_enter_quickack_mode` and `tcp_dec_quickack_mode` of
/// `net/ipv4/tcp_input.c` and `tcp_output.c`).
#[derive(Clone, Debug)]
pub(crate) struct QuickAcks {
    /// Number of quick acknowledgments each time that they begin; zero: no quick acknowledgments.
    most: u32,
    left: u32,
    /// The rules that differ between Linux before 4.18 and since 4.18.
    disorder: Disorder,
    /// The application answers received data, so acknowledgments may wait to be sent with its
    /// answer (`pingpong`).
    interactive: bool,
    /// When data arrived last.
    heard_at: Option<Time>,
    /// Whether the unacknowledged data ends a write; none: the end of a write is not acknowledged
    /// specially.
    pushed: Option<Pushed>,
}

/// How many writes end in the unacknowledged data: one (`ICSK_ACK_PUSHED`) or two
/// (`ICSK_ACK_PUSHED2`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pushed {
    No,
    Once,
    Twice,
}

impl QuickAcks {
    pub(super) fn new(config: &Config) -> Self {
        Self {
            most: config.quick_ack_segments,
            left: 0,
            disorder: Disorder::new(config),
            interactive: false,
            heard_at: None,
            pushed: config.ack_pushed.then_some(Pushed::No),
        }
    }

    /// Data has arrived. Quick acknowledgments begin with the first data, and after a pause longer
    /// than the timeout, because the sender then begins with a small window.
    #[inline]
    pub(super) fn hear(
        &mut self,
        now: Time,
        clock: Option<Jiffies>,
        rto: impl FnOnce() -> Duration,
    ) {
        if self.most == 0 && self.pushed.is_none() {
            return;
        }
        let before = self.heard_at.replace(now);
        let is_long = |before| {
            let rto = rto();
            match clock {
                Some(clock) => clock.counts_more(before, now, rto),
                None => now.since(before) > rto,
            }
        };
        if before.is_none_or(is_long) {
            self.left = self.most;
        }
    }

    /// Duplicate data has arrived, so an acknowledgment may have been lost.
    pub(super) const fn hear_copy(&mut self) {
        self.left = self.most;
        self.interactive = false;
    }

    /// Data has arrived out of order (`tcp_data_queue`).
    pub(super) const fn hear_disorder(&mut self) {
        if self.disorder.begins_quick_acks() {
            self.hear_copy();
        }
    }

    /// A gap in the data has been filled (`tcp_data_queue`).
    pub(super) const fn gap_filled(&mut self) {
        self.interactive &= !self.disorder.ends_answers();
    }

    /// The end of a write has arrived (`tcp_measure_rcv_mss`): a short segment, or a full segment
    /// with PSH. Only a short segment can count as the second end of a write.
    pub(super) fn hear_push(&mut self, is_short: bool) {
        if !self.disorder.counts_push(is_short) {
            return;
        }
        self.pushed = self.pushed.map(|before| match before {
            Pushed::No => Pushed::Once,
            Pushed::Once if is_short => Pushed::Twice,
            same => same,
        });
    }

    /// Whether a pending acknowledgment is sent now that the application has read all data
    /// (`__tcp_cleanup_rbuf`).
    pub(super) const fn is_push_due(&self) -> bool {
        match self.pushed {
            None | Some(Pushed::No) => false,
            Some(Pushed::Once) => !self.interactive,
            Some(Pushed::Twice) => true,
        }
    }

    /// A delayed acknowledgment waited for an answer of the application, but the application did
    /// not answer (`tcp_delack_timer_handler`).
    pub(super) const fn waited_in_vain(&mut self) {
        self.interactive = false;
    }

    /// Data is sent at `now`. If data was received shortly before, the application counts as
    /// interactive.
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
    pub(crate) const fn send_ack(&mut self) {
        self.left = self.left.saturating_sub(1);
        if self.pushed.is_some() {
            self.pushed = Some(Pushed::No);
        }
    }

    /// Whether a segment must be acknowledged at once.
    #[inline]
    pub(super) const fn are_due(&self) -> bool {
        self.left > 0 && !self.interactive
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::endpoint::receive::tests::CONFIG;

    const RTO: Duration = Duration::from_ms(200);
    const DELAY: Duration = Duration::from_ms(40);

    fn at_ms(ms: u64) -> Time {
        Time::ZERO + Duration::from_ms(ms)
    }

    /// A configuration with `most` quick acknowledgments and no other option.
    fn only(most: u32) -> Config {
        Config { quick_ack_segments: most, quick_ack_disorder: false, ack_pushed: false, ..CONFIG }
    }

    /// The state after the initial quick acknowledgments are used up.
    fn spent(config: &Config) -> QuickAcks {
        let mut quick = QuickAcks::new(config);
        for _ in 0..config.quick_ack_segments {
            quick.hear(at_ms(1), None, || RTO);
            assert!(quick.are_due());
            quick.send_ack();
        }
        assert!(!quick.are_due());
        quick
    }

    #[test]
    fn a_gap_longer_than_the_timeout_begins_them_again() {
        let mut quick = spent(&only(16));
        quick.hear(at_ms(201), None, || RTO);
        assert!(!quick.are_due(), "a gap of just the timeout");
        quick.hear(at_ms(402), None, || RTO);
        assert!(quick.are_due());
    }

    #[test]
    fn who_answers_at_once_lets_acknowledgments_wait() {
        let mut quick = QuickAcks::new(&only(16));
        quick.hear(at_ms(1), None, || RTO);
        quick.send_data(at_ms(41), DELAY);
        assert!(quick.are_due(), "the answer of a slow application");
        quick.send_data(at_ms(40), DELAY);
        assert!(!quick.are_due());
    }

    #[test]
    fn only_linux_before_4_18_waits_for_no_answer_once_data_was_out_of_order() {
        for is_old in [false, true] {
            let config = Config { quick_ack_disorder: is_old, ..only(16) };
            for hear in [QuickAcks::hear_disorder, QuickAcks::gap_filled] {
                let mut quick = QuickAcks::new(&config);
                quick.hear(at_ms(1), None, || RTO);
                quick.send_data(at_ms(2), DELAY);
                hear(&mut quick);
                assert_eq!(quick.are_due(), is_old);
            }
        }
    }

    #[test]
    fn only_linux_before_4_18_acknowledges_quickly_after_data_out_of_order() {
        for is_old in [false, true] {
            let mut quick = spent(&Config { quick_ack_disorder: is_old, ..only(16) });
            quick.hear_disorder();
            assert_eq!(quick.are_due(), is_old);
        }
    }

    #[test]
    fn a_copy_asks_for_acknowledgments() {
        let mut quick = spent(&only(16));
        quick.hear_copy();
        assert!(quick.are_due());
    }

    #[test]
    fn the_end_of_a_write_is_acknowledged_unless_it_is_to_be_answered() {
        let mut quick = QuickAcks::new(&Config { ack_pushed: true, ..only(0) });
        quick.hear(at_ms(1), None, || RTO);
        assert!(!quick.is_push_due(), "nothing ended");
        quick.hear_push(false);
        assert!(quick.is_push_due());
        quick.send_ack();
        assert!(!quick.is_push_due(), "it is acknowledged");
    }

    #[test]
    fn who_answers_is_waited_for_until_a_second_write_ends_or_the_wait_was_in_vain() {
        let mut quick = QuickAcks::new(&Config { ack_pushed: true, ..only(16) });
        quick.hear(at_ms(1), None, || RTO);
        quick.send_data(at_ms(2), DELAY);
        quick.hear_push(true);
        quick.gap_filled();
        assert!(!quick.is_push_due());
        quick.hear_push(false);
        assert!(!quick.is_push_due(), "a full segment counts once");
        quick.hear_push(true);
        assert!(quick.is_push_due());
        quick.send_ack();
        quick.waited_in_vain();
        quick.hear_push(false);
        assert!(quick.is_push_due());
    }

    #[test]
    fn before_linux_4_18_only_a_short_segment_ends_a_write() {
        let config = Config { ack_pushed: true, quick_ack_disorder: true, ..only(16) };
        let mut quick = QuickAcks::new(&config);
        quick.hear_push(false);
        assert!(!quick.is_push_due());
        quick.hear_push(true);
        assert!(quick.is_push_due());
    }

    #[test]
    fn without_the_mode_none_is_quick() {
        let mut quick = QuickAcks::new(&only(0));
        quick.hear(at_ms(1), None, || RTO);
        quick.hear(at_ms(1000), None, || RTO);
        quick.hear_copy();
        assert!(!quick.are_due());
    }
}
