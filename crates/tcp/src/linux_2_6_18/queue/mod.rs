//! The queue of sent packets as Linux 2.6.18 keeps it (`sk_write_queue`).
//!
//! With segmentation offload a packet holds several segments. The segment count of a packet is its
//! length divided by the MSS, rounded up (`tcp_skb_pcount`). A packet is split at the edges of SACK
//! blocks and before a retransmission, and the segments of its parts are counted again. So the
//! counts depend on where packets begin and how they were split.
//!
//! Not modeled: `fastpath_skb_hint` and similar hints. With these hints the kernel starts a scan of
//! the queue where the last scan ended. So it may miss a lost retransmission until the RTO.

pub(crate) mod tagging;

use netstudy_units::Time;

use super::scoreboard::{Packets, Prefix, REORDERING};
use crate::recovery::sent::{
    Acknowledged, EVER_RETRANSMITTED, LOST, RETRANSMITTED, SACKED, SentSegment, SentSegments,
};

/// State bits of a packet: SACKed, lost, retransmitted (`TCPCB_TAGBITS`).
const TAGS: u8 = SACKED | LOST | RETRANSMITTED;

impl SentSegments {
    /// Makes this queue hold packets, with segments of `mss_bytes`.
    pub(crate) const fn hold_packets(&mut self, mss_bytes: u32) {
        self.packets.mss_bytes = mss_bytes;
    }

    pub(crate) const fn holds_packets(&self) -> bool {
        self.packets.mss_bytes > 0
    }

    pub(crate) const fn packets(&self) -> &Packets {
        &self.packets
    }

    pub(crate) const fn packets_mut(&mut self) -> &mut Packets {
        &mut self.packets
    }

    /// `fackets_out`
    pub(crate) const fn facked_segments(&self) -> u32 {
        if self.sacked == 0 { 0 } else { self.packets.facked }
    }

    /// Segment count of a packet of `len` bytes.
    const fn segments_of(&self, len: u32) -> u32 {
        let mss = self.packets.mss_bytes;
        // Most packets are a single segment, and a division is slow.
        if len <= mss { 1 } else { len.div_ceil(mss) }
    }

    /// Adds a new packet that was sent.
    pub(crate) fn push_packet(&mut self, packet: SentSegment) {
        self.more += self.segments_of(packet.len) - 1;
        self.queue.push_back(packet);
    }

    /// Counts a packet of `segments` segments in `state`: `change` adds the segments to the
    /// counters of this state or subtracts them.
    fn count(&mut self, segments: u32, state: u8, change: fn(u32, u32) -> u32) {
        if state & TAGS == 0 {
            return;
        }
        for (count, by, counted) in [
            (&mut self.sacked, segments, state & SACKED != 0),
            (&mut self.lost, segments, state & LOST != 0),
            (&mut self.retransmitted, segments, state & RETRANSMITTED != 0),
            (&mut self.waiting, 1, state & TAGS == LOST),
        ] {
            if counted {
                *count = change(*count, by);
            }
        }
    }

    /// Corrects the counters for a packet in `state` whose segment count changed from `before` to
    /// `after`.
    fn recount(&mut self, state: u8, before: u32, after: u32) {
        self.more = self.more + after - before;
        self.count(before, state, u32::wrapping_sub);
        self.count(after, state, u32::wrapping_add);
    }

    fn set_state(&mut self, index: usize, state: u8) {
        let SentSegment { len, state: before, .. } = self.queue[index];
        self.queue[index].state = state;
        let segments = self.segments_of(len);
        self.count(segments, before, u32::wrapping_sub);
        self.count(segments, state, u32::wrapping_add);
    }

    /// Splits a packet into two. The first part gets `len` bytes (`tcp_fragment`).
    fn split(&mut self, index: usize, len: u32) {
        let whole = self.queue[index];
        let first = SentSegment { len, ..whole };
        let rest = SentSegment { start: first.end(), len: whole.len - len, ..whole };
        self.queue[index] = first;
        self.queue.push_back(rest);
        for place in (index + 2..self.queue.len()).rev() {
            self.queue[place] = self.queue[place - 1];
        }
        self.queue[index + 1] = rest;
        let [before, after, behind] = [whole, first, rest].map(|part| self.segments_of(part.len));
        self.recount(whole.state, before, after);
        self.more += behind - 1;
        self.count(behind, whole.state, u32::wrapping_add);
        let more = after + behind - before;
        let Packets { compared, reached, touched, .. } = &mut self.packets;
        for prefix in [compared, reached, touched] {
            prefix.split(index, more);
        }
    }

    /// Removes data below `ack` (`tcp_clean_rtx_queue`).
    pub(crate) fn acknowledge_packets(&mut self, ack: u64) -> Acknowledged {
        let mut segments = 0;
        let mut sent_at = Time::ZERO;
        let mut is_once = true;
        let mut gone = 0;
        while let Some(&packet) = self.queue.get(gone)
            && packet.end() <= ack
        {
            is_once &= !packet.is(EVER_RETRANSMITTED);
            sent_at = packet.sent_at;
            let count = self.segments_of(packet.len);
            self.count(count, packet.state, u32::wrapping_sub);
            segments += count;
            gone += 1;
        }
        if gone > 0 {
            self.queue.drop_first(gone);
            self.first += gone as u64;
            self.more -= segments - gone as u32;
        }
        // The kernel trims a packet of several segments by whole segments (`tcp_tso_acked`).
        if let Some(&oldest) = self.queue.front()
            && oldest.start < ack
        {
            let rest = SentSegment { start: ack, len: (oldest.end() - ack) as u32, ..oldest };
            let [before, after] = [oldest, rest].map(|part| self.segments_of(part.len));
            self.queue[0] = rest;
            if after < before {
                self.recount(rest.state, before, after);
                segments += before - after;
                is_once &= !oldest.is(EVER_RETRANSMITTED);
                sent_at = oldest.sent_at;
            }
        }
        self.packets.facked = self.packets.facked.saturating_sub(segments);
        let Packets { compared, reached, touched, .. } = &mut self.packets;
        for prefix in [compared, reached, touched] {
            prefix.remove(gone, segments);
        }
        let sent_at = (segments > 0 && is_once).then_some(sent_at);
        Acknowledged { segments, entries: gone as u32, sent_at }
    }

    /// Marks the packets that lie entirely within the oldest `segments` segments and below `limit`
    /// as lost (`tcp_mark_head_lost`).
    pub(crate) fn lose_oldest_packets(&mut self, segments: u32, limit: u64) {
        let mut touched = self.packets.touched;
        while let Some(&packet) = self.queue.get(touched.packets) {
            let counted = touched.segments + self.segments_of(packet.len);
            if counted > segments || packet.end() > limit {
                break;
            }
            if packet.state & TAGS == 0 {
                self.lose_packet(touched.packets);
            }
            touched = Prefix { packets: touched.packets + 1, segments: counted };
        }
        self.packets.touched = touched;
    }

    /// Marks packets as lost, beginning with the oldest. Stops at the first packet whose send time
    /// is not late according to `is_late` (`tcp_update_scoreboard`).
    pub(crate) fn lose_late_packets(&mut self, is_late: impl Fn(Time) -> bool) {
        for index in 0..self.queue.len() {
            let packet = self.queue[index];
            if !is_late(packet.sent_at) {
                return;
            }
            if packet.state & TAGS == 0 {
                self.lose_packet(index);
            }
        }
    }

    fn lose_packet(&mut self, index: usize) {
        self.set_state(index, self.queue[index].state | LOST);
        self.losses += 1;
    }

    /// Retransmits the first segment of the oldest lost packet (first pass of
    /// `tcp_xmit_retransmit_queue`).
    pub(crate) fn retransmit_lost_packet(
        &mut self,
        now: Time,
        snd_nxt: u64,
    ) -> Option<SentSegment> {
        let index = self.queue.iter().position(|packet| packet.state & TAGS == LOST)?;
        Some(self.repeat_packet(index, now, snd_nxt))
    }

    /// Retransmits the first segment of the oldest packet that is neither SACKed nor lost (second
    /// pass of `tcp_xmit_retransmit_queue`). Like in the kernel, the search covers `fackets_out`
    /// packets, although `fackets_out` is a number of segments. So it may reach data that is still
    /// in flight.
    pub(crate) fn retransmit_packet_forward(
        &mut self,
        now: Time,
        snd_nxt: u64,
    ) -> Option<SentSegment> {
        let within = self.facked_segments() as usize;
        let untouched = |packet: &SentSegment| packet.state & TAGS == 0;
        let index = self.queue.iter().take(within).position(untouched)?;
        Some(self.repeat_packet(index, now, snd_nxt))
    }

    /// `tcp_retransmit_skb`
    fn repeat_packet(&mut self, index: usize, now: Time, snd_nxt: u64) -> SentSegment {
        if self.queue[index].len > self.packets.mss_bytes {
            self.split(index, self.packets.mss_bytes);
        }
        if self.retransmitted == 0 {
            self.packets.copies_from = snd_nxt;
        }
        let state = self.queue[index].state | RETRANSMITTED | EVER_RETRANSMITTED;
        self.set_state(index, state);
        let packet = &mut self.queue[index];
        packet.sent_at = now;
        packet.repeated_at = snd_nxt;
        self.packets.undo_copies += 1;
        *packet
    }

    /// Marks all packets except the SACKed ones as lost (`tcp_enter_loss`). The timeout can be
    /// undone unless a packet was retransmitted before.
    pub(crate) fn lose_all_packets(&mut self) {
        self.packets.facked = 0;
        self.packets.undo_copies = 0;
        self.packets.undo_from = self.queue.front().map(|oldest| oldest.start);
        let mut counted = 0;
        for index in 0..self.queue.len() {
            let packet = self.queue[index];
            counted += self.segments_of(packet.len);
            if packet.is(EVER_RETRANSMITTED) {
                self.packets.undo_from = None;
            }
            let kept = packet.state & EVER_RETRANSMITTED;
            if packet.is(SACKED) {
                self.packets.facked = counted;
                self.set_state(index, kept | SACKED);
            } else {
                self.losses += u64::from(!packet.is(LOST));
                self.set_state(index, kept | LOST);
            }
        }
        self.packets.reordering = self.packets.reordering.min(REORDERING);
    }
}

#[cfg(test)]
mod tests;
