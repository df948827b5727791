//! The client of transfers.

use alloc::vec;
use alloc::vec::Vec;

use netstudy_units::{Duration, Time};

use super::{TransferConfig, TransferShape};
use crate::outbox::Outbox;
use crate::phases::{Limit, Next, Sequence, Turn};
use crate::{Action, Because, Owed, Sample, Traffic, Wait};

/// A connection of a client.
#[derive(Clone, Copy, Debug)]
struct Flow {
    state: State,
    /// Transfers started in this phase.
    begun: u64,
    /// Exchanges and streams started since the connection was opened.
    exchanges: u64,
    received: u64,
    acknowledged: u64,
    /// Bytes written since the connection was opened, without an unfinished stream.
    written: u64,
    /// Bytes received before the current exchange or stream.
    begun_at: u64,
    /// The current stream ends after this number of received bytes; none: not known yet.
    ends_at: Option<u64>,
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
    /// The time of a stream is over, but its end is still in flight.
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

    const NEW: Self = Self {
        state: State::Idle,
        begun: 0,
        exchanges: 0,
        received: 0,
        acknowledged: 0,
        written: 0,
        begun_at: 0,
        ends_at: None,
    };
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
                State::Busy { before, .. } if self.config.shape.is_stream() => {
                    let Carried { received, acknowledged } = flow.carried();
                    let acknowledged = acknowledged.max(before.acknowledged);
                    let before = Carried { received, acknowledged };
                    flow.state = State::Busy { started: now, before };
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
                    self.finish_stream(now, connection);
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
        let shape = self.config.shape;
        let bytes = shape.exchange().map_or(shape.head(), |exchange| exchange.asked());
        let flow = &mut self.flows[connection];
        flow.begun += 1;
        flow.exchanges += 1;
        flow.written += bytes;
        flow.begun_at = flow.received;
        let before = Carried { received: flow.received, acknowledged: flow.written };
        flow.state = State::Busy { started: due, before };
        let is_put = shape.is_stream() && !shape.receives();
        flow.ends_at = is_put.then_some(flow.received + shape.request_bytes);
        let connection = connection as u32;
        if bytes > 0 {
            self.outbox.push(now, Action::Write { connection, bytes });
        }
        if shape.is_stream() && shape.sends() {
            self.outbox.push(now, Action::Stream { connection });
        }
    }

    /// Ends a stream whose time is over.
    fn finish_stream(&mut self, now: Time, connection: usize) {
        let TransferShape { request_bytes: bytes, .. } = self.config.shape;
        let flow = &mut self.flows[connection];
        flow.state = State::Ending;
        let connection = connection as u32;
        if self.config.shape.sends() {
            self.outbox.push(now, Action::Finish { connection, bytes });
        } else {
            flow.written += bytes;
            self.outbox.push(now, Action::Write { connection, bytes });
        }
    }

    /// Creates a sample with the bytes that a stream has transferred until now.
    fn sample_stream(&mut self, now: Time, connection: usize, started: Time, before: Carried) {
        let total = self.flows[connection].carried();
        let sample = Sample::Transfer {
            connection: connection as u32,
            bytes_received: total.received - before.received,
            bytes_sent: total.acknowledged.saturating_sub(before.acknowledged),
            started,
            first_byte: None,
            ended: now,
        };
        self.outbox.push(now, Action::Sample(sample));
    }

    /// Ends the streams whose end has arrived.
    fn end_streams(&mut self, now: Time) {
        for connection in 0..self.flows.len() {
            let Flow { state, received, ends_at, .. } = self.flows[connection];
            if state == State::Ending && ends_at == Some(received) {
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
        let Some(exchange) = self.config.shape.exchange() else { return };
        let sample = Sample::Transfer {
            connection: connection as u32,
            bytes_received: exchange.payload_received(),
            bytes_sent: exchange.payload_sent(),
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

    fn received(&mut self, now: Time, connection: u32, _before: u64, total: u64) -> bool {
        let connection = connection as usize;
        let flow = &mut self.flows[connection];
        flow.received = total;
        match flow.state {
            State::Busy { started, .. } => {
                let begun_at = flow.begun_at;
                let exchange = self.config.shape.exchange();
                if exchange.is_none_or(|exchange| total < begun_at + exchange.answered()) {
                    return false;
                }
                // A driver may report bytes that arrived after the end of the phase before it polls
                // for the end of the phase.
                self.end_time(now);
                self.sample_transfer(now, connection, started);
                self.end_transfer(now, connection);
            }
            State::Ending if flow.ends_at == Some(total) => self.end_streams(now),
            State::Idle | State::Waiting(_) | State::Ending => return false,
        }
        self.look_ahead(now);
        true
    }

    fn finished(&mut self, connection: u32, total: u64) {
        self.flows[connection as usize].written = total;
    }

    fn ends_at(&mut self, connection: u32, total: u64) {
        self.flows[connection as usize].ends_at = Some(total);
    }

    fn acknowledged(&mut self, _now: Time, connection: u32, total: u64) -> bool {
        self.flows[connection as usize].acknowledged = total;
        false
    }

    fn owed(&self, connection: u32, received: u64) -> Option<Owed> {
        let Flow { state, exchanges: message, begun_at, ends_at, .. } =
            self.flows[connection as usize];
        let bytes = match (state, self.config.shape.exchange()) {
            (State::Idle | State::Waiting(_), _) => return None,
            (_, Some(exchange)) => Some(exchange.answered()),
            // A put is confirmed when it has ended.
            (State::Busy { .. }, None) if !self.config.shape.receives() => return None,
            (_, None) => ends_at.map(|end| end - begun_at),
        };
        let received = received - begun_at;
        (bytes != Some(received)).then_some(Owed { message, received, bytes })
    }
}
