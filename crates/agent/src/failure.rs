//! Why an agent ends early.

use std::fmt;
use std::io;

/// The reason why an agent ended early.
#[derive(Debug)]
pub enum Failure {
    /// The plan cannot be read, or the agent cannot do what it asks for.
    Plan(String),
    /// The traffic failed.
    Run(String),
    /// The records could not be written.
    Output(io::Error),
}

impl Failure {
    /// 2 for an invalid plan, 3 for any other failure.
    #[must_use]
    pub const fn exit_code(&self) -> u8 {
        match self {
            Self::Plan(_) => 2,
            Self::Run(_) | Self::Output(_) => 3,
        }
    }

    /// Returns a function for `map_err` that turns an error into the failure of the step `what`.
    pub(crate) fn run<E: fmt::Display>(what: impl fmt::Display) -> impl FnOnce(E) -> Self {
        move |why| Self::Run(format!("{what}: {why}"))
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Plan(error) => write!(f, "the plan on standard input: {error}"),
            Self::Run(error) => f.write_str(error),
            Self::Output(error) => write!(f, "writing records to standard output: {error}"),
        }
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}
