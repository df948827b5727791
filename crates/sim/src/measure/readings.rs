//! Counters of hosts at times that are known beforehand.
//!
//! Hosts run ahead of the clock: a host's counters include segments that are still on the way at the
//! clock's time. So a time at which all hosts are to be read is planned before they get there, and each
//! host is read when its own time reaches it, before it acts or receives anything then. The readings of
//! all hosts are thus of the same instant, as exact in closed form as event-driven. A host already past
//! a time when it is planned is read as it is then.

use std::collections::VecDeque;

use netstudy_tcp::Counters;
use netstudy_units::{Duration, Time};

/// Counters of one end of a connection.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Reading {
    pub(crate) counters: Counters,
    /// Payload that it has sent, each byte once.
    pub(crate) sent_bytes: u64,
    /// Time that the application has waited for requested data.
    pub(crate) receiving: Duration,
}

/// Planned readings, and readings of hosts at times that the clock has not reached.
#[derive(Default)]
pub(crate) struct Readings {
    /// In the order of time, each with the readings of all ends.
    planned: VecDeque<(Time, Vec<Reading>)>,
    /// How many the clock has passed.
    passed: usize,
    /// How many each host has taken.
    taken: Vec<usize>,
}

impl Readings {
    /// When a host is to be read next.
    pub(crate) fn next(&self, host: usize) -> Time {
        let place = self.taken.get(host).map(|taken| taken - self.passed);
        place.and_then(|place| self.planned.get(place)).map_or(Time::NEVER, |&(at, _)| at)
    }

    /// Readings of all ends at `now`, which the clock has reached; none: not planned.
    pub(crate) fn at(&mut self, now: Time) -> Option<&[Reading]> {
        while self.planned.front().is_some_and(|&(at, _)| at < now) {
            self.planned.pop_front();
            self.passed += 1;
        }
        let (at, read) = self.planned.front()?;
        let is_complete = self.taken.iter().all(|&taken| taken > self.passed);
        (*at == now && is_complete).then_some(read)
    }

    /// Plans readings at these times, which come after all planned before, of so many hosts and ends.
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

    /// A host has lived to its next reading; `found` of its ends, by their places among all.
    pub(crate) fn take(&mut self, host: usize, found: Vec<(usize, Reading)>) {
        let place = self.taken[host] - self.passed;
        for (end, reading) in found {
            self.planned[place].1[end] = reading;
        }
        self.taken[host] += 1;
    }
}
