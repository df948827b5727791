//! What an endpoint has to send, asked for by its shortcuts.

use std::iter;

use netstudy_tcp::{Endpoint, Segment};
use netstudy_units::Time;

/// All that a copy of `end` sends at `now` by the shortcuts that it allows.
pub(crate) fn by_shortcuts(end: &Endpoint, now: Time) -> Vec<Segment> {
    let mut end = end.clone();
    if end.has_only_acks() {
        return end.poll_ack(now).into_iter().collect();
    }
    let mut sent = Vec::new();
    if !end.send_news(now, &mut sent) {
        sent.extend(iter::from_fn(|| end.poll_transmit(now)));
    }
    sent
}
