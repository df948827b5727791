//! The state of the queue of sent packets that only Linux 2.6.18 has: counts, and a record of the
//! packets already compared with SACK blocks.

use crate::{Range, SackBlocks};

/// `sysctl_tcp_reordering`
pub(super) const REORDERING: u32 = 3;
/// `TCP_MAX_REORDERING`
const REORDERING_MAX: u32 = 127;

/// A number of packets at the head of the queue, and their total number of segments.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Prefix {
    pub(super) packets: usize,
    pub(super) segments: u32,
}

impl Prefix {
    /// Adjusts the counts after the packet at `index` was split into two, which have `more`
    /// segments in total than before.
    pub(super) const fn split(&mut self, index: usize, more: u32) {
        if index < self.packets {
            self.packets += 1;
            self.segments += more;
        }
    }

    /// Adjusts the counts after the oldest `packets` packets left the queue. In total `segments`
    /// segments left, including those of a partially acknowledged packet.
    pub(super) const fn remove(&mut self, packets: usize, segments: u32) {
        if packets < self.packets {
            self.packets -= packets;
            self.segments -= segments;
        } else {
            *self = Self { packets: 0, segments: 0 };
        }
    }
}

/// The state of the queue that only Linux 2.6.18 has.
#[derive(Clone, Debug)]
pub(crate) struct Packets {
    /// Payload bytes of a full segment; 0: the queue holds segments, not packets.
    pub(super) mss_bytes: u32,
    /// Number of segments up to the newest SACKed one (`fackets_out`). The kernel's count is
    /// approximate, and so is this one.
    pub(super) facked: u32,
    /// Reordering tolerance, in segments (`reordering`).
    pub(super) reordering: u32,
    /// Forward acknowledgment is on: segments before the newest SACKed one count as lost. The first
    /// reordering turns forward acknowledgment off for the connection (`sack_ok & 2`).
    pub(super) forward: bool,
    /// Blocks of the last acknowledgment with SACK (`recv_sack_cache`).
    pub(super) blocks: [Range; SackBlocks::MAX],
    /// Blocks with which all packets of `compared` were compared.
    pub(super) compared_blocks: [Range; SackBlocks::MAX],
    pub(super) compared: Prefix,
    /// If the last pass through the queue ended at the end of the first block of the last
    /// acknowledgment with SACK: the packets up to there. Otherwise empty.
    pub(super) reached: Prefix,
    /// Packets that are all SACKed, lost or retransmitted, and remain so.
    pub(super) touched: Prefix,
    /// `snd_nxt` was at least this when each of the retransmissions in flight was sent. So only a
    /// SACK of data beyond this offset can reveal the loss of a retransmission.
    pub(super) copies_from: u64,
    /// Offset at which the last undoable reduction began (`undo_marker`).
    pub(super) undo_from: Option<u64>,
    /// Number of retransmissions since that reduction, minus the number reported as duplicates
    /// (`undo_retrans`).
    pub(super) undo_copies: i32,
}

impl Default for Packets {
    fn default() -> Self {
        Self {
            mss_bytes: 0,
            facked: 0,
            reordering: REORDERING,
            forward: true,
            blocks: [Range::default(); SackBlocks::MAX],
            compared_blocks: [Range::default(); SackBlocks::MAX],
            compared: Prefix::default(),
            reached: Prefix::default(),
            touched: Prefix::default(),
            copies_from: 0,
            undo_from: None,
            undo_copies: 0,
        }
    }
}

impl Packets {
    pub(super) const fn reordering(&self) -> u32 {
        self.reordering
    }

    pub(super) const fn is_forward(&self) -> bool {
        self.forward
    }

    /// `tcp_update_reordering`
    pub(super) fn came_late(&mut self, segments: u32) {
        if segments > self.reordering {
            self.reordering = segments.min(REORDERING_MAX);
            self.forward = false;
        }
    }

    /// An undoable reduction begins at offset `from`, with `copies` retransmissions in flight.
    pub(super) const fn begin_undo(&mut self, from: u64, copies: u32) {
        self.undo_from = Some(from);
        self.undo_copies = copies.cast_signed();
    }

    pub(super) const fn end_undo(&mut self) {
        self.undo_from = None;
    }

    pub(super) const fn may_undo(&self) -> bool {
        self.undo_from.is_some()
    }

    /// True if the receiver reported every retransmission as a duplicate.
    pub(super) const fn is_all_needless(&self) -> bool {
        self.undo_from.is_some() && self.undo_copies == 0
    }

    /// True if the packets up to offset `end` were compared with `block`: either with its present
    /// end, or when it ended at `end`.
    pub(super) fn knows(&self, block: Range, end: u64) -> bool {
        let Range { start, end: block_end } = block;
        let is_known = |known: &Range| {
            known.start == start
                && (known.end == block_end || (known.end == end && end < block_end))
        };
        self.compared_blocks.iter().any(is_known)
    }

    /// Records that all packets up to the newest of `blocks` were compared with `blocks`. If
    /// `blocks` is a single block, it replaces the known block with the same start, because this
    /// block has grown; the other known blocks remain valid.
    pub(super) fn learn(&mut self, blocks: &[Range]) {
        if let [grown] = blocks
            && let Some(known) =
                self.compared_blocks.iter_mut().find(|known| known.start == grown.start)
        {
            *known = *grown;
        } else {
            self.compared_blocks = [Range::default(); SackBlocks::MAX];
            self.compared_blocks[..blocks.len()].copy_from_slice(blocks);
        }
    }
}
