//! Incast: one client asks all servers at once, in iterations.

use netstudy_random::Stream;
use netstudy_records::{AgentPlan, AgentRecord, Jitter, Taken};
use netstudy_units::{Duration, Time};
use netstudy_workload::{Application, IncastConfig, IncastHost, Sample};

use super::recording::{Recording, Spans};
use super::role::{Role, positive};
use crate::application::{HOLD, beside};
use crate::clock::Clock;
use crate::readings::{self, Reading};

/// Answers the requests of one client.
pub(super) struct Server<'a> {
    pub(super) request_bytes: u64,
    pub(super) response_bytes: u64,
    pub(super) start_jitter: &'a Jitter,
    pub(super) number: u32,
    pub(super) seed: &'a str,
}

/// Asks all servers at once, in iterations.
pub(super) struct Client<'a> {
    pub(super) request_bytes: u64,
    pub(super) response_bytes: &'a [u64],
    pub(super) iterations: u32,
    pub(super) warmup_iterations: u32,
    pub(super) request_spacing: Duration,
}

impl Role for Server<'_> {
    fn check(&self, connections: usize) -> Result<(), String> {
        positive("workload.request_bytes", self.request_bytes)?;
        positive("workload.response_bytes", self.response_bytes)?;
        if connections != 1 {
            return Err(format!(
                "an incast-server has one connection apart from the probe's, not {connections}"
            ));
        }
        Ok(())
    }

    fn opens(&self) -> bool {
        false
    }

    fn application(
        &self,
        plan: &AgentPlan,
        connections: u32,
    ) -> Result<Box<dyn Application>, String> {
        let mut delays = Stream::of_server(self.seed, self.number);
        let jitter = self.start_jitter.clone();
        let config = config(1, self.response_bytes, self.request_bytes);
        let delays = Box::new(move || delays.delay(&jitter));
        beside(plan, connections, IncastHost::server(&config, 0, delays))
    }

    fn recording(&self, _connections: u32) -> Box<dyn Recording> {
        Box::new(Served::default())
    }
}

impl Role for Client<'_> {
    fn check(&self, connections: usize) -> Result<(), String> {
        positive("workload.request_bytes", self.request_bytes)?;
        positive("workload.iterations", u64::from(self.iterations))?;
        if self.response_bytes.len() != connections {
            return Err(format!(
                "workload.response_bytes has {} values for {connections} connections; it must have \
                 one per connection",
                self.response_bytes.len(),
            ));
        }
        for &bytes in self.response_bytes {
            positive("workload.response_bytes", bytes)?;
        }
        Ok(())
    }

    fn opens(&self) -> bool {
        true
    }

    fn application(
        &self,
        plan: &AgentPlan,
        connections: u32,
    ) -> Result<Box<dyn Application>, String> {
        let config = IncastConfig {
            iterations: self.warmup_iterations + self.iterations,
            warmup_iterations: self.warmup_iterations,
            request_spacing: self.request_spacing,
            ..config(connections, 0, self.request_bytes)
        };
        beside(plan, connections, IncastHost::client_of(self.response_bytes.to_vec(), &config))
    }

    fn recording(&self, connections: u32) -> Box<dyn Recording> {
        let exchanges = (0..connections).map(|_| Exchanges::default()).collect();
        let readings = vec![Vec::new(); connections as usize];
        Box::new(Iterations { spans: Spans::default(), exchanges, readings })
    }
}

fn config(servers: u32, block_bytes: u64, request_bytes: u64) -> IncastConfig {
    IncastConfig {
        servers,
        block_bytes,
        striped: false,
        iterations: 0,
        warmup_iterations: 0,
        hold: HOLD,
        request_bytes,
        request_spacing: Duration::ZERO,
    }
}

/// Records of a client: its iterations, and its requests and responses with each server.
struct Iterations {
    spans: Spans,
    exchanges: Vec<Exchanges>,
    /// Of each connection, warm-up included.
    readings: Vec<Vec<Reading>>,
}

/// Times in one phase, in nanoseconds: when requests were sent to one server, and when responses
/// came.
#[derive(Default)]
struct Exchanges {
    intended: Vec<u64>,
    sent: Vec<u64>,
    first_byte: Vec<u64>,
    done: Vec<u64>,
}

impl Recording for Iterations {
    fn begin(&mut self) {
        self.exchanges.fill_with(Exchanges::default);
    }

    fn wrote(&mut self, clock: Clock, connection: u32, due: Time, now: Time) {
        let own = &mut self.exchanges[connection as usize];
        own.intended.push(clock.as_ns(due));
        own.sent.push(clock.as_ns(now));
    }

    fn received(&mut self, clock: Clock, connection: u32, now: Time) {
        let own = &mut self.exchanges[connection as usize];
        if own.first_byte.len() < own.sent.len() {
            own.first_byte.push(clock.as_ns(now));
        }
    }

    fn wants_ends(&self) -> bool {
        true
    }

    fn answered(&mut self, clock: Clock, connection: u32, now: Time) {
        let own = &mut self.exchanges[connection as usize];
        if own.done.len() < own.sent.len() {
            own.done.push(clock.as_ns(now));
        }
    }

    fn wants_readings(&self) -> Option<Taken> {
        Some(Taken::AtLastBytes)
    }

    fn read(&mut self, connection: u32, reading: &Reading) {
        self.readings[connection as usize].push(*reading);
    }

    fn sample(&mut self, clock: Clock, sample: Sample, _over: Option<Time>) {
        let Sample::Iteration { started, ended } = sample else {
            unreachable!("the samples of an incast are iterations")
        };
        self.spans.add(clock, started, ended);
    }

    fn into_records(self: Box<Self>) -> Vec<AgentRecord> {
        let Spans { started_ns, ended_ns } = self.spans;
        let iterations = AgentRecord::Iterations { started_ns, ended_ns };
        let requests = (0..).zip(self.exchanges).map(|(connection, own)| AgentRecord::Requests {
            connection,
            intended_ns: own.intended,
            sent_ns: own.sent,
            first_byte_ns: own.first_byte,
            done_ns: own.done,
        });
        let readings = (0..)
            .zip(&self.readings)
            .map(|(connection, own)| readings::record(connection, Taken::AtLastBytes, own));
        std::iter::once(iterations).chain(requests).chain(readings).collect()
    }
}

/// Records of a server: the requests that it has answered, and readings of its connection.
#[derive(Default)]
struct Served {
    /// When bytes last arrived.
    heard_ns: u64,
    requested_ns: Vec<u64>,
    begun_ns: Vec<u64>,
    answered_ns: Vec<u64>,
    readings: Vec<Reading>,
}

impl Recording for Served {
    fn wrote(&mut self, clock: Clock, _connection: u32, _due: Time, now: Time) {
        self.requested_ns.push(self.heard_ns);
        self.begun_ns.push(clock.as_ns(now));
    }

    fn wants_readings(&self) -> Option<Taken> {
        Some(Taken::BeforeResponses)
    }

    fn read(&mut self, _connection: u32, reading: &Reading) {
        self.readings.push(*reading);
    }

    fn flushed(&mut self, clock: Clock) {
        self.answered_ns.push(clock.as_ns(clock.now()));
    }

    fn received(&mut self, clock: Clock, _connection: u32, now: Time) {
        self.heard_ns = clock.as_ns(now);
    }

    fn into_records(self: Box<Self>) -> Vec<AgentRecord> {
        let readings = readings::record(0, Taken::BeforeResponses, &self.readings);
        let served = AgentRecord::Served {
            requested_ns: self.requested_ns,
            begun_ns: self.begun_ns,
            answered_ns: self.answered_ns,
        };
        vec![served, readings]
    }
}
