//! The lock of the host: one session at a time in a network namespace.
//!
//! The owner listens at an abstract Unix socket, which the kernel removes when the process ends in
//! whatever way. Another process connects to it and asks the kernel for the owner's credentials.

use std::fs;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::thread;
use std::time::Duration;

use netstudy_records::HostRecord;
use nix::sys::socket::{getsockopt, sockopt};
use nix::unistd::{SysconfVar, sysconf};

use crate::Failure;
use crate::clock::{boottime_ns, realtime_ns, utc};

/// The name of the socket, without the zero byte at its beginning.
const NAME: &[u8] = b"netstudy-testbed";
/// How often the lock is tried while the owner has the name, but does not listen: it has just
/// started or ended.
const ATTEMPTS: u32 = 20;
const PAUSE: Duration = Duration::from_millis(10);

/// The lock, held until it is dropped.
#[derive(Debug)]
pub(crate) struct Lock(UnixListener);

impl Lock {
    /// Takes the lock; the record says who holds it.
    pub(crate) fn take() -> Result<Result<Self, HostRecord>, Failure> {
        let address = SocketAddr::from_abstract_name(NAME);
        let address = address.map_err(Failure::during("the name of the lock"))?;
        for _ in 0..ATTEMPTS {
            match UnixListener::bind_addr(&address) {
                Ok(listener) => {
                    listener.set_nonblocking(true).map_err(Failure::during("the lock"))?;
                    return Ok(Ok(Self(listener)));
                }
                Err(error) if error.kind() == io::ErrorKind::AddrInUse => {}
                Err(error) => return Err(Failure::during("taking the lock")(error)),
            }
            if let Ok(owner) = UnixStream::connect_addr(&address) {
                return Ok(Err(locked_by(&owner)));
            }
            thread::sleep(PAUSE);
        }
        Ok(Err(HostRecord::Locked { pid: None, uid: None, since: None }))
    }

    /// Lets those go who have asked for the owner, so that there is room for others.
    pub(crate) fn dismiss(&self) {
        while self.0.accept().is_ok() {}
    }
}

impl AsFd for Lock {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

fn locked_by(owner: &UnixStream) -> HostRecord {
    let credentials = getsockopt(owner, sockopt::PeerCredentials).ok();
    // A process of another pid namespace has the number 0.
    let pid = credentials.map(|owner| owner.pid().cast_unsigned()).filter(|pid| *pid != 0);
    let uid = credentials.map(|owner| owner.uid());
    HostRecord::Locked { pid, uid, since: pid.and_then(started) }
}

/// When a process was started (UTC).
fn started(pid: u32) -> Option<String> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let ticks_per_s = sysconf(SysconfVar::CLK_TCK).ok()??.unsigned_abs();
    let age_s = (boottime_ns() / 1_000_000_000).checked_sub(start_ticks(&stat)? / ticks_per_s)?;
    Some(utc((realtime_ns() / 1_000_000_000).checked_sub(age_s)?))
}

/// Field 22 of `/proc/PID/stat`: the start of the process, since the boot. Fields are counted behind
/// the command, which may contain spaces and parentheses.
fn start_ticks(stat: &str) -> Option<u64> {
    let (_, fields) = stat.rsplit_once(')')?;
    fields.split_ascii_whitespace().nth(22 - 3)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_start_of_a_process_is_found_behind_its_name() {
        let stat = "7 (a) b (c) S 1 7 7 0 -1 4194560 1 0 0 0 2 3 0 0 20 0 1 0 123456 1000 10\n";
        assert_eq!(start_ticks(stat), Some(123_456));
        assert_eq!(start_ticks("7"), None);
    }

    #[test]
    fn this_process_has_started_before_now() {
        let started = started(std::process::id()).expect("/proc has it");
        assert!(started <= utc(realtime_ns() / 1_000_000_000), "{started}");
        assert!(started.as_str() > "2020", "{started}");
    }
}
