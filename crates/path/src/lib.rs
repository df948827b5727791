//! One direction of an imperfect link: it loses some frames, duplicates some, and delays each by
//! a different time.
//!
//! The simulator and the user-space switch use the same code. Each kind of choice draws from a stream
//! of its own, named by the end that sends, so that the loss of a frame depends only on its number on
//! the link, not on the order of events elsewhere.

mod chance;
mod delay;
mod law;
mod loss;

use netstudy_random::Stream;
use netstudy_records as records;
use netstudy_units::{Duration, Time};

pub use law::{Passed, checks};

use chance::Probability;
use delay::Delay;
use loss::Loss;

/// One direction of a link that is not perfect.
#[derive(Clone, Debug)]
pub struct Path {
    asked: records::Path,
    loss: Option<(Loss, Stream)>,
    duplicate: Option<(Probability, Stream)>,
    delay: Delay,
    counters: PathCounters,
}

/// Counters of the frames of a path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PathCounters {
    /// Frames that the end has sent.
    pub frames_sent: u64,
    /// Of these: frames that never arrive.
    pub frames_lost: u64,
    /// Frames that arrive a second time.
    pub frames_duplicated: u64,
    /// Frames that arrive before a frame that was sent earlier.
    pub frames_reordered: u64,
    /// Sum of the random delays that were drawn for frames that arrive.
    pub jitter_ps: u128,
    /// Sum of the times by which frames arrive later than over a perfect link: the constant part,
    /// the random delay and, on a path that keeps the order, the wait for earlier frames.
    pub delay_ps: u128,
}

/// When a frame arrives, and when its duplicate does; neither if it is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Passage {
    /// Arrival of the frame.
    pub first: Option<Time>,
    /// Arrival of the duplicate.
    pub second: Option<Time>,
}

impl Path {
    /// The path from a port of a node, in the run with this seed.
    ///
    /// # Errors
    ///
    /// A sentence that names the end and the impossible number, such as a share above 1.
    pub fn new(asked: &records::Path, seed: &str, node: &str, port: &str) -> Result<Self, String> {
        let stream = |of: &str| Stream::new(seed, &format!("{node}:{port}/{of}"));
        let loss = asked.loss.as_ref().map(|model| {
            let mut stream = stream("loss");
            Loss::new(model, &mut stream).map(|loss| (loss, stream))
        });
        let duplicate = match asked.duplicate_ppm {
            0 => Ok(None),
            ppm => Probability::new(ppm)
                .map(|share| Some((share, stream("duplicate"))))
                .ok_or_else(|| format!("duplicate_ppm: {ppm} is more than a million millionths")),
        };
        Ok(Self {
            asked: asked.clone(),
            loss: loss.transpose().map_err(|why| format!("{node}:{port}: {why}"))?,
            duplicate: duplicate.map_err(|why| format!("{node}:{port}: {why}"))?,
            delay: Delay::new(asked, stream("jitter")),
            counters: PathCounters::default(),
        })
    }

    /// Passes a frame that would arrive at `at` over a perfect link.
    pub fn pass(&mut self, at: Time) -> Passage {
        self.counters.frames_sent += 1;
        if self.loss.as_mut().is_some_and(|(loss, stream)| loss.is_lost(stream)) {
            self.counters.frames_lost += 1;
            return Passage { first: None, second: None };
        }
        let first = self.arrival(at);
        let is_twice = self.duplicate.as_mut().is_some_and(|(share, stream)| share.is_hit(stream));
        let second = is_twice.then(|| {
            self.counters.frames_duplicated += 1;
            self.arrival(at)
        });
        Passage { first: Some(first), second }
    }

    fn arrival(&mut self, at: Time) -> Time {
        let (arrives, jitter, overtakes) = self.delay.arrival(at);
        self.counters.jitter_ps += u128::from(jitter.as_ps());
        self.counters.delay_ps += u128::from(arrives.since(at).as_ps());
        self.counters.frames_reordered += u64::from(overtakes);
        arrives
    }

    /// True if a frame may overtake another one.
    #[must_use]
    pub fn reorders(&self) -> bool {
        self.asked.reorders
    }

    /// The counters so far.
    #[must_use]
    pub fn counters(&self) -> PathCounters {
        self.counters
    }

    /// The path as the plan has it.
    #[must_use]
    pub fn asked(&self) -> &records::Path {
        &self.asked
    }
}

impl PathCounters {
    /// Frames that have arrived or will arrive, duplicates included.
    #[must_use]
    pub const fn frames_passed(&self) -> u64 {
        self.frames_sent - self.frames_lost + self.frames_duplicated
    }

    /// Mean of the random delays that were drawn; none without a frame that arrives.
    #[must_use]
    pub fn jitter_mean(&self) -> Option<Duration> {
        self.mean(self.jitter_ps)
    }

    /// Mean of the times by which frames arrive later than over a perfect link; none without a frame
    /// that arrives.
    #[must_use]
    pub fn delay_mean(&self) -> Option<Duration> {
        self.mean(self.delay_ps)
    }

    fn mean(&self, sum_ps: u128) -> Option<Duration> {
        let arrivals = u128::from(self.frames_passed());
        sum_ps.checked_div(arrivals).map(|ps| Duration::from_ps(ps as u64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(asked: &records::Path) -> Path {
        Path::new(asked, "5eed", "left", "eth0").expect("it is possible")
    }

    fn us(us: u64) -> Time {
        Time::ZERO + Duration::from_us(us)
    }

    #[test]
    fn a_frame_arrives_later_by_the_constant_part() {
        let mut path = path(&records::Path { extra_delay_ns: 3_000, ..records::Path::default() });
        assert_eq!(path.pass(us(7)), Passage { first: Some(us(10)), second: None });
        let delayed =
            PathCounters { frames_sent: 1, delay_ps: 3_000_000, ..PathCounters::default() };
        assert_eq!(path.counters(), delayed);
    }

    #[test]
    fn the_mean_delay_includes_the_wait_for_earlier_frames() {
        let means = |reorders| {
            let jitter = records::Jitter::Exponential { mean_ns: 50_000 };
            let mut path = path(&records::Path { jitter, reorders, ..records::Path::default() });
            let late = |at| path.pass(at).first.expect("none is lost").since(at);
            let sum: Duration = (0..1_000).map(us).map(late).fold(Duration::ZERO, |a, b| a + b);
            assert_eq!(path.counters().delay_mean(), Some(sum.div(1_000)));
            (path.counters().delay_mean(), path.counters().jitter_mean())
        };
        let (delay, jitter) = means(true);
        assert_eq!(delay, jitter);
        let (delay, jitter) = means(false);
        assert!(delay > jitter, "frames come 1 us apart and are delayed by 50 us");
    }

    #[test]
    fn every_frame_may_be_lost_or_come_twice() {
        let all = Some(records::Loss::Independent { share_ppm: 1_000_000 });
        let mut lossy = path(&records::Path { loss: all, ..records::Path::default() });
        let mut twice =
            path(&records::Path { duplicate_ppm: 1_000_000, ..records::Path::default() });
        for n in 0..100 {
            assert_eq!(lossy.pass(us(n)), Passage { first: None, second: None });
            assert_eq!(twice.pass(us(n)), Passage { first: Some(us(n)), second: Some(us(n)) });
        }
        assert_eq!(lossy.counters().frames_lost, 100);
        assert_eq!(twice.counters().frames_passed(), 200);
    }

    #[test]
    fn losses_do_not_depend_on_other_kinds_of_choices() {
        let loss = Some(records::Loss::Independent { share_ppm: 100_000 });
        let jitter = records::Jitter::Exponential { mean_ns: 1_000 };
        let plain = records::Path { loss, ..records::Path::default() };
        let rich = records::Path { jitter, duplicate_ppm: 500_000, ..plain.clone() };
        let (mut plain, mut rich) = (path(&plain), path(&rich));
        for n in 0..10_000 {
            assert_eq!(plain.pass(us(n)).first.is_some(), rich.pass(us(n)).first.is_some(), "{n}");
        }
        assert!(plain.counters().frames_lost > 0);
    }

    #[test]
    fn each_direction_has_losses_of_its_own() {
        let asked = records::Path {
            loss: Some(records::Loss::Independent { share_ppm: 500_000 }),
            ..records::Path::default()
        };
        let of = |node| Path::new(&asked, "5eed", node, "eth0").expect("it is possible");
        let fates = |mut path: Path| (0..64).map(|n| path.pass(us(n)).first.is_some()).collect();
        let (left, right): (Vec<bool>, Vec<bool>) = (fates(of("left")), fates(of("right")));
        assert_ne!(left, right);
    }

    #[test]
    fn an_impossible_share_is_refused_with_its_end() {
        let asked = records::Path { duplicate_ppm: 1_000_001, ..records::Path::default() };
        let why = Path::new(&asked, "5eed", "left", "eth0").expect_err("more than all");
        assert_eq!(why, "left:eth0: duplicate_ppm: 1000001 is more than a million millionths");
    }
}
