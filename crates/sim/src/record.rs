//! From what a run gave to its record.

use std::collections::BTreeMap;
use std::iter::repeat;

use netstudy_fabric::{PauseCounters, PortCounters};
use netstudy_records as records;
use netstudy_records::{Phase, RunRecord, Status};
use netstudy_tcp::Counters;
use netstudy_workload::IncastConfig;

use crate::hosts::NicCounters;
use crate::laws;
use crate::modes::mode;
use crate::snapshot::{Connection, Outcome};
use crate::wiring::Star;

/// The record of a run that was not made, or did not end, because of `error`.
#[must_use]
pub fn of_failure(run: &records::Run, error: String) -> RunRecord {
    RunRecord { status: Status::Failed, error: Some(error), ..empty(run) }
}

/// The record of a run that came to its end.
pub(crate) fn of_outcome(
    run: &records::Run,
    star: &Star,
    config: &IncastConfig,
    outcome: Outcome,
) -> RunRecord {
    let records::Workload::Incast(incast) = &run.workload;
    let bytes_received = outcome.end.client.bytes_received - outcome.base.client.bytes_received;
    let expected_bytes = config.iteration_bytes() * u64::from(incast.iterations);
    let took = outcome.measure_to.since(outcome.measure_from);
    let checks = vec![
        laws::all_bytes_arrived(bytes_received, expected_bytes),
        laws::below_line_rate(&star.client, bytes_received, took),
        laws::frames_conserved(&outcome),
    ];
    let status = if checks.iter().all(|check| check.holds) { Status::Ok } else { Status::Invalid };
    RunRecord {
        status,
        checks,
        measure: Some(Phase {
            start_ns: outcome.measure_from.as_ns(),
            end_ns: outcome.measure_to.as_ns(),
        }),
        bytes_received: Some(bytes_received),
        connections: Some(connections(&outcome)),
        counters: counters(run, incast, &outcome),
        iterations: Some(outcome.samples),
        ..empty(run)
    }
}

fn empty(run: &records::Run) -> RunRecord {
    RunRecord {
        run: run.id.clone(),
        treatment: run.treatment.clone(),
        replicate: run.replicate,
        seed: run.seed.clone(),
        status: Status::Ok,
        mode: Some(mode(run)),
        error: None,
        checks: Vec::new(),
        measure: None,
        bytes_received: None,
        iterations: None,
        connections: None,
        counters: BTreeMap::new(),
        limits: Vec::new(),
        reconciliation: Vec::new(),
        environment: BTreeMap::new(),
        scaled_by: None,
    }
}

/// How each connection's counters grew; a run without warm-up has nothing to take off.
fn connections(outcome: &Outcome) -> records::ConnectionSamples {
    let grown = |value: fn(&Connection) -> u64| {
        let base = outcome.base.connections.iter().map(value).chain(repeat(0));
        let end = outcome.end.connections.iter().map(value);
        end.zip(base).map(|(end, base)| end - base).collect::<Vec<_>>()
    };
    records::ConnectionSamples {
        bytes_received: grown(|c| c.bytes_received),
        receiving_ns: grown(|c| c.receiving.as_ps()).iter().map(|ps| ps / 1000).collect(),
        retransmissions: grown(|c| c.retransmissions),
        timeouts: grown(|c| c.timeouts),
    }
}

fn counters(run: &records::Run, incast: &records::Incast, outcome: &Outcome) -> records::Counters {
    let (base, end) = (&outcome.base, &outcome.end);
    let switch = "switch";
    debug_assert!(run.network.hosts.iter().all(|group| group.name != switch));
    let client = Growth::default()
        .of(host_counters, &base.client, &end.client)
        .of(nic_counters, &base.client_nic, &end.client_nic)
        .of(pause_counters, &base.client_pauses, &end.client_pauses);
    let servers = Growth::default()
        .of(host_counters, &base.servers, &end.servers)
        .of(nic_counters, &base.server_nics, &end.server_nics)
        .of(pause_counters, &base.server_pauses, &end.server_pauses);
    let client_port = Growth::default()
        .of(port_counters, &base.client_port, &end.client_port)
        .of(pause_counters, &base.client_port_pauses, &end.client_port_pauses)
        .with("queue_bytes_max", outcome.client_queue_bytes_max);
    let server_ports = Growth::default()
        .of(port_counters, &base.server_ports, &end.server_ports)
        .of(pause_counters, &base.server_port_pauses, &end.server_port_pauses)
        .with("queue_bytes_max", outcome.server_queue_bytes_max);
    BTreeMap::from([
        (incast.client.clone(), client.0),
        (incast.servers.clone(), servers.0),
        (format!("{switch}.{}", incast.client), client_port.0),
        (format!("{switch}.{}", incast.servers), server_ports.0),
    ])
}

/// Counters of a node or port by name, as they grew.
#[derive(Default)]
struct Growth(BTreeMap<String, u64>);

impl Growth {
    /// Adds how the counters that `named` reads grew from `base` to `end`.
    fn of<C, const N: usize>(
        mut self,
        named: fn(&C) -> [(&str, u64); N],
        base: &C,
        end: &C,
    ) -> Self {
        for ((name, end), (_, base)) in named(end).into_iter().zip(named(base)) {
            self = self.with(name, end - base);
        }
        self
    }

    fn with(mut self, name: &str, value: u64) -> Self {
        self.0.insert(name.to_owned(), value);
        self
    }
}

fn host_counters(c: &Counters) -> [(&str, u64); 13] {
    [
        ("segments_sent", c.segments_sent),
        ("segments_received", c.segments_received),
        ("segments_retransmitted", c.segments_retransmitted),
        ("timeouts", c.timeouts),
        ("fast_recoveries", c.fast_recoveries),
        ("loss_probes", c.loss_probes),
        ("loss_probe_recoveries", c.loss_probe_recoveries),
        ("undone_reductions", c.undone_reductions),
        ("acks_sent", c.acks_sent),
        ("duplicate_acks_received", c.duplicate_acks_received),
        ("ece_acks_received", c.ece_acks_received),
        ("bytes_sent", c.bytes_sent),
        ("bytes_received", c.bytes_received),
    ]
}

fn nic_counters(c: &NicCounters) -> [(&str, u64); 2] {
    [("nic_queue_drops", c.queue_drops), ("ring_drops", c.ring_drops)]
}

fn pause_counters(c: &PauseCounters) -> [(&str, u64); 2] {
    [("pauses_sent", c.pauses_sent), ("pauses_received", c.pauses_received)]
}

fn port_counters(c: &PortCounters) -> [(&str, u64); 5] {
    [
        ("frames_forwarded", c.frames_forwarded),
        ("bytes_forwarded", c.bytes_forwarded),
        ("frames_dropped", c.frames_dropped),
        ("bytes_dropped", c.bytes_dropped),
        ("frames_marked", c.frames_marked),
    ]
}
