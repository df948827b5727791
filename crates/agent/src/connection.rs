//! A connection of an agent: non-blocking input and output; every received byte is verified.

use std::fs::File;
use std::io::Write;
use std::net::{SocketAddr, TcpStream};
use std::os::fd::AsRawFd;
use std::sync::Arc;

use netstudy_records::ConnectionPlan;
use netstudy_units::Time;
use netstudy_workload::Owed;
use nix::errno::Errno;
use nix::sys::epoll::EpollFlags;
use nix::sys::memfd::{MFdFlags, memfd_create};
use nix::sys::sendfile::sendfile64;
use nix::sys::socket::{MsgFlags, recv, send};

use crate::failure::Failure;
use crate::pattern::{Cursor, Mismatch, random_bytes};
use crate::tallies::Tally;

/// Largest number of bytes per read: a longer read would delay timed actions.
const READ_BYTES: usize = 128 * 1024;
/// Largest number of pieces sent per flush: more pieces would delay timed actions.
const PIECES_MAX: u32 = 16;

/// More bytes than the kernel can accept in any run.
const ENDLESS: u64 = 1 << 62;

/// The random bytes that all connections send slices of, and a buffer to read into.
#[derive(Debug)]
pub(crate) struct Bytes {
    random: Vec<u8>,
    /// The same bytes as a file in memory, which the kernel can send without copying (sendfile).
    /// None: sent data are copied.
    file: Option<File>,
    buffer: Vec<u8>,
}

impl Bytes {
    pub(crate) fn new(zero_copy: bool) -> Result<Self, Failure> {
        let random = random_bytes();
        let file = if zero_copy { Some(in_memory(&random)?) } else { None };
        Ok(Self { random, file, buffer: vec![0; READ_BYTES] })
    }
}

/// Creates a file in memory with the contents `bytes`.
fn in_memory(bytes: &[u8]) -> Result<File, Failure> {
    let failed = "a file in memory";
    let fd = memfd_create(c"bytes", MFdFlags::MFD_CLOEXEC).map_err(Failure::run(failed))?;
    let mut file = File::from(fd);
    file.write_all(bytes).map_err(Failure::run(failed))?;
    Ok(file)
}

/// State of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// The connection has not been opened yet.
    Absent,
    /// This end is opening it.
    Connecting,
    /// This end has sent its greeting and waits for the peer's answer.
    Greeting,
    /// Open: it carries the application's bytes.
    Open,
    /// The peer has closed it.
    Closed,
}

#[derive(Debug)]
pub(crate) struct Connection {
    plan: ConnectionPlan,
    pub(crate) state: State,
    /// Present once a socket exists.
    tally: Option<Arc<Tally>>,
    /// Position after the last byte handed to the kernel.
    sent: Cursor,
    /// Bytes that the application has written but the kernel has not accepted yet; of a stream
    /// that is not finished, [`ENDLESS`].
    pending: u64,
    /// The last pending byte marks the end of a stream.
    ends_stream: bool,
    received: Cursor,
    /// The application has finished sending: a FIN follows the last byte.
    closes: bool,
    /// Events that epoll is registered for.
    pub(crate) interest: EpollFlags,
    /// When the last data or acknowledgment came from the peer, or when this end began to wait for
    /// the peer.
    pub(crate) last: Time,
    /// Acknowledged bytes of the greeting, to be subtracted: they are not the application's bytes.
    pub(crate) acknowledged_before: u64,
}

/// Result of reading from a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Read {
    /// No data were available.
    Nothing,
    /// Total bytes received before this read (`before`) and after it (`total`). `ends_stream`: the
    /// last byte marks the end of the peer's stream.
    Bytes { before: u64, total: u64, ends_stream: bool },
    /// The peer has finished sending (FIN).
    End,
}

impl Connection {
    pub(crate) fn new(plan: ConnectionPlan) -> Self {
        Self {
            plan,
            state: State::Absent,
            tally: None,
            sent: Cursor::default(),
            pending: 0,
            ends_stream: false,
            received: Cursor::default(),
            closes: false,
            interest: EpollFlags::empty(),
            last: Time::ZERO,
            acknowledged_before: 0,
        }
    }

    /// True if this agent opens the connection; false if it accepts the connection from the peer.
    pub(crate) const fn is_ours(&self) -> bool {
        matches!(self.plan, ConnectionPlan::Open { .. })
    }

    /// Sets the state and the counters, once the socket has been created.
    pub(crate) fn set(&mut self, state: State, tally: Arc<Tally>, now: Time) {
        self.state = state;
        self.tally = Some(tally);
        self.last = now;
    }

    pub(crate) fn tally(&self) -> &Arc<Tally> {
        self.tally.as_ref().expect("the connection has a socket")
    }

    pub(crate) fn stream(&self) -> &TcpStream {
        &self.tally().stream
    }

    /// Bytes received.
    pub(crate) const fn received(&self) -> u64 {
        self.received.passed()
    }

    /// Bytes handed to the kernel.
    pub(crate) const fn sent(&self) -> u64 {
        self.sent.passed()
    }

    /// Bytes that the application has written but the kernel has not accepted.
    pub(crate) const fn pending(&self) -> u64 {
        self.pending
    }

    /// Queues bytes that the application writes.
    pub(crate) fn write(&mut self, bytes: u64) {
        self.pending += bytes;
    }

    /// Queues bytes without end: until [`Self::finish_stream`].
    pub(crate) fn write_endlessly(&mut self) {
        self.pending = ENDLESS;
    }

    /// Ends an endless stream of bytes: a message of `bytes` follows the bytes that the kernel has
    /// accepted.
    /// Returns the total of bytes of this end up to then.
    pub(crate) fn finish_stream(&mut self, bytes: u64) -> u64 {
        self.pending = bytes;
        self.ends_stream = true;
        self.sent() + bytes
    }

    /// Sends a FIN after the queued bytes.
    pub(crate) fn close(&mut self) {
        self.closes = true;
    }

    /// Hands queued bytes to the kernel. Returns whether the kernel accepted any.
    pub(crate) fn flush(&mut self, bytes: &Bytes) -> Result<bool, String> {
        let before = self.sent.passed();
        let mut pieces = 0;
        while self.pending > 0 && pieces < PIECES_MAX {
            match self.send(bytes) {
                Ok(count) => {
                    self.sent.advance(count);
                    self.pending -= count as u64;
                    self.ends_stream &= self.pending > 0;
                    pieces += 1;
                }
                Err(Errno::EAGAIN) => break,
                Err(Errno::EINTR) => {}
                Err(error) => return Err(error.desc().to_owned()),
            }
        }
        let tally = self.tally();
        tally.set_sent(self.sent.passed());
        if self.closes && self.pending == 0 {
            // The shutdown fails if the other end has closed the connection; the next read reports
            // that.
            let _ = tally.stream.shutdown(std::net::Shutdown::Write);
        }
        Ok(self.sent.passed() > before)
    }

    /// Sends the next piece of the queued bytes. The byte that ends a stream is a piece of its own.
    fn send(&self, bytes: &Bytes) -> nix::Result<usize> {
        if self.ends_stream && self.pending == 1 {
            let mark = [self.sent.end_mark(&bytes.random)];
            return send(self.stream().as_raw_fd(), &mark, MsgFlags::MSG_NOSIGNAL);
        }
        let piece = self.sent.piece(self.pending - u64::from(self.ends_stream));
        if let Some(file) = &bytes.file {
            let mut offset = piece.start.cast_signed() as i64;
            return sendfile64(self.stream(), file, Some(&mut offset), piece.len());
        }
        // If more pieces of the message follow, MSG_MORE lets the kernel wait until the segment is
        // full.
        let more = (piece.len() as u64) < self.pending;
        let more =
            if more { MsgFlags::from_bits_retain(libc::MSG_MORE) } else { MsgFlags::empty() };
        let flags = MsgFlags::MSG_NOSIGNAL | more;
        send(self.stream().as_raw_fd(), &bytes.random[piece], flags)
    }

    /// Reads the bytes that have arrived and verifies them.
    pub(crate) fn receive(&mut self, bytes: &mut Bytes) -> Result<Read, String> {
        let Bytes { random, buffer, .. } = bytes;
        let count = match recv(self.stream().as_raw_fd(), buffer, MsgFlags::MSG_DONTWAIT) {
            Ok(0) => return Ok(Read::End),
            Ok(count) => count,
            Err(Errno::EINTR | Errno::EAGAIN) => return Ok(Read::Nothing),
            Err(error) => return Err(error.desc().to_owned()),
        };
        let before = self.received.passed();
        let verified = self.received.verify(random, &buffer[..count]);
        let ends_stream = verified.is_err_and(|Mismatch { at }| {
            at + 1 == count && buffer[at] == self.received.end_mark(random)
        });
        match verified {
            Ok(()) => {}
            Err(_) if ends_stream => self.received.advance(1),
            Err(Mismatch { at }) => {
                return Err(format!(
                    "byte {at} of the {count} received bytes differs from the expected pattern"
                ));
            }
        }
        let total = self.received.passed();
        self.tally().set_received(total);
        Ok(Read::Bytes { before, total, ends_stream })
    }

    /// Describes the other end, and the message that the application still waits for (`owed`).
    pub(crate) fn whereabouts(&self, owed: Option<Owed>) -> String {
        let (role, peer, message) = match self.plan {
            ConnectionPlan::Open { peer, .. } => {
                ("server", SocketAddr::new(peer.address, peer.port).to_string(), "response")
            }
            ConnectionPlan::Accept { peer, .. } => {
                let known = self.tally.as_ref().map(|tally| tally.peer.to_string());
                ("client", known.unwrap_or_else(|| peer.to_string()), "request")
            }
        };
        match (self.state, owed) {
            (State::Absent, _) => format!("no {role} has connected from {peer}"),
            (State::Connecting, _) => format!("connecting to {role} {peer}"),
            (State::Greeting, _) => {
                format!("{role} {peer} has not accepted the greeting of this client")
            }
            (State::Closed, None) => format!("{role} {peer} has closed the connection"),
            (_, Some(Owed { message: number, received, bytes: Some(bytes) })) => {
                format!("{role} {peer} has sent {received} of {bytes} bytes of {message} {number}")
            }
            (_, Some(Owed { message: number, received, bytes: None })) => {
                format!("{role} {peer} has not ended {message} {number} after {received} bytes")
            }
            _ if self.pending >= ENDLESS / 2 => format!("{role} {peer} receives no more bytes"),
            _ if self.pending > 0 => {
                format!("{role} {peer} has not received the last {} bytes", self.pending)
            }
            _ => format!("{role} {peer}"),
        }
    }
}
