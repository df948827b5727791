//! Reads hosts and network for a sampler.

use netstudy_tcp::{Congestion, Counters, Endpoint};
use netstudy_units::{Duration, Time};
use netstudy_workload::Traffic;

use super::{Sampler, Source};
use crate::counters;
use crate::end_index::EndIndex;
use crate::host::Hosts;
use crate::measure::counted::Counted;
use crate::snapshot::{EndCounters, Snapshot};

impl Snapshot {
    fn host(&self, members: &[usize], interfaces: &[usize]) -> Vec<(&'static str, Option<u64>)> {
        let mut tcp = Counters::default();
        for &member in members {
            tcp.add(&self.tcp[member]);
        }
        let mut nic = EndCounters::default();
        for &interface in interfaces {
            nic.add_interface(&self.ends[interface]);
        }
        let tcp = (!members.is_empty()).then(|| counters::of_host(&tcp));
        let nic = (!interfaces.is_empty()).then(|| counters::of_interface(&nic));
        let both = tcp.into_iter().flatten().chain(nic.into_iter().flatten());
        both.map(known).collect()
    }
}

/// A counter whose value could be read.
fn known<N>((name, value): (N, u64)) -> (N, Option<u64>) {
    (name, Some(value))
}

/// The value in `TCP_INFO` of Linux for an unlimited slow start threshold.
const INFINITE_SSTHRESH: u32 = 0x7fff_ffff;

/// The values of a connection. They are the same that the agent reads on real hosts, as far as the
/// simulator has them. Round-trip times are missing as long as there is no sample of them.
fn connection(tcp: &Endpoint, flow: &FlowCounters) -> [(&'static str, Option<u64>); 13] {
    let us = |time: Option<Duration>| time.map(|time| time.as_ps() / 1_000_000);
    let (rtt, window) = (tcp.rtt(), tcp.window());
    [
        ("srtt_us", us(rtt.srtt())),
        ("rttvar_us", us(rtt.rttvar())),
        ("min_rtt_us", us(rtt.min_rtt())),
        ("rto_us", us(Some(rtt.rto()))),
        ("cwnd_segments", Some(window.cwnd.into())),
        ("ssthresh_segments", Some(window.ssthresh.min(INFINITE_SSTHRESH).into())),
        ("retransmissions", Some(flow.tcp.segments_retransmitted)),
        ("timeouts", Some(flow.tcp.timeouts)),
        ("tcp_bytes_sent", Some(flow.tcp.bytes_sent)),
        ("tcp_bytes_acked", Some(flow.bytes_acknowledged)),
        ("tcp_bytes_received", Some(flow.tcp.bytes_received)),
        ("bytes_received", Some(flow.bytes_received)),
        ("bytes_sent", Some(flow.bytes_written)),
    ]
}

/// The values of a connection whose control is BBR, empty for the others: the pacing rate and the
/// model of the path. They are missing before the connection opens.
fn paced(tcp: &Endpoint) -> impl Iterator<Item = (&'static str, Option<u64>)> {
    let model = tcp.model();
    let bandwidth = model.map(|model| model.bandwidth_bytes_per_s);
    let min_rtt = model.and_then(|model| model.min_rtt);
    let found = [
        ("pacing_rate_bytes_per_s", tcp.pacing_bytes_per_s()),
        ("bbr_bandwidth_bytes_per_s", bandwidth),
        ("bbr_min_rtt_us", min_rtt.map(|rtt| rtt.as_ns() / 1000)),
    ];
    let is_bbr = matches!(tcp.config().congestion, Congestion::Bbr(_));
    found.into_iter().filter(move |_| is_bbr)
}

/// Counters of one end of a flow, summed over the data connection and its control connection. The
/// byte counts of the application include only data; those of TCP include commands too.
struct FlowCounters {
    tcp: Counters,
    bytes_acknowledged: u64,
    bytes_received: u64,
    bytes_written: u64,
}

impl<T: Traffic, N> Hosts<'_, T, N> {
    fn flow_counters(&mut self, end: EndIndex, snapshot: &Snapshot) -> FlowCounters {
        let counted = |end: EndIndex| snapshot.connections[end.connection()].ends[end.side()];
        let (data, bytes) = (counted(end), self.stream_bytes(end));
        let mut flow = FlowCounters {
            tcp: data,
            bytes_acknowledged: bytes.acknowledged,
            bytes_received: data.bytes_received,
            bytes_written: bytes.written,
        };
        if let Some(control) = self.measure().control_of(end) {
            flow.tcp.add(&counted(control));
            flow.bytes_acknowledged += self.stream_bytes(control).acknowledged;
        }
        flow
    }

    /// Takes a sample at `at`, which the clock must have reached.
    pub(crate) fn read_sampler(
        &mut self,
        sampler: &mut Sampler,
        at: Time,
        network: &impl Counted<T, Line = N>,
    ) {
        // One snapshot for all subjects, so that their counters are from the same instant.
        let snapshot = Snapshot::new(self, network, at);
        sampler.at.push(at);
        for subject in &mut sampler.subjects {
            match &subject.source {
                &Source::Port(end) => {
                    let end = &snapshot.ends[end];
                    subject.push(counters::of_port(end).map(known));
                }
                &Source::Connection(end) => {
                    let flow = self.flow_counters(end, &snapshot);
                    subject.push(connection(self.tcp(end), &flow));
                    subject.push(paced(self.tcp(end)));
                }
                Source::Host { members, interfaces, cpus, node } => {
                    let mut values = snapshot.host(members, interfaces);
                    let busy = cpus.as_ref().map(|all| all.counters(&snapshot));
                    let stations = snapshot.stations.get(node).map(counters::of_stations);
                    values.extend(stations.into_iter().flatten().map(known));
                    subject.push(values);
                    subject.push(busy.into_iter().flatten().map(known));
                }
                &Source::Interface(end) => {
                    let end = &snapshot.ends[end];
                    let drops = counters::of_interface(end).into_iter();
                    let counted = drops.chain(counters::of_packets(end));
                    subject.push(counted.map(known));
                }
            }
        }
    }
}
