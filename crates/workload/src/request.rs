//! Requests and responses: small messages, and their latency.
//!
//! In a closed loop a request follows a response; in an open loop requests are due at an interval,
//! whether or not the previous request has been answered. Response times are counted from the time
//! at which the request was due. So the delay of a request that is sent late is part of its
//! response time (no coordinated omission). [`Probe`] is an open loop that runs next to another
//! workload and measures the latency under the load of that workload.

use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;

use netstudy_units::{Duration, Time};

use crate::beside::Companion;
use crate::outbox::Outbox;
use crate::phases::{Limit, Next, Phases, Sequence, Turn};
use crate::{Action, Because, Owed, Sample, Traffic, Wait};

/// When a connection's requests are due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Schedule {
    /// When an earlier request has been answered (closed loop).
    Closed {
        /// Number of outstanding requests.
        outstanding: u32,
        /// Time from a response to the next request, which replaces the answered one.
        think: Duration,
    },
    /// At an interval (open loop). The requests of different connections are evenly spaced within
    /// the interval.
    Every(Duration),
}

/// Sizes of the messages, which both ends know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestShape {
    /// Size of a request.
    pub request_bytes: u64,
    /// Size of a response.
    pub response_bytes: u64,
}

/// The requests of one client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestConfig {
    /// Sizes of the messages.
    pub shape: RequestShape,
    /// Connections of the client.
    pub connections: u32,
    /// When requests are due.
    pub schedule: Schedule,
    /// The phases. Each lasts for a number of requests per connection, or for a time.
    pub phases: Phases,
}

impl RequestConfig {
    /// Checks the limits of the configuration.
    ///
    /// # Errors
    /// Says which limit is violated.
    pub fn check(&self) -> Result<(), &'static str> {
        let Self { shape, connections, schedule, phases } = self;
        if *connections == 0 {
            return Err("a client of requests has at least one connection");
        }
        shape.check()?;
        phases.check()?;
        match schedule {
            Schedule::Closed { outstanding: 0, .. } => {
                return Err("a closed loop has at least one outstanding request");
            }
            Schedule::Every(Duration::ZERO) => {
                return Err("an open loop has an interval above zero");
            }
            _ => {}
        }
        if phases.measure.is_empty() {
            return Err("the measuring phase holds at least one request");
        }
        Ok(())
    }
}

impl RequestShape {
    /// Checks the sizes.
    ///
    /// # Errors
    /// Says which limit is violated.
    pub const fn check(&self) -> Result<(), &'static str> {
        if self.request_bytes == 0 || self.response_bytes == 0 {
            return Err("requests and responses have at least one byte");
        }
        Ok(())
    }
}

/// The requests of several connections, which become due by a schedule.
#[derive(Clone, Debug)]
struct Requests {
    shape: RequestShape,
    schedule: Schedule,
    limit: Limit,
    lines: Vec<Line>,
    outbox: Outbox,
    wake: Time,
}

/// A connection with its requests.
#[derive(Clone, Debug, Default)]
struct Line {
    /// Due times of the next requests, the earliest first.
    due: VecDeque<Time>,
    /// Due times of the unanswered requests.
    asked: VecDeque<Time>,
    /// Requests planned under the current limit.
    begun: u64,
    received: u64,
}

impl Requests {
    fn new(shape: RequestShape, schedule: Schedule, connections: u32) -> Self {
        let mut outbox = Outbox::default();
        for connection in 0..connections {
            outbox.push(Time::ZERO, Action::Open { connection });
        }
        let lines = vec![Line::default(); connections as usize];
        Self { shape, schedule, limit: Limit::NONE, lines, outbox, wake: Time::NEVER }
    }

    /// Starts the schedule now, and plans requests as far as `limit` allows.
    fn start(&mut self, now: Time, limit: Limit) {
        self.limit = limit;
        let connections = self.lines.len() as u64;
        for (index, line) in self.lines.iter_mut().enumerate() {
            line.begun = 0;
            match self.schedule {
                Schedule::Closed { outstanding, .. } => {
                    for _ in 0..outstanding {
                        line.plan(now, limit);
                    }
                }
                Schedule::Every(interval) => {
                    line.plan(now + interval.div(connections) * index as u64, limit);
                }
            }
        }
        self.look_ahead();
    }

    /// Continues the schedule, and plans requests as far as `limit` allows.
    fn go_on(&mut self, limit: Limit) {
        self.limit = limit;
        for line in &mut self.lines {
            line.begun = 0;
            line.due.retain(|&due| limit.allows(0, due));
        }
        self.look_ahead();
    }

    /// Stops the schedule: no further request becomes due.
    fn rest(&mut self) {
        self.limit = Limit::NONE;
        for line in &mut self.lines {
            line.due.clear();
        }
        self.wake = Time::NEVER;
    }

    /// Whether no request is outstanding or planned.
    fn is_over(&self) -> bool {
        self.lines.iter().all(|line| line.due.is_empty() && line.asked.is_empty())
    }

    fn look_ahead(&mut self) {
        let next = self.lines.iter().filter_map(|line| line.due.front()).min();
        self.wake = next.copied().unwrap_or(Time::NEVER);
    }

    fn next_action(&self) -> Time {
        self.outbox.due().min(self.wake)
    }

    fn poll(&mut self, now: Time) -> Option<Action> {
        if self.outbox.is_empty() && self.wake <= now {
            let connection =
                self.lines.iter().position(|line| line.due.front() == Some(&self.wake));
            return Some(self.ask(connection.expect("one of them is due")));
        }
        self.outbox.pop()
    }

    /// Sends the request that is due on a connection.
    fn ask(&mut self, connection: usize) -> Action {
        let line = &mut self.lines[connection];
        let due = line.due.pop_front().expect("it is due");
        line.asked.push_back(due);
        if let Schedule::Every(interval) = self.schedule {
            line.plan(due + interval, self.limit);
        }
        self.look_ahead();
        Action::Write { connection: connection as u32, bytes: self.shape.request_bytes }
    }

    /// Handles received bytes. Returns whether a response is now complete.
    fn received(&mut self, now: Time, connection: u32, total: u64) -> bool {
        let line = &mut self.lines[connection as usize];
        let answers = total / self.shape.response_bytes - line.received / self.shape.response_bytes;
        line.received = total;
        for _ in 0..answers {
            let Some(intended) = line.asked.pop_front() else { break };
            let sample = Sample::Request { connection, intended, ended: now };
            self.outbox.push(now, Action::Sample(sample));
            if let Schedule::Closed { think, .. } = self.schedule {
                line.plan(now + think, self.limit);
            }
        }
        if answers > 0 {
            self.look_ahead();
        }
        answers > 0
    }

    /// The event that a request follows.
    const fn because(&self) -> Because {
        match self.schedule {
            Schedule::Closed { .. } => Because::Heard(Wait::Think),
            Schedule::Every(_) => Because::Scheduled,
        }
    }

    /// When the oldest unanswered request was due.
    fn asking_since(&self) -> Time {
        let oldest = self.lines.iter().filter_map(|line| line.asked.front());
        oldest.min().copied().unwrap_or(Time::NEVER)
    }

    fn owed(&self, connection: u32, received: u64) -> Option<Owed> {
        let asked = &self.lines[connection as usize].asked;
        let bytes = self.shape.response_bytes;
        (!asked.is_empty()).then(|| Owed::of_response(received, bytes))
    }
}

impl Line {
    /// Plans a request at `at`, if the limit allows it.
    fn plan(&mut self, at: Time, limit: Limit) {
        if limit.allows(self.begun, at) {
            self.begun += 1;
            self.due.push_back(at);
        }
    }
}

/// The client: sends the requests of all phases.
#[derive(Clone, Debug)]
pub struct RequestClient {
    requests: Requests,
    sequence: Sequence,
}

impl RequestClient {
    /// A client without open connections. See [`RequestConfig::check`].
    #[must_use]
    pub fn new(config: &RequestConfig) -> Self {
        Self {
            requests: Requests::new(config.shape, config.schedule, config.connections),
            sequence: Sequence::new(config.phases, config.connections),
        }
    }

    fn begin_phase(&mut self, now: Time, limit: Limit) {
        self.requests.start(now, limit);
        self.end_phase_if_over(now);
    }

    fn begin_measuring(&mut self, now: Time, limit: Limit) {
        self.requests.outbox.push(now, Action::Begin);
        self.begin_phase(now, limit);
    }

    /// Takes the step to the next phase, if this step is due.
    fn turn(&mut self, now: Time) {
        match self.sequence.turn(now) {
            Some(Turn::Measure(limit)) => {
                self.requests.outbox.push(now, Action::Begin);
                self.requests.go_on(limit);
            }
            Some(Turn::Over) => self.requests.outbox.push(now, Action::Over),
            None => {}
        }
        self.end_phase_if_over(now);
    }

    fn end_phase_if_over(&mut self, now: Time) {
        if !self.requests.is_over() || !self.sequence.may_end() {
            return;
        }
        match self.sequence.ended(now) {
            Next::Hold => self.requests.outbox.push(now, Action::Hold),
            Next::Measure(limit) => self.begin_measuring(now, limit),
            Next::End => self.requests.outbox.push(now, Action::End),
        }
    }
}

impl Traffic for RequestClient {
    fn next_action(&self) -> Time {
        self.requests.next_action().min(self.sequence.due())
    }

    fn poll(&mut self, now: Time) -> Option<Action> {
        // Overdue actions are returned in the order of their times.
        if self.sequence.due() <= now && self.sequence.due() <= self.requests.next_action() {
            self.turn(now);
        }
        self.requests.poll(now)
    }

    fn go(&mut self, at: Time) -> bool {
        let goes = self.sequence.go(at);
        if let Some(limit) = self.sequence.resume(at) {
            self.begin_measuring(at, limit);
        }
        goes
    }

    fn opened(&mut self, now: Time, _connection: u32) -> bool {
        let limit = self.sequence.opened(now);
        if let Some(limit) = limit {
            if self.sequence.is_to_be_told() {
                self.requests.outbox.push(now, Action::Ready);
            }
            self.begin_phase(now, limit);
        }
        limit.is_some()
    }

    fn received(&mut self, now: Time, connection: u32, _before: u64, total: u64) -> bool {
        // A driver may report bytes that arrived after the end of the phase before it polls for the
        // end of the phase.
        if self.sequence.due() <= now && !self.sequence.is_to_be_told() {
            self.turn(now);
        }
        let ended = self.requests.received(now, connection, total);
        if ended {
            self.end_phase_if_over(now);
        }
        ended
    }

    fn owed(&self, connection: u32, received: u64) -> Option<Owed> {
        self.requests.owed(connection, received)
    }

    fn because(&self, _connection: u32) -> Because {
        self.requests.because()
    }

    fn working_since(&self) -> Time {
        self.requests.asking_since()
    }
}

/// The server: answers each complete request at once.
#[derive(Clone, Debug)]
pub struct RequestServer {
    shape: RequestShape,
    /// Writes of a response.
    writes: u32,
    outbox: Outbox,
}

impl RequestServer {
    /// A server that has received no requests.
    #[must_use]
    pub fn new(shape: RequestShape) -> Self {
        Self { shape, writes: 1, outbox: Outbox::default() }
    }

    /// The server that writes each response in this number of parts, which are as equal as possible;
    /// the first ones are the larger ones.
    ///
    /// # Errors
    /// A part would have no bytes.
    pub fn in_writes(self, writes: u32) -> Result<Self, &'static str> {
        if writes == 0 || u64::from(writes) > self.shape.response_bytes {
            return Err("each write of a response has at least one byte");
        }
        Ok(Self { writes, ..self })
    }

    /// Writes a response.
    fn answer(&mut self, now: Time, connection: u32) {
        let (writes, whole) = (u64::from(self.writes), self.shape.response_bytes);
        for part in 0..writes {
            let bytes = whole / writes + u64::from(part < whole % writes);
            self.outbox.push(now, Action::Write { connection, bytes });
        }
    }
}

impl Traffic for RequestServer {
    fn next_action(&self) -> Time {
        self.outbox.due()
    }

    fn poll(&mut self, _now: Time) -> Option<Action> {
        self.outbox.pop()
    }

    fn received(&mut self, now: Time, connection: u32, before: u64, total: u64) -> bool {
        let asked = total / self.shape.request_bytes - before / self.shape.request_bytes;
        if self.writes == 1 && asked > 0 {
            let bytes = asked * self.shape.response_bytes;
            self.outbox.push(now, Action::Write { connection, bytes });
        } else {
            (0..asked).for_each(|_| self.answer(now, connection));
        }
        asked > 0
    }

    fn owed(&self, _connection: u32, received: u64) -> Option<Owed> {
        Owed::of_request(received, self.shape.request_bytes)
    }
}

impl Companion for RequestServer {}

/// The client of a latency probe: an open loop that can be paused.
#[derive(Clone, Debug)]
pub struct Probe {
    requests: Requests,
    opening: u32,
    rests: bool,
}

impl Probe {
    /// A probe with this number of connections, and `interval` between the requests of each.
    #[must_use]
    pub fn new(shape: RequestShape, connections: u32, interval: Duration) -> Self {
        let requests = Requests::new(shape, Schedule::Every(interval), connections);
        Self { requests, opening: connections, rests: true }
    }

    fn start_if_ready(&mut self, now: Time) -> bool {
        let is_ready = self.opening == 0 && !self.rests;
        if is_ready {
            self.requests.start(now, Limit::ENDLESS);
        }
        is_ready
    }
}

impl Traffic for Probe {
    fn next_action(&self) -> Time {
        self.requests.next_action()
    }

    fn poll(&mut self, now: Time) -> Option<Action> {
        self.requests.poll(now)
    }

    fn opened(&mut self, now: Time, _connection: u32) -> bool {
        self.opening -= 1;
        self.start_if_ready(now)
    }

    fn received(&mut self, now: Time, connection: u32, _before: u64, total: u64) -> bool {
        self.requests.received(now, connection, total)
    }

    fn owed(&self, connection: u32, received: u64) -> Option<Owed> {
        self.requests.owed(connection, received)
    }

    fn because(&self, _connection: u32) -> Because {
        self.requests.because()
    }

    fn working_since(&self) -> Time {
        self.requests.asking_since()
    }
}

impl Companion for Probe {
    fn rest(&mut self) {
        self.rests = true;
        self.requests.rest();
    }

    fn is_at_rest(&self) -> bool {
        self.requests.is_over() && self.requests.outbox.is_empty()
    }

    fn resume(&mut self, now: Time) {
        self.rests = false;
        self.start_if_ready(now);
    }

    fn is_open(&self) -> bool {
        self.opening == 0
    }
}
