//! How late what was due at an instant was done.

use netstudy_records::AgentRecord;
use netstudy_units::Time;

use crate::clock::Clock;

/// Lateness of each instant. All are kept: what is usual is judged over all hosts of a run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lateness {
    due_ns: Vec<u64>,
    late_ns: Vec<u64>,
}

impl Lateness {
    /// What was due at `due` was done at `done`, not before.
    pub(crate) fn add(&mut self, clock: Clock, due: Time, done: Time) {
        let due_ns = clock.as_ns(due);
        self.due_ns.push(due_ns);
        self.late_ns.push(clock.as_ns(done) - due_ns);
    }

    /// As a record; none if there is nothing to tell.
    pub(crate) fn into_record(self) -> Option<AgentRecord> {
        let Self { due_ns, late_ns } = self;
        (!due_ns.is_empty()).then_some(AgentRecord::Pacing { due_ns, late_ns })
    }
}

#[cfg(test)]
mod tests {
    use netstudy_units::Duration;

    use super::*;

    #[test]
    fn every_instant_is_told_in_the_order_in_which_it_came() {
        let clock = Clock::new();
        let at = |ns| Time::ZERO + Duration::from_ns(ns);
        let mut lateness = Lateness::default();
        lateness.add(clock, at(1_000), at(1_400));
        lateness.add(clock, at(2_000), at(2_000));
        let expected = AgentRecord::Pacing {
            due_ns: [1_000, 2_000].map(|ns| clock.as_ns(at(ns))).to_vec(),
            late_ns: vec![400, 0],
        };
        assert_eq!(lateness.into_record(), Some(expected));
    }

    #[test]
    fn nothing_is_told_of_nothing() {
        assert_eq!(Lateness::default().into_record(), None);
    }
}
