//! Files by FTP, over the kernel's TCP: a client or a server of the sessions of a run.
//!
//! One thread drives the sessions of `netstudy_workload::ftp`: it waits for control connections, for
//! listeners and for the controller. Each file is carried by a thread of its own ([`carry`]), which does nothing but
//! read and write, since disks block; so does a daemon with a process a session.

mod carriers;
mod carry;
mod client;
mod files;
mod server;
mod tally;
pub(crate) mod task;
mod text;

use crate::agent::Agent;
use crate::failure::Failure;
use task::FtpTask;

/// Runs the task until the controller stops it, and writes the recorded data.
pub(crate) fn run(agent: &Agent<'_>, task: &FtpTask) -> Result<(), Failure> {
    files::prime_program()?;
    match task {
        FtpTask::Client(task) => client::run(agent, task),
        FtpTask::Server(task) => server::run(agent, task),
    }
}
