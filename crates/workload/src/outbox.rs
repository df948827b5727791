//! Actions that an application has queued and its driver has not fetched yet.

use alloc::collections::VecDeque;

use netstudy_units::Time;

use crate::Action;

/// Queued actions in order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Outbox {
    actions: VecDeque<Action>,
    /// When the first pending action was queued.
    since: Time,
}

impl Outbox {
    pub(crate) fn push(&mut self, now: Time, action: Action) {
        if self.actions.is_empty() {
            self.since = now;
        }
        self.actions.push_back(action);
    }

    pub(crate) fn pop(&mut self) -> Option<Action> {
        self.actions.pop_front()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.actions.is_empty()
    }

    /// When the first action is due; [`Time::NEVER`] if there is none.
    pub(crate) fn due(&self) -> Time {
        if self.actions.is_empty() { Time::NEVER } else { self.since }
    }
}
