//! `/proc/diskstats` (`Documentation/admin-guide/iostats.rst`): one line per disk or partition.

use super::{Columns, ParseError};

/// The columns after the disk's name, as the kernel's documentation calls them. There are 11 of
/// them before Linux 4.18, and 15 before Linux 5.5.
const COLUMNS: &[&str] = &[
    "reads completed",
    "reads merged",
    "sectors read",
    "ms reading",
    "writes completed",
    "writes merged",
    "sectors written",
    "ms writing",
    "in progress",
    "ms doing I/O",
    "weighted ms doing I/O",
    "discards completed",
    "discards merged",
    "sectors discarded",
    "ms discarding",
    "flushes completed",
    "ms flushing",
];

/// Parses the file into pairs: the name of a disk or partition, and its counters.
///
/// # Errors
/// A line is without a name, or a value is not a number.
pub fn parse(text: &str) -> Result<Vec<(&str, Columns)>, ParseError> {
    text.lines().map(device).collect()
}

fn device(line: &str) -> Result<(&str, Columns), ParseError> {
    let mut words = line.split_ascii_whitespace().skip(2); // major and minor number
    let name = words.next().ok_or_else(|| ParseError::new("a device's name", line))?;
    Ok((name, Columns::of_words(COLUMNS, words)?))
}
