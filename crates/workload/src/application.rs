//! [`Traffic`] behind a pointer, for drivers that have time for a dynamic call per event.

use alloc::boxed::Box;

use netstudy_units::{Duration, Time};

use crate::{Action, Because, Owed, Traffic};

/// Any [`Traffic`], behind a dynamic interface with the same methods.
pub trait Application {
    /// [`Traffic::HEARS_ACKNOWLEDGMENTS`].
    fn hears_acknowledgments(&self) -> bool;
    /// [`Traffic::next_action`].
    fn next_action(&self) -> Time;
    /// [`Traffic::poll`].
    fn poll(&mut self, now: Time) -> Option<Action>;
    /// [`Traffic::go`].
    fn go(&mut self, at: Time) -> bool;
    /// [`Traffic::opened`].
    fn opened(&mut self, now: Time, connection: u32) -> bool;
    /// [`Traffic::received`].
    fn received(&mut self, now: Time, connection: u32, before: u64, total: u64) -> bool;
    /// [`Traffic::acknowledged`].
    fn acknowledged(&mut self, now: Time, connection: u32, total: u64) -> bool;
    /// [`Traffic::finished`].
    fn finished(&mut self, connection: u32, total: u64);
    /// [`Traffic::ends_at`].
    fn ends_at(&mut self, connection: u32, total: u64);
    /// [`Traffic::closed`].
    fn closed(&mut self, now: Time, connection: u32) -> bool;
    /// [`Traffic::receiving`].
    fn receiving(&self, connection: u32) -> Duration;
    /// [`Traffic::owed`].
    fn owed(&self, connection: u32, received: u64) -> Option<Owed>;
    /// [`Traffic::because`].
    fn because(&self, connection: u32) -> Because;
    /// [`Traffic::working_since`].
    fn working_since(&self) -> Time;
}

impl Traffic for Box<dyn Application> {
    const HEARS_ACKNOWLEDGMENTS: bool = true;
    const PREFERS_SMALL_CODE: bool = true;

    fn next_action(&self) -> Time {
        (**self).next_action()
    }

    fn poll(&mut self, now: Time) -> Option<Action> {
        (**self).poll(now)
    }

    fn go(&mut self, at: Time) -> bool {
        (**self).go(at)
    }

    fn opened(&mut self, now: Time, connection: u32) -> bool {
        (**self).opened(now, connection)
    }

    fn received(&mut self, now: Time, connection: u32, before: u64, total: u64) -> bool {
        (**self).received(now, connection, before, total)
    }

    fn acknowledged(&mut self, now: Time, connection: u32, total: u64) -> bool {
        (**self).acknowledged(now, connection, total)
    }

    fn finished(&mut self, connection: u32, total: u64) {
        (**self).finished(connection, total);
    }

    fn ends_at(&mut self, connection: u32, total: u64) {
        (**self).ends_at(connection, total);
    }

    fn closed(&mut self, now: Time, connection: u32) -> bool {
        (**self).closed(now, connection)
    }

    fn receiving(&self, connection: u32) -> Duration {
        (**self).receiving(connection)
    }

    fn owed(&self, connection: u32, received: u64) -> Option<Owed> {
        (**self).owed(connection, received)
    }

    fn because(&self, connection: u32) -> Because {
        (**self).because(connection)
    }

    fn working_since(&self) -> Time {
        (**self).working_since()
    }
}

impl<T: Traffic> Application for T {
    fn hears_acknowledgments(&self) -> bool {
        T::HEARS_ACKNOWLEDGMENTS
    }

    fn next_action(&self) -> Time {
        Traffic::next_action(self)
    }

    fn poll(&mut self, now: Time) -> Option<Action> {
        Traffic::poll(self, now)
    }

    fn go(&mut self, at: Time) -> bool {
        Traffic::go(self, at)
    }

    fn opened(&mut self, now: Time, connection: u32) -> bool {
        Traffic::opened(self, now, connection)
    }

    fn received(&mut self, now: Time, connection: u32, before: u64, total: u64) -> bool {
        Traffic::received(self, now, connection, before, total)
    }

    fn acknowledged(&mut self, now: Time, connection: u32, total: u64) -> bool {
        Traffic::acknowledged(self, now, connection, total)
    }

    fn finished(&mut self, connection: u32, total: u64) {
        Traffic::finished(self, connection, total);
    }

    fn ends_at(&mut self, connection: u32, total: u64) {
        Traffic::ends_at(self, connection, total);
    }

    fn closed(&mut self, now: Time, connection: u32) -> bool {
        Traffic::closed(self, now, connection)
    }

    fn receiving(&self, connection: u32) -> Duration {
        Traffic::receiving(self, connection)
    }

    fn owed(&self, connection: u32, received: u64) -> Option<Owed> {
        Traffic::owed(self, connection, received)
    }

    fn because(&self, connection: u32) -> Because {
        Traffic::because(self, connection)
    }

    fn working_since(&self) -> Time {
        Traffic::working_since(self)
    }
}
