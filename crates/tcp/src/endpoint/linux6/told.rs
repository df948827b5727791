//! What one acknowledgment told.

use netstudy_units::{Duration, Time};

use crate::SentSegment;

#[derive(Clone, Copy, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "what is told is independent")]
pub(super) struct Told {
    /// What was acknowledged before.
    pub(super) prior_una: u64,
    /// Behind the newest segment that had been SACKed before.
    pub(super) prior_sacked_end: u64,
    /// Times that a segment had been taken for lost before.
    pub(super) prior_losses: u64,
    /// It acknowledges more than before.
    pub(super) advanced: bool,
    /// It carries nothing and changes nothing but what it SACKs.
    pub(super) duplicate: bool,
    pub(super) newly_sacked: u32,
    /// Segments acknowledged.
    pub(super) segments: u32,
    /// Segments acknowledged or SACKed for the first time.
    pub(super) delivered: u32,
    /// A segment from before the phase arrived that was never sent again (`FLAG_ORIG_SACK_ACKED`).
    pub(super) original_arrived: bool,
    /// A segment was acknowledged that was sent again (`FLAG_RETRANS_DATA_ACKED`).
    pub(super) repeat_acknowledged: bool,
    /// A copy turned out to be lost (`FLAG_LOST_RETRANS`).
    pub(super) copy_lost: bool,
    /// The timer starts anew (`FLAG_SET_XMIT_TIMER`).
    pub(super) restarts_timer: bool,
    pub(super) acked: Span,
    pub(super) sacked: Span,
}

/// When the oldest and the newest of some segments were sent, those left out that were sent again, and
/// the lowest offset among them.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Span {
    times: Option<(Time, Time)>,
    lowest: Option<u64>,
}

impl Span {
    #[inline]
    pub(super) fn take(&mut self, segment: &SentSegment) {
        let first = self.times.map_or(segment.sent_at, |(first, _)| first);
        self.times = Some((first, segment.sent_at));
        self.lowest = Some(self.lowest.map_or(segment.start, |lowest| lowest.min(segment.start)));
    }

    /// How long ago the first one was sent.
    #[inline]
    pub(super) fn since_first(&self, now: Time) -> Option<Duration> {
        self.times.map(|(first, _)| now.since(first))
    }

    /// How long ago the last one was sent.
    #[inline]
    pub(super) fn since_last(&self, now: Time) -> Option<Duration> {
        self.times.map(|(_, last)| now.since(last))
    }

    /// The lowest offset, if it lies below `end`.
    #[inline]
    pub(super) fn starts_below(&self, end: u64) -> Option<u64> {
        self.lowest.filter(|&lowest| lowest < end)
    }
}
