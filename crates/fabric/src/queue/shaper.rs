use alloc::boxed::Box;

use netstudy_units::Time;

use super::bucket::Bucket;
use super::{AnyQueue, Backlog, BucketConfig, Discipline, Fates, Item, Line, Queued};
use crate::Chance;

/// A token bucket that holds frames back until there are tokens for them.
///
/// The frame that waits for tokens has been taken out of the discipline below, as in `sch_tbf.c` of
/// Linux (`qdisc_peek_dequeued`).
///
/// With [`BucketConfig::offload_as_one`], a frame that continues a packet passes at no cost. The
/// discipline below still drops and orders single frames, while Linux drops a packet as a whole: if
/// the first frame was dropped, the others pass uncharged.
#[derive(Clone, Debug)]
pub struct Shaper<F> {
    bucket: Bucket,
    offload_as_one: bool,
    over: Box<AnyQueue<F>>,
    /// The frame that leaves next.
    first: Option<Item<F>>,
}

impl<F: Queued> Shaper<F> {
    /// An empty queue before `line`.
    #[must_use]
    pub fn new(config: &BucketConfig, line: &Line) -> Self {
        let line = line.limited(config.rate_bps, config.overhead_bytes);
        let over = Box::new(AnyQueue::over(config.over.as_deref(), &line));
        let offload_as_one = config.offload_as_one;
        Self { bucket: Bucket::new(config), offload_as_one, over, first: None }
    }

    /// True if the shaper takes no tokens for the frame.
    fn is_free(&self, item: &Item<F>) -> bool {
        self.offload_as_one && item.frame.continues_packet()
    }
}

impl<F: Queued> Discipline<F> for Shaper<F> {
    fn enqueue<C: Chance>(&mut self, item: Item<F>, chance: &mut C, fates: &mut Fates<F>) {
        // `tbf_enqueue`: a frame larger than the bucket would block the queue for ever.
        if self.bucket.ever_passes(item.bytes) {
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
        if self.first.is_none() {
            self.first = self.over.dequeue(now, chance, fates);
        }
        let first = self.first?;
        if !self.is_free(&first) && !self.bucket.take(now, first.bytes) {
            return None;
        }
        self.first = None;
        Some(first)
    }

    fn next(&self) -> Time {
        match &self.first {
            Some(first) if self.is_free(first) => Time::ZERO,
            Some(first) => self.bucket.ready_at(first.bytes),
            None => self.over.next(),
        }
    }

    fn backlog(&self) -> Backlog {
        let first = self
            .first
            .map_or(Backlog::default(), |first| Backlog { bytes: first.bytes.into(), frames: 1 });
        self.over.backlog().and(first)
    }
}
