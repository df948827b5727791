use serde::{Deserialize, Serialize};

/// Counters of a queue discipline for the frames of one class, over the measuring phase.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueueStatistics {
    /// The host or the switch.
    pub node: String,
    /// The interface or the port whose discipline it is.
    pub port: String,
    /// The class: the code point of the frames (RFC 2474, 3).
    pub dscp: u8,
    /// Frames that arrived for the port.
    pub frames_offered: u64,
    /// Bytes of these frames, check sequences included.
    pub bytes_offered: u64,
    /// Frames that left the queue for the wire.
    pub frames_sent: u64,
    /// Bytes of these frames.
    pub bytes_sent: u64,
    /// Frames that were dropped when a frame arrived, because there was no room or by the rule of
    /// the discipline.
    pub frames_dropped_at_arrival: u64,
    /// Bytes of these frames.
    pub bytes_dropped_at_arrival: u64,
    /// Frames that were dropped when they were taken out of the queue.
    pub frames_dropped_at_departure: u64,
    /// Bytes of these frames.
    pub bytes_dropped_at_departure: u64,
    /// Frames that got a congestion mark.
    pub frames_marked: u64,
    /// Sum of the times that the sent frames were in the queue.
    pub sojourn_sum_ns: u64,
    /// A histogram of these times: the highest time of each bucket that is not empty, ascending. A
    /// bucket is at most 1/128 of its values wide.
    pub sojourn_ns: Vec<u64>,
    /// The number of frames in each bucket.
    pub frames: Vec<u64>,
}

impl QueueStatistics {
    /// The statistics of the class `class` of a port.
    #[must_use]
    pub fn new(node: &str, port: &str, class: &netstudy_fabric::queue::ClassStatistics) -> Self {
        let (sojourn_ns, frames) = class.sojourns.buckets().unzip();
        Self {
            node: node.to_owned(),
            port: port.to_owned(),
            dscp: class.dscp,
            frames_offered: class.offered.frames,
            bytes_offered: class.offered.bytes,
            frames_sent: class.sent.frames,
            bytes_sent: class.sent.bytes,
            frames_dropped_at_arrival: class.dropped_at_arrival.frames,
            bytes_dropped_at_arrival: class.dropped_at_arrival.bytes,
            frames_dropped_at_departure: class.dropped_at_departure.frames,
            bytes_dropped_at_departure: class.dropped_at_departure.bytes,
            frames_marked: class.marked,
            sojourn_sum_ns: class.sojourns.sum_ns(),
            sojourn_ns,
            frames,
        }
    }
}
