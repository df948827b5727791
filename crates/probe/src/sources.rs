use std::collections::BTreeSet;
use std::fmt;

/// A place where the kernel exposes counters. A snapshot reads the sources in this order. Those
/// that change with each packet come first, so that they are read at nearly the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Source {
    /// TCP connections, by `sock_diag`.
    Flows,
    /// IP, TCP and UDP: `/proc/net/snmp`.
    Snmp,
    /// Further counters of TCP and IP: `/proc/net/netstat`.
    Netstat,
    /// Interfaces, by rtnetlink.
    Links,
    /// Queueing disciplines, by rtnetlink.
    Qdiscs,
    /// Rates and PAUSE frames of links, by the netlink family `ethtool`. The kernel asks each driver,
    /// which may take a while.
    Ethernet,
    /// Packets received by each CPU: `/proc/net/softnet_stat`.
    Softnet,
    /// CPUs: `/proc/stat`.
    Cpus,
    /// Slower CPUs because of heat: `/sys/devices/system/cpu/cpu*/thermal_throttle`.
    Throttle,
    /// A process: `/proc/<pid>/stat`.
    Process,
    /// CPU time of this process: `CLOCK_PROCESS_CPUTIME_ID` of `clock_gettime(2)`.
    ProcessClock,
    /// CPU time of all processes in this network namespace, from `/proc/<pid>/stat` and the CPU
    /// clock of each process.
    Processes,
    /// Waiting for a CPU: `/proc/pressure/cpu`.
    Pressure,
    /// Memory: `/proc/meminfo`.
    Memory,
    /// Paging: `/proc/vmstat`.
    Paging,
    /// Disks: `/proc/diskstats`.
    Disks,
}

impl Source {
    /// All sources.
    pub const ALL: [Self; 16] = [
        Self::Flows,
        Self::Snmp,
        Self::Netstat,
        Self::Links,
        Self::Qdiscs,
        Self::Ethernet,
        Self::Softnet,
        Self::Cpus,
        Self::Throttle,
        Self::Process,
        Self::ProcessClock,
        Self::Processes,
        Self::Pressure,
        Self::Memory,
        Self::Paging,
        Self::Disks,
    ];

    /// The file or the netlink query that is read, which is also the key in
    /// [`Snapshot::raw`](crate::Snapshot::raw).
    #[must_use]
    pub const fn place(self) -> &'static str {
        match self {
            Self::Flows => "netlink:tcp",
            Self::Snmp => "/proc/net/snmp",
            Self::Netstat => "/proc/net/netstat",
            Self::Qdiscs => "netlink:qdisc",
            Self::Links => "netlink:link",
            Self::Ethernet => "netlink:ethtool",
            Self::Softnet => "/proc/net/softnet_stat",
            Self::Cpus => "/proc/stat",
            Self::Throttle => "/sys/devices/system/cpu/cpu*/thermal_throttle",
            Self::Process => "/proc/<pid>/stat",
            Self::ProcessClock => "CLOCK_PROCESS_CPUTIME_ID",
            Self::Processes => "/proc/*/stat",
            Self::Pressure => "/proc/pressure/cpu",
            Self::Memory => "/proc/meminfo",
            Self::Paging => "/proc/vmstat",
            Self::Disks => "/proc/diskstats",
        }
    }

    /// Whether the source reports several CPUs, interfaces or disks by name.
    #[must_use]
    pub const fn has_parts(self) -> bool {
        matches!(
            self,
            Self::Links
                | Self::Qdiscs
                | Self::Ethernet
                | Self::Softnet
                | Self::Cpus
                | Self::Throttle
                | Self::Disks
        )
    }

    /// Whether the objects of this source may appear and disappear while the host runs. The
    /// counters of new objects start from 0.
    #[must_use]
    pub const fn comes_and_goes(self) -> bool {
        matches!(self, Self::Flows | Self::Qdiscs | Self::Links | Self::Ethernet)
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.place())
    }
}

/// The sources to read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sources {
    /// The chosen sources.
    pub chosen: BTreeSet<Source>,
    /// Interfaces by name; empty: all interfaces of the namespace.
    pub interfaces: Vec<String>,
    /// Disks by name; empty: all devices, without partitions and without disks made of other disks
    /// or of memory.
    pub disks: Vec<String>,
    /// The process; none: this process. [`Source::ProcessClock`] is only available for this
    /// process.
    pub process: Option<u32>,
}

impl Sources {
    /// All sources that may be read at short intervals, for all interfaces and disks and for this
    /// process. [`Source::Processes`] takes some microseconds for each process of the machine;
    /// [`Source::Ethernet`] asks drivers; [`Source::Throttle`] reads two files for each CPU.
    #[must_use]
    pub fn all() -> Self {
        let slow = [Source::Processes, Source::Ethernet, Source::Throttle];
        Self::of(Source::ALL.into_iter().filter(|source| !slow.contains(source)))
    }

    /// These sources plus `source`.
    #[must_use]
    pub fn with(mut self, source: Source) -> Self {
        self.chosen.insert(source);
        self
    }

    /// Only these sources, for all interfaces and disks and for this process.
    #[must_use]
    pub fn of(chosen: impl IntoIterator<Item = Source>) -> Self {
        Self {
            chosen: chosen.into_iter().collect(),
            interfaces: Vec::new(),
            disks: Vec::new(),
            process: None,
        }
    }

    /// Sources that differ between network namespaces; all others are the same in every namespace.
    #[must_use]
    pub fn of_namespace() -> Self {
        Self::of([Source::Flows, Source::Snmp, Source::Netstat, Source::Qdiscs, Source::Links])
    }

    /// Reads only these `interfaces`.
    #[must_use]
    pub fn with_interfaces(self, interfaces: Vec<String>) -> Self {
        Self { interfaces, ..self }
    }
}
