//! The lease: how long the session lasts without a line of its controller.

use std::time::Duration;

use crate::clock::boottime_ns;

/// Time since the last line of the controller. It is measured by the clock that also runs while the
/// machine is suspended, so a session that was stopped or suspended for too long is over when it
/// wakes up, even if lines have arrived meanwhile.
#[derive(Debug)]
pub(crate) struct Lease {
    length: Duration,
    heard_ns: u64,
}

impl Lease {
    pub(crate) fn new(length: Duration) -> Self {
        Self { length, heard_ns: boottime_ns() }
    }

    /// Begins anew: the controller has written a line.
    pub(crate) fn renew(&mut self) {
        self.heard_ns = boottime_ns();
    }

    /// Time until the lease is over; zero: it is over.
    pub(crate) fn left(&self) -> Duration {
        let silent = Duration::from_nanos(boottime_ns().saturating_sub(self.heard_ns));
        self.length.saturating_sub(silent)
    }
}
