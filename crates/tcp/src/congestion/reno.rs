use super::control::{Acked, CongestionControl, Window};

/// Slow start and additive increase, multiplicative decrease (RFC 5681).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reno {
    counts_acks: bool,
}

impl Reno {
    /// Creates Reno. In congestion avoidance it counts acknowledged segments, which RFC 5681 (3.1)
    /// recommends (the method of RFC 3465). With `counts_acks`, it counts acknowledgments instead,
    /// which equation (3) of RFC 5681 allows; then the window grows half as fast if the receiver
    /// acknowledges every second segment. Counting acknowledgments is the behavior of ns-2, of
    /// ns-3, and of Linux until 3.8 without `tcp_abc`.
    #[must_use]
    pub const fn new(counts_acks: bool) -> Self {
        Self { counts_acks }
    }
}

impl CongestionControl for Reno {
    #[inline]
    fn on_ack(&mut self, acked: Acked, window: &mut Window) {
        if window.in_slow_start() {
            // RFC 5681 (2): cwnd += min(N, SMSS), so one segment per acknowledgment.
            window.cwnd += 1;
            return;
        }
        // RFC 5681 (3.1): one segment per acknowledged window.
        window.credit += if self.counts_acks { 1 } else { acked.segments };
        if window.credit >= window.cwnd {
            window.credit -= window.cwnd;
            window.cwnd += 1;
        }
    }

    fn ssthresh_after_loss(&mut self, _window: &Window, flight: u32) -> u32 {
        // RFC 5681 (4): max(FlightSize / 2, 2 SMSS).
        (flight / 2).max(2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use netstudy_units::Time;

    fn ack(segments: u32) -> Acked {
        Acked { now: Time::ZERO, segments }
    }

    #[test]
    fn slow_start_grows_by_one_segment_an_acknowledgment() {
        let mut window = Window::new(3);
        Reno::default().on_ack(ack(2), &mut window);
        assert_eq!(window.cwnd, 4);
    }

    #[test]
    fn congestion_avoidance_grows_by_one_segment_a_window() {
        // The window grows after ten segments, acknowledged two at a time; or after ten
        // acknowledgments.
        for (counts_acks, acks) in [(false, 5), (true, 10)] {
            let mut window = Window { cwnd: 10, ssthresh: 10, credit: 0 };
            for _ in 0..acks {
                assert_eq!(window.cwnd, 10);
                Reno::new(counts_acks).on_ack(ack(2), &mut window);
            }
            assert_eq!(window.cwnd, 11);
        }
    }

    #[test]
    fn what_is_acknowledged_beyond_a_window_counts_for_the_next() {
        let mut window = Window { cwnd: 10, ssthresh: 10, credit: 0 };
        // 7 + 7 = 10 + 4, and 4 + 7 = 11.
        for cwnd in [10, 11, 12] {
            Reno::default().on_ack(ack(7), &mut window);
            assert_eq!(window.cwnd, cwnd);
        }
    }

    #[test]
    fn a_loss_halves_what_is_in_flight_but_leaves_two_segments() {
        let window = Window::new(40);
        assert_eq!(Reno::default().ssthresh_after_loss(&window, 40), 20);
        assert_eq!(Reno::default().ssthresh_after_loss(&window, 3), 2);
    }
}
