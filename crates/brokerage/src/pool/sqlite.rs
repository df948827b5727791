//! A pool of SQLite connections: one thread per connection, which takes jobs from a shared queue.

use std::future::Future;
use std::pin::pin;
use std::sync::atomic::{AtomicI64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::Instant;

use tokio::sync::oneshot;

use crate::application::Application;
use crate::database::error::{DatabaseError, DatabaseProblem};
use crate::database::sqlite::{SqliteConnection, Turn};
use crate::job::{Job, Outcome};
use crate::operations;
use crate::problem::Problem;

/// Threads that run jobs.
#[derive(Debug)]
pub(crate) struct Pool {
    queue: Mutex<mpsc::Sender<Waiting>>,
    /// Number of idle connections. If negative: minus the number of jobs that wait for a
    /// connection.
    free: Arc<AtomicI64>,
}

struct Waiting {
    job: Job,
    /// When the job began to wait for a connection; none: a connection was idle.
    since: Option<Instant>,
    reply: oneshot::Sender<Outcome>,
}

impl Pool {
    /// Opens all connections, so that an error is found before the first request.
    pub(super) fn open(
        file: &str,
        connections: u32,
        application: &Arc<Application>,
    ) -> Result<Self, DatabaseError> {
        let (queue, jobs) = mpsc::channel();
        let jobs = Arc::new(Mutex::new(jobs));
        let turn = Arc::new(Turn::default());
        let free = Arc::new(AtomicI64::new(i64::from(connections)));
        for number in 0..connections {
            let connection = SqliteConnection::open(file, &turn, application)?;
            let (jobs, free) = (Arc::clone(&jobs), Arc::clone(&free));
            let application = Arc::clone(application);
            thread::Builder::new()
                .name(format!("database-{number}"))
                .spawn(move || work(connection, &jobs, &free, &application))
                .map_err(|error| other(&error))?;
        }
        Ok(Self { queue: Mutex::new(queue), free })
    }

    pub(super) async fn perform(&self, job: Job) -> Outcome {
        let (reply, outcome) = oneshot::channel();
        let waits = self.free.fetch_sub(1, Relaxed) <= 0;
        let waiting = Waiting { job, since: waits.then(Instant::now), reply };
        let sent = self.queue.lock().unwrap_or_else(PoisonError::into_inner).send(waiting);
        if sent.is_err() {
            return Outcome::Problem(Problem::DatabaseUnavailable);
        }
        outcome.await.unwrap_or(Outcome::Problem(Problem::DatabaseUnavailable))
    }
}

/// Runs jobs until the pool is dropped.
fn work(
    mut connection: SqliteConnection,
    jobs: &Mutex<mpsc::Receiver<Waiting>>,
    free: &AtomicI64,
    application: &Application,
) {
    loop {
        let next = jobs.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(Waiting { job, since, reply }) = next else { return };
        if let Some(since) = since {
            application.counters.pool_wait(since.elapsed());
        }
        let begun = Instant::now();
        let outcome = at_once(operations::perform(&mut connection, application, &job));
        application.counters.pool_use(begun.elapsed());
        free.fetch_add(1, Relaxed);
        // Sending the result fails if the client has disconnected.
        let _ = reply.send(outcome);
    }
}

/// The result of a future, which must be ready at the first poll.
fn at_once<F: Future>(future: F) -> F::Output {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => output,
        Poll::Pending => unreachable!("no statement of SQLite waits for another task"),
    }
}

fn other(error: &std::io::Error) -> DatabaseError {
    DatabaseError { problem: DatabaseProblem::Other, message: error.to_string() }
}
