//! What an endpoint has to send, asked for by its shortcuts.

use std::iter;

use netstudy_tcp::{Endpoint, Segment};
use netstudy_units::Time;

/// All that a copy of `end` sends at `now` by the shortcuts that it allows; none if it allows none.
pub(crate) fn by_shortcuts(end: &Endpoint, now: Time) -> Option<Vec<Segment>> {
    let mut end = end.clone();
    if end.has_only_acks() {
        return Some(end.poll_ack(now).into_iter().collect());
    }
    if !end.has_news_first() {
        return None;
    }
    let mut sent: Vec<_> = iter::from_fn(|| end.poll_new_data(now)).collect();
    if !end.is_done_after_news() {
        sent.extend(iter::from_fn(|| end.poll_transmit(now)));
    }
    Some(sent)
}
