//! Bursts of segmentation offload: when new data waits until more of it can go at once.

use netstudy_units::{Duration, Time};

use super::{Endpoint, OffloadRule, Phase};
use crate::recovery;

/// A burst is what the pacing rate carries in this time (`sk_pacing_shift`: 1/1024 s).
const BURST_TIME: Duration = Duration::from_ns(976_563);
/// For each of these in the least round-trip time, bursts are halved (`tcp_tso_rtt_log`: 2^9 us).
const NEAR: Duration = Duration::from_us(512);
/// Segments of the smallest burst (`tcp_min_tso_segs`).
const SEGMENTS_MIN: u64 = 2;
/// What was sent earlier than this is no reason to wait (`tcp_tso_should_defer`).
const RECENT: Duration = Duration::from_ms(1);

impl Endpoint {
    /// Whether the next new segment may leave: it belongs to a burst, or begins one.
    #[inline]
    pub(super) fn may_burst(&mut self, now: Time) -> bool {
        if self.burst_left > 0 {
            self.burst_left -= 1;
            return true;
        }
        match self.config.offload_rule {
            OffloadRule::Deferral => self.may_burst_deferred(),
            OffloadRule::Autosizing => self.may_burst_autosized(now),
        }
    }

    /// `tcp_tso_should_defer` of Linux 2.6.18: while nothing looks lost, a burst waits until it can be a
    /// third of the window or as large as one may be.
    #[inline]
    fn may_burst_deferred(&mut self) -> bool {
        let most = u64::from(self.config.offload_bytes);
        let room = self.burst_room();
        let written = self.write_end - self.snd_nxt;
        if self.phase == Phase::Open
            && written > u64::from(self.mss)
            && self.is_room_small(room, most)
        {
            return false;
        }
        self.begin_burst(room.min(most), written);
        true
    }

    /// `tcp_tso_should_defer` of Linux 6: besides, the last segment left just now, the oldest one has
    /// been on the way for half a round trip, and what is written does not fit.
    #[cold]
    #[inline(never)]
    fn may_burst_autosized(&mut self, now: Time) -> bool {
        let most = self.autosized_burst();
        let room = self.burst_room();
        let written = self.write_end - self.snd_nxt;
        let half = self.rtt.srtt().map_or(Duration::ZERO, |srtt| srtt.div(2));
        let waits = matches!(self.phase, Phase::Open | Phase::Disorder)
            && written > u64::from(self.mss).max(room)
            && self.is_room_small(room, most)
            && now.since(self.last_sent_at) <= RECENT
            && self.sent.oldest().is_some_and(|oldest| now.since(oldest.sent_at) >= half);
        if waits {
            recovery::on_deferred(self, now);
        } else {
            self.begin_burst(room.min(most), written);
        }
        !waits
    }

    /// Bytes that the windows of both sides let go.
    #[inline]
    fn burst_room(&self) -> u64 {
        let free = u64::from(self.window.cwnd - self.in_flight()) * u64::from(self.mss);
        (self.snd_una + self.snd_wnd).saturating_sub(self.snd_nxt).min(free)
    }

    /// There is room for less than a burst, and for less than a third of the window.
    #[inline]
    fn is_room_small(&self, room: u64, most: u64) -> bool {
        let window = self.snd_wnd.min(u64::from(self.window.cwnd) * u64::from(self.mss));
        room < most && room < window / 3
    }

    /// A burst ends with what is written: what is written later is another one.
    #[inline]
    fn begin_burst(&mut self, bytes: u64, written: u64) {
        let mss = u64::from(self.mss);
        let segments = (bytes / mss).min(written.div_ceil(mss));
        self.burst_left = (segments as u32).saturating_sub(1);
    }

    /// Bytes of a burst by the pacing rate, larger on a short path (`tcp_tso_autosize`,
    /// `tcp_update_pacing_rate`): twice the window a round trip in slow start, 1.2 times it later.
    fn autosized_burst(&self) -> u64 {
        let most = u64::from(self.config.offload_bytes);
        let Some(srtt) = self.rtt.srtt() else { return most };
        let tenths = if self.window.cwnd < self.window.ssthresh / 2 { 20 } else { 12 };
        let window = u128::from(self.window.cwnd.max(self.sent.len())) * u128::from(self.mss);
        let paced = window * tenths * u128::from(BURST_TIME.as_ps())
            / (10 * u128::from(srtt.as_ps().max(1)));
        let near = self.recovery.min_rtt().unwrap_or(srtt).times(NEAR);
        let extra = most.checked_shr(near.min(63) as u32).unwrap_or(0);
        let bytes = (paced.min(u128::from(most)) as u64 + extra).min(most);
        bytes.max(SEGMENTS_MIN * u64::from(self.mss))
    }
}
