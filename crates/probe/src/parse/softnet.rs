//! `/proc/net/softnet_stat` (`softnet_seq_show` in `net/core/net-procfs.c`): one line of 32-bit
//! hexadecimal numbers per CPU.

use super::{Columns, Fields, ParseError};

const COLUMNS: &[&str] = &[
    "processed",
    "dropped",
    "time_squeeze",
    "zero 3",
    "zero 4",
    "zero 5",
    "zero 6",
    "zero 7",
    "cpu_collision",
    "received_rps",
    "flow_limit_count",
    "backlog_len",
    "index",
    "input_qlen",
    "process_qlen",
];

/// Parses the file into pairs: the number of a CPU, and its counters. Kernels before 5.10 do not
/// report the CPU's number; there the line number is used, which is right while all CPUs are
/// online.
///
/// # Errors
/// A value is not a hexadecimal number.
pub fn parse(text: &str) -> Result<Vec<(u64, Columns)>, ParseError> {
    text.lines().zip(0..).map(|(line, position)| core(line, position)).collect()
}

fn core(line: &str, position: u64) -> Result<(u64, Columns), ParseError> {
    let hexadecimal = |word| {
        u64::from_str_radix(word, 16)
            .map(Some)
            .map_err(|_| ParseError::new("a hexadecimal number", word))
    };
    let values = line.split_ascii_whitespace().map(hexadecimal).collect::<Result<_, _>>()?;
    let columns = Columns::new(COLUMNS, values);
    Ok((columns.field("index").unwrap_or(position), columns))
}
