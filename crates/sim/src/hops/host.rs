use netstudy_fabric::stepped::{PausingWire, Sent, Wire};
use netstudy_fabric::{CUT_THROUGH_BYTES, Link, PauseCounters, ethernet};
use netstudy_tcp::Segment;
use netstudy_units::{Duration, Time};

use super::events::{Event, Events};
use super::receiver::Receiver;
use crate::hosts::{Frame, NicCounters};
use crate::wiring::HostKind;

/// The interface of a host, behind a port of the switch.
#[derive(Clone, Debug)]
pub(super) struct Interface {
    place: usize,
    wire: PausingWire<Frame>,
    /// When the frame on the wire is no longer counted as waiting: its last bit has left, or so much of
    /// it that the switch can judge it.
    on_wire_until: Time,
    queue_frames: usize,
    send_latency: Duration,
    cuts_through: bool,
    receiver: Receiver,
    counters: NicCounters,
}

impl Interface {
    /// The interface of the host `host` in the run with the seed `seed`.
    pub(super) fn new(
        kind: &HostKind,
        cuts_through: bool,
        place: usize,
        seed: &str,
        host: &str,
    ) -> Self {
        let wire = Wire::new(kind.link).with_interval(kind.receive.frame_interval);
        Self {
            place,
            wire: PausingWire::new(wire, kind.pause),
            on_wire_until: Time::ZERO,
            queue_frames: kind.transmit_queue_frames,
            send_latency: kind.send_latency,
            cuts_through,
            receiver: Receiver::new(&kind.receive, place, seed, host),
            counters: NicCounters::default(),
        }
    }

    pub(super) fn counters(&self) -> NicCounters {
        NicCounters { ring_drops: self.receiver.ring_drops(), ..self.counters }
    }

    pub(super) const fn pauses(&self) -> &PauseCounters {
        self.wire.counters()
    }

    const fn link(&self) -> &Link {
        self.wire.wire().link()
    }

    /// Frames that have not begun to leave.
    pub(super) fn waiting(&self) -> usize {
        self.wire.wire().waiting()
    }

    /// TCP sends a segment; it is dropped when too many wait.
    pub(super) fn send(
        &mut self,
        now: Time,
        connection: u32,
        segment: Segment,
        events: &mut Events,
    ) {
        if self.waiting() + usize::from(self.on_wire_until > now) >= self.queue_frames {
            self.counters.queue_drops += 1;
            return;
        }
        self.counters.frames_sent += 1;
        let frame_bytes = ethernet::frame_bytes(segment.ip_bytes());
        let frame = Frame { arrival: Time::NEVER, connection, frame_bytes, segment };
        self.wire.push(now + self.send_latency, frame_bytes, frame);
        self.plan_start(events);
    }

    fn plan_start(&self, events: &mut Events) {
        events.put(self.wire.next_start(), self.place, Event::Start);
    }

    /// Begins to send what is due, if it is: a pause may have come in between.
    pub(super) fn start(&mut self, now: Time, events: &mut Events) {
        if self.wire.next_start() != now {
            return;
        }
        let Some(start) = self.wire.start() else { return };
        let delay = self.link().delay();
        match start.sent {
            Sent::Frame(mut frame) => {
                self.on_wire_until = self.judged_from(now, start.departs);
                frame.arrival = self.on_wire_until + delay;
                events.put(frame.arrival, self.place, Event::AtSwitch(frame));
            }
            Sent::Pause(quanta) => {
                events.put(start.departs + delay, self.place, Event::PauseAtSwitch(quanta));
            }
        }
        self.plan_start(events);
    }

    /// When so much has left of a frame that begins to leave at `now` as the switch must have of it.
    fn judged_from(&self, now: Time, departs: Time) -> Time {
        if self.cuts_through {
            return now + self.link().serialization(CUT_THROUGH_BYTES);
        }
        departs
    }

    /// A frame is there. Whether the ring takes it.
    pub(super) fn arrive(&mut self, now: Time, frame: Frame, events: &mut Events) -> bool {
        let taken = self.receiver.arrive(now, frame, events);
        self.note_level(now, events);
        taken
    }

    pub(super) fn taken_in(&mut self, now: Time, events: &mut Events) {
        self.receiver.taken_in(now, events);
    }

    pub(super) fn poll(&mut self, now: Time, events: &mut Events) {
        self.receiver.poll(now, events);
    }

    pub(super) fn processed(&mut self, now: Time, events: &mut Events) {
        self.receiver.processed(now, events);
        self.note_level(now, events);
    }

    /// The ring has changed: the switch may have to pause, or to go on.
    fn note_level(&mut self, now: Time, events: &mut Events) {
        if self.wire.handle_level(now, || self.receiver.in_ring() as u64) {
            self.plan_request(events);
        }
    }

    /// Asks again for a pause, if that is due.
    pub(super) fn repeat_pause(&mut self, now: Time, events: &mut Events) {
        if self.wire.handle_timeout(now) {
            self.plan_request(events);
        }
    }

    /// A PAUSE frame is to be sent.
    fn plan_request(&self, events: &mut Events) {
        self.plan_start(events);
        events.put(self.wire.next_timeout(), self.place, Event::RepeatPause);
    }

    /// A PAUSE frame of `quanta` is there.
    pub(super) fn handle_pause(&mut self, now: Time, quanta: u16, events: &mut Events) {
        if self.wire.handle_pause(now, quanta) {
            self.plan_start(events);
        }
    }
}
