//! The application of an agent, from its plan.

use netstudy_records::{AgentPlan, ProbePlan};
use netstudy_units::Duration;
use netstudy_workload::{
    Application, Beside, Companion, Probe, RequestServer, RequestShape, Traffic,
};

use crate::workloads;

/// The agent holds between phases until the controller says `go`, so that counters are read while no
/// traffic flows.
pub(crate) const HOLD: bool = true;

/// Number of the workload's connections, which come before the probe's.
pub(crate) fn workload_connections(plan: &AgentPlan) -> Result<u32, String> {
    let all = plan.connections.len();
    if !workloads::of(&plan.workload).has_connections() {
        let is_alone = all == 0 && plan.probe.is_none();
        let why = || format!("this role has no probe and no connections; connections has {all}");
        return is_alone.then_some(0).ok_or_else(why);
    }
    let probes = match plan.probe {
        None => 0,
        Some(ProbePlan::Server { connections, .. } | ProbePlan::Client { connections, .. }) => {
            connections as usize
        }
    };
    let own = all.checked_sub(probes).filter(|own| *own > 0);
    own.map(|own| own as u32).ok_or_else(|| {
        format!("connections has {all}, of which {probes} are the probe's: none is the workload's")
    })
}

/// The workload, joined with the plan's probe.
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
