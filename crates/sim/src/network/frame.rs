//! Frames in flight in the closed form of a network.

use netstudy_tcp::Segment;
use netstudy_units::Time;

use crate::end_index::EndIndex;

/// A segment in its frame, in flight to the switch or held there.
#[derive(Clone, Copy, Debug, Default)]
#[allow(clippy::struct_field_names, reason = "the field's word for it")]
pub(crate) struct Frame {
    /// When the switch can judge the frame, that is, forward, mark or drop it.
    pub(crate) arrival: Time,
    /// The destination.
    pub(crate) to: EndIndex,
    pub(crate) frame_bytes: u32,
    pub(crate) segment: Segment,
}
