//! Random loss: independent, or in bursts.

use netstudy_fabric::Chance;
use netstudy_random::Stream;
use netstudy_records as records;

use crate::chance::Probability;

/// A model of loss, and the state that it is in.
#[derive(Clone, Debug)]
pub(crate) enum Loss {
    /// Each frame is lost with the same probability, whatever happened to others.
    Independent(Probability),
    /// Two states with a loss of their own, between which the link changes at random after each
    /// frame (Gilbert, "Capacity of a burst-noise channel", 1960; Elliott, "Estimates of error rates
    /// for codes on burst-noise channels", 1963).
    GilbertElliott {
        to_bad: Probability,
        to_good: Probability,
        in_bad: Probability,
        in_good: Probability,
        is_bad: bool,
    },
}

impl Loss {
    /// The model of the plan. A link with two states begins in a state drawn with the shares of time
    /// that it spends in them, so that the first frames are as likely to be lost as later ones.
    pub(crate) fn new(model: &records::Loss, stream: &mut Stream) -> Result<Self, String> {
        let probability = |name: &str, ppm: u32| {
            Probability::new(ppm)
                .ok_or_else(|| format!("loss: {name}: {ppm} is more than a million millionths"))
        };
        Ok(match *model {
            records::Loss::Independent { share_ppm } => {
                Self::Independent(probability("share_ppm", share_ppm)?)
            }
            records::Loss::GilbertElliott { to_bad_ppm, to_good_ppm, in_bad_ppm, in_good_ppm } => {
                let to_bad = probability("to_bad_ppm", to_bad_ppm)?;
                let to_good = probability("to_good_ppm", to_good_ppm)?;
                let changes = to_bad_ppm + to_good_ppm;
                if changes == 0 {
                    return Err("loss: the link never changes its state".to_owned());
                }
                Self::GilbertElliott {
                    to_bad,
                    to_good,
                    in_bad: probability("in_bad_ppm", in_bad_ppm)?,
                    in_good: probability("in_good_ppm", in_good_ppm)?,
                    is_bad: Chance::below(stream, changes) < to_bad_ppm,
                }
            }
        })
    }

    /// Draws the fate of the next frame.
    pub(crate) fn is_lost(&mut self, stream: &mut Stream) -> bool {
        match self {
            Self::Independent(share) => share.is_hit(stream),
            Self::GilbertElliott { to_bad, to_good, in_bad, in_good, is_bad } => {
                let (loss, change) = if *is_bad { (in_bad, to_good) } else { (in_good, to_bad) };
                let is_lost = loss.is_hit(stream);
                *is_bad ^= change.is_hit(stream);
                is_lost
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FRAMES: u32 = 1_000_000;

    fn fates(model: &records::Loss, seed: &str) -> Vec<bool> {
        let mut stream = Stream::new(seed, "loss");
        let mut loss = Loss::new(model, &mut stream).expect("it is possible");
        (0..FRAMES).map(|_| loss.is_lost(&mut stream)).collect()
    }

    #[test]
    fn a_hundredth_of_the_frames_is_lost() {
        let lost = fates(&records::Loss::Independent { share_ppm: 10_000 }, "1");
        let count = lost.iter().filter(|&&lost| lost).count();
        // Five standard deviations: 5 x sqrt(10^6 x 0.01 x 0.99) = 497.
        assert!(count.abs_diff(10_000) < 498, "{count}");
    }

    #[test]
    fn bursts_have_the_lengths_of_a_geometric_distribution() {
        // In the bad state every frame is lost, so that a burst is a stay there: 1 / 0.25 frames.
        let model = records::Loss::GilbertElliott {
            to_bad_ppm: 10_000,
            to_good_ppm: 250_000,
            in_bad_ppm: 1_000_000,
            in_good_ppm: 0,
        };
        let lost = fates(&model, "2");
        let count = lost.iter().filter(|&&lost| lost).count() as f64;
        let bursts = lost.windows(2).filter(|pair| !pair[0] && pair[1]).count() as f64;
        // Each burst's length has the standard deviation sqrt(0.75) / 0.25 = 3.46.
        let error = (count / bursts - 4.0).abs();
        assert!(error < 5.0 * 3.47 / bursts.sqrt(), "{} frames a burst", count / bursts);
        // Bursts begin once in 1 / 0.01 + 1 / 0.25 frames; the deviation of this time is 99.6.
        let between = f64::from(FRAMES) / bursts;
        assert!((between - 104.0).abs() < 5.0 * 99.6 / bursts.sqrt(), "{between} frames between");
    }

    #[test]
    fn each_state_has_its_own_loss() {
        let model = records::Loss::GilbertElliott {
            to_bad_ppm: 100_000,
            to_good_ppm: 100_000,
            in_bad_ppm: 500_000,
            in_good_ppm: 100_000,
        };
        let lost = fates(&model, "3");
        let count = lost.iter().filter(|&&lost| lost).count() as f64;
        // The two states take half of the time each: a loss of 0.3. The variance of the count is
        // n (l (1 - l) + 2 x 0.5 x 0.5 x 0.4^2 x 0.8 / 0.2) = 0.53 n.
        assert!((count - 300_000.0).abs() < 5.0 * (0.53 * f64::from(FRAMES)).sqrt(), "{count}");
    }

    #[test]
    fn a_state_that_never_ends_is_refused() {
        let model = records::Loss::GilbertElliott {
            to_bad_ppm: 0,
            to_good_ppm: 0,
            in_bad_ppm: 1_000_000,
            in_good_ppm: 0,
        };
        let why = Loss::new(&model, &mut Stream::new("1", "loss")).expect_err("it is stuck");
        assert_eq!(why, "loss: the link never changes its state");
    }
}
