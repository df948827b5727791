//! `/proc/pressure/cpu` (`Documentation/accounting/psi.rst`): how long tasks waited for a CPU.

use super::{Fields, ParseError, number};

/// Microseconds in which some task waited (`some`), and in which all tasks waited (`full`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pressure<'a>(Vec<(&'a str, Option<u64>)>);

impl Fields for Pressure<'_> {
    fn field(&self, name: &str) -> Option<u64> {
        self.0.iter().find(|(known, _)| *known == name)?.1
    }
}

/// Parses the file.
///
/// # Errors
/// A line has no total, or its total is not a number.
pub fn parse(text: &str) -> Result<Pressure<'_>, ParseError> {
    text.lines().map(total).collect::<Result<_, _>>().map(Pressure)
}

fn total(line: &str) -> Result<(&str, Option<u64>), ParseError> {
    let name = line.split_ascii_whitespace().next().unwrap_or_default();
    let (_, total) =
        line.rsplit_once("total=").ok_or_else(|| ParseError::new("a total of a line", line))?;
    Ok((name, number(total)?))
}
