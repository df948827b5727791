//! Checks that losses, duplicates and delays of a run are as likely as the plan makes them.

use netstudy_records as records;
use netstudy_records::{Check, Jitter};

use crate::PathCounters;
use crate::chance::MILLION;

/// A correct link breaks one of the laws below once in this number of runs.
const RUNS: f64 = 1e6;
/// With this number of draws, their mean is normally distributed for the purpose here.
const DRAWS_OF_NORMAL: u64 = 1_000;

/// One random property of one path after a run, compared with the plan.
struct Seen {
    detail: String,
    /// How likely a correct link is to give something as far from its mean, on the same side, at
    /// least.
    likelihood: f64,
}

/// One direction of a link after a run.
#[derive(Clone, Copy, Debug)]
pub struct Passed<'a> {
    /// The end that sends.
    pub node: &'a str,
    /// Its port there.
    pub port: &'a str,
    /// The path as the plan has it.
    pub asked: &'a records::Path,
    /// Counts of its frames.
    pub counters: PathCounters,
}

/// Checks the shares of lost and of duplicated frames, and the mean of the random delays. A property
/// that no path has is not checked.
#[must_use]
pub fn checks(paths: &[Passed<'_>]) -> Vec<Check> {
    let of = |seen: fn(&records::Path, &PathCounters) -> Option<Seen>| {
        let found = paths.iter().filter_map(|path| {
            let Seen { detail, likelihood } = seen(path.asked, &path.counters)?;
            let detail = format!("{}:{}: {detail}", path.node, path.port);
            Some(Seen { detail, likelihood })
        });
        found.collect::<Vec<_>>()
    };
    let found = [
        ("each link loses the share of frames that it was asked to lose", of(losses)),
        ("each link duplicates the share of frames that it was asked to", of(duplicates)),
        ("the random delay of each link has the mean that was asked for", of(delays)),
    ];
    let properties: usize = found.iter().map(|(_, seen)| seen.len()).sum();
    // Both tails of all properties together.
    let limit = 1.0 / RUNS / 2.0 / properties.max(1) as f64;
    found.into_iter().filter_map(|(law, seen)| check(law, seen, limit)).collect()
}

/// The check of one property; it shows the path that is farthest from its mean.
fn check(law: &str, seen: Vec<Seen>, limit: f64) -> Option<Check> {
    let farthest = seen.into_iter().min_by(|a, b| a.likelihood.total_cmp(&b.likelihood))?;
    Some(Check {
        law: law.to_owned(),
        holds: farthest.likelihood >= limit,
        detail: farthest.detail,
    })
}

fn losses(asked: &records::Path, counters: &PathCounters) -> Option<Seen> {
    let &PathCounters { frames_sent, frames_lost, .. } = counters;
    let model = asked.loss.as_ref()?;
    let (share, factor) = mean_and_spread(model, frames_sent as f64);
    let likelihood = if factor > 0.0 {
        // Losses in bursts vary more than independent ones, as if there were fewer frames.
        binomial_tail(frames_sent as f64 / factor, share, frames_lost as f64 / factor)
    } else {
        certain(frames_lost as f64, share * frames_sent as f64)
    };
    let detail = format!("{frames_lost} of {frames_sent} frames lost, {} % asked", 100.0 * share);
    Some(Seen { detail, likelihood })
}

fn duplicates(asked: &records::Path, counters: &PathCounters) -> Option<Seen> {
    let PathCounters { frames_sent, frames_lost, frames_duplicated, .. } = *counters;
    let share = (asked.duplicate_ppm > 0).then(|| share(asked.duplicate_ppm))?;
    let passed = frames_sent - frames_lost;
    let likelihood = binomial_tail(passed as f64, share, frames_duplicated as f64);
    let detail = format!("{frames_duplicated} of {passed} frames twice, {} % asked", 100.0 * share);
    Some(Seen { detail, likelihood })
}

fn delays(asked: &records::Path, counters: &PathCounters) -> Option<Seen> {
    let (mean_ns, deviation_ns) = match asked.jitter {
        Jitter::None => return None,
        Jitter::Uniform { max_ns } => (max_ns as f64 / 2.0, max_ns as f64 / libm::sqrt(12.0)),
        Jitter::Exponential { mean_ns } => (mean_ns as f64, mean_ns as f64),
    };
    let draws = counters.frames_passed();
    let seen_ns = counters.jitter_mean()?.as_ps() as f64 / 1e3;
    let deviations = (seen_ns - mean_ns).abs() / deviation_ns * libm::sqrt(draws as f64);
    let likelihood = if deviation_ns == 0.0 {
        certain(seen_ns, mean_ns)
    } else if draws >= DRAWS_OF_NORMAL {
        libm::erfc(deviations / std::f64::consts::SQRT_2) / 2.0
    } else {
        // Cantelli's inequality holds for every distribution.
        1.0 / (1.0 + deviations * deviations)
    };
    let constant_ns = asked.extra_delay_ns as f64;
    let delayed_ns = counters.delay_mean()?.as_ps() as f64 / 1e3 - constant_ns;
    let detail = format!(
        "{seen_ns:.0} ns drawn on average for {draws} frames, {mean_ns:.0} ns asked; with the wait \
         for earlier frames, {delayed_ns:.0} ns"
    );
    Some(Seen { detail, likelihood })
}

/// The mean share of lost frames of a model, and the variance of the number of lost ones among
/// `frames` as a multiple of the variance of independent losses with the same mean.
fn mean_and_spread(model: &records::Loss, frames: f64) -> (f64, f64) {
    match *model {
        records::Loss::Independent { share_ppm } => (share(share_ppm), 1.0),
        records::Loss::GilbertElliott { to_bad_ppm, to_good_ppm, in_bad_ppm, in_good_ppm } => {
            let [to_bad, to_good] = [to_bad_ppm, to_good_ppm].map(share);
            let [in_bad, in_good] = [in_bad_ppm, in_good_ppm].map(share);
            let bad = to_bad / (to_bad + to_good);
            let share = bad * in_bad + (1.0 - bad) * in_good;
            let own = share * (1.0 - share);
            if own == 0.0 || frames < 1.0 {
                return (share, 1.0);
            }
            // Fates of frames k apart have the covariance `covariance` x `kept`^k.
            let covariance = bad * (1.0 - bad) * (in_bad - in_good) * (in_bad - in_good);
            let kept = 1.0 - to_bad - to_good;
            let changed = 1.0 - kept;
            let series = kept / changed * (frames - (1.0 - libm::pow(kept, frames)) / changed);
            (share, 1.0 + 2.0 * covariance * series / (frames * own))
        }
    }
}

/// The likelihood of a number that does not vary from run to run: it must be the asked one.
fn certain(seen: f64, asked: f64) -> f64 {
    f64::from(seen - asked == 0.0)
}

fn share(ppm: u32) -> f64 {
    f64::from(ppm) / f64::from(MILLION)
}

/// The probability that `hits` of `draws` or a number still farther from the mean, on the same side,
/// happen, if each draw is a hit with the probability `share`. A sum over the binomial distribution,
/// continued to numbers that are not whole.
fn binomial_tail(draws: f64, share: f64, hits: f64) -> f64 {
    if draws < 1.0 {
        return 1.0;
    }
    if share <= 0.0 {
        return f64::from(hits <= 0.0);
    }
    if share >= 1.0 {
        return f64::from(hits >= draws);
    }
    let odds = share / (1.0 - share);
    let mut term = libm::exp(
        libm::lgamma(draws + 1.0) - libm::lgamma(hits + 1.0) - libm::lgamma(draws - hits + 1.0)
            + hits * libm::log(share)
            + (draws - hits) * libm::log1p(-share),
    );
    let rises = hits >= draws * share;
    let (mut sum, mut at) = (0.0, hits);
    while term > sum * 1e-9 && (0.0..=draws).contains(&at) {
        sum += term;
        if rises {
            term *= (draws - at) / (at + 1.0) * odds;
            at += 1.0;
        } else {
            term *= at / (draws - at + 1.0) / odds;
            at -= 1.0;
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use netstudy_records::Loss;
    use netstudy_units::{Duration, Time};

    use super::*;
    use crate::Path;

    fn close(found: f64, expected: f64) -> bool {
        (found / expected - 1.0).abs() < 1e-9
    }

    #[test]
    fn tails_of_small_distributions_are_their_sums() {
        // Ten throws of a coin: 10, 9 or 8 heads have 1, 10 and 45 of 1024 ways.
        assert!(close(binomial_tail(10.0, 0.5, 8.0), 56.0 / 1024.0));
        assert!(close(binomial_tail(10.0, 0.5, 2.0), 56.0 / 1024.0));
        assert!(close(binomial_tail(10.0, 0.5, 10.0), 1.0 / 1024.0));
        // No six in 20 throws of a die.
        assert!(close(binomial_tail(20.0, 1.0 / 6.0, 0.0), (5f64 / 6.0).powi(20)));
    }

    #[test]
    fn a_tail_far_away_is_as_small_as_that_of_the_normal_distribution() {
        // 5.2 standard deviations (of 9.95) with the continuity correction; erfc gives 1.0e-7, and
        // the skewness of the binomial distribution makes the upper tail heavier.
        let tail = binomial_tail(10_000.0, 0.01, 152.0);
        assert!((1e-7..1e-6).contains(&tail), "{tail}");
    }

    #[test]
    fn what_never_or_always_happens_must_do_so() {
        assert!(close(binomial_tail(100.0, 0.0, 0.0), 1.0));
        assert!(binomial_tail(100.0, 0.0, 1.0) == 0.0);
        assert!(close(binomial_tail(100.0, 1.0, 100.0), 1.0));
        assert!(binomial_tail(100.0, 1.0, 99.0) == 0.0);
    }

    #[test]
    fn bursts_spread_the_number_of_losses() {
        let bursts = Loss::GilbertElliott {
            to_bad_ppm: 100_000,
            to_good_ppm: 100_000,
            in_bad_ppm: 500_000,
            in_good_ppm: 100_000,
        };
        let (share, factor) = mean_and_spread(&bursts, 1e9);
        assert!(close(share, 0.3));
        // 0.53 / 0.21: the test of this model in `loss` derives it.
        assert!((factor - 0.53 / 0.21).abs() < 1e-6, "{factor}");
        // One frame has no neighbours.
        assert!(close(mean_and_spread(&bursts, 1.0).1, 1.0));
    }

    fn after(asked: &records::Path, frames: u64) -> Path {
        let mut path = Path::new(asked, "5eed", "a", "b").expect("it is possible");
        for n in 0..frames {
            path.pass(Time::ZERO + Duration::from_us(n));
        }
        path
    }

    fn of<'a>(node: &'a str, path: &'a Path) -> Passed<'a> {
        Passed { node, port: "eth0", asked: path.asked(), counters: path.counters() }
    }

    fn rich() -> records::Path {
        records::Path {
            loss: Some(Loss::Independent { share_ppm: 10_000 }),
            duplicate_ppm: 20_000,
            jitter: Jitter::Exponential { mean_ns: 5_000 },
            ..records::Path::default()
        }
    }

    #[test]
    fn a_correct_link_keeps_all_laws() {
        for frames in [0, 1, 10, 5_000, 200_000] {
            let path = after(&rich(), frames);
            let checks = checks(&[of("a", &path)]);
            assert!(checks.iter().all(|check| check.holds), "{checks:?}");
            assert_eq!(checks.len(), if frames == 0 { 2 } else { 3 });
        }
    }

    #[test]
    fn a_wrong_link_is_named_with_its_numbers() {
        let right = after(&rich(), 20_000);
        let mut wrong = right.clone();
        wrong.asked.loss = Some(Loss::Independent { share_ppm: 20_000 });
        wrong.asked.jitter = Jitter::Exponential { mean_ns: 6_000 };
        let lost = wrong.counters.frames_lost;
        let both = [of("a", &right), of("c", &wrong)];
        let [losses, duplicates, delays] = &checks(&both)[..] else { panic!("three properties") };
        assert!(!losses.holds && duplicates.holds && !delays.holds);
        assert_eq!(losses.detail, format!("c:eth0: {lost} of 20000 frames lost, 2 % asked"));
        assert!(
            delays.detail.starts_with("c:eth0: ")
                && delays.detail.contains(" 6000 ns asked; with the wait")
        );
    }

    /// Every second frame is lost: the state changes after each frame.
    fn by_turns() -> Loss {
        Loss::GilbertElliott {
            to_bad_ppm: MILLION,
            to_good_ppm: MILLION,
            in_bad_ppm: MILLION,
            in_good_ppm: 0,
        }
    }

    #[test]
    fn a_property_that_does_not_vary_must_be_met_exactly() {
        for jitter in [Jitter::Uniform { max_ns: 0 }, Jitter::Exponential { mean_ns: 0 }] {
            let loss = Some(by_turns());
            let path = after(&records::Path { loss, jitter, ..records::Path::default() }, 2_000);
            assert_eq!(path.counters.frames_lost, 1_000);
            let [losses, delays] = &checks(&[of("a", &path)])[..] else { panic!("two") };
            assert!(losses.holds && delays.holds, "{losses:?}, {delays:?}");

            let mut wrong = path.clone();
            wrong.counters.frames_lost += 1;
            wrong.counters.jitter_ps += 1_000_000;
            let [losses, delays] = &checks(&[of("a", &wrong)])[..] else { panic!("two") };
            assert!(!losses.holds && !delays.holds, "{losses:?}, {delays:?}");
        }
    }

    #[test]
    fn an_odd_number_of_frames_by_turns_varies_by_one() {
        for seed in ["0", "1", "2", "3"] {
            let asked = records::Path { loss: Some(by_turns()), ..records::Path::default() };
            let mut path = Path::new(&asked, seed, "a", "b").expect("it is possible");
            for n in 0..2_001 {
                path.pass(Time::ZERO + Duration::from_us(n));
            }
            assert!(checks(&[of("a", &path)])[0].holds, "seed {seed}: {:?}", path.counters);
        }
    }

    #[test]
    fn a_path_without_random_properties_is_not_checked() {
        let path = after(&records::Path { extra_delay_ns: 9, ..records::Path::default() }, 5);
        assert_eq!(checks(&[of("a", &path)]), []);
    }
}
