//! An endpoint's segments, by way of its shortcuts.

use netstudy_tcp::{Endpoint, Outlet, Segment};
use netstudy_units::Time;

use super::path::Interface;

/// Segments that were sent through an interface at one time.
struct Sent {
    now: Time,
    interface: Interface,
    segments: Vec<Segment>,
}

impl Outlet for Sent {
    fn send(&mut self, segment: Segment) -> Option<Time> {
        self.segments.push(segment);
        Some(self.interface.send(self.now, &segment))
    }
}

/// All that a copy of `end` sends at `now` by the shortcuts that it allows, through that interface.
pub(crate) fn by_shortcuts(end: &Endpoint, now: Time, interface: Interface) -> Vec<Segment> {
    let mut end = end.clone();
    if end.has_only_acks() {
        return end.poll_ack(now).into_iter().collect();
    }
    let mut sent = Sent { now, interface, segments: Vec::new() };
    let is_done = if end.has_small_queue() {
        end.send_held_news(now, &mut sent)
    } else {
        end.send_news(now, &mut sent)
    };
    if !is_done {
        while let Some(segment) = end.poll_transmit(now) {
            if let Some(left_at) = sent.send(segment) {
                end.handed_over(now, segment.len, left_at);
            }
        }
    }
    sent.segments
}
