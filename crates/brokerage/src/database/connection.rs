//! The interface of a database connection. It is the same for both kinds of database.

use std::future::Future;
use std::time::Duration;

use super::error::DatabaseError;
use super::statements::Statement;

/// The value of a parameter of a statement.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Value<'a> {
    Int(i64),
    Text(&'a str),
    Null,
}

/// The value of one column in a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Cell {
    Int(i64),
    Text(String),
    Null,
}

/// A row of a query result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Row(pub(super) Vec<Cell>);

impl Row {
    /// The number in a column; panics if it is null.
    pub(crate) fn int(&self, column: usize) -> i64 {
        self.int_or_null(column).expect("the column is a number, and not null")
    }

    pub(crate) fn int_or_null(&self, column: usize) -> Option<i64> {
        match self.0[column] {
            Cell::Int(number) => Some(number),
            _ => None,
        }
    }

    /// The text of a column; empty if it is null.
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
    /// All statements see the same snapshot.
    Snapshot,
    /// No other transaction can change the tables until the commit, and the commit is durable.
    Alone,
    /// The commit is durable, whatever `durable_commits` says.
    Durable,
}

/// A connection to either database. With SQLite, all futures are ready at once, because calls
/// block.
pub(crate) trait Connection: Send {
    /// Executes a statement, and returns its rows.
    fn query(
        &mut self,
        statement: Statement,
        values: &[Value<'_>],
    ) -> impl Future<Output = Result<Vec<Row>, DatabaseError>> + Send;

    /// Executes a statement, and returns the number of changed rows.
    fn execute(
        &mut self,
        statement: Statement,
        values: &[Value<'_>],
    ) -> impl Future<Output = Result<u64, DatabaseError>> + Send;

    /// Begins a transaction.
    fn begin(&mut self, how: Begin) -> impl Future<Output = Result<(), DatabaseError>> + Send;

    /// Commits the transaction. After an error, it is unknown whether the transaction was committed or
    /// rolled back.
    fn commit(&mut self) -> impl Future<Output = Result<(), DatabaseError>> + Send;

    /// Rolls the transaction back. If that fails, the connection is not used again.
    fn roll_back(&mut self) -> impl Future<Output = ()> + Send;

    /// Fails if the database contains tables of other applications, and prevents other brokerages from
    /// loading the database while this process lives.
    fn claim_tables(&mut self) -> impl Future<Output = Result<(), DatabaseError>> + Send;

    /// Marks the tables as created by this application.
    fn mark_tables(&mut self) -> impl Future<Output = Result<(), DatabaseError>> + Send;

    /// Executes several statements, for example to create tables.
    fn run_script(&mut self, sql: &str) -> impl Future<Output = Result<(), DatabaseError>> + Send;

    /// Executes an administrative statement, and returns its rows.
    fn ask(&mut self, sql: &str) -> impl Future<Output = Result<Vec<Row>, DatabaseError>> + Send;

    /// Executes an administrative statement, and returns the number of changed rows.
    fn change(&mut self, sql: &str) -> impl Future<Output = Result<u64, DatabaseError>> + Send;

    /// Inserts rows into a table. The texts in `rows` must not contain tabs, backslashes or line ends.
    fn fill(
        &mut self,
        table: &str,
        columns: &[&str],
        rows: impl Iterator<Item = Vec<Cell>> + Send,
    ) -> impl Future<Output = Result<u64, DatabaseError>> + Send;

    /// Waits for `time` before a transaction is retried.
    fn pause(&mut self, time: Duration) -> impl Future<Output = ()> + Send;
}
