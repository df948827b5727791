//! The phases of a client: it opens its connections, warms up and measures.

use netstudy_units::{Duration, Time};

/// How long a phase lasts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// Until each connection has completed this number of transfers or requests; 0: the phase is
    /// empty.
    Count(u64),
    /// For this time; transfers that are in progress at its end are still completed.
    Time(Duration),
    /// For a warm-up: until a time that the controller sets while the warm-up runs. The measuring
    /// phase follows without a break: transfers in progress continue.
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
    /// The warm-up, which is not measured.
    pub warmup: Until,
    /// The measuring phase.
    pub measure: Until,
    /// Whether the client waits for [`Traffic::go`](crate::Traffic::go) between warm-up and
    /// measuring phase, so that counters can be read while nothing is in flight. After a warm-up
    /// with [`Until::Told`], the client waits in any case.
    pub hold: bool,
}

impl Phases {
    /// Checks that a client supports these phases.
    ///
    /// # Errors Says which limit is violated.
    pub(crate) const fn check(&self) -> Result<(), &'static str> {
        match (self.warmup, self.measure) {
            (_, Until::Told) => Err("the measuring phase must have a count or a time"),
            (Until::Told, Until::Count(_)) => {
                Err("a measuring phase with a count needs a warm-up with a count or a time")
            }
            _ => Ok(()),
        }
    }
}

/// Limits the exchanges that may start on each connection in a phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Limit {
    count: u64,
    /// Exchanges due at this time or later do not begin.
    pub(crate) deadline: Time,
}

impl Limit {
    /// No exchange may start.
    pub(crate) const NONE: Self = Self { count: 0, deadline: Time::ZERO };
    /// Every exchange may start.
    pub(crate) const ENDLESS: Self = Self { count: u64::MAX, deadline: Time::NEVER };

    fn new(until: Until, now: Time) -> Self {
        match until {
            Until::Count(count) => Self { count, deadline: Time::NEVER },
            Until::Time(time) => Self { count: u64::MAX, deadline: now + time },
            Until::Told => Self::ENDLESS,
        }
    }

    /// Whether a further exchange may start at `at`, after `begun` earlier ones.
    pub(crate) fn allows(self, begun: u64, at: Time) -> bool {
        begun < self.count && at < self.deadline
    }
}

/// What the client does at the end of a phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// The client waits for the controller.
    Hold,
    /// The client begins the measuring phase.
    Measure(Limit),
    /// The workload ends.
    End,
}

/// A step from one phase to the next that is due at a certain time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    /// The measuring phase begins; exchanges in progress continue.
    Measure(Limit),
    /// The time of the measuring phase is over.
    Over,
}

/// Keeps track of the phase in which a client is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sequence {
    phases: Phases,
    stage: Stage,
    /// When [`Self::turn`] is due.
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
    /// The sequence of a client that first opens this number of connections.
    pub(crate) const fn new(phases: Phases, connections: u32) -> Self {
        Self { phases, stage: Stage::Opening { left: connections }, due: Time::NEVER }
    }

    /// Reports an open connection. The warm-up begins when the last one is open.
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

    /// Whether the client is in a warm-up whose end the controller will set.
    pub(crate) fn is_to_be_told(&self) -> bool {
        self.stage == Stage::WarmUp && self.phases.warmup == Until::Told
    }

    /// Whether the time of the current phase is over, so that the phase may end when its last
    /// exchange ends.
    pub(crate) const fn may_end(&self) -> bool {
        match self.stage {
            Stage::WarmUp => {
                !matches!(self.phases.warmup, Until::Told) && matches!(self.due, Time::NEVER)
            }
            Stage::Measure => matches!(self.due, Time::NEVER),
            _ => false,
        }
    }

    /// Ends the current phase, which has nothing in flight. Returns the next step.
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

    /// The controller starts the measuring phase at `at`. A client that waits after its warm-up
    /// starts at once. If the controller sets the end of the warm-up, [`Self::turn`] becomes due at
    /// `at`. Returns whether the client waited for the controller.
    pub(crate) fn go(&mut self, at: Time) -> bool {
        if self.is_to_be_told() {
            self.due = at;
            return true;
        }
        self.stage == Stage::Held
    }

    /// Starts the measuring phase of a client that waits for the controller; none if the client is
    /// not waiting.
    pub(crate) fn resume(&mut self, now: Time) -> Option<Limit> {
        (self.stage == Stage::Held).then(|| self.measure(now))
    }

    /// When [`Self::turn`] is due.
    pub(crate) const fn due(&self) -> Time {
        self.due
    }

    /// Takes the step to the next phase that is due at `now`, if any. A warm-up with a fixed time
    /// ends without a step, because its exchanges are completed first.
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
