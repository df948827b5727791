//! Writes records to standard output, one per line, from any thread.

use std::io::{self, Write};
use std::os::fd::AsFd;
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};
use std::thread;
use std::time::{Duration, Instant};

use netstudy_records::AgentRecord;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

/// The longest time to wait while another thread writes a record.
const PATIENCE: Duration = Duration::from_millis(100);

/// Standard output, locked for one record at a time.
#[derive(Debug, Default)]
pub(crate) struct Output(Mutex<()>);

impl Output {
    /// Writes and flushes a record.
    pub(crate) fn write(&self, record: &AgentRecord) -> io::Result<()> {
        let line = line(record)?;
        let _turn = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        write_line(&line)
    }

    /// Writes a record, but not if writing would block because the reader has stopped reading or
    /// gone away.
    pub(crate) fn write_last(&self, record: &AgentRecord) {
        let Ok(line) = line(record) else { return };
        let Some(_turn) = self.turn_within(PATIENCE) else { return };
        let stdout = io::stdout();
        let mut fds = [PollFd::new(stdout.as_fd(), PollFlags::POLLOUT)];
        // The process is about to end: it does not matter whether the record is read.
        if matches!(poll(&mut fds, PollTimeout::ZERO), Ok(1)) {
            let _ = write_line(&line);
        }
    }

    /// The lock for writing; none if another thread holds it for longer than `patience`.
    fn turn_within(&self, patience: Duration) -> Option<MutexGuard<'_, ()>> {
        let deadline = Instant::now() + patience;
        loop {
            match self.0.try_lock() {
                Ok(turn) => return Some(turn),
                Err(TryLockError::Poisoned(turn)) => return Some(turn.into_inner()),
                Err(TryLockError::WouldBlock) if Instant::now() > deadline => return None,
                Err(TryLockError::WouldBlock) => thread::sleep(PATIENCE / 100),
            }
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
