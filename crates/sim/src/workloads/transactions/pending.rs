//! Pending actions and jobs of server and database.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use netstudy_random::Stream;
use netstudy_records::{Place, Service};
use netstudy_units::{Duration, Time};
use netstudy_workload::Action;

use crate::account::{Job, MaybeTrace};
use crate::host::stations::FileJobs;

/// Actions that the driver has not fetched yet.
#[derive(Debug, Default)]
pub(super) struct Outbox {
    actions: VecDeque<Action>,
    since: Time,
}

impl Outbox {
    pub(super) fn push(&mut self, now: Time, action: Action) {
        if self.actions.is_empty() {
            self.since = now;
        }
        self.actions.push_back(action);
    }

    pub(super) fn pop(&mut self) -> Option<Action> {
        self.actions.pop_front()
    }

    /// When the actions are due; [`Time::NEVER`] if there are none.
    pub(super) fn due(&self) -> Time {
        if self.actions.is_empty() { Time::NEVER } else { self.since }
    }
}

/// Jobs that become due at given times. The earliest job comes first. Jobs with equal times keep
/// the order in which they were added.
#[derive(Debug, Default)]
pub(super) struct Timed {
    heap: BinaryHeap<Reverse<(Time, u64, u32)>>,
    count: u64,
}

impl Timed {
    pub(super) fn push(&mut self, at: Time, job: u32) {
        self.heap.push(Reverse((at, self.count, job)));
        self.count += 1;
    }

    pub(super) fn due(&self) -> Time {
        self.heap.peek().map_or(Time::NEVER, |Reverse((at, ..))| *at)
    }

    /// Removes the first job if it is due at `now`.
    pub(super) fn pop(&mut self, now: Time) -> Option<u32> {
        if self.due() > now {
            return None;
        }
        self.heap.pop().map(|Reverse((_, _, job))| job)
    }
}

/// An application in the trace, with the jobs that it works on.
pub(super) struct Traced {
    pub(super) trace: MaybeTrace,
    /// The node of the host.
    pub(super) host: usize,
    /// The jobs, by number.
    pub(super) jobs: Vec<Job>,
}

impl Traced {
    pub(super) fn job(&self, number: u32) -> Job {
        self.jobs[number as usize]
    }

    /// The jobs of a call that uses only a CPU.
    pub(super) fn call(&self, number: u32) -> FileJobs {
        FileJobs { call: self.job(number), ..FileJobs::default() }
    }

    /// A job goes on because of the current event.
    pub(super) fn hear(&self, number: u32) {
        if let Some(mut trace) = self.trace.get() {
            trace.hear_job(self.job(number));
        }
    }

    /// A job spends the time until `until` at a place.
    pub(super) fn pass(&self, number: u32, place: Place, until: Time) {
        if let Some(mut trace) = self.trace.get() {
            trace.pass(self.job(number), self.host, place, until);
        }
    }

    /// A job has waited for a permit, which the job `giver` gives back now.
    pub(super) fn wait(&self, number: u32, place: Place, giver: u32) {
        if let Some(mut trace) = self.trace.get() {
            trace.wait_for(self.job(number), self.host, place, self.job(giver));
        }
    }
}

/// The distribution of service times.
#[derive(Debug)]
pub(super) struct Times {
    service: Service,
    chance: Stream,
}

impl Times {
    pub(super) const fn new(service: Service, chance: Stream) -> Self {
        Self { service, chance }
    }

    pub(super) fn draw(&mut self, mean: Duration) -> Duration {
        match self.service {
            Service::Fixed => mean,
            Service::Exponential => self.chance.exponential(mean),
        }
    }
}
