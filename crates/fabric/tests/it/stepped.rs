//! Event-driven switches: equal to the closed form while no port pauses, and the effects of PAUSE.

use netstudy_fabric::queue::{
    BucketConfig, CoDelConfig, DrrClass, DrrConfig, FifoConfig, FqCoDelConfig, Granted,
    GrantedPort, Offered, PieConfig, QueueConfig, Queued, RedConfig,
};
use netstudy_fabric::stepped::{Architecture, Departure, Mark, PausePolicy, Sent, Stepped};
use netstudy_fabric::switch::{
    Arrival, IngressBuffers, IngressQueued, IngressQueuedConfig, OutputQueued, PacketMemory,
    PortBuffers, SharedMemory, SharedMemoryConfig,
};
use netstudy_fabric::{
    Chance, Link, PauseThresholds, PortCounters, SwitchBuffer, Verdict, pause_time,
};
use netstudy_units::{Duration, Rate, Time};
use proptest::prelude::*;

const PORTS: u32 = 4;
const RATE: Rate = Rate::from_gbps(10);
const END: Time = Time::from_ps(Time::NEVER.as_ps() - 1);

fn links() -> Vec<Link> {
    vec![Link::new(RATE, Duration::ZERO); PORTS as usize]
}

/// A frame with its number and whether it was marked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Frame {
    number: usize,
    marked: bool,
}

impl Mark for Frame {
    fn mark(&mut self) -> bool {
        self.marked = true;
        true
    }
}

impl Queued for Frame {
    fn flow(&self) -> u32 {
        (self.number % 5) as u32
    }

    fn dscp(&self) -> u8 {
        (self.number % 3) as u8
    }
}

/// Choices that two switches make alike.
struct Lcg(u32);

impl Chance for Lcg {
    fn below(&mut self, n: u32) -> u32 {
        self.0 = self.0.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (self.0 >> 16) % n
    }
}

/// When the last bit of a frame left, its number, and whether it was marked; None if it was dropped.
type Fates = Vec<Option<(Time, bool)>>;

fn closed_form<B: SwitchBuffer<usize>>(mut switch: B, arrivals: &[Arrival]) -> (Fates, [u64; 4]) {
    let mut fates = Vec::new();
    let mut chance = Lcg(7);
    let mut grant_until = |switch: &mut B, fates: &mut Fates, now| {
        while switch.next_grant() <= now {
            let grant = switch.grant(&mut chance).expect("a grant is due");
            fates[grant.frame] = Some((grant.departs, grant.marked));
        }
    };
    for (number, arrival) in arrivals.iter().enumerate() {
        grant_until(&mut switch, &mut fates, arrival.now);
        fates.push(match switch.offer(arrival, &number) {
            Verdict::Departs(at) => Some((at, false)),
            Verdict::Marked(at) => Some((at, true)),
            Verdict::Held | Verdict::Dropped => None,
        });
    }
    grant_until(&mut switch, &mut fates, END);
    (fates, [0, 1, 2, 3].map(|port| switch.queue_bytes_max(port)))
}

fn step_by_step(architecture: impl Architecture<Frame>, arrivals: &[Arrival]) -> (Fates, [u64; 4]) {
    let mut switch = Stepped::new(&links(), architecture, PausePolicy::default());
    let mut fates = vec![None; arrivals.len()];
    let mut chance = Lcg(7);
    for (number, arrival) in arrivals.iter().enumerate() {
        leave_until(&mut switch, &mut chance, arrival.now, &mut fates);
        switch.offer(arrival, Frame { number, marked: false }, &mut chance);
    }
    leave_until(&mut switch, &mut chance, END, &mut fates);
    (fates, [0, 1, 2, 3].map(|port| switch.queue_bytes_max(port)))
}

fn leave_until(
    switch: &mut Stepped<Frame, impl Architecture<Frame>>,
    chance: &mut Lcg,
    until: Time,
    fates: &mut Fates,
) {
    while switch.next_step() <= until {
        let now = switch.next_step();
        if let Some(Departure { sent: Sent::Frame(frame), departs, .. }) = switch.step(now, chance)
        {
            fates[frame.number] = Some((departs, frame.marked));
        }
    }
}

/// Frames in the order of time; gaps of zero are common, so that several arrive at the same time.
fn traffic() -> impl Strategy<Value = Vec<Arrival>> {
    let gap_ns = prop_oneof![Just(0u64), Just(816), 0u64..4000];
    let bytes = prop_oneof![Just(70u32), Just(1000), Just(1518), 64u32..9018];
    let frame = (gap_ns, 0..PORTS, 0u32..PORTS, bytes);
    (prop::collection::vec(frame, 1..200), prop_oneof![Just(0u64), 0u64..5000]).prop_map(
        |(frames, latency_ns)| {
            let mut now = Time::ZERO;
            let mut arrivals = Vec::new();
            for (gap_ns, ingress, egress, frame_bytes) in frames {
                now += Duration::from_ns(gap_ns);
                let ready = now + Duration::from_ns(latency_ns);
                arrivals.push(Arrival { now, ready, ingress, egress, frame_bytes });
            }
            arrivals
        },
    )
}

fn threshold() -> impl Strategy<Value = u64> {
    prop_oneof![Just(u64::MAX), 0u64..40_000]
}

proptest! {
    #[test]
    fn output_queued_steps_as_in_closed_form(
        arrivals in traffic(),
        buffer in 9018u64..60_000,
        threshold in threshold(),
    ) {
        let closed = OutputQueued::new(&links(), buffer).marking_above(threshold);
        let stepped = PortBuffers::new(PORTS as usize, buffer).marking_above(threshold);
        prop_assert_eq!(closed_form(closed, &arrivals), step_by_step(stepped, &arrivals));
    }

    #[test]
    fn shared_memory_steps_as_in_closed_form(
        arrivals in traffic(),
        pool_bytes in 9018u64..100_000,
        port_reserve_bytes in 0u64..20_000,
        cell_bytes in prop_oneof![Just(1u32), Just(208), Just(512)],
        alpha in prop_oneof![Just(0.5), Just(8.0)],
        ingress_guarantee_frames in 0u32..3,
        threshold in threshold(),
    ) {
        let config = SharedMemoryConfig {
            pool_bytes, port_reserve_bytes, cell_bytes, alpha, ingress_guarantee_frames,
        };
        let closed = SharedMemory::new(&links(), &config).marking_above(threshold);
        let stepped = PacketMemory::new(PORTS as usize, &config).marking_above(threshold);
        prop_assert_eq!(closed_form(closed, &arrivals), step_by_step(stepped, &arrivals));
    }

    #[test]
    fn ingress_queued_steps_as_in_closed_form(
        arrivals in traffic(),
        ingress in 9018u64..60_000,
        egress in 0u32..30_000,
        random_pct in 0u32..101,
        cell_bytes in 1u32..300,
        threshold in threshold(),
    ) {
        let config = IngressQueuedConfig {
            ingress_buffer_bytes: ingress, ingress_cell_bytes: cell_bytes, ingress_reserve_frames: 1, egress_buffer_bytes: egress, random_arbitration_pct: random_pct,
        };
        let closed = IngressQueued::new(&links(), &config);
        let stepped = IngressBuffers::new(&links(), &config);
        prop_assert_eq!(
            closed_form(closed.marking_above(threshold), &arrivals),
            step_by_step(stepped.marking_above(threshold), &arrivals)
        );
    }
}

/// Fates of the frames at port 0 with a discipline, its longest queue and its counters.
type AtPort = (Fates, u64, PortCounters);

const BUFFER_BYTES: u64 = 100_000;

fn granting(config: &QueueConfig, arrivals: &[Arrival]) -> AtPort {
    let mut port = GrantedPort::new(config, &links()[0], BUFFER_BYTES);
    let (mut fates, mut chance) = (vec![None; arrivals.len()], Lcg(7));
    for (number, arrival) in arrivals.iter().enumerate() {
        grant_until(&mut port, &mut chance, arrival.now, &mut fates);
        let frame = Frame { number, marked: false };
        if let Offered::Leaves(granted) = port.offer(arrival, frame, &mut chance) {
            note_granted(&granted, &mut fates);
        }
    }
    grant_until(&mut port, &mut chance, END, &mut fates);
    let dropped = std::iter::from_fn(|| port.pop_dropped()).count() as u64;
    assert!(dropped <= port.counters().frames_dropped);
    (fates, port.queue_bytes_max(), port.counters())
}

fn grant_until(port: &mut GrantedPort<Frame>, chance: &mut Lcg, until: Time, fates: &mut Fates) {
    while port.next_grant() <= until {
        if let Some(granted) = port.grant(port.next_grant(), chance) {
            note_granted(&granted, fates);
        }
    }
}

fn note_granted(granted: &Granted<Frame>, fates: &mut Fates) {
    fates[granted.frame.number] = Some((granted.departs, granted.frame.marked));
}

fn stepping(config: &QueueConfig, arrivals: &[Arrival]) -> AtPort {
    let buffers = PortBuffers::new(PORTS as usize, BUFFER_BYTES);
    let mut switch = Stepped::new(&links(), buffers, PausePolicy::default());
    switch.set_queue(0, config);
    let (mut fates, mut chance) = (vec![None; arrivals.len()], Lcg(7));
    let mut refused = 0;
    for (number, arrival) in arrivals.iter().enumerate() {
        leave_until(&mut switch, &mut chance, arrival.now, &mut fates);
        let admitted = switch.offer(arrival, Frame { number, marked: false }, &mut chance);
        refused += u64::from(!admitted);
    }
    leave_until(&mut switch, &mut chance, END, &mut fates);
    let dropped = std::iter::from_fn(|| switch.pop_dropped()).count() as u64;
    assert_eq!(dropped + refused, switch.counters(0).frames_dropped);
    assert_eq!(switch.queue_bytes(0), 0, "the space of dropped frames is free again");
    (fates, switch.queue_bytes_max(0), switch.counters(0))
}

fn disciplines() -> impl Strategy<Value = QueueConfig> {
    let codel =
        CoDelConfig { limit_packets: 40, target_ns: 5_000, interval_ns: 20_000, ecn: false };
    let fq_codel = FqCoDelConfig {
        limit_packets: 30,
        flows: 4,
        target_ns: 5_000,
        interval_ns: 20_000,
        quantum_bytes: 1514,
        ecn: true,
    };
    let pie = PieConfig {
        limit_packets: 50,
        target_ns: 5_000,
        tupdate_ns: 5_000,
        alpha: 100.0,
        beta: 900.0,
        ecn: false,
    };
    let red = RedConfig {
        limit_bytes: 90_000,
        min_bytes: 10_000,
        max_bytes: 30_000,
        probability: 0.1,
        avpkt_bytes: 1000,
        burst_packets: 15,
        ecn: false,
    };
    let class = |dscp: u8, quantum_bytes| DrrClass {
        dscp: vec![dscp],
        quantum_bytes,
        limit_packets: Some(20),
    };
    let drr = DrrConfig { classes: vec![class(0, 500), class(1, 3000)] };
    let bucket = |over| BucketConfig {
        rate_bps: 3_000_000_000,
        burst_bytes: 20_000,
        overhead_bytes: 24,
        offload_as_one: false,
        over: Some(Box::new(over)),
    };
    let fifo = FifoConfig { limit_bytes: Some(30_000), limit_packets: None };
    prop_oneof![
        Just(QueueConfig::Fifo(fifo)),
        Just(QueueConfig::CoDel(codel)),
        Just(QueueConfig::FqCoDel(fq_codel)),
        Just(QueueConfig::Pie(pie)),
        Just(QueueConfig::Red(red)),
        Just(QueueConfig::Drr(drr)),
        Just(QueueConfig::Shaper(bucket(QueueConfig::FqCoDel(fq_codel)))),
        Just(QueueConfig::Policer(bucket(QueueConfig::CoDel(codel)))),
    ]
}

proptest! {
    #[test]
    fn a_granting_port_sends_as_a_stepped_one(config in disciplines(), arrivals in traffic()) {
        let mut arrivals = arrivals;
        for arrival in &mut arrivals {
            arrival.egress = 0;
        }
        prop_assert_eq!(granting(&config, &arrivals), stepping(&config, &arrivals));
    }
}

// ---- PAUSE

/// Frames of 1000 bytes: 816 ns with their gap.
const FRAME_BYTES: u32 = 1000;

fn ns(ns: u64) -> Time {
    Time::ZERO + Duration::from_ns(ns)
}

fn frame(at: Time, ingress: u32, egress: u32) -> Arrival {
    Arrival { now: at, ready: at, ingress, egress, frame_bytes: FRAME_BYTES }
}

/// All that leaves by `until`.
fn departures(
    switch: &mut Stepped<Frame, impl Architecture<Frame>>,
    until: Time,
) -> Vec<(u32, Sent<usize>, Time)> {
    let mut left = Vec::new();
    while switch.next_step() <= until {
        let now = switch.next_step();
        let Some(departure) = switch.step(now, &mut Lcg(7)) else { continue };
        let sent = match departure.sent {
            Sent::Frame(frame) => Sent::Frame(frame.number),
            Sent::Pause(quanta) => Sent::Pause(quanta),
        };
        left.push((departure.egress, sent, departure.departs));
    }
    left
}

/// Ingress ports with this buffer, served in turn.
const fn in_turn(ingress_buffer_bytes: u64) -> IngressQueuedConfig {
    IngressQueuedConfig {
        ingress_buffer_bytes,
        ingress_cell_bytes: 1,
        ingress_reserve_frames: 1,
        egress_buffer_bytes: 0,
        random_arbitration_pct: 0,
    }
}

fn honouring() -> PausePolicy {
    PausePolicy { honours: true, thresholds: None }
}

#[test]
fn a_paused_egress_keeps_its_frames_and_goes_on_when_the_pause_ends() {
    let mut switch = Stepped::new(&links(), PortBuffers::new(4, 10_000), honouring());
    switch.handle_pause(ns(0), 0, 100);
    switch.offer(&frame(ns(1), 1, 0), Frame { number: 0, marked: false }, &mut Lcg(7));
    switch.offer(&frame(ns(1), 1, 2), Frame { number: 1, marked: false }, &mut Lcg(7));
    assert_eq!(departures(&mut switch, ns(5_000)), [(2, Sent::Frame(1), ns(817))]);
    // 100 quanta of 51.2 ns.
    assert_eq!(departures(&mut switch, END), [(0, Sent::Frame(0), ns(5_120 + 816))]);
}

#[test]
fn a_switch_that_does_not_honour_it_counts_it_and_sends() {
    let mut switch = Stepped::new(&links(), PortBuffers::new(4, 10_000), PausePolicy::default());
    switch.handle_pause(ns(0), 0, 100);
    switch.offer(&frame(ns(1), 1, 0), Frame { number: 0, marked: false }, &mut Lcg(7));
    assert_eq!(departures(&mut switch, END), [(0, Sent::Frame(0), ns(817))]);
    assert_eq!(switch.pauses(0).pauses_received, 1);
}

#[test]
fn a_pause_that_ends_early_lets_a_held_frame_go_at_once() {
    let buffers = IngressBuffers::new(&links(), &in_turn(10_000));
    let mut switch = Stepped::new(&links(), buffers, honouring());
    switch.handle_pause(ns(0), 0, u16::MAX);
    for number in 0..2 {
        switch.offer(&frame(ns(1), 1, 0), Frame { number, marked: false }, &mut Lcg(7));
    }
    assert_eq!(departures(&mut switch, ns(20_000)), []);
    switch.handle_pause(ns(20_000), 0, 0);
    let expected =
        [(0, Sent::Frame(0), ns(20_000 + 816)), (0, Sent::Frame(1), ns(20_000 + 2 * 816))];
    assert_eq!(departures(&mut switch, END), expected);
}

/// A sender behind port 1 has frames for the hosts behind ports 0 and 2, in turn, and the first of
/// those is paused. How many of its frames for the second have left after 100 µs?
fn victim_frames(architecture: impl Architecture<Frame>) -> (usize, u64) {
    let thresholds = PauseThresholds { xoff: 3_000, xon: 1_000, quanta: u16::MAX };
    let policy = PausePolicy { honours: true, thresholds: Some(thresholds) };
    let mut switch = Stepped::new(&links(), architecture, policy);
    switch.handle_pause(ns(0), 0, u16::MAX);
    let (mut now, mut paused_until, mut received) = (ns(0), ns(0), 0);
    for number in 0.. {
        now += Duration::from_ns(816);
        for (egress, sent, _) in departures(&mut switch, now) {
            match sent {
                Sent::Pause(quanta) => paused_until = now + pause_time(RATE, quanta),
                Sent::Frame(_) if egress == 2 => received += 1,
                Sent::Frame(_) => {}
            }
        }
        if now > ns(100_000) {
            break;
        }
        if now >= paused_until {
            let egress = if number % 2 == 0 { 0 } else { 2 };
            switch.offer(&frame(now, 1, egress), Frame { number, marked: false }, &mut Lcg(7));
        }
    }
    let dropped = (0..PORTS).map(|port| switch.counters(port).frames_dropped).sum();
    (received, dropped)
}

#[test]
fn a_paused_receiver_makes_a_victim_of_a_flow_to_another_one() {
    // 100 µs carry 122 frames, half of them to the host that takes them. Four frames for the other one
    // pass the XOFF threshold of 3000 bytes; then the sender must pause all frames.
    for (received, dropped) in [
        victim_frames(PortBuffers::new(4, 100_000)),
        victim_frames(IngressBuffers::new(&links(), &in_turn(100_000))),
    ] {
        assert_eq!(dropped, 0, "a pause is to save all frames");
        assert!((3..=5).contains(&received), "{received} frames of the victim");
    }
}
