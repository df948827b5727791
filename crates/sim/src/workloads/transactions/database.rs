//! The database. The number of slots is limited, and each request holds one slot from the start of
//! its CPU work to its answer. After the CPU work come its disk access, and the wait for logs and
//! for locks that other requests hold.

use netstudy_records::Place;
use netstudy_units::{Duration, Time};
use netstudy_workload::{Action, Because, Traffic, Wait};

use super::pending::{Outbox, Timed, Times, Traced};
use crate::host::permits::{PermitKind, SharedPermits};
use crate::host::stations::{Call, Shared};

/// The costs of one request.
#[derive(Clone, Copy, Debug)]
pub(super) struct RequestCosts {
    pub(super) cpu: Duration,
    /// CPU time in addition to `cpu`. It is divided by the number of requests that hold a slot.
    pub(super) shared_cpu: Duration,
    pub(super) disk: Duration,
    pub(super) hold: Duration,
    /// Wait in addition to `hold` if all other slots are in use. If fewer are in use, this wait is
    /// proportionally shorter.
    pub(super) contention: Duration,
}

/// The stage of a request.
#[derive(Clone, Copy, Debug, Default)]
enum Stage {
    #[default]
    Rests,
    /// At a CPU.
    Cpu(Call),
    /// At the disk.
    Disk,
    /// Waiting for logs and locks.
    Holds,
}

/// The work of a database. A client has only one request at a time, so the number of the client
/// identifies the request (the job).
pub(super) struct DatabaseWork {
    costs: RequestCosts,
    stations: Shared,
    times: Times,
    slots: SharedPermits,
    /// Number of slots, not counting the one that a request holds itself.
    other_slots: u32,
    stages: Vec<Stage>,
    timed: Timed,
    traced: Traced,
}

impl DatabaseWork {
    /// A database whose clients have the jobs of `traced`. Adds its slots and its disk to the stations of its host.
    pub(super) fn new(
        costs: RequestCosts,
        stations: Shared,
        times: Times,
        slots: u32,
        traced: Traced,
    ) -> Self {
        let mut at_host = stations.borrow_mut();
        let permits = at_host.add_permits(PermitKind::DatabaseSlot, slots);
        if costs.disk > Duration::ZERO {
            at_host.add_database_disk();
        }
        drop(at_host);
        Self {
            costs,
            stations,
            times,
            slots: permits,
            other_slots: slots - 1,
            stages: vec![Stage::Rests; traced.jobs.len()],
            timed: Timed::default(),
            traced,
        }
    }

    /// Handles the arrival of a request.
    pub(super) fn ask(&mut self, now: Time, job: u32) {
        if self.slots.borrow_mut().take(now, job) {
            self.begin(now, job);
        }
    }

    fn begin(&mut self, now: Time, job: u32) {
        let shared = self.costs.shared_cpu.div(self.others() + 1);
        let cost = self.times.draw(self.costs.cpu + shared);
        let call = self.stations.borrow_mut().work(now, cost, self.traced.job(job));
        self.stages[job as usize] = Stage::Cpu(call);
        self.timed.push(call.done(), job);
    }

    pub(super) fn due(&self) -> Time {
        self.timed.due()
    }

    /// Continues requests up to `now`. Returns the next one that is done.
    pub(super) fn poll(&mut self, now: Time) -> Option<u32> {
        while let Some(job) = self.timed.pop(now) {
            if self.go_on(now, job) {
                return Some(job);
            }
        }
        None
    }

    /// Moves a request to its next stage if the current stage is over. Returns whether the request
    /// is done.
    fn go_on(&mut self, now: Time, job: u32) -> bool {
        let (next, at) = match self.stages[job as usize] {
            Stage::Cpu(call) => {
                let call = self.stations.borrow().renewed(&call);
                if call.done() > now {
                    (Stage::Cpu(call), call.done())
                } else {
                    self.stations.borrow().end(&call, self.traced.call(job));
                    (Stage::Disk, self.disk(now, job))
                }
            }
            Stage::Disk => {
                let until = now + self.hold();
                self.traced.pass(job, Place::DatabaseHold, until);
                (Stage::Holds, until)
            }
            Stage::Rests | Stage::Holds => {
                self.stages[job as usize] = Stage::Rests;
                let waiter = self.slots.borrow_mut().give_back(now);
                if let Some(waiter) = waiter {
                    self.traced.wait(waiter, Place::DatabaseSlot, job);
                    self.begin(now, waiter);
                }
                return true;
            }
        };
        self.stages[job as usize] = next;
        self.timed.push(at, job);
        false
    }

    /// How long a request holds its slot after its CPU and disk work. The wait for locks is
    /// proportional to the number of other slots in use, because the requests in these slots hold
    /// the locks.
    fn hold(&mut self) -> Duration {
        let RequestCosts { hold, contention, .. } = self.costs;
        let locks = (contention * self.others()).div(u64::from(self.other_slots.max(1)));
        self.times.draw(hold + locks)
    }

    /// Number of slots in use, not counting the one that the request holds itself.
    fn others(&self) -> u64 {
        u64::from(self.other_slots - self.slots.borrow().free())
    }

    /// When the disk will have finished a request of `job` that reaches it at `now`.
    fn disk(&mut self, now: Time, job: u32) -> Time {
        if self.costs.disk == Duration::ZERO {
            return now;
        }
        let took = self.times.draw(self.costs.disk);
        let job = self.traced.job(job);
        self.stations.borrow_mut().access_database_disk(now, took, job)
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

    fn because(&self, connection: u32) -> Because {
        self.work.traced.job(connection).because(Wait::Application)
    }

    fn received(&mut self, now: Time, connection: u32, before: u64, total: u64) -> bool {
        let asked = total / self.request_bytes > before / self.request_bytes;
        if asked {
            self.work.traced.hear(connection);
            self.work.ask(now, connection);
        }
        asked
    }
}
