use alloc::boxed::Box;

use netstudy_units::Time;

use super::bucket::Bucket;
use super::{AnyQueue, Backlog, BucketConfig, Discipline, Fates, Item, Line, Queued};
use crate::Chance;

/// A token bucket that drops a frame if there are not enough tokens when it arrives.
#[derive(Clone, Debug)]
pub struct Policer<F> {
    bucket: Bucket,
    over: Box<AnyQueue<F>>,
}

impl<F: Queued> Policer<F> {
    /// An empty queue before `line`.
    #[must_use]
    pub fn new(config: &BucketConfig, line: &Line) -> Self {
        let over = Box::new(AnyQueue::over(config.over.as_deref(), line));
        Self { bucket: Bucket::new(config), over }
    }
}

impl<F: Queued> Discipline<F> for Policer<F> {
    fn enqueue<C: Chance>(&mut self, item: Item<F>, chance: &mut C, fates: &mut Fates<F>) {
        if self.bucket.take(item.at, item.bytes) {
            self.over.enqueue(item, chance, fates);
        } else {
            fates.drop_at_arrival(&item);
        }
    }

    fn dequeue<C: Chance>(
        &mut self,
        now: Time,
        chance: &mut C,
        fates: &mut Fates<F>,
    ) -> Option<Item<F>> {
        self.over.dequeue(now, chance, fates)
    }

    fn next(&self) -> Time {
        self.over.next()
    }

    fn backlog(&self) -> Backlog {
        self.over.backlog()
    }
}
