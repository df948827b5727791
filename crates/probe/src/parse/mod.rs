//! Parses the kernel's output into fields, which keep the kernel's own names. The functions do no
//! I/O: they get text or bytes, and return values.
//!
//! A field that the kernel lacks is `None`. Unknown fields are skipped: a later kernel may add
//! columns, lines and attributes.

mod columns;
pub mod diskstats;
pub mod ethtool;
pub mod flow;
pub mod interface;
pub mod key_values;
pub mod link;
pub mod mib;
pub mod netlink;
pub mod pressure;
pub mod process;
pub mod qdisc;
pub mod softnet;
pub mod stat;
pub mod tcp_info;

use std::fmt;

pub use columns::Columns;

/// Values that can be looked up by the kernel's own names.
pub trait Fields {
    /// The value of the field `name`; none: the kernel does not report it.
    fn field(&self, name: &str) -> Option<u64>;
}

/// The kernel's output does not have the expected form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError {
    /// The expected form.
    pub expected: &'static str,
    /// The text or bytes found instead.
    pub found: String,
}

impl ParseError {
    /// An error: `found` was read where `expected` should be.
    #[must_use]
    pub fn new(expected: &'static str, found: impl fmt::Display) -> Self {
        Self { expected, found: found.to_string() }
    }
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "expected {}, found {:?}", self.expected, self.found)
    }
}

impl std::error::Error for ParseError {}

/// Parses a number in a file of /proc. None for a negative number such as that of `MaxConn`, which
/// is -1: it cannot be the value of a counter.
fn number(text: &str) -> Result<Option<u64>, ParseError> {
    let error = || ParseError::new("a whole number", text);
    match text.strip_prefix('-') {
        Some(magnitude) => magnitude.parse::<u64>().map(|_| None).map_err(|_| error()),
        None => text.parse().map(Some).map_err(|_| error()),
    }
}
