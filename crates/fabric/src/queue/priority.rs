use alloc::string::String;
use alloc::vec::Vec;

use netstudy_units::Time;
use serde::{Deserialize, Serialize};

use super::classes::{self, Band, Classes};
use super::{Backlog, Discipline, Fates, Fifo, FifoConfig, Item, Queued};
use crate::Chance;

/// Parameters of [`Priority`], as in `tc-prio(8)`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PriorityConfig {
    /// The bands; the first one is served first. Frames whose code point no band lists belong to
    /// the last band.
    pub bands: Vec<Band>,
}

impl PriorityConfig {
    pub(super) fn check(&self) -> Result<(), String> {
        classes::check("bands", self.bands.iter().map(|band| (&band.dscp, band.limit_packets)))
    }
}

/// Strict priority: a frame leaves only if no frame waits in the bands before its own.
#[derive(Clone, Debug)]
pub struct Priority<F> {
    classes: Classes,
    bands: Vec<Fifo<F>>,
}

impl<F: Queued> Priority<F> {
    /// Empty bands.
    #[must_use]
    pub fn new(config: &PriorityConfig) -> Self {
        let fifo = |band: &Band| {
            Fifo::new(&FifoConfig { limit_bytes: None, limit_packets: band.limit_packets })
        };
        Self {
            classes: Classes::new(config.bands.iter().map(|band| &band.dscp)),
            bands: config.bands.iter().map(fifo).collect(),
        }
    }
}

impl<F: Queued> Discipline<F> for Priority<F> {
    fn enqueue<C: Chance>(&mut self, item: Item<F>, chance: &mut C, fates: &mut Fates<F>) {
        self.bands[self.classes.of(item.frame.dscp())].enqueue(item, chance, fates);
    }

    fn dequeue<C: Chance>(
        &mut self,
        now: Time,
        chance: &mut C,
        fates: &mut Fates<F>,
    ) -> Option<Item<F>> {
        self.bands.iter_mut().find_map(|band| band.dequeue(now, chance, fates))
    }

    fn backlog(&self) -> Backlog {
        self.bands.iter().fold(Backlog::default(), |sum, band| sum.and(band.backlog()))
    }
}
