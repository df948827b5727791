//! The nodes of a trace: intervals of time, each with the one that led to it.

use netstudy_records::{Place, Reason};
use netstudy_units::Time;

use crate::end_index::EndIndex;

/// A node of the arena.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct NodeId(u32);

impl NodeId {
    /// The time before all nodes that are kept.
    pub(crate) const BEFORE: Self = Self(0);
}

/// Where a part of a time passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Spot {
    pub(crate) place: Place,
    pub(crate) site: Site,
}

/// The location of a [`Spot`] in the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Site {
    /// A host, zone or switch, by its node.
    Node(u32),
    /// A direction of a link, by the number of the end that sends
    /// ([`netstudy_fabric::topology::CableEnd::number`]).
    Link(u32),
}

/// The meaning of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum What {
    /// Time passed at this spot.
    Spent(Spot),
    /// A point in time, at which this end of a connection sends data or, if none, an application
    /// goes on. Everything before was necessary for this reason.
    Because(Reason, Option<EndIndex>),
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Node {
    /// The node that led to this one. It ends when this one begins.
    pub(crate) parent: NodeId,
    /// If this node is a wait: the node of the work in front of it. It ends when this one ends.
    pub(crate) behind: NodeId,
    pub(crate) from: Time,
    pub(crate) to: Time,
    pub(crate) what: What,
}

/// Marks a node that stays.
const STAYS: NodeId = NodeId(u32::MAX);
/// Number of nodes at which nodes are removed for the first time. In tests, nodes are removed often.
const FULL: usize = if cfg!(test) { 1 << 8 } else { 1 << 16 };

/// The nodes of a trace. A node has a higher number than its parent and the node in front of it.
#[derive(Debug)]
pub(crate) struct Arena {
    nodes: Vec<Node>,
    /// Used by [`Self::compact`] only.
    renamed: Vec<NodeId>,
    /// Nodes are removed when there are this many.
    full: usize,
    /// No node that ends later was removed.
    complete_from: Time,
}

impl Arena {
    pub(crate) fn new() -> Self {
        let before = Node {
            parent: NodeId::BEFORE,
            behind: NodeId::BEFORE,
            from: Time::ZERO,
            to: Time::ZERO,
            what: What::Because(Reason::Own, None),
        };
        Self { nodes: vec![before], renamed: Vec::new(), full: FULL, complete_from: Time::ZERO }
    }

    pub(crate) fn push(&mut self, node: Node) -> NodeId {
        debug_assert!(node.to >= node.from, "{node:?}");
        self.nodes.push(node);
        NodeId(self.nodes.len() as u32 - 1)
    }

    #[inline]
    pub(crate) fn get(&self, id: NodeId) -> &Node {
        &self.nodes[id.0 as usize]
    }

    /// The time from which on the arena has all nodes: a path leads back to it without a gap.
    pub(crate) const fn complete_from(&self) -> Time {
        self.complete_from
    }

    pub(crate) const fn is_full(&self) -> bool {
        self.nodes.len() >= self.full
    }

    /// Removes the nodes that end at `horizon` or earlier, since no unit of work that is under way
    /// began before it. `held` are all numbers of nodes outside of the arena; these nodes stay, and
    /// the numbers are updated.
    pub(crate) fn compact<'a>(
        &mut self,
        horizon: Time,
        held: impl Iterator<Item = &'a mut NodeId>,
    ) {
        self.complete_from = self.complete_from.max(horizon);
        let held: Vec<_> = held.collect();
        // First a mark at each node that stays anyway, then the new number of each node that stays.
        self.renamed.clear();
        self.renamed.resize(self.nodes.len(), NodeId::BEFORE);
        for id in &held {
            self.renamed[id.0 as usize] = STAYS;
        }
        self.renamed[0] = NodeId::BEFORE;
        let mut next = 1;
        for index in 1..self.nodes.len() {
            let mut node = self.nodes[index];
            if node.to <= horizon && self.renamed[index] != STAYS {
                continue;
            }
            node.parent = self.renamed[node.parent.0 as usize];
            node.behind = self.renamed[node.behind.0 as usize];
            self.renamed[index] = NodeId(next as u32);
            self.nodes[next] = node;
            next += 1;
        }
        self.nodes.truncate(next);
        for id in held {
            *id = self.renamed[id.0 as usize];
        }
        // At least half of the nodes must be new before the next time, so that a node is copied
        // about once.
        self.full = (2 * next).max(FULL);
    }
}
