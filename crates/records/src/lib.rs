//! What crosses between the front and the engine: the plan coming in, records going out.
//! And what crosses between the real testbed and the engine's processes there.
//!
//! The same contract as `python/netstudy/wire.py`, exported as JSON Schemas in `schema/`. Both sides
//! are tested against the examples in `schema/examples/`.

mod agent;
mod plan;
mod record;
mod switch_plan;

pub use agent::{
    AgentPlan, AgentRecord, AgentRecordSchema, AgentSchema, AgentWorkload, Command,
    ConnectionCounters, ConnectionPlan, Direction, Endpoint, InstrumentPlan, PhaseName, ProbePlan,
    RequestSchedule, RequestsOf, Snapshot, SocketOptions, Token, TransferSize, Until,
};
pub use plan::{
    Buffer, CongestionControl, Forwarding, HostGroup, Incast, Jitter, Link, Network, Nic,
    OffloadRule, Plan, PlanSchema, Recovery, RtoRule, Run, Switch, Tcp, Treatment, Workload,
};
pub use record::{
    Check, ConnectionSamples, Counters, IterationSamples, Mode, Phase, Reconciliation, Record,
    RecordSchema, RunRecord, Status, TestbedLimit,
};
pub use switch_plan::{
    SwitchClock, SwitchPlan, SwitchPlanSchema, SwitchPort, SwitchPortCounters, SwitchRecord,
    SwitchRecordSchema,
};
