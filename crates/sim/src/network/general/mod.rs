//! One event a hop: the plain way to carry a run out.
//!
//! Queue of an interface, wire, switch, wire, ring, processor, TCP: each is an event of its own at its
//! own time, so that whatever happens in between can be heeded, as a PAUSE frame has to be. It costs
//! several times what [`super::star`] does, which computes most of these hops when a frame enters
//! them; where both can carry out a run, every frame is at every place at the same time.
//!
//! At equal times timers come first, then steps of the switch, then what [`Event`] lists.

mod events;
mod interface;
mod receiver;

use netstudy_fabric::Link;
use netstudy_fabric::stepped::{Architecture, Departure, Mark, Sent, Stepped};
use netstudy_fabric::switch::Arrival;
use netstudy_random::Stream;
use netstudy_tcp::{Ecn, Outlet, Segment};
use netstudy_units::{Duration, Time};
use netstudy_workload::Traffic;

use super::{Counted, Frame, Moment, Network, NodeCounters, Observer, Rest};
use crate::host::{EndIndex, Hosts};
use crate::measure::{OnIteration, Outcome};
use crate::wiring;
use events::{Event, Events};
use interface::Interface;

/// Hosts around one switch with the buffer architecture `A`, one event a hop.
pub(crate) struct General<A, O> {
    switch: Stepped<Frame, A>,
    events: Events,
    links: Vec<Link>,
    switch_latency: Duration,
    arbitration: Stream,
    interfaces: Vec<Interface>,
    now: Time,
    observer: O,
}

impl Mark for Frame {
    fn mark(&mut self) -> bool {
        let subject = self.segment.ecn != Ecn::NotEct;
        if subject {
            self.segment.ecn = Ecn::Ce;
        }
        subject
    }
}

impl<A: Architecture<Frame>, O: Observer> General<A, O> {
    pub(crate) fn new(star: &wiring::Star<'_>, seed: &str, architecture: A, observer: O) -> Self {
        let (links, switch) = (star.port_links(), star.switch);
        let interface = |(place, line): (usize, &wiring::Line<'_>)| {
            let cuts_through = switch.cuts_through(&line.interface.link);
            Interface::new(line.interface, cuts_through, place, seed)
        };
        let stream = |name| Stream::new(seed, &format!("{}/{name}", switch.name));
        Self {
            switch: Stepped::new(&links, architecture, switch.pause),
            events: Events::new(stream("arrivals").bits()),
            switch_latency: switch.latency,
            arbitration: stream("arbitration"),
            interfaces: star.lines.iter().enumerate().map(interface).collect(),
            now: Time::ZERO,
            links,
            observer,
        }
    }

    /// As [`super::star::Star::run`].
    pub(crate) fn run<T: Traffic>(
        mut self,
        hosts: &mut Hosts<T>,
        on_iteration: &mut OnIteration<'_>,
    ) -> Result<Outcome, String> {
        loop {
            let (host, timer) = hosts.next_timer();
            let step = self.switch.next_step();
            let event = self.events.next_time();
            let read = hosts.measure.due();
            self.now = self.now.max(timer.min(step).min(event).min(read));
            if timer <= self.now {
                hosts.measure.check_progress(self.now)?;
                let now = self.now;
                hosts.fire_timers(&mut self, host, now);
            } else if step <= self.now {
                self.step_switch();
            } else if event <= self.now {
                self.handle_event(hosts);
            } else if let Some(outcome) = hosts.read(&self, on_iteration)? {
                return Ok(outcome);
            }
        }
    }

    fn handle_event<T: Traffic>(&mut self, hosts: &mut Hosts<T>) {
        let Some((place, event)) = self.events.take() else { return };
        let (now, nic, events) = self.interface(place);
        match event {
            Event::AtSwitch(frame) => self.offer(place, hosts.host_of(frame.to), frame),
            Event::PauseAtSwitch(quanta) => self.switch.handle_pause(now, place as u32, quanta),
            Event::Processed => nic.processed(now, events),
            Event::TakenIn => nic.taken_in(now, events),
            Event::AtHost(frame) => self.arrive(place, frame),
            Event::PauseAtHost(quanta) => nic.handle_pause(now, quanta, events),
            Event::RepeatPause => nic.repeat_pause(now, events),
            Event::Poll => nic.poll(now, events),
            Event::Delivered(frame) => {
                self.observer.note(Moment::Delivered(place), now, &frame);
                hosts.receive(self, now, frame.to, &frame.segment);
            }
            Event::Start => nic.start(now, events),
        }
    }

    fn interface(&mut self, place: usize) -> (Time, &mut Interface, &mut Events) {
        (self.now, &mut self.interfaces[place], &mut self.events)
    }

    fn offer(&mut self, ingress: usize, egress: usize, frame: Frame) {
        let arrival = Arrival {
            now: self.now,
            ready: self.now + self.switch_latency,
            ingress: ingress as u32,
            egress: egress as u32,
            frame_bytes: frame.frame_bytes,
        };
        self.observer.note(Moment::Arrived(ingress), self.now, &frame);
        if !self.switch.offer(&arrival, frame) {
            self.observer.note(Moment::Dropped(egress), self.now, &frame);
        }
    }

    fn step_switch(&mut self) {
        let Some(departure) = self.switch.step(self.now, &mut self.arbitration) else { return };
        let Departure { egress, sent, departs } = departure;
        let place = egress as usize;
        let arrives = departs + self.links[place].delay();
        match sent {
            Sent::Frame(frame) => {
                self.observer.note(Moment::Left(place), departs, &frame);
                self.events.put(arrives, place, Event::AtHost(frame));
            }
            Sent::Pause(quanta) => self.events.put(arrives, place, Event::PauseAtHost(quanta)),
        }
    }

    fn arrive(&mut self, place: usize, frame: Frame) {
        let (now, nic, events) = self.interface(place);
        if !nic.arrive(now, frame, events) {
            self.observer.note(Moment::RingDropped(place), now, &frame);
        }
    }
}

impl<T: Traffic, A: Architecture<Frame>, O: Observer> Network<T> for General<A, O> {
    fn send(&mut self, hosts: &mut Hosts<T>, now: Time, from: EndIndex, segment: Segment) {
        let nic = &mut self.interfaces[hosts.host_of(from)];
        nic.send(now, from.peer(), segment, &mut self.events);
    }

    fn outlet(&mut self, now: Time, host: usize, from: EndIndex) -> Option<impl Outlet> {
        let (nic, events) = (&mut self.interfaces[host], &mut self.events);
        Some(InterfaceOutlet { nic, events, now, to: from.peer() })
    }
}

/// An interface at `now`, for segments to the end `to`.
struct InterfaceOutlet<'a> {
    nic: &'a mut Interface,
    events: &'a mut Events,
    now: Time,
    to: EndIndex,
}

impl Outlet for InterfaceOutlet<'_> {
    fn send(&mut self, segment: Segment) {
        self.nic.send(self.now, self.to, segment, self.events);
    }
}

impl<A: Architecture<Frame>, O: Observer> Counted for General<A, O> {
    fn node(&self, host: usize) -> NodeCounters {
        let (nic, port) = (&self.interfaces[host], host as u32);
        NodeCounters {
            nic: nic.counters(),
            pauses: *nic.pauses(),
            port: *self.switch.counters(port),
            port_pauses: *self.switch.pauses(port),
            queue_bytes_max: self.switch.queue_bytes_max(port),
        }
    }

    fn rest(&self) -> Rest {
        let waiting: usize = self.interfaces.iter().map(Interface::waiting).sum();
        Rest {
            frames_sent: self.interfaces.iter().map(|nic| nic.counters().frames_sent).sum(),
            frames_under_way: waiting as u64 + self.events.frames_to_switch(),
        }
    }
}
