//! Named streams of random numbers, used for all random choices. A simulated run and a real run
//! with the same seed draw the same values.

use netstudy_fabric::Chance;
use netstudy_records::Jitter;
use netstudy_units::Duration;
use netstudy_workload::transactions::{Random, Streams};
use rand_core::RngCore;
use rand_pcg::Pcg64Mcg;
use sha2::{Digest, Sha256};

/// A named stream of random numbers.
///
/// A stream starts from a hash of the run's seed and the stream's name, so that an additional
/// stream does not change the values of the others. The generator and the arithmetic are the same
/// on every machine.
#[derive(Clone, Debug)]
pub struct Stream(Pcg64Mcg);

impl Stream {
    /// The stream `name` of the run with the seed `seed`.
    #[must_use]
    pub fn new(seed: &str, name: &str) -> Self {
        let digest = Sha256::new().chain_update(seed).chain_update([0]).chain_update(name);
        let mut state = [0; 16];
        state.copy_from_slice(&digest.finalize()[..16]);
        Self(Pcg64Mcg::new(u128::from_le_bytes(state)))
    }

    /// The stream that server `number` of an incast draws its start delays from. Simulator and
    /// agents use the same stream, so that delays are the same on every testbed.
    #[must_use]
    pub fn of_server(seed: &str, number: u32) -> Self {
        Self::new(seed, &format!("server/{number}/start"))
    }

    /// The streams that the generator of transactions on host `node` draws from. Simulator and
    /// agents use the same streams, so that users, operations and arrivals are the same on every
    /// testbed.
    #[must_use]
    pub fn of_generator(seed: &str, node: &str) -> Streams<Self> {
        Streams::new(|purpose| Self::new(seed, &format!("{node}/{purpose}")))
    }

    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A uniform random number from 0 (included) to 1 (excluded), with 53 random bits.
    pub fn uniform(&mut self) -> f64 {
        const SCALE: f64 = 1.0 / (1u64 << 53) as f64;
        (self.bits() >> 11) as f64 * SCALE
    }

    /// A uniform random span from zero to `max`.
    pub fn uniform_span(&mut self, max: Duration) -> Duration {
        span(self.uniform() * max.as_ps() as f64)
    }

    /// A random span of the exponential distribution with this mean.
    pub fn exponential(&mut self, mean: Duration) -> Duration {
        // The logarithm of `libm`, not the platform's, so that the bits are the same on every
        // machine.
        span(-libm::log(1.0 - self.uniform()) * mean.as_ps() as f64)
    }

    /// A random delay with the distribution `jitter`.
    pub fn delay(&mut self, jitter: &Jitter) -> Duration {
        match jitter {
            Jitter::None => Duration::ZERO,
            Jitter::Uniform { max_ns } => self.uniform_span(Duration::from_ns(*max_ns)),
            Jitter::Exponential { mean_ns } => self.exponential(Duration::from_ns(*mean_ns)),
        }
    }
}

#[allow(clippy::cast_sign_loss, reason = "spans are not negative")]
const fn span(ps: f64) -> Duration {
    Duration::from_ps(ps as u64)
}

impl Chance for Stream {
    fn below(&mut self, n: u32) -> u32 {
        // Multiplies and shifts. The bias of 2^-32 x n is far too small to affect a study.
        ((u64::from(self.0.next_u32()) * u64::from(n)) >> 32) as u32
    }
}

impl Random for Stream {
    fn below(&mut self, n: u32) -> u32 {
        Chance::below(self, n)
    }

    fn uniform_span(&mut self, max: Duration) -> Duration {
        Self::uniform_span(self, max)
    }

    fn exponential(&mut self, mean: Duration) -> Duration {
        Self::exponential(self, mean)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_depends_on_seed_and_name_only() {
        let mut one = Stream::new("00ff", "server/3/start");
        let mut other = Stream::new("00ff", "server/4/start");
        let mut again = Stream::new("00ff", "server/3/start");
        let first = one.uniform();
        assert_eq!(first.to_bits(), again.uniform().to_bits());
        assert_ne!(first.to_bits(), other.uniform().to_bits());
    }

    #[test]
    fn exponential_spans_have_their_mean() {
        let mut stream = Stream::new("7", "mean");
        let mean = Duration::from_us(75);
        let n = 100_000;
        let sum: u64 = (0..n).map(|_| stream.exponential(mean).as_ps()).sum();
        let error = (sum / n).abs_diff(mean.as_ps()) as f64 / mean.as_ps() as f64;
        // The limit is five standard errors of the mean of n exponential values: 5 / sqrt(n).
        assert!(error < 5.0 / (n as f64).sqrt(), "mean off by {error}");
    }

    #[test]
    fn choices_are_even() {
        let mut stream = Stream::new("7", "even");
        let mut counts = [0u32; 7];
        for _ in 0..70_000 {
            counts[Chance::below(&mut stream, 7) as usize] += 1;
        }
        // The limit is five standard deviations of a binomial count: 5 x sqrt(70000 x 1/7 x 6/7) =
        // 463.
        assert!(counts.iter().all(|&count| count.abs_diff(10_000) < 463), "{counts:?}");
    }
}
