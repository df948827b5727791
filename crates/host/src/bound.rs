//! Binds a process to the one that started it.

use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::Signal;
use nix::unistd::{Pid, getppid, setsid};

use crate::Failure;

/// Gives this process a session of its own, and makes the kernel kill it when the thread that
/// started it ends: a thread of the process `parent`.
///
/// # Errors
/// `parent` has already ended, or the process already leads a process group.
pub fn bind_to(parent: u32) -> Result<(), Failure> {
    setsid().map_err(Failure::during("setsid"))?;
    set_pdeathsig(Signal::SIGKILL).map_err(Failure::during("PR_SET_PDEATHSIG"))?;
    // The signal is not sent if the parent ended before it was asked for.
    if getppid() != Pid::from_raw(parent.cast_signed()) {
        return Err(Failure::new("the process that started this one has ended"));
    }
    Ok(())
}
