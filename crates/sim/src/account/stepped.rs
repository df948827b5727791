//! Interfaces that are simulated step by step, and pauses.

use netstudy_fabric::{PAUSE_FRAME_BYTES, pause_time};
use netstudy_records::Place;
use netstudy_units::Time;

use super::Trace;
use super::arena::{NodeId, Site, Spot};
use super::frames::{Receiver, Wire};

/// Most PAUSE frames that are noted between two other frames of a device: the last ones.
const OWN_PAUSES_MAX: usize = 16;

impl Trace {
    fn at_receiver(&self, interface: usize, place: Place) -> Spot {
        Spot { place, site: Site::Node(self.receivers[interface].host) }
    }

    /// An interface has taken in the packet in `slot`.
    pub(crate) fn take_in(&mut self, interface: usize, slot: usize, now: Time) {
        let Receiver { wire, taken_in, .. } = self.receivers[interface];
        let Some(wire) = wire else { return };
        let at_port = Spot { place: Place::PacketRateReceiving, site: Site::Link(wire) };
        let front = self.arena.get(taken_in).to.min(now);
        let begun = self.wait(self.packets[slot], at_port, front, taken_in);
        let node = self.spend(begun, at_port, now);
        self.packets[slot] = node;
        self.receivers[interface].taken_in = node;
    }

    /// The CPU of an interface begins to poll, because the interface has raised an interrupt for the
    /// packet in `slot`.
    pub(crate) fn interrupt(&mut self, interface: usize, slot: usize, now: Time) {
        let interrupt = self.at_receiver(interface, Place::Interrupt);
        self.packets[slot] = self.spend(self.packets[slot], interrupt, now);
    }

    /// The CPU of an interface has handled the packet in `slot`.
    pub(crate) fn process(&mut self, interface: usize, slot: usize, now: Time) {
        let [queue, at_cpu] =
            [Place::CpuQueue, Place::Cpu].map(|place| self.at_receiver(interface, place));
        let cpu = self.receivers[interface].cpu;
        let front = self.arena.get(cpu).to.min(now);
        let begun = self.wait(self.packets[slot], queue, front, cpu);
        let node = self.spend(begun, at_cpu, now);
        self.packets[slot] = node;
        self.receivers[interface].cpu = node;
    }

    /// The packet in the slot `next` becomes a part of the one in `slot`.
    pub(crate) fn merge(&mut self, slot: usize, next: usize) {
        self.packets[slot] = self.packets[next];
    }

    /// A CPU passes on the packet in `slot` at `now`, which reaches TCP at `at`. A merged packet has
    /// waited for the work of the CPU on others.
    pub(crate) fn pass_on(&mut self, interface: usize, slot: usize, now: Time, at: Time) {
        let [queue, latency] =
            [Place::CpuQueue, Place::HostLatency].map(|place| self.at_receiver(interface, place));
        let cpu = self.receivers[interface].cpu;
        let held = self.wait(self.packets[slot], queue, now, cpu);
        self.packets[slot] = self.spend(held, latency, at);
    }

    // ---- pauses

    /// The first PAUSE frame on the way reaches the device that sends on a link.
    pub(crate) fn pause(&mut self, wire: usize, now: Time, quanta: u16) {
        let wire = &mut self.wires[wire];
        let arrival = wire.on_the_way.pop_front().unwrap_or(NodeId::BEFORE);
        if !wire.pauses {
            return;
        }
        if wire.paused[1] < now {
            wire.paused = [now; 2];
        }
        wire.paused[1] = now + pause_time(wire.link.rate(), quanta);
        wire.resumed_by = if quanta == 0 { arrival } else { NodeId::BEFORE };
    }

    /// A switch, which sends on the links `wires`, sends a PAUSE frame on one of them. Its last bit
    /// leaves at `departs`. If a frame that left has made room, the PAUSE frame follows it.
    pub(crate) fn send_pause_of_switch(&mut self, wire: usize, departs: Time, wires: &[u32]) {
        let left = wires.iter().flat_map(|&port| {
            let Wire { last, before_last, .. } = self.wires[port as usize];
            [last, before_last]
        });
        let candidates = left.collect();
        self.send_pause(wire, departs, candidates);
    }

    /// An interface sends a PAUSE frame. If the CPU has handled a frame, the PAUSE frame follows it.
    pub(crate) fn send_pause_of_interface(&mut self, wire: usize, departs: Time, interface: usize) {
        let cpu = self.receivers[interface].cpu;
        self.send_pause(wire, departs, vec![cpu]);
    }

    /// A device sends a PAUSE frame because of the candidate that ends when the frame begins.
    fn send_pause(&mut self, number: usize, departs: Time, candidates: Vec<NodeId>) {
        let wire = &mut self.wires[number];
        let link = wire.link;
        let begins = departs.saturating_sub(link.serialization(PAUSE_FRAME_BYTES));
        if wire.own_pauses.len() == OWN_PAUSES_MAX {
            wire.own_pauses.pop_front();
        }
        wire.own_pauses.push_back([begins, departs]);
        let mut ends = candidates.into_iter().filter(|&id| self.arena.get(id).to == begins);
        let arrival = ends.next().map_or(NodeId::BEFORE, |freed| {
            let on = |place| Spot { place, site: Site::Link(number as u32) };
            let sent = self.spend(freed, on(Place::Serialization), departs);
            self.spend(sent, on(Place::Propagation), departs + link.delay())
        });
        self.wires[number ^ 1].on_the_way.push_back(arrival);
    }

    /// A frame waits, although the device has sent the one before it, until it starts.
    pub(super) fn hold_back(&mut self, number: usize, node: NodeId, start: Time) -> NodeId {
        let mut node = node;
        while let Some([from, to]) = self.wires[number].own_pauses.pop_front() {
            node = self.hold_until(number, node, from.min(start));
            let on = |place| Spot { place, site: Site::Link(number as u32) };
            let sent = self.spend(node, on(Place::Serialization), to.min(start));
            node = self.wait(node, on(Place::Queue), to.min(start), sent);
        }
        self.hold_until(number, node, start)
    }

    /// A frame waits because the device is paused, or because the switch sends it later.
    fn hold_until(&mut self, number: usize, node: NodeId, until: Time) -> NodeId {
        let on = |place| Spot { place, site: Site::Link(number as u32) };
        let Wire { paused: [from, to], resumed_by, .. } = self.wires[number];
        let before = self.spend(node, on(Place::Queue), from.min(until));
        let paused = self.wait(before, on(Place::Pause), to.min(until), resumed_by);
        self.spend(paused, on(Place::Queue), until)
    }
}
