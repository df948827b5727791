use netstudy_ring::Ring;
use netstudy_units::Time;

use crate::Link;

/// A frame that is on the wire of a port or waits for it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Departing {
    /// When its last bit leaves.
    pub at: Time,
    /// Occupied buffer space, in the unit of the buffer.
    pub occupied: u32,
    /// The port through which the frame arrived.
    pub ingress: u32,
}

/// The FIFO of a port and the wire behind it.
#[derive(Clone, Debug)]
pub struct Transmitter {
    link: Link,
    free_at: Time,
    queue: Ring<Departing>,
    occupied: u64,
    occupied_max: u64,
}

impl Transmitter {
    /// A transmitter that sends onto `link`.
    #[must_use]
    pub const fn new(link: Link) -> Self {
        Self { link, free_at: Time::ZERO, queue: Ring::new(), occupied: 0, occupied_max: 0 }
    }

    /// The link that it sends onto.
    #[must_use]
    #[inline]
    pub const fn link(&self) -> &Link {
        &self.link
    }

    /// Time at which the wire becomes free.
    #[must_use]
    #[inline]
    pub const fn free_at(&self) -> Time {
        self.free_at
    }

    /// Buffer space occupied by the frames of this port, including frames that have left since the
    /// last [`Self::release`].
    #[must_use]
    #[inline]
    pub const fn occupied(&self) -> u64 {
        self.occupied
    }

    /// Maximum of [`Self::occupied`] so far.
    #[must_use]
    pub const fn occupied_max(&self) -> u64 {
        self.occupied_max
    }

    /// Bytes of the buffer that frames occupy at `now`. Frames that have left by `now` do not
    /// count, even if [`Self::release`] has not been called.
    #[must_use]
    pub fn occupied_at(&self, now: Time) -> u64 {
        let first = self.queue.partition_point(|frame| frame.at <= now);
        self.queue.iter().skip(first).map(|frame| u64::from(frame.occupied)).sum()
    }

    /// Number of frames that wait or are on the wire, including frames that have left since the
    /// last [`Self::release`].
    #[must_use]
    #[inline]
    pub fn frames(&self) -> usize {
        self.queue.len()
    }

    /// Forgets all frames if the last of them left by `now`: the usual case on a link that is not
    /// busy.
    #[inline]
    pub fn release_if_idle(&mut self, now: Time) {
        if self.free_at <= now {
            self.queue.clear();
            self.occupied = 0;
        }
    }

    /// Forgets the frames that have left by `now`, and calls `left` with each of them.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn release(&mut self, now: Time, mut left: impl FnMut(&Departing)) {
        while let Some(front) = self.queue.front()
            && front.at <= now
        {
            self.occupied -= u64::from(front.occupied);
            left(front);
            self.queue.drop_front();
        }
    }

    /// Sends a frame after all earlier frames. It may start at `ready` at the earliest. Returns the
    /// time at which the frame's last bit leaves.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn send(&mut self, ready: Time, frame_bytes: u32, occupied: u32, ingress: u32) -> Time {
        let at = self.send_below_max(ready, frame_bytes, occupied, ingress);
        self.occupied_max = self.occupied_max.max(self.occupied);
        at
    }

    /// Like [`Self::send`], for a frame that does not raise the maximum occupancy.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn send_below_max(
        &mut self,
        ready: Time,
        frame_bytes: u32,
        occupied: u32,
        ingress: u32,
    ) -> Time {
        let at = self.transmit(ready, frame_bytes);
        self.queue.push_back(Departing { at, occupied, ingress });
        self.occupied += u64::from(occupied);
        at
    }

    /// Like [`Self::send`], for a frame that occupies no buffer space.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn transmit(&mut self, ready: Time, frame_bytes: u32) -> Time {
        self.free_at = ready.max(self.free_at) + self.link.serialization(frame_bytes);
        self.free_at
    }
}
