//! The FTP sessions of a client: a poll loop like that of [`crate::driver`], but with control
//! connections that carry text and a new data connection for each file.

use std::net::{IpAddr, SocketAddr, TcpStream};
use std::sync::Arc;

use netstudy_records::{AgentRecord, ConnectionPlan, Direction, Endpoint, FtpLogin};
use netstudy_units::{Duration, Time};
use netstudy_workload::ftp::{
    ClientSession, Command, FileTrouble, FtpAction, FtpClient, Login, RemoteFile, Replies,
};
use nix::poll::PollFlags;

use super::carriers::Carriers;
use super::carry::{Cargo, Carried, Way};
use super::files::{FILE_NAME, Files, Sink};
use super::tally::SessionTally;
use super::task::{ClientTask, USER_PREFIX};
use super::text::{Heard, hear, say, wait_for, waited};
use crate::agent::Agent;
use crate::clock::Clock;
use crate::control::{Event, Interruption, time_limit_message};
use crate::failure::Failure;
use crate::pattern::random_bytes;
use crate::progress::Progress;
use crate::recorder::{ConnectionBytes, Recorder};
use crate::seconds::Seconds;
use crate::socket;
use crate::tallies;

/// How long the client waits, after a failed transfer, for the reply in which the server gives the
/// reason.
const REASON_TIME: Duration = Duration::from_secs(1);

/// Runs a client's task.
pub(super) fn run(agent: &Agent<'_>, task: &ClientTask) -> Result<(), Failure> {
    let mut client = Client::new(agent, task)?;
    agent.output.write(&agent.ready(Vec::new()))?;
    let outcome = client.drive();
    let written = client.write_records();
    outcome.and(written)
}

/// State of the control connection of a flow.
enum Control {
    Absent,
    Connecting(Arc<TcpStream>),
    Open(Arc<TcpStream>),
}

/// State of the data connection of a flow.
enum Data {
    Absent,
    Connecting(Arc<TcpStream>),
    /// Open; the transfer has not started yet.
    Open(Arc<TcpStream>),
    /// A thread transfers the file over it.
    Carrying,
}

struct Flow {
    local: IpAddr,
    server: SocketAddr,
    control: Control,
    data: Data,
    replies: Replies,
    tally: Arc<SessionTally>,
    /// When the client started to open the control connection.
    begun: Time,
    /// When data last came from the server, and the bytes transferred until then.
    last: Time,
    last_bytes: [u64; 2],
    /// Why a transfer failed, and until when to wait for the server's own reason.
    failed: Option<(String, Time)>,
}

#[derive(Default)]
struct LogIns {
    connection: Vec<u32>,
    connect_ns: Vec<u64>,
    login_ns: Vec<u64>,
}

struct Client<'a> {
    agent: &'a Agent<'a>,
    task: &'a ClientTask,
    sessions: FtpClient,
    flows: Vec<Flow>,
    files: Files,
    carriers: Carriers,
    random: Arc<Vec<u8>>,
    clock: Clock,
    recorder: Recorder,
    seconds: Option<Seconds>,
    log_ins: LogIns,
    progress: Progress,
    silence_limit: Option<Duration>,
    /// True while the client waits for the controller's `go`.
    holds: bool,
}

/// A source of events that the client polls.
#[derive(Clone, Copy)]
enum Waited {
    Controller,
    Carriers,
    Control(usize),
    Data(usize),
}

impl<'a> Client<'a> {
    fn new(agent: &'a Agent<'a>, task: &'a ClientTask) -> Result<Self, Failure> {
        let plan = agent.plan;
        let sends = task.file.direction == Direction::Put;
        let (mut flows, mut sessions) = (Vec::new(), Vec::new());
        for (number, connection) in (0..).zip(&plan.connections) {
            let &ConnectionPlan::Open { local, peer, peer_number } = connection else {
                unreachable!("a client opens its connections")
            };
            // All clients of a run store their files in the same folder of the server, so the names
            // must differ.
            let path =
                if sends { format!("{}-{peer_number}", task.path) } else { task.path.clone() };
            let file = RemoteFile { path, bytes: task.file.size_bytes, sends };
            let address = match peer.address {
                IpAddr::V4(address) => Some(address),
                IpAddr::V6(_) => None,
            };
            let login = login(task.file.login.as_ref(), agent, peer_number);
            sessions.push(ClientSession::new(login, file, address));
            flows.push(Flow::new(number, local, peer));
        }
        let random = random_bytes();
        let mut files = Files::open(&task.file.store, task.file.size_bytes, task.data_path)?;
        if sends {
            files.make(FILE_NAME, &random)?;
        }
        let clock = Clock::new();
        let limit_ms = plan.silence_limit_ms;
        Ok(Self {
            agent,
            task,
            sessions: FtpClient::new(task.config, sessions),
            recorder: Recorder::new(plan, flows.len() as u32, clock),
            flows,
            files,
            carriers: Carriers::new(&agent.scheduling)?,
            random: Arc::new(random),
            clock,
            seconds: Seconds::of(plan),
            log_ins: LogIns::default(),
            progress: Progress::new(plan.progress_interval_ms, clock.now()),
            silence_limit: limit_ms.map(|ms| Duration::from_ms(ms.into())),
            holds: false,
        })
    }

    /// Runs until the controller's `stop`.
    fn drive(&mut self) -> Result<(), Failure> {
        loop {
            self.act()?;
            let now = self.clock.now();
            if !self.holds && self.progress.is_due(now) {
                let record = self.recorder.progress(now, &self.bytes());
                self.agent.output.write(&record)?;
            }
            self.note_second(now);
            self.check_silence(now)?;
            self.check_failures(now)?;
            if !self.wait()? {
                self.say_goodbye();
                return Ok(());
            }
        }
    }

    fn act(&mut self) -> Result<(), Failure> {
        loop {
            let now = self.clock.now();
            if self.sessions.next_action() > now {
                return Ok(());
            }
            let Some(action) = self.sessions.poll(now) else { return Ok(()) };
            self.carry_out(action, now)?;
        }
    }

    fn carry_out(&mut self, action: FtpAction, now: Time) -> Result<(), Failure> {
        match action {
            FtpAction::Open { flow } => self.open(flow as usize, now)?,
            FtpAction::Say { flow, command } => self.say(flow as usize, &command, now)?,
            FtpAction::Connect { flow, port } => self.connect(flow as usize, port)?,
            FtpAction::Carry { flow } => self.carry(flow as usize)?,
            FtpAction::LoggedIn { flow, connect, login } => {
                self.log_ins.connection.push(flow);
                self.log_ins.connect_ns.push(connect.as_ns());
                self.log_ins.login_ns.push(login.as_ns());
            }
            FtpAction::Begin => {
                self.recorder.begin(now, self.bytes());
                let carried = self.carried();
                if let Some(seconds) = &mut self.seconds {
                    seconds.begin(now, carried);
                }
            }
            FtpAction::Sample(sample) => self.recorder.sample(sample),
            // Transfers in progress are completed, but bytes transferred from now on do not count
            // for the phase.
            FtpAction::Over => {
                let carried = self.carried();
                self.recorder.over(now, &carried);
                if let Some(seconds) = &mut self.seconds {
                    seconds.end(now, &carried);
                }
            }
            FtpAction::Ready => unreachable!("agents hold between phases"),
            FtpAction::Hold | FtpAction::End => {
                let record = self.recorder.phase_record(now, &self.bytes());
                self.agent.output.write(&record)?;
                self.holds = true;
            }
        }
        Ok(())
    }

    fn bytes(&self) -> ConnectionBytes {
        let bytes = |flow: &Flow| {
            let [received, sent] = flow.tally.bytes();
            (received, sent)
        };
        self.flows.iter().map(bytes).collect()
    }

    fn carried(&self) -> Vec<tallies::Carried> {
        self.flows.iter().map(|flow| flow.tally.carried()).collect()
    }

    fn note_second(&mut self, now: Time) {
        if self.end_of_second() <= now {
            let carried = self.carried();
            if let Some(seconds) = &mut self.seconds {
                seconds.add(now, &carried);
            }
        }
    }

    fn end_of_second(&self) -> Time {
        self.seconds.as_ref().map_or(Time::NEVER, Seconds::due)
    }

    // ---- connections

    fn open(&mut self, flow: usize, now: Time) -> Result<(), Failure> {
        let own = &mut self.flows[flow];
        let stream = socket::begin_to_connect(own.local, own.server, &self.agent.plan.socket)?;
        (own.begun, own.last) = (now, now);
        own.control = Control::Connecting(Arc::new(stream));
        Ok(())
    }

    /// Handles the outcome of opening the control connection.
    fn opened(&mut self, flow: usize) -> Result<(), Failure> {
        let now = self.clock.now();
        let own = &mut self.flows[flow];
        let Control::Connecting(stream) = &own.control else { return Ok(()) };
        let stream = Arc::clone(stream);
        let error = stream.take_error().map_err(Failure::run("SO_ERROR"))?;
        if let Some(error) = error {
            return Err(own.failure(&error.to_string()));
        }
        own.control = Control::Open(Arc::clone(&stream));
        own.last = now;
        own.tally.open_control(&stream);
        self.agent.output.write(&socket::describe(flow as u32, &stream)?)?;
        self.agent.tallies.add(Arc::clone(&own.tally) as Arc<_>);
        self.sessions.opened(now, flow as u32, own.begun);
        Ok(())
    }

    fn say(&mut self, flow: usize, command: &Command, now: Time) -> Result<(), Failure> {
        let own = &mut self.flows[flow];
        own.last = now;
        let Control::Open(stream) = &own.control else {
            unreachable!("commands are sent on an open connection")
        };
        say(stream, &command.to_string()).map_err(|error| own.failure(&error.to_string()))
    }

    fn connect(&mut self, flow: usize, port: u16) -> Result<(), Failure> {
        let own = &mut self.flows[flow];
        let to = SocketAddr::new(own.server.ip(), port);
        let stream = socket::begin_to_connect(own.local, to, &self.agent.plan.socket)?;
        own.data = Data::Connecting(Arc::new(stream));
        Ok(())
    }

    /// Handles the outcome of opening the data connection.
    fn connected(&mut self, flow: usize) -> Result<(), Failure> {
        let own = &mut self.flows[flow];
        let Data::Connecting(stream) = &own.data else { return Ok(()) };
        let stream = Arc::clone(stream);
        if let Some(error) = stream.take_error().map_err(Failure::run("SO_ERROR"))? {
            return Err(own.failure(&format!("its data connection: {error}")));
        }
        own.tally.open_data(&stream);
        own.data = Data::Open(stream);
        self.sessions.connected(self.clock.now(), flow as u32);
        Ok(())
    }

    fn carry(&mut self, flow: usize) -> Result<(), Failure> {
        let file = &self.task.file;
        let own = &mut self.flows[flow];
        let Data::Open(stream) = std::mem::replace(&mut own.data, Data::Carrying) else {
            unreachable!("a file is carried over an open connection")
        };
        let trouble = |trouble: FileTrouble| own.failure(&describe(&trouble));
        let way = if file.direction == Direction::Put {
            Way::Out(self.files.source(FILE_NAME).map_err(trouble)?)
        } else {
            let sink: Sink = self.files.passing_sink().map_err(trouble)?;
            Way::In { sink, verify: file.verify, most: file.size_bytes, whole: None }
        };
        let tally = Arc::clone(&own.tally);
        let random = Arc::clone(&self.random);
        let cargo = Cargo { stream, way, tally, clock: self.clock, random };
        self.carriers.start(flow as u64, cargo)
    }

    /// Handles the end of a transfer, successful or not.
    fn ended(&mut self, flow: usize, carried: Carried) {
        let now = self.clock.now();
        let own = &mut self.flows[flow];
        own.data = Data::Absent;
        own.last = now;
        let (why, is_ours) = match carried {
            Ok(stored) => match self.sessions.carried(now, flow as u32, stored) {
                Ok(()) => return,
                Err(why) => (why, false),
            },
            Err(trouble) => (describe(&trouble), is_ours(&trouble)),
        };
        // If the local file caused the error, the server's error reply is only a consequence, so
        // the local error is reported. In all other cases the server's reply is reported.
        own.failed = match own.failed.take() {
            Some((said, _)) if !is_ours => Some((said, now)),
            _ => Some((why, if is_ours { now } else { now + REASON_TIME })),
        };
    }

    /// Reads the server's replies.
    fn hear(&mut self, flow: usize) -> Result<(), Failure> {
        let now = self.clock.now();
        let own = &mut self.flows[flow];
        let Control::Open(stream) = &own.control else { return Ok(()) };
        match hear(stream) {
            Ok(Heard::Bytes(bytes)) => own.replies.push(&bytes),
            Ok(Heard::Nothing) => return Ok(()),
            Ok(Heard::End) => return Err(own.failure("it closed the control connection")),
            Err(error) => return Err(own.failure(&error.to_string())),
        }
        own.last = now;
        loop {
            let reply = own.replies.take().map_err(|bad| own.failure(&bad.to_string()))?;
            let Some(reply) = reply else { return Ok(()) };
            if let Err(why) = self.sessions.replied(now, flow as u32, &reply) {
                if !matches!(own.data, Data::Carrying) {
                    return Err(own.failure(&why));
                }
                // The cause is not known yet; the thread of the transfer will report it soon.
                own.failed.get_or_insert((why, now + REASON_TIME));
                return Ok(());
            }
        }
    }

    // ---- waiting

    /// Waits until something is due or has happened, and handles it. Returns whether to go on.
    fn wait(&mut self) -> Result<bool, Failure> {
        let mut what = vec![Waited::Controller, Waited::Carriers];
        let mut fds = vec![
            waited(self.agent.events.wake(), PollFlags::POLLIN),
            waited(&*self.carriers.wake, PollFlags::POLLIN),
        ];
        // The list of descriptors is built anew for each wait, because each file has a new data
        // connection.
        for (number, flow) in self.flows.iter().enumerate() {
            match &flow.control {
                Control::Absent => {}
                Control::Connecting(stream) => {
                    what.push(Waited::Control(number));
                    fds.push(waited(&**stream, PollFlags::POLLOUT));
                }
                Control::Open(stream) => {
                    what.push(Waited::Control(number));
                    fds.push(waited(&**stream, PollFlags::POLLIN));
                }
            }
            if let Data::Connecting(stream) = &flow.data {
                what.push(Waited::Data(number));
                fds.push(waited(&**stream, PollFlags::POLLOUT));
            }
        }
        wait_for(&mut fds, self.patience())?;
        let happened: Vec<_> =
            what.into_iter().zip(&fds).filter(|(_, fd)| fd.any() == Some(true)).collect();
        let happened: Vec<Waited> = happened.into_iter().map(|(what, _)| what).collect();
        for what in happened {
            match what {
                Waited::Controller => {
                    if !self.obey()? {
                        return Ok(false);
                    }
                }
                Waited::Carriers => {
                    for (flow, carried) in self.carriers.ended() {
                        self.ended(flow as usize, carried);
                    }
                }
                Waited::Control(flow) => match self.flows[flow].control {
                    Control::Connecting(_) => self.opened(flow)?,
                    _ => self.hear(flow)?,
                },
                Waited::Data(flow) => self.connected(flow)?,
            }
            self.act()?;
        }
        Ok(true)
    }

    /// Longest time to wait for events; none: no limit.
    fn patience(&self) -> Option<std::time::Duration> {
        let now = self.clock.now();
        let sign = if self.holds { Time::NEVER } else { self.progress.next() };
        let silence = match self.silence_limit {
            Some(limit) if !self.holds => now + limit.div(8),
            _ => Time::NEVER,
        };
        let reasons = self.flows.iter().filter_map(|flow| flow.failed.as_ref()).map(|(_, at)| *at);
        let due = self.sessions.next_action();
        let times = [due, sign, silence, self.end_of_second()].into_iter().chain(reasons);
        let next = times.min().unwrap_or(Time::NEVER);
        let left = || std::time::Duration::from_nanos(next.since(now.min(next)).as_ns() + 1);
        (next != Time::NEVER).then(left)
    }

    /// Obeys the controller. Returns whether to go on.
    fn obey(&mut self) -> Result<bool, Failure> {
        for event in self.agent.events.hear() {
            match event {
                Event::Go => {
                    let now = self.clock.now();
                    if self.holds && self.sessions.go(now) {
                        self.holds = false;
                        self.flows.iter_mut().for_each(|flow| flow.last = now);
                        let bytes = self.bytes();
                        self.recorder.go(now, bytes);
                    }
                }
                Event::Interrupted(Interruption::Stop) => return Ok(false),
                Event::Interrupted(Interruption::TimeLimit) => {
                    let limit = time_limit_message(self.agent.plan.time_limit_ms);
                    return Err(Failure::Run(format!("{limit}: {}", self.missing())));
                }
            }
        }
        Ok(true)
    }

    /// Fails if the servers that the client waits for have been silent for longer than the limit.
    fn check_silence(&mut self, now: Time) -> Result<(), Failure> {
        let Some(limit) = self.silence_limit else { return Ok(()) };
        if self.holds {
            return Ok(());
        }
        let mut heard = None;
        for (number, flow) in self.flows.iter_mut().enumerate() {
            let bytes = flow.tally.bytes();
            if bytes != flow.last_bytes {
                (flow.last_bytes, flow.last) = (bytes, now);
            }
            if self.sessions.is_waiting(number as u32) {
                heard = heard.max(Some(flow.last));
            }
        }
        if heard.is_some_and(|heard| heard + limit <= now) {
            let limit_ms = limit.as_ns() / 1_000_000;
            let why = format!("no data received for {limit_ms} ms: {}", self.missing());
            return Err(Failure::Run(why));
        }
        Ok(())
    }

    /// Fails if a transfer has failed and the time to wait for the server's reason is over.
    fn check_failures(&self, now: Time) -> Result<(), Failure> {
        for flow in &self.flows {
            if let Some((why, until)) = &flow.failed
                && *until <= now
            {
                return Err(Failure::Run(format!("server {}: {why}", flow.server)));
            }
        }
        Ok(())
    }

    /// Describes the servers that the client waits for.
    fn missing(&self) -> String {
        let waits = |number: usize| self.sessions.is_waiting(number as u32) && !self.holds;
        let awaited: Vec<_> = (0..self.flows.len())
            .filter(|&number| waits(number))
            .map(|number| {
                let flow = &self.flows[number];
                let [received, sent] = flow.tally.bytes();
                format!(
                    "waiting for server {} on connection {number}, after {received} B received \
                     and {sent} B sent",
                    flow.server
                )
            })
            .collect();
        match (awaited.is_empty(), self.holds) {
            (false, _) => awaited.join("; "),
            (true, true) => "no `go` or `stop` received from the controller".to_owned(),
            (true, false) => "no `stop` received from the controller".to_owned(),
        }
    }

    /// Ends the sessions with QUIT, without waiting for the servers' replies.
    fn say_goodbye(&self) {
        for flow in &self.flows {
            if let Control::Open(stream) = &flow.control {
                let _ = say(stream, &Command::Quit.to_string());
            }
        }
    }

    fn write_records(mut self) -> Result<(), Failure> {
        if self.end_of_second() != Time::NEVER {
            let (now, carried) = (self.clock.now(), self.carried());
            if let Some(seconds) = &mut self.seconds {
                seconds.end(now, &carried);
            }
        }
        let output = &self.agent.output;
        for record in self.recorder.into_records() {
            output.write(&record)?;
        }
        if let Some(seconds) = self.seconds.and_then(Seconds::into_record) {
            output.write(&seconds)?;
        }
        let LogIns { connection, connect_ns, login_ns } = self.log_ins;
        output.write(&AgentRecord::Sessions { connection, connect_ns, login_ns })?;
        Ok(())
    }
}

impl Flow {
    fn new(number: u32, local: IpAddr, peer: Endpoint) -> Self {
        Self {
            local,
            server: SocketAddr::new(peer.address, peer.port),
            control: Control::Absent,
            data: Data::Absent,
            replies: Replies::default(),
            tally: Arc::new(SessionTally::new(number)),
            begun: Time::ZERO,
            last: Time::ZERO,
            last_bytes: [0; 2],
            failed: None,
        }
    }

    /// An error with the server's address; if a transfer had failed before, its error follows.
    fn failure(&self, why: &str) -> Failure {
        let before = self.failed.as_ref().map(|(before, _)| format!(" ({before})"));
        Failure::Run(format!("server {}: {why}{}", self.server, before.unwrap_or_default()))
    }
}

fn login(login: Option<&FtpLogin>, agent: &Agent<'_>, peer_number: u32) -> Login {
    match login {
        Some(FtpLogin { user, password }) => {
            Login { user: user.clone(), password: password.clone() }
        }
        None => Login {
            user: format!("{USER_PREFIX}{peer_number}"),
            password: String::from_utf8_lossy(agent.plan.token.as_bytes()).into_owned(),
        },
    }
}

/// True for an error of the client's own file; false for one of the connection or the server.
const fn is_ours(trouble: &FileTrouble) -> bool {
    !matches!(trouble, FileTrouble::Broken(_) | FileTrouble::NoConnection)
}

fn describe(trouble: &FileTrouble) -> String {
    match trouble {
        FileTrouble::NotServed | FileTrouble::NotTaken => {
            "the file cannot be opened here".to_owned()
        }
        FileTrouble::NoConnection => "no data connection was opened".to_owned(),
        FileTrouble::Broken(why) => format!("the data connection broke: {why}"),
        FileTrouble::NoRoom => "no space is left here for the file".to_owned(),
        FileTrouble::Local(why) => why.clone(),
    }
}
