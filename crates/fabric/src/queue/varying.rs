use alloc::boxed::Box;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use netstudy_units::{Duration, Time};
use serde::{Deserialize, Serialize};

use super::bucket::is_zero;
use super::{AnyQueue, Backlog, Discipline, Fates, Item, Line, QueueConfig, Queued};
use crate::Chance;

/// Parameters of [`Varying`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VaryingConfig {
    /// The rates in turn; after the last one, the first begins again.
    pub steps: Vec<RateStep>,
    /// Added to the size of each frame before it is sent; may be negative. The size of a frame
    /// includes its Ethernet header and check sequence.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub overhead_bytes: i32,
    /// The discipline of the frames that wait; none: a FIFO that only the buffer limits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub over: Option<Box<QueueConfig>>,
}

/// A rate for some time, as written in plans: `[lasts_ns, rate_bps]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "(u64, u64)", into = "(u64, u64)")]
pub struct RateStep {
    /// How long it lasts.
    pub lasts_ns: u64,
    /// The rate; 0: nothing is sent.
    pub rate_bps: u64,
}

impl From<(u64, u64)> for RateStep {
    fn from((lasts_ns, rate_bps): (u64, u64)) -> Self {
        Self { lasts_ns, rate_bps }
    }
}

impl From<RateStep> for (u64, u64) {
    fn from(step: RateStep) -> Self {
        (step.lasts_ns, step.rate_bps)
    }
}

impl VaryingConfig {
    /// An error says why no frame would ever pass.
    pub(super) fn check(&self) -> Result<(), String> {
        if self.steps.iter().any(|step| step.lasts_ns == 0) {
            return Err("steps: each must last".to_string());
        }
        if self.steps.iter().all(|step| step.rate_bps == 0) {
            return Err("steps: one of the rates must be above 0".to_string());
        }
        self.over.as_ref().map_or(Ok(()), |over| over.check())
    }

    /// The mean of the rates, rounded down.
    fn mean_bps(&self) -> u64 {
        let sum = |of: fn(&RateStep) -> u128| self.steps.iter().map(of).sum::<u128>();
        let lasts_ns = sum(|step| step.lasts_ns.into());
        let bits = sum(|step| u128::from(step.lasts_ns) * u128::from(step.rate_bps));
        bits.checked_div(lasts_ns).unwrap_or(0) as u64
    }
}

/// A line whose rate changes with time, such as that of a mobile network: a frame leaves when the
/// line has carried its bits, one after the other.
///
/// With the opportunities of a trace of Mahimahi (Netravali et al., USENIX ATC 2015, 4.1) as rates of
/// 1 ms, it carries as much in each millisecond as Mahimahi's link.
#[derive(Clone, Debug)]
pub struct Varying<F> {
    rates: Rates,
    overhead_bytes: i32,
    over: Box<AnyQueue<F>>,
    /// The frame on the line, and when its last bit is carried.
    first: Option<(Item<F>, Time)>,
}

impl<F: Queued> Varying<F> {
    /// An empty queue before `line`.
    #[must_use]
    pub fn new(config: &VaryingConfig, line: &Line) -> Self {
        let line = line.limited(config.mean_bps(), config.overhead_bytes);
        let over = Box::new(AnyQueue::over(config.over.as_deref(), &line));
        let rates = Rates::new(&config.steps);
        Self { rates, overhead_bytes: config.overhead_bytes, over, first: None }
    }
}

impl<F: Queued> Discipline<F> for Varying<F> {
    fn enqueue<C: Chance>(&mut self, item: Item<F>, chance: &mut C, fates: &mut Fates<F>) {
        self.over.enqueue(item, chance, fates);
    }

    fn dequeue<C: Chance>(
        &mut self,
        now: Time,
        chance: &mut C,
        fates: &mut Fates<F>,
    ) -> Option<Item<F>> {
        if self.first.is_none()
            && let Some(item) = self.over.dequeue(now, chance, fates)
        {
            let bytes = i64::from(item.bytes) + i64::from(self.overhead_bytes);
            // The driver asks a little later than the line is free: when the frame before has also
            // left the port.
            let carried =
                self.rates.carry(item.ready.max(item.at), 8 * bytes.max(0).unsigned_abs());
            self.first = Some((item, carried));
        }
        self.first.take_if(|(_, carried)| *carried <= now).map(|(item, _)| item)
    }

    fn next(&self) -> Time {
        self.first.map_or_else(|| self.over.next(), |(_, carried)| carried)
    }

    fn backlog(&self) -> Backlog {
        let first = self.first.map_or(Backlog::default(), |(item, _)| Backlog {
            bytes: item.bytes.into(),
            frames: 1,
        });
        self.over.backlog().and(first)
    }
}

/// The rates in turn, and up to where they are used.
#[derive(Clone, Debug)]
struct Rates {
    steps: Box<[RateStep]>,
    /// The step that is under way at `at`, and when it ends.
    step: usize,
    ends: Time,
    /// When the line has carried all earlier bits.
    at: Time,
}

/// Bits of 1 ps at 1 bit/s in a bit.
const BIT: u128 = 1_000_000_000_000;

impl Rates {
    fn new(steps: &[RateStep]) -> Self {
        let ends = Time::ZERO + Duration::from_ns(steps[0].lasts_ns);
        Self { steps: steps.into(), step: 0, ends, at: Time::ZERO }
    }

    /// Carries `bits` after all earlier ones, and not before `from`. Returns when the last one is carried,
    /// rounded up to a picosecond.
    fn carry(&mut self, from: Time, bits: u64) -> Time {
        self.at = self.at.max(from);
        let mut left = u128::from(bits) * BIT;
        loop {
            while self.ends <= self.at {
                self.turn();
            }
            let rate = u128::from(self.steps[self.step].rate_bps);
            let room = u128::from(self.ends.since(self.at).as_ps()) * rate;
            if left <= room {
                if left > 0 {
                    self.at += Duration::from_ps(left.div_ceil(rate) as u64);
                }
                return self.at;
            }
            left -= room;
            self.at = self.ends;
        }
    }

    fn turn(&mut self) {
        self.step = (self.step + 1) % self.steps.len();
        self.ends += Duration::from_ns(self.steps[self.step].lasts_ns);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn rates(steps: &[(u64, u64)]) -> Rates {
        Rates::new(&steps.iter().map(|&step| step.into()).collect::<Vec<_>>())
    }

    fn ms(ms: u64) -> Time {
        Time::ZERO + Duration::from_ms(ms)
    }

    #[test]
    fn a_frame_takes_the_time_of_all_steps_that_it_needs() {
        // 12 kbit: 6 kbit in the rest of the first step, nothing in the second, 6 kbit in the first
        // half of the third.
        let mut rates = rates(&[(2 * MS, 6_000_000), (5 * MS, 0), (4 * MS, 3_000_000)]);
        assert_eq!(rates.carry(ms(1), 12_000), ms(9));
        // The rest of the third step carries 6 kbit; then the first begins again, at 11 ms.
        assert_eq!(rates.carry(ms(0), 12_000), ms(12));
        // After a pause, unused time is lost.
        assert_eq!(rates.carry(ms(24), 6_000), ms(31));
    }

    #[test]
    fn a_trace_carries_its_opportunities() {
        // Two packets of 1500 bytes in the first millisecond, none in the second, one in the third.
        let mut rates = rates(&[(MS, 24_000_000), (MS, 0), (MS, 12_000_000)]);
        let carried: Vec<_> = (0..4).map(|_| rates.carry(ms(0), 12_000)).collect();
        let half = Duration::from_ps(500_000_000);
        assert_eq!(carried, [ms(0) + half, ms(1), ms(3), ms(3) + half]);
    }

    #[test]
    fn the_mean_rate_weights_each_step_by_its_time() {
        let steps = [(2 * MS, 6_000_000), (5 * MS, 0), (4 * MS, 3_000_000)];
        let steps = steps.map(RateStep::from).to_vec();
        let config = VaryingConfig { steps, overhead_bytes: 0, over: None };
        // (12 + 12) kbit in 11 ms.
        assert_eq!(config.mean_bps(), 2_181_818);
    }

    #[test]
    fn steps_with_which_nothing_passes_are_refused() {
        let config = |steps: &[(u64, u64)]| VaryingConfig {
            steps: steps.iter().map(|&step| step.into()).collect(),
            overhead_bytes: 0,
            over: None,
        };
        assert_eq!(
            config(&[(1, 0), (2, 0)]).check().unwrap_err(),
            "steps: one of the rates must be above 0"
        );
        assert_eq!(config(&[(0, 5)]).check().unwrap_err(), "steps: each must last");
        assert!(config(&[]).check().is_err());
        assert_eq!(config(&[(1, 0), (2, 1)]).check(), Ok(()));
    }
}
