//! The real clock, by which the switch runs. Time is counted from the start of the switch.

use std::time::Duration as StdDuration;

use netstudy_units::{Duration, Time};
use nix::sys::time::TimeSpec;
use nix::time::{ClockId, clock_gettime};

const NS_PER_S: i128 = 1_000_000_000;

/// `CLOCK_MONOTONIC` since the switch began.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    origin_ns: u64,
}

impl Clock {
    /// A clock that starts at zero now.
    pub(crate) fn start() -> Self {
        Self { origin_ns: monotonic_ns() }
    }

    /// The current time.
    pub(crate) fn now(self) -> Time {
        self.at(monotonic_ns())
    }

    /// Converts a time to `CLOCK_MONOTONIC`, which all processes share.
    pub(crate) const fn monotonic_ns(self, at: Time) -> u64 {
        self.origin_ns + at.as_ns()
    }

    /// The time at which the kernel received a frame. The kernel reports it as `stamp`, a value of
    /// `CLOCK_REALTIME`.
    pub(crate) fn received(self, stamp: TimeSpec, offset: RealtimeOffset) -> Time {
        self.at(u64::try_from(ns(stamp) - offset.0).unwrap_or(0))
    }

    /// Converts `at` to the form in which a timer expects its alarm.
    pub(crate) fn alarm(self, at: Time) -> TimeSpec {
        StdDuration::from_nanos(self.monotonic_ns(at)).into()
    }

    fn at(self, monotonic_ns: u64) -> Time {
        Time::ZERO + Duration::from_ns(monotonic_ns.saturating_sub(self.origin_ns))
    }
}

/// `CLOCK_REALTIME` minus `CLOCK_MONOTONIC` in nanoseconds. It changes when `CLOCK_REALTIME` is
/// set.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RealtimeOffset(i128);

impl RealtimeOffset {
    /// The current offset.
    pub(crate) fn now() -> Self {
        Self(ns(read(ClockId::CLOCK_REALTIME)) - ns(read(ClockId::CLOCK_MONOTONIC)))
    }
}

/// CPU time of this process so far.
pub(crate) fn cpu_ns() -> u64 {
    unsigned_ns(ClockId::CLOCK_PROCESS_CPUTIME_ID)
}

fn monotonic_ns() -> u64 {
    unsigned_ns(ClockId::CLOCK_MONOTONIC)
}

fn unsigned_ns(clock: ClockId) -> u64 {
    u64::try_from(ns(read(clock))).expect("these clocks begin at zero")
}

fn read(clock: ClockId) -> TimeSpec {
    clock_gettime(clock).expect("Linux has this clock")
}

fn ns(time: TimeSpec) -> i128 {
    i128::from(time.tv_sec()) * NS_PER_S + i128::from(time.tv_nsec())
}
