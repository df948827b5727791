//! File transfers by FTP: clients and servers that run the sessions of `netstudy_workload::ftp`
//! over simulated connections.
//!
//! A flow has two connections: a data connection, which is opened anew for each file, and a control
//! connection for commands and replies. In each application, the data connections have the lowest
//! numbers; the control connections follow in the same order. Simulated TCP carries only byte
//! counts. The text is in the [`ControlText`] of the flow. When bytes arrive at an end, it takes
//! the same number of bytes from this text.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::rc::Rc;

use netstudy_units::Time;
use netstudy_workload::ftp::{
    ClientSession, FtpAction, FtpClient, FtpConfig, Lines, Login, RemoteFile, Replies, Reply,
    ServerSession, ServerStep,
};
use netstudy_workload::{Action, Because, ClientOrServer, Sample, Traffic, Wait};

use crate::account::{Job, MaybeTrace};
use crate::host::files::{Carrier, CarrierStep};

/// The client or the server of file transfers.
pub(super) type FtpHost = ClientOrServer<ClientHost, ServerHost>;

/// Name of the file. Agents use the same name.
const FILE_NAME: &str = "data";
/// The address of a data connection. Its value does not matter, because the simulator finds the
/// listener by the flow.
const DATA_AT: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 49_152);
/// Both ends are simulated here, so a protocol error is a bug.
const KEEPS_TO_PROTOCOL: &str = "both ends keep to the protocol";

/// The file that all transfers of a run carry.
#[derive(Clone, Copy, Debug)]
pub(super) struct File {
    pub(super) bytes: u64,
    /// The client sends the file.
    pub(super) is_put: bool,
}

/// The text in flight on a control connection: that from the client, then that from the server.
#[derive(Clone, Debug, Default)]
pub(super) struct ControlText(Rc<RefCell<[VecDeque<u8>; 2]>>);

const CLIENT: usize = 0;
const SERVER: usize = 1;

impl ControlText {
    /// Adds text that the end `side` sends. Returns the number of bytes.
    fn say(&self, side: usize, text: &str) -> u64 {
        self.0.borrow_mut()[side].extend(text.as_bytes());
        text.len() as u64
    }

    /// Takes the next `bytes` bytes of the text from the end `side`, because they have arrived at
    /// its peer.
    fn hear(&self, side: usize, bytes: u64) -> Vec<u8> {
        self.0.borrow_mut()[side].drain(..bytes as usize).collect()
    }
}

/// The parts of an end of a flow.
pub(super) struct FlowParts {
    pub(super) text: ControlText,
    pub(super) carrier: Carrier,
    /// The job of the session in the trace.
    pub(super) session: Job,
}

/// Actions that the driver has not fetched yet, and the time of the last event.
#[derive(Debug, Default)]
struct Pending {
    actions: VecDeque<Action>,
    now: Time,
    /// An event has happened since the last poll.
    is_due: bool,
}

impl Pending {
    /// Records an event at `now`.
    const fn note(&mut self, now: Time) -> bool {
        self.now = now;
        self.is_due = true;
        true
    }

    fn due(&self) -> Time {
        if self.is_due || !self.actions.is_empty() { self.now } else { Time::NEVER }
    }
}

/// A client, with the session of each flow.
pub(super) struct ClientHost {
    client: FtpClient,
    flows: Vec<ClientFlow>,
    file: File,
    pending: Pending,
    trace: MaybeTrace,
}

struct ClientFlow {
    text: ControlText,
    replies: Replies,
    carrier: Carrier,
    session: Job,
    /// When the opening of the control connection began.
    begun: Time,
}

impl ClientHost {
    /// A client with these flows.
    pub(super) fn new(
        config: FtpConfig,
        file: File,
        flows: Vec<FlowParts>,
        trace: MaybeTrace,
    ) -> Self {
        let session = || {
            let login = Login { user: "netstudy".to_owned(), password: "netstudy".to_owned() };
            let path = FILE_NAME.to_owned();
            let remote = RemoteFile { path, bytes: file.bytes, sends: file.is_put };
            ClientSession::new(login, remote, None)
        };
        let client = FtpClient::new(config, flows.iter().map(|_| session()).collect());
        let flow = |FlowParts { text, carrier, session }| ClientFlow {
            text,
            replies: Replies::default(),
            carrier,
            session,
            begun: Time::ZERO,
        };
        let flows = flows.into_iter().map(flow).collect();
        let pending = Pending { is_due: true, ..Pending::default() };
        Self { client, flows, file, pending, trace }
    }

    /// The number of the control connection of a flow.
    const fn control(&self, flow: u32) -> u32 {
        self.flows.len() as u32 + flow
    }

    /// The flow to which a control connection belongs; none for a data connection.
    fn flow_controlled(&self, connection: u32) -> Option<u32> {
        connection.checked_sub(self.flows.len() as u32)
    }

    fn follow(&mut self, now: Time, action: FtpAction) {
        let actions = &mut self.pending.actions;
        match action {
            FtpAction::Open { flow } => {
                self.flows[flow as usize].begun = now;
                let connection = self.control(flow);
                self.pending.actions.push_back(Action::Open { connection });
            }
            FtpAction::Say { flow, command } => {
                let text = &self.flows[flow as usize].text;
                let bytes = text.say(CLIENT, &command.to_string());
                let connection = self.control(flow);
                self.pending.actions.push_back(Action::Write { connection, bytes });
            }
            FtpAction::Connect { flow, .. } => {
                self.flows[flow as usize].carrier.renew();
                self.flows[flow as usize].instruct_carrier(&self.trace);
                actions.push_back(Action::Open { connection: flow });
            }
            FtpAction::Carry { flow } => {
                self.flows[flow as usize].instruct_carrier(&self.trace);
                let carrier = &mut self.flows[flow as usize].carrier;
                if self.file.is_put {
                    carrier.send(self.file.bytes);
                } else {
                    carrier.receive();
                }
            }
            FtpAction::LoggedIn { flow: connection, connect, login } => {
                actions.push_back(Action::Sample(Sample::LogIn { connection, connect, login }));
            }
            FtpAction::Begin => actions.push_back(Action::Begin),
            FtpAction::Sample(sample) => actions.push_back(Action::Sample(sample)),
            FtpAction::Over => actions.push_back(Action::Over),
            FtpAction::End => actions.push_back(Action::End),
            FtpAction::Ready => actions.push_back(Action::Ready),
            FtpAction::Hold => actions.push_back(Action::Hold),
        }
    }

    /// Makes one step of a carrier, if any is due. Returns whether a step was made.
    fn carry(&mut self, now: Time) -> bool {
        for (connection, flow) in (0..).zip(&mut self.flows) {
            let Some(step) = flow.carrier.poll(now) else { continue };
            let action = match step {
                CarrierStep::Write(bytes) => Action::Write { connection, bytes },
                CarrierStep::Read => Action::Read { connection },
                CarrierStep::Close => Action::Close { connection },
                CarrierStep::Done(stored) => {
                    if let Some(mut trace) = self.trace.get() {
                        trace.follow(flow.session, flow.carrier.steps());
                    }
                    self.client.carried(now, connection, stored).expect(KEEPS_TO_PROTOCOL);
                    return true;
                }
            };
            self.pending.actions.push_back(action);
            return true;
        }
        false
    }
}

impl ClientFlow {
    /// The carrier acts next, after the last step of the session.
    fn instruct_carrier(&self, trace: &MaybeTrace) {
        if let Some(mut trace) = trace.get() {
            trace.follow(self.carrier.steps(), self.session);
        }
    }

    /// The session goes on because of the current event.
    fn hear(&self, trace: &MaybeTrace) {
        if let Some(mut trace) = trace.get() {
            trace.hear_job(self.session);
        }
    }
}

impl Traffic for ClientHost {
    const HEARS_ACKNOWLEDGMENTS: bool = true;
    const REOPENS: bool = true;
    const READS_LATER: bool = true;
    const PREFERS_SMALL_CODE: bool = true;

    fn unread(&self, connection: u32) -> u64 {
        self.flows.get(connection as usize).map_or(0, |flow| flow.carrier.unread())
    }

    fn next_action(&self) -> Time {
        let carriers = self.flows.iter().map(|flow| flow.carrier.next_step());
        let timed = carriers.min().unwrap_or(Time::NEVER).min(self.client.next_action());
        // Actions that an event causes are due at the time of this event.
        self.pending.due().min(timed.max(self.pending.now))
    }

    fn poll(&mut self, now: Time) -> Option<Action> {
        self.pending.now = now;
        loop {
            if let Some(action) = self.pending.actions.pop_front() {
                return Some(action);
            }
            if let Some(action) = self.client.poll(now) {
                self.follow(now, action);
            } else if !self.carry(now) {
                self.pending.is_due = false;
                return None;
            }
        }
    }

    fn go(&mut self, at: Time) -> bool {
        self.client.go(at)
    }

    fn because(&self, connection: u32) -> Because {
        match self.flow_controlled(connection) {
            Some(flow) => self.flows[flow as usize].session.because(Wait::Think),
            None => self.flows[connection as usize].carrier.steps().because(Wait::Application),
        }
    }

    fn working_since(&self) -> Time {
        self.client.working_since()
    }

    fn opened(&mut self, now: Time, connection: u32) -> bool {
        let flow = self.flow_controlled(connection).unwrap_or(connection);
        self.flows[flow as usize].hear(&self.trace);
        match self.flow_controlled(connection) {
            Some(flow) => self.client.opened(now, flow, self.flows[flow as usize].begun),
            None => self.client.connected(now, connection),
        }
        self.pending.note(now)
    }

    fn received(&mut self, now: Time, connection: u32, before: u64, total: u64) -> bool {
        let Some(number) = self.flow_controlled(connection) else {
            let is_due = self.flows[connection as usize].carrier.received(now, total);
            return is_due && self.pending.note(now);
        };
        let flow = &mut self.flows[number as usize];
        flow.hear(&self.trace);
        // The server confirms that it has stored the file.
        if self.file.is_put && flow.carrier.rests() {
            flow.instruct_carrier(&self.trace);
        }
        flow.replies.push(&flow.text.hear(SERVER, total - before));
        while let Some(reply) = flow.replies.take().expect(KEEPS_TO_PROTOCOL) {
            self.client.replied(now, number, &reply).expect(KEEPS_TO_PROTOCOL);
        }
        self.pending.note(now)
    }

    fn acknowledged(&mut self, now: Time, connection: u32, total: u64) -> bool {
        let Some(flow) = self.flows.get_mut(connection as usize) else { return false };
        flow.carrier.acknowledged(total) && self.pending.note(now)
    }

    fn closed(&mut self, now: Time, connection: u32) -> bool {
        let Some(flow) = self.flows.get_mut(connection as usize) else { return false };
        flow.carrier.ended();
        self.pending.note(now)
    }
}

/// A server, with the session of each flow.
pub(super) struct ServerHost {
    sessions: Vec<Session>,
    file: File,
    pending: Pending,
    trace: MaybeTrace,
}

struct Session {
    text: ControlText,
    machine: ServerSession,
    lines: Lines,
    greeting: Reply,
    carrier: Carrier,
    steps: Job,
    /// The client has requested a transfer.
    is_wanted: bool,
    /// The data connection is open.
    is_open: bool,
}

impl ServerHost {
    /// A server with these flows.
    pub(super) fn new(file: File, flows: Vec<FlowParts>, trace: MaybeTrace) -> Self {
        let session = |FlowParts { text, carrier, session }| {
            let (machine, greeting) = ServerSession::new();
            Session {
                text,
                machine,
                lines: Lines::default(),
                greeting,
                carrier,
                steps: session,
                is_wanted: false,
                is_open: false,
            }
        };
        let sessions = flows.into_iter().map(session).collect();
        Self { sessions, file, pending: Pending::default(), trace }
    }

    fn flow_controlled(&self, connection: u32) -> Option<usize> {
        connection.checked_sub(self.sessions.len() as u32).map(|flow| flow as usize)
    }

    fn say(&mut self, session: usize, reply: &Reply) {
        let bytes = self.sessions[session].text.say(SERVER, &reply.to_string());
        let connection = (self.sessions.len() + session) as u32;
        self.pending.actions.push_back(Action::Write { connection, bytes });
    }

    /// Answers the command lines that have arrived, until one of them makes the session busy.
    fn take_lines(&mut self, number: usize) {
        loop {
            let session = &mut self.sessions[number];
            if session.machine.is_busy() {
                return;
            }
            let Some(line) = session.lines.take().expect(KEEPS_TO_PROTOCOL) else { return };
            let step = session.machine.command(&line);
            self.follow(number, step);
        }
    }

    fn follow(&mut self, number: usize, step: ServerStep) {
        let session = &mut self.sessions[number];
        let reply = match step {
            ServerStep::Reply(reply) | ServerStep::Close(reply) => reply,
            ServerStep::Check { .. } => {
                let step = session.machine.known(true);
                return self.follow(number, step);
            }
            ServerStep::Listen => {
                session.carrier.renew();
                session.instruct_carrier(&self.trace);
                session.is_open = false;
                let reply = session.machine.listening(Some(DATA_AT));
                self.pending.actions.push_back(Action::Open { connection: number as u32 });
                reply
            }
            ServerStep::Measure { .. } => session.machine.sized(Some(self.file.bytes)),
            ServerStep::Open { .. } => {
                session.is_wanted = true;
                return self.begin(number);
            }
        };
        self.say(number, &reply);
    }

    /// Begins the transfer of a session, if it was requested and its data connection is open.
    fn begin(&mut self, number: usize) {
        let session = &mut self.sessions[number];
        if !(session.is_wanted && session.is_open) {
            return;
        }
        session.is_wanted = false;
        session.instruct_carrier(&self.trace);
        let reply = session.machine.opened(None);
        if self.file.is_put {
            session.carrier.receive();
        } else {
            session.carrier.send(self.file.bytes);
        }
        self.say(number, &reply);
    }

    /// Makes one step of a carrier, if any is due. Returns whether a step was made.
    fn carry(&mut self, now: Time) -> bool {
        for (number, session) in self.sessions.iter_mut().enumerate() {
            let Some(step) = session.carrier.poll(now) else { continue };
            let connection = number as u32;
            match step {
                CarrierStep::Write(bytes) => {
                    self.pending.actions.push_back(Action::Write { connection, bytes });
                }
                CarrierStep::Read => self.pending.actions.push_back(Action::Read { connection }),
                CarrierStep::Close => self.pending.actions.push_back(Action::Close { connection }),
                CarrierStep::Done(_) => {
                    if let Some(mut trace) = self.trace.get() {
                        trace.follow(session.steps, session.carrier.steps());
                    }
                    let reply = session.machine.carried(None);
                    self.say(number, &reply);
                    self.take_lines(number);
                }
            }
            return true;
        }
        false
    }
}

impl Session {
    /// The carrier acts next, after the last step of the session.
    fn instruct_carrier(&self, trace: &MaybeTrace) {
        if let Some(mut trace) = trace.get() {
            trace.follow(self.carrier.steps(), self.steps);
        }
    }

    /// The session goes on because of the current event.
    fn hear(&self, trace: &MaybeTrace) {
        if let Some(mut trace) = trace.get() {
            trace.hear_job(self.steps);
        }
    }
}

impl Traffic for ServerHost {
    const HEARS_ACKNOWLEDGMENTS: bool = true;
    const REOPENS: bool = true;
    const READS_LATER: bool = true;
    const PREFERS_SMALL_CODE: bool = true;

    fn unread(&self, connection: u32) -> u64 {
        self.sessions.get(connection as usize).map_or(0, |flow| flow.carrier.unread())
    }

    fn next_action(&self) -> Time {
        let carriers = self.sessions.iter().map(|session| session.carrier.next_step());
        let timed = carriers.min().unwrap_or(Time::NEVER);
        self.pending.due().min(timed)
    }

    fn poll(&mut self, now: Time) -> Option<Action> {
        self.pending.now = now;
        loop {
            if let Some(action) = self.pending.actions.pop_front() {
                return Some(action);
            }
            if !self.carry(now) {
                self.pending.is_due = false;
                return None;
            }
        }
    }

    fn because(&self, connection: u32) -> Because {
        let steps = match self.flow_controlled(connection) {
            Some(session) => self.sessions[session].steps,
            None => self.sessions[connection as usize].carrier.steps(),
        };
        steps.because(Wait::Application)
    }

    fn opened(&mut self, now: Time, connection: u32) -> bool {
        let session = self.flow_controlled(connection).unwrap_or(connection as usize);
        self.sessions[session].hear(&self.trace);
        if let Some(session) = self.flow_controlled(connection) {
            let greeting = self.sessions[session].greeting.clone();
            self.say(session, &greeting);
        } else {
            self.sessions[connection as usize].is_open = true;
            self.begin(connection as usize);
        }
        self.pending.note(now)
    }

    fn received(&mut self, now: Time, connection: u32, before: u64, total: u64) -> bool {
        let Some(number) = self.flow_controlled(connection) else {
            let is_due = self.sessions[connection as usize].carrier.received(now, total);
            return is_due && self.pending.note(now);
        };
        let session = &mut self.sessions[number];
        session.hear(&self.trace);
        session.lines.push(&session.text.hear(CLIENT, total - before));
        self.take_lines(number);
        self.pending.note(now)
    }

    fn acknowledged(&mut self, now: Time, connection: u32, total: u64) -> bool {
        let Some(session) = self.sessions.get_mut(connection as usize) else { return false };
        session.carrier.acknowledged(total) && self.pending.note(now)
    }

    fn closed(&mut self, now: Time, connection: u32) -> bool {
        let Some(session) = self.sessions.get_mut(connection as usize) else { return false };
        session.carrier.ended();
        self.pending.note(now)
    }
}
