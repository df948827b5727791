//! An FTP client: runs its sessions, one per flow, through the phases of a run.

use alloc::collections::VecDeque;
use alloc::string::String;
use alloc::vec::Vec;

use netstudy_units::{Duration, Time};

use super::client::{ClientSession, ClientStep};
use super::command::Command;
use super::reply::Reply;
use crate::Sample;
use crate::phases::{Limit, Next, Phases, Sequence, Turn};

/// The transfers of one client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FtpConfig {
    /// Time from the end of a transfer to the start of the next transfer in the same session.
    pub pause: Duration,
    /// The phases. Each lasts for a number of transfers per session, or for a time.
    pub phases: Phases,
}

impl FtpConfig {
    /// Checks the limits of the configuration.
    ///
    /// # Errors
    /// Says which limit is violated.
    pub fn check(&self) -> Result<(), &'static str> {
        self.phases.check()?;
        if self.phases.measure.is_empty() {
            return Err("the measuring phase holds at least one transfer");
        }
        Ok(())
    }
}

/// The client's next action. A flow is a session: it has one control connection, and a new data
/// connection for each transfer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FtpAction {
    /// Open the control connection; then call [`FtpClient::opened`].
    Open {
        /// The flow.
        flow: u32,
    },
    /// Send a command.
    Say {
        /// The flow.
        flow: u32,
        /// The command.
        command: Command,
    },
    /// Open the data connection; then call [`FtpClient::connected`].
    Connect {
        /// The flow.
        flow: u32,
        /// The server's port.
        port: u16,
    },
    /// Transfer the file over the data connection; then call [`FtpClient::carried`].
    Carry {
        /// The flow.
        flow: u32,
    },
    /// A session has logged in.
    LoggedIn {
        /// The flow of the session.
        flow: u32,
        /// How long it took to open the session's control connection.
        connect: Duration,
        /// Time from then until the session was ready for transfers.
        login: Duration,
    },
    /// As [`Action::Begin`](crate::Action::Begin).
    Begin,
    /// A transfer has ended.
    Sample(Sample),
    /// As [`Action::Over`](crate::Action::Over).
    Over,
    /// As [`Action::End`](crate::Action::End).
    End,
    /// As [`Action::Ready`](crate::Action::Ready).
    Ready,
    /// As [`Action::Hold`](crate::Action::Hold).
    Hold,
}

/// A file that was transferred over a data connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stored {
    /// Its bytes.
    pub bytes: u64,
    /// When the first byte was received or sent.
    pub first_byte: Option<Time>,
    /// When the last byte was stored or sent.
    pub ended: Time,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// The session is not ready yet.
    LoggingIn,
    /// No further transfer starts in this phase.
    Idle,
    /// The next transfer starts at this time.
    Waiting(Time),
    /// A transfer has been in progress since this time.
    Busy(Time),
}

#[derive(Clone, Debug)]
struct Flow {
    session: ClientSession,
    state: State,
    /// Transfers started in this phase.
    begun: u64,
    stored: Option<Stored>,
    opened: Time,
}

/// An FTP client without I/O. It starts all transfers of its sessions.
#[derive(Clone, Debug)]
pub struct FtpClient {
    config: FtpConfig,
    sequence: Sequence,
    limit: Limit,
    flows: Vec<Flow>,
    outbox: VecDeque<FtpAction>,
    /// When the next transfer starts.
    wake: Time,
}

impl FtpClient {
    /// A client with these sessions. It opens them first. See [`FtpConfig::check`].
    #[must_use]
    pub fn new(config: FtpConfig, sessions: Vec<ClientSession>) -> Self {
        let outbox = (0..sessions.len() as u32).map(|flow| FtpAction::Open { flow }).collect();
        let flow = |session| Flow {
            session,
            state: State::LoggingIn,
            begun: 0,
            stored: None,
            opened: Time::ZERO,
        };
        Self {
            config,
            sequence: Sequence::new(config.phases, sessions.len() as u32),
            limit: Limit::NONE,
            flows: sessions.into_iter().map(flow).collect(),
            outbox,
            wake: Time::NEVER,
        }
    }

    /// Time of the next action that is not caused by an event; [`Time::NEVER`] if there is none.
    #[must_use]
    pub fn next_action(&self) -> Time {
        if self.outbox.is_empty() { self.wake } else { Time::ZERO }
    }

    /// The next action that is due at `now`; none: no further action is due.
    pub fn poll(&mut self, now: Time) -> Option<FtpAction> {
        if self.outbox.is_empty() && self.wake <= now {
            self.wake_up(now);
        }
        self.outbox.pop_front()
    }

    /// See [`Traffic::go`](crate::Traffic::go).
    pub fn go(&mut self, at: Time) -> bool {
        let goes = self.sequence.go(at);
        if let Some(limit) = self.sequence.resume(at) {
            self.begin_measuring(at, limit);
        } else if goes {
            self.wake = self.wake.min(at);
        }
        goes
    }

    /// Reports that the control connection of a flow is open. The driver began to open the
    /// connection at `begun`.
    pub fn opened(&mut self, now: Time, flow: u32, begun: Time) {
        let own = &mut self.flows[flow as usize];
        own.opened = now;
        // The log-in sample needs both times once the session is ready.
        own.state = State::Busy(begun);
    }

    /// Handles a reply of the server.
    ///
    /// # Errors
    /// See [`ClientSession::replied`].
    pub fn replied(&mut self, now: Time, flow: u32, reply: &Reply) -> Result<(), String> {
        let steps = self.flows[flow as usize].session.replied(reply)?;
        self.follow(now, flow, steps);
        Ok(())
    }

    /// Reports that the data connection is open.
    pub fn connected(&mut self, now: Time, flow: u32) {
        let steps = self.flows[flow as usize].session.connected();
        self.follow(now, flow, steps);
    }

    /// Reports that the data connection has ended.
    ///
    /// # Errors
    /// See [`ClientSession::carried`].
    pub fn carried(&mut self, now: Time, flow: u32, stored: Stored) -> Result<(), String> {
        let own = &mut self.flows[flow as usize];
        own.stored = Some(stored);
        let steps = own.session.carried(stored.bytes)?;
        self.follow(now, flow, steps);
        Ok(())
    }

    /// Start of the oldest transfer that is under way; [`Time::NEVER`] if there is none.
    #[must_use]
    pub fn working_since(&self) -> Time {
        let since = self.flows.iter().map(|flow| match flow.state {
            State::Busy(since) => since,
            State::LoggingIn | State::Idle | State::Waiting(_) => Time::NEVER,
        });
        since.min().unwrap_or(Time::NEVER)
    }

    /// Whether a flow waits for its server.
    #[must_use]
    pub fn is_waiting(&self, flow: u32) -> bool {
        self.flows[flow as usize].session.is_waiting()
    }

    fn follow(&mut self, now: Time, flow: u32, steps: Vec<ClientStep>) {
        for step in steps {
            match step {
                ClientStep::Say(command) => {
                    self.outbox.push_back(FtpAction::Say { flow, command });
                }
                ClientStep::Connect(port) => {
                    self.outbox.push_back(FtpAction::Connect { flow, port });
                }
                ClientStep::Carry => self.outbox.push_back(FtpAction::Carry { flow }),
                ClientStep::Ready => self.logged_in(now, flow),
                ClientStep::Done => self.ended(now, flow),
            }
        }
    }

    fn logged_in(&mut self, now: Time, flow: u32) {
        let own = &mut self.flows[flow as usize];
        let State::Busy(begun) = own.state else { unreachable!("its connection was opened") };
        let (connect, login) = (own.opened.since(begun), now.since(own.opened));
        own.state = State::Idle;
        self.outbox.push_back(FtpAction::LoggedIn { flow, connect, login });
        if let Some(limit) = self.sequence.opened(now) {
            if self.sequence.is_to_be_told() {
                self.outbox.push_back(FtpAction::Ready);
            }
            self.begin_phase(now, limit);
        }
    }

    fn ended(&mut self, now: Time, flow: u32) {
        // A driver may report a reply that arrived after the end of the phase before it polls for
        // the end of the phase.
        self.end_time(now);
        let next = now + self.config.pause;
        let own = &mut self.flows[flow as usize];
        let State::Busy(started) = own.state else { unreachable!("a transfer was under way") };
        let Stored { bytes, first_byte, ended } =
            own.stored.take().expect("a transfer that has ended was carried");
        let sends = own.session.file().sends;
        let again = self.limit.allows(own.begun, next);
        own.state = if again { State::Waiting(next) } else { State::Idle };
        self.outbox.push_back(FtpAction::Sample(Sample::Transfer {
            connection: flow,
            bytes_received: if sends { 0 } else { bytes },
            bytes_sent: if sends { bytes } else { 0 },
            started,
            first_byte,
            // The server confirms a received file only after it has stored the file.
            ended: if sends { now } else { ended },
        }));
        self.look_ahead(now);
    }

    fn begin_phase(&mut self, now: Time, limit: Limit) {
        self.limit = limit;
        for flow in &mut self.flows {
            flow.begun = 0;
            flow.state = if limit.allows(0, now) { State::Waiting(now) } else { State::Idle };
        }
        self.look_ahead(now);
    }

    fn begin_measuring(&mut self, now: Time, limit: Limit) {
        self.outbox.push_back(FtpAction::Begin);
        self.begin_phase(now, limit);
    }

    /// Begins the measuring phase while the load of the warm-up continues.
    fn go_on_measuring(&mut self, limit: Limit) {
        self.outbox.push_back(FtpAction::Begin);
        self.limit = limit;
        for flow in &mut self.flows {
            flow.begun = 0;
            if let State::Waiting(at) = flow.state
                && !limit.allows(0, at)
            {
                flow.state = State::Idle;
            }
        }
    }

    /// Sets the time of the next action. Ends the current phase if the phase's time is over and no
    /// transfer is in progress.
    fn look_ahead(&mut self, now: Time) {
        let wakes = self.flows.iter().map(|flow| match flow.state {
            State::Waiting(at) => at,
            State::LoggingIn | State::Busy(_) | State::Idle => Time::NEVER,
        });
        self.wake = wakes.min().unwrap_or(Time::NEVER).min(self.sequence.due());
        if self.flows.iter().all(|flow| flow.state == State::Idle) && self.sequence.may_end() {
            match self.sequence.ended(now) {
                Next::Hold => self.outbox.push_back(FtpAction::Hold),
                Next::Measure(limit) => self.begin_measuring(now, limit),
                Next::End => self.outbox.push_back(FtpAction::End),
            }
        }
    }

    /// Performs the actions that are due.
    fn wake_up(&mut self, now: Time) {
        if self.sequence.is_to_be_told()
            && let Some(Turn::Measure(limit)) = self.sequence.turn(now)
        {
            self.go_on_measuring(limit);
        }
        self.end_time(now);
        for flow in 0..self.flows.len() as u32 {
            let own = &mut self.flows[flow as usize];
            if let State::Waiting(at) = own.state
                && at <= now
            {
                own.state = State::Busy(at);
                own.begun += 1;
                let command = own.session.begin();
                self.outbox.push_back(FtpAction::Say { flow, command });
            }
        }
        self.look_ahead(now);
    }

    /// Reports the end of the measuring phase, if the time of this phase is over.
    fn end_time(&mut self, now: Time) {
        if let Some(Turn::Over) = self.sequence.turn(now) {
            self.outbox.push_back(FtpAction::Over);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::client::{Login, RemoteFile};
    use super::*;
    use crate::phases::Until;

    fn at(us: u64) -> Time {
        Time::ZERO + Duration::from_us(us)
    }

    fn client(flows: u32, warmup: Until, measure: Until, hold: bool) -> FtpClient {
        let session = |_| {
            let login = Login { user: "u".into(), password: "p".into() };
            let file = RemoteFile { path: "data".into(), bytes: 5, sends: false };
            ClientSession::new(login, file, None)
        };
        let config = FtpConfig { pause: Duration::ZERO, phases: Phases { warmup, measure, hold } };
        config.check().expect("it can be carried out");
        FtpClient::new(config, (0..flows).map(session).collect())
    }

    fn actions(client: &mut FtpClient, now: Time) -> Vec<FtpAction> {
        core::iter::from_fn(|| client.poll(now)).collect()
    }

    fn log_in(client: &mut FtpClient, flow: u32, now: Time) {
        client.opened(now, flow, at(0));
        for (code, text) in [(220, ""), (331, ""), (230, ""), (200, ""), (213, "5")] {
            client.replied(now, flow, &Reply::new(code, text)).expect("it is fine");
        }
    }

    /// Runs a whole transfer whose first command was sent at `now`.
    fn transfer(client: &mut FtpClient, flow: u32, now: Time) {
        client.replied(now, flow, &Reply::new(229, "(|||9|)")).expect("fine");
        client.connected(now, flow);
        client.replied(now, flow, &Reply::new(150, "")).expect("fine");
        let first_byte = Some(now + Duration::from_us(2));
        let ended = now + Duration::from_us(7);
        client.carried(ended, flow, Stored { bytes: 5, first_byte, ended }).expect("fine");
        client.replied(now + Duration::from_us(9), flow, &Reply::new(226, "")).expect("fine");
    }

    fn samples(actions: &[FtpAction]) -> Vec<(u64, u64)> {
        let times = |action: &FtpAction| match action {
            FtpAction::Sample(Sample::Transfer { started, ended, .. }) => {
                Some((started.as_ns() / 1000, ended.as_ns() / 1000))
            }
            _ => None,
        };
        actions.iter().filter_map(times).collect()
    }

    #[test]
    fn a_session_tells_the_parts_of_its_log_in() {
        let mut client = client(1, Until::Count(0), Until::Count(1), false);
        client.opened(at(30), 0, at(10));
        for (code, us) in [(220, 40), (331, 50), (230, 60), (200, 70)] {
            client.replied(at(us), 0, &Reply::new(code, "")).expect("fine");
        }
        client.replied(at(90), 0, &Reply::new(213, "5")).expect("fine");
        let (connect, login) = (Duration::from_us(20), Duration::from_us(60));
        let told = FtpAction::LoggedIn { flow: 0, connect, login };
        assert!(actions(&mut client, at(90)).contains(&told));
    }

    #[test]
    fn transfers_follow_each_other_until_their_count() {
        let mut client = client(1, Until::Count(1), Until::Count(2), true);
        log_in(&mut client, 0, at(10));
        actions(&mut client, at(10));
        transfer(&mut client, 0, at(20));
        assert_eq!(actions(&mut client, at(29)).last(), Some(&FtpAction::Hold));
        assert!(client.go(at(100)));
        assert_eq!(actions(&mut client, at(100))[0], FtpAction::Begin);
        transfer(&mut client, 0, at(100));
        let first = actions(&mut client, at(109));
        assert_eq!(samples(&first), [(100, 107)], "a get ends when its last byte is stored");
        transfer(&mut client, 0, at(200));
        let second = actions(&mut client, at(209));
        assert_eq!(samples(&second), [(109, 207)]);
        assert_eq!(second.last(), Some(&FtpAction::End));
    }

    #[test]
    fn a_transfer_under_way_at_the_end_of_the_time_ends_after_it() {
        let ns = Duration::from_us(50);
        let mut client = client(2, Until::Count(0), Until::Time(ns), false);
        log_in(&mut client, 0, at(10));
        log_in(&mut client, 1, at(10));
        actions(&mut client, at(10));
        transfer(&mut client, 0, at(20));
        assert_eq!(client.next_action(), Time::ZERO, "the next transfer begins at once");
        actions(&mut client, at(29));
        assert_eq!(client.next_action(), at(60));
        assert_eq!(actions(&mut client, at(60)), [FtpAction::Over]);
        transfer(&mut client, 0, at(70));
        assert_eq!(actions(&mut client, at(79)).len(), 4, "the other one is under way");
        transfer(&mut client, 1, at(80));
        assert_eq!(actions(&mut client, at(89)).last(), Some(&FtpAction::End));
    }

    #[test]
    fn a_phase_waits_for_the_log_in_of_all_sessions() {
        let mut client = client(2, Until::Count(0), Until::Count(1), false);
        log_in(&mut client, 1, at(10));
        assert!(!actions(&mut client, at(10)).contains(&FtpAction::Begin));
        log_in(&mut client, 0, at(20));
        assert!(actions(&mut client, at(20)).contains(&FtpAction::Begin));
    }

    #[test]
    fn a_measuring_phase_without_a_transfer_is_refused() {
        let phases = Phases { warmup: Until::Count(1), measure: Until::Count(0), hold: false };
        let config = FtpConfig { pause: Duration::ZERO, phases };
        assert!(config.check().is_err());
    }
}
