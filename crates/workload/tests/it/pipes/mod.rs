//! An ideal driver: applications joined by lossless pipes, each with a rate and a latency.
//!
//! A write leaves in segments, one after the other; each arrives whole a latency after its last byte
//! has left, and its acknowledgment is back a latency later. Connections open in two latencies at the
//! end that opens them, and in one at the other.

use std::collections::BTreeMap;

use netstudy_units::{Duration, Time};
use netstudy_workload::{Action, Application, Sample};

/// Payload of a segment.
const SEGMENT_BYTES: u64 = 1_000;

/// An end of a connection: host and number there.
pub(crate) type End = (usize, u32);

/// An event at a host.
#[derive(Clone, Copy, Debug)]
enum Event {
    Opened(End),
    Arrived(End, u64),
    Acknowledged(End, u64),
    /// The pipe has room for a further segment of a stream.
    HasRoom(End),
    Closed(End),
}

/// An application's action other than traffic, and its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Told {
    Begin,
    Sample(Sample),
    Hold,
    Ready,
    Over,
    End,
}

/// One direction of a connection.
#[derive(Clone, Copy, Debug)]
struct Pipe {
    to: End,
    /// When the last byte written has left.
    free: Time,
    written: u64,
    /// A stream is being written.
    streams: bool,
    arrived: u64,
    acknowledged: u64,
}

pub(crate) struct Pipes<'a> {
    hosts: Vec<&'a mut dyn Application>,
    /// By the end that writes into them.
    joined: BTreeMap<End, Pipe>,
    latency: Duration,
    per_byte: Duration,
    events: BTreeMap<(Time, u64), Event>,
    events_planned: u64,
    pub(crate) now: Time,
    /// Per host.
    pub(crate) told: Vec<Vec<(Time, Told)>>,
    /// Payload written and not arrived at any time, at most.
    pub(crate) under_way_max: u64,
}

impl<'a> Pipes<'a> {
    /// `joined` are the ends of each connection.
    pub(crate) fn new(
        hosts: Vec<&'a mut dyn Application>,
        joined: &[(End, End)],
        latency: Duration,
        per_byte: Duration,
    ) -> Self {
        let pipe = |to| Pipe {
            to,
            free: Time::ZERO,
            written: 0,
            streams: false,
            arrived: 0,
            acknowledged: 0,
        };
        let both = joined.iter().flat_map(|&(a, b)| [(a, pipe(b)), (b, pipe(a))]);
        let told = hosts.iter().map(|_| Vec::new()).collect();
        Self {
            hosts,
            joined: both.collect(),
            latency,
            per_byte,
            events: BTreeMap::new(),
            events_planned: 0,
            now: Time::ZERO,
            told,
            under_way_max: 0,
        }
    }

    /// Runs until no action is left; applications that hold wait then.
    pub(crate) fn run(&mut self) {
        self.run_until(Time::NEVER);
    }

    /// Runs as long as something is left to be done before `until`.
    pub(crate) fn run_until(&mut self, until: Time) {
        loop {
            for host in 0..self.hosts.len() {
                self.act(host);
            }
            let event = self.events.first_key_value().map_or(Time::NEVER, |(&(at, _), _)| at);
            let action = self.hosts.iter().map(|host| host.next_action()).min();
            let next = action.unwrap_or(Time::NEVER).min(event);
            if next >= until {
                return;
            }
            self.now = self.now.max(next);
            if event <= self.now {
                let (_, event) = self.events.pop_first().expect("there is one");
                self.happen(event);
            }
        }
    }

    /// The controller's word to a host.
    pub(crate) fn go(&mut self, host: usize) {
        self.go_at(host, self.now);
    }

    /// The controller names the time at which a host's warm-up ends.
    pub(crate) fn go_at(&mut self, host: usize, at: Time) {
        assert!(self.hosts[host].go(at), "it was waiting");
    }

    fn act(&mut self, host: usize) {
        while self.hosts[host].next_action() <= self.now {
            let Some(action) = self.hosts[host].poll(self.now) else { return };
            match action {
                Action::Open { connection } => {
                    let here = (host, connection);
                    let there = self.joined[&here].to;
                    self.plan(self.now + self.latency, Event::Opened(there));
                    self.plan(self.now + self.latency * 2, Event::Opened(here));
                }
                Action::Write { connection, bytes } => self.write((host, connection), bytes),
                Action::Stream { connection } => {
                    self.joined.get_mut(&(host, connection)).expect("it is joined").streams = true;
                    self.stream((host, connection));
                }
                Action::Finish { connection, bytes } => self.finish((host, connection), bytes),
                Action::Close { connection } => {
                    let Pipe { to, free, .. } = self.joined[&(host, connection)];
                    self.plan(free.max(self.now) + self.latency, Event::Closed(to));
                }
                Action::Read { .. } => unreachable!("they read what has come"),
                Action::Begin => self.told[host].push((self.now, Told::Begin)),
                Action::Sample(sample) => self.told[host].push((self.now, Told::Sample(sample))),
                Action::Hold => self.told[host].push((self.now, Told::Hold)),
                Action::Ready => self.told[host].push((self.now, Told::Ready)),
                Action::Over => self.told[host].push((self.now, Told::Over)),
                Action::End => self.told[host].push((self.now, Told::End)),
            }
        }
    }

    fn plan(&mut self, at: Time, event: Event) {
        self.events.insert((at, self.events_planned), event);
        self.events_planned += 1;
    }

    fn write(&mut self, from: End, bytes: u64) {
        assert!(bytes > 0, "a write has bytes");
        let mut pipe = self.joined[&from];
        pipe.written += bytes;
        let mut left = bytes;
        while left > 0 {
            let segment = left.min(SEGMENT_BYTES);
            pipe.free = pipe.free.max(self.now) + self.per_byte * segment;
            self.plan(pipe.free + self.latency, Event::Arrived(pipe.to, segment));
            self.plan(pipe.free + self.latency * 2, Event::Acknowledged(from, segment));
            left -= segment;
        }
        self.joined.insert(from, pipe);
        self.under_way_max = self.under_way_max.max(pipe.written - pipe.arrived);
    }

    /// Writes the next segment of a stream that has not been finished.
    fn stream(&mut self, from: End) {
        if self.joined[&from].streams {
            self.write(from, SEGMENT_BYTES);
            self.plan(self.joined[&from].free, Event::HasRoom(from));
        }
    }

    fn finish(&mut self, from: End, bytes: u64) {
        let pipe = self.joined.get_mut(&from).expect("it is joined");
        assert!(pipe.streams, "only a stream is finished");
        pipe.streams = false;
        self.write(from, bytes);
        let Pipe { to, written, .. } = self.joined[&from];
        self.hosts[from.0].finished(from.1, written);
        self.hosts[to.0].ends_at(to.1, written);
    }

    fn happen(&mut self, event: Event) {
        let now = self.now;
        match event {
            Event::Opened((host, connection)) => {
                self.hosts[host].opened(now, connection);
            }
            Event::Arrived(to, bytes) => {
                let from = self.joined[&to].to;
                let pipe = self.joined.get_mut(&from).expect("it is joined");
                let before = pipe.arrived;
                pipe.arrived += bytes;
                let (total, due) = (pipe.arrived, self.hosts[to.0].next_action());
                let earlier = self.hosts[to.0].received(now, to.1, before, total);
                assert!(earlier || self.hosts[to.0].next_action() >= due, "it says so");
            }
            Event::Acknowledged(from, bytes) => {
                let pipe = self.joined.get_mut(&from).expect("it is joined");
                pipe.acknowledged += bytes;
                let total = pipe.acknowledged;
                if self.hosts[from.0].hears_acknowledgments() {
                    self.hosts[from.0].acknowledged(now, from.1, total);
                }
            }
            Event::HasRoom(from) => self.stream(from),
            Event::Closed((host, connection)) => {
                self.hosts[host].closed(now, connection);
            }
        }
    }

    /// Bytes that have arrived at an end.
    pub(crate) fn arrived(&self, end: End) -> u64 {
        self.joined[&self.joined[&end].to].arrived
    }

    /// Samples of a host's measuring phase.
    pub(crate) fn measured(&self, host: usize) -> Vec<Sample> {
        let begin = self.told[host].iter().position(|&(_, told)| told == Told::Begin);
        let measuring = &self.told[host][begin.expect("it measures")..];
        let sample = |&(_, told): &(Time, Told)| match told {
            Told::Sample(sample) => Some(sample),
            _ => None,
        };
        measuring.iter().filter_map(sample).collect()
    }

    /// When a host told something.
    pub(crate) fn when(&self, host: usize, wanted: Told) -> Time {
        let found = self.told[host].iter().find(|&&(_, told)| told == wanted);
        found.unwrap_or_else(|| panic!("{wanted:?} is not in {:?}", self.told[host])).0
    }
}

/// A time after the start.
pub(crate) fn at(us: u64) -> Time {
    Time::ZERO + Duration::from_us(us)
}
