use alloc::format;
use alloc::string::String;

use netstudy_units::{Duration, Time};
use serde::{Deserialize, Serialize};

use super::frames::Frames;
use super::happens::happens;
use super::positive::positive;
use super::{Backlog, Discipline, Fates, Item, Line, Queued};
use crate::Chance;

/// Parameters of [`Red`], as in `tc-red(8)`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RedConfig {
    /// Most bytes that may wait; a frame that exceeds this is dropped.
    pub limit_bytes: u64,
    /// Average length of the queue up to which no frame is dropped or marked.
    pub min_bytes: u64,
    /// Average length from which every frame is dropped or marked.
    pub max_bytes: u64,
    /// Probability that is reached at `max_bytes`.
    pub probability: f64,
    /// Size of a usual frame.
    pub avpkt_bytes: u32,
    /// How many usual frames may arrive together at an empty queue before the average exceeds
    /// `min_bytes`. This sets the weight of the average.
    pub burst_packets: u32,
    /// Whether ECN-capable frames are marked instead of dropped.
    pub ecn: bool,
}

impl RedConfig {
    pub(super) fn check(&self) -> Result<(), String> {
        positive("min_bytes", self.min_bytes)?;
        positive("avpkt_bytes", self.avpkt_bytes)?;
        let Self { min_bytes, max_bytes, limit_bytes, probability, burst_packets, .. } = *self;
        if max_bytes <= min_bytes {
            return Err(format!("max_bytes: {max_bytes} is not above min_bytes, {min_bytes}"));
        }
        if limit_bytes < max_bytes {
            return Err(format!("limit_bytes: {limit_bytes} is below max_bytes, {max_bytes}"));
        }
        if !(probability > 0.0 && probability <= 1.0) {
            return Err(format!("probability: {probability} is not above 0 and up to 1"));
        }
        if self.weight().is_none() {
            let least = min_bytes.div_ceil(self.avpkt_bytes.into());
            return Err(format!(
                "burst_packets: {burst_packets} is too small: it must be at least {least}, \
                 min_bytes divided by avpkt_bytes"
            ));
        }
        Ok(())
    }

    /// The weight of the average, a power of two. `burst` usual frames that arrive at an empty queue
    /// at once raise the average to at most `min_bytes` (Floyd and Jacobson 1993, equation 3;
    /// `tc_red_eval_ewma` of iproute2). None: there is no such weight.
    fn weight(&self) -> Option<f64> {
        let burst = f64::from(self.burst_packets);
        let least = burst + 1.0 - self.min_bytes as f64 / f64::from(self.avpkt_bytes);
        if least < 1.0 {
            return None;
        }
        let weights = (1..32).map(|log| 1.0 / f64::from(1u32 << log));
        let sum = |weight: f64| (1.0 - power(1.0 - weight, self.burst_packets.into())) / weight;
        weights.into_iter().find(|&weight| least <= sum(weight))
    }
}

/// Random early detection: arriving frames are dropped or marked with a probability that grows with
/// the average length of the queue (Floyd and Jacobson 1993, figure 2).
#[derive(Clone, Debug)]
pub struct Red<F> {
    config: RedConfig,
    frames: Frames<F>,
    /// `w_q`.
    weight: f64,
    /// `s`: transmission time of a usual frame, at the rate at which frames leave.
    usual: Duration,
    /// Average length in bytes.
    avg: f64,
    /// Start of the idle time, `q_time`; none: the queue is in use. It begins when no frame is found
    /// to take out (`red_dequeue` of Linux): the last one may still wait in a shaper in front.
    idle_since: Option<Time>,
    /// Frames since the last mark or drop while the average is between the thresholds; -1: none.
    count: i64,
}

impl<F: Queued> Red<F> {
    /// An empty queue before `line`.
    #[must_use]
    pub fn new(config: &RedConfig, line: &Line) -> Self {
        Self {
            config: *config,
            frames: Frames::new(),
            weight: config.weight().unwrap_or(0.5),
            usual: line.time(config.avpkt_bytes),
            avg: 0.0,
            idle_since: Some(Time::ZERO),
            count: -1,
        }
    }

    /// Updates the average for an arrival.
    fn note_arrival(&mut self, now: Time) {
        if let Some(since) = self.idle_since.take() {
            // As if so many usual frames had found an empty queue.
            let frames = now.since(since).as_ps() / self.usual.as_ps().max(1);
            self.avg *= power(1.0 - self.weight, frames);
        } else {
            self.avg += self.weight * (self.frames.bytes() as f64 - self.avg);
        }
    }

    /// Whether the arriving frame is to be marked or dropped.
    fn chooses(&mut self, chance: &mut impl Chance) -> bool {
        let (min, max) = (self.config.min_bytes as f64, self.config.max_bytes as f64);
        if self.avg < min {
            self.count = -1;
            return false;
        }
        if self.avg >= max {
            self.count = 0;
            return true;
        }
        self.count += 1;
        let p_b = self.config.probability * (self.avg - min) / (max - min);
        let rest = 1.0 - self.count as f64 * p_b;
        let chosen = rest <= p_b || happens(p_b / rest, chance);
        if chosen {
            self.count = 0;
        }
        chosen
    }
}

/// `base` to the power of `exponent`, by repeated squaring, so that all machines get the same bits.
fn power(base: f64, mut exponent: u64) -> f64 {
    let (mut square, mut product) = (base, 1.0);
    while exponent > 0 {
        if exponent & 1 == 1 {
            product *= square;
        }
        square *= square;
        exponent >>= 1;
    }
    product
}

impl<F: Queued> Discipline<F> for Red<F> {
    fn enqueue<C: Chance>(&mut self, mut item: Item<F>, chance: &mut C, fates: &mut Fates<F>) {
        self.note_arrival(item.at);
        let passes = !self.chooses(chance) || self.config.ecn && fates.mark(&mut item);
        let has_room = self.frames.bytes() + u64::from(item.bytes) <= self.config.limit_bytes;
        if passes && has_room {
            self.frames.push(item);
        } else {
            fates.drop_at_arrival(&item);
        }
    }

    fn dequeue<C: Chance>(
        &mut self,
        now: Time,
        _chance: &mut C,
        _fates: &mut Fates<F>,
    ) -> Option<Item<F>> {
        let item = self.frames.pop();
        if item.is_none() {
            self.idle_since.get_or_insert(now);
        }
        item
    }

    fn backlog(&self) -> Backlog {
        self.frames.backlog()
    }
}

#[cfg(test)]
mod tests {
    use netstudy_units::Rate;

    use super::super::tests::{Always, BYTES, Bench, Probe, ms};
    use super::super::{BucketConfig, PortQueue, QueueConfig};
    use super::*;
    use crate::Link;

    const CONFIG: RedConfig = RedConfig {
        limit_bytes: 60_000,
        min_bytes: 5_000,
        max_bytes: 15_000,
        probability: 0.1,
        avpkt_bytes: 1000,
        burst_packets: 7,
        ecn: true,
    };

    /// With its gap of 20 bytes a usual frame takes 1 ms.
    fn link() -> Link {
        Link::new(Rate::from_bps(8_160_000), Duration::ZERO)
    }

    fn red() -> Bench<Red<Probe>> {
        let link = link();
        Bench::new(Red::new(&CONFIG, &Line::new(&link)))
    }

    fn is_near(value: f64, expected: f64) {
        assert!((value - expected).abs() < 1e-9, "{value} instead of {expected}");
    }

    #[test]
    fn the_weight_lets_the_burst_pass() {
        // 7 + 1 - 5 = 3 frames: at w = 1/2 the sum is (1 - 2^-7) / (1/2) = 1.98, at w = 1/4 it is
        // (1 - (3/4)^7) / (1/4) = 3.47.
        assert_eq!(CONFIG.weight(), Some(0.25));
        assert_eq!(RedConfig { burst_packets: 5, ..CONFIG }.weight(), Some(0.5));
        assert_eq!(RedConfig { burst_packets: 4, ..CONFIG }.weight(), None);
    }

    #[test]
    fn the_average_follows_the_queue_and_decays_while_it_is_idle() {
        let mut bench = red();
        bench.put_plain(Time::ZERO, 0..4);
        // The average is updated before a frame joins: 0, then a quarter of the way to 1000, 2000
        // and 3000 bytes: 250, 687.5, 1265.625.
        is_near(bench.queue.avg, 1265.625);
        for _ in 0..4 {
            assert!(bench.take(ms(2.0)).is_some());
        }
        assert!(bench.take(ms(4.0)).is_none() && bench.take(ms(5.0)).is_none());
        // Idle for 3.5 ms, i.e. three usual frames: times (3/4)^3.
        bench.put_plain(ms(7.5), 4..5);
        is_near(bench.queue.avg, 1265.625 * 0.421_875);
    }

    /// Fills RED under a limiter of 1 Mbit/s, 8 ms for a usual frame, with 60 frames, and lets them
    /// leave. Returns whether a frame that arrives at `at` gets a mark.
    fn marks_after_60_frames(limiter: &QueueConfig, at: Time) -> bool {
        let mut port = PortQueue::new(limiter, &link());
        let chance = &mut Always(0.999);
        let frame = Probe { is_capable: true, ..Probe::default() };
        let item = |at| Item { frame, bytes: BYTES, at, ready: at };
        for _ in 0..60 {
            port.enqueue(item(Time::ZERO), chance);
        }
        while port.next(Time::ZERO) < Time::NEVER {
            port.dequeue(port.next(Time::ZERO), chance);
        }
        let before = port.counters();
        port.enqueue(item(at), chance);
        port.counters().frames_marked > before.frames_marked
    }

    #[test]
    fn the_idle_time_under_a_limiter_begins_after_its_last_frame_and_has_its_rate() {
        // With n usual frames in the queue the average becomes x(n) = 3/4 x(n - 1) + n / 4, so that
        // x(n) = n - 3 + 3 (3/4)^n. The last frame finds 59.
        let mut bench = red();
        let capable = Probe { is_capable: true, ..Probe::default() };
        (0..60).for_each(|_| bench.put(Time::ZERO, BYTES, capable));
        assert!((bench.queue.avg - 56_000.0).abs() < 1.0, "{}", bench.queue.avg);
        // After four usual frames it is 56,000 x (3/4)^4 = 17,719, above the upper threshold; after
        // five it is 13,289, below it.
        let over = Some(alloc::boxed::Box::new(QueueConfig::Red(CONFIG)));
        let shaper = QueueConfig::Shaper(BucketConfig {
            rate_bps: 1_000_000,
            burst_bytes: 1000,
            overhead_bytes: 0,
            offload_as_one: false,
            over: over.clone(),
        });
        // The bucket is full at the beginning: the last frame leaves at 59 x 8 = 472 ms.
        assert!(marks_after_60_frames(&shaper, ms(472.0 + 39.9)));
        assert!(!marks_after_60_frames(&shaper, ms(472.0 + 40.1)));
        let varying = QueueConfig::VaryingRate(super::super::VaryingConfig {
            steps: [(1_000_000, 2_000_000), (1_000_000, 0)].map(Into::into).to_vec(),
            overhead_bytes: 0,
            over,
        });
        // 1 Mbit/s on average: 2 kbit in every second millisecond, the last ones in that from 478 ms.
        assert!(marks_after_60_frames(&varying, ms(479.0 + 39.9)));
        assert!(!marks_after_60_frames(&varying, ms(479.0 + 40.1)));
    }

    #[test]
    fn the_probability_grows_with_the_average_and_with_each_frame_that_passes() {
        let mut bench = red();
        bench.queue.avg = 10_000.0;
        // Halfway between the thresholds p_b is 0.05. `count` begins at 0: p_a = 0.05, then 0.05 /
        // (1 - 0.05) = 0.0526, and after 10 frames 0.05 / 0.5 = 0.1. At count = 19, p_a is 1.
        let chooses = |red: &mut Red<Probe>, count: i64, draw| {
            red.count = count - 1;
            red.chooses(&mut Always(draw))
        };
        let red = &mut bench.queue;
        assert!(chooses(red, 0, 0.0499) && !chooses(red, 0, 0.0501));
        assert!(chooses(red, 1, 0.0526) && !chooses(red, 1, 0.0527));
        assert!(chooses(red, 10, 0.0999) && !chooses(red, 10, 0.1001));
        assert!(chooses(red, 19, 0.999));
        assert_eq!(red.count, 0);
    }

    #[test]
    fn above_the_upper_threshold_every_frame_is_marked_or_dropped() {
        let mut bench = red();
        bench.put_plain(Time::ZERO, 0..1);
        bench.queue.avg = 40_000.0;
        let capable = |number| Probe { number, is_capable: true, ..Probe::default() };
        bench.put(Time::ZERO, BYTES, capable(1));
        bench.put_plain(Time::ZERO, 2..3);
        assert_eq!(bench.dropped(), [2]);
        assert_eq!(bench.fates.classes()[0].marked, 1);
        bench.put(Time::ZERO, 59_000, capable(3));
        assert_eq!(bench.dropped(), [3], "the limit holds for all frames");
    }
}
