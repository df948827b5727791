//! The pool of database connections, each of which runs one job at a time.

mod postgresql;
mod sqlite;

use std::sync::Arc;

use netstudy_records::BrokerageDatabase;

use crate::application::Application;
use crate::database::error::DatabaseError;
use crate::database::postgresql::config;
use crate::job::{Job, Outcome};

/// A pool of connections.
#[derive(Debug)]
pub(crate) enum Pool {
    Sqlite(sqlite::Pool),
    Postgresql(postgresql::Pool),
}

impl Pool {
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
                let config = config(host, *port, user, database, password);
                let pool = postgresql::Pool::new(config, pool_connections, application);
                let version = pool.version().await?;
                Ok((Self::Postgresql(pool), format!("PostgreSQL {version}")))
            }
        }
    }

    /// Runs a job on a connection of the pool. The job runs to its end even if the caller stops waiting.
    pub(crate) async fn perform(&self, job: Job) -> Outcome {
        match self {
            Self::Sqlite(pool) => pool.perform(job).await,
            Self::Postgresql(pool) => pool.perform(job).await,
        }
    }
}
