//! Events of a given probability.

use netstudy_random::Stream;

/// A probability from 0 to 1, as a number of 2^63 equally likely draws.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Probability(u64);

/// Millionths in a whole.
pub(crate) const MILLION: u32 = 1_000_000;

impl Probability {
    /// A probability in millionths; none if it is above 1.
    pub(crate) fn new(ppm: u32) -> Option<Self> {
        (ppm <= MILLION).then_some(Self(((u128::from(ppm) << 63) / u128::from(MILLION)) as u64))
    }

    /// Draws whether the event happens.
    pub(crate) fn is_hit(self, stream: &mut Stream) -> bool {
        stream.bits() >> 1 < self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limits_are_certain() {
        let mut stream = Stream::new("7", "limits");
        let [never, always] = [0, MILLION].map(|ppm| Probability::new(ppm).expect("a share"));
        for _ in 0..1_000 {
            assert!(!never.is_hit(&mut stream));
            assert!(always.is_hit(&mut stream));
        }
    }

    #[test]
    fn more_than_a_whole_is_no_probability() {
        assert_eq!(Probability::new(MILLION + 1), None);
    }
}
