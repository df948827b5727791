//! Event-driven switches: for links with PAUSE, and for drivers that follow a clock, virtual or
//! real.
//!
//! A [`crate::SwitchBuffer`] computes the departure time of a frame in advance. That is fast, but
//! ignores later PAUSE frames. A [`Stepped`] switch has the same buffer architectures with the same
//! rules, and returns each frame only when it starts to leave.

mod pausing;
mod queued;
mod wire;

pub use pausing::{PausePolicy, PausingWire};
pub use wire::{Sent, Start, Wire};

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use netstudy_units::Time;

use crate::queue::{ClassStatistics, QueueConfig, Queued};
use crate::switch::Arrival;
use crate::{Chance, Link, PauseCounters, PortCounters, Schedule};
use queued::QueuedPort;

/// The part of a buffer architecture that computes no times: admission, occupancy, scheduling.
pub trait Architecture<F> {
    /// Decides whether to admit or drop a frame. `drained_at` is when the egress port would finish
    /// sending its present queue if nothing more arrived.
    fn admit(
        &mut self,
        arrival: &Arrival,
        frame: &F,
        drained_at: impl FnOnce() -> Time,
    ) -> Admission;

    /// Time at which `egress` next takes a held frame; [`Time::NEVER`] if no frame is held for it.
    /// `drained_at` is the same as in [`Self::admit`].
    fn next_pull(&self, _egress: u32, _drained_at: impl FnOnce() -> Time) -> Time {
        Time::NEVER
    }

    /// The egress port takes a held frame at `now`, if one is held for it. Rules that depend on how
    /// long a frame has waited are applied here.
    fn pull(&mut self, _now: Time, _egress: u32, _chance: &mut impl Chance) -> Option<Pulled<F>> {
        None
    }

    /// Frees the buffer space of a frame whose last bit has left.
    fn release(&mut self, _room: &Room) {}

    /// Buffer occupancy of frames that arrived on `ingress`.
    fn ingress_bytes(&self, ingress: u32) -> u64;

    /// Maximum of [`Self::queue_bytes`] so far.
    fn queue_bytes_max(&self, egress: u32) -> u64;

    /// Bytes queued for `egress`, the frame on the wire included. An architecture that holds frames
    /// until their egress port pulls them counts only the held frames.
    fn queue_bytes(&self, egress: u32) -> u64;
}

/// What happens to a frame that arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    /// The buffer has no room for the frame.
    Dropped,
    /// The frame waits until the wire of its egress port is free.
    Queued {
        /// Whether the queue was longer than the marking threshold when the frame arrived.
        marked: bool,
    },
    /// The frame waits until its egress port pulls it.
    Held,
}

/// A held frame that its egress port has pulled.
#[derive(Clone, Copy, Debug)]
pub struct Pulled<F> {
    /// The frame.
    pub frame: F,
    /// Earliest time at which the frame may start to leave.
    pub ready: Time,
    /// The buffer space that the frame occupies.
    pub room: Room,
    /// Whether to mark it.
    pub marked: bool,
}

/// The buffer space that a frame occupies: the frame's ports and its size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Room {
    /// The port through which the frame arrived.
    pub ingress: u32,
    /// The port through which the frame leaves.
    pub egress: u32,
    /// Its size.
    pub frame_bytes: u32,
}

impl Room {
    const fn of(arrival: &Arrival) -> Self {
        let &Arrival { ingress, egress, frame_bytes, .. } = arrival;
        Self { ingress, egress, frame_bytes }
    }
}

/// A frame that can carry a congestion mark.
pub trait Mark {
    /// Marks the frame, if it is ECN-capable (RFC 3168, 5). Returns whether it is.
    fn mark(&mut self) -> bool;
}

/// A frame that starts to leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Departure<F> {
    /// The port through which the frame leaves.
    pub egress: u32,
    /// A frame, or the switch's own PAUSE frame.
    pub sent: Sent<F>,
    /// When its last bit leaves.
    pub departs: Time,
}

/// A switch of the buffer architecture `A`.
///
/// Calls must be made in the order of time. Before each call of [`Self::offer`] or
/// [`Self::handle_pause`], call [`Self::step`] until no earlier step is due ([`Self::next_step`]).
#[derive(Clone, Debug)]
pub struct Stepped<F, A> {
    architecture: A,
    ports: Vec<Port<F>>,
    /// Time of the next step of each port.
    steps: Schedule,
    /// Frames that queue disciplines have dropped, with their egress ports.
    dropped: VecDeque<(u32, F)>,
}

#[derive(Clone, Debug)]
struct Port<F> {
    wire: PausingWire<(F, Room)>,
    /// When the last bit of the frame on the wire leaves, and the buffer space that this frame
    /// occupies.
    leaving: Option<(Time, Room)>,
    counters: PortCounters,
    /// The discipline of the frames that wait; none: first in, first out.
    queue: Option<QueuedPort<F>>,
}

/// What a port does next. Steps that are due at the same time are taken in the order of this list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Step {
    /// The last bit of a frame leaves.
    Leave,
    /// The PAUSE request to the peer is repeated.
    Repeat,
    /// The egress takes a frame that is held.
    Pull,
    /// A frame starts to leave.
    Start,
}

impl<F: Queued, A: Architecture<F>> Stepped<F, A> {
    /// A switch with a port for each of `links`; the thresholds of `pause` apply to the bytes of
    /// buffer occupied by the frames of one ingress port.
    #[must_use]
    pub fn new(links: &[Link], architecture: A, pause: PausePolicy) -> Self {
        let port = |link: &Link| Port {
            wire: PausingWire::new(Wire::new(*link), pause),
            leaving: None,
            counters: PortCounters::default(),
            queue: None,
        };
        let ports = links.iter().map(port).collect();
        let steps = Schedule::new(links.len());
        Self { architecture, ports, steps, dropped: VecDeque::new() }
    }

    /// Gives a port a queue discipline: it decides on the frames that the architecture admits. The
    /// architecture must not hold frames itself ([`Admission::Held`]), and the port must not honour
    /// PAUSE.
    pub fn set_queue(&mut self, port: u32, config: &QueueConfig) {
        let port = &mut self.ports[port as usize];
        port.queue = Some(QueuedPort::new(config, port.wire.wire().link()));
    }

    /// Admits or drops a frame that has arrived. Returns whether the buffer has room for it. A
    /// discipline may drop it none the less, or others: see [`Self::pop_dropped`].
    pub fn offer(&mut self, arrival: &Arrival, frame: F, chance: &mut impl Chance) -> bool {
        let port = &mut self.ports[arrival.egress as usize];
        let admission = self.architecture.admit(arrival, &frame, || port.wire.wire().drained_at());
        if port.queue.is_some() {
            return self.offer_to_queue(arrival, frame, admission, chance);
        }
        let bytes = u64::from(arrival.frame_bytes);
        if admission == Admission::Dropped {
            port.counters.frames_dropped += 1;
            port.counters.bytes_dropped += bytes;
            return false;
        }
        port.counters.frames_forwarded += 1;
        port.counters.bytes_forwarded += bytes;
        if let Admission::Queued { marked } = admission {
            let room = Room::of(arrival);
            port.queue(Pulled { frame, ready: arrival.ready, room, marked });
        }
        self.plan(arrival.egress);
        self.note_level(arrival.now, arrival.ingress);
        true
    }

    /// As [`Self::offer`], at a port with a queue discipline.
    fn offer_to_queue(
        &mut self,
        arrival: &Arrival,
        frame: F,
        admission: Admission,
        chance: &mut impl Chance,
    ) -> bool {
        let Some(queue) = &mut self.ports[arrival.egress as usize].queue else { return false };
        if admission == Admission::Dropped {
            queue.refuse(arrival, frame);
            return false;
        }
        queue.enqueue(arrival, frame, chance);
        self.forget_dropped(arrival.now, arrival.egress);
        let queued = self.architecture.queue_bytes(arrival.egress);
        if let Some(queue) = &mut self.ports[arrival.egress as usize].queue {
            queue.note_bytes(queued);
        }
        self.plan(arrival.egress);
        self.note_level(arrival.now, arrival.ingress);
        true
    }

    /// A frame that a queue discipline has dropped in the last [`Self::offer`] or [`Self::step`], and
    /// its egress port. Call this after each of them until there is none.
    #[inline]
    pub fn pop_dropped(&mut self) -> Option<(u32, F)> {
        self.dropped.pop_front()
    }

    /// Frees the buffer space of the frames that the discipline of a port has dropped.
    fn forget_dropped(&mut self, now: Time, egress: u32) {
        while let Some(queue) = &mut self.ports[egress as usize].queue
            && let Some((frame, room)) = queue.pop_dropped()
        {
            self.architecture.release(&room);
            self.note_level(now, room.ingress);
            self.dropped.push_back((egress, frame));
        }
    }

    /// Handles a PAUSE frame of `quanta` that has arrived at `port`.
    pub fn handle_pause(&mut self, now: Time, port: u32, quanta: u16) {
        if self.ports[port as usize].wire.handle_pause(now, quanta) {
            self.plan(port);
        }
    }

    /// Time of the next [`Self::step`]; [`Time::NEVER`] if the switch is empty. After a pause that
    /// ended early, this time can be in the past; then call [`Self::step`] at once.
    #[must_use]
    pub fn next_step(&self) -> Time {
        self.steps.earliest().1
    }

    /// Takes one step that is due at `now`; if several ports have one, the lowest port comes first.
    /// Returns the frame that starts to leave in this step, if any.
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

    /// Counters of `port`. At a port with a queue discipline, a frame counts as forwarded when the
    /// wire takes it.
    #[must_use]
    pub fn counters(&self, port: u32) -> PortCounters {
        let port = &self.ports[port as usize];
        port.queue.as_ref().map_or(port.counters, QueuedPort::counters)
    }

    /// The counters of the queue discipline of `port`, by class; none if the port has no discipline.
    #[must_use]
    pub fn classes(&self, port: u32) -> &[ClassStatistics] {
        self.ports[port as usize].queue.as_ref().map_or(&[], QueuedPort::classes)
    }

    /// PAUSE counters of `port`.
    #[must_use]
    pub fn pauses(&self, port: u32) -> &PauseCounters {
        self.ports[port as usize].wire.counters()
    }

    /// Maximum of [`Self::queue_bytes`] so far.
    #[must_use]
    pub fn queue_bytes_max(&self, egress: u32) -> u64 {
        match &self.ports[egress as usize].queue {
            Some(queue) => queue.bytes_max(),
            None => self.architecture.queue_bytes_max(egress),
        }
    }

    /// Bytes queued for `egress`.
    #[must_use]
    pub fn queue_bytes(&self, egress: u32) -> u64 {
        self.architecture.queue_bytes(egress)
    }

    /// The next step of a port, and its time.
    fn due(&self, egress: u32) -> (Time, Step) {
        let port = &self.ports[egress as usize];
        let leave = port.leaving.map_or(Time::NEVER, |(at, _)| at);
        let repeat = port.wire.next_timeout();
        let pull = match &port.queue {
            Some(queue) => queue.next_pull(port.wire.wire()),
            None => self.architecture.next_pull(egress, || port.wire.wire().drained_at()),
        };
        let start = port.wire.next_start();
        let steps = [
            (leave, Step::Leave),
            (repeat, Step::Repeat),
            (pull, Step::Pull),
            (start, Step::Start),
        ];
        steps.into_iter().min().expect("there are four of them")
    }

    /// Schedules the next step of a port whose state has changed.
    fn plan(&mut self, egress: u32) {
        self.steps.set(egress as usize, self.due(egress).0);
    }

    fn leave(&mut self, now: Time, egress: u32) {
        let Some((_, room)) = self.ports[egress as usize].leaving.take() else { return };
        self.architecture.release(&room);
        self.note_level(now, room.ingress);
    }

    fn pull(&mut self, now: Time, egress: u32, chance: &mut impl Chance) {
        let Port { queue, wire, .. } = &mut self.ports[egress as usize];
        if let Some(queue) = queue {
            if let Some(item) = queue.pull(now, chance) {
                wire.push(item.ready.max(now), item.bytes, item.frame.of_wire());
            }
            self.forget_dropped(now, egress);
            return;
        }
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

    /// Sends a PAUSE frame to the peer of port `ingress` if the new occupancy of the port's buffer
    /// starts or ends a pause.
    fn note_level(&mut self, now: Time, ingress: u32) {
        let level = || self.architecture.ingress_bytes(ingress);
        if self.ports[ingress as usize].wire.handle_level(now, level) {
            self.plan(ingress);
        }
    }
}

impl<F: Mark> Port<F> {
    /// Adds a frame to the queue of the wire.
    fn queue(&mut self, pulled: Pulled<F>) {
        let mut frame = pulled.frame;
        if pulled.marked && frame.mark() {
            self.counters.frames_marked += 1;
        }
        self.wire.push(pulled.ready, pulled.room.frame_bytes, (frame, pulled.room));
    }
}
