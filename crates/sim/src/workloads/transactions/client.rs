//! A host that generates the load of several users. Each user has a permanent connection.

use std::cell::RefCell;
use std::rc::Rc;

use netstudy_random::Stream;
use netstudy_units::Time;
use netstudy_workload::transactions::{Answer, Generator, TransactionAction};
use netstudy_workload::{Action, Because, Traffic, Wait};

use super::recorder::Recorder;
use crate::account::{Job, MaybeTrace};

/// The outstanding request of a user.
#[derive(Clone, Copy, Debug, Default)]
struct Asked {
    sent: Time,
    first_byte: Option<Time>,
}

/// The users of a generator in the trace.
pub(super) struct TracedUsers {
    pub(super) trace: MaybeTrace,
    pub(super) jobs: Vec<Job>,
    /// The number of the first user's connection in the workload.
    pub(super) first_connection: usize,
    /// The kind of wait between transactions.
    pub(super) wait: Wait,
}

/// The load generator of a host. Connection i is that of user i.
pub(super) struct Client {
    generator: Generator<Stream>,
    request_bytes: u64,
    response_bytes: u64,
    asked: Vec<Asked>,
    /// Number of connections that are not established yet.
    opening: u32,
    /// Number of connections whose opening has not begun.
    unopened: u32,
    recorder: Rc<RefCell<Recorder>>,
    traced: TracedUsers,
}

impl Client {
    pub(super) fn new(
        generator: Generator<Stream>,
        request_bytes: u64,
        response_bytes: u64,
        recorder: Rc<RefCell<Recorder>>,
        traced: TracedUsers,
    ) -> Self {
        let users = generator.users();
        Self {
            generator,
            request_bytes,
            response_bytes,
            asked: vec![Asked::default(); users as usize],
            opening: users,
            unopened: users,
            recorder,
            traced,
        }
    }

    /// Handles an action of the generator. Returns what the driver must do; none if the action only
    /// needed to be recorded.
    fn follow(&mut self, now: Time, action: &TransactionAction) -> Option<Action> {
        let mut recorder = self.recorder.borrow_mut();
        match *action {
            TransactionAction::Request { client: connection, .. } => {
                self.asked[connection as usize] = Asked { sent: now, first_byte: None };
                return Some(Action::Write { connection, bytes: self.request_bytes });
            }
            TransactionAction::Element { intended, sent, first_byte, ended, .. } => {
                recorder.element(intended, sent, first_byte, ended);
            }
            TransactionAction::Transaction { client, operation, intended, sent, ended } => {
                recorder.transaction(operation, intended, sent, ended);
                let TracedUsers { trace, jobs, first_connection, .. } = &self.traced;
                if let Some(mut trace) = trace.get() {
                    let user = client as usize;
                    trace.end_transaction(intended, first_connection + user, jobs[user]);
                }
            }
            TransactionAction::Statistics(block) => recorder.statistics(block),
            TransactionAction::Over { .. } => {
                recorder.end(self.generator.counts());
                return Some(Action::Over);
            }
            TransactionAction::Begin { .. } => return Some(Action::Begin),
            TransactionAction::End => return Some(Action::End),
            TransactionAction::Ready => return Some(Action::Ready),
            TransactionAction::Hold => return Some(Action::Hold),
            TransactionAction::Failed { .. } => unreachable!("no simulated request fails"),
        }
        None
    }
}

impl Traffic for Client {
    fn next_action(&self) -> Time {
        if self.unopened > 0 { Time::ZERO } else { self.generator.next_action() }
    }

    fn poll(&mut self, now: Time) -> Option<Action> {
        if self.unopened > 0 {
            self.unopened -= 1;
            return Some(Action::Open { connection: self.unopened });
        }
        while let Some(action) = self.generator.poll(now) {
            let done = self.follow(now, &action);
            if done.is_some() {
                return done;
            }
        }
        None
    }

    fn because(&self, connection: u32) -> Because {
        self.traced.jobs[connection as usize].because(self.traced.wait)
    }

    fn working_since(&self) -> Time {
        self.generator.working_since()
    }

    fn go(&mut self, at: Time) -> bool {
        self.generator.go(at)
    }

    fn opened(&mut self, now: Time, _connection: u32) -> bool {
        self.opening -= 1;
        if self.opening == 0 {
            self.generator.start(now);
        }
        self.opening == 0
    }

    fn received(&mut self, now: Time, connection: u32, before: u64, total: u64) -> bool {
        let asked = &mut self.asked[connection as usize];
        let first_byte = *asked.first_byte.get_or_insert(now);
        if total / self.response_bytes == before / self.response_bytes {
            return false;
        }
        if let Some(mut trace) = self.traced.trace.get() {
            trace.hear_job(self.traced.jobs[connection as usize]);
        }
        let answer = Answer {
            sent: asked.sent,
            first_byte,
            bytes_read: self.response_bytes,
            bytes_written: self.request_bytes,
            // In the simulator, every portfolio has a holding that can be sold.
            holding: Some(1),
        };
        self.generator.answered(now, connection, answer);
        true
    }
}
