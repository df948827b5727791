use alloc::vec;
use alloc::vec::Vec;

use netstudy_units::{Duration, Rate};
use proptest::prelude::*;

use super::*;
use crate::Link;

/// A frame of a test.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Probe {
    pub(super) number: u32,
    pub(super) flow: u32,
    pub(super) dscp: u8,
    pub(super) is_capable: bool,
    pub(super) marked: bool,
    pub(super) continues: bool,
}

impl Mark for Probe {
    fn mark(&mut self) -> bool {
        self.marked = self.is_capable;
        self.marked
    }
}

impl Queued for Probe {
    fn flow(&self) -> u32 {
        self.flow
    }

    fn dscp(&self) -> u8 {
        self.dscp
    }

    fn continues_packet(&self) -> bool {
        self.continues
    }
}

/// Always draws the same number, as a share of the range.
pub(super) struct Always(pub(super) f64);

impl Chance for Always {
    #[allow(clippy::cast_sign_loss, reason = "shares are not negative")]
    fn below(&mut self, n: u32) -> u32 {
        (self.0 * f64::from(n)) as u32
    }
}

pub(super) fn ms(ms: f64) -> Time {
    #[allow(clippy::cast_sign_loss, reason = "times are not negative")]
    Time::from_ps((ms * 1e9) as u64)
}

/// A discipline with the frames that it has sent and dropped, by number.
pub(super) struct Bench<D> {
    pub(super) queue: D,
    pub(super) fates: Fates<Probe>,
    pub(super) chance: Always,
    pub(super) sent: Vec<u32>,
}

pub(super) const BYTES: u32 = 1000;

impl<D: Discipline<Probe>> Bench<D> {
    pub(super) fn new(queue: D) -> Self {
        Self { queue, fates: Fates::new(), chance: Always(0.5), sent: Vec::new() }
    }

    pub(super) fn put(&mut self, at: Time, bytes: u32, frame: Probe) {
        let item = Item { frame, bytes, at, ready: at };
        self.queue.enqueue(item, &mut self.chance, &mut self.fates);
    }

    /// Puts in frames of 1000 bytes that support no marks, with these numbers.
    pub(super) fn put_plain(&mut self, at: Time, numbers: core::ops::Range<u32>) {
        for number in numbers {
            self.put(at, BYTES, Probe { number, ..Probe::default() });
        }
    }

    pub(super) fn take(&mut self, now: Time) -> Option<Probe> {
        let item = self.queue.dequeue(now, &mut self.chance, &mut self.fates)?;
        self.sent.push(item.frame.number);
        Some(item.frame)
    }

    pub(super) fn dropped(&mut self) -> Vec<u32> {
        let mut dropped: Vec<_> =
            core::iter::from_fn(|| self.fates.pop_dropped()).map(|frame| frame.number).collect();
        dropped.sort_unstable();
        dropped
    }
}

fn link() -> Link {
    Link::new(Rate::from_bps(100_000_000), Duration::ZERO)
}

fn line() -> Line {
    Line::new(&link())
}

fn codel() -> CoDel<Probe> {
    let config = CoDelConfig {
        limit_packets: 1000,
        target_ns: 5_000_000,
        interval_ns: 100_000_000,
        ecn: true,
    };
    CoDel::new(&config, &line())
}

#[test]
fn codel_drops_at_the_times_of_the_rfc() {
    let mut bench = Bench::new(codel());
    bench.put_plain(Time::ZERO, 0..100);
    for step in 1..=39 {
        bench.take(ms(f64::from(step) * 10.0));
    }
    // The delay is above the target from 10 ms on, so the first drop is at 110 ms: of frame 10,
    // because frame n leaves at (n + 1) 10 ms. Drops follow at 110 + 100 = 210 ms, 210 + 100/sqrt(2)
    // = 280.7 ms, + 100/sqrt(3) = 338.4 ms, + 100/sqrt(4) = 388.4 ms: each at the first frame from
    // then on. Each drop lets the frame behind it leave at once.
    assert_eq!(bench.dropped(), [10, 21, 30, 36, 42]);
    assert_eq!(bench.sent.len(), 39);

    // Until 395 ms the queue drains: less than a frame is left, so CoDel stops to drop. The next
    // drop would have been at 388.4 + 100/sqrt(5) = 433.2 ms.
    while bench.take(ms(395.0)).is_some() {}
    assert!(bench.dropped().is_empty());
    // It begins again at 510 ms, less than 16 intervals later, and resumes with the 4 drops by which
    // the count has grown: the next one follows after 100/sqrt(4) = 50 ms.
    bench.put_plain(ms(400.0), 100..200);
    for step in 41..=56 {
        bench.take(ms(f64::from(step) * 10.0));
    }
    // Frame 100 leaves at 410 ms, so frame 110 is dropped at 510 ms and frame 116 at 560 ms.
    assert_eq!(bench.dropped(), [110, 116]);
    let class = &bench.fates.classes()[0];
    assert_eq!((class.dropped_at_arrival.frames, class.dropped_at_departure.frames), (0, 7));
}

#[test]
fn codel_marks_instead_of_dropping() {
    let mut bench = Bench::new(codel());
    for number in 0..100 {
        let is_capable = number != 21;
        bench.put(Time::ZERO, BYTES, Probe { number, is_capable, ..Probe::default() });
    }
    let marked: Vec<u32> = (1..=29)
        .filter_map(|step| bench.take(ms(f64::from(step) * 10.0)))
        .filter_map(|frame| frame.marked.then_some(frame.number))
        .collect();
    // As above, but a marked frame leaves, so one frame fewer is gone: at 110 ms frame 10 is marked.
    // At 210 ms frame 20 is, and at 290 ms frame 28.
    assert_eq!((marked, bench.dropped()), (vec![10, 20, 28], vec![]));
}

#[test]
fn codel_drops_nothing_while_a_frame_at_most_waits() {
    let mut bench = Bench::new(codel());
    for step in 0..100 {
        // Each frame waits for 20 ms, which is above the target, but no other frame waits.
        bench.put_plain(ms(f64::from(step) * 20.0), step..step + 1);
        bench.take(ms(f64::from(step + 1) * 20.0));
    }
    assert_eq!((bench.dropped(), bench.sent.len()), (vec![], 100));
}

/// Fills a queue with `frames` frames of 100 bytes and takes one out every 10 ms. Returns true if the
/// queue drops a frame.
fn drops_small(mut bench: Bench<impl Discipline<Probe>>, frames: u32) -> bool {
    for number in 0..frames {
        bench.put(Time::ZERO, 100, Probe { number, ..Probe::default() });
    }
    for step in 1..=frames {
        bench.take(ms(f64::from(step) * 10.0));
    }
    !bench.dropped().is_empty()
}

#[test]
fn codel_drops_nothing_while_less_than_the_largest_frame_of_the_link_waits() {
    // The first drop is possible at 110 ms, if more than 1518 bytes have waited since 10 ms, behind
    // the frame that leaves: 26 frames leave 15 then, 27 leave 16.
    assert_eq!([26, 27].map(|frames| drops_small(Bench::new(codel()), frames)), [false, true]);
    let fair = |frames| drops_small(Bench::new(fq_codel(100)), frames);
    assert_eq!([26, 27].map(fair), [false, true]);
    // On a link with an MTU of 9000 bytes, 90 frames of 100 bytes are less.
    let jumbo = Line::new(&link().with_mtu(9000));
    let config = QueueConfig::CoDel(CoDelConfig {
        limit_packets: 1000,
        target_ns: 5_000_000,
        interval_ns: 100_000_000,
        ecn: true,
    });
    assert!(!drops_small(Bench::new(AnyQueue::new(&config, &jumbo)), 90));
}

#[test]
fn a_fifo_drops_what_exceeds_its_limit() {
    let limits = [(Some(3500), None), (None, Some(3)), (None, None)];
    let kept = limits.map(|(limit_bytes, limit_packets)| {
        let mut bench = Bench::new(Fifo::new(&FifoConfig { limit_bytes, limit_packets }));
        bench.put_plain(Time::ZERO, 0..5);
        bench.queue.backlog().frames
    });
    assert_eq!(kept, [3, 3, 5]);
}

fn fq_codel(limit_packets: u32) -> FqCoDel<Probe> {
    let config = FqCoDelConfig {
        limit_packets,
        flows: 8,
        target_ns: 5_000_000,
        interval_ns: 100_000_000,
        quantum_bytes: 1500,
        ecn: true,
    };
    FqCoDel::new(&config, &line())
}

#[test]
fn a_flow_that_begins_passes_those_that_wait() {
    let mut bench = Bench::new(fq_codel(100));
    bench.put_plain(Time::ZERO, 0..6);
    // The first two frames use up the 1500 B of the new flow, with a debt of 500 B.
    let first = [bench.take(ms(1.0)), bench.take(ms(1.0))];
    assert_eq!(first.map(|frame| frame.map(|frame| frame.number)), [Some(0), Some(1)]);
    for number in [10, 11, 12] {
        bench.put(ms(1.0), BYTES, Probe { number, flow: 3, ..Probe::default() });
    }
    while bench.take(ms(2.0)).is_some() {}
    // The new flow has its 1500 B (two frames) first, then both take turns by credits: flow 0 has
    // 1000 B left (-500 + 1500) and sends one frame, to 0; flow 3 has 1000 B and sends its last.
    assert_eq!(bench.sent, [0, 1, 10, 11, 2, 12, 3, 4, 5]);
}

#[test]
fn the_longest_flow_pays_for_the_limit() {
    let mut bench = Bench::new(fq_codel(10));
    bench.put(Time::ZERO, BYTES, Probe { number: 50, flow: 1, ..Probe::default() });
    bench.put_plain(Time::ZERO, 0..10);
    // The eleventh frame exceeds the limit: half of the ten frames of flow 0 go, from the head.
    assert_eq!(bench.dropped(), [0, 1, 2, 3, 4]);
    assert_eq!(bench.queue.backlog(), Backlog { bytes: 6000, frames: 6 });
    while bench.take(ms(1.0)).is_some() {}
    assert_eq!(bench.sent, [50, 5, 6, 7, 8, 9]);
}

#[test]
fn other_flows_share_a_queue_in_each_run() {
    let queues = |draw| -> Vec<u32> {
        let mut queue = fq_codel(100);
        (0..16).map(|flow| queue.queue_of(flow, &mut Always(draw))).collect()
    };
    let pairs = |queues: &[u32]| -> Vec<bool> {
        queues.iter().flat_map(|a| queues.iter().map(move |b| a == b)).collect()
    };
    let [first, again, other] = [0.25, 0.25, 0.75].map(queues);
    assert_eq!(first, again, "all frames of a run have the same perturbation");
    assert!(first.iter().chain(&other).all(|&queue| queue < 8));
    assert_ne!(pairs(&first), pairs(&other));
}

#[test]
fn a_band_waits_for_all_bands_before_it() {
    let band = |dscp: &[u8]| Band { dscp: dscp.to_vec(), limit_packets: Some(2) };
    let config = PriorityConfig { bands: vec![band(&[46, 40]), band(&[]), band(&[8])] };
    let mut bench = Bench::new(Priority::new(&config));
    // Code points that no band lists belong to the last one.
    for (number, dscp) in [(0, 8), (1, 0), (2, 46), (3, 40), (4, 46)] {
        bench.put(Time::ZERO, BYTES, Probe { number, dscp, ..Probe::default() });
    }
    while bench.take(Time::ZERO).is_some() {}
    assert_eq!((bench.sent.clone(), bench.dropped()), (vec![2, 3, 0, 1], vec![4]));
}

proptest! {
    #[test]
    fn drr_shares_by_quantum_within_a_frame_and_a_quantum(
        quanta in prop::array::uniform3(500u32..4000),
        sizes in prop::collection::vec(64u32..1518, 600),
    ) {
        let class = |(dscp, &quantum_bytes): (usize, &u32)| DrrClass {
            dscp: vec![dscp as u8],
            quantum_bytes,
            limit_packets: None,
        };
        let config = DrrConfig { classes: quanta.iter().enumerate().map(class).collect() };
        prop_assert_eq!(config.check(), Ok(()));
        let mut bench = Bench::new(Drr::new(&config));
        for (number, &bytes) in (0..).zip(&sizes) {
            let dscp = (number % 3) as u8;
            bench.put(Time::ZERO, bytes, Probe { number, dscp, ..Probe::default() });
        }
        let mut sent = [0.0; 3];
        for _ in 0..150 {
            let frame = bench.take(Time::ZERO).expect("all classes have frames");
            sent[usize::from(frame.dscp)] += f64::from(sizes[frame.number as usize]);
        }
        // Shreedhar and Varghese 1995, theorem 2: in m turns a class sends m quanta within the
        // largest frame. Two classes are at most one turn apart.
        let turns = [0, 1, 2].map(|class| sent[class] / f64::from(quanta[class]));
        for (a, b) in [(0, 1), (1, 2), (0, 2)] {
            let slack = 1.0 + 1518.0 / f64::from(quanta[a]) + 1518.0 / f64::from(quanta[b]);
            prop_assert!((turns[a] - turns[b]).abs() <= slack, "{turns:?} {quanta:?}");
        }
    }
}

fn bucket(over: Option<QueueConfig>) -> BucketConfig {
    let over = over.map(alloc::boxed::Box::new);
    BucketConfig {
        rate_bps: 8_000_000,
        burst_bytes: 3000,
        overhead_bytes: 0,
        offload_as_one: false,
        over,
    }
}

#[test]
fn a_shaper_holds_frames_back_until_there_are_tokens() {
    let limit = QueueConfig::Fifo(FifoConfig { limit_bytes: None, limit_packets: Some(5) });
    let mut bench = Bench::new(Shaper::new(&bucket(Some(limit)), &line()));
    bench.put_plain(Time::ZERO, 0..6);
    assert_eq!(bench.dropped(), [5]);
    bench.put(Time::ZERO, 3001, Probe { number: 9, ..Probe::default() });
    assert_eq!(bench.dropped(), [9], "it would block the queue for ever");
    assert_eq!(bench.queue.next(), Time::ZERO);
    // The burst is 3 frames. A frame takes 1 ms at 8 Mbit/s.
    for _ in 0..3 {
        assert!(bench.take(Time::ZERO).is_some());
    }
    assert!(bench.take(Time::ZERO).is_none());
    assert_eq!(bench.queue.next(), ms(1.0));
    assert!(bench.take(ms(1.0)).is_some());
    assert!(bench.take(ms(1.5)).is_none() && bench.queue.next() == ms(2.0));
    assert_eq!(bench.queue.backlog(), Backlog { bytes: 1000, frames: 1 });
    assert!(bench.take(ms(2.0)).is_some());
    assert_eq!((bench.queue.next(), bench.sent), (Time::NEVER, vec![0, 1, 2, 3, 4]));
}

fn counting_packets(over: Option<QueueConfig>) -> Bench<Shaper<Probe>> {
    let config = BucketConfig { offload_as_one: true, ..bucket(over) };
    Bench::new(Shaper::new(&config, &line()))
}

/// Puts in a packet of `frames` frames, numbered from `first` on.
fn put_packet(bench: &mut Bench<Shaper<Probe>>, now: Time, first: u32, frames: u32, flow: u32) {
    for number in first..first + frames {
        let continues = number > first;
        bench.put(now, BYTES, Probe { number, flow, continues, ..Probe::default() });
    }
}

/// Takes out all frames that may leave at `now`, and returns how many.
fn take_all(bench: &mut Bench<Shaper<Probe>>, now: Time) -> usize {
    core::iter::from_fn(|| bench.take(now)).count()
}

#[test]
fn a_shaper_that_counts_offloaded_packets_as_one_charges_their_first_frames() {
    let mut bench = counting_packets(None);
    for packet in 0..5 {
        put_packet(&mut bench, Time::ZERO, 10 * packet, 7, 0);
    }
    // The burst of 3000 bytes pays for the first frames of three packets. That of the next one waits
    // for 1000 bytes, which come in 1 ms at 8 Mbit/s, and lets the six behind it pass.
    assert_eq!(take_all(&mut bench, Time::ZERO), 21);
    assert_eq!(bench.queue.next(), ms(1.0));
    assert_eq!(take_all(&mut bench, ms(0.999_999)), 0);
    assert_eq!(take_all(&mut bench, ms(1.0)), 7);
    assert_eq!(bench.queue.next(), ms(2.0), "not a byte is left");
    assert_eq!(take_all(&mut bench, ms(2.0)), 7);
    assert_eq!(bench.queue.next(), Time::NEVER);
}

#[test]
fn a_shaper_that_counts_frames_charges_all_frames_of_a_packet() {
    let mut bench = Bench::new(Shaper::new(&bucket(None), &line()));
    put_packet(&mut bench, Time::ZERO, 0, 7, 0);
    assert_eq!(take_all(&mut bench, Time::ZERO), 3);
    assert_eq!(bench.queue.next(), ms(1.0));
}

#[test]
fn frames_that_continue_a_packet_are_free_in_whatever_order_they_come() {
    let flows = r#"{"kind": "fq-codel", "limit_packets": 100, "flows": 64, "target_ns": 5000000,
        "interval_ns": 100000000, "quantum_bytes": 1000, "ecn": false}"#;
    let flows = serde_json::from_str(flows).expect("it is a discipline");
    let mut bench = counting_packets(Some(flows));
    // Two flows in turn, a frame each: 0, 10, 1, 11, …
    put_packet(&mut bench, Time::ZERO, 0, 4, 0);
    put_packet(&mut bench, Time::ZERO, 10, 4, 1);
    // The first frames of both cost 2000 bytes. A third one has the last 1000 bytes, a fourth none.
    put_packet(&mut bench, Time::ZERO, 20, 1, 0);
    put_packet(&mut bench, Time::ZERO, 30, 1, 1);
    assert_eq!(take_all(&mut bench, Time::ZERO), 9);
    assert_eq!(bench.sent, [0, 10, 1, 11, 2, 12, 3, 13, 20]);
    assert_eq!(bench.queue.next(), ms(1.0));
}

#[test]
fn the_rest_of_a_packet_whose_first_frame_was_dropped_is_free() {
    let mut bench = counting_packets(None);
    // 3001 bytes exceed the bucket.
    bench.put(Time::ZERO, 3001, Probe { number: 0, ..Probe::default() });
    bench.put(Time::ZERO, BYTES, Probe { number: 1, continues: true, ..Probe::default() });
    bench.put(Time::ZERO, 3001, Probe { number: 2, continues: true, ..Probe::default() });
    assert_eq!(bench.dropped(), [0, 2], "a frame larger than the bucket never passes");
    assert_eq!(take_all(&mut bench, Time::ZERO), 1);
    // The bucket is still full.
    put_packet(&mut bench, Time::ZERO, 10, 1, 0);
    bench.put_plain(Time::ZERO, 11..14);
    assert_eq!(take_all(&mut bench, Time::ZERO), 3);
}

#[test]
fn only_shapers_of_hosts_count_offloaded_packets_as_one() {
    let config =
        |text: &str| -> QueueConfig { serde_json::from_str(text).expect("it is a discipline") };
    let shaper = r#"{"kind": "shaper", "rate_bps": 75000, "burst_bytes": 3000,
        "offload_as_one": true}"#;
    let policer = shaper.replace("shaper", "policer");
    let frames = shaper.replace("true", "false");
    let over = |inner: &str| frames.replace('}', &alloc::format!(r#", "over": {inner}}}"#));
    assert_eq!(config(shaper).check(), Ok(()));
    assert_eq!(
        config(&over(&policer)).check().unwrap_err(),
        "offload_as_one: a policer counts each frame; only a shaper has it"
    );
    let buffer = crate::BufferConfig::OutputQueued(crate::switch::OutputQueuedConfig {
        port_buffer_bytes: 100_000,
    });
    let at_switch = |text: &str| check_at_switch(&config(text), &buffer, false);
    assert_eq!(at_switch(&frames), Ok(()));
    for text in [shaper, &over(shaper), &over(&over(shaper))] {
        let refusal = at_switch(text).unwrap_err();
        assert!(refusal.starts_with("offload_as_one: frames reach a switch one by one"), "{text}");
    }
}

#[test]
fn a_policer_drops_frames_without_tokens_when_they_arrive() {
    let mut bench = Bench::new(Policer::new(&bucket(None), &line()));
    bench.put_plain(Time::ZERO, 0..5);
    bench.put_plain(ms(1.0), 5..7);
    assert_eq!(bench.dropped(), [3, 4, 6]);
    while bench.take(ms(1.0)).is_some() {}
    assert_eq!(bench.sent, [0, 1, 2, 5]);
}

#[test]
fn parameters_with_which_nothing_would_pass_are_refused_by_name() {
    let refusal = |text: &str| {
        let config: QueueConfig = serde_json::from_str(text).expect("it is a discipline");
        config.check().expect_err("it cannot work")
    };
    let red = r#"{"kind": "red", "limit_bytes": 90000, "min_bytes": 30000, "max_bytes": 90000,
        "probability": 0.02, "avpkt_bytes": 1000, "burst_packets": 29, "ecn": true}"#;
    assert_eq!(
        refusal(red),
        "burst_packets: 29 is too small: it must be at least 30, min_bytes divided by avpkt_bytes"
    );
    let above = red.replace("\"max_bytes\": 90000", "\"max_bytes\": 30000");
    assert_eq!(refusal(&above), "max_bytes: 30000 is not above min_bytes, 30000");
    let shaper = r#"{"kind": "shaper", "rate_bps": 1, "burst_bytes": 1, "over": {"kind": "codel",
        "limit_packets": 0, "target_ns": 5, "interval_ns": 1, "ecn": true}}"#;
    assert_eq!(refusal(shaper), "limit_packets: must be above 0");
    let drr = r#"{"kind": "drr", "classes": [{"dscp": [3, 3], "quantum_bytes": 9}]}"#;
    assert_eq!(refusal(drr), "classes[0].dscp: 3 is listed twice");
    let bands = r#"{"kind": "priority", "bands": [{"dscp": [64]}]}"#;
    assert_eq!(refusal(bands), "bands[0].dscp: 64 is above 63");
}
