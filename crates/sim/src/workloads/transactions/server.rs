//! The application server. For each page element, it takes a thread, uses a CPU, calls the database
//! over one of its connections, waits for a delay, and answers.

use netstudy_records::Place;
use netstudy_units::{Duration, Time};
use netstudy_workload::{Action, Because, Traffic, Wait};

use super::database::DatabaseWork;
use super::pending::{Outbox, Timed, Times, Traced};
use crate::host::permits::SharedPermits;
use crate::host::stations::{Call, Shared};

/// The costs of a page element, and the sizes of its messages.
#[derive(Clone, Copy, Debug)]
pub(super) struct ElementCosts {
    pub(super) request_bytes: u64,
    pub(super) response_bytes: u64,
    /// CPU time of an element. It includes the contention between the CPUs of this host.
    pub(super) cpu: Duration,
    pub(super) calls: u32,
    pub(super) call_request_bytes: u64,
    pub(super) call_response_bytes: u64,
    pub(super) delay: Duration,
}

/// Where the database is.
pub(super) enum Backend {
    /// The database is on the same host.
    Here(DatabaseWork),
    /// The database is on another host. The connections to it have the numbers after those of the
    /// users.
    There {
        /// Idle connections.
        free: Vec<u32>,
        /// For each connection to the database: the element that uses it, or used it last.
        users: Vec<u32>,
        pool: SharedPermits,
    },
}

/// The stage of a page element.
#[derive(Clone, Copy, Debug, Default)]
enum Stage {
    /// There is no element, or it waits for a thread or for the database.
    #[default]
    Waits,
    /// At a CPU.
    Cpu(Call),
    /// Waits for the delay before the answer. It uses only its thread.
    Delayed,
}

#[derive(Clone, Copy, Debug, Default)]
struct Element {
    stage: Stage,
    calls_left: u32,
}

/// The server. A user has only one element at a time, so the number of the user's connection
/// identifies the element.
pub(super) struct Server {
    costs: ElementCosts,
    stations: Shared,
    times: Times,
    /// None: their number is not limited.
    threads: Option<SharedPermits>,
    backend: Backend,
    elements: Vec<Element>,
    timed: Timed,
    outbox: Outbox,
    traced: Traced,
}

impl Server {
    /// A server whose users have the jobs of `traced`.
    pub(super) fn new(
        costs: ElementCosts,
        stations: Shared,
        times: Times,
        threads: Option<SharedPermits>,
        backend: Backend,
        traced: Traced,
    ) -> Self {
        let mut outbox = Outbox::default();
        if let Backend::There { free, .. } = &backend {
            for &connection in free {
                outbox.push(Time::ZERO, Action::Open { connection });
            }
        }
        Self {
            costs,
            stations,
            times,
            threads,
            backend,
            elements: vec![Element::default(); traced.jobs.len()],
            timed: Timed::default(),
            outbox,
            traced,
        }
    }

    fn begin(&mut self, now: Time, number: u32) {
        let cost = self.times.draw(self.costs.cpu);
        let call = self.stations.borrow_mut().work(now, cost, self.traced.job(number));
        let element = &mut self.elements[number as usize];
        *element = Element { stage: Stage::Cpu(call), calls_left: self.costs.calls };
        self.timed.push(call.done(), number);
    }

    /// Continues an element if its CPU work, delay or call of the database is over.
    fn go_on(&mut self, now: Time, number: u32) {
        let element = &mut self.elements[number as usize];
        match std::mem::take(&mut element.stage) {
            Stage::Cpu(call) => {
                let call = self.stations.borrow().renewed(&call);
                if call.done() > now {
                    element.stage = Stage::Cpu(call);
                    self.timed.push(call.done(), number);
                } else {
                    self.stations.borrow().end(&call, self.traced.call(number));
                    self.call_or_answer(now, number);
                }
            }
            Stage::Delayed => self.answer(now, number),
            Stage::Waits => self.call_or_answer(now, number),
        }
    }

    fn call_or_answer(&mut self, now: Time, number: u32) {
        let element = &mut self.elements[number as usize];
        if element.calls_left > 0 {
            element.calls_left -= 1;
            self.call(now, number);
        } else if self.costs.delay > Duration::ZERO {
            element.stage = Stage::Delayed;
            let at = now + self.times.draw(self.costs.delay);
            self.traced.pass(number, Place::Application, at);
            self.timed.push(at, number);
        } else {
            self.answer(now, number);
        }
    }

    /// Calls the database for an element, as soon as a connection is free.
    fn call(&mut self, now: Time, number: u32) {
        match &mut self.backend {
            Backend::Here(work) => work.ask(now, number),
            Backend::There { pool, .. } => {
                if pool.borrow_mut().take(now, number) {
                    self.ask(now, number);
                }
            }
        }
    }

    fn ask(&mut self, now: Time, number: u32) {
        let Backend::There { free, users, .. } = &mut self.backend else { return };
        let connection = free.pop().expect("there are as many connections as permits");
        users[connection as usize - self.elements.len()] = number;
        let bytes = self.costs.call_request_bytes;
        self.outbox.push(now, Action::Write { connection, bytes });
    }

    /// Handles an answer of the database that arrived on this connection.
    fn answered(&mut self, now: Time, connection: u32) {
        let Backend::There { free, users, pool } = &mut self.backend else { return };
        free.push(connection);
        let number = users[connection as usize - self.elements.len()];
        let waiter = pool.borrow_mut().give_back(now);
        self.traced.hear(number);
        if let Some(waiter) = waiter {
            self.traced.wait(waiter, Place::Pool, number);
            self.ask(now, waiter);
        }
        self.go_on(now, number);
    }

    fn answer(&mut self, now: Time, number: u32) {
        let bytes = self.costs.response_bytes;
        self.outbox.push(now, Action::Write { connection: number, bytes });
        let waiter = self.threads.as_ref().and_then(|all| all.borrow_mut().give_back(now));
        if let Some(waiter) = waiter {
            self.traced.wait(waiter, Place::Thread, number);
            self.begin(now, waiter);
        }
    }

    fn backend_due(&self) -> Time {
        match &self.backend {
            Backend::Here(work) => work.due(),
            Backend::There { .. } => Time::NEVER,
        }
    }

    /// Continues all elements that are due at `now`, including those whose database call on the
    /// same host is done.
    fn advance(&mut self, now: Time) {
        while let Some(number) = self.timed.pop(now) {
            self.go_on(now, number);
        }
        while let Backend::Here(work) = &mut self.backend
            && let Some(number) = work.poll(now)
        {
            self.go_on(now, number);
        }
    }
}

impl Traffic for Server {
    fn next_action(&self) -> Time {
        self.outbox.due().min(self.timed.due()).min(self.backend_due())
    }

    fn poll(&mut self, now: Time) -> Option<Action> {
        self.advance(now);
        self.outbox.pop()
    }

    fn because(&self, connection: u32) -> Because {
        let number = match (connection as usize).checked_sub(self.elements.len()) {
            None => connection,
            Some(own) => match &self.backend {
                Backend::There { users, .. } => users[own],
                Backend::Here(_) => unreachable!("the database is on the same host"),
            },
        };
        self.traced.job(number).because(Wait::Application)
    }

    fn received(&mut self, now: Time, connection: u32, before: u64, total: u64) -> bool {
        let is_user = (connection as usize) < self.elements.len();
        let bytes = if is_user { self.costs.request_bytes } else { self.costs.call_response_bytes };
        if total / bytes == before / bytes {
            return false;
        }
        if !is_user {
            self.answered(now, connection);
            return true;
        }
        self.traced.hear(connection);
        if self.threads.as_ref().is_none_or(|all| all.borrow_mut().take(now, connection)) {
            self.begin(now, connection);
        }
        true
    }
}
