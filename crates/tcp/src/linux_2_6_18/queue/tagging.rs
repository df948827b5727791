//! SACK processing of Linux 2.6.18 (`tcp_sacktag_write_queue`).

use super::super::scoreboard::{Packets, Prefix};
use crate::recovery::algorithm::Phase;
use crate::recovery::sent::{
    EVER_RETRANSMITTED, LOST, RETRANSMITTED, SACKED, SentSegment, SentSegments,
};
use crate::{Range, SackBlocks};

/// Result of processing the SACK blocks of one acknowledgment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tagged {
    /// A packet became SACKed, or a retransmission was found lost (`FLAG_DATA_SACKED`).
    pub(crate) is_news: bool,
    /// Data sent after the current phase began has arrived (`FLAG_DATA_LOST`).
    pub(crate) is_beyond_phase: bool,
}

/// An acknowledgment with SACK blocks, and the state of the sender before this acknowledgment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Report<'a> {
    pub(crate) ack: u64,
    pub(crate) blocks: &'a SackBlocks,
    /// Cumulative acknowledgment before this one.
    pub(crate) snd_una: u64,
    pub(crate) phase: Phase,
    /// End of the current phase (`high_seq`).
    pub(crate) phase_end: u64,
}

/// State while the SACK blocks of one acknowledgment are processed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Walk {
    ack: u64,
    phase: Phase,
    /// The first block is a D-SACK block (RFC 2883).
    is_copy: bool,
    facked_before: u32,
    /// End of the last block of the current pass.
    newest: u64,
    /// Position of the first reordered segment (`reord`).
    late_at: u32,
    /// End of the newest block with data that was sent after a retransmission, while the
    /// retransmission itself has not arrived (`lost_retrans`).
    behind_copy: Option<u64>,
    tagged: Tagged,
}

impl Walk {
    /// Records that data up to `end` arrived, if that data was sent after `packet` was
    /// retransmitted.
    fn note_behind(&mut self, packet: &SentSegment, end: u64) {
        if packet.is(RETRANSMITTED) && end > packet.repeated_at {
            self.behind_copy = self.behind_copy.max(Some(end));
        }
    }
}

impl SentSegments {
    /// Applies the SACK blocks of an acknowledgment to the queue.
    pub(crate) fn tag(&mut self, report: &Report<'_>) -> Tagged {
        if self.sacked == 0 {
            self.packets.facked = 0;
        }
        match self.grown_block(report) {
            Some(grown) => self.tag_grown(grown, report),
            None => self.tag_all(report),
        }
    }

    /// Returns the first block if it is enough to go through the queue from the block's previous
    /// end. This is so for most acknowledgments: since the last acknowledgment only the end of the
    /// first block has changed, the last pass ended there, and older packets do not matter.
    fn grown_block(&self, report: &Report<'_>) -> Option<Range> {
        let Packets { reached, blocks: [known, ..], .. } = self.packets;
        let last = reached.packets.checked_sub(1)?;
        let end = report.blocks.first_end(report.ack);
        let has_grown = report.blocks.begin_as(&self.known_as)
            && report.ack <= known.start
            && known.end <= end
            && self.queue[last].end() == known.end
            && !self.tells_of_copies(end, report.phase);
        has_grown.then_some(Range { start: known.start, end })
    }

    /// Applies a grown block found by [`Self::grown_block`].
    fn tag_grown(&mut self, grown: Range, report: &Report<'_>) -> Tagged {
        let mut walk = self.walk(report.ack, report.phase, false);
        walk.tagged.is_beyond_phase = grown.end > report.phase_end;
        self.packets.blocks[0] = grown;
        self.tag_blocks(&[grown], self.packets.reached, &mut walk);
        self.packets.learn(&[grown]);
        self.end_walk(report, walk)
    }

    fn tag_all(&mut self, report: &Report<'_>) -> Tagged {
        let mut received = [Range::default(); SackBlocks::MAX];
        let mut count = 0;
        for block in report.blocks.iter(report.ack) {
            received[count] = block;
            count += 1;
        }
        self.known_as = *report.blocks;
        let reported_first = received[0];
        let is_copy = is_copy(&received[..count], report.ack);
        let mut walk = self.walk(report.ack, report.phase, is_copy);
        // The packet of the reported retransmission has left the queue, so the pass below would not
        // find it.
        if walk.is_copy && received[0].end <= report.snd_una {
            self.take_needless(received[0].end);
        }
        let order = self.order(&mut received, count);
        let blocks = &received[..order];
        walk.tagged.is_beyond_phase = blocks.iter().any(|block| block.end > report.phase_end);
        for ascending in blocks.chunk_by(|one, next| one.end <= next.start) {
            let settled = self.settled(ascending, &walk);
            self.tag_blocks(ascending, settled, &mut walk);
        }
        self.packets.learn(blocks);
        if is_copy || blocks.last() != Some(&reported_first) {
            self.packets.reached = Prefix::default();
        }
        self.end_walk(report, walk)
    }

    /// Marks retransmissions as lost and records reordering, as found by the pass through the
    /// queue.
    fn end_walk(&mut self, report: &Report<'_>, mut walk: Walk) -> Tagged {
        if let Some(arrived) = walk.behind_copy
            && report.phase == Phase::Recovery
        {
            self.lose_packet_copies(arrived, report.ack, &mut walk.tagged);
        }
        if walk.late_at < self.packets.facked && report.phase != Phase::Loss {
            self.packets.came_late(self.packets.facked + 1 - walk.late_at);
        }
        walk.tagged
    }

    /// The initial state for processing the SACK blocks of an acknowledgment of all data below
    /// `ack`.
    pub(super) fn walk(&self, ack: u64, phase: Phase, is_copy: bool) -> Walk {
        Walk {
            ack,
            phase,
            is_copy,
            facked_before: self.packets.facked,
            newest: 0,
            late_at: self.len(),
            behind_copy: None,
            tagged: Tagged::default(),
        }
    }

    /// Sorts the blocks by offset and returns how many of them to process: if since the last
    /// acknowledgment only the end of the first block has changed, only this block; otherwise all.
    ///
    /// The kernel has a bug in this sort: it takes the blocks to swap from the received order, not
    /// from the current order. So of three blocks in descending order, one block is lost and
    /// another one appears twice. Later kernels sort correctly.
    fn order(&mut self, blocks: &mut [Range; SackBlocks::MAX], count: usize) -> usize {
        let received = *blocks;
        let known = core::mem::replace(&mut self.packets.blocks, received);
        self.packets.blocks[count..].copy_from_slice(&known[count..]);
        if received[0].start == known[0].start && received[1..count] == known[1..count] {
            return 1;
        }
        for end in (1..count).rev() {
            for place in 0..end {
                if blocks[place].start > blocks[place + 1].start {
                    blocks[place] = received[place + 1];
                    blocks[place + 1] = received[place];
                }
            }
        }
        count
    }

    /// The packets at the head of the queue that tagging `blocks` would not change, because they
    /// were compared with the same blocks before.
    fn settled(&self, blocks: &[Range], walk: &Walk) -> Prefix {
        let compared = self.packets.compared;
        let Some(last) = compared.packets.checked_sub(1) else { return compared };
        let end = self.queue[last].end();
        let newest = blocks.last().map_or(0, |block| block.end);
        let is_settled = !walk.is_copy
            && !self.tells_of_copies(newest, walk.phase)
            && blocks.iter().all(|&block| block.start >= end || self.packets.knows(block, end));
        if is_settled { compared } else { Prefix::default() }
    }

    /// Whether the arrival of data up to `end` may show that a retransmission is lost.
    fn tells_of_copies(&self, end: u64, phase: Phase) -> bool {
        phase == Phase::Recovery && self.retransmitted > 0 && end > self.packets.copies_from
    }

    /// Marks the packets inside of `blocks` as SACKed, but skips those packets of `settled` that
    /// stay in the queue. The kernel goes through the queue once per block; a single pass for all
    /// blocks has the same result, because they are in ascending order and do not overlap.
    pub(super) fn tag_blocks(&mut self, blocks: &[Range], settled: Prefix, walk: &mut Walk) {
        let Some(&Range { end: newest, .. }) = blocks.last() else { return };
        walk.newest = newest;
        let mut ahead = blocks;
        let Prefix { packets: mut index, segments: mut counted } = Prefix::default();
        let mut copies = self.retransmitted;
        let mut copies_from = u64::MAX;
        while index < self.queue.len() && self.queue[index].start < newest {
            // Packets that the acknowledgment removes are always examined, because they may have
            // arrived late.
            if index < settled.packets && self.queue[index].end() > walk.ack {
                Prefix { packets: index, segments: counted } = settled;
                continue;
            }
            while ahead[0].end <= self.queue[index].start {
                ahead = &ahead[1..];
            }
            let inside = self.split_at_edge(index, &ahead[0]).then_some(ahead[0].end);
            let packet = self.queue[index];
            let segments = self.segments_of(packet.len);
            if packet.is(RETRANSMITTED) {
                copies = copies.saturating_sub(segments);
                copies_from = copies_from.min(packet.repeated_at);
            }
            counted += segments;
            self.tag_packet(index, &packet, inside, counted, walk);
            index += 1;
        }
        if copies == 0 {
            self.packets.copies_from = copies_from;
        }
        self.packets.reached = Prefix { packets: index, segments: counted };
        if index > self.packets.compared.packets {
            self.packets.compared = self.packets.reached;
        }
    }

    /// Splits the packet at `index` at the first edge of `block` inside of it. Returns whether the
    /// packet that is at `index` afterwards lies in the block. A packet of one segment is not
    /// split, so a SACK block that covers only a part of it has no effect.
    fn split_at_edge(&mut self, index: usize, block: &Range) -> bool {
        let packet = self.queue[index];
        if block.start <= packet.start && packet.end() <= block.end {
            return true;
        }
        if self.segments_of(packet.len) == 1 || packet.end() <= block.start {
            return false;
        }
        let is_start = block.start <= packet.start;
        let edge = if is_start { block.end } else { block.start };
        self.split(index, (edge - packet.start) as u32);
        is_start
    }

    /// Marks a packet as SACKed if it lies in a block; `inside` is then the end of the block.
    fn tag_packet(
        &mut self,
        index: usize,
        packet: &SentSegment,
        inside: Option<u64>,
        counted: u32,
        walk: &mut Walk,
    ) {
        let was_repeated = packet.is(EVER_RETRANSMITTED);
        let is_copy = walk.is_copy && inside.is_some();
        if is_copy && was_repeated {
            self.take_needless(packet.end());
        }
        if packet.end() <= walk.ack {
            let is_late = if was_repeated {
                is_copy && packet.is(SACKED)
            } else {
                counted < walk.facked_before && !packet.is(SACKED)
            };
            if is_late {
                walk.late_at = walk.late_at.min(counted);
            }
            return;
        }
        let Some(end) = inside else {
            walk.note_behind(packet, walk.newest);
            return;
        };
        let mut state = packet.state;
        if packet.is(SACKED) {
            if walk.is_copy && was_repeated {
                walk.late_at = walk.late_at.min(counted);
            }
        } else {
            if !was_repeated && counted < walk.facked_before {
                walk.late_at = walk.late_at.min(counted);
            }
            if state & LOST != 0 {
                // A forward retransmission stays in flight: its original was not marked lost.
                state &= !(LOST | RETRANSMITTED);
            }
            state |= SACKED;
            walk.tagged.is_news = true;
            self.packets.facked = self.packets.facked.max(counted);
        }
        if walk.is_copy {
            state &= !RETRANSMITTED;
        }
        // Later blocks are compared only with a retransmission that is still in flight.
        walk.note_behind(packet, if state & RETRANSMITTED == 0 { end } else { walk.newest });
        if state != packet.state {
            self.set_state(index, state);
        }
    }

    /// The receiver reports the retransmission that ends at `end` as a duplicate.
    const fn take_needless(&mut self, end: u64) {
        if let Some(from) = self.packets.undo_from
            && end > from
        {
            self.packets.undo_copies -= 1;
        }
    }

    /// The data that ends at `arrived` has arrived: marks the retransmissions that were sent before
    /// this data as lost.
    fn lose_packet_copies(&mut self, arrived: u64, ack: u64, tagged: &mut Tagged) {
        let slack = if self.packets.forward {
            1
        } else {
            u64::from(self.packets.reordering) * u64::from(self.packets.mss_bytes)
        };
        for index in 0..self.queue.len() {
            let packet = self.queue[index];
            if packet.start > arrived {
                return;
            }
            let is_lost = packet.is(RETRANSMITTED) && arrived >= packet.repeated_at + slack;
            if packet.end() <= ack || !is_lost {
                continue;
            }
            if packet.state & (LOST | SACKED) == 0 {
                tagged.is_news = true;
            }
            let lost = if packet.is(SACKED) { 0 } else { LOST };
            self.losses += u64::from(lost != 0);
            self.set_state(index, (packet.state & !RETRANSMITTED) | lost);
        }
    }
}

/// True if the first block is a D-SACK block: it starts below the cumulative acknowledgment, or
/// lies within the second block (RFC 2883, 4).
fn is_copy(blocks: &[Range], ack: u64) -> bool {
    let first = blocks[0];
    first.start < ack
        || blocks
            .get(1)
            .is_some_and(|second| second.start <= first.start && first.end <= second.end)
}
