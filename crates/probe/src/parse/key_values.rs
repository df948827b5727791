//! `/proc/meminfo` and `/proc/vmstat` (proc(5)): a name and a number per line.

use super::{Fields, ParseError, number};

/// Values by name. Values in kB (1024 bytes) are converted to bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyValues<'a>(Vec<(&'a str, Option<u64>)>);

impl Fields for KeyValues<'_> {
    fn field(&self, name: &str) -> Option<u64> {
        self.0.iter().find(|(known, _)| *known == name)?.1
    }
}

/// Parses the text of such a file.
///
/// # Errors
/// A line has no value, a value that is not a number, or an unknown unit.
pub fn parse(text: &str) -> Result<KeyValues<'_>, ParseError> {
    text.lines().map(pair).collect::<Result<_, _>>().map(KeyValues)
}

fn pair(line: &str) -> Result<(&str, Option<u64>), ParseError> {
    let mut words = line.split_ascii_whitespace();
    let name = words.next().unwrap_or_default();
    let value = number(words.next().unwrap_or_default())?;
    let factor = match words.next() {
        None => 1,
        Some("kB") => 1024,
        Some(unit) => return Err(ParseError::new("no unit or kB", unit)),
    };
    Ok((name.trim_end_matches(':'), value.map(|value| value * factor)))
}
