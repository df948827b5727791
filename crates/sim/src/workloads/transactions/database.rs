//! The database: a request holds one of a few slots for its CPU work, its part of the disk, and the time
//! that it waits for logs, and for locks that others hold.

use netstudy_units::{Duration, Time};
use netstudy_workload::{Action, Traffic};

use super::pending::{Outbox, Permits, Timed, Times};
use crate::host::stations::{Call, Shared};

/// The costs of one request.
#[derive(Clone, Copy, Debug)]
pub(super) struct RequestCosts {
    pub(super) cpu: Duration,
    /// Further CPU time, spent once for all requests that hold a slot.
    pub(super) shared_cpu: Duration,
    pub(super) disk: Duration,
    pub(super) hold: Duration,
    /// Further waiting where all other slots are in use.
    pub(super) contention: Duration,
}

/// How far a request is.
#[derive(Clone, Copy, Debug, Default)]
enum Stage {
    #[default]
    Rests,
    /// At a CPU.
    Cpu(Call),
    /// At the disk.
    Disk,
    /// It holds its slot.
    Holds,
}

/// The work of a database. A job has the number of its asker, which has one job at a time.
pub(super) struct DatabaseWork {
    costs: RequestCosts,
    stations: Shared,
    times: Times,
    slots: Permits,
    /// Number of slots apart from a request's own.
    other_slots: u32,
    stages: Vec<Stage>,
    timed: Timed,
    /// When the disk has done all that it was asked for.
    disk_free_at: Time,
}

impl DatabaseWork {
    /// The database of this many askers.
    pub(super) fn new(
        costs: RequestCosts,
        stations: Shared,
        times: Times,
        slots: u32,
        askers: usize,
    ) -> Self {
        Self {
            costs,
            stations,
            times,
            slots: Permits::new(slots),
            other_slots: slots - 1,
            stages: vec![Stage::Rests; askers],
            timed: Timed::default(),
            disk_free_at: Time::ZERO,
        }
    }

    /// A request has come.
    pub(super) fn ask(&mut self, now: Time, job: u32) {
        if self.slots.take(job) {
            self.begin(now, job);
        }
    }

    fn begin(&mut self, now: Time, job: u32) {
        let shared = self.costs.shared_cpu.div(self.others() + 1);
        let cost = self.times.draw(self.costs.cpu + shared);
        let call = self.stations.borrow_mut().work(now, cost);
        self.stages[job as usize] = Stage::Cpu(call);
        self.timed.push(call.done(), job);
    }

    pub(super) fn due(&self) -> Time {
        self.timed.due()
    }

    /// The next request that is done at `now`.
    pub(super) fn poll(&mut self, now: Time) -> Option<u32> {
        while let Some(job) = self.timed.pop(now) {
            if self.go_on(now, job) {
                return Some(job);
            }
        }
        None
    }

    /// Goes on with a request if its stage is over. Returns whether the request is done.
    fn go_on(&mut self, now: Time, job: u32) -> bool {
        let (next, at) = match self.stages[job as usize] {
            Stage::Cpu(call) => {
                let call = self.stations.borrow().renewed(&call);
                if call.done() > now {
                    (Stage::Cpu(call), call.done())
                } else {
                    (Stage::Disk, self.disk(now))
                }
            }
            Stage::Disk => (Stage::Holds, now + self.hold()),
            Stage::Rests | Stage::Holds => {
                self.stages[job as usize] = Stage::Rests;
                if let Some(waiter) = self.slots.give_back() {
                    self.begin(now, waiter);
                }
                return true;
            }
        };
        self.stages[job as usize] = next;
        self.timed.push(at, job);
        false
    }

    /// How long a request holds its slot after its work. Other requests hold the locks, so it waits in proportion to
    /// the other slots in use.
    fn hold(&mut self) -> Duration {
        let RequestCosts { hold, contention, .. } = self.costs;
        let locks = (contention * self.others()).div(u64::from(self.other_slots.max(1)));
        self.times.draw(hold + locks)
    }

    /// Number of other slots in use, as a request sees it that holds one.
    fn others(&self) -> u64 {
        u64::from(self.other_slots - self.slots.free())
    }

    /// When the disk has done its part.
    fn disk(&mut self, now: Time) -> Time {
        if self.costs.disk == Duration::ZERO {
            return now;
        }
        self.disk_free_at = self.disk_free_at.max(now) + self.times.draw(self.costs.disk);
        self.disk_free_at
    }
}

/// The host of the database. A request is complete when all its bytes have arrived.
pub(super) struct Database {
    work: DatabaseWork,
    request_bytes: u64,
    response_bytes: u64,
    outbox: Outbox,
}

impl Database {
    pub(super) fn new(work: DatabaseWork, request_bytes: u64, response_bytes: u64) -> Self {
        Self { work, request_bytes, response_bytes, outbox: Outbox::default() }
    }
}

impl Traffic for Database {
    fn next_action(&self) -> Time {
        self.outbox.due().min(self.work.due())
    }

    fn poll(&mut self, now: Time) -> Option<Action> {
        while let Some(connection) = self.work.poll(now) {
            let bytes = self.response_bytes;
            self.outbox.push(now, Action::Write { connection, bytes });
        }
        self.outbox.pop()
    }

    fn received(&mut self, now: Time, connection: u32, before: u64, total: u64) -> bool {
        let asked = total / self.request_bytes > before / self.request_bytes;
        if asked {
            self.work.ask(now, connection);
        }
        asked
    }
}
