//! Hosts, with their applications, connections and timers. Both ends of a connection and all kinds
//! of network use the same code.
//!
//! A network may simulate a host ahead of the clock. Each host still handles its events in the
//! order of their times. At equal times, events that are due at the host come before segments that
//! arrive.

pub(crate) mod files;
mod full_queue;
pub(crate) mod permits;
pub(crate) mod stations;

use std::cell::RefMut;

use netstudy_fabric::Schedule;
use netstudy_records::{Place, UnitKind};
use netstudy_tcp::{Counters, Endpoint, Outlet, Segment, Standing, State};
use netstudy_units::Time;
use netstudy_workload::{Action, Sample, Traffic};

use full_queue::FullQueues;

use crate::account::{Fired, Trace};
use crate::end_index::EndIndex;
use crate::measure::readings::Reading;
use crate::measure::{Measure, Rare};
use crate::wiring::Wiring;

/// One end of a connection.
pub(crate) struct End {
    pub(crate) tcp: Endpoint,
    /// The index of the host.
    pub(crate) host: u32,
    /// The number by which the host's application knows the connection.
    number: u32,
    /// The time set for this end in the host's timers. The next timeout is not earlier.
    due: Time,
    /// Waits for room in the full queue of the host.
    waits: bool,
    /// When it is the turn of this end to send into the full queue of the host; [`Time::NEVER`] if
    /// it does not wait, is not the first that waits, or the time is not known yet.
    room_at: Time,
}

/// A host, and what the network stores about it.
struct Host<T, N> {
    app: T,
    line: N,
    /// The host's ends of connections. The index is the number by which the application knows the
    /// connection.
    ends: Vec<EndIndex>,
    /// When an event may be due. Source 0 is the application, and source i + 1 is connection i of
    /// the application.
    timers: Schedule,
    /// The time set for this host in [`Shared::timers`]. The host's next event is not earlier.
    due: Time,
}

/// Payload bytes that an end has sent so far, and that its peer has acknowledged.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct StreamBytes {
    /// Sent, without retransmissions.
    pub(crate) sent: u64,
    pub(crate) acknowledged: u64,
    pub(crate) written: u64,
}

impl StreamBytes {
    /// Payload bytes that an end has sent, and had acknowledged, on the current connection.
    fn of(tcp: &Endpoint) -> Self {
        Self {
            sent: tcp.bytes_sent_once(),
            acknowledged: tcp.bytes_acknowledged(),
            written: tcp.bytes_written(),
        }
    }

    const fn add(&mut self, other: &Self) {
        self.sent += other.sent;
        self.acknowledged += other.acknowledged;
        self.written += other.written;
    }
}

/// If connections are reopened: the sums of an end's counters over its earlier connections.
#[derive(Clone, Copy, Debug, Default)]
struct Past {
    /// This end has opened the current connection, or listens for it.
    is_open: bool,
    /// Number of earlier connections, modulo 256.
    incarnation: u8,
    counters: Counters,
    bytes: StreamBytes,
}

/// A network, as seen by hosts that run applications of type `T`. The network calls
/// [`Hosts::receive`] for each segment that arrives at a host, and [`Hosts::fire_timers`] when a
/// host's timer is due.
pub(crate) trait Network<T>: Sized {
    /// What the network stores about each host.
    type Line;

    /// Whether the time of units of work is traced.
    const ACCOUNTS: bool = false;

    /// The trace of time, if [`Self::ACCOUNTS`].
    fn trace(&self) -> RefMut<'_, Trace> {
        unreachable!("only a network with accounts has a trace of time")
    }

    /// Sends, at time `now`, a segment from the connection end `from` on `host`. If the host's queue
    /// is full, the segment is dropped or, if the host holds segments back, not accepted. If the arrival time is already known, the network may
    /// handle the arrival at the receiving host before this function returns. Returns when the
    /// segment will have left the host: [`Time::NEVER`] if the network reports it later with
    /// [`Hosts::note_departure`]; none if the segment was not accepted or does not wait.
    fn send(
        &mut self,
        hosts: &mut Hosts<'_, T, Self::Line>,
        now: Time,
        host: usize,
        from: EndIndex,
        segment: Segment,
    ) -> Option<Time>;

    /// The number of the queue in which segments of the end `from` wait to leave their host, and
    /// when it has room for another segment: `now` or earlier if it has room now, [`Time::NEVER`]
    /// if the network finds out later and reports it with [`Hosts::note_room`].
    fn room_at(
        &mut self,
        hosts: &mut Hosts<'_, T, Self::Line>,
        now: Time,
        from: EndIndex,
    ) -> (usize, Time);

    /// An outlet for a burst of segments from the connection end `from`; `line` is what the network
    /// stores about the sending host. The outlet sends each segment like [`Self::send`]. None if
    /// the network may have to handle the arrival at the receiving host at once.
    fn outlet<'a>(
        &'a mut self,
        line: &'a mut Self::Line,
        now: Time,
        host: usize,
        from: EndIndex,
    ) -> Option<impl Outlet + 'a>;
}

/// All hosts and connections of a run, and its measurement.
pub(crate) struct Population<T, N = ()> {
    hosts: Box<[Host<T, N>]>,
    /// All ends, by [`EndIndex`]. Whatever the code for a packet accesses at an end is stored
    /// together.
    ends: Box<[End]>,
    shared: Shared,
}

struct Shared {
    /// When an event may be due at each host.
    timers: Schedule,
    measure: Measure,
    /// An entry for each [`EndIndex`] if applications reopen connections; empty otherwise.
    past: Box<[Past]>,
    full_queues: FullQueues,
}

/// Mutable access to a [`Population`], as a few pointers. The packet path keeps these pointers in
/// registers. Functions that are not inlined into the packet path take `Hosts` by value, so that
/// the pointers can stay in registers.
#[allow(clippy::struct_field_names, reason = "there is no other word for it")]
pub(crate) struct Hosts<'a, T, N = ()> {
    hosts: &'a mut [Host<T, N>],
    ends: &'a mut [End],
    shared: &'a mut Shared,
}

/// The number of the application among the sources of [`Host::timers`].
const APPLICATION: usize = 0;

impl<T: Traffic, N> Host<T, N> {
    fn new(app: T, line: N, ends: Vec<EndIndex>) -> Self {
        let mut timers = Schedule::new(ends.len() + 1);
        let due = app.next_action();
        timers.set(APPLICATION, due);
        Self { app, line, ends, timers, due }
    }

    /// Lets the application read the data that has just arrived at an end; `before` is the number
    /// of bytes that had arrived earlier. Returns whether the application's next action may now be
    /// due earlier.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn take_data(&mut self, now: Time, end: &mut End, before: u64) -> bool {
        let total = end.tcp.bytes_received();
        let is_due = total > before && self.app.received(now, end.number, before, total);
        if T::READS_LATER {
            end.tcp.leave_unread(self.app.unread(end.number));
        }
        is_due
    }
}

/// Whether the peer has closed its direction of the connection.
const fn is_closed_by_peer(state: State) -> bool {
    matches!(state, State::CloseWait | State::Closing | State::LastAck | State::TimeWait)
}

impl<T: Traffic, N> Population<T, N> {
    /// The hosts of a network. Each has an application, and a `line` for what the network stores
    /// about it. `connections` are pairs of host indices.
    pub(crate) fn new(
        wiring: &Wiring,
        seed: &str,
        applications: Vec<T>,
        lines: Vec<N>,
        connections: &[[usize; 2]],
        measure: Measure,
    ) -> Self {
        let mut ends_of = vec![Vec::new(); applications.len()];
        let mut end = |connection: usize, side: usize| {
            let host = connections[connection][side];
            let tcp = wiring.tcp(host, connection, seed);
            let tcp = if side == 0 { Endpoint::connect(tcp) } else { Endpoint::listen(tcp) };
            let number = ends_of[host].len() as u32;
            ends_of[host].push(EndIndex(2 * connection as u32 + side as u32));
            let (due, room_at) = (Time::NEVER, Time::NEVER);
            End { tcp, host: host as u32, number, due, waits: false, room_at }
        };
        // The ends are made in this order, so that each application numbers its connections in the
        // order of the cast.
        let ends = (0..2 * connections.len()).map(|index| end(index / 2, index % 2)).collect();
        let mut timers = Schedule::new(applications.len());
        let hosts: Box<[_]> = applications
            .into_iter()
            .zip(lines)
            .zip(ends_of)
            .map(|((app, line), ends)| Host::new(app, line, ends))
            .collect();
        for (index, host) in hosts.iter().enumerate() {
            timers.set(index, host.due);
        }
        let past = if T::REOPENS { 2 * connections.len() } else { 0 };
        let past = vec![Past::default(); past].into();
        let full_queues = FullQueues::new();
        Self { hosts, ends, shared: Shared { timers, measure, past, full_queues } }
    }

    pub(crate) fn at_work(&mut self) -> Hosts<'_, T, N> {
        Hosts { hosts: &mut self.hosts, ends: &mut self.ends, shared: &mut self.shared }
    }
}

impl<T: Traffic, N> Hosts<'_, T, N> {
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn again(&mut self) -> Hosts<'_, T, N> {
        Hosts { hosts: self.hosts, ends: self.ends, shared: self.shared }
    }

    /// The measurement of the run.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) const fn measure(&mut self) -> &mut Measure {
        &mut self.shared.measure
    }

    /// The host whose next event may be due first, and when.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn next_timer(&self) -> (usize, Time) {
        self.shared.timers.earliest()
    }

    /// Number of hosts.
    pub(crate) const fn len(&self) -> usize {
        self.hosts.len()
    }

    /// What the network stores about a host.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn line(&mut self, host: usize) -> &mut N {
        &mut self.hosts[host].line
    }

    /// What the network stores about a host, and the measurement.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn line_and_measure(&mut self, host: usize) -> (&mut N, &mut Measure) {
        (&mut self.hosts[host].line, &mut self.shared.measure)
    }

    /// What the network stores about each host.
    pub(crate) fn lines(&self) -> impl Iterator<Item = &N> {
        self.hosts.iter().map(|host| &host.line)
    }

    /// The index of the host at an end of a connection.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) const fn host_of(&self, end: EndIndex) -> usize {
        self.ends[end.index()].host as usize
    }

    /// The ends of all connections. For each connection: first the end that opens it, then the
    /// other.
    pub(crate) fn ends(&self) -> impl Iterator<Item = &End> {
        self.ends.iter()
    }

    /// The TCP endpoint of an end.
    pub(crate) const fn tcp(&self, end: EndIndex) -> &Endpoint {
        &self.ends[end.index()].tcp
    }

    /// The TCP counters of an end, over all its connections.
    pub(crate) fn counters(&self, end: EndIndex) -> Counters {
        let mut counters = *self.tcp(end).counters();
        if T::REOPENS {
            counters.add(&self.shared.past[end.index()].counters);
        }
        counters
    }

    /// The payload sent by an end, over all its connections.
    pub(crate) fn stream_bytes(&self, end: EndIndex) -> StreamBytes {
        let mut bytes = StreamBytes::of(self.tcp(end));
        if T::REOPENS {
            bytes.add(&self.shared.past[end.index()].bytes);
        }
        bytes
    }

    /// Counters of the end with the index `place`, at the time up to which its host is simulated.
    /// The times of its sender are those at `at`.
    pub(crate) fn reading(&self, place: usize, end: &End, at: Time) -> Reading {
        let (app, number) = self.application(end);
        let index = EndIndex(place as u32);
        Reading {
            counters: self.counters(index),
            times: end.tcp.sender_times(at),
            sent_bytes: self.stream_bytes(index).sent,
            receiving: app.receiving(number),
        }
    }

    /// The application at an end, and the number by which this application knows the connection.
    pub(crate) fn application(&self, end: &End) -> (&T, u32) {
        (&self.hosts[end.host as usize].app, end.number)
    }

    /// The end, at a host, of the connection that the host's application knows by this number.
    pub(crate) fn end_of(&self, host: usize, number: u32) -> EndIndex {
        self.hosts[host].ends[number as usize]
    }

    /// Start of the oldest unit of work that is under way.
    pub(crate) fn working_since(&self) -> Time {
        let each = self.hosts.iter().map(|host| host.app.working_since());
        each.min().unwrap_or(Time::NEVER)
    }

    /// Bytes that applications still expect from their peers on the first `connections`
    /// connections.
    pub(crate) fn owed_bytes(&self, connections: usize) -> u64 {
        let owed = |end: &End| {
            let app = &self.hosts[end.host as usize].app;
            app.owed(end.number, end.tcp.bytes_received()).map_or(0, |owed| owed.missing())
        };
        self.ends().take(2 * connections).map(owed).sum()
    }

    /// Lets all waiting applications go on.
    pub(crate) fn go(&mut self, now: Time) {
        for host in 0..self.hosts.len() {
            if self.hosts[host].app.go(now) {
                self.again().retime_application(host);
            }
        }
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    const fn end(&mut self, end: EndIndex) -> &mut End {
        &mut self.ends[end.index()]
    }

    // ---- facts

    /// Handles a segment that reaches the TCP of the end `to`, at `host`, at `now`.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn receive(
        &mut self,
        network: &mut impl Network<T, Line = N>,
        now: Time,
        host: usize,
        to: EndIndex,
        segment: &Segment,
    ) {
        if self.hosts[host].due <= now {
            self.again().fire_timers(network, host, now);
        }
        if T::REOPENS && segment.incarnation != self.shared.past[to.index()].incarnation {
            // The segment belongs to an earlier connection.
            return;
        }
        let end = &mut self.ends[to.index()];
        if Self::accounts(network) {
            network.trace().arrive(end.tcp.noted_standing());
        }
        let before = end.tcp.bytes_received();
        if !end.tcp.handle_predicted(now, segment) {
            self.receive_any(network, now, host, to, segment);
            return;
        }
        let is_due = self.hosts[host].take_data(now, end, before);
        let ack = end.tcp.poll_ack(now);
        self.tell_trace(network, host, to, before);
        if is_due {
            self.again().retime_application(host);
        }
        if let Some(ack) = ack {
            let ack = self.stamped(to, ack);
            if network.send(self, now, host, to, ack).is_none() {
                self.take_back_ack(network, now, to);
            }
        } else {
            self.settle(network, to);
        }
    }

    /// Whether the time of units of work is traced; known when the program is compiled.
    const fn accounts<W: Network<T, Line = N>>(_network: &W) -> bool {
        W::ACCOUNTS
    }

    /// Tells the trace of data that has arrived at an end; `before` is the number of bytes that had
    /// arrived earlier.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn tell_trace<W: Network<T, Line = N>>(
        &mut self,
        network: &mut W,
        host: usize,
        to: EndIndex,
        before: u64,
    ) {
        if W::ACCOUNTS && self.ends[to.index()].tcp.bytes_received() > before {
            let mut trace = network.trace();
            trace.hear(to, host);
            if self.shared.measure.is_measuring() {
                trace.stream(to);
            }
        }
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn receive_any(
        &mut self,
        network: &mut impl Network<T, Line = N>,
        now: Time,
        host: usize,
        to: EndIndex,
        segment: &Segment,
    ) {
        let end = self.end(to);
        let before = end.tcp.bytes_received();
        let state = end.tcp.state();
        end.tcp.handle_any(now, segment);
        let end = self.end(to);
        // The application learns of the opening before it gets data, because it accepts data
        // only on a connection that it knows to be open.
        if end.tcp.state() != state {
            if Self::accounts(network) {
                network.trace().hear(to, host);
            }
            self.again().tell_state(now, to, state);
        }
        if segment.len > 0 {
            self.tell_trace(network, host, to, before);
            let end = &mut self.ends[to.index()];
            if self.hosts[host].take_data(now, end, before) {
                self.again().retime_application(host);
            }
        }
        if T::HEARS_ACKNOWLEDGMENTS {
            self.tell_acknowledged(now, host, to);
        }
        self.pump(network, now, host, to);
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn tell_acknowledged(&mut self, now: Time, host: usize, to: EndIndex) {
        let end = &mut self.ends[to.index()];
        let total = end.tcp.bytes_acknowledged();
        if self.hosts[host].app.acknowledged(now, end.number, total) {
            self.again().retime_application(host);
        }
    }

    /// Tells the application if the connection was opened, or closed by the peer, since it had the
    /// state `before`.
    #[cold]
    #[inline(never)]
    fn tell_state(mut self, now: Time, to: EndIndex, before: State) {
        let end = &mut self.ends[to.index()];
        let host = end.host as usize;
        let app = &mut self.hosts[host].app;
        let state = end.tcp.state();
        let mut is_due = false;
        if state == State::Established {
            is_due |= app.opened(now, end.number);
        }
        if is_closed_by_peer(state) && !is_closed_by_peer(before) {
            is_due |= app.closed(now, end.number);
        }
        if is_due {
            self.again().retime_application(host);
        }
    }

    /// Reports that a segment from the end `from` will have left its host at `left_at`. Only for
    /// segments whose departure [`Network::send`] could not report.
    pub(crate) fn note_departure(&mut self, from: EndIndex, segment: &Segment, left_at: Time) {
        if T::REOPENS && segment.incarnation != self.shared.past[from.index()].incarnation {
            return;
        }
        let tcp = &mut self.end(from).tcp;
        if segment.len > 0 && tcp.has_small_queue() {
            tcp.handle_departure(left_at);
            self.lower_timer(from);
        }
    }

    // ---- timers

    /// Handles the end of an event at an end of a connection.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn settle<W: Network<T, Line = N>>(&mut self, network: &mut W, index: EndIndex) {
        if W::ACCOUNTS {
            network.trace().set_timers(index, self.tcp(index).timers());
        }
        self.lower_timer(index);
    }

    /// Updates the timers, because the end's next timeout may now be due earlier.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn lower_timer(&mut self, index: EndIndex) {
        let end = self.end(index);
        let bound = end.tcp.timeout_bound();
        if bound < end.due {
            self.again().set_timer(index, bound);
        }
    }

    #[cold]
    #[inline(never)]
    fn set_timer(mut self, index: EndIndex, time: Time) {
        let end = self.end(index);
        end.due = time;
        let (host, number) = (end.host as usize, end.number);
        self.hosts[host].timers.set(number as usize + 1, time);
        self.lower_host_timer(host, time);
    }

    /// Updates the timers, because the next action of the host's application may now be due
    /// earlier.
    #[cold]
    #[inline(never)]
    fn retime_application(mut self, index: usize) {
        let host = &mut self.hosts[index];
        let due = host.app.next_action();
        host.timers.set(APPLICATION, due);
        self.lower_host_timer(index, due);
    }

    pub(crate) fn lower_host_timer(&mut self, host: usize, time: Time) {
        if time < self.hosts[host].due {
            self.set_host_timer(host, time);
        }
    }

    fn set_host_timer(&mut self, host: usize, time: Time) {
        self.hosts[host].due = time;
        self.shared.timers.set(host, time);
    }

    /// Handles every event due at a host by `until`, in the order of time. At equal times: first
    /// the host's reading, then its application, then timers in the order of connections.
    #[cold]
    #[inline(never)]
    pub(crate) fn fire_timers(
        mut self,
        network: &mut impl Network<T, Line = N>,
        host: usize,
        until: Time,
    ) {
        loop {
            let (source, bound) = self.hosts[host].timers.earliest();
            let reading = self.shared.measure.readings.next(host);
            if bound.min(reading) > until {
                self.set_host_timer(host, bound.min(reading));
                return;
            }
            if reading <= bound {
                self.take_reading(host, reading);
                continue;
            }
            if source == APPLICATION {
                self.act(network, host, bound);
            } else {
                let index = self.hosts[host].ends[source - 1];
                self.fire_timer(network, host, index, bound);
            }
        }
    }

    /// Reads the counters of a host that is simulated up to `at`, the time of its next planned
    /// reading.
    fn take_reading(&mut self, host: usize, at: Time) {
        let of_host = |(place, end): (usize, &End)| {
            (end.host as usize == host).then(|| (place, self.reading(place, end, at)))
        };
        let found = self.ends().enumerate().filter_map(of_host).collect();
        self.shared.measure.readings.take(host, found);
    }

    fn fire_timer(
        &mut self,
        network: &mut impl Network<T, Line = N>,
        host: usize,
        index: EndIndex,
        bound: Time,
    ) {
        let room_at = self.end(index).room_at;
        let due = self.end(index).tcp.next_timeout().min(room_at);
        if due > bound {
            // The timer was postponed. The connection is not asked for segments: if it has deferred
            // a burst, it waits for an event, not for a time.
            self.again().set_timer(index, due);
            return;
        }
        let later = if room_at > due { room_at } else { Time::NEVER };
        self.again().set_timer(index, later);
        let tcp = &mut self.end(index).tcp;
        let armed_at = tcp.timer_armed_at();
        let counted = |tcp: &Endpoint| (tcp.counters().timeouts, tcp.counters().loss_probes);
        let before = counted(tcp);
        let (timers, standing) = (tcp.timers(), tcp.noted_standing());
        tcp.handle_timeout(due);
        let after = counted(tcp);
        if Self::accounts(network) {
            let sender = match (after.0 > before.0, after.1 > before.1) {
                (true, _) => Place::RetransmissionTimer,
                (false, true) => Place::ProbeTimer,
                _ if standing == Standing::PeerWindow => Place::WindowProbeTimer,
                _ => Place::ReorderingTimer,
            };
            let fired = if timers.sender_fires <= due {
                Some(Fired::Sender(sender))
            } else if timers.pace <= due {
                Some(Fired::Pace)
            } else if timers.room <= due {
                Some(Fired::Room)
            } else {
                (timers.acknowledgment <= due).then_some(Fired::Acknowledgment)
            };
            if let Some(fired) = fired {
                network.trace().fire(index, due, fired, standing);
            }
        }
        if after.0 > before.0 {
            self.measure().count(due, Rare::Timeout(index));
        }
        if after != before {
            self.read_times_again(index, armed_at, due);
        }
        if room_at <= due {
            self.fill_queue(network, due, index);
        } else {
            self.pump(network, due, host, index);
        }
    }

    /// Corrects the readings between `armed_at` and `due` of the times of an end: that the end
    /// waited for a timer was not known before the timer fired.
    #[cold]
    fn read_times_again(&mut self, index: EndIndex, armed_at: Time, due: Time) {
        let Hosts { ends, shared, .. } = self;
        let End { tcp, host, .. } = &ends[index.index()];
        let times = |at| tcp.sender_times(at);
        shared.measure.correct_times(index, *host as usize, [armed_at, due], &times);
    }

    /// Performs the application's actions that are due at `now`.
    fn act(&mut self, network: &mut impl Network<T, Line = N>, host: usize, now: Time) {
        while let Some(action) = self.hosts[host].app.poll(now) {
            let end = |number: u32| self.hosts[host].ends[number as usize];
            if let Some(connection) = action.connection()
                && Self::accounts(network)
            {
                let because = self.hosts[host].app.because(connection);
                let index = end(connection);
                // Data that waited already is sent before the data that is written now.
                let standing = self.tcp(index).noted_standing();
                network.trace().act(now, host, index, because, standing);
            }
            let index = match action {
                Action::Open { connection } => {
                    let index = end(connection);
                    if T::REOPENS {
                        if Self::accounts(network) {
                            network.trace().reopen(index);
                        }
                        self.again().open(index);
                    }
                    index
                }
                Action::Write { connection, bytes } => {
                    let index = end(connection);
                    self.end(index).tcp.write(now, bytes);
                    index
                }
                Action::Stream { connection } => {
                    let index = end(connection);
                    self.end(index).tcp.write_endlessly(now);
                    index
                }
                Action::Finish { connection, bytes } => {
                    let index = end(connection);
                    self.finish_stream(now, index, bytes);
                    index
                }
                Action::Read { connection } => {
                    let index = end(connection);
                    let unread = self.hosts[host].app.unread(connection);
                    self.end(index).tcp.leave_unread(unread);
                    index
                }
                Action::Close { connection } => {
                    let index = end(connection);
                    self.end(index).tcp.close();
                    index
                }
                Action::Begin
                | Action::Over
                | Action::End
                | Action::Hold
                | Action::Ready
                | Action::Sample(_) => {
                    if let Action::Sample(sample) = action
                        && Self::accounts(network)
                    {
                        self.end_unit(&mut network.trace(), host, sample);
                    }
                    self.shared.measure.note(now, host, action);
                    continue;
                }
            };
            // A socket call sends its segments at once. So segments are sent after each action,
            // before the next action is performed.
            self.again().pump_fully(network, now, host, index);
        }
        let host = &mut self.hosts[host];
        host.timers.set(APPLICATION, host.app.next_action());
    }

    /// Ends the stream of an end with a message of `bytes`. Simulated segments carry no text, so the
    /// peer learns here where the stream ends; this is early only in form, since the peer acts when
    /// it has received the last byte.
    #[cold]
    #[inline(never)]
    fn finish_stream(&mut self, now: Time, index: EndIndex, bytes: u64) {
        let End { tcp, host, number, .. } = self.end(index);
        let total = tcp.finish_stream(now, bytes);
        let (host, number) = (*host as usize, *number);
        self.hosts[host].app.finished(number, total);
        let End { host: peer, number, .. } = self.ends[index.index() ^ 1];
        self.hosts[peer as usize].app.ends_at(number, total);
    }

    /// Adds the unit of work that has just ended at a host to the trace, if the measurement counts it.
    #[cold]
    fn end_unit(&mut self, trace: &mut Trace, host: usize, sample: Sample) {
        if !self.shared.measure.counts(sample) {
            return;
        }
        let end = |connection: u32| self.hosts[host].ends[connection as usize];
        match sample {
            Sample::Iteration { started, .. } => {
                trace.end_iteration(started, self.hosts[host].ends.clone());
            }
            Sample::Transfer { connection, started, .. } => {
                let because = self.hosts[host].app.because(connection);
                trace.end_unit(UnitKind::Transfer, started, end(connection), because);
            }
            Sample::Request { connection, intended, .. } => {
                let because = self.hosts[host].app.because(connection);
                trace.end_unit(UnitKind::Request, intended, end(connection), because);
            }
            Sample::LogIn { .. } => {}
        }
    }

    /// Makes an end ready to open its next connection, or to listen for it. Packets of the previous
    /// connection that are still in flight will be ignored.
    #[cold]
    #[inline(never)]
    fn open(self, index: EndIndex) {
        let past = &mut self.shared.past[index.index()];
        if !std::mem::replace(&mut past.is_open, true) {
            return;
        }
        let tcp = &mut self.ends[index.index()].tcp;
        past.incarnation = past.incarnation.wrapping_add(1);
        past.counters.add(tcp.counters());
        past.bytes.add(&StreamBytes::of(tcp));
        let config = *tcp.config();
        let next =
            if index.side() == 0 { Endpoint::connect(config) } else { Endpoint::listen(config) };
        *tcp = next.with_times_of(tcp);
    }

    // ---- sending

    /// Adds the incarnation number of the connection to a segment.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn stamped(&self, from: EndIndex, segment: Segment) -> Segment {
        if !T::REOPENS {
            return segment;
        }
        Segment { incarnation: self.shared.past[from.index()].incarnation, ..segment }
    }

    /// Sends all pending segments of an end. If only an acknowledgment can be pending, sends it.
    /// Otherwise sends new data first (unless other segments have precedence), then the remaining
    /// segments.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn pump(
        &mut self,
        network: &mut impl Network<T, Line = N>,
        now: Time,
        host: usize,
        from: EndIndex,
    ) {
        let end = &mut self.ends[from.index()];
        if end.tcp.has_only_acks() {
            let ack = end.tcp.poll_ack(now);
            end.tcp.note_standing(now);
            self.settle(network, from);
            if let Some(ack) = ack {
                let ack = self.stamped(from, ack);
                if network.send(self, now, host, from, ack).is_none() {
                    self.take_back_ack(network, now, from);
                }
            }
            return;
        }
        // An outlet cannot add the incarnation number to segments, so connections that are reopened
        // send segment by segment.
        if T::REOPENS {
            self.again().pump_fully(network, now, host, from);
            return;
        }
        let line = &mut self.hosts[host].line;
        let is_done = match network.outlet(line, now, host, from) {
            Some(mut outlet) => end.tcp.send_news(now, &mut outlet),
            None => false,
        };
        if is_done {
            end.tcp.note_standing(now);
            self.settle(network, from);
        } else {
            self.again().pump_fully(network, now, host, from);
        }
    }

    #[cold]
    #[inline(never)]
    fn pump_fully(
        mut self,
        network: &mut impl Network<T, Line = N>,
        now: Time,
        host: usize,
        from: EndIndex,
    ) {
        let End { tcp, waits, .. } = self.end(from);
        let (has_small_queue, is_held_back) = (tcp.has_small_queue(), tcp.is_held_back());
        if !T::REOPENS
            && has_small_queue
            && !*waits
            && self.send_held_news(network, now, host, from)
        {
            self.end(from).tcp.note_standing(now);
            self.settle(network, from);
            return;
        }
        // Retransmissions are counted as the difference of a counter, because code that records
        // each one would slow down the sending of every segment.
        let counted = |hosts: &mut Self| hosts.end(from).tcp.counters().segments_retransmitted;
        let before = counted(&mut self);
        while !(is_held_back && self.waits_for_room(network, now, from))
            && let Some(segment) = self.end(from).tcp.poll_transmit(now)
        {
            let payload = segment.len;
            let segment = self.stamped(from, segment);
            if let Some(left_at) = network.send(&mut self, now, host, from, segment) {
                self.end(from).tcp.handed_over(now, payload, left_at);
            }
        }
        let again = counted(&mut self) - before;
        if again > 0 {
            self.measure().count(now, Rare::Retransmissions(from, again));
        }
        self.end(from).tcp.note_standing(now);
        self.settle(network, from);
    }

    /// Sends new data of an end that may have only a few segments in the host's queue (TSQ), as long
    /// as this queue has room. Returns true if nothing else is left to send.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn send_held_news(
        &mut self,
        network: &mut impl Network<T, Line = N>,
        now: Time,
        host: usize,
        from: EndIndex,
    ) -> bool {
        let line = &mut self.hosts[host].line;
        let tcp = &mut self.ends[from.index()].tcp;
        match network.outlet(line, now, host, from) {
            Some(mut outlet) => tcp.send_held_news(now, &mut outlet),
            None => false,
        }
    }
}
