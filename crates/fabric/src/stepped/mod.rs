//! Event-driven switches, for drivers with a clock, virtual or real, and for links that pause.
//!
//! A [`crate::SwitchBuffer`] says when a frame leaves as soon as that is decided. That is fast, and
//! cannot take a later PAUSE frame into account. A [`Stepped`] switch follows the same rules of the
//! same buffer architectures, and only says which frame starts to leave now.

mod pausing;
mod wire;

pub use pausing::{PausePolicy, PausingWire};
pub use wire::{Sent, Start, Wire};

use alloc::vec::Vec;

use netstudy_units::Time;

use crate::switch::Arrival;
use crate::{Chance, Link, PauseCounters, PortCounters, Schedule};

/// The timing-independent part of a buffer architecture: admission, occupancy, scheduling.
pub trait Architecture<F> {
    /// Judges a frame whose egress, as things stand, will have sent all that it has at `drained_at`.
    fn admit(
        &mut self,
        arrival: &Arrival,
        frame: &F,
        drained_at: impl FnOnce() -> Time,
    ) -> Admission;

    /// When an egress that will have sent all that it has at `drained_at` next takes a frame that is
    /// held; [`Time::NEVER`] if none is held for it.
    fn next_pull(&self, _egress: u32, _drained_at: impl FnOnce() -> Time) -> Time {
        Time::NEVER
    }

    /// The egress takes a held frame at `now`, if it has one. A rule that depends on how long a frame has
    /// waited decides here.
    fn pull(&mut self, _now: Time, _egress: u32, _chance: &mut impl Chance) -> Option<Pulled<F>> {
        None
    }

    /// The last bit of a frame has left.
    fn release(&mut self, _room: &Room) {}

    /// Buffer occupancy of frames that arrived on `ingress`.
    fn ingress_bytes(&self, ingress: u32) -> u64;

    /// The most bytes that ever waited for, or were on, the wire of `egress`; without its own stage, if
    /// frames are held.
    fn queue_bytes_max(&self, egress: u32) -> u64;

    /// The bytes that wait for, or are on, the wire of `egress`; without its own stage, if frames are held.
    fn queue_bytes(&self, egress: u32) -> u64;
}

/// The fate of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    /// The buffer has no room for it.
    Dropped,
    /// It waits for the wire of its egress.
    Queued {
        /// The queue that it met was longer than the threshold.
        marked: bool,
    },
    /// It waits to be pulled.
    Held,
}

/// A held frame that its egress took.
#[derive(Clone, Copy, Debug)]
pub struct Pulled<F> {
    /// The frame.
    pub frame: F,
    /// When it may start to leave.
    pub ready: Time,
    /// The room that it takes.
    pub room: Room,
    /// Whether it is to be marked.
    pub marked: bool,
}

/// Where a frame is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// The port by which it came.
    pub ingress: u32,
    /// The port by which it leaves.
    pub egress: u32,
    /// Its size.
    pub frame_bytes: u32,
}

/// A frame that can carry a congestion mark.
pub trait Mark {
    /// Marks the frame, if it is ECN-capable (RFC 3168, 5). Returns whether it is.
    fn mark(&mut self) -> bool;
}

/// Something that begins to leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Departure<F> {
    /// The port by which it leaves.
    pub egress: u32,
    /// A frame, or the switch's own PAUSE frame.
    pub sent: Sent<F>,
    /// When its last bit leaves.
    pub departs: Time,
}

/// A switch of the buffer architecture `A`.
///
/// Calls come in the order of time: steps due by [`Self::next_step`] are taken with [`Self::step`]
/// before a later frame is offered or a pause is reported.
#[derive(Clone, Debug)]
pub struct Stepped<F, A> {
    architecture: A,
    ports: Vec<Port<F>>,
    /// When each port next has something to do.
    steps: Schedule,
}

#[derive(Clone, Debug)]
struct Port<F> {
    wire: PausingWire<(F, Room)>,
    /// The frame on the wire, and when its last bit leaves.
    leaving: Option<(Time, Room)>,
    counters: PortCounters,
}

/// The next step of a port. Steps due at the same time are taken in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Step {
    /// The last bit of a frame leaves.
    Leave,
    /// The request for a pause of the peer is repeated.
    Repeat,
    /// The egress takes a frame that is held.
    Pull,
    /// Something begins to leave.
    Start,
}

impl<F: Copy + Mark, A: Architecture<F>> Stepped<F, A> {
    /// A switch with a port for each of `links`; the thresholds of `pause` are bytes that the frames of an
    /// ingress take of the buffer.
    #[must_use]
    pub fn new(links: &[Link], architecture: A, pause: PausePolicy) -> Self {
        let port = |link: &Link| Port {
            wire: PausingWire::new(Wire::new(*link), pause),
            leaving: None,
            counters: PortCounters::default(),
        };
        let ports = links.iter().map(port).collect();
        let steps = Schedule::new(links.len());
        Self { architecture, ports, steps }
    }

    /// Takes a frame that has arrived, or drops it. Returns whether it was taken.
    pub fn offer(&mut self, arrival: &Arrival, frame: F) -> bool {
        let port = &mut self.ports[arrival.egress as usize];
        let admission = self.architecture.admit(arrival, &frame, || port.wire.wire().drained_at());
        let bytes = u64::from(arrival.frame_bytes);
        if admission == Admission::Dropped {
            port.counters.frames_dropped += 1;
            port.counters.bytes_dropped += bytes;
            return false;
        }
        port.counters.frames_forwarded += 1;
        port.counters.bytes_forwarded += bytes;
        if let Admission::Queued { marked } = admission {
            let room = Room {
                ingress: arrival.ingress,
                egress: arrival.egress,
                frame_bytes: arrival.frame_bytes,
            };
            port.queue(Pulled { frame, ready: arrival.ready, room, marked });
        }
        self.plan(arrival.egress);
        self.note_level(arrival.now, arrival.ingress);
        true
    }

    /// A PAUSE frame of `quanta` has arrived by `port`.
    pub fn handle_pause(&mut self, now: Time, port: u32, quanta: u16) {
        if self.ports[port as usize].wire.handle_pause(now, quanta) {
            self.plan(port);
        }
    }

    /// Time of the next [`Self::step`], at once if that is in the past: a pause that ends early leaves
    /// work behind. [`Time::NEVER`] if the switch is empty.
    #[must_use]
    pub fn next_step(&self) -> Time {
        self.steps.earliest().1
    }

    /// Takes one step that is due at `now`, the lowest port's first. Returns the frame that starts to leave, if
    /// the step was that.
    pub fn step(&mut self, now: Time, chance: &mut impl Chance) -> Option<Departure<F>> {
        let (port, due) = self.steps.earliest();
        if due > now {
            return None;
        }
        let egress = port as u32;
        let mut departure = None;
        match self.due(egress).1 {
            Step::Leave => self.leave(now, egress),
            Step::Repeat => {
                self.ports[port].wire.handle_timeout(now);
            }
            Step::Pull => self.pull(now, egress, chance),
            Step::Start => departure = self.start(egress),
        }
        self.plan(egress);
        departure
    }

    /// Counters of `port`.
    #[must_use]
    pub fn counters(&self, port: u32) -> &PortCounters {
        &self.ports[port as usize].counters
    }

    /// PAUSE frames of `port`.
    #[must_use]
    pub fn pauses(&self, port: u32) -> &PauseCounters {
        self.ports[port as usize].wire.counters()
    }

    /// The most bytes that ever waited for `egress`.
    #[must_use]
    pub fn queue_bytes_max(&self, egress: u32) -> u64 {
        self.architecture.queue_bytes_max(egress)
    }

    /// The bytes that wait for `egress`.
    #[must_use]
    pub fn queue_bytes(&self, egress: u32) -> u64 {
        self.architecture.queue_bytes(egress)
    }

    /// The next step of a port, and its time.
    fn due(&self, egress: u32) -> (Time, Step) {
        let port = &self.ports[egress as usize];
        let leave = port.leaving.map_or(Time::NEVER, |(at, _)| at);
        let repeat = port.wire.next_timeout();
        let pull = self.architecture.next_pull(egress, || port.wire.wire().drained_at());
        let start = port.wire.next_start();
        let steps = [
            (leave, Step::Leave),
            (repeat, Step::Repeat),
            (pull, Step::Pull),
            (start, Step::Start),
        ];
        steps.into_iter().min().expect("there are four of them")
    }

    /// Something has changed at a port.
    fn plan(&mut self, egress: u32) {
        self.steps.set(egress as usize, self.due(egress).0);
    }

    fn leave(&mut self, now: Time, egress: u32) {
        let Some((_, room)) = self.ports[egress as usize].leaving.take() else { return };
        self.architecture.release(&room);
        self.note_level(now, room.ingress);
    }

    fn pull(&mut self, now: Time, egress: u32, chance: &mut impl Chance) {
        let Some(pulled) = self.architecture.pull(now, egress, chance) else { return };
        self.ports[egress as usize].queue(pulled);
        self.note_level(now, pulled.room.ingress);
    }

    fn start(&mut self, egress: u32) -> Option<Departure<F>> {
        let port = &mut self.ports[egress as usize];
        let start = port.wire.start()?;
        let sent = match start.sent {
            Sent::Frame((frame, room)) => {
                port.leaving = Some((start.departs, room));
                Sent::Frame(frame)
            }
            Sent::Pause(quanta) => Sent::Pause(quanta),
        };
        Some(Departure { egress, sent, departs: start.departs })
    }

    /// The occupancy of `ingress` has changed: its peer may have to pause, or to go on.
    fn note_level(&mut self, now: Time, ingress: u32) {
        let level = || self.architecture.ingress_bytes(ingress);
        if self.ports[ingress as usize].wire.handle_level(now, level) {
            self.plan(ingress);
        }
    }
}

impl<F: Mark> Port<F> {
    /// A frame waits for the wire from now on.
    fn queue(&mut self, pulled: Pulled<F>) {
        let mut frame = pulled.frame;
        if pulled.marked && frame.mark() {
            self.counters.frames_marked += 1;
        }
        self.wire.push(pulled.ready, pulled.room.frame_bytes, (frame, pulled.room));
    }
}
