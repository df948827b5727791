//! The application server of the transactional studies: an online brokerage with ten operations, HTML
//! pages and a JSON face, over PostgreSQL or embedded SQLite.
//!
//! A request goes through three layers, each of which knows only the one below it:
//!
//! - [`web`]: HTTP connections, sessions and pages;
//! - [`operations`]: the reads and writes of each operation, written once for any database;
//! - [`database`]: a pool of connections, and the statements.
//!
//! [`control`] obeys the process's controller: a plan and commands come in, records go out.

mod books;
mod control;
mod counters;
mod database;
mod market;
mod operations;
mod population;
mod problem;
mod web;

use std::fmt;

pub use control::run;

/// Why the process ended before its time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The plan is not valid: which field, and why.
    Plan(String),
    /// The address or the database cannot be used, or the time is over.
    Testbed(String),
}

impl Failure {
    /// 2 for bad input, 3 for a testbed that failed.
    #[must_use]
    pub const fn exit_code(&self) -> u8 {
        match self {
            Self::Plan(_) => 2,
            Self::Testbed(_) => 3,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Plan(message) => write!(f, "the plan of the brokerage: {message}"),
            Self::Testbed(message) => message.fmt(f),
        }
    }
}
