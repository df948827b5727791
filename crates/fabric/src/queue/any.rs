//! All disciplines by name: selects the code of the discipline that a plan describes.

use alloc::boxed::Box;
use alloc::string::String;

use netstudy_units::Time;
use serde::{Deserialize, Serialize};

use super::{
    Backlog, BucketConfig, CoDel, CoDelConfig, Discipline, Drr, DrrConfig, Fates, Fifo, FifoConfig,
    FqCoDel, FqCoDelConfig, Item, Line, Pie, PieConfig, Policer, Priority, PriorityConfig, Queued,
    Red, RedConfig, Shaper, Varying, VaryingConfig,
};
use crate::{BufferConfig, Chance};

/// The queue discipline of a port and its parameters, as written in plans.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum QueueConfig {
    /// First in, first out.
    Fifo(FifoConfig),
    /// Random early detection.
    Red(RedConfig),
    /// Controlled delay.
    #[serde(rename = "codel")]
    CoDel(CoDelConfig),
    /// Controlled delay of each flow.
    #[serde(rename = "fq-codel")]
    FqCoDel(FqCoDelConfig),
    /// Proportional integral controller enhanced.
    Pie(PieConfig),
    /// Strict priority of classes.
    Priority(PriorityConfig),
    /// Deficit round-robin of classes.
    Drr(DrrConfig),
    /// A token bucket that holds frames back.
    Shaper(BucketConfig),
    /// A token bucket that drops frames.
    Policer(BucketConfig),
    /// A line whose rate changes with time.
    VaryingRate(VaryingConfig),
}

impl QueueConfig {
    /// Checks the parameters that a plan's schema cannot check.
    ///
    /// # Errors
    ///
    /// Names the invalid parameter, its value and the limit.
    pub fn check(&self) -> Result<(), String> {
        match self {
            Self::Fifo(_) => Ok(()),
            Self::Red(config) => config.check(),
            Self::CoDel(config) => config.check(),
            Self::FqCoDel(config) => config.check(),
            Self::Pie(config) => config.check(),
            Self::Priority(config) => config.check(),
            Self::Drr(config) => config.check(),
            Self::Policer(config) if config.offload_as_one => {
                Err("offload_as_one: a policer counts each frame; only a shaper has it".into())
            }
            Self::Shaper(config) | Self::Policer(config) => config.check(),
            Self::VaryingRate(config) => config.check(),
        }
    }

    /// True if the discipline, or one of its classes or of those under it, takes in any number of
    /// frames, so that only the memory of its device limits them: the buffer of a switch, or the
    /// transmit queue of a host's interface.
    #[must_use]
    pub fn is_unlimited(&self) -> bool {
        match self {
            Self::Fifo(config) => config.limit_bytes.is_none() && config.limit_packets.is_none(),
            Self::Priority(config) => config.bands.iter().any(|band| band.limit_packets.is_none()),
            Self::Drr(config) => config.classes.iter().any(|class| class.limit_packets.is_none()),
            Self::Shaper(BucketConfig { over, .. })
            | Self::Policer(BucketConfig { over, .. })
            | Self::VaryingRate(VaryingConfig { over, .. }) => {
                over.as_ref().is_none_or(|over| over.is_unlimited())
            }
            Self::Red(_) | Self::CoDel(_) | Self::FqCoDel(_) | Self::Pie(_) => false,
        }
    }

    /// True if the discipline, or one under it, charges a packet of segmentation offload as one
    /// frame ([`BucketConfig::offload_as_one`]).
    #[must_use]
    pub fn counts_offload_as_one(&self) -> bool {
        let (own, over) = match self {
            Self::Shaper(config) | Self::Policer(config) => (config.offload_as_one, &config.over),
            Self::VaryingRate(config) => (false, &config.over),
            _ => return false,
        };
        own || over.as_ref().is_some_and(|over| over.counts_offload_as_one())
    }
}

/// Checks the discipline of a switch's port, and that the buffer of the switch leaves decisions to a
/// discipline. `marks`: the switch marks frames by a threshold of its own.
///
/// # Errors
///
/// Names the invalid parameter, or says why the switch cannot have a discipline.
pub fn check_at_switch(
    queue: &QueueConfig,
    buffer: &BufferConfig,
    marks: bool,
) -> Result<(), String> {
    queue.check()?;
    if queue.counts_offload_as_one() {
        return Err(
            "offload_as_one: frames reach a switch one by one; only the interface of a host \
                    gets packets of several"
                .into(),
        );
    }
    if !matches!(buffer, BufferConfig::OutputQueued(_)) {
        return Err("only ports of a switch with an output-queued buffer can have one".into());
    }
    if marks {
        return Err("the switch marks frames by its ecn_threshold_bytes: give only one".into());
    }
    Ok(())
}

/// A queue of any discipline.
#[derive(Clone, Debug)]
pub enum AnyQueue<F> {
    /// As [`QueueConfig::Fifo`].
    Fifo(Fifo<F>),
    /// As [`QueueConfig::Red`].
    Red(Box<Red<F>>),
    /// As [`QueueConfig::CoDel`].
    CoDel(CoDel<F>),
    /// As [`QueueConfig::FqCoDel`].
    FqCoDel(FqCoDel<F>),
    /// As [`QueueConfig::Pie`].
    Pie(Box<Pie<F>>),
    /// As [`QueueConfig::Priority`].
    Priority(Priority<F>),
    /// As [`QueueConfig::Drr`].
    Drr(Drr<F>),
    /// As [`QueueConfig::Shaper`].
    Shaper(Shaper<F>),
    /// As [`QueueConfig::Policer`].
    Policer(Policer<F>),
    /// As [`QueueConfig::VaryingRate`].
    Varying(Varying<F>),
}

/// Calls a method of the discipline.
macro_rules! each {
    ($queue:expr, $one:ident => $call:expr) => {
        match $queue {
            AnyQueue::Fifo($one) => $call,
            AnyQueue::Red($one) => $call,
            AnyQueue::CoDel($one) => $call,
            AnyQueue::FqCoDel($one) => $call,
            AnyQueue::Pie($one) => $call,
            AnyQueue::Priority($one) => $call,
            AnyQueue::Drr($one) => $call,
            AnyQueue::Shaper($one) => $call,
            AnyQueue::Policer($one) => $call,
            AnyQueue::Varying($one) => $call,
        }
    };
}

impl<F: Queued> AnyQueue<F> {
    /// An empty queue before `line`.
    #[must_use]
    pub fn new(config: &QueueConfig, line: &Line) -> Self {
        match config {
            QueueConfig::Fifo(config) => Self::Fifo(Fifo::new(config)),
            QueueConfig::Red(config) => Self::Red(Box::new(Red::new(config, line))),
            QueueConfig::CoDel(config) => Self::CoDel(CoDel::new(config, line)),
            QueueConfig::FqCoDel(config) => Self::FqCoDel(FqCoDel::new(config, line)),
            QueueConfig::Pie(config) => Self::Pie(Box::new(Pie::new(config))),
            QueueConfig::Priority(config) => Self::Priority(Priority::new(config)),
            QueueConfig::Drr(config) => Self::Drr(Drr::new(config)),
            QueueConfig::Shaper(config) => Self::Shaper(Shaper::new(config, line)),
            QueueConfig::Policer(config) => Self::Policer(Policer::new(config, line)),
            QueueConfig::VaryingRate(config) => Self::Varying(Varying::new(config, line)),
        }
    }

    /// The queue below a shaper, a policer or a varying rate; if none is given, a FIFO that only the
    /// buffer limits.
    pub(super) fn over(config: Option<&QueueConfig>, line: &Line) -> Self {
        match config {
            Some(config) => Self::new(config, line),
            None => Self::Fifo(Fifo::new(&FifoConfig::default())),
        }
    }
}

impl<F: Queued> Discipline<F> for AnyQueue<F> {
    fn enqueue<C: Chance>(&mut self, item: Item<F>, chance: &mut C, fates: &mut Fates<F>) {
        each!(self, one => one.enqueue(item, chance, fates));
    }

    fn dequeue<C: Chance>(
        &mut self,
        now: Time,
        chance: &mut C,
        fates: &mut Fates<F>,
    ) -> Option<Item<F>> {
        each!(self, one => one.dequeue(now, chance, fates))
    }

    fn next(&self) -> Time {
        each!(self, one => one.next())
    }

    fn backlog(&self) -> Backlog {
        each!(self, one => one.backlog())
    }
}
