//! Splits the byte stream of a control connection into lines.

use alloc::string::String;
use alloc::vec::Vec;

/// Maximum bytes of a line, line end included. RFC 959 has no limit; a path in Linux has up to
/// 4,096 bytes.
pub const LINE_BYTES_MAX: usize = 4_608;

/// Why a line cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadLine {
    /// It has more than [`LINE_BYTES_MAX`] bytes.
    TooLong,
    /// It is not text.
    NotText,
}

/// Joins received pieces into lines. A line ends with CR LF; a bare LF is accepted too, as in other
/// programs.
#[derive(Clone, Debug, Default)]
pub struct Lines {
    read: Vec<u8>,
    /// Number of leading bytes that are known to contain no line end.
    searched: usize,
}

impl Lines {
    /// Adds received bytes.
    pub fn push(&mut self, bytes: &[u8]) {
        self.read.extend_from_slice(bytes);
    }

    /// The next complete line, without its line end; none: the line is not complete yet. After an
    /// error, nothing more can be read from the connection.
    ///
    /// # Errors
    /// The line is too long or is not text.
    pub fn take(&mut self) -> Result<Option<String>, BadLine> {
        let found = self.read[self.searched..].iter().position(|&byte| byte == b'\n');
        let Some(end) = found.map(|at| at + self.searched) else {
            self.searched = self.read.len();
            return if self.searched >= LINE_BYTES_MAX { Err(BadLine::TooLong) } else { Ok(None) };
        };
        if end >= LINE_BYTES_MAX {
            return Err(BadLine::TooLong);
        }
        self.searched = 0;
        let mut line: Vec<u8> = self.read.drain(..=end).collect();
        line.pop();
        if line.last() == Some(&b'\r') {
            line.pop();
        }
        let is_text = |line: &String| !line.contains(|c: char| c.is_control() && c != '\t');
        String::from_utf8(line).ok().filter(is_text).map(Some).ok_or(BadLine::NotText)
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::*;

    #[test]
    fn a_line_that_comes_byte_by_byte_is_one_line() {
        let mut lines = Lines::default();
        for byte in b"USER net\r" {
            lines.push(&[*byte]);
            assert_eq!(lines.take(), Ok(None));
        }
        lines.push(b"\n");
        assert_eq!(lines.take(), Ok(Some("USER net".to_string())));
        assert_eq!(lines.take(), Ok(None));
    }

    #[test]
    fn lines_that_come_together_are_taken_one_by_one() {
        let mut lines = Lines::default();
        lines.push(b"NOOP\r\nQUIT\nPA");
        assert_eq!(lines.take(), Ok(Some("NOOP".to_string())));
        assert_eq!(lines.take(), Ok(Some("QUIT".to_string())));
        assert_eq!(lines.take(), Ok(None));
        lines.push(b"SS x\r\n");
        assert_eq!(lines.take(), Ok(Some("PASS x".to_string())));
    }

    #[test]
    fn a_line_without_an_end_is_given_up_at_the_limit() {
        let mut lines = Lines::default();
        lines.push(&[b'a'; LINE_BYTES_MAX - 1]);
        assert_eq!(lines.take(), Ok(None));
        lines.push(b"a");
        assert_eq!(lines.take(), Err(BadLine::TooLong));
        let mut at_once = Lines::default();
        at_once.push(&[b'a'; LINE_BYTES_MAX]);
        at_once.push(b"\n");
        assert_eq!(at_once.take(), Err(BadLine::TooLong));
    }

    #[test]
    fn bytes_that_are_no_text_are_no_line() {
        for bytes in [&b"RETR \xff\xfe\r\n"[..], b"RETR a\0b\r\n", b"RETR a\rb\r\n"] {
            let mut lines = Lines::default();
            lines.push(bytes);
            assert_eq!(lines.take(), Err(BadLine::NotText));
        }
    }
}
