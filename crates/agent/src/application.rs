//! Builds the application that an agent runs, given the plan.

use netstudy_records as records;
use netstudy_records::{AgentPlan, ProbePlan};
use netstudy_units::Duration;
use netstudy_workload::{
    Application, Beside, Companion, Phases, Probe, RequestServer, RequestShape, Traffic, Until,
};

/// After each phase, the agent pauses until the controller sends `go`, so that counters are read
/// while no traffic flows.
pub(crate) const HOLD: bool = true;

/// The phases of a plan.
pub(crate) fn phases(warmup: records::Until, measure: records::Until) -> Phases {
    let until = |until| match until {
        records::Until::Count { count } => Until::Count(u64::from(count)),
        records::Until::Time { ns } => Until::Time(Duration::from_ns(ns)),
    };
    Phases { warmup: until(warmup), measure: until(measure), hold: HOLD }
}

/// An application that runs the workload and, if the plan has one, the probe.
pub(crate) fn beside<T: Traffic + 'static>(
    plan: &AgentPlan,
    connections: u32,
    workload: T,
) -> Result<Box<dyn Application>, String> {
    fn both<A: Traffic + 'static, B: Companion + 'static>(
        workload: A,
        connections: u32,
        companion: B,
        idle_ns: u64,
    ) -> Box<dyn Application> {
        let idle = Duration::from_ns(idle_ns);
        Box::new(Beside::new(workload, connections, companion, idle, HOLD))
    }
    let Some(probe) = plan.probe else { return Ok(Box::new(workload)) };
    match probe {
        ProbePlan::Server { request_bytes, response_bytes, .. } => {
            let shape = RequestShape { request_bytes, response_bytes };
            shape.check()?;
            // Only the client of the probe has an idle phase; the server only answers requests.
            Ok(both(workload, connections, RequestServer::new(shape), 0))
        }
        ProbePlan::Client {
            connections: own,
            request_bytes,
            response_bytes,
            interval_ns,
            idle_ns,
        } => {
            let shape = RequestShape { request_bytes, response_bytes };
            shape.check()?;
            if own == 0 || interval_ns == 0 {
                return Err("probe.connections and probe.interval_ns must be at least 1".to_owned());
            }
            let probe = Probe::new(shape, own, Duration::from_ns(interval_ns));
            Ok(both(workload, connections, probe, idle_ns))
        }
    }
}
