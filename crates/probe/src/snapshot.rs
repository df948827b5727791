use std::collections::BTreeMap;

use crate::{Flow, Kind, Probe, Reading, Source, Sources};

/// Identifies the boot and the namespace in which the kernel counts. Counters of different origins
/// cannot be compared.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// The boot of the machine, `/proc/sys/kernel/random/boot_id`.
    pub boot: Option<String>,
    /// The network namespace: the inode number of `/proc/thread-self/ns/net`.
    pub namespace: Option<u64>,
}

/// Counters of the states in which a CPU works for this machine.
const BUSY_STATES: [&str; 5] =
    ["cpu_user_ms", "cpu_nice_ms", "cpu_system_ms", "cpu_irq_ms", "cpu_softirq_ms"];

/// Readings of the chosen sources at one moment.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    /// When the snapshot began (`CLOCK_MONOTONIC`).
    pub at_ns: u64,
    /// Time that the snapshot took, parsing included.
    pub cost_ns: u64,
    /// CPU time that the snapshot took.
    pub cpu_ns: u64,
    /// The boot and the namespace that the counters belong to.
    pub origin: Origin,
    /// All values for which we have a name.
    pub readings: Vec<Reading>,
    /// The connections, if they are among the sources.
    pub flows: Vec<Flow>,
    /// The kernel's output: files unchanged, netlink answers as JSON.
    pub texts: BTreeMap<Source, String>,
    /// Chosen sources that could not be read, with the reason. Their counters are missing, not zero.
    pub missing: BTreeMap<Source, String>,
}

impl Snapshot {
    /// Reads the `sources` now, in the namespace of this thread. For repeated readings, keep a
    /// [`Probe`].
    #[must_use]
    pub fn take(sources: &Sources) -> Self {
        Probe::open(sources.clone()).take()
    }

    /// Counters by name, summed over CPUs, interfaces, disks and open connections, in the units
    /// that the names give. In snapshots of one [`Probe`], a counter continues to grow when the
    /// kernel's field wraps. So the difference between two snapshots is the growth between them, as
    /// long as the CPUs, interfaces, disks and connections are the same. See
    /// [`growth`](crate::growth) for other cases.
    #[must_use]
    pub fn counters(&self) -> BTreeMap<String, u64> {
        self.sums(|reading| reading.counter.kind != Kind::Gauge)
    }

    /// Gauges, by name, summed in the same way.
    #[must_use]
    pub fn gauges(&self) -> BTreeMap<String, u64> {
        self.sums(|reading| reading.counter.kind == Kind::Gauge)
    }

    /// Counters of each CPU, interface and disk, by the name of that part (such as `cpu0`).
    #[must_use]
    pub fn parts(&self) -> BTreeMap<String, BTreeMap<String, u64>> {
        let mut parts: BTreeMap<String, BTreeMap<String, u64>> = BTreeMap::new();
        let counters = self.readings.iter().filter(|reading| reading.counter.kind != Kind::Gauge);
        for reading in counters.filter(|reading| reading.source.has_parts()) {
            if let Some(part) = &reading.part {
                let counters = parts.entry(part.to_string()).or_default();
                add(counters, reading);
            }
        }
        parts
    }

    /// Busy time of each online CPU, by the name that records have for it, such as `cpu_busy_ns.0`:
    /// the time in processes, in the kernel on their behalf, and in interrupts.
    #[must_use]
    pub fn cpu_busy_ns(&self) -> BTreeMap<String, u64> {
        const NS_PER_MS: u64 = 1_000_000;
        let mut busy = BTreeMap::new();
        for reading in self.readings.iter().filter(|reading| reading.source == Source::Cpus) {
            let number = reading.part.as_deref().and_then(|part| part.strip_prefix("cpu"));
            if let Some(number) = number.filter(|_| BUSY_STATES.contains(&reading.counter.name)) {
                let sum: &mut u64 = busy.entry(format!("cpu_busy_ns.{number}")).or_default();
                *sum = sum.saturating_add(reading.scaled().saturating_mul(NS_PER_MS));
            }
        }
        busy
    }

    /// The kernel's output; keys are files or queries, see [`Source::place`].
    #[must_use]
    pub fn raw(&self) -> BTreeMap<String, String> {
        let place = |(source, text): (&Source, &String)| (source.place().to_owned(), text.clone());
        self.texts.iter().map(place).collect()
    }

    fn sums(&self, wanted: fn(&Reading) -> bool) -> BTreeMap<String, u64> {
        let mut sums = BTreeMap::new();
        for reading in self.readings.iter().filter(|reading| wanted(reading)) {
            add(&mut sums, reading);
        }
        sums
    }
}

fn add(sums: &mut BTreeMap<String, u64>, reading: &Reading) {
    let sum = sums.entry(reading.counter.name.to_owned()).or_default();
    *sum = sum.saturating_add(reading.scaled());
}
