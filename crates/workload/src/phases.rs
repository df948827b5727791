//! The phases that a client goes through: it opens its connections, warms up, measures.

use netstudy_units::{Duration, Time};

/// How long a phase lasts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// Until this number of transfers or requests of each connection have ended; 0: the phase is empty.
    Count(u64),
    /// For this time; transfers begun within it are completed after it.
    Time(Duration),
    /// Of a warm-up: until the time that the controller names meanwhile. The measuring phase begins
    /// then, without a break: transfers under way go on.
    Told,
}

impl Until {
    /// Whether the phase is empty.
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
    /// counters can be read with nothing under way. A warm-up until [`Until::Told`] waits in any case.
    pub hold: bool,
}

impl Phases {
    /// Whether a client can go through these phases.
    ///
    /// # Errors
    /// Says why not.
    pub(crate) const fn check(&self) -> Result<(), &'static str> {
        match (self.warmup, self.measure) {
            (_, Until::Told) => Err("the measuring phase ends after a count or a time"),
            (Until::Told, Until::Count(_)) => {
                Err("before a measuring phase that counts, what the warm-up has begun is ended")
            }
            _ => Ok(()),
        }
    }
}

/// Limits of new exchanges on each connection in a phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Limit {
    count: u64,
    /// Exchanges due at this time or later do not begin.
    pub(crate) deadline: Time,
}

impl Limit {
    /// No exchange may begin.
    pub(crate) const NONE: Self = Self { count: 0, deadline: Time::ZERO };
    /// Everything may.
    pub(crate) const ENDLESS: Self = Self { count: u64::MAX, deadline: Time::NEVER };

    fn new(until: Until, now: Time) -> Self {
        match until {
            Until::Count(count) => Self { count, deadline: Time::NEVER },
            Until::Time(time) => Self { count: u64::MAX, deadline: now + time },
            Until::Told => Self::ENDLESS,
        }
    }

    /// Whether a further exchange may begin at `at`, after `begun` of them.
    pub(crate) fn allows(self, begun: u64, at: Time) -> bool {
        begun < self.count && at < self.deadline
    }
}

/// The client's step at the end of a phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// It waits for the controller.
    Hold,
    /// It begins the measuring phase.
    Measure(Limit),
    /// The workload ends.
    End,
}

/// Something that is due at an instant of a client's phases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    /// The measuring phase begins; exchanges under way go on.
    Measure(Limit),
    /// The time of the measuring phase is over.
    Over,
}

/// Where a client is in its phases.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sequence {
    phases: Phases,
    stage: Stage,
    /// When [`Self::turn`] has something to do.
    due: Time,
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
    /// The sequence of a client with this number of connections, which it opens first.
    pub(crate) const fn new(phases: Phases, connections: u32) -> Self {
        Self { phases, stage: Stage::Opening { left: connections }, due: Time::NEVER }
    }

    /// A connection is open. The warm-up begins with the last one.
    pub(crate) fn opened(&mut self, now: Time) -> Option<Limit> {
        let Stage::Opening { left } = &mut self.stage else { return None };
        *left -= 1;
        if *left > 0 {
            return None;
        }
        self.stage = Stage::WarmUp;
        let limit = Limit::new(self.phases.warmup, now);
        if limit.deadline > now {
            self.due = limit.deadline;
        }
        Some(limit)
    }

    /// Whether a warm-up is under way whose end the controller will tell.
    pub(crate) fn is_to_be_told(&self) -> bool {
        self.stage == Stage::WarmUp && self.phases.warmup == Until::Told
    }

    /// Whether the current phase may end once its exchanges have: its time is over.
    pub(crate) const fn may_end(&self) -> bool {
        match self.stage {
            Stage::WarmUp => {
                !matches!(self.phases.warmup, Until::Told) && matches!(self.due, Time::NEVER)
            }
            Stage::Measure => matches!(self.due, Time::NEVER),
            _ => false,
        }
    }

    /// The current phase is over, with nothing under way.
    pub(crate) fn ended(&mut self, now: Time) -> Next {
        if self.stage == Stage::Measure {
            self.stage = Stage::Over;
            return Next::End;
        }
        if self.phases.hold {
            self.stage = Stage::Held;
            return Next::Hold;
        }
        Next::Measure(self.measure(now))
    }

    fn measure(&mut self, now: Time) -> Limit {
        self.stage = Stage::Measure;
        let limit = Limit::new(self.phases.measure, now);
        self.due = limit.deadline;
        limit
    }

    /// The controller starts the measuring phase at `at`: at once, if the client holds; if its warm-up
    /// is to be told, [`Self::turn`] is due then. Returns whether the client waited for that.
    pub(crate) fn go(&mut self, at: Time) -> bool {
        if self.is_to_be_told() {
            self.due = at;
            return true;
        }
        self.stage == Stage::Held
    }

    /// The client that held begins to measure; none if it does not hold.
    pub(crate) fn resume(&mut self, now: Time) -> Option<Limit> {
        (self.stage == Stage::Held).then(|| self.measure(now))
    }

    /// When [`Self::turn`] is due.
    pub(crate) const fn due(&self) -> Time {
        self.due
    }

    /// Takes the step that is due at `now`, if any. The time of a warm-up that is not told its end
    /// passes without a step: its exchanges are completed.
    pub(crate) fn turn(&mut self, now: Time) -> Option<Turn> {
        if self.due > now {
            return None;
        }
        self.due = Time::NEVER;
        match self.stage {
            Stage::WarmUp if self.phases.warmup == Until::Told => {
                Some(Turn::Measure(self.measure(now)))
            }
            Stage::WarmUp => None,
            _ => Some(Turn::Over),
        }
    }
}
