//! Optional limits of an interface: a packet rate and a finite ring. Both are FIFOs, so they have a
//! closed form.

use netstudy_ring::Ring;
use netstudy_units::{Duration, Time};

use crate::wiring::ReceiveKind;

/// The limits of an interface. They are a type parameter, so that interfaces without limits execute
/// no code for them.
pub(crate) trait Limits {
    /// Whether packets may have to pass [`crate::host::stations`] of hosts.
    const HAS_STATIONS: bool = false;

    /// The limits of an interface that receives frames as `kind` describes.
    fn new(kind: &ReceiveKind) -> Self;

    /// When a frame starts to leave: it is ready at `ready`, and the wire is free at `free_at`.
    fn starts(&mut self, ready: Time, free_at: Time) -> Time;

    /// When a frame that arrives at `arrives` is ready for the CPU; none if the frame finds the
    /// ring full.
    fn take_in(&mut self, arrives: Time) -> Option<Time>;

    /// Records that the CPU has handled the frame at `at`.
    fn ends(&mut self, at: Time);

    /// When the interface has taken in the last frame; zero if it takes no time.
    fn taken_in_at(&self) -> Time {
        Time::ZERO
    }
}

/// No limits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Unlimited;

impl Limits for Unlimited {
    fn new(_kind: &ReceiveKind) -> Self {
        Self
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn starts(&mut self, ready: Time, _free_at: Time) -> Time {
        ready
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn take_in(&mut self, arrives: Time) -> Option<Time> {
        Some(arrives)
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn ends(&mut self, _at: Time) {}
}

/// While fewer descriptors than this are in use, handled frames are not removed from the ring.
const LOOK_AT_MIN: usize = 16;

/// The limits of a [`ReceiveKind`].
#[derive(Clone, Debug)]
pub(crate) struct Limited {
    ring_frames: usize,
    refill_frames: usize,
    frame_interval: Duration,
    next_start: Time,
    /// When the interface has taken in the last frame.
    taken_in_at: Time,
    /// For each frame in the ring, when the CPU will have handled it. Handled frames are removed
    /// only when `look_at` descriptors are in use.
    ring: Ring<Time>,
    /// Number of handled frames whose descriptors are not returned to the ring yet.
    spent: usize,
    /// When this many descriptors are in use, handled frames are removed.
    look_at: usize,
}

impl Limits for Limited {
    fn new(kind: &ReceiveKind) -> Self {
        Self {
            ring_frames: kind.ring_frames,
            refill_frames: kind.refill_frames,
            frame_interval: kind.frame_interval,
            next_start: Time::ZERO,
            taken_in_at: Time::ZERO,
            ring: Ring::new(),
            spent: 0,
            look_at: kind.ring_frames.min(LOOK_AT_MIN),
        }
    }

    fn starts(&mut self, ready: Time, free_at: Time) -> Time {
        let start = ready.max(free_at).max(self.next_start);
        self.next_start = start + self.frame_interval;
        start
    }

    fn take_in(&mut self, arrives: Time) -> Option<Time> {
        if self.in_use() >= self.look_at && self.is_ring_full(arrives) {
            return None;
        }
        self.taken_in_at = arrives.max(self.taken_in_at) + self.frame_interval;
        Some(self.taken_in_at)
    }

    fn ends(&mut self, at: Time) {
        self.ring.push_back(at);
    }

    fn taken_in_at(&self) -> Time {
        self.taken_in_at
    }
}

impl Limited {
    /// Number of descriptors in use: those of frames in the ring, and those not returned yet. An
    /// upper bound, because the ring may still contain frames that were already handled.
    const fn in_use(&self) -> usize {
        self.ring.len() + self.spent
    }

    /// Removes the frames that the CPU has handled by the time `arrives`. Returns whether all
    /// descriptors are in use at this time. A descriptor that becomes free at that instant can hold
    /// the arriving frame.
    #[cold]
    #[inline(never)]
    fn is_ring_full(&mut self, arrives: Time) -> bool {
        let handled = self.ring.partition_point(|&ends| ends <= arrives);
        self.ring.drop_first(handled);
        // Descriptors are returned in batches.
        self.spent = (self.spent + handled) % self.refill_frames.max(1);
        // Frames are removed again only at twice this number, so that on average each frame is
        // compared about once.
        self.look_at = (2 * self.in_use()).max(LOOK_AT_MIN).min(self.ring_frames);
        self.in_use() >= self.ring_frames
    }
}

/// The limits of a [`ReceiveKind`], at hosts that may have stations.
#[derive(Clone, Debug)]
pub(crate) struct Stationed(Limited);

impl Limits for Stationed {
    const HAS_STATIONS: bool = true;

    fn new(kind: &ReceiveKind) -> Self {
        Self(Limited::new(kind))
    }

    fn starts(&mut self, ready: Time, free_at: Time) -> Time {
        self.0.starts(ready, free_at)
    }

    fn take_in(&mut self, arrives: Time) -> Option<Time> {
        self.0.take_in(arrives)
    }

    fn ends(&mut self, at: Time) {
        self.0.ends(at);
    }

    fn taken_in_at(&self) -> Time {
        self.0.taken_in_at()
    }
}
