use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::{fs, io};

use super::file::ProcFile;
use super::interfaces::ethernet;
use super::netlink::{EthtoolReader, RouteReader};
use super::processes::{Processes, Spent};
use super::throttle;
use crate::clock::{monotonic_ns, process_cpu_ns, thread_cpu_ns};
use crate::parse::ParseError;
use crate::parse::link::Link;
use crate::readings::{of_ethernet, of_flows, of_links, of_qdiscs, of_text, wanted};
use crate::totals::Totals;
use crate::{FlowReader, Origin, Reading, Snapshot, Source, Sources};

/// Sources that are kept open and read repeatedly. They show the namespace in which they were
/// opened, even if a thread in another namespace reads them.
#[derive(Debug)]
pub struct Probe {
    sources: Sources,
    disks: Vec<String>,
    origin: Origin,
    flows: io::Result<FlowReader>,
    route: io::Result<RouteReader>,
    ethtool: Option<io::Result<EthtoolReader>>,
    files: BTreeMap<Source, io::Result<ProcFile>>,
    processes: Option<io::Result<Processes>>,
    totals: Totals,
}

impl Probe {
    /// Opens the `sources` in the namespace of this thread. If a source could not be opened, each
    /// snapshot reports it as missing.
    #[must_use]
    pub fn open(sources: Sources) -> Self {
        let file = |source: &Source| {
            path(*source, sources.process).map(|path| (*source, ProcFile::open(&path)))
        };
        Self {
            disks: if sources.disks.is_empty() { devices() } else { sources.disks.clone() },
            origin: origin(),
            flows: FlowReader::open(),
            route: RouteReader::open(),
            ethtool: sources.chosen.contains(&Source::Ethernet).then(EthtoolReader::open),
            files: sources.chosen.iter().filter_map(file).collect(),
            processes: sources.chosen.contains(&Source::Processes).then(Processes::here),
            totals: Totals::default(),
            sources,
        }
    }

    /// Reads all sources now.
    #[must_use]
    pub fn take(&mut self) -> Snapshot {
        let mut snapshot = Snapshot::default();
        self.take_into(&mut snapshot, true);
        snapshot
    }

    /// Reads all sources now and replaces the content of `snapshot`. If `keep` is true, also stores
    /// the kernel's output in it.
    pub(crate) fn take_into(&mut self, snapshot: &mut Snapshot, keep: bool) {
        let (started, cpu_started) = (monotonic_ns(), thread_cpu_ns());
        *snapshot = Snapshot { at_ns: started, origin: self.origin.clone(), ..Snapshot::default() };
        let mut links = Vec::new();
        for source in self.sources.chosen.clone() {
            match self.read(source, snapshot, &mut links, keep) {
                Ok(readings) => self.add(source, readings, snapshot),
                Err(error) => drop(snapshot.missing.insert(source, error.to_string())),
            }
        }
        snapshot.cost_ns = monotonic_ns() - started;
        snapshot.cpu_ns = thread_cpu_ns() - cpu_started;
    }

    fn add(&mut self, source: Source, mut readings: Vec<Reading>, snapshot: &mut Snapshot) {
        match self.totals.carry_on(&mut readings) {
            Ok(()) => snapshot.readings.extend(readings),
            Err(error) => drop(snapshot.missing.insert(source, error.to_string())),
        }
    }

    fn read(
        &mut self,
        source: Source,
        snapshot: &mut Snapshot,
        links: &mut Vec<Link>,
        keep: bool,
    ) -> io::Result<Vec<Reading>> {
        match source {
            Source::Flows => {
                snapshot.flows = opened(&mut self.flows)?.flows()?;
                keep_json(snapshot, source, keep, |snapshot| to_json(&snapshot.flows));
                Ok(of_flows(&snapshot.flows))
            }
            Source::Links => {
                *links = opened(&mut self.route)?.links()?;
                keep_json(snapshot, source, keep, |_| to_json(links));
                of_links(links, &self.sources).map_err(invalid)
            }
            Source::Qdiscs => {
                let route = opened(&mut self.route)?;
                let qdiscs = route.qdiscs()?;
                keep_json(snapshot, source, keep, |_| to_json(&qdiscs));
                // The kernel reports a queueing discipline with the number of its interface, so the
                // names of interfaces are needed.
                let names = if links.is_empty() { &route.links()? } else { links };
                of_qdiscs(&qdiscs, names, &self.sources).map_err(invalid)
            }
            Source::Ethernet => {
                let links =
                    if links.is_empty() { &opened(&mut self.route)?.links()? } else { links };
                let chosen = wanted(links, &self.sources).map_err(invalid)?;
                let chosen: Vec<Link> = chosen.into_iter().cloned().collect();
                let ethtool = self.ethtool.as_mut().ok_or(io::ErrorKind::NotFound)?;
                let states = ethernet(ethtool, &chosen);
                keep_json(snapshot, source, keep, |_| to_json(&states));
                Ok(of_ethernet(&states))
            }
            Source::Throttle => {
                let text = throttle::read()?;
                keep_json(snapshot, source, keep, |_| text.clone());
                of_text(source, &text, &self.disks).map_err(invalid)
            }
            Source::ProcessClock => {
                if let Some(process) = self.sources.process {
                    let why = format!(
                        "the process {process} has a separate CPU clock, which is not read"
                    );
                    return Err(io::Error::new(io::ErrorKind::Unsupported, why));
                }
                let text = process_cpu_ns().to_string();
                keep_json(snapshot, source, keep, |_| text.clone());
                of_text(source, &text, &self.disks).map_err(invalid)
            }
            Source::Processes => {
                let processes = self.processes.as_mut().ok_or(io::ErrorKind::NotFound)?;
                let Spent { cpu_ns, waited_ns } = opened(processes)?.spent()?;
                let waited = waited_ns.map(|ns| format!(" {ns}")).unwrap_or_default();
                let text = format!("{cpu_ns}{waited}");
                keep_json(snapshot, source, keep, |_| text.clone());
                of_text(source, &text, &self.disks).map_err(invalid)
            }
            _ => self.read_text(source, snapshot, keep),
        }
    }

    fn read_text(
        &mut self,
        source: Source,
        snapshot: &mut Snapshot,
        keep: bool,
    ) -> io::Result<Vec<Reading>> {
        let file = self.files.get_mut(&source).ok_or(io::ErrorKind::NotFound)?;
        let text = opened(file)?.read()?;
        if keep {
            snapshot.texts.insert(source, text.to_owned());
        }
        of_text(source, text, &self.disks).map_err(invalid)
    }
}

fn keep_json(
    snapshot: &mut Snapshot,
    source: Source,
    keep: bool,
    json: impl FnOnce(&Snapshot) -> String,
) {
    if keep {
        let json = json(snapshot);
        snapshot.texts.insert(source, json);
    }
}

fn to_json(told: &impl serde::Serialize) -> String {
    serde_json::to_string(told).expect("names and numbers are JSON")
}

/// The opened source, or the reason why it could not be opened.
fn opened<T>(opened: &mut io::Result<T>) -> io::Result<&mut T> {
    opened.as_mut().map_err(|error| io::Error::new(error.kind(), error.to_string()))
}

fn invalid(error: ParseError) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error)
}

/// The path of a source that is a file. Files that depend on the namespace are read below
/// /proc/thread-self, because /proc/net shows the namespace of the first thread of the process.
fn path(source: Source, process: Option<u32>) -> Option<String> {
    match source {
        Source::Flows
        | Source::Links
        | Source::Qdiscs
        | Source::Ethernet
        | Source::Throttle
        | Source::ProcessClock
        | Source::Processes => None,
        Source::Snmp | Source::Netstat | Source::Softnet => {
            Some(source.place().replace("/proc/net", "/proc/thread-self/net"))
        }
        Source::Process => {
            let process = process.map_or_else(|| "self".to_owned(), |pid| pid.to_string());
            Some(source.place().replace("<pid>", &process))
        }
        _ => Some(source.place().to_owned()),
    }
}

/// Names of all disks that are devices. Partitions are left out, and so are disks made of other
/// disks or of memory.
fn devices() -> Vec<String> {
    let entries = fs::read_dir("/sys/block").into_iter().flatten().flatten();
    let devices = entries.filter(|entry| entry.path().join("device").exists());
    devices.filter_map(|entry| entry.file_name().into_string().ok()).collect()
}

fn origin() -> Origin {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok();
    Origin {
        boot: boot.map(|id| id.trim_end().to_owned()),
        namespace: fs::metadata("/proc/thread-self/ns/net").ok().map(|namespace| namespace.ino()),
    }
}
