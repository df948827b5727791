//! Sessions of logged-in users, kept in memory and identified by a cookie.

use std::collections::{HashMap, VecDeque};
use std::fs::File;
use std::io::{self, Read};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::rows::Order;

/// How many purchases a session remembers at most. They are remembered so that a double click does
/// not buy twice.
const PURCHASES: usize = 16;

/// A session.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) user: String,
    /// The latest purchases, by the nonce in the submitted form. Locked during a purchase, so that
    /// the second request of a double click waits until the first has made its order.
    pub(crate) purchases: tokio::sync::Mutex<Purchases>,
}

/// Purchases by nonce, the oldest first.
#[derive(Debug, Default)]
pub(crate) struct Purchases(VecDeque<(String, Order)>);

impl Purchases {
    pub(crate) fn of(&self, nonce: &str) -> Option<Order> {
        self.0.iter().find(|(known, _)| known == nonce).map(|(_, order)| order.clone())
    }

    pub(crate) fn remember(&mut self, nonce: String, order: Order) {
        if self.0.len() == PURCHASES {
            self.0.pop_front();
        }
        self.0.push_back((nonce, order));
    }
}

/// The secret in a session cookie.
pub(crate) type SessionId = u128;

/// All sessions.
#[derive(Debug)]
pub(crate) struct Sessions {
    limit: usize,
    random: Option<File>,
    open: Mutex<Open>,
}

#[derive(Debug, Default)]
struct Open {
    by_id: HashMap<SessionId, Arc<Session>>,
    /// Sessions in the order in which they started. Sessions that have ended are removed later.
    order: VecDeque<SessionId>,
}

impl Sessions {
    pub(crate) fn new(limit: u32) -> Self {
        let random = File::open("/dev/urandom").ok();
        Self { limit: limit as usize, random, open: Mutex::default() }
    }

    /// Starts a session. If there are now too many sessions, evicts the oldest. Returns the
    /// identifier and how many sessions were evicted.
    pub(crate) fn begin(&self, user: String) -> io::Result<(SessionId, u64)> {
        let mut bytes = [0; 16];
        let mut random = self.random.as_ref().ok_or(io::ErrorKind::NotFound)?;
        random.read_exact(&mut bytes)?;
        let id = SessionId::from_ne_bytes(bytes);
        let session = Arc::new(Session { user, purchases: tokio::sync::Mutex::default() });
        let mut open = self.open();
        open.by_id.insert(id, session);
        open.order.push_back(id);
        let mut evicted = 0;
        while open.by_id.len() > self.limit {
            let Some(oldest) = open.order.pop_front() else { break };
            evicted += u64::from(open.by_id.remove(&oldest).is_some());
        }
        open.forget_ended();
        Ok((id, evicted))
    }

    pub(crate) fn get(&self, id: SessionId) -> Option<Arc<Session>> {
        self.open().by_id.get(&id).cloned()
    }

    pub(crate) fn end(&self, id: SessionId) {
        self.open().by_id.remove(&id);
    }

    pub(crate) fn end_all(&self) {
        *self.open() = Open::default();
    }

    pub(crate) fn count(&self) -> usize {
        self.open().by_id.len()
    }

    fn open(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Open {
    /// Removes ended sessions from `order`, which would otherwise grow without limit.
    fn forget_ended(&mut self) {
        if self.order.len() > 2 * self.by_id.len() + PURCHASES {
            let by_id = &self.by_id;
            self.order.retain(|id| by_id.contains_key(id));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_session_too_many_ends_the_oldest() {
        let sessions = Sessions::new(2);
        let (first, _) = sessions.begin("uid:0".into()).expect("there is randomness");
        let (second, _) = sessions.begin("uid:1".into()).expect("there is randomness");
        let (third, evicted) = sessions.begin("uid:2".into()).expect("there is randomness");
        assert_eq!(evicted, 1);
        assert!(sessions.get(first).is_none());
        assert!(sessions.get(second).is_some() && sessions.get(third).is_some());
    }

    #[test]
    fn sessions_that_end_by_themselves_leave_nothing_behind() {
        let sessions = Sessions::new(10);
        for _ in 0..1_000 {
            let (id, _) = sessions.begin("uid:0".into()).expect("there is randomness");
            sessions.end(id);
        }
        assert_eq!(sessions.count(), 0);
        assert!(sessions.open().order.len() < 100);
    }
}
