use netstudy_units::{Duration, Time};

/// The clock of a host as Linux reads it: whole ticks (`jiffies`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Jiffies {
    tick: Duration,
    phase: Duration,
}

impl Jiffies {
    /// A clock with the period `tick`, which must not be zero, and its first tick at `phase`.
    #[must_use]
    pub const fn new(tick: Duration, phase: Duration) -> Self {
        Self { tick, phase }
    }

    /// Number of ticks up to and including `now`: 0 before the first tick.
    #[must_use]
    pub fn at(self, now: Time) -> u64 {
        (now + self.tick).saturating_sub(self.phase).as_ps() / self.tick.as_ps()
    }

    /// A span in ticks, rounded up (`usecs_to_jiffies`).
    #[must_use]
    pub const fn covering(self, span: Duration) -> u64 {
        span.as_ps().div_ceil(self.tick.as_ps())
    }

    /// The time from `earlier` to `later` as this clock measures it: a whole number of ticks.
    #[must_use]
    pub fn between(self, earlier: Time, later: Time) -> Duration {
        self.span(self.at(later) - self.at(earlier))
    }

    /// True if the time from `earlier` to `later` is more than `span` as this clock measures it.
    #[inline]
    pub(crate) fn counts_more(self, earlier: Time, later: Time, span: Duration) -> bool {
        // The measured time exceeds the true time by less than a tick. Usually even the true time
        // plus a tick is not above `span`, and the divisions can be skipped.
        later.since(earlier) + self.tick > span && self.between(earlier, later) > span
    }

    /// The span rounded down to whole ticks.
    #[must_use]
    pub fn within(self, span: Duration) -> Duration {
        self.span(span.as_ps() / self.tick.as_ps())
    }

    /// The duration of `ticks` ticks.
    #[must_use]
    pub fn span(self, ticks: u64) -> Duration {
        self.tick * ticks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tick_counts_from_its_phase_on() {
        let clock = Jiffies::new(Duration::from_ms(4), Duration::from_ms(3));
        let at_ms = |ms| clock.at(Time::ZERO + Duration::from_ms(ms));
        assert_eq!([0, 2, 3, 6, 7, 11].map(at_ms), [0, 0, 1, 1, 2, 3]);
    }

    #[test]
    fn a_span_takes_whole_ticks() {
        let clock = Jiffies::new(Duration::from_ms(4), Duration::ZERO);
        let covering_us = |us| clock.covering(Duration::from_us(us));
        assert_eq!([0, 1, 4000, 4001].map(covering_us), [0, 1, 1, 2]);
        assert_eq!(clock.span(3), Duration::from_ms(12));
    }

    #[test]
    fn a_span_is_longer_as_the_clock_counts_it() {
        let clock = Jiffies::new(Duration::from_ms(4), Duration::from_ms(3));
        let counts_more = |from_us, to_us, span_ms| {
            let at = |us| Time::ZERO + Duration::from_us(us);
            clock.counts_more(at(from_us), at(to_us), Duration::from_ms(span_ms))
        };
        assert!(counts_more(2_999, 3_000, 3), "a tick lies between them");
        assert!(!counts_more(2_999, 3_000, 4), "it is one of 4 ms");
        assert!(!counts_more(3_000, 6_999, 3), "no tick lies between them");
        assert!(counts_more(2_999, 11_000, 8), "three ticks, though hardly more than 8 ms");
    }
}
