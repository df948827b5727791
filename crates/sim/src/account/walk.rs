//! The path of a unit of work: from its end back to its start.

use netstudy_records::{Place, Reason, TimeView};
use netstudy_units::Time;

use super::arena::{Arena, NodeId, Site, Spot, What};
use crate::end_index::EndIndex;

/// A part of a unit's time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Part {
    pub(crate) reason: Reason,
    pub(crate) spot: Spot,
}

/// The number of a [`Part`].
pub(crate) type PartNumber = u32;

/// Time in picoseconds by part, each part at most once.
pub(crate) type Parts = Vec<(PartNumber, u64)>;

const REASONS: usize = Reason::OwnInterface as usize + 1;
const PLACES: usize = Place::NotKnown as usize + 1;

/// Adds up times by part, in an array with an entry for each part that is possible in a network.
#[derive(Debug, Default)]
pub(crate) struct Adder {
    nodes: usize,
    sites: usize,
    ps: Vec<u64>,
    /// Parts with an entry above zero.
    found: Vec<PartNumber>,
    /// The part with each number that was found so far.
    parts: Vec<Option<Part>>,
}

impl Adder {
    /// For a network with this number of nodes and of ends of links.
    pub(crate) fn new(nodes: usize, ends: usize) -> Self {
        let sites = nodes + ends;
        let count = REASONS * PLACES * sites;
        Self { nodes, sites, ps: vec![0; count], found: Vec::new(), parts: vec![None; count] }
    }

    fn add(&mut self, part: Part, ps: u64) {
        let Part { reason, spot: Spot { place, site } } = part;
        let site = match site {
            Site::Node(node) => node as usize,
            Site::Link(end) => self.nodes + end as usize,
        };
        let number = (reason as usize * PLACES + place as usize) * self.sites + site;
        if self.ps[number] == 0 {
            self.found.push(number as PartNumber);
            self.parts[number] = Some(part);
        }
        self.ps[number] += ps;
    }

    /// The times since the last call.
    fn take(&mut self) -> Parts {
        let ps = &mut self.ps;
        self.found.drain(..).map(|part| (part, std::mem::take(&mut ps[part as usize]))).collect()
    }

    /// A part that was found.
    pub(crate) fn part(&self, number: PartNumber) -> Part {
        self.parts[number as usize].expect("it was found")
    }
}

/// A break in the path of a unit: an error of the trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Broken {
    /// Where the path ends.
    pub(crate) at: Time,
    /// The node that does not end there.
    pub(crate) node: NodeId,
}

/// The node of the sending of the data whose arrival is `arrival`; none if nodes since then were
/// removed. The node itself may be kept nevertheless: that of a packet that waits to be sent.
pub(crate) fn sending(arena: &Arena, arrival: NodeId) -> Option<NodeId> {
    let mut id = arrival;
    while id != NodeId::BEFORE {
        let node = arena.get(id);
        if let What::Because(_, Some(_)) = node.what {
            return (node.to >= arena.complete_from()).then_some(id);
        }
        id = node.parent;
    }
    None
}

/// Divides the time from `start` to the end of the node `last`.
///
/// In the view [`TimeView::Cause`], the path leaves a wait for the work in front of it, wherever
/// this work came from; from there on, the reasons are the reasons of that work.
pub(crate) fn walk(
    arena: &Arena,
    view: TimeView,
    start: Time,
    last: NodeId,
    adder: &mut Adder,
) -> Result<Parts, Broken> {
    let mut id = last;
    let mut at = arena.get(last).to;
    let mut reason = Reason::Own;
    let mut waiting = None;
    while at > start {
        let node = arena.get(id);
        if id == NodeId::BEFORE || node.to != at {
            adder.take();
            return Err(Broken { at, node: id });
        }
        match node.what {
            What::Because(why, end) => {
                // An end that waits for room waits for the whole round trip, also if the peer sends
                // the acknowledgment together with data of its own.
                let is_peer = end.is_some() && waiting == end.map(EndIndex::peer);
                if reason == Reason::Own || !is_peer {
                    (reason, waiting) = (why, end);
                }
                id = node.parent;
            }
            What::Spent(_) if view == TimeView::Cause && node.behind != NodeId::BEFORE => {
                id = node.behind;
            }
            What::Spent(spot) => {
                let from = node.from.max(start);
                adder.add(Part { reason, spot }, at.since(from).as_ps());
                at = from;
                id = node.parent;
            }
        }
    }
    Ok(adder.take())
}
