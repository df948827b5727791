//! The real traffic of a study: one process in each host, the kernel's own TCP between them.
//!
//! One thread makes the traffic ([`client`], [`server`]) and hears nothing but the network; a second
//! one ([`control`]) reads the controller's commands and sees to it that the process ends. What is
//! asked for and when an iteration is over, `netstudy-workload` knows: the same patterns that the
//! simulator follows. `docs/concepts/real-traffic.md` tells more.

mod client;
mod clock;
mod control;
mod failure;
mod greeting;
mod input;
mod lateness;
mod listener;
mod output;
mod pattern;
mod plan;
mod progress;
mod sampling;
mod server;
mod socket;
mod tcp_info;

use std::sync::Arc;
use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, Instant};

pub use failure::Failure;
use netstudy_records::{AgentPlan, AgentRecord, AgentRecordSchema, AgentRole};
use nix::sched::{CpuSet, sched_setaffinity};
use nix::unistd::Pid;

use crate::control::{Control, Event, Interrupts};
use crate::input::Lines;
use crate::output::Output;
use crate::sampling::Snapshots;

/// What client and server have in common.
struct Agent<'a> {
    plan: &'a AgentPlan,
    output: Arc<Output>,
    events: Receiver<Event>,
    interrupts: Arc<Interrupts>,
    /// When the time limit is reached.
    deadline: Instant,
}

impl Agent<'_> {
    fn ready(&self, address: std::net::IpAddr, port: Option<u16>) -> AgentRecord {
        AgentRecord::Ready {
            schema: AgentRecordSchema::V1,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            node: self.plan.node.clone(),
            pid: std::process::id(),
            address,
            port,
        }
    }

    /// How long an operation may wait: a little longer than the process may last, so that the reason
    /// is the time limit.
    fn patience(&self) -> Duration {
        self.deadline.saturating_duration_since(Instant::now()) + Duration::from_millis(100)
    }
}

/// Carries out the plan on standard input and writes records to standard output.
///
/// # Errors
/// As [`Failure`] says; it is written as the last record, too.
pub fn run() -> Result<(), Failure> {
    let output = Arc::new(Output::default());
    let result = carry_out(&output);
    match &result {
        Ok(()) => output.write(&AgentRecord::End)?,
        Err(failure) => output.write_last(&AgentRecord::Error { message: failure.to_string() }),
    }
    result
}

fn carry_out(output: &Arc<Output>) -> Result<(), Failure> {
    let mut lines = Lines::of_stdin().map_err(Failure::run("standard input"))?;
    let line = lines.wait().map_err(Failure::run("standard input"))?;
    let plan = plan::read(&line.ok_or_else(|| Failure::Plan("there is none".to_owned()))?)?;
    if let Some(cpu) = plan.cpu {
        stay_on(cpu)?;
    }
    clock::make_sleeps_exact().map_err(Failure::run("PR_SET_TIMERSLACK"))?;
    let deadline = Instant::now() + Duration::from_millis(plan.time_limit_ms);
    let (sender, events) = mpsc::channel();
    let interrupts = Control::start(
        lines,
        plan.time_limit_ms,
        sender.clone(),
        Arc::clone(output),
        Snapshots::new(&plan.probe),
    )?;
    let agent = Agent { plan: &plan, output: Arc::clone(output), events, interrupts, deadline };
    let sampler = sampling::start(&plan)?;
    match &plan.role {
        AgentRole::IncastServer { .. } => server::run(&agent, sender)?,
        AgentRole::IncastClient { .. } => client::run(&agent)?,
    }
    if let Some(sampler) = sampler {
        output.write(&sampling::record(&sampler.stop()))?;
    }
    Ok(())
}

/// Keeps this process, and threads that it starts, on one processor.
fn stay_on(cpu: u32) -> Result<(), Failure> {
    let mut set = CpuSet::new();
    set.set(cpu as usize)
        .and_then(|()| sched_setaffinity(Pid::from_raw(0), &set))
        .map_err(Failure::run(format!("staying on processor {cpu}")))
}
