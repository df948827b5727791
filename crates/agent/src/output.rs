//! Records onto standard output, a line each, from any thread.

use std::io::{self, Write};
use std::os::fd::AsFd;
use std::sync::{Mutex, PoisonError, TryLockError};

use netstudy_records::AgentRecord;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

/// Where records go.
#[derive(Debug, Default)]
pub(crate) struct Output(Mutex<()>);

impl Output {
    /// Writes a record, and makes it visible to the reader.
    pub(crate) fn write(&self, record: &AgentRecord) -> io::Result<()> {
        let line = line(record)?;
        let _turn = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        write_line(&line)
    }

    /// Writes a record if that does not have to wait for anybody.
    pub(crate) fn write_at_once(&self, record: &AgentRecord) {
        let Ok(line) = line(record) else { return };
        if matches!(self.0.try_lock(), Err(TryLockError::WouldBlock)) {
            return;
        }
        let stdout = io::stdout();
        let mut fds = [PollFd::new(stdout.as_fd(), PollFlags::POLLOUT)];
        // The process is about to end: whether anybody reads this changes nothing.
        if matches!(poll(&mut fds, PollTimeout::ZERO), Ok(1)) {
            let _ = write_line(&line);
        }
    }
}

fn line(record: &AgentRecord) -> io::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(record)?;
    line.push(b'\n');
    Ok(line)
}

fn write_line(line: &[u8]) -> io::Result<()> {
    let mut stdout = io::stdout();
    stdout.write_all(line)?;
    stdout.flush()
}
