//! Segmentation offload of Linux 2.6.18: how TCP fills packets, and how the adapter segments them.
//!
//! TCP copies written data into packets of up to the maximum offload size. While the send queue is
//! empty and the window has room, TCP sends each segment as soon as the segment is written
//! (`tcp_push_one` in `tcp_sendmsg`); full packets begin after the last of these segments. If the
//! window admits only a part of a packet, the rest becomes a separate packet (`tcp_write_xmit`),
//! and so does a short last segment (`tcp_mss_split_point`).
//!
//! The data of a packet lies in pages. Some adapters accept only a few pages in one request and
//! segment each request separately (`nes_netdev_start_xmit` of drivers/infiniband/hw/nes: four
//! pages). The last frame of a request is then short, so the packet leaves as more frames than TCP
//! counts segments. A packet of one segment is always one frame.

use alloc::format;
use alloc::string::String;

use netstudy_units::Time;

use crate::{Config, Endpoint, Flags, Outlet, Range, Segment, SentSegment, recovery};

/// Size of a page; pages hold consecutive parts of the stream (`tcp_sendmsg`).
const PAGE_BYTES: u32 = 4096;

/// The packet that is being sent to the adapter, and the layout of the following packets.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Packet {
    /// Whether the sender puts several segments of new data into one packet.
    pub(crate) is_in_use: bool,
    data: Range,
    /// End of the current request.
    request_end: u64,
    /// Start of the first full-size packet; the others follow it without gaps.
    origin: u64,
    /// TCP sends each segment as soon as the segment is written.
    leaves_written: bool,
    /// Bytes of a full-size packet.
    full_bytes: u64,
    /// End of the full-size packet that contains the start of `data`. Zero if the layout of the
    /// packets has changed since this end was computed.
    full_end: u64,
}

/// Checks that the request size of `config` is valid for an adapter.
pub(crate) fn check_requests(config: &Config) -> Result<(), String> {
    let bytes = config.offload_request_bytes;
    if !bytes.is_multiple_of(PAGE_BYTES) {
        return Err(format!(
            "an adapter takes requests of whole pages of {PAGE_BYTES} B, not of {bytes} B"
        ));
    }
    Ok(())
}

impl Endpoint {
    /// Makes the send queue hold packets from now on.
    pub(crate) fn hold_packets(&mut self) {
        let mss = u64::from(self.mss);
        self.packet.full_bytes = (u64::from(self.config.offload_bytes) / mss).max(1) * mss;
        self.packet.is_in_use = self.has_gate();
        self.sent.hold_packets(self.mss);
    }

    /// The application writes while the send queue is empty.
    pub(crate) const fn begin_writing(&mut self) {
        self.packet.origin = self.write_end;
        self.packet.full_end = 0;
        self.packet.leaves_written = true;
    }

    /// Hands the packets that may be sent to `outlet`, segment by segment. It is not inlined into
    /// the common path, because that would slow down other connections.
    #[inline(never)]
    pub(crate) fn send_packets(&mut self, now: Time, outlet: &mut impl Outlet) {
        while self.snd_nxt < self.write_end && self.may_go_on_with_packets(now) {
            let first = self.next_of_packet();
            let mut segment = self.build_new_data(now, &first);
            outlet.send(segment);
            while self.becomes_next_of_packet(&mut segment) {
                outlet.send(segment);
            }
        }
    }

    /// The next frame of new data: the next frame of the current packet, or the first of a new
    /// packet.
    #[cold]
    #[inline(never)]
    pub(crate) fn next_in_packets(&mut self, now: Time) -> Option<SentSegment> {
        self.may_go_on_with_packets(now).then(|| self.next_of_packet())
    }

    /// True if a segment of new data may be sent. If the current packet has no segment left, the
    /// next packet begins.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn may_go_on_with_packets(&mut self, now: Time) -> bool {
        self.has_begun_packet() || self.may_begin_next(now)
    }

    /// Whether a part of the current packet is still to be sent.
    #[cfg_attr(not(debug_assertions), inline(always))]
    const fn has_begun_packet(&self) -> bool {
        self.snd_nxt < self.packet.data.end
    }

    /// Begins the next packet, unless the window or the deferral rule holds it back.
    #[inline]
    fn may_begin_next(&mut self, now: Time) -> bool {
        let Some(segments) = self.segments_to_go(now) else { return false };
        self.begin_packet(now, segments);
        true
    }

    /// Number of segments of the next packet; none if the window or the deferral rule holds it
    /// back.
    #[inline]
    fn segments_to_go(&mut self, now: Time) -> Option<u32> {
        let is_full = self.is_window_full() && !self.recovery.new_data_at_once;
        let Some(len) = (if is_full { None } else { self.new_data_len() }) else {
            if self.packet.leaves_written {
                self.packet.leaves_written = false;
                self.packet.origin = self.snd_nxt;
                self.packet.full_end = 0;
            }
            return None;
        };
        if self.packet.leaves_written {
            return Some(self.segments_written());
        }
        self.may_pass_gate(now, len).then(|| 1 + core::mem::take(&mut self.burst_left))
    }

    /// Number of full segments that TCP sends while data is written, up to the end of the page in
    /// which the first segment ends.
    fn segments_written(&self) -> u32 {
        let mss = u64::from(self.mss);
        // The first byte of the stream has the offset 1.
        let at = self.snd_nxt - 1;
        let written = (at + mss).next_multiple_of(PAGE_BYTES.into()) - at;
        let room = self.window.cwnd.saturating_sub(self.in_flight());
        let most = written.min(self.packet.full_bytes) / mss;
        (most as u32).min(room).max(1)
    }

    /// End of the packet that is being sent; 0 if there is none.
    pub(crate) const fn begun_packet_end(&self) -> u64 {
        self.packet.data.end
    }

    /// End of the packet that contains `snd_nxt`.
    pub(crate) fn packet_end(&self) -> u64 {
        self.full_packet_end().min(self.write_end)
    }

    /// End of the full-size packet that contains `snd_nxt`. Usually this is the packet that ends at
    /// `full_end`, or the packet after it; only other packets need the slow division.
    fn full_packet_end(&self) -> u64 {
        let Packet { origin, full_bytes: full, full_end: known, .. } = self.packet;
        let start = self.snd_nxt;
        if start < known && start + full >= known {
            known
        } else if start == known {
            known + full
        } else {
            start - (start - origin.min(start)) % full + full
        }
    }

    #[inline]
    fn begin_packet(&mut self, now: Time, segments: u32) {
        let mss = u64::from(self.mss);
        let start = self.snd_nxt;
        let mut most = self.write_end;
        if !self.packet.leaves_written {
            self.packet.full_end = self.full_packet_end();
            most = most.min(self.packet.full_end);
        }
        let room = most.min(self.send_edge()) - start;
        let wanted = u64::from(segments) * mss;
        // A short last segment is a separate packet.
        let len = if room >= wanted {
            wanted
        } else if room > mss {
            room - room % mss
        } else {
            room
        };
        let end = start + len;
        let page = (start - 1) / u64::from(PAGE_BYTES) * u64::from(PAGE_BYTES) + 1;
        let request = u64::from(self.config.offload_request_bytes);
        let request_end = if request == 0 { u64::MAX } else { page + request };
        self.packet.data = Range { start, end };
        self.burst_start = start;
        self.packet.request_end = request_end;
        let fresh = SentSegment::fresh(start, len as u32, now);
        self.note_short(&fresh);
        self.sent.push_packet(fresh);
        recovery::on_sent(self, now);
    }

    /// Turns a segment that has just been sent into the next segment of the same packet, and
    /// returns whether there is one. Segments sent at the same time differ only in offset, length
    /// and PSH.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn becomes_next_of_packet(&mut self, segment: &mut Segment) -> bool {
        if !self.has_begun_packet() || self.ecn.on {
            return false;
        }
        let next = self.next_of_packet();
        self.counters.count_sent(next.len);
        self.quick_acks.send_ack();
        (segment.seq, segment.len) = (next.start, next.len);
        self.mark_push(segment);
        if self.config.marks_packets {
            segment.flags = segment.flags | Flags::CONTINUES;
        }
        true
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn next_of_packet(&mut self) -> SentSegment {
        let start = self.snd_nxt;
        let mss = u64::from(self.mss);
        let data = self.packet.data;
        let mut end = (start + mss).min(data.end);
        if data.end - data.start > mss && end >= self.packet.request_end {
            end = self.packet.request_end;
            self.packet.request_end += u64::from(self.config.offload_request_bytes);
        }
        self.snd_nxt = end;
        SentSegment::fresh(start, (end - start) as u32, Time::ZERO)
    }
}
