//! Plain TCP transfers: a client gets bytes from servers, puts bytes to them, or both at once.
//!
//! A transfer is an exchange of messages on a connection. Get: a request, answered with the
//! payload. Put: the payload, confirmed by the server's application when it has received all of it,
//! as in FTP. Both: a request followed at once by the payload; the server starts to send its own
//! payload when it has the request, and confirms the client's payload. A stream is a series of such
//! exchanges, one for each chunk. Several exchanges are in progress at a time, so that neither end
//! runs out of bytes to send, and memory stays bounded. To end a stream, the client starts no
//! further chunk. Each end knows from its own byte counts how far the exchanges have come.

use alloc::vec;
use alloc::vec::Vec;

use netstudy_units::{Duration, Time};

use crate::outbox::Outbox;
use crate::phases::{Limit, Next, Phases, Sequence, Turn, Until};
use crate::{Action, Because, Owed, Sample, Traffic, Wait};

/// Direction of the payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From the server to the client.
    Get,
    /// From the client to the server.
    Put,
    /// Both directions at once over the same connection; each direction transfers the whole size.
    Both,
}

/// Size of a transfer, in each direction that has data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransferSize {
    /// A fixed number of bytes.
    Fixed(u64),
    /// As many bytes as possible within the time of a phase.
    Stream {
        /// Payload of an exchange. A smaller value causes more requests and confirmations; a larger
        /// value leaves more bytes in flight when the time is over.
        chunk_bytes: u64,
        /// Total payload of the exchanges that are in progress at a time, rounded down to whole
        /// chunks, but at least one chunk. A value below the bandwidth-delay product plus the
        /// queues of the path limits the throughput; a larger value prolongs the end of the phase.
        ahead_bytes: u64,
    },
}

/// The parameters of a transfer that both ends know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransferShape {
    /// Direction of the payload.
    pub direction: Direction,
    /// Size of the payload.
    pub size: TransferSize,
    /// Size of a request, and of a confirmation.
    pub request_bytes: u64,
}

impl TransferShape {
    /// Payload of an exchange, in each direction that has data.
    const fn payload(&self) -> u64 {
        match self.size {
            TransferSize::Fixed(bytes) => bytes,
            TransferSize::Stream { chunk_bytes, .. } => chunk_bytes,
        }
    }

    const fn sends(&self) -> bool {
        matches!(self.direction, Direction::Put | Direction::Both)
    }

    const fn receives(&self) -> bool {
        matches!(self.direction, Direction::Get | Direction::Both)
    }

    /// Bytes that the client sends in an exchange before its payload.
    const fn head(&self) -> u64 {
        if self.receives() { self.request_bytes } else { 0 }
    }

    /// Bytes that the client sends in an exchange.
    const fn asked(&self) -> u64 {
        self.head() + if self.sends() { self.payload() } else { 0 }
    }

    /// Bytes that the server sends in an exchange.
    const fn answered(&self) -> u64 {
        (if self.receives() { self.payload() } else { 0 })
            + if self.sends() { self.request_bytes } else { 0 }
    }

    /// Maximum number of exchanges in progress.
    fn window(&self) -> u64 {
        match self.size {
            TransferSize::Fixed(_) => 1,
            TransferSize::Stream { chunk_bytes, ahead_bytes } => (ahead_bytes / chunk_bytes).max(1),
        }
    }

    const fn is_stream(&self) -> bool {
        matches!(self.size, TransferSize::Stream { .. })
    }

    /// How many of the first `bytes` that the client sends are payload.
    const fn payload_sent(&self, bytes: u64) -> u64 {
        if !self.sends() {
            return 0;
        }
        let begun = (bytes % self.asked()).saturating_sub(self.head());
        bytes / self.asked() * self.payload() + begun
    }

    /// How many of the first `bytes` that the server sends are payload.
    fn payload_received(&self, bytes: u64) -> u64 {
        if !self.receives() {
            return 0;
        }
        let begun = (bytes % self.answered()).min(self.payload());
        bytes / self.answered() * self.payload() + begun
    }

    /// Bytes that the server must send in answer to the first `bytes` of the client.
    fn due_answer(&self, bytes: u64) -> u64 {
        let ended = bytes / self.asked();
        let begun = ended + u64::from(bytes % self.asked() >= self.head());
        match self.direction {
            Direction::Get => ended * self.payload(),
            Direction::Put => ended * self.request_bytes,
            Direction::Both => begun * self.payload() + ended * self.request_bytes,
        }
    }
}

/// The transfers of one client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransferConfig {
    /// The shape of each transfer.
    pub shape: TransferShape,
    /// Connections of the client. On each connection, one transfer follows the other.
    pub connections: u32,
    /// Time from the end of a transfer to the start of the next one.
    pub pause: Duration,
    /// The phases. Each lasts for a number of transfers per connection, or for a time.
    pub phases: Phases,
}

impl TransferConfig {
    /// Checks the limits of the configuration.
    ///
    /// # Errors
    /// Says which limit is violated.
    pub fn check(&self) -> Result<(), &'static str> {
        let Self { shape, connections, phases, .. } = self;
        if *connections == 0 {
            return Err("a client of transfers has at least one connection");
        }
        shape.check()?;
        phases.check()?;
        if phases.measure.is_empty() {
            return Err("the measuring phase holds at least one transfer");
        }
        let counted = |until| matches!(until, Until::Count(1..));
        if shape.is_stream() && (counted(phases.warmup) || counted(phases.measure)) {
            return Err("a stream lasts for a time, not for a count");
        }
        Ok(())
    }
}

impl TransferShape {
    /// Checks the sizes.
    ///
    /// # Errors
    /// Says which limit is violated.
    pub const fn check(&self) -> Result<(), &'static str> {
        if self.payload() == 0 || self.request_bytes == 0 {
            return Err("a transfer, a chunk and a request have at least one byte");
        }
        Ok(())
    }
}

/// A connection of a client.
#[derive(Clone, Copy, Debug)]
struct Flow {
    state: State,
    /// Transfers started in this phase.
    begun: u64,
    /// Exchanges started since the connection was opened.
    exchanges: u64,
    received: u64,
    acknowledged: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// No further transfer starts in this phase.
    Idle,
    /// The next transfer starts at this time.
    Waiting(Time),
    /// A transfer is in progress.
    Busy {
        started: Time,
        /// Bytes transferred on the connection before the stream started to count.
        before: Carried,
    },
    /// The time of a stream is over, but the last chunks of the stream are still in flight.
    Ending,
}

/// Bytes transferred on a connection since it was opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Carried {
    received: u64,
    acknowledged: u64,
}

impl Flow {
    /// Bytes transferred so far.
    const fn carried(&self) -> Carried {
        Carried { received: self.received, acknowledged: self.acknowledged }
    }

    const NEW: Self =
        Self { state: State::Idle, begun: 0, exchanges: 0, received: 0, acknowledged: 0 };
}

/// The client: starts all transfers.
#[derive(Clone, Debug)]
pub struct TransferClient {
    config: TransferConfig,
    /// Delay of the first transfer on each connection; missing: none.
    starts: Vec<Duration>,
    sequence: Sequence,
    limit: Limit,
    flows: Vec<Flow>,
    outbox: Outbox,
    /// When the next transfer starts, or when the time of the streams is over.
    wake: Time,
}

impl TransferClient {
    /// A client without open connections. See [`TransferConfig::check`].
    #[must_use]
    pub fn new(config: &TransferConfig) -> Self {
        let mut outbox = Outbox::default();
        for connection in 0..config.connections {
            outbox.push(Time::ZERO, Action::Open { connection });
        }
        Self {
            config: *config,
            starts: Vec::new(),
            sequence: Sequence::new(config.phases, config.connections),
            limit: Limit::NONE,
            flows: vec![Flow::NEW; config.connections as usize],
            outbox,
            wake: Time::NEVER,
        }
    }

    /// The client with delayed starts: in the warm-up, the first transfer on each connection begins
    /// this long after all connections are open. Connections without an entry start at once.
    #[must_use]
    pub fn starting_after(mut self, starts: Vec<Duration>) -> Self {
        self.starts = starts;
        self
    }

    fn begin_phase(&mut self, now: Time, limit: Limit) {
        self.limit = limit;
        // Only the first phase is spread: in later phases the flows go on from where they are.
        let starts = core::mem::take(&mut self.starts);
        for (connection, flow) in self.flows.iter_mut().enumerate() {
            flow.begun = 0;
            let at = now + starts.get(connection).copied().unwrap_or(Duration::ZERO);
            flow.state = if limit.allows(0, at) { State::Waiting(at) } else { State::Idle };
        }
        self.look_ahead(now);
    }

    /// Sets the time of the next action. Ends the current phase if the phase's time is over and
    /// nothing is in flight.
    fn look_ahead(&mut self, now: Time) {
        let stream_end =
            if self.config.shape.is_stream() { self.limit.deadline } else { Time::NEVER };
        let wakes = self.flows.iter().map(|flow| match flow.state {
            State::Waiting(at) => at,
            State::Busy { .. } => stream_end,
            State::Idle | State::Ending => Time::NEVER,
        });
        self.wake = wakes.min().unwrap_or(Time::NEVER).min(self.sequence.due());
        if self.flows.iter().all(|flow| flow.state == State::Idle) && self.sequence.may_end() {
            self.end_phase(now);
        }
    }

    fn end_phase(&mut self, now: Time) {
        match self.sequence.ended(now) {
            Next::Hold => self.outbox.push(now, Action::Hold),
            Next::Measure(limit) => self.begin_measuring(now, limit),
            Next::End => self.outbox.push(now, Action::End),
        }
    }

    fn begin_measuring(&mut self, now: Time, limit: Limit) {
        self.outbox.push(now, Action::Begin);
        self.begin_phase(now, limit);
    }

    /// Begins the measuring phase while the load of the warm-up continues: streams count from now
    /// on.
    fn go_on_measuring(&mut self, now: Time, limit: Limit) {
        self.outbox.push(now, Action::Begin);
        self.limit = limit;
        for flow in &mut self.flows {
            flow.begun = 0;
            match flow.state {
                State::Busy { .. } if self.config.shape.is_stream() => {
                    flow.state = State::Busy { started: now, before: flow.carried() };
                }
                State::Waiting(at) if !limit.allows(0, at) => flow.state = State::Idle,
                _ => {}
            }
        }
    }

    /// Performs the actions that are due.
    fn wake_up(&mut self, now: Time) {
        if self.sequence.is_to_be_told()
            && let Some(Turn::Measure(limit)) = self.sequence.turn(now)
        {
            self.go_on_measuring(now, limit);
        }
        for connection in 0..self.flows.len() {
            match self.flows[connection].state {
                State::Waiting(at) if at <= now => self.start(now, connection, at),
                State::Busy { started, before }
                    if self.config.shape.is_stream() && self.limit.deadline <= now =>
                {
                    self.sample_stream(now, connection, started, before);
                    self.flows[connection].state = State::Ending;
                }
                _ => {}
            }
        }
        self.end_time(now);
        self.end_streams(now);
        self.look_ahead(now);
    }

    /// Reports the end of the measuring phase, if the time of this phase is over.
    fn end_time(&mut self, now: Time) {
        if let Some(Turn::Over) = self.sequence.turn(now) {
            self.outbox.push(now, Action::Over);
        }
    }

    fn start(&mut self, now: Time, connection: usize, due: Time) {
        let shape = &self.config.shape;
        let flow = &mut self.flows[connection];
        let before = Carried {
            received: flow.exchanges * shape.answered(),
            acknowledged: flow.exchanges * shape.asked(),
        };
        flow.state = State::Busy { started: due, before };
        flow.begun += 1;
        self.exchange(now, connection, self.config.shape.window());
    }

    /// Starts `count` exchanges.
    fn exchange(&mut self, now: Time, connection: usize, count: u64) {
        self.flows[connection].exchanges += count;
        let bytes = count * self.config.shape.asked();
        self.outbox.push(now, Action::Write { connection: connection as u32, bytes });
    }

    /// Creates a sample with the bytes that a stream has transferred until now.
    fn sample_stream(&mut self, now: Time, connection: usize, started: Time, before: Carried) {
        let (shape, total) = (&self.config.shape, self.flows[connection].carried());
        let sample = Sample::Transfer {
            connection: connection as u32,
            bytes_received: shape.payload_received(total.received)
                - shape.payload_received(before.received),
            bytes_sent: shape
                .payload_sent(total.acknowledged)
                .saturating_sub(shape.payload_sent(before.acknowledged)),
            started,
            first_byte: None,
            ended: now,
        };
        self.outbox.push(now, Action::Sample(sample));
    }

    /// Ends the streams that have nothing in flight any more.
    fn end_streams(&mut self, now: Time) {
        for connection in 0..self.flows.len() {
            let Flow { state, received, exchanges, .. } = self.flows[connection];
            if state == State::Ending && received == exchanges * self.config.shape.answered() {
                self.end_transfer(now, connection);
            }
        }
    }

    fn end_transfer(&mut self, now: Time, connection: usize) {
        let next = now + self.config.pause;
        let flow = &mut self.flows[connection];
        let again = !self.config.shape.is_stream() && self.limit.allows(flow.begun, next);
        flow.state = if again { State::Waiting(next) } else { State::Idle };
    }

    fn sample_transfer(&mut self, now: Time, connection: usize, started: Time) {
        let shape = &self.config.shape;
        let sample = Sample::Transfer {
            connection: connection as u32,
            bytes_received: shape.payload_received(shape.answered()),
            bytes_sent: shape.payload_sent(shape.asked()),
            started,
            first_byte: None,
            ended: now,
        };
        self.outbox.push(now, Action::Sample(sample));
    }
}

impl Traffic for TransferClient {
    /// Acknowledgments are needed to count the bytes of a stream when its time is over.
    const HEARS_ACKNOWLEDGMENTS: bool = true;

    fn because(&self, _connection: u32) -> Because {
        Because::Heard(Wait::Think)
    }

    /// Streams are no units of work, since they may last for the whole phase.
    fn working_since(&self) -> Time {
        let is_unit = !self.config.shape.is_stream();
        let started = self.flows.iter().filter_map(|flow| match flow.state {
            State::Busy { started, .. } if is_unit => Some(started),
            _ => None,
        });
        started.min().unwrap_or(Time::NEVER)
    }

    fn next_action(&self) -> Time {
        self.outbox.due().min(self.wake)
    }

    fn poll(&mut self, now: Time) -> Option<Action> {
        if self.outbox.is_empty() && self.wake <= now {
            self.wake_up(now);
        }
        self.outbox.pop()
    }

    fn go(&mut self, at: Time) -> bool {
        let goes = self.sequence.go(at);
        if let Some(limit) = self.sequence.resume(at) {
            self.begin_measuring(at, limit);
        } else if goes {
            self.wake = self.wake.min(at);
        }
        goes
    }

    fn opened(&mut self, now: Time, _connection: u32) -> bool {
        let limit = self.sequence.opened(now);
        if let Some(limit) = limit {
            if self.sequence.is_to_be_told() {
                self.outbox.push(now, Action::Ready);
            }
            self.begin_phase(now, limit);
        }
        limit.is_some()
    }

    fn received(&mut self, now: Time, connection: u32, before: u64, total: u64) -> bool {
        let connection = connection as usize;
        self.flows[connection].received = total;
        let answered = self.config.shape.answered();
        let ended = total / answered - before / answered;
        if ended == 0 {
            return false;
        }
        match self.flows[connection].state {
            State::Busy { .. } if self.config.shape.is_stream() => {
                if now < self.limit.deadline {
                    self.exchange(now, connection, ended);
                }
            }
            State::Busy { started, .. } => {
                // A driver may report bytes that arrived after the end of the phase before it polls
                // for the end of the phase.
                self.end_time(now);
                self.sample_transfer(now, connection, started);
                self.end_transfer(now, connection);
                self.look_ahead(now);
            }
            State::Ending => {
                self.end_streams(now);
                self.look_ahead(now);
            }
            State::Idle | State::Waiting(_) => return false,
        }
        true
    }

    fn acknowledged(&mut self, _now: Time, connection: u32, total: u64) -> bool {
        self.flows[connection as usize].acknowledged = total;
        false
    }

    fn owed(&self, connection: u32, received: u64) -> Option<Owed> {
        let Flow { exchanges, .. } = self.flows[connection as usize];
        let bytes = self.config.shape.answered();
        (received < exchanges * bytes).then(|| Owed::of_response(received, bytes))
    }
}

/// The server of transfers, for any number of clients.
#[derive(Clone, Debug)]
pub struct TransferServer {
    shape: TransferShape,
    outbox: Outbox,
}

impl TransferServer {
    /// A server that has received no requests.
    #[must_use]
    pub fn new(shape: TransferShape) -> Self {
        Self { shape, outbox: Outbox::default() }
    }
}

impl Traffic for TransferServer {
    fn next_action(&self) -> Time {
        self.outbox.due()
    }

    fn poll(&mut self, _now: Time) -> Option<Action> {
        self.outbox.pop()
    }

    fn received(&mut self, now: Time, connection: u32, before: u64, total: u64) -> bool {
        let bytes = self.shape.due_answer(total) - self.shape.due_answer(before);
        if bytes > 0 {
            self.outbox.push(now, Action::Write { connection, bytes });
        }
        bytes > 0
    }

    fn owed(&self, _connection: u32, received: u64) -> Option<Owed> {
        Owed::of_request(received, self.shape.asked())
    }
}
