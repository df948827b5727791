//! The phases that a client goes through: it opens its connections, warms up, measures.

use netstudy_units::{Duration, Time};

/// How long a phase lasts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// Until so many transfers or requests of each connection have ended; 0: the phase is empty.
    Count(u64),
    /// What is begun in this time is ended.
    Time(Duration),
}

impl Until {
    /// Whether nothing at all may begin.
    #[must_use]
    pub fn is_empty(self) -> bool {
        matches!(self, Self::Count(0) | Self::Time(Duration::ZERO))
    }
}

/// The phases of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Phases {
    /// Before anything is measured.
    pub warmup: Until,
    /// The measuring phase.
    pub measure: Until,
    /// Whether the client waits for [`Traffic::go`](crate::Traffic::go) between the two, so that
    /// counters can be read while nothing is under way.
    pub hold: bool,
}

/// What may begin on each connection in a phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Limit {
    count: u64,
    /// What is due then, or later, does not begin.
    pub(crate) deadline: Time,
}

impl Limit {
    /// Nothing may begin.
    pub(crate) const NONE: Self = Self { count: 0, deadline: Time::ZERO };
    /// Everything may.
    pub(crate) const ENDLESS: Self = Self { count: u64::MAX, deadline: Time::NEVER };

    fn new(until: Until, now: Time) -> Self {
        match until {
            Until::Count(count) => Self { count, deadline: Time::NEVER },
            Until::Time(time) => Self { count: u64::MAX, deadline: now + time },
        }
    }

    /// Whether one more may begin at `at` where `begun` have.
    pub(crate) fn allows(self, begun: u64, at: Time) -> bool {
        begun < self.count && at < self.deadline
    }
}

/// What a client does when a phase is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// It waits for the controller.
    Hold,
    /// It begins the measuring phase.
    Measure(Limit),
    /// It is done.
    End,
}

/// Where a client is in its phases.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sequence {
    phases: Phases,
    stage: Stage,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Opening { left: u32 },
    WarmUp,
    Held,
    Measure,
    Over,
}

impl Sequence {
    /// Of a client with so many connections, which opens them first.
    pub(crate) const fn new(phases: Phases, connections: u32) -> Self {
        Self { phases, stage: Stage::Opening { left: connections } }
    }

    /// A connection is open. The warm-up begins with the last one.
    pub(crate) fn opened(&mut self, now: Time) -> Option<Limit> {
        let Stage::Opening { left } = &mut self.stage else { return None };
        *left -= 1;
        if *left > 0 {
            return None;
        }
        self.stage = Stage::WarmUp;
        Some(Limit::new(self.phases.warmup, now))
    }

    /// Whether a phase is under way.
    pub(crate) const fn is_under_way(&self) -> bool {
        matches!(self.stage, Stage::WarmUp | Stage::Measure)
    }

    /// The phase that is under way is over.
    pub(crate) fn ended(&mut self, now: Time) -> Next {
        if self.stage == Stage::Measure {
            self.stage = Stage::Over;
            return Next::End;
        }
        if self.phases.hold {
            self.stage = Stage::Held;
            return Next::Hold;
        }
        self.stage = Stage::Measure;
        Next::Measure(Limit::new(self.phases.measure, now))
    }

    /// The controller starts the measuring phase, if that is waiting.
    pub(crate) fn go(&mut self, now: Time) -> Option<Limit> {
        (self.stage == Stage::Held).then(|| {
            self.stage = Stage::Measure;
            Limit::new(self.phases.measure, now)
        })
    }
}
