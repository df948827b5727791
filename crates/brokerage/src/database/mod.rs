//! The database: statements and connections, for PostgreSQL and SQLite.

pub(crate) mod connection;
pub(crate) mod error;
pub(crate) mod keys;
pub(crate) mod postgresql;
pub(crate) mod sqlite;
pub(crate) mod statements;
