//! The user-space switch: the buffer architectures of the simulator, driven by the real clock, between
//! interfaces of a network namespace.
//!
//! Each port is a packet socket. A frame that the kernel received is offered to
//! [`netstudy_fabric::stepped::Stepped`] at the time of its receipt, in the order of those times over
//! all ports; a departing frame is written to the interface of its egress when its last bit has left
//! and the delay of the link has passed. So the switch lives in virtual time that follows
//! `CLOCK_MONOTONIC`: lateness delays a frame, and changes neither queues nor drops nor the rate.
//! Lateness is recorded for every frame, and a run with too much of it is invalid.
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

/// Why the switch ended before its time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The plan is not valid: which field, and why.
    Plan(String),
    /// The machine lacks something that the plan needs, or the time is over.
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

    /// The system's error in trying `what`.
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

/// Runs the plan on `input` and obeys its commands, until a command, the end of `input`, SIGTERM
/// or the plan's time limit ends it.
///
/// # Errors
/// When the plan is not valid. The last record says so as well.
pub fn run(input: BorrowedFd<'_>, output: impl Write) -> Result<(), Failure> {
    let mut control = Control::new(input, output);
    let outcome = plan::read(&mut control).and_then(|plan| switch::carry_out(&plan, &mut control));
    if let Err(failure) = &outcome {
        control.fail(failure);
    }
    outcome
}
