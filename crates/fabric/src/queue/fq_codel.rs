use alloc::boxed::Box;
use alloc::string::String;

use netstudy_ring::Ring;
use netstudy_units::Time;
use serde::{Deserialize, Serialize};

use super::codel::Controller;
use super::frames::Frames;
use super::positive::positive;
use super::{Backlog, Discipline, Fates, Item, Line, Queued};
use crate::Chance;

/// Parameters of [`FqCoDel`], as in `tc-fq_codel(8)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FqCoDelConfig {
    /// Most frames that may wait in all queues together.
    pub limit_packets: u32,
    /// Number of queues. Which flows share a queue is random: it differs from run to run.
    pub flows: u32,
    /// As in [`super::CoDelConfig::target_ns`], for each queue.
    pub target_ns: u64,
    /// As in [`super::CoDelConfig::interval_ns`], for each queue.
    pub interval_ns: u64,
    /// Bytes that a queue may send in its turn.
    pub quantum_bytes: u32,
    /// Whether ECN-capable frames are marked instead of dropped.
    pub ecn: bool,
}

impl FqCoDelConfig {
    /// An error names a parameter with which no frame would ever pass, or none be dropped.
    pub(super) fn check(&self) -> Result<(), String> {
        positive("limit_packets", self.limit_packets)?;
        positive("flows", self.flows)?;
        positive("quantum_bytes", self.quantum_bytes)?;
        positive("interval_ns", self.interval_ns)
    }
}

/// A queue with controlled delay for each flow, served in turn; flows that begin or send little come first
/// (RFC 8290).
#[derive(Clone, Debug)]
pub struct FqCoDel<F> {
    queues: Box<[Queue<F>]>,
    /// Numbers of queues that became active since their last turn ended (RFC 8290, 4.2).
    new: Ring<u32>,
    /// Numbers of the other active queues.
    old: Ring<u32>,
    backlog: Backlog,
    limit_frames: u64,
    quantum: i64,
    /// Mixed into the hash of flows, so that other flows share a queue in each run (RFC 8290, 4.1).
    /// None: no frame has come yet.
    perturbation: Option<u32>,
}

#[derive(Clone, Debug)]
struct Queue<F> {
    frames: Frames<F>,
    codel: Controller,
    /// Bytes that the queue may still send in its turn.
    credits: i64,
    /// Whether the queue is in one of the lists.
    is_active: bool,
}

/// Most frames that are dropped together when the limit is exceeded (RFC 8290, 4.1).
const BATCH_FRAMES: usize = 64;

impl<F: Queued> FqCoDel<F> {
    /// An empty queue for each flow, before `line`.
    #[must_use]
    pub fn new(config: &FqCoDelConfig, line: &Line) -> Self {
        let queue = |_| Queue {
            frames: Frames::new(),
            codel: Controller::new(config.target_ns, config.interval_ns, config.ecn, line),
            credits: 0,
            is_active: false,
        };
        Self {
            queues: (0..config.flows).map(queue).collect(),
            new: Ring::new(),
            old: Ring::new(),
            backlog: Backlog::default(),
            limit_frames: config.limit_packets.into(),
            quantum: config.quantum_bytes.into(),
            perturbation: None,
        }
    }

    /// The number of the queue of a flow.
    pub(super) fn queue_of(&mut self, flow: u32, chance: &mut impl Chance) -> u32 {
        let perturbation = *self.perturbation.get_or_insert_with(|| chance.below(u32::MAX));
        let hash = mixed(flow ^ perturbation);
        // `reciprocal_scale` of Linux.
        ((u64::from(hash) * self.queues.len() as u64) >> 32) as u32
    }

    /// Drops half of the frames of the longest queue, from its head (RFC 8290, 4.1).
    fn drop_from_longest(&mut self, fates: &mut Fates<F>) {
        let Some(longest) = self.queues.iter_mut().rev().max_by_key(|queue| queue.frames.bytes())
        else {
            return;
        };
        let half = longest.frames.len().div_ceil(2).min(BATCH_FRAMES);
        for _ in 0..half {
            let Some(item) = longest.frames.pop() else { break };
            self.backlog = without(self.backlog, item.bytes);
            fates.drop_at_arrival(&item);
        }
    }

    /// The list of the queue whose turn it is, and the number of this queue (RFC 8290, 4.2).
    fn first(&mut self) -> Option<(bool, u32)> {
        self.new.front().map(|&queue| (true, queue)).or_else(|| Some((false, *self.old.front()?)))
    }

    fn leave(&mut self, is_new: bool) {
        if is_new { self.new.drop_front() } else { self.old.drop_front() }
    }
}

/// A hash in which each bit depends on each bit of the number (`lowbias32` of Wellons, "Prospecting
/// for hash functions", 2018).
const fn mixed(number: u32) -> u32 {
    let mut hash = number ^ (number >> 16);
    hash = hash.wrapping_mul(0x7FEB_352D);
    hash ^= hash >> 15;
    hash = hash.wrapping_mul(0x846C_A68B);
    hash ^ (hash >> 16)
}

const fn without(backlog: Backlog, bytes: u32) -> Backlog {
    Backlog { bytes: backlog.bytes - bytes as u64, frames: backlog.frames - 1 }
}

impl<F: Queued> Discipline<F> for FqCoDel<F> {
    fn enqueue<C: Chance>(&mut self, item: Item<F>, chance: &mut C, fates: &mut Fates<F>) {
        let number = self.queue_of(item.frame.flow(), chance);
        let queue = &mut self.queues[number as usize];
        queue.frames.push(item);
        self.backlog = self.backlog.and(Backlog { bytes: item.bytes.into(), frames: 1 });
        if !queue.is_active {
            queue.is_active = true;
            queue.credits = self.quantum;
            self.new.push_back(number);
        }
        if self.backlog.frames > self.limit_frames {
            self.drop_from_longest(fates);
        }
    }

    fn dequeue<C: Chance>(
        &mut self,
        now: Time,
        _chance: &mut C,
        fates: &mut Fates<F>,
    ) -> Option<Item<F>> {
        while let Some((is_new, number)) = self.first() {
            let queue = &mut self.queues[number as usize];
            if queue.credits <= 0 {
                queue.credits += self.quantum;
                self.leave(is_new);
                self.old.push_back(number);
                continue;
            }
            let before = queue.frames.backlog();
            let item = queue.codel.dequeue(now, &mut queue.frames, fates);
            let after = queue.frames.backlog();
            self.backlog.bytes -= before.bytes - after.bytes;
            self.backlog.frames -= before.frames - after.frames;
            if let Some(item) = item {
                queue.credits -= i64::from(item.bytes);
                return Some(item);
            }
            // An empty new queue becomes an old one once, so that a flow cannot stay new by sending
            // a frame at a time (RFC 8290, 4.2).
            queue.is_active = is_new;
            self.leave(is_new);
            if is_new {
                self.old.push_back(number);
            }
        }
        None
    }

    fn backlog(&self) -> Backlog {
        self.backlog
    }
}
