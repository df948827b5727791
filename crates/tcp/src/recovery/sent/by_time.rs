//! Losses by time: a segment is lost if a later one has arrived and enough time has passed (RFC 8985,
//! 6.2, step 5; `tcp_rack_detect_loss` of Linux).
//!
//! The kernel keeps a list of segments by the time of their last transmission. Here the segments that
//! were sent once are in that order anyway, and retransmissions have a queue of their own, so decided
//! segments are not examined again.

use netstudy_ring::Ring;
use netstudy_units::{Duration, Time};

use super::{LOST, RETRANSMITTED, SACKED, SentSegment, SentSegments};

/// Position of a segment among the sent ones: by the time of its last transmission, and by its end
/// where times are equal (`RACK_sent_after` of RFC 8985).
pub(crate) type Place = (Time, u64);

/// The order in which segments were last sent.
#[derive(Clone, Debug, Default)]
pub(super) struct ByTime {
    /// No segment below this number that was sent once is undecided.
    first_undecided: u64,
    /// Numbers and times of the retransmitted segments, in the order of retransmission; some are out of
    /// date.
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

    /// A retransmission is on the way, or the oldest segment was retransmitted
    /// (`tcp_any_retrans_done`).
    pub(crate) fn is_any_repeated(&self) -> bool {
        self.retransmitted > 0 || self.oldest().is_some_and(SentSegment::was_repeated)
    }

    /// `segment` was retransmitted: its place is the last one now.
    pub(crate) fn note_copy(&mut self, segment: &SentSegment) {
        let number = self.first + self.index_of(segment.start) as u64;
        self.by_time.copies.push_back((number, segment.sent_at));
    }

    /// The newest segment is retransmitted as a probe: it counts once, whichever copy arrives.
    pub(crate) fn repeat_newest(&mut self, now: Time) -> Option<SentSegment> {
        let newest = self.queue.len().checked_sub(1)?;
        Some(self.repeat_uncounted(newest, now))
    }

    /// Marks all segments lost that were sent before `latest`, and at least `patience` ago. Returns how
    /// long it takes until the last segment sent before `latest` is lost, if any is left.
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
                // A segment that was retransmitted, lost, and found again stands out of order.
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

    /// Position of the retransmission in the queue, if it is neither SACKed nor lost.
    fn copy_on_the_way(&self, at: usize) -> Option<usize> {
        let (number, sent_at) = self.by_time.copies[at];
        let index = number.checked_sub(self.first)? as usize;
        let segment = self.queue.get(index)?;
        (segment.is(RETRANSMITTED) && segment.sent_at == sent_at).then_some(index)
    }

    /// The retransmission timer expired: the oldest segment is lost, and segments sent at least
    /// `patience` ago; retransmissions as well (`tcp_timeout_mark_lost`).
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

    /// No segment was lost after all.
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
