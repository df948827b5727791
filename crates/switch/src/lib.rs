//! The user-space switch: the buffer architectures of the simulator, driven by the real clock,
//! between the interfaces of a network namespace.
//!
//! Each port is a packet socket. A received frame is offered to
//! [`netstudy_fabric::stepped::Stepped`] with the time at which the kernel received it, in the
//! order of these times over all ports. A departing frame is written to the interface of its egress
//! port when its last bit has left and the delay of the link has passed. So the switch runs in
//! virtual time that follows `CLOCK_MONOTONIC`: if the process is late, a frame is delayed, but
//! queues, drops and rates do not change. Lateness is recorded for every frame, and too much of it
//! makes a run invalid.
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
    /// The plan is not valid: which field, and why.
    Plan(String),
    /// The machine lacks something that the plan needs, or the time limit is over.
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

    /// A system error that occurred during `what`.
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

/// Runs the plan on `input` and its commands, until a command, the end of `input`, SIGTERM or the
/// plan's time limit.
///
/// # Errors
/// When the plan is not valid. The last record contains the error too.
pub fn run(input: BorrowedFd<'_>, output: impl Write) -> Result<(), Failure> {
    let mut control = Control::new(input, output);
    let outcome = plan::read(&mut control).and_then(|plan| switch::carry_out(&plan, &mut control));
    if let Err(failure) = &outcome {
        control.fail(failure);
    }
    outcome
}
