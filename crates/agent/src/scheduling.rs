//! CPU time of the agent, and how long its threads waited for a CPU.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use nix::time::{ClockId, clock_gettime};

/// Time of the threads that carry traffic: the kernel counts how long each waited for a CPU
/// (`/proc/thread-self/schedstat`, Documentation/scheduler/sched-stats.rst).
#[derive(Debug, Default)]
pub(crate) struct Scheduling(Mutex<Threads>);

#[derive(Debug, Default)]
struct Threads {
    running: Vec<Arc<File>>,
    /// Waits of threads that have ended.
    ended_ns: u64,
    /// True if the kernel does not tell of a thread.
    is_unknown: bool,
}

/// A thread that carries traffic, until this value is dropped.
#[derive(Debug)]
pub(crate) struct Counted<'a> {
    scheduling: &'a Scheduling,
    file: Option<Arc<File>>,
}

/// CPU time of the process, and the waits of its threads; none: the kernel does not count them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Spent {
    pub(crate) cpu_ns: u64,
    pub(crate) waited_ns: Option<u64>,
}

impl Scheduling {
    /// Counts the calling thread.
    pub(crate) fn count(&self) -> Counted<'_> {
        let file = File::open("/proc/thread-self/schedstat").ok().map(Arc::new);
        let mut threads = self.threads();
        match &file {
            Some(file) => threads.running.push(Arc::clone(file)),
            None => threads.is_unknown = true,
        }
        drop(threads);
        Counted { scheduling: self, file }
    }

    /// The times until now.
    pub(crate) fn spent(&self) -> Spent {
        let threads = self.threads();
        let running: io::Result<u64> = threads.running.iter().map(|file| waited_ns(file)).sum();
        let known = running.ok().filter(|_| !threads.is_unknown);
        Spent { cpu_ns: process_cpu_ns(), waited_ns: known.map(|ns| ns + threads.ended_ns) }
    }

    fn threads(&self) -> MutexGuard<'_, Threads> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        let Some(file) = &self.file else { return };
        let mut threads = self.scheduling.threads();
        threads.running.retain(|one| !Arc::ptr_eq(one, file));
        match waited_ns(file) {
            Ok(ns) => threads.ended_ns += ns,
            Err(_) => threads.is_unknown = true,
        }
    }
}

/// The second number of the file: nanoseconds in which the thread was ready to run.
fn waited_ns(file: &File) -> io::Result<u64> {
    let mut text = [0; 64];
    let count = file.read_at(&mut text, 0)?;
    let text = String::from_utf8_lossy(&text[..count]);
    let waited = text.split_ascii_whitespace().nth(1).and_then(|word| word.parse().ok());
    waited.ok_or_else(|| io::ErrorKind::InvalidData.into())
}

fn process_cpu_ns() -> u64 {
    let now = clock_gettime(ClockId::CLOCK_PROCESS_CPUTIME_ID).expect("Linux has this clock");
    now.tv_sec().cast_unsigned() * 1_000_000_000 + now.tv_nsec().cast_unsigned()
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn waits_of_a_thread_that_has_ended_are_kept() {
        let scheduling = Scheduling::default();
        let _own = scheduling.count();
        let before = scheduling.spent();
        thread::scope(|scope| {
            scope.spawn(|| {
                let _counted = scheduling.count();
                // A thread that gives the CPU away is ready to run, and waits if others run.
                (0..100).for_each(|_| thread::yield_now());
            });
        });
        let after = scheduling.spent();
        assert!(before.waited_ns.is_some(), "tests run on a kernel that counts it");
        assert!(after.waited_ns >= before.waited_ns);
        assert!(after.cpu_ns > before.cpu_ns);
    }
}
