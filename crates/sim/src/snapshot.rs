//! What is read of a simulation: counters of a moment, and what is left at its end.

use netstudy_fabric::{PauseCounters, PortCounters};
use netstudy_records::IterationSamples;
use netstudy_tcp::Counters;
use netstudy_units::{Duration, Time};
use netstudy_workload::Incast;

use crate::barrier::Totals;
use crate::hosts::NicCounters;
use crate::parties::Server;

/// What a run that came to its end gives.
pub(crate) struct Outcome {
    pub(crate) samples: IterationSamples,
    pub(crate) measure_from: Time,
    pub(crate) measure_to: Time,
    pub(crate) base: Snapshot,
    pub(crate) end: Snapshot,
    pub(crate) frames_sent: u64,
    pub(crate) frames_under_way: u64,
    pub(crate) client_queue_bytes_max: u64,
    pub(crate) server_queue_bytes_max: u64,
}

/// All counters of a moment.
#[derive(Clone, Debug, Default)]
pub(crate) struct Snapshot {
    pub(crate) client: Counters,
    pub(crate) servers: Counters,
    pub(crate) client_port: PortCounters,
    pub(crate) server_ports: PortCounters,
    pub(crate) client_nic: NicCounters,
    pub(crate) server_nics: NicCounters,
    pub(crate) client_pauses: PauseCounters,
    pub(crate) server_pauses: PauseCounters,
    pub(crate) client_port_pauses: PauseCounters,
    pub(crate) server_port_pauses: PauseCounters,
    pub(crate) connections: Vec<Connection>,
}

/// What one connection did so far.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Connection {
    pub(crate) bytes_received: u64,
    pub(crate) receiving: Duration,
    pub(crate) retransmissions: u64,
    pub(crate) timeouts: u64,
}

impl Snapshot {
    pub(crate) fn new<N>(
        ports: &[PortCounters],
        app: &Incast,
        client_nic: NicCounters,
        servers: &[Server<N>],
        nic_counters: impl Fn(&N) -> NicCounters,
    ) -> Self {
        let mut snapshot = Self { client_port: ports[0], client_nic, ..Self::default() };
        for (server, port) in servers.iter().zip(&ports[1..]) {
            snapshot.client.add(server.client_end.counters());
            snapshot.servers.add(server.end.counters());
            snapshot.server_ports.add(port);
            snapshot.server_nics.add(&nic_counters(&server.nic));
        }
        snapshot.connections = (0..)
            .zip(servers)
            .map(|(index, server)| Connection {
                bytes_received: server.client_end.bytes_received(),
                receiving: app.receiving(index),
                retransmissions: server.end.counters().segments_retransmitted,
                timeouts: server.end.counters().timeouts,
            })
            .collect();
        snapshot
    }
}

/// The counters whose growth is reported for each iteration.
pub(crate) fn totals<N>(dropped_packets: u64, servers: &[Server<N>]) -> Totals {
    let mut totals = Totals { dropped_packets, ..Totals::default() };
    for end in servers.iter().flat_map(|server| [&server.client_end, &server.end]) {
        totals.retransmissions += end.counters().segments_retransmitted;
        totals.timeouts += end.counters().timeouts;
    }
    totals
}
