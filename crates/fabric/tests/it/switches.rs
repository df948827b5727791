//! Switches against slow, obvious twins under random arrivals, and their laws.

use netstudy_fabric::switch::{
    Arrival, IngressQueued, IngressQueuedConfig, OutputQueued, SharedMemory, SharedMemoryConfig,
};
use netstudy_fabric::{Chance, Link, SwitchBuffer, Verdict};
use netstudy_units::{Duration, Rate, Time};
use proptest::prelude::*;

const PORTS: u32 = 4;

fn links() -> Vec<Link> {
    vec![Link::new(Rate::from_gbps(10), Duration::ZERO); PORTS as usize]
}

/// Frames in the order of time: (time, ingress, egress, frame bytes).
fn traffic() -> impl Strategy<Value = Vec<Arrival>> {
    let frame = (0u64..4000, 1..PORTS, 0u32..2, prop_oneof![Just(70u32), Just(1518), 64u32..9018]);
    prop::collection::vec(frame, 1..200).prop_map(|frames| {
        let mut now = Time::ZERO;
        let mut arrivals = Vec::new();
        for (gap_ns, ingress, egress, frame_bytes) in frames {
            now += Duration::from_ns(gap_ns);
            arrivals.push(Arrival { now, ready: now, ingress, egress, frame_bytes });
        }
        arrivals
    })
}

/// Bytes above which a switch marks: none, or some that the queues reach.
fn threshold() -> impl Strategy<Value = u64> {
    prop_oneof![Just(u64::MAX), 0u64..40_000]
}

/// A queue as a plain list of (departure, bytes or cells, ingress), scanned for each question.
#[derive(Default, Clone)]
struct TwinQueue(Vec<(Time, u64, u32)>);

impl TwinQueue {
    fn occupied(&self, now: Time) -> u64 {
        self.0.iter().filter(|frame| frame.0 > now).map(|frame| frame.1).sum()
    }

    fn count_of_ingress(&self, now: Time, ingress: u32) -> usize {
        self.0.iter().filter(|frame| frame.0 > now && frame.2 == ingress).count()
    }

    fn send(&mut self, arrival: &Arrival, occupied: u64) -> Time {
        let free = self.0.last().map_or(Time::ZERO, |frame| frame.0);
        let departs = free.max(arrival.ready) + links()[0].serialization(arrival.frame_bytes);
        self.0.push((departs, occupied, arrival.ingress));
        departs
    }
}

proptest! {
    #[test]
    fn output_queued_agrees_with_its_twin(
        arrivals in traffic(),
        buffer in 9018u64..60_000,
        threshold in threshold(),
    ) {
        let mut switch = OutputQueued::new(&links(), buffer).marking_above(threshold);
        let mut twin = vec![TwinQueue::default(); PORTS as usize];
        for arrival in &arrivals {
            let queue = &mut twin[arrival.egress as usize];
            let bytes = u64::from(arrival.frame_bytes);
            let met = queue.occupied(arrival.now);
            let expected = if met + bytes > buffer {
                Verdict::Dropped
            } else if met > threshold {
                Verdict::Marked(queue.send(arrival, bytes))
            } else {
                Verdict::Departs(queue.send(arrival, bytes))
            };
            prop_assert_eq!(switch.offer(arrival, &()), expected);
        }
        for port in 0..PORTS {
            prop_assert!(SwitchBuffer::<()>::queue_bytes_max(&switch, port) <= buffer);
        }
    }

    #[test]
    fn shared_memory_agrees_with_its_twin(
        arrivals in traffic(),
        pool_bytes in 0u64..80_000,
        port_reserve_bytes in 0u64..10_000,
        cell_bytes in prop_oneof![Just(1u32), Just(208), Just(512)],
        alpha in prop_oneof![Just(0.5), Just(1.0), Just(8.0)],
        ingress_guarantee_frames in 0u32..3,
        threshold in threshold(),
    ) {
        let config = SharedMemoryConfig {
            pool_bytes, port_reserve_bytes, cell_bytes, alpha, ingress_guarantee_frames,
        };
        let mut switch = SharedMemory::new(&links(), &config).marking_above(threshold);
        let mut twin = vec![TwinQueue::default(); PORTS as usize];
        let cell = u64::from(cell_bytes);
        let reserve = port_reserve_bytes / cell;
        for arrival in &arrivals {
            let now = arrival.now;
            let cells = u64::from(arrival.frame_bytes).div_ceil(cell);
            let used: u64 =
                twin.iter().map(|queue| queue.occupied(now).saturating_sub(reserve)).sum();
            let free = (pool_bytes / cell).saturating_sub(used);
            let queue = twin[arrival.egress as usize].occupied(now);
            let wanted = (queue + cells).saturating_sub(reserve);
            let grows = wanted - queue.saturating_sub(reserve);
            let below_threshold = wanted as f64 <= alpha * free as f64;
            let guaranteed = twin.iter().map(|q| q.count_of_ingress(now, arrival.ingress)).sum::<usize>()
                < ingress_guarantee_frames as usize;
            let fits = grows == 0 || (grows <= free && below_threshold) || guaranteed;
            let expected = if !fits {
                Verdict::Dropped
            } else if queue > threshold / cell {
                Verdict::Marked(twin[arrival.egress as usize].send(arrival, cells))
            } else {
                Verdict::Departs(twin[arrival.egress as usize].send(arrival, cells))
            };
            prop_assert_eq!(switch.offer(arrival, &()), expected, "{:?} {:?}", arrival, config);
        }
    }

    #[test]
    fn ingress_queued_keeps_order_bounds_and_every_frame(
        arrivals in traffic(),
        ingress_buffer in 9018u64..40_000,
        egress_buffer in 0u32..12_000,
        random_pct in 0u32..=100,
    ) {
        let config = IngressQueuedConfig {
            ingress_buffer_bytes: ingress_buffer, ingress_cell_bytes: 1, ingress_reserve_frames: 1, egress_buffer_bytes: egress_buffer, random_arbitration_pct: random_pct,
        };
        let mut switch = IngressQueued::new(&links(), &config);
        let mut chance = Counter(7);
        let mut held = vec![0u64; PORTS as usize];
        let mut departed: Vec<(Time, usize)> = Vec::new();
        let mut dropped = 0;
        let mut grant = |switch: &mut IngressQueued<usize>, held: &mut Vec<u64>| {
            let due = switch.next_grant();
            let grant = switch.grant(&mut chance).expect("a grant is due");
            let arrival = &arrivals[grant.frame];
            assert_eq!(grant.egress, arrival.egress);
            assert!(due >= arrival.now && grant.departs > due);
            held[arrival.ingress as usize] -= u64::from(arrival.frame_bytes);
            (grant.departs, grant.frame)
        };
        for (index, arrival) in arrivals.iter().enumerate() {
            while switch.next_grant() <= arrival.now {
                departed.push(grant(&mut switch, &mut held));
            }
            match switch.offer(arrival, &index) {
                Verdict::Dropped => {
                    dropped += 1;
                    let occupied = held[arrival.ingress as usize] + u64::from(arrival.frame_bytes);
                    prop_assert!(occupied > ingress_buffer, "dropped although there was room");
                }
                Verdict::Departs(at) => departed.push((at, index)),
                Verdict::Marked(_) => prop_assert!(false, "marked without a threshold"),
                Verdict::Held => {
                    held[arrival.ingress as usize] += u64::from(arrival.frame_bytes);
                    prop_assert!(held[arrival.ingress as usize] <= ingress_buffer);
                }
            }
        }
        while switch.next_grant() < Time::NEVER {
            departed.push(grant(&mut switch, &mut held));
        }
        prop_assert_eq!(departed.len() + dropped, arrivals.len());
        prop_assert_eq!(SwitchBuffer::<usize>::held(&switch), 0);
        assert_order_and_line_rate(&arrivals, &departed)?;
    }
}

/// Frames of one ingress for one egress leave in order, and no two overlap on a wire.
fn assert_order_and_line_rate(
    arrivals: &[Arrival],
    departed: &[(Time, usize)],
) -> Result<(), TestCaseError> {
    for egress in 0..PORTS {
        let mut left: Vec<_> =
            departed.iter().filter(|frame| arrivals[frame.1].egress == egress).collect();
        left.sort();
        for pair in left.windows(2) {
            let wire = links()[0].serialization(arrivals[pair[1].1].frame_bytes);
            prop_assert!(pair[1].0.since(pair[0].0) >= wire, "two frames on one wire");
        }
        for ingress in 0..PORTS {
            let order: Vec<_> = left
                .iter()
                .map(|frame| frame.1)
                .filter(|&index| arrivals[index].ingress == ingress)
                .collect();
            prop_assert!(order.is_sorted(), "frames of one flow out of order: {:?}", order);
        }
    }
    Ok(())
}

/// Choices that go round: enough to make every branch happen, and the same each time.
struct Counter(u32);

impl Chance for Counter {
    fn below(&mut self, n: u32) -> u32 {
        self.0 = self.0.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (self.0 >> 8) % n
    }
}

#[test]
fn a_full_pool_still_takes_one_frame_of_a_port_that_has_none() {
    let config = SharedMemoryConfig {
        pool_bytes: 9018,
        port_reserve_bytes: 0,
        cell_bytes: 1,
        alpha: 8.0,
        ingress_guarantee_frames: 1,
    };
    let mut switch = SharedMemory::new(&links(), &config);
    let frame = |ingress| Arrival {
        now: Time::ZERO,
        ready: Time::ZERO,
        ingress,
        egress: 0,
        frame_bytes: 9018,
    };
    assert!(matches!(switch.offer(&frame(1), &()), Verdict::Departs(_)), "fills the pool");
    assert_eq!(switch.offer(&frame(1), &()), Verdict::Dropped);
    assert!(matches!(switch.offer(&frame(2), &()), Verdict::Departs(_)), "the guarantee");
    assert_eq!(switch.offer(&frame(2), &()), Verdict::Dropped);
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

#[test]
fn an_egress_serves_its_ingress_ports_in_turn() {
    let mut switch = IngressQueued::new(&links(), &in_turn(100_000));
    let frame = |ingress| Arrival {
        now: Time::ZERO,
        ready: Time::ZERO,
        ingress,
        egress: 0,
        frame_bytes: 1518,
    };
    // Port 1 comes first and leaves at once; then three of each wait.
    assert!(matches!(switch.offer(&frame(1), &1), Verdict::Departs(_)));
    for ingress in [1, 1, 1, 2, 2, 2, 3, 3, 3] {
        assert_eq!(switch.offer(&frame(ingress), &ingress), Verdict::Held);
    }
    let mut order = Vec::new();
    while let Some(grant) = switch.grant(&mut Counter(1)) {
        order.push(grant.frame);
    }
    assert_eq!(order, [2, 3, 1, 2, 3, 1, 2, 3, 1]);
}

#[test]
fn a_frame_of_unknown_length_needs_the_room_of_the_largest() {
    let frame = |ingress, frame_bytes| Arrival {
        now: Time::ZERO,
        ready: Time::ZERO,
        ingress,
        egress: 0,
        frame_bytes,
    };
    // Port 1 cuts through; port 2 has the whole frame when it judges it.
    let last_verdict = |ingress| {
        let reserved_bytes = |port| if port == 1 { 1518 } else { 0 };
        let mut switch = IngressQueued::new(&links(), &in_turn(4000)).reserving(reserved_bytes);
        assert!(matches!(switch.offer(&frame(ingress, 1518), &0), Verdict::Departs(_)));
        assert_eq!(switch.offer(&frame(ingress, 1518), &1), Verdict::Held);
        let third = switch.offer(&frame(ingress, 1518), &2);
        assert_eq!(third, Verdict::Held, "3036 of 4000 B are taken");
        switch.offer(&frame(ingress, 64), &3)
    };
    assert_eq!(last_verdict(1), Verdict::Dropped);
    assert_eq!(last_verdict(2), Verdict::Held);
}

#[test]
fn a_port_that_cuts_through_keeps_room_for_some_full_frames() {
    // Behind the frame on the wire: 10 of 1518 B fill 15,180 B, less the room to keep free.
    let held = |reserve_frames| {
        let config =
            IngressQueuedConfig { ingress_reserve_frames: reserve_frames, ..in_turn(10 * 1518) };
        let mut switch = IngressQueued::new(&links(), &config).reserving(|_| 1518);
        let frame = Arrival {
            now: Time::ZERO,
            ready: Time::ZERO,
            ingress: 1,
            egress: 0,
            frame_bytes: 1518,
        };
        assert!(matches!(switch.offer(&frame, &0), Verdict::Departs(_)));
        (1..20).filter(|number| switch.offer(&frame, number) == Verdict::Held).count()
    };
    assert_eq!([0, 1, 2, 4, 11].map(held), [10, 10, 9, 7, 0]);
}

/// How many of the numbered frames of 1500 bytes one port holds, behind one on the wire.
fn held(switch: &mut IngressQueued<u32>, numbers: std::ops::Range<u32>) -> Vec<u32> {
    let frame =
        Arrival { now: Time::ZERO, ready: Time::ZERO, ingress: 1, egress: 0, frame_bytes: 1500 };
    numbers.filter(|number| switch.offer(&frame, number) == Verdict::Held).collect()
}

#[test]
fn frames_take_whole_cells_of_an_ingress_buffer() {
    // Ten cells of 160 bytes a frame of 1500.
    for (cells, frames) in [(39, 3), (40, 4), (41, 4)] {
        let config = IngressQueuedConfig { ingress_cell_bytes: 160, ..in_turn(cells * 160) };
        let mut switch = IngressQueued::new(&links(), &config);
        assert_eq!(held(&mut switch, 0..7).len(), frames);
        while switch.grant(&mut Counter(1)).is_some() {}
        assert_eq!(held(&mut switch, 7..14).len(), frames, "all of it is free again");
    }
}

#[test]
fn an_egress_marks_what_leaves_more_than_the_threshold_behind() {
    let mut switch = IngressQueued::new(&links(), &in_turn(100_000)).marking_above(3000);
    let frame = |ingress| Arrival {
        now: Time::ZERO,
        ready: Time::ZERO,
        ingress,
        egress: 0,
        frame_bytes: 1500,
    };
    assert!(matches!(switch.offer(&frame(1), &1), Verdict::Departs(_)));
    for ingress in [1, 2, 3, 1, 2] {
        assert_eq!(switch.offer(&frame(ingress), &ingress), Verdict::Held);
    }
    // 6000, 4500, 3000, 1500 and 0 bytes stay behind.
    let marked = std::iter::from_fn(|| switch.grant(&mut Counter(1))).map(|grant| grant.marked);
    assert_eq!(marked.collect::<Vec<_>>(), [true, true, false, false, false]);
}
