//! Both ends of SNMP: the agent of the emulated switch, which turns a request into a response
//! without I/O, and the poller, a process that reads the counters of any switch at an interval.
//!
//! Messages are read, signed and encrypted by the crate `snmp2`
//! (`docs/decisions/0042-switch-counters-by-snmp.md`). `snmp2` has no code for agents, so [`ber`]
//! encodes the responses.

mod agent;
mod ber;
mod oids;
mod poller;
mod session;

use std::fmt;

pub use agent::{Agent, Direction, PortView, View};
pub use poller::poll;

/// Why the poller ended early.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The plan is not valid. The message says which field, and why.
    Plan(String),
    /// The switch cannot be read, or the time limit is over.
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
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Plan(message) => write!(f, "the plan of the SNMP poller: {message}"),
            Self::Testbed(message) => message.fmt(f),
        }
    }
}
