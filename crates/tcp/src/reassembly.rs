use alloc::vec::Vec;

use crate::SackBlocks;

/// A half-open range of stream offsets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Range {
    /// First offset inside.
    pub start: u64,
    /// First offset after the range.
    pub end: u64,
}

impl Range {
    const fn touches(&self, other: &Self) -> bool {
        self.start <= other.end && other.start <= self.end
    }
}

/// The received data: everything below `next`, and islands above `next` (data received out of
/// order).
#[derive(Clone, Debug)]
pub struct Reassembly {
    next: u64,
    /// Islands in ascending order. An island is never empty, and there is a gap between any two
    /// islands.
    islands: Vec<Range>,
    /// The most recently changed islands, newest first, which is the order of the SACK option (RFC
    /// 2018, 4).
    recent: [Range; SackBlocks::MAX],
    recent_len: usize,
    /// Total bytes in islands. This field and the next two are cached values derived from the
    /// islands, because usually a single island just grows. `blocks` is the SACK option.
    /// `growing_at` is the end of the last island, if the last island is also the one that changed
    /// most recently.
    island_bytes: u64,
    blocks: SackBlocks,
    growing_at: Option<u64>,
}

impl Reassembly {
    /// Reassembly for a receiver that expects the offset `next`.
    #[must_use]
    pub const fn new(next: u64) -> Self {
        Self {
            next,
            islands: Vec::new(),
            recent: [Range { start: 0, end: 0 }; SackBlocks::MAX],
            recent_len: 0,
            island_bytes: 0,
            blocks: SackBlocks::NONE,
            growing_at: None,
        }
    }

    /// The lowest offset that is missing.
    #[must_use]
    #[inline]
    pub const fn next(&self) -> u64 {
        self.next
    }

    /// Whether data above `next` has arrived.
    #[must_use]
    #[inline]
    pub fn has_islands(&self) -> bool {
        !self.islands.is_empty()
    }

    /// Bytes above `next` that have arrived.
    #[must_use]
    #[inline]
    pub const fn island_bytes(&self) -> u64 {
        self.island_bytes
    }

    /// Inserts the bytes of `range`, which must not be empty, and returns by how many bytes `next`
    /// advanced.
    #[inline]
    pub fn insert(&mut self, range: Range) -> u64 {
        debug_assert!(range.start < range.end, "an empty range would be an island");
        if self.growing_at == Some(range.start) {
            self.extend_newest(range);
            return 0;
        }
        let before = self.next;
        if range.end <= self.next {
            return 0;
        }
        if range.start <= self.next {
            self.next = range.end;
            if self.has_islands() {
                self.absorb_islands();
            }
        } else {
            let island = self.merge(range);
            self.report(island);
            self.look_at_islands();
        }
        self.next - before
    }

    /// The first part of `range` that was received before, if any.
    pub(crate) fn held(&self, range: Range) -> Option<Range> {
        let delivered = Range { start: 0, end: self.next };
        let piece = core::iter::once(&delivered)
            .chain(&self.islands)
            .find(|piece| piece.start < range.end && range.start < piece.end)?;
        Some(Range { start: range.start.max(piece.start), end: range.end.min(piece.end) })
    }

    /// Advances `next` by `len` bytes. Must be called only while there is no island.
    #[inline]
    pub(crate) fn advance(&mut self, len: u32) {
        debug_assert!(!self.has_islands(), "islands would have to be absorbed");
        self.next += u64::from(len);
    }

    /// After a gap, each segment usually continues the one before: it extends the last island,
    /// which the SACK option already reports first.
    #[inline]
    fn extend_newest(&mut self, range: Range) {
        if let Some(last) = self.islands.last_mut() {
            last.end = range.end;
        }
        self.recent[0].end = range.end;
        self.island_bytes += range.end - range.start;
        self.blocks.extend_first(range.end);
        self.growing_at = Some(range.end);
    }

    /// The SACK option for an acknowledgment sent now: the most recently changed island comes
    /// first.
    #[must_use]
    #[inline]
    pub const fn sack_blocks(&self) -> SackBlocks {
        self.blocks
    }

    fn absorb_islands(&mut self) {
        let reached = self.islands.partition_point(|island| island.start <= self.next);
        if let Some(last) = self.islands[..reached].last() {
            self.next = self.next.max(last.end);
        }
        self.islands.drain(..reached);
        let next = self.next;
        self.forget_reports(|island| island.end <= next);
        self.look_at_islands();
    }

    fn look_at_islands(&mut self) {
        let recent = &self.recent[..self.recent_len];
        self.island_bytes = self.islands.iter().map(|island| island.end - island.start).sum();
        self.blocks = SackBlocks::of(recent);
        let newest = recent.first().filter(|newest| self.islands.last() == Some(newest));
        self.growing_at = newest.map(|newest| newest.end);
    }

    /// Joins `range` with every island that it touches and returns the result.
    fn merge(&mut self, range: Range) -> Range {
        let from = self.islands.partition_point(|island| island.end < range.start);
        let touching =
            self.islands[from..].iter().take_while(|island| island.touches(&range)).count();
        if touching == 0 {
            self.islands.insert(from, range);
            return range;
        }
        let merged = Range {
            start: range.start.min(self.islands[from].start),
            end: range.end.max(self.islands[from + touching - 1].end),
        };
        self.islands[from] = merged;
        self.islands.drain(from + 1..from + touching);
        merged
    }

    fn report(&mut self, island: Range) {
        self.forget_reports(|old| old.touches(&island));
        let kept = self.recent_len.min(SackBlocks::MAX - 1);
        self.recent.copy_within(..kept, 1);
        self.recent[0] = island;
        self.recent_len = kept + 1;
    }

    fn forget_reports(&mut self, gone: impl Fn(&Range) -> bool) {
        let mut kept = 0;
        for index in 0..self.recent_len {
            if !gone(&self.recent[index]) {
                self.recent[kept] = self.recent[index];
                kept += 1;
            }
        }
        self.recent_len = kept;
    }
}
