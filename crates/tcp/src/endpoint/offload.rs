//! Bursts of segmentation offload: new data is deferred until a larger burst can be sent. With a
//! small queue and no offload, each packet is a single segment.

use netstudy_units::{Duration, Time};

use super::pacing::PS_PER_S;
use super::{Config, Endpoint, OffloadRule};
use crate::CongestionControl;
use crate::congestion::control::PACING_SHIFT;
use crate::recovery::{self, algorithm::Phase};

/// Bursts on paths with a short round-trip time get an extra size, which halves with each multiple
/// of this time in the minimum round-trip time (`tcp_tso_rtt_log`: 2^9 us).
const NEAR: Duration = Duration::from_us(512);
/// Number of segments in the smallest burst (`tcp_min_tso_segs`).
const SEGMENTS_MIN: u64 = 2;
/// A burst is deferred only if the last segment was sent at most this long ago, and only if the next
/// acknowledgment is at most this far away (`tcp_tso_should_defer`).
const NEAR_IN_TIME: Duration = Duration::from_ms(1);

/// Restrictions on new data in addition to the windows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Gate {
    /// No restriction.
    Open,
    /// [`OffloadRule::Deferral`].
    Deferral,
    /// Any other restriction. It is checked outside of the common path.
    Other,
}

impl Gate {
    pub(super) fn new(config: &Config) -> Self {
        match config.offload_rule {
            _ if config.limit_output_bytes > 0 || config.congestion.owns_window() => Self::Other,
            _ if config.offload_bytes == 0 => Self::Open,
            OffloadRule::Deferral => Self::Deferral,
            OffloadRule::Autosizing => Self::Other,
        }
    }
}

impl Endpoint {
    /// Whether the next new segment, of `len` bytes, may be sent although the gate is not open: it
    /// continues the current burst, or may begin a new burst.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn may_pass_gate(&mut self, now: Time, len: u32) -> bool {
        if self.burst_left > 0 {
            self.burst_left -= 1;
            return true;
        }
        if self.gate == Gate::Deferral {
            return self.may_burst_deferred();
        }
        self.may_begin_packet(now, len)
    }

    /// Like [`Self::may_burst_deferred`], but checks the other restrictions on a packet too.
    #[cold]
    #[inline(never)]
    fn may_begin_packet(&mut self, now: Time, len: u32) -> bool {
        if self.is_paced_until_later(now) {
            return false;
        }
        let burst = match self.config.offload_rule {
            _ if self.config.offload_bytes == 0 => Some(len.into()),
            OffloadRule::Deferral => self.deferred_burst(),
            OffloadRule::Autosizing => self.near_burst(now),
        };
        self.defers = burst.is_none();
        let Some(bytes) = burst else { return false };
        let payload = u64::from(self.burst_segments(bytes).max(1)) * u64::from(self.mss);
        if self.has_small_queue() && self.holds_new(now, payload.min(self.unsent())) {
            return false;
        }
        self.begin_burst(bytes);
        true
    }

    /// True if the new segment ends a packet of several segments. Such a segment carries PSH, and the
    /// receiver acknowledges it without delay (`__tcp_transmit_skb` of Linux since 5.4).
    #[inline]
    pub(super) const fn ends_pushed_burst(&self) -> bool {
        self.burst_pushes && self.burst_left == 0
    }

    /// Whether there are restrictions on new data in addition to the windows.
    pub(crate) fn has_gate(&self) -> bool {
        self.gate != Gate::Open
    }

    fn may_burst_deferred(&mut self) -> bool {
        let burst = self.deferred_burst();
        self.defers = burst.is_none();
        let Some(bytes) = burst else { return false };
        self.begin_burst(bytes);
        true
    }

    /// Bytes of the next burst, or none if the burst waits, by `tcp_tso_should_defer` of Linux 6.18.
    /// In addition to the conditions of [`OffloadRule::Deferral`], the burst waits only if the last
    /// segment was sent within [`NEAR_IN_TIME`], the next acknowledgment is near, and the unsent
    /// data does not fit into the window.
    fn near_burst(&mut self, now: Time) -> Option<u64> {
        let most = self.autosized_burst();
        let room = self.burst_room();
        let waits = matches!(self.phase, Phase::Open | Phase::Disorder)
            && self.unsent() > u64::from(self.mss).max(room)
            && self.is_room_small(room, most)
            && now.since(self.last_departure()) <= NEAR_IN_TIME
            && self.is_ack_near(now);
        if waits {
            recovery::on_deferred(self, now);
        }
        (!waits).then_some(room.min(most))
    }

    /// True if the next acknowledgment is due within [`NEAR_IN_TIME`] and within half a round trip: a
    /// round trip after the oldest segment was sent. Before Linux 6.18, half a round trip was the only
    /// limit (commit 295ce1eb36ae, "tcp: fix `tcp_tso_should_defer()` vs large RTT").
    fn is_ack_near(&self, now: Time) -> bool {
        let srtt = self.rtt.srtt().unwrap_or(Duration::ZERO);
        let limit = srtt.div(2).min(NEAR_IN_TIME);
        self.sent.oldest().is_some_and(|oldest| oldest.sent_at + srtt <= now + limit)
    }

    /// Bytes written and never sent.
    #[inline]
    pub(crate) const fn unsent(&self) -> u64 {
        self.write_end - self.snd_nxt
    }

    /// Bytes that the congestion window and the peer's window allow to be sent.
    #[inline]
    pub(crate) fn burst_room(&self) -> u64 {
        self.peer_room().min(self.congestion_room())
    }

    /// True if the congestion window has less room than the peer's window.
    pub(super) fn is_congestion_window_smaller(&self) -> bool {
        self.congestion_room() < self.peer_room()
    }

    #[inline]
    fn congestion_room(&self) -> u64 {
        u64::from(self.window.cwnd - self.in_flight()) * u64::from(self.mss)
    }

    #[inline]
    const fn peer_room(&self) -> u64 {
        (self.snd_una + self.snd_wnd).saturating_sub(self.snd_nxt)
    }

    /// Whether the windows have room for less than a full burst and less than a third of the
    /// window.
    #[inline]
    pub(crate) fn is_room_small(&self, room: u64, most: u64) -> bool {
        let window = self.snd_wnd.min(u64::from(self.window.cwnd) * u64::from(self.mss));
        room < most && room < window / 3
    }

    /// Number of segments in a burst of `bytes` bytes. A burst ends with the data written so far;
    /// data written later goes into another burst.
    #[inline]
    fn burst_segments(&self, bytes: u64) -> u32 {
        let mss = u64::from(self.mss);
        // Avoids a slow division: most bursts are one segment with more unsent data after it.
        let whole = if bytes < 2 * mss { u64::from(bytes >= mss) } else { bytes / mss };
        let unsent = self.unsent();
        if unsent >= bytes { whole as u32 } else { whole.min(unsent.div_ceil(mss)) as u32 }
    }

    #[inline]
    fn begin_burst(&mut self, bytes: u64) {
        self.burst_start = self.snd_nxt;
        self.burst_left = self.burst_segments(bytes).saturating_sub(1);
        self.burst_pushes = self.burst_left > 0
            && self.config.ack_pushed
            && self.config.offload_rule == OffloadRule::Autosizing
            && !self.packet.is_in_use;
    }

    /// True if the segment that begins at the offset `start` and is sent at `now` continues the current
    /// packet. All segments of a packet are sent at the same time.
    pub(super) fn continues_packet(&self, now: Time, start: u64) -> bool {
        self.has_gate() && start > self.burst_start && self.last_sent_at == now
    }

    /// Size of a burst in bytes by the pacing rate, larger on a path with a short round-trip time
    /// (`tcp_tso_autosize`).
    fn autosized_burst(&self) -> u64 {
        let most = u64::from(self.config.offload_bytes);
        let Some(srtt) = self.rtt.srtt() else { return most };
        let near = self.recovery.min_rtt().unwrap_or(srtt).times(NEAR);
        let extra = most.checked_shr(near.min(63) as u32).unwrap_or(0);
        let bytes = (self.paced_bytes().min(most) + extra).min(most);
        let segments_min = self.congestion.burst_segments_min().unwrap_or(SEGMENTS_MIN);
        bytes.max(segments_min * u64::from(self.mss))
    }

    /// Bytes that the pacing rate carries in the time of a burst: see [`PACING_SHIFT`]. Without
    /// pacing, the rate is twice the window per round trip in slow start, and 1.2 times the window
    /// later (`tcp_update_pacing_rate`). No limit before the first RTT sample.
    pub(super) fn paced_bytes(&self) -> u64 {
        if let Some(bytes_per_s) = self.pacing_bytes_per_s() {
            return bytes_per_s >> PACING_SHIFT;
        }
        let Some(srtt) = self.rtt.srtt() else { return u64::MAX };
        let tenths = if self.window.cwnd < self.window.ssthresh / 2 { 20 } else { 12 };
        let window = u128::from(self.window.cwnd.max(self.sent.len())) * u128::from(self.mss);
        let bytes_per_s = window * tenths * PS_PER_S / (10 * u128::from(srtt.as_ps().max(1)));
        u64::try_from(bytes_per_s >> PACING_SHIFT).unwrap_or(u64::MAX)
    }
}
