//! Replies of an FTP server: RFC 959, 4.2.

use alloc::string::String;
use core::fmt;
use core::net::Ipv4Addr;

use super::lines::{BadLine, Lines};

/// Maximum number of lines of one reply.
const REPLY_LINES_MAX: usize = 256;

/// A reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// Three digits.
    pub code: u16,
    /// The text for human readers; lines are separated by line feeds.
    pub text: String,
}

impl Reply {
    /// A reply of one line.
    pub fn new(code: u16, text: impl Into<String>) -> Self {
        Self { code, text: text.into() }
    }

    /// Whether another reply to the same command follows (codes 1yz).
    #[must_use]
    pub const fn is_preliminary(&self) -> bool {
        self.code / 100 == 1
    }

    /// The port of a reply to EPSV: `Entering Extended Passive Mode (|||6446|)` (RFC 2428, 3).
    #[must_use]
    pub fn extended_port(&self) -> Option<u16> {
        let inside = self.text.split_once('(')?.1.split_once(')')?.0;
        let delimiter = inside.chars().next()?;
        let mut fields = inside.split(delimiter);
        let is_empty = |field: Option<&str>| field == Some("");
        if !(is_empty(fields.next()) && is_empty(fields.next()) && is_empty(fields.next())) {
            return None;
        }
        let port = fields.next()?.parse().ok().filter(|&port| port > 0)?;
        (is_empty(fields.next()) && fields.next().is_none()).then_some(port)
    }

    /// Address and port of a reply to PASV: `Entering Passive Mode (h1,h2,h3,h4,p1,p2)`. The
    /// parentheses may be missing (RFC 1123, 4.1.2.6).
    #[must_use]
    pub fn passive_endpoint(&self) -> Option<(Ipv4Addr, u16)> {
        let begin = self.text.find(|c: char| c.is_ascii_digit())?;
        let digits = &self.text[begin..];
        let end = digits.find(|c: char| !c.is_ascii_digit() && c != ',').unwrap_or(digits.len());
        let mut octets = [0_u8; 6];
        let mut fields = digits[..end].split(',');
        for octet in &mut octets {
            *octet = fields.next()?.parse().ok()?;
        }
        let [a, b, c, d, high, low] = octets;
        let port = u16::from_be_bytes([high, low]);
        (fields.next().is_none() && port > 0).then(|| (Ipv4Addr::new(a, b, c, d), port))
    }
}

/// The lines as they are sent over the connection.
impl fmt::Display for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { code, text } = self;
        match text.rsplit_once('\n') {
            None => write!(f, "{code} {text}\r\n"),
            Some((before, last)) => {
                for (number, line) in before.split('\n').enumerate() {
                    match number {
                        0 => write!(f, "{code}-{line}\r\n")?,
                        // The space keeps a line from looking like a reply code.
                        _ => write!(f, " {line}\r\n")?,
                    }
                }
                write!(f, "{code} {last}\r\n")
            }
        }
    }
}

/// Why received text is not a reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BadReply {
    /// A line that cannot be read.
    Line(BadLine),
    /// A line that does not begin with a code.
    NoCode(String),
    /// A reply of too many lines.
    Endless,
}

impl fmt::Display for BadReply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line(BadLine::TooLong) => f.write_str("a reply has a line that does not end"),
            Self::Line(BadLine::NotText) => f.write_str("a reply is not text"),
            Self::NoCode(line) => write!(f, "'{line}' is not an FTP reply"),
            Self::Endless => write!(f, "a reply has more than {REPLY_LINES_MAX} lines"),
        }
    }
}

/// Joins lines into replies.
#[derive(Clone, Debug, Default)]
pub struct Replies {
    lines: Lines,
    /// An incomplete reply of several lines, and the number of its lines so far.
    begun: Option<(Reply, usize)>,
}

impl Replies {
    /// Adds received bytes.
    pub fn push(&mut self, bytes: &[u8]) {
        self.lines.push(bytes);
    }

    /// The next complete reply; none: the reply is not complete yet. After an error, nothing more
    /// can be read from the connection.
    ///
    /// # Errors
    /// The received text is not a reply.
    pub fn take(&mut self) -> Result<Option<Reply>, BadReply> {
        while let Some(line) = self.lines.take().map_err(BadReply::Line)? {
            if let Some(reply) = self.add(line)? {
                return Ok(Some(reply));
            }
        }
        Ok(None)
    }

    /// Adds a line. In a reply of several lines, the first line has a hyphen after the code, and
    /// the last line has the same code and a space.
    fn add(&mut self, line: String) -> Result<Option<Reply>, BadReply> {
        let Some((reply, count)) = &mut self.begun else {
            let Some(code) = code(&line) else { return Err(BadReply::NoCode(line)) };
            let reply = Reply::new(code, line.get(4..).unwrap_or_default());
            if line.as_bytes().get(3) == Some(&b'-') {
                self.begun = Some((reply, 1));
                return Ok(None);
            }
            return Ok(Some(reply));
        };
        *count += 1;
        if *count > REPLY_LINES_MAX {
            return Err(BadReply::Endless);
        }
        let is_last = code(&line) == Some(reply.code) && line.as_bytes().get(3) != Some(&b'-');
        let text = if is_last { line.get(4..).unwrap_or_default() } else { line.as_str() };
        reply.text.push('\n');
        reply.text.push_str(text);
        Ok(if is_last { self.begun.take().map(|(reply, _)| reply) } else { None })
    }
}

/// The code at the start of a line. It must be followed by a space, a hyphen or the end of the
/// line.
fn code(line: &str) -> Option<u16> {
    let digits = line.get(..3)?;
    let is_code = matches!(digits.as_bytes(), [b'1'..=b'5', b'0'..=b'5', b'0'..=b'9']);
    let is_apart = matches!(line.as_bytes().get(3), None | Some(b' ' | b'-'));
    (is_code && is_apart).then(|| digits.parse().ok())?
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;
    use alloc::vec;
    use alloc::vec::Vec;

    use super::*;

    fn replies(text: &str) -> Result<Vec<Reply>, BadReply> {
        let mut replies = Replies::default();
        replies.push(text.as_bytes());
        let mut found = Vec::new();
        while let Some(reply) = replies.take()? {
            found.push(reply);
        }
        Ok(found)
    }

    #[test]
    fn every_code_is_read_back_as_it_is_written() {
        for code in 100..600 {
            let reply = Reply::new(code, "so it is");
            let read = replies(&reply.to_string());
            if code / 10 % 10 <= 5 {
                assert_eq!(read, Ok(vec![reply]), "{code}");
            } else {
                assert!(matches!(read, Err(BadReply::NoCode(_))), "{code} has no such class");
            }
        }
    }

    #[test]
    fn a_reply_of_several_lines_ends_with_its_code_and_a_space() {
        let text = "211-Features:\r\n EPSV\r\n211-SIZE\r\n 211 is within\r\n226 too\r\n211 End\r\n220 x\r\n";
        let [features, greeting] = &replies(text).expect("two replies")[..] else { panic!() };
        assert_eq!(features.code, 211);
        assert_eq!(features.text, "Features:\n EPSV\n211-SIZE\n 211 is within\n226 too\nEnd");
        assert_eq!(*greeting, Reply::new(220, "x"));
    }

    #[test]
    fn several_lines_are_read_back_with_their_number() {
        let reply = Reply::new(211, "Features:\nEPSV\nSIZE\nEnd");
        let read = replies(&reply.to_string()).expect("it is one");
        assert_eq!(read, [Reply::new(211, "Features:\n EPSV\n SIZE\nEnd")]);
    }

    #[test]
    fn a_reply_in_pieces_is_whole_with_its_last_byte() {
        let text = "230-Welcome\r\n230 Logged in\r\n";
        for cut in 1..text.len() {
            let mut replies = Replies::default();
            replies.push(&text.as_bytes()[..cut]);
            assert_eq!(replies.take(), Ok(None), "after {cut} bytes");
            replies.push(&text.as_bytes()[cut..]);
            assert_eq!(replies.take(), Ok(Some(Reply::new(230, "Welcome\nLogged in"))));
        }
    }

    #[test]
    fn a_line_that_is_no_reply_is_told() {
        for text in ["SSH-2.0-OpenSSH\r\n", "22 x\r\n", "2200 x\r\n", "620 x\r\n", "\r\n"] {
            assert!(matches!(replies(text), Err(BadReply::NoCode(_))), "{text:?}");
        }
        let endless = "211-a\r\n".to_string() + &" b\r\n".repeat(REPLY_LINES_MAX);
        assert_eq!(replies(&endless), Err(BadReply::Endless));
    }

    #[test]
    fn ports_are_found_in_the_replies_of_passive_mode() {
        let extended = |text: &str| Reply::new(229, text).extended_port();
        assert_eq!(extended("Entering Extended Passive Mode (|||6446|)"), Some(6446));
        assert_eq!(extended("Entering (!!!65535!)"), Some(65535));
        for text in ["none", "(|||0|)", "(|||65536|)", "(|1|10.0.0.1|6446|)", "(|||6446", "(6446)"]
        {
            assert_eq!(extended(text), None, "{text}");
        }
        let passive = |text: &str| Reply::new(227, text).passive_endpoint();
        let endpoint = Some((Ipv4Addr::new(10, 77, 0, 1), 40_000));
        assert_eq!(passive("Entering Passive Mode (10,77,0,1,156,64)."), endpoint);
        assert_eq!(passive("Entering Passive Mode 10,77,0,1,156,64"), endpoint);
        for text in
            ["none", "(10,77,0,1,156)", "(10,77,0,256,1,1)", "(10,77,0,1,0,0)", "(1,2,3,4,5,6,7)"]
        {
            assert_eq!(passive(text), None, "{text}");
        }
    }
}
