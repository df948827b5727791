//! The incast workload over a star, in closed form: the event loop.

use netstudy_fabric::switch::Arrival;
use netstudy_fabric::{PortCounters, Schedule, SwitchBuffer, Verdict};
use netstudy_random::Stream;
use netstudy_records::Jitter;
use netstudy_ring::Ring;
use netstudy_tcp::{Ecn, Outlet, Segment};
use netstudy_units::{Duration, Time};

use crate::agenda::Agenda;
use crate::barrier::Barrier;
use crate::hosts::{Frame, Nic};
use crate::limits::Limits;
use crate::modes::OnIteration;
use crate::observe::{Moment, Observer};
use crate::parties::{CLIENT, Client, Server, Setup};
use crate::snapshot::{Outcome, Snapshot, totals};

/// Virtual time that one iteration may take: far beyond any series of timeouts that still ends.
const ITERATION_TIME_MAX: Duration = Duration::from_secs(3600);

/// What lies between a server and the switch, in closed form.
pub(crate) struct Line<L> {
    nic: Nic<L>,
    /// Frames on the way to the switch.
    to_switch: Ring<Frame>,
    /// Of the switch's port to the server.
    port: PortCounters,
    /// What [`Simulation::timers`] holds of the server.
    timer: Time,
    /// What [`Simulation::timeouts`] holds of the client's end.
    client_timer: Time,
}

type Servers<L> = [Server<Line<L>>];

/// A switch with the buffer architecture `B`.
struct Switch<B, O> {
    buffer: B,
    latency: Duration,
    observer: O,
}

/// A simulation of one run over a switch with the buffer architecture `B`, in closed form; the
/// interfaces have the limits `L`. The servers are apart from it: each call is about one of them.
pub(crate) struct Simulation<B, L, O> {
    /// Which port's first frame on the way is at the switch next.
    arrivals: Agenda,
    /// Frames of the client on the way to the switch.
    to_switch: Ring<Frame>,
    /// No timer of the client is due before.
    client_timer: Time,
    /// No timer of a connection's end at the client is due before the time held here.
    timeouts: Schedule,
    /// No timer of a server is due before the time held here.
    timers: Schedule,
    switch: Switch<B, O>,
    arbitration: Stream,
    client_port: PortCounters,
    client: Client<Nic<L>>,
    start_jitter: Jitter,
    barrier: Barrier,
    /// Counters at the start of the measuring phase.
    base: Option<Snapshot>,
    measure_from: Time,
    iteration_began: Time,
    now: Time,
}

/// Whether there is reason to go on with an iteration at `now`.
pub(crate) fn check_progress(now: Time, iteration_began: Time) -> Result<(), String> {
    if now == Time::NEVER {
        return Err("nothing is left to happen, yet the iteration has not ended".to_owned());
    }
    if now.since(iteration_began) > ITERATION_TIME_MAX {
        return Err(format!("an iteration has not ended after {ITERATION_TIME_MAX}"));
    }
    Ok(())
}

impl<B: SwitchBuffer<Frame>, O: Observer> Switch<B, O> {
    /// The switch judges a frame that has arrived, or whose arrival nothing else can influence. When
    /// the frame leaves, if that is known by now. `port` counts for the egress.
    #[inline(always)]
    fn judge(
        &mut self,
        ingress: usize,
        egress: usize,
        port: &mut PortCounters,
        frame: &mut Frame,
    ) -> Option<Time> {
        let arrival = Arrival {
            now: frame.arrival,
            ready: frame.arrival + self.latency,
            ingress: ingress as u32,
            egress: egress as u32,
            frame_bytes: frame.frame_bytes,
        };
        self.observer.note(Moment::Arrived(ingress), frame.arrival, frame);
        let verdict = self.buffer.offer(&arrival, frame);
        if verdict == Verdict::Dropped {
            port.frames_dropped += 1;
            port.bytes_dropped += u64::from(frame.frame_bytes);
            self.observer.note(Moment::Dropped(egress), frame.arrival, frame);
            return None;
        }
        port.frames_forwarded += 1;
        port.bytes_forwarded += u64::from(frame.frame_bytes);
        match verdict {
            Verdict::Departs(departs) => Some(departs),
            Verdict::Marked(departs) => {
                frame.segment.ecn = mark(frame.segment.ecn, port);
                Some(departs)
            }
            Verdict::Dropped | Verdict::Held => None,
        }
    }
}

/// The mark is left on a frame that is subject to marks, and on no other (RFC 3168, 5).
#[cold]
#[inline(never)]
fn mark(ecn: Ecn, port: &mut PortCounters) -> Ecn {
    if ecn == Ecn::NotEct {
        return ecn;
    }
    port.frames_marked += 1;
    Ecn::Ce
}

impl<B: SwitchBuffer<Frame>, L: Limits, O: Observer> Simulation<B, L, O> {
    /// Runs all iterations of a set-up; `on_iteration` hears of each that has ended.
    pub(crate) fn run(
        setup: &Setup<'_>,
        buffer: B,
        observer: O,
        on_iteration: &mut OnIteration<'_>,
    ) -> Result<Outcome, String> {
        let mut servers: Vec<_> = (0..setup.star.servers)
            .map(|index| Server::new(setup, index, |name| Line::new(setup, name)))
            .collect();
        Self::new(setup, buffer, observer).run_with(&mut servers, on_iteration)
    }

    fn new(setup: &Setup<'_>, buffer: B, observer: O) -> Self {
        let star = setup.star;
        let iterations = setup.workload.iterations - setup.warmup_iterations;
        let cuts_through = star.cuts_through(&star.client.link);
        let nic = Nic::new(&star.client, cuts_through, setup.seed, CLIENT);
        Self {
            arrivals: Agenda::new(Stream::new(setup.seed, "switch/arrivals").bits()),
            to_switch: Ring::new(),
            client_timer: Time::ZERO,
            timeouts: Schedule::new(star.servers as usize),
            timers: Schedule::new(star.servers as usize),
            switch: Switch { buffer, latency: star.switch_latency, observer },
            arbitration: Stream::new(setup.seed, "switch/arbitration"),
            client_port: PortCounters::default(),
            client: Client::new(setup, nic),
            start_jitter: setup.start_jitter.clone(),
            barrier: Barrier::new(setup.warmup_iterations, iterations),
            base: (setup.warmup_iterations == 0).then(Snapshot::default),
            measure_from: Time::ZERO,
            iteration_began: Time::ZERO,
            now: Time::ZERO,
        }
    }

    fn run_with(
        mut self,
        servers: &mut Servers<L>,
        on_iteration: &mut OnIteration<'_>,
    ) -> Result<Outcome, String> {
        loop {
            let (port, arrival) = self.arrivals.earliest();
            let (server, timer) = self.timers.earliest();
            let grant = self.switch.buffer.next_grant();
            let read = self.barrier.due();
            let timer = timer.min(self.client_timer);
            self.now = arrival.min(timer).min(grant).min(read);
            // The order at equal times, as the crate's documentation says.
            if timer == self.now {
                check_progress(self.now, self.iteration_began)?;
                if self.client_timer == timer {
                    self.fire_client_timers(servers, timer);
                } else {
                    self.fire_server_timers(&mut servers[server], server, timer);
                }
            } else if grant == self.now {
                self.handle_grant(servers);
            } else if arrival == self.now {
                self.handle_arrival(servers, port);
            } else {
                if on_iteration().is_break() {
                    return Err("stopped before its end".to_owned());
                }
                if self.end_iteration(servers) {
                    return Ok(self.finish(servers));
                }
            }
        }
    }

    /// The frame at the head of `port` has arrived at the switch.
    #[inline(always)]
    fn handle_arrival(&mut self, servers: &mut Servers<L>, port: usize) {
        let queue = match port {
            0 => &mut self.to_switch,
            _ => &mut servers[port - 1].nic.to_switch,
        };
        let mut frame = *queue.front().expect("a port has an arrival only with a frame on the way");
        queue.drop_front();
        self.arrivals.advance(queue.front().map(|next| next.arrival));
        if port == 0 {
            let index = frame.connection as usize;
            self.offer_to_server(&mut servers[index], index, &mut frame);
        } else if let Some(departs) = self.switch.judge(port, 0, &mut self.client_port, &mut frame)
        {
            self.deliver_to_client(servers, port - 1, departs, &frame);
        }
    }

    #[inline(always)]
    fn offer_to_server(&mut self, server: &mut Server<Line<L>>, index: usize, frame: &mut Frame) {
        if let Some(departs) = self.switch.judge(0, index + 1, &mut server.nic.port, frame) {
            self.deliver_to_server(server, index, departs, frame);
        }
    }

    fn handle_grant(&mut self, servers: &mut Servers<L>) {
        let Some(mut grant) = self.switch.buffer.grant(&mut self.arbitration) else { return };
        let index = grant.frame.connection as usize;
        let ecn = &mut grant.frame.segment.ecn;
        if grant.egress == 0 {
            if grant.marked {
                *ecn = mark(*ecn, &mut self.client_port);
            }
            self.deliver_to_client(servers, index, grant.departs, &grant.frame);
        } else {
            let server = &mut servers[index];
            if grant.marked {
                *ecn = mark(*ecn, &mut server.nic.port);
            }
            self.deliver_to_server(server, index, grant.departs, &grant.frame);
        }
    }

    #[inline(always)]
    fn deliver_to_client(
        &mut self,
        servers: &mut Servers<L>,
        index: usize,
        departs: Time,
        frame: &Frame,
    ) {
        self.switch.observer.note(Moment::Left(0), departs, frame);
        let Some(now) = self.client.nic.receive(departs, frame.frame_bytes) else {
            let there = departs + self.client.nic.delay();
            self.switch.observer.note(Moment::RingDropped(0), there, frame);
            return;
        };
        self.switch.observer.note(Moment::Delivered(0), now, frame);
        if self.client_timer <= now {
            self.fire_client_timers(servers, now);
        }
        self.client_receives(now, &mut servers[index], index, &frame.segment);
    }

    #[inline(always)]
    fn deliver_to_server(
        &mut self,
        server: &mut Server<Line<L>>,
        index: usize,
        departs: Time,
        frame: &Frame,
    ) {
        self.switch.observer.note(Moment::Left(index + 1), departs, frame);
        let nic = &mut server.nic.nic;
        let Some(now) = nic.receive(departs, frame.frame_bytes) else {
            let there = departs + nic.delay();
            self.switch.observer.note(Moment::RingDropped(index + 1), there, frame);
            return;
        };
        self.switch.observer.note(Moment::Delivered(index + 1), now, frame);
        self.server_receives(now, server, index, &frame.segment);
    }

    // ---- client

    #[inline(always)]
    fn client_receives(
        &mut self,
        now: Time,
        server: &mut Server<Line<L>>,
        index: usize,
        segment: &Segment,
    ) {
        let end = &mut server.client_end;
        let before = end.bytes_received();
        if !end.handle_predicted(now, segment) {
            self.client_receives_any(now, server, index, segment);
            return;
        }
        let total = end.bytes_received();
        if self.client.reads_at_once() {
            end.application_read();
        }
        self.acknowledge(now, server, index);
        self.client_reads(now, index, before, total);
    }

    #[inline(always)]
    fn client_receives_any(
        &mut self,
        now: Time,
        server: &mut Server<Line<L>>,
        index: usize,
        segment: &Segment,
    ) {
        let end = &mut server.client_end;
        let before = end.bytes_received();
        let was_open = end.is_open();
        end.handle_any(now, segment);
        let total = end.bytes_received();
        let opened = !was_open && end.is_open();
        if segment.len > 0 && self.client.reads_at_once() {
            end.application_read();
        }
        if opened && self.client.opened() {
            self.begin(now);
        }
        self.pump_client(now, server, index);
        if total > before {
            self.client_reads(now, index, before, total);
        }
    }

    #[cold]
    fn begin(&mut self, now: Time) {
        self.client.app.start(now);
        self.measure_from = now;
        self.iteration_began = now;
        self.lower_client_timer(now);
    }

    #[inline]
    fn client_reads(&mut self, now: Time, index: usize, before: u64, total: u64) {
        let ended = self.client.app.handle_received(now, index as u32, before, total);
        if let Some(iteration) = ended {
            self.barrier.completed(iteration);
            self.lower_client_timer(self.client.app.next_request());
        }
    }

    /// Sends the acknowledgment that is due after data that was predicted, or sees to it that it is
    /// sent in time.
    #[inline(always)]
    fn acknowledge(&mut self, now: Time, server: &mut Server<Line<L>>, index: usize) {
        if let Some(segment) = server.client_end.poll_ack(now) {
            self.client_sends(now, server, index, segment);
        } else {
            self.lower_connection_timer(server, index);
        }
    }

    /// Sends all that a connection of the client has to send.
    #[inline(always)]
    fn pump_client(&mut self, now: Time, server: &mut Server<Line<L>>, index: usize) {
        if !server.client_end.has_only_acks() {
            self.pump_client_fully(now, server, index);
            return;
        }
        let ack = server.client_end.poll_ack(now);
        self.lower_connection_timer(server, index);
        if let Some(segment) = ack {
            self.client_sends(now, server, index, segment);
        }
    }

    #[inline(always)]
    fn lower_connection_timer(&mut self, server: &mut Server<Line<L>>, index: usize) {
        let bound = server.client_end.timeout_bound();
        if bound < server.nic.client_timer {
            self.set_connection_timer(server, index, bound);
            self.lower_client_timer(bound);
        }
    }

    #[inline]
    fn set_connection_timer(&mut self, server: &mut Server<Line<L>>, index: usize, time: Time) {
        server.nic.client_timer = time;
        self.timeouts.set(index, time);
    }

    #[cold]
    #[inline(never)]
    fn pump_client_fully(&mut self, now: Time, server: &mut Server<Line<L>>, index: usize) {
        while let Some(segment) = server.client_end.poll_transmit(now) {
            self.client_sends(now, server, index, segment);
        }
        self.lower_connection_timer(server, index);
    }

    #[inline(always)]
    fn client_sends(
        &mut self,
        now: Time,
        server: &mut Server<Line<L>>,
        index: usize,
        segment: Segment,
    ) {
        let nic = &mut self.client.nic;
        if B::PRIVATE_EGRESS {
            if let Some(mut frame) = nic.send_ahead(now, index as u32, segment) {
                self.offer_to_server(server, index, &mut frame);
            }
        } else if let Some(frame) = nic.send(now, index as u32, segment, &self.to_switch) {
            push(&mut self.to_switch, &mut self.arrivals, 0, frame);
        }
    }

    #[inline]
    fn lower_client_timer(&mut self, time: Time) {
        self.client_timer = self.client_timer.min(time);
    }

    /// Does all that is due at the client by `until`, in the order of time: requests before timers
    /// of connections, those in the order of connections.
    #[cold]
    #[inline(never)]
    fn fire_client_timers(&mut self, servers: &mut Servers<L>, until: Time) {
        loop {
            let start = self.client.next_start();
            let (index, bound) = self.timeouts.earliest();
            if start <= until && start <= bound {
                self.client_starts(servers, start);
                continue;
            }
            if bound > until {
                self.client_timer = start.min(bound);
                return;
            }
            let server = &mut servers[index];
            let due = server.client_end.next_timeout();
            if due > bound {
                self.set_connection_timer(server, index, due);
                continue;
            }
            self.set_connection_timer(server, index, Time::NEVER);
            server.client_end.handle_timeout(due);
            self.pump_client(due, server, index);
        }
    }

    /// Opens the next connection, or sends the next request.
    #[cold]
    #[inline(never)]
    fn client_starts(&mut self, servers: &mut Servers<L>, now: Time) {
        let index = self.client.start_next(now, servers);
        self.pump_client(now, &mut servers[index], index);
    }

    // ---- servers

    #[inline(always)]
    fn server_receives(
        &mut self,
        now: Time,
        server: &mut Server<Line<L>>,
        index: usize,
        segment: &Segment,
    ) {
        if server.nic.timer <= now {
            self.fire_server_timers(server, index, now);
        }
        server.end.handle_segment(now, segment);
        if segment.len > 0 && server.app.poll_request(server.end.bytes_received()) {
            server.answer_at = now + server.jitter.delay(&self.start_jitter);
        }
        self.pump_server(now, server, index);
    }

    /// Sends all that a server has to send: new data, if nothing else comes first, then the rest.
    #[inline(always)]
    fn pump_server(&mut self, now: Time, server: &mut Server<Line<L>>, index: usize) {
        let Server { end, nic: line, .. } = server;
        let mut outlet = LineOutlet { line, index, now, arrivals: &mut self.arrivals };
        let is_done = end.send_news(now, &mut outlet);
        if is_done {
            self.lower_server_timer(server, index);
        } else {
            self.pump_server_fully(now, server, index);
        }
    }

    #[inline(always)]
    fn lower_server_timer(&mut self, server: &mut Server<Line<L>>, index: usize) {
        let bound = server.end.timeout_bound().min(server.answer_at);
        if bound < server.nic.timer {
            self.set_server_timer(server, index, bound);
        }
    }

    #[inline]
    fn set_server_timer(&mut self, server: &mut Server<Line<L>>, index: usize, time: Time) {
        server.nic.timer = time;
        self.timers.set(index, time);
    }

    #[cold]
    #[inline(never)]
    fn pump_server_fully(&mut self, now: Time, server: &mut Server<Line<L>>, index: usize) {
        while let Some(segment) = server.end.poll_transmit(now) {
            server.nic.send(now, index, segment, &mut self.arrivals);
        }
        self.lower_server_timer(server, index);
    }

    /// Does all that is due at a server by `until`, in the order of time, answers first.
    #[cold]
    #[inline(never)]
    fn fire_server_timers(&mut self, server: &mut Server<Line<L>>, index: usize, until: Time) {
        loop {
            let timeout = server.end.next_timeout();
            let due = timeout.min(server.answer_at);
            if due > until {
                self.set_server_timer(server, index, due);
                return;
            }
            if server.answer_at == due {
                server.answer_at = Time::NEVER;
                server.end.write(due, server.response_bytes);
            } else {
                server.end.handle_timeout(due);
            }
            self.pump_server(due, server, index);
        }
    }

    // ---- measuring

    /// Reads the counters at the end of an iteration. Whether it was the last one.
    fn end_iteration(&mut self, servers: &Servers<L>) -> bool {
        let at_servers: u64 = servers.iter().map(|server| server.nic.port.frames_dropped).sum();
        let totals = totals(self.client_port.frames_dropped + at_servers, servers);
        if let Some(iteration) = self.barrier.read(totals) {
            self.iteration_began = iteration.ended;
            if self.base.is_none() && self.barrier.measures_after(&iteration) {
                self.base = Some(self.snapshot(servers));
                self.measure_from = iteration.ended;
            }
        }
        self.client.app.is_done()
    }

    fn snapshot(&self, servers: &Servers<L>) -> Snapshot {
        let server_ports = servers.iter().map(|server| server.nic.port);
        let ports: Vec<_> = std::iter::once(self.client_port).chain(server_ports).collect();
        let client = *self.client.nic.counters();
        Snapshot::new(&ports, &self.client.app, client, servers, |line| *line.nic.counters())
    }

    fn finish(self, servers: &Servers<L>) -> Outcome {
        let lines = || servers.iter().map(|server| &server.nic);
        let nics = lines().map(|line| &line.nic).chain([&self.client.nic]);
        let on_the_way =
            self.to_switch.len() + lines().map(|line| line.to_switch.len()).sum::<usize>();
        let server_ports = 1..=servers.len() as u32;
        Outcome {
            measure_from: self.measure_from,
            measure_to: self.iteration_began,
            end: self.snapshot(servers),
            frames_sent: nics.map(|nic| nic.counters().frames_sent).sum(),
            frames_under_way: on_the_way as u64,
            client_queue_bytes_max: self.switch.buffer.queue_bytes_max(0),
            server_queue_bytes_max: server_ports
                .map(|port| self.switch.buffer.queue_bytes_max(port))
                .max()
                .unwrap_or(0),
            base: self.base.unwrap_or_default(),
            samples: self.barrier.into_samples(),
        }
    }
}

impl<L: Limits> Line<L> {
    fn new(setup: &Setup<'_>, name: &str) -> Self {
        let server = &setup.star.server;
        let cuts_through = setup.star.cuts_through(&server.link);
        Self {
            nic: Nic::new(server, cuts_through, setup.seed, name),
            to_switch: Ring::new(),
            port: PortCounters::default(),
            timer: Time::NEVER,
            client_timer: Time::NEVER,
        }
    }

    /// The server with the index `index` sends a segment, unless its queue is full.
    #[inline(always)]
    fn send(&mut self, now: Time, index: usize, segment: Segment, arrivals: &mut Agenda) {
        if let Some(frame) = self.nic.send(now, index as u32, segment, &self.to_switch) {
            push(&mut self.to_switch, arrivals, index + 1, frame);
        }
    }
}

/// The line of the server with the index `index`, at `now`.
struct LineOutlet<'a, L> {
    line: &'a mut Line<L>,
    index: usize,
    now: Time,
    arrivals: &'a mut Agenda,
}

impl<L: Limits> Outlet for LineOutlet<'_, L> {
    #[inline(always)]
    fn send(&mut self, segment: Segment) {
        self.line.send(self.now, self.index, segment, self.arrivals);
    }
}

/// A frame is on its way from `port` to the switch.
#[inline(always)]
fn push(queue: &mut Ring<Frame>, arrivals: &mut Agenda, port: usize, frame: Frame) {
    if queue.is_empty() {
        arrivals.add(port, frame.arrival);
    }
    queue.push_back(frame);
}
