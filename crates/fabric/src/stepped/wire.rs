use alloc::collections::VecDeque;

use netstudy_units::{Duration, Time};

use crate::{Link, PAUSE_FRAME_BYTES, pause_time};

/// The FIFO of a port and the wire behind it, one frame at a time. It replaces
/// [`crate::Transmitter`] on links with PAUSE, where the departure time of a frame is not known
/// when the frame is queued.
///
/// [`Self::push`] queues frames, and [`Self::handle_pause`] reports pauses. At the time
/// [`Self::next_start`], [`Self::start`] returns the frame that starts to leave.
#[derive(Clone, Debug)]
pub struct Wire<F> {
    link: Link,
    interval: Duration,
    waiting: VecDeque<Waiting<F>>,
    /// A waiting PAUSE frame: the time at which it was queued, and its quanta.
    pause: Option<(Time, u16)>,
    free_at: Time,
    next_frame_from: Time,
    paused_until: Time,
}

#[derive(Clone, Copy, Debug)]
struct Waiting<F> {
    frame: F,
    ready: Time,
    frame_bytes: u32,
}

/// A frame sent by a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sent<F> {
    /// A frame that was pushed.
    Frame(F),
    /// A PAUSE frame with this number of quanta.
    Pause(u16),
}

/// A frame that starts to leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Start<F> {
    /// The frame.
    pub sent: Sent<F>,
    /// End of the frame's transmission, the interframe gap included.
    pub departs: Time,
}

impl<F> Wire<F> {
    /// Creates the wire for `link`.
    #[must_use]
    pub const fn new(link: Link) -> Self {
        Self {
            link,
            interval: Duration::ZERO,
            waiting: VecDeque::new(),
            pause: None,
            free_at: Time::ZERO,
            next_frame_from: Time::ZERO,
            paused_until: Time::ZERO,
        }
    }

    /// Sets the minimum time between the starts of two frames: a limit on frames per second.
    #[must_use]
    pub const fn with_interval(mut self, interval: Duration) -> Self {
        self.interval = interval;
        self
    }

    /// The link of the wire.
    #[must_use]
    pub const fn link(&self) -> &Link {
        &self.link
    }

    /// Number of waiting frames, without the one on the wire.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Queues a frame behind all earlier frames. It may start to leave at `ready` at the earliest.
    pub fn push(&mut self, ready: Time, frame_bytes: u32, frame: F) {
        self.waiting.push_back(Waiting { frame, ready, frame_bytes });
    }

    /// Queues a PAUSE frame of `quanta` ahead of all data frames. It replaces a PAUSE frame that
    /// still waits.
    pub fn push_pause(&mut self, now: Time, quanta: u16) {
        self.pause = Some((now, quanta));
    }

    /// Pauses for `quanta` from `now` on, because the peer asks for it. The frame on the wire is
    /// still sent to its end (annex 31B).
    pub fn handle_pause(&mut self, now: Time, quanta: u16) {
        self.paused_until = now + pause_time(self.link.rate(), quanta);
    }

    /// When the next frame starts to leave; [`Time::NEVER`] if none waits.
    #[must_use]
    pub fn next_start(&self) -> Time {
        self.pause_start().min(self.frame_start())
    }

    fn pause_start(&self) -> Time {
        self.pause.map_or(Time::NEVER, |(ready, _)| ready.max(self.free_at))
    }

    fn frame_start(&self) -> Time {
        self.waiting.front().map_or(Time::NEVER, |first| self.earliest(self.free_at, first.ready))
    }

    fn earliest(&self, free_at: Time, ready: Time) -> Time {
        free_at.max(ready).max(self.paused_until).max(self.next_frame_from)
    }

    /// Starts the frame that is due at [`Self::next_start`]; PAUSE frames come first.
    pub fn start(&mut self) -> Option<Start<F>> {
        let now = self.next_start();
        if self.pause_start() == now
            && let Some((_, quanta)) = self.pause.take()
        {
            self.free_at = now + self.link.serialization(PAUSE_FRAME_BYTES);
            return Some(Start { sent: Sent::Pause(quanta), departs: self.free_at });
        }
        let first = self.waiting.pop_front()?;
        self.free_at = now + self.link.serialization(first.frame_bytes);
        self.next_frame_from = now + self.interval;
        Some(Start { sent: Sent::Frame(first.frame), departs: self.free_at })
    }

    /// When all waiting frames will have left, if no pause begins or ends and no frame is added.
    #[must_use]
    pub fn drained_at(&self) -> Time {
        self.waiting.iter().fold(self.free_at, |free, frame| {
            self.earliest(free, frame.ready) + self.link.serialization(frame.frame_bytes)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use netstudy_units::Rate;

    /// 1000 bytes with their gap take 816 ns at 10 Gbit/s.
    const FRAME_BYTES: u32 = 1000;

    fn ns(ns: u64) -> Time {
        Time::ZERO + Duration::from_ns(ns)
    }

    fn wire(frames: u32) -> Wire<u32> {
        let mut wire = Wire::new(Link::new(Rate::from_gbps(10), Duration::ZERO));
        for number in 0..frames {
            wire.push(ns(100), FRAME_BYTES, number);
        }
        wire
    }

    #[test]
    fn frames_leave_one_after_the_other() {
        let mut wire = wire(2);
        assert_eq!(wire.drained_at(), ns(100 + 2 * 816));
        assert_eq!(wire.next_start(), ns(100));
        assert_eq!(wire.start(), Some(Start { sent: Sent::Frame(0), departs: ns(916) }));
        assert_eq!(wire.start(), Some(Start { sent: Sent::Frame(1), departs: ns(1732) }));
        assert_eq!(wire.next_start(), Time::NEVER);
    }

    #[test]
    fn a_pause_lets_the_frame_on_the_wire_end_and_holds_the_next() {
        let mut wire = wire(2);
        wire.start();
        wire.handle_pause(ns(200), 100);
        assert_eq!(wire.next_start(), ns(200 + 5120));
        wire.handle_pause(ns(300), 0);
        assert_eq!(wire.next_start(), ns(916), "the frame before it is on the wire until then");
    }

    #[test]
    fn a_pause_frame_passes_those_that_wait_even_when_they_are_paused() {
        let mut wire = wire(2);
        wire.start();
        wire.handle_pause(ns(200), 1000);
        wire.push_pause(ns(300), 7);
        // 64 bytes and their gap: 67.2 ns.
        let departs = ns(916) + Duration::from_ps(67_200);
        assert_eq!(wire.start(), Some(Start { sent: Sent::Pause(7), departs }));
        assert_eq!(wire.next_start(), ns(200 + 51_200));
    }

    #[test]
    fn a_limit_of_frames_a_second_spaces_their_beginnings() {
        let mut wire = wire(2).with_interval(Duration::from_us(2));
        wire.start();
        assert_eq!(wire.next_start(), ns(100 + 2000));
    }
}
