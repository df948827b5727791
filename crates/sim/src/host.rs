//! Hosts: their applications, both ends of their connections, and their timers. There is one copy of
//! this code, for both ends and for every network.
//!
//! Whatever is ahead of the clock in a network, each host lives in the order of its own time: what is due
//! at it comes before what it receives at the same time or later.

use netstudy_fabric::{Chance, Schedule};
use netstudy_random::Stream;
use netstudy_tcp::{Endpoint, Segment, State};
use netstudy_units::Time;
use netstudy_workload::{Action, Traffic};

use crate::measure::Measure;
use crate::network::Network;
use crate::wiring::{Member, Wiring};

/// Names one end of a connection: twice the number of the connection, and one more for the end that
/// does not open it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct EndIndex(pub(crate) u32);

impl EndIndex {
    /// The other end of the connection.
    pub(crate) const fn peer(self) -> Self {
        Self(self.0 ^ 1)
    }
}

/// One end of a connection.
pub(crate) struct End {
    pub(crate) tcp: Endpoint,
    /// The index of its host.
    pub(crate) host: u32,
    /// What the host's application calls the connection.
    number: u32,
    /// No timer of this end is due before: what the host's timers hold.
    due: Time,
}

/// A host.
struct Host<T> {
    app: T,
    /// This end of each connection, by the application's number.
    ends: Vec<EndIndex>,
    /// When something may be due: source 0 is the application, i + 1 its connection i.
    timers: Schedule,
    /// Nothing is due before: what the timers of all hosts hold.
    due: Time,
    read_at_once_pct: u32,
    reads: Stream,
}

/// All hosts and connections of a run.
pub(crate) struct Hosts<T> {
    hosts: Box<[Host<T>]>,
    ends: Box<[End]>,
    /// When something may be due at each host.
    timers: Schedule,
    pub(crate) measure: Measure,
}

/// The application of a host is source 0 of its timers.
const APPLICATION: usize = 0;

impl<T: Traffic> Host<T> {
    fn new(app: T, member: &Member, seed: &str, ends: Vec<EndIndex>) -> Self {
        let mut timers = Schedule::new(ends.len() + 1);
        let due = app.next_action();
        timers.set(APPLICATION, due);
        Self {
            read_at_once_pct: if app.answers() { 0 } else { member.read_at_once_pct },
            reads: Stream::new(seed, &format!("{}/reads", member.stream)),
            app,
            ends,
            timers,
            due,
        }
    }

    /// Whether the application reads as soon as the segment that has just come is there.
    #[inline]
    fn reads_at_once(&mut self) -> bool {
        self.read_at_once_pct > 0 && self.reads.below(100) < self.read_at_once_pct
    }
}

/// Whether the peer has closed its direction.
const fn is_closed_by_peer(state: State) -> bool {
    matches!(state, State::CloseWait | State::Closing | State::LastAck | State::TimeWait)
}

impl<T: Traffic> Hosts<T> {
    /// The hosts of a network, each with its application; the connections are between them by their
    /// index.
    pub(crate) fn new(
        wiring: &Wiring,
        seed: &str,
        applications: Vec<T>,
        connections: &[[usize; 2]],
        measure: Measure,
    ) -> Self {
        let mut ends_of = vec![Vec::new(); applications.len()];
        let mut ends = Vec::with_capacity(2 * connections.len());
        for (connection, pair) in connections.iter().enumerate() {
            for (&host, side) in pair.iter().zip(0..2) {
                let tcp = wiring.tcp(host, connection, seed);
                let tcp = if side == 0 { Endpoint::connect(tcp) } else { Endpoint::listen(tcp) };
                let number = ends_of[host].len() as u32;
                ends_of[host].push(EndIndex(ends.len() as u32));
                ends.push(End { tcp, host: host as u32, number, due: Time::NEVER });
            }
        }
        let mut timers = Schedule::new(applications.len());
        let hosts: Box<[_]> = applications
            .into_iter()
            .zip(&wiring.members)
            .zip(ends_of)
            .map(|((app, member), ends)| Host::new(app, member, seed, ends))
            .collect();
        for (index, host) in hosts.iter().enumerate() {
            timers.set(index, host.due);
        }
        Self { hosts, ends: ends.into(), timers, measure }
    }

    /// The host that may have something due first, and when.
    #[inline(always)]
    pub(crate) fn next_timer(&self) -> (usize, Time) {
        self.timers.earliest()
    }

    /// How many hosts there are.
    pub(crate) const fn len(&self) -> usize {
        self.hosts.len()
    }

    /// The index of the host that an end belongs to.
    #[inline(always)]
    pub(crate) const fn host_of(&self, end: EndIndex) -> usize {
        self.ends[end.0 as usize].host as usize
    }

    /// All ends, the one that opens each connection first.
    pub(crate) fn ends(&self) -> impl Iterator<Item = &End> {
        self.ends.iter()
    }

    /// The application of the host that an end belongs to, and what it calls the connection.
    pub(crate) fn application(&self, end: &End) -> (&T, u32) {
        (&self.hosts[end.host as usize].app, end.number)
    }

    #[inline(always)]
    fn end(&mut self, end: EndIndex) -> &mut End {
        &mut self.ends[end.0 as usize]
    }

    // ---- facts

    /// A segment is with the TCP of the end `to` at `now`.
    #[inline(always)]
    pub(crate) fn receive(
        &mut self,
        network: &mut impl Network<T>,
        now: Time,
        to: EndIndex,
        segment: &Segment,
    ) {
        let host = self.host_of(to);
        if self.hosts[host].due <= now {
            self.fire_timers(network, host, now);
        }
        let end = self.end(to);
        let before = end.tcp.bytes_received();
        if !end.tcp.handle_predicted(now, segment) {
            self.receive_any(network, now, to, segment);
            return;
        }
        let host = &mut self.hosts[host];
        let end = &mut self.ends[to.0 as usize];
        if host.reads_at_once() {
            end.tcp.application_read();
        }
        let total = end.tcp.bytes_received();
        let is_due = host.app.received(now, end.number, before, total);
        if let Some(ack) = end.tcp.poll_ack(now) {
            network.send(self, now, to, ack);
        } else {
            self.lower_timer(to);
        }
        if is_due {
            self.retime_application(to);
        }
    }

    #[inline(always)]
    fn receive_any(
        &mut self,
        network: &mut impl Network<T>,
        now: Time,
        to: EndIndex,
        segment: &Segment,
    ) {
        let end = &mut self.ends[to.0 as usize];
        let before = end.tcp.bytes_received();
        let state = end.tcp.state();
        end.tcp.handle_any(now, segment);
        if segment.len > 0 {
            self.take_data(now, to, before);
        }
        if T::HEARS_ACKNOWLEDGMENTS {
            self.tell_acknowledged(now, to);
        }
        if self.end(to).tcp.state() != state {
            self.tell_state(now, to, state);
        }
        self.pump(network, now, to);
    }

    fn take_data(&mut self, now: Time, to: EndIndex, before: u64) {
        let end = &mut self.ends[to.0 as usize];
        let host = &mut self.hosts[end.host as usize];
        if host.reads_at_once() {
            end.tcp.application_read();
        }
        let total = end.tcp.bytes_received();
        if total > before && host.app.received(now, end.number, before, total) {
            self.retime_application(to);
        }
    }

    fn tell_acknowledged(&mut self, now: Time, to: EndIndex) {
        let end = &mut self.ends[to.0 as usize];
        let host = &mut self.hosts[end.host as usize];
        if host.app.acknowledged(now, end.number, end.tcp.bytes_acknowledged()) {
            self.retime_application(to);
        }
    }

    /// The state of a connection was `before`.
    #[cold]
    #[inline(never)]
    fn tell_state(&mut self, now: Time, to: EndIndex, before: State) {
        let end = &mut self.ends[to.0 as usize];
        let app = &mut self.hosts[end.host as usize].app;
        let state = end.tcp.state();
        let mut is_due = false;
        if state == State::Established {
            is_due |= app.opened(now, end.number);
        }
        if is_closed_by_peer(state) && !is_closed_by_peer(before) {
            is_due |= app.closed(now, end.number);
        }
        if is_due {
            self.retime_application(to);
        }
    }

    // ---- timers

    /// Something at the end may be due earlier than before.
    #[inline(always)]
    fn lower_timer(&mut self, end: EndIndex) {
        let end = &self.ends[end.0 as usize];
        let bound = end.tcp.timeout_bound();
        if bound < end.due {
            let (host, number) = (end.host as usize, end.number);
            self.set_timer(host, number, bound);
        }
    }

    #[cold]
    #[inline(never)]
    fn set_timer(&mut self, host: usize, number: u32, time: Time) {
        let end = self.hosts[host].ends[number as usize];
        self.end(end).due = time;
        self.hosts[host].timers.set(number as usize + 1, time);
        self.lower_host_timer(host, time);
    }

    /// The application of the end's host may have something due earlier than before.
    #[cold]
    #[inline(never)]
    fn retime_application(&mut self, end: EndIndex) {
        let index = self.host_of(end);
        let host = &mut self.hosts[index];
        let due = host.app.next_action();
        host.timers.set(APPLICATION, due);
        self.lower_host_timer(index, due);
    }

    fn lower_host_timer(&mut self, host: usize, time: Time) {
        if time < self.hosts[host].due {
            self.set_host_timer(host, time);
        }
    }

    fn set_host_timer(&mut self, host: usize, time: Time) {
        self.hosts[host].due = time;
        self.timers.set(host, time);
    }

    /// Does all that is due at a host by `until`, in the order of time: its application before timers of
    /// connections, those in the order of connections.
    #[cold]
    #[inline(never)]
    pub(crate) fn fire_timers(&mut self, network: &mut impl Network<T>, host: usize, until: Time) {
        loop {
            let (source, bound) = self.hosts[host].timers.earliest();
            if bound > until {
                self.set_host_timer(host, bound);
                return;
            }
            if source == APPLICATION {
                self.act(network, host, bound);
            } else {
                self.fire_timer(network, host, source as u32 - 1, bound);
            }
        }
    }

    fn fire_timer(&mut self, network: &mut impl Network<T>, host: usize, number: u32, bound: Time) {
        let index = self.hosts[host].ends[number as usize];
        let end = self.end(index);
        let due = end.tcp.next_timeout();
        if due > bound {
            // It was put off since. Nothing happened to the connection, so it is not asked for segments:
            // a burst that it holds back waits for a fact, not for the clock.
            self.set_timer(host, number, due);
            return;
        }
        self.set_timer(host, number, Time::NEVER);
        self.end(index).tcp.handle_timeout(due);
        self.pump(network, due, index);
    }

    /// The application of a host does what is due at `now`.
    fn act(&mut self, network: &mut impl Network<T>, host: usize, now: Time) {
        while let Some(action) = self.hosts[host].app.poll(now) {
            let end = |number: u32| self.hosts[host].ends[number as usize];
            match action {
                Action::Open { connection } => {
                    let end = end(connection);
                    self.pump(network, now, end);
                }
                Action::Write { connection, bytes } => {
                    let end = end(connection);
                    self.end(end).tcp.write(now, bytes);
                    self.pump(network, now, end);
                }
                Action::Close { connection } => {
                    let end = end(connection);
                    self.end(end).tcp.close();
                    self.pump(network, now, end);
                }
                Action::Begin | Action::End | Action::Hold | Action::Sample(_) => {
                    self.measure.note(now, action);
                }
            }
        }
        let host = &mut self.hosts[host];
        host.timers.set(APPLICATION, host.app.next_action());
    }

    // ---- sending

    /// Sends all that an end has to send: an acknowledgment, if that is all there can be; else new data,
    /// if nothing else comes first, and then the rest.
    #[inline(always)]
    fn pump(&mut self, network: &mut impl Network<T>, now: Time, from: EndIndex) {
        let end = &mut self.ends[from.0 as usize];
        if end.tcp.has_only_acks() {
            let ack = end.tcp.poll_ack(now);
            self.lower_timer(from);
            if let Some(ack) = ack {
                network.send(self, now, from, ack);
            }
            return;
        }
        let is_done = match network.outlet(now, end.host as usize, from) {
            Some(mut outlet) => end.tcp.send_news(now, &mut outlet),
            None => false,
        };
        if is_done {
            self.lower_timer(from);
        } else {
            self.pump_fully(network, now, from);
        }
    }

    #[cold]
    #[inline(never)]
    fn pump_fully(&mut self, network: &mut impl Network<T>, now: Time, from: EndIndex) {
        while let Some(segment) = self.end(from).tcp.poll_transmit(now) {
            network.send(self, now, from, segment);
        }
        self.lower_timer(from);
    }
}
