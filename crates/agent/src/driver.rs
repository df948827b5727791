//! The poll loop: drives an application over the kernel's TCP.
//!
//! One thread waits for all of these at the same time: sockets, the application's next action, and
//! the controller. It passes events to the application and takes actions from
//! [`Application::poll`]. If the application asks for acknowledgments, the thread reports them
//! before each timed action.

use std::net::SocketAddr;
use std::ops::Range;
use std::os::fd::{AsFd, AsRawFd};
use std::sync::Arc;

use netstudy_records::{ConnectionPlan, Taken};
use netstudy_units::{Duration, Time};
use netstudy_workload::{Action, Application, Owed};
use nix::errno::Errno;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use nix::sys::socket::{MsgFlags, recv, send};
use nix::sys::timer::{Expiration, TimerSetTimeFlags};
use nix::sys::timerfd::{ClockId, TimerFd, TimerFlags};

use crate::agent::Agent;
use crate::clock::Clock;
use crate::connection::{Bytes, Connection, Read, State};
use crate::control::{Event, Interruption, time_limit_message};
use crate::door::{Door, Greeted};
use crate::failure::Failure;
use crate::greeting::{self, WELCOME};
use crate::lateness::Lateness;
use crate::progress::Progress;
use crate::readings::Reading;
use crate::recorder::{ConnectionBytes, Recorder};
use crate::seconds::Seconds;
use crate::socket;
use crate::tallies::{Carried, Tally};
use crate::tcp_info;
use crate::workloads;

/// Epoll keys of the controller and the timer. The key of a connection is its number. The keys of
/// listeners and of greeting peers have a bit set that is never set in a connection number.
const CONTROLLER: u64 = u64::MAX;
const TIMER: u64 = u64::MAX - 1;
const LISTENER: u64 = 1 << 62;
const GREETER: u64 = 1 << 61;

/// While many actions are due one after the other, the thread still polls for events at least this
/// often. A longer interval would delay responses; a shorter one would delay actions.
const LOOK_INTERVAL: Duration = Duration::from_us(100);

/// A wait for events that takes longer than this had none at its beginning.
const IDLE_MIN: Duration = Duration::from_us(10);

/// Connections whose greeting takes too long are closed at least this often.
const DOOR_CHECK_MS: u16 = 1_000;

/// Drives the application until the controller stops it, and writes the recorded data. A failed run
/// writes them too: they may show why it failed.
pub(crate) fn run(
    agent: &Agent<'_>,
    application: Box<dyn Application>,
    workload_connections: u32,
) -> Result<(), Failure> {
    let door = Door::open(agent.plan)?;
    agent.output.write(&agent.ready(door.addresses()?))?;
    let mut driver = Driver::new(agent, application, door, workload_connections)?;
    let outcome = driver.drive();
    let written = driver.write_records();
    outcome.and(written)
}

struct Driver<'a> {
    agent: &'a Agent<'a>,
    application: Box<dyn Application>,
    connections: Vec<Connection>,
    door: Door,
    bytes: Bytes,
    clock: Clock,
    epoll: Epoll,
    timer: TimerFd,
    /// The time to which the timer is set.
    timer_at: Time,
    /// When the driver last polled for events.
    looked: Time,
    /// When events last ended a time in which there were none.
    idle: Time,
    /// When the application was last called: time of the last event or timed poll.
    told: Time,
    recorder: Recorder,
    /// The table of seconds; none: seconds are not recorded.
    seconds: Option<Seconds>,
    workload_connections: u32,
    lateness: Lateness,
    progress: Progress,
    silence_limit: Option<Duration>,
    silence_check: Time,
    /// True while the application waits for the controller's `go`.
    holds: bool,
}

impl<'a> Driver<'a> {
    fn new(
        agent: &'a Agent<'a>,
        application: Box<dyn Application>,
        door: Door,
        workload_connections: u32,
    ) -> Result<Self, Failure> {
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC).map_err(Failure::run("epoll"))?;
        let timer = TimerFd::new(ClockId::CLOCK_MONOTONIC, TimerFlags::TFD_CLOEXEC)
            .map_err(Failure::run("timerfd"))?;
        let event = |token| EpollEvent::new(EpollFlags::EPOLLIN, token);
        epoll
            .add(agent.events.wake(), event(CONTROLLER))
            .and_then(|()| epoll.add(&timer, event(TIMER)))
            .map_err(Failure::run("epoll"))?;
        for (token, listener) in (LISTENER..).zip(&door.listeners) {
            epoll.add(listener, event(token)).map_err(Failure::run("epoll"))?;
        }
        let (plan, clock) = (agent.plan, Clock::new());
        let connections: Vec<_> = plan.connections.iter().copied().map(Connection::new).collect();
        // Only clients report silence and progress, because a server may rightly receive nothing
        // for a long time.
        let asks = connections.iter().any(Connection::is_ours);
        let limit_ms = plan.silence_limit_ms.filter(|_| asks);
        Ok(Self {
            agent,
            application,
            connections,
            door,
            bytes: Bytes::new(plan.socket.zero_copy)?,
            clock,
            epoll,
            timer,
            timer_at: Time::NEVER,
            looked: clock.now(),
            idle: clock.now(),
            told: Time::ZERO,
            recorder: Recorder::new(plan, workload_connections, clock),
            seconds: Seconds::of(plan),
            workload_connections,
            lateness: Lateness::default(),
            progress: Progress::new(plan.progress_interval_ms.filter(|_| asks), clock.now()),
            silence_limit: limit_ms.map(|ms| Duration::from_ms(ms.into())),
            silence_check: clock.now(),
            holds: false,
        })
    }

    /// Runs until the controller's `stop`.
    fn drive(&mut self) -> Result<(), Failure> {
        loop {
            self.act()?;
            let now = self.clock.now();
            if !self.holds && self.progress.is_due(now) {
                let record = self.recorder.progress(now, &self.connection_bytes());
                self.agent.output.write(&record)?;
            }
            self.note_second(now)?;
            self.check_silence(now)?;
            if !self.wait()? {
                return Ok(());
            }
        }
    }

    /// Performs due actions for at most `LOOK_INTERVAL`, after which events must be polled.
    fn act(&mut self) -> Result<(), Failure> {
        let until = self.clock.now() + LOOK_INTERVAL;
        loop {
            let (due, now) = (self.application.next_action(), self.clock.now());
            if due > now || now > until {
                return Ok(());
            }
            // An action that answers an event is due at the time of that event; all others are
            // timed actions.
            let is_timed = due != self.told;
            if is_timed {
                self.told = now;
                self.tell_acknowledgments(now)?;
            }
            let Some(action) = self.application.poll(now) else { return Ok(()) };
            if is_timed && matches!(action, Action::Write { .. } | Action::Stream { .. }) {
                self.lateness.add(self.clock, due, now);
            }
            self.carry_out(action, due, now)?;
        }
    }

    fn carry_out(&mut self, action: Action, due: Time, now: Time) -> Result<(), Failure> {
        match action {
            Action::Open { connection } => self.open(connection, now)?,
            Action::Write { connection, bytes } => {
                self.write(connection, due, now, |own| own.write(bytes))?;
            }
            Action::Stream { connection } => {
                self.write(connection, due, now, Connection::write_endlessly)?;
            }
            Action::Finish { connection, bytes } => {
                let total = self.connections[connection as usize].finish_stream(bytes);
                self.application.finished(connection, total);
                self.flush(connection)?;
            }
            Action::Close { connection } => {
                self.connections[connection as usize].close();
                self.flush(connection)?;
            }
            Action::Begin => {
                self.recorder.begin(due, self.connection_bytes());
                let carried = self.carried_by_workload()?;
                if let Some(seconds) = &mut self.seconds {
                    seconds.begin(due, carried);
                }
            }
            Action::Sample(sample) => self.recorder.sample(sample),
            Action::Over => {
                let carried = self.carried()?;
                self.recorder.over(now, &carried);
                if let Some(seconds) = &mut self.seconds {
                    seconds.end(due, &carried[..self.workload_connections as usize]);
                }
            }
            Action::Read { .. } => unreachable!("agents read data as they arrive"),
            Action::Ready => unreachable!("agents hold between phases"),
            Action::Hold | Action::End => {
                let record = self.recorder.phase_record(now, &self.connection_bytes());
                self.agent.output.write(&record)?;
                self.holds = true;
            }
        }
        Ok(())
    }

    /// Queues bytes of the application by `write`, and passes them to the kernel as far as it has room.
    fn write(
        &mut self,
        connection: u32,
        due: Time,
        now: Time,
        write: impl FnOnce(&mut Connection),
    ) -> Result<(), Failure> {
        self.recorder.wrote(connection, due, now);
        self.take_reading(connection, Taken::BeforeResponses)?;
        // If this end already waits for the peer, a new request must not restart the time of its
        // silence.
        let is_waited_for = self.is_waited_for(connection);
        let own = &mut self.connections[connection as usize];
        write(own);
        if !is_waited_for {
            own.last = now;
        }
        self.flush(connection)
    }

    fn connection_bytes(&self) -> ConnectionBytes {
        self.connections.iter().map(|one| (one.received(), one.sent())).collect()
    }

    /// Adds rows to the table of seconds if a second of the measuring phase has ended. A phase that
    /// ends after a count of samples has no known end until all clients have finished, so in that
    /// case seconds are recorded until the agent is stopped.
    fn note_second(&mut self, now: Time) -> Result<(), Failure> {
        if self.end_of_second() > now {
            return Ok(());
        }
        let carried = self.carried_by_workload()?;
        if let Some(seconds) = &mut self.seconds {
            seconds.add(now, &carried);
        }
        Ok(())
    }

    fn end_of_second(&self) -> Time {
        self.seconds.as_ref().map_or(Time::NEVER, Seconds::due)
    }

    fn carried(&self) -> Result<Vec<Carried>, Failure> {
        self.connections.iter().map(carried).collect()
    }

    fn carried_by_workload(&self) -> Result<Vec<Carried>, Failure> {
        self.connections[..self.workload_connections as usize].iter().map(carried).collect()
    }

    /// Reports acknowledged bytes to the application. They are polled, because the kernel sends no
    /// event when an acknowledgment arrives.
    fn tell_acknowledgments(&mut self, now: Time) -> Result<(), Failure> {
        if !self.application.hears_acknowledgments() {
            return Ok(());
        }
        for (number, connection) in (0..).zip(&self.connections) {
            if connection.state == State::Open
                && let Some(total) = acknowledged(connection)?
            {
                self.application.acknowledged(now, number, total);
            }
        }
        Ok(())
    }

    /// Reads a connection if the recording wants that at such moments.
    fn take_reading(&mut self, connection: u32, moment: Taken) -> Result<(), Failure> {
        if self.recorder.wants_readings(connection, moment) {
            let stream = self.connections[connection as usize].stream();
            let values = tcp_info::values(stream).map_err(Failure::run("reading TCP_INFO"))?;
            let idle_ns = self.clock.as_ns(self.idle);
            let reading = Reading::now(&values, self.agent.scheduling.spent(), Some(idle_ns));
            self.recorder.read(connection, &reading);
        }
        Ok(())
    }

    /// Begins to open a connection.
    fn open(&mut self, number: u32, now: Time) -> Result<(), Failure> {
        let ConnectionPlan::Open { local, peer, .. } = self.agent.plan.connections[number as usize]
        else {
            unreachable!("only connections of the kind `open` are opened");
        };
        let to = SocketAddr::new(peer.address, peer.port);
        let stream = socket::begin_to_connect(local, to, &self.agent.plan.socket)?;
        let connection = &mut self.connections[number as usize];
        connection.set(State::Connecting, Arc::new(Tally::new(number, to, stream)), now);
        connection.interest = EpollFlags::EPOLLOUT;
        let event = EpollEvent::new(connection.interest, u64::from(number));
        self.epoll.add(connection.stream(), event).map_err(Failure::run("epoll"))
    }

    /// Sends the greeting on a connection that has been established, or reports that opening it failed.
    fn greet(&mut self, number: u32) -> Result<(), Failure> {
        let ConnectionPlan::Open { peer_number, .. } = self.agent.plan.connections[number as usize]
        else {
            unreachable!("it was opened from here");
        };
        let connection = &mut self.connections[number as usize];
        let error = connection.stream().take_error().map_err(Failure::run("SO_ERROR"))?;
        if let Some(error) = error {
            return Err(self.broken(number, &error.to_string()));
        }
        let greeting = greeting::greeting(&self.agent.plan.token, peer_number);
        // The send buffer is empty, so it has room for the greeting.
        match send(connection.stream().as_raw_fd(), &greeting, MsgFlags::MSG_NOSIGNAL) {
            Ok(count) if count == greeting.len() => {}
            Ok(_) => return Err(self.broken(number, "the greeting could not be sent in full")),
            Err(error) => return Err(self.broken(number, error.desc())),
        }
        connection.state = State::Greeting;
        self.look_for(number, EpollFlags::EPOLLIN)
    }

    /// Reads the answer to the greeting.
    fn hear_welcome(&mut self, number: u32) -> Result<(), Failure> {
        let mut answer = [0];
        let fd = self.connections[number as usize].stream().as_raw_fd();
        match recv(fd, &mut answer, MsgFlags::MSG_DONTWAIT) {
            Ok(1) if answer == [WELCOME] => {}
            Ok(0) => return Err(self.broken(number, "it closed the connection")),
            Ok(_) => return Err(self.broken(number, "it sent an unexpected answer")),
            Err(Errno::EAGAIN | Errno::EINTR) => return Ok(()),
            Err(error) => return Err(self.broken(number, error.desc())),
        }
        // The peer has answered, so the whole greeting is acknowledged: subtract this count from
        // later ones.
        let connection = &mut self.connections[number as usize];
        let acknowledged = tcp_info::bytes_acknowledged(connection.stream())
            .map_err(Failure::run("reading TCP_INFO"))?;
        let needs_it = workloads::of(&self.agent.plan.workload).needs_acknowledgments();
        if acknowledged.is_none() && needs_it {
            return Err(Failure::Run(
                "the kernel does not report acknowledged bytes (TCP_INFO), without which data that \
                 a client sends cannot be counted"
                    .to_owned(),
            ));
        }
        connection.acknowledged_before = acknowledged.unwrap_or_default();
        self.opened(number)
    }

    /// Tells the application that a connection is open at both ends.
    fn opened(&mut self, number: u32) -> Result<(), Failure> {
        let connection = &mut self.connections[number as usize];
        connection.state = State::Open;
        self.agent.output.write(&socket::describe(number, connection.stream())?)?;
        let tally = Arc::clone(connection.tally());
        self.agent.tallies.add(tally);
        self.told = self.clock.now();
        self.application.opened(self.told, number);
        self.flush(number)
    }

    /// Hands written data to the kernel. If the buffer is full, asks epoll to report free space.
    fn flush(&mut self, number: u32) -> Result<(), Failure> {
        let connection = &mut self.connections[number as usize];
        if connection.state != State::Open {
            return Ok(());
        }
        let had = connection.pending() > 0;
        let had_no_room = connection.interest.contains(EpollFlags::EPOLLOUT);
        match connection.flush(&self.bytes) {
            // The buffer has space again because the peer has received data.
            Ok(true) if had_no_room => connection.last = self.clock.now(),
            Ok(_) => {}
            Err(why) => return Err(self.broken(number, &why)),
        }
        let is_done = connection.pending() == 0;
        if had && is_done {
            self.recorder.flushed(number);
        }
        let room = if is_done { EpollFlags::empty() } else { EpollFlags::EPOLLOUT };
        self.look_for(number, EpollFlags::EPOLLIN | room)
    }

    fn look_for(&mut self, number: u32, interest: EpollFlags) -> Result<(), Failure> {
        let connection = &mut self.connections[number as usize];
        if connection.interest == interest {
            return Ok(());
        }
        connection.interest = interest;
        let mut event = EpollEvent::new(interest, u64::from(number));
        self.epoll.modify(connection.stream(), &mut event).map_err(Failure::run("epoll"))
    }

    /// Waits until something is due or has happened, and handles it. Returns whether to go on.
    fn wait(&mut self) -> Result<bool, Failure> {
        let due = self.application.next_action();
        let is_near = due != Time::NEVER && self.clock.is_near(due);
        // `due` is too near to sleep, but events must still be polled every `LOOK_INTERVAL`.
        if is_near && self.clock.now() < self.looked + LOOK_INTERVAL {
            self.clock.spin_until(due);
            return Ok(true);
        }
        if !is_near && due != Time::NEVER {
            self.set_timer(due)?;
        }
        let patience = if is_near { EpollTimeout::ZERO } else { self.patience() };
        let mut events = [EpollEvent::empty(); 64];
        let asked = self.clock.now();
        let waited = self.epoll.wait(&mut events, patience);
        self.looked = self.clock.now();
        if self.looked.since(asked) > IDLE_MIN {
            self.idle = self.looked;
        }
        let count = match waited {
            Ok(count) => count,
            Err(Errno::EINTR) => 0,
            Err(error) => return Err(Failure::run("epoll")(error)),
        };
        for event in &events[..count] {
            if !self.handle(event.data(), event.events())? {
                return Ok(false);
            }
            self.act()?;
        }
        if self.door.is_busy() {
            self.door.close_the_late();
        }
        Ok(true)
    }

    fn set_timer(&mut self, due: Time) -> Result<(), Failure> {
        if due != self.timer_at {
            let at = Expiration::OneShot(self.clock.wake_up(due));
            self.timer
                .set(at, TimerSetTimeFlags::TFD_TIMER_ABSTIME)
                .map_err(Failure::run("timerfd"))?;
            self.timer_at = due;
        }
        Ok(())
    }

    /// The longest time to wait for events, because some conditions are checked at intervals.
    fn patience(&self) -> EpollTimeout {
        let silence_ms = self.silence_limit.map(|limit| limit.as_ns() / 1_000_000 / 8 + 1);
        let door_ms = self.door.is_busy().then_some(u64::from(DOOR_CHECK_MS));
        let sign = Some(self.progress.next()).filter(|sign| !self.holds && *sign != Time::NEVER);
        let sign_ms = sign.map(|at| at.since(self.clock.now()).as_ns() / 1_000_000 + 1);
        let second = Some(self.end_of_second()).filter(|second| *second != Time::NEVER);
        let second_ms = second.map(|at| at.since(self.clock.now()).as_ns() / 1_000_000 + 1);
        let ms = silence_ms.into_iter().chain(door_ms).chain(sign_ms).chain(second_ms).min();
        ms.map_or(EpollTimeout::NONE, |ms| EpollTimeout::try_from(ms).unwrap_or(EpollTimeout::MAX))
    }

    /// Handles an event. Returns whether to go on.
    fn handle(&mut self, token: u64, what: EpollFlags) -> Result<bool, Failure> {
        match token {
            CONTROLLER => return self.listen_to_controller(),
            TIMER => {
                self.timer.wait().map_err(Failure::run("timerfd"))?;
                self.timer_at = Time::NEVER;
            }
            _ if token & LISTENER != 0 => self.accept((token - LISTENER) as usize)?,
            _ if token & GREETER != 0 => self.hear_greeting((token - GREETER) as usize)?,
            _ => self.handle_connection(token as u32, what)?,
        }
        Ok(true)
    }

    fn handle_connection(&mut self, number: u32, what: EpollFlags) -> Result<(), Failure> {
        match self.connections[number as usize].state {
            State::Connecting => self.greet(number),
            State::Greeting => self.hear_welcome(number),
            State::Open => {
                // Writing comes first, because data that waits for buffer space is older than data
                // that just arrived.
                if what.contains(EpollFlags::EPOLLOUT) {
                    self.flush(number)?;
                }
                if what.intersects(!EpollFlags::EPOLLOUT) {
                    self.receive(number)?;
                }
                Ok(())
            }
            State::Absent | State::Closed => Ok(()),
        }
    }

    /// Reads arrived data.
    fn receive(&mut self, number: u32) -> Result<(), Failure> {
        let connection = &mut self.connections[number as usize];
        let read = connection.receive(&mut self.bytes);
        let now = self.clock.now();
        match read {
            Ok(Read::Nothing) => {}
            Ok(Read::Bytes { before, total, ends_stream }) => {
                connection.last = now;
                self.recorder.received(number, now);
                self.told = now;
                if ends_stream {
                    self.application.ends_at(number, total);
                }
                self.application.received(now, number, before, total);
                if self.recorder.wants_ends() && self.owed(number).is_none() {
                    self.recorder.answered(number, now);
                    self.take_reading(number, Taken::AtLastBytes)?;
                }
            }
            Ok(Read::End) => return self.end(number, now),
            Err(why) => return Err(self.broken(number, &why)),
        }
        Ok(())
    }

    /// Handles the peer's FIN. Only a client may close the connection, and only between two messages.
    fn end(&mut self, number: u32, now: Time) -> Result<(), Failure> {
        let is_owed = self.owed(number).is_some();
        let connection = &mut self.connections[number as usize];
        if connection.is_ours() || is_owed || connection.pending() > 0 {
            return Err(self.broken(number, "it closed the connection"));
        }
        connection.state = State::Closed;
        self.epoll.delete(connection.stream()).map_err(Failure::run("epoll"))?;
        self.told = now;
        self.application.closed(now, number);
        Ok(())
    }

    /// A peer has connected to a listener.
    fn accept(&mut self, listener: usize) -> Result<(), Failure> {
        if let Some((place, stream)) = self.door.accept(listener)? {
            let event = EpollEvent::new(EpollFlags::EPOLLIN, GREETER + place as u64);
            self.epoll.add(stream.as_fd(), event).map_err(Failure::run("epoll"))?;
        }
        Ok(())
    }

    fn hear_greeting(&mut self, place: usize) -> Result<(), Failure> {
        let Greeted::Welcome(number, stream) = self.door.hear(place) else { return Ok(()) };
        let peer = stream.peer_addr().map_err(Failure::run("the other end of a connection"))?;
        let now = self.clock.now();
        let connection = &mut self.connections[number as usize];
        connection.set(State::Open, Arc::new(Tally::new(number, peer, stream)), now);
        self.look_for(number, EpollFlags::EPOLLIN)?;
        self.opened(number)
    }

    /// Obeys the controller. Returns whether to go on.
    fn listen_to_controller(&mut self) -> Result<bool, Failure> {
        for event in self.agent.events.hear() {
            match event {
                Event::Go => self.go(),
                Event::Interrupted(Interruption::Stop) => return Ok(false),
                Event::Interrupted(Interruption::TimeLimit) => {
                    let limit = time_limit_message(self.agent.plan.time_limit_ms);
                    return Err(Failure::Run(format!("{limit}: {}", self.missing())));
                }
            }
        }
        Ok(true)
    }

    fn go(&mut self) {
        let now = self.clock.now();
        // `go` has no effect on an application that is not waiting for it.
        if self.holds && self.application.go(now) {
            self.told = now;
            self.holds = false;
            let bytes = self.connection_bytes();
            self.recorder.go(now, bytes);
        }
    }

    fn owed(&self, number: u32) -> Option<Owed> {
        self.application.owed(number, self.connections[number as usize].received())
    }

    /// True while the agent waits for the peer: for its greeting, for its data, or for it to read
    /// the data that this end has buffered.
    fn is_waited_for(&self, number: u32) -> bool {
        let connection = &self.connections[number as usize];
        match connection.state {
            State::Connecting | State::Greeting => true,
            State::Open => connection.pending() > 0 || self.owed(number).is_some(),
            State::Absent | State::Closed => false,
        }
    }

    /// Fails if the peers that the agent waits for have been silent for longer than the limit.
    fn check_silence(&mut self, now: Time) -> Result<(), Failure> {
        let Some(limit) = self.silence_limit else { return Ok(()) };
        if self.holds || now < self.silence_check {
            return Ok(());
        }
        self.silence_check = now + limit.div(8);
        // The probe's connections count only if no peer of the workload is awaited: a probe that
        // still runs must not hide a silent workload.
        let (workload, all) = (self.workload_connections, self.connections.len() as u32);
        let heard = self.heard(0..workload).or_else(|| self.heard(workload..all));
        if heard.is_some_and(|heard| heard + limit <= now) {
            let limit_ms = limit.as_ns() / 1_000_000;
            let why = format!("no data received for {limit_ms} ms: {}", self.missing());
            return Err(Failure::Run(why));
        }
        Ok(())
    }

    /// When any of the peers that the agent waits for last sent something; none: it waits for no
    /// peer.
    fn heard(&self, numbers: Range<u32>) -> Option<Time> {
        numbers
            .filter(|&number| self.is_waited_for(number))
            .map(|number| self.connections[number as usize].last)
            .max()
    }

    /// Describes the peers that the agent waits for, and the data that are missing.
    fn missing(&self) -> String {
        let whereabouts = |number: u32| {
            let connection = &self.connections[number as usize];
            let is_absent = connection.state == State::Absent && !connection.is_ours();
            let is_missing =
                is_absent || connection.state == State::Closed || self.is_waited_for(number);
            is_missing.then(|| connection.whereabouts(self.owed(number)))
        };
        let all: Vec<_> = (0..self.connections.len() as u32).filter_map(whereabouts).collect();
        match (all.is_empty(), self.holds) {
            (false, _) => all.join("; "),
            (true, true) => "no `go` or `stop` received from the controller".to_owned(),
            (true, false) => "no `stop` received from the controller".to_owned(),
        }
    }

    fn broken(&self, number: u32, why: &str) -> Failure {
        let whereabouts = self.connections[number as usize].whereabouts(self.owed(number));
        Failure::Run(format!("{whereabouts}: {why}"))
    }

    fn write_records(mut self) -> Result<(), Failure> {
        // A server reads its connection when it writes the next message. The last message has no
        // successor, so the connection is read here.
        for number in 0..self.connections.len() as u32 {
            if self.connections[number as usize].state != State::Absent {
                self.take_reading(number, Taken::BeforeResponses)?;
            }
        }
        if self.end_of_second() != Time::NEVER {
            let carried = self.carried_by_workload()?;
            if let Some(seconds) = &mut self.seconds {
                seconds.end(self.clock.now(), &carried);
            }
        }
        let output = &self.agent.output;
        for record in self.recorder.into_records() {
            output.write(&record)?;
        }
        if let Some(seconds) = self.seconds.and_then(Seconds::into_record) {
            output.write(&seconds)?;
        }
        if let Some(pacing) = self.lateness.into_record() {
            output.write(&pacing)?;
        }
        if let Some(refused) = self.door.record() {
            output.write(&refused)?;
        }
        Ok(())
    }
}

fn carried(connection: &Connection) -> Result<Carried, Failure> {
    Ok(Carried { received: connection.received(), acknowledged: acknowledged(connection)? })
}

/// How many bytes of the application the peer has acknowledged on an open connection; none: the
/// kernel does not report that.
fn acknowledged(connection: &Connection) -> Result<Option<u64>, Failure> {
    let total = tcp_info::bytes_acknowledged(connection.stream())
        .map_err(Failure::run("reading TCP_INFO"))?;
    Ok(total.map(|total| total.saturating_sub(connection.acknowledged_before)))
}
