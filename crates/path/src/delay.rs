//! Delays that differ from frame to frame.

use netstudy_random::Stream;
use netstudy_records::{Jitter, Path};
use netstudy_units::{Duration, Time};

/// The delays of a path, in addition to the link's own.
#[derive(Clone, Debug)]
pub(crate) struct Delay {
    constant: Duration,
    jitter: Jitter,
    reorders: bool,
    stream: Stream,
    /// The latest arrival so far.
    last: Time,
}

impl Delay {
    pub(crate) fn new(asked: &Path, stream: Stream) -> Self {
        Self {
            constant: Duration::from_ns(asked.extra_delay_ns),
            jitter: asked.jitter.clone(),
            reorders: asked.reorders,
            stream,
            last: Time::ZERO,
        }
    }

    /// The arrival of a frame that would arrive at `at` over a perfect link, its random delay, and
    /// whether it overtakes a frame. On a path that keeps the order, a frame also waits for those
    /// before it.
    pub(crate) fn arrival(&mut self, at: Time) -> (Time, Duration, bool) {
        let jitter = self.stream.delay(&self.jitter);
        let alone = at + self.constant + jitter;
        let overtakes = self.reorders && alone < self.last;
        self.last = self.last.max(alone);
        (if self.reorders { alone } else { self.last }, jitter, overtakes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arrivals(reorders: bool) -> (Vec<Time>, u32) {
        let jitter = Jitter::Uniform { max_ns: 50_000 };
        let asked = Path { jitter, reorders, ..Path::default() };
        let mut delay = Delay::new(&asked, Stream::new("5eed", "jitter"));
        let mut reordered = 0;
        let at = |n: u64| Time::ZERO + Duration::from_us(10 * n);
        let mut arrival = |n| {
            let (arrives, jitter, overtakes) = delay.arrival(at(n));
            assert!(jitter <= Duration::from_us(50) && arrives >= at(n) + jitter);
            reordered += u32::from(overtakes);
            arrives
        };
        ((0..1_000).map(&mut arrival).collect(), reordered)
    }

    #[test]
    fn frames_stay_in_order_unless_the_path_reorders() {
        let (in_order, overtaken) = arrivals(false);
        assert!(in_order.is_sorted());
        assert_eq!(overtaken, 0);
    }

    #[test]
    fn a_frame_is_reordered_if_an_earlier_one_arrives_later() {
        let (arrivals, overtaken) = arrivals(true);
        let before = |n: usize| arrivals[..n].iter().max().is_some_and(|&max| arrivals[n] < max);
        let counted = (0..arrivals.len()).filter(|&n| before(n)).count();
        assert!(overtaken > 100);
        assert_eq!(counted, overtaken as usize);
    }
}
