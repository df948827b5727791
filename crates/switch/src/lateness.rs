//! Records how late frames depart, and decides whether this makes a run invalid.

use hdrhistogram::Histogram;
use netstudy_units::{Duration, Time};

/// Upper bound of the histogram, longer than any run.
const LONGEST_NS: u64 = 3_600_000_000_000;
/// Significant digits of the histogram; two digits are a resolution of one percent.
const DIGITS: u8 = 2;
/// In a valid run, at most one in this many departures is later than its port allows.
const ONE_OF: u64 = 100;

/// Lateness of all departures.
pub(crate) struct Lateness {
    late_ns: Histogram<u64>,
    /// Departures that were later than their port allows.
    too_late: u64,
}

impl Lateness {
    pub(crate) fn new() -> Self {
        let late_ns = Histogram::new_with_bounds(1, LONGEST_NS, DIGITS).expect("bounds are right");
        Self { late_ns, too_late: 0 }
    }

    /// Records that a frame was due at `due` and written at `written`. At its port, a lateness of
    /// up to `allowed` is acceptable.
    pub(crate) fn note(&mut self, due: Time, written: Time, allowed: Duration) {
        let late = written.since(due);
        self.late_ns.saturating_record(late.as_ns());
        self.too_late += u64::from(late > allowed);
    }

    /// Number of departures.
    pub(crate) fn departures(&self) -> u64 {
        self.late_ns.len()
    }

    /// Number of departures that were later than their port allows.
    pub(crate) fn too_late(&self) -> u64 {
        self.too_late
    }

    /// A percentile of the lateness of all departures.
    pub(crate) fn percentile_ns(&self, percent: f64) -> u64 {
        self.late_ns.value_at_percentile(percent)
    }

    /// The lateness of the latest departure.
    pub(crate) fn max_ns(&self) -> u64 {
        self.late_ns.max()
    }

    /// An error message if more than 1 % of the departures were too late; otherwise none.
    pub(crate) fn complaint(&self) -> Option<String> {
        let departures = self.departures();
        (self.too_late * ONE_OF > departures).then(|| {
            format!(
                "{} of {departures} frames left later than their port allows, which is more than \
                 one of {ONE_OF}",
                self.too_late
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noted(late_us: impl IntoIterator<Item = u64>) -> Lateness {
        let mut lateness = Lateness::new();
        for us in late_us {
            let due = Time::ZERO + Duration::from_us(100);
            lateness.note(due, due + Duration::from_us(us), Duration::from_us(10));
        }
        lateness
    }

    #[test]
    fn one_late_frame_of_a_hundred_is_forgiven_and_two_are_not() {
        let one = noted((0..100).map(|frame| if frame == 7 { 11 } else { 10 }));
        assert_eq!((one.too_late(), one.complaint()), (1, None));
        let two = noted((0..100).map(|frame| if frame < 2 { 11 } else { 10 }));
        let complaint = two.complaint().expect("two of a hundred are too many");
        assert!(complaint.starts_with("2 of 100 frames left later"), "{complaint}");
    }

    #[test]
    fn percentiles_are_exact_to_a_percent() {
        let lateness = noted(1..=100);
        assert_eq!(lateness.departures(), 100);
        assert!(lateness.percentile_ns(50.0).abs_diff(50_000) <= 500);
        assert!(lateness.percentile_ns(99.0).abs_diff(99_000) <= 990);
        assert!(lateness.max_ns().abs_diff(100_000) <= 1_000);
    }
}
