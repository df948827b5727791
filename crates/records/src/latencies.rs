use hdrhistogram::Histogram;

/// The requests that were due in one phase.
#[derive(Clone, Debug, Default)]
pub struct Answers {
    /// Latencies of the requests that were answered within the phase.
    pub latencies: Latencies,
    /// Number of requests that were not answered within the phase.
    pub unanswered: u64,
}

/// Latencies of the requests of one phase, as a log-linear histogram (`HdrHistogram`). The minimum,
/// maximum and sum are exact.
#[derive(Clone, Debug)]
pub struct Latencies {
    histogram: Histogram<u64>,
    min_ns: Option<u64>,
    max_ns: Option<u64>,
    sum_ns: u64,
}

impl Default for Latencies {
    fn default() -> Self {
        // The histogram is extended when a value exceeds its range, so no latency is clipped.
        let histogram = Histogram::new(Self::SIGNIFICANT_DIGITS).expect("0 to 5 digits are kept");
        Self { histogram, min_ns: None, max_ns: None, sum_ns: 0 }
    }
}

impl Latencies {
    /// Significant decimal digits of the buckets.
    pub const SIGNIFICANT_DIGITS: u8 = 3;

    /// Adds one latency.
    ///
    /// # Panics
    /// Never, because the histogram is extended for large values.
    pub fn record(&mut self, ns: u64) {
        self.histogram.record(ns).expect("a histogram that grows takes any value");
        self.min_ns = Some(self.min_ns.map_or(ns, |min| min.min(ns)));
        self.max_ns = self.max_ns.max(Some(ns));
        self.sum_ns += ns;
    }

    /// Latencies recorded so far.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.histogram.len()
    }

    /// The shortest latency; none: nothing was recorded.
    #[must_use]
    pub const fn min_ns(&self) -> Option<u64> {
        self.min_ns
    }

    /// The longest latency; none: nothing was recorded.
    #[must_use]
    pub const fn max_ns(&self) -> Option<u64> {
        self.max_ns
    }

    /// The sum of all latencies.
    #[must_use]
    pub const fn sum_ns(&self) -> u64 {
        self.sum_ns
    }

    /// All non-empty buckets in ascending order: for each, the highest latency that belongs to it,
    /// and its number of requests.
    pub fn buckets(&self) -> impl Iterator<Item = (u64, u64)> {
        self.histogram.iter_recorded().map(|bucket| {
            let highest = self.histogram.highest_equivalent(bucket.value_iterated_to());
            (highest, bucket.count_since_last_iteration())
        })
    }
}
