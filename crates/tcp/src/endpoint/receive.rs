//! Data coming in, and when to acknowledge it (RFC 1122, 4.2.3.2; RFC 5681, 4.2).

use netstudy_units::Time;

use super::Endpoint;
use crate::{Flags, Range, Segment};

impl Endpoint {
    /// Payload bytes received in order so far; the application takes them at once.
    #[must_use]
    #[inline]
    pub const fn bytes_received(&self) -> u64 {
        self.counters.bytes_received
    }

    #[inline(always)]
    pub(super) fn handle_data(&mut self, now: Time, segment: &Segment) {
        self.counters.segments_received += 1;
        // RFC 7323 (4.3): echo the timestamp of the segment that the next acknowledgment is about.
        let newer = segment.ts_value.wrapping_sub(self.ts_recent).cast_signed() >= 0;
        if newer && segment.seq <= self.last_ack_sent {
            self.ts_recent = segment.ts_value;
        }
        let mut range = Range { start: segment.seq, end: segment.seq + u64::from(segment.len) };
        if range.end > self.rcv_edge {
            // Outside of the window (RFC 9293, 3.10.7.4).
            self.ack_now = true;
            return;
        }
        if self.ecn.on {
            self.take_mark(segment);
        }
        // A FIN takes a place in the sequence space, and is taken when the window is full, as in Linux.
        range.end += u64::from(segment.flags.contains(Flags::FIN));
        self.quick_acks.hear(now, || self.rtt.rto());
        let had_islands = self.received.has_islands();
        let is_copy = range.end <= self.received.next();
        let advanced = self.received.insert(range);
        self.counters.bytes_received += advanced;
        if had_islands || advanced == 0 {
            self.acknowledge_disorder(is_copy);
        } else {
            self.delay_ack(now);
        }
        if self.peer_fin_at.is_some() {
            self.take_fin(now);
        }
    }

    /// The application has read all there is: an acknowledgment that waits is sent now
    /// (`tcp_cleanup_rbuf` of Linux).
    #[inline]
    pub fn application_read(&mut self) {
        if self.ack_at != Time::NEVER {
            self.ack_now = true;
        }
    }

    /// RFC 5681 (4.2): at once when out of order, or when a gap is filled.
    #[inline]
    fn acknowledge_disorder(&mut self, is_copy: bool) {
        self.ack_now = true;
        if is_copy {
            self.quick_acks.hear_copy();
        } else if !self.received.has_islands() {
            self.quick_acks.gap_filled();
        }
    }

    #[inline(always)]
    fn delay_ack(&mut self, now: Time) {
        let waiting = self.received.next() - self.last_ack_sent;
        let enough = u64::from(self.config.ack_every_segments - 1) * u64::from(self.mss);
        if self.quick_acks.are_due() || waiting > enough {
            self.ack_now = true;
        } else if self.ack_at == Time::NEVER {
            self.ack_at = now + self.config.delayed_ack;
        }
    }
}
