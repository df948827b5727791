use alloc::boxed::Box;
use alloc::string::String;

use netstudy_units::{Duration, Time};
use serde::{Deserialize, Serialize};

use super::QueueConfig;
use super::positive::positive;

/// Parameters of [`super::Shaper`] (`tc-tbf(8)`) and of [`super::Policer`] (`tc-police(8)`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BucketConfig {
    /// Rate at which tokens come: the rate of frames in the long run.
    pub rate_bps: u64,
    /// Most tokens that the bucket holds: bytes that may pass at once after a pause.
    pub burst_bytes: u64,
    /// Added to the size of each frame before it is charged; may be negative. The size of a frame
    /// includes its Ethernet header and check sequence.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub overhead_bytes: i32,
    /// Only the first frame of a packet of segmentation offload is charged; its other frames pass at
    /// no cost, each in its turn. Only a shaper at a host can do this.
    ///
    /// This is what `htb` of Linux 2.6 makes of a packet that is longer than its rate table: it
    /// charges the last entry of the table, which is about one frame (`L2T` in
    /// `net/sched/sch_htb.c`, "giants"). Here the charge is that of the first frame itself.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub offload_as_one: bool,
    /// The discipline of the frames that wait; none: a FIFO that only the buffer limits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub over: Option<Box<QueueConfig>>,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
pub(super) const fn is_zero(bytes: &i32) -> bool {
    *bytes == 0
}

impl BucketConfig {
    /// An error names a parameter with which no frame would ever pass.
    pub(super) fn check(&self) -> Result<(), String> {
        positive("rate_bps", self.rate_bps)?;
        positive("burst_bytes", self.burst_bytes)?;
        self.over.as_ref().map_or(Ok(()), |over| over.check())
    }
}

/// A token bucket. It is full at the beginning.
#[derive(Clone, Debug)]
pub(super) struct Bucket {
    rate_bps: u64,
    overhead_bytes: i32,
    /// Most tokens, in the unit of `tokens`.
    burst: u128,
    /// Tokens at the time `at`, in bits of 1 ps at 1 bit/s: exact at every rate.
    tokens: u128,
    at: Time,
}

/// Tokens of a byte: 8 bits for 1 s.
const BYTE: u128 = 8 * 1_000_000_000_000;

impl Bucket {
    pub(super) const fn new(config: &BucketConfig) -> Self {
        let &BucketConfig { rate_bps, burst_bytes, overhead_bytes, .. } = config;
        let burst = burst_bytes as u128 * BYTE;
        Self { rate_bps, overhead_bytes, burst, tokens: burst, at: Time::ZERO }
    }

    /// Takes the tokens of a frame at `now`, if there are enough.
    pub(super) fn take(&mut self, now: Time, frame_bytes: u32) -> bool {
        self.fill(now);
        let cost = self.cost(frame_bytes);
        let is_enough = self.tokens >= cost;
        if is_enough {
            self.tokens -= cost;
        }
        is_enough
    }

    /// When there will be enough tokens for a frame: rounded up to a picosecond; [`Time::NEVER`] if
    /// the frame is larger than the bucket.
    pub(super) fn ready_at(&self, frame_bytes: u32) -> Time {
        let cost = self.cost(frame_bytes);
        if cost > self.burst {
            return Time::NEVER;
        }
        let missing = cost.saturating_sub(self.tokens);
        self.at + Duration::from_ps(missing.div_ceil(u128::from(self.rate_bps)) as u64)
    }

    /// Whether the bucket can ever hold enough tokens for a frame.
    pub(super) fn ever_passes(&self, frame_bytes: u32) -> bool {
        self.cost(frame_bytes) <= self.burst
    }

    fn fill(&mut self, now: Time) {
        let come = u128::from(now.since(self.at).as_ps()) * u128::from(self.rate_bps);
        self.tokens = (self.tokens + come).min(self.burst);
        self.at = self.at.max(now);
    }

    fn cost(&self, frame_bytes: u32) -> u128 {
        let bytes = i64::from(frame_bytes) + i64::from(self.overhead_bytes);
        u128::from(bytes.unsigned_abs()) * if bytes > 0 { BYTE } else { 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bucket(rate_bps: u64, burst_bytes: u64, overhead_bytes: i32) -> Bucket {
        Bucket::new(&BucketConfig {
            rate_bps,
            burst_bytes,
            overhead_bytes,
            offload_as_one: false,
            over: None,
        })
    }

    #[test]
    fn tokens_are_exact_to_the_byte() {
        // 3 Mbit/s: a byte comes every 8/3 us, no whole number of picoseconds.
        let mut bucket = bucket(3_000_000, 3000, 0);
        assert!(bucket.take(Time::ZERO, 3000) && !bucket.take(Time::ZERO, 1));
        // 1500 bytes take 4 ms: not a picosecond less, and after them nothing is left.
        let due = Time::ZERO + Duration::from_ms(4);
        assert_eq!(bucket.ready_at(1500), due);
        assert!(!bucket.take(due.saturating_sub(Duration::from_ps(1)), 1500));
        assert!(bucket.take(due, 1500) && !bucket.take(due, 1));
        // One byte: 8/3 us, rounded up.
        assert_eq!(bucket.ready_at(1), due + Duration::from_ps(2_666_667));
        // In a thousand steps of 1/3 of a byte each nothing is lost: 333 whole bytes come.
        let step = Duration::from_ps(888_889);
        let mut taken = 0;
        for number in 1..=1000 {
            taken += u32::from(bucket.take(due + step * number, 1));
        }
        assert_eq!(taken, 333);
    }

    #[test]
    fn overhead_is_charged_for_each_frame_and_may_be_negative() {
        let passes = |overhead_bytes| {
            let mut bucket = bucket(8, 1000, overhead_bytes);
            (0..20).filter(|_| bucket.take(Time::ZERO, 100)).count()
        };
        assert_eq!([passes(0), passes(25), passes(-20)], [10, 8, 12]);
    }

    #[test]
    fn a_frame_larger_than_the_bucket_never_passes() {
        let bucket = bucket(8, 1000, 1);
        assert!(bucket.ever_passes(999) && !bucket.ever_passes(1000));
        assert_eq!(bucket.ready_at(1000), Time::NEVER);
    }
}
