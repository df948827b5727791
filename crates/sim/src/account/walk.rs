//! The path of a unit of work: from its end back to its start.

use std::collections::BTreeMap;

use netstudy_records::{Reason, TimeView};
use netstudy_units::Time;

use super::arena::{Arena, NodeId, Spot, What};

/// A part of a unit's time.
pub(crate) type Part = (Reason, Spot);

/// Time in picoseconds by part.
pub(crate) type Parts = BTreeMap<Part, u64>;

/// A break in the path of a unit: an error of the trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Broken {
    /// Where the path ends.
    pub(crate) at: Time,
    /// The node that does not end there.
    pub(crate) node: NodeId,
}

/// The node of the sending of the data whose arrival is `arrival`; none if it is not kept.
pub(crate) fn sending(arena: &Arena, arrival: NodeId) -> Option<NodeId> {
    let mut id = arrival;
    while id != NodeId::BEFORE {
        let node = arena.get(id);
        if let What::Because(..) = node.what {
            return Some(id);
        }
        id = node.parent;
    }
    None
}

/// Divides the time from `start` to the end of the node `last`.
///
/// In the view [`TimeView::Cause`], the path leaves a wait for the work in front of it, wherever
/// this work came from; the reasons along the path are those of that work.
pub(crate) fn walk(
    arena: &Arena,
    view: TimeView,
    start: Time,
    last: NodeId,
    parts: &mut Parts,
) -> Result<(), Broken> {
    let mut id = last;
    let mut at = arena.get(last).to;
    let mut reason = Reason::Own;
    let mut waiting = None;
    while at > start {
        let node = arena.get(id);
        if id == NodeId::BEFORE || node.to != at {
            return Err(Broken { at, node: id });
        }
        match node.what {
            What::Because(why, end) => {
                // An end that waits for room waits for the whole round trip, also if the peer sends
                // the acknowledgment together with data of its own.
                if reason == Reason::Own || waiting != Some(end.peer()) {
                    (reason, waiting) = (why, Some(end));
                }
                id = node.parent;
            }
            What::Spent(_) if view == TimeView::Cause && node.behind != NodeId::BEFORE => {
                id = node.behind;
            }
            What::Spent(spot) => {
                let from = node.from.max(start);
                *parts.entry((reason, spot)).or_default() += at.since(from).as_ps();
                at = from;
                id = node.parent;
            }
        }
    }
    Ok(())
}
