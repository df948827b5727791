//! The ports of a switch that have a queue discipline, if nothing at the switch pauses: each choice of
//! a frame is an event.

use netstudy_fabric::queue::{Granted, GrantedPort, Offered};
use netstudy_fabric::switch::Arrival;
use netstudy_fabric::{BufferConfig, Chance, Link, Schedule};
use netstudy_records::Queue;
use netstudy_units::Time;

use super::packets::Packet;

/// The granting ports of a switch. Other ports of the switch may be in closed form.
pub(super) struct Granting {
    /// For each port of the switch, by number: its queue, if it has a discipline.
    ports: Box<[Option<GrantedPort<Packet>>]>,
    /// When each port next chooses a frame.
    grants: Schedule,
}

impl Granting {
    /// None if no port has a discipline.
    pub(super) fn new(
        queues: &[Option<Queue>],
        links: &[Link],
        buffer: &BufferConfig,
    ) -> Option<Box<Self>> {
        if queues.iter().all(Option::is_none) {
            return None;
        }
        let port = |(queue, link): (&Option<Queue>, &Link)| {
            queue.as_ref().map(|queue| GrantedPort::new(queue, link, buffer.room_bytes()))
        };
        let ports = queues.iter().zip(links).map(port).collect();
        Some(Box::new(Self { ports, grants: Schedule::new(links.len()) }))
    }

    /// The port, if it has a discipline.
    pub(super) fn port(&self, port: u32) -> Option<&GrantedPort<Packet>> {
        self.ports[port as usize].as_ref()
    }

    /// Time of the next choice.
    pub(super) fn next(&self) -> Time {
        self.grants.earliest().1
    }

    /// As [`GrantedPort::offer`].
    pub(super) fn offer(
        &mut self,
        arrival: &Arrival,
        packet: Packet,
        chance: &mut impl Chance,
    ) -> Offered<Packet> {
        let egress = arrival.egress as usize;
        let Some(port) = &mut self.ports[egress] else { return Offered::NoRoom };
        let offered = port.offer(arrival, packet, chance);
        self.grants.set(egress, port.next_grant());
        offered
    }

    /// Makes the earliest choice, which is due at `now`. Returns the port and the frame that leaves,
    /// if one does.
    pub(super) fn grant(
        &mut self,
        now: Time,
        chance: &mut impl Chance,
    ) -> (u32, Option<Granted<Packet>>) {
        let egress = self.grants.earliest().0;
        let granted = self.ports[egress].as_mut().and_then(|port| port.grant(now, chance));
        let next = self.ports[egress].as_ref().map_or(Time::NEVER, GrantedPort::next_grant);
        self.grants.set(egress, next);
        (egress as u32, granted)
    }

    /// A frame that the discipline of the port has dropped in the last call.
    pub(super) fn pop_dropped(&mut self, port: u32) -> Option<Packet> {
        self.ports[port as usize].as_mut().and_then(GrantedPort::pop_dropped)
    }
}
