//! The accounts of time of a run's record.

use std::collections::BTreeMap;

use netstudy_records as records;
use netstudy_records::{
    Check, Latency, Place, Reason, RequestHistogram, Samples, TimeAccount, UnitKind,
};

use super::Trace;
use super::arena::{Site, Spot};
use super::units::{Units, VIEWS};
use super::walk::{Adder, Broken, Part, PartNumber};
use crate::record::{PROBE, TRANSACTION};
use crate::wiring::Wiring;

/// The accounts of time of a run that has ended.
#[derive(Debug)]
pub(crate) struct Accounts {
    units: Units,
    adder: Adder,
    broken: Option<Broken>,
    /// The name of each node, and that of its group.
    names: Vec<[String; 2]>,
    /// For each end of a link: the node at it.
    at: Vec<usize>,
}

/// The names in a row: of a node and, for links, of the node at the other end.
type Names = [String; 2];

impl Accounts {
    /// The accounts at the end of the run `run`. The trace has no units afterwards.
    pub(crate) fn new(trace: &mut Trace, run: &records::Run, wiring: &Wiring) -> Self {
        let none = Units::new(trace.units.kind);
        let (units, broken) = (std::mem::replace(&mut trace.units, none), trace.broken);
        let adder = std::mem::take(&mut trace.adder);
        let names = run.network.nodes.iter().map(|node| names_of(run, node)).collect();
        Self { units, adder, broken, names, at: wiring.nodes_of_links() }
    }

    /// Adds the accounts of all groups in both views to the samples of a record. Returns the check
    /// that the parts of each unit add up, and that the units agree with the other samples.
    pub(crate) fn add_to(self, samples: &mut Samples) -> Check {
        let check = self.check(recorded(samples, self.units.kind));
        let Self { units, adder, names, at, .. } = self;
        if let Some(table) = &mut samples.connection {
            table.last = units.last(table.client.len());
        }
        let kind = units.kind;
        for (group, sums, worst) in units.groups() {
            // Hosts of one group count together, except in a single unit.
            let choice = usize::from(worst.is_none());
            let name = |node: usize| names[node][choice].clone();
            let named = |site: Site| -> Names {
                match site {
                    Site::Node(node) => [name(node as usize), String::new()],
                    Site::Link(end) => [end, end ^ 1].map(|end| name(at[end as usize])),
                }
            };
            for (view, parts) in VIEWS.into_iter().zip(&sums.parts) {
                let rows = merged(parts, &adder, &named);
                samples.time.push(TimeAccount {
                    view,
                    group,
                    unit: kind,
                    units: sums.units,
                    whole_ps: sums.whole_ps,
                    number: worst.map(|(number, _)| number),
                    connection: worst.map(|(_, connection)| connection),
                    reason: rows.keys().map(|(reason, ..)| *reason).collect(),
                    place: rows.keys().map(|(_, place, _)| *place).collect(),
                    node: rows.keys().map(|(.., names)| names[0].clone()).collect(),
                    to: rows.keys().map(|(.., names)| names[1].clone()).collect(),
                    low_ps: rows.into_values().collect(),
                    high_ps: None,
                });
            }
        }
        check
    }

    fn check(&self, recorded: Option<[u64; 2]>) -> Check {
        let (units, whole_ps) = self.units.total();
        let law = "the parts of each unit of work add up to its time".to_owned();
        if let Some(broken) = self.broken {
            let detail = format!("the path of a unit breaks at {:?}", broken.at);
            return Check { law, holds: false, detail };
        }
        // Each recorded time is rounded to nanoseconds.
        let agrees = recorded.is_none_or(|[count, sum_ns]| {
            count == units && sum_ns.abs_diff(whole_ps / 1000) <= count
        });
        let detail = format!("{units} units, {whole_ps} ps; recorded: {recorded:?}");
        Check { law, holds: agrees, detail }
    }
}

/// The number of units of this kind in the samples of a record, and the sum of their times in
/// nanoseconds, each rounded to one; none if the samples do not have them.
fn recorded(samples: &Samples, kind: UnitKind) -> Option<[u64; 2]> {
    let in_histograms = |is_counted: fn(&RequestHistogram) -> bool| {
        let counted = samples.request.iter().filter(|one| is_counted(one));
        Some(counted.fold([0, 0], |[count, sum], one| [count + one.count, sum + one.sum_ns]))
    };
    match kind {
        UnitKind::Iteration => {
            let all = &samples.iteration.as_ref()?.completion_ns;
            Some([all.len() as u64, all.iter().sum()])
        }
        UnitKind::Transfer => {
            let all = samples.transfer.as_ref()?;
            let times = all.start_ns.iter().zip(&all.end_ns).map(|(start, end)| end - start);
            Some([all.end_ns.len() as u64, times.sum()])
        }
        UnitKind::Request => in_histograms(|one| one.operation != PROBE),
        UnitKind::Transaction => {
            in_histograms(|one| one.operation == TRANSACTION && one.latency == Latency::Response)
        }
        UnitKind::Interval => None,
    }
}

/// The sums by reason, place and names. Hosts of one group have the same name.
fn merged(
    parts: &BTreeMap<PartNumber, u64>,
    adder: &Adder,
    named: &impl Fn(Site) -> Names,
) -> BTreeMap<(Reason, Place, Names), u64> {
    let mut rows = BTreeMap::new();
    for (number, ps) in parts {
        let Part { reason, spot: Spot { place, site } } = adder.part(*number);
        *rows.entry((reason, place, named(site))).or_default() += ps;
    }
    rows
}

fn names_of(run: &records::Run, node: &records::Node) -> [String; 2] {
    let group_of = |name: &str| {
        run.network.nodes.iter().find_map(|node| match node {
            records::Node::Host(host) if host.name == name => Some(host.group.clone()),
            _ => None,
        })
    };
    match node {
        records::Node::Host(host) => [host.name.clone(), host.group.clone()],
        records::Node::Zone(zone) => {
            [zone.name.clone(), group_of(&zone.host).unwrap_or_else(|| zone.name.clone())]
        }
        records::Node::Switch(switch) => [switch.name.clone(), switch.name.clone()],
    }
}
