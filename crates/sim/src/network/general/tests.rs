//! Tests of networks with results calculated by hand, and of random networks, frame by frame.

use std::collections::{BTreeMap, VecDeque};
use std::ops::ControlFlow;

use netstudy_fabric::queue::{
    Band, BucketConfig, CoDelConfig, FifoConfig, FqCoDelConfig, PieConfig, PriorityConfig,
    RateStep, VaryingConfig,
};
use netstudy_records::{
    Buffer, CongestionControl, Forwarding, Host, IngressQueuedConfig, Link as PlanLink, LocalPath,
    Network as PlanNetwork, Node, Port, Queue, Run, SharedMemoryConfig, Stack,
    Switch as PlanSwitch, Zone,
};
use netstudy_workload::{Action, Until};
use proptest::prelude::*;

use super::*;
use crate::counters::Cpus;
use crate::host::Population;
use crate::laws;
use crate::measure::{Measure, MeasureConfig};
use crate::network::limits::Limited;
use crate::phases::PhasePlan;
use crate::run::tests::{cases, lab};
use crate::snapshot::Snapshot;
use crate::wiring::Participant;

/// Connections are opened long before this time and have carried a byte, so that the opener knows a
/// larger window than the handshake can announce.
const START: Time = Time::from_ps(10_000_000_000);
const MTU: u32 = 1_500;
/// Payload of a full segment: MTU without headers of IP and TCP, and timestamps.
const MSS: u64 = MTU as u64 - 52;
const GBPS: u64 = 1_000_000_000;

/// The application of a host: a list of timed actions.
#[derive(Clone, Debug, Default)]
struct Script(VecDeque<(Time, Action)>);

impl Traffic for Script {
    fn next_action(&self) -> Time {
        self.0.front().map_or(Time::NEVER, |&(at, _)| at)
    }

    fn poll(&mut self, now: Time) -> Option<Action> {
        if self.next_action() > now {
            return None;
        }
        self.0.pop_front().map(|(_, action)| action)
    }

    fn received(&mut self, _now: Time, _connection: u32, _before: u64, _total: u64) -> bool {
        false
    }
}

/// A network and its traffic.
#[derive(Clone, Debug)]
struct Lab {
    run: Run,
    roles: Vec<String>,
    connections: Vec<[usize; 2]>,
    scripts: Vec<Script>,
    until: Time,
}

/// Events of data segments: trace point, time, connection, first byte.
type Data = BTreeMap<TracePoint, Vec<(Time, u32, u64)>>;

#[derive(Debug, Default, PartialEq)]
struct Trace {
    data: Data,
    /// Times at which acknowledgments reached the TCP of a host.
    acknowledged: Vec<Time>,
    segments: Vec<(Time, TracePoint, Segment)>,
}

impl Tracer for Trace {
    fn note(&mut self, point: TracePoint, at: Time, frame: &Frame) {
        let segment = &frame.segment;
        self.segments.push((at, point, *segment));
        if segment.len > 0 {
            let connection = frame.to.0 / 2;
            self.data.entry(point).or_default().push((at, connection, segment.seq));
        } else if matches!(point, TracePoint::Delivered(_)) && at > START {
            self.acknowledged.push(at);
        }
    }
}

impl Trace {
    /// Times at which data of a connection reached TCP.
    fn delivered(&self, connection: u32) -> Vec<Time> {
        let delivered = self.data.iter().filter(|(m, _)| matches!(m, TracePoint::Delivered(_)));
        let all = delivered.flat_map(|(_, data)| data);
        let of_burst = |&&(at, of, _): &&(Time, u32, u64)| of == connection && at > START;
        all.filter(of_burst).map(|&(at, ..)| at).collect()
    }

    /// Number of data frames dropped by switches.
    fn dropped(&self) -> usize {
        let dropped = self.data.iter().filter(|(m, _)| matches!(m, TracePoint::Dropped(_)));
        dropped.map(|(_, data)| data.len()).sum()
    }
}

impl Lab {
    /// A network of `links`, each of 10 Gbit/s and 1 us: "a sw1" is a link from `a` to `sw1`. Nodes
    /// whose names begin with "sw" are switches, the others hosts; ports are named after the number
    /// of the link.
    fn new(links: &[&str]) -> Self {
        let mut run = lab::run(1, lab::DEEP);
        let switch = lab::switch(&mut run).clone();
        run.network.nodes.clear();
        run.network.links.clear();
        for group in &mut run.network.groups {
            group.tcp.initial_window_segments = Some(16_000);
            group.tcp.ack_every_segments = 1;
            group.tcp.send_buffer_bytes = 1 << 30;
            group.tcp.receive_buffer_bytes = 1 << 30;
            group.nic.transmit_queue_frames = u32::MAX;
        }
        for (number, link) in links.iter().enumerate() {
            let (one, other) = link.split_once(' ').expect("a link has two ends");
            let [a, b] = [one, other].map(|name| {
                if !run.network.nodes.iter().any(|node| node.name() == name) {
                    run.network.nodes.push(if name.starts_with("sw") {
                        Node::Switch(PlanSwitch { name: name.to_owned(), ..switch.clone() })
                    } else {
                        let (name, group) = (name.to_owned(), "client".to_owned());
                        Node::Host(Host { name, group, machine: None })
                    });
                }
                let (node, name) = (name.to_owned(), format!("p{number}"));
                Port { node, name, rate_bps: 10 * GBPS, nic: None, queue: None, path: None }
            });
            run.network.links.push(PlanLink { a, b, delay_ns: 1_000, mtu_bytes: MTU });
        }
        let until = START + Duration::from_secs(1);
        Self { run, roles: Vec::new(), connections: Vec::new(), scripts: Vec::new(), until }
    }

    fn with_zone(self, name: &str, host: &str, interface: &str) -> Self {
        self.with_zone_of(Stack::Own, name, host, interface)
    }

    fn with_shared_zone(self, name: &str, host: &str, interface: &str) -> Self {
        self.with_zone_of(Stack::Shared, name, host, interface)
    }

    fn with_zone_of(mut self, stack: Stack, name: &str, host: &str, interface: &str) -> Self {
        self.run.network.nodes.push(Node::Zone(Zone {
            name: name.to_owned(),
            group: "client".to_owned(),
            host: host.to_owned(),
            interface: interface.to_owned(),
            stack,
        }));
        self
    }

    fn link(&mut self, number: usize) -> &mut PlanLink {
        &mut self.run.network.links[number]
    }

    fn set_rates(&mut self, rates: &[u64]) {
        for (link, &rate) in self.run.network.links.iter_mut().zip(rates) {
            lab::set_rate(link, rate);
        }
    }

    fn switches(&mut self, mut change: impl FnMut(&mut PlanSwitch)) {
        for node in &mut self.run.network.nodes {
            if let Node::Switch(switch) = node {
                change(switch);
            }
        }
    }

    fn member(&mut self, role: &str) -> usize {
        self.roles.iter().position(|known| known == role).unwrap_or_else(|| {
            self.roles.push(role.to_owned());
            self.scripts.push(Script::default());
            self.roles.len() - 1
        })
    }

    /// Makes `from` send `bytes` to `to`, `after_us` after [`START`]. Returns the number of their
    /// connection.
    fn send(&mut self, from: &str, to: &str, bytes: u64, after_us: u64) -> u32 {
        let pair = [self.member(from), self.member(to)];
        let has = |connection: &&[usize; 2]| connection.contains(&pair[0]);
        let connection = self.connections.iter().filter(has).count() as u32;
        self.connections.push(pair);
        let script = &mut self.scripts[pair[0]].0;
        let opens = script.partition_point(|&(at, _)| at == Time::ZERO);
        script.insert(opens, (Time::ZERO, Action::Open { connection }));
        let first = (Time::ZERO + Duration::from_ms(1), Action::Write { connection, bytes: 1 });
        script.insert(opens + 1, first);
        let at = START + Duration::from_us(after_us);
        let place = script.partition_point(|&(before, _)| before <= at);
        script.insert(place, (at, Action::Write { connection, bytes }));
        self.connections.len() as u32 - 1
    }

    fn wiring(&self) -> Result<Wiring, String> {
        let named = |(number, role): (usize, &String)| Participant {
            role: role.clone(),
            stream: format!("host/{number}"),
        };
        let participants: Vec<_> = self.roles.iter().enumerate().map(named).collect();
        Wiring::new(&self.run, &participants, &self.connections, |_| false)
    }

    fn try_run(&self, all_steps: bool) -> Result<(Trace, Outcome), String> {
        let wiring = self.wiring()?;
        let mut scripts = self.scripts.clone();
        let last = &mut scripts[0].0;
        let before = last.partition_point(|&(at, _)| at <= START);
        last.insert(before, (START, Action::Begin));
        last.push_back((self.until, Action::End));
        let measure = Measure::new(MeasureConfig {
            clients: 1,
            connections: self.connections.len(),
            controls: 0,
            senders: [true, true],
            phases: PhasePlan {
                prepares: [false; 3],
                resets: false,
                idle: None,
                warmup: None,
                stop: None,
                measure: Until::Time(Duration::ZERO),
                cooldown: None,
                is_probed: false,
            },
            each_second: false,
            samplers: Vec::new(),
        });
        let (lines, seed) = (vec![(); scripts.len()], &self.run.seed);
        let mut hosts = Population::new(&wiring, seed, scripts, lines, &self.connections, measure);
        let mut trace = Trace::default();
        let network = General::<Limited, _>::new(&wiring, &self.run.seed, all_steps, &mut trace);
        let outcome = network.run(&mut hosts.at_work(), &mut |_| ControlFlow::Continue(()))?;
        let Frames { sent, ended, under_way } = outcome.frames;
        assert_eq!(sent, ended + under_way, "frames are conserved");
        if let Some(check) = laws::switches_conserve(&wiring, &outcome) {
            assert!(check.holds, "{}, seed {}", check.detail, self.run.seed);
        }
        trace.segments.retain(|&(at, ..)| at <= self.until);
        trace.segments.sort_by_key(|&(at, point, segment)| (at, point, segment.seq, segment.ack));
        for (point, data) in &mut trace.data {
            data.retain(|&(at, ..)| at <= self.until);
            // A discipline drops several frames at one instant, in no order that matters.
            if matches!(point, TracePoint::Dropped(_)) {
                data.sort_unstable();
            }
        }
        trace.data.retain(|_, data| !data.is_empty());
        Ok((trace, outcome))
    }

    /// The trace. Checks that it is the same if every hop is event-driven.
    fn run(&self) -> Trace {
        let (trace, outcome) = self.try_run(false).expect("the network can be carried out");
        let (steps, stepped) = self.try_run(true).expect("the network can be carried out");
        assert_eq!(trace.data, steps.data, "seed {}", self.run.seed);
        assert_eq!(trace.segments, steps.segments, "seed {}", self.run.seed);
        assert_eq!(outcome.end().ends, stepped.end().ends, "counters, seed {}", self.run.seed);
        trace
    }
}

/// Time of a frame with this payload on a wire, including IP, TCP, Ethernet, preamble and gap.
fn wire_ps(payload: u64, rate_bps: u64) -> u64 {
    (payload + 52 + 38) * 8 * (1_000_000_000_000 / rate_bps)
}

/// Arrival times of frames that were all sent at `START` over `wires` with these rates and delays,
/// with a FIFO before each wire (Lindley's recurrence).
fn tandem(payloads: &[u64], wires: &[(u64, u64)]) -> Vec<Time> {
    let mut times = vec![START.as_ps(); payloads.len()];
    for &(rate_bps, delay_ns) in wires {
        let mut free = 0;
        for (time, &payload) in times.iter_mut().zip(payloads) {
            free = free.max(*time) + wire_ps(payload, rate_bps);
            *time = free + delay_ns * 1_000;
        }
    }
    times.into_iter().map(Time::from_ps).collect()
}

#[test]
fn a_direct_link_takes_its_serialization_and_delay() {
    let mut lab = Lab::new(&["a b"]);
    lab.send("a", "b", 3 * MSS, 0);
    let trace = lab.run();
    // 1538 bytes at 0.8 ns a byte are 1,230.4 ns.
    let expected = [2_230_400, 3_460_800, 4_691_200].map(|ps| START + Duration::from_ps(ps));
    assert_eq!(trace.delivered(0), expected);
}

#[test]
fn three_segments_are_counted_where_they_pass() {
    let mut lab = Lab::new(&["a sw1", "sw1 b"]);
    let nic = &mut lab.run.network.groups[0].nic;
    nic.receive_frame_ns = 100;
    nic.receive_rate_bps = Some(8 * GBPS);
    lab.send("a", "b", 3 * MSS, 0);
    for all_steps in [false, true] {
        let (_, outcome) = lab.try_run(all_steps).expect("it runs");
        let grown = |value: &dyn Fn(&Snapshot) -> u64| value(outcome.end()) - value(outcome.base());
        let end = |number: usize, value: &dyn Fn(&EndCounters) -> Carried| {
            let frames = grown(&|counted| value(&counted.ends[number]).frames);
            (frames, grown(&|counted| value(&counted.ends[number]).bytes))
        };
        // 1500 bytes of IP and 18 bytes of Ethernet; an acknowledgment has 52 bytes of headers.
        let (data, acks) = ((3, 3 * 1518), (3, 3 * 70));
        let [a, to_a, to_b, b] = [0, 1, 2, 3];
        assert_eq!([end(a, &|end| end.nic.sent), end(b, &|end| end.nic.received)], [data; 2]);
        assert_eq!([end(b, &|end| end.nic.sent), end(a, &|end| end.nic.received)], [acks; 2]);
        assert_eq!(end(to_a, &|end| end.port_received), data);
        assert_eq!(end(to_b, &|end| end.port_received), acks);
        // 100 ns a frame, and 1 ns a byte.
        let busy = |host: usize| {
            let cpus = Cpus::of_host(&lab.wiring().expect("it is one"), host)
                .expect("frames cost it time");
            grown(&|counted| cpus.counters(counted)[0].1)
        };
        assert_eq!(busy(0), 300 + 210);
        assert_eq!(busy(2), 300 + 3 * 1518);
    }
}

#[test]
fn each_switch_stores_a_frame_before_it_forwards_it() {
    let mut lab = Lab::new(&["a sw1", "sw1 sw2", "sw2 sw3", "sw3 b"]);
    lab.switches(|switch| switch.latency_ns = 700);
    lab.send("a", "b", 2 * MSS, 0);
    let trace = lab.run();
    let frame = wire_ps(MSS, 10 * GBPS);
    let first = START + Duration::from_ps(4 * (frame + 1_000_000) + 3 * 700_000);
    assert_eq!(trace.delivered(0), [first, first + Duration::from_ps(frame)]);
}

#[test]
fn a_chain_that_cuts_through_stores_the_first_64_bytes_of_a_frame_at_each_switch() {
    let mut lab = Lab::new(&["a sw1", "sw1 sw2", "sw2 sw3", "sw3 b"]);
    lab.switches(|switch| switch.forwarding = Forwarding::CutThrough);
    lab.send("a", "b", MSS, 0);
    // 64 bytes and a gap of 20 at 0.8 ns a byte, three times; then the frame.
    let expected = 3 * 67_200 + wire_ps(MSS, 10 * GBPS) + 4 * 1_000_000;
    assert_eq!(lab.run().delivered(0), [START + Duration::from_ps(expected)]);
}

#[test]
fn a_faster_egress_makes_a_switch_store_that_cuts_through() {
    let mut lab = Lab::new(&["a sw1", "sw1 sw2", "sw2 b"]);
    lab.switches(|switch| switch.forwarding = Forwarding::CutThrough);
    // The first switch cannot cut through, because its faster egress would run out of bits; the
    // second switch can.
    lab.set_rates(&[GBPS, 10 * GBPS, 10 * GBPS]);
    lab.send("a", "b", MSS, 0);
    let expected = wire_ps(MSS, GBPS) + 67_200 + wire_ps(MSS, 10 * GBPS) + 3 * 1_000_000;
    assert_eq!(lab.run().delivered(0), [START + Duration::from_ps(expected)]);
}

#[test]
fn a_bottleneck_in_the_middle_spaces_frames_by_its_own_time() {
    let mut lab = Lab::new(&["a sw1", "sw1 sw2", "sw2 b"]);
    lab.set_rates(&[10 * GBPS, GBPS, 10 * GBPS]);
    lab.send("a", "b", 50 * MSS, 0);
    let delivered = lab.run().delivered(0);
    let slow = wire_ps(MSS, GBPS);
    let first = 2 * wire_ps(MSS, 10 * GBPS) + slow + 3 * 1_000_000;
    let expected = (0..50).map(|n| START + Duration::from_ps(first + n * slow));
    assert_eq!(delivered, expected.collect::<Vec<_>>());
}

#[test]
fn of_two_bottlenecks_the_slower_spaces_and_both_hold_a_queue() {
    let mut lab = Lab::new(&["a sw1", "sw1 sw2", "sw2 sw3", "sw3 b"]);
    let rates = [10 * GBPS, 2 * GBPS, GBPS, 10 * GBPS];
    lab.set_rates(&rates);
    lab.send("a", "b", 40 * MSS, 0);
    let (trace, outcome) = lab.try_run(false).expect("it runs");
    assert_eq!(trace.delivered(0), tandem(&[MSS; 40], &rates.map(|rate| (rate, 1_000))));
    // When the last of 40 frames reaches the first bottleneck, a fifth of the earlier frames have
    // left it; at the second bottleneck, half of the earlier frames have.
    let queue = |cable| outcome.end().ends[CableEnd { cable, end: 0 }.number()].queue_bytes_max;
    assert_eq!(queue(1), (40 - 7) * 1_518);
    assert_eq!(queue(2), (40 - 19) * 1_518);
}

#[test]
fn a_full_buffer_at_the_bottleneck_drops_what_the_recurrence_says() {
    let mut lab = Lab::new(&["a sw1", "sw1 sw2", "sw2 b"]);
    lab.set_rates(&[10 * GBPS, GBPS, 10 * GBPS]);
    let room = 10;
    let port_buffer_bytes = room * 1_518;
    lab.switches(|switch| switch.buffer = lab::drop_tail(port_buffer_bytes));
    lab.until = START + Duration::from_us(200);
    lab.send("a", "b", 60 * MSS, 0);
    let (arrives, leaves) = (wire_ps(MSS, 10 * GBPS), wire_ps(MSS, GBPS));
    let mut departures: VecDeque<u64> = VecDeque::new();
    let (mut free, mut dropped) = (0, 0);
    for now in (1..=60).map(|n| n * arrives) {
        departures.retain(|&at| at > now);
        if departures.len() as u64 == room {
            dropped += 1;
            continue;
        }
        free = free.max(now) + leaves;
        departures.push_back(free);
    }
    let trace = lab.run();
    let of_burst =
        |data: &&(Time, u32, u64)| data.0 < START + Duration::from_ps(61 * arrives + 1_000_000);
    let seen = trace.data[&TracePoint::Dropped(1)].iter().filter(of_burst).count();
    assert_eq!(seen, dropped);
}

#[test]
fn two_flows_share_a_link_frame_by_frame() {
    let mut lab = Lab::new(&["a sw1", "c sw1", "sw1 sw2", "b sw2"]);
    lab.send("a", "b", 100 * MSS, 0);
    lab.send("c", "b", 100 * MSS, 0);
    let trace = lab.run();
    let all: Vec<_> =
        trace.data[&TracePoint::Delivered(2)].iter().filter(|&&(at, ..)| at > START).collect();
    let frame = wire_ps(MSS, 10 * GBPS);
    let expected = (0..200).map(|n| START + Duration::from_ps((3 + n) * frame + 3_000_000));
    assert_eq!(all.iter().map(|&&(at, ..)| at).collect::<Vec<_>>(), expected.collect::<Vec<_>>());
    let mut first = 0;
    for pair in all.chunks(2) {
        assert_ne!(pair[0].1, pair[1].1, "both flows send a frame in the time of one");
        first += pair[0].1;
    }
    // A coin toss for each of 100 pairs: 50 on average, standard deviation 5.
    assert!((30..=70).contains(&first), "the second flow was first {first} times");
}

#[test]
fn cross_traffic_that_leaves_earlier_delays_only_on_the_shared_link() {
    // c sends to d over the first middle link only.
    let mut lab = Lab::new(&["a sw1", "c sw1", "sw1 sw2", "d sw2", "sw2 sw3", "b sw3"]);
    lab.send("a", "b", MSS, 5);
    lab.send("c", "d", 20 * MSS, 0);
    let trace = lab.run();
    let frame = wire_ps(MSS, 10 * GBPS);
    // The frame of a, sent 5 us after the burst began, waits for at most one frame, which is
    // already on the wire.
    let alone = 5_000_000 + 4 * frame + 4 * 1_000_000;
    let late = trace.delivered(0)[0].as_ps() - START.as_ps() - alone;
    // Frames of c arrive at the middle link at multiples of the frame time, the frame of a between
    // two of them.
    assert_eq!(late, (frame - 5_000_000 % frame) % frame);
    assert_eq!(trace.delivered(1).len(), 20);
}

#[test]
fn each_direction_of_a_link_has_its_own_rate() {
    let mut lab = Lab::new(&["a sw1", "b sw1"]);
    lab.link(1).a.rate_bps = GBPS / 10;
    lab.send("a", "b", 2 * MSS, 0);
    let trace = lab.run();
    let delivered = tandem(&[MSS, MSS], &[(10 * GBPS, 1_000), (10 * GBPS, 1_000)]);
    assert_eq!(trace.delivered(0), delivered, "data comes at the fast rate");
    // Acknowledgments over b's slow link, the second after the first.
    let (slow, fast) = (wire_ps(0, GBPS / 10), wire_ps(0, 10 * GBPS));
    let acks = [1, 2].map(|n| delivered[0] + Duration::from_ps(n * slow + fast + 2_000_000));
    assert_eq!(trace.acknowledged, acks);
}

#[test]
fn segments_are_as_large_as_the_smallest_link_of_the_path_carries() {
    let mut lab = Lab::new(&["a sw1", "sw1 sw2", "b sw2", "c sw1"]);
    for number in [0, 3] {
        lab.link(number).mtu_bytes = 9_000;
    }
    let across = lab.send("a", "b", 10_000, 0);
    let near = lab.send("a", "c", 10_000, 0);
    let trace = lab.run();
    let count = |connection| trace.delivered(connection).len();
    assert_eq!(count(across), 10_000_usize.div_ceil(1_448));
    assert_eq!(count(near), 10_000_usize.div_ceil(8_948));
}

#[test]
fn a_connection_leaves_by_the_interface_that_it_is_bound_to() {
    let links = ["a sw1", "a sw2", "sw1 sw2", "b sw2"];
    let path = |role: &str| {
        let mut lab = Lab::new(&links);
        lab.send(role, "b", MSS, 0);
        lab.run().delivered(0)[0].as_ps() - START.as_ps()
    };
    let hop = wire_ps(MSS, 10 * GBPS) + 1_000_000;
    assert_eq!(path("a"), 2 * hop, "the nearer interface");
    assert_eq!(path("a@p1"), 2 * hop);
    assert_eq!(path("a@p0"), 3 * hop);
}

#[test]
fn two_interfaces_on_one_switch_carry_twice_as_much() {
    let mut lab = Lab::new(&["a sw1", "a sw1", "b sw1", "c sw1"]);
    lab.send("a@p0", "b", 10 * MSS, 0);
    lab.send("a@p1", "c", 10 * MSS, 0);
    let trace = lab.run();
    let alone = tandem(&[MSS; 10], &[(10 * GBPS, 1_000), (10 * GBPS, 1_000)]);
    assert_eq!(trace.delivered(0), alone);
    assert_eq!(trace.delivered(1), alone);
}

#[test]
fn zones_of_a_host_talk_inside_and_share_its_interface() {
    let mut lab =
        Lab::new(&["a sw1", "b sw1"]).with_zone("web", "a", "p0").with_zone("db", "a", "p0");
    let nic = &mut lab.run.network.groups[0].nic;
    nic.receive_frame_ns = 500;
    nic.send_latency_ns = 2_000;
    let inside = lab.send("web", "db", 3 * 65_483, 0);
    let (trace, outcome) = lab.try_run(false).expect("it runs");
    // No wire: a latency, then 500 ns of CPU time for each.
    let expected = [2_500, 3_000, 3_500].map(|ns| START + Duration::from_ns(ns));
    assert_eq!(trace.delivered(inside), expected);
    assert!(outcome.end().ends.iter().all(|end| end.nic.sent.frames == 0), "none was on a wire");
    // Two zones send at once, and the interface is one FIFO.
    let mut lab =
        Lab::new(&["a sw1", "b sw1"]).with_zone("web", "a", "p0").with_zone("db", "a", "p0");
    lab.send("web", "b", 2 * MSS, 0);
    lab.send("db", "b", 2 * MSS, 0);
    let trace = lab.run();
    let mut times: Vec<_> = [0, 1].iter().flat_map(|&zone| trace.delivered(zone)).collect();
    times.sort_unstable();
    assert_eq!(times, tandem(&[MSS; 4], &[(10 * GBPS, 1_000), (10 * GBPS, 1_000)]));
}

#[test]
fn zones_with_interfaces_of_their_own_talk_over_the_wire() {
    let mut lab = Lab::new(&["a sw1", "a sw1", "b sw1"])
        .with_zone("web", "a", "p0")
        .with_zone("db", "a", "p1");
    lab.send("web", "db", MSS, 0);
    let hop = wire_ps(MSS, 10 * GBPS) + 1_000_000;
    assert_eq!(lab.run().delivered(0), [START + Duration::from_ps(2 * hop)]);
}

#[test]
fn zones_that_share_a_stack_talk_over_the_local_path_of_their_host() {
    let mut lab = Lab::new(&["a sw1", "a sw1", "b sw1"])
        .with_shared_zone("web", "a", "p0")
        .with_shared_zone("db", "a", "p1");
    // The interface has other costs than the local path.
    lab.run.network.groups[0].nic.receive_frame_ns = 9_000;
    let path = LocalPath { latency_ns: 3_000, rate_bps: Some(8 * GBPS), mtu_bytes: 1_018 };
    lab.run.network.groups[0].local_path = Some(path);
    let inside = lab.send("web", "db", 2 * 966, 0);
    let (trace, outcome) = lab.try_run(false).expect("it runs");
    // A nanosecond a byte: 966 of payload, 52 of headers, 18 of Ethernet; then the latency.
    let expected = [4_036, 5_072].map(|ns| START + Duration::from_ns(ns));
    assert_eq!(trace.delivered(inside), expected);
    assert!(outcome.end().ends.iter().all(|end| end.nic.sent.frames == 0), "none was on a wire");
    assert!(outcome.end().inside[&0].frames > 2);
}

#[test]
fn traffic_inside_a_host_that_takes_no_time_is_refused() {
    let mut lab =
        Lab::new(&["a sw1", "b sw1"]).with_zone("web", "a", "p0").with_zone("db", "a", "p0");
    lab.send("web", "db", MSS, 0);
    let error = lab.try_run(false).map(|_| ()).expect_err("it would never end");
    assert!(error.starts_with("traffic stays inside \"a\", where packets take no time"), "{error}");
}

/// Memory that a full segment occupies in its host.
const PACKET_BYTES: u32 = MSS as u32 + 896;

/// A direct link of 1 Gbit/s and this delay. Connections may have `limit_output_bytes` in the
/// interface, whose queue holds `queue_frames`.
fn small_queues(limit_output_bytes: u32, queue_frames: u32, delay_us: u64) -> Lab {
    let mut lab = Lab::new(&["a b"]);
    lab.set_rates(&[GBPS]);
    lab.link(0).delay_ns = 1_000 * delay_us;
    let group = &mut lab.run.network.groups[0];
    group.tcp.limit_output_bytes = limit_output_bytes;
    group.nic.transmit_queue_frames = queue_frames;
    lab
}

fn queue_drops(outcome: &Outcome) -> u64 {
    outcome.end().ends.iter().map(|end| end.nic.queue_drops).sum()
}

#[test]
fn two_packets_in_the_interface_keep_the_wire_busy() {
    let mut lab = small_queues(2 * PACKET_BYTES, 2, 1_000);
    lab.send("a", "b", 100 * MSS, 0);
    assert_eq!(lab.run().delivered(0), tandem(&[MSS; 100], &[(GBPS, 1_000_000)]));
    assert_eq!(queue_drops(&lab.try_run(false).expect("it runs").1), 0);
    lab.run.network.groups[0].tcp.limit_output_bytes = 0;
    assert!(queue_drops(&lab.try_run(false).expect("it runs").1) >= 98, "without a limit");
}

#[test]
fn what_was_held_back_leaves_tcp_when_the_interface_is_done_with_what_was_before() {
    let mut lab = small_queues(1, 2, 1_000);
    lab.run.network.groups[0].nic.send_latency_ns = 2_000;
    lab.send("a", "b", 50 * MSS, 0);
    // Two packets may be sent at once, because at most one is outstanding. Each later packet is
    // sent when the interface is empty, and takes the latency.
    let (frame, latency) = (wire_ps(MSS, GBPS), 2_000_000);
    let first = latency + frame + 1_000_000_000;
    let others = (0..49).map(|n| first + frame + n * (latency + frame));
    let expected = [first].into_iter().chain(others).map(|ps| START + Duration::from_ps(ps));
    assert_eq!(lab.run().delivered(0), expected.collect::<Vec<_>>());
}

#[test]
fn each_connection_counts_its_own_packets() {
    let mut lab = small_queues(2 * PACKET_BYTES, 4, 1_000);
    for _ in 0..2 {
        lab.send("a", "b", 20 * MSS, 0);
    }
    let trace = lab.run();
    let all = trace.data[&TracePoint::Delivered(1)].iter().filter(|&&(at, ..)| at > START);
    let (times, connections): (Vec<_>, Vec<_>) = all.map(|&(at, of, _)| (at, of)).unzip();
    assert_eq!(times, tandem(&[MSS; 40], &[(GBPS, 1_000_000)]));
    // Two packets of each connection in turn: a departure makes room after the other connection's
    // packets.
    assert_eq!(connections, [0, 0, 1, 1].repeat(10));
    assert_eq!(queue_drops(&lab.try_run(false).expect("it runs").1), 0);
}

#[test]
fn a_full_queue_holds_back_what_it_does_not_take_and_nothing_is_lost() {
    // The small queue would let all 100 segments into the host at once; the queue takes three.
    let mut lab = small_queues(1 << 20, 3, 1_000);
    lab.send("a", "b", 100 * MSS, 0);
    let (_, outcome) = lab.try_run(false).expect("it runs");
    assert_eq!(queue_drops(&outcome), 0);
    // The next segment is there as soon as a frame has left, so that the wire is always busy.
    assert_eq!(lab.run().delivered(0), tandem(&[MSS; 100], &[(GBPS, 1_000_000)]));
}

#[test]
fn a_held_back_connection_costs_one_send_latency_where_the_queue_has_one_place() {
    let mut lab = small_queues(1 << 20, 1, 1_000);
    lab.run.network.groups[0].nic.send_latency_ns = 2_000;
    lab.send("a", "b", 20 * MSS, 0);
    // Each segment enters the queue when the one before it has left.
    let (frame, latency) = (wire_ps(MSS, GBPS), 2_000_000);
    let expected =
        (1..=20).map(|n| START + Duration::from_ps(n * (latency + frame) + 1_000_000_000));
    assert_eq!(lab.run().delivered(0), expected.collect::<Vec<_>>());
}

#[test]
fn connections_take_turns_in_a_full_queue() {
    let mut lab = small_queues(1 << 20, 2, 1_000);
    for _ in 0..3 {
        lab.send("a", "b", 20 * MSS, 0);
    }
    let trace = lab.run();
    let all = trace.data[&TracePoint::Delivered(1)].iter().filter(|&&(at, ..)| at > START);
    let (times, connections): (Vec<_>, Vec<_>) = all.map(|&(at, of, _)| (at, of)).unzip();
    assert_eq!(times, tandem(&[MSS; 60], &[(GBPS, 1_000_000)]));
    // The first connection fills the queue; from then on, each departure is the turn of another.
    let turns = (0..58).map(|turn| turn % 3);
    let rotated: Vec<u32> = [0, 0].into_iter().chain(turns).take(54).collect();
    assert_eq!(connections[..54], rotated);
    let (_, outcome) = lab.try_run(false).expect("it runs");
    assert_eq!(queue_drops(&outcome), 0);
}

#[test]
fn an_acknowledgment_waits_for_room_too() {
    // Both hosts send, so that each acknowledges data while its own queue is full.
    let mut lab = small_queues(1 << 20, 2, 100);
    lab.send("a", "b", 60 * MSS, 0);
    lab.send("b", "a", 60 * MSS, 0);
    lab.run();
    let (trace, outcome) = lab.try_run(false).expect("it runs");
    assert_eq!([trace.delivered(0).len(), trace.delivered(1).len()], [60; 2]);
    assert_eq!(queue_drops(&outcome), 0);
}

#[test]
fn a_discipline_without_a_limit_has_the_length_of_the_transmit_queue() {
    let fifo = |limit_packets| Queue::Fifo(FifoConfig { limit_bytes: None, limit_packets });
    let band = Queue::Priority(PriorityConfig { bands: vec![Band::default()] });
    let shaper = Queue::Shaper(BucketConfig {
        rate_bps: GBPS / 2,
        burst_bytes: 2_000,
        overhead_bytes: 0,
        offload_as_one: false,
        over: None,
    });
    // The queue takes three of the 100 segments that TCP would send at once.
    let run = |queue: &Queue, limit_output_bytes| {
        let mut lab = small_queues(limit_output_bytes, 3, 1_000);
        lab.link(0).a.queue = Some(queue.clone());
        lab.send("a", "b", 100 * MSS, 0);
        let (trace, outcome) = lab.try_run(false).expect("it runs");
        (trace.delivered(0), queue_drops(&outcome))
    };
    for queue in [fifo(None), band, shaper.clone()] {
        let (delivered, drops) = run(&queue, 1 << 20);
        assert_eq!((delivered.len(), drops), (100, 0), "held back: {queue:?}");
        if queue != shaper {
            assert_eq!(delivered, tandem(&[MSS; 100], &[(GBPS, 1_000_000)]), "{queue:?}");
        }
        assert!(run(&queue, 0).1 >= 97, "the others are dropped: {queue:?}");
    }
    assert_eq!(run(&fifo(Some(1_000)), 0).1, 0, "a limit of its own is the only one");
}

/// Number of frames that a host's own queue dropped, and the rate at which 20 MB arrived over its
/// link of 100 Mbit/s and 250 us.
fn linux_6_alone(offload_burst_bytes: u32, limit_output_bytes: u32) -> (u64, f64) {
    let mut lab = Lab::new(&["a b"]);
    lab.set_rates(&[GBPS / 10]);
    lab.link(0).delay_ns = 250_000;
    let group = &mut lab.run.network.groups[0];
    group.tcp = lab::whole_tcp("linux-6");
    // With Reno, slow start ends only with a loss.
    group.tcp.congestion_control = CongestionControl::Reno;
    group.tcp.offload_burst_bytes = offload_burst_bytes;
    group.tcp.limit_output_bytes = limit_output_bytes;
    group.nic.transmit_queue_frames = 1_000;
    lab.until = START + Duration::from_secs(4);
    lab.send("a", "b", 20_000_000, 0);
    let (trace, outcome) = lab.try_run(false).expect("it runs");
    let last = trace.delivered(0).into_iter().max().expect("something came");
    (queue_drops(&outcome), 20e6 * 8e12 / last.since(START).as_ps() as f64)
}

#[test]
fn linux_6_fills_a_link_of_its_own_without_loss() {
    let line_rate = 100e6 * MSS as f64 / (MSS + 90) as f64;
    for offload_burst_bytes in [0, 65_536] {
        let (drops, rate) = linux_6_alone(offload_burst_bytes, 1 << 20);
        assert_eq!(drops, 0, "bursts of {offload_burst_bytes} B");
        assert!(rate > 0.99 * line_rate && rate < line_rate, "{rate} of {line_rate}");
    }
    // Without small queues, the sender overruns its own queue.
    assert!(linux_6_alone(0, 0).0 > 100);
}

#[test]
fn pauses_pass_back_from_switch_to_switch_and_nothing_is_lost() {
    let mut lab = Lab::new(&["a sw1", "c sw1", "sw1 sw2", "b sw2"]);
    lab.set_rates(&[10 * GBPS, 10 * GBPS, 10 * GBPS, GBPS]);
    lab.switches(|switch| {
        switch.buffer = lab::drop_tail(100_000);
        switch.honours_pause = true;
    });
    let bytes = 500 * MSS;
    for sender in ["a", "c"] {
        lab.send(sender, "b", bytes, 0);
    }
    assert!(lab.run().dropped() > 0, "without pauses the buffer is full");
    lab.switches(|switch| switch.pause_high_bytes = Some(30_000));
    for group in &mut lab.run.network.groups {
        group.nic.honours_pause = true;
    }
    let trace = lab.run();
    assert_eq!(trace.dropped(), 0);
    let (_, outcome) = lab.try_run(false).expect("it runs");
    let pauses = |cable, end| outcome.end().ends[CableEnd { cable, end }.number()].pauses;
    assert!(pauses(2, 1).pauses_sent > 0, "sw2 pauses sw1");
    assert_eq!(pauses(2, 0).pauses_received, pauses(2, 1).pauses_sent);
    assert!(pauses(0, 1).pauses_sent > 0, "and sw1 pauses the hosts");
    let received: u64 = outcome.end().connections.iter().map(|c| c.ends[1].bytes_received).sum();
    assert_eq!(received, 2 * (bytes + 1));
}

/// Random trees of switches with hosts, some of which communicate; some with small buffers, PAUSE
/// or interface limits.
fn networks() -> impl Strategy<Value = Lab> {
    let parents = prop::collection::vec(any::<prop::sample::Index>(), 0..4);
    let hosts = prop::collection::vec((any::<prop::sample::Index>(), 0..3_u32), 2..6);
    let flow = (any::<[prop::sample::Index; 2]>(), 1..300_000_u64, 0..300_u64);
    let flows = prop::collection::vec(flow, 1..6);
    let kinds = prop::collection::vec(switch_kinds(), 4);
    let wires = prop::collection::vec((any::<prop::sample::Index>(), 0..20_000_u64), 12);
    let nic = (prop::option::of(3..50_u32), prop::bool::weighted(0.2), 0..2_000_u64);
    (parents, hosts, flows, kinds, wires, nic, any::<u64>()).prop_map(
        |(parents, hosts, flows, kinds, wires, (ring, pauses, cost_ns), seed)| {
            let switches = parents.len() + 1;
            let up = (1..).zip(&parents);
            let mut links: Vec<_> =
                up.map(|(child, at)| format!("sw{child} sw{}", at.index(child))).collect();
            for (number, (at, more)) in hosts.iter().enumerate() {
                links.push(format!("h{number} sw{}", at.index(switches)));
                if *more == 0 {
                    links.push(format!("h{number} sw{}", (at.index(switches) + 1) % switches));
                }
            }
            let names: Vec<_> = links.iter().map(String::as_str).collect();
            let mut lab = Lab::new(&names);
            lab.run.seed = format!("{seed:016x}");
            for (link, (rate, delay_ns)) in
                lab.run.network.links.iter_mut().zip(wires.iter().cycle())
            {
                let rates = [GBPS, GBPS, 10 * GBPS, 8 * GBPS];
                link.a.rate_bps = rates[rate.index(4)];
                link.b.rate_bps = rates[rate.index(16) / 4];
                link.delay_ns = *delay_ns;
            }
            let mut kinds = kinds.into_iter();
            lab.switches(|switch| {
                let (buffer, forwarding, latency_ns, pause_high_bytes) =
                    kinds.next().expect("there are enough");
                switch.buffer = buffer;
                switch.forwarding = forwarding;
                switch.latency_ns = latency_ns;
                switch.pause_high_bytes = pause_high_bytes;
                switch.honours_pause = pause_high_bytes.is_some_and(|bytes| bytes % 2 == 0);
            });
            let group = &mut lab.run.network.groups[0];
            group.tcp = lab::whole_tcp(["linux-6", "rfc"][(seed % 2) as usize]);
            group.nic.transmit_queue_frames = 100;
            group.nic.receive_ring_frames = ring;
            group.nic.receive_frame_ns = cost_ns;
            group.nic.honours_pause = pauses;
            for (pair, bytes, after_us) in flows {
                let from = pair[0].index(hosts.len());
                let to = (from + 1 + pair[1].index(hosts.len() - 1)) % hosts.len();
                lab.send(&format!("h{from}"), &format!("h{to}"), bytes, after_us);
            }
            lab
        },
    )
}

/// Random networks with queue disciplines at some ports and interfaces. In some of these networks, the
/// shapers of hosts charge an offloaded packet as one frame.
fn queued_networks() -> impl Strategy<Value = Lab> {
    let queues = prop::collection::vec(prop::option::of(disciplines()), 24);
    (networks(), queues, any::<bool>()).prop_map(|(mut lab, queues, as_one)| {
        let PlanNetwork { nodes, links, groups, .. } = &mut lab.run.network;
        groups[0].nic.honours_pause = false;
        let is_host = |name: &str| {
            nodes.iter().any(|node| node.name() == name && matches!(node, Node::Host(_)))
        };
        let can_have = |name: &str| {
            is_host(name)
                || nodes.iter().any(|node| match node {
                    Node::Switch(switch) if switch.name == name => {
                        matches!(switch.buffer, Buffer::OutputQueued(_)) && !switch.honours_pause
                    }
                    _ => false,
                })
        };
        let ends = links.iter_mut().flat_map(|link| [&mut link.a, &mut link.b]);
        for (end, queue) in ends.zip(queues.into_iter().cycle()) {
            end.queue = queue.filter(|_| can_have(&end.node));
            if let Some(Queue::Shaper(bucket)) = &mut end.queue {
                bucket.offload_as_one = as_one && is_host(&end.node);
            }
        }
        lab
    })
}

fn disciplines() -> impl Strategy<Value = Queue> {
    let codel =
        CoDelConfig { limit_packets: 20, target_ns: 5_000, interval_ns: 20_000, ecn: false };
    let fq_codel = FqCoDelConfig {
        limit_packets: 30,
        flows: 4,
        target_ns: 5_000,
        interval_ns: 20_000,
        quantum_bytes: 1514,
        ecn: false,
    };
    let pie = PieConfig {
        limit_packets: 30,
        target_ns: 5_000,
        tupdate_ns: 5_000,
        alpha: 100.0,
        beta: 900.0,
        ecn: false,
    };
    let bucket = BucketConfig {
        rate_bps: 800_000_000,
        burst_bytes: 3_000,
        overhead_bytes: 24,
        offload_as_one: false,
        over: Some(Box::new(Queue::FqCoDel(fq_codel))),
    };
    let steps = [(30_000, 900_000_000), (20_000, 0), (40_000, 300_000_000)];
    let varying = VaryingConfig {
        steps: steps.map(RateStep::from).to_vec(),
        overhead_bytes: -18,
        over: Some(Box::new(Queue::CoDel(codel))),
    };
    prop_oneof![
        Just(Queue::Fifo(FifoConfig { limit_bytes: None, limit_packets: Some(10) })),
        Just(Queue::CoDel(codel)),
        Just(Queue::FqCoDel(fq_codel)),
        Just(Queue::Pie(pie)),
        Just(Queue::Shaper(bucket.clone())),
        Just(Queue::Policer(bucket)),
        Just(Queue::VaryingRate(varying)),
    ]
}

/// Networks of this kind, without a workload.
pub(crate) fn random_runs() -> impl Strategy<Value = Run> {
    networks().prop_map(|lab| lab.run)
}

fn switch_kinds() -> impl Strategy<Value = (Buffer, Forwarding, u64, Option<u64>)> {
    let buffer = prop_oneof![
        (3_000..60_000_u64).prop_map(lab::drop_tail),
        (3_000..60_000_u64, 0..3_u32).prop_map(|(pool_bytes, ingress_guarantee_frames)| {
            Buffer::SharedMemory(SharedMemoryConfig {
                pool_bytes,
                port_reserve_bytes: 2_000,
                cell_bytes: 128,
                alpha: 2.0,
                ingress_guarantee_frames,
            })
        }),
        (3_000..60_000_u64, 0..5_000_u32).prop_map(
            |(ingress_buffer_bytes, egress_buffer_bytes)| {
                Buffer::IngressQueued(IngressQueuedConfig {
                    ingress_buffer_bytes,
                    ingress_cell_bytes: 1,
                    ingress_reserve_frames: 1,
                    egress_buffer_bytes,
                    random_arbitration_pct: 50,
                })
            }
        ),
    ];
    let forwarding = prop_oneof![Just(Forwarding::CutThrough), Just(Forwarding::StoreAndForward)];
    let pause = prop_oneof![3 => Just(None), 1 => (2_000..20_000_u64).prop_map(Some)];
    (buffer, forwarding, 0..3_000_u64, pause)
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn any_chain_delivers_when_the_recurrence_says(
        hops in prop::collection::vec((0..6_usize, 0..50_000_u64), 2..6),
        segments in 1..80_u64,
        rest in 1..MSS,
    ) {
        let names = |place: usize| match place {
            0 => "a".to_owned(),
            place if place == hops.len() => "b".to_owned(),
            place => format!("sw{place}"),
        };
        let links: Vec<_> =
            (0..hops.len()).map(|place| format!("{} {}", names(place), names(place + 1))).collect();
        let mut lab = Lab::new(&links.iter().map(String::as_str).collect::<Vec<_>>());
        // Rates at which a bit takes whole picoseconds.
        let rates = [1, 2, 4, 5, 10, 25].map(|gbps| gbps * GBPS);
        let wires: Vec<_> =
            hops.iter().map(|&(rate, delay_ns)| (rates[rate], delay_ns)).collect();
        for (number, &(rate, delay_ns)) in wires.iter().enumerate() {
            lab::set_rate(lab.link(number), rate);
            lab.link(number).delay_ns = delay_ns;
        }
        let mut payloads = vec![MSS; segments as usize];
        payloads.push(rest);
        lab.send("a", "b", segments * MSS + rest, 0);
        prop_assert_eq!(lab.run().delivered(0), tandem(&payloads, &wires));
    }

    #[test]
    fn any_network_does_the_same_one_step_at_a_time(lab in networks()) {
        let trace = lab.run();
        prop_assert!(!trace.segments.is_empty(), "no frame was seen");
        let again = lab.run();
        prop_assert_eq!(trace, again, "and twice the same");
    }

    #[test]
    fn any_network_with_queues_does_the_same_one_step_at_a_time(lab in queued_networks()) {
        let trace = lab.run();
        prop_assert!(!trace.segments.is_empty(), "no frame was seen");
        let [granted, stepped] = [false, true].map(|all_steps| {
            lab.try_run(all_steps).expect("it runs").1.end().queues.clone()
        });
        prop_assert_eq!(granted, stepped, "drops, marks and sojourn times");
    }
}
