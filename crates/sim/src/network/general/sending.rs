//! The queue discipline of an interface: between TCP and the wire.

use netstudy_fabric::queue::{ClassStatistics, Item, PortQueue};
use netstudy_fabric::stepped::Wire;
use netstudy_random::Stream;
use netstudy_ring::Ring;
use netstudy_units::Time;

use super::packets::Packet;
use crate::wiring::InterfaceKind;

/// The queue discipline of an interface.
pub(super) struct SendingQueue {
    port: PortQueue<Packet>,
    /// For the choices of the discipline.
    chance: Stream,
    /// Time of the last step or arrival at which the discipline may have dropped frames.
    dropped_at: Time,
    /// Frames that it has dropped and that are not reported yet.
    dropped: Ring<Packet>,
}

impl SendingQueue {
    pub(super) fn new(kind: &InterfaceKind, seed: &str) -> Option<Box<Self>> {
        let port = PortQueue::new(kind.queue.as_ref()?, &kind.link);
        let chance = Stream::new(seed, &format!("{}/queue", kind.stream));
        let (dropped_at, dropped) = (Time::ZERO, Ring::new());
        Some(Box::new(Self { port, chance, dropped_at, dropped }))
    }

    pub(super) fn enqueue(&mut self, now: Time, ready: Time, packet: Packet) {
        let item = Item { frame: packet, bytes: packet.frame_bytes, at: now, ready };
        self.port.enqueue(item, &mut self.chance);
        self.note_dropped(now);
    }

    pub(super) fn dequeue(&mut self, now: Time) -> Option<Item<Packet>> {
        let item = self.port.dequeue(now, &mut self.chance);
        self.note_dropped(now);
        item
    }

    fn note_dropped(&mut self, now: Time) {
        self.dropped_at = now;
        while let Some(packet) = self.port.pop_dropped() {
            self.dropped.push_back(packet);
        }
    }

    /// When the next dropped frame is reported: at once.
    pub(super) fn next_dropped(&self) -> Time {
        if self.dropped.is_empty() { Time::NEVER } else { self.dropped_at }
    }

    /// As [`PortQueue::next_pull`].
    pub(super) fn next_pull<F>(&self, wire: &Wire<F>) -> Time {
        self.port.next_pull(wire)
    }

    /// A frame that it has dropped and that was not reported yet.
    pub(super) fn pop_dropped(&mut self) -> Option<Packet> {
        self.dropped.pop_front()
    }

    /// Number of frames that it has dropped.
    pub(super) fn dropped_frames(&self) -> u64 {
        self.port.counters().frames_dropped
    }

    /// Number of frames that wait.
    pub(super) fn frames(&self) -> usize {
        self.port.backlog().frames as usize
    }

    pub(super) fn classes(&self) -> &[ClassStatistics] {
        self.port.classes()
    }
}
