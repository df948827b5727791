//! The part of the queue of sent packets that only Linux 2.6.18 keeps: counts, and what was compared already.

use crate::{Range, SackBlocks};

/// `sysctl_tcp_reordering`
pub(super) const REORDERING: u32 = 3;
/// `TCP_MAX_REORDERING`
const REORDERING_MAX: u32 = 127;

/// The oldest packets of the queue, as many as `packets`, with `segments` together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Prefix {
    pub(super) packets: usize,
    pub(super) segments: u32,
}

impl Prefix {
    /// The packet at `index` was split, and its parts have `more` segments than it had.
    pub(super) const fn split(&mut self, index: usize, more: u32) {
        if index < self.packets {
            self.packets += 1;
            self.segments += more;
        }
    }

    /// The oldest `packets` left the queue, and with a part of the next one `segments` in all.
    pub(super) const fn remove(&mut self, packets: usize, segments: u32) {
        if packets < self.packets {
            self.packets -= packets;
            self.segments -= segments;
        } else {
            *self = Self { packets: 0, segments: 0 };
        }
    }
}

/// The queue's state that only Linux 2.6.18 keeps.
#[derive(Clone, Debug)]
pub(crate) struct Packets {
    /// Payload bytes of a full segment; 0: the queue holds segments, not packets.
    pub(super) mss_bytes: u32,
    /// Number of segments up to the newest SACKed one, which the kernel keeps approximately
    /// (`fackets_out`).
    pub(super) facked: u32,
    /// Reordering tolerance, in segments (`reordering`).
    pub(super) reordering: u32,
    /// Forward acknowledgment is on: segments before the newest SACKed one count as lost. The first
    /// reordering turns it off for the connection (`sack_ok & 2`).
    pub(super) forward: bool,
    /// Blocks of the last acknowledgment with SACK (`recv_sack_cache`).
    pub(super) blocks: [Range; SackBlocks::MAX],
    /// Blocks that all packets of `compared` were compared with.
    pub(super) compared_blocks: [Range; SackBlocks::MAX],
    pub(super) compared: Prefix,
    /// The packets up to the end of the first block of the last acknowledgment with SACK, where the last pass
    /// through the queue ended; none if it ended elsewhere.
    pub(super) reached: Prefix,
    /// Each of these packets is SACKed, lost or retransmitted, and stays so.
    pub(super) touched: Prefix,
    /// No retransmission in flight was sent before data from here on was.
    pub(super) copies_from: u64,
    /// Offset at which the last undoable reduction began (`undo_marker`).
    pub(super) undo_from: Option<u64>,
    /// Retransmissions since then, less those reported as duplicates (`undo_retrans`).
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

    /// True if the packets up to offset `end` were compared with `block`, or it has grown from there.
    pub(super) fn knows(&self, block: Range, end: u64) -> bool {
        let Range { start, end: block_end } = block;
        let is_known = |known: &Range| {
            known.start == start
                && (known.end == block_end || (known.end == end && end < block_end))
        };
        self.compared_blocks.iter().any(is_known)
    }

    /// All packets up to the newest of `blocks` were compared with them. A single block is one of those
    /// before that has grown, and the others still hold.
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
