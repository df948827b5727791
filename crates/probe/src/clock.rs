//! The clocks of the machine.

use rustix::time::{ClockId, clock_gettime};

/// `CLOCK_MONOTONIC`, which all processes of a machine share.
pub(crate) fn monotonic_ns() -> u64 {
    ns(ClockId::Monotonic)
}

/// CPU time of this thread.
pub(crate) fn thread_cpu_ns() -> u64 {
    ns(ClockId::ThreadCPUTime)
}

/// CPU time of all threads of this process, including ended ones.
pub(crate) fn process_cpu_ns() -> u64 {
    ns(ClockId::ProcessCPUTime)
}

fn ns(clock: ClockId) -> u64 {
    let now = clock_gettime(clock);
    now.tv_sec.cast_unsigned() * 1_000_000_000 + now.tv_nsec.cast_unsigned()
}
