//! CPU time of all processes of a network namespace, and how long their threads waited for a CPU.

use std::ops::Add;
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
    /// The largest sums so far, below which the reported sums never fall. They could fall because
    /// the time of a process is rounded to whole ticks when it ends, and because its waits are no
    /// longer known.
    most: Spent,
}

/// Times of the processes of a namespace.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Spent {
    /// CPU time.
    pub(crate) cpu_ns: u64,
    /// Time in which threads were ready to run and waited for a CPU; none: the kernel does not
    /// count it.
    pub(crate) waited_ns: Option<u64>,
}

impl Processes {
    pub(crate) fn here() -> io::Result<Self> {
        let shown = fs::read_link("/proc/self")?;
        Ok(Self {
            namespace: fs::metadata("/proc/thread-self/ns/net")?.ino(),
            has_own_proc: shown.to_str() == Some(&std::process::id().to_string()),
            tick: Duration::from_secs(1)
                / u32::try_from(rustix::param::clock_ticks_per_second()).unwrap_or(100),
            most: Spent::default(),
        })
    }

    /// The times of all processes in the namespace until now.
    pub(crate) fn spent(&mut self) -> io::Result<Spent> {
        let numbers: Vec<i32> = fs::read_dir("/proc")?
            .flatten()
            .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
            .filter(|process| self.holds(*process))
            .collect();
        let cpu: Duration = numbers.iter().filter_map(|process| self.cpu_of(*process)).sum();
        let cpu_ns = u64::try_from(cpu.as_nanos()).unwrap_or(u64::MAX);
        let waited_ns = numbers.iter().filter_map(|process| waited_ns(*process)).reduce(u64::add);
        self.most.cpu_ns = self.most.cpu_ns.max(cpu_ns);
        self.most.waited_ns = self.most.waited_ns.max(waited_ns);
        Ok(self.most)
    }

    fn holds(&self, process: i32) -> bool {
        let namespace = fs::metadata(format!("/proc/{process}/ns/net"));
        namespace.is_ok_and(|namespace| namespace.ino() == self.namespace)
    }

    /// The CPU time of a process and its ended children; none: the process has ended.
    fn cpu_of(&self, process: i32) -> Option<Duration> {
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

/// How long the threads of a process have waited for a CPU, without ended threads
/// (`/proc/<pid>/task/<tid>/schedstat`, Documentation/scheduler/sched-stats.rst); none: the kernel
/// does not tell.
fn waited_ns(process: i32) -> Option<u64> {
    let threads = fs::read_dir(format!("/proc/{process}/task")).ok()?.flatten();
    let of_thread = |thread: fs::DirEntry| {
        let text = fs::read_to_string(thread.path().join("schedstat")).ok()?;
        text.split_ascii_whitespace().nth(1)?.parse::<u64>().ok()
    };
    threads.filter_map(of_thread).reduce(u64::add)
}

/// The CPU time of a process: all its threads, including ended ones.
fn clock(process: i32) -> Option<Duration> {
    let clock = clock_getcpuclockid(Pid::from_raw(process)).ok()?;
    clock_gettime(clock).ok().map(Duration::from)
}
