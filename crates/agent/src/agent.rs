//! The plan, output, events and counters that the traffic thread works with.

use std::sync::Arc;

use netstudy_records::{AgentPlan, AgentRecord, AgentRecordSchema, Endpoint};

use crate::control::Events;
use crate::output::Output;
use crate::scheduling::Scheduling;
use crate::tallies::Tallies;

/// Everything that the traffic thread works with: the plan, the output, events and counters.
pub(crate) struct Agent<'a> {
    pub(crate) plan: &'a AgentPlan,
    pub(crate) output: Arc<Output>,
    pub(crate) events: Arc<Events>,
    pub(crate) tallies: Arc<Tallies>,
    pub(crate) scheduling: Arc<Scheduling>,
}

impl Agent<'_> {
    pub(crate) fn ready(&self, listening: Vec<Endpoint>) -> AgentRecord {
        AgentRecord::Ready {
            schema: AgentRecordSchema::V3,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            node: self.plan.node.clone(),
            pid: std::process::id(),
            listening,
        }
    }
}
