use alloc::string::String;

use netstudy_units::{Duration, Time};
use serde::{Deserialize, Serialize};

use super::frames::Frames;
use super::positive::positive;
use super::{Backlog, Discipline, Fates, Item, Line, Queued};
use crate::Chance;

/// Parameters of [`CoDel`], as in `tc-codel(8)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CoDelConfig {
    /// Most frames that may wait; a frame that exceeds this is dropped.
    pub limit_packets: u32,
    /// The acceptable standing delay (RFC 8289, 4.2).
    pub target_ns: u64,
    /// How long the delay must be above the target before the first drop (RFC 8289, 4.3): about the
    /// longest usual round-trip time.
    pub interval_ns: u64,
    /// Whether ECN-capable frames are marked instead of dropped.
    pub ecn: bool,
}

impl CoDelConfig {
    /// An error names a parameter with which no frame would ever pass, or none be dropped.
    pub(super) fn check(&self) -> Result<(), String> {
        positive("limit_packets", self.limit_packets)?;
        positive("interval_ns", self.interval_ns)
    }
}

/// Controlled delay: frames are dropped, at growing frequency, while the shortest time that frames
/// wait stays above a target (RFC 8289).
#[derive(Clone, Debug)]
pub struct CoDel<F> {
    frames: Frames<F>,
    limit_frames: usize,
    controller: Controller,
}

impl<F: Queued> CoDel<F> {
    /// An empty queue before `line`.
    #[must_use]
    pub fn new(config: &CoDelConfig, line: &Line) -> Self {
        Self {
            frames: Frames::new(),
            limit_frames: config.limit_packets as usize,
            controller: Controller::new(config.target_ns, config.interval_ns, config.ecn, line),
        }
    }
}

impl<F: Queued> Discipline<F> for CoDel<F> {
    fn enqueue<C: Chance>(&mut self, item: Item<F>, _chance: &mut C, fates: &mut Fates<F>) {
        if self.frames.len() >= self.limit_frames {
            fates.drop_at_arrival(&item);
            return;
        }
        self.frames.push(item);
    }

    fn dequeue<C: Chance>(
        &mut self,
        now: Time,
        _chance: &mut C,
        fates: &mut Fates<F>,
    ) -> Option<Item<F>> {
        self.controller.dequeue(now, &mut self.frames, fates)
    }

    fn backlog(&self) -> Backlog {
        self.frames.backlog()
    }
}

/// The state of the control law for one queue, with the names of RFC 8289, 5.
#[derive(Clone, Debug)]
pub(super) struct Controller {
    target: Duration,
    interval: Duration,
    ecn: bool,
    /// When the delay will have been above the target for an interval; none: it is below.
    first_above_time: Option<Time>,
    /// Time of the next drop; meaningful while `dropping`, and for 16 intervals after it.
    drop_next: Time,
    /// Drops since the queue began to drop.
    count: u32,
    /// `count` when the queue last began to drop.
    lastcount: u32,
    dropping: bool,
    /// The largest frame of the line: RFC 8289 says "should use interface MTU", and Linux does
    /// (`params->mtu`). Nothing is dropped while at most so many bytes wait.
    maxpacket: u32,
}

/// A frame from the queue, and whether it may be dropped.
struct Taken<F> {
    item: Option<Item<F>>,
    ok_to_drop: bool,
}

/// A queue that begins to drop again within this many intervals resumes at its last frequency
/// (RFC 8289, 5.5).
const REMEMBERED_INTERVALS: u64 = 16;

impl Controller {
    pub(super) const fn new(target_ns: u64, interval_ns: u64, ecn: bool, line: &Line) -> Self {
        Self {
            target: Duration::from_ns(target_ns),
            interval: Duration::from_ns(interval_ns),
            ecn,
            first_above_time: None,
            drop_next: Time::ZERO,
            count: 0,
            lastcount: 0,
            dropping: false,
            maxpacket: line.frame_bytes_max(),
        }
    }

    /// `deque` of RFC 8289, 5.5. With ECN, a frame is marked where the RFC drops it, and leaves
    /// (`codel_dequeue` of Linux).
    pub(super) fn dequeue<F: Queued>(
        &mut self,
        now: Time,
        frames: &mut Frames<F>,
        fates: &mut Fates<F>,
    ) -> Option<Item<F>> {
        let mut taken = self.take(now, frames);
        if self.dropping {
            if !taken.ok_to_drop {
                self.dropping = false;
            }
            while self.dropping && now >= self.drop_next {
                let Some(mut item) = taken.item else { break };
                self.count += 1;
                if self.ecn && fates.mark(&mut item) {
                    self.drop_next = self.control_law(self.drop_next);
                    return Some(item);
                }
                fates.drop_at_departure(&item);
                taken = self.take(now, frames);
                if taken.ok_to_drop {
                    self.drop_next = self.control_law(self.drop_next);
                } else {
                    self.dropping = false;
                }
            }
        } else if taken.ok_to_drop
            && let Some(mut item) = taken.item
        {
            if self.ecn && fates.mark(&mut item) {
                taken.item = Some(item);
            } else {
                fates.drop_at_departure(&item);
                taken = self.take(now, frames);
            }
            self.begin_to_drop(now);
        }
        taken.item
    }

    fn begin_to_drop(&mut self, now: Time) {
        self.dropping = true;
        let delta = self.count - self.lastcount;
        let is_recent = now.since(self.drop_next) < self.interval * REMEMBERED_INTERVALS;
        self.count = if delta > 1 && is_recent { delta } else { 1 };
        self.drop_next = self.control_law(now);
        self.lastcount = self.count;
    }

    /// `dodequeue` of RFC 8289, 5.6.
    fn take<F: Queued>(&mut self, now: Time, frames: &mut Frames<F>) -> Taken<F> {
        let mut ok_to_drop = false;
        let item = frames.pop();
        let is_below = item.as_ref().is_none_or(|item| {
            now.since(item.at) < self.target || frames.bytes() <= u64::from(self.maxpacket)
        });
        if is_below {
            self.first_above_time = None;
        } else if let Some(first_above_time) = self.first_above_time {
            ok_to_drop = now >= first_above_time;
        } else {
            self.first_above_time = Some(now + self.interval);
        }
        Taken { item, ok_to_drop }
    }

    /// `control_law` of RFC 8289, 5.6: `t + interval / sqrt(count)`, rounded down to a picosecond.
    fn control_law(&self, t: Time) -> Time {
        let interval_ps = u128::from(self.interval.as_ps());
        t + Duration::from_ps((interval_ps * interval_ps / u128::from(self.count)).isqrt() as u64)
    }
}
