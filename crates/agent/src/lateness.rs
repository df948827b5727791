//! Lateness of timed actions: the time from when an action was due until it was performed.

use netstudy_records::AgentRecord;
use netstudy_units::Time;

use crate::clock::Clock;

/// Largest number of samples that are kept.
const KEPT_MAX: usize = 1 << 18;

/// Samples of lateness. All samples are kept instead of a summary, because lateness is judged over
/// all hosts of a run. If there are too many, only every n-th sample is kept.
#[derive(Clone, Debug)]
pub(crate) struct Lateness {
    due_ns: Vec<u64>,
    late_ns: Vec<u64>,
    /// Every `one_of`-th sample is kept.
    one_of: u64,
    seen: u64,
}

impl Default for Lateness {
    fn default() -> Self {
        Self { due_ns: Vec::new(), late_ns: Vec::new(), one_of: 1, seen: 0 }
    }
}

impl Lateness {
    /// Adds an action that was due at `due` and performed at `done`; `done` is never before `due`.
    pub(crate) fn add(&mut self, clock: Clock, due: Time, done: Time) {
        self.seen += 1;
        if !(self.seen - 1).is_multiple_of(self.one_of) {
            return;
        }
        if self.due_ns.len() == KEPT_MAX {
            keep_every_second(&mut self.due_ns);
            keep_every_second(&mut self.late_ns);
            self.one_of *= 2;
        }
        let due_ns = clock.as_ns(due);
        self.due_ns.push(due_ns);
        self.late_ns.push(clock.as_ns(done) - due_ns);
    }

    /// The samples as a record; none if there are no samples.
    pub(crate) fn into_record(self) -> Option<AgentRecord> {
        let Self { due_ns, late_ns, one_of, .. } = self;
        (!due_ns.is_empty()).then_some(AgentRecord::Pacing { due_ns, late_ns, one_of })
    }
}

fn keep_every_second(values: &mut Vec<u64>) {
    let mut is_kept = false;
    values.retain(|_| {
        is_kept = !is_kept;
        is_kept
    });
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
            one_of: 1,
        };
        assert_eq!(lateness.into_record(), Some(expected));
    }

    #[test]
    fn of_very_many_some_are_kept_evenly() {
        let clock = Clock::new();
        let mut lateness = Lateness::default();
        for number in 0..KEPT_MAX as u64 * 5 {
            let due = Time::ZERO + Duration::from_ns(number);
            lateness.add(clock, due, due);
        }
        let Some(AgentRecord::Pacing { due_ns, one_of, .. }) = lateness.into_record() else {
            unreachable!()
        };
        assert_eq!(one_of, 8);
        assert_eq!(due_ns.len(), KEPT_MAX * 5 / 8);
        assert!(due_ns.windows(2).all(|pair| pair[1] - pair[0] == 8));
    }

    #[test]
    fn nothing_is_told_of_nothing() {
        assert_eq!(Lateness::default().into_record(), None);
    }
}
