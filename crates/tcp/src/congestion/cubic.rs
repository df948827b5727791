use netstudy_units::{Duration, Time};

use super::control::{
    Acked, CongestionControl, Delivered, Window, increase_additively, slow_start,
};
use super::hystart::HyStart;
use crate::Jiffies;

/// Scale of [`BETA`] (`BICTCP_BETA_SCALE`).
const SCALE: u64 = 1024;
/// Share of the window that remains after a loss, in 1/1024 (RFC 9438, 4.6: 0.7).
const BETA: u64 = 717;
/// The constant C = 0.4 of RFC 9438 (4.1), in 1/1024, rounded like in Linux (`bic_scale * 10`).
const CUBE_SCALE: u64 = 410;
/// Shift that removes four factors of 1024 from a result: three from the cube of a time in 1/1024
/// s, and one from [`SCALE`] (`10 + 3 * BICTCP_HZ`).
const CUBE_SHIFT: u32 = 40;
/// 1 / alpha of RFC 9438 (4.3), in eighths (`beta_scale`). The window times this factor is the
/// number of acknowledged segments after which an AIMD flow with the same loss rate grows by one
/// segment.
const FRIENDLY_SCALE: u64 = 8 * (SCALE + BETA) / 3 / (SCALE - BETA);
/// Minimum time between two computations of the curve while the window does not change (`HZ / 32`
/// jiffies).
const UPDATE_INTERVAL: Duration = Duration::from_us(31_250);
/// Round-trip times are ignored for this time after a new epoch begins (`HZ` jiffies).
const SETTLING_TIME: Duration = Duration::from_secs(1);
/// The clock used if the host's clock is exact: that of a kernel with 1000 Hz whose ticks start
/// with the run.
const MILLISECONDS: Jiffies = Jiffies::new(Duration::from_ms(1), Duration::from_ms(1));
/// Longest time before or after the plateau for which the curve is computed, in 1/1024 s (four
/// minutes): the cube of a longer time does not fit into 64 bits. No flow grows for so long without
/// a loss.
const OFFSET_MAX: u64 = 1 << 18;

/// CUBIC (RFC 9438), with the integer arithmetic and the jiffies of Linux 6
/// (`net/ipv4/tcp_cubic.c`).
///
/// If the round-trip time is at most a jiffy, the growth of a small window depends on the length of
/// the jiffy: the curve is evaluated once per jiffy, and the resulting growth rate applies until
/// the next evaluation.
///
/// One difference from Linux: the cube root here is exact, while the cube root of Linux has an
/// average error of 0.2 %.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cubic {
    /// Window at the last loss; if it was smaller than at the previous loss, a lower value (fast
    /// convergence). 0: no loss yet.
    last_max: u32,
    epoch: Option<Epoch>,
    /// Number of acknowledged segments after which the window grows by one (`cnt`).
    per_increment: u32,
    /// Acknowledged segments that have not been credited to the AIMD flow yet (`ack_cnt`).
    acked: u64,
    updated_for: u32,
    /// In jiffies.
    updated_at: u64,
    min_rtt: Option<Duration>,
    hystart: Option<HyStart>,
    clock: Jiffies,
}

/// Growth since the window last shrank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Epoch {
    /// In jiffies.
    began: u64,
    /// Time from the start of the epoch to the plateau, in 1/1024 s.
    k: u64,
    /// The window at the plateau.
    origin: u32,
    /// The window that an AIMD flow would have (`tcp_cwnd`).
    friendly: u32,
}

impl Cubic {
    /// Creates CUBIC. With `hystart`, slow start may end before a loss.
    #[must_use]
    pub fn new(hystart: bool) -> Self {
        Self {
            last_max: 0,
            epoch: None,
            per_increment: 0,
            acked: 0,
            updated_for: 0,
            updated_at: 0,
            min_rtt: None,
            hystart: hystart.then(HyStart::default),
            clock: MILLISECONDS,
        }
    }

    /// `bictcp_update`
    fn update(&mut self, acked: Acked, cwnd: u32) {
        let now = self.clock.at(acked.now);
        self.acked += u64::from(acked.segments);
        let since_update = self.clock.span(now - self.updated_at);
        if self.updated_for == cwnd && since_update <= UPDATE_INTERVAL {
            return;
        }
        let mut epoch = match self.epoch {
            Some(epoch) => epoch,
            None => self.begin_epoch(now, acked.segments, cwnd),
        };
        // The curve is evaluated at most once per jiffy.
        if self.epoch.is_none() || now != self.updated_at {
            self.updated_for = cwnd;
            self.updated_at = now;
            let ahead = now + self.min_rtt.map_or(0, |rtt| self.clock.covering(rtt));
            self.follow(epoch.target(self.clock.span(ahead - epoch.began)), cwnd);
        }
        epoch.friendly += self.friendly_growth(cwnd);
        if epoch.friendly > cwnd {
            self.per_increment = self.per_increment.min(cwnd / (epoch.friendly - cwnd));
        }
        self.epoch = Some(epoch);
        // The window grows by at most one segment per two acknowledged segments.
        self.per_increment = self.per_increment.max(2);
    }

    const fn begin_epoch(&mut self, now: u64, segments: u32, cwnd: u32) -> Epoch {
        self.acked = segments as u64;
        let below = self.last_max.saturating_sub(cwnd);
        let origin = if below > 0 { self.last_max } else { cwnd };
        Epoch { began: now, k: time_to_grow(below), origin, friendly: cwnd }
    }

    /// Sets the growth rate so that the window reaches `target` a round trip later (RFC 9438, 4.4
    /// and 4.5).
    fn follow(&mut self, target: u32, cwnd: u32) {
        self.per_increment =
            if target > cwnd { cwnd / (target - cwnd) } else { cwnd.saturating_mul(100) };
        if self.last_max == 0 {
            // Before the first loss, the window grows by at least 5 % per round trip.
            self.per_increment = self.per_increment.min(20);
        }
    }

    /// Segments by which an AIMD flow would have grown since the last call (RFC 9438, 4.3).
    fn friendly_growth(&mut self, cwnd: u32) -> u32 {
        let per_increment = ((u64::from(cwnd) * FRIENDLY_SCALE) >> 3).max(1);
        // At least one acknowledged segment remains to be credited later (`while (ca->ack_cnt >
        // delta)`).
        let growth = self.acked.saturating_sub(1) / per_increment;
        self.acked -= growth * per_increment;
        growth as u32
    }
}

impl Epoch {
    /// The window on the curve at `t` after the start of the epoch: W(t) = origin + C (t - K)^3
    /// (RFC 9438, 4.2).
    const fn target(&self, t: Duration) -> u32 {
        let t = (t.as_ns() << 10) / 1_000_000_000;
        let offset = t.abs_diff(self.k);
        let offset = if offset > OFFSET_MAX { OFFSET_MAX } else { offset };
        let delta = ((CUBE_SCALE * offset * offset * offset) >> CUBE_SHIFT) as u32;
        if t < self.k { self.origin - delta } else { self.origin + delta }
    }
}

/// K of RFC 9438 (4.2): the time that the curve takes to rise by `segments` to its plateau, in
/// 1/1024 s.
const fn time_to_grow(segments: u32) -> u64 {
    cube_root((1 << CUBE_SHIFT) / CUBE_SCALE * segments as u64)
}

/// The cube root, rounded down, by bisection.
const fn cube_root(value: u64) -> u64 {
    // `high` is the lowest number whose cube does not fit into 64 bits.
    let (mut low, mut high) = (0_u64, 2_642_246);
    while low + 1 < high {
        let middle = low.midpoint(high);
        if middle * middle * middle <= value {
            low = middle;
        } else {
            high = middle;
        }
    }
    low
}

impl CongestionControl for Cubic {
    fn keep_time(&mut self, clock: Jiffies) {
        self.clock = clock;
    }

    /// `cubictcp_cong_avoid`
    #[inline]
    fn on_ack(&mut self, acked: Acked, window: &mut Window) {
        let segments = slow_start(window, acked.segments);
        if segments > 0 {
            self.update(Acked { segments, ..acked }, window.cwnd);
            increase_additively(window, self.per_increment, segments);
        }
    }

    /// `cubictcp_acked`
    #[inline]
    fn on_delivered(&mut self, delivered: &Delivered, window: &mut Window) {
        let Some(rtt) = delivered.rtt else { return };
        // Round-trip times shortly after a recovery are not typical of the path.
        if let Some(epoch) = self.epoch {
            let age = self.clock.at(delivered.now) - epoch.began;
            if self.clock.span(age) < SETTLING_TIME {
                return;
            }
        }
        let min_rtt = self.min_rtt.map_or(rtt, |least| least.min(rtt));
        self.min_rtt = Some(min_rtt);
        if let Some(hystart) = &mut self.hystart
            && window.in_slow_start()
        {
            hystart.on_delivered(delivered, rtt, min_rtt, window);
        }
    }

    /// `cubictcp_cwnd_event`: time during which nothing is sent does not count for the curve (RFC
    /// 9438, 5.8).
    fn on_restart(&mut self, now: Time, last_sent_at: Time) {
        if let Some(epoch) = &mut self.epoch {
            let now = self.clock.at(now);
            let idle = now - self.clock.at(last_sent_at);
            epoch.began = (epoch.began + idle).min(now);
        }
    }

    /// `cubictcp_recalc_ssthresh`
    fn ssthresh_after_loss(&mut self, window: &Window, _flight: u32) -> u32 {
        let cwnd = window.cwnd;
        self.epoch = None;
        // Fast convergence (RFC 9438, 4.7).
        self.last_max = if cwnd < self.last_max {
            (u64::from(cwnd) * (SCALE + BETA) / (2 * SCALE)) as u32
        } else {
            cwnd
        };
        ((u64::from(cwnd) * BETA / SCALE) as u32).max(2)
    }

    /// `cubictcp_state`, when the state Loss begins.
    fn on_timeout(&mut self) {
        *self = Self { clock: self.clock, ..Self::new(self.hystart.is_some()) };
    }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use std::vec::Vec;

    use super::*;

    fn at_ms(ms: u64) -> Time {
        Time::ZERO + Duration::from_ms(ms)
    }

    fn window(cwnd: u32) -> Window {
        Window { cwnd, ssthresh: 2, credit: 0 }
    }

    fn lost_at(cwnd: u32) -> Cubic {
        let mut cubic = Cubic::new(false);
        cubic.ssthresh_after_loss(&window(cwnd), cwnd);
        cubic
    }

    fn acknowledge(cubic: &mut Cubic, ms: u64, segments: u32, window: &mut Window) {
        cubic.on_ack(Acked { now: at_ms(ms), segments }, window);
    }

    #[test]
    fn a_loss_leaves_seven_tenths() {
        // 100 x 717 / 1024 = 70.02; 1000 x 717 / 1024 = 700.2; 3 x 0.7 = 2.1.
        for (cwnd, left) in [(100, 70), (1000, 700), (3, 2), (1, 2)] {
            assert_eq!(Cubic::new(false).ssthresh_after_loss(&window(cwnd), cwnd), left);
        }
    }

    #[test]
    fn the_plateau_is_k_away() {
        // RFC 9438 (4.2): K = cbrt(30 / 0.4) = 4.217 s. In integers: 2^40 / 410 = 2,681,735,677;
        // times 30 = 80,452,070,310, between 4316^3 = 80,397,826,496 and 4317^3 = 80,453,723,013.
        assert_eq!(time_to_grow(30), 4316);
        assert_eq!(time_to_grow(0), 0);
    }

    #[test]
    fn roots_of_whole_cubes_are_exact() {
        for root in [0, 1, 2, 1023, 1024, 1025, 2_642_245] {
            assert_eq!(cube_root(root * root * root), root);
        }
        assert_eq!(cube_root(26), 2);
        assert_eq!(cube_root(u64::MAX), 2_642_245);
    }

    #[test]
    fn the_curve_is_flat_at_the_plateau_and_steep_far_from_it() {
        let epoch = Epoch { began: 0, k: 4096, origin: 100, friendly: 0 };
        // t - K = -4, -3, -2, 0, 2, 3, 4 s; 410 / 1024 of its cube: 25.6, 10.8, 3.2, 0 segments.
        let windows = [(0, 75), (1000, 90), (2000, 97), (4000, 100), (6000, 103), (7000, 110)];
        for (ms, window) in windows {
            assert_eq!(epoch.target(Duration::from_ms(ms)), window, "after {ms} ms");
        }
    }

    #[test]
    fn an_epoch_grows_towards_the_window_of_the_last_loss() {
        let mut cubic = lost_at(100);
        let mut window = window(70);
        acknowledge(&mut cubic, 1000, 1, &mut window);
        // 0.4 x 4.215^3 = 29.9, so the target is 71: one more segment per window of 70.
        assert_eq!(cubic.per_increment, 70);
        // 3 s later, 1.215 s before the plateau, the curve is 0.7 below 100: 100 - 0 - 70 = 30 more
        // segments per window of 70, limited to one per two acknowledged segments.
        acknowledge(&mut cubic, 4000, 1, &mut window);
        assert_eq!(cubic.per_increment, 2);
    }

    #[test]
    fn the_round_trip_is_looked_ahead() {
        let mut cubic = lost_at(100);
        cubic.min_rtt = Some(Duration::from_ms(1000));
        acknowledge(&mut cubic, 0, 1, &mut window(70));
        // (4.215 s - 1 s)^3 x 0.4 = 13.3: the target is 87, 17 above 70.
        assert_eq!(cubic.per_increment, 70 / 17);
    }

    #[test]
    fn in_a_short_round_trip_it_grows_like_an_aimd_flow() {
        let mut cubic = lost_at(100);
        let mut window = window(70);
        // An AIMD flow grows by one segment per 70 x 15 / 8 = 131 segments, so after 4 x 131 + 1
        // segments its window is 4 segments larger. After 32 jiffies the growth is computed again
        // although the window has not changed.
        acknowledge(&mut cubic, 0, 1, &mut window);
        cubic.acked = 4 * 131;
        acknowledge(&mut cubic, 32, 1, &mut window);
        assert_eq!(cubic.epoch.map(|epoch| epoch.friendly), Some(74));
        assert_eq!(cubic.per_increment, 70 / 4);
        assert_eq!(cubic.acked, 1, "what is left to credit");
    }

    #[test]
    fn before_the_first_loss_it_grows_by_a_twentieth() {
        let mut cubic = Cubic::new(false);
        let mut window = window(100);
        acknowledge(&mut cubic, 0, 1, &mut window);
        assert_eq!(cubic.per_increment, 20);
        // 1 + 19 = 20 segments.
        acknowledge(&mut cubic, 1, 19, &mut window);
        assert_eq!(window.cwnd, 101);
    }

    #[test]
    fn fast_convergence_lowers_the_plateau_of_a_flow_that_did_not_recover() {
        let mut cubic = lost_at(100);
        cubic.ssthresh_after_loss(&window(70), 70);
        // 70 x (1024 + 717) / 2048 = 59.5
        assert_eq!(cubic.last_max, 59);
    }

    #[test]
    fn a_timeout_forgets_the_plateau_and_the_round_trip() {
        let mut cubic = lost_at(100);
        cubic.min_rtt = Some(Duration::from_ms(1));
        cubic.on_timeout();
        assert_eq!(cubic, Cubic::new(false));
        let clock = Jiffies::new(Duration::from_ms(4), Duration::ZERO);
        cubic.keep_time(clock);
        cubic.on_timeout();
        assert_eq!(cubic.clock, clock, "it is the host's");
    }

    #[test]
    fn idle_time_does_not_count() {
        let mut cubic = lost_at(100);
        acknowledge(&mut cubic, 1000, 1, &mut window(70));
        cubic.on_restart(at_ms(9000), at_ms(2000));
        assert_eq!(cubic.epoch.map(|epoch| epoch.began), Some(8000));
        // If the idle time began before the epoch, the epoch begins when the idle time ends.
        cubic.on_restart(at_ms(9000), at_ms(2000));
        assert_eq!(cubic.epoch.map(|epoch| epoch.began), Some(9000));
    }

    /// Returns the window after each of the acknowledgments `acks`, which are given as
    /// (microseconds after a tick, segments).
    fn windows(cubic: &mut Cubic, mut window: Window, acks: &[(u64, u32)]) -> Vec<u32> {
        let grown = acks.iter().map(|&(at_us, segments)| {
            let now = Time::ZERO + Duration::from_us(at_us);
            cubic.on_ack(Acked { now, segments }, &mut window);
            window.cwnd
        });
        grown.collect()
    }

    /// Acknowledgments after a recovery, as a Linux 6.18 kernel with 250 Hz received them over a
    /// link of 20 Mbit/s with a queue of 8 frames.
    fn acks_of_a_kernel() -> Vec<(u64, u32)> {
        let at_us = [
            3153, 4780, 5579, 6786, 7995, 9208, 10_424, 11_841, 13_093, 14_290, 14_911, 16_115,
            17_357, 18_659, 19_867, 21_010, 22_495, 23_461, 24_597, 25_822, 26_997, 32_130, 33_559,
            34_523, 36_224, 37_218, 38_168, 38_734, 39_939, 41_146,
        ];
        let segments = |at_us| match at_us {
            3153 | 14_911 | 38_734 => 1,
            32_130 => 3,
            _ => 2,
        };
        at_us.iter().map(|&at_us| (at_us, segments(at_us))).collect()
    }

    #[test]
    fn a_small_window_grows_in_leaps_as_long_as_a_jiffy() {
        let mut cubic = lost_at(6);
        cubic.min_rtt = Some(Duration::from_us(100));
        let mut coarse = cubic;
        coarse.keep_time(Jiffies::new(Duration::from_ms(4), Duration::ZERO));
        let grown = windows(&mut coarse, window(5), &acks_of_a_kernel());
        // As recorded by that kernel's `tcp_probe`: a window of 6 for 8 jiffies, then a jiffy in
        // which the window nearly doubles.
        assert_eq!(grown[..2], [5, 5]);
        assert_eq!(grown[2..24], [6; 22]);
        assert_eq!(grown[24..], [8, 9, 10, 10, 11, 11]);
        // A kernel with 1000 Hz would have evaluated the curve again.
        assert_eq!(windows(&mut cubic, window(5), &acks_of_a_kernel()).last(), Some(&8));
    }

    #[test]
    fn slow_start_grows_by_what_is_acknowledged_and_the_rest_counts_afterwards() {
        let mut cubic = Cubic::new(false);
        let mut window = Window { cwnd: 8, ssthresh: 40, credit: 0 };
        acknowledge(&mut cubic, 0, 5, &mut window);
        assert_eq!(window, Window { cwnd: 13, ssthresh: 40, credit: 0 });
        window.cwnd = 38;
        acknowledge(&mut cubic, 1, 5, &mut window);
        assert_eq!(window, Window { cwnd: 40, ssthresh: 40, credit: 3 });
    }
}
