//! Compares the networks frame by frame: the departure times computed when a frame enters a hop
//! must be correct.

use std::collections::BTreeMap;

use netstudy_fabric::ethernet;
use netstudy_records::{
    Buffer, CongestionControl, DataPath, Direction, FileSink, FileSource, Ftp, Jitter, Loss, Mode,
    Nic, Path, Phase, PhaseKind, Readings, Request, Roles, Run, RunRecord, Transfer, Until,
    Workload,
};
use netstudy_tcp::Segment;
use netstudy_units::{Duration, Rate, Serializer, Time};
use proptest::prelude::*;

use crate::network::frame::Frame;
use crate::network::trace::{TracePoint, Tracer};
use crate::run::tests::{Silent, cases, lab, scenario};
use crate::run::{Manner, carry_out};
use crate::snapshot::Carried;

/// All trace points of all frames, by kind and place, in the order of time.
#[derive(Debug, Default, PartialEq)]
struct Trace(BTreeMap<TracePoint, Vec<(Time, u32, Segment)>>);

impl Tracer for Trace {
    fn note(&mut self, point: TracePoint, at: Time, frame: &Frame) {
        self.0.entry(point).or_default().push((at, frame.to.0, frame.segment));
    }
}

impl Trace {
    /// Removes all events after `end`, which exist because hosts run ahead of the clock.
    fn until(mut self, end: Time) -> Self {
        for events in self.0.values_mut() {
            assert!(events.is_sorted_by_key(|event| event.0), "a FIFO is out of order");
            events.retain(|event| event.0 <= end);
        }
        self.0.retain(|_, events| !events.is_empty());
        self
    }

    fn len(&self) -> usize {
        self.0.values().map(Vec::len).sum()
    }
}

/// A way to simulate a run.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Way {
    /// As a star in closed form.
    Star,
    /// With the general network.
    General,
    /// With the general network, where all interfaces and switches are simulated step by step.
    Steps,
}

impl Way {
    fn manner<O: Tracer>(self, tracer: O) -> Manner<O> {
        let mode = if self == Self::Star { Mode::ClosedForm } else { Mode::PerHop };
        Manner { mode: Some(mode), all_steps: self == Self::Steps, sends_ahead: true, tracer }
    }
}

/// The record of a run simulated in one way, and its trace up to the end of the run.
fn traced(run: &Run, way: Way) -> (Result<RunRecord, String>, Trace) {
    let mut trace = Trace::default();
    let manner = way.manner(&mut trace);
    let record = carry_out(run, manner, &mut Silent);
    let end = record.as_ref().ok().map(lab::measure);
    (record, trace.until(end.map_or(Time::NEVER, |end| Time::from_ps(end.end_ns * 1000))))
}

/// The record without the counters that depend on how far hosts are ahead of the clock when they
/// are read. The trace covers the events of these counters.
fn comparable(record: Result<RunRecord, String>) -> Result<RunRecord, String> {
    record.map(|mut record| {
        record.mode = None;
        record.counters.clear();
        record.ports.clear();
        for check in &mut record.checks {
            check.detail.clear();
        }
        record.samples.second = None;
        if let Some(connections) = &mut record.samples.connection {
            connections.bytes_sent.clear();
        }
        record
    })
}

/// Limits of an interface: packets a second, descriptors, interrupt delay, CPU rate.
type Limits = (Option<u64>, Option<u32>, u64, Option<u64>);

fn limits() -> impl Strategy<Value = Limits> {
    let limits = (
        prop::option::of(50_000..20_000_000_u64),
        prop::option::of(1..200_u32),
        prop_oneof![Just(0_u64), 1..100_000_u64],
        prop::option::of(500_000_000..20_000_000_000_u64),
    );
    prop_oneof![Just((None, None, 0, None)), limits]
}

fn limit(nic: &mut Nic, limits: Limits) {
    let (packet_rate, ring, interrupt_delay_ns, receive_rate) = limits;
    nic.packet_rate_pps = packet_rate;
    nic.receive_ring_frames = ring;
    nic.receive_refill_frames = ring.map_or(1, |frames| frames.div_ceil(2));
    nic.interrupt_delay_ns = interrupt_delay_ns;
    nic.receive_rate_bps = receive_rate;
}

/// Scenarios of all architectures. Some have interface limits, one of the complete TCP profiles,
/// congestion notification or another congestion control.
fn scenarios() -> impl Strategy<Value = Run> {
    let whole_tcp = prop::option::of(prop::sample::select(&lab::PROFILES[..]));
    let control = prop_oneof![
        2 => Just(None),
        1 => Just(Some(CongestionControl::Cubic)),
        1 => Just(Some(CongestionControl::Dctcp)),
        1 => Just(Some(CongestionControl::Bbr)),
    ];
    let tcp = (whole_tcp, control, any::<bool>());
    let hosts = (limits(), limits());
    (scenario(), tcp, 0..60_000_u64, hosts).prop_map(
        |(mut run, (whole_tcp, control, ecn), threshold, hosts)| {
            limit(&mut run.network.groups[0].nic, hosts.0);
            limit(&mut run.network.groups[1].nic, hosts.1);
            for group in &mut run.network.groups {
                if let Some(profile) = whole_tcp {
                    group.tcp = lab::whole_tcp(profile);
                }
                // BBR works with the recovery of Linux 6 only.
                if control == Some(CongestionControl::Bbr) {
                    group.tcp = lab::whole_tcp("linux-6");
                }
                group.tcp.ecn = ecn;
                if let Some(control) = control {
                    group.tcp.congestion_control = control;
                }
            }
            lab::switch(&mut run).ecn_threshold_bytes = (threshold > 9_000).then_some(threshold);
            run
        },
    )
}

/// Links and hosts whose times are multiples of one frame time, so that many events coincide: a
/// frame arrives when the CPU has handled the frame before, a descriptor becomes free when the next
/// frame needs it, frames of servers arrive at the switch together.
fn in_step(servers: u32, buffer: Buffer) -> Run {
    // A byte takes 1 ns, a full frame 1538 ns.
    const FRAME_NS: u64 = 1538;
    let mut run = lab::run(servers, buffer);
    for link in &mut run.network.links {
        lab::set_rate(link, 8_000_000_000);
        link.delay_ns = FRAME_NS;
        link.mtu_bytes = 1500;
    }
    for group in &mut run.network.groups {
        group.nic.receive_frame_ns = FRAME_NS;
        group.nic.interrupt_delay_ns = 4 * FRAME_NS;
        group.nic.receive_ring_frames = Some(5);
    }
    lab::incast(&mut run).block_bytes = 400_000;
    lab::set_iterations(&mut run, 0, 3);
    run
}

/// The trace of a run, which must be the same for all `ways` of simulation.
fn agreed(run: &Run, ways: &[Way]) -> Trace {
    let (first, frames) = traced(run, ways[0]);
    for &way in &ways[1..] {
        let (record, others) = traced(run, way);
        assert_eq!(comparable(record), comparable(first.clone()), "{way:?}, seed {}", run.seed);
        assert_eq!(others, frames, "{way:?}, seed {}", run.seed);
    }
    frames
}

/// The trace of a run, compared with its counters at one edge.
struct Seen<'a> {
    trace: &'a Trace,
    record: &'a RunRecord,
    edge: usize,
}

impl Seen<'_> {
    /// Frames and bytes at this trace point up to the time `after` past the edge: without and with
    /// frames in the last nanosecond. Both may be right, because edges are in whole nanoseconds and
    /// the clock was somewhere within that nanosecond.
    fn carried(&self, point: TracePoint, after: Duration) -> [Carried; 2] {
        let edge_ns = self.record.edges[self.edge].at_ns + after.as_ns();
        [edge_ns, edge_ns + 1].map(|before_ns| {
            let frames = self.trace.0.get(&point).into_iter().flatten();
            let frames = frames.filter(|(at, ..)| at.as_ns() < before_ns);
            Carried::of(frames.map(|(.., segment)| ethernet::frame_bytes(segment.ip_bytes())))
        })
    }

    fn counted(&self, node: &str, port: &str, names: [&str; 2]) -> [u64; 2] {
        let port = &self.record.ports[node][port];
        names.map(|name| port[name][self.edge].expect("it is counted"))
    }
}

/// Checks that interfaces and ports have counted the frames traced up to the `edge`. If the network
/// is at rest, checks the received frames of hosts too.
fn assert_counted(run: &Run, record: &RunRecord, trace: &Trace, edge: &str) {
    let at_rest = edge == "cool-down-end";
    let edge = record.edges.iter().position(|one| one.name == edge).expect("it was read");
    let seen = Seen { trace, record, edge };
    let packets = |carried: Carried| [carried.frames, carried.bytes - 4 * carried.frames];
    for (number, link) in run.network.links.iter().enumerate() {
        let (host, delay) = (&link.a.node, Duration::from_ns(link.delay_ns));
        let interface = |way: &str| {
            let names = [format!("interface_packets_{way}"), format!("interface_bytes_{way}")];
            seen.counted(host, &link.a.name, [&names[0], &names[1]])
        };
        let assert_one_of = |counted: [u64; 2], traced: [[u64; 2]; 2]| {
            assert!(traced.contains(&counted), "{counted:?}, not {traced:?}: {host}, {}", run.seed);
        };
        let left = seen.carried(TracePoint::Arrived(number), delay);
        assert_one_of(interface("sent"), left.map(packets));
        let judged = seen.carried(TracePoint::Arrived(number), Duration::ZERO);
        let port = seen.counted("switch", &link.b.name, ["frames_received", "bytes_received"]);
        assert_one_of(port, judged.map(|judged| [judged.frames, judged.bytes]));
        let delivered = seen.carried(TracePoint::Delivered(number), Duration::ZERO);
        if at_rest {
            assert_one_of(interface("received"), delivered.map(packets));
        }
    }
}

/// Busy time of the CPUs, computed from the frames delivered to each host.
fn cpu_ns(run: &Run, trace: &Trace, number: usize) -> Option<u64> {
    let host = &run.network.links[number].a.node;
    let group = run.network.groups.iter().find(|group| host.starts_with(group.name.as_str()));
    let nic = &group.expect("hosts are named after their group").nic;
    let rate = nic.receive_rate_bps.map(|bps| Serializer::new(Rate::from_bps(bps)));
    let busy = |segment: &Segment| {
        let bytes = ethernet::frame_bytes(segment.ip_bytes());
        let of_bytes = rate.map_or(Duration::ZERO, |rate| rate.time(bytes));
        Duration::from_ns(nic.receive_frame_ns) + of_bytes
    };
    let delivered = trace.0.get(&TracePoint::Delivered(number)).into_iter().flatten();
    let busy = delivered.fold(Duration::ZERO, |sum, (.., segment)| sum + busy(segment));
    (nic.receive_frame_ns > 0 || rate.is_some()).then_some(busy.as_ns())
}

#[test]
fn what_happens_at_the_same_time_happens_in_the_same_order_in_all_ways() {
    for buffer in [lab::GUARANTEED, lab::INGRESS, lab::DROP_TAIL] {
        for servers in [1, 4] {
            let run = in_step(servers, buffer);
            let frames = agreed(&run, &[Way::Star, Way::General, Way::Steps]);
            assert!(frames.0.contains_key(&TracePoint::RingDropped(0)), "the ring is never full");
        }
    }
}

/// PAUSE and merging at the hosts of a group: honours PAUSE, XOFF threshold in frames, ring size,
/// maximum merged bytes, batch size.
type Pauses = (bool, Option<u32>, u32, u32, Option<u32>);

fn pauses() -> impl Strategy<Value = Pauses> {
    let merges = prop_oneof![Just(0_u32), 3_000..65_000_u32];
    (any::<bool>(), prop::option::of(1..60_u32), 0..200_u32, merges, prop::option::of(1..20_u32))
}

fn pause(nic: &mut Nic, pauses: Pauses, quanta: u16) {
    let (honours, high, beyond, merge_bytes, batch) = pauses;
    nic.honours_pause = honours;
    nic.pause_high_frames = high;
    nic.pause_quanta = quanta;
    nic.receive_merge_bytes = merge_bytes;
    nic.poll_weight_frames = batch;
    if let Some(high) = high {
        nic.receive_ring_frames = Some(high + beyond);
    }
}

/// Scenarios in which some hosts or the switch use PAUSE, or hosts merge segments.
fn pausing_scenarios() -> impl Strategy<Value = Run> {
    let switch = (any::<bool>(), prop::option::of(9_000..60_000_u64), 2..2_000_u16);
    (scenarios(), pauses(), pauses(), switch).prop_map(
        |(mut run, client, server, (honours, high, quanta))| {
            pause(&mut run.network.groups[0].nic, client, quanta);
            pause(&mut run.network.groups[1].nic, server, quanta);
            let switch = lab::switch(&mut run);
            switch.honours_pause = honours;
            switch.pause_high_bytes = high;
            switch.pause_quanta = quanta;
            run
        },
    )
}

/// A link that loses and duplicates some frames and delays each by another time, in one direction.
fn paths() -> impl Strategy<Value = Path> {
    let bursts = (1..50_000_u32, 100_000..1_000_000_u32).prop_map(|(to_bad_ppm, to_good_ppm)| {
        Loss::GilbertElliott { to_bad_ppm, to_good_ppm, in_bad_ppm: 1_000_000, in_good_ppm: 0 }
    });
    let alone = (0..30_000_u32).prop_map(|share_ppm| Loss::Independent { share_ppm });
    let jitter = prop_oneof![
        Just(Jitter::None),
        (1..20_000_u64).prop_map(|mean_ns| Jitter::Exponential { mean_ns }),
    ];
    let loss = prop_oneof![Just(None), alone.prop_map(Some), bursts.prop_map(Some)];
    (0..50_000_u64, loss, 0..10_000_u32, jitter, any::<bool>()).prop_map(
        |(extra_delay_ns, loss, duplicate_ppm, jitter, reorders)| Path {
            extra_delay_ns,
            loss,
            duplicate_ppm,
            jitter,
            reorders,
        },
    )
}

/// Scenarios with links that are not perfect, at the first host and at the others.
fn imperfect_scenarios() -> impl Strategy<Value = Run> {
    let path = || prop::option::of(paths().prop_map(Box::new));
    (scenarios(), [path(), path(), path()]).prop_map(|(mut run, [up, down, others])| {
        let [first, rest @ ..] = &mut run.network.links[..] else { panic!("there are hosts") };
        (first.a.path, first.b.path) = (up, down);
        for link in rest {
            link.a.path = others.clone();
        }
        run
    })
}

fn direction() -> impl Strategy<Value = Direction> {
    prop_oneof![Just(Direction::Get), Just(Direction::Put), Just(Direction::Both)]
}

const FILES: Ftp =
    Ftp { source: FileSource::Memory, sink: FileSink::Null, data_path: DataPath::Copying };

/// Transfers, also of files, and requests of some hosts of a star with the others, over links of two rates.
fn any_to_any() -> impl Strategy<Value = Run> {
    let transfer = (direction(), 1..150_000_u64, 1..3_u32, 0..200_000_u64, any::<bool>());
    let request = (1..20_000_u64, 1..20_000_u64, 1..3_u32, 1..4_u32, 0..50_000_u64);
    let workload = (any::<bool>(), transfer, request);
    (scenarios(), 1..5_usize, any::<bool>(), workload).prop_map(
        |(mut run, clients, is_slower, (transfers, transfer, request))| {
            let mut names: Vec<_> =
                run.network.links.iter().map(|link| link.a.node.clone()).collect();
            let server = names.split_off(clients.min(names.len() - 1));
            let roles = Roles { client: names, server };
            let (direction, size_bytes, flows, pause_ns, is_of_files) = transfer;
            let is_of_files = is_of_files && direction != Direction::Both;
            let (request_bytes, response_bytes, connections, outstanding, think_ns) = request;
            run.workload = if transfers {
                Workload::Transfer(Transfer {
                    roles,
                    direction,
                    size_bytes: Some(size_bytes),
                    flows,
                    request_bytes: 64,
                    pause_ns,
                    starts_ns: Vec::new(),
                    ftp: is_of_files.then_some(FILES),
                })
            } else {
                Workload::Request(Request {
                    writes: 1,
                    roles,
                    request_bytes,
                    response_bytes,
                    connections,
                    outstanding,
                    think_ns,
                    every_ns: None,
                })
            };
            if is_slower {
                lab::set_rate(&mut run.network.links[0], 1_000_000_000);
            }
            run
        },
    )
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn transfers_and_requests_of_any_hosts_agree_in_all_ways(run in any_to_any()) {
        let frames = agreed(&run, &[Way::Star, Way::General, Way::Steps]);
        prop_assert!(frames.len() > 0, "no frame was seen");
    }

    #[test]
    fn every_frame_is_everywhere_at_the_same_time_in_all_ways(run in scenarios()) {
        let frames = agreed(&run, &[Way::Star, Way::General, Way::Steps]);
        prop_assert!(frames.len() > 0, "no frame was seen");
    }

    #[test]
    fn what_is_counted_is_what_passed_in_all_ways(mut run in scenarios()) {
        // Long enough for every timer, so that the network is at rest at the end.
        let rest = Until::Time { ns: 3_000_000_000_000 };
        run.phases.push(Phase { kind: PhaseKind::CoolDown, until: Some(rest) });
        let mut counted = Vec::new();
        for way in [Way::Star, Way::General, Way::Steps] {
            let mut trace = Trace::default();
            let manner = Manner { sends_ahead: false, ..way.manner(&mut trace) };
            let Ok(mut record) = carry_out(&run, manner, &mut Silent) else { return Ok(()) };
            for edge in ["measure-end", "cool-down-end"] {
                assert_counted(&run, &record, &trace, edge);
            }
            let hosts = run.network.links.iter().enumerate();
            for (number, host) in hosts.map(|(number, link)| (number, &link.a.node)) {
                let counted = record.counters[host].get("host_cpu_ns");
                let counted = counted.map(|edges| edges.last().copied().flatten());
                let expected = cpu_ns(&run, &trace, number);
                prop_assert_eq!(counted.is_some(), expected.is_some(), "of {}", host);
                prop_assert_eq!(record.nodes[host].cpus, expected.map(|_| 1.0));
                if let (Some(counted), Some(expected)) = (counted.flatten(), expected) {
                    // Each frame's time is rounded up to a picosecond, a thousandth of a nanosecond.
                    let rounded = 1 + trace.len() as u64 / 1000;
                    let differs = counted.abs_diff(expected) > rounded;
                    prop_assert!(!differs, "{}, not {}", counted, expected);
                }
            }
            let last = |readings: &mut Readings| {
                for edges in readings.values_mut() {
                    edges.drain(..edges.len() - 1);
                }
            };
            record.counters.values_mut().for_each(last);
            record.ports.values_mut().flat_map(BTreeMap::values_mut).for_each(last);
            counted.push((record.counters, record.ports));
        }
        prop_assert_eq!(&counted[0], &counted[1]);
        prop_assert_eq!(&counted[0], &counted[2]);
    }

    #[test]
    fn links_that_are_not_perfect_treat_frames_alike_in_all_ways(run in imperfect_scenarios()) {
        agreed(&run, &[Way::General, Way::Steps]);
    }

    #[test]
    fn what_need_not_go_one_step_at_a_time_may_do_so_beside_pauses(run in pausing_scenarios()) {
        agreed(&run, &[Way::General, Way::Steps]);
    }
}
