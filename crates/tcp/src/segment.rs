use core::ops::BitOr;

use netstudy_units::headers;

use crate::Range;

/// The control bits of a segment (RFC 9293, 3.1) that this TCP uses, and a mark for the host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags(u8);

impl Flags {
    /// Acknowledgment field is significant.
    pub const ACK: Self = Self(1);
    /// Synchronize sequence numbers.
    pub const SYN: Self = Self(2);
    /// No more data from the sender.
    pub const FIN: Self = Self(4);
    /// Reset the connection.
    pub const RST: Self = Self(8);
    /// ECN-Echo (RFC 3168, 6.1).
    pub const ECE: Self = Self(16);
    /// Congestion window reduced (RFC 3168, 6.1).
    pub const CWR: Self = Self(32);
    /// End of the application's write.
    pub const PSH: Self = Self(64);
    /// Not on the wire: the segment continues a packet of segmentation offload. Only segments of an
    /// endpoint with [`Config::marks_packets`](crate::Config::marks_packets) have it. Its host takes it
    /// off before they leave.
    pub const CONTINUES: Self = Self(128);

    /// Whether all bits of `other` are set.
    #[must_use]
    #[inline]
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// The flags that change the connection's state: all but ECE, CWR, PSH and CONTINUES.
    #[must_use]
    #[inline]
    pub const fn of_state(self) -> Self {
        Self(self.0 & !(Self::ECE.0 | Self::CWR.0 | Self::PSH.0 | Self::CONTINUES.0))
    }

    /// These flags, but none of `other`.
    #[must_use]
    #[inline]
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Whether any bit of `other` is set.
    #[must_use]
    #[inline]
    pub const fn intersects(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
}

impl BitOr for Flags {
    type Output = Self;
    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// The ECN field of the IP header (RFC 3168, 5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ecn {
    /// Not ECN-capable: switches do not mark the packet.
    #[default]
    NotEct,
    /// ECT(0): ECN-capable.
    Ect0,
    /// Congestion experienced: a switch marked the packet.
    Ce,
}

/// The SACK option: up to three blocks, as many as fit together with timestamps (RFC 2018, 3).
///
/// The edges are the low 32 bits of stream offsets, as on the wire.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SackBlocks {
    /// The blocks in the order of the option. An unused slot is 0, which no packed block can be.
    blocks: [u64; Self::MAX],
}

/// Packs the edges of a block into one number, the start in the upper half.
#[inline]
const fn pack(block: Range) -> u64 {
    (block.start << 32) | (block.end & 0xffff_ffff)
}

impl SackBlocks {
    /// The most blocks that a segment carries.
    pub const MAX: usize = 3;

    pub(crate) const NONE: Self = Self { blocks: [0; Self::MAX] };

    /// Whether there is no block.
    #[must_use]
    #[inline]
    pub const fn is_empty(&self) -> bool {
        self.blocks[0] == 0
    }

    /// Number of blocks.
    #[must_use]
    pub fn len(&self) -> usize {
        self.blocks.iter().filter(|&&block| block != 0).count()
    }

    /// An option with the first [`Self::MAX`] of `blocks`. None of the blocks may be empty.
    #[inline]
    pub(crate) fn of(blocks: &[Range]) -> Self {
        let mut sack = Self::default();
        for (place, &block) in sack.blocks.iter_mut().zip(blocks) {
            *place = pack(block);
        }
        sack
    }

    /// Sets the end of the first block to `end`.
    #[inline]
    pub(crate) const fn extend_first(&mut self, end: u64) {
        self.blocks[0] = (self.blocks[0] & !0xffff_ffff) | (end & 0xffff_ffff);
    }

    /// Puts the D-SACK block `first`, if there is one, in front of these blocks (RFC 2883). If
    /// there are then too many blocks, the last one is dropped.
    #[inline]
    pub(crate) fn behind(mut self, first: Option<Range>) -> Self {
        if let Some(first) = first {
            self.blocks.rotate_right(1);
            self.blocks[0] = pack(first);
        }
        self
    }

    /// Adds a block, which must not be empty. Without a free slot the block is ignored.
    pub fn push(&mut self, block: Range) {
        debug_assert!(block.start < block.end, "an empty block is none");
        if let Some(free) = self.blocks.iter_mut().find(|block| **block == 0) {
            *free = pack(block);
        }
    }

    /// Whether these blocks are the same as `before`, except for the end of the first block.
    #[inline]
    pub(crate) fn begin_as(&self, before: &Self) -> bool {
        (self.blocks[0] ^ before.blocks[0]) >> 32 == 0 && self.blocks[1..] == before.blocks[1..]
    }

    /// The end of the first block, unwrapped around the offset `near`.
    #[inline]
    pub(crate) const fn first_end(&self, near: u64) -> u64 {
        unwrap_near(self.blocks[0] as u32, near)
    }

    /// The blocks as stream offsets, unwrapped around the offset `near`.
    pub fn iter(&self, near: u64) -> impl Iterator<Item = Range> + use<'_> {
        self.blocks.iter().take_while(|&&block| block != 0).map(move |&block| Range {
            start: unwrap_near((block >> 32) as u32, near),
            end: unwrap_near(block as u32, near),
        })
    }
}

/// The 64-bit offset with the low bits `low` that is closest to `near`.
const fn unwrap_near(low: u32, near: u64) -> u64 {
    let distance = low.wrapping_sub(near as u32).cast_signed();
    near.wrapping_add_signed(distance as i64)
}

/// Options that only a SYN carries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SynOptions {
    /// Maximum segment size that the sender of the SYN accepts, in bytes of payload and options.
    pub mss_bytes: u16,
    /// Window scale shift (RFC 7323, 2); none: the SYN does not have this option.
    pub window_scale: Option<u8>,
    /// SACK permitted (RFC 2018, 2).
    pub sack_permitted: bool,
    /// Timestamps (RFC 7323, 3).
    pub timestamps: bool,
}

/// A TCP segment without its payload: only the sequence numbers of the bytes matter here, not their
/// values.
///
/// A segment fills exactly one cache line, so copying it is cheap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Segment {
    /// Offset of the first byte (the SYN itself is at 0, the first data byte at 1).
    pub seq: u64,
    /// Next offset that the sender expects, if [`Flags::ACK`] is set.
    pub ack: u64,
    /// Bytes of payload.
    pub len: u32,
    /// Receive window as on the wire, before scaling.
    pub window: u16,
    /// Control bits.
    pub flags: Flags,
    /// Timestamp value (RFC 7323, 3.2), in the sender's clock ticks.
    pub ts_value: u32,
    /// Timestamp echo reply.
    pub ts_echo: u32,
    /// The SACK blocks: data that arrived out of order.
    pub sack: SackBlocks,
    /// Options of a SYN.
    pub syn: SynOptions,
    /// The ECN field of the segment's IP packet.
    pub ecn: Ecn,
    /// Whether the segment carries the timestamps option.
    pub timestamps: bool,
    /// Counts the successive connections between the same two endpoints, modulo 256. This number
    /// replaces port numbers.
    pub incarnation: u8,
}

impl Segment {
    /// Header bytes without options: IPv4 and TCP.
    pub const BASE_HEADER_BYTES: u32 = headers::IPV4_HEADER_BYTES + headers::TCP_HEADER_BYTES;
    /// The timestamps option, padded (RFC 7323, appendix A).
    pub const TIMESTAMPS_BYTES: u32 = headers::TCP_TIMESTAMPS_BYTES;

    /// Length of the segment in sequence space: payload, SYN and FIN.
    #[must_use]
    #[inline]
    pub const fn sequence_len(&self) -> u64 {
        self.len as u64
            + self.flags.contains(Flags::SYN) as u64
            + self.flags.contains(Flags::FIN) as u64
    }

    /// Bytes of the IPv4 packet: header, options and payload.
    #[must_use]
    #[inline]
    pub fn ip_bytes(&self) -> u32 {
        let mut bytes = Self::BASE_HEADER_BYTES + self.len;
        if self.timestamps {
            bytes += Self::TIMESTAMPS_BYTES;
        }
        if !self.sack.is_empty() {
            let blocks = self.sack.len() as u32;
            bytes += headers::TCP_SACK_BYTES + blocks * headers::TCP_SACK_BLOCK_BYTES;
        }
        if self.flags.contains(Flags::SYN) {
            bytes += headers::TCP_SYN_OPTIONS_BYTES;
        }
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_survive_the_32_bit_wrap() {
        let mut blocks = SackBlocks::default();
        let block = Range { start: (1 << 32) - 100, end: (1 << 32) + 900 };
        blocks.push(block);
        assert_eq!(blocks.iter(block.start - 5000).next(), Some(block));
        assert_eq!(blocks.iter(block.end + 5000).next(), Some(block), "a block below the ack");
    }

    #[test]
    fn a_segment_fills_a_cache_line() {
        assert_eq!(size_of::<Segment>(), 64);
    }

    #[test]
    fn blocks_beyond_the_third_are_left_out() {
        let mut blocks = SackBlocks::default();
        for start in [10, 30, 50, 70] {
            blocks.push(Range { start, end: start + 10 });
        }
        assert_eq!(blocks.len(), 3);
        assert_eq!(blocks.iter(0).last(), Some(Range { start: 50, end: 60 }));
    }

    #[test]
    fn header_bytes_count_the_options() {
        let data = Segment { len: 8948, timestamps: true, ..Segment::default() };
        assert_eq!(data.ip_bytes(), 9000);
        let mut ack = Segment { timestamps: true, ..Segment::default() };
        assert_eq!(ack.ip_bytes(), 52);
        ack.sack.push(Range { start: 1, end: 2 });
        assert_eq!(ack.ip_bytes(), 64);
    }
}
