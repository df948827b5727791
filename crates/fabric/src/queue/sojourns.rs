use alloc::vec::Vec;

/// Times that frames waited, as a log-linear histogram: buckets are at most 1/128 of their value
/// wide. The sum is exact.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sojourns {
    /// Number of frames in each bucket, up to the highest bucket that was used.
    counts: Vec<u64>,
    sum_ns: u64,
}

/// Values below this number have buckets of their own. Above, each power of two has half as many.
const LINEAR: u64 = 256;
const HALF: u64 = LINEAR / 2;

/// The bucket of a value.
const fn bucket(ns: u64) -> usize {
    if ns < LINEAR {
        return ns as usize;
    }
    // The value without its lowest `shift` bits is 128 to 255.
    let shift = (ns.ilog2() - HALF.ilog2()) as u64;
    (LINEAR + (shift - 1) * HALF + (ns >> shift) - HALF) as usize
}

/// The highest value of a bucket.
const fn highest_ns(bucket: usize) -> u64 {
    let bucket = bucket as u64;
    if bucket < LINEAR {
        return bucket;
    }
    let (octave, place) = ((bucket - LINEAR) / HALF, (bucket - LINEAR) % HALF);
    (HALF + place) << (octave + 1) | ((2 << octave) - 1)
}

impl Sojourns {
    /// No frame has waited yet.
    #[must_use]
    pub const fn new() -> Self {
        Self { counts: Vec::new(), sum_ns: 0 }
    }

    /// Adds the time of one frame.
    pub fn record(&mut self, ns: u64) {
        let bucket = bucket(ns);
        if self.counts.len() <= bucket {
            self.counts.resize(bucket + 1, 0);
        }
        self.counts[bucket] += 1;
        self.sum_ns += ns;
    }

    /// The sum of all times.
    #[must_use]
    pub const fn sum_ns(&self) -> u64 {
        self.sum_ns
    }

    /// The times that were added since `earlier`.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let before = earlier.counts.iter().copied().chain(core::iter::repeat(0));
        let counts = self.counts.iter().zip(before).map(|(now, before)| now - before).collect();
        Self { counts, sum_ns: self.sum_ns - earlier.sum_ns }
    }

    /// All buckets that hold a frame, in ascending order: for each, the highest time that belongs to
    /// it, in nanoseconds, and its number of frames.
    pub fn buckets(&self) -> impl Iterator<Item = (u64, u64)> {
        let used = self.counts.iter().enumerate().filter(|&(_, &count)| count > 0);
        used.map(|(bucket, &count)| (highest_ns(bucket), count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_holds_the_values_up_to_its_highest() {
        for ns in (0..5000).chain((0..64).map(|bits| u64::MAX >> bits)) {
            let highest = highest_ns(bucket(ns));
            assert!(highest >= ns && (highest - ns) as f64 <= ns as f64 / 128.0, "{ns}: {highest}");
            assert_eq!(bucket(highest), bucket(ns));
            assert!(highest == u64::MAX || bucket(highest + 1) == bucket(ns) + 1);
        }
    }

    #[test]
    fn what_came_since_is_what_was_added() {
        let mut sojourns = Sojourns::new();
        sojourns.record(3);
        let earlier = sojourns.clone();
        for ns in [3, 1_000_000] {
            sojourns.record(ns);
        }
        let since = sojourns.since(&earlier);
        assert_eq!(since.sum_ns(), 1_000_003);
        // 1,000,000 has 20 bits; with the lowest 12 set it is 1,003,519.
        assert_eq!(since.buckets().collect::<Vec<_>>(), [(3, 1), (1_003_519, 1)]);
    }
}
