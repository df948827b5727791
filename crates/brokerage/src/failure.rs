//! The error that ends the process.

use std::fmt;

/// Why the process ended early.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The plan is not valid; the message names the field and the reason.
    Plan(String),
    /// The address or the database cannot be used, or the time limit is reached.
    Testbed(String),
}

impl Failure {
    /// 2 for an invalid plan, 3 for any other failure.
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
