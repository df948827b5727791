//! CPUs, a process, memory and disks (`fs/proc/stat.c`, `fs/proc/array.c`, `fs/proc/meminfo.c`,
//! `mm/vmstat.c`, `block/genhd.c`, `kernel/sched/psi.c`, `arch/x86/kernel/cpu/mce/therm_throt.c`).

use super::{Counter, Unit, c32, c64, corrected, gauge, word};

const fn ticks(name: &'static str, field: &'static str, meaning: &'static str) -> Counter {
    c64(name, field, meaning).in_unit(Unit::Ticks)
}

const fn may_go_back(name: &'static str, field: &'static str, meaning: &'static str) -> Counter {
    corrected(name, field, meaning).in_unit(Unit::Ticks)
}

const fn sectors(name: &'static str, field: &'static str, meaning: &'static str) -> Counter {
    word(name, field, meaning).in_unit(Unit::Sectors)
}

pub(super) const CPUS: &[Counter] = &[
    ticks("cpu_user_ms", "cpu user", "Time in processes, guests included."),
    ticks("cpu_nice_ms", "cpu nice", "Time in processes of low priority, guests included."),
    ticks("cpu_system_ms", "cpu system", "Time in the kernel on behalf of processes."),
    may_go_back("cpu_idle_ms", "cpu idle", "Time without work."),
    may_go_back("cpu_iowait_ms", "cpu iowait", "Time without work while a task waited for a disk."),
    ticks("cpu_irq_ms", "cpu irq", "Time in interrupts."),
    ticks("cpu_softirq_ms", "cpu softirq", "Time in soft interrupts: most of the network's work."),
    ticks(
        "cpu_steal_ms",
        "cpu steal",
        "Time in which the hypervisor ran other machines on the CPU.",
    ),
    ticks("cpu_guest_ms", "cpu guest", "Time of guests, included in cpu_user_ms."),
    ticks("cpu_guest_nice_ms", "cpu guest_nice", "Time of guests, included in cpu_nice_ms."),
    c64("context_switches", "ctxt", "Context switches: changes of the task that a CPU runs."),
    c64("interrupts", "intr", "Interrupts served."),
    c64("soft_interrupts", "softirq", "Soft interrupts served."),
    word("processes_created", "processes", "Processes and threads started."),
    gauge("processes_running", "procs_running", "Tasks that run or are ready to run."),
    gauge("processes_blocked", "procs_blocked", "Tasks that wait for a disk."),
];

pub(super) const THROTTLE: &[Counter] = &[
    word("cpu_core_throttled", "core", "How often a core became slower because of its heat."),
    word(
        "cpu_package_throttled",
        "package",
        "How often the cores of a package became slower because of its heat, once for each core.",
    ),
];

pub(super) const PROCESS: &[Counter] = &[
    ticks("process_user_ms", "utime", "Time of all threads of the process in user mode."),
    ticks("process_system_ms", "stime", "Time of all threads of the process in the kernel."),
    word("process_minor_faults", "minflt", "Page faults that needed no disk."),
    word("process_major_faults", "majflt", "Page faults that needed a disk."),
    gauge("process_threads", "num_threads", "Its threads."),
    gauge("process_resident_bytes", "rss", "Memory that the process occupies.")
        .in_unit(Unit::Pages),
];

pub(super) const PROCESS_CLOCK: &[Counter] = &[c64(
    "process_cpu_ns",
    "nanoseconds",
    "Time of all threads of the process in user mode and in the kernel, measured more finely than in clock ticks.",
)];

pub(super) const PROCESSES: &[Counter] = &[
    c64(
        "namespace_cpu_ns",
        "nanoseconds",
        "Time of all processes that share this network namespace, in the kernel and outside, those that have \
         ended included if a process there has waited for them.",
    ),
    c64(
        "namespace_waited_ns",
        "waited",
        "Time in which threads of these processes were ready to run and waited for a CPU, without threads that \
         have ended (CONFIG_SCHED_INFO).",
    ),
];

pub(super) const PRESSURE: &[Counter] =
    &[c64("cpu_waited_us", "some", "Time in which at least one task waited for a CPU.")];

pub(super) const MEMORY: &[Counter] = &[
    gauge("memory_bytes", "MemTotal", "Memory of the host."),
    gauge("memory_available_bytes", "MemAvailable", "Memory available without swapping."),
    gauge("memory_free_bytes", "MemFree", "Unused memory."),
    gauge("memory_cached_bytes", "Cached", "Files kept in memory."),
    gauge("memory_dirty_bytes", "Dirty", "Modified file pages that are not yet written to disks."),
    gauge("swap_bytes", "SwapTotal", "Swap of the host."),
    gauge("swap_free_bytes", "SwapFree", "Unused swap."),
];

pub(super) const PAGING: &[Counter] = &[
    word("page_faults", "pgfault", "Page faults."),
    word("major_page_faults", "pgmajfault", "Page faults that needed a disk."),
    word("paged_in_bytes", "pgpgin", "Bytes read from disks.").in_unit(Unit::Kibibytes),
    word("paged_out_bytes", "pgpgout", "Bytes written to disks.").in_unit(Unit::Kibibytes),
    word("swapped_in_bytes", "pswpin", "Bytes of swap read.").in_unit(Unit::Pages),
    word("swapped_out_bytes", "pswpout", "Bytes of swap written.").in_unit(Unit::Pages),
    word("oom_kills", "oom_kill", "Processes killed because memory ran out."),
];

pub(super) const DISKS: &[Counter] = &[
    word("disk_reads", "reads completed", "Reads."),
    sectors("disk_read_bytes", "sectors read", "Bytes read."),
    c32("disk_read_ms", "ms reading", "Durations of all reads, summed."),
    word("disk_writes", "writes completed", "Writes."),
    sectors("disk_written_bytes", "sectors written", "Bytes written."),
    c32("disk_write_ms", "ms writing", "Durations of all writes, summed."),
    c32("disk_busy_ms", "ms doing I/O", "Time with at least one request in progress."),
    c32(
        "disk_queue_ms",
        "weighted ms doing I/O",
        "Time with requests in progress, weighted by their number.",
    ),
    word("disk_flushes", "flushes completed", "Flushes of the disk's cache."),
    gauge("disk_requests", "in progress", "Requests in progress."),
];
