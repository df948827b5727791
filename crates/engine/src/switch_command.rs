//! The `switch` command.

use std::io;
use std::os::fd::AsFd;

/// Runs the plan of a switch on standard input.
pub(crate) fn switch() -> Result<(), netstudy_switch::Failure> {
    netstudy_switch::run(io::stdin().as_fd(), io::stdout().lock())
}
