use netstudy_units::Time;

use super::{Mark, Room, Wire};
use crate::queue::{ClassStatistics, Item, PortQueue, QueueConfig, Queued};
use crate::switch::Arrival;
use crate::{Chance, Link, PortCounters};

/// The queue discipline of a port of an event-driven switch.
#[derive(Clone, Debug)]
pub(super) struct QueuedPort<F> {
    queue: PortQueue<Admitted<F>>,
    bytes_max: u64,
}

/// A frame that the buffer has admitted, and the space that it occupies there.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Admitted<F> {
    frame: F,
    room: Room,
}

impl<F> Admitted<F> {
    /// The frame as the wire of a port takes it.
    pub(super) fn of_wire(self) -> (F, Room) {
        (self.frame, self.room)
    }
}

impl<F: Mark> Mark for Admitted<F> {
    fn mark(&mut self) -> bool {
        self.frame.mark()
    }
}

impl<F: Queued> Queued for Admitted<F> {
    fn flow(&self) -> u32 {
        self.frame.flow()
    }

    fn dscp(&self) -> u8 {
        self.frame.dscp()
    }
}

impl<F: Queued> QueuedPort<F> {
    pub(super) fn new(config: &QueueConfig, link: &Link) -> Self {
        Self { queue: PortQueue::new(config, link), bytes_max: 0 }
    }

    /// As [`PortQueue::refuse`].
    pub(super) fn refuse(&mut self, arrival: &Arrival, frame: F) {
        self.queue.refuse(&item(arrival, frame));
    }

    /// As [`PortQueue::enqueue`].
    pub(super) fn enqueue(&mut self, arrival: &Arrival, frame: F, chance: &mut impl Chance) {
        self.queue.enqueue(item(arrival, frame), chance);
    }

    /// As [`PortQueue::next_pull`].
    pub(super) fn next_pull<W>(&self, wire: &Wire<W>) -> Time {
        self.queue.next_pull(wire)
    }

    /// As [`PortQueue::dequeue`].
    pub(super) fn pull(
        &mut self,
        now: Time,
        chance: &mut impl Chance,
    ) -> Option<Item<Admitted<F>>> {
        self.queue.dequeue(now, chance)
    }

    /// As [`PortQueue::pop_dropped`], with the buffer space of the frame.
    pub(super) fn pop_dropped(&mut self) -> Option<(F, Room)> {
        self.queue.pop_dropped().map(Admitted::of_wire)
    }

    /// Notes the bytes that are queued for the port, the frame on the wire included.
    pub(super) fn note_bytes(&mut self, bytes: u64) {
        self.bytes_max = self.bytes_max.max(bytes);
    }

    pub(super) const fn bytes_max(&self) -> u64 {
        self.bytes_max
    }

    pub(super) fn counters(&self) -> PortCounters {
        self.queue.counters()
    }

    pub(super) fn classes(&self) -> &[ClassStatistics] {
        self.queue.classes()
    }
}

fn item<F>(arrival: &Arrival, frame: F) -> Item<Admitted<F>> {
    let &Arrival { now, ready, frame_bytes, .. } = arrival;
    Item { frame: Admitted { frame, room: Room::of(arrival) }, bytes: frame_bytes, at: now, ready }
}
