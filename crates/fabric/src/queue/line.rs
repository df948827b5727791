use netstudy_units::{Duration, Rate, Serializer};

use crate::Link;

/// The line on which the frames of a discipline leave: the link of the port, and the slowest limiter
/// in front of it.
#[derive(Clone, Copy, Debug)]
pub struct Line {
    link: Link,
    limiter: Option<Limiter>,
}

/// A discipline that lets frames leave at a rate of its own.
#[derive(Clone, Copy, Debug)]
struct Limiter {
    serializer: Serializer,
    overhead_bytes: i32,
}

impl Line {
    /// The line of a port that sends onto `link`.
    #[must_use]
    pub const fn new(link: &Link) -> Self {
        Self { link: *link, limiter: None }
    }

    /// The line of a discipline under a limiter that adds `overhead_bytes` to each frame.
    pub(super) fn limited(mut self, rate_bps: u64, overhead_bytes: i32) -> Self {
        let rate = Rate::from_bps(rate_bps.max(1));
        if self.limiter.is_none_or(|slowest| rate < slowest.serializer.rate()) {
            self.limiter = Some(Limiter { serializer: Serializer::new(rate), overhead_bytes });
        }
        self
    }

    /// Size of the largest frame.
    pub(super) const fn frame_bytes_max(&self) -> u32 {
        self.link.frame_bytes_max()
    }

    /// How long the line needs for a frame.
    pub(super) fn time(&self, frame_bytes: u32) -> Duration {
        let own = self.link.serialization(frame_bytes);
        self.limiter.map_or(own, |limiter| own.max(limiter.time(frame_bytes)))
    }
}

impl Limiter {
    fn time(&self, frame_bytes: u32) -> Duration {
        self.serializer.time(frame_bytes.saturating_add_signed(self.overhead_bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_takes_the_time_of_the_slowest_limiter() {
        // 1000 + 20 bytes at 8.16 Mbit/s take 1 ms; 1000 + 25 bytes at 1 Mbit/s take 8.2 ms.
        let line = Line::new(&Link::new(Rate::from_bps(8_160_000), Duration::ZERO));
        assert_eq!(line.time(1000), Duration::from_ms(1));
        let slow = line.limited(1_000_000, 25);
        assert_eq!(slow.time(1000), Duration::from_us(8_200));
        assert_eq!(slow.limited(2_000_000, 0).time(1000), Duration::from_us(8_200));
        assert_eq!(line.limited(100_000_000, 0).time(1000), Duration::from_ms(1));
    }
}
