//! A pool of connections to PostgreSQL.
//!
//! The connection that was returned last is used next, so that a few connections stay in the CPU
//! caches. A closed connection is replaced when a connection is needed, so the pool works again
//! once the server is back.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Semaphore;
use tokio::time;
use tokio_postgres::Config;

use crate::application::Application;
use crate::database::error::{DatabaseError, DatabaseProblem};
use crate::database::postgresql::{Open, PostgresConnection, Server};
use crate::job::{Job, Outcome};
use crate::operations;
use crate::problem::Problem;

/// An operation that takes longer than this is aborted, and the connection is closed.
const OPERATION_TIMEOUT: Duration = Duration::from_secs(30);

/// The idle connections, and permits that limit how many connections are in use.
pub(crate) struct Pool(Arc<Inner>);

struct Inner {
    server: Server,
    room: Semaphore,
    idle: Mutex<Vec<Open>>,
    application: Arc<Application>,
}

impl fmt::Debug for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Pool") // the configuration contains the password
    }
}

impl Pool {
    pub(super) fn new(config: Config, connections: u32, application: &Arc<Application>) -> Self {
        let server = Server::new(config, Arc::clone(application));
        let room = Semaphore::new(connections as usize);
        let (idle, application) = (Mutex::default(), Arc::clone(application));
        Self(Arc::new(Inner { server, room, idle, application }))
    }

    /// The server's version.
    pub(super) async fn version(&self) -> Result<String, DatabaseError> {
        let open = self.0.server.connect().await?;
        let version = open.version().await?;
        self.0.give_back(open);
        Ok(version)
    }

    /// Runs the job in a separate task. Otherwise a client that disconnects could cancel a
    /// transaction between the commit and the database's reply.
    pub(super) async fn perform(&self, job: Job) -> Outcome {
        let inner = Arc::clone(&self.0);
        tokio::spawn(async move { inner.perform(&job).await })
            .await
            .unwrap_or(Outcome::Problem(Problem::DatabaseUnavailable))
    }
}

impl Inner {
    async fn perform(&self, job: &Job) -> Outcome {
        let counters = &self.application.counters;
        let permit = if let Ok(permit) = self.room.try_acquire() {
            permit
        } else {
            let since = Instant::now();
            let permit = self.room.acquire().await.expect("the pool is never closed");
            counters.pool_wait(since.elapsed());
            permit
        };
        let begun = Instant::now();
        let outcome = self.perform_at_once(job).await;
        counters.pool_use(begun.elapsed());
        drop(permit);
        outcome
    }

    /// Runs the job without waiting for a permit.
    async fn perform_at_once(&self, job: &Job) -> Outcome {
        let open = match self.take().await {
            Ok(open) => open,
            Err(error) => return operations::failed(&self.application, &error),
        };
        let mut connection = PostgresConnection::new(open, &self.server);
        let performed = operations::perform(&mut connection, &self.application, job);
        let outcome = if job.is_of_a_user() {
            time::timeout(OPERATION_TIMEOUT, performed).await.ok()
        } else {
            Some(performed.await)
        };
        // After a timeout, a statement may still be running on the connection, so it is not reused.
        if outcome.is_some()
            && let Some(open) = connection.into_open()
        {
            self.give_back(open);
        }
        outcome.unwrap_or_else(|| {
            let message = "the operation took too long".to_owned();
            let timeout = DatabaseError { problem: DatabaseProblem::Timeout, message };
            operations::failed(&self.application, &timeout)
        })
    }

    async fn take(&self) -> Result<Open, DatabaseError> {
        loop {
            let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
            match idle {
                Some(open) if open.is_closed() => {}
                Some(open) => return Ok(open),
                None => return self.server.connect().await,
            }
        }
    }

    fn give_back(&self, open: Open) {
        if !open.is_closed() {
            self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(open);
        }
    }
}
