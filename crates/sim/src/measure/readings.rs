//! Counters of hosts at times that are known in advance.
//!
//! Hosts run ahead of the clock, so a host's counters may include segments that are still in flight
//! when the clock reaches the time of a reading. Therefore the times of readings are planned in
//! advance. Each host is read just before it first acts or receives something at or after the
//! planned time. So the readings of all hosts are from the same instant, and the closed form is as
//! exact as the event-driven simulation. If a time is planned when a host is already past it, this
//! host is read in its current state.

use std::collections::VecDeque;

use netstudy_tcp::{Counters, SenderTimes};
use netstudy_units::{Duration, Time};

use crate::end_index::EndIndex;

/// Counters of one end of a connection.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Reading {
    pub(crate) counters: Counters,
    pub(crate) times: SenderTimes,
    /// Payload that the end has sent, without retransmissions.
    pub(crate) sent_bytes: u64,
    /// Total time for which the application has waited for requested data.
    pub(crate) receiving: Duration,
}

/// Readings to be taken, and those already taken from hosts ahead of the clock.
#[derive(Default)]
pub(crate) struct Readings {
    /// Planned times in ascending order, each with a place for the reading of each end.
    planned: VecDeque<(Time, Vec<Reading>)>,
    /// Number of times that were removed from `planned`, because the clock has passed them.
    passed: usize,
    /// Number of readings that each host has taken.
    taken: Vec<usize>,
}

impl Readings {
    /// The next time at which a host must be read.
    pub(crate) fn next(&self, host: usize) -> Time {
        let place = self.taken.get(host).map(|taken| taken - self.passed);
        place.and_then(|place| self.planned.get(place)).map_or(Time::NEVER, |&(at, _)| at)
    }

    /// Readings of all ends at `now`, which the clock must have reached. None if `now` is not a
    /// planned time, or if some host was not read.
    pub(crate) fn at(&mut self, now: Time) -> Option<&[Reading]> {
        while self.planned.front().is_some_and(|&(at, _)| at < now) {
            self.planned.pop_front();
            self.passed += 1;
        }
        let (at, read) = self.planned.front()?;
        let is_complete = self.taken.iter().all(|&taken| taken > self.passed);
        (*at == now && is_complete).then_some(read)
    }

    /// Plans readings of `hosts` hosts and `ends` ends at these times, which must be later than all
    /// planned times.
    pub(super) fn plan(
        &mut self,
        times: impl IntoIterator<Item = Time>,
        hosts: usize,
        ends: usize,
    ) {
        self.taken.resize(hosts, self.passed);
        let blank = || vec![Reading::default(); ends];
        self.planned.extend(times.into_iter().map(|at| (at, blank())));
        debug_assert!(self.planned.iter().is_sorted_by_key(|&(at, _)| at));
    }

    /// Stores what was read at a host for its next planned time. `found` has the reading of each of
    /// its ends, with the index of the end.
    pub(crate) fn take(&mut self, host: usize, found: Vec<(usize, Reading)>) {
        let place = self.taken[host] - self.passed;
        for (end, reading) in found {
            self.planned[place].1[end] = reading;
        }
        self.taken[host] += 1;
    }

    /// Corrects the times of an end in the readings from after `from` to before `until`.
    pub(super) fn correct_times(
        &mut self,
        end: EndIndex,
        [from, until]: [Time; 2],
        times: &dyn Fn(Time) -> SenderTimes,
    ) {
        for (at, read) in &mut self.planned {
            if from < *at && *at < until {
                read[end.index()].times = times(*at);
            }
        }
    }
}
