//! An event-driven simulation of a network of hosts, zones and switches with any topology.
//!
//! A step is an event if its outcome is not known before its time, because other steps can still
//! change it: a frame arrives at a switch, an egress chooses among the frames that it holds, a
//! segment reaches TCP, a timer fires. A FIFO needs no events: the time at which a frame leaves an
//! interface, a wire or an egress queue is known when the frame enters it. A port with a queue
//! discipline needs one event for each frame that waits: the choice of the frame. At links that may be
//! paused and hosts that merge segments, this time is not known in advance: the interfaces and
//! switches at these links, and the interfaces of these hosts, are event-driven at every step. So
//! are interfaces with a queue discipline.
//! Others in the same network need not be.
//!
//! Each wire to a switch, each interface and each switch is one source of events. The schedule
//! holds at most one event of each source; later events of a source wait in its own FIFO. In this
//! network, hosts are never ahead of the clock, so counters are exact at any time.
//!
//! Events at equal times have this order: timers, choices and steps of switches, frames at
//! switches, PAUSE frames at switches, interfaces (whose steps have their own order), and last the
//! reading of counters. The order of the ports of a switch, and of the interfaces of a host, is
//! random and drawn anew for each time ([`tie_break_key`]), so none of them is preferred. Frames of
//! one wire stay in order. The order of events at different nodes does not matter, because a node
//! can affect another node only after a delay.

mod granting;
mod interface;
mod packets;
mod receiver;
mod sending;
mod switch;
mod work;

use std::cell::RefMut;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::iter;

use netstudy_fabric::queue::{ClassStatistics, Granted, Offered};
use netstudy_fabric::stepped::{Mark, Sent};
use netstudy_fabric::switch::Arrival;
use netstudy_fabric::topology::{Attachment, CableEnd, Route};
use netstudy_fabric::{FrameSizes, Link, Schedule, SwitchBuffer, Verdict, ethernet};
use netstudy_path::Path;
use netstudy_random::Stream;
use netstudy_ring::Ring;
use netstudy_tcp::{Outlet, Segment};
use netstudy_units::{Duration, Time};
use netstudy_workload::Traffic;

use super::event_queue::tie_break_key;
use super::frame::Frame;
use super::limits::Limits;
use super::nic::judged;
use super::trace::{TracePoint, Tracer};
use crate::account::Trace;
use crate::end_index::EndIndex;
use crate::host::stations::StationCounters;
use crate::host::{Hosts, Network};
use crate::measure::Rare;
use crate::measure::control::OnSamples;
use crate::measure::counted::Counted;
use crate::measure::outcome::Outcome;
use crate::snapshot::{Carried, EndCounters, Frames, SwitchFrames};
use crate::wiring::{InterfaceKind, Wiring};
use interface::{Closed, Form, Happening, Interface, SteppedInterface};
use packets::{Packet, Packets};
use receiver::Watch;
use switch::Switch;
use work::{InterfaceWork, Job, Meter, Stage, Way};

/// A network to set up, and how to simulate it.
struct Setup<'a> {
    wiring: &'a Wiring,
    seed: &'a str,
    /// Every hop is simulated step by step.
    all_steps: bool,
}

/// One direction of a link.
struct Wire {
    link: Link,
    far: Far,
    /// Frames in flight to the switch at the far end, and when the switch can judge them.
    on_the_way: Ring<(Time, Packet)>,
    /// PAUSE frames in flight to the switch at the far end, and when they arrive.
    pauses: Ring<(Time, u16)>,
    /// Frames that the switch at the far end has judged.
    judged: Carried,
    judged_sizes: FrameSizes,
    /// Loss, duplicates and random delay; none: frames arrive after the delay of the link.
    path: Option<Box<Path>>,
}

/// The far end of a wire.
#[derive(Clone, Copy)]
enum Far {
    /// A port of a switch. If `cuts_through`, frames from this wire are judged before their last
    /// bit has arrived.
    Switch { switch: u32, port: u32, cuts_through: bool, source: u32 },
    /// An interface.
    Interface(u32),
}

/// A source of events.
#[derive(Clone, Copy)]
enum Source {
    /// A switch makes a step.
    Switch(u32),
    /// A frame arrives at the far end of a wire.
    Frame(u32),
    /// A PAUSE frame arrives at the far end of a wire.
    Pause(u32),
    /// A segment reaches TCP, or an interface makes a step.
    Interface(u32),
    /// At the host of this interface, a packet has finished this stage.
    Work(u32, Stage),
}

/// The order of kinds of event at equal times. It is in the upper bits of a key, above the bits of
/// [`tie_break_key`].
const CLASS_SHIFT: u32 = 30;
const FRAMES: u32 = 1 << CLASS_SHIFT;
const PAUSES: u32 = 2 << CLASS_SHIFT;
const INTERFACES: u32 = 3 << CLASS_SHIFT;

#[cfg_attr(not(debug_assertions), inline(always))]
fn key(class: u32, time: Time, port: usize, salt: u64) -> u32 {
    class | tie_break_key(time, port, salt).0 >> (u32::BITS - CLASS_SHIFT)
}

/// The event-driven network; `L` are the limits of its interfaces.
pub(crate) struct General<L, O> {
    now: Time,
    schedule: Schedule,
    sources: Box<[Source]>,
    packets: Packets,
    /// For each [`EndIndex`], the number of the interface that this end of the connection uses.
    interface_of: Box<[u32]>,
    interfaces: Box<[Interface<L>]>,
    /// For each [`EndIndex`], the code point of the packets that this end sends; empty: 0 for all.
    dscp_of: Box<[u8]>,
    /// Interface i is the source with the number `first_interface_source` + i.
    first_interface_source: usize,
    wires: Box<[Wire]>,
    switches: Box<[Switch]>,
    /// Seed of the order of a host's interfaces at equal times.
    salt: u64,
    sent_inside: u64,
    /// Nodes of the hosts that have connections between their own processes. They are in the order
    /// of the interfaces without a wire.
    hosts_inside: Box<[usize]>,
    /// `work` has an entry for each interface, `meters` for each end of a connection. Both are used
    /// only if hosts have stations.
    work: Box<[Option<InterfaceWork>]>,
    meters: Box<[Meter]>,
    tracer: O,
}

impl<L: Limits, O: Tracer> General<L, O> {
    /// The network of a run. With `all_steps`, every hop is event-driven; the results are the same.
    pub(crate) fn new(wiring: &Wiring, seed: &str, all_steps: bool, tracer: O) -> Self {
        let setup = Setup { wiring, seed, all_steps };
        let topology = &wiring.topology;
        let switches: Box<[_]> = (0..wiring.switches.len())
            .map(|index| Switch::new(wiring, index, setup.switch_steps(index), seed))
            .collect();
        let mut sources: Vec<_> = (0..switches.len() as u32).map(Source::Switch).collect();
        let wires: Box<[_]> = (0..topology.cables().len())
            .flat_map(|cable| [0, 1].map(|end| CableEnd { cable, end }))
            .map(|at| Wire::new(&setup, at, &mut sources))
            .collect();
        let Interfaces { all: interfaces, of_ends: interface_of, hosts_inside } =
            setup.make_interfaces(&wires);
        // The sources from here on belong to the interfaces, in their order.
        let first_interface_source = sources.len();
        sources.extend((0..interfaces.len() as u32).map(Source::Interface));
        let (mut work, mut meters) = (Vec::new(), Vec::new());
        if L::HAS_STATIONS {
            work.extend(
                (0..wiring.interfaces.len()).map(|i| InterfaceWork::of_interface(wiring, i)),
            );
            work.extend(hosts_inside.iter().map(|&host| InterfaceWork::inside(wiring, host)));
            meters.extend((0..interface_of.len()).map(|end| Meter::of(wiring, end / 2)));
            for stage in [Stage::Buses, Stage::Cpus] {
                sources.extend((0..work.len() as u32).map(|one| Source::Work(one, stage)));
            }
        }
        if O::ACCOUNTS {
            tracer.trace().set_paths_inside(wiring, &hosts_inside);
        }
        Self {
            now: Time::ZERO,
            schedule: Schedule::new(sources.len()),
            sources: sources.into(),
            packets: Packets::default(),
            interface_of,
            interfaces,
            dscp_of: wiring.dscp_of_ends().into(),
            first_interface_source,
            wires,
            switches,
            salt: Stream::new(seed, "interfaces/arrivals").bits(),
            sent_inside: 0,
            hosts_inside,
            work: work.into(),
            meters: meters.into(),
            tracer,
        }
    }

    /// Runs the traffic of `hosts` to the end. Calls `on_samples` when samples have ended.
    pub(crate) fn run<T: Traffic>(
        mut self,
        hosts: &mut Hosts<'_, T>,
        on_samples: &mut OnSamples<'_>,
    ) -> Result<Outcome, String> {
        loop {
            let (host, timer) = hosts.next_timer();
            let (source, event) = self.schedule.earliest();
            let read = hosts.measure().due();
            // If a switch could not make a step during a pause, the time of this step may be in the
            // past.
            self.now = self.now.max(timer.min(event).min(read));
            // A unit that has just ended is not under way, but its account is due now.
            if O::ACCOUNTS && timer > self.now && self.tracer.trace().is_full() {
                let oldest = hosts.working_since().min(self.now);
                self.tracer.trace().forget(oldest);
            }
            if timer <= self.now {
                hosts.measure().check_progress(self.now)?;
                let now = self.now;
                hosts.again().fire_timers(&mut self, host, now);
            } else if event <= self.now {
                match self.sources[source] {
                    Source::Frame(wire) => self.judge(hosts, wire as usize),
                    Source::Interface(interface) => self.step_interface(hosts, interface as usize),
                    Source::Switch(switch) => self.step_switch(hosts, switch as usize),
                    Source::Pause(wire) => self.take_pause(wire as usize),
                    Source::Work(interface, stage) => {
                        self.finish_work(hosts, interface as usize, stage);
                    }
                }
            } else if let Some(outcome) = hosts.again().read(&self, on_samples)? {
                return Ok(outcome);
            }
        }
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn note(&mut self, point: TracePoint, at: Time, packet: &Packet) {
        if O::TRACES {
            let segment = self.packets.segment(packet);
            let Packet { to, frame_bytes, .. } = *packet;
            self.tracer.note(point, at, &Frame { arrival: at, to, frame_bytes, segment });
        }
    }

    // ---- wires

    /// Puts a frame on a wire. Its last bit leaves at `departs`. A switch at the far end can judge
    /// the frame at `judged` plus the propagation delay.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn carry(&mut self, wire: usize, judged: Time, departs: Time, packet: Packet) {
        if self.wires[wire].path.is_some() {
            self.carry_over_path(wire, judged, departs, packet);
        } else {
            self.carry_on(wire, judged, departs, packet);
        }
    }

    /// Puts a frame on a wire that may lose, duplicate or delay it.
    #[cold]
    #[inline(never)]
    fn carry_over_path(&mut self, wire: usize, judged: Time, departs: Time, packet: Packet) {
        let Wire { path: Some(path), link, .. } = &mut self.wires[wire] else { return };
        let (passage, delay) = (path.pass(judged), link.delay());
        let Some(first) = passage.first else {
            self.note(TracePoint::Lost(wire), departs, &packet);
            self.packets.drop(&packet);
            return;
        };
        // The duplicate is made before the frame goes on: at an interface, a frame may find the ring
        // full and be gone.
        let twin = passage.second.map(|at| (at, self.packets.duplicate(&packet)));
        if O::ACCOUNTS
            && let Some((_, twin)) = &twin
        {
            self.tracer.trace().duplicate(packet.slot(), twin.slot());
        }
        for (at, arriving) in iter::once((first, packet)).chain(twin) {
            let late = at.since(judged);
            if O::ACCOUNTS {
                self.tracer.trace().delay(wire, arriving.slot(), at + delay);
            }
            self.carry_on(wire, judged + late, departs + late, arriving);
        }
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn carry_on(&mut self, wire: usize, judged: Time, departs: Time, packet: Packet) {
        let far = self.wires[wire].far;
        match far {
            Far::Switch { .. } => {
                let Self { wires, switches, schedule, .. } = self;
                wires[wire].put(judged, packet, switches, schedule);
            }
            Far::Interface(interface) => self.receive(interface as usize, departs, packet),
        }
    }

    /// Passes a frame to the interface that receives it. Its last bit leaves the other end of the
    /// link at `departs`.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn receive(&mut self, interface: usize, departs: Time, packet: Packet) {
        match &mut self.interfaces[interface].form {
            Form::Closed(closed) => {
                let before = if O::ACCOUNTS { Some(closed.nic.receive_times()) } else { None };
                let Some(at) = closed.receive(departs, &packet) else {
                    self.drop_at_ring(interface, departs, &packet);
                    return;
                };
                if let Some(before) = before {
                    let times = [before, closed.nic.receive_times()];
                    self.tracer.trace().receive(interface, packet.slot(), times, at);
                }
                let was_empty = closed.delivered.is_empty();
                closed.delivered.push_back((at, packet));
                if was_empty {
                    self.plan_interface(interface, at);
                }
            }
            Form::Stepped(stepped) => {
                let wire = self.interfaces[interface].wire.expect("frames come by a link");
                stepped.expect(departs + self.wires[wire].link.delay(), packet);
                self.replan_interface(interface);
            }
        }
    }

    /// Drops a frame that will find the ring of an interface in closed form full. The frame would
    /// arrive one propagation delay after `departs`.
    #[cold]
    #[inline(never)]
    fn drop_at_ring(&mut self, interface: usize, departs: Time, packet: &Packet) {
        let Interface { wire, form } = &mut self.interfaces[interface];
        let delay = wire.map_or(Duration::ZERO, |wire| self.wires[wire].link.delay());
        if let Form::Closed(closed) = form {
            closed.forget_drops(self.now);
        }
        self.note(TracePoint::RingDropped(interface), departs + delay, packet);
        self.packets.drop(packet);
    }

    // ---- switches

    /// Handles the arrival of a wire's first frame at the switch at its far end.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn judge<T: Traffic>(&mut self, hosts: &mut Hosts<'_, T>, wire: usize) {
        let Self { wires, switches, schedule, .. } = self;
        let Far::Switch { switch: index, port, .. } = wires[wire].far else { return };
        let packet = wires[wire].take(switches, schedule);
        let switch = &mut self.switches[index as usize];
        let egress = switch.egress[self.interface_of[packet.to.0 as usize] as usize];
        let arrival = Arrival {
            now: self.now,
            ready: self.now + switch.latency,
            ingress: port,
            egress,
            frame_bytes: packet.frame_bytes,
        };
        if O::TRACES {
            let place = switch.first_port + port as usize;
            self.note(TracePoint::Arrived(place), self.now, &packet);
        }
        self.offer(hosts, index as usize, &arrival, packet);
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn offer<T: Traffic>(
        &mut self,
        hosts: &mut Hosts<'_, T>,
        index: usize,
        arrival: &Arrival,
        mut packet: Packet,
    ) {
        let Switch { form, arbitration, .. } = &mut self.switches[index];
        let bytes = u64::from(arrival.frame_bytes);
        let verdict = match form {
            switch::Form::Closed { granting: Some(granting), .. }
                if granting.port(arrival.egress).is_some() =>
            {
                let offered = granting.offer(arrival, packet, arbitration);
                self.offered_to_queue(hosts, index, arrival, offered)
            }
            switch::Form::Closed { buffer, counters, .. } => {
                let verdict = buffer.offer(arrival, &packet);
                let port = &mut counters[arrival.egress as usize];
                if verdict == Verdict::Dropped {
                    port.frames_dropped += 1;
                    port.bytes_dropped += bytes;
                } else {
                    port.frames_forwarded += 1;
                    port.bytes_forwarded += bytes;
                }
                if let Verdict::Marked(_) = verdict
                    && packet.mark()
                {
                    port.frames_marked += 1;
                }
                verdict
            }
            switch::Form::Stepped(stepped) => {
                if stepped.offer(arrival, packet, arbitration) {
                    self.forget_dropped(hosts, index, arrival.egress);
                    Verdict::Held
                } else {
                    Verdict::Dropped
                }
            }
        };
        match verdict {
            Verdict::Departs(departs) | Verdict::Marked(departs) => {
                self.leave(index, arrival.egress, departs, packet);
            }
            // The switch decides later about this frame; its next choice may now be due earlier.
            Verdict::Held => self.replan_switch(index),
            Verdict::Dropped => self.drop_at_switch(hosts, index, arrival.egress, &packet),
        }
    }

    /// Handles a frame that a port with a queue discipline was offered. Returns whether the port has
    /// it, or has no room for it.
    fn offered_to_queue<T: Traffic>(
        &mut self,
        hosts: &mut Hosts<'_, T>,
        index: usize,
        arrival: &Arrival,
        offered: Offered<Packet>,
    ) -> Verdict {
        match offered {
            Offered::NoRoom => return Verdict::Dropped,
            Offered::Held => {}
            Offered::Leaves(Granted { frame, departs }) => {
                self.leave(index, arrival.egress, departs, frame);
            }
        }
        self.forget_dropped(hosts, index, arrival.egress);
        Verdict::Held
    }

    /// Drops the frames that the queue disciplines of a switch have dropped. If its ports grant, only
    /// that of the port `egress` can have dropped any.
    fn forget_dropped<T: Traffic>(&mut self, hosts: &mut Hosts<'_, T>, index: usize, egress: u32) {
        loop {
            let dropped = match &mut self.switches[index].form {
                switch::Form::Closed { granting: Some(granting), .. } => {
                    granting.pop_dropped(egress).map(|packet| (egress, packet))
                }
                switch::Form::Closed { granting: None, .. } => None,
                switch::Form::Stepped(stepped) => stepped.pop_dropped(),
            };
            let Some((egress, packet)) = dropped else { return };
            self.drop_at_switch(hosts, index, egress, &packet);
        }
    }

    /// Drops a frame at a port of a switch, whose counters include it already.
    fn drop_at_switch<T: Traffic>(
        &mut self,
        hosts: &mut Hosts<'_, T>,
        index: usize,
        egress: u32,
        packet: &Packet,
    ) {
        let end = self.switches[index].wires[egress as usize] as usize;
        hosts.measure().count(self.now, Rare::Drop(end, packet.frame_bytes));
        let place = self.switches[index].first_port + egress as usize;
        self.note(TracePoint::Dropped(place), self.now, packet);
        self.packets.drop(packet);
    }

    /// Sends a frame from a port of a switch. Its last bit leaves at `departs`.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn leave(&mut self, index: usize, egress: u32, departs: Time, packet: Packet) {
        let switch = &self.switches[index];
        let (wire, place) =
            (switch.wires[egress as usize] as usize, switch.first_port + egress as usize);
        self.note(TracePoint::Left(place), departs, &packet);
        let Wire { link, far, .. } = &self.wires[wire];
        let judged = match far {
            &Far::Switch { cuts_through, .. } => {
                judged(link, cuts_through, departs, packet.frame_bytes)
            }
            Far::Interface(_) => departs,
        };
        if O::ACCOUNTS {
            let bytes = packet.frame_bytes;
            self.tracer.trace().leave(wire, packet.slot(), bytes, departs, judged);
        }
        self.carry(wire, judged, departs, packet);
    }

    fn replan_switch(&mut self, index: usize) {
        self.schedule.set(index, self.switches[index].next_step());
    }

    fn step_switch<T: Traffic>(&mut self, hosts: &mut Hosts<'_, T>, index: usize) {
        let Switch { form, arbitration, wires, .. } = &mut self.switches[index];
        match form {
            switch::Form::Closed { granting: Some(granting), .. }
                if granting.next() <= self.now =>
            {
                let (egress, granted) = granting.grant(self.now, arbitration);
                if let Some(Granted { frame, departs }) = granted {
                    self.leave(index, egress, departs, frame);
                }
                self.forget_dropped(hosts, index, egress);
            }
            switch::Form::Closed { buffer, counters, .. } => {
                let Some(mut grant) = buffer.grant(arbitration) else { return };
                if grant.marked && grant.frame.mark() {
                    counters[grant.egress as usize].frames_marked += 1;
                }
                self.leave(index, grant.egress, grant.departs, grant.frame);
            }
            switch::Form::Stepped(stepped) => match stepped.step(self.now, arbitration) {
                None => self.forget_dropped(hosts, index, 0),
                Some(departure) => match departure.sent {
                    Sent::Frame(packet) => {
                        self.leave(index, departure.egress, departure.departs, packet);
                    }
                    Sent::Pause(quanta) => {
                        let wire = wires[departure.egress as usize] as usize;
                        if O::ACCOUNTS {
                            let mut trace = self.tracer.trace();
                            trace.send_pause_of_switch(wire, departure.departs, wires);
                        }
                        self.carry_pause(wire, departure.departs, quanta);
                    }
                },
            },
        }
        self.replan_switch(index);
    }

    // ---- PAUSE

    /// Puts a PAUSE frame on a wire. Its last bit leaves at `departs`.
    fn carry_pause(&mut self, wire: usize, departs: Time, quanta: u16) {
        let Wire { link, far, pauses, .. } = &mut self.wires[wire];
        let at = departs + link.delay();
        match *far {
            Far::Switch { .. } => {
                pauses.push_back((at, quanta));
                self.plan_pause(wire);
            }
            Far::Interface(interface) => {
                let form = &mut self.interfaces[interface as usize].form;
                if let Form::Stepped(stepped) = form {
                    stepped.expect_pause(at, quanta);
                    self.replan_interface(interface as usize);
                }
            }
        }
    }

    fn plan_pause(&mut self, wire: usize) {
        let Far::Switch { switch, port, source, .. } = self.wires[wire].far else { return };
        let at = self.wires[wire].pauses.front().map_or(Time::NEVER, |&(at, _)| at);
        let key = key(PAUSES, at, port as usize, self.switches[switch as usize].salt);
        self.schedule.set_with_key(source as usize + 1, at, key);
    }

    /// Handles the arrival of a wire's first PAUSE frame at the switch at its far end.
    fn take_pause(&mut self, wire: usize) {
        let Far::Switch { switch, port, .. } = self.wires[wire].far else { return };
        let Some((_, quanta)) = self.wires[wire].pauses.pop_front() else { return };
        self.plan_pause(wire);
        if O::ACCOUNTS {
            let back = self.switches[switch as usize].wires[port as usize];
            self.tracer.trace().pause(back as usize, self.now, quanta);
        }
        if let switch::Form::Stepped(stepped) = &mut self.switches[switch as usize].form {
            stepped.handle_pause(self.now, port, quanta);
            self.replan_switch(switch as usize);
        }
    }

    // ---- interfaces

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn plan_interface(&mut self, interface: usize, at: Time) {
        let key = key(INTERFACES, at, interface, self.salt);
        self.schedule.set_with_key(self.first_interface_source + interface, at, key);
    }

    fn replan_interface(&mut self, interface: usize) {
        if let Form::Stepped(stepped) = &self.interfaces[interface].form {
            let at = stepped.next_step();
            self.plan_interface(interface, at);
        }
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn step_interface<T: Traffic>(&mut self, hosts: &mut Hosts<'_, T>, interface: usize) {
        if let Form::Closed(closed) = &mut self.interfaces[interface].form {
            let Some((_, packet)) = closed.delivered.pop_front() else { return };
            let next = closed.delivered.front().map_or(Time::NEVER, |&(at, _)| at);
            self.plan_interface(interface, next);
            self.deliver(hosts, interface, &packet);
        } else {
            self.step_interface_once(hosts, interface);
        }
    }

    fn step_interface_once<T: Traffic>(&mut self, hosts: &mut Hosts<'_, T>, interface: usize) {
        let Interface { wire, form } = &mut self.interfaces[interface];
        let Form::Stepped(stepped) = form else { return };
        let watch = Watch { tracer: &self.tracer, interface };
        let (wire, happening) = (*wire, stepped.step(self.now, &mut self.packets, &watch));
        self.replan_interface(interface);
        match (happening, wire) {
            (Happening::Delivered(packet), _) => self.deliver(hosts, interface, &packet),
            (Happening::RingDropped(packet), _) => {
                self.note(TracePoint::RingDropped(interface), self.now, &packet);
                self.packets.drop(&packet);
            }
            (Happening::QueueDropped(packet), _) => {
                // Its memory is free again, as if it had left (`tcp_wfree` of Linux).
                let segment = self.packets.segment(&packet);
                hosts.note_departure(packet.to.peer(), &segment, self.now);
                self.packets.drop(&packet);
            }
            (Happening::Leaves { sent: Sent::Frame(packet), judged, departs }, Some(wire)) => {
                let segment = self.packets.segment(&packet);
                if O::ACCOUNTS {
                    let mut trace = self.tracer.trace();
                    let (slot, bytes) = (packet.slot(), packet.frame_bytes);
                    let sent = trace.leave(wire, slot, bytes, departs, judged);
                    trace.depart(packet.to.peer(), &segment, self.now, departs, sent);
                }
                hosts.note_departure(packet.to.peer(), &segment, departs);
                self.tell_room(hosts, interface);
                self.carry(wire, judged, departs, packet);
            }
            (Happening::Leaves { sent: Sent::Pause(quanta), departs, .. }, Some(wire)) => {
                if O::ACCOUNTS {
                    self.tracer.trace().send_pause_of_interface(wire, departs, interface);
                }
                self.carry_pause(wire, departs, quanta);
            }
            (Happening::Paused(quanta), Some(wire)) => {
                if O::ACCOUNTS {
                    self.tracer.trace().pause(wire, self.now, quanta);
                }
            }
            (Happening::None | Happening::Leaves { .. } | Happening::Paused(_), _) => {}
        }
    }

    /// Passes a received segment from an interface to TCP, or first to the stations of the host if
    /// it has any.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn deliver<T: Traffic>(&mut self, hosts: &mut Hosts<'_, T>, interface: usize, packet: &Packet) {
        self.note(TracePoint::Delivered(interface), self.now, packet);
        if O::ACCOUNTS {
            self.tracer.trace().arrives(packet.slot());
        }
        let segment = self.packets.take(packet);
        if L::HAS_STATIONS && self.work[interface].is_some() {
            if O::ACCOUNTS {
                self.tracer.trace().handle_arrival();
            }
            let job = Job { way: Way::In, end: packet.to, segment };
            self.begin_moving(interface, packet.frame_bytes, job);
            return;
        }
        let host = hosts.host_of(packet.to);
        hosts.receive(self, self.now, host, packet.to, &segment);
    }

    // ---- hosts with stations

    /// Passes a frame that an interface sends or receives to the buses of the host. Packets that
    /// stay inside the host skip the buses.
    fn begin_moving(&mut self, interface: usize, frame_bytes: u32, job: Job) {
        let Some(work) = &mut self.work[interface] else { return };
        if self.interfaces[interface].wire.is_none() {
            self.begin_handling(self.now, interface, job);
            return;
        }
        let frame_bytes = frame_bytes.max(ethernet::frame_bytes(job.segment.ip_bytes()));
        work.move_frame(self.now, frame_bytes, job);
        self.begin_stage(interface, Stage::Buses);
    }

    /// Passes a packet that an interface sends or receives to the CPUs of the host.
    fn begin_handling(&mut self, now: Time, interface: usize, job: Job) {
        let Some(work) = &mut self.work[interface] else { return };
        work.handle(now, job, &mut self.meters[job.end.index()]);
        self.begin_stage(interface, Stage::Cpus);
    }

    fn begin_stage(&mut self, interface: usize, stage: Stage) {
        if O::ACCOUNTS {
            self.tracer.trace().enter_stage(interface, stage as usize);
        }
        self.plan_work(interface, stage);
    }

    fn plan_work(&mut self, interface: usize, stage: Stage) {
        let Some(work) = &self.work[interface] else { return };
        let first = self.first_interface_source + self.interfaces.len();
        let place = match stage {
            Stage::Buses => interface,
            Stage::Cpus => self.work.len() + interface,
        };
        let at = work.next(stage);
        let key = key(INTERFACES, at, self.interfaces.len() + place, self.salt);
        self.schedule.set_with_key(first + place, at, key);
    }

    /// Handles the end of a packet's stage at the buses or the CPUs.
    fn finish_work<T: Traffic>(
        &mut self,
        hosts: &mut Hosts<'_, T>,
        interface: usize,
        stage: Stage,
    ) {
        let job = self.work[interface].as_mut().and_then(|work| work.take(stage));
        self.plan_work(interface, stage);
        let Some(job) = job else { return };
        if O::ACCOUNTS {
            self.tracer.trace().leave_stage(interface, stage as usize);
        }
        match (job.way, stage) {
            (Way::In, Stage::Buses) => self.begin_handling(self.now, interface, job),
            (Way::In, Stage::Cpus) => {
                if O::ACCOUNTS {
                    self.tracer.trace().handled_arrival();
                }
                let host = hosts.host_of(job.end);
                hosts.receive(self, self.now, host, job.end, &job.segment);
            }
            (Way::Out, Stage::Cpus) if self.interfaces[interface].wire.is_some() => {
                self.begin_moving(interface, 0, job);
            }
            (Way::Out, _) => self.hand_to_interface(hosts, interface, &job),
        }
    }

    /// Sends a segment that has left the stations. Until now, TCP assumes that the segment waits in
    /// the host, so the time of its departure is reported if it is known.
    fn hand_to_interface<T: Traffic>(
        &mut self,
        hosts: &mut Hosts<'_, T>,
        interface: usize,
        job: &Job,
    ) {
        if O::ACCOUNTS {
            self.tracer.trace().handled_sending();
        }
        if let Some(work) = &mut self.work[interface] {
            work.hand_over();
        }
        let left_at = self.transmit_by(self.now, interface, job.end, job.segment);
        if O::ACCOUNTS && left_at.is_none() {
            self.tracer.trace().depart_at_once(job.end, &job.segment, self.now);
        }
        let left_at = left_at.unwrap_or(self.now);
        if left_at != Time::NEVER {
            hosts.note_departure(job.end, &job.segment, left_at);
        }
        self.tell_room(hosts, interface);
    }

    // ---- sending

    /// When the queue of an interface takes another segment, at `now` or later; [`Time::NEVER`] if
    /// that is not known yet. Segments at the stations of the host have their places in the queue
    /// already.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn room_of(&self, now: Time, interface: usize) -> Time {
        let sending = match self.work.get(interface) {
            Some(Some(work)) if L::HAS_STATIONS => work.sending(),
            _ => 0,
        };
        let Interface { wire, form } = &self.interfaces[interface];
        match form {
            Form::Closed(closed) if wire.is_some() => {
                closed.nic.room_at(now, &Ring::new(), sending)
            }
            // Packets inside of the host do not wait for a wire.
            Form::Closed(_) => now,
            Form::Stepped(stepped) => stepped.room_at(now, sending),
        }
    }

    /// Tells the ends that wait for room in the queue of an interface when there is room.
    fn tell_room<T: Traffic>(&self, hosts: &mut Hosts<'_, T>, interface: usize) {
        if let Some(end) = hosts.waits_for_unknown(interface) {
            let at = self.room_of(self.now, interface);
            hosts.note_room(end, at);
        }
    }

    /// Sends a segment from the connection end `from`. Returns the same as [`Network::send`].
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn transmit(&mut self, now: Time, from: EndIndex, segment: Segment) -> Option<Time> {
        let interface = self.interface_of[from.0 as usize] as usize;
        if L::HAS_STATIONS && self.work[interface].is_some() {
            let holds_back = self.interfaces[interface].form.holds_back();
            if holds_back && self.room_of(now, interface) > now {
                return None;
            }
            if O::ACCOUNTS {
                self.tracer.trace().handle_sending(from, &segment);
            }
            self.begin_handling(now, interface, Job { way: Way::Out, end: from, segment });
            return Some(Time::NEVER);
        }
        self.transmit_by(now, interface, from, segment)
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn transmit_by(
        &mut self,
        now: Time,
        interface: usize,
        from: EndIndex,
        segment: Segment,
    ) -> Option<Time> {
        let frame_bytes = ethernet::frame_bytes(segment.ip_bytes());
        let dscp = self.dscp_of.get(from.index()).copied().unwrap_or(0);
        let Interface { wire, form } = &mut self.interfaces[interface];
        match (form, *wire) {
            (Form::Closed(closed), Some(wire)) => {
                let at = closed.nic.send_bytes_ahead(now, frame_bytes)?;
                let left_at = closed.nic.free_at();
                let packet = self.packets.add(from.peer(), frame_bytes, dscp, segment);
                let judged = at.saturating_sub(closed.nic.delay());
                if O::ACCOUNTS {
                    let mut trace = self.tracer.trace();
                    trace.send(from, &segment, packet.slot());
                    let sent = trace.leave(wire, packet.slot(), frame_bytes, left_at, judged);
                    trace.depart(from, &segment, now, left_at, sent);
                }
                self.carry(wire, judged, left_at, packet);
                Some(left_at)
            }
            (Form::Closed(closed), None) => {
                let departs = now + closed.send_latency;
                let packet = self.packets.add(from.peer(), frame_bytes, dscp, segment);
                if O::ACCOUNTS {
                    let mut trace = self.tracer.trace();
                    trace.send(from, &segment, packet.slot());
                    trace.stay(interface, packet.slot(), departs);
                }
                self.sent_inside += 1;
                self.receive(interface, departs, packet);
                // The packet leaves the sender at once (`loopback_xmit` of Linux).
                None
            }
            (Form::Stepped(stepped), _) => {
                if !stepped.has_room(now) {
                    return None;
                }
                let packet = self.packets.add(from.peer(), frame_bytes, dscp, segment);
                if O::ACCOUNTS {
                    self.tracer.trace().send(from, &segment, packet.slot());
                }
                stepped.send(now, packet);
                self.replan_interface(interface);
                Some(Time::NEVER)
            }
        }
    }
}

impl Wire {
    fn new(setup: &Setup<'_>, at: CableEnd, sources: &mut Vec<Source>) -> Self {
        let Wiring { topology, switches, .. } = setup.wiring;
        let link = topology.link(at);
        let far = match topology.attachment(at.far()) {
            Attachment::Interface(interface) => Far::Interface(interface as u32),
            Attachment::SwitchPort { switch, port } => {
                let source = sources.len() as u32;
                sources.push(Source::Frame(at.number() as u32));
                if setup.switch_steps(switch) {
                    sources.push(Source::Pause(at.number() as u32));
                }
                let cuts_through = switches[switch].cuts_through(&link);
                Far::Switch { switch: switch as u32, port, cuts_through, source }
            }
        };
        let (on_the_way, pauses) = (Ring::new(), Ring::new());
        Self {
            link,
            far,
            on_the_way,
            pauses,
            judged: Carried::default(),
            judged_sizes: FrameSizes::default(),
            path: setup.wiring.paths[at.number()].clone(),
        }
    }

    /// Schedules the arrival of the first frame at the switch at the far end, for the time `at`.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn plan(&self, at: Time, switches: &[Switch], schedule: &mut Schedule) {
        let Far::Switch { switch, port, source, .. } = self.far else { return };
        let key = key(FRAMES, at, port as usize, switches[switch as usize].salt);
        schedule.set_with_key(source as usize, at, key);
    }

    /// Adds a frame to those in flight to the switch.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn put(&mut self, judged: Time, packet: Packet, switches: &[Switch], schedule: &mut Schedule) {
        let at = judged + self.link.delay();
        let is_first = self.on_the_way.front().is_none_or(|&(first, _)| at < first);
        if is_first {
            self.plan(at, switches, schedule);
        }
        put_in_order(&mut self.on_the_way, at, packet);
    }

    /// Removes the first frame in flight, which has arrived at its switch.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn take(&mut self, switches: &[Switch], schedule: &mut Schedule) -> Packet {
        let (_, packet) = self
            .on_the_way
            .pop_front()
            .expect("a wire has an arrival only with a frame on the way");
        self.judged.count(packet.frame_bytes);
        self.judged_sizes.count(packet.frame_bytes);
        let next = self.on_the_way.front().map_or(Time::NEVER, |&(at, _)| at);
        self.plan(next, switches, schedule);
        packet
    }
}

impl Setup<'_> {
    /// Whether a switch is event-driven at every step, because it honours or sends PAUSE, or
    /// because a device at one of its links sends PAUSE.
    fn switch_steps(&self, switch: usize) -> bool {
        let pause = self.wiring.switches[switch].pause;
        let ports = &self.wiring.topology.switches()[switch].ports;
        let is_asked = |port: &CableEnd| self.sends_pauses(port.far());
        self.all_steps || pause.honours || pause.thresholds.is_some() || ports.iter().any(is_asked)
    }

    fn interface_steps(&self, interface: usize) -> bool {
        let kind = &self.wiring.interfaces[interface];
        let far = self.wiring.topology.interfaces()[interface].at.far();
        let reorders = self.wiring.paths[far.number()].as_ref().is_some_and(|path| path.reorders());
        self.all_steps
            || reorders
            || kind.pause.honours
            || kind.pause.thresholds.is_some()
            || kind.receive.merge_bytes > 0
            || kind.queue.is_some()
            || self.sends_pauses(far)
    }

    /// Whether the node at an end of a link sends PAUSE frames.
    fn sends_pauses(&self, at: CableEnd) -> bool {
        let Wiring { topology, interfaces, switches, .. } = self.wiring;
        let pause = match topology.attachment(at) {
            Attachment::Interface(interface) => &interfaces[interface].pause,
            Attachment::SwitchPort { switch, .. } => &switches[switch].pause,
        };
        pause.thresholds.is_some()
    }

    /// Creates all interfaces, and assigns one to each end of each connection.
    fn make_interfaces<L: Limits>(&self, wires: &[Wire]) -> Interfaces<L> {
        let Wiring { topology, interfaces: kinds, routes, .. } = self.wiring;
        let interface = |(index, kind): (usize, &InterfaceKind)| {
            let wire = topology.interfaces()[index].at.number();
            let cuts = matches!(wires[wire].far, Far::Switch { cuts_through: true, .. });
            let form = if self.interface_steps(index) {
                Form::Stepped(Box::new(SteppedInterface::new(kind, cuts, self.seed)))
            } else {
                Form::Closed(Closed::new(kind, cuts, self.seed))
            };
            Interface { wire: Some(wire), form }
        };
        let mut interfaces: Vec<_> = kinds.iter().enumerate().map(interface).collect();
        let mut inside = BTreeMap::new();
        let mut hosts_inside = Vec::new();
        let mut interface_of = Vec::with_capacity(2 * routes.len());
        for route in routes {
            let ends = match *route {
                Route::Wire { from, to, .. } => [from, to],
                Route::Inside { host } => {
                    // All connections inside of a host share one path, because they share the CPU
                    // of the host.
                    if let Entry::Vacant(vacant) = inside.entry(host) {
                        vacant.insert(interfaces.len());
                        hosts_inside.push(host);
                        interfaces.push(self.inside(host));
                    }
                    [inside[&host]; 2]
                }
            };
            interface_of.extend(ends.map(|interface| interface as u32));
        }
        Interfaces {
            all: interfaces.into(),
            of_ends: interface_of.into(),
            hosts_inside: hosts_inside.into(),
        }
    }

    /// The path between processes of a host, represented by an interface without a wire.
    fn inside<L: Limits>(&self, host: usize) -> Interface<L> {
        let kind = self.wiring.inside(host).expect("a host with traffic inside has a path for it");
        let form = Form::Closed(Closed::new(kind, false, self.seed));
        Interface { wire: None, form }
    }
}

/// Adds a frame to frames in flight, behind all that arrive no later. Only on a path that reorders is
/// this not the end.
#[cfg_attr(not(debug_assertions), inline(always))]
fn put_in_order(on_the_way: &mut Ring<(Time, Packet)>, at: Time, packet: Packet) {
    if on_the_way.iter().next_back().is_none_or(|&(last, _)| last <= at) {
        on_the_way.push_back((at, packet));
    } else {
        let behind = on_the_way.partition_point(|&(other, _)| other <= at);
        on_the_way.insert(behind, (at, packet));
    }
}

/// All interfaces.
struct Interfaces<L> {
    /// First the interfaces at links, in the order of their numbers, then those without a wire.
    all: Box<[Interface<L>]>,
    /// For each end of each connection, the index in `all` of its interface.
    of_ends: Box<[u32]>,
    /// For each interface without a wire, in the order of `all`: the node of its host.
    hosts_inside: Box<[usize]>,
}

impl<T: Traffic, L: Limits, O: Tracer> Network<T> for General<L, O> {
    type Line = ();

    const ACCOUNTS: bool = O::ACCOUNTS;

    fn trace(&self) -> RefMut<'_, Trace> {
        self.tracer.trace()
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn send(
        &mut self,
        _hosts: &mut Hosts<'_, T>,
        now: Time,
        _host: usize,
        from: EndIndex,
        segment: Segment,
    ) -> Option<Time> {
        self.transmit(now, from, segment)
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn room_at(&mut self, _hosts: &mut Hosts<'_, T>, now: Time, from: EndIndex) -> (usize, Time) {
        let interface = self.interface_of[from.index()] as usize;
        (interface, self.room_of(now, interface))
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn outlet<'a>(
        &'a mut self,
        _line: &'a mut (),
        now: Time,
        _host: usize,
        from: EndIndex,
    ) -> Option<impl Outlet + 'a> {
        Some(EndOutlet { network: self, now, from })
    }
}

/// An outlet for segments that one end of a connection sends at `now`.
struct EndOutlet<'a, L, O> {
    network: &'a mut General<L, O>,
    now: Time,
    from: EndIndex,
}

impl<L: Limits, O: Tracer> Outlet for EndOutlet<'_, L, O> {
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn has_room(&mut self) -> bool {
        let interface = self.network.interface_of[self.from.index()] as usize;
        self.network.room_of(self.now, interface) <= self.now
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn send(&mut self, segment: Segment) -> Option<Time> {
        self.network.transmit(self.now, self.from, segment)
    }
}

impl<T: Traffic, L: Limits, O: Tracer> Counted<T> for General<L, O> {
    fn ends(&self, _hosts: &Hosts<'_, T>, now: Time) -> Vec<EndCounters> {
        let mut ends = vec![EndCounters::default(); self.wires.len()];
        for interface in &self.interfaces {
            let Some(wire) = interface.wire else { continue };
            ends[wire].nic = interface.counters(now);
            ends[wire].pauses = interface.pauses();
        }
        for switch in &self.switches {
            for (port, &wire) in (0..).zip(&switch.wires) {
                let end = &mut ends[wire as usize];
                end.port = switch.counters(port);
                end.pauses = switch.pauses(port);
                end.queue_bytes_max = switch.queue_bytes_max(port);
                end.queue_bytes = switch.queue_bytes(port, now);
            }
        }
        for (end, wire) in ends.iter_mut().zip(&self.wires) {
            end.path = wire.path.as_ref().map(|path| path.counters());
        }
        for wire in &self.wires {
            if let Far::Switch { switch, port, .. } = wire.far {
                let at = self.switches[switch as usize].wires[port as usize];
                ends[at as usize].port_received = wire.judged;
                ends[at as usize].port_received_sizes = wire.judged_sizes;
            }
        }
        ends
    }

    fn queues(&self) -> BTreeMap<usize, Vec<ClassStatistics>> {
        let of_interface = |interface: &Interface<L>| {
            interface.wire.map(|wire| (wire, interface.classes().to_vec()))
        };
        let of_switch = |switch: &Switch| {
            let ports = (0..).zip(&switch.wires);
            let of_port =
                |(port, &wire): (u32, &u32)| (wire as usize, switch.classes(port).to_vec());
            ports.map(of_port).collect::<Vec<_>>()
        };
        let interfaces = self.interfaces.iter().filter_map(of_interface);
        let all = interfaces.chain(self.switches.iter().flat_map(of_switch));
        all.filter(|(_, classes)| !classes.is_empty()).collect()
    }

    fn inside(&self, _hosts: &Hosts<'_, T>, now: Time) -> BTreeMap<usize, Carried> {
        let received = |interface: &Interface<L>| interface.counters(now).received;
        let inside = self.interfaces.iter().filter(|interface| interface.wire.is_none());
        self.hosts_inside.iter().copied().zip(inside.map(received)).collect()
    }

    fn stations(&self, now: Time) -> BTreeMap<usize, StationCounters> {
        self.work.iter().flatten().map(|work| work.counters(now)).collect()
    }

    fn frames(&self, _hosts: &Hosts<'_, T>) -> Frames {
        let sent: u64 = self.interfaces.iter().map(Interface::taken_to_send).sum();
        let duplicated =
            |wire: &Wire| wire.path.as_ref().map_or(0, |path| path.counters().frames_duplicated);
        let twins: u64 = self.wires.iter().map(duplicated).sum();
        Frames {
            sent: sent + self.sent_inside + twins,
            ended: self.packets.ended(),
            under_way: self.packets.len() as u64,
        }
    }

    fn switches(&self, _hosts: &Hosts<'_, T>) -> Vec<SwitchFrames> {
        let on_links: usize = self.wires.iter().map(|wire| wire.on_the_way.len()).sum();
        // Interfaces count a frame as sent when they accept it, which is before the frame is on the
        // link.
        let waiting_max = (self.packets.len() - on_links) as u64;
        let empty = SwitchFrames { waiting_max, ..SwitchFrames::default() };
        let mut found = vec![empty; self.switches.len()];
        let mut sent = vec![0; self.wires.len()];
        for interface in &self.interfaces {
            if let Some(wire) = interface.wire {
                sent[wire] = interface.taken_to_send() - interface.dropped_by_queue();
            }
        }
        for (switch, found) in self.switches.iter().zip(&mut found) {
            for (port, &wire) in (0..).zip(&switch.wires) {
                let counted = switch.counters(port);
                sent[wire as usize] = counted.frames_forwarded;
                found.judged += counted.frames_forwarded + counted.frames_dropped;
            }
        }
        for (wire, sent) in self.wires.iter().zip(sent) {
            if let Far::Switch { switch, .. } = wire.far {
                let counters = wire.path.as_ref().map(|path| path.counters()).unwrap_or_default();
                found[switch as usize].came +=
                    sent + counters.frames_duplicated - counters.frames_lost;
                found[switch as usize].on_the_way += wire.on_the_way.len() as u64;
            }
        }
        found
    }
}

#[cfg(test)]
pub(crate) mod tests;
