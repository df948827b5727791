//! Why a session ends with an error.

use std::fmt;

/// The session could not begin or go on.
#[derive(Debug)]
pub struct Failure(String);

impl Failure {
    /// Exit code of the process.
    #[must_use]
    pub const fn exit_code(&self) -> u8 {
        3
    }

    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }

    /// Returns a function for `map_err` that turns an error into the failure of the step `what`.
    pub(crate) fn during<E: fmt::Display>(what: impl fmt::Display) -> impl FnOnce(E) -> Self {
        move |why| Self(format!("{what}: {why}"))
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
