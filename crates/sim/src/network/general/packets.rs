//! Packets in flight. A segment is stored in one place while it is in flight. A [`Packet`] refers
//! to the segment and moves from hop to hop.

use netstudy_fabric::queue::Queued;
use netstudy_fabric::stepped::Mark;
use netstudy_tcp::{Ecn, Flags, Segment};

use crate::end_index::EndIndex;

/// A segment in its frame.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Packet {
    /// The destination.
    pub(super) to: EndIndex,
    pub(super) frame_bytes: u32,
    slot: u32,
    ecn: Ecn,
    /// Differentiated services code point.
    dscp: u8,
    /// It continues a packet of segmentation offload (see [`Flags::CONTINUES`]).
    continues: bool,
}

impl Packet {
    /// The place where its segment is stored.
    pub(super) const fn slot(&self) -> usize {
        self.slot as usize
    }
}

impl Mark for Packet {
    /// Marks the packet if it is ECN-capable (RFC 3168, 5). Returns whether the packet was marked.
    #[inline]
    fn mark(&mut self) -> bool {
        let subject = self.ecn != Ecn::NotEct;
        if subject {
            self.ecn = Ecn::Ce;
        }
        subject
    }
}

impl Queued for Packet {
    /// The number of the end: each direction of a connection is a flow.
    #[inline]
    fn flow(&self) -> u32 {
        self.to.0
    }

    #[inline]
    fn dscp(&self) -> u8 {
        self.dscp
    }

    #[inline]
    fn continues_packet(&self) -> bool {
        self.continues
    }
}

/// The segments of all packets in flight.
#[derive(Clone, Debug, Default)]
pub(super) struct Packets {
    segments: Vec<Segment>,
    free: Vec<u32>,
    ended: u64,
}

impl Packets {
    /// Adds a segment sent to the end `to`, with the code point `dscp`.
    #[inline]
    pub(super) fn add(
        &mut self,
        to: EndIndex,
        frame_bytes: u32,
        dscp: u8,
        mut segment: Segment,
    ) -> Packet {
        let ecn = segment.ecn;
        // The receiver must not see what is not on the wire.
        let continues = segment.flags.contains(Flags::CONTINUES);
        segment.flags = segment.flags.without(Flags::CONTINUES);
        let slot = if let Some(slot) = self.free.pop() {
            self.segments[slot as usize] = segment;
            slot
        } else {
            self.segments.push(segment);
            self.segments.len() as u32 - 1
        };
        Packet { to, frame_bytes, slot, ecn, dscp, continues }
    }

    /// Adds a copy of a packet.
    pub(super) fn duplicate(&mut self, packet: &Packet) -> Packet {
        self.add(packet.to, packet.frame_bytes, packet.dscp, self.segment(packet))
    }

    /// The segment of a packet. If the packet was marked, the segment has the congestion mark.
    #[inline]
    pub(super) fn segment(&self, packet: &Packet) -> Segment {
        Segment { ecn: packet.ecn, ..self.segments[packet.slot as usize] }
    }

    /// Mutable access to the segment of a packet.
    pub(super) fn segment_mut(&mut self, packet: &Packet) -> &mut Segment {
        &mut self.segments[packet.slot as usize]
    }

    /// Removes a packet, and returns its segment.
    #[inline]
    pub(super) fn take(&mut self, packet: &Packet) -> Segment {
        let segment = self.segment(packet);
        self.drop(packet);
        segment
    }

    /// Removes a packet.
    #[inline]
    pub(super) fn drop(&mut self, packet: &Packet) {
        self.free.push(packet.slot);
        self.ended += 1;
    }

    /// Number of packets removed so far.
    pub(super) const fn ended(&self) -> u64 {
        self.ended
    }

    /// Number of packets in flight.
    pub(super) const fn len(&self) -> usize {
        self.segments.len() - self.free.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mark_of_a_packet_stays_with_the_sender() {
        let mut packets = Packets::default();
        let sent = Segment { flags: Flags::ACK | Flags::PSH, ..Segment::default() };
        let marked = Segment { flags: sent.flags | Flags::CONTINUES, ..sent };
        let [first, next] =
            [sent, marked].map(|segment| packets.add(EndIndex::default(), 1518, 0, segment));
        assert!(!first.continues_packet() && next.continues_packet());
        let copy = packets.duplicate(&next);
        assert_eq!([first, next, copy].map(|packet| packets.take(&packet)), [sent; 3]);
    }
}
