//! Two applications that run on one host at the same time: a workload and its companion.

use netstudy_units::{Duration, Time};

use crate::{Action, Because, Owed, Sample, Traffic};

/// An application that has no phases of its own, and rests between the phases of another
/// application.
pub trait Companion: Traffic {
    /// Starts no new requests.
    fn rest(&mut self) {}

    /// Whether no request is in flight. Called after [`Self::rest`].
    fn is_at_rest(&self) -> bool {
        true
    }

    /// Starts or continues.
    fn resume(&mut self, _now: Time) {}

    /// Whether its connections are open.
    fn is_open(&self) -> bool {
        true
    }
}

/// A workload and its companion as one application. The connections of the workload have the lower
/// numbers.
///
/// The phases are those of the workload. When the companion's connections are open, the companion
/// may first run alone for some time: until [`Self::workload_begins`]. The companion comes to rest
/// before the workload waits for the controller, and before the workload ends.
#[derive(Clone, Debug)]
pub struct Beside<A, B> {
    workload: A,
    /// Connections of the workload.
    connections: u32,
    companion: B,
    idle: Duration,
    hold: bool,
    stage: Stage,
    begins: Time,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Only the companion runs until this time. [`Time::NEVER`]: the companion's connections are
    /// still being opened.
    Alone(Time),
    /// The companion has been coming to rest since this time; the workload starts afterwards.
    Resting(Time),
    /// Waits for the controller, like a workload between its phases.
    Held,
    /// Both run.
    Both,
    /// This action of the workload waits until the companion is at rest. The companion has been
    /// coming to rest since this time.
    RestingBefore(Action, Time),
}

impl<A: Traffic, B: Companion> Beside<A, B> {
    /// Combines a `workload`, which has `connections` connections, and a companion, which first
    /// runs alone for the time `idle`. `hold`: whether to wait for [`Traffic::go`] after this time.
    #[must_use]
    pub fn new(
        workload: A,
        connections: u32,
        mut companion: B,
        idle: Duration,
        hold: bool,
    ) -> Self {
        companion.resume(Time::ZERO);
        let is_alone = idle > Duration::ZERO;
        let stage = if is_alone { Stage::Alone(Time::NEVER) } else { Stage::Both };
        let begins = if is_alone { Time::NEVER } else { Time::ZERO };
        Self { workload, connections, companion, idle, hold, stage, begins }
    }

    /// When the workload started; [`Time::NEVER`] before.
    #[must_use]
    pub const fn workload_begins(&self) -> Time {
        self.begins
    }

    fn begin_workload(&mut self, now: Time) {
        self.begins = now;
        self.stage = Stage::Both;
        self.companion.resume(now);
    }

    /// Time of the workload's next action, but not before the workload starts.
    fn workload_due(&self) -> Time {
        self.workload.next_action().max(self.begins)
    }

    /// The next action of a companion that is coming to rest, if an action is due.
    fn poll_resting(&mut self, now: Time) -> Option<Action> {
        let action = self.poll_companion(now);
        if action.is_some()
            && let Stage::Resting(since) | Stage::RestingBefore(_, since) = &mut self.stage
        {
            *since = now;
        }
        action
    }

    /// The companion's next action, if one is due.
    fn poll_companion(&mut self, now: Time) -> Option<Action> {
        if self.companion.next_action() > now {
            return None;
        }
        let shift = self.connections;
        self.companion.poll(now).map(|action| action.shifted(shift))
    }

    /// The workload's next action, if one is due. Some actions wait until the companion is at rest.
    fn poll_workload(&mut self, now: Time) -> Option<Action> {
        if self.workload_due() > now {
            return None;
        }
        let action = self.workload.poll(now)?;
        if !matches!(action, Action::Hold | Action::End) {
            return Some(action);
        }
        self.companion.rest();
        self.stage = Stage::RestingBefore(action, now);
        self.poll(now)
    }
}

impl Action {
    /// The same action with its connection number increased by `shift`.
    fn shifted(self, shift: u32) -> Self {
        // There is no default arm, so that no action with a connection can be forgotten.
        match self {
            Self::Open { connection } => Self::Open { connection: connection + shift },
            Self::Write { connection, bytes } => {
                Self::Write { connection: connection + shift, bytes }
            }
            Self::Stream { connection } => Self::Stream { connection: connection + shift },
            Self::Finish { connection, bytes } => {
                Self::Finish { connection: connection + shift, bytes }
            }
            Self::Read { connection } => Self::Read { connection: connection + shift },
            Self::Close { connection } => Self::Close { connection: connection + shift },
            Self::Sample(Sample::Request { connection, intended, ended }) => {
                let connection = connection + shift;
                Self::Sample(Sample::Request { connection, intended, ended })
            }
            Self::Sample(Sample::Transfer {
                connection,
                bytes_received,
                bytes_sent,
                started,
                first_byte,
                ended,
            }) => {
                let connection = connection + shift;
                let sample = Sample::Transfer {
                    connection,
                    bytes_received,
                    bytes_sent,
                    started,
                    first_byte,
                    ended,
                };
                Self::Sample(sample)
            }
            Self::Sample(Sample::LogIn { connection, connect, login }) => {
                let connection = connection + shift;
                Self::Sample(Sample::LogIn { connection, connect, login })
            }
            Self::Sample(Sample::Iteration { .. })
            | Self::Begin
            | Self::Over
            | Self::End
            | Self::Hold
            | Self::Ready => self,
        }
    }
}

impl<A: Traffic, B: Companion> Traffic for Beside<A, B> {
    const HEARS_ACKNOWLEDGMENTS: bool = A::HEARS_ACKNOWLEDGMENTS || B::HEARS_ACKNOWLEDGMENTS;
    const REOPENS: bool = A::REOPENS || B::REOPENS;
    const READS_LATER: bool = A::READS_LATER || B::READS_LATER;

    fn unread(&self, connection: u32) -> u64 {
        match connection.checked_sub(self.connections) {
            None => self.workload.unread(connection),
            Some(own) => self.companion.unread(own),
        }
    }

    fn next_action(&self) -> Time {
        let companion = self.companion.next_action();
        match self.stage {
            Stage::Alone(until) => companion.min(until),
            Stage::Resting(since) if self.companion.is_at_rest() => since,
            Stage::RestingBefore(_, since) if self.companion.is_at_rest() => since,
            Stage::Resting(_) | Stage::Held | Stage::RestingBefore(..) => companion,
            Stage::Both => companion.min(self.workload_due()),
        }
    }

    fn poll(&mut self, now: Time) -> Option<Action> {
        match self.stage {
            Stage::Alone(until) if until <= now && until <= self.companion.next_action() => {
                self.companion.rest();
                self.stage = Stage::Resting(now);
                self.poll(now)
            }
            Stage::Resting(_) if self.companion.is_at_rest() => {
                if self.hold {
                    self.stage = Stage::Held;
                    return Some(Action::Hold);
                }
                self.begin_workload(now);
                self.poll(now)
            }
            Stage::RestingBefore(action, _) if self.companion.is_at_rest() => {
                self.stage = Stage::Both;
                Some(action)
            }
            Stage::Alone(_) | Stage::Held => self.poll_companion(now),
            Stage::Resting(_) | Stage::RestingBefore(..) => self.poll_resting(now),
            // Overdue actions are returned in the order of their times.
            Stage::Both if self.companion.next_action() < self.workload_due() => {
                self.poll_companion(now).or_else(|| self.poll_workload(now))
            }
            Stage::Both => self.poll_workload(now).or_else(|| self.poll_companion(now)),
        }
    }

    fn go(&mut self, at: Time) -> bool {
        if self.stage == Stage::Held {
            self.begin_workload(at);
            return true;
        }
        let goes = self.workload.go(at);
        if goes && self.companion.is_at_rest() {
            self.companion.resume(at);
        }
        goes
    }

    fn opened(&mut self, now: Time, connection: u32) -> bool {
        match connection.checked_sub(self.connections) {
            None => self.workload.opened(now, connection),
            Some(own) => {
                let begins = self.companion.opened(now, own);
                if self.stage == Stage::Alone(Time::NEVER) && self.companion.is_open() {
                    self.stage = Stage::Alone(now + self.idle);
                }
                begins
            }
        }
    }

    fn received(&mut self, now: Time, connection: u32, before: u64, total: u64) -> bool {
        match connection.checked_sub(self.connections) {
            None => self.workload.received(now, connection, before, total),
            Some(own) => self.companion.received(now, own, before, total),
        }
    }

    fn acknowledged(&mut self, now: Time, connection: u32, total: u64) -> bool {
        match connection.checked_sub(self.connections) {
            None => self.workload.acknowledged(now, connection, total),
            Some(own) => self.companion.acknowledged(now, own, total),
        }
    }

    fn finished(&mut self, connection: u32, total: u64) {
        match connection.checked_sub(self.connections) {
            None => self.workload.finished(connection, total),
            Some(own) => self.companion.finished(own, total),
        }
    }

    fn ends_at(&mut self, connection: u32, total: u64) {
        match connection.checked_sub(self.connections) {
            None => self.workload.ends_at(connection, total),
            Some(own) => self.companion.ends_at(own, total),
        }
    }

    fn closed(&mut self, now: Time, connection: u32) -> bool {
        match connection.checked_sub(self.connections) {
            None => self.workload.closed(now, connection),
            Some(own) => self.companion.closed(now, own),
        }
    }

    fn receiving(&self, connection: u32) -> Duration {
        match connection.checked_sub(self.connections) {
            None => self.workload.receiving(connection),
            Some(own) => self.companion.receiving(own),
        }
    }

    fn owed(&self, connection: u32, received: u64) -> Option<Owed> {
        match connection.checked_sub(self.connections) {
            None => self.workload.owed(connection, received),
            Some(own) => self.companion.owed(own, received),
        }
    }

    fn because(&self, connection: u32) -> Because {
        match connection.checked_sub(self.connections) {
            None => self.workload.because(connection),
            Some(own) => self.companion.because(own),
        }
    }

    fn working_since(&self) -> Time {
        self.workload.working_since().min(self.companion.working_since())
    }
}
