//! Queue disciplines of a port: in which order frames leave, and which of them are dropped or get a
//! congestion mark. Each discipline has its own file.
//!
//! A [`Discipline`] stands between the buffer of a port, which says whether there is room for a
//! frame, and the wire. The driver puts in each admitted frame with [`Discipline::enqueue`]. When
//! the wire is free, and not before [`Discipline::next`], it takes out a frame with
//! [`Discipline::dequeue`]. A discipline may drop frames in both calls, also others than the frame
//! that the call is about; it reports these, and marks, to [`Fates`].
//!
//! [`PortQueue`] adds the counters, and [`GrantedPort`] the wire, for drivers that need no event for
//! the beginning of a transmission.

mod any;
mod bucket;
mod classes;
mod codel;
mod drr;
mod fates;
mod fifo;
mod fq_codel;
mod frames;
mod granted;
mod happens;
mod line;
mod pie;
mod policer;
mod port;
mod positive;
mod priority;
mod red;
mod shaper;
mod sojourns;
mod varying;

pub use any::{AnyQueue, QueueConfig, check_at_switch};
pub use bucket::BucketConfig;
pub use classes::{Band, DrrClass};
pub use codel::{CoDel, CoDelConfig};
pub use drr::{Drr, DrrConfig};
pub use fates::{ClassStatistics, Counted, Fates};
pub use fifo::{Fifo, FifoConfig};
pub use fq_codel::{FqCoDel, FqCoDelConfig};
pub use granted::{Granted, GrantedPort, Offered};
pub use line::Line;
pub use pie::{Pie, PieConfig};
pub use policer::Policer;
pub use port::PortQueue;
pub use priority::{Priority, PriorityConfig};
pub use red::{Red, RedConfig};
pub use shaper::Shaper;
pub use sojourns::Sojourns;
pub use varying::{RateStep, Varying, VaryingConfig};

use netstudy_units::Time;

use crate::Chance;
use crate::stepped::Mark;

/// A frame as a queue discipline sees it.
pub trait Queued: Mark + Copy + Default {
    /// A number or a hash of the frame's flow: equal for all frames of a flow. Disciplines mix its
    /// bits.
    fn flow(&self) -> u32;

    /// The frame's differentiated services code point (RFC 2474, 3), 0 to 63.
    fn dscp(&self) -> u8;

    /// True if the frame continues a packet of segmentation offload, whose first frame was put in
    /// before it. Always false on a wire: only the host that sends the packet knows it.
    fn continues_packet(&self) -> bool {
        false
    }
}

/// A frame in a queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Item<F> {
    /// The frame.
    pub frame: F,
    /// Its size.
    pub bytes: u32,
    /// When it was put into the queue.
    pub at: Time,
    /// Earliest time at which it may start to leave.
    pub ready: Time,
}

/// The frames that wait in a queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Backlog {
    /// Bytes of the frames.
    pub bytes: u64,
    /// Number of frames.
    pub frames: u64,
}

impl Backlog {
    /// The sum of two backlogs.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self { bytes: self.bytes + other.bytes, frames: self.frames + other.frames }
    }
}

/// A queue discipline. Calls must be made in the order of time.
pub trait Discipline<F: Queued> {
    /// Takes in a frame at the time `item.at`, or drops it.
    fn enqueue<C: Chance>(&mut self, item: Item<F>, chance: &mut C, fates: &mut Fates<F>);

    /// Takes out the frame that leaves next. None: no frame is left, or a shaper still holds all of
    /// them back; then [`Self::next`] says until when.
    fn dequeue<C: Chance>(
        &mut self,
        now: Time,
        chance: &mut C,
        fates: &mut Fates<F>,
    ) -> Option<Item<F>>;

    /// Earliest time at which [`Self::dequeue`] may return a frame: [`Time::ZERO`] if it may at any
    /// time, [`Time::NEVER`] if no frame waits.
    fn next(&self) -> Time {
        if self.backlog().frames > 0 { Time::ZERO } else { Time::NEVER }
    }

    /// The frames that wait.
    fn backlog(&self) -> Backlog;
}

#[cfg(test)]
mod tests;
