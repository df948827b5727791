//! The database: statements on a connection, the same for both kinds, and a pool of connections that
//! takes one job at a time each.

mod keys;
mod postgresql;
mod sqlite;
mod statements;

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use netstudy_records::BrokerageDatabase;

use crate::operations::{Application, Job, Outcome};
use crate::problem::Problem;

pub(crate) use keys::Keys;
pub(crate) use statements::Statement;

/// A value of a parameter.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Value<'a> {
    Int(i64),
    Text(&'a str),
    Null,
}

/// A value of a column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Cell {
    Int(i64),
    Text(String),
    Null,
}

/// A row of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Row(Vec<Cell>);

impl Row {
    /// The number in a column that is never null.
    pub(crate) fn int(&self, column: usize) -> i64 {
        self.int_or_null(column).expect("the column is a number, and not null")
    }

    pub(crate) fn int_or_null(&self, column: usize) -> Option<i64> {
        match self.0[column] {
            Cell::Int(number) => Some(number),
            _ => None,
        }
    }

    /// The text of a column; empty where it is null.
    pub(crate) fn text(&self, column: usize) -> &str {
        match &self.0[column] {
            Cell::Text(text) => text,
            _ => "",
        }
    }
}

/// The kind of an error that the database reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DatabaseProblem {
    /// It cannot be reached, or ends the connection.
    Unavailable,
    /// Its disk is full.
    Full,
    /// It is busy with another writer.
    Busy,
    /// The transaction was chosen to resolve a deadlock.
    Deadlock,
    /// The transaction would not have been serialisable.
    Serialization,
    /// It does not answer in time.
    Timeout,
    /// There is a row of that key.
    Duplicate,
    /// There are no tables.
    NotLoaded,
    /// Anything else.
    Other,
}

impl DatabaseProblem {
    /// All of them, in the order of their numbers.
    pub(crate) const ALL: [Self; 9] = [
        Self::Unavailable,
        Self::Full,
        Self::Busy,
        Self::Deadlock,
        Self::Serialization,
        Self::Timeout,
        Self::Duplicate,
        Self::NotLoaded,
        Self::Other,
    ];

    /// Its name in counters.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Unavailable => "unavailable",
            Self::Full => "full",
            Self::Busy => "busy",
            Self::Deadlock => "deadlock",
            Self::Serialization => "serialization",
            Self::Timeout => "timeout",
            Self::Duplicate => "duplicate",
            Self::NotLoaded => "not-loaded",
            Self::Other => "other",
        }
    }

    /// Whether the same transaction may succeed when it is begun again.
    pub(crate) const fn is_transient(self) -> bool {
        matches!(self, Self::Busy | Self::Deadlock | Self::Serialization)
    }
}

impl From<DatabaseProblem> for Problem {
    fn from(problem: DatabaseProblem) -> Self {
        match problem {
            DatabaseProblem::Unavailable => Self::DatabaseUnavailable,
            DatabaseProblem::Full => Self::DatabaseFull,
            DatabaseProblem::Busy | DatabaseProblem::Deadlock | DatabaseProblem::Serialization => {
                Self::DatabaseBusy
            }
            DatabaseProblem::Timeout => Self::DatabaseTimeout,
            DatabaseProblem::NotLoaded => Self::NotLoaded,
            DatabaseProblem::Duplicate | DatabaseProblem::Other => Self::DatabaseError,
        }
    }
}

/// An error of the database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DatabaseError {
    pub(crate) problem: DatabaseProblem,
    /// The database's message.
    pub(crate) message: String,
}

/// Isolation and durability of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Begin {
    /// Each statement sees the changes committed before it; changed rows are locked.
    Ordinary,
    /// All statements see the same moment.
    Snapshot,
    /// No other transaction changes the tables meanwhile, and the commit is durable.
    Alone,
    /// The commit is durable, whatever the variant says.
    Durable,
}

/// A connection to either database. Futures of SQLite's are ready at once.
pub(crate) trait Connection: Send {
    /// The rows of an answer.
    fn query(
        &mut self,
        statement: Statement,
        values: &[Value<'_>],
    ) -> impl Future<Output = Result<Vec<Row>, DatabaseError>> + Send;

    /// How many rows a statement has changed.
    fn execute(
        &mut self,
        statement: Statement,
        values: &[Value<'_>],
    ) -> impl Future<Output = Result<u64, DatabaseError>> + Send;

    /// Begins a transaction.
    fn begin(&mut self, how: Begin) -> impl Future<Output = Result<(), DatabaseError>> + Send;

    /// Commits it. After an error it is not known to be committed, nor to be rolled back.
    fn commit(&mut self) -> impl Future<Output = Result<(), DatabaseError>> + Send;

    /// Rolls it back; a connection that cannot is not used again.
    fn roll_back(&mut self) -> impl Future<Output = ()> + Send;

    /// Makes sure that no table of others is in the database, and that no other application loads it, as long as
    /// this process lives.
    fn claim_tables(&mut self) -> impl Future<Output = Result<(), DatabaseError>> + Send;

    /// Marks the tables as this application's.
    fn mark_tables(&mut self) -> impl Future<Output = Result<(), DatabaseError>> + Send;

    /// Statements in a row, for the tables themselves.
    fn run_script(&mut self, sql: &str) -> impl Future<Output = Result<(), DatabaseError>> + Send;

    /// The rows of an answer to a statement of the administration.
    fn ask(&mut self, sql: &str) -> impl Future<Output = Result<Vec<Row>, DatabaseError>> + Send;

    /// How many rows a statement of the administration has changed.
    fn change(&mut self, sql: &str) -> impl Future<Output = Result<u64, DatabaseError>> + Send;

    /// Fills a table with rows. Texts of `rows` have no tabulator, backslash or end of line.
    fn fill(
        &mut self,
        table: &str,
        columns: &[&str],
        rows: impl Iterator<Item = Vec<Cell>> + Send,
    ) -> impl Future<Output = Result<u64, DatabaseError>> + Send;

    /// Lets time pass before a transaction is begun again.
    fn pause(&mut self, time: Duration) -> impl Future<Output = ()> + Send;
}

/// A pool of connections.
#[derive(Debug)]
pub(crate) enum Database {
    Sqlite(sqlite::Pool),
    Postgresql(postgresql::Pool),
}

impl Database {
    /// Opens the database. Returns its name and version.
    pub(crate) async fn open(
        at: &BrokerageDatabase,
        pool_connections: u32,
        application: &Arc<Application>,
    ) -> Result<(Self, String), DatabaseError> {
        match at {
            BrokerageDatabase::Sqlite { file } => {
                let pool = sqlite::Pool::open(file, pool_connections, application)?;
                Ok((Self::Sqlite(pool), format!("SQLite {}", rusqlite::version())))
            }
            BrokerageDatabase::Postgresql { host, port, user, database, password } => {
                let password = password.as_ref().map(netstudy_records::Secret::exposed);
                let config = postgresql::config(host, *port, user, database, password);
                let pool = postgresql::Pool::new(config, pool_connections, application);
                let version = pool.version().await?;
                Ok((Self::Postgresql(pool), format!("PostgreSQL {version}")))
            }
        }
    }

    /// Runs a job on a connection of the pool. It runs to its end, even if nobody waits for it any
    /// more.
    pub(crate) async fn perform(&self, job: Job) -> Outcome {
        match self {
            Self::Sqlite(pool) => pool.perform(job).await,
            Self::Postgresql(pool) => pool.perform(job).await,
        }
    }
}
