//! `/proc/stat` (proc(5), `fs/proc/stat.c`): how long each CPU was in each state, in ticks, and
//! counts of events of the host.

use super::{Columns, Fields, ParseError, number};

/// The states of a CPU (user, nice, system and so on), in the order of the columns. `user` includes
/// `guest`, and `nice` includes `guest_nice`.
const STATES: &[&str] = &[
    "cpu user",
    "cpu nice",
    "cpu system",
    "cpu idle",
    "cpu iowait",
    "cpu irq",
    "cpu softirq",
    "cpu steal",
    "cpu guest",
    "cpu guest_nice",
];

/// The content of `/proc/stat`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stat<'a> {
    /// For each online CPU: its name, and the ticks it has spent in each state.
    pub cores: Vec<(&'a str, Columns)>,
    /// Counts of events since the host started, and how many processes now run or wait for a disk.
    pub events: Events<'a>,
}

/// The first number of each line that is not about a CPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Events<'a>(Vec<(&'a str, Option<u64>)>);

impl Fields for Events<'_> {
    fn field(&self, name: &str) -> Option<u64> {
        self.0.iter().find(|(known, _)| *known == name)?.1
    }
}

/// Parses `/proc/stat`.
///
/// # Errors
/// A value is not a number, or there is no CPU.
pub fn parse(text: &str) -> Result<Stat<'_>, ParseError> {
    let mut stat = Stat { cores: Vec::new(), events: Events(Vec::new()) };
    for line in text.lines() {
        let mut words = line.split_ascii_whitespace();
        match words.next() {
            // The line with the kernel's own sum over all CPUs is skipped, because we sum over the
            // CPUs ourselves, as for all sources with several parts.
            Some("cpu") | None => {}
            Some(name) if name.starts_with("cpu") => {
                stat.cores.push((name, Columns::of_words(STATES, words)?));
            }
            Some(name) => stat.events.0.push((name, number(words.next().unwrap_or_default())?)),
        }
    }
    if stat.cores.is_empty() {
        return Err(ParseError::new("a line of a CPU", text.lines().next().unwrap_or_default()));
    }
    Ok(stat)
}
