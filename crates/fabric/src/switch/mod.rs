//! Switches: where frames wait, and which are dropped. One buffer architecture, one file.

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
    /// When it can be judged: whole, or with its header if the switch cuts through.
    pub now: Time,
    /// When it may start to leave: `now` and the latency of the switch.
    pub ready: Time,
    /// The port by which it comes.
    pub ingress: u32,
    /// The port by which it leaves.
    pub egress: u32,
    /// Its size, check sequence included.
    pub frame_bytes: u32,
}

/// A switch's decision on a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The buffer has no room for it.
    Dropped,
    /// Its last bit leaves the egress port at this time.
    Departs(Time),
    /// Likewise, with a congestion mark: the queue that it met was longer than the threshold.
    Marked(Time),
    /// It waits until its egress chooses it: see [`SwitchBuffer::grant`].
    Held,
}

impl Verdict {
    /// The verdict on a frame whose last bit leaves at `at`, with a mark if `marked`.
    #[inline]
    const fn departs(at: Time, marked: bool) -> Self {
        if marked { Self::Marked(at) } else { Self::Departs(at) }
    }
}

/// A held frame that its egress chose.
#[derive(Clone, Copy, Debug)]
pub struct Grant<F> {
    /// The frame given to [`SwitchBuffer::offer`].
    pub frame: F,
    /// The port by which it leaves.
    pub egress: u32,
    /// When its last bit leaves.
    pub departs: Time,
    /// Whether it is to be marked.
    pub marked: bool,
}

/// Random choices, made outside of this crate.
pub trait Chance {
    /// A number from 0 to `n - 1`, each as likely.
    fn below(&mut self, n: u32) -> u32;
}

/// Counters of a port, as a switch's command line shows them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PortCounters {
    /// Frames that were let through towards this port.
    pub frames_forwarded: u64,
    /// Their bytes.
    pub bytes_forwarded: u64,
    /// Frames towards this port that were dropped.
    pub frames_dropped: u64,
    /// Their bytes.
    pub bytes_dropped: u64,
    /// Frames towards this port that were marked as having met congestion.
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

    /// Checks the limits that a plan's schema cannot express: the parameter with its value and its limit.
    fn check(&self) -> Result<(), String> {
        Ok(())
    }
}

/// A threshold that no queue exceeds: no frame is marked.
const NEVER_MARKED: u64 = u64::MAX;

/// A buffer architecture. Calls come in the order of time; grants due by [`Self::next_grant`] are made
/// before a later frame is offered.
pub trait SwitchBuffer<F: Copy> {
    /// True if the verdict on a frame depends only on frames for the same egress port, and the frame
    /// changes the verdict on none for other ports. If only one ingress port sends to that egress port, the
    /// frame may be offered as soon as its arrival time is known, once all earlier frames of that ingress
    /// port were offered.
    #[inline]
    fn is_private(&self, _arrival: &Arrival) -> bool {
        false
    }

    /// Judges a frame.
    fn offer(&mut self, arrival: &Arrival, frame: &F) -> Verdict;

    /// When an egress next chooses among held frames; [`Time::NEVER`] if none is held.
    #[inline]
    fn next_grant(&self) -> Time {
        Time::NEVER
    }

    /// Makes the choice that is due at [`Self::next_grant`].
    #[inline]
    fn grant(&mut self, _chance: &mut impl Chance) -> Option<Grant<F>> {
        None
    }

    /// Frames that are held.
    fn held(&self) -> usize {
        0
    }

    /// Frames that are held for `egress`, and their bytes.
    fn held_for(&self, _egress: u32) -> (u64, u64) {
        (0, 0)
    }

    /// The most bytes that ever waited for, or were on, the wire of `egress`; without its own stage, if
    /// frames are held.
    fn queue_bytes_max(&self, egress: u32) -> u64;

    /// The bytes that wait for, or are on, the wire of `egress` at `now`, which is not before the last
    /// call; without its own stage, if frames are held.
    fn queue_bytes(&self, egress: u32, now: Time) -> u64;
}
