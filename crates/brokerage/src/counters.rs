//! The server's counters. They are written without locks, and read only for snapshots.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use netstudy_records::BrokerageCounters;

use crate::database::error::DatabaseProblem;
use crate::job::Name;
use crate::problem::Problem;

/// Counters since the process started.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    operations: [AtomicU64; Name::ALL.len()],
    problems: [AtomicU64; Problem::ALL.len()],
    /// Responses by the first digit of their status: 2 to 5.
    responses: [AtomicU64; 4],
    database_problems: [AtomicU64; DatabaseProblem::ALL.len()],
    pub(crate) statements: AtomicU64,
    pub(crate) transactions: AtomicU64,
    pub(crate) retries: AtomicU64,
    pool_waits: AtomicU64,
    pool_wait_ns: AtomicU64,
    pool_busy_ns: AtomicU64,
    pub(crate) database_connects: AtomicU64,
    pub(crate) bytes_in: AtomicU64,
    pub(crate) bytes_out: AtomicU64,
    pub(crate) connections: AtomicU64,
    pub(crate) connections_closed: AtomicU64,
    pub(crate) sessions_evicted: AtomicU64,
}

/// Increments a counter.
pub(crate) fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Relaxed);
}

impl Counters {
    pub(crate) fn operation(&self, name: Name) {
        count(&self.operations[name as usize]);
    }

    pub(crate) fn problem(&self, problem: Problem) {
        count(&self.problems[problem as usize]);
    }

    pub(crate) fn response(&self, status: u16) {
        count(&self.responses[usize::from(status / 100).clamp(2, 5) - 2]);
    }

    pub(crate) fn database_problem(&self, problem: DatabaseProblem) {
        count(&self.database_problems[problem as usize]);
    }

    pub(crate) fn pool_wait(&self, waited: Duration) {
        count(&self.pool_waits);
        self.pool_wait_ns.fetch_add(waited.as_nanos() as u64, Relaxed);
    }

    /// An operation has ended that used a connection of the pool for this time.
    pub(crate) fn pool_use(&self, used: Duration) {
        self.pool_busy_ns.fetch_add(used.as_nanos() as u64, Relaxed);
    }

    /// All counters, for a record.
    pub(crate) fn read(&self, sessions: usize, threads_busy: Duration) -> BrokerageCounters {
        let of = |counter: &AtomicU64| counter.load(Relaxed);
        let responses = ["2xx", "3xx", "4xx", "5xx"].into_iter().zip(&self.responses);
        let responses: BTreeMap<_, _> =
            responses.map(|(class, count)| (class.to_owned(), of(count))).collect();
        BrokerageCounters {
            operations: named(Name::ALL.map(Name::name), &self.operations),
            errors: named(Problem::ALL.map(Problem::name), &self.problems),
            page_elements: responses.values().sum(),
            responses,
            statements: of(&self.statements),
            transactions: of(&self.transactions),
            database_errors: named(
                DatabaseProblem::ALL.map(DatabaseProblem::name),
                &self.database_problems,
            ),
            retries: of(&self.retries),
            pool_waits: of(&self.pool_waits),
            pool_wait_ns: of(&self.pool_wait_ns),
            pool_busy_ns: of(&self.pool_busy_ns),
            threads_busy_ns: threads_busy.as_nanos() as u64,
            database_connects: of(&self.database_connects),
            bytes_in: of(&self.bytes_in),
            bytes_out: of(&self.bytes_out),
            connections: of(&self.connections),
            // The two counters are not read at the same instant, so the difference may be negative.
            connections_open: of(&self.connections).saturating_sub(of(&self.connections_closed)),
            sessions: sessions as u64,
            sessions_evicted: of(&self.sessions_evicted),
        }
    }
}

fn named<const N: usize>(
    names: [&'static str; N],
    counters: &[AtomicU64; N],
) -> BTreeMap<String, u64> {
    let counts = counters.iter().map(|counter| counter.load(Relaxed));
    names.into_iter().map(str::to_owned).zip(counts).collect()
}
