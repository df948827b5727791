use netstudy_units::{Duration, Time};

use crate::congestion::control::{Acked, CongestionControl, Delivered, Window};

/// Scale of [`BETA`].
const SCALE: u32 = 1024;
/// Share of the window that remains after a loss, in 1/1024.
const BETA: u32 = 819;
/// Up to this window, BIC behaves like Reno.
const LOW_WINDOW: u32 = 14;
/// Maximum number of segments by which the window grows in a round trip.
const MAX_INCREMENT: u32 = 16;
/// The window grows per round trip by the distance to the target divided by this number
/// (`BICTCP_B`).
const SEARCH_DIVISOR: u32 = 4;
/// Number of round trips over which the last step to the target is spread, times
/// [`SEARCH_DIVISOR`].
const SMOOTH_PART: u32 = 20;
/// Minimum time between two computations of the growth while the window does not change (`HZ /
/// 32`).
const UPDATE_INTERVAL: Duration = Duration::from_us(31_000);
/// Number of fractional bits of `ack_ratio` (`ACK_RATIO_SHIFT`).
const ACK_RATIO_SHIFT: u32 = 4;

/// Binary increase congestion control, like `net/ipv4/tcp_bic.c` of Linux 2.6.18 (Xu, Harfoush and
/// Rhee, "Binary increase congestion control for fast long-distance networks", INFOCOM 2004).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bic {
    /// Window at the last loss; if it was smaller than at the previous loss, a lower value (fast
    /// convergence).
    last_max: u32,
    /// No loss yet: the window grows by at least 5 % per round trip.
    never_lost: bool,
    /// Number of acknowledgments after which the window grows by one.
    per_increment: u32,
    updated_for: u32,
    updated_at: Time,
    /// Average number of segments or packets per acknowledgment, in 1/16 (`delayed_ack`).
    ack_ratio: u32,
}

impl Default for Bic {
    fn default() -> Self {
        Self {
            last_max: 0,
            never_lost: true,
            per_increment: 0,
            updated_for: 0,
            updated_at: Time::ZERO,
            ack_ratio: 2 << ACK_RATIO_SHIFT,
        }
    }
}

impl Bic {
    /// `bictcp_update`
    fn update(&mut self, now: Time, cwnd: u32) {
        if self.updated_for == cwnd && now.since(self.updated_at) <= UPDATE_INTERVAL {
            return;
        }
        self.updated_for = cwnd;
        self.updated_at = now;
        if cwnd <= LOW_WINDOW {
            self.per_increment = cwnd;
            return;
        }
        let mut per_increment = self.search(cwnd);
        if self.never_lost {
            per_increment = per_increment.min(20);
        }
        // Fewer acknowledgments arrive if each of them covers several segments.
        self.per_increment = ((per_increment << ACK_RATIO_SHIFT) / self.ack_ratio).max(1);
    }

    /// Number of acknowledged segments after which the window grows by one: a binary search towards
    /// the window of the last loss, then growth beyond it.
    const fn search(&self, cwnd: u32) -> u32 {
        if cwnd < self.last_max {
            let distance = (self.last_max - cwnd) / SEARCH_DIVISOR;
            if distance > MAX_INCREMENT {
                cwnd / MAX_INCREMENT
            } else if distance <= 1 {
                cwnd * SMOOTH_PART / SEARCH_DIVISOR
            } else {
                cwnd / distance
            }
        } else if cwnd < self.last_max + SEARCH_DIVISOR {
            cwnd * SMOOTH_PART / SEARCH_DIVISOR
        } else if cwnd < self.last_max + MAX_INCREMENT * (SEARCH_DIVISOR - 1) {
            cwnd * (SEARCH_DIVISOR - 1) / (cwnd - self.last_max)
        } else {
            cwnd / MAX_INCREMENT
        }
    }
}

impl CongestionControl for Bic {
    #[inline]
    fn on_ack(&mut self, acked: Acked, window: &mut Window) {
        if window.cwnd <= window.ssthresh {
            window.cwnd += 1;
            return;
        }
        self.update(acked.now, window.cwnd);
        if window.credit >= self.per_increment {
            window.cwnd += 1;
            window.credit = 0;
        } else {
            window.credit += 1;
        }
    }

    /// `bictcp_acked`: ratio = (15 x ratio + sample) / 16.
    #[inline]
    fn on_delivered(&mut self, delivered: &Delivered, _window: &mut Window) {
        if delivered.entries > 0 {
            self.ack_ratio =
                self.ack_ratio + delivered.entries - (self.ack_ratio >> ACK_RATIO_SHIFT);
        }
    }

    /// `bictcp_recalc_ssthresh`
    fn ssthresh_after_loss(&mut self, window: &Window, _flight: u32) -> u32 {
        let cwnd = window.cwnd;
        // Fast convergence: a flow that did not reach its earlier window gives way to other flows.
        let share =
            |part: u32, whole: u32| (u64::from(cwnd) * u64::from(part) / u64::from(whole)) as u32;
        self.last_max = if cwnd < self.last_max { share(SCALE + BETA, 2 * SCALE) } else { cwnd };
        self.never_lost = false;
        if cwnd <= LOW_WINDOW { (cwnd / 2).max(2) } else { share(BETA, SCALE).max(2) }
    }

    /// `bictcp_state`, when the state Loss begins.
    fn on_timeout(&mut self) {
        *self = Self::default();
    }

    /// `bictcp_undo_cwnd`
    fn undone(&self, cwnd: u32) -> u32 {
        cwnd.max(self.last_max)
    }

    /// `initial_ssthresh`: 100 in Linux 2.6.18. Later kernels and the kernel of Red Hat Enterprise
    /// Linux 5.6 have no initial threshold. The threshold applies until the first loss of a
    /// connection.
    fn initial_ssthresh(&self) -> u32 {
        100
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(cwnd: u32) -> Window {
        Window { cwnd, ssthresh: 2, credit: 0 }
    }

    /// Number of acknowledgments, of two segments each, until the window grows by one.
    fn acks_to_grow(bic: &mut Bic, cwnd: u32) -> u32 {
        let mut window = window(cwnd);
        let mut acks = 0;
        while window.cwnd == cwnd {
            acks += 1;
            let now = Time::ZERO + Duration::from_secs(1);
            bic.on_ack(Acked { now, segments: 2 }, &mut window);
        }
        acks
    }

    #[test]
    fn a_loss_leaves_four_fifths_of_a_large_window_and_half_of_a_small_one() {
        let mut bic = Bic::default();
        // 100 x 819 / 1024 = 79.98
        assert_eq!(bic.ssthresh_after_loss(&window(100), 0), 79);
        assert_eq!(bic.ssthresh_after_loss(&window(14), 0), 7);
        assert_eq!(bic.ssthresh_after_loss(&window(2), 0), 2);
    }

    #[test]
    fn growth_is_linear_far_below_the_last_loss_and_slow_close_to_it() {
        let mut bic = Bic::default();
        bic.ssthresh_after_loss(&window(1000), 0);
        // Distance (1000 - 800) / 4 = 50 > 16: 800 / 16 = 50 segments, two per acknowledgment.
        assert_eq!(acks_to_grow(&mut bic, 800), 25 + 1);
        // Distance (1000 - 960) / 4 = 10: 960 / 10 = 96 segments.
        assert_eq!(acks_to_grow(&mut bic, 960), 48 + 1);
        // Distance 0: 998 x 20 / 4 segments.
        assert_eq!(acks_to_grow(&mut bic, 998), 998 * 5 / 2 + 1);
    }

    #[test]
    fn fast_convergence_lowers_the_target_of_a_flow_that_did_not_recover() {
        let mut bic = Bic::default();
        bic.ssthresh_after_loss(&window(1000), 0);
        bic.ssthresh_after_loss(&window(500), 0);
        // 500 x (1024 + 819) / 2048 = 449.9
        assert_eq!(bic.last_max, 449);
    }

    #[test]
    fn the_ratio_counts_packets_acknowledged_in_whole() {
        let mut bic = Bic::default();
        let mut ratio_after = |entries| {
            let delivered = Delivered {
                now: Time::ZERO,
                entries,
                rtt: None,
                srtt: None,
                snd_una: 1,
                snd_nxt: 1,
                mss_bytes: 1000,
            };
            bic.on_delivered(&delivered, &mut window(20));
            bic.ack_ratio
        };
        // 32 + 1 - 32 / 16 = 31, then 31 + 1 - 31 / 16 = 31; an acknowledgment that covers no whole
        // packet does not change the ratio.
        assert_eq!([1, 0, 1, 1].map(&mut ratio_after), [31; 4]);
        assert_eq!(ratio_after(7), 31 + 7 - 1);
    }

    #[test]
    fn a_timeout_forgets_the_target() {
        let mut bic = Bic::default();
        bic.ssthresh_after_loss(&window(1000), 0);
        bic.on_timeout();
        assert_eq!(bic, Bic::default(), "`bictcp_reset` forgets the loss itself as well");
    }
}
