//! The agent's roles in workloads, one file a workload. The rest of this crate asks the traits here and names
//! no workload.

mod ftp;
mod incast;
mod observer;
mod request;
mod transaction;
mod transfer;

use netstudy_records as records;
use netstudy_records::{AgentPlan, AgentRecord, AgentWorkload};
use netstudy_units::{Duration, Time};
use netstudy_workload::{Application, Phases, Sample, Until};

use crate::application::HOLD;
use crate::clock::Clock;
use crate::ftp::FtpTask;
use crate::http::HttpTask;
use crate::tcp_info::Losses;

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

/// Records of a role's traffic. Connections are the workload's.
pub(crate) trait Recording {
    /// The measuring phase begins.
    fn begin(&mut self) {}

    /// The application writes a message that was due at `due`.
    fn wrote(&mut self, _clock: Clock, _connection: u32, _due: Time, _now: Time) {}

    /// Whether [`Self::lost`] is to be called.
    fn wants_losses(&self) -> bool {
        false
    }

    /// Losses of a connection so far.
    fn lost(&mut self, _losses: Losses) {}

    /// The kernel has taken the last byte that was written.
    fn flushed(&mut self, _clock: Clock) {}

    /// Bytes have arrived.
    fn received(&mut self, _clock: Clock, _connection: u32, _now: Time) {}

    /// Whether [`Self::answered`] is to be called.
    fn wants_ends(&self) -> bool {
        false
    }

    /// All requested data of a connection has arrived.
    fn answered(&mut self, _clock: Clock, _connection: u32, _now: Time) {}

    /// A sample of the measuring phase has ended; `over`: when the time of the phase was over, if it is.
    fn sample(&mut self, _clock: Clock, _sample: Sample, _over: Option<Time>) {
        unreachable!("a role without samples has none")
    }

    /// All records.
    fn into_records(self: Box<Self>) -> Vec<AgentRecord> {
        Vec::new()
    }
}

/// Of roles whose clients record everything, and of roles without traffic.
struct NoRecording;

impl Recording for NoRecording {}

/// The role that a plan asks for: the list of all roles.
pub(crate) fn of(workload: &AgentWorkload) -> Box<dyn Role + '_> {
    match workload {
        AgentWorkload::IncastServer {
            request_bytes,
            response_bytes,
            start_jitter,
            number,
            seed,
        } => Box::new(incast::Server {
            request_bytes: *request_bytes,
            response_bytes: *response_bytes,
            start_jitter,
            number: *number,
            seed,
        }),
        AgentWorkload::IncastClient {
            request_bytes,
            response_bytes,
            iterations,
            warmup_iterations,
            request_spacing_ns,
        } => Box::new(incast::Client {
            request_bytes: *request_bytes,
            response_bytes,
            iterations: *iterations,
            warmup_iterations: *warmup_iterations,
            request_spacing: Duration::from_ns(*request_spacing_ns),
        }),
        &AgentWorkload::TransferServer { direction, size, request_bytes } => {
            Box::new(transfer::Server { shape: transfer::shape(direction, size, request_bytes) })
        }
        &AgentWorkload::TransferClient {
            direction,
            size,
            request_bytes,
            pause_ns,
            warmup,
            measure,
        } => Box::new(transfer::Client {
            shape: transfer::shape(direction, size, request_bytes),
            pause: Duration::from_ns(pause_ns),
            phases: phases(warmup, measure),
        }),
        AgentWorkload::FtpServer { direction, size_bytes, store, data_path, login, verify } => {
            Box::new(ftp::Server {
                file: ftp::file(*direction, *size_bytes, store, login.as_ref(), *verify),
                data_path: *data_path,
            })
        }
        AgentWorkload::FtpClient {
            direction,
            size_bytes,
            path,
            store,
            data_path,
            login,
            verify,
            pause_ns,
            warmup,
            measure,
        } => Box::new(ftp::Client {
            file: ftp::file(*direction, *size_bytes, store, login.as_ref(), *verify),
            data_path: *data_path,
            path,
            pause_ns: *pause_ns,
            warmup: *warmup,
            measure: *measure,
        }),
        &AgentWorkload::RequestServer { request_bytes, response_bytes } => {
            Box::new(request::Server { shape: request::shape(request_bytes, response_bytes) })
        }
        &AgentWorkload::RequestClient {
            request_bytes,
            response_bytes,
            schedule,
            warmup,
            measure,
        } => Box::new(request::Client {
            shape: request::shape(request_bytes, response_bytes),
            schedule: request::schedule(schedule),
            phases: phases(warmup, measure),
        }),
        AgentWorkload::TransactionClient(client) => Box::new(transaction::Client(client)),
        AgentWorkload::Observer => Box::new(observer::Observer),
    }
}

/// Starts and ends of samples.
#[derive(Default)]
struct Spans {
    started_ns: Vec<u64>,
    ended_ns: Vec<u64>,
}

impl Spans {
    fn add(&mut self, clock: Clock, started: Time, ended: Time) {
        self.started_ns.push(clock.as_ns(started));
        self.ended_ns.push(clock.as_ns(ended));
    }
}

pub(crate) fn phases(warmup: records::Until, measure: records::Until) -> Phases {
    let until = |until| match until {
        records::Until::Count { count } => Until::Count(u64::from(count)),
        records::Until::Time { ns } => Until::Time(Duration::from_ns(ns)),
    };
    Phases { warmup: until(warmup), measure: until(measure), hold: HOLD }
}
