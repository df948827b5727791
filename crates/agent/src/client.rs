//! The client of an incast: asks every server at once, waits for all, repeats.

use std::net::{SocketAddr, TcpStream};
use std::os::fd::{AsFd, AsRawFd};

use netstudy_records::{AgentRecord, AgentRole, PhaseName};
use netstudy_units::{Duration, Time};
use netstudy_workload::Incast;
use nix::errno::Errno;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use nix::sys::socket::{MsgFlags, recv, send};
use nix::sys::timer::{Expiration, TimerSetTimeFlags};
use nix::sys::timerfd::{ClockId, TimerFd, TimerFlags};

use crate::Agent;
use crate::clock::Clock;
use crate::control::{Event, Interruption, time_limit_message};
use crate::failure::Failure;
use crate::greeting;
use crate::lateness::Lateness;
use crate::pattern::{Cursor, Mismatch, random_bytes};
use crate::progress::Progress;
use crate::socket;

/// What is read at once at most: more would delay a request that becomes due meanwhile.
const READ_BYTES: usize = 128 * 1024;
/// What the poller calls the end of the traffic, and the timer; servers have their index.
const WAKE: u64 = u64::MAX;
const TIMER: u64 = u64::MAX - 1;

/// What the client is asked to do.
struct Task<'a> {
    request_bytes: u64,
    response_bytes: &'a [u64],
    request_spacing: Duration,
    silence_limit_ms: Option<u32>,
    progress_interval_ms: Option<u32>,
}

/// Makes the client's traffic until the controller stops it.
pub(crate) fn run(agent: &Agent<'_>) -> Result<(), Failure> {
    let AgentRole::IncastClient {
        address,
        servers,
        request_bytes,
        response_bytes,
        iterations,
        warmup_iterations,
        request_spacing_ns,
        silence_limit_ms,
        progress_interval_ms,
    } = &agent.plan.role
    else {
        unreachable!("a client's plan");
    };
    agent.output.write(&agent.ready(*address, None))?;
    let task = Task {
        request_bytes: *request_bytes,
        response_bytes,
        request_spacing: Duration::from_ns(*request_spacing_ns),
        silence_limit_ms: *silence_limit_ms,
        progress_interval_ms: *progress_interval_ms,
    };
    let mut client = Client::new(agent, task)?;
    for server in servers {
        client.connect(*address, SocketAddr::new(server.address, server.port))?;
    }
    let mut measured = Phase::default();
    if client.iterate(*warmup_iterations)?.is_some()
        && client.wait_for_go(PhaseName::WarmedUp)?
        && let Some(phase) = client.iterate(*iterations)?
    {
        measured = phase;
        client.wait_for_go(PhaseName::Measured)?;
    }
    client.write_records(measured)
}

/// When the iterations of a phase were.
#[derive(Default)]
struct Phase {
    started_ns: Vec<u64>,
    ended_ns: Vec<u64>,
}

/// The connection to one server.
struct Peer {
    stream: TcpStream,
    address: SocketAddr,
    requests: Cursor,
    responses: Cursor,
    /// Bytes received in this phase.
    received: u64,
    times: Times,
}

/// When the requests of a phase to one server were, in nanoseconds.
#[derive(Default)]
struct Times {
    intended: Vec<u64>,
    sent: Vec<u64>,
    first_byte: Vec<u64>,
    done: Vec<u64>,
}

impl Times {
    fn with_room(iterations: usize) -> Self {
        let [intended, sent, first_byte, done] =
            std::array::from_fn(|_| Vec::with_capacity(iterations));
        Self { intended, sent, first_byte, done }
    }
}

struct Client<'a> {
    agent: &'a Agent<'a>,
    task: Task<'a>,
    clock: Clock,
    epoll: Epoll,
    timer: TimerFd,
    peers: Vec<Peer>,
    random: Vec<u8>,
    buffer: Vec<u8>,
    verified_bytes: u64,
    lateness: Lateness,
    progress: Progress,
}

impl<'a> Client<'a> {
    fn new(agent: &'a Agent<'a>, task: Task<'a>) -> Result<Self, Failure> {
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC).map_err(Failure::run("epoll"))?;
        let timer = TimerFd::new(ClockId::CLOCK_MONOTONIC, TimerFlags::TFD_CLOEXEC)
            .map_err(Failure::run("timerfd"))?;
        epoll
            .add(agent.interrupts.wake(), EpollEvent::new(EpollFlags::EPOLLIN, WAKE))
            .and_then(|()| epoll.add(&timer, EpollEvent::new(EpollFlags::EPOLLIN, TIMER)))
            .map_err(Failure::run("epoll"))?;
        let clock = Clock::new();
        Ok(Self {
            agent,
            progress: Progress::new(task.progress_interval_ms, clock.now()),
            task,
            clock,
            epoll,
            timer,
            peers: Vec::new(),
            random: random_bytes(),
            buffer: vec![0; READ_BYTES],
            verified_bytes: 0,
            lateness: Lateness::default(),
        })
    }

    fn connect(&mut self, from: std::net::IpAddr, to: SocketAddr) -> Result<(), Failure> {
        let patience = self
            .silence_limit()
            .map_or(self.agent.patience(), |limit| limit.min(self.agent.patience()));
        let stream = socket::connect_to(from, to, &self.agent.plan.socket, patience)?;
        greeting::greet(&stream, &self.agent.plan.token)
            .map_err(Failure::run(format!("server {to} does not welcome this client")))?;
        self.agent.output.write(&socket::describe(&stream)?)?;
        let event = EpollEvent::new(EpollFlags::EPOLLIN, self.peers.len() as u64);
        self.epoll.add(stream.as_fd(), event).map_err(Failure::run("epoll"))?;
        self.peers.push(Peer {
            stream,
            address: to,
            requests: Cursor::default(),
            responses: Cursor::default(),
            received: 0,
            times: Times::default(),
        });
        Ok(())
    }

    /// Carries out `iterations`, one after the other; none if the controller stops it before.
    fn iterate(&mut self, iterations: u32) -> Result<Option<Phase>, Failure> {
        for peer in &mut self.peers {
            peer.received = 0;
            peer.times = Times::with_room(iterations as usize);
        }
        self.lateness = Lateness::default();
        let mut phase = Phase::default();
        if iterations == 0 {
            return Ok(Some(phase));
        }
        let responses = self.task.response_bytes.to_vec();
        let mut incast = Incast::of_responses(responses, iterations, self.task.request_spacing);
        incast.start(self.clock.now());
        while !incast.is_done() {
            let now = self.send_due_requests(&mut incast)?;
            self.tell_progress(now, &phase)?;
            if !self.wait(&mut incast, &mut phase)? {
                return Ok(None);
            }
        }
        Ok(Some(phase))
    }

    /// Sends what is due; the time at which nothing more was.
    fn send_due_requests(&mut self, incast: &mut Incast) -> Result<Time, Failure> {
        loop {
            let due = incast.next_request();
            let now = self.clock.now();
            let Some(server) = incast.poll_request(now) else { return Ok(now) };
            if server > 0 {
                self.lateness.add(self.clock, due, now);
            }
            let times = &mut self.peers[server as usize].times;
            times.intended.push(self.clock.as_ns(due));
            times.sent.push(self.clock.as_ns(now));
            self.send_request(server as usize)?;
        }
    }

    /// A sign of life, if it is time for one: bytes are under way meanwhile, so nothing waits for it.
    fn tell_progress(&mut self, now: Time, phase: &Phase) -> Result<(), Failure> {
        if self.progress.is_due(now) {
            self.agent.output.write(&AgentRecord::Progress {
                at_ns: self.clock.as_ns(now),
                iterations: phase.ended_ns.len() as u32,
                bytes: self.verified_bytes,
            })?;
        }
        Ok(())
    }

    fn send_request(&mut self, server: usize) -> Result<(), Failure> {
        let peer = &mut self.peers[server];
        peer.responses.begin(self.task.response_bytes[server]);
        peer.requests.begin(self.task.request_bytes);
        while peer.requests.left() > 0 {
            let piece = &self.random[peer.requests.piece()];
            match send(peer.stream.as_raw_fd(), piece, MsgFlags::MSG_NOSIGNAL) {
                Ok(count) => peer.requests.advance(count),
                Err(Errno::EINTR) => {}
                Err(error) => {
                    let why = format!("it takes no request: {}", error.desc());
                    return Err(self.broken(server, &why));
                }
            }
        }
        Ok(())
    }

    /// Waits until the next request is due, or something has come, and reads that. Whether to go on.
    fn wait(&mut self, incast: &mut Incast, phase: &mut Phase) -> Result<bool, Failure> {
        let due = incast.next_request();
        if due != Time::NEVER {
            if self.clock.is_near(due) {
                self.clock.spin_until(due);
                return Ok(true);
            }
            let at = Expiration::OneShot(self.clock.wake_up(due));
            self.timer
                .set(at, TimerSetTimeFlags::TFD_TIMER_ABSTIME)
                .map_err(Failure::run("timerfd"))?;
        }
        let mut events = [EpollEvent::empty(); 64];
        let patience = self.task.silence_limit_ms.map_or(Ok(EpollTimeout::NONE), TryFrom::try_from);
        let count = match self.epoll.wait(&mut events, patience.unwrap_or(EpollTimeout::MAX)) {
            Ok(0) if due == Time::NEVER => return Err(self.silence()),
            Ok(count) => count,
            Err(Errno::EINTR) => 0,
            Err(error) => return Err(Failure::run("epoll")(error)),
        };
        for event in &events[..count] {
            match event.data() {
                WAKE => return self.interrupted(),
                TIMER => self.timer.wait().map_err(Failure::run("timerfd"))?,
                server => self.receive(server as usize, incast, phase)?,
            }
        }
        Ok(true)
    }

    /// Reads what has come from a server.
    fn receive(
        &mut self,
        server: usize,
        incast: &mut Incast,
        phase: &mut Phase,
    ) -> Result<(), Failure> {
        let peer = &mut self.peers[server];
        let fd = peer.stream.as_raw_fd();
        let count = match recv(fd, &mut self.buffer, MsgFlags::MSG_DONTWAIT) {
            Ok(0) => return Err(self.broken(server, "it closed the connection")),
            Ok(count) => count,
            Err(Errno::EINTR | Errno::EAGAIN) => return Ok(()),
            Err(error) => return Err(self.broken(server, error.desc())),
        };
        let now = self.clock.now();
        let now_ns = self.clock.as_ns(now);
        if peer.responses.left() == self.task.response_bytes[server] {
            peer.times.first_byte.push(now_ns);
        }
        if let Err(Mismatch { at }) = peer.responses.verify(&self.random, &self.buffer[..count]) {
            let why = format!("byte {at} of the next {count} is not what it must send");
            return Err(self.broken(server, &why));
        }
        self.verified_bytes += count as u64;
        let before = peer.received;
        peer.received += count as u64;
        if peer.responses.left() == 0 {
            peer.times.done.push(now_ns);
        }
        if let Some(done) = incast.handle_received(now, server as u32, before, peer.received) {
            phase.started_ns.push(self.clock.as_ns(done.started));
            phase.ended_ns.push(self.clock.as_ns(done.ended));
        }
        Ok(())
    }

    /// Says that a phase has ended, and waits for the controller. Whether to go on.
    fn wait_for_go(&self, ended: PhaseName) -> Result<bool, Failure> {
        let at_ns = self.clock.as_ns(self.clock.now());
        self.agent.output.write(&AgentRecord::Phase { name: ended, at_ns })?;
        loop {
            match self.agent.events.recv() {
                Ok(Event::Go) if ended == PhaseName::WarmedUp => return Ok(true),
                Ok(Event::Interrupted(_)) | Err(_) => return self.interrupted(),
                Ok(_) => {}
            }
        }
    }

    /// The traffic is over: it is not to go on, or it is an error that it has not ended.
    fn interrupted(&self) -> Result<bool, Failure> {
        if self.agent.interrupts.interruption() == Some(Interruption::TimeLimit) {
            let limit = time_limit_message(self.agent.plan.time_limit_ms);
            return Err(Failure::Run(format!("{limit}: {}", self.missing())));
        }
        Ok(false)
    }

    /// How long a server that owes something may be silent.
    fn silence_limit(&self) -> Option<std::time::Duration> {
        self.task.silence_limit_ms.map(|ms| std::time::Duration::from_millis(ms.into()))
    }

    fn silence(&self) -> Failure {
        let limit_ms = self.task.silence_limit_ms.unwrap_or_default();
        Failure::Run(format!("nothing has come for {limit_ms} ms: {}", self.missing()))
    }

    /// Which servers owe how much.
    fn missing(&self) -> String {
        let owing = |server: &usize| self.peers[*server].responses.left() > 0;
        let servers: Vec<_> =
            (0..self.peers.len()).filter(owing).map(|server| self.whereabouts(server)).collect();
        if servers.is_empty() {
            "no `go` or `stop` has come".to_owned()
        } else {
            servers.join("; ")
        }
    }

    fn broken(&self, server: usize, why: &str) -> Failure {
        Failure::Run(format!("{}: {why}", self.whereabouts(server)))
    }

    fn whereabouts(&self, server: usize) -> String {
        let Peer { address, responses, times, .. } = &self.peers[server];
        let asked = self.task.response_bytes[server];
        let (has, number) = (asked - responses.left(), times.sent.len());
        format!("server {address} has sent {has} of {asked} bytes of response {number}")
    }

    fn write_records(self, phase: Phase) -> Result<(), Failure> {
        let output = &self.agent.output;
        let Phase { started_ns, ended_ns } = phase;
        output.write(&AgentRecord::Iterations { started_ns, ended_ns })?;
        for (server, peer) in self.peers.into_iter().enumerate() {
            output.write(&AgentRecord::Requests {
                server: server as u32,
                intended_ns: peer.times.intended,
                sent_ns: peer.times.sent,
                first_byte_ns: peer.times.first_byte,
                done_ns: peer.times.done,
            })?;
        }
        if let Some(pacing) = self.lateness.into_record() {
            output.write(&pacing)?;
        }
        output.write(&AgentRecord::Verified { bytes: self.verified_bytes })?;
        Ok(())
    }
}
