//! Counters of the host, on command and at intervals.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::time::{Duration, Instant};

use netstudy_records::{ProbePlan, Snapshot};

use crate::clock::monotonic_ns;

/// Files whose text is kept.
const SOURCES: [&str; 2] = ["/proc/net/snmp", "/proc/net/netstat"];
/// Name of the snapshots that are taken at intervals.
const SAMPLE: &str = "sample";

/// When samples are due, and how they are taken.
#[derive(Debug)]
pub(crate) struct Sampling {
    interval: Option<Duration>,
    next: Option<Instant>,
}

impl Sampling {
    /// Samples at the intervals of `plan`, the first one an interval from now.
    pub(crate) fn new(plan: &ProbePlan) -> Self {
        let interval = plan.interval_ms.map(Duration::from_millis);
        Self { interval, next: interval.map(|interval| Instant::now() + interval) }
    }

    /// When the next sample is due.
    pub(crate) const fn next(&self) -> Option<Instant> {
        self.next
    }

    /// A snapshot that was asked for.
    pub(crate) fn snapshot(name: String) -> io::Result<Snapshot> {
        let at_ns = monotonic_ns();
        let raw = SOURCES
            .iter()
            .map(|&path| Ok((path.to_owned(), fs::read_to_string(path)?)))
            .collect::<io::Result<BTreeMap<_, _>>>()?;
        let cost_ns = monotonic_ns() - at_ns;
        Ok(Snapshot { name, at_ns, counters: BTreeMap::new(), cost_ns, raw })
    }

    /// The sample that is due now; none if it cannot be read.
    pub(crate) fn sample(&mut self) -> Option<Snapshot> {
        self.next = self.interval.map(|interval| Instant::now() + interval);
        let snapshot = Self::snapshot(SAMPLE.to_owned()).ok()?;
        Some(Snapshot { raw: BTreeMap::new(), ..snapshot })
    }
}
