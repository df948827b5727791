//! File transfers by FTP over the kernel's TCP: the client or the server of a run.
//!
//! One thread drives the sessions of `netstudy_workload::ftp`: it waits for control connections,
//! listeners and the controller. Because disk I/O blocks, each file is transferred by a separate
//! thread ([`carry`]), which only reads and writes. FTP daemons that start one process per session
//! work much the same way.

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
