//! Checks the scoreboard against a slow, obvious twin without counters and cached positions, which
//! recomputes all of RFC 6675 from the segments after each operation.
//!
//! `PROPTEST_CASES` makes the runs longer: a case is about thirty operations, so 40000 cases are
//! more than a million operations.
extern crate std;

mod by_time;

use std::vec::Vec;

use netstudy_units::{Duration, Time};
use proptest::prelude::*;

use super::{Acknowledged, LOST, RETRANSMITTED, SentSegment, SentSegments};
use crate::{Range, SackBlocks};

#[derive(Clone, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "the flags are what the twin is about")]
struct Slow {
    start: u64,
    end: u64,
    sent_at: Time,
    sacked: bool,
    /// Marked lost by a timeout or by duplicate acknowledgments, not by SACK.
    given_up: bool,
    on_the_way_again: bool,
    copied: bool,
}

#[derive(Default)]
struct Twin {
    segments: Vec<Slow>,
}

impl Twin {
    /// `IsLost` of RFC 6675 (4): `DupThresh` = 3 segments above it are SACKed.
    fn is_lost(&self, index: usize) -> bool {
        let above = self.segments[index + 1..].iter().filter(|segment| segment.sacked).count();
        let segment = &self.segments[index];
        !segment.sacked && (segment.given_up || above >= 3)
    }

    /// `SetPipe` of RFC 6675 (4), in segments.
    fn pipe(&self) -> u32 {
        let on_the_way = |index: usize| {
            let segment = &self.segments[index];
            let first_copy = u32::from(!segment.sacked && !self.is_lost(index));
            first_copy + u32::from(!segment.sacked && segment.on_the_way_again)
        };
        (0..self.segments.len()).map(on_the_way).sum()
    }

    /// `NextSeg` (1) of RFC 6675 (4).
    fn next_seg(&self) -> Option<usize> {
        (0..self.segments.len())
            .find(|&index| self.is_lost(index) && !self.segments[index].on_the_way_again)
    }

    fn acknowledge(&mut self, ack: u64) -> Acknowledged {
        let gone: Vec<Slow> = self.segments.extract_if(.., |segment| segment.end <= ack).collect();
        if let Some(oldest) = self.segments.first_mut() {
            oldest.start = oldest.start.max(ack);
        }
        // Karn's algorithm (RFC 6298, 3).
        let sure = gone.iter().all(|segment| !segment.copied);
        let newest = gone.last().map(|segment| segment.sent_at);
        let segments = gone.len() as u32;
        Acknowledged { segments, entries: segments, sent_at: newest.filter(|_| sure) }
    }

    fn sack(&mut self, blocks: &[Range]) {
        for segment in &mut self.segments {
            let inside = |b: &Range| b.start <= segment.start && segment.end <= b.end;
            if blocks.iter().any(inside) {
                segment.sacked = true;
                segment.on_the_way_again = false;
            }
        }
    }

    fn lose_all(&mut self) {
        for segment in &mut self.segments {
            segment.given_up = true;
            segment.on_the_way_again = false;
        }
    }

    fn lose_oldest(&mut self) {
        if let Some(oldest) = self.segments.first_mut() {
            oldest.given_up |= !oldest.sacked;
        }
    }

    fn retransmit_next(&mut self, now: Time) -> Option<u64> {
        let index = self.next_seg()?;
        let segment = &mut self.segments[index];
        segment.on_the_way_again = true;
        segment.copied = true;
        segment.sent_at = now;
        Some(segment.start)
    }
}

/// An operation on the queue. Shares are fractions of the queue's length, in 1/1000.
#[derive(Clone, Copy, Debug)]
enum Operation {
    Send {
        len: u32,
        count: u32,
    },
    /// If `partly`, the acknowledgment ends inside a segment.
    Acknowledge {
        share: usize,
        partly: bool,
    },
    /// Blocks as pairs of first segment and number of segments.
    Sack {
        blocks: [(usize, usize); 3],
        count: usize,
    },
    LoseAll,
    LoseOldest,
    Retransmit {
        count: u32,
    },
}

fn operation() -> impl Strategy<Value = Operation> {
    let block = || (0..1000_usize, 1..6_usize);
    prop_oneof![
        4 => (1..5_u32, 1..8_u32).prop_map(|(len, count)| Operation::Send { len, count }),
        3 => (0..500_usize, proptest::bool::weighted(0.2))
            .prop_map(|(share, partly)| Operation::Acknowledge { share, partly }),
        6 => ([block(), block(), block()], 1..=3_usize)
            .prop_map(|(blocks, count)| Operation::Sack { blocks, count }),
        1 => Just(Operation::LoseAll),
        1 => Just(Operation::LoseOldest),
        4 => (1..6_u32).prop_map(|count| Operation::Retransmit { count }),
    ]
}

struct Both {
    fast: SentSegments,
    slow: Twin,
    next: u64,
    acked: u64,
    now: Time,
}

impl Both {
    fn new() -> Self {
        let (fast, slow) = (SentSegments::default(), Twin::default());
        // Offsets beyond 32 bits, so that blocks must be unwrapped.
        let next = (1 << 32) - 50;
        Self { fast, slow, next, acked: next, now: Time::ZERO }
    }

    fn apply(&mut self, operation: Operation) -> Result<(), TestCaseError> {
        self.now += Duration::from_us(1);
        match operation {
            Operation::Send { len, count } => (0..count).for_each(|_| self.send(len)),
            Operation::Acknowledge { share, partly } => self.acknowledge(share, partly)?,
            Operation::Sack { blocks, count } => self.sack(&blocks[..count])?,
            Operation::LoseAll => {
                self.fast.lose_all();
                self.slow.lose_all();
            }
            Operation::LoseOldest => {
                self.fast.lose_oldest();
                self.slow.lose_oldest();
            }
            Operation::Retransmit { count } => {
                for _ in 0..count {
                    let fast = self.fast.retransmit_next(self.now).map(|segment| segment.start);
                    prop_assert_eq!(fast, self.slow.retransmit_next(self.now));
                }
            }
        }
        Ok(())
    }

    fn send(&mut self, len: u32) {
        self.fast.push(SentSegment::fresh(self.next, len, self.now));
        self.slow.segments.push(Slow {
            start: self.next,
            end: self.next + u64::from(len),
            sent_at: self.now,
            sacked: false,
            given_up: false,
            on_the_way_again: false,
            copied: false,
        });
        self.next += u64::from(len);
    }

    /// The segment at a share of the queue's length.
    fn at(&self, share: usize) -> Option<&Slow> {
        self.slow.segments.get(share * self.slow.segments.len() / 1000)
    }

    fn acknowledge(&mut self, share: usize, partly: bool) -> Result<(), TestCaseError> {
        let Some(segment) = self.at(share) else { return Ok(()) };
        self.acked = if partly { segment.start + 1 } else { segment.end };
        let fast = self.fast.acknowledge(self.acked);
        prop_assert_eq!(fast, self.slow.acknowledge(self.acked));
        Ok(())
    }

    fn sack(&mut self, shares: &[(usize, usize)]) -> Result<(), TestCaseError> {
        let mut blocks = SackBlocks::default();
        for &(share, count) in shares {
            let from = share * self.slow.segments.len() / 1000;
            let covered = self.slow.segments.iter().skip(from).take(count);
            let (Some(first), Some(last)) = (covered.clone().next(), covered.clone().next_back())
            else {
                continue;
            };
            blocks.push(Range { start: first.start, end: last.end });
        }
        let ranges: Vec<Range> = blocks.iter(self.acked).collect();
        let before = self.fast.sacked();
        let newly = self.fast.sack(self.acked, &blocks);
        self.slow.sack(&ranges);
        prop_assert_eq!(before + newly, self.fast.sacked());
        Ok(())
    }

    fn compare(&self) -> Result<(), TestCaseError> {
        let (fast, slow) = (&self.fast, &self.slow);
        prop_assert_eq!(fast.len() as usize, slow.segments.len());
        prop_assert_eq!(fast.is_empty(), slow.segments.is_empty());
        for (index, (left, right)) in fast.iter().zip(&slow.segments).enumerate() {
            prop_assert_eq!((left.start, left.end()), (right.start, right.end));
            prop_assert_eq!(left.sent_at, right.sent_at);
            prop_assert_eq!(left.is_sacked(), right.sacked, "SACKed {}", index);
            prop_assert_eq!(left.is(LOST), slow.is_lost(index), "lost {}", index);
            prop_assert_eq!(left.is(RETRANSMITTED), right.on_the_way_again, "again {}", index);
        }
        let indices = || 0..slow.segments.len();
        let lost = indices().filter(|&index| slow.is_lost(index)).count();
        prop_assert_eq!(fast.lost() as usize, lost);
        prop_assert_eq!(fast.in_flight(), slow.pipe());
        prop_assert_eq!(fast.may_retransmit(), slow.next_seg().is_some());
        Ok(())
    }
}

/// A short run unless `PROPTEST_CASES` is set.
pub(crate) fn cases() -> ProptestConfig {
    let short = ProptestConfig { cases: 2000, ..ProptestConfig::default() };
    if std::env::var_os("PROPTEST_CASES").is_some() { ProptestConfig::default() } else { short }
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn the_scoreboard_agrees_with_its_slow_twin(
        operations in proptest::collection::vec(operation(), 1..60),
    ) {
        let mut both = Both::new();
        for operation in operations {
            both.apply(operation)?;
            both.compare()?;
        }
    }
}
