//! Readings of a connection: `TCP_INFO`, and the CPU time of the agent at the same moment.

use netstudy_records::{AgentRecord, Taken};

use crate::clock::monotonic_ns;
use crate::scheduling::Spent;
use crate::tcp_info::{self, Values};

/// One reading.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reading {
    pub(crate) at_ns: u64,
    pub(crate) spent: Spent,
    pub(crate) tcp: Values,
    /// When the thread that carries traffic last had nothing to do; none: another thread reads.
    pub(crate) idle_ns: Option<u64>,
}

impl Reading {
    /// A reading now, with these times of the agent and these values of the connection.
    pub(crate) fn now(tcp: &Values, spent: Spent, idle_ns: Option<u64>) -> Self {
        Self { at_ns: monotonic_ns(), spent, tcp: *tcp, idle_ns }
    }
}

/// The record of a connection's readings.
pub(crate) fn record(connection: u32, taken: Taken, readings: &[Reading]) -> AgentRecord {
    AgentRecord::Readings {
        connection,
        taken,
        at_ns: readings.iter().map(|one| one.at_ns).collect(),
        cpu_ns: readings.iter().map(|one| one.spent.cpu_ns).collect(),
        waited_ns: readings.iter().map(|one| one.spent.waited_ns).collect(),
        idle_ns: readings.iter().map(|one| one.idle_ns).collect(),
        values: tcp_info::columns(&readings.iter().map(|one| &one.tcp)),
    }
}
