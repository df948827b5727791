//! Time: `CLOCK_MONOTONIC`, as the workloads count it and as records show it.

use std::hint;

use netstudy_units::{Duration, Time};
use nix::sys::prctl::set_timerslack;
use nix::sys::time::TimeSpec;
use nix::time::{ClockId, clock_gettime};

/// How long before its due time an action's sleep ends and polling begins. Longer would be more exact
/// where a CPU is idle, and take time from the other hosts where they share it.
const SPIN: Duration = Duration::from_us(30);

/// A clock that is zero when it is made: a workload's time in picoseconds lasts 213 days, and a
/// machine may be up for longer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    origin_ns: u64,
}

impl Clock {
    pub(crate) fn new() -> Self {
        Self { origin_ns: monotonic_ns() }
    }

    pub(crate) fn now(self) -> Time {
        Time::ZERO + Duration::from_ns(monotonic_ns() - self.origin_ns)
    }

    /// Nanoseconds of `CLOCK_MONOTONIC` at `time`.
    pub(crate) fn as_ns(self, time: Time) -> u64 {
        self.origin_ns + time.as_ns()
    }

    /// When sleeping for something at `due` has to end, so that it can be met by polling the clock.
    pub(crate) fn wake_up(self, due: Time) -> TimeSpec {
        let ns = self.as_ns(due).saturating_sub(SPIN.as_ns());
        TimeSpec::new((ns / 1_000_000_000).cast_signed(), (ns % 1_000_000_000).cast_signed())
    }

    /// Whether `due` is so near that sleeping would miss it.
    pub(crate) fn is_near(self, due: Time) -> bool {
        due <= self.now() + SPIN
    }

    /// Polls the clock until `due`. A thread that yields the CPU meanwhile may get it back
    /// milliseconds later.
    pub(crate) fn spin_until(self, due: Time) {
        while self.now() < due {
            hint::spin_loop();
        }
    }
}

/// Lets the kernel end sleeps of this thread, and of threads that it starts, when they are due: by
/// default it groups sleeps within 50 µs (`PR_SET_TIMERSLACK`).
pub(crate) fn make_sleeps_exact() -> nix::Result<()> {
    set_timerslack(1)
}

/// `CLOCK_MONOTONIC` now.
pub(crate) fn monotonic_ns() -> u64 {
    let now = clock_gettime(ClockId::CLOCK_MONOTONIC).expect("Linux has a monotonic clock");
    now.tv_sec().cast_unsigned() * 1_000_000_000 + now.tv_nsec().cast_unsigned()
}
