//! The commands of a host: `host`, its guard, and its agents.

use std::io;
use std::num::NonZeroU32;
use std::os::fd::AsFd;
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use netstudy_host::Failure;

use crate::ended;

#[derive(Args)]
pub(crate) struct HostArguments {
    /// Text of the first line, by which the controller finds the beginning of the output
    #[arg(long)]
    nonce: String,
    /// Time without a line of the controller after which the session ends
    #[arg(long, default_value = "5000")]
    lease_ms: NonZeroU32,
}

#[derive(Args)]
pub(crate) struct ChildArguments {
    /// End with this process, which must be the parent
    #[arg(long, hide = true)]
    child_of: Option<u32>,
}

#[derive(Args)]
pub(crate) struct GuardArguments {
    /// The process, which must be the parent
    #[arg(long)]
    child_of: u32,
    /// Time without a beat on standard input after which the process is killed
    #[arg(long)]
    lease_ms: NonZeroU32,
}

pub(crate) fn host(arguments: &HostArguments) -> ExitCode {
    let outcome = netstudy_host::run(&arguments.nonce, time(arguments.lease_ms));
    ended(outcome, Failure::exit_code)
}

pub(crate) fn guard(arguments: &GuardArguments) -> ExitCode {
    let beats = io::stdin().as_fd().try_clone_to_owned();
    let beats = beats.unwrap_or_else(|error| panic!("standard input: {error}"));
    let outcome = netstudy_host::guard(arguments.child_of, time(arguments.lease_ms), beats);
    ended(outcome, Failure::exit_code)
}

pub(crate) fn agent(arguments: &ChildArguments) -> ExitCode {
    let bound = arguments.child_of.map_or(Ok(()), netstudy_host::bind_to);
    match bound {
        Ok(()) => ended(netstudy_agent::run(), netstudy_agent::Failure::exit_code),
        Err(failure) => ended(Err(failure), Failure::exit_code),
    }
}

fn time(ms: NonZeroU32) -> Duration {
    Duration::from_millis(u64::from(ms.get()))
}
