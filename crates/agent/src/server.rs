//! A server of an incast: answers each whole request of the client.

use std::fs::File;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::ops::Range;
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::thread;

use netstudy_random::Stream;
use netstudy_records::{AgentRecord, AgentRole, Jitter};
use netstudy_units::Duration;
use nix::sys::memfd::{MFdFlags, memfd_create};
use nix::sys::sendfile::sendfile64;

use crate::Agent;
use crate::clock::Clock;
use crate::control::{Event, Interruption, time_limit_message};
use crate::failure::Failure;
use crate::lateness::Lateness;
use crate::listener::{Door, Refused};
use crate::pattern::{Cursor, Mismatch, random_bytes};
use crate::socket;
use crate::tcp_info;

/// What a server is asked to do.
struct Service<'a> {
    request_bytes: u64,
    response_bytes: u64,
    start_jitter: &'a Jitter,
    jitter: Stream,
}

/// Serves the client until the controller stops it.
pub(crate) fn run(agent: &Agent<'_>, events: Sender<Event>) -> Result<(), Failure> {
    let AgentRole::IncastServer {
        address,
        port,
        client,
        request_bytes,
        response_bytes,
        start_jitter,
        number,
        seed,
    } = &agent.plan.role
    else {
        unreachable!("a server's plan");
    };
    tcp_info::check_kernel()?;
    let listener = socket::listen_at(SocketAddr::new(*address, *port), &agent.plan.socket)?;
    let port = listener.local_addr().map_err(Failure::run("the port"))?.port();
    let refused = Arc::new(Refused::default());
    let door = Door {
        socket: listener,
        client: *client,
        token: agent.plan.token.clone(),
        refused: Arc::clone(&refused),
        events,
    };
    thread::Builder::new()
        .name("listener".to_owned())
        .spawn(move || door.run())
        .map_err(Failure::run("starting a thread"))?;
    agent.output.write(&agent.ready(*address, Some(port)))?;
    let service = Service {
        request_bytes: *request_bytes,
        response_bytes: *response_bytes,
        start_jitter,
        jitter: Stream::new(seed, &format!("server/{number}/start")),
    };
    if let Some(stream) = wait_for_client(agent)? {
        serve(agent, stream, service)?;
    }
    agent.output.write(&refused.record())?;
    Ok(())
}

/// The client's connection; none if the server is stopped before.
fn wait_for_client(agent: &Agent<'_>) -> Result<Option<TcpStream>, Failure> {
    loop {
        match agent.events.recv() {
            Ok(Event::Connected(stream)) => return Ok(Some(stream)),
            Ok(Event::Go) => {}
            Ok(Event::Interrupted(Interruption::TimeLimit)) => {
                let limit = time_limit_message(agent.plan.time_limit_ms);
                return Err(Failure::Run(format!("{limit}: no client has come")));
            }
            Ok(Event::Interrupted(Interruption::Stop)) | Err(_) => return Ok(None),
        }
    }
}

fn serve(agent: &Agent<'_>, stream: TcpStream, service: Service<'_>) -> Result<(), Failure> {
    socket::set_patience(&stream, agent.patience())?;
    agent.output.write(&socket::describe(&stream)?)?;
    let waker = stream.try_clone().map_err(Failure::run("a second handle of a connection"))?;
    agent.interrupts.shut_down_then(waker);
    let mut connection = Connection::new(stream, service, agent.plan.socket.zero_copy)?;
    let outcome = connection.serve();
    match agent.interrupts.interruption() {
        // Whatever broke then was broken by the shutdown.
        Some(Interruption::Stop) => {}
        Some(Interruption::TimeLimit) => {
            let limit = time_limit_message(agent.plan.time_limit_ms);
            return Err(Failure::Run(format!("{limit}: {}", connection.whereabouts())));
        }
        None => {
            outcome?;
            wait_for_stop(agent)?;
        }
    }
    connection.write_records(agent)
}

/// The client has closed its connection: it is stopped before its servers, or it is gone, which its
/// own controller sees.
fn wait_for_stop(agent: &Agent<'_>) -> Result<(), Failure> {
    loop {
        match agent.events.recv() {
            Ok(Event::Interrupted(Interruption::TimeLimit)) => {
                let limit = time_limit_message(agent.plan.time_limit_ms);
                return Err(Failure::Run(format!("{limit}: the client is gone")));
            }
            Ok(Event::Interrupted(Interruption::Stop)) | Err(_) => return Ok(()),
            Ok(Event::Go | Event::Connected(_)) => {}
        }
    }
}

/// What is kept of each request.
#[derive(Default)]
struct Served {
    requested_ns: Vec<u64>,
    begun_ns: Vec<u64>,
    answered_ns: Vec<u64>,
    retransmissions: Vec<u64>,
    timeouts: Vec<u64>,
}

impl Served {
    fn add_losses(&mut self, stream: &TcpStream) -> Result<(), Failure> {
        let losses = tcp_info::losses(stream).map_err(Failure::run("reading TCP_INFO"))?;
        self.retransmissions.push(losses.retransmissions);
        self.timeouts.push(losses.timeouts);
        Ok(())
    }
}

/// The connection of the client.
struct Connection<'a> {
    stream: TcpStream,
    peer: SocketAddr,
    service: Service<'a>,
    clock: Clock,
    random: Vec<u8>,
    /// The same bytes as a file in memory, which the kernel sends from without a copy; none: they are
    /// copied.
    file: Option<File>,
    requests: Cursor,
    responses: Cursor,
    buffer: Vec<u8>,
    served: Served,
    lateness: Lateness,
}

impl<'a> Connection<'a> {
    fn new(stream: TcpStream, service: Service<'a>, zero_copy: bool) -> Result<Self, Failure> {
        let random = random_bytes();
        let peer = stream.peer_addr().map_err(Failure::run("the other end of a connection"))?;
        let file = if zero_copy { Some(in_memory(&random)) } else { None };
        let file = file.transpose().map_err(Failure::run("a file in memory"))?;
        let buffer_bytes = service.request_bytes.min(64 * 1024) as usize;
        Ok(Self {
            stream,
            peer,
            service,
            clock: Clock::new(),
            file,
            random,
            requests: Cursor::default(),
            responses: Cursor::default(),
            buffer: vec![0; buffer_bytes],
            served: Served::default(),
            lateness: Lateness::default(),
        })
    }

    /// Answers requests until the client closes the connection between two of them.
    fn serve(&mut self) -> Result<(), Failure> {
        while self.read_request()? {
            let requested = self.clock.now();
            self.served.requested_ns.push(self.clock.as_ns(requested));
            self.served.add_losses(&self.stream)?;
            let delay = self.service.jitter.delay(self.service.start_jitter);
            if delay > Duration::ZERO {
                self.clock.sleep_until(requested + delay);
            }
            let begun = self.clock.now();
            if delay > Duration::ZERO {
                self.lateness.add(self.clock, requested + delay, begun);
            }
            self.served.begun_ns.push(self.clock.as_ns(begun));
            self.send_response()?;
            self.served.answered_ns.push(self.clock.as_ns(self.clock.now()));
        }
        Ok(())
    }

    /// Reads one request; none comes if the client has closed the connection.
    fn read_request(&mut self) -> Result<bool, Failure> {
        self.requests.begin(self.service.request_bytes);
        while self.requests.left() > 0 {
            let room = self.requests.left().min(self.buffer.len() as u64) as usize;
            let count = match self.stream.read(&mut self.buffer[..room]) {
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(self.broken(&error)),
            };
            if count == 0 && self.requests.left() == self.service.request_bytes {
                return Ok(false);
            }
            if count == 0 {
                return Err(self.broken(&"it closed the connection"));
            }
            self.requests.verify(&self.random, &self.buffer[..count]).map_err(
                |Mismatch { at }| self.broken(&format!("byte {at} of a read is not what it sends")),
            )?;
        }
        Ok(true)
    }

    fn send_response(&mut self) -> Result<(), Failure> {
        self.responses.begin(self.service.response_bytes);
        while self.responses.left() > 0 {
            match self.send(self.responses.piece()) {
                Ok(count) => self.responses.advance(count),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(self.broken(&error)),
            }
        }
        Ok(())
    }

    /// Hands as many of the bytes of `piece` to the kernel as it takes at once.
    fn send(&mut self, piece: Range<usize>) -> io::Result<usize> {
        let Some(file) = &self.file else { return self.stream.write(&self.random[piece]) };
        let mut offset = piece.start.cast_signed() as i64;
        Ok(sendfile64(&self.stream, file, Some(&mut offset), piece.len())?)
    }

    fn broken(&self, why: &dyn std::fmt::Display) -> Failure {
        Failure::Run(format!("{}: {why}", self.whereabouts()))
    }

    /// What is going on with the client.
    fn whereabouts(&self) -> String {
        let Service { request_bytes, response_bytes, .. } = self.service;
        let number = self.served.requested_ns.len();
        if self.responses.left() > 0 {
            let taken = response_bytes - self.responses.left();
            return format!(
                "client {} has taken {taken} of {response_bytes} bytes of response {number}",
                self.peer
            );
        }
        let sent = request_bytes - self.requests.left();
        format!(
            "client {} has sent {sent} of {request_bytes} bytes of request {}",
            self.peer,
            number + 1
        )
    }

    fn write_records(mut self, agent: &Agent<'_>) -> Result<(), Failure> {
        self.served.add_losses(&self.stream)?;
        let Served { requested_ns, begun_ns, answered_ns, retransmissions, timeouts } = self.served;
        agent.output.write(&AgentRecord::Served {
            requested_ns,
            begun_ns,
            answered_ns,
            retransmissions,
            timeouts,
        })?;
        if let Some(pacing) = self.lateness.into_record() {
            agent.output.write(&pacing)?;
        }
        Ok(())
    }
}

/// A file in memory with the contents `bytes`.
fn in_memory(bytes: &[u8]) -> io::Result<File> {
    let mut file = File::from(memfd_create(c"responses", MFdFlags::MFD_CLOEXEC)?);
    file.write_all(bytes)?;
    Ok(file)
}
