//! Errors that the database reports.

use crate::problem::Problem;

/// The kind of an error that the database reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DatabaseProblem {
    /// The database cannot be reached, or ends the connection.
    Unavailable,
    /// The database's disk is full.
    Full,
    /// The database is busy with another writer.
    Busy,
    /// The transaction was aborted to resolve a deadlock.
    Deadlock,
    /// The transaction was aborted because it could not be serialised with concurrent transactions.
    Serialization,
    /// The database does not answer in time.
    Timeout,
    /// A row with the same key already exists.
    Duplicate,
    /// The tables do not exist yet.
    NotLoaded,
    /// Any other error.
    Other,
}

impl DatabaseProblem {
    /// All problems, in the order in which the enum lists them.
    pub(crate) const ALL: [Self; 9] = [
        Self::Unavailable,
        Self::Full,
        Self::Busy,
        Self::Deadlock,
        Self::Serialization,
        Self::Timeout,
        Self::Duplicate,
        Self::NotLoaded,
        Self::Other,
    ];

    /// The problem's name in counters.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Unavailable => "unavailable",
            Self::Full => "full",
            Self::Busy => "busy",
            Self::Deadlock => "deadlock",
            Self::Serialization => "serialization",
            Self::Timeout => "timeout",
            Self::Duplicate => "duplicate",
            Self::NotLoaded => "not-loaded",
            Self::Other => "other",
        }
    }

    /// Whether the same transaction may succeed when retried.
    pub(crate) const fn is_transient(self) -> bool {
        matches!(self, Self::Busy | Self::Deadlock | Self::Serialization)
    }
}

impl From<DatabaseProblem> for Problem {
    fn from(problem: DatabaseProblem) -> Self {
        match problem {
            DatabaseProblem::Unavailable => Self::DatabaseUnavailable,
            DatabaseProblem::Full => Self::DatabaseFull,
            DatabaseProblem::Busy | DatabaseProblem::Deadlock | DatabaseProblem::Serialization => {
                Self::DatabaseBusy
            }
            DatabaseProblem::Timeout => Self::DatabaseTimeout,
            DatabaseProblem::NotLoaded => Self::NotLoaded,
            DatabaseProblem::Duplicate | DatabaseProblem::Other => Self::DatabaseError,
        }
    }
}

/// An error of the database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DatabaseError {
    pub(crate) problem: DatabaseProblem,
    /// The database's message.
    pub(crate) message: String,
}
