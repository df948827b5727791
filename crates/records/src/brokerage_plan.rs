//! Messages to and from the brokerage, which is the application server of studies with
//! transactions. Each message is a line of JSON.
//!
//! Times are nanoseconds of `CLOCK_MONOTONIC`, which all processes of a machine share.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{Endpoint, Secret};

/// The schema of [`BrokeragePlan`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum BrokeragePlanSchema {
    /// One application server with one database.
    #[serde(rename = "netstudy/brokerage/1")]
    V1,
}

/// The schema of [`BrokerageRecord`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum BrokerageRecordSchema {
    /// Counters of operations, responses, database and bytes.
    #[serde(rename = "netstudy/brokerage-record/1")]
    V1,
}

/// Configuration of the application server and its database. It is the first line of standard
/// input.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BrokeragePlan {
    /// Version of this contract.
    pub schema: BrokeragePlanSchema,
    /// Identifier of the run.
    pub run: String,
    /// The host, for messages.
    pub node: String,
    /// Address and port at which it listens. Port 0: the kernel chooses a port.
    pub listen: Endpoint,
    /// The database that holds the data.
    pub database: BrokerageDatabase,
    /// Number of connections to the database. If all are in use, an operation waits for one.
    pub pool_connections: u32,
    /// Number of threads that handle requests. An embedded database has additional threads.
    pub worker_threads: u32,
    /// The population that `load` writes to the database.
    pub population: BrokeragePopulation,
    /// The application variant.
    pub settings: BrokerageSettings,
    /// After this time the process ends by itself, with an error.
    pub time_limit_ms: u64,
}

/// The database of the brokerage.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum BrokerageDatabase {
    /// Embedded SQLite. The CPU time that it uses counts as the application server's.
    Sqlite {
        /// The database file. The write-ahead log is in the same folder.
        file: String,
    },
    /// A PostgreSQL server.
    Postgresql {
        /// An address, or the folder of the server's Unix socket.
        host: String,
        /// The server's port, which is also part of the Unix socket's name.
        port: u16,
        /// The role.
        user: String,
        /// The database.
        database: String,
        /// The role's password; none: the server asks for none.
        password: Option<Secret>,
    },
}

/// Users and quotes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BrokeragePopulation {
    /// Users `uid:0` to `uid:N-1`.
    pub users: u32,
    /// Quotes `s:0` to `s:N-1`.
    pub quotes: u32,
    /// The same seed gives the same population, byte for byte.
    pub seed: String,
}

/// Settings of an application variant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BrokerageSettings {
    /// Each connection keeps its prepared statements. Otherwise each statement is prepared each
    /// time it is executed.
    pub statement_cache: bool,
    /// A commit waits until its log is on the disk. Otherwise a crash of the machine or the
    /// database server can undo the last commits, but the books still balance.
    pub durable_commits: bool,
    /// Number of images on each page, from 0 to 9. They are page elements that browsers fetch after
    /// the page itself.
    pub page_images: u8,
    /// Maximum number of sessions. When there is one more, the oldest session is ended.
    pub session_limit: u32,
    /// Time limit for a request's header, and for its body.
    pub request_timeout_ms: u64,
    /// A connection is closed after this time without a request.
    pub idle_timeout_ms: u64,
}

/// Commands of the controller, after the plan: one per line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "command", rename_all = "kebab-case", deny_unknown_fields)]
pub enum BrokerageCommand {
    /// Create the tables anew and fill them with the population. All sessions end.
    Load {},
    /// Let the database gather statistics about its tables.
    GatherStatistics {},
    /// Undo the effects of a run: registered users, orders of sold holdings, counts of log-ins. All
    /// sessions end.
    Reset {},
    /// Check whether the books balance.
    Check {},
    /// Read all counters now.
    Snapshot {
        /// The name of the record to write.
        name: String,
    },
    /// End.
    Stop {},
}

/// One line of the brokerage's standard output.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum BrokerageRecord {
    /// The first record: the server listens, and the database has answered.
    Ready {
        /// Version of this contract.
        schema: BrokerageRecordSchema,
        /// Version of the engine.
        version: String,
        /// Identifier of the run.
        run: String,
        /// The host.
        node: String,
        /// Process id of the server.
        pid: u32,
        /// Address and port at which it listens.
        listening: Endpoint,
        /// Name and version of the database, as the database reports them.
        database: String,
    },
    /// A command has been completed.
    Done {
        /// The command.
        command: String,
        /// How long the command took.
        took_ns: u64,
        /// Rows by table or kind.
        counts: BTreeMap<String, u64>,
    },
    /// A command failed; the server goes on.
    Failed {
        /// The command.
        command: String,
        /// For people.
        message: String,
    },
    /// The answer to [`BrokerageCommand::Check`].
    Books {
        /// True when no law is broken.
        balanced: bool,
        /// Descriptions of the broken laws, for people.
        detail: Vec<String>,
        /// By name: totals (in cents if the name contains this unit), and for each law the number
        /// of rows that break it.
        figures: BTreeMap<String, i64>,
    },
    /// All counters.
    Snapshot {
        /// The name given by the command.
        name: String,
        /// When they were read.
        at_ns: u64,
        /// Their values since the process started.
        counters: BrokerageCounters,
    },
    /// Why the process ended early. This is then the last record.
    Error {
        /// For people.
        message: String,
    },
    /// End of the stream: the last record.
    End {},
}

/// Counters since the process started. Each map has an entry for every possible name, even if its
/// value is zero.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BrokerageCounters {
    /// Completed operations, by name.
    pub operations: BTreeMap<String, u64>,
    /// Failed operations and requests, by the name of the error.
    pub errors: BTreeMap<String, u64>,
    /// HTTP responses: pages, images and JSON answers, errors included.
    pub page_elements: u64,
    /// HTTP responses by class: `2xx` and so on.
    pub responses: BTreeMap<String, u64>,
    /// Statements sent to the database.
    pub statements: u64,
    /// Committed transactions, except transactions of one statement.
    pub transactions: u64,
    /// Errors of the database, by name, including errors that a retry resolved.
    pub database_errors: BTreeMap<String, u64>,
    /// How often an operation was restarted because the database was busy, or had aborted the
    /// operation to resolve a deadlock or a serialisation failure.
    pub retries: u64,
    /// Operations that waited for a connection to the database.
    pub pool_waits: u64,
    /// Total time of these waits.
    pub pool_wait_ns: u64,
    /// Total time for which operations that have ended used a connection to the database.
    pub pool_busy_ns: u64,
    /// Total time for which the worker threads worked.
    pub threads_busy_ns: u64,
    /// Connections to the database that were opened.
    pub database_connects: u64,
    /// Bytes received by HTTP connections.
    pub bytes_in: u64,
    /// Bytes sent by HTTP connections.
    pub bytes_out: u64,
    /// HTTP connections that were accepted.
    pub connections: u64,
    /// HTTP connections that are open now.
    pub connections_open: u64,
    /// Sessions now.
    pub sessions: u64,
    /// Sessions that ended because there were too many.
    pub sessions_evicted: u64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    const PLANS: &str = include_str!("../../../schema/examples/brokerage-plans.jsonl");
    const COMMANDS: &str = include_str!("../../../schema/examples/brokerage-commands.jsonl");
    const RECORDS: &str = include_str!("../../../schema/examples/brokerage-records.jsonl");

    #[test]
    fn the_examples_are_read_and_written_without_loss() {
        fn each<T: Serialize + for<'de> Deserialize<'de>>(lines: &str) {
            for line in lines.lines() {
                let value: Value = serde_json::from_str(line).expect("it is JSON");
                let message: T = serde_json::from_str(line).expect("a line is a message");
                assert_eq!(serde_json::to_value(&message).expect("a message is JSON"), value);
            }
        }
        each::<BrokeragePlan>(PLANS);
        each::<BrokerageCommand>(COMMANDS);
        each::<BrokerageRecord>(RECORDS);
    }

    #[test]
    fn a_plan_as_text_for_people_has_no_password() {
        let line = PLANS.lines().find(|line| line.contains("hush")).expect("one has a password");
        let plan: BrokeragePlan = serde_json::from_str(line).expect("it is a plan");
        let shown = format!("{plan:?}");
        assert!(shown.contains("(secret)") && !shown.contains("hush"), "{shown}");
    }

    #[test]
    fn a_setting_that_does_not_exist_is_refused_by_name() {
        let line = PLANS.lines().next().expect("there is one");
        let wrong = line.replace(r#""page_images""#, r#""page_imagess""#);
        let error = serde_json::from_str::<BrokeragePlan>(&wrong).expect_err("it is unknown");
        assert!(error.to_string().contains("unknown field `page_imagess`"), "{error}");
    }
}
