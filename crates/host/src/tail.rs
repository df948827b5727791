//! The last lines of a stream.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read};

/// Number of lines that are kept.
const LINES: usize = 5;
/// Longest line; longer ones are split.
const LINE_BYTES: u64 = 4096;

/// Reads a stream to its end, and returns its last lines.
pub(crate) fn of(stream: impl Read) -> String {
    let mut stream = BufReader::new(stream);
    let mut last: VecDeque<Vec<u8>> = VecDeque::new();
    loop {
        let mut line = Vec::new();
        match stream.by_ref().take(LINE_BYTES).read_until(b'\n', &mut line) {
            Ok(1..) => last.push_back(line),
            // An error ends the stream: there is nobody who could do anything about it.
            Ok(_) | Err(_) => break,
        }
        if last.len() > LINES {
            last.pop_front();
        }
    }
    let text: Vec<u8> = last.into_iter().flatten().collect();
    String::from_utf8_lossy(&text).trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_five_lines_are_kept() {
        assert_eq!(of(&b""[..]), "");
        assert_eq!(of(&b"one\ntwo"[..]), "one\ntwo");
        assert_eq!(of(&b"1\n2\n3\n4\n5\n6\n7\n"[..]), "3\n4\n5\n6\n7");
        assert_eq!(of(&b"\xff\n"[..]), "\u{fffd}");
        assert_eq!(of(&vec![b'x'; 100_000][..]).len(), 100_000 % 4096 + 4 * 4096);
    }
}
