//! An agent without traffic: it only reads counters.

use netstudy_records::AgentPlan;
use netstudy_units::Time;
use netstudy_workload::{Action, Application, Traffic};

use super::role::Role;

/// The role of an agent that generates no traffic and only reads counters of a host or interface.
pub(super) struct Observer;

impl Role for Observer {
    fn has_connections(&self) -> bool {
        false
    }

    fn opens(&self) -> bool {
        false
    }

    fn application(
        &self,
        _plan: &AgentPlan,
        _connections: u32,
    ) -> Result<Box<dyn Application>, String> {
        Ok(Box::new(NoTraffic))
    }
}

/// An application without actions.
struct NoTraffic;

impl Traffic for NoTraffic {
    fn next_action(&self) -> Time {
        Time::NEVER
    }

    fn poll(&mut self, _now: Time) -> Option<Action> {
        None
    }

    fn received(&mut self, _now: Time, _connection: u32, _before: u64, _total: u64) -> bool {
        false
    }
}
