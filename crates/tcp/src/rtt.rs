use netstudy_units::Duration;

use crate::Jiffies;

/// What the minimum timeout applies to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RtoRule {
    /// The timeout itself (RFC 6298, 2.4).
    Rfc6298,
    /// The variation part, so the timeout exceeds the smoothed round-trip time by at least the
    /// minimum (in Linux, `rttvar` is never below `tcp_rto_min`).
    Linux,
}

/// Means "no sample yet". Because this is a plain value and not an `Option`, the field is a single
/// machine word, which is always read in the same width in which it was written.
const NO_SAMPLE: Duration = Duration::from_ps(u64::MAX);

/// Retransmission timeout from round-trip times (RFC 6298).
#[derive(Clone, Copy, Debug)]
pub struct RttEstimator {
    rule: RtoRule,
    /// [`NO_SAMPLE`] before the first sample.
    srtt: Duration,
    rttvar: Duration,
    /// [`NO_SAMPLE`] before the first sample.
    least: Duration,
    initial_rto: Duration,
    min_rto: Duration,
    max_rto: Duration,
    granularity: Duration,
    /// If set, the timeout uses the smoothed round-trip time rounded down to whole ticks of this
    /// clock.
    ticks: Option<Jiffies>,
    backoff: u32,
    /// The timeout computed from the other fields. It is cached because it is read more often than
    /// these fields change.
    rto: Duration,
}

impl RttEstimator {
    /// Creates an estimator without samples.
    ///
    /// `granularity` is the clock granularity G of RFC 6298 (2): a coarser clock gives a later
    /// timeout.
    #[must_use]
    pub fn new(
        rule: RtoRule,
        initial_rto: Duration,
        min_rto: Duration,
        max_rto: Duration,
        granularity: Duration,
    ) -> Self {
        Self {
            rule,
            srtt: NO_SAMPLE,
            rttvar: Duration::ZERO,
            least: NO_SAMPLE,
            initial_rto,
            min_rto,
            max_rto,
            granularity,
            ticks: None,
            backoff: 0,
            rto: initial_rto.min(max_rto),
        }
    }

    /// With a `clock`, the timeout is computed from the smoothed round-trip time rounded down to
    /// whole ticks (`__tcp_set_rto` drops the fraction of `srtt`).
    #[must_use]
    pub const fn in_ticks(mut self, clock: Option<Jiffies>) -> Self {
        self.ticks = clock;
        self
    }

    /// The smoothed round-trip time, or none before the first sample.
    #[must_use]
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub const fn srtt(&self) -> Option<Duration> {
        if self.srtt.as_ps() == NO_SAMPLE.as_ps() { None } else { Some(self.srtt) }
    }

    /// The variation of the round-trip time, or none before the first sample.
    #[must_use]
    pub fn rttvar(&self) -> Option<Duration> {
        self.srtt().map(|_| self.rttvar)
    }

    /// The shortest round-trip time of all samples, or none before the first sample.
    #[must_use]
    pub fn min_rtt(&self) -> Option<Duration> {
        self.srtt().map(|_| self.least)
    }

    /// Adds a round-trip time sample and ends the backoff (RFC 6298, 5.7 note). It must be certain
    /// to which transmission the sample belongs (Karn's algorithm or timestamps).
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn sample(&mut self, rtt: Duration) {
        self.least = self.least.min(rtt);
        match self.srtt() {
            // RFC 6298 (2.2)
            None => {
                self.srtt = rtt;
                self.rttvar = rtt.div(2);
            }
            // RFC 6298 (2.3): beta = 1/4, alpha = 1/8; RTTVAR is updated first, with the old SRTT.
            Some(srtt) => {
                let error = srtt.abs_diff(rtt);
                self.rttvar = Duration::from_ps((3 * self.rttvar.as_ps() + error.as_ps()) / 4);
                self.srtt = Duration::from_ps((7 * srtt.as_ps() + rtt.as_ps()) / 8);
            }
        }
        self.end_backoff();
    }

    /// True if [`Self::sample`] would change nothing. This is common on short paths, where a coarse
    /// clock measures every round trip as one tick.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn is_steady_at(&self, rtt: Duration) -> bool {
        rtt == self.srtt && self.rttvar == Duration::ZERO && self.backoff == 0 && self.least <= rtt
    }

    /// Ends the backoff without a sample, for example because the peer has answered.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn end_backoff(&mut self) {
        self.backoff = 0;
        self.rto = self.undoubled().min(self.max_rto);
    }

    /// Must be called if the SYN was retransmitted. Until the first sample, the timeout for data is
    /// then at least 3 s (RFC 6298, 5.7).
    pub fn restart_after_lost_syn(&mut self) {
        self.initial_rto = self.initial_rto.max(Duration::from_secs(3));
        self.end_backoff();
    }

    /// Doubles the timeout, because the timer has expired (RFC 6298, 5.5).
    pub fn back_off(&mut self) {
        self.backoff += 1;
        let doubled = self.undoubled().as_ps().saturating_mul(1 << self.backoff.min(20));
        // RFC 6298 (2.5): a maximum may be placed on the timeout.
        self.rto = Duration::from_ps(doubled).min(self.max_rto);
    }

    /// The retransmission timeout, backoff included.
    #[must_use]
    #[inline]
    pub const fn rto(&self) -> Duration {
        self.rto
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn undoubled(&self) -> Duration {
        match self.srtt() {
            None => self.initial_rto,
            // RFC 6298 (2.3): K = 4; (2.4): not below the minimum.
            Some(srtt) => {
                let srtt = self.ticks.map_or(srtt, |clock| clock.within(srtt));
                let variation = (self.rttvar * 4).max(self.granularity);
                match self.rule {
                    RtoRule::Rfc6298 => (srtt + variation).max(self.min_rto),
                    RtoRule::Linux => srtt + variation.max(self.min_rto),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use super::*;

    fn estimator(min_rto_ms: u64) -> RttEstimator {
        RttEstimator::new(
            RtoRule::Rfc6298,
            Duration::from_secs(1),
            Duration::from_ms(min_rto_ms),
            Duration::from_secs(60),
            Duration::from_ms(1),
        )
    }

    #[test]
    fn before_the_first_sample_the_timeout_is_one_second() {
        assert_eq!(estimator(0).rto(), Duration::from_secs(1));
    }

    #[test]
    fn samples_worked_by_hand() {
        let mut rtt = estimator(0);
        // (2.2) R = 80: SRTT = 80, RTTVAR = 40, RTO = 80 + 4 x 40.
        rtt.sample(Duration::from_ms(80));
        assert_eq!(rtt.rto(), Duration::from_ms(240));
        // (2.3) R' = 48: RTTVAR = 3/4 x 40 + 1/4 x 32 = 38, SRTT = 7/8 x 80 + 1/8 x 48 = 76.
        rtt.sample(Duration::from_ms(48));
        assert_eq!(rtt.srtt(), Some(Duration::from_ms(76)));
        assert_eq!(rtt.rto(), Duration::from_ms(76 + 4 * 38));
        assert_eq!(rtt.rttvar(), Some(Duration::from_ms(38)));
        assert_eq!(rtt.min_rtt(), Some(Duration::from_ms(48)));
    }

    #[test]
    fn a_steady_round_trip_is_held_up_by_the_minimum_and_the_clock() {
        let mut rtt = estimator(200);
        for _ in 0..100 {
            rtt.sample(Duration::from_us(50));
        }
        assert_eq!(rtt.rto(), Duration::from_ms(200));
        let mut fine = estimator(0);
        for _ in 0..200 {
            fine.sample(Duration::from_us(50));
        }
        assert_eq!(fine.rto(), Duration::from_us(50) + Duration::from_ms(1), "SRTT + G");
    }

    #[test]
    fn a_sample_is_left_out_only_where_it_changes_nothing() {
        let tick = Duration::from_ms(1);
        let mut rtt = estimator(200);
        assert!(!rtt.is_steady_at(tick), "there was none");
        for _ in 0..100 {
            let before = std::format!("{rtt:?}");
            let is_steady = rtt.is_steady_at(tick);
            rtt.sample(tick);
            assert_eq!(is_steady, before == std::format!("{rtt:?}"));
        }
        assert!(rtt.is_steady_at(tick));
        assert!(!rtt.is_steady_at(Duration::from_us(999)));
        rtt.back_off();
        assert!(!rtt.is_steady_at(tick), "it ends the backoff");
    }

    #[test]
    fn each_expiry_doubles_up_to_the_maximum_and_a_sample_ends_it() {
        let mut rtt = estimator(200);
        rtt.sample(Duration::from_us(50));
        for factor in [1, 2, 4, 8, 16, 32, 64, 128, 256] {
            assert_eq!(rtt.rto(), Duration::from_ms(200 * factor));
            rtt.back_off();
        }
        assert_eq!(rtt.rto(), Duration::from_secs(60));
        rtt.sample(Duration::from_us(50));
        assert_eq!(rtt.rto(), Duration::from_ms(200));
    }
}
