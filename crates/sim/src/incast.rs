//! The incast workload over a star: the event loop, and the two kinds of hosts in it.

use std::ops::ControlFlow;

use netstudy_fabric::switch::Arrival;
use netstudy_fabric::{Chance, PauseCounters, PortCounters, Schedule, SwitchBuffer, Verdict};
use netstudy_records::Jitter;
use netstudy_ring::Ring;
use netstudy_tcp::{Counters, Ecn, Endpoint, Segment};
use netstudy_units::{Duration, Time};
use netstudy_workload::{Incast, IncastConfig, Responder};

use crate::agenda::Agenda;
use crate::barrier::{Barrier, Totals};
use crate::hosts::{Frame, Nic, NicCounters};
use crate::limits::Limits;
use crate::observe::{Moment, Observer};
use crate::wiring::Star;
use netstudy_random::Stream;

/// Virtual time that one iteration may take: far beyond any series of timeouts that still ends.
const ITERATION_TIME_MAX: Duration = Duration::from_secs(3600);

/// The client, with an interface `N`: one connection to each server.
pub(crate) struct Client<N> {
    pub(crate) nic: N,
    pub(crate) ends: Vec<Endpoint>,
    pub(crate) app: Incast,
    request_bytes: u64,
    /// No timer of a connection is due before the time held here.
    timeouts: Schedule,
    connecting: u32,
    next_connect: u32,
    connect_spacing: Duration,
    read_at_once_pct: u32,
    reads: Stream,
}

/// A server, with an interface `N`: one connection to the client.
pub(crate) struct Server<N> {
    pub(crate) nic: N,
    pub(crate) end: Endpoint,
    pub(crate) app: Responder,
    pub(crate) response_bytes: u64,
    pub(crate) jitter: Stream,
    /// When it begins to answer the request that it has.
    pub(crate) answer_at: Time,
}

/// A simulation of one run over a switch with the buffer architecture `B`, in closed form; the
/// interfaces have the limits `L`.
pub(crate) struct Simulation<B, L, O> {
    /// Frames on the way to the switch, by port; the schedule holds when the first of each is there.
    on_the_way: Vec<Ring<Frame>>,
    arrivals: Agenda,
    /// No timer of a host is due before the time held here: 0 the client, i + 1 the server i.
    timers: Schedule,
    switch: B,
    switch_latency: Duration,
    arbitration: Stream,
    ports: Vec<PortCounters>,
    client: Client<Nic<L>>,
    servers: Vec<Server<Nic<L>>>,
    start_jitter: Jitter,
    barrier: Barrier,
    /// Counters at the start of the measuring phase.
    base: Option<Snapshot>,
    measure_from: Time,
    iteration_began: Time,
    now: Time,
    observer: O,
}

/// All counters of a moment.
#[derive(Clone, Debug, Default)]
pub(crate) struct Snapshot {
    pub(crate) client: Counters,
    pub(crate) servers: Counters,
    pub(crate) client_port: PortCounters,
    pub(crate) server_ports: PortCounters,
    pub(crate) client_nic: NicCounters,
    pub(crate) server_nics: NicCounters,
    pub(crate) client_pauses: PauseCounters,
    pub(crate) server_pauses: PauseCounters,
    pub(crate) client_port_pauses: PauseCounters,
    pub(crate) server_port_pauses: PauseCounters,
    pub(crate) connections: Vec<Connection>,
}

/// What one connection did so far.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Connection {
    pub(crate) bytes_received: u64,
    pub(crate) receiving: Duration,
    pub(crate) retransmissions: u64,
    pub(crate) timeouts: u64,
}

impl Snapshot {
    pub(crate) fn new<N>(
        ports: &[PortCounters],
        client: &Client<N>,
        servers: &[Server<N>],
        nic_counters: impl Fn(&N) -> NicCounters,
    ) -> Self {
        let mut snapshot = Self { client_port: ports[0], ..Self::default() };
        snapshot.client_nic = nic_counters(&client.nic);
        for end in &client.ends {
            snapshot.client.add(end.counters());
        }
        for (server, port) in servers.iter().zip(&ports[1..]) {
            snapshot.servers.add(server.end.counters());
            snapshot.server_ports.add(port);
            snapshot.server_nics.add(&nic_counters(&server.nic));
        }
        snapshot.connections = (0..servers.len())
            .map(|index| Connection {
                bytes_received: client.ends[index].bytes_received(),
                receiving: client.app.receiving(index as u32),
                retransmissions: servers[index].end.counters().segments_retransmitted,
                timeouts: servers[index].end.counters().timeouts,
            })
            .collect();
        snapshot
    }
}

/// The counters whose growth is reported for each iteration.
pub(crate) fn totals<N>(
    ports: &[PortCounters],
    client: &Client<N>,
    servers: &[Server<N>],
) -> Totals {
    let mut totals = Totals {
        dropped_packets: ports.iter().map(|port| port.frames_dropped).sum(),
        ..Totals::default()
    };
    for end in client.ends.iter().chain(servers.iter().map(|server| &server.end)) {
        totals.retransmissions += end.counters().segments_retransmitted;
        totals.timeouts += end.counters().timeouts;
    }
    totals
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

/// What a run that came to its end gives.
pub(crate) struct Outcome {
    pub(crate) samples: netstudy_records::IterationSamples,
    pub(crate) measure_from: Time,
    pub(crate) measure_to: Time,
    pub(crate) base: Snapshot,
    pub(crate) end: Snapshot,
    pub(crate) frames_sent: u64,
    pub(crate) frames_under_way: u64,
    pub(crate) client_queue_bytes_max: u64,
    pub(crate) server_queue_bytes_max: u64,
}

/// What a simulation is made of, beside its switch.
pub(crate) struct Setup<'a> {
    pub(crate) star: &'a Star,
    pub(crate) workload: IncastConfig,
    pub(crate) warmup_iterations: u32,
    pub(crate) start_jitter: &'a Jitter,
    pub(crate) seed: &'a str,
}

impl<B: SwitchBuffer<Frame>, L: Limits, O: Observer> Simulation<B, L, O> {
    pub(crate) fn new(setup: &Setup<'_>, switch: B, observer: O) -> Self {
        let star = setup.star;
        let ports = star.servers as usize + 1;
        let iterations = setup.workload.iterations - setup.warmup_iterations;
        Self {
            on_the_way: vec![Ring::new(); ports],
            arrivals: Agenda::new(Stream::new(setup.seed, "switch/arrivals").bits()),
            timers: Schedule::new(ports),
            switch,
            switch_latency: star.switch_latency,
            arbitration: Stream::new(setup.seed, "switch/arbitration"),
            ports: vec![PortCounters::default(); ports],
            client: Client::new(
                setup,
                Nic::new(&star.client, star.cuts_through(&star.client.link)),
            ),
            servers: (0..star.servers)
                .map(|index| {
                    let nic = Nic::new(&star.server, star.cuts_through(&star.server.link));
                    Server::new(setup, index, nic)
                })
                .collect(),
            start_jitter: setup.start_jitter.clone(),
            barrier: Barrier::new(setup.warmup_iterations, iterations),
            base: (setup.warmup_iterations == 0).then(Snapshot::default),
            measure_from: Time::ZERO,
            iteration_began: Time::ZERO,
            now: Time::ZERO,
            observer,
        }
    }

    /// Runs all iterations; `on_iteration` hears of each that has ended.
    pub(crate) fn run(
        mut self,
        on_iteration: &mut dyn FnMut() -> ControlFlow<()>,
    ) -> Result<Outcome, String> {
        self.timers.set(0, Time::ZERO);
        loop {
            let (port, arrival) = self.arrivals.earliest();
            let (host, timer) = self.timers.earliest();
            let grant = self.switch.next_grant();
            let read = self.barrier.due();
            self.now = arrival.min(timer).min(grant).min(read);
            // The order at equal times, as the crate's documentation says.
            if timer == self.now {
                self.check_progress()?;
                self.handle_timer(host);
            } else if grant == self.now {
                self.handle_grant();
            } else if arrival == self.now {
                self.handle_arrival(port);
            } else {
                if on_iteration().is_break() {
                    return Err("stopped before its end".to_owned());
                }
                if self.end_iteration() {
                    return Ok(self.finish());
                }
            }
        }
    }

    /// The frame at the head of `port` has arrived at the switch.
    #[inline(always)]
    fn handle_arrival(&mut self, port: usize) {
        let queue = &mut self.on_the_way[port];
        let mut frame = *queue.front().expect("a port has an arrival only with a frame on the way");
        queue.drop_front();
        self.arrivals.advance(queue.front().map(|next| next.arrival));
        if port == 0 {
            self.offer_to_server(&mut frame);
        } else if let Some(departs) = self.judge(port, 0, &mut frame) {
            self.deliver_to_client(departs, &frame);
        }
    }

    #[inline(always)]
    fn offer_to_server(&mut self, frame: &mut Frame) {
        if let Some(departs) = self.judge(0, frame.connection + 1, frame) {
            self.deliver_to_server(departs, frame);
        }
    }

    /// The switch judges a frame that has arrived, or whose arrival nothing else can influence. When
    /// the frame leaves, if that is known by now.
    #[inline(always)]
    fn judge(&mut self, ingress: usize, egress: u32, frame: &mut Frame) -> Option<Time> {
        let arrival = Arrival {
            now: frame.arrival,
            ready: frame.arrival + self.switch_latency,
            ingress: ingress as u32,
            egress,
            frame_bytes: frame.frame_bytes,
        };
        self.observer.note(Moment::Arrived(ingress), frame.arrival, frame);
        let verdict = self.switch.offer(&arrival, frame);
        let counters = &mut self.ports[egress as usize];
        if verdict == Verdict::Dropped {
            counters.frames_dropped += 1;
            counters.bytes_dropped += u64::from(frame.frame_bytes);
            self.observer.note(Moment::Dropped(egress as usize), frame.arrival, frame);
            return None;
        }
        counters.frames_forwarded += 1;
        counters.bytes_forwarded += u64::from(frame.frame_bytes);
        match verdict {
            Verdict::Departs(departs) => Some(departs),
            Verdict::Marked(departs) => {
                self.mark(egress, frame);
                Some(departs)
            }
            Verdict::Dropped | Verdict::Held => None,
        }
    }

    fn handle_grant(&mut self) {
        let Some(mut grant) = self.switch.grant(&mut self.arbitration) else { return };
        if grant.marked {
            self.mark(grant.egress, &mut grant.frame);
        }
        if grant.egress == 0 {
            self.deliver_to_client(grant.departs, &grant.frame);
        } else {
            self.deliver_to_server(grant.departs, &grant.frame);
        }
    }

    /// The mark is left on a frame that is subject to marks, and on no other (RFC 3168, 5).
    #[cold]
    #[inline(never)]
    fn mark(&mut self, egress: u32, frame: &mut Frame) {
        if frame.segment.ecn != Ecn::NotEct {
            frame.segment.ecn = Ecn::Ce;
            self.ports[egress as usize].frames_marked += 1;
        }
    }

    #[inline(always)]
    fn deliver_to_client(&mut self, departs: Time, frame: &Frame) {
        self.observer.note(Moment::Left(0), departs, frame);
        let Some(now) = self.client.nic.receive(departs, frame.frame_bytes) else {
            self.drop_in_ring(0, departs, frame);
            return;
        };
        self.observer.note(Moment::Delivered(0), now, frame);
        self.client_receives(now, frame.connection as usize, &frame.segment);
    }

    #[inline(always)]
    fn deliver_to_server(&mut self, departs: Time, frame: &Frame) {
        let index = frame.connection as usize;
        self.observer.note(Moment::Left(index + 1), departs, frame);
        let Some(now) = self.servers[index].nic.receive(departs, frame.frame_bytes) else {
            self.drop_in_ring(index + 1, departs, frame);
            return;
        };
        self.observer.note(Moment::Delivered(index + 1), now, frame);
        self.server_receives(now, index, &frame.segment);
    }

    /// A frame that left the switch at `departs` finds no room at its host.
    #[cold]
    fn drop_in_ring(&mut self, port: usize, departs: Time, frame: &Frame) {
        let delay =
            if port == 0 { self.client.nic.delay() } else { self.servers[port - 1].nic.delay() };
        self.observer.note(Moment::RingDropped(port), departs + delay, frame);
    }

    fn handle_timer(&mut self, host: usize) {
        if host == 0 {
            self.fire_client_timers(self.now);
        } else {
            self.fire_server_timers(host - 1, self.now);
        }
    }

    // ---- client

    #[inline(always)]
    fn client_receives(&mut self, now: Time, connection: usize, segment: &Segment) {
        if self.timers.time(0) <= now {
            self.fire_client_timers(now);
        }
        let end = &mut self.client.ends[connection];
        let before = end.bytes_received();
        if !end.handle_predicted(now, segment) {
            self.client_receives_any(now, connection, segment);
            return;
        }
        let total = end.bytes_received();
        if self.client.reads_at_once() {
            self.client.ends[connection].application_read();
        }
        self.acknowledge(now, connection);
        self.client_reads(now, connection, before, total);
    }

    #[inline(always)]
    fn client_receives_any(&mut self, now: Time, connection: usize, segment: &Segment) {
        let end = &mut self.client.ends[connection];
        let before = end.bytes_received();
        let was_open = end.is_open();
        end.handle_any(now, segment);
        let total = end.bytes_received();
        let opened = !was_open && end.is_open();
        if segment.len > 0 && self.client.reads_at_once() {
            self.client.ends[connection].application_read();
        }
        if opened && self.client.opened() {
            self.begin(now);
        }
        self.pump_client(now, connection);
        if total > before {
            self.client_reads(now, connection, before, total);
        }
    }

    fn begin(&mut self, now: Time) {
        self.client.app.start(now);
        self.measure_from = now;
        self.iteration_began = now;
        self.lower_client_timer(now);
    }

    #[inline]
    fn client_reads(&mut self, now: Time, connection: usize, before: u64, total: u64) {
        let ended = self.client.app.handle_received(now, connection as u32, before, total);
        if let Some(iteration) = ended {
            self.barrier.completed(iteration);
            self.lower_client_timer(self.client.app.next_request());
        }
    }

    /// Sends the acknowledgment that is due after data that was predicted, or sees to it that it is
    /// sent in time.
    #[inline(always)]
    fn acknowledge(&mut self, now: Time, connection: usize) {
        let end = &mut self.client.ends[connection];
        if let Some(segment) = end.poll_ack(now) {
            self.client_sends(now, connection, segment);
        } else {
            let bound = end.timeout_bound();
            self.lower_connection_timer(connection, bound);
        }
    }

    /// Sends all that a connection of the client has to send.
    #[inline(always)]
    fn pump_client(&mut self, now: Time, connection: usize) {
        let end = &mut self.client.ends[connection];
        if !end.has_only_acks() {
            self.pump_client_fully(now, connection);
            return;
        }
        let ack = end.poll_ack(now);
        let bound = end.timeout_bound();
        self.lower_connection_timer(connection, bound);
        if let Some(segment) = ack {
            self.client_sends(now, connection, segment);
        }
    }

    #[inline(always)]
    fn lower_connection_timer(&mut self, connection: usize, bound: Time) {
        if bound < self.client.timeouts.time(connection) {
            self.client.timeouts.set(connection, bound);
            self.lower_client_timer(bound);
        }
    }

    #[cold]
    #[inline(never)]
    fn pump_client_fully(&mut self, now: Time, connection: usize) {
        while let Some(segment) = self.client.ends[connection].poll_transmit(now) {
            self.client_sends(now, connection, segment);
        }
        let bound = self.client.ends[connection].timeout_bound();
        self.lower_connection_timer(connection, bound);
    }

    #[inline(always)]
    fn client_sends(&mut self, now: Time, connection: usize, segment: Segment) {
        let nic = &mut self.client.nic;
        if B::PRIVATE_EGRESS {
            if let Some(mut frame) = nic.send_ahead(now, connection as u32, segment) {
                self.offer_to_server(&mut frame);
            }
        } else {
            let queue = &mut self.on_the_way[0];
            if let Some(frame) = nic.send(now, connection as u32, segment, queue) {
                push(queue, &mut self.arrivals, 0, frame);
            }
        }
    }

    #[inline]
    fn lower_client_timer(&mut self, time: Time) {
        if time < self.timers.time(0) {
            self.timers.set(0, time);
        }
    }

    /// Does all that is due at the client by `until`, in the order of time: requests before timers
    /// of connections, those in the order of connections.
    #[cold]
    #[inline(never)]
    fn fire_client_timers(&mut self, until: Time) {
        loop {
            let start = self.client.next_start();
            let (connection, bound) = self.client.timeouts.earliest();
            if start <= until && start <= bound {
                self.client_starts(start);
                continue;
            }
            if bound > until {
                self.timers.set(0, start.min(bound));
                return;
            }
            let due = self.client.ends[connection].next_timeout();
            if due > bound {
                self.client.timeouts.set(connection, due);
                continue;
            }
            self.client.timeouts.set(connection, Time::NEVER);
            self.client.ends[connection].handle_timeout(due);
            self.pump_client(due, connection);
        }
    }

    /// Opens the next connection, or sends the next request.
    #[cold]
    #[inline(never)]
    fn client_starts(&mut self, now: Time) {
        let connection = self.client.start_next(now);
        self.pump_client(now, connection);
    }

    // ---- servers

    #[inline(always)]
    fn server_receives(&mut self, now: Time, index: usize, segment: &Segment) {
        if self.timers.time(index + 1) <= now {
            self.fire_server_timers(index, now);
        }
        let server = &mut self.servers[index];
        server.end.handle_segment(now, segment);
        if segment.len > 0 && server.app.poll_request(server.end.bytes_received()) {
            server.answer_at = now + server.jitter.delay(&self.start_jitter);
        }
        let queue = &mut self.on_the_way[index + 1];
        let bound = server.send_news(now, index, queue, &mut self.arrivals);
        self.pump_after_news(now, index, bound);
    }

    /// Sends all that a server has to send.
    fn pump_server(&mut self, now: Time, index: usize) {
        let queue = &mut self.on_the_way[index + 1];
        let bound = self.servers[index].send_news(now, index, queue, &mut self.arrivals);
        self.pump_after_news(now, index, bound);
    }

    /// Sends what [`Server::send_news`] left, whose answer is `bound`.
    #[inline(always)]
    fn pump_after_news(&mut self, now: Time, index: usize, bound: Option<Time>) {
        match bound {
            Some(bound) => self.lower_server_timer(index, bound),
            None => self.pump_server_fully(now, index),
        }
    }

    #[inline(always)]
    fn lower_server_timer(&mut self, index: usize, bound: Time) {
        if bound < self.timers.time(index + 1) {
            self.timers.set(index + 1, bound);
        }
    }

    #[cold]
    #[inline(never)]
    fn pump_server_fully(&mut self, now: Time, index: usize) {
        while let Some(segment) = self.servers[index].end.poll_transmit(now) {
            let queue = &mut self.on_the_way[index + 1];
            if let Some(frame) = self.servers[index].nic.send(now, index as u32, segment, queue) {
                push(queue, &mut self.arrivals, index + 1, frame);
            }
        }
        let bound = self.servers[index].timer_bound();
        self.lower_server_timer(index, bound);
    }

    /// Does all that is due at a server by `until`, in the order of time, answers first.
    #[cold]
    #[inline(never)]
    fn fire_server_timers(&mut self, index: usize, until: Time) {
        loop {
            let server = &mut self.servers[index];
            let timeout = server.end.next_timeout();
            let due = timeout.min(server.answer_at);
            if due > until {
                self.timers.set(index + 1, due);
                return;
            }
            if server.answer_at == due {
                server.answer_at = Time::NEVER;
                server.end.write(due, server.response_bytes);
            } else {
                server.end.handle_timeout(due);
            }
            self.pump_server(due, index);
        }
    }

    // ---- measuring

    /// Reads the counters at the end of an iteration. Whether it was the last one.
    fn end_iteration(&mut self) -> bool {
        let totals = self.totals();
        if let Some(iteration) = self.barrier.read(totals) {
            self.iteration_began = iteration.ended;
            if self.base.is_none() && self.barrier.measures_after(&iteration) {
                self.base = Some(self.snapshot());
                self.measure_from = iteration.ended;
            }
        }
        self.client.app.is_done()
    }

    fn totals(&self) -> Totals {
        totals(&self.ports, &self.client, &self.servers)
    }

    fn snapshot(&self) -> Snapshot {
        Snapshot::new(&self.ports, &self.client, &self.servers, |nic| *nic.counters())
    }

    fn check_progress(&self) -> Result<(), String> {
        check_progress(self.now, self.iteration_began)
    }

    fn finish(self) -> Outcome {
        let nics = self.servers.iter().map(|server| &server.nic).chain([&self.client.nic]);
        let on_the_way: usize = self.on_the_way.iter().map(Ring::len).sum();
        let server_ports = 1..=self.servers.len() as u32;
        Outcome {
            measure_from: self.measure_from,
            measure_to: self.iteration_began,
            end: self.snapshot(),
            frames_sent: nics.map(|nic| nic.counters().frames_sent).sum(),
            frames_under_way: on_the_way as u64,
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

impl<N> Client<N> {
    pub(crate) fn new(setup: &Setup<'_>, nic: N) -> Self {
        let star = setup.star;
        let tcp = star.client.tcp_with_phase(setup.seed, "client");
        Self {
            nic,
            ends: (0..star.servers).map(|_| Endpoint::connect(tcp)).collect(),
            app: Incast::new(&setup.workload),
            request_bytes: setup.workload.request_bytes,
            timeouts: Schedule::new(star.servers as usize),
            connecting: star.servers,
            next_connect: 0,
            connect_spacing: setup.workload.request_spacing,
            read_at_once_pct: star.client.read_at_once_pct,
            reads: Stream::new(setup.seed, "client/reads"),
        }
    }

    /// When the next connection is to be opened or the next request to be sent.
    pub(crate) fn next_start(&self) -> Time {
        if self.next_connect < self.ends.len() as u32 {
            return Time::ZERO + self.connect_spacing * u64::from(self.next_connect);
        }
        self.app.next_request()
    }

    /// Opens the next connection, or writes the next request; the connection has something to send now.
    pub(crate) fn start_next(&mut self, now: Time) -> usize {
        if let Some(server) = self.app.poll_request(now) {
            self.ends[server as usize].write(now, self.request_bytes);
            return server as usize;
        }
        self.next_connect += 1;
        self.next_connect as usize - 1
    }

    /// Another connection is open. Whether all are.
    pub(crate) const fn opened(&mut self) -> bool {
        self.connecting -= 1;
        self.connecting == 0
    }

    /// Whether the application reads as soon as the segment that has just come is there.
    #[inline]
    pub(crate) fn reads_at_once(&mut self) -> bool {
        self.read_at_once_pct > 0 && self.reads.below(100) < self.read_at_once_pct
    }

    pub(crate) fn earliest_timeout(&self) -> (Time, usize) {
        let timeouts = self.ends.iter().enumerate().map(|(index, end)| (end.next_timeout(), index));
        timeouts.min().unwrap_or((Time::NEVER, 0))
    }
}

impl<N> Server<N> {
    pub(crate) fn new(setup: &Setup<'_>, index: u32, nic: N) -> Self {
        let star = setup.star;
        let name = format!("server/{}", index + 1);
        Self {
            nic,
            end: Endpoint::listen(star.server.tcp_with_phase(setup.seed, &name)),
            app: Responder::new(setup.workload.request_bytes),
            response_bytes: setup.workload.response_bytes(index),
            jitter: Stream::new(setup.seed, &format!("{name}/start")),
            answer_at: Time::NEVER,
        }
    }
}

impl<L: Limits> Server<Nic<L>> {
    /// Sends new data, if nothing else comes first. When the next timer may be due, if nothing else
    /// is left to send.
    #[inline(always)]
    fn send_news(
        &mut self,
        now: Time,
        index: usize,
        queue: &mut Ring<Frame>,
        arrivals: &mut Agenda,
    ) -> Option<Time> {
        let is_done = self.end.send_news(now, |segment| {
            if let Some(frame) = self.nic.send(now, index as u32, segment, queue) {
                push(queue, arrivals, index + 1, frame);
            }
        });
        is_done.then(|| self.timer_bound())
    }

    /// A time before which no timer is due.
    #[inline(always)]
    fn timer_bound(&self) -> Time {
        self.end.timeout_bound().min(self.answer_at)
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
