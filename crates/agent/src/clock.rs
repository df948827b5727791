//! Converts between `CLOCK_MONOTONIC`, the time that workloads use, and the nanoseconds in records.

use std::hint;

use netstudy_units::{Duration, Time};
use nix::sys::prctl::set_timerslack;
use nix::sys::time::TimeSpec;
use nix::time::{ClockId, clock_gettime};

/// A thread that sleeps until an action is due wakes up this long before that time, and then polls
/// the clock. A larger value makes actions more exact on an idle CPU, but takes CPU time from other
/// hosts on a shared CPU.
const SPIN: Duration = Duration::from_us(30);

/// A clock that starts at zero when it is created. Workloads count time in picoseconds, which
/// overflow after 213 days, and the machine may have been running for longer.
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

    /// The value of `CLOCK_MONOTONIC` at `time`, in nanoseconds.
    pub(crate) fn as_ns(self, time: Time) -> u64 {
        self.origin_ns + time.as_ns()
    }

    /// When to wake up for an action at `due`: early enough to poll the clock until `due`.
    pub(crate) fn wake_up(self, due: Time) -> TimeSpec {
        let ns = self.as_ns(due).saturating_sub(SPIN.as_ns());
        TimeSpec::new((ns / 1_000_000_000).cast_signed(), (ns % 1_000_000_000).cast_signed())
    }

    /// Whether `due` is so near that a sleep could end too late.
    pub(crate) fn is_near(self, due: Time) -> bool {
        due <= self.now() + SPIN
    }

    /// Polls the clock until `due`. The thread keeps the CPU, because a thread that yields may have
    /// to wait for milliseconds until it runs again.
    pub(crate) fn spin_until(self, due: Time) {
        while self.now() < due {
            hint::spin_loop();
        }
    }
}

/// Makes the sleeps of this thread, and of threads that it starts, end exactly on time. By default,
/// the kernel may delay a wake-up by up to 50 µs to combine it with others (`PR_SET_TIMERSLACK`).
pub(crate) fn make_sleeps_exact() -> nix::Result<()> {
    set_timerslack(1)
}

/// `CLOCK_MONOTONIC` now.
pub(crate) fn monotonic_ns() -> u64 {
    let now = clock_gettime(ClockId::CLOCK_MONOTONIC).expect("Linux has a monotonic clock");
    now.tv_sec().cast_unsigned() * 1_000_000_000 + now.tv_nsec().cast_unsigned()
}
