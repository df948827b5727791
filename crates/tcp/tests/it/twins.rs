//! Structures of this crate against twins that are slow and obvious, under random operations.

use std::collections::BTreeSet;

use netstudy_tcp::{Range, Reassembly, RtoRule, RttEstimator};
use netstudy_units::Duration;
use proptest::prelude::*;

/// Every byte that arrived, one by one.
#[derive(Default)]
struct Bytes {
    arrived: BTreeSet<u64>,
    /// Some byte of each insertion, the newest last.
    history: Vec<u64>,
}

impl Bytes {
    fn insert(&mut self, range: Range) {
        self.arrived.extend(range.start..range.end);
        // The last byte lies above `next` whenever the range was out of order.
        self.history.push(range.end - 1);
    }

    /// The first byte from `from` on that has not arrived.
    fn hole(&self, from: u64) -> u64 {
        let mut byte = from;
        while self.arrived.contains(&byte) {
            byte += 1;
        }
        byte
    }

    fn next(&self) -> u64 {
        self.hole(0)
    }

    fn above_next(&self) -> usize {
        self.arrived.range(self.next()..).count()
    }

    /// The run of bytes around `byte`.
    fn island(&self, byte: u64) -> Range {
        let missing = |byte: &u64| !self.arrived.contains(byte);
        let start = (0..byte).rev().find(missing).map_or(0, |hole| hole + 1);
        Range { start, end: self.hole(byte) }
    }

    /// The islands above `next`, the most recently changed first.
    fn islands_by_recency(&self) -> Vec<Range> {
        let next = self.next();
        let mut islands = Vec::new();
        for &byte in self.history.iter().rev().filter(|&&byte| byte > next) {
            let island = self.island(byte);
            if !islands.contains(&island) {
                islands.push(island);
            }
        }
        islands
    }
}

fn check_reassembly(ranges: &[(u64, u64)]) -> Result<(), TestCaseError> {
    let (mut fast, mut slow) = (Reassembly::new(0), Bytes::default());
    for &(start, len) in ranges {
        let range = Range { start, end: start + len };
        let before = slow.next();
        slow.insert(range);
        let advanced = fast.insert(range);
        prop_assert_eq!(advanced, slow.next() - before);
        prop_assert_eq!(fast.next(), slow.next());
        prop_assert_eq!(fast.island_bytes() as usize, slow.above_next());
        prop_assert_eq!(fast.has_islands(), slow.above_next() > 0);

        let blocks: Vec<Range> = fast.sack_blocks().iter(slow.next()).collect();
        let islands = slow.islands_by_recency();
        // RFC 2018 (4): whole islands, the newest first, in the order in which they were reported.
        prop_assert_eq!(&blocks[..], &islands[..blocks.len()]);
        if range.end > slow.next() {
            prop_assert!(blocks[0].start <= range.start && range.end <= blocks[0].end);
        }
    }
    Ok(())
}

/// RFC 6298 in floating point, in seconds.
struct FloatRtt {
    srtt: Option<f64>,
    rttvar: f64,
    backoff: i32,
}

impl FloatRtt {
    fn sample(&mut self, r: f64) {
        let (alpha, beta) = (1.0 / 8.0, 1.0 / 4.0);
        match self.srtt {
            None => {
                self.srtt = Some(r);
                self.rttvar = r / 2.0;
            }
            Some(srtt) => {
                self.rttvar = (1.0 - beta) * self.rttvar + beta * (srtt - r).abs();
                self.srtt = Some((1.0 - alpha) * srtt + alpha * r);
            }
        }
        self.backoff = 0;
    }

    fn rto(&self, limits: &Limits) -> f64 {
        let base = self.srtt.map_or(seconds(limits.initial), |srtt| {
            (srtt + seconds(limits.granularity).max(4.0 * self.rttvar)).max(seconds(limits.min))
        });
        (base * 2_f64.powi(self.backoff)).min(seconds(limits.max))
    }
}

#[derive(Clone, Copy, Debug)]
struct Limits {
    initial: Duration,
    min: Duration,
    max: Duration,
    granularity: Duration,
}

fn limits() -> impl Strategy<Value = Limits> {
    (1..5_000_u64, 0..2_000_u64, 2_000..120_000_u64, 1..20_000_u64).prop_map(
        |(initial_ms, min_ms, max_ms, granularity_us)| Limits {
            initial: Duration::from_ms(initial_ms),
            min: Duration::from_ms(min_ms),
            max: Duration::from_ms(max_ms),
            granularity: Duration::from_us(granularity_us),
        },
    )
}

#[expect(clippy::cast_precision_loss, reason = "53 bits of picoseconds are 2 hours")]
fn seconds(span: Duration) -> f64 {
    span.as_ps() as f64 / 1e12
}

/// A sample in nanoseconds, or none for an expiry of the timer.
fn check_rtt(limits: &Limits, events: &[Option<u64>]) -> Result<(), TestCaseError> {
    let mut fast = RttEstimator::new(
        RtoRule::Rfc6298,
        limits.initial,
        limits.min,
        limits.max,
        limits.granularity,
    );
    let mut slow = FloatRtt { srtt: None, rttvar: 0.0, backoff: 0 };
    for event in events {
        if let Some(ns) = *event {
            fast.sample(Duration::from_ns(ns));
            slow.sample(seconds(Duration::from_ns(ns)));
        } else {
            fast.back_off();
            slow.backoff += 1;
        }
        // Each division drops less than a picosecond; the mean forgets it by 1/8, the variance by 1/4, so
        // that 8 ps and 4 x (4 + 8) ps remain. Doublings enlarge that.
        let slack = 60e-12 * 2_f64.powi(slow.backoff.min(20));
        let srtt_error = match (fast.srtt(), slow.srtt) {
            (Some(fast), Some(slow)) => (seconds(fast) - slow).abs(),
            (None, None) => 0.0,
            _ => f64::INFINITY,
        };
        prop_assert!(srtt_error <= 60e-12, "SRTT is {} s off", srtt_error);
        let rto_error = (seconds(fast.rto()) - slow.rto(limits)).abs();
        prop_assert!(rto_error <= slack, "RTO is {} s off", rto_error);
    }
    Ok(())
}

/// A round-trip time in nanoseconds: 0 to ten seconds, small ones as likely as large ones.
fn rtt_ns() -> impl Strategy<Value = u64> {
    prop_oneof![0..1_000_u64, 0..1_000_000_u64, 0..1_000_000_000_u64, 0..10_000_000_000_u64]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn reassembly_agrees_with_a_set_of_bytes(
        ranges in proptest::collection::vec((0..120_u64, 1..25_u64), 1..40),
    ) {
        check_reassembly(&ranges)?;
    }

    #[test]
    fn reassembly_of_a_shuffled_stream_ends_without_islands(
        order in Just((0..40_u64).collect::<Vec<_>>()).prop_shuffle(),
    ) {
        let ranges: Vec<(u64, u64)> = order.into_iter().map(|nth| (nth * 3, 3)).collect();
        check_reassembly(&ranges)?;
    }

    #[test]
    fn the_timeout_agrees_with_rfc_6298_in_floating_point(
        limits in limits(),
        events in proptest::collection::vec(proptest::option::weighted(0.8, rtt_ns()), 1..100),
    ) {
        check_rtt(&limits, &events)?;
    }
}
