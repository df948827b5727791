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
use netstudy_workload::Traffic;

use crate::host::{End, EndIndex, Hosts};

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
}

impl<T: Traffic, N> Hosts<'_, T, N> {
    /// Plans readings of all hosts at these times, which come after all planned before.
    pub(crate) fn plan_readings(&mut self, times: impl IntoIterator<Item = Time>) {
        let (hosts, ends) = (self.len(), self.ends().count());
        let readings = &mut self.measure().readings;
        readings.taken.resize(hosts, readings.passed);
        let blank = || vec![Reading::default(); ends];
        readings.planned.extend(times.into_iter().map(|at| (at, blank())));
        debug_assert!(readings.planned.iter().is_sorted_by_key(|&(at, _)| at));
        for host in 0..hosts {
            let next = self.measure().readings.next(host);
            self.lower_host_timer(host, next);
        }
    }

    /// A host has lived to its next reading.
    pub(crate) fn take_reading(&mut self, host: usize) {
        let of_host = |(place, end): (usize, &End)| {
            (end.host as usize == host).then(|| (place, self.reading(place, end)))
        };
        let found: Vec<_> = self.ends().enumerate().filter_map(of_host).collect();
        let readings = &mut self.measure().readings;
        let place = readings.taken[host] - readings.passed;
        for (end, reading) in found {
            readings.planned[place].1[end] = reading;
        }
        readings.taken[host] += 1;
    }

    /// Counters of the end at a place among all ends, up to its host's time.
    fn reading(&self, place: usize, end: &End) -> Reading {
        let (app, number) = self.application(end);
        let index = EndIndex(place as u32);
        Reading {
            counters: self.counters(index),
            sent_bytes: self.stream_bytes(index).sent,
            receiving: app.receiving(number),
        }
    }

    /// Counters of all ends at `now`, which the clock has reached. False: not planned, so hosts may be
    /// ahead of `now`.
    pub(crate) fn read_ends(&mut self, now: Time) -> (Vec<Reading>, bool) {
        if let Some(read) = self.measure().readings.at(now) {
            return (read.to_vec(), true);
        }
        (self.ends().enumerate().map(|(place, end)| self.reading(place, end)).collect(), false)
    }
}
