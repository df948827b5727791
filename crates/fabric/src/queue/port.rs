use netstudy_units::Time;

use super::{AnyQueue, Backlog, ClassStatistics, Discipline, Fates, Item, QueueConfig, Queued};
use crate::{Chance, Link, PortCounters};

/// The queue of a port, with its counters.
///
/// After [`Self::enqueue`] and [`Self::dequeue`], the driver collects the frames that the discipline
/// has dropped with [`Self::pop_dropped`].
#[derive(Clone, Debug)]
pub struct PortQueue<F> {
    queue: AnyQueue<F>,
    fates: Fates<F>,
}

impl<F: Queued> PortQueue<F> {
    /// An empty queue before `link`.
    #[must_use]
    pub fn new(config: &QueueConfig, link: &Link) -> Self {
        Self { queue: AnyQueue::new(config, link), fates: Fates::new() }
    }

    /// Gives the discipline a frame for which the buffer has room.
    pub fn enqueue(&mut self, item: Item<F>, chance: &mut impl Chance) {
        self.fates.offer(&item.frame, item.bytes);
        self.queue.enqueue(item, chance, &mut self.fates);
    }

    /// Drops an arriving frame for which the buffer has no room.
    pub fn refuse(&mut self, item: &Item<F>) {
        self.fates.offer(&item.frame, item.bytes);
        self.fates.drop_at_arrival(item);
    }

    /// As [`Discipline::dequeue`].
    pub fn dequeue(&mut self, now: Time, chance: &mut impl Chance) -> Option<Item<F>> {
        let item = self.queue.dequeue(now, chance, &mut self.fates)?;
        self.fates.send(now, &item);
        Some(item)
    }

    /// As [`Discipline::next`].
    #[must_use]
    pub fn next(&self) -> Time {
        self.queue.next()
    }

    /// The frames that wait.
    #[must_use]
    pub fn backlog(&self) -> Backlog {
        self.queue.backlog()
    }

    /// As [`Fates::pop_dropped`].
    pub fn pop_dropped(&mut self) -> Option<F> {
        self.fates.pop_dropped()
    }

    /// As [`Fates::classes`].
    #[must_use]
    pub fn classes(&self) -> &[ClassStatistics] {
        self.fates.classes()
    }

    /// The sums over all classes. A frame counts as forwarded when it leaves the queue.
    #[must_use]
    pub fn counters(&self) -> PortCounters {
        let mut sum = PortCounters::default();
        for class in self.fates.classes() {
            let mut dropped = class.dropped_at_arrival;
            dropped.add(&class.dropped_at_departure);
            sum.add(&PortCounters {
                frames_forwarded: class.sent.frames,
                bytes_forwarded: class.sent.bytes,
                frames_dropped: dropped.frames,
                bytes_dropped: dropped.bytes,
                frames_marked: class.marked,
            });
        }
        sum
    }
}
