//! Messages between the Python front end and the engine (plans in, records out), and between a real
//! testbed and the processes that the engine runs in it.
//!
//! The same messages are defined in `python/netstudy/wire.py`; their JSON Schemas are in `schema/`.
//! Both sides are tested against the examples in `schema/examples/`.

mod agent;
mod brokerage_plan;
mod host;
mod latencies;
mod plan;
mod plan_line;
mod planned;
mod queue_statistics;
mod record;
mod secret;
mod snmp_plan;
mod spans;
mod stations;
mod switch_plan;
mod time_account;
mod transactions;

pub use agent::{
    AgentPlan, AgentRecord, AgentRecordSchema, AgentSchema, AgentWorkload, Command,
    ConnectionCounters, ConnectionPlan, Deck, Endpoint, FilePlace, FileStore, FtpLogin, InTime,
    InstrumentPlan, ProbePlan, RequestSchedule, RequestsOf, Snapshot, SocketOptions, Taken, Token,
    TransactionClient, TransactionScript, TransferSize, WaitEnd,
};
pub use brokerage_plan::{
    BrokerageCommand, BrokerageCounters, BrokerageDatabase, BrokeragePlan, BrokeragePlanSchema,
    BrokeragePopulation, BrokerageRecord, BrokerageRecordSchema, BrokerageSettings,
};
pub use host::{
    AGENT_PROTOCOL, Duplex, HostCommand, HostFacts, HostInterface, HostProgram, HostRecord,
    HostSignal,
};
pub use latencies::{Answers, Latencies};
pub use netstudy_fabric::BufferConfig as Buffer;
pub use netstudy_fabric::queue::QueueConfig as Queue;
pub use netstudy_fabric::switch::{IngressQueuedConfig, OutputQueuedConfig, SharedMemoryConfig};
pub use plan::{
    CongestionControl, DataPath, Direction, FileSink, FileSource, Forwarding, Ftp, Group, Host,
    Incast, Instrument, InstrumentKind, Jitter, Link, LocalPath, Loss, Network, Nic, Node,
    OffloadRule, Path, Phase, PhaseKind, Port, Probe, Recovery, Request, Roles, RtoRule, Run,
    SecretSource, SnmpAccess, Stack, Switch, Tcp, Transfer, Treatment, Until, WindowRule, Workload,
    Zone,
};
pub use plan_line::{PlanHead, PlanLine, PlanSchema, RunLine, TreatmentPart};
pub use planned::{PlannedRun, PlannedRuns, read_plan};
pub use queue_statistics::QueueStatistics;
pub use record::{
    Check, ClockBounds, ConnectionSamples, Edge, IterationSamples, Latency, Mode, Modelled,
    PhaseTimes, Readings, Reconciliation, Record, RecordNode, RecordSchema, RequestHistogram,
    RunRecord, RunUnderWay, Samples, SecondSamples, Series, Status, TestbedLimit, Times,
    TransferSamples,
};
pub use secret::Secret;
pub use snmp_plan::{
    Authentication, Cipher, Privacy, SnmpCredentials, SnmpPlan, SnmpPlanSchema, SnmpPort,
    SnmpRecord, SnmpRecordSchema,
};
pub use spans::SPAN_MAX_NS;
pub use stations::{Bus, Cpu, Disk, Service};
pub use switch_plan::{
    FRAMES_RECEIVED_BY_SIZE, Management, PathStatistics, SwitchClock, SwitchElement, SwitchHost,
    SwitchLink, SwitchLinkEnd, SwitchPlan, SwitchPlanSchema, SwitchPortCounters, SwitchRecord,
    SwitchRecordSchema, SwitchSampling,
};
pub use time_account::{Place, Reason, TimeAccount, TimeGroup, TimeView, UnitKind};
pub use transactions::{
    Application, Arrivals, Costs, Database, ExistingDatabase, HttpMethod, HttpRequest, Load,
    Medium, Operation, PasswordSource, StatisticsSamples, TierRoles, TransactionErrors,
    TransactionSamples, Transactions,
};
