//! Requests and responses.

use netstudy_records::{AgentPlan, AgentRecord, Answers, PhaseKind, RequestSchedule, RequestsOf};
use netstudy_units::{Duration, Time};
use netstudy_workload::{
    Application, Phases, RequestClient, RequestConfig, RequestServer, RequestShape, Sample,
    Schedule,
};

use super::recording::Recording;
use super::role::Role;
use crate::answers::{note_answer, response_times};
use crate::application::beside;
use crate::clock::Clock;

/// Answers each request as soon as it is complete.
pub(super) struct Server {
    pub(super) shape: RequestShape,
    /// Writes of a response.
    pub(super) writes: u32,
}

/// Sends requests and waits for their responses.
pub(super) struct Client {
    pub(super) shape: RequestShape,
    pub(super) schedule: Schedule,
    pub(super) phases: Phases,
}

impl Role for Server {
    fn opens(&self) -> bool {
        false
    }

    fn application(
        &self,
        plan: &AgentPlan,
        connections: u32,
    ) -> Result<Box<dyn Application>, String> {
        self.shape.check()?;
        beside(plan, connections, RequestServer::new(self.shape).in_writes(self.writes)?)
    }
}

impl Role for Client {
    fn opens(&self) -> bool {
        true
    }

    fn application(
        &self,
        plan: &AgentPlan,
        connections: u32,
    ) -> Result<Box<dyn Application>, String> {
        let Self { shape, schedule, phases } = *self;
        let config = RequestConfig { shape, connections, schedule, phases };
        config.check()?;
        beside(plan, connections, RequestClient::new(&config))
    }

    fn recording(&self, _connections: u32) -> Box<dyn Recording> {
        Box::new(Requests(Answers::default()))
    }

    fn records_seconds(&self) -> bool {
        true
    }
}

pub(super) const fn shape(request_bytes: u64, response_bytes: u64) -> RequestShape {
    RequestShape { request_bytes, response_bytes }
}

pub(super) fn schedule(schedule: RequestSchedule) -> Schedule {
    match schedule {
        RequestSchedule::Closed { outstanding, think_ns } => {
            Schedule::Closed { outstanding, think: Duration::from_ns(think_ns) }
        }
        RequestSchedule::Every { interval_ns } => Schedule::Every(Duration::from_ns(interval_ns)),
    }
}

/// Response times of a client.
struct Requests(Answers);

impl Recording for Requests {
    fn sample(&mut self, _clock: Clock, sample: Sample, over: Option<Time>) {
        let Sample::Request { intended, ended, .. } = sample else {
            unreachable!("the samples of requests are requests")
        };
        note_answer(&mut self.0, intended, ended, over);
    }

    fn into_records(self: Box<Self>) -> Vec<AgentRecord> {
        vec![response_times(&self.0, RequestsOf::Workload, PhaseKind::Measure)]
    }
}
