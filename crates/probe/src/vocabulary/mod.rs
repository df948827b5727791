//! Maps fields of the kernel to our counters, with their names, kinds and meanings. Each name ends
//! in the unit. If the simulator has the same counter, it uses the same name. If several fields
//! have the same name, their values are summed.

mod host;
mod network;
mod tcp;

use crate::Source;

/// How a value changes over time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Only grows, and wraps to 0 after 2^n - 1. The value n is the number of bits: 16, 32 or 64.
    Counter(u32),
    /// Grows, but sometimes the kernel corrects it slightly downwards. Such a correction counts as
    /// no growth.
    Corrected,
    /// A current level, which goes up and down.
    Gauge,
}

/// The unit in which the kernel reports a counter. It is converted to the unit in the counter's
/// name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// The same unit as in the name.
    Same,
    /// Ticks of `USER_HZ`, converted to milliseconds.
    Ticks,
    /// Sectors of 512 bytes, converted to bytes.
    Sectors,
    /// 1024 bytes, converted to bytes.
    Kibibytes,
    /// Pages of memory, converted to bytes.
    Pages,
}

impl Unit {
    /// The factor by which the kernel's value is multiplied to get the unit in the name.
    #[must_use]
    pub fn factor(self) -> u64 {
        match self {
            Self::Same => 1,
            Self::Ticks => 1000 / rustix::param::clock_ticks_per_second(),
            Self::Sectors => 512,
            Self::Kibibytes => 1024,
            Self::Pages => rustix::param::page_size() as u64,
        }
    }
}

/// A field of the kernel, and the name that we give it.
#[derive(Debug, PartialEq, Eq)]
pub struct Counter {
    /// The counter's name in records.
    pub name: &'static str,
    /// The kernel's name of the field.
    pub field: &'static str,
    /// How the value changes over time.
    pub kind: Kind,
    /// The kernel's unit.
    pub unit: Unit,
    /// What the counter means; shown in the reference.
    pub meaning: &'static str,
}

impl Counter {
    const fn new(
        name: &'static str,
        field: &'static str,
        kind: Kind,
        meaning: &'static str,
    ) -> Self {
        Self { name, field, kind, unit: Unit::Same, meaning }
    }

    const fn in_unit(self, unit: Unit) -> Self {
        Self { unit, ..self }
    }
}

/// A counter of 16 bits.
const fn c16(name: &'static str, field: &'static str, meaning: &'static str) -> Counter {
    Counter::new(name, field, Kind::Counter(16), meaning)
}

/// A counter of 32 bits.
const fn c32(name: &'static str, field: &'static str, meaning: &'static str) -> Counter {
    Counter::new(name, field, Kind::Counter(32), meaning)
}

/// A counter of 64 bits.
const fn c64(name: &'static str, field: &'static str, meaning: &'static str) -> Counter {
    Counter::new(name, field, Kind::Counter(64), meaning)
}

/// A counter of the kernel's `unsigned long`.
const fn word(name: &'static str, field: &'static str, meaning: &'static str) -> Counter {
    Counter::new(name, field, Kind::Counter(usize::BITS), meaning)
}

/// A counter that the kernel may correct downwards.
const fn corrected(name: &'static str, field: &'static str, meaning: &'static str) -> Counter {
    Counter::new(name, field, Kind::Corrected, meaning)
}

/// A current level.
const fn gauge(name: &'static str, field: &'static str, meaning: &'static str) -> Counter {
    Counter::new(name, field, Kind::Gauge, meaning)
}

impl Source {
    /// The fields of this source that have one of our names.
    #[must_use]
    pub const fn counters(self) -> &'static [Counter] {
        match self {
            Self::Flows => tcp::FLOWS,
            Self::Snmp => tcp::SNMP,
            Self::Netstat => tcp::NETSTAT,
            Self::Qdiscs => network::QDISCS,
            Self::Ethernet => network::ETHERNET,
            Self::Links => network::LINKS,
            Self::Softnet => network::SOFTNET,
            Self::Cpus => host::CPUS,
            Self::Throttle => host::THROTTLE,
            Self::Process => host::PROCESS,
            Self::ProcessClock => host::PROCESS_CLOCK,
            Self::Processes => host::PROCESSES,
            Self::Pressure => host::PRESSURE,
            Self::Memory => host::MEMORY,
            Self::Paging => host::PAGING,
            Self::Disks => host::DISKS,
        }
    }
}
