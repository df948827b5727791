//! The database: statements on a connection, the same for both kinds.

pub(crate) mod connection;
pub(crate) mod error;
pub(crate) mod keys;
pub(crate) mod postgresql;
pub(crate) mod sqlite;
pub(crate) mod statements;
