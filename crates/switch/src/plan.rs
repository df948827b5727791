//! Reads and checks the plan of the switches.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;

use netstudy_fabric::queue::check_at_switch;
use netstudy_fabric::topology::{
    Attachment, Cable, CableEnd, Graph, Port, Topology, TopologyError,
};
use netstudy_fabric::{CUT_THROUGH_BYTES, Link, ethernet};
use netstudy_path::Path;
use netstudy_records::{Forwarding, Queue, SwitchElement, SwitchLink, SwitchLinkEnd, SwitchPlan};
use netstudy_snmp::Agent;
use netstudy_units::{Duration, Rate};

use crate::Failure;
use crate::addresses::{self, Addresses, Mac};
use crate::control::Control;
use crate::frame;
use crate::management::Management;

/// Allowed MTUs: at least the packet size that every host must accept (RFC 791), and at most the
/// largest length that an IP header can give.
const MTU_BYTES: std::ops::RangeInclusive<u32> = 576..=65_535;

/// A checked plan. Switches have the numbers of the plan. Interfaces of hosts have the numbers of
/// the topology; in this module, "host" means such an interface.
#[derive(Debug)]
pub(crate) struct Checked {
    pub(crate) plan: SwitchPlan,
    pub(crate) topology: Topology,
    pub(crate) hosts: Vec<HostEnd>,
    pub(crate) addresses: Addresses,
    /// For each switch: its management address, if it has one.
    pub(crate) management: Vec<Option<Management>>,
    /// For each link end, by [`CableEnd::number`]: if it is a cut-through port, the time from the
    /// first bit of an arriving frame until the switch decides whether to admit the frame. The
    /// decision needs only the start of the frame.
    judges_after: Vec<Option<Duration>>,
    has_queues: bool,
    /// For each link end, by [`CableEnd::number`]: loss, duplicates and random delay of the frames
    /// that it sends; none: a perfect link.
    pub(crate) paths: Vec<Option<Path>>,
}

/// The end of a link at a host.
#[derive(Clone, Debug)]
pub(crate) struct HostEnd {
    pub(crate) at: CableEnd,
    /// The interface in the network namespace of this process.
    pub(crate) interface: String,
    /// The host's name, for messages.
    pub(crate) name: String,
    /// Length of the longest frame of the link, as a packet socket returns it.
    pub(crate) socket_bytes_max: usize,
}

impl Checked {
    /// What the plan says about this end of a link.
    pub(crate) fn described(&self, at: CableEnd) -> &SwitchLinkEnd {
        described(&self.plan, at)
    }

    /// MTU of a link.
    pub(crate) fn mtu_bytes(&self, at: CableEnd) -> u32 {
        self.plan.links[at.cable].mtu_bytes
    }

    /// The largest MTU of all links.
    pub(crate) fn mtu_bytes_max(&self) -> u32 {
        self.plan.links.iter().map(|link| link.mtu_bytes).max().unwrap_or_default()
    }

    /// The links of a switch, by port.
    pub(crate) fn links(&self, switch: usize) -> Vec<Link> {
        let ports = &self.topology.switches()[switch].ports;
        ports.iter().map(|&at| self.topology.link(at)).collect()
    }

    /// The ports of a switch that have a queue discipline, by number.
    pub(crate) fn queues(&self, switch: usize) -> impl Iterator<Item = (u32, &Queue)> {
        let ports = (0..).zip(&self.topology.switches()[switch].ports);
        ports.filter_map(|(port, &at)| Some((port, self.described(at).queue.as_ref()?)))
    }

    /// Whether any port has a queue discipline.
    pub(crate) const fn has_queues(&self) -> bool {
        self.has_queues
    }

    /// See [`Self::judges_after`].
    pub(crate) fn judges_after(&self, at: CableEnd) -> Option<Duration> {
        self.judges_after[at.number()]
    }

    /// Whether a frame that a host sends from the link end `from` can reach the host `to`.
    pub(crate) fn leads(&self, from: CableEnd, to: usize) -> bool {
        match self.topology.attachment(from.far()) {
            Attachment::Interface(host) => host == to,
            Attachment::SwitchPort { switch, port } => {
                let egress = self.topology.switches()[switch].egress(to);
                egress.is_some_and(|egress| egress != port)
            }
        }
    }

    /// Whether a frame that arrives at the link end `at` is for the switch at this end itself.
    pub(crate) fn is_for_switch(&self, at: CableEnd, frame: &[u8]) -> bool {
        let Attachment::SwitchPort { switch, .. } = self.topology.attachment(at) else {
            return false;
        };
        self.management[switch].as_ref().is_some_and(|own| own.is_meant(frame))
    }

    /// How much buffer space is reserved for a frame that arrives at `port`. On a cut-through port
    /// it is the size of the longest frame, because the frame's own size is not known yet.
    /// Otherwise it is 0, which means the frame's own size.
    pub(crate) fn reserved_bytes(&self, switch: usize, port: u32) -> u32 {
        let at = self.topology.switches()[switch].ports[port as usize];
        self.judges_after(at).map_or(0, |_| ethernet::frame_bytes(self.mtu_bytes(at)))
    }
}

fn described(plan: &SwitchPlan, at: CableEnd) -> &SwitchLinkEnd {
    let link = &plan.links[at.cable];
    if at.end == 0 { &link.a } else { &link.b }
}

/// Reads and checks the plan on the first line of input.
pub(crate) fn read(control: &mut Control<'_, impl Write>) -> Result<Checked, Failure> {
    let line = control.first_line()?;
    let plan = serde_json::from_str(&line).map_err(|error| Failure::Plan(error.to_string()))?;
    check(plan).map_err(Failure::Plan)
}

fn check(plan: SwitchPlan) -> Result<Checked, String> {
    if plan.links.is_empty() {
        return Err("links: the list is empty".to_owned());
    }
    check_switches(&plan.switches)?;
    check_links(&plan)?;
    check_sampled(&plan)?;
    let topology = topology(&plan).map_err(|error| format!("links: {error}"))?;
    let (hosts, macs) = hosts(&plan, &topology)?;
    let management = managements(&plan, &macs)?;
    let judges_after = judges_after(&plan, &topology);
    let addresses = Addresses::new(macs);
    let has_queue = |link: &SwitchLink| link.a.queue.is_some() || link.b.queue.is_some();
    let has_queues = plan.links.iter().any(has_queue);
    let paths = paths(&plan)?;
    Ok(Checked { plan, topology, hosts, addresses, management, judges_after, has_queues, paths })
}

fn paths(plan: &SwitchPlan) -> Result<Vec<Option<Path>>, String> {
    let ends = plan.links.iter().flat_map(|link| [&link.a, &link.b]);
    let path = |end: &SwitchLinkEnd| {
        let asked = end.path.as_deref();
        asked.map(|asked| Path::new(asked, &plan.seed, &end.node, &end.port)).transpose()
    };
    ends.map(path).collect()
}

fn check_switches(switches: &[SwitchElement]) -> Result<(), String> {
    for (place, switch) in switches.iter().enumerate() {
        let checked = switch.buffer.check();
        checked.map_err(|why| format!("switches[{place}].buffer.{why}"))?;
    }
    Ok(())
}

fn check_links(plan: &SwitchPlan) -> Result<(), String> {
    for (place, link) in plan.links.iter().enumerate() {
        if !MTU_BYTES.contains(&link.mtu_bytes) {
            let (least, most) = (MTU_BYTES.start(), MTU_BYTES.end());
            let mtu_bytes = link.mtu_bytes;
            return Err(format!(
                "links[{place}].mtu_bytes: {mtu_bytes} is outside of {least} to {most}"
            ));
        }
        for (side, end) in [("a", &link.a), ("b", &link.b)] {
            check_end(plan, end).map_err(|why| format!("links[{place}].{side}.{why}"))?;
        }
    }
    Ok(())
}

fn check_end(plan: &SwitchPlan, end: &SwitchLinkEnd) -> Result<(), String> {
    if end.rate_bps == 0 {
        return Err("rate_bps: it is 0; it must be above 0".to_owned());
    }
    let switch = plan.switches.iter().find(|switch| switch.name == end.node);
    match (switch.is_some(), &end.host) {
        (true, None) | (false, Some(_)) => check_queue(switch, end),
        (true, Some(_)) => Err(format!("host: {:?} is a switch", end.node)),
        (false, None) => Err(format!("node: there is no switch {:?}", end.node)),
    }
}

fn check_queue(switch: Option<&SwitchElement>, end: &SwitchLinkEnd) -> Result<(), String> {
    let Some(queue) = &end.queue else { return Ok(()) };
    let Some(switch) = switch else {
        return Err(format!("queue: {:?} is a host, whose kernel has its own", end.node));
    };
    check_at_switch(queue, &switch.buffer, switch.ecn_threshold_bytes.is_some())
        .map_err(|why| format!("queue: {why}"))
}

fn check_sampled(plan: &SwitchPlan) -> Result<(), String> {
    for (place, sampling) in plan.sampled.iter().enumerate() {
        let at = |field: &str| format!("sampled[{place}].{field}");
        if sampling.every_ns == 0 {
            return Err(format!("{}: it is 0; it must be above 0", at("every_ns")));
        }
        if !plan.switches.iter().any(|switch| switch.name == sampling.switch) {
            return Err(format!("{}: there is no switch {:?}", at("switch"), sampling.switch));
        }
        let mut ends = plan.links.iter().flat_map(|link| [&link.a, &link.b]);
        if let Some(port) = &sampling.port
            && !ends.any(|end| end.node == sampling.switch && end.port == *port)
        {
            return Err(format!("{}: {:?} has no port {port:?}", at("port"), sampling.switch));
        }
    }
    Ok(())
}

/// Builds the network graph that the plan describes. Switches are added first, so that they get the
/// same numbers as in the plan.
fn topology(plan: &SwitchPlan) -> Result<Topology, TopologyError> {
    let mut graph = Graph::default();
    let mut numbers = BTreeMap::new();
    for switch in &plan.switches {
        numbers.insert(&switch.name, graph.add_switch(&switch.name)?);
    }
    for end in plan.links.iter().flat_map(|link| [&link.a, &link.b]) {
        if !numbers.contains_key(&end.node) {
            numbers.insert(&end.node, graph.add_host(&end.node)?);
        }
    }
    for link in &plan.links {
        let ends = [&link.a, &link.b];
        graph.connect(Cable {
            ends: ends.map(|end| Port { node: numbers[&end.node], name: end.port.clone() }),
            rates: ends.map(|end| Rate::from_bps(end.rate_bps)),
            delay: Duration::from_ns(link.delay_ns),
            mtu_bytes: link.mtu_bytes,
        })?;
    }
    graph.build()
}

/// The link ends at hosts, and each address with the index of the link end to which it belongs.
type HostEnds = (Vec<HostEnd>, Vec<(Mac, u32)>);

fn hosts(plan: &SwitchPlan, topology: &Topology) -> Result<HostEnds, String> {
    let (mut hosts, mut macs) = (Vec::new(), Vec::new());
    let mut seen = BTreeSet::new();
    for interface in topology.interfaces() {
        let at = interface.at;
        let end = described(plan, at);
        let Some(host) = &end.host else { continue };
        let field = |name: &str| {
            let side = if at.end == 0 { "a" } else { "b" };
            format!("links[{}].{side}.host.{name}", at.cable)
        };
        let of_host = host.macs.iter().map(|mac| ("macs", mac));
        for (name, value) in std::iter::once(("interface", &host.interface)).chain(of_host) {
            // Each interface and each address may occur only once. If two ports used the same
            // interface, both sockets would receive each frame. An address must lead to one host.
            if !seen.insert((name, value)) {
                return Err(format!(
                    "{}: {value:?} is already used by an earlier end",
                    field(name)
                ));
            }
        }
        for mac in &host.macs {
            let parsed = addresses::parse(mac)
                .ok_or_else(|| format!("{}: {mac:?} is no Ethernet address", field("macs")))?;
            macs.push((parsed, hosts.len() as u32));
        }
        hosts.push(HostEnd {
            at,
            interface: host.interface.clone(),
            name: format!("{:?} of {:?}", end.port, end.node),
            socket_bytes_max: plan.links[at.cable].mtu_bytes as usize + frame::HEADER_BYTES,
        });
    }
    Ok((hosts, macs))
}

/// The management addresses of switches, which must differ from the addresses of all hosts.
fn managements(plan: &SwitchPlan, hosts: &[(Mac, u32)]) -> Result<Vec<Option<Management>>, String> {
    let mut taken: BTreeSet<Mac> = hosts.iter().map(|&(mac, _)| mac).collect();
    let mut one = |(place, switch): (usize, &SwitchElement)| {
        let Some(own) = &switch.management else { return Ok(None) };
        let field = |name: &str| format!("switches[{place}].management.{name}");
        let mac = addresses::parse(&own.mac)
            .ok_or_else(|| format!("{}: {:?} is no Ethernet address", field("mac"), own.mac))?;
        if !taken.insert(mac) {
            return Err(format!("{}: {:?} is already used by another node", field("mac"), own.mac));
        }
        let ip = own.ip.parse();
        let ip = ip.map_err(|_| format!("{}: {:?} is no IPv4 address", field("ip"), own.ip))?;
        let version = env!("CARGO_PKG_VERSION");
        let description = format!("netstudy user-space switch {version}");
        let agent = Agent::new(own.community.exposed(), &switch.name, &description);
        Ok(Some(Management::new(mac, ip, agent)))
    };
    plan.switches.iter().enumerate().map(&mut one).collect()
}

/// Computes [`Checked::judges_after`]. A cut-through switch can decide as soon as it has a frame's
/// header only if the ingress port is at least as fast as every egress port. A faster egress port
/// would send bits before they have arrived.
fn judges_after(plan: &SwitchPlan, topology: &Topology) -> Vec<Option<Duration>> {
    let mut found = vec![None; 2 * plan.links.len()];
    for (description, switch) in plan.switches.iter().zip(topology.switches()) {
        if description.forwarding != Forwarding::CutThrough {
            continue;
        }
        let fastest = switch.ports.iter().map(|&at| topology.link(at).rate()).max();
        for at in &switch.ports {
            let from = topology.link(at.far());
            if Some(from.rate()) >= fastest {
                found[at.number()] = Some(from.serialization(CUT_THROUGH_BYTES));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use netstudy_fabric::queue::FifoConfig;
    use netstudy_records::Buffer;

    use super::*;

    fn example() -> SwitchPlan {
        let text = include_str!("../../../schema/examples/switch-plan.json");
        serde_json::from_str(text).expect("the example is a plan")
    }

    /// The error message for the example plan after `change`.
    fn complaint(change: impl FnOnce(&mut SwitchPlan)) -> String {
        let mut plan = example();
        change(&mut plan);
        check(plan).expect_err("it cannot be carried out")
    }

    #[test]
    fn the_example_can_be_carried_out() {
        let checked = check(example()).expect("it can");
        assert_eq!(checked.hosts.len(), 4);
        let right = checked.links(1);
        assert_eq!(right[1].rate(), Rate::from_bps(250_000_000));
        assert_eq!(right[1].delay(), Duration::from_us(10));
        assert_eq!(checked.mtu_bytes_max(), 9000);
        assert!(checked.leads(checked.hosts[0].at, 1) && !checked.leads(checked.hosts[0].at, 3));
    }

    #[test]
    fn a_frame_is_judged_by_its_header_and_room_reserved_where_it_comes_fast_enough() {
        let reserved = |forwarding| {
            let mut plan = example();
            plan.switches[1].forwarding = forwarding;
            let checked = check(plan).expect("it can be carried out");
            [checked.reserved_bytes(1, 0), checked.reserved_bytes(1, 1)]
        };
        // The server's port receives at 1 Gbit/s, the rate of the fastest egress; the port to the
        // other switch at 500 Mbit/s.
        assert_eq!(reserved(Forwarding::CutThrough), [9018, 0]);
        assert_eq!(reserved(Forwarding::StoreAndForward), [0, 0]);
    }

    #[test]
    fn a_plan_that_cannot_be_carried_out_is_refused_with_the_field() {
        assert!(complaint(|plan| plan.links.clear()).starts_with("links: "));
        let mtu = complaint(|plan| plan.links[1].mtu_bytes = 100);
        assert!(mtu.starts_with("links[1].mtu_bytes: 100 is outside"), "{mtu}");
        let rate = complaint(|plan| plan.links[2].b.rate_bps = 0);
        assert!(rate.starts_with("links[2].b.rate_bps: "), "{rate}");
        let node = complaint(|plan| plan.links[2].b.node = "middle".to_owned());
        assert_eq!(node, "links[2].b.node: there is no switch \"middle\"");
        let queue =
            complaint(|plan| plan.links[2].a.queue = Some(Queue::Fifo(FifoConfig::default())));
        assert!(queue.starts_with("links[2].a.queue: only ports of a switch with an"), "{queue}");
        let host =
            complaint(|plan| plan.links[0].a.queue = Some(Queue::Fifo(FifoConfig::default())));
        assert!(host.starts_with("links[0].a.queue: \"client\" is a host"), "{host}");
        let doubled = complaint(|plan| plan.links[1].a.host = plan.links[0].a.host.clone());
        assert_eq!(doubled, "links[1].a.host.interface: \"p0\" is already used by an earlier end");
        let port = complaint(|plan| plan.links[2].a.port = "p1".to_owned());
        assert_eq!(port, "links: the port \"p1\" of \"left\" has two links");
        let alpha = complaint(|plan| {
            if let Buffer::SharedMemory(memory) = &mut plan.switches[0].buffer {
                memory.alpha = 0.0;
            }
        });
        assert!(alpha.starts_with("switches[0].buffer.alpha: "), "{alpha}");
        let sampled = complaint(|plan| plan.sampled[1].port = Some("p9".to_owned()));
        assert_eq!(sampled, "sampled[1].port: \"right\" has no port \"p9\"");
    }

    #[test]
    fn switches_in_a_cycle_are_refused() {
        let circle = complaint(|plan| {
            let mut link = plan.links[2].clone();
            link.a.port = "p3".to_owned();
            link.b.port = "p3".to_owned();
            plan.links.push(link);
        });
        assert!(circle.starts_with("links: the switches \"left\" and \"right\""), "{circle}");
    }
}
