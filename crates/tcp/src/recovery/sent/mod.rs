mod by_time;

use core::iter;

use netstudy_ring::Ring;
use netstudy_units::Time;

use by_time::ByTime;
pub(crate) use by_time::Place;

use super::algorithm::DUP_THRESH;
use crate::linux_2_6_18::scoreboard::Packets;
use crate::{Range, SackBlocks};

pub(crate) const SACKED: u8 = 1;
pub(crate) const LOST: u8 = 2;
pub(crate) const RETRANSMITTED: u8 = 4;
pub(crate) const EVER_RETRANSMITTED: u8 = 8;

/// A segment that was sent and is not yet acknowledged cumulatively.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SentSegment {
    /// First offset of the segment.
    pub start: u64,
    /// Length in sequence space.
    pub len: u32,
    /// When the segment was last sent.
    pub sent_at: Time,
    /// `snd_nxt` at the time of the retransmission: a SACK of data sent after the retransmission
    /// shows that it is lost.
    pub(crate) repeated_at: u64,
    pub(crate) state: u8,
}

impl SentSegment {
    /// A segment that is sent at `now` for the first time.
    #[must_use]
    #[inline]
    pub const fn fresh(start: u64, len: u32, now: Time) -> Self {
        Self { start, len, sent_at: now, repeated_at: 0, state: 0 }
    }

    /// The first offset after the segment.
    #[must_use]
    #[inline]
    pub const fn end(&self) -> u64 {
        self.start + self.len as u64
    }

    /// Whether a SACK has reported that the segment arrived.
    pub(crate) const fn is_sacked(&self) -> bool {
        self.is(SACKED)
    }

    pub(crate) const fn is(&self, state: u8) -> bool {
        self.state & state == state
    }

    /// Whether the segment was sent more than once.
    pub(crate) const fn was_repeated(&self) -> bool {
        self.is(EVER_RETRANSMITTED)
    }
}

/// Segments that a cumulative acknowledgment removed from the queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Acknowledged {
    /// Number of segments fully acknowledged.
    pub(crate) segments: u32,
    /// Number of queue entries fully acknowledged: packets if the queue holds packets, otherwise
    /// segments.
    pub(crate) entries: u32,
    /// When the newest of these segments was sent, if none was retransmitted (Karn's algorithm).
    pub(crate) sent_at: Option<Time>,
}

/// The queue of sent segments and the SACK scoreboard over it (RFC 6675, 3).
///
/// Segments are numbered in the order of first transmission; `first` is the number of the oldest
/// segment in the queue. A segment counts as lost when [`DUP_THRESH`] later segments are SACKed
/// (`IsLost` of RFC 6675 in its segment-counting form). `decided`, the position up to which losses
/// have been decided, only moves forward, so the cost of an acknowledgment does not grow with the
/// window.
#[derive(Clone, Debug, Default)]
pub struct SentSegments {
    pub(crate) queue: Ring<SentSegment>,
    pub(crate) first: u64,
    pub(crate) sacked: u32,
    pub(crate) lost: u32,
    pub(crate) retransmitted: u32,
    /// Number of lost segments that have not been retransmitted since they were lost.
    pub(crate) waiting: u32,
    /// The number of the segment that follows the newest segment ever SACKed.
    facked: u64,
    /// Segments below this number need no forward retransmission any more.
    forward_from: u64,
    /// Each segment below this number is known to be SACKed or lost.
    decided: u64,
    /// Number of SACKed segments at and above `decided`.
    sacked_undecided: u32,
    /// No lost segment below this number waits to be retransmitted.
    retransmit_from: u64,
    /// Blocks of the last acknowledgment with SACK. The segments in these blocks are SACKed
    /// already.
    known: [Range; SackBlocks::MAX],
    /// The same blocks in wire format. The later growth of the first block is not applied here.
    pub(crate) known_as: SackBlocks,
    /// Number of times that a segment or a retransmission was marked lost (`tp->lost`).
    pub(crate) losses: u64,
    by_time: ByTime,
    /// Number of segments minus number of packets in the queue; 0 if the queue holds single
    /// segments.
    pub(crate) more: u32,
    pub(crate) packets: Packets,
}

impl SentSegments {
    /// Number of segments not yet acknowledged.
    #[must_use]
    #[inline]
    pub fn len(&self) -> u32 {
        self.queue.len() as u32 + self.more
    }

    /// Whether everything is acknowledged.
    #[must_use]
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// Number of segments that the receiver holds out of order.
    #[must_use]
    #[inline]
    pub const fn sacked(&self) -> u32 {
        self.sacked
    }

    /// Number of segments marked lost, retransmitted or not.
    #[must_use]
    #[inline]
    pub const fn lost(&self) -> u32 {
        self.lost
    }

    /// Number of retransmissions in flight.
    #[must_use]
    pub(crate) const fn retransmitted(&self) -> u32 {
        self.retransmitted
    }

    /// The end of the oldest segment.
    pub(crate) fn oldest_end(&self) -> u64 {
        self.queue.front().map_or(0, SentSegment::end)
    }

    /// Number of segments believed to be in the network (`pipe` of RFC 6675, 4).
    #[must_use]
    #[inline]
    pub fn in_flight(&self) -> u32 {
        self.len() - self.sacked - self.lost + self.retransmitted
    }

    /// The segments from the oldest to the newest.
    pub fn iter(&self) -> impl Iterator<Item = &SentSegment> {
        self.queue.iter()
    }

    /// Adds a new segment that was sent.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn push(&mut self, segment: SentSegment) {
        self.queue.push_back(segment);
    }

    /// Removes all data below `ack`, because it was acknowledged.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn acknowledge(&mut self, ack: u64) -> Acknowledged {
        self.acknowledge_each(ack, |_| ())
    }

    /// Like [`Self::acknowledge`], and calls `seen` with each segment that leaves the queue.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn acknowledge_each(
        &mut self,
        ack: u64,
        mut seen: impl FnMut(&SentSegment),
    ) -> Acknowledged {
        let mut segments = 0;
        let mut states = 0;
        let mut sent_at = Time::ZERO;
        let mut cuts = false;
        while let Some(&segment) = self.queue.get(segments) {
            if segment.end() > ack {
                cuts = segment.start < ack;
                break;
            }
            seen(&segment);
            states |= segment.state;
            sent_at = segment.sent_at;
            // Most segments were never SACKed, lost or retransmitted, so no counter includes them.
            if segment.state != 0 {
                self.forget(segments, segment.state);
            }
            segments += 1;
        }
        self.queue.drop_first(segments);
        self.first += segments as u64;
        self.decided = self.decided.max(self.first);
        if cuts {
            trim_front(&mut self.queue[0], ack);
        }
        let sent_once = segments > 0 && states & EVER_RETRANSMITTED == 0;
        let segments = segments as u32;
        let sent_at = sent_once.then_some(sent_at);
        Acknowledged { segments, entries: segments, sent_at }
    }

    /// Subtracts the segment at `index`, which is in `state`, from the counters.
    fn forget(&mut self, index: usize, state: u8) {
        let number = self.first + index as u64;
        self.sacked -= u32::from(state & SACKED != 0);
        self.sacked_undecided -= u32::from(state & SACKED != 0 && number >= self.decided);
        self.forget_loss(state);
    }

    /// Subtracts a segment in `state` from the counters of losses and retransmissions, because the
    /// segment has arrived.
    #[inline]
    fn forget_loss(&mut self, state: u8) {
        if state & (LOST | RETRANSMITTED) == 0 {
            return;
        }
        self.lost -= u32::from(state & LOST != 0);
        self.retransmitted -= u32::from(state & RETRANSMITTED != 0);
        self.waiting -= u32::from(state & (LOST | RETRANSMITTED) == LOST);
    }

    /// The receiver reports `blocks` together with the acknowledgment `ack`. Decides which segments
    /// are lost, and returns how many became SACKed.
    pub fn sack(&mut self, ack: u64, blocks: &SackBlocks) -> u32 {
        let newly = self.mark_sacked(ack, blocks);
        self.decide_lost(DUP_THRESH);
        newly
    }

    /// Like [`Self::sack`], but does not decide which segments are lost.
    pub(crate) fn mark_sacked(&mut self, ack: u64, blocks: &SackBlocks) -> u32 {
        self.mark_sacked_each(ack, blocks, |_, _| ())
    }

    /// Like [`Self::mark_sacked`], and calls `seen` with the number of each segment that becomes
    /// SACKed, and with the segment in its previous state.
    #[inline]
    pub(crate) fn mark_sacked_each(
        &mut self,
        ack: u64,
        blocks: &SackBlocks,
        mut seen: impl FnMut(u64, &SentSegment),
    ) -> u32 {
        let before = self.sacked;
        let newest = self.known[0];
        let end = blocks.first_end(ack);
        // Usually the first block has grown at its end, and the others have not changed.
        if newest.start < newest.end && newest.end <= end && blocks.begin_as(&self.known_as) {
            self.known[0].end = end;
            self.sack_range(Range { start: newest.end, end }, &mut seen);
        } else {
            self.known_as = *blocks;
            self.sack_blocks(ack, &{ *blocks }, &mut seen);
        }
        self.sacked - before
    }

    fn sack_blocks(
        &mut self,
        ack: u64,
        blocks: &SackBlocks,
        seen: &mut impl FnMut(u64, &SentSegment),
    ) {
        for block in blocks.iter(ack) {
            self.sack_block(block, seen);
        }
        let none = iter::repeat(Range::default());
        for (known, block) in self.known.iter_mut().zip(blocks.iter(ack).chain(none)) {
            *known = block;
        }
    }

    #[inline]
    fn sack_block(&mut self, block: Range, seen: &mut impl FnMut(u64, &SentSegment)) {
        // Most blocks have not changed, or have grown at their end.
        let grown = |known: &&Range| {
            known.start == block.start && known.start < known.end && known.end <= block.end
        };
        if let Some(known) = self.known.iter().find(grown) {
            self.sack_range(Range { start: known.end, end: block.end }, seen);
        } else {
            self.sack_new_block(block, seen);
        }
    }

    fn sack_new_block(&mut self, block: Range, seen: &mut impl FnMut(u64, &SentSegment)) {
        let inside = |known: &&Range| {
            known.start < known.end && block.start <= known.start && known.end <= block.end
        };
        match self.known.iter().filter(inside).max_by_key(|known| known.end - known.start).copied()
        {
            Some(known) => {
                self.sack_range(Range { start: block.start, end: known.start }, seen);
                self.sack_range(Range { start: known.end, end: block.end }, seen);
            }
            None => self.sack_range(block, seen),
        }
    }

    #[inline]
    fn sack_range(&mut self, range: Range, seen: &mut impl FnMut(u64, &SentSegment)) {
        if range.start < range.end {
            self.sack_segments(range, seen);
        }
    }

    fn sack_segments(&mut self, range: Range, seen: &mut impl FnMut(u64, &SentSegment)) {
        let mut index = self.index_of(range.start);
        while let Some(end) = self.queue.get(index).map(SentSegment::end)
            && end <= range.end
        {
            self.sack_segment(index, seen);
            if end == range.end {
                return;
            }
            index += 1;
        }
    }

    /// Index of the first segment that starts at or after `offset`. Two guesses usually avoid a
    /// search: the segment after the newest SACKed one, and the index that results if all segments
    /// are as long as the oldest.
    #[inline]
    fn index_of(&self, offset: u64) -> usize {
        let behind_newest = self.facked.saturating_sub(self.first) as usize;
        if self.queue.get(behind_newest).is_some_and(|segment| segment.start == offset) {
            return behind_newest;
        }
        self.search(offset)
    }

    fn search(&self, offset: u64) -> usize {
        if let Some(oldest) = self.queue.front()
            && offset >= oldest.start
            && oldest.len > 0
        {
            let guess = ((offset - oldest.start) / u64::from(oldest.len)) as usize;
            if self.queue.get(guess).is_some_and(|segment| segment.start == offset) {
                return guess;
            }
        }
        self.queue.partition_point(|segment| segment.start < offset)
    }

    fn sack_segment(&mut self, index: usize, seen: &mut impl FnMut(u64, &SentSegment)) {
        let segment = &mut self.queue[index];
        if segment.is_sacked() {
            return;
        }
        seen(self.first + index as u64, segment);
        let state = segment.state;
        segment.state = (state & EVER_RETRANSMITTED) | SACKED;
        self.sacked += 1;
        self.forget_loss(state);
        self.facked = self.facked.max(self.first + index as u64 + 1);
        self.sacked_undecided += u32::from(self.first + index as u64 >= self.decided);
    }

    /// Moves `decided` forward, and marks segments as lost, while `threshold` SACKed segments lie
    /// above it.
    pub(crate) fn decide_lost(&mut self, threshold: u32) {
        while self.sacked_undecided >= threshold {
            let index = (self.decided - self.first) as usize;
            if self.queue[index].is_sacked() {
                self.sacked_undecided -= 1;
            } else {
                self.lose(index);
            }
            self.decided += 1;
        }
    }

    fn lose(&mut self, index: usize) {
        let segment = &mut self.queue[index];
        if segment.state & (LOST | SACKED) == 0 {
            segment.state |= LOST;
            self.lost += 1;
            self.losses += 1;
            self.waiting += u32::from(!segment.is(RETRANSMITTED));
            self.retransmit_from = self.retransmit_from.min(self.first + index as u64);
        }
    }

    /// Marks the oldest segment lost (without SACK: because of duplicate or partial
    /// acknowledgments).
    pub(crate) fn lose_oldest(&mut self) {
        if !self.is_empty() {
            self.lose(0);
        }
    }

    /// The retransmission timer expired: marks all segments lost that are not SACKed, including
    /// retransmissions in flight.
    pub fn lose_all(&mut self) {
        for index in 0..self.queue.len() {
            self.lose(index);
            self.queue[index].state &= !RETRANSMITTED;
        }
        self.retransmitted = 0;
        self.waiting = self.lost;
        self.decided = self.first + self.queue.len() as u64;
        self.sacked_undecided = 0;
        self.retransmit_from = self.first;
        self.forward_from = self.first;
    }

    /// Whether a lost segment waits for its retransmission.
    #[must_use]
    #[inline]
    pub const fn may_retransmit(&self) -> bool {
        self.waiting > 0
    }

    /// Retransmits the oldest lost segment that has not been retransmitted yet (`NextSeg` (1) of
    /// RFC 6675).
    pub fn retransmit_next(&mut self, now: Time) -> Option<SentSegment> {
        let from = self.retransmit_from.max(self.first);
        let waits = |segment: &SentSegment| segment.is(LOST) && !segment.is(RETRANSMITTED);
        let ahead = self.queue.iter_from((from - self.first) as usize).position(waits)?;
        let number = from + ahead as u64;
        self.retransmit_from = number + 1;
        self.waiting -= 1;
        Some(self.repeat(number, now))
    }

    fn repeat(&mut self, number: u64, now: Time) -> SentSegment {
        self.retransmitted += 1;
        let segment = &mut self.queue[(number - self.first) as usize];
        segment.state |= RETRANSMITTED | EVER_RETRANSMITTED;
        segment.sent_at = now;
        *segment
    }

    /// Number of segments up to the newest SACKed one (`fackets_out` of Linux).
    #[must_use]
    pub(crate) fn facked(&self) -> u32 {
        if self.sacked == 0 { 0 } else { self.facked.saturating_sub(self.first) as u32 }
    }

    /// Marks the retransmission of the segment at `index`, which is in flight, as lost.
    fn lose_copy(&mut self, index: usize) {
        let segment = &mut self.queue[index];
        segment.state &= !RETRANSMITTED;
        self.retransmitted -= 1;
        if segment.is(LOST) {
            self.losses += 1;
            self.waiting += 1;
            self.retransmit_from = self.retransmit_from.min(self.first + index as u64);
        } else {
            self.lose(index);
        }
    }

    /// Retransmits the oldest segment below the newest SACKed one that is neither SACKed nor known
    /// to be lost nor retransmitted, in case it is lost (`NextSeg` (3) of RFC 6675; forward
    /// retransmission of Linux).
    pub(crate) fn retransmit_forward(&mut self, now: Time) -> Option<SentSegment> {
        let from = self.forward_from.max(self.first);
        let untouched =
            |segment: &SentSegment| segment.state & (SACKED | LOST | RETRANSMITTED) == 0;
        let range = (self.facked.saturating_sub(from)) as usize;
        let skipped = (from - self.first) as usize;
        let Some(ahead) = self.queue.iter_from(skipped).take(range).position(untouched) else {
            // All of these segments are SACKed, lost or retransmitted, and will not become
            // untouched again.
            self.forward_from = self.forward_from.max(self.facked);
            return None;
        };
        let number = from + ahead as u64;
        self.forward_from = number + 1;
        Some(self.repeat(number, now))
    }

    /// Retransmits the newest segment that is not SACKed, in case it is lost (`NextSeg` (4) of RFC
    /// 6675). `HighRxt` does not change, so the number of retransmissions in flight does not change
    /// either.
    pub(crate) fn rescue(&mut self, now: Time) -> Option<SentSegment> {
        let index = self.queue.iter().rposition(|segment| !segment.is_sacked())?;
        Some(self.repeat_uncounted(index, now))
    }

    /// Retransmits the segment at `index`. The segment still counts as only one segment in flight.
    fn repeat_uncounted(&mut self, index: usize, now: Time) -> SentSegment {
        let segment = &mut self.queue[index];
        segment.state |= EVER_RETRANSMITTED;
        segment.sent_at = now;
        *segment
    }
}

/// Removes the part of a segment below `ack`, for a receiver that acknowledged only that part.
#[cold]
const fn trim_front(segment: &mut SentSegment, ack: u64) {
    segment.len -= (ack - segment.start) as u32;
    segment.start = ack;
}

#[cfg(test)]
pub(crate) mod tests;
