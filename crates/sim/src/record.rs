//! Turns the outcome of a run into its record.

use std::collections::BTreeMap;

use netstudy_fabric::queue::ClassStatistics;
use netstudy_fabric::topology::{Attachment, CableEnd};
use netstudy_records as records;
use netstudy_records::{
    Answers, Check, ConnectionSamples, Edge, Latencies, Latency, Mode, Node, PhaseKind, PhaseTimes,
    QueueStatistics, Readings, RecordNode, RequestHistogram, RunRecord, Samples, Series, Status,
};
use netstudy_tcp::{Counters, Standing};

use crate::applications::Cast;
use crate::counters::{self, Cpus};
use crate::measure::outcome::{self, Outcome, RequestsOf, Span};
use crate::sampling::Sampler;
use crate::snapshot::{Connection, EndCounters, FlowTimes, Snapshot};
use crate::wiring::Wiring;
use crate::workloads;

/// The `operation` of the histograms of a probe.
pub(crate) const PROBE: &str = "probe";
/// The `operation` of the histograms of transactions, which combine all operations.
pub(crate) const TRANSACTION: &str = "transaction";
/// The name of the clock that all nodes share.
const CLOCK: &str = "simulation";

/// The record of a run that could not start, or did not end, because of `error`.
#[must_use]
pub fn of_failure(run: &records::Run, error: String) -> RunRecord {
    RunRecord { status: Status::Failed, error: Some(error), ..empty(run) }
}

/// The record of a run that has ended.
pub(crate) fn of_outcome(
    run: &records::Run,
    wiring: &Wiring,
    mode: Mode,
    checks: Vec<Check>,
    samples: Samples,
    mut outcome: Outcome,
) -> RunRecord {
    let status = if checks.iter().all(|check| check.holds) { Status::Ok } else { Status::Invalid };
    let edges: Vec<&Snapshot> = outcome.edges.iter().map(|edge| &edge.counted).collect();
    let (counters, ports) = counters(wiring, &edges);
    // The series are moved, not copied, because they can be most of a record.
    let interval_samplers = std::mem::take(&mut outcome.samplers);
    let series: Vec<Series> =
        interval_samplers.into_iter().flat_map(Sampler::into_series).collect();
    let edge = |edge: &outcome::Edge| Edge {
        name: edge.name.to_owned(),
        at_ns: edge.at.as_ns(),
        quiet_ns: None,
    };
    RunRecord {
        status,
        mode: Some(mode),
        checks,
        nodes: run.network.nodes.iter().enumerate().map(|node| record_node(wiring, node)).collect(),
        phases: outcome.phases.iter().map(phase).collect(),
        edges: outcome.edges.iter().map(edge).collect(),
        counters,
        ports,
        samples,
        series,
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
        clocks: BTreeMap::new(),
        scaled_by: None,
    }
}

fn record_node(wiring: &Wiring, (number, node): (usize, &Node)) -> (String, RecordNode) {
    let (kind, group) = match node {
        Node::Host(host) => ("host", &host.group),
        Node::Zone(zone) => ("zone", &zone.group),
        Node::Switch(switch) => ("switch", &switch.name),
    };
    let (kind, group, clock) = (kind.to_owned(), group.clone(), CLOCK.to_owned());
    let cpus = Cpus::of_host(wiring, number).map(|cpus| cpus.count());
    let modelled = (kind != "switch").then(|| wiring.modelled(number));
    let node = node.name().to_owned();
    (node, RecordNode { kind, group, clock, cpus, modelled, environment: None, read_at_ns: None })
}

fn phase(span: &Span) -> PhaseTimes {
    PhaseTimes { kind: span.kind, start_ns: span.start.as_ns(), end_ns: span.end.as_ns() }
}

/// The tables of the workload, the table of connections, and the histograms of requests.
pub(crate) fn samples(
    run: &records::Run,
    wiring: &Wiring,
    cast: &Cast,
    outcome: &Outcome,
) -> Samples {
    let requests = outcome.samples.requests.iter();
    let mut samples = Samples {
        connection: Some(connections(run, wiring, cast, outcome)),
        request: requests
            .filter_map(|(&(of, hosts), found)| of_requests(wiring, of, hosts, found))
            .collect(),
        queue: queues(wiring, outcome),
        ..Samples::default()
    };
    workloads::of(run).add_samples(&outcome.samples, &mut samples);
    samples
}

/// Counters of the queue disciplines over the measuring phase, in the order of links and classes.
fn queues(wiring: &Wiring, outcome: &Outcome) -> Vec<QueueStatistics> {
    let topology = &wiring.topology;
    let ends = (0..topology.cables().len()).flat_map(|cable| [(cable, 0), (cable, 1)]);
    let mut found = Vec::new();
    for (cable, end) in ends {
        let at = CableEnd { cable, end }.number();
        let port = &topology.cables()[cable].ends[end];
        let node = &topology.nodes()[port.node].name;
        let classes = |counted: &Snapshot| counted.queues.get(&at).cloned().unwrap_or_default();
        let base = classes(outcome.base());
        let mut grown: Vec<_> = classes(outcome.end())
            .iter()
            .map(|class| match base.iter().find(|before| before.dscp == class.dscp) {
                Some(before) => class.since(before),
                None => ClassStatistics::clone(class),
            })
            .collect();
        grown.sort_unstable_by_key(|class| class.dscp);
        found.extend(grown.iter().map(|class| QueueStatistics::new(node, &port.name, class)));
    }
    found
}

/// The latencies of requests from one host to another; none if no request was due.
fn of_requests(
    wiring: &Wiring,
    of: RequestsOf,
    hosts: [u32; 2],
    answers: &Answers,
) -> Option<RequestHistogram> {
    let (operation, phase) = match of {
        RequestsOf::Workload => ("request", PhaseKind::Measure),
        RequestsOf::Probe(phase) => (PROBE, phase),
    };
    let ends = hosts.map(|host| wiring.name_of(host as usize));
    histogram(operation, phase, ends, answers)
}

/// The response times of a server to a client, as a histogram; none if no request was due.
pub(crate) fn histogram(
    operation: &str,
    phase: PhaseKind,
    [client, server]: [&str; 2],
    answers: &Answers,
) -> Option<RequestHistogram> {
    let Answers { latencies, unanswered } = answers;
    if latencies.count() + unanswered == 0 {
        return None;
    }
    // Requests without an answer have no latency, so they are not in the buckets but counted
    // separately.
    let (value_ns, requests) = latencies.buckets().unzip();
    Some(RequestHistogram {
        latency: Latency::Response,
        operation: operation.to_owned(),
        phase,
        client: client.to_owned(),
        server: server.to_owned(),
        count: latencies.count(),
        unanswered: *unanswered,
        min_ns: latencies.min_ns().unwrap_or(0),
        max_ns: latencies.max_ns().unwrap_or(0),
        sum_ns: latencies.sum_ns(),
        significant_digits: Latencies::SIGNIFICANT_DIGITS,
        value_ns,
        requests,
    })
}

/// For each connection, by how much its counters grew in the measuring phase.
fn connections(
    run: &records::Run,
    wiring: &Wiring,
    cast: &Cast,
    outcome: &Outcome,
) -> ConnectionSamples {
    let grown = |value: &dyn Fn(&Connection) -> u64| outcome.grown(cast, value);
    let sides = [0, 1].into_iter().filter(|&side| cast.senders[side]);
    let time_ns = |standing| {
        let of_ends = |connection: &Connection| {
            sides.clone().map(|side| connection.times[side][standing].as_ns()).sum()
        };
        Some(grown(&of_ends).into_iter().map(Some).collect())
    };
    let of_senders = |value: fn(&Counters) -> u64| {
        let of_ends =
            |connection: &Connection| sides.clone().map(|side| value(&connection.ends[side])).sum();
        // A data connection and its control connection are one flow, so losses on both of them
        // count.
        let mut all = grown(&of_ends);
        let controls = outcome.grown_of_controls(cast, &of_ends);
        all.iter_mut().zip(controls).for_each(|(sum, control)| *sum += control);
        all
    };
    let log_ins = |part: usize| {
        let log_ins = outcome.samples.log_ins.values().map(|parts| parts[part].as_ns());
        (!cast.controls.is_empty()).then(|| log_ins.collect())
    };
    let name = |pair: &[usize; 2], side: usize| wiring.name_of(pair[side]).to_owned();
    let names = |side| cast.connections.iter().map(|pair| name(pair, side)).collect();
    ConnectionSamples {
        client: names(0),
        server: names(1),
        bytes_received: grown(&|c| c.ends[0].bytes_received),
        bytes_sent: grown(&|c| c.ends[1].bytes_received),
        busy_ns: workloads::of(run).busy_ns(cast, outcome),
        retransmissions: Some(of_senders(|end| end.segments_retransmitted)),
        timeouts: Some(of_senders(|end| end.timeouts)),
        connect_ns: log_ins(0),
        login_ns: log_ins(1),
        idle_ns: time_ns(Standing::Idle),
        sent_ns: time_ns(Standing::Sent),
        peer_window_ns: time_ns(Standing::PeerWindow),
        own_buffer_ns: time_ns(Standing::OwnBuffer),
        congestion_window_ns: time_ns(Standing::CongestionWindow),
        recovery_ns: time_ns(Standing::Recovery),
        own_interface_ns: time_ns(Standing::OwnInterface),
        timer_ns: time_ns(Standing::Timer),
        last: None,
    }
}

type ByNode = BTreeMap<String, Readings>;
type ByPort = BTreeMap<String, BTreeMap<String, Readings>>;

/// Counters of hosts and zones, of their interfaces, and of switch ports, at each edge. The
/// counters of a host include the counters of all its interfaces.
fn counters(wiring: &Wiring, edges: &[&Snapshot]) -> (ByNode, ByPort) {
    let topology = &wiring.topology;
    let mut tcp: BTreeMap<&str, Vec<(Counters, FlowTimes)>> = BTreeMap::new();
    for number in 0..wiring.members.len() {
        let sums = tcp.entry(wiring.name_of(number)).or_default();
        sums.resize(edges.len(), Default::default());
        for ((sum, flows), edge) in sums.iter_mut().zip(edges) {
            sum.add(&edge.tcp[number]);
            flows.add(&edge.flows[number]);
        }
    }
    let mut nics: BTreeMap<&str, Vec<EndCounters>> = BTreeMap::new();
    let mut ports = ByPort::new();
    for (cable, end) in (0..topology.cables().len()).flat_map(|cable| [(cable, 0), (cable, 1)]) {
        let at = CableEnd { cable, end };
        let port = &topology.cables()[cable].ends[end];
        let node = topology.nodes()[port.node].name.as_str();
        let counted = edges.iter().map(|edge| edge.ends[at.number()]);
        let at_device: Readings = match topology.attachment(at) {
            // The counters of an interface are reported for its port and added to those of its
            // host, which may have several interfaces.
            Attachment::Interface(_) => {
                let sums = nics.entry(node).or_default();
                sums.resize(edges.len(), EndCounters::default());
                for (sum, one) in sums.iter_mut().zip(counted.clone()) {
                    sum.add_interface(&one);
                }
                let drops = readings(counted.clone().map(|end| counters::of_interface(&end)));
                let packets = readings(counted.map(|end| counters::of_packets(&end)));
                drops.into_iter().chain(packets).collect()
            }
            Attachment::SwitchPort { .. } => readings(counted.map(|end| counters::of_port(&end))),
        };
        let path = readings(
            edges
                .iter()
                .filter_map(|edge| edge.ends[at.number()].path.as_ref().map(counters::of_path)),
        );
        let all = at_device.into_iter().chain(path).collect();
        ports.entry(node.to_owned()).or_default().insert(port.name.clone(), all);
    }
    let mut counters = ByNode::new();
    for (node, edges) in &tcp {
        let entry = counters.entry((*node).to_owned()).or_default();
        entry.extend(readings(edges.iter().map(|(tcp, _)| counters::of_host(tcp))));
        entry.extend(readings(edges.iter().map(|(_, flows)| counters::of_flows(flows))));
    }
    for (node, edges) in &nics {
        let entry = counters.entry((*node).to_owned()).or_default();
        entry.extend(readings(edges.iter().map(counters::of_interface)));
    }
    for (number, node) in topology.nodes().iter().enumerate() {
        if let Some(cpus) = Cpus::of_host(wiring, number) {
            let entry = counters.entry(node.name.clone()).or_default();
            entry.extend(readings(edges.iter().map(|edge| cpus.counters(edge))));
        }
        if wiring.stations(number).is_some() {
            let at = |edge: &&Snapshot| edge.stations.get(&number).map(counters::of_stations);
            let entry = counters.entry(node.name.clone()).or_default();
            entry.extend(readings(edges.iter().filter_map(at)));
        }
    }
    (counters, ports)
}

/// Turns lists of counters, one for each edge, into lists of values, one for each counter.
fn readings(
    edges: impl Iterator<Item = impl IntoIterator<Item = (impl Into<String>, u64)>>,
) -> Readings {
    let mut readings = Readings::new();
    for (name, value) in edges.flatten() {
        readings.entry(name.into()).or_default().push(Some(value));
    }
    readings
}
