//! Interfaces of hosts. An interface has a closed form ([`Nic`]) if it uses no PAUSE frames and
//! does not merge segments. In this form, its only events are segments that reach TCP. Any other
//! interface is event-driven at every step.

use std::collections::VecDeque;

use netstudy_fabric::queue::{ClassStatistics, Item};
use netstudy_fabric::stepped::{PausingWire, Sent, Wire};
use netstudy_fabric::{CUT_THROUGH_BYTES, Link, PauseCounters};
use netstudy_ring::Ring;
use netstudy_units::{Duration, Time};

use super::packets::{Packet, Packets};
use super::put_in_order;
use super::receiver::{Receiver, Watch};
use super::sending::SendingQueue;
use crate::network::limits::Limits;
use crate::network::nic::Nic;
use crate::network::trace::Tracer;
use crate::snapshot::{Carried, NicCounters};
use crate::wiring::InterfaceKind;

/// An interface and its wire.
pub(super) struct Interface<L> {
    /// The wire on which the interface sends; none if its packets stay inside the host.
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
    /// For packets that stay inside the host: the time from sending until the receiving CPU gets
    /// them.
    pub(super) send_latency: Duration,
    /// Segments that have yet to reach TCP, and when they will.
    pub(super) delivered: Ring<(Time, Packet)>,
    /// Arrival times of frames that will find the ring full. The counters of `nic` already include
    /// these drops.
    ring_drops_ahead: VecDeque<Time>,
    /// Received frames, without those that find the ring full.
    taken_in: Carried,
}

impl<L: Limits> Form<L> {
    /// As [`InterfaceKind::holds_back`].
    pub(super) const fn holds_back(&self) -> bool {
        match self {
            Self::Closed(closed) => closed.nic.holds_back(),
            Self::Stepped(stepped) => stepped.holds_back,
        }
    }
}

impl<L: Limits> Closed<L> {
    /// Creates the interface. `cuts_through`: the switch at the other end of the link forwards
    /// frames of this interface by cut-through.
    pub(super) fn new(kind: &InterfaceKind, cuts_through: bool, seed: &str) -> Self {
        Self {
            nic: Nic::new(kind, cuts_through, seed),
            send_latency: kind.send_latency,
            delivered: Ring::new(),
            ring_drops_ahead: VecDeque::new(),
            taken_in: Carried::default(),
        }
    }

    /// Receives a packet whose last bit leaves the other end of the link at `departs`. Returns when
    /// TCP gets the packet, or none if the ring is full.
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

    /// Removes the times of drops up to `now`, which are no longer needed for counters.
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

    /// Number of frames accepted for sending.
    pub(super) fn taken_to_send(&self) -> u64 {
        match &self.form {
            Form::Closed(closed) => closed.nic.counters().sent.frames,
            Form::Stepped(stepped) => stepped.counters.sent.frames,
        }
    }

    /// Number of accepted frames that a queue discipline has dropped.
    pub(super) fn dropped_by_queue(&self) -> u64 {
        match &self.form {
            Form::Closed(_) => 0,
            Form::Stepped(stepped) => stepped.dropped_by_queue(),
        }
    }

    /// The counters of the queue discipline by class; none if there is no discipline.
    pub(super) fn classes(&self) -> &[ClassStatistics] {
        match &self.form {
            Form::Closed(_) => &[],
            Form::Stepped(stepped) => stepped.queue.as_ref().map_or(&[], |queue| queue.classes()),
        }
    }

    pub(super) fn pauses(&self) -> PauseCounters {
        match &self.form {
            Form::Closed(_) => PauseCounters::default(),
            Form::Stepped(stepped) => *stepped.wire.counters(),
        }
    }
}

/// An event-driven interface.
pub(super) struct SteppedInterface {
    wire: PausingWire<Packet>,
    /// When the frame on the wire no longer counts as waiting: when its last bit has left or, with
    /// cut-through, when the switch can judge the frame.
    on_wire_until: Time,
    /// Frames whose transmission has started.
    started: Carried,
    /// Size of the frame whose transmission started last.
    last_bytes: u32,
    /// Most frames that may wait or be on the wire. A discipline that limits its frames itself has no
    /// other limit.
    queue_frames: usize,
    /// As in [`InterfaceKind::holds_back`].
    holds_back: bool,
    /// The discipline of the frames that wait to be sent; none: first in, first out.
    queue: Option<Box<SendingQueue>>,
    send_latency: Duration,
    cuts_through: bool,
    /// Frames in flight to this interface, and when their last bits arrive.
    arriving: Ring<(Time, Packet)>,
    /// PAUSE frames in flight to this interface, and when they arrive.
    pauses: Ring<(Time, u16)>,
    receiver: Receiver,
    counters: NicCounters,
}

/// The next step of an interface. If several steps are due at the same time, they are made in the
/// order of these variants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Step {
    /// The CPU has handled a frame.
    Processed,
    /// The interface has taken in a frame.
    TakenIn,
    /// A frame arrives.
    Arrive,
    /// A PAUSE frame arrives.
    Pause,
    /// The interface must repeat a PAUSE frame.
    Repeat,
    /// The CPU begins to poll.
    Poll,
    /// A segment reaches TCP.
    Deliver,
    /// A frame is reported that the queue discipline has dropped.
    Drop,
    /// The wire takes a frame from the queue.
    Pull,
    /// A frame starts to leave.
    Start,
}

/// The effect of a step.
pub(super) enum Happening {
    /// No effect outside of the interface.
    None,
    /// This packet has reached TCP.
    Delivered(Packet),
    /// A PAUSE frame of these quanta has arrived.
    Paused(u16),
    /// This packet was dropped because the ring was full.
    RingDropped(Packet),
    /// The queue discipline has dropped this packet, which was to be sent.
    QueueDropped(Packet),
    /// A frame leaves. Its last bit leaves at `departs`. A switch at the other end can judge the
    /// frame at `judged` plus the link delay.
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
            queue_frames: match &kind.queue {
                Some(queue) if !queue.is_unlimited() => usize::MAX,
                _ => kind.transmit_queue_frames,
            },
            holds_back: kind.holds_back,
            queue: SendingQueue::new(kind, seed),
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
            queue_drops: self.counters.queue_drops + self.dropped_by_queue(),
        }
    }

    fn dropped_by_queue(&self) -> u64 {
        self.queue.as_ref().map_or(0, |queue| queue.dropped_frames())
    }

    const fn link(&self) -> &Link {
        self.wire.wire().link()
    }

    /// Returns true if the transmit queue has room for a segment at `now`. Otherwise a drop is
    /// counted, unless the host holds the segment back.
    ///
    /// A discipline that limits its frames itself takes in every segment, and drops it later if it
    /// has no room for it. For any other one, the length of the transmit queue is the limit of all
    /// its frames together, as without a discipline.
    pub(super) fn has_room(&mut self, now: Time) -> bool {
        let room = self.room_at(now, 0) <= now;
        self.counters.queue_drops += u64::from(!room && !self.holds_back);
        room
    }

    /// When the transmit queue has room, at `now` or later; [`Time::NEVER`] if that is not known
    /// before the next frame starts to leave. `sending` segments have yet to reach the queue.
    pub(super) fn room_at(&self, now: Time, sending: usize) -> Time {
        let is_on_wire = self.on_wire_until > now;
        let queued = self.queue.as_ref().map_or(0, |queue| queue.frames());
        let taken = queued + self.wire.wire().waiting() + usize::from(is_on_wire) + sending;
        if taken < self.queue_frames {
            now
        } else if is_on_wire {
            self.on_wire_until
        } else {
            Time::NEVER
        }
    }

    /// Queues a segment from TCP. The queue must have room for it.
    pub(super) fn send(&mut self, now: Time, packet: Packet) {
        self.counters.sent.count(packet.frame_bytes);
        let ready = now + self.send_latency;
        match &mut self.queue {
            Some(queue) => queue.enqueue(now, ready, packet),
            None => self.wire.push(ready, packet.frame_bytes, packet),
        }
    }

    /// Announces a frame whose last bit will arrive at `at`.
    pub(super) fn expect(&mut self, at: Time, packet: Packet) {
        put_in_order(&mut self.arriving, at, packet);
    }

    /// Announces a PAUSE frame that will arrive at `at`.
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
        let next = steps.into_iter().min().expect("there are eight of them");
        let Some(queue) = &self.queue else { return next };
        let pull = (queue.next_pull(self.wire.wire()), Step::Pull);
        next.min(pull).min((queue.next_dropped(), Step::Drop))
    }

    /// Time of the next [`Self::step`]; [`Time::NEVER`] if no step is pending.
    pub(super) fn next_step(&self) -> Time {
        self.next().0
    }

    /// Makes the step that is due at `now`, which must be the time of [`Self::next_step`].
    pub(super) fn step(
        &mut self,
        now: Time,
        packets: &mut Packets,
        watch: &Watch<'_, impl Tracer>,
    ) -> Happening {
        match self.next().1 {
            // Only this step frees a place in the ring, so only here the level can fall far enough
            // to end a pause.
            Step::Processed => {
                self.receiver.processed(now, packets, watch);
                self.note_level(now);
            }
            Step::TakenIn => self.receiver.taken_in(now, watch),
            Step::Arrive => return self.arrive(now),
            Step::Pause => {
                if let Some((_, quanta)) = self.pauses.pop_front() {
                    self.wire.handle_pause(now, quanta);
                    return Happening::Paused(quanta);
                }
            }
            Step::Repeat => {
                self.wire.handle_timeout(now);
            }
            Step::Poll => self.receiver.interrupted(now, watch),
            Step::Deliver => {
                return self
                    .receiver
                    .take_delivered()
                    .map_or(Happening::None, Happening::Delivered);
            }
            Step::Drop => {
                let dropped = self.queue.as_mut().and_then(|queue| queue.pop_dropped());
                return dropped.map_or(Happening::None, Happening::QueueDropped);
            }
            Step::Pull => {
                let item = self.queue.as_mut().and_then(|queue| queue.dequeue(now));
                if let Some(Item { frame, bytes, ready, .. }) = item {
                    self.wire.push(ready.max(now), bytes, frame);
                }
            }
            Step::Start => return self.start(now),
        }
        Happening::None
    }

    /// Handles the arrival of a frame at the ring.
    fn arrive(&mut self, now: Time) -> Happening {
        let Some((_, packet)) = self.arriving.pop_front() else { return Happening::None };
        let taken = self.receiver.arrive(now, packet);
        self.note_level(now);
        if taken { Happening::None } else { Happening::RingDropped(packet) }
    }

    /// Checks the level of the ring, because the device at the other end of the link may have to
    /// pause or resume.
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
