//! The guard: a process that kills the host's process if that one stands still, because it was
//! stopped (SIGSTOP) or hangs. It reads beats from a pipe.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::Failure;
use crate::bound::bind_to;

/// Beats in the time of a lease.
const BEATS: u32 = 8;

/// The host's end of the pipe.
#[derive(Debug)]
pub(crate) struct Guard {
    beats: File,
    interval: Duration,
    last: Instant,
}

impl Guard {
    /// Starts the process that kills this one if it does not call [`Self::beat`] for the time of the
    /// lease.
    pub(crate) fn start(lease: Duration) -> Result<Self, Failure> {
        const STARTING: &str = "starting the guard";
        let mut child = Command::new("/proc/self/exe")
            .args(["guard", "--child-of", &std::process::id().to_string()])
            .args(["--lease-ms", &lease.as_millis().to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map_err(Failure::during(STARTING))?;
        let beats = OwnedFd::from(child.stdin.take().unwrap_or_else(|| unreachable!("a pipe")));
        // While the guard is stopped the pipe fills up, but this process must not wait.
        fcntl(&beats, FcntlArg::F_SETFL(OFlag::O_NONBLOCK)).map_err(Failure::during(STARTING))?;
        Ok(Self { beats: beats.into(), interval: lease / BEATS, last: Instant::now() })
    }

    /// The longest time between two calls of [`Self::beat`].
    pub(crate) const fn interval(&self) -> Duration {
        self.interval
    }

    /// Says that this process is running.
    ///
    /// # Errors
    /// The guard has been killed.
    pub(crate) fn beat(&mut self) -> Result<(), Failure> {
        if self.last.elapsed() < self.interval {
            return Ok(());
        }
        self.last = Instant::now();
        match self.beats.write(&[0]) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                Err(Failure::new("somebody has killed the guard of this session"))
            }
            _ => Ok(()),
        }
    }
}

/// The guard's process: kills the process `parent` if nothing is read from `beats` for the time of
/// the lease. Ends with its parent.
///
/// # Errors
/// The parent cannot be watched.
pub fn guard(parent: u32, lease: Duration, beats: OwnedFd) -> Result<(), Failure> {
    bind_to(parent)?;
    let mut beats = File::from(beats);
    let timeout = PollTimeout::try_from(lease).map_err(Failure::during("the lease"))?;
    loop {
        let mut fds = [PollFd::new(beats.as_fd(), PollFlags::POLLIN)];
        let is_silent = poll(&mut fds, timeout).map_err(Failure::during("waiting"))? == 0;
        if is_silent {
            // The pipe is still open at the other end, so the number is still that of the parent.
            let parent = Pid::from_raw(parent.cast_signed());
            return kill(parent, Signal::SIGKILL).map_err(Failure::during("ending the host"));
        }
        if beats.read(&mut [0; 64]).map_err(Failure::during("reading beats"))? == 0 {
            return Ok(());
        }
    }
}
