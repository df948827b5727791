//! Synchronized reads: one client requests a block from every server at once, waits for all
//! responses, and repeats.

use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;

use netstudy_units::{Duration, Time};

use crate::client_or_server::ClientOrServer;
use crate::traffic::{Action, Because, Owed, Sample, Traffic, Wait};

/// Configuration of a synchronized read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IncastConfig {
    /// Number of servers.
    pub servers: u32,
    /// Unstriped: bytes from each server. Striped: bytes from all servers together.
    pub block_bytes: u64,
    /// Whether the block is distributed over the servers.
    pub striped: bool,
    /// Number of iterations, warm-up included.
    pub iterations: u32,
    /// Number of warm-up iterations.
    pub warmup_iterations: u32,
    /// Whether the client waits for [`Traffic::go`] after the warm-up, so that counters can be read
    /// while nothing is in flight.
    pub hold: bool,
    /// Size of a request.
    pub request_bytes: u64,
    /// Time between the request to one server and the request to the next server.
    pub request_spacing: Duration,
}

impl IncastConfig {
    /// Bytes that the server `server` sends per request. If a block does not divide evenly, the
    /// first servers send one byte more than the others.
    #[must_use]
    pub fn response_bytes(&self, server: u32) -> u64 {
        if !self.striped {
            return self.block_bytes;
        }
        let servers = u64::from(self.servers);
        self.block_bytes / servers + u64::from(u64::from(server) < self.block_bytes % servers)
    }

    /// Bytes that the client receives per iteration.
    #[must_use]
    pub fn iteration_bytes(&self) -> u64 {
        if self.striped { self.block_bytes } else { self.block_bytes * u64::from(self.servers) }
    }
}

/// An iteration that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Completed {
    /// Its number, from 0.
    iteration: u32,
    /// When the first request of the iteration was due.
    started: Time,
    /// When the last byte had arrived.
    ended: Time,
}

/// The client's iterations: it sends a request to every server at once, waits for all responses,
/// and repeats.
#[derive(Clone, Debug)]
struct Incast {
    /// Response size of each server.
    responses: Vec<u64>,
    iterations: u32,
    request_spacing: Duration,
    /// After this number of iterations, the client waits for the controller.
    hold_after: Option<u32>,
    iteration: u32,
    started: Time,
    asked: u32,
    /// For each server: bytes that its connection will have delivered in total when this iteration
    /// is done.
    expected: Vec<u64>,
    /// For each server: the time from the start of an iteration until the server's last byte
    /// arrived, summed over all iterations.
    receiving: Vec<Duration>,
    waiting_for: u32,
}

impl Incast {
    /// A client that has not started.
    fn new(config: &IncastConfig) -> Self {
        let responses = (0..config.servers).map(|server| config.response_bytes(server)).collect();
        Self::of_responses(responses, config.iterations, config.request_spacing)
    }

    /// A client that has not started, for servers with the response sizes `responses`.
    fn of_responses(responses: Vec<u64>, iterations: u32, request_spacing: Duration) -> Self {
        let servers = responses.len();
        Self {
            responses,
            iterations,
            request_spacing,
            hold_after: None,
            iteration: 0,
            started: Time::NEVER,
            asked: servers as u32,
            expected: vec![0; servers],
            receiving: vec![Duration::ZERO; servers],
            waiting_for: 0,
        }
    }

    const fn servers(&self) -> u32 {
        self.responses.len() as u32
    }

    /// The time from the start of an iteration until the last byte of `server` arrived, summed over
    /// all iterations.
    fn receiving(&self, server: u32) -> Duration {
        self.receiving[server as usize]
    }

    /// Starts the first iteration at `now`; [`Self::poll_request`] then returns its requests.
    fn start(&mut self, now: Time) {
        self.started = now;
        self.asked = 0;
        self.waiting_for = self.responses.len() as u32;
    }

    /// When the next request is due.
    #[inline]
    fn next_request(&self) -> Time {
        if self.asked as usize == self.responses.len() {
            return Time::NEVER;
        }
        self.started + self.request_spacing * u64::from(self.asked)
    }

    /// The server to which a request is due at `now`.
    fn poll_request(&mut self, now: Time) -> Option<u32> {
        if self.next_request() > now {
            return None;
        }
        let server = self.asked;
        self.asked += 1;
        self.expected[server as usize] += self.responses[server as usize];
        Some(server)
    }

    /// Reports that a server's connection has delivered `total` bytes since it was opened, and had
    /// delivered `before` bytes before `now`. Returns the iteration if it is complete; in this case
    /// the next iteration, if there is one, has started.
    #[inline]
    fn handle_received(
        &mut self,
        now: Time,
        server: u32,
        before: u64,
        total: u64,
    ) -> Option<Completed> {
        let expected = self.expected[server as usize];
        if total < expected || before >= expected {
            return None;
        }
        let receiving = &mut self.receiving[server as usize];
        *receiving = *receiving + now.since(self.started);
        self.waiting_for -= 1;
        (self.waiting_for == 0).then(|| self.complete(now))
    }

    fn complete(&mut self, now: Time) -> Completed {
        let completed = Completed { iteration: self.iteration, started: self.started, ended: now };
        self.iteration += 1;
        if self.iteration < self.iterations && self.hold_after != Some(self.iteration) {
            self.start(now);
        }
        completed
    }

    fn owed(&self, server: u32, received: u64) -> Option<Owed> {
        let bytes = self.responses[server as usize];
        let is_owed = received < self.expected[server as usize];
        is_owed.then(|| Owed::of_response(received, bytes))
    }

    /// Whether all iterations have ended.
    #[inline]
    const fn is_done(&self) -> bool {
        self.iteration >= self.iterations
    }
}

/// Draws random delays, one per call.
pub type Delays = Box<dyn FnMut() -> Duration + Send>;

/// The application of one host of an incast. The client's connection i leads to server i. A server
/// has one connection, number 0, which the client opens.
pub type IncastHost = ClientOrServer<IncastClient, IncastServer>;

impl IncastHost {
    /// The client.
    #[must_use]
    pub fn client(config: &IncastConfig) -> Self {
        Self::Client(IncastClient::with(Incast::new(config), config))
    }

    /// The client, for servers with the response sizes `responses`.
    #[must_use]
    pub fn client_of(responses: Vec<u64>, config: &IncastConfig) -> Self {
        let reads = Incast::of_responses(responses, config.iterations, config.request_spacing);
        Self::Client(IncastClient::with(reads, config))
    }

    /// The server with the number `server`. It starts each response after a delay that it draws
    /// from `delays`.
    #[must_use]
    pub fn server(config: &IncastConfig, server: u32, delays: Delays) -> Self {
        Self::Server(IncastServer {
            request_bytes: config.request_bytes,
            answered: 0,
            response_bytes: config.response_bytes(server),
            delays,
            answer_at: Time::NEVER,
        })
    }
}

/// The client: opens its connections and starts the iterations when all are open.
pub struct IncastClient {
    reads: Incast,
    request_bytes: u64,
    warmup_iterations: u32,
    next_connect: u32,
    connecting: u32,
    hold: bool,
    /// If set: the warm-up ended at this time, and the client waits for the controller.
    holds: Option<Time>,
    /// If set: the measuring phase begins at this time.
    begins: Option<Time>,
    ended: Option<Completed>,
    /// If set: the last iteration ended at this time.
    is_over: Option<Time>,
}

impl IncastClient {
    fn with(mut reads: Incast, config: &IncastConfig) -> Self {
        reads.hold_after = config.hold.then_some(config.warmup_iterations);
        Self {
            connecting: reads.servers(),
            reads,
            request_bytes: config.request_bytes,
            warmup_iterations: config.warmup_iterations,
            next_connect: 0,
            hold: config.hold,
            holds: None,
            begins: None,
            ended: None,
            is_over: None,
        }
    }

    fn end_warmup(&mut self, now: Time) {
        let what_follows = if self.hold { &mut self.holds } else { &mut self.begins };
        *what_follows = Some(now);
    }
}

impl Traffic for IncastClient {
    fn next_action(&self) -> Time {
        if self.next_connect < self.reads.servers() {
            return Time::ZERO + self.reads.request_spacing * u64::from(self.next_connect);
        }
        let ended = self.ended.map(|ended| ended.ended);
        let told = ended.or(self.holds).or(self.begins).or(self.is_over);
        told.unwrap_or_else(|| self.reads.next_request())
    }

    fn poll(&mut self, now: Time) -> Option<Action> {
        if self.next_action() > now {
            return None;
        }
        if self.next_connect < self.reads.servers() {
            self.next_connect += 1;
            return Some(Action::Open { connection: self.next_connect - 1 });
        }
        // The sample is returned before the client holds or ends, because an iteration belongs to
        // the phase in which it ended.
        if let Some(ended) = self.ended.take() {
            if ended.iteration + 1 == self.warmup_iterations {
                self.end_warmup(ended.ended);
            }
            if self.reads.is_done() {
                self.is_over = Some(ended.ended);
            }
            let Completed { started, ended, .. } = ended;
            return Some(Action::Sample(Sample::Iteration { started, ended }));
        }
        if self.holds.take().is_some() {
            return Some(Action::Hold);
        }
        if self.begins.take().is_some() {
            return Some(Action::Begin);
        }
        if self.is_over.take().is_some() {
            return Some(Action::End);
        }
        let connection = self.reads.poll_request(now)?;
        Some(Action::Write { connection, bytes: self.request_bytes })
    }

    fn because(&self, _connection: u32) -> Because {
        // The first request follows the end of the iteration before it.
        let is_first = self.reads.asked == 1;
        if is_first { Because::HeardLast(Wait::Schedule) } else { Because::Scheduled }
    }

    fn working_since(&self) -> Time {
        self.reads.started
    }

    fn opened(&mut self, now: Time, _connection: u32) -> bool {
        self.connecting -= 1;
        let all = self.connecting == 0;
        if all && self.warmup_iterations == 0 {
            self.end_warmup(now);
        }
        if all && self.holds.is_none() {
            self.reads.start(now);
        }
        all
    }

    fn go(&mut self, now: Time) -> bool {
        let holds = self.hold && self.reads.iteration == self.warmup_iterations;
        if holds {
            self.hold = false;
            self.begins = Some(now);
            self.reads.start(now);
        }
        holds
    }

    #[inline]
    fn received(&mut self, now: Time, connection: u32, before: u64, total: u64) -> bool {
        let ended = self.reads.handle_received(now, connection, before, total);
        if ended.is_some() {
            self.ended = ended;
        }
        ended.is_some()
    }

    fn receiving(&self, connection: u32) -> Duration {
        self.reads.receiving(connection)
    }

    fn owed(&self, connection: u32, received: u64) -> Option<Owed> {
        self.reads.owed(connection, received)
    }
}

/// A server: answers each request with its part of the block. The response starts a delay after the
/// request is complete.
pub struct IncastServer {
    request_bytes: u64,
    answered: u64,
    response_bytes: u64,
    delays: Delays,
    answer_at: Time,
}

impl Traffic for IncastServer {
    fn next_action(&self) -> Time {
        self.answer_at
    }

    fn poll(&mut self, now: Time) -> Option<Action> {
        if self.answer_at > now {
            return None;
        }
        self.answer_at = Time::NEVER;
        Some(Action::Write { connection: 0, bytes: self.response_bytes })
    }

    #[inline]
    fn received(&mut self, now: Time, _connection: u32, _before: u64, total: u64) -> bool {
        let asked = (self.answered + 1) * self.request_bytes <= total;
        if asked {
            self.answered += 1;
            self.answer_at = now + (self.delays)();
        }
        asked
    }

    fn owed(&self, _connection: u32, received: u64) -> Option<Owed> {
        Owed::of_request(received, self.request_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(servers: u32, striped: bool) -> IncastConfig {
        IncastConfig {
            servers,
            block_bytes: 10,
            striped,
            iterations: 2,
            warmup_iterations: 1,
            hold: false,
            request_bytes: 64,
            request_spacing: Duration::from_us(5),
        }
    }

    #[test]
    fn a_striped_block_is_sent_whole() {
        let striped = config(3, true);
        let parts = [0, 1, 2].map(|server| striped.response_bytes(server));
        assert_eq!(parts, [4, 3, 3]);
        assert_eq!(striped.iteration_bytes(), 10);
        assert_eq!(config(3, false).iteration_bytes(), 30);
    }

    #[test]
    fn requests_are_spaced_and_the_barrier_waits_for_all() {
        let mut client = Incast::new(&config(2, false));
        client.start(Time::ZERO);
        assert_eq!(client.poll_request(Time::ZERO), Some(0));
        assert_eq!(client.poll_request(Time::ZERO), None);
        let second = Time::ZERO + Duration::from_us(5);
        assert_eq!(client.next_request(), second);
        assert_eq!(client.poll_request(second), Some(1));

        let ms = |n| Time::ZERO + Duration::from_ms(n);
        assert_eq!(client.handle_received(ms(1), 1, 0, 10), None);
        assert_eq!(client.handle_received(ms(2), 0, 0, 9), None);
        let ended = client.handle_received(ms(3), 0, 9, 10);
        assert_eq!(ended, Some(Completed { iteration: 0, started: Time::ZERO, ended: ms(3) }));
        assert_eq!(client.next_request(), ms(3), "the next iteration begins at once");
    }

    #[test]
    fn a_server_answers_only_whole_requests() {
        let mut server = IncastHost::server(&config(1, false), 0, Box::new(|| Duration::ZERO));
        let mut has = |before, total| server.received(Time::ZERO, 0, before, total);
        assert!(!has(0, 63));
        assert!(has(63, 64));
        assert!(!has(64, 64), "and each of them once");
        assert!(has(64, 128));
    }
}
