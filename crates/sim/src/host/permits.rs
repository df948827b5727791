//! Permits of an application, such as threads, and the time for which they are in use and waited
//! for.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

use netstudy_records::Modelled;
use netstudy_units::Time;

/// What a permit allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PermitKind {
    /// To work on a page element.
    Thread,
    /// To use a connection to the database.
    PoolConnection,
    /// To work on a request of the database.
    DatabaseSlot,
}

impl PermitKind {
    /// The names of the counters in a record: time in use, and time waited.
    pub(crate) const fn counters(self) -> [&'static str; 2] {
        match self {
            Self::Thread => ["threads_busy_ns", "threads_waiting_ns"],
            Self::PoolConnection => ["pool_busy_ns", "pool_waiting_ns"],
            Self::DatabaseSlot => ["database_slots_busy_ns", "database_slots_waiting_ns"],
        }
    }

    pub(crate) const fn modelled(self) -> Modelled {
        match self {
            Self::Thread => Modelled::Threads,
            Self::PoolConnection => Modelled::Pool,
            Self::DatabaseSlot => Modelled::DatabaseSlots,
        }
    }
}

/// Times of permits up to some instant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct PermitTimes {
    /// The sum, over all permits, of the time in use.
    pub(crate) busy_ns: u64,
    /// The sum, over all jobs that wait or have waited, of the time waited.
    pub(crate) waiting_ns: u64,
}

/// Permits, shared by the application and the host whose counters include them.
pub(crate) type SharedPermits = Rc<RefCell<Permits>>;

/// A limited number of permits. If none is free, jobs wait for one in the order of arrival.
#[derive(Debug)]
pub(crate) struct Permits {
    free: u32,
    count: u32,
    waiting: VecDeque<u32>,
    /// The time of the last change.
    since: Time,
    /// The times of [`PermitTimes`] up to `since`, in picoseconds. Sums over many jobs can exceed
    /// 64 bits.
    busy_ps: u128,
    waiting_ps: u128,
}

impl Permits {
    pub(crate) fn shared(count: u32) -> SharedPermits {
        Rc::new(RefCell::new(Self {
            free: count,
            count,
            waiting: VecDeque::new(),
            since: Time::ZERO,
            busy_ps: 0,
            waiting_ps: 0,
        }))
    }

    /// Permits that no job holds.
    pub(crate) const fn free(&self) -> u32 {
        self.free
    }

    /// Requests a permit for a job. Returns whether the job gets it now. If not, a later call of
    /// [`Self::give_back`] returns the job when it gets a permit.
    pub(crate) fn take(&mut self, now: Time, job: u32) -> bool {
        self.count_up_to(now);
        if self.free == 0 {
            self.waiting.push_back(job);
            return false;
        }
        self.free -= 1;
        true
    }

    /// Gives back a permit. If jobs wait for one, the first of them gets this permit and is
    /// returned.
    pub(crate) fn give_back(&mut self, now: Time) -> Option<u32> {
        self.count_up_to(now);
        let next = self.waiting.pop_front();
        self.free += u32::from(next.is_none());
        next
    }

    /// The times up to `now`, which must not be before the last change.
    pub(crate) fn times(&self, now: Time) -> PermitTimes {
        let [busy_ps, waiting_ps] = self.up_to(now);
        PermitTimes { busy_ns: (busy_ps / 1_000) as u64, waiting_ns: (waiting_ps / 1_000) as u64 }
    }

    fn count_up_to(&mut self, now: Time) {
        [self.busy_ps, self.waiting_ps] = self.up_to(now);
        self.since = now;
    }

    fn up_to(&self, now: Time) -> [u128; 2] {
        let passed_ps = u128::from(now.since(self.since).as_ps());
        let in_use = u128::from(self.count - self.free);
        [
            self.busy_ps + in_use * passed_ps,
            self.waiting_ps + self.waiting.len() as u128 * passed_ps,
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(us: u64) -> Time {
        Time::from_ps(us * 1_000_000)
    }

    #[test]
    fn times_in_use_and_waited_are_sums_over_permits_and_jobs() {
        let permits = Permits::shared(2);
        let mut permits = permits.borrow_mut();
        // Two permits and four jobs of 10 us each, which come at 0, 2, 4 and 5 us: the third waits
        // from 4 to 10 us, the fourth from 5 to 12 us.
        assert!(permits.take(at(0), 1));
        assert!(permits.take(at(2), 2));
        assert!(!permits.take(at(4), 3));
        assert!(!permits.take(at(5), 4));
        // At 8 us: in use for 8 and 6 us, waited for 4 and 3 us.
        let half_way = PermitTimes { busy_ns: 14_000, waiting_ns: 7_000 };
        assert_eq!(permits.times(at(8)), half_way);
        assert_eq!(permits.times(at(8)), half_way, "reading changes nothing");
        assert_eq!(permits.give_back(at(10)), Some(3));
        assert_eq!(permits.give_back(at(12)), Some(4));
        assert_eq!(permits.free(), 0);
        assert_eq!(permits.give_back(at(20)), None);
        assert_eq!(permits.give_back(at(22)), None);
        let all = PermitTimes { busy_ns: 40_000, waiting_ns: 13_000 };
        assert_eq!([permits.times(at(22)), permits.times(at(50))], [all; 2]);
    }

    #[test]
    fn many_jobs_may_wait_for_long() {
        // 10,000 jobs that wait for 10 hours: more picoseconds than 64 bits hold.
        let permits = Permits::shared(1);
        let mut permits = permits.borrow_mut();
        for job in 0..10_001 {
            permits.take(at(0), job);
        }
        let ten_hours_us = 36_000_000_000;
        assert_eq!(permits.times(at(ten_hours_us)).waiting_ns, 10_000 * ten_hours_us * 1_000);
    }
}
