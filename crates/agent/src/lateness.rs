//! How late what was due at an instant was done.

use netstudy_records::AgentRecord;
use netstudy_units::{Duration, Time};

/// Lateness of each instant.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lateness(Vec<Duration>);

impl Lateness {
    /// What was due at `due` was done at `done`.
    pub(crate) fn add(&mut self, due: Time, done: Time) {
        self.0.push(done.since(due));
    }

    /// Its distribution; none if there is nothing to tell.
    pub(crate) fn into_record(mut self) -> Option<AgentRecord> {
        self.0.sort_unstable();
        let last = self.0.len().checked_sub(1)?;
        // The smallest value that the share of all does not exceed.
        let quantile =
            |pct: usize| self.0[(last + 1).saturating_mul(pct).div_ceil(100) - 1].as_ns();
        Some(AgentRecord::Pacing {
            instants: last as u64 + 1,
            late_ns_p50: quantile(50),
            late_ns_p99: quantile(99),
            late_ns_max: self.0[last].as_ns(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_values_that_occurred() {
        let mut lateness = Lateness::default();
        for ns in (1..=200).rev() {
            lateness.add(Time::ZERO, Time::ZERO + Duration::from_ns(ns));
        }
        let record = lateness.into_record().expect("there were some");
        let expected = AgentRecord::Pacing {
            instants: 200,
            late_ns_p50: 100,
            late_ns_p99: 198,
            late_ns_max: 200,
        };
        assert_eq!(record, expected);
    }

    #[test]
    fn nothing_is_told_of_nothing() {
        assert_eq!(Lateness::default().into_record(), None);
    }
}
