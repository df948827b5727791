//! The two kinds of hosts in an incast, whichever way it is carried out.

use netstudy_fabric::Chance;
use netstudy_random::Stream;
use netstudy_records::Jitter;
use netstudy_tcp::Endpoint;
use netstudy_units::{Duration, Time};
use netstudy_workload::{Incast, IncastConfig, Responder};

use crate::wiring::Star;

/// The name of the client's streams of random numbers.
pub(crate) const CLIENT: &str = "client";

/// What a simulation is made of, beside its switch.
pub(crate) struct Setup<'a> {
    pub(crate) star: &'a Star,
    pub(crate) workload: IncastConfig,
    pub(crate) warmup_iterations: u32,
    pub(crate) start_jitter: &'a Jitter,
    pub(crate) seed: &'a str,
}

/// The client, with an interface `N`.
pub(crate) struct Client<N> {
    pub(crate) nic: N,
    pub(crate) app: Incast,
    request_bytes: u64,
    connections: u32,
    connecting: u32,
    next_connect: u32,
    connect_spacing: Duration,
    read_at_once_pct: u32,
    reads: Stream,
}

/// A server, with an interface `N`, and both ends of its connection to the client: what a packet
/// touches on its way is in one place.
pub(crate) struct Server<N> {
    pub(crate) nic: N,
    pub(crate) end: Endpoint,
    pub(crate) client_end: Endpoint,
    pub(crate) app: Responder,
    pub(crate) response_bytes: u64,
    pub(crate) jitter: Stream,
    /// When it begins to answer the request that it has.
    pub(crate) answer_at: Time,
}

impl<N> Client<N> {
    pub(crate) fn new(setup: &Setup<'_>, nic: N) -> Self {
        let star = setup.star;
        Self {
            nic,
            app: Incast::new(&setup.workload),
            request_bytes: setup.workload.request_bytes,
            connections: star.servers,
            connecting: star.servers,
            next_connect: 0,
            connect_spacing: setup.workload.request_spacing,
            read_at_once_pct: star.client.read_at_once_pct,
            reads: Stream::new(setup.seed, "client/reads"),
        }
    }

    /// When the next connection is to be opened or the next request to be sent.
    pub(crate) fn next_start(&self) -> Time {
        if self.next_connect < self.connections {
            return Time::ZERO + self.connect_spacing * u64::from(self.next_connect);
        }
        self.app.next_request()
    }

    /// Opens the next connection, or writes the next request; that to the server with the index that is
    /// returned has something to send now.
    pub(crate) fn start_next<S>(&mut self, now: Time, servers: &mut [Server<S>]) -> usize {
        if let Some(index) = self.app.poll_request(now) {
            servers[index as usize].client_end.write(now, self.request_bytes);
            return index as usize;
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
}

impl<N> Server<N> {
    /// The server with the index `index`; `nic` makes the interface of the host with that name.
    pub(crate) fn new(setup: &Setup<'_>, index: u32, nic: impl FnOnce(&str) -> N) -> Self {
        let star = setup.star;
        let name = format!("server/{}", index + 1);
        Self {
            nic: nic(&name),
            end: Endpoint::listen(star.server.tcp_with_phase(setup.seed, &name)),
            client_end: Endpoint::connect(star.client.tcp_with_phase(setup.seed, CLIENT)),
            app: Responder::new(setup.workload.request_bytes),
            response_bytes: setup.workload.response_bytes(index),
            jitter: Stream::new(setup.seed, &format!("{name}/start")),
            answer_at: Time::NEVER,
        }
    }
}
