//! The operations of forward acknowledgment against a twin without marks and counters: the rules of
//! `tcp_mark_head_lost`, of lost retransmissions and of `tcp_xmit_retransmit_queue`, each applied to
//! all segments.

extern crate std;

use std::vec::Vec;

use netstudy_units::{Duration, Time};
use proptest::prelude::*;

use super::super::{LOST, RETRANSMITTED, SentSegment, SentSegments};
use crate::{Range, SackBlocks};

#[derive(Clone, Copy, Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "the flags are what the twin is about")]
struct Slow {
    start: u64,
    end: u64,
    sacked: bool,
    lost: bool,
    again: bool,
    ever_again: bool,
    /// End of the sent data at the retransmission.
    repeated_at: u64,
}

impl Slow {
    const fn is_untouched(&self) -> bool {
        !self.sacked && !self.lost && !self.again
    }
}

/// Shares are of the queue's content, in 1/1000.
#[derive(Clone, Copy, Debug)]
enum Operation {
    Send { count: u32 },
    Acknowledge { share: usize, partly: bool },
    Sack { share: usize, count: usize },
    LoseHead { count: u32, limit: usize },
    LoseCopies { share: usize },
    LoseAll,
    Retransmit,
    RetransmitForward,
}

fn operation() -> impl Strategy<Value = Operation> {
    let share = || 0..1000_usize;
    prop_oneof![
        4 => (1..8_u32).prop_map(|count| Operation::Send { count }),
        3 => (0..400_usize, proptest::bool::weighted(0.2))
            .prop_map(|(share, partly)| Operation::Acknowledge { share, partly }),
        5 => (share(), 1..4_usize).prop_map(|(share, count)| Operation::Sack { share, count }),
        4 => (1..20_u32, share())
            .prop_map(|(count, limit)| Operation::LoseHead { count, limit: limit + 500 }),
        3 => share().prop_map(|share| Operation::LoseCopies { share: share + 500 }),
        1 => Just(Operation::LoseAll),
        5 => Just(Operation::Retransmit),
        4 => Just(Operation::RetransmitForward),
    ]
}

struct Both {
    fast: SentSegments,
    slow: Vec<Slow>,
    next: u64,
    now: Time,
}

/// Segments have this length.
const LEN: u64 = 4;

impl Both {
    fn new() -> Self {
        // Offsets beyond 32 bits, so that blocks must be unwrapped.
        let next = (1 << 32) - 50;
        Self { fast: SentSegments::default(), slow: Vec::new(), next, now: Time::ZERO }
    }

    fn apply(&mut self, operation: Operation) -> Result<(), TestCaseError> {
        self.now += Duration::from_us(1);
        match operation {
            Operation::Send { count } => (0..count).for_each(|_| self.send()),
            Operation::Acknowledge { share, partly } => self.acknowledge(share, partly),
            Operation::Sack { share, count } => self.sack(share, count)?,
            Operation::LoseHead { count, limit } => self.lose_head(count, self.offset(limit)),
            Operation::LoseCopies { share } => self.lose_copies(self.offset(share))?,
            Operation::LoseAll => self.lose_all(),
            Operation::Retransmit => {
                let fast = self.fast.retransmit_next(self.now, self.next);
                let waits = |segment: &Slow| segment.lost && !segment.again;
                let slow = self.slow.iter().position(waits);
                prop_assert_eq!(fast.map(|segment| segment.start), self.repeat(slow));
            }
            Operation::RetransmitForward => {
                let fast = self.fast.retransmit_forward(self.now, self.next);
                let slow = self.slow[..self.facked()].iter().position(Slow::is_untouched);
                prop_assert_eq!(fast.map(|segment| segment.start), self.repeat(slow));
            }
        }
        Ok(())
    }

    /// The offset at a share of the queue, or behind it.
    fn offset(&self, share: usize) -> u64 {
        let index = share * self.slow.len() / 1000;
        self.slow.get(index).map_or(self.next, |segment| segment.end)
    }

    /// `fackets_out`
    fn facked(&self) -> usize {
        self.slow.iter().rposition(|segment| segment.sacked).map_or(0, |newest| newest + 1)
    }

    fn repeat(&mut self, index: Option<usize>) -> Option<u64> {
        let segment = &mut self.slow[index?];
        segment.again = true;
        segment.ever_again = true;
        segment.repeated_at = self.next;
        Some(segment.start)
    }

    fn send(&mut self) {
        self.fast.push(SentSegment::fresh(self.next, LEN as u32, self.now));
        self.slow.push(Slow { start: self.next, end: self.next + LEN, ..Slow::default() });
        self.next += LEN;
    }

    fn acknowledge(&mut self, share: usize, partly: bool) {
        let Some(segment) = self.slow.get(share * self.slow.len() / 1000) else { return };
        let ack = if partly { segment.start + 1 } else { segment.end };
        self.fast.acknowledge(ack);
        self.slow.retain(|segment| segment.end > ack);
        if let Some(oldest) = self.slow.first_mut() {
            oldest.start = oldest.start.max(ack);
        }
    }

    fn sack(&mut self, share: usize, count: usize) -> Result<(), TestCaseError> {
        let from = share * self.slow.len() / 1000;
        let to = (from + count).min(self.slow.len());
        if from == to {
            return Ok(());
        }
        let una = self.slow[0].start;
        let block = Range { start: self.slow[from].start, end: self.slow[to - 1].end };
        let mut blocks = SackBlocks::default();
        blocks.push(block);
        let newly = self.slow[from..to].iter().filter(|segment| !segment.sacked).count();
        prop_assert_eq!(self.fast.mark_sacked(una, &blocks) as usize, newly);
        for segment in &mut self.slow[from..to] {
            (segment.sacked, segment.lost, segment.again) = (true, false, false);
        }
        Ok(())
    }

    fn lose_head(&mut self, count: u32, limit: u64) {
        self.fast.lose_head(count, limit);
        for segment in self.slow.iter_mut().take(count as usize) {
            if segment.end > limit {
                break;
            }
            segment.lost |= segment.is_untouched();
        }
    }

    fn lose_copies(&mut self, sacked_end: u64) -> Result<(), TestCaseError> {
        let found = self.fast.lose_copies(sacked_end);
        let mut expected = false;
        for segment in &mut self.slow {
            if segment.again && segment.repeated_at < sacked_end {
                (segment.again, segment.lost) = (false, true);
                expected = true;
            }
        }
        prop_assert_eq!(found, expected);
        Ok(())
    }

    fn lose_all(&mut self) {
        self.fast.lose_all();
        for segment in &mut self.slow {
            segment.lost = !segment.sacked;
            segment.again = false;
        }
    }

    fn compare(&self) -> Result<(), TestCaseError> {
        let (fast, slow) = (&self.fast, &self.slow);
        let count = |is: fn(&Slow) -> bool| slow.iter().filter(|segment| is(segment)).count();
        prop_assert_eq!(fast.len() as usize, slow.len());
        for (left, right) in fast.iter().zip(slow) {
            prop_assert_eq!((left.start, left.end()), (right.start, right.end));
            let state = (left.is_sacked(), left.is(LOST), left.is(RETRANSMITTED));
            prop_assert_eq!(state, (right.sacked, right.lost, right.again), "{:?}", right);
        }
        prop_assert_eq!(fast.sacked() as usize, count(|s| s.sacked));
        prop_assert_eq!(fast.lost() as usize, count(|s| s.lost));
        prop_assert_eq!(fast.retransmitted() as usize, count(|s| s.again));
        prop_assert_eq!(fast.may_retransmit(), slow.iter().any(|s| s.lost && !s.again));
        prop_assert_eq!(fast.waiting as usize, count(|s| s.lost && !s.again));
        let decided = (fast.decided - fast.first) as usize;
        let undecided = slow.iter().skip(decided).filter(|s| s.sacked).count();
        prop_assert_eq!(fast.sacked_undecided as usize, undecided);
        prop_assert_eq!(fast.facked() as usize, self.facked());
        prop_assert_eq!(fast.any_sent_twice(), slow.iter().any(|s| s.ever_again));
        // `packets_out - (sacked_out + lost_out) + retrans_out`
        let in_flight = slow.len() - count(|s| s.sacked) - count(|s| s.lost) + count(|s| s.again);
        prop_assert_eq!(fast.in_flight() as usize, in_flight);
        Ok(())
    }
}

proptest! {
    #![proptest_config(super::cases())]

    #[test]
    fn forward_acknowledgment_agrees_with_its_slow_twin(
        operations in proptest::collection::vec(operation(), 1..60),
    ) {
        let mut both = Both::new();
        for operation in operations {
            both.apply(operation)?;
            both.compare()?;
        }
    }
}
