//! One event a hop: the plain way to carry a run out.
//!
//! Queue of an interface, wire, switch, wire, ring, processor, TCP: each is an event of its own at its
//! own time, so that whatever happens in between can be heeded, as a PAUSE frame has to be. It costs
//! several times what [`crate::incast`] does, which computes most of these hops when a frame enters
//! them; where both can carry out a run, every frame is at every place at the same time.
//!
//! At equal times timers come first, then steps of the switch, then what [`Event`] lists.

mod events;
mod host;
mod receiver;

#[cfg(test)]
mod tests;

use netstudy_fabric::stepped::{Architecture, Departure, Mark, Sent, Stepped};
use netstudy_fabric::switch::Arrival;
use netstudy_fabric::{Link, PortCounters, Schedule};
use netstudy_records::Jitter;
use netstudy_tcp::{Ecn, Segment};
use netstudy_units::{Duration, Time};

use crate::barrier::Barrier;
use crate::hosts::Frame;
use crate::incast::check_progress;
use crate::modes::OnIteration;
use crate::observe::{Moment, Observer};
use crate::parties::{CLIENT, Client, Server, Setup};
use crate::snapshot::{Outcome, Snapshot, totals};
use crate::wiring::HostKind;
use events::{Event, Events};
use host::Interface;
use netstudy_random::Stream;

/// A simulation of one run over a switch with the buffer architecture `A`, one event a hop.
pub(crate) struct Hops<A, O> {
    /// When a host next has a timer that is due, or an answer or a request to send: 0 the client, i + 1
    /// the server i.
    timers: Schedule,
    switch: Stepped<Frame, A>,
    events: Events,
    links: Vec<Link>,
    switch_latency: Duration,
    arbitration: Stream,
    client: Client<Interface>,
    servers: Vec<Server<Interface>>,
    start_jitter: Jitter,
    barrier: Barrier,
    base: Option<Snapshot>,
    measure_from: Time,
    iteration_began: Time,
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

impl<A: Architecture<Frame>, O: Observer> Hops<A, O> {
    pub(crate) fn new(setup: &Setup<'_>, architecture: A, observer: O) -> Self {
        let star = setup.star;
        let links = star.port_links();
        let iterations = setup.workload.iterations - setup.warmup_iterations;
        let interface = |kind: &HostKind, place, host: &str| {
            Interface::new(kind, star.cuts_through(&kind.link), place, setup.seed, host)
        };
        let client = interface(&star.client, 0, CLIENT);
        let server = |index: u32| {
            let place = index as usize + 1;
            Server::new(setup, index, |name| interface(&star.server, place, name))
        };
        Self {
            timers: Schedule::new(links.len()),
            switch: Stepped::new(&links, architecture, star.switch_pause),
            events: Events::new(Stream::new(setup.seed, "switch/arrivals").bits()),
            switch_latency: star.switch_latency,
            arbitration: Stream::new(setup.seed, "switch/arbitration"),
            client: Client::new(setup, client),
            servers: (0..star.servers).map(server).collect(),
            start_jitter: setup.start_jitter.clone(),
            barrier: Barrier::new(setup.warmup_iterations, iterations),
            base: (setup.warmup_iterations == 0).then(Snapshot::default),
            measure_from: Time::ZERO,
            iteration_began: Time::ZERO,
            now: Time::ZERO,
            links,
            observer,
        }
    }

    /// As [`crate::incast::Simulation::run`].
    pub(crate) fn run(mut self, on_iteration: &mut OnIteration<'_>) -> Result<Outcome, String> {
        self.timers.set(0, Time::ZERO);
        loop {
            let (host, timer) = self.timers.earliest();
            let step = self.switch.next_step();
            let event = self.events.next_time();
            self.now = self.now.max(timer.min(step).min(event));
            if timer <= self.now {
                check_progress(self.now, self.iteration_began)?;
                self.fire_timers(host);
            } else if step <= self.now {
                self.step_switch();
            } else if let Some((place, event)) = self.events.take() {
                if matches!(event, Event::Read) && on_iteration().is_break() {
                    return Err("stopped before its end".to_owned());
                }
                if self.handle(place, event) {
                    return Ok(self.finish());
                }
            }
        }
    }

    /// Whether that was the end.
    fn handle(&mut self, place: usize, event: Event) -> bool {
        let (now, nic, events) = self.interface(place);
        match event {
            Event::AtSwitch(frame) => self.offer(place, frame),
            Event::PauseAtSwitch(quanta) => self.switch.handle_pause(now, place as u32, quanta),
            Event::Processed => nic.processed(now, events),
            Event::TakenIn => nic.taken_in(now, events),
            Event::AtHost(frame) => self.arrive(place, frame),
            Event::PauseAtHost(quanta) => nic.handle_pause(now, quanta, events),
            Event::RepeatPause => nic.repeat_pause(now, events),
            Event::Poll => nic.poll(now, events),
            Event::Delivered(frame) => self.deliver(place, &frame),
            Event::Start => nic.start(now, events),
            Event::Read => return self.end_iteration(),
        }
        false
    }

    fn interface(&mut self, place: usize) -> (Time, &mut Interface, &mut Events) {
        let nic = match place {
            0 => &mut self.client.nic,
            _ => &mut self.servers[place - 1].nic,
        };
        (self.now, nic, &mut self.events)
    }

    // ---- switch

    fn offer(&mut self, ingress: usize, frame: Frame) {
        let egress = if ingress == 0 { frame.connection + 1 } else { 0 };
        let arrival = Arrival {
            now: self.now,
            ready: self.now + self.switch_latency,
            ingress: ingress as u32,
            egress,
            frame_bytes: frame.frame_bytes,
        };
        self.observer.note(Moment::Arrived(ingress), self.now, &frame);
        if !self.switch.offer(&arrival, frame) {
            self.observer.note(Moment::Dropped(egress as usize), self.now, &frame);
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

    // ---- hosts

    fn arrive(&mut self, place: usize, frame: Frame) {
        let (now, nic, events) = self.interface(place);
        if !nic.arrive(now, frame, events) {
            self.observer.note(Moment::RingDropped(place), now, &frame);
        }
    }

    fn deliver(&mut self, place: usize, frame: &Frame) {
        self.observer.note(Moment::Delivered(place), self.now, frame);
        if place == 0 {
            self.client_receives(frame.connection as usize, &frame.segment);
        } else {
            self.server_receives(place - 1, &frame.segment);
        }
    }

    fn fire_timers(&mut self, host: usize) {
        self.timers.set(host, Time::NEVER);
        if host == 0 {
            self.fire_client_timers();
        } else {
            self.fire_server_timers(host - 1);
        }
    }

    fn lower_timer(&mut self, host: usize, due: Time) {
        if due < self.timers.time(host) {
            self.timers.set(host, due);
        }
    }

    // ---- client

    fn client_receives(&mut self, connection: usize, segment: &Segment) {
        let end = &mut self.servers[connection].client_end;
        let before = end.bytes_received();
        let was_open = end.is_open();
        end.handle_segment(self.now, segment);
        let total = end.bytes_received();
        let opened = !was_open && end.is_open();
        if segment.len > 0 && self.client.reads_at_once() {
            end.application_read();
        }
        if opened && self.client.opened() {
            self.client.app.start(self.now);
            self.measure_from = self.now;
            self.iteration_began = self.now;
        }
        self.pump_client(connection);
        if let Some(ended) =
            self.client.app.handle_received(self.now, connection as u32, before, total)
        {
            self.barrier.completed(ended);
            self.events.put(self.barrier.due(), 0, Event::Read);
        }
        self.lower_timer(0, self.client.next_start());
    }

    fn pump_client(&mut self, connection: usize) {
        let end = &mut self.servers[connection].client_end;
        while let Some(segment) = end.poll_transmit(self.now) {
            self.client.nic.send(self.now, connection as u32, segment, &mut self.events);
        }
        let due = end.next_timeout();
        self.lower_timer(0, due);
    }

    /// Requests before timers of connections, those in the order of connections.
    fn fire_client_timers(&mut self) {
        while self.client.next_start() <= self.now {
            let connection = self.client.start_next(self.now, &mut self.servers);
            self.pump_client(connection);
        }
        let (due, connection) = self.earliest_timeout();
        if due <= self.now {
            self.servers[connection].client_end.handle_timeout(self.now);
            self.pump_client(connection);
        }
        let due = self.earliest_timeout().0.min(self.client.next_start());
        self.lower_timer(0, due);
    }

    /// Of the client's ends of the connections.
    fn earliest_timeout(&self) -> (Time, usize) {
        let timeouts = self.servers.iter().map(|server| server.client_end.next_timeout());
        timeouts.zip(0..).min().unwrap_or((Time::NEVER, 0))
    }

    // ---- servers

    fn server_receives(&mut self, index: usize, segment: &Segment) {
        let server = &mut self.servers[index];
        server.end.handle_segment(self.now, segment);
        if segment.len > 0 && server.app.poll_request(server.end.bytes_received()) {
            server.answer_at = self.now + server.jitter.delay(&self.start_jitter);
        }
        self.pump_server(index);
    }

    fn pump_server(&mut self, index: usize) {
        let server = &mut self.servers[index];
        while let Some(segment) = server.end.poll_transmit(self.now) {
            server.nic.send(self.now, index as u32, segment, &mut self.events);
        }
        let due = server.end.next_timeout().min(server.answer_at);
        self.lower_timer(index + 1, due);
    }

    /// Answers before timers of the connection.
    fn fire_server_timers(&mut self, index: usize) {
        let server = &mut self.servers[index];
        if server.answer_at <= self.now {
            server.answer_at = Time::NEVER;
            server.end.write(self.now, server.response_bytes);
        } else if server.end.next_timeout() <= self.now {
            server.end.handle_timeout(self.now);
        } else {
            // It was put off since. Nothing happened to the connection, so it is not asked for segments:
            // a burst that it holds back waits for a fact, not for the clock.
            let due = server.end.next_timeout().min(server.answer_at);
            self.lower_timer(index + 1, due);
            return;
        }
        self.pump_server(index);
    }

    // ---- measuring

    /// Reads the counters at the end of an iteration. Whether it was the last one.
    fn end_iteration(&mut self) -> bool {
        let dropped = self.port_counters().iter().map(|port| port.frames_dropped).sum();
        let totals = totals(dropped, &self.servers);
        if let Some(iteration) = self.barrier.read(totals) {
            self.iteration_began = iteration.ended;
            if self.base.is_none() && self.barrier.measures_after(&iteration) {
                self.base = Some(self.snapshot());
                self.measure_from = iteration.ended;
            }
        }
        self.client.app.is_done()
    }

    fn port_counters(&self) -> Vec<PortCounters> {
        (0..self.links.len() as u32).map(|port| *self.switch.counters(port)).collect()
    }

    fn snapshot(&self) -> Snapshot {
        let ports = self.port_counters();
        let client = self.client.nic.counters();
        let mut snapshot =
            Snapshot::new(&ports, &self.client.app, client, &self.servers, Interface::counters);
        snapshot.client_pauses = *self.client.nic.pauses();
        snapshot.client_port_pauses = *self.switch.pauses(0);
        for (index, server) in self.servers.iter().enumerate() {
            snapshot.server_pauses.add(server.nic.pauses());
            snapshot.server_port_pauses.add(self.switch.pauses(index as u32 + 1));
        }
        snapshot
    }

    fn finish(self) -> Outcome {
        let nics = self.servers.iter().map(|server| &server.nic).chain([&self.client.nic]);
        let (sent, waiting) = nics.fold((0, 0), |(sent, waiting), nic| {
            (sent + nic.counters().frames_sent, waiting + nic.waiting() as u64)
        });
        let server_ports = 1..self.links.len() as u32;
        Outcome {
            measure_from: self.measure_from,
            measure_to: self.iteration_began,
            end: self.snapshot(),
            frames_sent: sent,
            frames_under_way: waiting + self.events.frames_to_switch(),
            client_queue_bytes_max: self.switch.queue_bytes_max(0),
            server_queue_bytes_max: server_ports
                .map(|port| self.switch.queue_bytes_max(port))
                .max()
                .unwrap_or(0),
            base: self.base.unwrap_or_default(),
            samples: self.barrier.into_samples(),
        }
    }
}
