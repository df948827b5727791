//! The user-space switch. It forwards frames between the interfaces of a network namespace, with
//! the buffer architectures of the simulator, driven by the real clock.
//!
//! Each port is a packet socket. The frames of all ports are passed to
//! [`netstudy_fabric::stepped::Stepped`] in the order of the times at which the kernel received
//! them. A departing frame is written to the interface of its egress port after its last bit has
//! left the switch and the delay of the link is over. So the switch runs in virtual time that
//! follows `CLOCK_MONOTONIC`: if the process is late, a frame is delayed, but queues, drops and
//! rates do not change. The lateness of each frame is recorded. If too many frames are too late,
//! the run is invalid.
//!
//! The switch has one thread and does not allocate per frame. See `docs/concepts/user-space-switch.md`.

mod addresses;
mod clock;
mod control;
mod frame;
mod interfaces;
mod lateness;
mod losses;
mod management;
mod outbox;
mod plan;
mod pool;
mod port;
mod receiver;
mod sender;
mod series;
mod switch;
mod waiting;

use std::fmt;
use std::io::Write;
use std::os::fd::BorrowedFd;

use control::Control;

/// Why the switch ended early.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The plan is not valid. The message says which field, and why.
    Plan(String),
    /// The machine lacks something that the plan needs, or the time limit has been reached.
    Testbed(String),
}

impl Failure {
    /// 2 for bad input, 3 for a testbed that failed.
    #[must_use]
    pub const fn exit_code(&self) -> u8 {
        match self {
            Self::Plan(_) => 2,
            Self::Testbed(_) => 3,
        }
    }

    /// The failure for a system error that occurred during `what`.
    fn system(what: &str, error: nix::Error) -> Self {
        Self::Testbed(format!("{what}: {}", error.desc()))
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Plan(message) => write!(f, "the plan of the switch: {message}"),
            Self::Testbed(message) => message.fmt(f),
        }
    }
}

/// Reads a plan from `input` and runs it, and obeys the commands that follow. The run ends by a
/// command, at the end of `input`, by SIGTERM or at the plan's time limit.
///
/// # Errors
/// See [`Failure`]. The last record contains the error too.
pub fn run(input: BorrowedFd<'_>, output: impl Write) -> Result<(), Failure> {
    let mut control = Control::new(input, output);
    let outcome = plan::read(&mut control).and_then(|plan| switch::carry_out(&plan, &mut control));
    if let Err(failure) = &outcome {
        control.fail(failure);
    }
    outcome
}
