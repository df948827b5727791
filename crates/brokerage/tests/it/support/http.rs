//! A client: one connection, one cookie.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::Value;

/// No answer is awaited for longer.
const PATIENCE: Duration = Duration::from_secs(60);

/// An answer.
#[derive(Debug)]
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

impl Response {
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|error| panic!("{error}: {}", self.text()))
    }

    /// The value of a header.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (known, value) = line.split_once(':')?;
            known.eq_ignore_ascii_case(name).then_some(value.trim())
        })
    }

    /// The numbers of an attribute, such as data-holding.
    pub(crate) fn attributes(&self, name: &str) -> Vec<String> {
        let text = self.text();
        let start = format!("{name}=\"");
        let parts = text.split(&start).skip(1);
        parts.map(|rest| rest.split('"').next().unwrap_or_default().to_owned()).collect()
    }
}

/// A connection that is kept alive.
#[derive(Debug)]
pub(crate) struct Client {
    stream: TcpStream,
    pub(crate) cookie: Option<String>,
    read: Vec<u8>,
}

impl Client {
    pub(crate) fn new(at: SocketAddr) -> Self {
        let stream = TcpStream::connect(at).expect("it listens");
        stream.set_read_timeout(Some(PATIENCE)).expect("a time");
        stream.set_nodelay(true).expect("a socket");
        Self { stream, cookie: None, read: Vec::new() }
    }

    /// A client whose user is logged in.
    pub(crate) fn of(at: SocketAddr, user: u32) -> Self {
        let mut client = Self::new(at);
        let response = client.post("/login", &format!("uid=uid:{user}&passwd=xxx"));
        assert_eq!(response.status, 200, "{}", response.text());
        client
    }

    pub(crate) fn get(&mut self, path: &str) -> Response {
        let head = format!("GET {path} HTTP/1.1\r\nHost: brokerage\r\n{}\r\n", self.cookies());
        self.send(head.as_bytes());
        self.receive().expect("an answer")
    }

    pub(crate) fn post(&mut self, path: &str, form: &str) -> Response {
        self.send_post(path, form);
        self.receive().expect("an answer")
    }

    pub(crate) fn send_post(&mut self, path: &str, form: &str) {
        let request = format!(
            "POST {path} HTTP/1.1\r\nHost: brokerage\r\n\
             Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {}\r\n{}\r\n{form}",
            form.len(),
            self.cookies()
        );
        self.send(request.as_bytes());
    }

    fn cookies(&self) -> String {
        self.cookie.as_ref().map_or(String::new(), |cookie| format!("Cookie: {cookie}\r\n"))
    }

    pub(crate) fn send(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).expect("the server reads");
    }

    /// Whether the server still reads.
    pub(crate) fn try_send(&mut self, bytes: &[u8]) -> bool {
        self.stream.write_all(bytes).is_ok()
    }

    /// The next answer; none: the server has closed the connection.
    pub(crate) fn receive(&mut self) -> Option<Response> {
        let end = loop {
            if let Some(end) = self.read.windows(4).position(|four| four == b"\r\n\r\n") {
                break end + 4;
            }
            if !self.fill() {
                return None;
            }
        };
        let head = String::from_utf8_lossy(&self.read[..end]).into_owned();
        let mut response = Response { status: 0, head, body: Vec::new() };
        response.status = response.head[9..12].parse().expect("a status");
        let length: usize =
            response.header("content-length").map_or(0, |text| text.parse().expect("a number"));
        while self.read.len() < end + length {
            assert!(self.fill(), "the answer is cut");
        }
        response.body = self.read[end..end + length].to_vec();
        self.read.drain(..end + length);
        if let Some(cookie) = response.header("set-cookie") {
            let cookie = cookie.split(';').next().unwrap_or_default().to_owned();
            self.cookie = (!cookie.ends_with('=')).then_some(cookie);
        }
        Some(response)
    }

    fn fill(&mut self) -> bool {
        let mut bytes = [0; 16 * 1024];
        match self.stream.read(&mut bytes) {
            Ok(count) => {
                self.read.extend_from_slice(&bytes[..count]);
                count > 0
            }
            Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => false,
            // The end of a program that another test has started interrupts a read that has a time limit.
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => self.fill(),
            Err(error) => panic!("{error}"),
        }
    }
}
