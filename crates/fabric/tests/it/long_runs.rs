//! Long random runs over every switch architecture, and the laws that hold for each: no frame is lost
//! unaccounted, room is kept to, flows stay in order, wires carry one frame at a time and do not idle
//! while a frame waits for them.
//!
//! `PROPTEST_CASES` makes the runs longer: a case is about 150 frames for each architecture, so 3000
//! are more than a million.

use netstudy_fabric::switch::{
    Arrival, IngressQueued, IngressQueuedConfig, OutputQueued, SharedMemory, SharedMemoryConfig,
};
use netstudy_fabric::{Chance, Link, SwitchBuffer, Verdict};
use netstudy_units::{Duration, Rate, Time};
use proptest::prelude::*;

const PORTS: u32 = 4;

/// The fate of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Dropped,
    Held,
    /// Its last bit leaves then.
    Leaves(Time),
}

/// The test's own record of the frames that the switch has taken.
struct Books {
    links: Vec<Link>,
    frames: Vec<(Arrival, Fate)>,
}

impl Books {
    /// Frames inside the switch at `now`; a frame that leaves at `now` is outside.
    fn inside(&self, now: Time) -> impl Iterator<Item = &Arrival> {
        self.frames.iter().filter_map(move |(arrival, fate)| match *fate {
            Fate::Held => Some(arrival),
            Fate::Leaves(at) if at > now => Some(arrival),
            _ => None,
        })
    }

    fn held(&self) -> impl Iterator<Item = &Arrival> {
        self.frames.iter().filter(|frame| frame.1 == Fate::Held).map(|frame| &frame.0)
    }

    /// Departures by `egress`, in the order of time: time of the last bit, and frame number.
    fn departures(&self, egress: u32) -> Vec<(Time, usize)> {
        let mut left: Vec<_> = (0..self.frames.len())
            .filter_map(|number| match self.frames[number] {
                (arrival, Fate::Leaves(at)) if arrival.egress == egress => Some((at, number)),
                _ => None,
            })
            .collect();
        left.sort_unstable();
        left
    }

    /// One frame at a time, and none waits for a wire that idles.
    fn check_wire(&self, egress: u32) -> Result<(), TestCaseError> {
        let mut free = Time::ZERO;
        for (at, number) in self.departures(egress) {
            let arrival = &self.frames[number].0;
            let starts = free.max(arrival.ready);
            let wire = self.links[egress as usize].serialization(arrival.frame_bytes);
            prop_assert_eq!(at, starts + wire, "frame {} by port {}", number, egress);
            free = at;
        }
        Ok(())
    }

    /// Frames from one port to another stay in order.
    fn check_order(&self, egress: u32) -> Result<(), TestCaseError> {
        let left = self.departures(egress);
        for ingress in 0..PORTS {
            let flow = left.iter().filter(|frame| self.frames[frame.1].0.ingress == ingress);
            prop_assert!(flow.map(|frame| frame.1).is_sorted());
        }
        Ok(())
    }
}

fn bytes<'a>(frames: impl Iterator<Item = &'a Arrival>) -> u64 {
    frames.map(|arrival| u64::from(arrival.frame_bytes)).sum()
}

/// Offers all `arrivals` and lets the switch drain. `judge` looks at each verdict before it is
/// written down.
fn run<B: SwitchBuffer<usize>>(
    switch: &mut B,
    links: &[Link],
    arrivals: &[Arrival],
    mut judge: impl FnMut(&Books, &Arrival, Verdict) -> Result<(), TestCaseError>,
) -> Result<Books, TestCaseError> {
    let mut books = Books { links: links.to_vec(), frames: Vec::new() };
    let mut chance = Lcg(11);
    for (number, arrival) in arrivals.iter().enumerate() {
        grant_until(switch, &mut books, &mut chance, arrival.now)?;
        let verdict = switch.offer(arrival, &number);
        judge(&books, arrival, verdict)?;
        let fate = match verdict {
            Verdict::Dropped => Fate::Dropped,
            Verdict::Held => Fate::Held,
            Verdict::Departs(at) | Verdict::Marked(at) => Fate::Leaves(at),
        };
        books.frames.push((*arrival, fate));
        prop_assert_eq!(switch.held(), books.held().count());
    }
    grant_until(switch, &mut books, &mut chance, Time::from_ps(Time::NEVER.as_ps() - 1))?;
    prop_assert_eq!(switch.held(), 0);
    prop_assert!(books.held().next().is_none(), "a frame is lost in the switch");
    for egress in 0..PORTS {
        books.check_wire(egress)?;
        books.check_order(egress)?;
    }
    Ok(books)
}

fn grant_until<B: SwitchBuffer<usize>>(
    switch: &mut B,
    books: &mut Books,
    chance: &mut Lcg,
    until: Time,
) -> Result<(), TestCaseError> {
    while switch.next_grant() <= until {
        let due = switch.next_grant();
        let grant = switch.grant(chance).expect("a grant is due");
        let (arrival, fate) = &mut books.frames[grant.frame];
        prop_assert_eq!(*fate, Fate::Held, "frame {} was granted twice", grant.frame);
        prop_assert_eq!(grant.egress, arrival.egress);
        prop_assert!(due >= arrival.now);
        *fate = Fate::Leaves(grant.departs);
        prop_assert!(switch.next_grant() >= due, "choices go back in time");
    }
    Ok(())
}

/// Choices that look random and are the same each time.
struct Lcg(u32);

impl Chance for Lcg {
    fn below(&mut self, n: u32) -> u32 {
        self.0 = self.0.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (self.0 >> 8) % n
    }
}

/// Frames in the order of time, often several at once, between any two ports.
fn traffic() -> impl Strategy<Value = Vec<Arrival>> {
    let gap_ns = prop_oneof![2 => Just(0_u64), 3 => 0..2000_u64, 1 => 0..20_000_u64];
    let frame_bytes = prop_oneof![Just(70_u32), Just(1518), Just(9018), 64..9018_u32];
    let frame = (gap_ns, 0..PORTS, prop_oneof![3 => Just(0), 1 => 0..PORTS], frame_bytes);
    prop::collection::vec(frame, 1..300).prop_map(|frames| {
        let mut now = Time::ZERO;
        let arrival = |(gap_ns, ingress, egress, frame_bytes)| {
            now += Duration::from_ns(gap_ns);
            Arrival { now, ready: now, ingress, egress, frame_bytes }
        };
        frames.into_iter().map(arrival).collect()
    })
}

fn links() -> impl Strategy<Value = Vec<Link>> {
    let rate = prop_oneof![3 => Just(10_u64), 1 => Just(1)];
    let link = rate.prop_map(|gbps| Link::new(Rate::from_gbps(gbps), Duration::ZERO));
    prop::collection::vec(link, PORTS as usize)
}

/// A short run unless `PROPTEST_CASES` asks for another.
fn cases() -> ProptestConfig {
    let short = ProptestConfig { cases: 100, ..ProptestConfig::default() };
    if std::env::var_os("PROPTEST_CASES").is_some() { ProptestConfig::default() } else { short }
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn output_queued(links in links(), arrivals in traffic(), room in 0..80_000_u64) {
        let mut switch = OutputQueued::new(&links, room);
        let mut longest = vec![0; PORTS as usize];
        run(&mut switch, &links, &arrivals, |books, arrival, verdict| {
            let waiting = books.inside(arrival.now).filter(|other| other.egress == arrival.egress);
            let after = bytes(waiting) + u64::from(arrival.frame_bytes);
            prop_assert_eq!(verdict == Verdict::Dropped, after > room);
            if verdict != Verdict::Dropped {
                let longest: &mut u64 = &mut longest[arrival.egress as usize];
                *longest = after.max(*longest);
            }
            Ok(())
        })?;
        for (port, longest) in (0..).zip(longest) {
            prop_assert_eq!(SwitchBuffer::<usize>::queue_bytes_max(&switch, port), longest);
        }
    }

    #[test]
    fn shared_memory(
        links in links(),
        arrivals in traffic(),
        pool_bytes in 0..120_000_u64,
        port_reserve_bytes in 0..20_000_u64,
        cell_bytes in prop_oneof![Just(1_u32), Just(208), Just(512)],
        alpha in prop_oneof![Just(0.5), Just(1.0), Just(8.0)],
        ingress_guarantee_frames in 0..3_u32,
    ) {
        let config = SharedMemoryConfig {
            pool_bytes, port_reserve_bytes, cell_bytes, alpha, ingress_guarantee_frames,
        };
        let mut switch = SharedMemory::new(&links, &config);
        let cells = |arrival: &Arrival| u64::from(arrival.frame_bytes.div_ceil(cell_bytes));
        // Guaranteed space may exceed the memory.
        let most_guaranteed = u64::from(PORTS * ingress_guarantee_frames) * 9018;
        let most = pool_bytes + u64::from(PORTS) * port_reserve_bytes + most_guaranteed;
        run(&mut switch, &links, &arrivals, |books, arrival, verdict| {
            let inside = books.inside(arrival.now);
            let of_ingress = inside.filter(|other| other.ingress == arrival.ingress).count();
            if verdict == Verdict::Dropped {
                prop_assert!(of_ingress >= ingress_guarantee_frames as usize);
            } else {
                let used: u64 = books.inside(arrival.now).map(cells).sum();
                let after = (used + cells(arrival)) * u64::from(cell_bytes);
                let rounding = u64::from(PORTS * ingress_guarantee_frames * cell_bytes);
                prop_assert!(after <= most + rounding, "{} B in {} B", after, most);
            }
            Ok(())
        })?;
    }

    #[test]
    fn ingress_queued(
        links in links(),
        arrivals in traffic(),
        room in 0..60_000_u64,
        egress_buffer in 0..12_000_u32,
        random_pct in 0..=100_u32,
    ) {
        let config = IngressQueuedConfig {
            ingress_buffer_bytes: room, ingress_cell_bytes: 1, ingress_reserve_frames: 1, egress_buffer_bytes: egress_buffer, random_arbitration_pct: random_pct,
        };
        let mut switch = IngressQueued::new(&links, &config);
        let mut longest = vec![0; PORTS as usize];
        run(&mut switch, &links, &arrivals, |books, arrival, verdict| {
            let of_ingress = books.held().filter(|other| other.ingress == arrival.ingress);
            let after = bytes(of_ingress) + u64::from(arrival.frame_bytes);
            match verdict {
                Verdict::Dropped => prop_assert!(after > room, "dropped although there was room"),
                Verdict::Held => {
                    prop_assert!(after <= room);
                    let for_egress = books.held().filter(|other| other.egress == arrival.egress);
                    let queued = bytes(for_egress) + u64::from(arrival.frame_bytes);
                    let longest: &mut u64 = &mut longest[arrival.egress as usize];
                    *longest = queued.max(*longest);
                }
                Verdict::Departs(_) | Verdict::Marked(_) => {
                    let waiting = books.held().any(|other| other.egress == arrival.egress);
                    prop_assert!(!waiting, "overtakes a frame that waits");
                }
            }
            Ok(())
        })?;
        for (port, longest) in (0..).zip(longest) {
            prop_assert_eq!(SwitchBuffer::<usize>::queue_bytes_max(&switch, port), longest);
        }
    }
}
