//! Counters of hosts at times that are known in advance.
//!
//! Hosts run ahead of the clock: a host's counters include segments that are still in flight at the
//! clock's time. So the times at which all hosts are read are planned in advance. Each host is read
//! when its own time reaches the planned time, before it acts or receives anything at that time. So
//! the readings of all hosts are from the same instant, and the closed form is as exact as the
//! event-driven simulation. If a host is already past a time when that time is planned, it is read
//! in its current state.

use std::collections::VecDeque;

use netstudy_tcp::Counters;
use netstudy_units::{Duration, Time};

/// Counters of one end of a connection.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Reading {
    pub(crate) counters: Counters,
    /// Payload that the end has sent, without retransmissions.
    pub(crate) sent_bytes: u64,
    /// Time that the application has waited for requested data.
    pub(crate) receiving: Duration,
}

/// Planned readings, and readings of hosts at times that the clock has not reached.
#[derive(Default)]
pub(crate) struct Readings {
    /// Planned times in ascending order, each with the readings of all ends.
    planned: VecDeque<(Time, Vec<Reading>)>,
    /// Number of planned times that the clock has passed.
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

    /// Readings of all ends at `now`, which the clock must have reached, or none if no complete
    /// reading was planned for `now`.
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

    /// Stores the reading of a host whose time has reached its next planned time. `found` are the
    /// readings of its ends, with their indices among all ends.
    pub(crate) fn take(&mut self, host: usize, found: Vec<(usize, Reading)>) {
        let place = self.taken[host] - self.passed;
        for (end, reading) in found {
            self.planned[place].1[end] = reading;
        }
        self.taken[host] += 1;
    }
}
