//! Switches: where frames wait, and which frames are dropped. Each buffer architecture has its own
//! file.

mod cells;
mod ingress_queued;
mod output_queued;
mod shared_memory;

pub use ingress_queued::{IngressBuffers, IngressQueued, IngressQueuedConfig};
pub use output_queued::{OutputQueued, OutputQueuedConfig, PortBuffers};
pub use shared_memory::{PacketMemory, SharedMemory, SharedMemoryConfig};

use alloc::string::String;

use netstudy_units::Time;

/// A frame as a switch sees it.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    /// Time of the admission decision: when the whole frame has arrived, or on a cut-through port
    /// its header.
    pub now: Time,
    /// Earliest time at which the frame may start to leave: `now` plus the latency of the switch.
    pub ready: Time,
    /// The port through which the frame arrives.
    pub ingress: u32,
    /// The port through which the frame leaves.
    pub egress: u32,
    /// Its size, check sequence included.
    pub frame_bytes: u32,
}

/// A switch's decision on a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The buffer has no room for the frame.
    Dropped,
    /// The last bit of the frame leaves the egress port at this time.
    Departs(Time),
    /// Like `Departs`, but the frame gets a congestion mark: the queue was longer than the marking
    /// threshold.
    Marked(Time),
    /// The frame waits until its egress port chooses it: see [`SwitchBuffer::grant`].
    Held,
}

impl Verdict {
    /// [`Self::Marked`] if `marked`, otherwise [`Self::Departs`].
    #[inline]
    const fn departs(at: Time, marked: bool) -> Self {
        if marked { Self::Marked(at) } else { Self::Departs(at) }
    }
}

/// A held frame that its egress port has chosen.
#[derive(Clone, Copy, Debug)]
pub struct Grant<F> {
    /// The frame given to [`SwitchBuffer::offer`].
    pub frame: F,
    /// The port through which the frame leaves.
    pub egress: u32,
    /// When its last bit leaves.
    pub departs: Time,
    /// Whether to mark it.
    pub marked: bool,
}

/// Source of random choices, which is implemented outside of this crate.
pub trait Chance {
    /// A uniform random number from 0 to `n - 1`.
    fn below(&mut self, n: u32) -> u32;
}

/// Counters of a port, like those on a switch's command line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PortCounters {
    /// Frames admitted for this port.
    pub frames_forwarded: u64,
    /// Bytes of the admitted frames.
    pub bytes_forwarded: u64,
    /// Frames for this port that were dropped.
    pub frames_dropped: u64,
    /// Bytes of the dropped frames.
    pub bytes_dropped: u64,
    /// Frames for this port that got a congestion mark.
    pub frames_marked: u64,
}

impl PortCounters {
    /// Adds `other` to each counter.
    pub const fn add(&mut self, other: &Self) {
        self.frames_forwarded += other.frames_forwarded;
        self.bytes_forwarded += other.bytes_forwarded;
        self.frames_dropped += other.frames_dropped;
        self.bytes_dropped += other.bytes_dropped;
        self.frames_marked += other.frames_marked;
    }
}

/// The parameters of a buffer architecture.
pub(crate) trait Parameters {
    /// The most bytes that can wait for one egress port.
    fn room_bytes(&self) -> u64;

    /// Checks the limits that a plan's schema cannot express. An error names the parameter, its
    /// value and its limit.
    fn check(&self) -> Result<(), String> {
        Ok(())
    }
}

/// A marking threshold that no queue exceeds.
const NEVER_MARKED: u64 = u64::MAX;

/// A buffer architecture. Calls must be made in the order of time. Before each call of
/// [`Self::offer`], call [`Self::grant`] until no earlier grant is due ([`Self::next_grant`]).
pub trait SwitchBuffer<F: Copy> {
    /// True if the verdict on a frame depends only on frames for the same egress port, and the
    /// frame does not change the verdict on frames for other ports. If, in addition, only one
    /// ingress port sends to that egress port, the frame may be offered early: as soon as its
    /// arrival time is known and all earlier frames of that ingress port have been offered.
    #[inline]
    fn is_private(&self, _arrival: &Arrival) -> bool {
        false
    }

    /// Decides on a frame that has arrived.
    fn offer(&mut self, arrival: &Arrival, frame: &F) -> Verdict;

    /// Time at which an egress port next chooses among its held frames; [`Time::NEVER`] if no frame
    /// is held.
    #[inline]
    fn next_grant(&self) -> Time {
        Time::NEVER
    }

    /// Makes the choice that is due at [`Self::next_grant`].
    #[inline]
    fn grant(&mut self, _chance: &mut impl Chance) -> Option<Grant<F>> {
        None
    }

    /// Number of held frames.
    fn held(&self) -> usize {
        0
    }

    /// Number of frames held for `egress`, and their bytes.
    fn held_for(&self, _egress: u32) -> (u64, u64) {
        (0, 0)
    }

    /// Maximum of [`Self::queue_bytes`] so far.
    fn queue_bytes_max(&self, egress: u32) -> u64;

    /// Bytes queued for `egress` at `now`, the frame on the wire included. An architecture that
    /// holds frames until their egress port chooses them counts only the held frames. `now` must
    /// not be earlier than in the last call.
    fn queue_bytes(&self, egress: u32, now: Time) -> u64;
}
