//! The poll loop of a load generator: all users in one thread.
//!
//! In a closed loop without think time, a request costs only one `send` and one `recv`. The epoll
//! registration is changed only when a connection is opened or a send buffer is full.

use std::collections::VecDeque;
use std::net::TcpStream;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use netstudy_random::Stream;
use netstudy_records::{AgentRecord, InTime, PhaseKind};
use netstudy_units::{Duration, Time};
use netstudy_workload::transactions::{
    Answer, Failed, Failure as Trouble, Generator, NetworkFailure, Request, ServerFailure,
    TransactionAction,
};
use nix::errno::Errno;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use nix::sys::time::TimeSpec;
use nix::sys::timer::{Expiration, TimerSetTimeFlags};
use nix::sys::timerfd::{ClockId, TimerFd, TimerFlags};

use super::books::Books;
use super::link::{Exchange, Link, Read, Socket, network, network_of};
use super::pages::Pages;
use super::task::HttpTask;
use crate::agent::Agent;
use crate::clock::Clock;
use crate::control::{Event, Interruption, time_limit_message};
use crate::failure::Failure;
use crate::lateness::Lateness;
use crate::progress::Progress;
use crate::socket;
use crate::tallies::HttpTally;

/// Epoll keys of the controller and the timer. The key of a connection consists of the user's
/// number (lower half) and the serial number of the connection among those of this user (upper
/// half).
const CONTROLLER: u64 = u64::MAX;
const TIMER: u64 = u64::MAX - 1;
/// Most events per wait.
const EVENTS: usize = 256;
/// Most bytes per read.
const BUFFER_BYTES: usize = 64 * 1024;
/// File descriptors that the process needs in addition to one per user.
const DESCRIPTORS: u64 = 64;

/// Drives the users until the controller's `stop`, and writes the recorded data. A failed run writes them
/// too: they may show why it failed.
pub(crate) fn run(agent: &Agent<'_>, task: HttpTask) -> Result<(), Failure> {
    make_room(task.generator.users())?;
    agent.output.write(&agent.ready(Vec::new()))?;
    let mut client = Client::new(agent, task)?;
    let outcome = client.drive();
    let written = client.write_records();
    outcome.and(written)
}

/// Raises the limit of open files if the users need more descriptors.
fn make_room(users: u32) -> Result<(), Failure> {
    let (soft, hard) =
        getrlimit(Resource::RLIMIT_NOFILE).map_err(Failure::run("reading RLIMIT_NOFILE"))?;
    let wanted = u64::from(users) + DESCRIPTORS;
    if soft >= wanted {
        return Ok(());
    }
    if hard < wanted {
        return Err(Failure::Run(format!(
            "{users} users need {wanted} open files, but RLIMIT_NOFILE allows this process {hard}"
        )));
    }
    setrlimit(Resource::RLIMIT_NOFILE, wanted, hard).map_err(Failure::run("raising RLIMIT_NOFILE"))
}

struct Client<'a> {
    agent: &'a Agent<'a>,
    generator: Generator<Stream>,
    pages: Pages,
    task: Address,
    links: Vec<Link>,
    clock: Clock,
    epoll: Epoll,
    timer: TimerFd,
    /// The time to which the timer is set.
    timer_at: Time,
    buffer: Vec<u8>,
    /// Deadlines of requests, earliest first: (deadline, user, number of the request).
    deadlines: VecDeque<(Time, u32, u64)>,
    /// Requests so far.
    requests: u64,
    books: Books,
    tally: Arc<HttpTally>,
    lateness: Lateness,
    progress: Progress,
    phase: Phase,
    /// True once the TCP parameters of one connection have been recorded, which is enough.
    is_described: bool,
    /// True while the generator waits for the controller.
    holds: bool,
}

/// Where requests go.
struct Address {
    target: std::net::SocketAddr,
    local: std::net::IpAddr,
    request_timeout: Duration,
}

/// The current phase.
struct Phase {
    name: PhaseKind,
    began: Time,
    over: Option<Time>,
    /// Page elements counted in this phase so far.
    elements: u64,
}

impl Phase {
    const fn new(name: PhaseKind, began: Time) -> Self {
        Self { name, began, over: None, elements: 0 }
    }
}

impl<'a> Client<'a> {
    fn new(agent: &'a Agent<'a>, task: HttpTask) -> Result<Self, Failure> {
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC).map_err(Failure::run("epoll"))?;
        let timer = TimerFd::new(ClockId::CLOCK_MONOTONIC, TimerFlags::TFD_CLOEXEC)
            .map_err(Failure::run("timerfd"))?;
        // Edge-triggered: each expiry causes one event, so the timer need not be read.
        let expired = EpollFlags::EPOLLIN | EpollFlags::EPOLLET;
        epoll
            .add(agent.events.wake(), EpollEvent::new(EpollFlags::EPOLLIN, CONTROLLER))
            .and_then(|()| epoll.add(&timer, EpollEvent::new(expired, TIMER)))
            .map_err(Failure::run("epoll"))?;
        let HttpTask { generator, requests, target, local, host, request_timeout, name } = task;
        let clock = Clock::new();
        Ok(Self {
            agent,
            books: Books::new(generator.names().count()),
            links: (0..generator.users()).map(|_| Link::new()).collect(),
            generator,
            pages: Pages::new(&host, requests, name),
            task: Address { target, local, request_timeout },
            clock,
            epoll,
            timer,
            timer_at: Time::NEVER,
            buffer: vec![0; BUFFER_BYTES],
            deadlines: VecDeque::new(),
            requests: 0,
            tally: agent.tallies.http(),
            lateness: Lateness::default(),
            progress: Progress::new(agent.plan.progress_interval_ms, clock.now()),
            phase: Phase::new(PhaseKind::WarmUp, clock.now()),
            is_described: false,
            holds: false,
        })
    }

    /// Runs until the controller's `stop`.
    fn drive(&mut self) -> Result<(), Failure> {
        self.generator.start(self.clock.now());
        loop {
            self.act()?;
            self.end_late_requests()?;
            let now = self.clock.now();
            if !self.holds && self.progress.is_due(now) {
                self.tell_progress(now)?;
            }
            if !self.wait()? {
                return Ok(());
            }
        }
    }

    /// Performs all actions of the generator that are due: timed ones, and those that follow from
    /// an event.
    fn act(&mut self) -> Result<(), Failure> {
        let now = self.clock.now();
        let due = self.generator.next_action();
        if due == self.timer_at && due <= now {
            self.lateness.add(self.clock, due, now);
        }
        while let Some(action) = self.generator.poll(now) {
            self.carry_out(action, now)?;
        }
        Ok(())
    }

    fn carry_out(&mut self, action: TransactionAction, now: Time) -> Result<(), Failure> {
        match action {
            TransactionAction::Request { client, request } => self.ask(client, request, now)?,
            TransactionAction::Begin { at } => self.phase = Phase::new(PhaseKind::Measure, at),
            TransactionAction::Over { at } => self.phase.over = Some(at),
            TransactionAction::Hold | TransactionAction::End => {
                self.agent.output.write(&self.phase_record(now))?;
                self.holds = true;
            }
            TransactionAction::Ready => unreachable!("agents hold between phases"),
            _ => self.books.note(action),
        }
        Ok(())
    }

    fn phase_record(&self, now: Time) -> AgentRecord {
        let Phase { name, began, over, .. } = self.phase;
        let none = InTime { bytes_received: Vec::new(), bytes_acknowledged: Some(Vec::new()) };
        AgentRecord::Phase {
            name,
            from_ns: self.clock.as_ns(began),
            to_ns: self.clock.as_ns(over.unwrap_or(now)),
            quiet_ns: self.clock.as_ns(now),
            bytes_received: Vec::new(),
            bytes_sent: Vec::new(),
            in_time: over.map(|_| none),
        }
    }

    fn tell_progress(&self, now: Time) -> Result<(), Failure> {
        self.agent.output.write(&AgentRecord::Progress {
            at_ns: self.clock.as_ns(now),
            samples: self.phase.elements,
            bytes: self.tally.bytes().iter().sum(),
        })?;
        Ok(())
    }

    // ---- requests and answers

    /// Sends a user's request, over a new connection if the user has none.
    fn ask(&mut self, client: u32, request: Request, now: Time) -> Result<(), Failure> {
        self.requests += 1;
        self.deadlines.push_back((now + self.task.request_timeout, client, self.requests));
        let link = &mut self.links[client as usize];
        if matches!(request, Request::Login { .. }) {
            link.jar.clear();
        }
        self.pages.write(request, link.jar.header(), &mut link.out);
        link.exchange = Some(Exchange::new(request, self.requests));
        link.taken = 0;
        link.parser.begin();
        match link.socket {
            Socket::Open(_) => self.send(client),
            _ => self.connect(client),
        }
    }

    fn connect(&mut self, client: u32) -> Result<(), Failure> {
        let Address { target, local, .. } = self.task;
        match socket::try_to_connect(local, target, &self.agent.plan.socket)? {
            Ok(stream) => {
                let link = &mut self.links[client as usize];
                let event = EpollEvent::new(EpollFlags::EPOLLOUT, key(client, link.serial));
                self.epoll.add(&stream, event).map_err(Failure::run("epoll"))?;
                link.connect(stream);
                Ok(())
            }
            Err(error) => self.fail(client, network(error)),
        }
    }

    /// Handles the outcome of opening a connection.
    fn connected(&mut self, client: u32) -> Result<(), Failure> {
        let link = &mut self.links[client as usize];
        let Socket::Connecting(stream) = std::mem::replace(&mut link.socket, Socket::Closed) else {
            unreachable!("it was being opened")
        };
        let error = stream.take_error().map_err(Failure::run("SO_ERROR"))?;
        if let Some(error) = error {
            link.close();
            return self.fail(client, network_of(&error));
        }
        if !self.is_described {
            self.is_described = true;
            self.agent.output.write(&socket::describe(client, &stream)?)?;
        }
        look_for(&self.epoll, &stream, EpollFlags::EPOLLIN, key(client, link.serial))?;
        link.socket = Socket::Open(stream);
        self.send(client)
    }

    fn send(&mut self, client: u32) -> Result<(), Failure> {
        let now = self.clock.now();
        let link = &mut self.links[client as usize];
        let before = link.taken;
        let sent = link.send(now);
        let written = (link.taken - before) as u64;
        self.tally.written.fetch_add(written, Ordering::Relaxed);
        match sent {
            Ok(true) => Ok(()),
            Ok(false) => self.look_for_room(client, EpollFlags::EPOLLOUT),
            Err(why) => self.break_off(client, why),
        }
    }

    /// Registers a user's connection for input and, if `room` is EPOLLOUT, for free buffer space.
    fn look_for_room(&mut self, client: u32, room: EpollFlags) -> Result<(), Failure> {
        let link = &self.links[client as usize];
        let Socket::Open(stream) = &link.socket else { return Ok(()) };
        look_for(&self.epoll, stream, EpollFlags::EPOLLIN | room, key(client, link.serial))
    }

    /// Reads the data that have arrived for a user.
    fn receive(&mut self, client: u32) -> Result<(), Failure> {
        let now = self.clock.now();
        let link = &mut self.links[client as usize];
        let before = link.exchange.as_ref().map_or(0, |exchange| exchange.bytes_read);
        let read = link.receive(now, &mut self.buffer);
        let bytes = link.exchange.as_ref().map_or(0, |exchange| exchange.bytes_read) - before;
        self.tally.read.fetch_add(bytes, Ordering::Relaxed);
        match read {
            Read::Nothing => {}
            Read::Answer(closes) => {
                if closes {
                    link.close();
                }
                self.answered(client, now);
            }
            Read::Stray => link.close(),
            Read::Broken(why) => self.break_off(client, why)?,
        }
        Ok(())
    }

    /// Handles a complete response.
    fn answered(&mut self, client: u32, now: Time) {
        let link = &mut self.links[client as usize];
        let status = link.parser.status();
        let Some(exchange) = link.exchange.take() else { return };
        let Exchange { bytes_read, bytes_written, .. } = exchange;
        self.phase.elements += 1;
        if !is_success(exchange.request, status) {
            let why = Trouble::Server(ServerFailure::Status(status));
            return self.generator.failed(now, client, Failed { why, bytes_read, bytes_written });
        }
        let answer = Answer {
            sent: exchange.sent.unwrap_or(now),
            first_byte: exchange.first_byte.unwrap_or(now),
            bytes_read,
            bytes_written,
            holding: exchange.holding(),
        };
        self.generator.answered(now, client, answer);
    }

    /// Closes a connection that broke during a request. The request is repeated or recorded as
    /// failed.
    fn break_off(&mut self, client: u32, why: Trouble) -> Result<(), Failure> {
        let link = &mut self.links[client as usize];
        link.close();
        let may_repeat =
            link.exchange.as_ref().is_some_and(|own| self.pages.may_repeat(own.request));
        if link.repeats(why, may_repeat) {
            return self.connect(client);
        }
        self.fail(client, why)
    }

    /// Records that a user's request has failed.
    #[allow(clippy::unnecessary_wraps, reason = "ends what may fail otherwise")]
    fn fail(&mut self, client: u32, why: Trouble) -> Result<(), Failure> {
        let now = self.clock.now();
        if let Some(Exchange { bytes_read, bytes_written, .. }) =
            self.links[client as usize].exchange.take()
        {
            self.generator.failed(now, client, Failed { why, bytes_read, bytes_written });
        }
        Ok(())
    }

    /// Records each request as failed whose deadline is over.
    fn end_late_requests(&mut self) -> Result<(), Failure> {
        while let Some((_, client, _)) =
            self.next_deadline().filter(|own| own.0 <= self.clock.now())
        {
            self.deadlines.pop_front();
            self.links[client as usize].close();
            self.fail(client, Trouble::Network(NetworkFailure::TimedOut))?;
        }
        Ok(())
    }

    /// The earliest deadline of a request in progress.
    fn next_deadline(&mut self) -> Option<(Time, u32, u64)> {
        loop {
            let &(at, client, number) = self.deadlines.front()?;
            let exchange = self.links[client as usize].exchange.as_ref();
            if exchange.is_some_and(|exchange| exchange.number == number) {
                return Some((at, client, number));
            }
            self.deadlines.pop_front();
        }
    }

    // ---- waiting

    /// Waits until something is due or has happened, and handles it. Returns whether to go on.
    fn wait(&mut self) -> Result<bool, Failure> {
        let patience = self.patience()?;
        let mut events = [EpollEvent::empty(); EVENTS];
        let count = match self.epoll.wait(&mut events, patience) {
            Ok(count) => count,
            Err(Errno::EINTR) => 0,
            Err(error) => return Err(Failure::run("epoll")(error)),
        };
        for event in &events[..count] {
            match event.data() {
                CONTROLLER => {
                    if !self.obey()? {
                        return Ok(false);
                    }
                }
                // Nothing to do: the timer only ends the wait, and the loop then performs due
                // actions.
                TIMER => {}
                key => self.handle(key, event.events())?,
            }
            self.act()?;
        }
        Ok(true)
    }

    fn handle(&mut self, key: u64, events: EpollFlags) -> Result<(), Failure> {
        let (client, serial) = (key as u32, (key >> 32) as u32);
        let link = &self.links[client as usize];
        if link.serial != serial {
            return Ok(());
        }
        match link.socket {
            Socket::Closed => Ok(()),
            Socket::Connecting(_) => self.connected(client),
            Socket::Open(_) => {
                if events.contains(EpollFlags::EPOLLOUT) {
                    self.look_for_room(client, EpollFlags::empty())?;
                    self.send(client)?;
                }
                self.receive(client)
            }
        }
    }

    /// Returns the longest time to wait for events. Also sets the timer to the generator's next
    /// action, if there is one.
    fn patience(&mut self) -> Result<EpollTimeout, Failure> {
        let now = self.clock.now();
        let due = self.generator.next_action();
        if due <= now {
            return Ok(EpollTimeout::ZERO);
        }
        if due != Time::NEVER && due != self.timer_at {
            let ns = self.clock.as_ns(due);
            let at = TimeSpec::new(
                (ns / 1_000_000_000).cast_signed(),
                (ns % 1_000_000_000).cast_signed(),
            );
            self.timer
                .set(Expiration::OneShot(at), TimerSetTimeFlags::TFD_TIMER_ABSTIME)
                .map_err(Failure::run("timerfd"))?;
            self.timer_at = due;
        }
        let sign = if self.holds { Time::NEVER } else { self.progress.next() };
        let deadline = self.next_deadline().map_or(Time::NEVER, |(at, _, _)| at);
        let next = sign.min(deadline);
        if next == Time::NEVER {
            return Ok(EpollTimeout::NONE);
        }
        let ms = next.since(now).as_ns() / 1_000_000 + 1;
        Ok(EpollTimeout::try_from(ms).unwrap_or(EpollTimeout::MAX))
    }

    /// Obeys the controller. Returns whether to go on.
    fn obey(&mut self) -> Result<bool, Failure> {
        for event in self.agent.events.hear() {
            match event {
                Event::Go => {
                    if self.holds && self.generator.go(self.clock.now()) {
                        self.holds = false;
                    }
                }
                Event::Interrupted(Interruption::Stop) => return Ok(false),
                Event::Interrupted(Interruption::TimeLimit) => {
                    return Err(Failure::Run(format!(
                        "{}: {} page elements in this phase",
                        time_limit_message(self.agent.plan.time_limit_ms),
                        self.phase.elements
                    )));
                }
            }
        }
        Ok(true)
    }

    /// Writes the recorded data.
    fn write_records(self) -> Result<(), Failure> {
        let names: Vec<&str> = self.generator.names().collect();
        for record in self.books.into_records(&names, self.generator.counts()) {
            self.agent.output.write(&record)?;
        }
        if let Some(record) = self.lateness.into_record() {
            self.agent.output.write(&record)?;
        }
        Ok(())
    }
}

/// The epoll key of a user's connection.
fn key(client: u32, serial: u32) -> u64 {
    u64::from(serial) << 32 | u64::from(client)
}

fn look_for(
    epoll: &Epoll,
    stream: &TcpStream,
    interest: EpollFlags,
    key: u64,
) -> Result<(), Failure> {
    epoll.modify(stream.as_fd(), &mut EpollEvent::new(interest, key)).map_err(Failure::run("epoll"))
}

/// True for a 2xx status. A 3xx status is a success too, except from the brokerage, which never
/// redirects.
const fn is_success(request: Request, status: u16) -> bool {
    match request {
        Request::Plain { .. } => status < 400,
        _ => status < 300,
    }
}
