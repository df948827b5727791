//! `/proc/<pid>/stat` (proc(5), `fs/proc/array.c`): counters of a process, all its threads
//! included.

use super::{Columns, ParseError};

/// The columns after the process state (`R`, `S` and so on).
const COLUMNS: &[&str] = &[
    "ppid",
    "pgrp",
    "session",
    "tty_nr",
    "tpgid",
    "flags",
    "minflt",
    "cminflt",
    "majflt",
    "cmajflt",
    "utime",
    "stime",
    "cutime",
    "cstime",
    "priority",
    "nice",
    "num_threads",
    "itrealvalue",
    "starttime",
    "vsize",
    "rss",
];

/// Parses `/proc/<pid>/stat`.
///
/// # Errors
/// The text does not have the form of this file.
pub fn parse(text: &str) -> Result<Columns, ParseError> {
    // The program's name is in parentheses and may itself contain parentheses and spaces.
    let (_, behind) =
        text.rsplit_once(')').ok_or_else(|| ParseError::new("a program's name in ()", text))?;
    Columns::of_words(COLUMNS, behind.split_ascii_whitespace().skip(1))
}
