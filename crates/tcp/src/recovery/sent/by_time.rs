//! Losses by time: a segment is lost if one that was sent after it has arrived and enough time has
//! passed (RFC 8985, 6.2, step 5; `tcp_rack_detect_loss` of Linux).
//!
//! The kernel keeps a list of segments by the time of their last transmission. Here the segments that
//! were sent once stand in that order anyway, and copies have a queue of their own, so that what was
//! decided before is not looked at again.

use netstudy_ring::Ring;
use netstudy_units::{Duration, Time};

use super::{LOST, RETRANSMITTED, SACKED, SentSegment, SentSegments};

/// Where a segment stands among those that were sent: by the time of its last transmission, and by
/// its end where times are equal (`RACK_sent_after` of RFC 8985).
pub(crate) type Place = (Time, u64);

/// The order in which segments were last sent.
#[derive(Clone, Debug, Default)]
pub(super) struct ByTime {
    /// No segment below this number that was sent once is undecided.
    first_undecided: u64,
    /// Numbers of the segments that were sent again, and when, in that order; some are out of date.
    copies: Ring<(u64, Time)>,
}

impl SentSegment {
    pub(crate) const fn place(&self) -> Place {
        (self.sent_at, self.end())
    }
}

impl SentSegments {
    /// Times that a segment was taken for lost, copies included.
    pub(crate) const fn losses(&self) -> u64 {
        self.losses
    }

    /// The oldest segment.
    pub(crate) fn oldest(&self) -> Option<&SentSegment> {
        self.queue.front()
    }

    /// Behind the newest SACKed segment, if one is SACKed (`tcp_highest_sack_seq`).
    pub(crate) fn sacked_end(&self) -> Option<u64> {
        let newest = (self.facked() as usize).checked_sub(1)?;
        self.queue.get(newest).map(SentSegment::end)
    }

    /// A retransmission is on the way, or the oldest segment was sent again (`tcp_any_retrans_done`).
    pub(crate) fn is_any_repeated(&self) -> bool {
        self.retransmitted > 0 || self.oldest().is_some_and(SentSegment::was_repeated)
    }

    /// `segment` was sent again: its place is the last one now.
    pub(crate) fn note_copy(&mut self, segment: &SentSegment) {
        let number = self.first + self.index_of(segment.start) as u64;
        self.by_time.copies.push_back((number, segment.sent_at));
    }

    /// The newest segment is sent again as a probe: it counts once, whichever arrives.
    pub(crate) fn repeat_newest(&mut self, now: Time) -> Option<SentSegment> {
        let newest = self.queue.len().checked_sub(1)?;
        Some(self.repeat_uncounted(newest, now))
    }

    /// Whatever was sent before `latest` and `patience` ago or earlier is lost. How long it takes
    /// until the last one of those that were sent before `latest` is, if any is left.
    pub(crate) fn lose_overdue(
        &mut self,
        now: Time,
        latest: Place,
        patience: Duration,
    ) -> Option<Duration> {
        let firsts = self.lose_overdue_firsts(now, latest, patience);
        let copies = self.lose_overdue_copies(now, latest, patience);
        firsts.max(copies)
    }

    fn lose_overdue_firsts(
        &mut self,
        now: Time,
        latest: Place,
        patience: Duration,
    ) -> Option<Duration> {
        let (mut wait, mut settled) = (None, true);
        let from = self.by_time.first_undecided.max(self.first);
        for index in (from - self.first) as usize..self.queue.len() {
            let segment = &self.queue[index];
            if segment.state & (SACKED | LOST | RETRANSMITTED) == 0 {
                let is_before = segment.place() < latest;
                if !is_before && !segment.was_repeated() {
                    break;
                }
                // One that was sent again, lost, and found again stands out of order.
                match left(now, segment, patience) {
                    None if is_before => self.lose(index),
                    left => {
                        settled = false;
                        wait = wait.max(left.filter(|_| is_before));
                    }
                }
            }
            if settled {
                self.by_time.first_undecided = self.first + index as u64 + 1;
            }
        }
        wait
    }

    fn lose_overdue_copies(
        &mut self,
        now: Time,
        latest: Place,
        patience: Duration,
    ) -> Option<Duration> {
        let mut wait = None;
        for at in 0..self.by_time.copies.len() {
            let Some(index) = self.copy_on_the_way(at) else { continue };
            let segment = &self.queue[index];
            if segment.place() >= latest {
                break;
            }
            match left(now, segment, patience) {
                None => self.lose_copy(index),
                left => wait = wait.max(left),
            }
        }
        while !self.by_time.copies.is_empty() && self.copy_on_the_way(0).is_none() {
            self.by_time.copies.drop_front();
        }
        wait
    }

    /// Where the copy is in the queue, if nothing is known of it.
    fn copy_on_the_way(&self, at: usize) -> Option<usize> {
        let (number, sent_at) = self.by_time.copies[at];
        let index = number.checked_sub(self.first)? as usize;
        let segment = self.queue.get(index)?;
        (segment.is(RETRANSMITTED) && segment.sent_at == sent_at).then_some(index)
    }

    /// The retransmission timer expired: the oldest segment is lost, and what was sent `patience` ago
    /// or earlier; copies as well (`tcp_timeout_mark_lost`).
    pub(crate) fn lose_timed_out(&mut self, now: Time, patience: Duration) {
        for index in 0..self.queue.len() {
            let segment = &self.queue[index];
            if segment.is_sacked() || (index > 0 && left(now, segment, patience).is_some()) {
                continue;
            }
            if segment.is(RETRANSMITTED) {
                self.lose_copy(index);
            } else {
                self.lose(index);
            }
        }
        self.retransmit_from = self.first;
    }

    /// Nothing was lost after all.
    pub(crate) fn find_again(&mut self) {
        for index in 0..self.queue.len() {
            self.queue[index].state &= !LOST;
        }
        self.lost = 0;
        self.waiting = 0;
        self.by_time.first_undecided = self.first;
    }
}

/// How long `segment` has left before it is overdue, if it is not.
fn left(now: Time, segment: &SentSegment, patience: Duration) -> Option<Duration> {
    let age = now.since(segment.sent_at);
    (age < patience).then(|| patience - age)
}
