//! The FTP sessions of a server. The plan lists the addresses at which the server listens and the
//! addresses of its clients; other clients cannot log in. The server never opens a connection. It
//! accepts a data connection only from the address of the client whose session it belongs to.

use std::collections::BTreeMap;
use std::net::{IpAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use netstudy_records::{AgentRecord, ConnectionPlan, Direction};
use netstudy_workload::ftp::{FileTrouble, Lines, Reply, ServerSession, ServerStep};
use nix::poll::PollFlags;
use subtle::ConstantTimeEq;

use super::carriers::Carriers;
use super::carry::{Cargo, Carried, Way};
use super::files::{FILE_NAME, Files};
use super::tally::SessionTally;
use super::task::{ServerTask, USER_PREFIX};
use super::text::{Heard, hear, is_passing, say, wait_for, waited};
use crate::agent::Agent;
use crate::clock::Clock;
use crate::control::{Event, Interruption, time_limit_message};
use crate::failure::Failure;
use crate::pattern::random_bytes;
use crate::socket;

/// How many more sessions may be open at the same time than the plan has connections.
const SPARE_SESSIONS: usize = 16;
/// Time within which a client must log in.
const LOGIN_TIME: Duration = Duration::from_secs(10);
/// Time within which a client must open the data connection of a transfer.
const DATA_TIME: Duration = Duration::from_secs(10);
/// How often the server checks whether clients are late.
const LOOK: Duration = Duration::from_secs(1);
/// Largest number of command bytes that may be waiting during a transfer.
const AHEAD_BYTES: usize = 64 * 1024;

/// Runs a server's task.
pub(super) fn run(agent: &Agent<'_>, task: &ServerTask) -> Result<(), Failure> {
    let mut server = Server::new(agent, task)?;
    let mut listening = Vec::new();
    for listener in &server.listeners {
        listening.push(socket::endpoint(listener.local_addr().map_err(Failure::run("the port"))?));
    }
    agent.output.write(&agent.ready(listening))?;
    let outcome = server.drive();
    let refused = AgentRecord::Refused {
        wrong_address: server.wrong_address,
        wrong_token: server.wrong_login,
    };
    let written = agent.output.write(&refused).map_err(Failure::from);
    outcome.and(written)
}

/// A connection of the plan. It has one session at a time; when the session has ended, a client may
/// log in again.
struct Row {
    local: IpAddr,
    peer: IpAddr,
    tally: Arc<SessionTally>,
    is_taken: bool,
    is_described: bool,
}

struct Session {
    control: Arc<TcpStream>,
    local: IpAddr,
    peer: IpAddr,
    machine: ServerSession,
    lines: Lines,
    /// Number of bytes that were read but not handled yet.
    ahead: usize,
    row: Option<usize>,
    passive: Option<TcpListener>,
    data: Option<Arc<TcpStream>>,
    /// A transfer that waits for its data connection: the path, whether the server is the receiver,
    /// and the deadline for the data connection.
    wanted: Option<(String, bool, Instant)>,
    is_carrying: bool,
    opened: Instant,
}

struct Server<'a> {
    agent: &'a Agent<'a>,
    task: &'a ServerTask,
    listeners: Vec<TcpListener>,
    rows: Vec<Row>,
    sessions: BTreeMap<u64, Session>,
    next_session: u64,
    files: Files,
    carriers: Carriers,
    random: Arc<Vec<u8>>,
    clock: Clock,
    wrong_address: u64,
    wrong_login: u64,
}

/// A source of events that the server polls.
#[derive(Clone, Copy)]
enum Waited {
    Controller,
    Carriers,
    Listener(usize),
    Control(u64),
    Passive(u64),
}

impl<'a> Server<'a> {
    fn new(agent: &'a Agent<'a>, task: &'a ServerTask) -> Result<Self, Failure> {
        let plan = agent.plan;
        let row = |(number, connection): (u32, &ConnectionPlan)| {
            let &ConnectionPlan::Accept { local, peer } = connection else {
                unreachable!("a server accepts its connections")
            };
            let tally = Arc::new(SessionTally::new(number));
            Row { local, peer, tally, is_taken: false, is_described: false }
        };
        let rows: Vec<Row> = (0..).zip(&plan.connections).map(row).collect();
        // Several connections of the plan may have the same local address, but only one socket can
        // listen at it.
        let mut addresses: Vec<IpAddr> = rows.iter().map(|row| row.local).collect();
        addresses.sort_unstable();
        addresses.dedup();
        let listen = |address| socket::listen(address, plan);
        let listeners = addresses.into_iter().map(listen).collect::<Result<_, _>>()?;
        let random = random_bytes();
        let file = &task.file;
        let mut files = Files::open(&file.store, file.size_bytes, task.data_path)?;
        if file.direction == Direction::Get {
            files.make(FILE_NAME, &random)?;
        }
        Ok(Self {
            agent,
            task,
            listeners,
            rows,
            sessions: BTreeMap::new(),
            next_session: 0,
            files,
            carriers: Carriers::new(&agent.scheduling)?,
            random: Arc::new(random),
            clock: Clock::new(),
            wrong_address: 0,
            wrong_login: 0,
        })
    }

    /// Runs until the controller's `stop`.
    fn drive(&mut self) -> Result<(), Failure> {
        while self.wait()? {
            self.close_the_late();
        }
        Ok(())
    }

    /// Waits until something has happened, and handles it. Returns whether to go on.
    fn wait(&mut self) -> Result<bool, Failure> {
        let mut what = vec![Waited::Controller, Waited::Carriers];
        let mut fds = vec![
            waited(self.agent.events.wake(), PollFlags::POLLIN),
            waited(&*self.carriers.wake, PollFlags::POLLIN),
        ];
        for (number, listener) in self.listeners.iter().enumerate() {
            what.push(Waited::Listener(number));
            fds.push(waited(listener, PollFlags::POLLIN));
        }
        for (&number, session) in &self.sessions {
            // If a client sends many commands during a transfer, they are left in the TCP buffers:
            // flow control then stops the client, and the server's memory does not fill up.
            if session.ahead < AHEAD_BYTES {
                what.push(Waited::Control(number));
                fds.push(waited(&*session.control, PollFlags::POLLIN));
            }
            if let (Some(passive), None) = (&session.passive, &session.data) {
                what.push(Waited::Passive(number));
                fds.push(waited(passive, PollFlags::POLLIN));
            }
        }
        let is_timed =
            self.sessions.values().any(|one| one.wanted.is_some() || !one.machine.is_known());
        wait_for(&mut fds, is_timed.then_some(LOOK))?;
        let happened = what.into_iter().zip(&fds).filter(|(_, fd)| fd.any() == Some(true));
        let happened: Vec<Waited> = happened.map(|(what, _)| what).collect();
        for what in happened {
            match what {
                Waited::Controller => {
                    if !self.obey()? {
                        return Ok(false);
                    }
                }
                Waited::Carriers => {
                    for (number, carried) in self.carriers.ended() {
                        self.ended(number, &carried)?;
                    }
                }
                Waited::Listener(listener) => self.accept(listener)?,
                Waited::Control(number) => self.hear(number)?,
                Waited::Passive(number) => self.take_data(number)?,
            }
        }
        Ok(true)
    }

    /// Obeys the controller. Returns whether to go on.
    fn obey(&self) -> Result<bool, Failure> {
        for event in self.agent.events.hear() {
            match event {
                Event::Go => {}
                Event::Interrupted(Interruption::Stop) => return Ok(false),
                Event::Interrupted(Interruption::TimeLimit) => {
                    let limit = time_limit_message(self.agent.plan.time_limit_ms);
                    return Err(Failure::Run(format!(
                        "{limit}: no `stop` received from the controller"
                    )));
                }
            }
        }
        Ok(true)
    }

    /// Accepts a client.
    fn accept(&mut self, listener: usize) -> Result<(), Failure> {
        let (stream, peer) = match self.listeners[listener].accept() {
            Ok(come) => come,
            Err(error) if is_passing(&error) => return Ok(()),
            Err(error) => return Err(Failure::run("accepting a connection")(error)),
        };
        let Ok(local) = stream.local_addr() else { return Ok(()) };
        let (local, peer) = (local.ip(), peer.ip());
        if !self.rows.iter().any(|row| (row.local, row.peer) == (local, peer)) {
            self.wrong_address += 1;
            return Ok(());
        }
        stream.set_nonblocking(true).map_err(Failure::run("O_NONBLOCK"))?;
        let (machine, greeting) = ServerSession::new();
        // Too many sessions: sends 421 instead of the greeting, and closes the connection (RFC 959,
        // 5.4).
        if self.sessions.len() >= self.rows.len() + SPARE_SESSIONS {
            self.wrong_login += 1;
            let _ = say(&stream, &Reply::new(421, "Too many sessions.").to_string());
            return Ok(());
        }
        if say(&stream, &greeting.to_string()).is_err() {
            return Ok(());
        }
        let session = Session {
            control: Arc::new(stream),
            local,
            peer,
            machine,
            lines: Lines::default(),
            ahead: 0,
            row: None,
            passive: None,
            data: None,
            wanted: None,
            is_carrying: false,
            opened: Instant::now(),
        };
        self.sessions.insert(self.next_session, session);
        self.next_session += 1;
        Ok(())
    }

    /// Reads a client's commands.
    fn hear(&mut self, number: u64) -> Result<(), Failure> {
        let Some(session) = self.sessions.get_mut(&number) else { return Ok(()) };
        match hear(&session.control) {
            Ok(Heard::Bytes(bytes)) => {
                session.ahead += bytes.len();
                session.lines.push(&bytes);
                self.take_lines(number)
            }
            Ok(Heard::Nothing) => Ok(()),
            Ok(Heard::End) | Err(_) => {
                self.close(number);
                Ok(())
            }
        }
    }

    /// Answers the lines that have been read, one after the other, until the session is busy with a
    /// transfer.
    fn take_lines(&mut self, number: u64) -> Result<(), Failure> {
        loop {
            let Some(session) = self.sessions.get_mut(&number) else { return Ok(()) };
            if session.machine.is_busy() {
                return Ok(());
            }
            let Ok(line) = session.lines.take() else {
                let reply = Reply::new(500, "A line is too long, or no text.");
                return self.follow(number, ServerStep::Close(reply));
            };
            let Some(line) = line else {
                session.ahead = 0;
                return Ok(());
            };
            let step = session.machine.command(&line);
            self.follow(number, step)?;
        }
    }

    fn follow(&mut self, number: u64, step: ServerStep) -> Result<(), Failure> {
        let Some(session) = self.sessions.get_mut(&number) else { return Ok(()) };
        match step {
            ServerStep::Reply(reply) => self.say(number, &reply),
            ServerStep::Close(reply) => {
                self.say(number, &reply);
                self.close(number);
            }
            ServerStep::Check { user, password } => {
                let (local, peer) = (session.local, session.peer);
                let row = self.row_of(&user, &password, local, peer);
                return self.checked(number, row);
            }
            // A new PASV replaces the data connection of an earlier PASV.
            ServerStep::Listen => {
                // Without a free port the client gets a reply that says so.
                let passive = socket::listen_anywhere(session.local, self.agent.plan).ok();
                let at = passive.as_ref().and_then(|one| one.local_addr().ok());
                let reply = session.machine.listening(at);
                (session.passive, session.data) = (passive, None);
                self.say(number, &reply);
            }
            ServerStep::Measure { path } => {
                let reply = session.machine.sized(self.files.size(&path));
                self.say(number, &reply);
            }
            ServerStep::Open { path, receives } => {
                session.wanted = Some((path, receives, Instant::now() + DATA_TIME));
                return self.begin(number);
            }
        }
        Ok(())
    }

    fn say(&mut self, number: u64, reply: &Reply) {
        let Some(session) = self.sessions.get(&number) else { return };
        // Sending fails if the client does not read its replies; then the session ends.
        if say(&session.control, &reply.to_string()).is_err() {
            self.close(number);
        }
    }

    /// Index of the row for this user; none: the user may not log in.
    fn row_of(&self, user: &str, password: &str, local: IpAddr, peer: IpAddr) -> Option<usize> {
        let is_free = |row: &Row| !row.is_taken && (row.local, row.peer) == (local, peer);
        let is_password = |known: &[u8]| bool::from(known.ct_eq(password.as_bytes()));
        if let Some(login) = &self.task.file.login {
            let is_known = is_password(login.password.as_bytes()) && login.user == user;
            return is_known.then(|| self.rows.iter().position(is_free))?;
        }
        let row: usize = user.strip_prefix(USER_PREFIX)?.parse().ok()?;
        let is_known = is_password(self.agent.plan.token.as_bytes());
        (is_known && self.rows.get(row).is_some_and(is_free)).then_some(row)
    }

    fn checked(&mut self, number: u64, row: Option<usize>) -> Result<(), Failure> {
        let Some(session) = self.sessions.get_mut(&number) else { return Ok(()) };
        session.row = row;
        let step = session.machine.known(row.is_some());
        match row.map(|row| (row, &mut self.rows[row])) {
            None => self.wrong_login += 1,
            Some((row, known)) => {
                known.is_taken = true;
                known.tally.open_control(&session.control);
                if !std::mem::replace(&mut known.is_described, true) {
                    let described = socket::describe(row as u32, &session.control)?;
                    self.agent.output.write(&described)?;
                    self.agent.tallies.add(Arc::clone(&known.tally) as Arc<_>);
                }
            }
        }
        self.follow(number, step)
    }

    /// Accepts a connection to the port of a data connection.
    fn take_data(&mut self, number: u64) -> Result<(), Failure> {
        let Some(session) = self.sessions.get_mut(&number) else { return Ok(()) };
        let Some(passive) = &session.passive else { return Ok(()) };
        match passive.accept() {
            Ok((stream, peer)) if peer.ip() == session.peer => {
                session.data = Some(Arc::new(stream));
                session.passive = None;
                self.begin(number)
            }
            Ok(_) => {
                self.wrong_address += 1;
                Ok(())
            }
            Err(error) if is_passing(&error) => Ok(()),
            Err(error) => Err(Failure::run("accepting a data connection")(error)),
        }
    }

    /// Starts the transfer of a session if it has been requested and its data connection is open.
    fn begin(&mut self, number: u64) -> Result<(), Failure> {
        let Some(session) = self.sessions.get_mut(&number) else { return Ok(()) };
        if session.data.is_none() {
            return Ok(());
        }
        let Some((path, receives, _)) = session.wanted.take() else { return Ok(()) };
        let stream = session.data.take().expect("it has come");
        let row = session.row.expect("a client that has logged in has a row");
        let file = &self.task.file;
        let way = match (receives, file.direction) {
            (true, Direction::Get) => Err(FileTrouble::NotTaken),
            (true, _) => {
                // Only a client that is no agent of the run wants to find its file again.
                let sink = match &file.login {
                    Some(_) => self.files.sink(&path),
                    None => self.files.passing_sink(),
                };
                sink.map(|sink| Way::In {
                    sink,
                    verify: file.verify,
                    most: if file.verify { file.size_bytes } else { u64::MAX },
                    whole: file.verify.then_some(file.size_bytes),
                })
            }
            (false, _) => self.files.source(&path).map(Way::Out),
        };
        let reply = session.machine.opened(way.as_ref().err());
        if let Ok(way) = way {
            session.is_carrying = true;
            let tally = Arc::clone(&self.rows[row].tally);
            tally.open_data(&stream);
            session.data = Some(Arc::clone(&stream));
            // Sent before the transfer starts, because reply 150 must come before reply 226.
            self.say(number, &reply);
            let random = Arc::clone(&self.random);
            let cargo = Cargo { stream, way, tally, clock: self.clock, random };
            return self.carriers.start(number, cargo);
        }
        self.say(number, &reply);
        self.take_lines(number)
    }

    /// Handles the end of a transfer, successful or not.
    fn ended(&mut self, number: u64, carried: &Carried) -> Result<(), Failure> {
        let Some(session) = self.sessions.get_mut(&number) else { return Ok(()) };
        (session.data, session.is_carrying) = (None, false);
        let reply = session.machine.carried(carried.as_ref().err());
        self.say(number, &reply);
        self.take_lines(number)
    }

    /// Ends a session and its current transfer.
    fn close(&mut self, number: u64) {
        let Some(session) = self.sessions.remove(&number) else { return };
        if let Some(data) = &session.data {
            let _ = data.shutdown(std::net::Shutdown::Both);
        }
        if let Some(row) = session.row {
            self.rows[row].tally.close_control();
            self.rows[row].is_taken = false;
        }
    }

    /// Ends sessions that take too long to log in, and transfers whose data connection is not opened in
    /// time.
    fn close_the_late(&mut self) {
        let now = Instant::now();
        let is_late =
            |session: &Session| !session.machine.is_known() && session.opened + LOGIN_TIME <= now;
        let late: Vec<u64> = self
            .sessions
            .iter()
            .filter(|(_, one)| is_late(one))
            .map(|(&number, _)| number)
            .collect();
        for number in late {
            self.wrong_login += 1;
            self.say(number, &Reply::new(421, "The log-in took too long."));
            self.close(number);
        }
        // A late data connection fails only its transfer: the session continues after 425 (RFC 959, 5.4).
        let is_alone =
            |session: &Session| session.wanted.as_ref().is_some_and(|(_, _, until)| *until <= now);
        let alone: Vec<u64> = self
            .sessions
            .iter()
            .filter(|(_, one)| is_alone(one))
            .map(|(&number, _)| number)
            .collect();
        for number in alone {
            let Some(session) = self.sessions.get_mut(&number) else { continue };
            (session.wanted, session.passive) = (None, None);
            let reply = session.machine.opened(Some(&FileTrouble::NoConnection));
            self.say(number, &reply);
        }
    }
}
