//! Checks losses by time against a slow twin without shortcuts, which applies RFC 8985 (6.2, step
//! 5) to all segments.

extern crate std;

use std::vec::Vec;

use netstudy_units::{Duration, Time};
use proptest::prelude::*;

use super::super::{LOST, Place, RETRANSMITTED, SentSegment, SentSegments};
use crate::{Range, SackBlocks};

#[derive(Clone, Copy, Debug)]
struct Slow {
    start: u64,
    end: u64,
    sent_at: Time,
    sacked: bool,
    lost: bool,
    again: bool,
}

impl Slow {
    const fn place(&self) -> Place {
        (self.sent_at, self.end)
    }

    fn is_overdue(&self, now: Time, patience: Duration) -> bool {
        now.since(self.sent_at) >= patience
    }

    fn lose(&mut self) {
        self.lost |= !self.sacked;
        self.again = false;
    }
}

/// An operation on the queue. Shares are fractions of the queue's length, in 1/1000. Times are in
/// microseconds; each operation takes one.
#[derive(Clone, Copy, Debug)]
enum Operation {
    Send { count: u32 },
    Acknowledge { share: usize },
    Sack { share: usize, count: usize },
    LoseOverdue { latest: usize, patience_us: u64 },
    LoseTimedOut { patience_us: u64 },
    Retransmit,
    RepeatNewest,
    FindAgain,
}

fn operation() -> impl Strategy<Value = Operation> {
    let share = || 0..1000_usize;
    prop_oneof![
        5 => (1..6_u32).prop_map(|count| Operation::Send { count }),
        3 => (0..300_usize).prop_map(|share| Operation::Acknowledge { share }),
        4 => (share(), 1..4_usize).prop_map(|(share, count)| Operation::Sack { share, count }),
        6 => (share(), 0..30_u64)
            .prop_map(|(latest, patience_us)| Operation::LoseOverdue { latest, patience_us }),
        1 => (0..30_u64).prop_map(|patience_us| Operation::LoseTimedOut { patience_us }),
        6 => Just(Operation::Retransmit),
        1 => Just(Operation::RepeatNewest),
        1 => Just(Operation::FindAgain),
    ]
}

struct Both {
    fast: SentSegments,
    slow: Vec<Slow>,
    next: u64,
    now: Time,
}

const LEN: u64 = 4;

impl Both {
    fn apply(&mut self, operation: Operation) -> Result<(), TestCaseError> {
        self.now += Duration::from_us(1);
        match operation {
            Operation::Send { count } => (0..count).for_each(|_| self.send()),
            Operation::Acknowledge { share } => self.acknowledge(share),
            Operation::Sack { share, count } => self.sack(share, count),
            Operation::LoseOverdue { latest, patience_us } => {
                self.lose_overdue(latest, Duration::from_us(patience_us))?;
            }
            Operation::LoseTimedOut { patience_us } => {
                self.lose_timed_out(Duration::from_us(patience_us));
            }
            Operation::Retransmit => self.retransmit()?,
            Operation::RepeatNewest => self.repeat_newest(),
            Operation::FindAgain => {
                self.fast.find_again();
                self.slow.iter_mut().for_each(|segment| segment.lost = false);
            }
        }
        Ok(())
    }

    fn send(&mut self) {
        self.fast.push(SentSegment::fresh(self.next, LEN as u32, self.now));
        let (start, end) = (self.next, self.next + LEN);
        let (sacked, lost, again) = (false, false, false);
        self.slow.push(Slow { start, end, sent_at: self.now, sacked, lost, again });
        self.next = end;
    }

    fn acknowledge(&mut self, share: usize) {
        let Some(segment) = self.slow.get(share * self.slow.len() / 1000) else { return };
        let ack = segment.end;
        self.fast.acknowledge(ack);
        self.slow.retain(|segment| segment.end > ack);
    }

    fn sack(&mut self, share: usize, count: usize) {
        let from = share * self.slow.len() / 1000;
        let to = (from + count).min(self.slow.len());
        if from == to {
            return;
        }
        let mut blocks = SackBlocks::default();
        blocks.push(Range { start: self.slow[from].start, end: self.slow[to - 1].end });
        self.fast.mark_sacked(self.slow[0].start, &blocks);
        for segment in &mut self.slow[from..to] {
            (segment.sacked, segment.lost, segment.again) = (true, false, false);
        }
    }

    fn lose_overdue(&mut self, latest: usize, patience: Duration) -> Result<(), TestCaseError> {
        let Some(latest) = self.slow.get(latest * self.slow.len() / 1000).map(Slow::place) else {
            return Ok(());
        };
        let wait = self.fast.lose_overdue(self.now, latest, patience);
        let mut expected = None;
        for segment in &mut self.slow {
            let waits_for_copy = segment.lost && !segment.again;
            if segment.sacked || waits_for_copy || segment.place() >= latest {
                continue;
            }
            if segment.is_overdue(self.now, patience) {
                segment.lose();
            } else {
                expected = expected.max(Some(patience - self.now.since(segment.sent_at)));
            }
        }
        prop_assert_eq!(wait, expected);
        Ok(())
    }

    fn lose_timed_out(&mut self, patience: Duration) {
        self.fast.lose_timed_out(self.now, patience);
        for (index, segment) in self.slow.iter_mut().enumerate() {
            if index == 0 || segment.is_overdue(self.now, patience) {
                segment.lose();
            }
        }
    }

    fn retransmit(&mut self) -> Result<(), TestCaseError> {
        let fast = self.fast.retransmit_next(self.now);
        if let Some(again) = &fast {
            self.fast.note_copy(again);
        }
        let waits = self.slow.iter_mut().find(|segment| segment.lost && !segment.again);
        prop_assert_eq!(fast.map(|segment| segment.start), waits.as_ref().map(|s| s.start));
        if let Some(segment) = waits {
            (segment.again, segment.sent_at) = (true, self.now);
        }
        Ok(())
    }

    /// Only while no segment is SACKed, lost or retransmitted, as in Linux.
    fn repeat_newest(&mut self) {
        let is_known = |segment: &Slow| segment.sacked || segment.lost || segment.again;
        if self.slow.iter().any(is_known) {
            return;
        }
        self.fast.repeat_newest(self.now);
        if let Some(newest) = self.slow.last_mut() {
            newest.sent_at = self.now;
        }
    }

    fn compare(&self) -> Result<(), TestCaseError> {
        let (fast, slow) = (&self.fast, &self.slow);
        for (left, right) in fast.iter().zip(slow) {
            let state = (left.is_sacked(), left.is(LOST), left.is(RETRANSMITTED));
            prop_assert_eq!(state, (right.sacked, right.lost, right.again), "{:?}", right);
            prop_assert_eq!(left.place(), right.place());
        }
        let count = |is: fn(&Slow) -> bool| slow.iter().filter(|segment| is(segment)).count();
        prop_assert_eq!(fast.waiting as usize, count(|s| s.lost && !s.again));
        prop_assert_eq!(fast.lost() as usize, count(|s| s.lost));
        prop_assert_eq!(fast.retransmitted() as usize, count(|s| s.again));
        let newest = slow.iter().rfind(|segment| segment.sacked);
        prop_assert_eq!(fast.sacked_end(), newest.map(|segment| segment.end));
        Ok(())
    }
}

proptest! {
    #![proptest_config(super::cases())]

    #[test]
    fn losses_by_time_agree_with_their_slow_twin(
        operations in proptest::collection::vec(operation(), 1..60),
    ) {
        let (fast, slow) = (SentSegments::default(), Vec::new());
        // Offsets beyond 32 bits, so that blocks must be unwrapped.
        let mut both = Both { fast, slow, next: (1 << 32) - 50, now: Time::ZERO };
        for operation in operations {
            both.apply(operation)?;
            both.compare()?;
        }
    }
}
