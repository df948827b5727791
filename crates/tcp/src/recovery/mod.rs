//! Loss recovery: what was sent, what of it is known to have arrived, and what is taken for lost.

mod sent;

pub(crate) use sent::{Acknowledged, Place};
pub use sent::{SentSegment, SentSegments};

/// Duplicate acknowledgments, or SACKed segments above, that make a segment count as lost
/// (`DupThresh` of RFC 5681 and RFC 6675).
pub(crate) const DUP_THRESH: u32 = 3;
