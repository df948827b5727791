//! Nagle's rule (RFC 896; RFC 9293, 3.7.4) in Minshall's variant, as Linux has it
//! (`tcp_nagle_check`, `tcp_minshall_check` in `net/ipv4/tcp_output.c`): a segment that is not full
//! waits while an earlier segment that was not full is not acknowledged. Full segments never wait,
//! nor does the end of the data once a FIN follows it.

use super::Endpoint;
use crate::SentSegment;

impl Endpoint {
    /// Whether new data of `bytes` must wait for more data or for an acknowledgment.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn is_too_short(&self, bytes: u64) -> bool {
        !self.config.nodelay && bytes < u64::from(self.mss) && self.has_short_segment_out()
    }

    /// Whether only Nagle's rule holds the new data back.
    pub(super) fn waits_by_nagle(&self) -> bool {
        let bytes = self.write_end - self.snd_nxt;
        let room = self.send_edge().saturating_sub(self.snd_nxt);
        room >= bytes && self.is_too_short(bytes)
    }

    /// `tcp_minshall_check`.
    fn has_short_segment_out(&self) -> bool {
        self.short_end > self.snd_una && !self.fin_queued
    }

    /// `tcp_minshall_update`, for a segment that is sent for the first time.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn note_short(&mut self, fresh: &SentSegment) {
        if !self.config.nodelay && fresh.len < self.mss {
            self.short_end = fresh.end();
        }
    }
}
