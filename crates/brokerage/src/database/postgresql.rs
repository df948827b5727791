//! Connections to PostgreSQL. Each statement is prepared once per connection.

use std::error::Error as _;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use futures_util::{SinkExt, future};
use tokio::sync::Mutex as AsyncMutex;
use tokio::time;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::{IsNull, ToSql, Type, to_sql_checked};
use tokio_postgres::{Client, Config, NoTls, SimpleQueryMessage};

use super::connection::{Begin, Cell, Connection, Row, Value};
use super::error::{DatabaseError, DatabaseProblem};
use super::statements::Statement;
use crate::application::Application;
use crate::counters::count;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// SQL that begins a transaction during which no other transaction can change these tables.
const ALONE: &str = "BEGIN; SET LOCAL synchronous_commit = on; \
    LOCK TABLE account, accountprofile, holding, orders IN EXCLUSIVE MODE";
/// Bytes per message when a table is filled (COPY).
const COPY_BYTES: usize = 64 * 1024;
/// Comment that marks the application's own tables: a table without it belongs to another application.
const MARK: &str = "table of the netstudy brokerage: each load makes it anew";
const OWN_TABLES: [&str; 6] = ["account", "accountprofile", "quote", "holding", "orders", "keygen"];
/// Query for tables, views and sequences without the mark. Those that belong to the server or to
/// its extensions are not included.
const OTHERS: &str = "SELECT (n.nspname || '.' || c.relname)::text FROM pg_class c \
    JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f', 'S') \
    AND n.nspname <> 'information_schema' AND n.nspname NOT LIKE 'pg\\_%' \
    AND COALESCE(obj_description(c.oid, 'pg_class'), '') <> '";
const NOT_OF_EXTENSIONS: &str = "' AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.objid = c.oid AND \
    d.classid = 'pg_class'::regclass AND d.deptype = 'e') ORDER BY 1";
/// How many names of other tables an error message lists at most.
const NAMED: usize = 3;
/// SQL that claims the right to load a database, which only one brokerage can have at a time. The
/// right is an advisory lock of the server whose number all brokerages use.
const CLAIM: &str = "SELECT pg_try_advisory_lock(7239512118)";
/// How long to wait for the right: if another brokerage was just killed, the server needs some time
/// to close its connection.
const CLAIM_PATIENCE: Duration = Duration::from_secs(3);
const CLAIM_PAUSE: Duration = Duration::from_millis(100);

/// How to reach the server.
pub(crate) fn config(
    host: &str,
    port: u16,
    user: &str,
    database: &str,
    password: Option<&str>,
) -> Config {
    let mut config = Config::new();
    config.host(host).port(port).user(user).dbname(database);
    config.application_name("netstudy-brokerage").connect_timeout(CONNECT_TIMEOUT);
    if let Some(password) = password {
        config.password(password);
    }
    config
}

/// The server, and the right to load its database.
pub(crate) struct Server {
    config: Config,
    /// The connection that holds the right to load the database; none before the first load.
    claim: AsyncMutex<Option<Client>>,
    application: Arc<Application>,
}

/// A connection with its prepared statements, in the order of [`Statement::ALL`].
pub(crate) struct Open {
    client: Client,
    prepared: Vec<Option<tokio_postgres::Statement>>,
}

impl Open {
    pub(crate) fn is_closed(&self) -> bool {
        self.client.is_closed()
    }

    /// The server's version.
    pub(crate) async fn version(&self) -> Result<String, DatabaseError> {
        let rows = self.client.simple_query("SHOW server_version").await.map_err(error)?;
        let version = rows.iter().find_map(|message| match message {
            SimpleQueryMessage::Row(row) => row.get(0).map(str::to_owned),
            _ => None,
        });
        Ok(version.unwrap_or_default())
    }
}

impl Server {
    pub(crate) fn new(config: Config, application: Arc<Application>) -> Self {
        Self { config, claim: AsyncMutex::default(), application }
    }

    pub(crate) async fn connect(&self) -> Result<Open, DatabaseError> {
        let client = self.client().await?;
        count(&self.application.counters.database_connects);
        if !self.application.settings.durable_commits {
            client.batch_execute("SET synchronous_commit = off").await.map_err(error)?;
        }
        Ok(Open { client, prepared: vec![None; Statement::ALL.len()] })
    }

    async fn client(&self) -> Result<Client, DatabaseError> {
        let connected = time::timeout(CONNECT_TIMEOUT, self.config.connect(NoTls)).await;
        let Ok(connected) = connected else {
            let message = "the server does not answer".to_owned();
            return Err(DatabaseError { problem: DatabaseProblem::Unavailable, message });
        };
        let (client, connection) = connected.map_err(error)?;
        // This task ends when the client is dropped. If the connection fails, the running statement
        // reports the error.
        tokio::spawn(async move { drop(connection.await) });
        Ok(client)
    }

    /// Takes the right to load the database, and keeps it until this process or the server ends.
    async fn claim(&self) -> Result<(), DatabaseError> {
        let mut claim = self.claim.lock().await;
        if claim.as_ref().is_some_and(|client| !client.is_closed()) {
            return Ok(());
        }
        let client = self.client().await?;
        let since = Instant::now();
        while !client.query_one(CLAIM, &[]).await.map_err(error)?.get::<_, bool>(0) {
            if since.elapsed() > CLAIM_PATIENCE {
                let message = "another brokerage has loaded this database and is still running";
                return Err(refused(message.to_owned()));
            }
            time::sleep(CLAIM_PAUSE).await;
        }
        *claim = Some(client);
        Ok(())
    }
}

pub(crate) struct PostgresConnection<'a> {
    open: Open,
    server: &'a Server,
    /// A BEGIN statement that has not been sent yet: it is sent together with the first statement
    /// of the transaction.
    begins: Option<&'static str>,
    /// The connection cannot be used again.
    is_lost: bool,
}

impl<'a> PostgresConnection<'a> {
    pub(crate) const fn new(open: Open, server: &'a Server) -> Self {
        Self { open, server, begins: None, is_lost: false }
    }

    /// Returns the connection for the next job; none: it cannot be used again.
    pub(crate) fn into_open(self) -> Option<Open> {
        (!self.is_lost).then_some(self.open)
    }

    async fn prepared(
        &mut self,
        statement: Statement,
    ) -> Result<tokio_postgres::Statement, DatabaseError> {
        if let Some(prepared) = &self.open.prepared[statement as usize] {
            return Ok(prepared.clone());
        }
        let prepared = self.open.client.prepare(statement.sql()).await.map_err(error)?;
        if self.server.application.settings.statement_cache {
            self.open.prepared[statement as usize] = Some(prepared.clone());
        }
        Ok(prepared)
    }

    /// Takes the pending BEGIN statement; none: the next statement is not the first of a
    /// transaction.
    fn begins(&mut self) -> Option<&'static str> {
        self.server.application.counters.statements.fetch_add(1, Relaxed);
        self.begins.take()
    }
}

/// Sends a statement and returns its result. If a BEGIN is pending, it is sent just before, without
/// waiting for its result.
async fn answer<T>(
    client: &Client,
    begins: Option<&'static str>,
    statement: impl Future<Output = Result<T, tokio_postgres::Error>>,
) -> Result<T, DatabaseError> {
    let Some(begin) = begins else { return statement.await.map_err(error) };
    let (started, answered) = future::join(client.batch_execute(begin), statement).await;
    started.map_err(error)?;
    answered.map_err(error)
}

impl ToSql for Value<'_> {
    fn to_sql(
        &self,
        of: &Type,
        out: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn std::error::Error + Sync + Send>> {
        match self {
            Self::Int(number) => number.to_sql(of, out),
            Self::Text(text) => text.to_sql(of, out),
            Self::Null => Ok(IsNull::Yes),
        }
    }

    fn accepts(of: &Type) -> bool {
        matches!(*of, Type::INT8 | Type::TEXT)
    }

    to_sql_checked!();
}

fn row(row: &tokio_postgres::Row) -> Row {
    let cells = row.columns().iter().enumerate().map(|(place, column)| match *column.type_() {
        Type::INT8 => row.get::<_, Option<i64>>(place).map_or(Cell::Null, Cell::Int),
        Type::TEXT => row.get::<_, Option<String>>(place).map_or(Cell::Null, Cell::Text),
        _ => Cell::Null,
    });
    Row(cells.collect())
}

/// Appends a row to `text` in the text format of COPY.
fn line_of_copy(row: &[Cell], text: &mut String) {
    for (place, cell) in row.iter().enumerate() {
        if place > 0 {
            text.push('\t');
        }
        match cell {
            Cell::Int(number) => text.push_str(&number.to_string()),
            Cell::Text(of_cell) => text.push_str(of_cell),
            Cell::Null => text.push_str("\\N"),
        }
    }
    text.push('\n');
}

fn parameters<'a>(values: &'a [Value<'a>]) -> Vec<&'a (dyn ToSql + Sync)> {
    values.iter().map(|value| value as &(dyn ToSql + Sync)).collect()
}

impl Connection for PostgresConnection<'_> {
    async fn query(
        &mut self,
        statement: Statement,
        values: &[Value<'_>],
    ) -> Result<Vec<Row>, DatabaseError> {
        let prepared = self.prepared(statement).await?;
        let begins = self.begins();
        let (client, parameters) = (&self.open.client, parameters(values));
        let rows = answer(client, begins, client.query(&prepared, &parameters)).await?;
        Ok(rows.iter().map(row).collect())
    }

    async fn execute(
        &mut self,
        statement: Statement,
        values: &[Value<'_>],
    ) -> Result<u64, DatabaseError> {
        let prepared = self.prepared(statement).await?;
        let begins = self.begins();
        let (client, parameters) = (&self.open.client, parameters(values));
        answer(client, begins, client.execute(&prepared, &parameters)).await
    }

    async fn begin(&mut self, how: Begin) -> Result<(), DatabaseError> {
        self.begins = Some(match how {
            Begin::Ordinary => "BEGIN",
            // At this level, PostgreSQL uses one snapshot for the whole transaction, although
            // standard SQL does not require that.
            Begin::Snapshot => "BEGIN ISOLATION LEVEL REPEATABLE READ",
            Begin::Alone => ALONE,
            Begin::Durable => "BEGIN; SET LOCAL synchronous_commit = on",
        });
        Ok(())
    }

    async fn commit(&mut self) -> Result<(), DatabaseError> {
        if self.begins.take().is_some() {
            return Ok(()); // no statement was executed in the transaction
        }
        let committed = self.open.client.batch_execute("COMMIT").await.map_err(error);
        self.is_lost |= committed.is_err();
        committed
    }

    async fn roll_back(&mut self) {
        if self.begins.take().is_some() {
            return;
        }
        self.is_lost |= self.open.client.batch_execute("ROLLBACK").await.is_err();
    }

    async fn claim_tables(&mut self) -> Result<(), DatabaseError> {
        self.server.claim().await?;
        let asked = format!("{OTHERS}{MARK}{NOT_OF_EXTENSIONS}");
        let others = self.ask(&asked).await?;
        if others.is_empty() {
            return Ok(());
        }
        let names: Vec<&str> = others.iter().take(NAMED).map(|row| row.text(0)).collect();
        let more = match others.len() - names.len() {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        Err(refused(format!(
            "the database is not empty: {}{more} is not the brokerage's; name a database for the brokerage \
             alone, whose contents it may replace",
            names.join(", ")
        )))
    }

    async fn mark_tables(&mut self) -> Result<(), DatabaseError> {
        let marked = OWN_TABLES.map(|table| format!("COMMENT ON TABLE {table} IS '{MARK}';"));
        self.run_script(&marked.concat()).await
    }

    async fn run_script(&mut self, sql: &str) -> Result<(), DatabaseError> {
        let begins = self.begins();
        let client = &self.open.client;
        answer(client, begins, client.batch_execute(sql)).await
    }

    async fn ask(&mut self, sql: &str) -> Result<Vec<Row>, DatabaseError> {
        let begins = self.begins();
        let client = &self.open.client;
        let rows = answer(client, begins, client.query(sql, &[])).await?;
        Ok(rows.iter().map(row).collect())
    }

    async fn change(&mut self, sql: &str) -> Result<u64, DatabaseError> {
        let begins = self.begins();
        let client = &self.open.client;
        answer(client, begins, client.execute(sql, &[])).await
    }

    async fn fill(
        &mut self,
        table: &str,
        columns: &[&str],
        rows: impl Iterator<Item = Vec<Cell>> + Send,
    ) -> Result<u64, DatabaseError> {
        let begins = self.begins();
        let client = &self.open.client;
        let copy = format!("COPY {table} ({}) FROM STDIN", columns.join(", "));
        let sink = answer(client, begins, client.copy_in::<_, Bytes>(&copy)).await?;
        let mut sink = pin!(sink);
        let mut text = String::with_capacity(2 * COPY_BYTES);
        for row in rows {
            line_of_copy(&row, &mut text);
            if text.len() >= COPY_BYTES {
                let full = std::mem::replace(&mut text, String::with_capacity(2 * COPY_BYTES));
                sink.send(full.into()).await.map_err(error)?;
            }
        }
        sink.send(text.into()).await.map_err(error)?;
        sink.finish().await.map_err(error)
    }

    async fn pause(&mut self, time: Duration) {
        time::sleep(time).await;
    }
}

const fn refused(message: String) -> DatabaseError {
    DatabaseError { problem: DatabaseProblem::Other, message }
}

/// Takes the error by value, for use in `map_err`.
#[allow(clippy::needless_pass_by_value)]
fn error(error: tokio_postgres::Error) -> DatabaseError {
    let Some(reported) = error.as_db_error() else {
        // The error does not come from the server: the connection was lost or could not be opened.
        let message = match error.source() {
            Some(why) => format!("{error}: {why}"),
            None => error.to_string(),
        };
        return DatabaseError { problem: DatabaseProblem::Unavailable, message };
    };
    let problem = match *reported.code() {
        SqlState::T_R_DEADLOCK_DETECTED => DatabaseProblem::Deadlock,
        SqlState::T_R_SERIALIZATION_FAILURE => DatabaseProblem::Serialization,
        SqlState::LOCK_NOT_AVAILABLE => DatabaseProblem::Busy,
        SqlState::DISK_FULL => DatabaseProblem::Full,
        SqlState::UNIQUE_VIOLATION => DatabaseProblem::Duplicate,
        SqlState::UNDEFINED_TABLE => DatabaseProblem::NotLoaded,
        SqlState::QUERY_CANCELED => DatabaseProblem::Timeout,
        // The server is starting or stopping, has too many connections, or refuses the log-in. A
        // later attempt may succeed.
        SqlState::ADMIN_SHUTDOWN
        | SqlState::CRASH_SHUTDOWN
        | SqlState::CANNOT_CONNECT_NOW
        | SqlState::TOO_MANY_CONNECTIONS
        | SqlState::INVALID_CATALOG_NAME
        | SqlState::INVALID_PASSWORD
        | SqlState::INVALID_AUTHORIZATION_SPECIFICATION => DatabaseProblem::Unavailable,
        _ => DatabaseProblem::Other,
    };
    DatabaseError { problem, message: reported.to_string() }
}
