//! Bulk transfers.

use netstudy_records as records;
use netstudy_records::{AgentPlan, AgentRecord};
use netstudy_units::{Duration, Time};
use netstudy_workload::{
    Application, Direction, Phases, Sample, TransferClient, TransferConfig, TransferServer,
    TransferShape, TransferSize,
};

use super::recording::{Recording, Spans};
use super::role::Role;
use crate::application::beside;
use crate::clock::Clock;

/// Sends or receives the data of a client's transfers.
pub(super) struct Server {
    pub(super) shape: TransferShape,
}

/// Makes transfers on each of its connections, one after the other.
pub(super) struct Client<'a> {
    pub(super) shape: TransferShape,
    pub(super) pause: Duration,
    pub(super) starts_ns: &'a [u64],
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
        beside(plan, connections, TransferServer::new(self.shape))
    }
}

impl Role for Client<'_> {
    fn opens(&self) -> bool {
        true
    }

    fn application(
        &self,
        plan: &AgentPlan,
        connections: u32,
    ) -> Result<Box<dyn Application>, String> {
        let Self { shape, pause, starts_ns, phases } = *self;
        let config = TransferConfig { shape, connections, pause, phases };
        config.check()?;
        let starts = starts_ns.iter().map(|&ns| Duration::from_ns(ns)).collect();
        beside(plan, connections, TransferClient::new(&config).starting_after(starts))
    }

    fn recording(&self, _connections: u32) -> Box<dyn Recording> {
        Box::new(Transfers::default())
    }

    fn needs_acknowledgments(&self) -> bool {
        self.shape.direction != Direction::Get
    }

    fn records_seconds(&self) -> bool {
        true
    }
}

pub(super) fn shape(
    direction: records::Direction,
    size: records::TransferSize,
    request_bytes: u64,
) -> TransferShape {
    let direction = match direction {
        records::Direction::Get => Direction::Get,
        records::Direction::Put => Direction::Put,
        records::Direction::Both => Direction::Both,
    };
    let size = match size {
        records::TransferSize::Fixed { bytes } => TransferSize::Fixed(bytes),
        records::TransferSize::Stream => TransferSize::Stream,
    };
    TransferShape { direction, size, request_bytes }
}

/// Transfers of a client.
#[derive(Default)]
pub(super) struct Transfers {
    connection: Vec<u32>,
    bytes_received: Vec<u64>,
    bytes_sent: Vec<u64>,
    spans: Spans,
    first_byte_ns: Vec<u64>,
}

impl Recording for Transfers {
    fn sample(&mut self, clock: Clock, sample: Sample, over: Option<Time>) {
        let Sample::Transfer { connection, bytes_received, bytes_sent, started, first_byte, ended } =
            sample
        else {
            unreachable!("the samples of transfers are transfers")
        };
        // A transfer that ends after the phase does not count.
        if over.is_none() {
            self.connection.push(connection);
            self.bytes_received.push(bytes_received);
            self.bytes_sent.push(bytes_sent);
            self.spans.add(clock, started, ended);
            self.first_byte_ns.extend(first_byte.map(|at| clock.as_ns(at)));
        }
    }

    fn into_records(self: Box<Self>) -> Vec<AgentRecord> {
        let Self { connection, bytes_received, bytes_sent, spans, first_byte_ns } = *self;
        let Spans { started_ns, ended_ns } = spans;
        vec![AgentRecord::Transfers {
            connection,
            bytes_received,
            bytes_sent,
            started_ns,
            ended_ns,
            first_byte_ns: (!first_byte_ns.is_empty()).then_some(first_byte_ns),
        }]
    }
}
