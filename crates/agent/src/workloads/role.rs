//! Roles of workloads: their checks, tasks and applications.

use netstudy_records::AgentPlan;
use netstudy_workload::Application;

use super::recording::{NoRecording, Recording};
use crate::ftp::task::FtpTask;
use crate::http::task::HttpTask;

/// The task of an agent.
pub(crate) enum Task {
    /// An application that uses the connections of the plan.
    Application(Box<dyn Application>),
    /// FTP sessions.
    Ftp(FtpTask),
    /// Users of an application over HTTP.
    Http(Box<HttpTask>),
}

impl Task {
    /// Whether the task reads or writes files. If it does, the disk I/O of the process is counted.
    pub(crate) const fn uses_files(&self) -> bool {
        matches!(self, Self::Ftp(_))
    }
}

/// A role of a workload in a plan.
pub(crate) trait Role {
    /// Makes checks that the application itself does not make. The argument is how many connections
    /// the workload has.
    ///
    /// # Errors
    /// The message names the invalid field of the plan.
    fn check(&self, _connections: usize) -> Result<(), String> {
        Ok(())
    }

    /// Whether the plan lists connections for this role, either of the workload or of a probe.
    fn has_connections(&self) -> bool {
        true
    }

    /// Whether the agent opens the connections (a client) or accepts them (a server).
    fn opens(&self) -> bool;

    /// The task of the role. By default, the task is to run the application of the role.
    ///
    /// # Errors
    /// The message says why the plan is invalid.
    fn task(&self, plan: &AgentPlan, connections: u32) -> Result<Task, String> {
        self.application(plan, connections).map(Task::Application)
    }

    /// The application of the role, together with the plan's probe if there is one.
    ///
    /// # Errors
    /// The message says why the plan is invalid.
    fn application(
        &self,
        _plan: &AgentPlan,
        _connections: u32,
    ) -> Result<Box<dyn Application>, String> {
        unreachable!("a role without an application has another task")
    }

    /// What records the traffic of the role. The argument is how many connections the workload has.
    fn recording(&self, _connections: u32) -> Box<dyn Recording> {
        Box::new(NoRecording)
    }

    /// True if the role needs the kernel's count of acknowledged bytes: without it, a run fails.
    fn needs_acknowledgments(&self) -> bool {
        false
    }

    /// Whether the agent records the bytes of the connections each second.
    fn records_seconds(&self) -> bool {
        false
    }
}

/// Checks a field of a plan.
pub(crate) fn positive(field: &str, value: u64) -> Result<(), String> {
    if value == 0 { Err(format!("{field} must be at least 1")) } else { Ok(()) }
}
