//! The way of a frame: from TCP through the interface and the switches to the TCP of its receiver.

use std::collections::VecDeque;

use netstudy_fabric::Link;
use netstudy_fabric::topology::{Attachment, CableEnd};
use netstudy_records::Place;
use netstudy_units::{Duration, Time};

use super::Trace;
use super::arena::{Node, NodeId, Site, Spot, What};
use super::work::Span;
use crate::wiring::Wiring;

/// A direction of a link, and the device that sends on it.
#[derive(Clone, Debug)]
pub(crate) struct Wire {
    pub(super) link: Link,
    /// The latency of the device.
    latency: (Spot, Duration),
    /// Least time between the starts of two frames.
    interval: Duration,
    /// The other end may pause the device.
    pub(super) pauses: bool,
    /// The last pause: from, until.
    pub(super) paused: Span,
    /// The arrival of the PAUSE frame that ended the last pause, if one did.
    pub(super) resumed_by: NodeId,
    /// The arrivals of the PAUSE frames on the way to the device.
    pub(super) on_the_way: VecDeque<NodeId>,
    /// The device's own PAUSE frames since the last frame: start and end of each.
    pub(super) own_pauses: VecDeque<Span>,
    /// The last frame that was sent, and the one before it.
    pub(super) last: NodeId,
    pub(super) before_last: NodeId,
}

impl Wire {
    /// All directions of links, by the number of the end that sends.
    pub(crate) fn all(wiring: &Wiring) -> Vec<Self> {
        let ends = (0..wiring.topology.cables().len())
            .flat_map(|cable| [0, 1].map(|end| CableEnd { cable, end }));
        ends.map(|at| Self::new(wiring, at)).collect()
    }

    fn new(wiring: &Wiring, at: CableEnd) -> Self {
        let at_node = |place, node: usize| Spot { place, site: Site::Node(node as u32) };
        let (latency, interval, pauses) = match wiring.topology.attachment(at) {
            Attachment::Interface(interface) => {
                let kind = &wiring.interfaces[interface];
                let host = wiring.topology.interfaces()[interface].host;
                let latency = (at_node(Place::HostLatency, host), kind.send_latency);
                (latency, kind.receive.frame_interval, kind.pause.honours)
            }
            Attachment::SwitchPort { switch, .. } => {
                let kind = &wiring.switches[switch];
                let node = wiring.topology.switches()[switch].node;
                let latency = (at_node(Place::SwitchLatency, node), kind.latency);
                (latency, Duration::ZERO, kind.pause.honours)
            }
        };
        let link = wiring.topology.link(at);
        Self {
            link,
            latency,
            interval,
            pauses,
            paused: [Time::ZERO; 2],
            resumed_by: NodeId::BEFORE,
            on_the_way: VecDeque::new(),
            own_pauses: VecDeque::new(),
            last: NodeId::BEFORE,
            before_last: NodeId::BEFORE,
        }
    }

    /// All nodes that the wire refers to.
    pub(super) fn nodes(&mut self) -> impl Iterator<Item = &mut NodeId> {
        let Self { resumed_by, last, before_last, on_the_way, .. } = self;
        on_the_way.iter_mut().chain([resumed_by, last, before_last])
    }
}

/// An interface that receives frames, or the path inside of a host.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Receiver {
    pub(super) host: u32,
    /// The direction of the link on which frames come; none: they stay inside of the host.
    pub(super) wire: Option<u32>,
    /// If receiving takes CPU time: the delay of the interrupt.
    interrupt_delay: Option<Duration>,
    /// The last frame that was taken in.
    pub(crate) taken_in: NodeId,
    /// The last frame that the CPU handled.
    pub(crate) cpu: NodeId,
}

impl Receiver {
    /// The interfaces, and then the paths inside of these hosts.
    pub(crate) fn all(wiring: &Wiring, inside: &[usize]) -> Vec<Self> {
        let interfaces = wiring.topology.interfaces().iter().zip(&wiring.interfaces);
        let of_interfaces = interfaces
            .map(|(one, kind)| (one.host, Some(one.at.far().number() as u32), &kind.receive));
        let of_paths = inside
            .iter()
            .filter_map(|&host| wiring.inside(host).map(|kind| (host, None, &kind.receive)));
        let all = of_interfaces.chain(of_paths).map(|(host, wire, receive)| Self {
            host: host as u32,
            wire,
            interrupt_delay: (!receive.costs_no_time()).then_some(receive.interrupt_delay),
            taken_in: NodeId::BEFORE,
            cpu: NodeId::BEFORE,
        });
        all.collect()
    }
}

impl Trace {
    /// The queue in which frames wait to leave an interface.
    pub(super) fn own_queue(&self, interface: usize) -> Spot {
        let Receiver { wire, host, .. } = self.receivers[interface];
        // The two directions of a link have neighbouring numbers.
        let site = wire.map_or(Site::Node(host), |incoming| Site::Link(incoming ^ 1));
        Spot { place: Place::Queue, site }
    }
}

/// When an interface has taken in a frame, and when its CPU is free.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReceiveTimes {
    pub(crate) taken_in_at: Time,
    pub(crate) cpu_free_at: Time,
}

impl Trace {
    /// Time passes at a spot until `until`. Without a duration, no node is needed.
    pub(crate) fn spend(&mut self, parent: NodeId, spot: Spot, until: Time) -> NodeId {
        self.wait(parent, spot, until, NodeId::BEFORE)
    }

    /// A wait until `until` for the work that ends with the node `behind`.
    pub(crate) fn wait(
        &mut self,
        parent: NodeId,
        spot: Spot,
        until: Time,
        behind: NodeId,
    ) -> NodeId {
        let from = self.arena.get(parent).to;
        if until <= from {
            return parent;
        }
        let behind = if self.arena.get(behind).to == until { behind } else { NodeId::BEFORE };
        self.arena.push(Node { parent, behind, from, to: until, what: What::Spent(spot) })
    }

    /// The packet in `slot` leaves a device for a link. Its last bit leaves at `departs`; the device
    /// at the other end can use the frame at `judged` plus the propagation delay. Returns the node
    /// of the end of its transmission.
    pub(crate) fn leave(
        &mut self,
        number: usize,
        slot: usize,
        frame_bytes: u32,
        departs: Time,
        judged: Time,
    ) -> NodeId {
        let Wire { link, latency: (device, latency), interval, last, .. } = self.wires[number];
        let on = |place| Spot { place, site: Site::Link(number as u32) };
        let arrived = self.arena.get(self.packets[slot]).to;
        let start = departs.saturating_sub(link.serialization(frame_bytes));
        let (last_start, last_end) = (self.arena.get(last).from, self.arena.get(last).to);
        let mut node = self.spend(self.packets[slot], device, (arrived + latency).min(start));
        node = self.wait(node, on(Place::Queue), last_end.min(start), last);
        if interval > Duration::ZERO {
            node =
                self.spend(node, on(Place::PacketRateSending), (last_start + interval).min(start));
        }
        node = self.hold_back(number, node, start);
        let sent = self.spend(node, on(Place::Serialization), departs);
        let wire = &mut self.wires[number];
        wire.before_last = std::mem::replace(&mut wire.last, sent);
        let usable = if judged == departs {
            sent
        } else {
            self.spend(node, on(Place::Serialization), judged)
        };
        self.packets[slot] = self.spend(usable, on(Place::Propagation), judged + link.delay());
        sent
    }

    /// The link delays the packet in `slot`, which has just left for it, until `at`.
    pub(crate) fn delay(&mut self, number: usize, slot: usize, at: Time) {
        let on_link = Spot { place: Place::Propagation, site: Site::Link(number as u32) };
        self.packets[slot] = self.spend(self.packets[slot], on_link, at);
    }

    /// The link makes the packet in `twin` of the one in `slot`.
    pub(crate) fn duplicate(&mut self, slot: usize, twin: usize) {
        if self.packets.len() <= twin {
            self.packets.resize(twin + 1, NodeId::BEFORE);
        }
        self.packets[twin] = self.packets[slot];
    }

    /// The packet in `slot` stays inside of the host, and leaves TCP's side of the path at `departs`.
    pub(crate) fn stay(&mut self, interface: usize, slot: usize, departs: Time) {
        let site = Site::Node(self.receivers[interface].host);
        let latency = Spot { place: Place::HostLatency, site };
        self.packets[slot] = self.spend(self.packets[slot], latency, departs);
    }

    /// An interface receives the packet in `slot`, which reaches TCP at `at`. `before` and `after`:
    /// the times of the interface before and after this frame.
    pub(crate) fn receive(
        &mut self,
        interface: usize,
        slot: usize,
        [before, after]: [ReceiveTimes; 2],
        at: Time,
    ) {
        let Receiver { host, wire, interrupt_delay, taken_in, cpu } = self.receivers[interface];
        let at_host = |place| Spot { place, site: Site::Node(host) };
        let mut node = self.packets[slot];
        if let Some(wire) = wire {
            let rate = Spot { place: Place::PacketRateReceiving, site: Site::Link(wire) };
            node = self.wait(node, rate, before.taken_in_at.min(after.taken_in_at), taken_in);
            node = self.spend(node, rate, after.taken_in_at);
            self.receivers[interface].taken_in = node;
        }
        if let Some(delay) = interrupt_delay {
            let there = self.arena.get(node).to;
            node = if there >= before.cpu_free_at {
                self.spend(node, at_host(Place::Interrupt), there + delay)
            } else {
                self.wait(node, at_host(Place::CpuQueue), before.cpu_free_at, cpu)
            };
            node = self.spend(node, at_host(Place::Cpu), after.cpu_free_at);
            self.receivers[interface].cpu = node;
        }
        self.packets[slot] = self.spend(node, at_host(Place::HostLatency), at);
    }
}
