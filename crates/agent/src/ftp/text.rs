//! Control connections: reading, writing and waiting.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::fd::AsFd;
use std::time::Duration;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::TimeSpec;

use crate::failure::Failure;

/// Most bytes per read from a control connection.
const CONTROL_BYTES: usize = 4096;

/// Result of reading from a control connection.
pub(super) enum Heard {
    /// Bytes were read.
    Bytes(Vec<u8>),
    /// No bytes were available.
    Nothing,
    /// The other end has closed the connection.
    End,
}

/// Reads from a control connection without waiting.
pub(super) fn hear(mut stream: &TcpStream) -> io::Result<Heard> {
    let mut bytes = vec![0; CONTROL_BYTES];
    match stream.read(&mut bytes) {
        Ok(0) => Ok(Heard::End),
        Ok(count) => {
            bytes.truncate(count);
            Ok(Heard::Bytes(bytes))
        }
        Err(error) if is_passing(&error) => Ok(Heard::Nothing),
        Err(error) => Err(error),
    }
}

/// Writes to a control connection. The send buffer has room for all text that is sent before the
/// next reply, so the write does not block.
pub(super) fn say(mut stream: &TcpStream, text: &str) -> io::Result<()> {
    stream.write_all(text.as_bytes())
}

pub(super) fn is_passing(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, Interrupted, WouldBlock};
    matches!(error.kind(), ConnectionAborted | Interrupted | WouldBlock)
}

/// Waits for one of `fds`, at most for `timeout`; none: no limit.
pub(super) fn wait_for(fds: &mut [PollFd<'_>], timeout: Option<Duration>) -> Result<(), Failure> {
    match ppoll(fds, timeout.map(TimeSpec::from_duration), None) {
        Ok(_) | Err(Errno::EINTR) => Ok(()),
        Err(error) => Err(Failure::run("ppoll")(error)),
    }
}

/// An entry for [`wait_for`].
pub(super) fn waited(fd: &impl AsFd, flags: PollFlags) -> PollFd<'_> {
    PollFd::new(fd.as_fd(), flags)
}
