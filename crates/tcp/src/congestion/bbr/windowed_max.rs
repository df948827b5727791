//! The maximum of a window of rounds, from three samples (Kathleen Nichols' algorithm;
//! `lib/win_minmax.c` of Linux).

/// A value, and the round in which it was measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Sample {
    round: u32,
    value: u32,
}

/// The largest value of the last rounds: the best, the second best, and the third best sample, each
/// later than the one before, so that a successor is known when the best one expires.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct WindowedMax([Sample; 3]);

impl WindowedMax {
    /// The maximum; 0 before the first sample.
    pub(super) const fn get(&self) -> u32 {
        self.0[0].value
    }

    /// Adds a sample of `round` to a window of `rounds` rounds (`minmax_running_max`).
    pub(super) fn add(&mut self, rounds: u32, round: u32, value: u32) {
        let sample = Sample { round, value };
        let [best, second, third] = &mut self.0;
        if value >= best.value || round.wrapping_sub(third.round) > rounds {
            self.0 = [sample; 3];
            return;
        }
        if value >= second.value {
            (*second, *third) = (sample, sample);
        } else if value >= third.value {
            *third = sample;
        }
        self.expire(rounds, sample);
    }

    /// `minmax_subwin_update`
    fn expire(&mut self, rounds: u32, sample: Sample) {
        let [best, second, third] = self.0;
        let age = sample.round.wrapping_sub(best.round);
        if age > rounds {
            self.0 = [second, third, sample];
            if sample.round.wrapping_sub(second.round) > rounds {
                self.0 = [third, sample, sample];
            }
        } else if second.round == best.round && age > rounds / 4 {
            // A quarter of the window has passed without a successor: it begins with this sample.
            self.0 = [best, sample, sample];
        } else if third.round == second.round && age > rounds / 2 {
            self.0[2] = sample;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The maximum after each of these values, one a round, with a window of ten rounds.
    fn maxima<const N: usize>(values: [u32; N]) -> [u32; N] {
        let mut max = WindowedMax::default();
        let mut round = 0;
        values.map(|value| {
            round += 1;
            max.add(10, round, value);
            max.get()
        })
    }

    #[test]
    fn a_larger_value_counts_at_once() {
        assert_eq!(maxima([5, 7, 6, 9]), [5, 7, 7, 9]);
    }

    #[test]
    fn a_maximum_expires_after_ten_rounds() {
        // Measured in round 1, it still counts in round 11 and no longer in round 12.
        let found = maxima([9, 1, 2, 3, 3, 3, 3, 3, 3, 3, 3, 3]);
        assert_eq!(found[10..], [9, 3]);
    }

    #[test]
    fn the_second_best_follows() {
        // 9 of round 1, then 7 of round 5, which lasts until round 15.
        let values = [9, 2, 2, 2, 7, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2];
        let found = maxima(values);
        assert_eq!(found[10..], [9, 7, 7, 7, 7, 2]);
    }

    #[test]
    fn after_a_long_time_only_the_newest_counts() {
        let mut max = WindowedMax::default();
        max.add(10, 1, 9);
        max.add(10, 12, 1);
        assert_eq!(max.get(), 1);
    }
}
