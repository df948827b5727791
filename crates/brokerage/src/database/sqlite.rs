//! Embedded SQLite. A lock inside the process makes writers take turns. SQLite can also wait for
//! another writer, but does so by sleeping and polling.

use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use rusqlite::types::{ToSql, ToSqlOutput, ValueRef};
use rusqlite::{ErrorCode, OpenFlags, params_from_iter};

use super::connection::{Begin, Cell, Connection, Row, Value};
use super::error::{DatabaseError, DatabaseProblem};
use super::statements::Statement;
use crate::application::Application;
use crate::counters::count;

/// With these settings, the write-ahead log is overwritten from its start after a checkpoint, so
/// its file does not keep growing.
const SETTINGS: &str = "PRAGMA journal_mode = WAL; PRAGMA temp_store = MEMORY; \
    PRAGMA cache_size = -65536;";

/// The right to write, which one connection has at a time.
#[derive(Debug, Default)]
pub(crate) struct Turn {
    is_taken: Mutex<bool>,
    given: Condvar,
}

impl Turn {
    fn take(&self) {
        let mut is_taken = self.is_taken.lock().unwrap_or_else(PoisonError::into_inner);
        while *is_taken {
            is_taken = self.given.wait(is_taken).unwrap_or_else(PoisonError::into_inner);
        }
        *is_taken = true;
    }

    fn give(&self) {
        *self.is_taken.lock().unwrap_or_else(PoisonError::into_inner) = false;
        self.given.notify_one();
    }
}

/// A connection, used by one thread only.
pub(crate) struct SqliteConnection {
    connection: rusqlite::Connection,
    turn: Arc<Turn>,
    application: Arc<Application>,
    is_in_transaction: bool,
    /// This connection holds the right to write.
    has_turn: bool,
}

impl SqliteConnection {
    pub(crate) fn open(
        file: &str,
        turn: &Arc<Turn>,
        application: &Arc<Application>,
    ) -> Result<Self, DatabaseError> {
        // NO_MUTEX: each connection is used by only one thread, so calls need no lock.
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
            | OpenFlags::SQLITE_OPEN_CREATE
            | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = rusqlite::Connection::open_with_flags(file, flags).map_err(error)?;
        // This timeout is only for the first statements, which may collide with another process.
        // Later, writers of this process take turns.
        connection.busy_timeout(Duration::from_secs(5)).map_err(error)?;
        connection.execute_batch(SETTINGS).map_err(error)?;
        // With a write-ahead log, NORMAL means that a power failure can undo the last commits, but
        // each of them completely.
        let synchronous = if application.settings.durable_commits { "FULL" } else { "NORMAL" };
        connection.pragma_update(None, "synchronous", synchronous).map_err(error)?;
        connection.busy_timeout(Duration::ZERO).map_err(error)?;
        connection.set_prepared_statement_cache_capacity(2 * Statement::ALL.len());
        count(&application.counters.database_connects);
        let (turn, application) = (Arc::clone(turn), Arc::clone(application));
        Ok(Self { connection, turn, application, is_in_transaction: false, has_turn: false })
    }

    /// Calls `run` with the prepared statement, which may come from the cache.
    fn with<T>(
        &self,
        sql: &str,
        run: impl FnOnce(&mut rusqlite::Statement<'_>) -> rusqlite::Result<T>,
    ) -> Result<T, DatabaseError> {
        self.application.counters.statements.fetch_add(1, Relaxed);
        if self.application.settings.statement_cache {
            self.connection.prepare_cached(sql).and_then(|mut prepared| run(&mut prepared))
        } else {
            self.connection.prepare(sql).and_then(|mut prepared| run(&mut prepared))
        }
        .map_err(error)
    }

    fn end_transaction(&mut self) {
        self.is_in_transaction = false;
        if std::mem::take(&mut self.has_turn) {
            self.turn.give();
        }
    }
}

impl ToSql for Value<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(match self {
            Self::Int(number) => ToSqlOutput::from(*number),
            Self::Text(text) => ToSqlOutput::Borrowed(ValueRef::Text(text.as_bytes())),
            Self::Null => ToSqlOutput::Borrowed(ValueRef::Null),
        })
    }
}

fn rows(
    prepared: &mut rusqlite::Statement<'_>,
    values: &[Value<'_>],
) -> rusqlite::Result<Vec<Row>> {
    let columns = prepared.column_count();
    let mut found = prepared.query(params_from_iter(values))?;
    let mut rows = Vec::new();
    while let Some(row) = found.next()? {
        let cells = (0..columns).map(|column| row.get_ref(column).map(cell));
        rows.push(Row(cells.collect::<rusqlite::Result<_>>()?));
    }
    Ok(rows)
}

fn cell(value: ValueRef<'_>) -> Cell {
    match value {
        ValueRef::Integer(number) => Cell::Int(number),
        ValueRef::Text(text) => Cell::Text(String::from_utf8_lossy(text).into_owned()),
        _ => Cell::Null,
    }
}

impl Connection for SqliteConnection {
    async fn query(
        &mut self,
        statement: Statement,
        values: &[Value<'_>],
    ) -> Result<Vec<Row>, DatabaseError> {
        self.with(statement.sql_of_sqlite(), |prepared| rows(prepared, values))
    }

    async fn execute(
        &mut self,
        statement: Statement,
        values: &[Value<'_>],
    ) -> Result<u64, DatabaseError> {
        self.with(statement.sql_of_sqlite(), |prepared| prepared.execute(params_from_iter(values)))
            .map(|changed| changed as u64)
    }

    async fn begin(&mut self, how: Begin) -> Result<(), DatabaseError> {
        if how == Begin::Snapshot {
            // This transaction only reads. It sees the database as it was at its first statement.
            self.connection.execute_batch("BEGIN").map_err(error)?;
        } else {
            // Writers take turns, so no other writer of this process is active.
            self.turn.take();
            self.has_turn = true;
            // IMMEDIATE takes the write lock at once. Otherwise a transaction that reads first and
            // then writes would fail if another process had written in between
            // (SQLITE_BUSY_SNAPSHOT).
            let begun = self.connection.execute_batch("BEGIN IMMEDIATE").map_err(error);
            if begun.is_err() {
                self.end_transaction();
                return begun;
            }
        }
        self.is_in_transaction = true;
        Ok(())
    }

    async fn claim_tables(&mut self) -> Result<(), DatabaseError> {
        Ok(()) // the database file belongs to this application
    }

    async fn mark_tables(&mut self) -> Result<(), DatabaseError> {
        Ok(())
    }

    async fn commit(&mut self) -> Result<(), DatabaseError> {
        let committed = self.connection.execute_batch("COMMIT").map_err(error);
        match committed {
            Ok(()) => self.end_transaction(),
            Err(_) => self.roll_back().await,
        }
        committed
    }

    async fn roll_back(&mut self) {
        if self.is_in_transaction {
            // After some errors SQLite rolls back by itself; then this ROLLBACK fails, which is
            // harmless.
            let _ = self.connection.execute_batch("ROLLBACK");
            self.end_transaction();
        }
    }

    async fn run_script(&mut self, sql: &str) -> Result<(), DatabaseError> {
        self.connection.execute_batch(sql).map_err(error)
    }

    async fn ask(&mut self, sql: &str) -> Result<Vec<Row>, DatabaseError> {
        self.connection.prepare(sql).and_then(|mut asked| rows(&mut asked, &[])).map_err(error)
    }

    async fn change(&mut self, sql: &str) -> Result<u64, DatabaseError> {
        self.connection.execute(sql, []).map(|changed| changed as u64).map_err(error)
    }

    async fn fill(
        &mut self,
        table: &str,
        columns: &[&str],
        rows: impl Iterator<Item = Vec<Cell>> + Send,
    ) -> Result<u64, DatabaseError> {
        let places = vec!["?"; columns.len()].join(", ");
        let sql = format!("INSERT INTO {table} ({}) VALUES ({places})", columns.join(", "));
        let mut insert = self.connection.prepare(&sql).map_err(error)?;
        let mut count = 0;
        for row in rows {
            let values = row.iter().map(Cell::as_value);
            count += insert.execute(params_from_iter(values)).map_err(error)? as u64;
        }
        Ok(count)
    }

    async fn pause(&mut self, time: Duration) {
        thread::sleep(time);
    }
}

impl Cell {
    fn as_value(&self) -> Value<'_> {
        match self {
            Self::Int(number) => Value::Int(*number),
            Self::Text(text) => Value::Text(text),
            Self::Null => Value::Null,
        }
    }
}

/// Takes the error by value, for use in `map_err`.
#[allow(clippy::needless_pass_by_value)]
fn error(error: rusqlite::Error) -> DatabaseError {
    let message = error.to_string();
    let problem = match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => DatabaseProblem::Busy,
        Some(ErrorCode::DiskFull) => DatabaseProblem::Full,
        // It must be a duplicate key: the only other constraint is NOT NULL, which no statement
        // violates.
        Some(ErrorCode::ConstraintViolation) => DatabaseProblem::Duplicate,
        Some(ErrorCode::SystemIoFailure | ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => {
            DatabaseProblem::Unavailable
        }
        // SQLite has no error code for a missing table: SQLITE_ERROR means any error in a
        // statement.
        _ if message.contains("no such table") => DatabaseProblem::NotLoaded,
        _ => DatabaseProblem::Other,
    };
    DatabaseError { problem, message }
}
