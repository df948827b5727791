use alloc::collections::VecDeque;
use alloc::vec::Vec;

use netstudy_units::Time;

use super::{Item, Queued, Sojourns};

/// Frames and their bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counted {
    /// Number of frames.
    pub frames: u64,
    /// Their bytes.
    pub bytes: u64,
}

impl Counted {
    const fn count(&mut self, bytes: u32) {
        self.frames += 1;
        self.bytes += bytes as u64;
    }

    /// Adds `other`.
    pub const fn add(&mut self, other: &Self) {
        self.frames += other.frames;
        self.bytes += other.bytes;
    }

    /// How much more was counted since `earlier`.
    #[must_use]
    pub const fn since(&self, earlier: &Self) -> Self {
        Self { frames: self.frames - earlier.frames, bytes: self.bytes - earlier.bytes }
    }
}

/// Counters of the frames of one class at a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClassStatistics {
    /// The code point of these frames (RFC 2474, 3).
    pub dscp: u8,
    /// Frames that arrived for the port.
    pub offered: Counted,
    /// Frames that left the queue for the wire.
    pub sent: Counted,
    /// Frames that were dropped when a frame arrived: this frame itself or, by FQ-CoDel, others.
    pub dropped_at_arrival: Counted,
    /// Frames that were dropped when a frame was taken out.
    pub dropped_at_departure: Counted,
    /// Frames that got a congestion mark.
    pub marked: u64,
    /// For the sent frames: the time from arrival until the frame left the queue.
    pub sojourns: Sojourns,
}

impl ClassStatistics {
    /// Nothing was counted yet for frames of this code point.
    #[must_use]
    pub const fn new(dscp: u8) -> Self {
        const NONE: Counted = Counted { frames: 0, bytes: 0 };
        Self {
            dscp,
            offered: NONE,
            sent: NONE,
            dropped_at_arrival: NONE,
            dropped_at_departure: NONE,
            marked: 0,
            sojourns: Sojourns::new(),
        }
    }

    /// How much more was counted since `earlier`.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            dscp: self.dscp,
            offered: self.offered.since(&earlier.offered),
            sent: self.sent.since(&earlier.sent),
            dropped_at_arrival: self.dropped_at_arrival.since(&earlier.dropped_at_arrival),
            dropped_at_departure: self.dropped_at_departure.since(&earlier.dropped_at_departure),
            marked: self.marked - earlier.marked,
            sojourns: self.sojourns.since(&earlier.sojourns),
        }
    }
}

/// The drops and marks that a discipline reports. The driver collects the dropped frames
/// with [`Self::pop_dropped`].
#[derive(Clone, Debug, Default)]
pub struct Fates<F> {
    classes: Vec<ClassStatistics>,
    dropped: VecDeque<F>,
}

impl<F: Queued> Fates<F> {
    /// Nothing was reported yet.
    #[must_use]
    pub const fn new() -> Self {
        Self { classes: Vec::new(), dropped: VecDeque::new() }
    }

    /// The counters so far, by class. A class is listed from its first frame on.
    #[must_use]
    pub fn classes(&self) -> &[ClassStatistics] {
        &self.classes
    }

    /// The first dropped frame that was not collected yet.
    pub fn pop_dropped(&mut self) -> Option<F> {
        self.dropped.pop_front()
    }

    /// Counts a frame that has arrived.
    pub(super) fn offer(&mut self, frame: &F, bytes: u32) {
        self.class(frame.dscp()).offered.count(bytes);
    }

    /// Counts a frame that leaves for the wire at `now`.
    pub(super) fn send(&mut self, now: Time, item: &Item<F>) {
        let class = self.class(item.frame.dscp());
        class.sent.count(item.bytes);
        class.sojourns.record(now.since(item.at).as_ns());
    }

    /// Drops a frame because of an arrival.
    pub fn drop_at_arrival(&mut self, item: &Item<F>) {
        self.count_drop_at_arrival(item);
        self.dropped.push_back(item.frame);
    }

    /// As [`Self::drop_at_arrival`], for a frame that the driver drops itself.
    pub(super) fn count_drop_at_arrival(&mut self, item: &Item<F>) {
        self.class(item.frame.dscp()).dropped_at_arrival.count(item.bytes);
    }

    /// Drops a frame that was taken out of the queue.
    pub fn drop_at_departure(&mut self, item: &Item<F>) {
        self.class(item.frame.dscp()).dropped_at_departure.count(item.bytes);
        self.dropped.push_back(item.frame);
    }

    /// Marks a frame if it is ECN-capable (RFC 3168, 5). Returns whether it is.
    pub fn mark(&mut self, item: &mut Item<F>) -> bool {
        let marked = item.frame.mark();
        if marked {
            self.class(item.frame.dscp()).marked += 1;
        }
        marked
    }

    fn class(&mut self, dscp: u8) -> &mut ClassStatistics {
        let found = self.classes.iter().position(|class| class.dscp == dscp);
        let place = found.unwrap_or_else(|| {
            self.classes.push(ClassStatistics::new(dscp));
            self.classes.len() - 1
        });
        &mut self.classes[place]
    }
}
