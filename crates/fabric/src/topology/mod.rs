//! The graph of a network (hosts, zones, switches, and the links between their ports), and the
//! routes through the graph.
//!
//! Hosts do not forward, and a cycle of switches is rejected, since switches do not learn
//! alternative paths. So there is at most one path between two interfaces, and forwarding tables
//! are static. A host with several interfaces does not close a cycle, even if they are on one
//! switch.
//!
//! A zone is a set of processes on a host, with an address of its own. A zone shares the interfaces
//! of its host. Linux delivers packets between two addresses of one machine internally, whichever
//! interfaces have these addresses (`ip_route_output_key` finds them in the table `local`). Routes
//! here do the same, unless the two ends of a connection have separate network stacks (network
//! namespaces) and are bound to two different interfaces.

use alloc::borrow::ToOwned;
use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;

use netstudy_units::{Duration, Rate};

use crate::Link;

/// The kind of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeKind {
    /// A host: it has interfaces and does not forward.
    Host,
    /// A zone: it shares the interfaces of its host.
    Zone {
        /// Index of its host in the list of nodes.
        host: usize,
    },
    /// A switch: it forwards.
    Switch,
}

/// A node of the network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Its unique name.
    pub name: String,
    /// Its kind.
    pub kind: NodeKind,
}

/// A port of a node: one end of a link.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Port {
    /// Index of its node in the list of nodes.
    pub node: usize,
    /// Its name, unique within the node.
    pub name: String,
}

/// A full-duplex link between two ports; each direction is identified by the end that sends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cable {
    /// Its two ends.
    pub ends: [Port; 2],
    /// The rate at which each end sends.
    pub rates: [Rate; 2],
    /// Propagation delay, either way.
    pub delay: Duration,
    /// The largest IP packet on the link.
    pub mtu_bytes: u32,
}

/// The nodes and links of a network; [`Self::build`] checks that they fit together.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    nodes: Vec<Node>,
    names: BTreeSet<String>,
    cables: Vec<Cable>,
    ports: BTreeSet<Port>,
}

/// Why a network is not valid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TopologyError {
    /// Two nodes have the same name.
    NameTaken(String),
    /// A zone is on a node that is not a host.
    ZoneOnNoHost {
        /// The zone.
        zone: String,
        /// The node that is given as the zone's host.
        on: String,
    },
    /// A link ends at a zone.
    LinkAtZone {
        /// The zone.
        zone: String,
        /// Its host.
        host: String,
    },
    /// Both ends of a link are at one node.
    LinkToItself(String),
    /// A port has two links.
    PortTaken {
        /// The node.
        node: String,
        /// Its port.
        port: String,
    },
    /// A host or a switch has no link.
    Unconnected(String),
    /// Switches that form a cycle, in the order of the cycle.
    Cycle(Vec<String>),
    /// Two switches have two links.
    ParallelLinks(String, String),
    /// A node has no such port.
    NoPort {
        /// The node.
        node: String,
        /// The missing port.
        port: String,
    },
    /// No path leads from one node to the other.
    Unreachable {
        /// One node.
        from: String,
        /// The other node.
        to: String,
    },
    /// A switch is given as one end of a connection, but switches have no traffic of their own.
    NoHost(String),
}

impl fmt::Display for TopologyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NameTaken(name) => write!(f, "two nodes are named {name:?}"),
            Self::ZoneOnNoHost { zone, on } => {
                write!(f, "the zone {zone:?} must be on a host, and {on:?} is none")
            }
            Self::LinkAtZone { zone, host } => write!(
                f,
                "a link ends at the zone {zone:?}, which shares the interfaces of its host: connect \
                 {host:?} instead"
            ),
            Self::LinkToItself(node) => write!(f, "a link leads from {node:?} back to it"),
            Self::PortTaken { node, port } => {
                write!(f, "the port {port:?} of {node:?} has two links")
            }
            Self::Unconnected(node) => write!(f, "{node:?} has no link"),
            Self::Cycle(switches) => {
                write!(f, "switches form a cycle: ")?;
                for switch in switches {
                    write!(f, "{switch:?} - ")?;
                }
                // The first switch is repeated at the end, so that the text shows a closed path.
                let first = switches.first().map_or("", String::as_str);
                write!(f, "{first:?}; remove one of their links")
            }
            Self::ParallelLinks(one, other) => write!(
                f,
                "the switches {one:?} and {other:?} have two links, which is a cycle: remove one"
            ),
            Self::NoPort { node, port } => write!(f, "{node:?} has no port {port:?}"),
            Self::Unreachable { from, to } => write!(f, "no link leads from {from:?} to {to:?}"),
            Self::NoHost(node) => {
                write!(f, "{node:?} is a switch, which has no traffic of its own")
            }
        }
    }
}

impl core::error::Error for TopologyError {}

impl Graph {
    /// Adds a host. Returns its index in the list of nodes.
    ///
    /// # Errors
    /// Another node has this name.
    pub fn add_host(&mut self, name: &str) -> Result<usize, TopologyError> {
        self.add(name, NodeKind::Host)
    }

    /// Adds a switch. Returns its index in the list of nodes.
    ///
    /// # Errors
    /// Another node has this name.
    pub fn add_switch(&mut self, name: &str) -> Result<usize, TopologyError> {
        self.add(name, NodeKind::Switch)
    }

    /// Adds a zone on the host with the number `host`. Returns its index in the list of nodes.
    ///
    /// # Errors
    /// Another node has this name, or `host` is not a host.
    pub fn add_zone(&mut self, name: &str, host: usize) -> Result<usize, TopologyError> {
        if self.nodes[host].kind != NodeKind::Host {
            let on = self.nodes[host].name.clone();
            return Err(TopologyError::ZoneOnNoHost { zone: name.to_owned(), on });
        }
        self.add(name, NodeKind::Zone { host })
    }

    fn add(&mut self, name: &str, kind: NodeKind) -> Result<usize, TopologyError> {
        if !self.names.insert(name.to_owned()) {
            return Err(TopologyError::NameTaken(name.to_owned()));
        }
        self.nodes.push(Node { name: name.to_owned(), kind });
        Ok(self.nodes.len() - 1)
    }

    fn name(&self, node: usize) -> String {
        self.nodes[node].name.clone()
    }

    /// Adds a link.
    ///
    /// # Errors
    /// An end is at a zone or at a port that already has a link, or both ends are at one node.
    pub fn connect(&mut self, cable: Cable) -> Result<(), TopologyError> {
        for end in &cable.ends {
            if let NodeKind::Zone { host } = self.nodes[end.node].kind {
                let (zone, host) = (self.name(end.node), self.name(host));
                return Err(TopologyError::LinkAtZone { zone, host });
            }
        }
        let [one, other] = [cable.ends[0].node, cable.ends[1].node];
        if one == other {
            return Err(TopologyError::LinkToItself(self.name(one)));
        }
        for end in &cable.ends {
            if !self.ports.insert(end.clone()) {
                let (node, port) = (self.name(end.node), end.name.clone());
                return Err(TopologyError::PortTaken { node, port });
            }
        }
        self.cables.push(cable);
        Ok(())
    }

    /// Builds the network with its routes.
    ///
    /// # Errors
    /// Switches form a cycle, or a node has no link; a host with zones needs no link, because the
    /// traffic between its zones stays inside the host.
    pub fn build(self) -> Result<Topology, TopologyError> {
        let has_zones =
            |node| self.nodes.iter().any(|zone| zone.kind == NodeKind::Zone { host: node });
        let has_link =
            |node| self.cables.iter().any(|cable| cable.ends.iter().any(|end| end.node == node));
        for (node, Node { name, kind }) in self.nodes.iter().enumerate() {
            let needs_none = match kind {
                NodeKind::Zone { .. } => true,
                NodeKind::Host => has_zones(node),
                NodeKind::Switch => false,
            };
            if !needs_none && !has_link(node) {
                return Err(TopologyError::Unconnected(name.clone()));
            }
        }
        Topology::new(self.nodes, self.cables)
    }
}

/// What an end of a link is attached to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attachment {
    /// An interface of a host, by its number.
    Interface(usize),
    /// A port of a switch; switch and port are given by their numbers.
    SwitchPort {
        /// The switch.
        switch: usize,
        /// The port.
        port: u32,
    },
}

/// One end of a link, which sends in one direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CableEnd {
    /// The number of the link.
    pub cable: usize,
    /// 0 or 1: its index in [`Cable::ends`].
    pub end: usize,
}

impl CableEnd {
    /// The other end.
    #[must_use]
    pub const fn far(self) -> Self {
        Self { end: 1 - self.end, ..self }
    }

    /// The number of this end: the ends of all links are numbered from 0.
    #[must_use]
    pub const fn number(self) -> usize {
        2 * self.cable + self.end
    }
}

/// An interface: a port of a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface {
    /// Index of its host in the list of nodes.
    pub host: usize,
    /// Its link.
    pub at: CableEnd,
}

/// A switch, the links of its ports and its forwarding table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SwitchNode {
    /// Its index in the list of nodes.
    pub node: usize,
    /// For each port: its end of a link. Ports are in the order of the links.
    pub ports: Vec<CableEnd>,
    /// For each interface: the port that leads to it, or [`NO_PORT`].
    forwarding: Vec<u32>,
}

/// Marks an interface to which no port leads.
const NO_PORT: u32 = u32::MAX;

impl SwitchNode {
    /// The port through which frames for `interface` leave; `None` if no path leads there.
    #[must_use]
    #[inline]
    pub fn egress(&self, interface: usize) -> Option<u32> {
        let port = self.forwarding[interface];
        (port != NO_PORT).then_some(port)
    }
}

/// One side of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Side {
    /// A host or a zone.
    pub node: usize,
    /// The interface to which this side is bound, if it is bound to one.
    pub interface: Option<usize>,
    /// True for a zone that has its own network stack, separate from its host and from other zones.
    pub has_own_stack: bool,
}

/// The route of a connection's packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Route {
    /// From one interface to another, and back on the same path.
    Wire {
        /// The interface of the side `from` of [`Topology::route`].
        from: usize,
        /// The interface of the side `to`.
        to: usize,
        /// The largest IP packet that every link of the path carries.
        mtu_bytes: u32,
    },
    /// Inside a host.
    Inside {
        /// The host.
        host: usize,
    },
}

/// A checked network with its routes. Interfaces are numbered from 0 in the order of the links, and
/// switches from 0 in the order of the nodes.
#[derive(Clone, Debug)]
pub struct Topology {
    nodes: Vec<Node>,
    cables: Vec<Cable>,
    interfaces: Vec<Interface>,
    switches: Vec<SwitchNode>,
    /// What each end of a link is attached to, indexed by [`CableEnd::number`].
    attachments: Vec<Attachment>,
}

impl Topology {
    fn new(nodes: Vec<Node>, cables: Vec<Cable>) -> Result<Self, TopologyError> {
        let is_switch = |node: &usize| nodes[*node].kind == NodeKind::Switch;
        let mut switches: Vec<_> = (0..nodes.len())
            .filter(is_switch)
            .map(|node| SwitchNode { node, ports: Vec::new(), forwarding: Vec::new() })
            .collect();
        let numbers: BTreeMap<usize, usize> =
            switches.iter().enumerate().map(|(number, switch)| (switch.node, number)).collect();
        let (mut interfaces, mut attachments) = (Vec::new(), Vec::new());
        // In the order of `CableEnd::number`, by which `attachments` is indexed.
        for (cable, ends) in cables.iter().map(|cable| &cable.ends).enumerate() {
            for (end, port) in ends.iter().enumerate() {
                let at = CableEnd { cable, end };
                attachments.push(if let Some(&switch) = numbers.get(&port.node) {
                    let ports = &mut switches[switch].ports;
                    ports.push(at);
                    Attachment::SwitchPort { switch, port: ports.len() as u32 - 1 }
                } else {
                    interfaces.push(Interface { host: port.node, at });
                    Attachment::Interface(interfaces.len() - 1)
                });
            }
        }
        let mut topology = Self { nodes, cables, interfaces, switches, attachments };
        topology.refuse_cycles()?;
        topology.fill_forwarding();
        Ok(topology)
    }

    /// All nodes.
    #[must_use]
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// All links.
    #[must_use]
    pub fn cables(&self) -> &[Cable] {
        &self.cables
    }

    /// The interfaces of all hosts.
    #[must_use]
    pub fn interfaces(&self) -> &[Interface] {
        &self.interfaces
    }

    /// All switches.
    #[must_use]
    pub fn switches(&self) -> &[SwitchNode] {
        &self.switches
    }

    /// The attachment at an end of a link.
    #[must_use]
    pub fn attachment(&self, at: CableEnd) -> Attachment {
        self.attachments[at.number()]
    }

    /// The direction of a link in which the end `from` sends.
    #[must_use]
    pub fn link(&self, from: CableEnd) -> Link {
        let cable = &self.cables[from.cable];
        Link::new(cable.rates[from.end], cable.delay).with_mtu(cable.mtu_bytes)
    }

    /// The host that a node belongs to: the host itself or the host of a zone.
    ///
    /// # Errors
    /// The node is a switch.
    pub fn host_of(&self, node: usize) -> Result<usize, TopologyError> {
        match self.nodes[node].kind {
            NodeKind::Host => Ok(node),
            NodeKind::Zone { host } => Ok(host),
            NodeKind::Switch => Err(TopologyError::NoHost(self.name(node))),
        }
    }

    /// The interface of a host, or of a zone's host, whose port has the name `port`.
    ///
    /// # Errors
    /// There is no such port, or the node is a switch.
    pub fn interface_named(&self, node: usize, port: &str) -> Result<usize, TopologyError> {
        let host = self.host_of(node)?;
        let is_it = |interface: &Interface| {
            interface.host == host
                && self.cables[interface.at.cable].ends[interface.at.end].name == port
        };
        self.interfaces
            .iter()
            .position(is_it)
            .ok_or_else(|| TopologyError::NoPort { node: self.name(node), port: port.to_owned() })
    }

    fn name(&self, node: usize) -> String {
        self.nodes[node].name.clone()
    }

    /// The path of packets between two sides of a connection.
    ///
    /// A side that is bound to an interface uses this interface. For other sides, the interfaces
    /// with the shortest path (fewest links) are chosen. Among paths of equal length, the lowest
    /// interface number at `to` decides, then the lowest at `from`. Packets between two sides on
    /// the same host stay inside the host, unless both sides have their own network stacks and are
    /// bound to two different interfaces.
    ///
    /// # Errors
    /// A side is a switch, or no path connects the two sides.
    pub fn route(&self, from: Side, to: Side) -> Result<Route, TopologyError> {
        let (own, peer) = (self.host_of(from.node)?, self.host_of(to.node)?);
        let at_two = matches!((from.interface, to.interface), (Some(a), Some(b)) if a != b);
        if own == peer && !(at_two && from.has_own_stack && to.has_own_stack) {
            return Ok(Route::Inside { host: own });
        }
        let candidates = |side: Side, host: usize| -> Vec<usize> {
            let is_candidate = |&number: &usize| {
                side.interface.map_or(self.interfaces[number].host == host, |bound| bound == number)
            };
            (0..self.interfaces.len()).filter(is_candidate).collect()
        };
        let (own, peer) = (candidates(from, own), candidates(to, peer));
        let pairs = peer.iter().flat_map(|&to| own.iter().map(move |&from| (to, from)));
        let paths = pairs.filter_map(|(to, from)| Some((self.path(from, to)?, to, from)));
        let best = paths.min_by_key(|(path, to, from)| (path.len(), *to, *from));
        let Some((path, to, from)) = best else {
            let (from, to) = (self.name(from.node), self.name(to.node));
            return Err(TopologyError::Unreachable { from, to });
        };
        let mtu_bytes = path.iter().map(|at| self.cables[at.cable].mtu_bytes).min().unwrap_or(0);
        Ok(Route::Wire { from, to, mtu_bytes })
    }

    /// The path from one interface to another: for each link, in order, the end that sends; `None`
    /// if no path leads there.
    #[must_use]
    pub fn path(&self, from: usize, to: usize) -> Option<Vec<CableEnd>> {
        let mut path = vec![self.interfaces[from].at];
        loop {
            match self.attachment(path[path.len() - 1].far()) {
                Attachment::Interface(there) => return (there == to && from != to).then_some(path),
                Attachment::SwitchPort { switch, port } => {
                    let egress = self.switches[switch].egress(to)?;
                    if egress == port {
                        return None;
                    }
                    path.push(self.switches[switch].ports[egress as usize]);
                }
            }
        }
    }

    /// The neighbouring switches of `switch`, with the port that leads to each.
    fn neighbors(&self, switch: usize) -> impl Iterator<Item = (u32, usize)> + '_ {
        (0..).zip(&self.switches[switch].ports).filter_map(|(port, at)| {
            match self.attachment(at.far()) {
                Attachment::SwitchPort { switch, .. } => Some((port, switch)),
                Attachment::Interface(_) => None,
            }
        })
    }

    fn refuse_cycles(&self) -> Result<(), TopologyError> {
        let mut entered: Vec<Option<Entered>> = vec![None; self.switches.len()];
        for root in 0..self.switches.len() {
            if entered[root].is_some() {
                continue;
            }
            entered[root] = Some(Entered { from: root, depth: 0, by: None });
            let mut queue = VecDeque::from([root]);
            while let Some(switch) = queue.pop_front() {
                let here = entered[switch].expect("it was entered before it was queued");
                for (port, neighbor) in self.neighbors(switch) {
                    let at = self.switches[switch].ports[port as usize];
                    // Compares the links, not the neighbors: a second link to the same neighbor is
                    // a cycle.
                    if here.by == Some(at.cable) {
                        continue;
                    }
                    if entered[neighbor].is_some() {
                        return Err(self.cycle(&entered, switch, neighbor));
                    }
                    let depth = here.depth + 1;
                    entered[neighbor] = Some(Entered { from: switch, depth, by: Some(at.cable) });
                    queue.push_back(neighbor);
                }
            }
        }
        Ok(())
    }

    /// The cycle that is closed by a link between two switches that the search has already reached.
    fn cycle(&self, entered: &[Option<Entered>], one: usize, other: usize) -> TopologyError {
        let place = |switch: usize| entered[switch].expect("both were entered");
        let (mut up, mut down) = (vec![one], vec![other]);
        while up.last() != down.last() {
            let (left, right) = (up[up.len() - 1], down[down.len() - 1]);
            if place(left).depth >= place(right).depth {
                up.push(place(left).from);
            } else {
                down.push(place(right).from);
            }
        }
        down.pop();
        up.extend(down.into_iter().rev());
        let mut names = up.into_iter().map(|switch| self.name(self.switches[switch].node));
        match (names.next(), names.next(), names.next()) {
            (Some(one), Some(other), None) => TopologyError::ParallelLinks(one, other),
            (one, other, third) => {
                let first = [one, other, third].into_iter().flatten();
                TopologyError::Cycle(first.chain(names).collect())
            }
        }
    }

    /// Fills each switch's forwarding table with the port that leads to each reachable interface.
    fn fill_forwarding(&mut self) {
        for switch in &mut self.switches {
            switch.forwarding = vec![NO_PORT; self.interfaces.len()];
        }
        for interface in 0..self.interfaces.len() {
            let Attachment::SwitchPort { switch, port } =
                self.attachment(self.interfaces[interface].at.far())
            else {
                continue;
            };
            self.switches[switch].forwarding[interface] = port;
            let mut queue = VecDeque::from([switch]);
            while let Some(switch) = queue.pop_front() {
                let neighbors: Vec<_> = self.neighbors(switch).collect();
                for (port, neighbor) in neighbors {
                    let far = self.switches[switch].ports[port as usize].far();
                    let Attachment::SwitchPort { port: back, .. } = self.attachment(far) else {
                        continue;
                    };
                    // Without cycles, the first path found is the only one.
                    let table = &mut self.switches[neighbor].forwarding;
                    if table[interface] == NO_PORT {
                        table[interface] = back;
                        queue.push_back(neighbor);
                    }
                }
            }
        }
    }
}

/// How the search reached a switch.
#[derive(Clone, Copy)]
struct Entered {
    from: usize,
    depth: u32,
    by: Option<usize>,
}

#[cfg(test)]
mod tests;
