//! A brokerage in a thread, and clients that speak HTTP to it byte by byte.

pub(crate) mod http;
pub(crate) mod postgresql;

use std::io::{BufRead, BufReader, PipeReader, PipeWriter, Write, pipe};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::{self, JoinHandle};

use netstudy_brokerage::Failure;
use netstudy_records::{
    BrokerageCommand, BrokerageCounters, BrokerageDatabase, BrokeragePlan, BrokeragePlanSchema,
    BrokeragePopulation, BrokerageRecord, BrokerageSettings, Endpoint,
};

/// Users and quotes of these tests.
pub(crate) const USERS: u32 = 200;
pub(crate) const QUOTES: u32 = 100;

/// A folder that is removed with the value.
#[derive(Debug)]
pub(crate) struct Folder(pub(crate) PathBuf);

impl Folder {
    pub(crate) fn new() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("brokerage-{}-{number}", std::process::id()));
        std::fs::create_dir(&path).expect("a folder can be made");
        Self(path)
    }

    pub(crate) fn join(&self, name: &str) -> String {
        self.0.join(name).to_str().expect("the path is text").to_owned()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A plan on SQLite, to be changed by a test.
pub(crate) fn plan(file: &str) -> BrokeragePlan {
    plan_on(BrokerageDatabase::Sqlite { file: file.to_owned() })
}

pub(crate) fn plan_on(database: BrokerageDatabase) -> BrokeragePlan {
    BrokeragePlan {
        schema: BrokeragePlanSchema::V1,
        run: "5c0ffee00001".to_owned(),
        node: "application".to_owned(),
        listen: Endpoint { address: "127.0.0.1".parse().expect("an address"), port: 0 },
        database,
        pool_connections: 4,
        worker_threads: 2,
        population: BrokeragePopulation { users: USERS, quotes: QUOTES, seed: "7".to_owned() },
        settings: BrokerageSettings {
            statement_cache: true,
            durable_commits: false,
            page_images: 0,
            session_limit: 1_000,
            request_timeout_ms: 10_000,
            idle_timeout_ms: 300_000,
        },
        time_limit_ms: 120_000,
    }
}

/// A brokerage that runs.
pub(crate) struct Brokerage {
    input: Option<PipeWriter>,
    output: BufReader<PipeReader>,
    thread: Option<JoinHandle<Result<(), Failure>>>,
    pub(crate) at: SocketAddr,
}

impl Brokerage {
    /// Starts it; its tables are as they were left.
    pub(crate) fn start(plan: &BrokeragePlan) -> Self {
        Self::try_start(plan).unwrap_or_else(|message| panic!("it does not start: {message}"))
    }

    /// Starts it, and fills its tables.
    pub(crate) fn loaded(plan: &BrokeragePlan) -> Self {
        let mut brokerage = Self::start(plan);
        match brokerage.obey(&BrokerageCommand::Load {}) {
            BrokerageRecord::Done { .. } => brokerage,
            other => panic!("{other:?}"),
        }
    }

    /// The message of its error where it does not start.
    pub(crate) fn try_start(plan: &BrokeragePlan) -> Result<Self, String> {
        let (commands, input) = pipe().expect("a pipe");
        let (output, records) = pipe().expect("a pipe");
        let thread =
            thread::spawn(move || netstudy_brokerage::run(BufReader::new(commands), records));
        let at = SocketAddr::from(([127, 0, 0, 1], 0));
        let output = BufReader::new(output);
        let mut started = Self { input: Some(input), output, thread: Some(thread), at };
        started.tell(&serde_json::to_string(plan).expect("a plan is JSON"));
        match started.next() {
            BrokerageRecord::Ready { listening, .. } => {
                started.at = SocketAddr::new(listening.address, listening.port);
                Ok(started)
            }
            BrokerageRecord::Error { message } => Err(message),
            other => panic!("{other:?}"),
        }
    }

    fn tell(&mut self, line: &str) {
        let input = self.input.as_mut().expect("it is not closed");
        input.write_all(format!("{line}\n").as_bytes()).expect("it reads");
    }

    fn next(&mut self) -> BrokerageRecord {
        let mut line = String::new();
        self.output.read_line(&mut line).expect("it writes");
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"))
    }

    /// The record that answers a command.
    pub(crate) fn obey(&mut self, command: &BrokerageCommand) -> BrokerageRecord {
        self.tell(&serde_json::to_string(command).expect("a command is JSON"));
        self.next()
    }

    pub(crate) fn counters(&mut self) -> BrokerageCounters {
        match self.obey(&BrokerageCommand::Snapshot { name: "now".to_owned() }) {
            BrokerageRecord::Snapshot { counters, .. } => counters,
            other => panic!("{other:?}"),
        }
    }

    /// The counters once all connections are closed: the reason of an end is counted after it.
    pub(crate) fn counters_when_closed(&mut self) -> BrokerageCounters {
        let mut reads = std::iter::repeat_with(|| self.counters()).take(10_000);
        reads.find(|counters| counters.connections_open == 0).expect("all connections are closed")
    }

    /// The laws that the data break.
    pub(crate) fn broken_laws(&mut self) -> Vec<String> {
        match self.obey(&BrokerageCommand::Check {}) {
            BrokerageRecord::Books { balanced, detail, .. } => {
                assert_eq!(balanced, detail.is_empty());
                detail
            }
            other => panic!("{other:?}"),
        }
    }

    pub(crate) fn assert_books_balance(&mut self) {
        assert_eq!(self.broken_laws(), Vec::<String>::new());
    }

    /// Ends its input, and returns its result.
    pub(crate) fn end_of_input(mut self) -> Result<(), Failure> {
        self.input = None;
        self.thread.take().expect("it runs").join().expect("it does not panic")
    }
}

impl Drop for Brokerage {
    fn drop(&mut self) {
        self.input = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Says that a test was skipped, and why.
pub(crate) fn skipped(name: &str, reason: &str) {
    eprintln!("skipped: {name} - {reason}");
}
