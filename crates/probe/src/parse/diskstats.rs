//! `/proc/diskstats` (`Documentation/admin-guide/iostats.rst`): a line a disk or partition.

use super::{Columns, ParseError};

/// The columns behind the name. The kernel's page numbers them; these are the words it uses. Linux before
/// 4.18 tells 11, before 5.5 15.
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

/// Reads it: disks and partitions with their counters.
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
