//! Losses by time: a segment is lost if a later one has arrived and enough time has passed (RFC
//! 8985, 6.2, step 5; `tcp_rack_detect_loss` of Linux).
//!
//! The kernel keeps a list of segments by the time of their last transmission. Here, segments that
//! were sent only once are in this order anyway, and retransmissions have a separate queue.
//! Segments that are known to be lost or SACKed are not examined again.

use netstudy_ring::Ring;
use netstudy_units::{Duration, Time};

use super::{LOST, RETRANSMITTED, SACKED, SentSegment, SentSegments};

/// Position of a segment in the order of last transmission; segments sent at the same time are
/// ordered by their end (`RACK_sent_after` of RFC 8985).
pub(crate) type Place = (Time, u64);

/// The order in which segments were last sent.
#[derive(Clone, Debug, Default)]
pub(super) struct ByTime {
    /// Each segment below this number is known to be SACKed or lost, or was retransmitted.
    first_undecided: u64,
    /// Numbers and send times of retransmitted segments, in the order of retransmission. Some
    /// entries are outdated: their retransmission is no longer in flight.
    copies: Ring<(u64, Time)>,
}

impl SentSegment {
    pub(crate) const fn place(&self) -> Place {
        (self.sent_at, self.end())
    }
}

impl SentSegments {
    /// Number of times that a segment or a retransmission was marked lost.
    pub(crate) const fn losses(&self) -> u64 {
        self.losses
    }

    /// The oldest segment.
    pub(crate) fn oldest(&self) -> Option<&SentSegment> {
        self.queue.front()
    }

    /// The newest segment.
    pub(crate) fn newest(&self) -> Option<&SentSegment> {
        self.queue.iter().next_back()
    }

    /// The end of the newest SACKed segment, if any is SACKed (`tcp_highest_sack_seq`).
    pub(crate) fn sacked_end(&self) -> Option<u64> {
        let newest = (self.facked() as usize).checked_sub(1)?;
        self.queue.get(newest).map(SentSegment::end)
    }

    /// Whether a retransmission is in flight, or the oldest segment was retransmitted
    /// (`tcp_any_retrans_done`).
    pub(crate) fn is_any_repeated(&self) -> bool {
        self.retransmitted > 0 || self.oldest().is_some_and(SentSegment::was_repeated)
    }

    /// Number of the segment that starts at `start`.
    pub(crate) fn number_of(&self, start: u64) -> u64 {
        self.first + self.index_of(start) as u64
    }

    /// Records that `segment` was retransmitted and is now the last in the order of transmission.
    pub(crate) fn note_copy(&mut self, segment: &SentSegment) {
        let number = self.number_of(segment.start);
        self.by_time.copies.push_back((number, segment.sent_at));
    }

    /// Retransmits the newest segment as a probe. It still counts as only one segment in flight,
    /// whichever copy arrives.
    pub(crate) fn repeat_newest(&mut self, now: Time) -> Option<SentSegment> {
        let newest = self.queue.len().checked_sub(1)?;
        Some(self.repeat_uncounted(newest, now))
    }

    /// Marks all segments lost that were sent before `latest` and at least `patience` ago. If other
    /// segments were sent before `latest`, returns the time until the last of them will count as
    /// lost.
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
                // A segment is out of order here if it was retransmitted and its mark as lost was
                // undone.
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

    /// Index in the queue of the segment that was retransmitted as `copies[at]`, if this
    /// retransmission is neither SACKed nor lost.
    fn copy_on_the_way(&self, at: usize) -> Option<usize> {
        let (number, sent_at) = self.by_time.copies[at];
        let index = number.checked_sub(self.first)? as usize;
        let segment = self.queue.get(index)?;
        (segment.is(RETRANSMITTED) && segment.sent_at == sent_at).then_some(index)
    }

    /// The retransmission timer expired: marks the oldest segment and all segments sent at least
    /// `patience` ago as lost, including retransmissions (`tcp_timeout_mark_lost`).
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

    /// Undoes all loss marks.
    pub(crate) fn find_again(&mut self) {
        for index in 0..self.queue.len() {
            self.queue[index].state &= !LOST;
        }
        self.lost = 0;
        self.waiting = 0;
        self.by_time.first_undecided = self.first;
    }
}

/// The time until `segment` is overdue, or none if it is overdue already.
fn left(now: Time, segment: &SentSegment, patience: Duration) -> Option<Duration> {
    let age = now.since(segment.sent_at);
    (age < patience).then(|| patience - age)
}
