//! One type for both sides of a workload, for drivers that keep all hosts in one collection.

use netstudy_units::{Duration, Time};

use crate::{Action, Because, Owed, Traffic};

/// The application of a host: a client or a server.
#[derive(Clone, Debug)]
pub enum ClientOrServer<C, S> {
    /// The side that opens connections.
    Client(C),
    /// The side that listens.
    Server(S),
}

/// Evaluates the same expression for either variant.
macro_rules! either {
    ($side:expr, $app:ident => $done:expr) => {
        match $side {
            ClientOrServer::Client($app) => $done,
            ClientOrServer::Server($app) => $done,
        }
    };
}

impl<C: Traffic, S: Traffic> Traffic for ClientOrServer<C, S> {
    const HEARS_ACKNOWLEDGMENTS: bool = C::HEARS_ACKNOWLEDGMENTS || S::HEARS_ACKNOWLEDGMENTS;
    const REOPENS: bool = C::REOPENS || S::REOPENS;
    const READS_LATER: bool = C::READS_LATER || S::READS_LATER;
    const PREFERS_SMALL_CODE: bool = C::PREFERS_SMALL_CODE || S::PREFERS_SMALL_CODE;

    fn unread(&self, connection: u32) -> u64 {
        either!(self, app => app.unread(connection))
    }

    fn next_action(&self) -> Time {
        either!(self, app => app.next_action())
    }

    fn poll(&mut self, now: Time) -> Option<Action> {
        either!(self, app => app.poll(now))
    }

    fn go(&mut self, at: Time) -> bool {
        either!(self, app => app.go(at))
    }

    fn opened(&mut self, now: Time, connection: u32) -> bool {
        either!(self, app => app.opened(now, connection))
    }

    #[inline]
    fn received(&mut self, now: Time, connection: u32, before: u64, total: u64) -> bool {
        either!(self, app => app.received(now, connection, before, total))
    }

    #[inline]
    fn acknowledged(&mut self, now: Time, connection: u32, total: u64) -> bool {
        either!(self, app => app.acknowledged(now, connection, total))
    }

    fn finished(&mut self, connection: u32, total: u64) {
        either!(self, app => app.finished(connection, total));
    }

    fn ends_at(&mut self, connection: u32, total: u64) {
        either!(self, app => app.ends_at(connection, total));
    }

    fn receiving(&self, connection: u32) -> Duration {
        either!(self, app => app.receiving(connection))
    }

    fn closed(&mut self, now: Time, connection: u32) -> bool {
        either!(self, app => app.closed(now, connection))
    }

    fn owed(&self, connection: u32, received: u64) -> Option<Owed> {
        either!(self, app => app.owed(connection, received))
    }

    fn because(&self, connection: u32) -> Because {
        either!(self, app => app.because(connection))
    }

    fn working_since(&self) -> Time {
        either!(self, app => app.working_since())
    }
}
