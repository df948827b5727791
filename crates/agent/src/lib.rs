//! The agent, which generates the real traffic of a study. One process runs in each host; they
//! communicate over the kernel's own TCP.
//!
//! One thread generates the traffic ([`driver`]); a second one ([`control`]) reads the controller's
//! commands, takes snapshots and makes sure that the process ends. Each sampler has a separate
//! thread. The applications of `netstudy-workload`, which the simulator also runs, decide when
//! requests are sent and when phases end. See `docs/concepts/real-traffic.md`.

mod agent;
mod answers;
mod application;
mod clock;
mod connection;
mod control;
mod door;
mod driver;
mod failure;
mod ftp;
mod greeting;
mod http;
mod input;
mod lateness;
mod output;
mod pattern;
mod plan;
mod progress;
mod readings;
mod recorder;
mod sampling;
mod scheduling;
mod seconds;
mod socket;
mod tallies;
mod tcp_info;
mod watch;
mod workloads;

use std::sync::Arc;
use std::time::Duration;

pub use failure::Failure;
use netstudy_records::{AgentPlan, AgentRecord};
use nix::sched::{CpuSet, sched_setaffinity};
use nix::unistd::Pid;

use crate::agent::Agent;
use crate::control::Control;
use crate::input::Lines;
use crate::output::Output;
use crate::sampling::Snapshots;
use crate::scheduling::Scheduling;
use crate::tallies::{SeriesSampler, Tallies};
use crate::watch::Watch;
use crate::workloads::role::Task;

/// Runs the plan that is read from standard input, and writes records to standard output.
///
/// # Errors
/// See [`Failure`]. The failure is also written as the last record.
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
    let line = line.ok_or_else(|| Failure::Plan("missing".to_owned()))?;
    let plan::Checked { plan, task, workload_connections } = plan::read(&line)?;
    // Done before other threads start, because they inherit the CPU affinity and the timer slack.
    if let Some(cpu) = plan.cpu {
        stay_on(cpu)?;
    }
    tcp_info::check_kernel()?;
    clock::make_sleeps_exact().map_err(Failure::run("PR_SET_TIMERSLACK"))?;
    let tallies = Arc::new(Tallies::default());
    let scheduling = Arc::new(Scheduling::default());
    let snapshots = Snapshots::new(
        &plan.instruments,
        Arc::clone(&tallies),
        Arc::clone(&scheduling),
        task.uses_files(),
    );
    let events = Control::start(lines, plan.time_limit_ms, Arc::clone(output), snapshots)?;
    let sampler = sampling::start(&plan)?;
    let series = start_series(&plan, &tallies)?;
    let watch = start_watch(&plan, &tallies, &scheduling)?;
    let _counted = scheduling.count();
    let agent = Agent {
        plan: &plan,
        output: Arc::clone(output),
        events,
        tallies,
        scheduling: Arc::clone(&scheduling),
    };
    match task {
        Task::Application(application) => driver::run(&agent, application, workload_connections)?,
        Task::Ftp(task) => ftp::run(&agent, &task)?,
        Task::Http(task) => http::run(&agent, *task)?,
    }
    let watched = watch.map(Watch::stop).into_iter().flatten();
    for record in series.map(SeriesSampler::stop).into_iter().flatten().chain(watched) {
        output.write(&record)?;
    }
    if let Some(sampler) = sampler {
        output.write(&sampling::record(&sampler.stop()))?;
    }
    Ok(())
}

/// Samples `TCP_INFO` at the interval of the plan; none if the plan has no interval.
fn start_series(
    plan: &AgentPlan,
    tallies: &Arc<Tallies>,
) -> Result<Option<SeriesSampler>, Failure> {
    let Some(interval_ms) = plan.instruments.connections_interval_ms else { return Ok(None) };
    SeriesSampler::start(Arc::clone(tallies), Duration::from_millis(interval_ms))
        .map(Some)
        .map_err(Failure::run("starting a thread"))
}

/// Looks at connections at the interval of the plan; none if the plan has no interval.
fn start_watch(
    plan: &AgentPlan,
    tallies: &Arc<Tallies>,
    scheduling: &Arc<Scheduling>,
) -> Result<Option<Watch>, Failure> {
    let Some(interval_ms) = plan.instruments.looks_interval_ms else { return Ok(None) };
    let interval = Duration::from_millis(interval_ms);
    Watch::start(Arc::clone(tallies), Arc::clone(scheduling), interval)
        .map(Some)
        .map_err(Failure::run("starting a thread"))
}

/// Pins this process, and threads that it starts, to one CPU.
fn stay_on(cpu: u32) -> Result<(), Failure> {
    let mut set = CpuSet::new();
    set.set(cpu as usize)
        .and_then(|()| sched_setaffinity(Pid::from_raw(0), &set))
        .map_err(Failure::run(format!("pinning to CPU {cpu}")))
}
