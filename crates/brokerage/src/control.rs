//! The communication between the process and its controller. The process reads a plan and then
//! commands, one per line, and writes records. It ends when its input ends.

use std::io::{BufRead, Write};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use netstudy_records::{
    BrokerageCommand, BrokeragePlan, BrokerageRecord, BrokerageRecordSchema, Endpoint,
};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use nix::time::{ClockId, clock_gettime};
use serde_json::Deserializer;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::time;

use crate::application::Application;
use crate::counters::Counters;
use crate::database::keys::Keys;
use crate::failure::Failure;
use crate::job::{Job, Outcome};
use crate::market::Market;
use crate::pool::Pool;
use crate::web::{Server, Sessions};

/// Most images per page.
const PAGE_IMAGES_MAX: u8 = 9;
/// Largest number of threads or connections in a plan; a larger number must be a mistake.
const WORKERS_MAX: u32 = 1_024;
/// How long the process waits for requests in progress when it ends.
const SHUTDOWN: Duration = Duration::from_millis(100);

/// Reads a plan from `input` and runs it, and then obeys the commands that follow. The run ends by
/// a command, at the end of `input` or at the plan's time limit.
///
/// # Errors
/// If the plan is not valid, the address or the database cannot be used, or the time limit is reached.
/// The last record reports the error too.
pub fn run(input: impl BufRead + Send + 'static, output: impl Write) -> Result<(), Failure> {
    let mut output = Output(output);
    let outcome = carry_out(input, &mut output);
    if let Err(failure) = &outcome {
        // Writing may fail too, for example if the failure is that the reader has gone away.
        let _ = output.write(&BrokerageRecord::Error { message: failure.to_string() });
    }
    outcome
}

fn carry_out(
    mut input: impl BufRead + Send + 'static,
    output: &mut Output<impl Write>,
) -> Result<(), Failure> {
    let mut line = String::new();
    input.read_line(&mut line).map_err(|error| Failure::Plan(error.to_string()))?;
    let plan: BrokeragePlan = serde_path_to_error::deserialize(&mut Deserializer::from_str(&line))
        .map_err(|error| Failure::Plan(error.to_string()))?;
    check(&plan)?;
    allow_many_connections();
    let runtime = runtime(plan.worker_threads)?;
    let commands = commands(input);
    let limit = Duration::from_millis(plan.time_limit_ms);
    let outcome = runtime.block_on(async {
        let over =
            || Failure::Testbed(format!("the time limit of {} ms is reached", plan.time_limit_ms));
        time::timeout(limit, obey(&plan, commands, output)).await.unwrap_or_else(|_| Err(over()))
    });
    runtime.shutdown_timeout(SHUTDOWN);
    outcome
}

fn check(plan: &BrokeragePlan) -> Result<(), Failure> {
    let wrong = |why: String| Err(Failure::Plan(why));
    let within = |name: &str, value: u32| match value {
        1..=WORKERS_MAX => Ok(()),
        _ => wrong(format!("{name}: {value} is not between 1 and {WORKERS_MAX}")),
    };
    within("pool_connections", plan.pool_connections)?;
    within("worker_threads", plan.worker_threads)?;
    if plan.population.users == 0 || plan.population.quotes == 0 {
        return wrong("population: users and quotes must be at least 1".to_owned());
    }
    let settings = &plan.settings;
    if settings.page_images > PAGE_IMAGES_MAX {
        return wrong(format!("settings.page_images: at most {PAGE_IMAGES_MAX}"));
    }
    if settings.session_limit == 0 {
        return wrong("settings.session_limit must be at least 1".to_owned());
    }
    if settings.request_timeout_ms == 0 || settings.idle_timeout_ms == 0 {
        return wrong("settings: timeouts must be at least 1 ms".to_owned());
    }
    Ok(())
}

/// Raises the limit of open files as far as the kernel allows, because each connection counts as an
/// open file.
fn allow_many_connections() {
    if let Ok((_, most)) = getrlimit(Resource::RLIMIT_NOFILE) {
        // If raising the limit fails, fewer connections can be open at once.
        let _ = setrlimit(Resource::RLIMIT_NOFILE, most, most);
    }
}

fn runtime(worker_threads: u32) -> Result<Runtime, Failure> {
    Builder::new_multi_thread()
        .worker_threads(worker_threads as usize)
        .thread_name("worker")
        .enable_io()
        .enable_time()
        .build()
        .map_err(|error| Failure::Testbed(format!("threads cannot be started: {error}")))
}

/// Returns a channel that receives commands as they arrive, and closes when the input ends.
fn commands(
    input: impl BufRead + Send + 'static,
) -> UnboundedReceiver<Result<BrokerageCommand, String>> {
    let (sender, receiver) = unbounded_channel();
    thread::spawn(move || {
        for line in input.lines().map_while(Result::ok) {
            let command = serde_json::from_str(&line).map_err(|error| error.to_string());
            if sender.send(command).is_err() {
                return;
            }
        }
    });
    receiver
}

async fn obey(
    plan: &BrokeragePlan,
    mut commands: UnboundedReceiver<Result<BrokerageCommand, String>>,
    output: &mut Output<impl Write>,
) -> Result<(), Failure> {
    let application = Arc::new(Application {
        settings: plan.settings.clone(),
        counters: Counters::default(),
        market: Market::new(&plan.population.seed),
        keys: Keys::default(),
    });
    let opened = Pool::open(&plan.database, plan.pool_connections, &application).await;
    let (pool, version) =
        opened.map_err(|error| Failure::Testbed(format!("the database: {}", error.message)))?;
    let sessions = Sessions::new(plan.settings.session_limit);
    let server = Arc::new(Server::new(application, pool, sessions));
    let listening = Arc::clone(&server).listen(&plan.listen)?;
    // Written only once the server listens, because the reader of this record may connect at once.
    output.write(&ready(plan, listening, version))?;
    while let Some(command) = commands.recv().await {
        let command =
            command.map_err(|why| Failure::Testbed(format!("a command cannot be read: {why}")))?;
        let record = match command {
            BrokerageCommand::Stop {} => return output.write(&BrokerageRecord::End {}),
            BrokerageCommand::Snapshot { name } => {
                BrokerageRecord::Snapshot { name, at_ns: now_ns(), counters: server.counters() }
            }
            BrokerageCommand::Load {} => {
                let load = Job::Load(plan.population.clone());
                administer(&server, "load", load).await
            }
            BrokerageCommand::GatherStatistics {} => {
                administer(&server, "gather-statistics", Job::GatherStatistics).await
            }
            BrokerageCommand::Reset {} => administer(&server, "reset", Job::Reset).await,
            BrokerageCommand::Check {} => administer(&server, "check", Job::Check).await,
        };
        output.write(&record)?;
    }
    Ok(())
}

fn ready(plan: &BrokeragePlan, listening: Endpoint, database: String) -> BrokerageRecord {
    BrokerageRecord::Ready {
        schema: BrokerageRecordSchema::V1,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        run: plan.run.clone(),
        node: plan.node.clone(),
        pid: std::process::id(),
        listening,
        database,
    }
}

async fn administer(server: &Server, command: &str, job: Job) -> BrokerageRecord {
    let ends_sessions = matches!(job, Job::Load(_) | Job::Reset);
    let since = Instant::now();
    let outcome = server.perform(job).await;
    let failed = |message| BrokerageRecord::Failed { command: command.to_owned(), message };
    match outcome {
        Outcome::Counts(counts) => {
            if ends_sessions {
                server.end_sessions();
            }
            let took_ns = since.elapsed().as_nanos() as u64;
            BrokerageRecord::Done { command: command.to_owned(), took_ns, counts }
        }
        Outcome::Books(books) => BrokerageRecord::Books {
            balanced: books.broken.is_empty(),
            detail: books.broken,
            figures: books.figures,
        },
        Outcome::Failed(error) => failed(error.message),
        Outcome::Problem(problem) => failed(problem.sentence().to_owned()),
        Outcome::Answer(_) => unreachable!("commands have no answer, only operations have"),
    }
}

/// The writer of records, one per line.
struct Output<W>(W);

impl<W: Write> Output<W> {
    fn write(&mut self, record: &BrokerageRecord) -> Result<(), Failure> {
        let mut line = serde_json::to_vec(record).expect("a record is JSON");
        line.push(b'\n');
        self.0
            .write_all(&line)
            .and_then(|()| self.0.flush())
            .map_err(|error| Failure::Testbed(format!("writing to standard output: {error}")))
    }
}

/// `CLOCK_MONOTONIC` now.
fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::CLOCK_MONOTONIC).expect("Linux has a monotonic clock");
    now.tv_sec().cast_unsigned() * 1_000_000_000 + now.tv_nsec().cast_unsigned()
}
