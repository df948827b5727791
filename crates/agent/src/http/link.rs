//! The connection of one user, with the request that is in progress on it.

use std::io;
use std::net::TcpStream;
use std::os::fd::AsRawFd;

use netstudy_units::Time;
use netstudy_workload::transactions::{Failure, NetworkFailure, Request};
use nix::errno::Errno;
use nix::sys::socket::{MsgFlags, recv, send};

use super::cookies::Jar;
use super::pages::HoldingFinder;
use super::parser::{Parser, Sink};

/// State of a connection.
#[derive(Debug)]
pub(super) enum Socket {
    Closed,
    Connecting(TcpStream),
    Open(TcpStream),
}

/// A request in progress.
#[derive(Debug)]
pub(super) struct Exchange {
    pub(super) request: Request,
    /// Number of the request among all requests, to tell it from later requests of the same user.
    pub(super) number: u64,
    pub(super) sent: Option<Time>,
    pub(super) first_byte: Option<Time>,
    pub(super) bytes_read: u64,
    pub(super) bytes_written: u64,
    is_repeated: bool,
    finder: Option<HoldingFinder>,
}

impl Exchange {
    pub(super) fn new(request: Request, number: u64) -> Self {
        let finder = matches!(request, Request::Portfolio).then(HoldingFinder::default);
        Self {
            request,
            number,
            sent: None,
            first_byte: None,
            bytes_read: 0,
            bytes_written: 0,
            is_repeated: false,
            finder,
        }
    }

    /// The first holding on the page, if the request is for a portfolio.
    pub(super) fn holding(&self) -> Option<u64> {
        self.finder.as_ref().and_then(HoldingFinder::found)
    }
}

/// The connection of one user.
#[derive(Debug)]
pub(super) struct Link {
    pub(super) socket: Socket,
    /// Number of this connection among those of the user, to tell its events from those of earlier
    /// connections.
    pub(super) serial: u32,
    pub(super) exchange: Option<Exchange>,
    pub(super) parser: Parser,
    pub(super) jar: Jar,
    /// The bytes of the request, and how many of them the kernel has accepted.
    pub(super) out: Vec<u8>,
    pub(super) taken: usize,
    /// True after the first response on this connection: from then on, the server may close the idle
    /// connection.
    has_served: bool,
}

/// The outcome of reading.
pub(super) enum Read {
    /// The response is still incomplete.
    Nothing,
    /// The response is complete. True: the connection cannot be used again.
    Answer(bool),
    /// The server sent data that no request asked for, or closed the connection, which cannot be
    /// used again.
    Stray,
    /// The connection broke, or the response is invalid.
    Broken(Failure),
}

/// Receives the parsed response: stores cookies, and searches the body for a holding.
struct Finds<'a> {
    jar: &'a mut Jar,
    finder: Option<&'a mut HoldingFinder>,
}

impl Sink for Finds<'_> {
    fn cookie(&mut self, value: &[u8]) {
        self.jar.set(value);
    }

    fn body(&mut self, piece: &[u8]) {
        if let Some(finder) = &mut self.finder {
            finder.push(piece);
        }
    }
}

impl Link {
    pub(super) fn new() -> Self {
        Self {
            socket: Socket::Closed,
            serial: 0,
            exchange: None,
            parser: Parser::new(),
            jar: Jar::default(),
            out: Vec::new(),
            taken: 0,
            has_served: false,
        }
    }

    /// Sets the socket of a new connection, which is being opened.
    pub(super) fn connect(&mut self, stream: TcpStream) {
        self.socket = Socket::Connecting(stream);
        self.has_served = false;
        self.taken = 0;
        self.parser.begin();
    }

    /// Closes the connection. Closing the socket also removes it from epoll.
    pub(super) fn close(&mut self) {
        self.socket = Socket::Closed;
        self.serial = self.serial.wrapping_add(1);
    }

    /// Hands the rest of the request to the kernel. Returns whether the kernel has accepted all of it.
    pub(super) fn send(&mut self, now: Time) -> Result<bool, Failure> {
        let (Socket::Open(stream), Some(exchange)) = (&self.socket, &mut self.exchange) else {
            return Ok(true);
        };
        while self.taken < self.out.len() {
            match send(stream.as_raw_fd(), &self.out[self.taken..], MsgFlags::MSG_NOSIGNAL) {
                Ok(count) => {
                    exchange.sent.get_or_insert(now);
                    exchange.bytes_written += count as u64;
                    self.taken += count;
                }
                Err(Errno::EAGAIN) => return Ok(false),
                Err(Errno::EINTR) => {}
                Err(error) => return Err(network(error)),
            }
        }
        Ok(true)
    }

    /// Reads the data that have arrived by `now`, using `buffer`.
    pub(super) fn receive(&mut self, now: Time, buffer: &mut [u8]) -> Read {
        let Socket::Open(stream) = &self.socket else { return Read::Nothing };
        loop {
            let count = match recv(stream.as_raw_fd(), buffer, MsgFlags::MSG_DONTWAIT) {
                Ok(count) => count,
                Err(Errno::EAGAIN) => return Read::Nothing,
                Err(Errno::EINTR) => continue,
                Err(_) if self.exchange.is_none() => return Read::Stray,
                Err(error) => return Read::Broken(network(error)),
            };
            let Some(exchange) = &mut self.exchange else { return Read::Stray };
            if count == 0 {
                return if exchange.first_byte.is_some() && self.parser.close() {
                    Read::Answer(true)
                } else {
                    Read::Broken(Failure::Network(NetworkFailure::ClosedEarly))
                };
            }
            exchange.first_byte.get_or_insert(now);
            exchange.bytes_read += count as u64;
            let mut finds = Finds { jar: &mut self.jar, finder: exchange.finder.as_mut() };
            match self.parser.push(&buffer[..count], &mut finds) {
                Err(why) => return Read::Broken(Failure::Server(why)),
                Ok(own) if self.parser.is_done() => {
                    self.has_served = true;
                    return Read::Answer(self.parser.closes() || own < count);
                }
                // The buffer was not filled, so no more data are waiting.
                Ok(_) if count < buffer.len() => return Read::Nothing,
                Ok(_) => {}
            }
        }
    }

    /// True if the client should repeat the current request on a new connection: the
    /// request changes no data and the server had closed the idle connection without responding
    /// (RFC 9112, 9.3.1).
    pub(super) fn repeats(&mut self, why: Failure, may_repeat: bool) -> bool {
        use NetworkFailure::{ClosedEarly, Reset};
        let is_closing = matches!(why, Failure::Network(ClosedEarly | Reset));
        let Some(exchange) = &mut self.exchange else { return false };
        let repeats = self.has_served
            && is_closing
            && may_repeat
            && !exchange.is_repeated
            && exchange.first_byte.is_none();
        exchange.is_repeated |= repeats;
        repeats
    }
}

/// Converts an error of the kernel into a failure with a name that records use.
pub(super) fn network(error: Errno) -> Failure {
    Failure::Network(match error {
        Errno::ECONNREFUSED => NetworkFailure::Refused,
        Errno::ECONNRESET | Errno::EPIPE => NetworkFailure::Reset,
        Errno::ETIMEDOUT => NetworkFailure::TimedOut,
        Errno::EHOSTUNREACH | Errno::ENETUNREACH => NetworkFailure::Unreachable,
        _ => NetworkFailure::Broken,
    })
}

/// Like [`network`], for an error of the standard library.
pub(super) fn network_of(error: &io::Error) -> Failure {
    network(error.raw_os_error().map_or(Errno::EIO, Errno::from_raw))
}
