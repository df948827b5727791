//! From what a run gave to its record.

use std::collections::BTreeMap;
use std::ops::Range;

use netstudy_fabric::{PauseCounters, PortCounters};
use netstudy_records as records;
use netstudy_records::{Phase, RunRecord, Status};
use netstudy_tcp::Counters;
use netstudy_workload::IncastConfig;

use crate::laws;
use crate::measure::{Connection, Outcome, Snapshot};
use crate::network::{NicCounters, NodeCounters};
use crate::run::mode;
use crate::wiring::Star;

/// The index of the client; the servers follow.
const CLIENT: usize = 0;

/// The record of a run that was not made, or did not end, because of `error`.
pub(crate) fn of_failure(run: &records::Run, error: String) -> RunRecord {
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
    let received = |snapshot: &Snapshot| snapshot.tcp[CLIENT].bytes_received;
    let bytes_received = received(&outcome.end) - received(&outcome.base);
    let expected_bytes = config.iteration_bytes() * u64::from(incast.iterations);
    let took = outcome.measure_to.since(outcome.measure_from);
    let checks = vec![
        laws::all_bytes_arrived(bytes_received, expected_bytes),
        laws::below_line_rate(&star.hosts[CLIENT], bytes_received, took),
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

/// How each connection's counters grew.
fn connections(outcome: &Outcome) -> records::ConnectionSamples {
    let grown = |value: fn(&Connection) -> u64| {
        let pairs = outcome.end.connections.iter().zip(&outcome.base.connections);
        pairs.map(|(end, base)| value(end) - value(base)).collect::<Vec<_>>()
    };
    records::ConnectionSamples {
        bytes_received: grown(|c| c.ends[0].bytes_received),
        receiving_ns: grown(|c| c.receiving.as_ps()).iter().map(|ps| ps / 1000).collect(),
        retransmissions: grown(|c| c.ends[1].segments_retransmitted),
        timeouts: grown(|c| c.ends[1].timeouts),
    }
}

fn counters(run: &records::Run, incast: &records::Incast, outcome: &Outcome) -> records::Counters {
    let switch = "switch";
    debug_assert!(run.network.hosts.iter().all(|group| group.name != switch));
    let groups = [(&incast.client, 0..1), (&incast.servers, 1..outcome.end.nodes.len())];
    groups
        .into_iter()
        .flat_map(|(name, hosts)| {
            let [base, end] =
                [&outcome.base, &outcome.end].map(|snapshot| Group::new(snapshot, hosts.clone()));
            let queue_bytes_max = outcome.rest.queue_bytes_max[hosts].iter().max();
            let at_hosts = Growth::default()
                .of(host_counters, &base.tcp, &end.tcp)
                .of(nic_counters, &base.node.nic, &end.node.nic)
                .of(pause_counters, &base.node.pauses, &end.node.pauses);
            let at_ports = Growth::default()
                .of(port_counters, &base.node.port, &end.node.port)
                .of(pause_counters, &base.node.port_pauses, &end.node.port_pauses)
                .with("queue_bytes_max", queue_bytes_max.copied().unwrap_or(0));
            [(name.clone(), at_hosts.0), (format!("{switch}.{name}"), at_ports.0)]
        })
        .collect()
}

/// The counters of several hosts, summed up.
#[derive(Default)]
struct Group {
    tcp: Counters,
    node: NodeCounters,
}

impl Group {
    fn new(snapshot: &Snapshot, hosts: Range<usize>) -> Self {
        let mut group = Self::default();
        for (tcp, node) in snapshot.tcp[hosts.clone()].iter().zip(&snapshot.nodes[hosts]) {
            group.tcp.add(tcp);
            group.node.add(node);
        }
        group
    }
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
