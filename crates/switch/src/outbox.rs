//! Frames that are propagating on a link: their last bit has left the switch but has not arrived at
//! the far end of the link.

use std::collections::VecDeque;

use netstudy_fabric::Schedule;
use netstudy_units::Time;

use crate::frame::Frame;

/// For each port, the frames that are propagating, in the order in which they arrive.
pub(crate) struct Outbox {
    lines: Vec<VecDeque<(Time, Frame)>>,
    /// For each port, the arrival time of the first frame.
    due: Schedule,
}

impl Outbox {
    pub(crate) fn new(ports: usize, frames: usize) -> Self {
        let line = || VecDeque::with_capacity(frames);
        Self { lines: (0..ports).map(|_| line()).collect(), due: Schedule::new(ports) }
    }

    /// Adds a frame that will arrive at time `at`, behind all that arrive no later. On a link that
    /// keeps the order, this is the end.
    pub(crate) fn put(&mut self, port: usize, at: Time, frame: Frame) {
        let line = &mut self.lines[port];
        let place = if line.back().is_none_or(|&(last, _)| last <= at) {
            line.len()
        } else {
            line.partition_point(|&(other, _)| other <= at)
        };
        line.insert(place, (at, frame));
        if place == 0 {
            self.due.set(port, at);
        }
    }

    /// When the next frame is due; [`Time::NEVER`] if there is none.
    pub(crate) fn next_due(&self) -> Time {
        self.due.earliest().1
    }

    /// A port with frames that are due at `now`.
    pub(crate) fn due_port(&self, now: Time) -> Option<usize> {
        let (port, at) = self.due.earliest();
        (at <= now).then_some(port)
    }

    /// Frames of a port that are due at `now`, in order.
    pub(crate) fn due(&self, port: usize, now: Time) -> impl Iterator<Item = &(Time, Frame)> {
        self.lines[port].iter().take_while(move |&&(at, _)| at <= now)
    }

    /// Removes the first frame of a port.
    pub(crate) fn take(&mut self, port: usize) -> Option<(Time, Frame)> {
        let first = self.lines[port].pop_front();
        let next = self.lines[port].front().map_or(Time::NEVER, |&(at, _)| at);
        self.due.set(port, next);
        first
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use netstudy_units::Duration;

    fn us(us: u64) -> Time {
        Time::ZERO + Duration::from_us(us)
    }

    #[test]
    fn a_frame_that_overtakes_others_comes_before_them() {
        let mut outbox = Outbox::new(1, 4);
        let frame = |slot| Frame { slot, ..Frame::default() };
        for (at, slot) in [(5, 0), (9, 1), (7, 2), (3, 3)] {
            outbox.put(0, us(at), frame(slot));
        }
        assert_eq!(outbox.next_due(), us(3));
        let order: Vec<_> =
            std::iter::from_fn(|| outbox.take(0)).map(|(_, one)| one.slot).collect();
        assert_eq!(order, [3, 0, 2, 1]);
    }

    #[test]
    fn frames_come_when_they_are_due_in_the_order_of_their_port() {
        let mut outbox = Outbox::new(2, 4);
        let frame = |slot| Frame { slot, ..Frame::default() };
        for (port, at, slot) in [(1, 5, 0), (1, 9, 1), (0, 7, 2)] {
            outbox.put(port, us(at), frame(slot));
        }
        assert_eq!(outbox.next_due(), us(5));
        assert_eq!(outbox.due_port(us(4)), None);
        assert_eq!(outbox.due_port(us(8)), Some(1));
        assert_eq!(outbox.due(1, us(8)).count(), 1, "the second one is not due yet");
        assert_eq!(outbox.take(1), Some((us(5), frame(0))));
        assert_eq!(outbox.due_port(us(8)), Some(0));
        outbox.take(0);
        outbox.take(1);
        assert_eq!(outbox.next_due(), Time::NEVER);
    }
}
