use alloc::string::String;

use netstudy_units::{Duration, Time};
use serde::{Deserialize, Serialize};

use super::frames::Frames;
use super::happens::happens;
use super::positive::positive;
use super::{Backlog, Discipline, Fates, Item, Queued};
use crate::Chance;

/// Parameters of [`Pie`], as in `tc-pie(8)`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PieConfig {
    /// Most frames that may wait; a frame that exceeds this is dropped.
    pub limit_packets: u32,
    /// The delay that the controller aims at (`QDELAY_REF` of RFC 8033).
    pub target_ns: u64,
    /// Time between two updates of the drop probability (`T_UPDATE`).
    pub tupdate_ns: u64,
    /// Weight of the distance of the delay from the target, in 1/s.
    pub alpha: f64,
    /// Weight of the growth of the delay, in 1/s.
    pub beta: f64,
    /// Whether ECN-capable frames are marked instead of dropped while the probability is at most
    /// 10 %.
    pub ecn: bool,
}

impl PieConfig {
    /// An error names a parameter with which no frame would ever pass, or with which the controller cannot work.
    pub(super) fn check(&self) -> Result<(), String> {
        positive("limit_packets", self.limit_packets)?;
        positive("target_ns", self.target_ns)?;
        positive("tupdate_ns", self.tupdate_ns)?;
        for (name, weight) in [("alpha", self.alpha), ("beta", self.beta)] {
            if !(0.0..=1000.0).contains(&weight) {
                return Err(alloc::format!("{name}: {weight} is outside of 0 to 1000"));
            }
        }
        Ok(())
    }
}

/// Proportional integral controller enhanced: arriving frames are dropped with a probability that is
/// adapted to the delay of the queue (RFC 8033).
///
/// The delay is the time that the last frame has waited which was taken out, as in `sch_pie.c` of
/// Linux without `dq_rate_estimator` (the alternative of RFC 8033, 5.2).
#[derive(Clone, Debug)]
pub struct Pie<F> {
    config: PieConfig,
    frames: Frames<F>,
    drop_prob: f64,
    /// The sum of the probabilities since the last drop (RFC 8033, 5.4).
    accu_prob: f64,
    burst_allowance: Duration,
    qdelay: Duration,
    qdelay_old: Duration,
    /// Time of the next update of `drop_prob`.
    update_at: Time,
    /// Largest frame so far.
    maxpacket: u32,
}

/// How long a burst passes without drops (`MAX_BURST`, RFC 8033, 4.4).
const MAX_BURST: Duration = Duration::from_ms(150);
/// Above this delay the probability grows by 2 % more in each update (RFC 8033, 5.5).
const LONG_DELAY: Duration = Duration::from_ms(250);
/// Largest growth of the probability in an update, once it is above 10 % (RFC 8033, 5.5).
const STEP_MAX: f64 = 0.02;
/// Frames are marked instead of dropped up to this probability (`MAX_ECNTH`, RFC 8033, 5.1).
const MARKED_UP_TO: f64 = 0.1;
/// The weights are divided by the second number while the probability is below the first (RFC 8033,
/// 4.2).
const SCALES: [(f64, f64); 6] = [
    (0.000_001, 2048.0),
    (0.000_01, 512.0),
    (0.000_1, 128.0),
    (0.001, 32.0),
    (0.01, 8.0),
    (0.1, 2.0),
];

impl<F: Queued> Pie<F> {
    /// An empty queue.
    #[must_use]
    pub fn new(config: &PieConfig) -> Self {
        Self {
            config: *config,
            frames: Frames::new(),
            drop_prob: 0.0,
            accu_prob: 0.0,
            burst_allowance: MAX_BURST,
            qdelay: Duration::ZERO,
            qdelay_old: Duration::ZERO,
            update_at: Time::ZERO + Duration::from_ns(config.tupdate_ns),
            maxpacket: 0,
        }
    }

    const fn target(&self) -> Duration {
        Duration::from_ns(self.config.target_ns)
    }

    /// `drop_early` of RFC 8033, appendix A, with the derandomization of 5.4.
    fn drops_early(&mut self, chance: &mut impl Chance) -> bool {
        if self.burst_allowance > Duration::ZERO
            || self.qdelay_old < self.target().div(2) && self.drop_prob < 0.2
            || self.frames.bytes() <= 2 * u64::from(self.maxpacket)
        {
            return false;
        }
        self.accu_prob = if self.drop_prob > 0.0 { self.accu_prob + self.drop_prob } else { 0.0 };
        let drops =
            self.accu_prob >= 0.85 && (self.accu_prob >= 8.5 || happens(self.drop_prob, chance));
        if drops {
            self.accu_prob = 0.0;
        }
        drops
    }

    /// Makes the updates that were due up to `now`. Between two calls the delay does not change, so
    /// they need no timer.
    fn update_until(&mut self, now: Time) {
        while self.update_at <= now {
            self.update();
            let step = Duration::from_ns(self.config.tupdate_ns);
            let rests = self.drop_prob <= 0.0 && self.qdelay + self.qdelay_old == Duration::ZERO;
            let steps = if rests { now.since(self.update_at).times(step) } else { 0 };
            self.update_at += step * (steps + 1);
        }
    }

    /// `calculate_drop_prob` of RFC 8033, appendix A.
    fn update(&mut self) {
        let PieConfig { alpha, beta, .. } = self.config;
        let (qdelay, old) = (self.qdelay, self.qdelay_old);
        let scale = SCALES.iter().find(|(below, _)| self.drop_prob < *below);
        let mut p = alpha * (seconds(qdelay) - seconds(self.target()))
            + beta * (seconds(qdelay) - seconds(old));
        p /= scale.map_or(1.0, |&(_, by)| by);
        if self.drop_prob >= 0.1 && p > STEP_MAX {
            p = STEP_MAX;
        }
        if qdelay > LONG_DELAY {
            p += STEP_MAX;
        }
        self.drop_prob = (self.drop_prob + p).clamp(0.0, 1.0);
        if qdelay == Duration::ZERO && old == Duration::ZERO {
            self.drop_prob -= self.drop_prob / 64.0;
        }
        let step = Duration::from_ns(self.config.tupdate_ns);
        let spent = self.burst_allowance.min(step);
        self.burst_allowance = self.burst_allowance - spent;
        let is_low = |delay: Duration| delay < self.target().div(2);
        if self.drop_prob <= 0.0 && is_low(qdelay) && is_low(old) {
            self.burst_allowance = MAX_BURST;
        }
        self.qdelay_old = qdelay;
    }
}

/// A span in seconds.
fn seconds(span: Duration) -> f64 {
    span.as_ps() as f64 / 1e12
}

impl<F: Queued> Discipline<F> for Pie<F> {
    fn enqueue<C: Chance>(&mut self, mut item: Item<F>, chance: &mut C, fates: &mut Fates<F>) {
        self.update_until(item.at);
        self.maxpacket = self.maxpacket.max(item.bytes);
        let is_full = self.frames.len() >= self.config.limit_packets as usize;
        if is_full || self.drops_early(chance) {
            let marks = !is_full && self.config.ecn && self.drop_prob <= MARKED_UP_TO;
            if !(marks && fates.mark(&mut item)) {
                self.accu_prob = 0.0;
                fates.drop_at_arrival(&item);
                return;
            }
        }
        self.frames.push(item);
    }

    fn dequeue<C: Chance>(
        &mut self,
        now: Time,
        _chance: &mut C,
        _fates: &mut Fates<F>,
    ) -> Option<Item<F>> {
        self.update_until(now);
        let item = self.frames.pop()?;
        let is_last = self.frames.len() == 0;
        self.qdelay = if is_last { Duration::ZERO } else { now.since(item.at) };
        Some(item)
    }

    fn backlog(&self) -> Backlog {
        self.frames.backlog()
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{Always, BYTES, Bench, Probe, ms};
    use super::*;

    fn pie() -> Bench<Pie<Probe>> {
        Bench::new(Pie::new(&PieConfig {
            limit_packets: 1000,
            target_ns: 15_000_000,
            tupdate_ns: 15_000_000,
            alpha: 0.125,
            beta: 1.25,
            ecn: true,
        }))
    }

    fn is_near(value: f64, expected: f64) {
        assert!((value - expected).abs() < 1e-12, "{value} instead of {expected}");
    }

    #[test]
    fn the_probability_follows_the_delay_as_in_the_rfc() {
        let mut bench = pie();
        bench.put_plain(Time::ZERO, 0..100);
        // A frame leaves after 10 ms, so the update at 15 ms sees a delay of 10 ms: 0.125 (0.010 -
        // 0.015) + 1.25 (0.010 - 0) = 0.011875, divided by 2048 because the probability was 0.
        bench.take(ms(10.0));
        bench.take(ms(40.0));
        // At 30 ms the delay was still 10 ms: 0.125 (-0.005) + 0 is negative; the probability of
        // 5.8e-6 is below 1e-5, so it is divided by 512: 5.798e-6 - 1.2207e-6.
        let second = 0.011_875 / 2048.0 - 0.000_625 / 512.0;
        is_near(bench.queue.drop_prob, second);
        // At 45 ms the delay is that of the frame that left at 40 ms.
        bench.take(ms(50.0));
        is_near(bench.queue.drop_prob, second + (0.125 * 0.025 + 1.25 * 0.030) / 512.0);
    }

    #[test]
    fn nothing_is_dropped_in_the_first_burst() {
        let mut bench = pie();
        bench.queue.drop_prob = 1.0;
        bench.put_plain(ms(149.0), 0..10);
        assert!(bench.dropped().is_empty());
    }

    /// A queue of ten frames whose delay is long and whose burst is over.
    fn congested(drop_prob: f64) -> Bench<Pie<Probe>> {
        let mut bench = pie();
        bench.put_plain(Time::ZERO, 0..10);
        bench.queue.update_at = Time::NEVER;
        bench.queue.burst_allowance = Duration::ZERO;
        bench.queue.qdelay_old = Duration::from_ms(100);
        bench.queue.drop_prob = drop_prob;
        bench
    }

    #[test]
    fn drops_are_neither_too_early_nor_too_late() {
        let drops = |draw| {
            let mut bench = congested(0.2);
            bench.chance = Always(draw);
            bench.put_plain(Time::ZERO, 100..150);
            bench.dropped()
        };
        // The first drop is possible when the sum of the probabilities reaches 0.85, at the fifth
        // frame, and comes when it reaches 8.5, at the 43rd (RFC 8033, 5.4).
        assert_eq!(drops(0.0)[..2], [104, 109]);
        assert_eq!(drops(0.99), [142]);
    }

    #[test]
    fn frames_are_marked_up_to_a_probability_of_ten_percent() {
        let fate = |drop_prob| {
            let mut bench = congested(drop_prob);
            bench.queue.accu_prob = 0.9;
            bench.chance = Always(0.0);
            let frame = Probe { number: 77, is_capable: true, ..Probe::default() };
            bench.put(Time::ZERO, BYTES, frame);
            (bench.fates.classes().first().map_or(0, |class| class.marked), bench.dropped())
        };
        assert_eq!(fate(0.1), (1, alloc::vec![]));
        assert_eq!(fate(0.11), (0, alloc::vec![77]));
    }

    #[test]
    fn an_idle_queue_needs_no_updates_one_by_one() {
        let mut bench = pie();
        let year = Time::ZERO + Duration::from_secs(3600 * 1000);
        bench.put_plain(year, 0..1);
        assert!(bench.queue.update_at > year);
        assert!(bench.queue.update_at.since(year) <= Duration::from_ms(15));
    }
}
