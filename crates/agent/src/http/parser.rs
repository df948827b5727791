//! An incremental parser of HTTP/1.1 responses (RFC 9112).
//!
//! The parser does not store the body: it passes pieces to a sink, and finds the end of the
//! response. If a line is split between two reads, its beginning is kept, so it does not matter how
//! a response is split into reads.

use netstudy_workload::transactions::ServerFailure;

/// Largest size of a response's head, and of its trailers together.
const HEAD_BYTES_MAX: usize = 64 * 1024;
/// Largest size of the line that announces the size of a chunk.
const CHUNK_LINE_BYTES_MAX: usize = 256;

/// Receives the contents of a response from the parser.
pub(super) trait Sink {
    /// The value of a `Set-Cookie` header.
    fn cookie(&mut self, value: &[u8]);
    /// A piece of the body.
    fn body(&mut self, piece: &[u8]);
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    StatusLine,
    Header,
    /// In the body, with this many bytes left.
    Body(u64),
    ChunkSize,
    /// In a chunk, with this many bytes left.
    Chunk(u64),
    /// At the line end after a chunk.
    ChunkEnd,
    Trailer,
    /// In a body that ends when the server closes the connection.
    UntilClose,
    Done,
}

/// Parses one response after the other.
#[derive(Clone, Debug)]
pub(super) struct Parser {
    state: State,
    /// The beginning of a line that is split between reads.
    line: Vec<u8>,
    /// Bytes of the head, or of the trailers, so far.
    head_bytes: usize,
    status: u16,
    length: Option<u64>,
    is_chunked: bool,
    closes: bool,
}

impl Parser {
    pub(super) const fn new() -> Self {
        Self {
            state: State::StatusLine,
            line: Vec::new(),
            head_bytes: 0,
            status: 0,
            length: None,
            is_chunked: false,
            closes: false,
        }
    }

    /// Prepares for the next response.
    pub(super) fn begin(&mut self) {
        self.line.clear();
        *self = Self { line: std::mem::take(&mut self.line), ..Self::new() };
    }

    /// Whether the response is complete.
    pub(super) fn is_done(&self) -> bool {
        self.state == State::Done
    }

    /// The status of a response whose status line has been parsed.
    pub(super) const fn status(&self) -> u16 {
        self.status
    }

    /// Whether the server will close the connection after this response.
    pub(super) const fn closes(&self) -> bool {
        self.closes
    }

    /// Called when the server has closed the connection. Returns whether the response is complete.
    pub(super) fn close(&mut self) -> bool {
        if self.state == State::UntilClose {
            self.state = State::Done;
        }
        self.is_done()
    }

    /// Parses received bytes. Returns how many of them belong to this response.
    ///
    /// # Errors
    /// The bytes are not a valid HTTP response, or one that the parser does not support.
    pub(super) fn push(
        &mut self,
        bytes: &[u8],
        sink: &mut impl Sink,
    ) -> Result<usize, ServerFailure> {
        let mut rest = bytes;
        while !rest.is_empty() && self.state != State::Done {
            match self.state {
                State::Body(left) => {
                    let left = left - self.carry(&mut rest, left, sink);
                    self.state = if left == 0 { State::Done } else { State::Body(left) };
                }
                State::Chunk(left) => {
                    let left = left - self.carry(&mut rest, left, sink);
                    self.state = if left == 0 { State::ChunkEnd } else { State::Chunk(left) };
                }
                State::UntilClose => {
                    self.carry(&mut rest, u64::MAX, sink);
                }
                _ => self.take_line(&mut rest, sink)?,
            }
        }
        Ok(bytes.len() - rest.len())
    }

    /// Passes up to `most` bytes of the body to the sink. Returns how many.
    #[allow(clippy::unused_self, reason = "reads as a step of the parser")]
    fn carry(&self, rest: &mut &[u8], most: u64, sink: &mut impl Sink) -> u64 {
        let count = most.min(rest.len() as u64);
        let (piece, later) = rest.split_at(count as usize);
        sink.body(piece);
        *rest = later;
        count
    }

    /// Handles the next line if it is complete; otherwise keeps what has arrived of it.
    fn take_line(&mut self, rest: &mut &[u8], sink: &mut impl Sink) -> Result<(), ServerFailure> {
        let end = rest.iter().position(|&byte| byte == b'\n');
        let (piece, later) = rest.split_at(end.map_or(rest.len(), |end| end + 1));
        *rest = later;
        self.head_bytes += piece.len();
        if self.head_bytes > HEAD_BYTES_MAX {
            return Err(ServerFailure::HeadTooLong);
        }
        if matches!(self.state, State::ChunkSize | State::ChunkEnd)
            && self.line.len() + piece.len() > CHUNK_LINE_BYTES_MAX
        {
            return Err(ServerFailure::Malformed);
        }
        if end.is_none() {
            self.line.extend_from_slice(piece);
            return Ok(());
        }
        if self.line.is_empty() {
            return self.handle_line(trimmed(piece), sink);
        }
        let mut line = std::mem::take(&mut self.line);
        line.extend_from_slice(piece);
        let outcome = self.handle_line(trimmed(&line), sink);
        line.clear();
        self.line = line;
        outcome
    }

    fn handle_line(&mut self, line: &[u8], sink: &mut impl Sink) -> Result<(), ServerFailure> {
        match self.state {
            State::StatusLine => self.handle_status(line),
            State::Header if line.is_empty() => self.end_head(),
            State::Header => self.handle_header(line, sink),
            State::ChunkSize => self.handle_chunk_size(line),
            State::ChunkEnd if line.is_empty() => {
                self.head_bytes = 0;
                self.state = State::ChunkSize;
                Ok(())
            }
            State::Trailer => {
                if line.is_empty() {
                    self.state = State::Done;
                }
                Ok(())
            }
            _ => Err(ServerFailure::Malformed),
        }
    }

    /// RFC 9112, 4.
    fn handle_status(&mut self, line: &[u8]) -> Result<(), ServerFailure> {
        let [b'H', b'T', b'T', b'P', b'/', major, b'.', minor, b' ', status @ ..] = line else {
            return Err(ServerFailure::Malformed);
        };
        if *major != b'1' {
            return Err(ServerFailure::Unsupported);
        }
        // RFC 9112, 4 requires a space even before an empty reason, but some servers omit it.
        let ([hundreds @ b'1'..=b'9', tens, ones] | [hundreds @ b'1'..=b'9', tens, ones, b' ', ..]) =
            status
        else {
            return Err(ServerFailure::Malformed);
        };
        let digit = |byte: &u8| {
            byte.is_ascii_digit().then(|| u16::from(byte - b'0')).ok_or(ServerFailure::Malformed)
        };
        self.status = digit(hundreds)? * 100 + digit(tens)? * 10 + digit(ones)?;
        // An HTTP/1.0 server closes the connection unless it sends `Connection: keep-alive`.
        self.closes = *minor == b'0';
        self.state = State::Header;
        Ok(())
    }

    /// RFC 9112, 5. The lengths of names are compared first, which quickly skips most headers that
    /// the parser ignores.
    fn handle_header(&mut self, line: &[u8], sink: &mut impl Sink) -> Result<(), ServerFailure> {
        let colon = line.iter().position(|&byte| byte == b':');
        let (name, value) = line.split_at(colon.ok_or(ServerFailure::Malformed)?);
        // RFC 9112, 5.1 and 5.2: no space is allowed before the colon, nor before the name (obsolete folding).
        if name.is_empty() || name.iter().any(u8::is_ascii_whitespace) {
            return Err(ServerFailure::Malformed);
        }
        let value = value[1..].trim_ascii();
        match name.len() {
            14 if name.eq_ignore_ascii_case(b"content-length") => self.handle_length(value)?,
            17 if name.eq_ignore_ascii_case(b"transfer-encoding") => {
                if !value.eq_ignore_ascii_case(b"chunked") {
                    return Err(ServerFailure::Unsupported);
                }
                self.is_chunked = true;
            }
            10 if name.eq_ignore_ascii_case(b"connection") => {
                for option in value.split(|&byte| byte == b',') {
                    let option = option.trim_ascii();
                    if option.eq_ignore_ascii_case(b"close") {
                        self.closes = true;
                    } else if option.eq_ignore_ascii_case(b"keep-alive") {
                        self.closes = false;
                    }
                }
            }
            10 if name.eq_ignore_ascii_case(b"set-cookie") => sink.cookie(value),
            _ => {}
        }
        Ok(())
    }

    /// RFC 9110, 8.6: repeated lengths must be equal.
    fn handle_length(&mut self, value: &[u8]) -> Result<(), ServerFailure> {
        let length = number(value, 10)?;
        if self.length.is_some_and(|before| before != length) {
            return Err(ServerFailure::Malformed);
        }
        self.length = Some(length);
        Ok(())
    }

    /// RFC 9112, 6.3.
    fn end_head(&mut self) -> Result<(), ServerFailure> {
        self.head_bytes = 0;
        self.state = match self.status {
            101 => return Err(ServerFailure::Unsupported),
            100..=199 => {
                // An interim response (1xx): the final response follows.
                self.begin();
                return Ok(());
            }
            204 | 304 => State::Done,
            _ if self.is_chunked => {
                // RFC 9112, 6.3: a response with both a length and chunks may be an attack (response splitting),
                // so the connection is not reused.
                self.closes |= self.length.is_some();
                State::ChunkSize
            }
            _ => match self.length {
                Some(0) => State::Done,
                Some(length) => State::Body(length),
                None => {
                    self.closes = true;
                    State::UntilClose
                }
            },
        };
        Ok(())
    }

    /// RFC 9112, 7.1.
    fn handle_chunk_size(&mut self, line: &[u8]) -> Result<(), ServerFailure> {
        // Chunk extensions, which follow a semicolon, may be ignored (RFC 9112, 7.1.1).
        let digits = line.split(|&byte| byte == b';').next().unwrap_or_default();
        let size = number(digits.trim_ascii(), 16)?;
        self.head_bytes = 0;
        self.state = if size == 0 { State::Trailer } else { State::Chunk(size) };
        Ok(())
    }
}

/// Removes the line end: a line feed, with or without a carriage return before it.
fn trimmed(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// Parses a number, which must consist of digits only.
fn number(digits: &[u8], radix: u32) -> Result<u64, ServerFailure> {
    // `from_str_radix` would accept a sign.
    let first = digits.first().is_some_and(u8::is_ascii_hexdigit);
    let text = std::str::from_utf8(digits).ok().filter(|_| first);
    text.and_then(|text| u64::from_str_radix(text, radix).ok()).ok_or(ServerFailure::Malformed)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    struct Seen {
        cookies: Vec<Vec<u8>>,
        body: Vec<u8>,
    }

    impl Sink for Seen {
        fn cookie(&mut self, value: &[u8]) {
            self.cookies.push(value.to_vec());
        }

        fn body(&mut self, piece: &[u8]) {
            self.body.extend_from_slice(piece);
        }
    }

    /// The parsed response.
    #[derive(Clone, Debug, PartialEq, Eq)]
    struct Taken {
        status: u16,
        closes: bool,
        is_whole: bool,
        /// Bytes that belong to the response.
        bytes: usize,
        seen: Seen,
    }

    fn parse(pieces: &[&[u8]]) -> Result<Taken, ServerFailure> {
        let (mut parser, mut seen, mut bytes) = (Parser::new(), Seen::default(), 0);
        for piece in pieces {
            bytes += parser.push(piece, &mut seen)?;
        }
        let is_whole = parser.is_done();
        Ok(Taken { status: parser.status(), closes: parser.closes(), is_whole, bytes, seen })
    }

    fn whole(text: &str) -> Taken {
        parse(&[text.as_bytes()]).expect("it is an answer")
    }

    const CHUNKED: &str = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\
        5\r\nhello\r\n6;name=value\r\n world\r\n0\r\nX-Trailer: 1\r\n\r\n";
    const LENGTH: &str = "HTTP/1.1 503 Service Unavailable\r\nSet-Cookie: a=b; Path=/\r\n\
        content-LENGTH:  5 \r\nConnection: Close\r\n\r\nhelloHTTP/1.1";

    #[test]
    fn a_body_ends_where_its_length_says() {
        let taken = whole(LENGTH);
        assert_eq!((taken.status, taken.closes, taken.is_whole), (503, true, true));
        assert_eq!(taken.seen.body, b"hello");
        assert_eq!(taken.seen.cookies, [b"a=b; Path=/"]);
        assert_eq!(taken.bytes, LENGTH.len() - "HTTP/1.1".len());
    }

    #[test]
    fn chunks_are_put_together() {
        let taken = whole(CHUNKED);
        assert!(taken.is_whole && !taken.closes);
        assert_eq!(taken.seen.body, b"hello world");
        assert_eq!(taken.bytes, CHUNKED.len());
    }

    #[test]
    fn interim_answers_are_skipped() {
        let text = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n\
            HTTP/1.1 204 No Content\r\n\r\n";
        let taken = whole(text);
        assert_eq!((taken.status, taken.is_whole, taken.bytes), (204, true, text.len()));
    }

    #[test]
    fn without_a_length_the_body_ends_with_the_connection() {
        let mut parser = Parser::new();
        let mut seen = Seen::default();
        parser.push(b"HTTP/1.0 200 OK\r\n\r\nsome", &mut seen).expect("fine");
        assert!(!parser.is_done() && parser.closes());
        parser.push(b" more", &mut seen).expect("fine");
        assert!(parser.close());
        assert_eq!(seen.body, b"some more");
        let mut cut = Parser::new();
        cut.push(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nsome", &mut seen).expect("fine");
        assert!(!cut.close());
    }

    #[test]
    fn connections_stay_open_as_their_version_and_header_say() {
        let head = |version: &str, header: &str| {
            whole(&format!("HTTP/{version} 200 OK\r\n{header}Content-Length: 0\r\n\r\n")).closes
        };
        assert!(!head("1.1", ""));
        assert!(head("1.1", "Connection: x, close\r\n"));
        assert!(head("1.0", ""));
        assert!(!head("1.0", "connection: Keep-Alive\r\n"));
    }

    #[test]
    fn the_next_answer_is_told_from_this_one() {
        let mut parser = Parser::new();
        let mut seen = Seen::default();
        let first = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nab";
        assert_eq!(parser.push(first, &mut seen), Ok(first.len()));
        parser.begin();
        let second = b"HTTP/1.1 404 Not Found\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n";
        assert_eq!(parser.push(second, &mut seen), Ok(second.len()));
        assert_eq!((parser.status(), parser.is_done()), (404, true));
    }

    #[test]
    fn what_is_no_answer_is_refused_by_name() {
        use ServerFailure::{HeadTooLong, Malformed, Unsupported};
        let long_head = format!("HTTP/1.1 200 OK\r\nX: {}", "x".repeat(HEAD_BYTES_MAX));
        let endless_line = format!(
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;{}",
            "x".repeat(CHUNK_LINE_BYTES_MAX)
        );
        let many_trailers = format!(
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n{}",
            "X: y\r\n".repeat(HEAD_BYTES_MAX / 6 + 1)
        );
        let body = "HTTP/1.1 200 OK\r\n";
        for (text, why) in [
            ("SSH-2.0-OpenSSH\r\n", Malformed),
            ("HTTP/2.0 200 OK\r\n", Unsupported),
            ("HTTP/1.1 20 OK\r\n", Malformed),
            ("HTTP/1.1 2x0 OK\r\n", Malformed),
            ("HTTP/1.1 2000 OK\r\n", Malformed),
            ("HTTP/1.1 101 Switching Protocols\r\n\r\n", Unsupported),
            (&format!("{body}no colon\r\n"), Malformed),
            (&format!("{body}name : value\r\n"), Malformed),
            (&format!("{body} folded: line\r\n"), Malformed),
            (&format!("{body}Content-Length: -1\r\n"), Malformed),
            (&format!("{body}Content-Length: +1\r\n"), Malformed),
            (&format!("{body}Content-Length: 1, 1\r\n"), Malformed),
            (&format!("{body}Content-Length: 99999999999999999999\r\n"), Malformed),
            (&format!("{body}Content-Length: 1\r\nContent-Length: 2\r\n"), Malformed),
            (&format!("{body}Transfer-Encoding: gzip\r\n"), Unsupported),
            (&format!("{body}Transfer-Encoding: chunked\r\n\r\nzz\r\n"), Malformed),
            (&format!("{body}Transfer-Encoding: chunked\r\n\r\n1\r\nab\r\n"), Malformed),
            (&long_head, HeadTooLong),
            (&endless_line, Malformed),
            (&many_trailers, HeadTooLong),
        ] {
            assert_eq!(parse(&[text.as_bytes()]), Err(why), "{text:.60}");
        }
    }

    fn answers() -> impl Strategy<Value = Vec<u8>> {
        let body = prop::collection::vec(any::<u8>(), 0..200);
        (body, 0..4u8, prop::collection::vec(1..60usize, 1..5)).prop_map(|(body, kind, sizes)| {
            let mut text = b"HTTP/1.1 100 Continue\n\nHTTP/1.1 200\r\nSet-Cookie: s=1\r\n".to_vec();
            match kind {
                0 => {
                    text.extend(format!("Content-Length: {}\r\n\r\n", body.len()).bytes());
                    text.extend(&body);
                }
                1 => {
                    text.extend(b"\r\n");
                    text.extend(&body);
                }
                _ => {
                    text.extend(b"Transfer-Encoding: chunked\r\n\r\n");
                    let mut rest = &body[..];
                    for size in sizes.into_iter().cycle() {
                        let (chunk, later) = rest.split_at(size.min(rest.len()));
                        text.extend(format!("{:X}\r\n", chunk.len()).bytes());
                        rest = later;
                        if chunk.is_empty() {
                            break;
                        }
                        text.extend(chunk);
                        text.extend(b"\r\n");
                    }
                    text.extend(b"X: y\r\n\r\n");
                }
            }
            text.extend(b"HTTP/1.1 200 OK\r\n");
            text
        })
    }

    proptest! {
        #[test]
        fn an_answer_means_the_same_however_it_is_split(
            text in answers(),
            cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..6),
        ) {
            let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(text.len())).collect();
            cuts.push(text.len());
            cuts.sort_unstable();
            let mut start = 0;
            let pieces: Vec<&[u8]> = cuts
                .into_iter()
                .map(|end| &text[std::mem::replace(&mut start, end)..end])
                .collect();
            prop_assert_eq!(parse(&pieces), parse(&[&text]));
        }

        #[test]
        fn whatever_comes_is_an_answer_or_an_error(
            text in prop::collection::vec(any::<u8>(), 0..300),
        ) {
            let mut head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n".to_vec();
            head.extend(&text);
            if let Ok(taken) = parse(&[&text]) {
                prop_assert!(taken.bytes <= text.len());
            }
            if let Ok(taken) = parse(&[&head]) {
                prop_assert!(taken.bytes <= head.len());
            }
        }
    }

    #[test]
    fn each_single_split_gives_the_same() {
        for text in [CHUNKED, LENGTH] {
            for cut in 0..text.len() {
                let (one, other) = text.as_bytes().split_at(cut);
                assert_eq!(parse(&[one, other]), Ok(whole(text)), "cut at {cut}");
            }
        }
    }
}
