//! Roles of workloads: their checks, tasks and applications.

use netstudy_records::AgentPlan;
use netstudy_workload::Application;

use super::recording::{NoRecording, Recording};
use crate::ftp::task::FtpTask;
use crate::http::task::HttpTask;

/// The task of an agent.
pub(crate) enum Task {
    /// An application over the connections of the plan.
    Application(Box<dyn Application>),
    /// Sessions of FTP.
    Ftp(FtpTask),
    /// Users of an application over HTTP.
    Http(Box<HttpTask>),
}

impl Task {
    /// Whether it reads or writes files, so that the disk work that the process causes is counted.
    pub(crate) const fn uses_files(&self) -> bool {
        matches!(self, Self::Ftp(_))
    }
}

/// A role of a workload, as a plan asks for it.
pub(crate) trait Role {
    /// Checks that its application does not make itself; `connections` are the workload's.
    ///
    /// # Errors
    /// Names the field of the plan.
    fn check(&self, _connections: usize) -> Result<(), String> {
        Ok(())
    }

    /// Whether the plan has connections of the role, of the workload and perhaps of a probe.
    fn has_connections(&self) -> bool {
        true
    }

    /// Whether the agent opens the connections (a client) or accepts them (a server).
    fn opens(&self) -> bool;

    /// Its task: by default the application.
    ///
    /// # Errors
    /// Says why there can be none.
    fn task(&self, plan: &AgentPlan, connections: u32) -> Result<Task, String> {
        self.application(plan, connections).map(Task::Application)
    }

    /// Its application, joined with the plan's probe.
    ///
    /// # Errors
    /// Says why there can be none.
    fn application(
        &self,
        _plan: &AgentPlan,
        _connections: u32,
    ) -> Result<Box<dyn Application>, String> {
        unreachable!("a role without an application has another task")
    }

    /// Records of its traffic; `connections` are the workload's.
    fn recording(&self, _connections: u32) -> Box<dyn Recording> {
        Box::new(NoRecording)
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
