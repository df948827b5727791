//! Instruments: counters read at an interval of virtual time.
//!
//! Taking a sample does not change the simulation. If an instrument samples switch ports, frames
//! are judged only when they arrive, so queues and counters of ports are exact at the time of the
//! sample. The hosts of a star still run ahead of the clock: a sample of a host or its connections
//! may include effects of frames that are still at the switch or on the wire to the host at the
//! time of the sample. Retransmissions and timeouts later than this time are subtracted. In other
//! networks all samples are exact.

mod reading;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::iter;

use netstudy_fabric::topology::{Attachment, CableEnd};
use netstudy_records as records;
use netstudy_records::InstrumentKind;
use netstudy_units::{Duration, Time};

use crate::counters::Cpus;
use crate::end_index::EndIndex;
use crate::wiring::Wiring;

/// An instrument of a plan, and its samples.
pub(crate) struct Sampler {
    kind: InstrumentKind,
    node: String,
    every: Duration,
    at: Vec<Time>,
    subjects: Vec<Subject>,
}

/// A port, connection, host or interface that a sampler reads, with one column for each quantity.
struct Subject {
    port: Option<String>,
    /// The index of the connection among those of the workload.
    connection: Option<u32>,
    source: Source,
    columns: BTreeMap<Cow<'static, str>, Vec<Option<u64>>>,
}

/// Where the values of a subject come from.
enum Source {
    /// The port of a switch at this end of a link.
    Port(usize),
    /// This end of a connection.
    Connection(EndIndex),
    /// A host: its members in the wiring, the link ends of its interfaces, its CPUs and its node.
    Host { members: Vec<usize>, interfaces: Vec<usize>, cpus: Option<Cpus>, node: usize },
    /// An interface, at this end of a link.
    Interface(usize),
}

impl Sampler {
    /// Creates the sampler for an instrument of a plan, or returns why this is impossible.
    /// `connections` are the workload's connections, as pairs of members.
    pub(crate) fn new(
        instrument: &records::Instrument,
        wiring: &Wiring,
        connections: &[[usize; 2]],
    ) -> Result<Self, String> {
        let records::Instrument { kind, node, port, every_ns, from, access: _, sysstat: _ } =
            instrument;
        if *every_ns == 0 {
            return Err(format!(
                "the instrument {kind:?} of {node:?} reads at an interval of 0 ns"
            ));
        }
        let of_ports = matches!(kind, InstrumentKind::Ports | InstrumentKind::Snmp);
        if from.is_some() && *kind != InstrumentKind::Snmp {
            return Err(format!(
                "the instrument {kind:?} of {node:?} is not polled over the network: leave out from"
            ));
        }
        if port.is_some() && !of_ports {
            return Err(format!(
                "the instrument {kind:?} cannot read a single port: it reads {node:?} as a whole"
            ));
        }
        let subjects = match kind {
            // An SNMP poll reads the counters of the ports. The frames that a real poll sends over
            // its own port are not modeled.
            InstrumentKind::Ports | InstrumentKind::Snmp => ports(wiring, node, port.as_deref())?,
            InstrumentKind::Tcp => ends(wiring, node, connections),
            InstrumentKind::Host => hosts(wiring, node),
        };
        let is_switch = |number| wiring.topology.switches().iter().any(|one| one.node == number);
        let place = wiring.topology.nodes().iter().position(|one| one.name == *node);
        if !of_ports && place.is_none_or(is_switch) {
            return Err(format!(
                "the instrument {kind:?} reads {node:?}, which is no host or zone"
            ));
        }
        let every = Duration::from_ns(*every_ns);
        Ok(Self { kind: *kind, node: node.clone(), every, at: Vec::new(), subjects })
    }

    /// Time between two samples.
    pub(crate) const fn every(&self) -> Duration {
        self.every
    }

    /// All samples taken.
    pub(crate) fn into_series(self) -> impl Iterator<Item = records::Series> {
        let Self { kind, node, at, subjects, .. } = self;
        let at_ns: Vec<u64> = at.into_iter().map(Time::as_ns).collect();
        subjects.into_iter().map(move |Subject { port, connection, columns, .. }| {
            let named = columns.into_iter().map(|(name, values)| (name.into_owned(), values));
            records::Series {
                node: node.clone(),
                port,
                connection,
                instrument: kind,
                at_ns: at_ns.clone(),
                values: named.collect(),
            }
        })
    }
}

impl Subject {
    const fn new(source: Source, port: Option<String>, connection: Option<u32>) -> Self {
        Self { port, connection, source, columns: BTreeMap::new() }
    }

    fn push(
        &mut self,
        values: impl IntoIterator<Item = (impl Into<Cow<'static, str>>, Option<u64>)>,
    ) {
        for (name, value) in values {
            self.columns.entry(name.into()).or_default().push(value);
        }
    }
}

/// The ports of a switch, or only the port `name`.
fn ports(wiring: &Wiring, node: &str, name: Option<&str>) -> Result<Vec<Subject>, String> {
    let topology = &wiring.topology;
    let all =
        (0..topology.cables().len()).flat_map(|cable| [0, 1].map(|end| CableEnd { cable, end }));
    let found: Vec<_> = all
        .filter(|&at| matches!(topology.attachment(at), Attachment::SwitchPort { .. }))
        .map(|at| (at, &topology.cables()[at.cable].ends[at.end]))
        .filter(|(_, port)| topology.nodes()[port.node].name == node)
        .filter(|(_, port)| name.is_none_or(|name| name == port.name))
        .map(|(at, port)| Subject::new(Source::Port(at.number()), Some(port.name.clone()), None))
        .collect();
    if found.is_empty() {
        let port = name.map_or_else(|| "a port".to_owned(), |name| format!("the port {name:?}"));
        return Err(format!(
            "an instrument reads {port} of {node:?}, which is not a switch with such a port"
        ));
    }
    Ok(found)
}

/// The ends, at a node, of the workload's connections.
fn ends(wiring: &Wiring, node: &str, connections: &[[usize; 2]]) -> Vec<Subject> {
    let all = connections.iter().zip(0..).flat_map(|(members, row)| {
        [0, 1].map(|side| (members[side], row, EndIndex(2 * row + side as u32)))
    });
    all.filter(|&(member, ..)| wiring.name_of(member) == node)
        .map(|(_, row, end)| Subject::new(Source::Connection(end), None, Some(row)))
        .collect()
}

/// The subjects of a host or zone: itself and its interfaces. Empty if there is no such node.
fn hosts(wiring: &Wiring, name: &str) -> Vec<Subject> {
    let topology = &wiring.topology;
    let Some(node) = topology.nodes().iter().position(|one| one.name == name) else {
        return Vec::new();
    };
    let members = (0..wiring.members.len()).filter(|&member| wiring.name_of(member) == name);
    let interfaces: Vec<CableEnd> = wiring.interfaces_of(node).map(|(at, _)| at).collect();
    let each = interfaces.iter().map(|&at| {
        let port = topology.cables()[at.cable].ends[at.end].name.clone();
        Subject::new(Source::Interface(at.number()), Some(port), None)
    });
    let source = Source::Host {
        members: members.collect(),
        interfaces: interfaces.iter().map(|at| at.number()).collect(),
        cpus: Cpus::of_host(wiring, node),
        node,
    };
    iter::once(Subject::new(source, None, None)).chain(each).collect()
}
