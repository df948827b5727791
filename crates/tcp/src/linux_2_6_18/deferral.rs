//! When a burst of segmentation offload waits (`tcp_tso_should_defer` of `net/ipv4/tcp_output.c`).

use crate::Endpoint;
use crate::recovery::algorithm::Phase;

impl Endpoint {
    /// Size of the next burst in bytes, or none if the burst is deferred: while no loss is
    /// suspected, a burst waits until it can fill a third of the window or has the maximum size.
    #[inline]
    pub(crate) fn deferred_burst(&self) -> Option<u64> {
        let most = u64::from(self.config.offload_bytes);
        let room = self.burst_room();
        let waits = self.phase == Phase::Open
            && self.is_room_small(room, most)
            && self.packet_left() > u64::from(self.mss);
        (!waits).then_some(room.min(most))
    }

    /// Unsent bytes of the next packet, or all unsent bytes if the queue holds no packets.
    #[inline]
    fn packet_left(&self) -> u64 {
        if self.sent.holds_packets() { self.packet_end() - self.snd_nxt } else { self.unsent() }
    }
}
