//! A connection without SACK: duplicate acknowledgments stand for segments that arrived out of order
//! (RFC 6582; `tcp_add_reno_sack`, `tcp_remove_reno_sacks`, `tcp_newreno_mark_lost`).

use super::super::{Endpoint, Phase};

impl Endpoint {
    /// A duplicate acknowledgment came; how many segments it delivered.
    pub(super) fn add_duplicate(&mut self) -> u32 {
        let before = self.dup_acks;
        self.dup_acks += 1;
        self.limit_duplicates(0);
        self.dup_acks.saturating_sub(before)
    }

    /// `segments` were acknowledged; how many of them had not been counted as delivered. One filled
    /// the hole, the others take duplicates away.
    pub(super) fn remove_duplicates(&mut self, segments: u32) -> u32 {
        if segments == 0 {
            return 0;
        }
        let delivered = segments.saturating_sub(self.dup_acks).max(1);
        self.dup_acks = self.dup_acks.saturating_sub(segments - 1);
        self.limit_duplicates(segments);
        delivered
    }

    /// More duplicates than segments on the way mean that the path reorders
    /// (`tcp_check_reno_reordering`).
    fn limit_duplicates(&mut self, acknowledged: u32) {
        let out = self.sent.len();
        let holes = self.sent.lost().max(1).min(out);
        if self.dup_acks + holes > out {
            self.dup_acks = out - holes;
            self.linux6.rack.see_reordering(out + acknowledged);
        }
    }

    /// `tcp_newreno_mark_lost`
    pub(super) fn lose_oldest_by_duplicates(&mut self, advanced: bool) {
        let lost = match self.phase {
            Phase::Open | Phase::Disorder => self.dup_acks >= self.linux6.rack.reordering,
            Phase::Recovery => advanced,
            Phase::Loss => false,
        };
        if lost {
            self.sent.lose_oldest();
        }
    }
}
