//! CPU time of all processes of a network namespace.

use std::os::unix::fs::MetadataExt;
use std::time::Duration;
use std::{fs, io};

use nix::time::{clock_getcpuclockid, clock_gettime};
use nix::unistd::Pid;

use crate::parse::{Fields, process};

/// The processes in the network namespace of the thread that created this value.
///
/// The time of an ended process is still included if its parent has waited for it, and the parent
/// still exists and is in the namespace too (`cutime` and `cstime`, proc(5)).
#[derive(Debug)]
pub(crate) struct Processes {
    namespace: u64,
    /// Whether the process ids in /proc are those of this process's own pid namespace. If so, the
    /// exact CPU clock of each process can be read; otherwise its CPU time is only known in ticks.
    has_own_proc: bool,
    tick: Duration,
    /// The largest sum so far, below which the reported sum never falls. It could fall because the
    /// time of a process is rounded to whole ticks when it ends.
    most_ns: u64,
}

impl Processes {
    pub(crate) fn here() -> io::Result<Self> {
        let shown = fs::read_link("/proc/self")?;
        Ok(Self {
            namespace: fs::metadata("/proc/thread-self/ns/net")?.ino(),
            has_own_proc: shown.to_str() == Some(&std::process::id().to_string()),
            tick: Duration::from_secs(1)
                / u32::try_from(rustix::param::clock_ticks_per_second()).unwrap_or(100),
            most_ns: 0,
        })
    }

    /// The CPU time of all processes in the namespace until now.
    pub(crate) fn cpu_ns(&mut self) -> io::Result<u64> {
        let numbers = fs::read_dir("/proc")?.flatten().filter_map(|entry| {
            let name = entry.file_name();
            name.to_str()?.parse().ok()
        });
        let spent: Duration = numbers.filter_map(|process| self.of(process)).sum();
        let spent_ns = u64::try_from(spent.as_nanos()).unwrap_or(u64::MAX);
        self.most_ns = self.most_ns.max(spent_ns);
        Ok(self.most_ns)
    }

    /// The CPU time of a process and its ended children; none: the process is in another namespace
    /// or has ended.
    fn of(&self, process: i32) -> Option<Duration> {
        let namespace = fs::metadata(format!("/proc/{process}/ns/net")).ok()?.ino();
        if namespace != self.namespace {
            return None;
        }
        let stat =
            process::parse(&fs::read_to_string(format!("/proc/{process}/stat")).ok()?).ok()?;
        let ticks = |name| {
            let ticks = stat.field(name).unwrap_or(0);
            self.tick * u32::try_from(ticks).unwrap_or(u32::MAX)
        };
        let own = if self.has_own_proc { clock(process) } else { None };
        let own = own.unwrap_or_else(|| ticks("utime") + ticks("stime"));
        Some(own + ticks("cutime") + ticks("cstime"))
    }
}

/// The CPU time of a process: all its threads, including ended ones.
fn clock(process: i32) -> Option<Duration> {
    let clock = clock_getcpuclockid(Pid::from_raw(process)).ok()?;
    clock_gettime(clock).ok().map(Duration::from)
}
