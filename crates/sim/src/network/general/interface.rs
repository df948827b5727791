//! Interfaces of hosts. An interface that neither heeds nor sends PAUSE frames and merges nothing has a
//! closed form ([`Nic`]): its only events hand segments to TCP. Any other interface is event-driven.

use std::collections::VecDeque;

use netstudy_fabric::stepped::{PausingWire, Sent, Wire};
use netstudy_fabric::{CUT_THROUGH_BYTES, Link, PauseCounters};
use netstudy_ring::Ring;
use netstudy_units::{Duration, Time};

use super::packets::{Packet, Packets};
use super::receiver::Receiver;
use crate::network::limits::Limits;
use crate::network::nic::Nic;
use crate::snapshot::{Carried, NicCounters};
use crate::wiring::InterfaceKind;

/// An interface, with its sending end of a link.
pub(super) struct Interface<L> {
    /// The wire that it sends by; none: its packets stay inside the host.
    pub(super) wire: Option<usize>,
    pub(super) form: Form<L>,
}

/// How an interface is simulated.
#[allow(clippy::large_enum_variant, reason = "most are closed, and none is moved")]
pub(super) enum Form<L> {
    Closed(Closed<L>),
    Stepped(Box<SteppedInterface>),
}

/// An interface in closed form.
pub(super) struct Closed<L> {
    pub(super) nic: Nic<L>,
    /// How long a packet takes that stays inside, until the CPU has it.
    pub(super) send_latency: Duration,
    /// Segments on their way to TCP.
    pub(super) delivered: Ring<(Time, Packet)>,
    /// Frames that will find the ring full, which the counters know already, and when.
    ring_drops_ahead: VecDeque<Time>,
    /// Frames that the ring has room for on arrival.
    taken_in: Carried,
}

impl<L: Limits> Closed<L> {
    /// `cuts_through`: whether its frames cut through the switch at the end of its link.
    pub(super) fn new(kind: &InterfaceKind, cuts_through: bool, seed: &str) -> Self {
        Self {
            nic: Nic::new(kind, cuts_through, seed),
            send_latency: kind.send_latency,
            delivered: Ring::new(),
            ring_drops_ahead: VecDeque::new(),
            taken_in: Carried::default(),
        }
    }

    /// A packet's last bit leaves the other end of the link at `departs`. Returns when TCP gets it;
    /// none: the ring is full.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn receive(&mut self, departs: Time, packet: &Packet) -> Option<Time> {
        let at = self.nic.receive(departs, packet.frame_bytes);
        if at.is_none() {
            self.ring_drops_ahead.push_back(departs + self.nic.delay());
        } else {
            self.taken_in.count(packet.frame_bytes);
        }
        at
    }

    /// The counters of the interface at `now`.
    fn counters(&self, now: Time) -> NicCounters {
        let Self { nic, delivered, ring_drops_ahead, taken_in, .. } = self;
        let counters = nic.counters();
        let dropped_later = ring_drops_ahead.iter().filter(|&&at| at > now).count() as u64;
        let dealt_with = now + nic.receive_latency();
        let later = delivered.iter().rev().take_while(|&&(at, _)| at > dealt_with);
        let later = Carried::of(later.map(|(_, packet)| packet.frame_bytes));
        NicCounters {
            sent: counters.sent.without(&Carried::of(nic.ahead_of(now + nic.delay()))),
            received: taken_in.without(&later),
            ring_drops: counters.ring_drops - dropped_later,
            ..counters
        }
    }

    /// Drops before `now` are counted for good.
    pub(super) fn forget_drops(&mut self, now: Time) {
        while self.ring_drops_ahead.front().is_some_and(|&at| at <= now) {
            self.ring_drops_ahead.pop_front();
        }
    }
}

impl<L: Limits> Interface<L> {
    pub(super) fn counters(&self, now: Time) -> NicCounters {
        match &self.form {
            Form::Closed(closed) => closed.counters(now),
            Form::Stepped(stepped) => stepped.counters(now),
        }
    }

    /// Frames that it was given to send and had room for.
    pub(super) fn taken_to_send(&self) -> u64 {
        match &self.form {
            Form::Closed(closed) => closed.nic.counters().sent.frames,
            Form::Stepped(stepped) => stepped.counters.sent.frames,
        }
    }

    pub(super) fn pauses(&self) -> PauseCounters {
        match &self.form {
            Form::Closed(_) => PauseCounters::default(),
            Form::Stepped(stepped) => *stepped.wire.counters(),
        }
    }
}

/// An interface, event-driven.
pub(super) struct SteppedInterface {
    wire: PausingWire<Packet>,
    /// Until when the frame on the wire counts as waiting: until its last bit has left, or until the
    /// switch can judge it.
    on_wire_until: Time,
    /// Frames that were put on the wire.
    started: Carried,
    /// Bytes of the last queued frame.
    last_bytes: u32,
    queue_frames: usize,
    send_latency: Duration,
    cuts_through: bool,
    /// Frames on their way here, and when their last bit arrives.
    arriving: Ring<(Time, Packet)>,
    /// PAUSE frames on their way here.
    pauses: Ring<(Time, u16)>,
    receiver: Receiver,
    counters: NicCounters,
}

/// The next step of an interface. Steps due at the same time are taken in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Step {
    /// The CPU has handled a frame.
    Processed,
    /// The interface has taken a frame in.
    TakenIn,
    /// A frame arrives.
    Arrive,
    /// A PAUSE frame arrives.
    Pause,
    /// A request for a pause is to be repeated.
    Repeat,
    /// The CPU begins to poll.
    Poll,
    /// A segment is with TCP.
    Deliver,
    /// Something begins to leave.
    Start,
}

/// The effect of a step.
pub(super) enum Happening {
    /// None outside of the interface.
    None,
    /// This packet is with TCP.
    Delivered(Packet),
    /// The ring was full for this packet.
    RingDropped(Packet),
    /// A frame leaves until `departs`; the far end may judge it a link delay after `judged`.
    Leaves { sent: Sent<Packet>, judged: Time, departs: Time },
}

impl SteppedInterface {
    pub(super) fn new(kind: &InterfaceKind, cuts_through: bool, seed: &str) -> Self {
        let wire = Wire::new(kind.link).with_interval(kind.receive.frame_interval);
        Self {
            wire: PausingWire::new(wire, kind.pause),
            on_wire_until: Time::ZERO,
            started: Carried::default(),
            last_bytes: 0,
            queue_frames: kind.transmit_queue_frames,
            send_latency: kind.send_latency,
            cuts_through,
            arriving: Ring::new(),
            pauses: Ring::new(),
            receiver: Receiver::new(&kind.receive, seed, &kind.stream),
            counters: NicCounters::default(),
        }
    }

    /// The counters of the interface at `now`.
    fn counters(&self, now: Time) -> NicCounters {
        let on_wire = (self.on_wire_until > now).then_some(self.last_bytes);
        NicCounters {
            sent: self.started.without(&Carried::of(on_wire.into_iter())),
            received: self.receiver.processed_frames(),
            ring_drops: self.receiver.ring_drops(),
            ..self.counters
        }
    }

    const fn link(&self) -> &Link {
        self.wire.wire().link()
    }

    /// Whether a segment can be sent at `now`; otherwise it is counted as dropped.
    pub(super) fn has_room(&mut self, now: Time) -> bool {
        let waiting = self.wire.wire().waiting() + usize::from(self.on_wire_until > now);
        let room = waiting < self.queue_frames;
        self.counters.queue_drops += u64::from(!room);
        room
    }

    /// TCP sends a segment for which there is room.
    pub(super) fn send(&mut self, now: Time, packet: Packet) {
        self.counters.sent.count(packet.frame_bytes);
        self.wire.push(now + self.send_latency, packet.frame_bytes, packet);
    }

    /// A frame is on its way, with its last bit here at `at`.
    pub(super) fn expect(&mut self, at: Time, packet: Packet) {
        self.arriving.push_back((at, packet));
    }

    /// A PAUSE frame is on its way, here at `at`.
    pub(super) fn expect_pause(&mut self, at: Time, quanta: u16) {
        self.pauses.push_back((at, quanta));
    }

    fn next(&self) -> (Time, Step) {
        let steps = [
            (self.receiver.next_processed(), Step::Processed),
            (self.receiver.next_taken_in(), Step::TakenIn),
            (self.arriving.front().map_or(Time::NEVER, |&(at, _)| at), Step::Arrive),
            (self.pauses.front().map_or(Time::NEVER, |&(at, _)| at), Step::Pause),
            (self.wire.next_timeout(), Step::Repeat),
            (self.receiver.next_poll(), Step::Poll),
            (self.receiver.next_delivered(), Step::Deliver),
            (self.wire.next_start(), Step::Start),
        ];
        steps.into_iter().min().expect("there are eight of them")
    }

    /// Time of the next [`Self::step`]; [`Time::NEVER`] if nothing is under way.
    pub(super) fn next_step(&self) -> Time {
        self.next().0
    }

    /// Takes the step that is due at `now`, the time of [`Self::next_step`].
    pub(super) fn step(&mut self, now: Time, packets: &mut Packets) -> Happening {
        match self.next().1 {
            // Only a frame that leaves the ring can end a pause.
            Step::Processed => {
                self.receiver.processed(now, packets);
                self.note_level(now);
            }
            Step::TakenIn => self.receiver.taken_in(now),
            Step::Arrive => return self.arrive(now),
            Step::Pause => {
                if let Some((_, quanta)) = self.pauses.pop_front() {
                    self.wire.handle_pause(now, quanta);
                }
            }
            Step::Repeat => {
                self.wire.handle_timeout(now);
            }
            Step::Poll => self.receiver.poll(now),
            Step::Deliver => {
                return self
                    .receiver
                    .take_delivered()
                    .map_or(Happening::None, Happening::Delivered);
            }
            Step::Start => return self.start(now),
        }
        Happening::None
    }

    /// A frame arrives at the ring.
    fn arrive(&mut self, now: Time) -> Happening {
        let Some((_, packet)) = self.arriving.pop_front() else { return Happening::None };
        let taken = self.receiver.arrive(now, packet);
        self.note_level(now);
        if taken { Happening::None } else { Happening::RingDropped(packet) }
    }

    /// The ring has changed: the peer may have to pause, or to go on.
    fn note_level(&mut self, now: Time) {
        self.wire.handle_level(now, || self.receiver.waiting() as u64);
    }

    fn start(&mut self, now: Time) -> Happening {
        let Some(start) = self.wire.start() else { return Happening::None };
        let (sent, departs) = (start.sent, start.departs);
        let mut judged = departs;
        if let Sent::Frame(packet) = sent {
            self.started.count(packet.frame_bytes);
            self.last_bytes = packet.frame_bytes;
            if self.cuts_through {
                judged = now + self.link().serialization(CUT_THROUGH_BYTES);
            }
            self.on_wire_until = judged;
        }
        Happening::Leaves { sent, judged, departs }
    }
}
