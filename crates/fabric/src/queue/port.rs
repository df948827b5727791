use netstudy_units::Time;

use super::{
    AnyQueue, Backlog, ClassStatistics, Discipline, Fates, Item, Line, QueueConfig, Queued,
};
use crate::stepped::Wire;
use crate::{Chance, Link, PortCounters};

/// The queue of a port, with its counters.
///
/// After [`Self::enqueue`] and [`Self::dequeue`], the driver collects the frames that the discipline
/// has dropped with [`Self::pop_dropped`].
#[derive(Clone, Debug)]
pub struct PortQueue<F> {
    queue: AnyQueue<F>,
    fates: Fates<F>,
    /// Time of the last arrival: no frame is taken out before it.
    last_arrival: Time,
}

impl<F: Queued> PortQueue<F> {
    /// An empty queue before `link`.
    #[must_use]
    pub fn new(config: &QueueConfig, link: &Link) -> Self {
        Self {
            queue: AnyQueue::new(config, &Line::new(link)),
            fates: Fates::new(),
            last_arrival: Time::ZERO,
        }
    }

    /// Gives the discipline a frame for which the buffer has room.
    pub fn enqueue(&mut self, item: Item<F>, chance: &mut impl Chance) {
        self.last_arrival = item.at;
        self.fates.offer(&item.frame, item.bytes);
        self.queue.enqueue(item, chance, &mut self.fates);
        self.ask_if_empty(item.at, chance);
    }

    /// Counts an arriving frame that is dropped because the buffer has no room for it.
    pub fn refuse(&mut self, item: &Item<F>) {
        self.fates.offer(&item.frame, item.bytes);
        self.fates.count_drop_at_arrival(item);
    }

    /// As [`Discipline::dequeue`].
    pub fn dequeue(&mut self, now: Time, chance: &mut impl Chance) -> Option<Item<F>> {
        let item = self.queue.dequeue(now, chance, &mut self.fates)?;
        self.fates.send(now, &item);
        self.ask_if_empty(now, chance);
        Some(item)
    }

    /// Asks for a frame if none is left, so that the disciplines learn that nothing waits: a device
    /// of Linux asks until it gets none (`__qdisc_run`), also after an arrival that was dropped.
    fn ask_if_empty(&mut self, now: Time, chance: &mut impl Chance) {
        if self.queue.backlog().frames == 0 {
            self.queue.dequeue(now, chance, &mut self.fates);
        }
    }

    /// Earliest time at which a port may take out a frame whose wire is free at `free_at`;
    /// [`Time::NEVER`] if no frame waits.
    #[must_use]
    #[inline]
    pub fn next(&self, free_at: Time) -> Time {
        // The maximum with `NEVER` is `NEVER`.
        self.queue.next().max(free_at).max(self.last_arrival)
    }

    /// When a wire takes the next frame: as soon as it is free.
    #[must_use]
    pub fn next_pull<W>(&self, wire: &Wire<W>) -> Time {
        if wire.waiting() > 0 { Time::NEVER } else { self.next(wire.drained_at()) }
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
