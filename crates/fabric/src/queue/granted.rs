use netstudy_units::Time;

use super::{ClassStatistics, Item, PortQueue, QueueConfig, Queued};
use crate::switch::Arrival;
use crate::{Chance, Link, PortCounters};

/// An egress port with a queue discipline and its wire. It chooses the next frame when the wire is
/// free: one event for each frame that waits, at the time [`Self::next_grant`], and none for a frame
/// that finds the port idle.
///
/// For links without PAUSE. A [`crate::stepped::Stepped`] switch drives the same disciplines where a
/// pause may begin at any time.
#[derive(Clone, Debug)]
pub struct GrantedPort<F> {
    queue: PortQueue<F>,
    link: Link,
    /// Most bytes that may wait or be on the wire.
    room_bytes: u64,
    free_at: Time,
    /// Size of the frame that is on the wire until `free_at`.
    on_wire_bytes: u32,
    queue_bytes_max: u64,
}

/// A frame that leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Granted<F> {
    /// The frame, marked if the discipline has marked it.
    pub frame: F,
    /// When its last bit leaves.
    pub departs: Time,
}

/// The fate of a frame that arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offered<F> {
    /// The buffer has no room for it.
    NoRoom,
    /// The discipline has it, or has dropped it.
    Held,
    /// It leaves at once, because the port is idle.
    Leaves(Granted<F>),
}

impl<F: Queued> GrantedPort<F> {
    /// A port that sends onto `link`, with a buffer of `room_bytes`.
    #[must_use]
    pub fn new(config: &QueueConfig, link: &Link, room_bytes: u64) -> Self {
        Self {
            queue: PortQueue::new(config, link),
            link: *link,
            room_bytes,
            free_at: Time::ZERO,
            on_wire_bytes: 0,
            queue_bytes_max: 0,
        }
    }

    /// Takes in a frame that has arrived.
    pub fn offer(&mut self, arrival: &Arrival, frame: F, chance: &mut impl Chance) -> Offered<F> {
        let &Arrival { now, ready, frame_bytes: bytes, .. } = arrival;
        let item = Item { frame, bytes, at: now, ready };
        let occupied = self.queue_bytes(now) + u64::from(bytes);
        if occupied > self.room_bytes {
            self.queue.refuse(&item);
            return Offered::NoRoom;
        }
        self.queue.enqueue(item, chance);
        self.queue_bytes_max = self.queue_bytes_max.max(self.queue_bytes(now));
        let granted = if self.next_grant() <= now { self.grant(now, chance) } else { None };
        granted.map_or(Offered::Held, Offered::Leaves)
    }

    /// When the port next chooses a frame; [`Time::NEVER`] if none waits.
    #[must_use]
    #[inline]
    pub fn next_grant(&self) -> Time {
        self.queue.next(self.free_at)
    }

    /// Makes the choice that is due at `now`. None: a shaper holds the frames back, or the
    /// discipline has dropped all of them.
    pub fn grant(&mut self, now: Time, chance: &mut impl Chance) -> Option<Granted<F>> {
        let item = self.queue.dequeue(now, chance)?;
        self.free_at = item.ready.max(now) + self.link.serialization(item.bytes);
        self.on_wire_bytes = item.bytes;
        Some(Granted { frame: item.frame, departs: self.free_at })
    }

    /// As [`super::Fates::pop_dropped`].
    #[inline]
    pub fn pop_dropped(&mut self) -> Option<F> {
        self.queue.pop_dropped()
    }

    /// The port's counters; a frame counts as forwarded when it leaves the queue.
    #[must_use]
    pub fn counters(&self) -> PortCounters {
        self.queue.counters()
    }

    /// As [`super::Fates::classes`].
    #[must_use]
    pub fn classes(&self) -> &[ClassStatistics] {
        self.queue.classes()
    }

    /// Bytes that wait or are on the wire at `now`.
    #[must_use]
    pub fn queue_bytes(&self, now: Time) -> u64 {
        let on_wire = if self.free_at > now { self.on_wire_bytes } else { 0 };
        self.queue.backlog().bytes + u64::from(on_wire)
    }

    /// Maximum of [`Self::queue_bytes`] so far.
    #[must_use]
    pub const fn queue_bytes_max(&self) -> u64 {
        self.queue_bytes_max
    }
}
