//! Reads the counters of the host, and turns them into records.

use std::collections::BTreeMap;
use std::fs;
use std::sync::Arc;
use std::time::Duration;

use netstudy_probe::{Probe, Sampler, Samples, Source, Sources};
use netstudy_records::{AgentPlan, AgentRecord, InstrumentPlan, Snapshot};
use nix::sys::resource::{UsageWho, getrusage};

use crate::failure::Failure;
use crate::scheduling::Scheduling;
use crate::tallies::Tallies;

/// The sources to read at any time, but only of the interfaces that the plan lists.
fn sources(plan: &InstrumentPlan) -> Sources {
    let sources = Sources::all().with_interfaces(plan.interfaces.clone());
    if plan.namespace_cpu { sources.with(Source::Processes) } else { sources }
}

/// Takes snapshots on request.
pub(crate) struct Snapshots {
    host: Probe,
    connections: Arc<Tallies>,
    scheduling: Arc<Scheduling>,
    /// True: the disk I/O of this process is counted too.
    own_files: bool,
}

impl Snapshots {
    pub(crate) fn new(
        plan: &InstrumentPlan,
        connections: Arc<Tallies>,
        scheduling: Arc<Scheduling>,
        own_files: bool,
    ) -> Self {
        let sources = sources(plan).with(Source::Ethernet).with(Source::Throttle);
        Self { host: Probe::open(sources), connections, scheduling, own_files }
    }

    /// Reads all counters now, as the snapshot `name`.
    pub(crate) fn take(&mut self, name: String) -> Snapshot {
        let mut missing = BTreeMap::new();
        let connections = self.connections.counters(&mut missing);
        let taken = self.host.take();
        let of_host = taken.missing.iter();
        missing.extend(of_host.map(|(source, why)| (source.to_string(), why.clone())));
        let mut counters = taken.counters();
        counters.append(&mut taken.cpu_busy_ns());
        if let Some(waited_ns) = self.scheduling.spent().waited_ns {
            counters.insert("process_waited_ns".to_owned(), waited_ns);
        }
        if self.own_files {
            add_own_files(&mut counters, &mut missing);
        }
        if let Some([read, written]) = self.connections.http_bytes() {
            counters.insert("http_bytes_read".to_owned(), read);
            counters.insert("http_bytes_written".to_owned(), written);
        }
        Snapshot {
            name,
            at_ns: taken.at_ns,
            counters,
            gauges: taken.gauges(),
            missing,
            connections,
            cost_ns: taken.cost_ns,
            raw: taken.raw(),
        }
    }
}

/// Adds how many bytes this process has read from the disk and written to it (/proc/pid/io,
/// proc(5)). Bytes that came from the page cache or a RAM disk are not included. Pages of the
/// program itself are, so the number of major page faults (getrusage(2)) is added too.
fn add_own_files(counters: &mut BTreeMap<String, u64>, missing: &mut BTreeMap<String, String>) {
    const PLACE: &str = "/proc/self/io";
    let text = match fs::read_to_string(PLACE) {
        Ok(text) => text,
        // A kernel without CONFIG_TASK_IO_ACCOUNTING has no such file.
        Err(error) => {
            missing.insert(PLACE.to_owned(), error.to_string());
            return;
        }
    };
    for (field, name) in
        [("read_bytes", "process_bytes_read"), ("write_bytes", "process_bytes_written")]
    {
        let value = text.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(": "));
        match value.and_then(|value| value.parse().ok()) {
            Some(value) => counters.insert(name.to_owned(), value).map_or((), drop),
            None => missing.insert(format!("{PLACE} {field}"), text.clone()).map_or((), drop),
        }
    }
    let faults = getrusage(UsageWho::RUSAGE_SELF).map(|usage| usage.major_page_faults());
    match faults {
        Ok(faults) => {
            counters.insert("process_major_faults".to_owned(), faults.unsigned_abs());
        }
        Err(error) => {
            missing.insert("getrusage".to_owned(), error.to_string());
        }
    }
}

/// Starts a sampler with the interval of the plan; none if the plan has no interval.
pub(crate) fn start(plan: &AgentPlan) -> Result<Option<Sampler>, Failure> {
    let Some(interval_ms) = plan.instruments.counters_interval_ms else { return Ok(None) };
    // One sample per interval until the time limit, plus one at the start.
    let samples_max = (plan.time_limit_ms / interval_ms + 1) as usize;
    Sampler::start(sources(&plan.instruments), Duration::from_millis(interval_ms), samples_max)
        .map(Some)
        .map_err(Failure::run("starting a thread"))
}

/// The samples as a record with one column per counter.
pub(crate) fn record(taken: &Samples) -> AgentRecord {
    let column = |name: &'static str| {
        let values = (0..taken.samples.len()).map(|sample| taken.value(sample, name)).collect();
        (name.to_owned(), values)
    };
    let values: BTreeMap<String, Vec<Option<u64>>> =
        taken.names.iter().map(|name| column(name)).collect();
    AgentRecord::Samples {
        at_ns: taken.samples.iter().map(|sample| sample.at_ns).collect(),
        late_ns: taken.samples.iter().map(|sample| sample.late_ns).collect(),
        cost_ns: taken.samples.iter().map(|sample| sample.cost_ns).collect(),
        skipped: taken.skipped,
        values,
    }
}
