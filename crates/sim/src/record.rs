//! From what a run gave to its record.

use std::collections::BTreeMap;

use netstudy_fabric::topology::{Attachment, CableEnd};
use netstudy_records as records;
use netstudy_records::{
    Check, ConnectionSamples, Edge, IterationSamples, Mode, Node, PhaseKind, PhaseTimes, Readings,
    RecordNode, RequestHistogram, RunRecord, Samples, Status, Workload,
};
use netstudy_tcp::Counters;

use crate::applications::Cast;
use crate::measure::{Connection, Latencies, Outcome, SIGNIFICANT_DIGITS, Snapshot};
use crate::network::EndCounters;
use crate::wiring::Wiring;

/// The clock of all nodes.
const CLOCK: &str = "simulation";

/// The record of a run that was not made, or did not end, because of `error`.
#[must_use]
pub fn of_failure(run: &records::Run, error: String) -> RunRecord {
    RunRecord { status: Status::Failed, error: Some(error), ..empty(run) }
}

/// The record of a run that came to its end.
pub(crate) fn of_outcome(
    run: &records::Run,
    wiring: &Wiring,
    cast: &Cast,
    mode: Mode,
    checks: Vec<Check>,
    outcome: &Outcome,
) -> RunRecord {
    let status = if checks.iter().all(|check| check.holds) { Status::Ok } else { Status::Invalid };
    let (from, to) = (outcome.measure_from.as_ns(), outcome.measure_to.as_ns());
    let edge = |name: &str, at_ns| Edge { name: name.to_owned(), at_ns };
    let (counters, ports) = counters(wiring, [&outcome.base, &outcome.end]);
    RunRecord {
        status,
        mode: Some(mode),
        checks,
        nodes: run.network.nodes.iter().map(record_node).collect(),
        phases: phases(run, from, to),
        edges: vec![edge("measure-start", from), edge("measure-end", to)],
        counters,
        ports,
        samples: samples(run, wiring, cast, outcome),
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
        mode: None,
        error: None,
        checks: Vec::new(),
        nodes: BTreeMap::new(),
        phases: Vec::new(),
        samples: Samples::default(),
        edges: Vec::new(),
        counters: BTreeMap::new(),
        ports: BTreeMap::new(),
        series: Vec::new(),
        limits: Vec::new(),
        reconciliation: Vec::new(),
        environment: BTreeMap::new(),
        scaled_by: None,
    }
}

fn record_node(node: &Node) -> (String, RecordNode) {
    let (kind, group) = match node {
        Node::Host(host) => ("host", &host.group),
        Node::Zone(zone) => ("zone", &zone.group),
        Node::Switch(switch) => ("switch", &switch.name),
    };
    let (kind, group, clock) = (kind.to_owned(), group.clone(), CLOCK.to_owned());
    (node.name().to_owned(), RecordNode { kind, group, clock, read_at_ns: None })
}

/// Connections are opened in the first phase.
fn phases(run: &records::Run, measure_from: u64, measure_to: u64) -> Vec<PhaseTimes> {
    let warms_up = run.phases.iter().any(|phase| phase.kind == PhaseKind::WarmUp);
    let warmup = PhaseTimes { kind: PhaseKind::WarmUp, start_ns: 0, end_ns: measure_from };
    let measure =
        PhaseTimes { kind: PhaseKind::Measure, start_ns: measure_from, end_ns: measure_to };
    warms_up.then_some(warmup).into_iter().chain([measure]).collect()
}

/// The tables of the workload, and one of its connections.
fn samples(run: &records::Run, wiring: &Wiring, cast: &Cast, outcome: &Outcome) -> Samples {
    let connection = Some(connections(wiring, cast, outcome));
    let sampled = &outcome.samples;
    let second = Some(sampled.seconds.clone());
    match run.workload {
        Workload::Incast(_) => {
            let dropped_packets = Some(sampled.dropped_packets.clone());
            let iteration = IterationSamples { dropped_packets, ..sampled.iterations.clone() };
            Samples { connection, iteration: Some(iteration), ..Samples::default() }
        }
        Workload::Transfer(_) => {
            let transfer = Some(sampled.transfers.clone());
            Samples { connection, transfer, second, ..Samples::default() }
        }
        Workload::Request(_) => {
            let requests = sampled.requests.iter();
            let request = requests.map(|(&hosts, found)| histogram(wiring, hosts, found)).collect();
            Samples { connection, request, second, ..Samples::default() }
        }
    }
}

/// The latencies of requests of one host to another.
fn histogram(
    wiring: &Wiring,
    [client, server]: [u32; 2],
    latencies: &Latencies,
) -> RequestHistogram {
    let name = |host: u32| wiring.name_of(host as usize).to_owned();
    let Latencies { histogram, min, max, sum } = latencies;
    let buckets = || histogram.iter_recorded();
    RequestHistogram {
        operation: "request".to_owned(),
        phase: PhaseKind::Measure,
        client: name(client),
        server: name(server),
        count: histogram.len(),
        // What is begun in a phase is ended.
        unanswered: 0,
        min_ns: *min,
        max_ns: *max,
        sum_ns: *sum,
        significant_digits: SIGNIFICANT_DIGITS,
        value_ns: buckets().map(|one| one.value_iterated_to()).collect(),
        requests: buckets().map(|one| one.count_at_value()).collect(),
    }
}

/// How each connection's counters grew.
fn connections(wiring: &Wiring, cast: &Cast, outcome: &Outcome) -> ConnectionSamples {
    let grown = |value: &dyn Fn(&Connection) -> u64| {
        let pairs = outcome.end.connections.iter().zip(&outcome.base.connections);
        pairs.map(|(end, base)| value(end) - value(base)).collect::<Vec<_>>()
    };
    let of_senders = |value: fn(&Counters) -> u64| {
        grown(&|connection: &Connection| {
            let ends = connection.ends.iter().zip(cast.senders);
            ends.filter(|(_, sends)| *sends).map(|(end, _)| value(end)).sum()
        })
    };
    let name = |pair: &[usize; 2], side: usize| wiring.name_of(pair[side]).to_owned();
    let names = |side| cast.connections.iter().map(|pair| name(pair, side)).collect();
    ConnectionSamples {
        client: names(0),
        server: names(1),
        bytes_received: grown(&|c| c.ends[0].bytes_received),
        bytes_sent: grown(&|c| c.ends[1].bytes_received),
        busy_ns: grown(&|c| c.receiving.as_ps()).iter().map(|ps| ps / 1000).collect(),
        retransmissions: of_senders(|end| end.segments_retransmitted),
        timeouts: of_senders(|end| end.timeouts),
    }
}

type ByNode = BTreeMap<String, Readings>;
type ByPort = BTreeMap<String, BTreeMap<String, Readings>>;

/// What hosts and zones counted, and the ports of interfaces and of switches, at the two edges. The
/// interfaces of a host count for the host, and each by itself.
fn counters(wiring: &Wiring, edges: [&Snapshot; 2]) -> (ByNode, ByPort) {
    let topology = &wiring.topology;
    let mut tcp: BTreeMap<&str, [Counters; 2]> = BTreeMap::new();
    for number in 0..wiring.members.len() {
        let sums = tcp.entry(wiring.name_of(number)).or_default();
        for (sum, edge) in sums.iter_mut().zip(edges) {
            sum.add(&edge.tcp[number]);
        }
    }
    let mut nics: BTreeMap<&str, [EndCounters; 2]> = BTreeMap::new();
    let mut ports = ByPort::new();
    for (cable, end) in (0..topology.cables().len()).flat_map(|cable| [(cable, 0), (cable, 1)]) {
        let at = CableEnd { cable, end };
        let port = &topology.cables()[cable].ends[end];
        let node = topology.nodes()[port.node].name.as_str();
        let counted = edges.map(|edge| edge.ends[at.number()]);
        let readings: Readings = match topology.attachment(at) {
            Attachment::Interface(_) => {
                for (sum, one) in nics.entry(node).or_default().iter_mut().zip(&counted) {
                    sum.nic.add(&one.nic);
                    sum.pauses.add(&one.pauses);
                }
                readings(counted.each_ref().map(nic_counters)).collect()
            }
            Attachment::SwitchPort { .. } => {
                readings(counted.each_ref().map(port_counters)).collect()
            }
        };
        ports.entry(node.to_owned()).or_default().insert(port.name.clone(), readings);
    }
    let mut counters = ByNode::new();
    for (node, edges) in &tcp {
        let entry = counters.entry((*node).to_owned()).or_default();
        entry.extend(readings(edges.each_ref().map(host_counters)));
    }
    for (node, edges) in &nics {
        let entry = counters.entry((*node).to_owned()).or_default();
        entry.extend(readings(edges.each_ref().map(nic_counters)));
    }
    (counters, ports)
}

/// Of the same counters at each edge.
fn readings<const N: usize>(
    edges: [[(&'static str, u64); N]; 2],
) -> impl Iterator<Item = (String, Vec<Option<u64>>)> {
    let [base, end] = edges;
    let both = base.into_iter().zip(end);
    both.map(|((name, base), (_, end))| (name.to_owned(), vec![Some(base), Some(end)]))
}

fn host_counters(c: &Counters) -> [(&'static str, u64); 13] {
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

fn nic_counters(end: &EndCounters) -> [(&'static str, u64); 4] {
    [
        ("nic_queue_drops", end.nic.queue_drops),
        ("ring_drops", end.nic.ring_drops),
        ("pauses_sent", end.pauses.pauses_sent),
        ("pauses_received", end.pauses.pauses_received),
    ]
}

fn port_counters(end: &EndCounters) -> [(&'static str, u64); 8] {
    let (port, pauses) = (&end.port, &end.pauses);
    [
        ("frames_forwarded", port.frames_forwarded),
        ("bytes_forwarded", port.bytes_forwarded),
        ("frames_dropped", port.frames_dropped),
        ("bytes_dropped", port.bytes_dropped),
        ("frames_marked", port.frames_marked),
        ("pauses_sent", pauses.pauses_sent),
        ("pauses_received", pauses.pauses_received),
        ("queue_bytes_max", end.queue_bytes_max),
    ]
}
