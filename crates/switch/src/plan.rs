//! The plan of the switches, read and checked.

use std::collections::BTreeSet;
use std::io::Write;

use netstudy_fabric::{CUT_THROUGH_BYTES, Link, ethernet};
use netstudy_records::{Buffer, Forwarding, SwitchElement, SwitchLink, SwitchLinkEnd, SwitchPlan};
use netstudy_units::{Duration, Rate};

use crate::Failure;
use crate::addresses::{self, Mac};
use crate::control::Control;
use crate::routes::Routes;

/// IP packets that Ethernet may have to carry (RFC 791) and that an IP header can speak of.
const MTU_BYTES: std::ops::RangeInclusive<u32> = 576..=65_535;

/// A plan that can be carried out, as far as it says itself.
#[derive(Debug)]
pub(crate) struct Checked {
    pub(crate) plan: SwitchPlan,
    /// The ends of all links: those of link n are 2n and 2n + 1.
    pub(crate) ends: Vec<End>,
    /// The ends at hosts, in order.
    pub(crate) hosts: Vec<HostEnd>,
    /// By switch: the end at each of its ports.
    pub(crate) ports: Vec<Vec<usize>>,
    pub(crate) routes: Routes,
}

/// An end of a link.
#[derive(Clone, Copy, Debug)]
pub(crate) struct End {
    pub(crate) place: Place,
    /// The direction that leaves here.
    pub(crate) link: Link,
    /// What is between the first bit of a frame, after its way, and the instant at which who is here
    /// judges it, where that is not its last bit: a switch that cuts through needs less of it.
    pub(crate) judges_at: Option<Duration>,
    /// Largest frame of the link as a packet socket sees it.
    pub(crate) socket_bytes_max: usize,
}

/// Where an end is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// At a host, as its number among [`Checked::hosts`].
    Host(usize),
    /// At a port of a switch.
    Switch { switch: usize, port: u32 },
}

/// An end at a host.
#[derive(Clone, Debug)]
pub(crate) struct HostEnd {
    pub(crate) end: usize,
    /// The interface in the network namespace of this process.
    pub(crate) interface: String,
    /// For messages.
    pub(crate) name: String,
}

/// The other end of the same link.
pub(crate) const fn far(end: usize) -> usize {
    end ^ 1
}

impl Checked {
    /// The end's description in the plan.
    pub(crate) fn described(&self, end: usize) -> &SwitchLinkEnd {
        described(&self.plan.links, end)
    }

    /// The links of a switch, by port.
    pub(crate) fn links(&self, switch: usize) -> Vec<Link> {
        self.ports[switch].iter().map(|&end| self.ends[end].link).collect()
    }

    /// Whether a frame that leaves a host by its end `from` finds a way to the host `to`.
    pub(crate) fn leads(&self, from: usize, to: u32) -> bool {
        match self.ends[far(from)].place {
            Place::Host(host) => host as u32 == to,
            Place::Switch { switch, port } => {
                self.routes.egress(switch, to).is_some_and(|egress| egress != port)
            }
        }
    }

    /// Room that a frame must find that comes by a port: that of the largest one where it is let in
    /// before its end is there, else none beyond its own.
    pub(crate) fn reserved_bytes(&self, switch: usize, port: u32) -> u32 {
        let end = self.ports[switch][port as usize];
        let mtu_bytes = self.plan.links[end / 2].mtu_bytes;
        self.ends[end].judges_at.map_or(0, |_| ethernet::frame_bytes(mtu_bytes))
    }

    /// The largest packet of all links.
    pub(crate) fn mtu_bytes(&self) -> u32 {
        self.plan.links.iter().map(|link| link.mtu_bytes).max().unwrap_or_default()
    }
}

fn described(links: &[SwitchLink], end: usize) -> &SwitchLinkEnd {
    let link = &links[end / 2];
    if end.is_multiple_of(2) { &link.a } else { &link.b }
}

/// Reads the first line of input.
pub(crate) fn read(control: &mut Control<'_, impl Write>) -> Result<Checked, Failure> {
    let line = control.first_line()?;
    let plan = serde_json::from_str(&line).map_err(|error| Failure::Plan(error.to_string()))?;
    check(plan).map_err(Failure::Plan)
}

fn check(plan: SwitchPlan) -> Result<Checked, String> {
    if plan.links.is_empty() {
        return Err("links: there is none".to_owned());
    }
    check_switches(&plan.switches)?;
    let mut found = Found::new(&plan);
    for (place, link) in plan.links.iter().enumerate() {
        found.add(place, link)?;
    }
    check_sampled(&plan)?;
    let Found { mut ends, hosts, macs, ports, .. } = found;
    for (switch, description) in plan.switches.iter().enumerate() {
        if description.forwarding == Forwarding::CutThrough {
            cut_through(&ports[switch], &mut ends);
        }
    }
    let routes = Routes::new(&ends, &ports, &macs).map_err(|circle| {
        let [a, b] = circle.map(|switch| &plan.switches[switch].name);
        format!("links: the switches {a:?} and {b:?} are on a circle")
    })?;
    Ok(Checked { plan, ends, hosts, ports, routes })
}

fn check_switches(switches: &[SwitchElement]) -> Result<(), String> {
    let mut names = BTreeSet::new();
    for (place, switch) in switches.iter().enumerate() {
        if !names.insert(&switch.name) {
            let name = &switch.name;
            return Err(format!("switches[{place}].name: {name:?} is that of an earlier switch"));
        }
        check_buffer(&switch.buffer).map_err(|why| format!("switches[{place}].{why}"))?;
    }
    Ok(())
}

fn check_buffer(buffer: &Buffer) -> Result<(), String> {
    match *buffer {
        Buffer::SharedMemory { alpha, .. } if !(alpha.is_finite() && alpha > 0.0) => {
            Err(format!("buffer.alpha: {alpha} is not above 0"))
        }
        Buffer::IngressQueued { random_arbitration_pct: percent, .. } if percent > 100 => {
            Err(format!("buffer.random_arbitration_pct: {percent} is above 100"))
        }
        _ => Ok(()),
    }
}

fn check_sampled(plan: &SwitchPlan) -> Result<(), String> {
    for (place, sampling) in plan.sampled.iter().enumerate() {
        let at = |field: &str| format!("sampled[{place}].{field}");
        if sampling.every_ns == 0 {
            return Err(format!("{}: it is 0", at("every_ns")));
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

/// What has been found in the links.
struct Found<'a> {
    switches: &'a [SwitchElement],
    ends: Vec<End>,
    hosts: Vec<HostEnd>,
    /// By host.
    macs: Vec<Mac>,
    ports: Vec<Vec<usize>>,
    /// Names that must not be there twice: the field, and its value.
    seen: BTreeSet<(&'static str, String)>,
}

impl<'a> Found<'a> {
    fn new(plan: &'a SwitchPlan) -> Self {
        Self {
            switches: &plan.switches,
            ends: Vec::new(),
            hosts: Vec::new(),
            macs: Vec::new(),
            ports: vec![Vec::new(); plan.switches.len()],
            seen: BTreeSet::new(),
        }
    }

    fn add(&mut self, place: usize, link: &SwitchLink) -> Result<(), String> {
        if !MTU_BYTES.contains(&link.mtu_bytes) {
            let (least, most) = (MTU_BYTES.start(), MTU_BYTES.end());
            let mtu_bytes = link.mtu_bytes;
            return Err(format!(
                "links[{place}].mtu_bytes: {mtu_bytes} is outside of {least} to {most}"
            ));
        }
        for (side, end) in [("a", &link.a), ("b", &link.b)] {
            self.add_end(link, end).map_err(|why| format!("links[{place}].{side}.{why}"))?;
        }
        Ok(())
    }

    fn add_end(&mut self, link: &SwitchLink, end: &SwitchLinkEnd) -> Result<(), String> {
        if end.rate_bps == 0 {
            return Err("rate_bps: it is 0, and nothing would ever leave".to_owned());
        }
        let name = format!("{:?} of {:?}", end.port, end.node);
        self.only_once("port", &name)?;
        let number = self.ends.len();
        let switch = self.switches.iter().position(|switch| switch.name == end.node);
        let place =
            match (switch, &end.host) {
                (Some(switch), None) => {
                    self.ports[switch].push(number);
                    Place::Switch { switch, port: self.ports[switch].len() as u32 - 1 }
                }
                (None, Some(host)) => {
                    self.only_once("host.interface", &format!("{:?}", host.interface))?;
                    self.only_once("host.mac", &format!("{:?}", host.mac))?;
                    self.macs.push(addresses::parse(&host.mac).ok_or_else(|| {
                        format!("host.mac: {:?} is no Ethernet address", host.mac)
                    })?);
                    let interface = host.interface.clone();
                    self.hosts.push(HostEnd { end: number, interface, name });
                    Place::Host(self.hosts.len() - 1)
                }
                (Some(_), Some(_)) => return Err(format!("host: {:?} is a switch", end.node)),
                (None, None) => return Err(format!("node: there is no switch {:?}", end.node)),
            };
        let delay = Duration::from_ns(link.delay_ns);
        self.ends.push(End {
            place,
            link: Link::new(Rate::from_bps(end.rate_bps), delay),
            judges_at: None,
            socket_bytes_max: link.mtu_bytes as usize + crate::frame::HEADER_BYTES,
        });
        Ok(())
    }

    fn only_once(&mut self, field: &'static str, value: &str) -> Result<(), String> {
        if self.seen.insert((field, value.to_owned())) {
            Ok(())
        } else {
            Err(format!("{field}: {value} is that of an earlier end"))
        }
    }
}

/// A switch that cuts through judges a frame by its header, where it comes as fast as any egress sends:
/// a faster one would run out of bits.
fn cut_through(ports: &[usize], ends: &mut [End]) {
    let fastest = ports.iter().map(|&end| ends[end].link.rate()).max();
    for &end in ports {
        let from = ends[far(end)].link;
        if Some(from.rate()) >= fastest {
            ends[end].judges_at = Some(from.serialization(CUT_THROUGH_BYTES));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> SwitchPlan {
        let text = include_str!("../../../schema/examples/switch-plan.json");
        serde_json::from_str(text).expect("the example is a plan")
    }

    /// What is said of the example when `change` was done to it.
    fn complaint(change: impl FnOnce(&mut SwitchPlan)) -> String {
        let mut plan = example();
        change(&mut plan);
        check(plan).expect_err("it cannot be carried out")
    }

    #[test]
    fn the_example_can_be_carried_out() {
        let checked = check(example()).expect("it can");
        assert_eq!(checked.hosts.len(), 4);
        assert_eq!(checked.ports, [[1, 4], [3, 5]]);
        assert_eq!(checked.ends[4].link.delay(), Duration::from_us(10));
        assert_eq!(checked.ends[5].link.rate(), Rate::from_bps(250_000_000));
        assert_eq!(checked.mtu_bytes(), 9000);
    }

    #[test]
    fn a_frame_is_judged_by_its_header_and_room_reserved_where_it_comes_fast_enough() {
        let reserved = |forwarding| {
            let mut plan = example();
            plan.switches[1].forwarding = forwarding;
            let checked = check(plan).expect("it can be carried out");
            [checked.reserved_bytes(1, 0), checked.reserved_bytes(1, 1)]
        };
        // The server sends at 1 Gbit/s, which is the fastest egress; the other switch at 500 Mbit/s.
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
        let doubled = complaint(|plan| plan.links[1].a.host = plan.links[0].a.host.clone());
        assert_eq!(doubled, "links[1].a.host.interface: \"p0\" is that of an earlier end");
        let port = complaint(|plan| plan.links[2].a.port = "p1".to_owned());
        assert_eq!(port, "links[2].a.port: \"p1\" of \"left\" is that of an earlier end");
        let alpha = complaint(|plan| {
            if let Buffer::SharedMemory { alpha, .. } = &mut plan.switches[0].buffer {
                *alpha = 0.0;
            }
        });
        assert!(alpha.starts_with("switches[0].buffer.alpha: "), "{alpha}");
        let sampled = complaint(|plan| plan.sampled[1].port = Some("p9".to_owned()));
        assert_eq!(sampled, "sampled[1].port: \"right\" has no port \"p9\"");
    }

    #[test]
    fn switches_in_a_circle_are_refused() {
        let circle = complaint(|plan| {
            let mut link = plan.links[2].clone();
            link.a.port = "p3".to_owned();
            link.b.port = "p3".to_owned();
            plan.links.push(link);
        });
        assert_eq!(circle, "links: the switches \"left\" and \"right\" are on a circle");
    }
}
