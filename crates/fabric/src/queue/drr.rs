use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use netstudy_ring::Ring;
use netstudy_units::Time;
use serde::{Deserialize, Serialize};

use super::classes::{self, Classes, DrrClass};
use super::frames::Frames;
use super::positive::positive;
use super::{Backlog, Discipline, Fates, Item, Queued};
use crate::Chance;

/// Parameters of [`Drr`], as in `tc-drr(8)`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DrrConfig {
    /// The classes. Frames whose code point no class lists belong to the last class.
    pub classes: Vec<DrrClass>,
}

impl DrrConfig {
    pub(super) fn check(&self) -> Result<(), String> {
        let lists = self.classes.iter().map(|class| (&class.dscp, class.limit_packets));
        classes::check("classes", lists)?;
        for (number, class) in self.classes.iter().enumerate() {
            positive(&format!("classes[{number}].quantum_bytes"), class.quantum_bytes)?;
        }
        Ok(())
    }
}

/// Deficit round-robin: classes with frames send in turn, each its quantum of bytes (Shreedhar and
/// Varghese 1995, figure 3).
#[derive(Clone, Debug)]
pub struct Drr<F> {
    classes: Classes,
    queues: Vec<Queue<F>>,
    /// Classes with frames, in the order of their turns (`ActiveList`).
    active: Ring<u32>,
    /// Whether the first of `active` has got the quantum of its turn.
    turn_began: bool,
}

#[derive(Clone, Debug)]
struct Queue<F> {
    frames: Frames<F>,
    quantum: u64,
    limit_frames: usize,
    /// Bytes that the class may still send (`DeficitCounter`).
    deficit: u64,
}

impl<F: Queued> Drr<F> {
    /// Empty classes.
    #[must_use]
    pub fn new(config: &DrrConfig) -> Self {
        let queue = |class: &DrrClass| Queue {
            frames: Frames::new(),
            quantum: class.quantum_bytes.into(),
            limit_frames: class.limit_packets.map_or(usize::MAX, |limit| limit as usize),
            deficit: 0,
        };
        Self {
            classes: Classes::new(config.classes.iter().map(|class| &class.dscp)),
            queues: config.classes.iter().map(queue).collect(),
            active: Ring::new(),
            turn_began: false,
        }
    }
}

impl<F: Queued> Discipline<F> for Drr<F> {
    fn enqueue<C: Chance>(&mut self, item: Item<F>, _chance: &mut C, fates: &mut Fates<F>) {
        let class = self.classes.of(item.frame.dscp());
        let queue = &mut self.queues[class];
        if queue.frames.len() >= queue.limit_frames {
            fates.drop_at_arrival(&item);
            return;
        }
        if queue.frames.len() == 0 {
            self.active.push_back(class as u32);
        }
        queue.frames.push(item);
    }

    fn dequeue<C: Chance>(
        &mut self,
        _now: Time,
        _chance: &mut C,
        _fates: &mut Fates<F>,
    ) -> Option<Item<F>> {
        loop {
            let class = *self.active.front()?;
            let queue = &mut self.queues[class as usize];
            if !core::mem::replace(&mut self.turn_began, true) {
                queue.deficit += queue.quantum;
            }
            let bytes = u64::from(queue.frames.first_bytes()?);
            if bytes <= queue.deficit {
                queue.deficit -= bytes;
                let item = queue.frames.pop();
                if queue.frames.len() == 0 {
                    queue.deficit = 0;
                    self.active.drop_front();
                    self.turn_began = false;
                }
                return item;
            }
            self.active.drop_front();
            self.active.push_back(class);
            self.turn_began = false;
        }
    }

    fn backlog(&self) -> Backlog {
        self.queues.iter().fold(Backlog::default(), |sum, queue| sum.and(queue.frames.backlog()))
    }
}
