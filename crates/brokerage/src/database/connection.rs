//! Statements on a connection, the same for both kinds of database.

use std::future::Future;
use std::time::Duration;

use super::error::DatabaseError;
use super::statements::Statement;

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
pub(crate) struct Row(pub(super) Vec<Cell>);

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
