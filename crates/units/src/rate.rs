use crate::Duration;

const PS_PER_S: u64 = 1_000_000_000_000;

/// A bit rate in bit/s.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rate(u64);

impl Rate {
    /// A rate of `bps` bit/s.
    ///
    /// # Panics
    /// When `bps` is zero: nothing would ever be sent.
    #[must_use]
    pub const fn from_bps(bps: u64) -> Self {
        assert!(bps > 0, "a rate is above zero");
        Self(bps)
    }

    /// A rate of `gbps` Gbit/s (10^9 bit/s).
    #[must_use]
    pub const fn from_gbps(gbps: u64) -> Self {
        Self::from_bps(gbps * 1_000_000_000)
    }

    /// The rate in bit/s.
    #[must_use]
    pub const fn as_bps(self) -> u64 {
        self.0
    }

    /// How long `bytes` take on the wire at this rate, rounded up to a picosecond.
    #[must_use]
    pub const fn serialization(self, bytes: u32) -> Duration {
        // 8 x 10^12 x bytes stays below 2^64 for frames up to 2.3 MB.
        Duration::from_ps((bytes as u64 * 8 * PS_PER_S).div_ceil(self.0))
    }
}

/// A rate prepared for computing many serialization times. Each takes only one multiplication if a
/// byte lasts a whole number of picoseconds, as at 1, 10, 25, 40, 100, 200 and 400 Gbit/s.
#[derive(Clone, Copy, Debug)]
pub struct Serializer {
    rate: Rate,
    ps_per_byte: Option<u64>,
}

impl Serializer {
    /// Prepares `rate`.
    #[must_use]
    pub const fn new(rate: Rate) -> Self {
        let ps_per_byte =
            if (8 * PS_PER_S).is_multiple_of(rate.0) { Some(8 * PS_PER_S / rate.0) } else { None };
        Self { rate, ps_per_byte }
    }

    /// Same as [`Rate::serialization`].
    #[must_use]
    #[inline]
    pub const fn time(&self, bytes: u32) -> Duration {
        match self.ps_per_byte {
            Some(ps) => Duration::from_ps(ps * bytes as u64),
            None => self.rate.serialization(bytes),
        }
    }

    /// The prepared rate.
    #[must_use]
    pub const fn rate(&self) -> Rate {
        self.rate
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_jumbo_frame_at_ten_gigabit_takes_7_2304_microseconds() {
        // 9000 B of IP and 38 B of Ethernet: 9038 x 8 / 10^10 s.
        let rate = Rate::from_gbps(10);
        assert_eq!(rate.serialization(9038), Duration::from_ps(7_230_400));
        assert_eq!(Serializer::new(rate).time(9038), rate.serialization(9038));
    }

    #[test]
    fn a_rate_that_does_not_divide_is_rounded_up() {
        // One byte at 3 bit/s: 8/3 s.
        let third = Rate::from_bps(3);
        assert_eq!(third.serialization(1).as_ps(), 2_666_666_666_667);
        assert_eq!(Serializer::new(third).time(1), third.serialization(1));
    }
}
