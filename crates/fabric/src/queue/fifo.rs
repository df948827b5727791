use serde::{Deserialize, Serialize};

use netstudy_units::Time;

use super::frames::Frames;
use super::{Backlog, Discipline, Fates, Item, Queued};
use crate::Chance;

/// Parameters of [`Fifo`], as in `tc-bfifo(8)`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FifoConfig {
    /// Most bytes that may wait, without the frame on the wire; none: only the buffer limits them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit_bytes: Option<u64>,
    /// Most frames that may wait; none: only the buffer limits them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit_packets: Option<u32>,
}

/// First in, first out: a frame that exceeds the limit is dropped (`bfifo` and `pfifo`).
#[derive(Clone, Debug)]
pub struct Fifo<F> {
    frames: Frames<F>,
    limit_bytes: u64,
    limit_frames: u64,
}

impl<F: Queued> Fifo<F> {
    /// An empty queue.
    #[must_use]
    pub fn new(config: &FifoConfig) -> Self {
        Self {
            frames: Frames::new(),
            limit_bytes: config.limit_bytes.unwrap_or(u64::MAX),
            limit_frames: config.limit_packets.map_or(u64::MAX, u64::from),
        }
    }
}

impl<F: Queued> Discipline<F> for Fifo<F> {
    fn enqueue<C: Chance>(&mut self, item: Item<F>, _chance: &mut C, fates: &mut Fates<F>) {
        let Backlog { bytes, frames } = self.frames.backlog();
        if bytes + u64::from(item.bytes) > self.limit_bytes || frames >= self.limit_frames {
            fates.drop_at_arrival(&item);
        } else {
            self.frames.push(item);
        }
    }

    fn dequeue<C: Chance>(
        &mut self,
        _now: Time,
        _chance: &mut C,
        _fates: &mut Fates<F>,
    ) -> Option<Item<F>> {
        self.frames.pop()
    }

    fn backlog(&self) -> Backlog {
        self.frames.backlog()
    }
}
