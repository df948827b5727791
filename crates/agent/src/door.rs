//! The listening side of an agent: accepts each connection of the plan once, and no other connections.

use std::io::{self, Read, Write};
use std::net::{IpAddr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

use netstudy_records::{AgentPlan, AgentRecord, ConnectionPlan, Endpoint, Token};

use crate::failure::Failure;
use crate::greeting::{self, WELCOME};
use crate::socket;

/// Time within which a new connection must send its greeting.
const GREETING_TIME: Duration = Duration::from_secs(5);
/// Largest number of connections that may be greeting at the same time.
const GREETERS_MAX: usize = 256;

/// A connection of the plan that a peer will open.
#[derive(Clone, Copy, Debug)]
struct Expected {
    local: IpAddr,
    peer: IpAddr,
    number: u32,
    is_there: bool,
}

/// A connected peer whose greeting is not complete yet.
#[derive(Debug)]
struct Greeter {
    stream: TcpStream,
    local: IpAddr,
    peer: IpAddr,
    said: [u8; greeting::LENGTH],
    heard: usize,
    until: Instant,
}

/// The listeners, and the connected peers that have not sent a complete greeting yet.
#[derive(Debug)]
pub(crate) struct Door {
    pub(crate) listeners: Vec<TcpListener>,
    token: Token,
    expected: Vec<Expected>,
    greeters: Vec<Option<Greeter>>,
    wrong_address: u64,
    wrong_token: u64,
}

/// Outcome of reading from a connection whose greeting is not complete.
#[derive(Debug)]
pub(crate) enum Greeted {
    /// The greeting is still incomplete.
    NotYet,
    /// The connection was refused and closed.
    Refused,
    /// The greeting is valid; it names the connection with this number.
    Welcome(u32, TcpStream),
}

impl Door {
    /// Listens at each local address to which peers will connect.
    pub(crate) fn open(plan: &AgentPlan) -> Result<Self, Failure> {
        let expected: Vec<_> = (0..).zip(&plan.connections).filter_map(expected).collect();
        let mut addresses: Vec<IpAddr> = expected.iter().map(|one| one.local).collect();
        addresses.sort_unstable();
        addresses.dedup();
        let listen = |address| socket::listen(address, plan);
        Ok(Self {
            listeners: addresses.into_iter().map(listen).collect::<Result<_, _>>()?,
            token: plan.token.clone(),
            expected,
            greeters: Vec::new(),
            wrong_address: 0,
            wrong_token: 0,
        })
    }

    /// Addresses and ports of the listeners.
    pub(crate) fn addresses(&self) -> Result<Vec<Endpoint>, Failure> {
        let address = |listener: &TcpListener| listener.local_addr().map(socket::endpoint);
        self.listeners
            .iter()
            .map(address)
            .collect::<Result<_, _>>()
            .map_err(Failure::run("the port"))
    }

    /// True while the greeting of a connected peer is incomplete.
    pub(crate) fn is_busy(&self) -> bool {
        self.greeters.iter().any(Option::is_some)
    }

    /// Accepts the next peer at a listener. Returns the slot in which the peer waits until its
    /// greeting is complete; none: no peer has connected, or the peer was refused.
    pub(crate) fn accept(
        &mut self,
        listener: usize,
    ) -> Result<Option<(usize, &TcpStream)>, Failure> {
        let (stream, peer) = match self.listeners[listener].accept() {
            Ok(come) => come,
            // The peer closed the connection before this end could accept it: accept(2).
            Err(error) if is_passing(&error) => return Ok(None),
            Err(error) => return Err(Failure::run("accepting a connection")(error)),
        };
        let local = stream.local_addr().map_err(Failure::run("this end of a connection"))?.ip();
        if !self.expected.iter().any(|one| (one.local, one.peer) == (local, peer.ip())) {
            self.wrong_address += 1;
            return Ok(None);
        }
        let place = self.greeters.iter().position(Option::is_none).unwrap_or(self.greeters.len());
        if place == GREETERS_MAX {
            self.wrong_token += 1;
            return Ok(None);
        }
        stream.set_nonblocking(true).map_err(Failure::run("O_NONBLOCK"))?;
        let until = Instant::now() + GREETING_TIME;
        let said = [0; greeting::LENGTH];
        let greeter = Greeter { stream, local, peer: peer.ip(), said, heard: 0, until };
        if place == self.greeters.len() {
            self.greeters.push(None);
        }
        let greeter = self.greeters[place].insert(greeter);
        Ok(Some((place, &greeter.stream)))
    }

    /// Reads more bytes of a greeting.
    pub(crate) fn hear(&mut self, place: usize) -> Greeted {
        let Some(greeter) = &mut self.greeters[place] else { return Greeted::NotYet };
        match greeter.stream.read(&mut greeter.said[greeter.heard..]) {
            Ok(count @ 1..) => greeter.heard += count,
            Err(error) if is_passing(&error) => return Greeted::NotYet,
            Ok(_) | Err(_) => return self.refuse(place),
        }
        if greeter.heard < greeting::LENGTH {
            return Greeted::NotYet;
        }
        let number = greeting::number(&greeter.said, &self.token);
        let is_this = |one: &Expected| {
            let is_to_come = Some(one.number) == number && !one.is_there;
            is_to_come && (one.local, one.peer) == (greeter.local, greeter.peer)
        };
        let Some(known) = self.expected.iter().position(is_this) else {
            return self.refuse(place);
        };
        // The send buffer is empty, so it always has room for one byte.
        if !matches!(greeter.stream.write(&[WELCOME]), Ok(1)) {
            return self.refuse(place);
        }
        let known = &mut self.expected[known];
        known.is_there = true;
        let greeter = self.greeters[place].take().expect("it has greeted");
        Greeted::Welcome(known.number, greeter.stream)
    }

    /// Closes connections whose greeting takes too long.
    pub(crate) fn close_the_late(&mut self) {
        let now = Instant::now();
        for place in 0..self.greeters.len() {
            if self.greeters[place].as_ref().is_some_and(|greeter| greeter.until <= now) {
                self.refuse(place);
            }
        }
    }

    fn refuse(&mut self, place: usize) -> Greeted {
        self.wrong_token += 1;
        self.greeters[place] = None;
        Greeted::Refused
    }

    /// The record of how many connections were refused so far; none for an agent that does not
    /// listen.
    pub(crate) fn record(&self) -> Option<AgentRecord> {
        let Self { wrong_address, wrong_token, .. } = *self;
        (!self.listeners.is_empty()).then_some(AgentRecord::Refused { wrong_address, wrong_token })
    }
}

fn expected((number, connection): (u32, &ConnectionPlan)) -> Option<Expected> {
    match *connection {
        ConnectionPlan::Accept { local, peer } => {
            Some(Expected { local, peer, number, is_there: false })
        }
        ConnectionPlan::Open { .. } => None,
    }
}

fn is_passing(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, Interrupted, WouldBlock};
    matches!(error.kind(), ConnectionAborted | Interrupted | WouldBlock)
}
