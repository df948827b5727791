//! Times of progress records, which show the controller that traffic still flows.

use netstudy_units::{Duration, Time};

/// When progress records are due.
pub(crate) struct Progress {
    interval: Duration,
    due: Time,
}

impl Progress {
    /// Records are due every `interval_ms` from `now` on; none: never.
    pub(crate) fn new(interval_ms: Option<u32>, now: Time) -> Self {
        let interval = Duration::from_ms(interval_ms.unwrap_or_default().into());
        Self { interval, due: interval_ms.map_or(Time::NEVER, |_| now + interval) }
    }

    /// When the next record is due; [`Time::NEVER`] without an interval.
    pub(crate) const fn next(&self) -> Time {
        self.due
    }

    /// True if a record is due; the next record is then due an interval after `now`.
    pub(crate) fn is_due(&mut self, now: Time) -> bool {
        let is_due = now >= self.due;
        if is_due {
            self.due = now + self.interval;
        }
        is_due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Time {
        Time::ZERO + Duration::from_ms(ms)
    }

    #[test]
    fn a_sign_is_due_an_interval_after_the_last_one() {
        let mut progress = Progress::new(Some(10), at(0));
        let due: Vec<_> = [9, 10, 15, 29, 38, 39].map(|ms| progress.is_due(at(ms))).into();
        assert_eq!(due, [false, true, false, true, false, true]);
    }

    #[test]
    fn without_an_interval_none_is_ever_due() {
        assert!(!Progress::new(None, at(0)).is_due(at(1_000_000)));
    }
}
