//! Converts parsed fields into readings, which have our own names.

use std::sync::Arc;

use crate::parse::ethtool::Ethernet;
use crate::parse::link::Link;
use crate::parse::qdisc::Qdisc;
use crate::parse::{
    Columns, Fields, ParseError, diskstats, key_values, mib, pressure, process, softnet, stat,
};
use crate::{Counter, Flow, Source, Sources};

/// A value reported by the kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reading {
    /// The source.
    pub source: Source,
    /// The counter.
    pub counter: &'static Counter,
    /// The CPU, interface, disk or connection; none: the whole host.
    pub part: Option<Arc<str>>,
    /// Differs between parts that had the same name one after the other.
    pub instance: u64,
    /// The value as the kernel reports it, in the kernel's unit.
    pub value: u64,
    /// The value as if the counter had never wrapped or been corrected since the probe was opened.
    pub total: u64,
}

impl Reading {
    /// [`Self::total`], converted to the unit in the counter's name.
    #[must_use]
    pub fn scaled(&self) -> u64 {
        self.in_unit(self.total)
    }

    /// Converts `amount` from the kernel's unit to the unit in the counter's name.
    pub(crate) fn in_unit(&self, amount: u64) -> u64 {
        amount.saturating_mul(self.counter.unit.factor())
    }
}

/// Readings of one source.
struct Collector {
    source: Source,
    readings: Vec<Reading>,
}

impl Collector {
    const fn new(source: Source) -> Self {
        Self { source, readings: Vec::new() }
    }

    fn whole(mut self, fields: &impl Fields) -> Vec<Reading> {
        self.add(None, 0, fields, |_| true);
        self.readings
    }

    fn part(&mut self, name: &str, instance: u64, fields: &impl Fields) {
        self.add(Some(&name.into()), instance, fields, |_| true);
    }

    fn add(
        &mut self,
        part: Option<&Arc<str>>,
        instance: u64,
        fields: &impl Fields,
        wanted: fn(&Counter) -> bool,
    ) {
        for counter in self.source.counters().iter().filter(|counter| wanted(counter)) {
            if let Some(value) = fields.field(counter.field) {
                let (source, part) = (self.source, part.cloned());
                self.readings.push(Reading {
                    source,
                    counter,
                    part,
                    instance,
                    value,
                    total: value,
                });
            }
        }
    }
}

/// Names of the numbers that this crate itself reads of processes.
const SPENT: &[&str] = &["nanoseconds", "waited"];
/// Names of the numbers that this crate itself reads of each CPU.
const THROTTLED: &[&str] = &["core", "package"];

/// Readings of a file of /proc, or of numbers that this crate has read from several files.
pub(crate) fn of_text(
    source: Source,
    text: &str,
    disks: &[String],
) -> Result<Vec<Reading>, ParseError> {
    let collector = Collector::new(source);
    Ok(match source {
        Source::Snmp | Source::Netstat => collector.whole(&mib::parse(text)?),
        Source::Process => collector.whole(&process::parse(text)?),
        Source::ProcessClock | Source::Processes => {
            collector.whole(&Columns::of_words(SPENT, text.split_ascii_whitespace())?)
        }
        Source::Pressure => collector.whole(&pressure::parse(text)?),
        Source::Memory | Source::Paging => collector.whole(&key_values::parse(text)?),
        Source::Cpus => of_stat(collector, &stat::parse(text)?),
        Source::Softnet => of_softnet(collector, text)?,
        Source::Disks => of_disks(collector, text, disks)?,
        Source::Throttle => of_throttle(collector, text)?,
        Source::Flows | Source::Links | Source::Qdiscs | Source::Ethernet => Vec::new(),
    })
}

fn of_stat(mut collector: Collector, stat: &stat::Stat<'_>) -> Vec<Reading> {
    for (name, core) in &stat.cores {
        collector.part(name, 0, core);
    }
    collector.whole(&stat.events)
}

fn of_softnet(mut collector: Collector, text: &str) -> Result<Vec<Reading>, ParseError> {
    for (cpu, columns) in softnet::parse(text)? {
        collector.part(&format!("cpu{cpu}"), 0, &columns);
    }
    Ok(collector.readings)
}

/// A line for each CPU: its name, then the numbers.
fn of_throttle(mut collector: Collector, text: &str) -> Result<Vec<Reading>, ParseError> {
    for line in text.lines() {
        let mut words = line.split_ascii_whitespace();
        let name = words.next().ok_or_else(|| ParseError::new("the name of a CPU", line))?;
        collector.part(name, 0, &Columns::of_words(THROTTLED, words)?);
    }
    Ok(collector.readings)
}

fn of_disks(
    mut collector: Collector,
    text: &str,
    wanted: &[String],
) -> Result<Vec<Reading>, ParseError> {
    let disks = diskstats::parse(text)?;
    for name in wanted {
        let disk = disks.iter().find(|(known, _)| known == name);
        let (_, columns) = disk.ok_or_else(|| ParseError::new("an existing disk", name))?;
        collector.part(name, 0, columns);
    }
    Ok(collector.readings)
}

/// Readings of the selected interfaces.
pub(crate) fn of_links(links: &[Link], sources: &Sources) -> Result<Vec<Reading>, ParseError> {
    let mut collector = Collector::new(Source::Links);
    for link in wanted(links, sources)? {
        collector.part(&link.name, instance(link.index), link);
    }
    Ok(collector.readings)
}

/// Readings of links. Interfaces without rate and PAUSE, such as loopback, have none.
pub(crate) fn of_ethernet(states: &[Ethernet]) -> Vec<Reading> {
    let mut collector = Collector::new(Source::Ethernet);
    for state in states {
        collector.part(&state.name, instance(state.index), state);
    }
    collector.readings
}

/// Readings of the queueing disciplines of the selected interfaces.
pub(crate) fn of_qdiscs(
    qdiscs: &[Qdisc],
    links: &[Link],
    sources: &Sources,
) -> Result<Vec<Reading>, ParseError> {
    let mut collector = Collector::new(Source::Qdiscs);
    for link in wanted(links, sources)? {
        let of_link = |qdisc: &&Qdisc| qdisc.interface == link.index && qdisc.is_root();
        for qdisc in qdiscs.iter().filter(of_link) {
            // Without a queue the kernel counts nothing, but we know that no packet was dropped.
            let counted: fn(&Counter) -> bool =
                if qdisc.counts() { |_| true } else { |counter| counter.field == "drops" };
            // A changed handle means a new queueing discipline.
            let instance = instance(link.index) << 32 | u64::from(qdisc.handle);
            collector.add(Some(&link.name.as_str().into()), instance, qdisc, counted);
        }
    }
    Ok(collector.readings)
}

fn instance(interface: i32) -> u64 {
    u64::from(interface.cast_unsigned())
}

/// The interfaces that the sources select.
pub(crate) fn wanted<'a>(
    links: &'a [Link],
    sources: &Sources,
) -> Result<Vec<&'a Link>, ParseError> {
    if sources.interfaces.is_empty() {
        return Ok(links.iter().collect());
    }
    let named = |name: &String| {
        let link = links.iter().find(|link| link.name == *name);
        link.ok_or_else(|| ParseError::new("an existing interface", name))
    };
    sources.interfaces.iter().map(named).collect()
}

/// Readings of connections.
pub(crate) fn of_flows(flows: &[Flow]) -> Vec<Reading> {
    let mut collector = Collector::new(Source::Flows);
    for flow in flows {
        collector.part(&flow.socket.to_string(), flow.cookie, flow);
    }
    collector.readings
}
