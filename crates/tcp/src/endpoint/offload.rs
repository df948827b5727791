//! Bursts of segmentation offload: when new data waits until more of it can go at once.

use netstudy_units::{Duration, Time};

use super::{Endpoint, OffloadRule, Phase};

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
        let mss = u64::from(self.mss);
        let free = u64::from(self.window.cwnd.saturating_sub(self.in_flight())) * mss;
        let room = (self.snd_una + self.snd_wnd).saturating_sub(self.snd_nxt).min(free);
        let written = self.write_end - self.snd_nxt;
        let window = self.snd_wnd.min(u64::from(self.window.cwnd) * mss);
        let most = match self.config.offload_rule {
            OffloadRule::Deferral => u64::from(self.config.offload_bytes),
            OffloadRule::Autosizing => self.autosized_burst(),
        };
        if written > mss && room < most && room < window / 3 && self.expects_more_room(now, room) {
            return false;
        }
        // A burst ends with what is written: what is written later is another one.
        let segments = (room.min(most) / mss).min(written.div_ceil(mss));
        self.burst_left = (segments as u32).saturating_sub(1);
        true
    }

    /// Whether it is worth while to wait for acknowledgments.
    fn expects_more_room(&mut self, now: Time, room: u64) -> bool {
        match self.config.offload_rule {
            // Linux 2.6.18: while nothing looks lost.
            OffloadRule::Deferral => self.phase == Phase::Open,
            // Linux 6: shortly after the last segment, when the oldest has been on the way for half a
            // round trip, and what is written does not fit.
            OffloadRule::Autosizing => {
                let half = self.rtt.srtt().map_or(Duration::ZERO, |srtt| srtt.div(2));
                let waits = matches!(self.phase, Phase::Open | Phase::Disorder)
                    && room < self.write_end - self.snd_nxt
                    && now.since(self.last_sent_at) <= RECENT
                    && self.sent.oldest().is_some_and(|oldest| now.since(oldest.sent_at) >= half);
                if waits && self.linux6.repair.on {
                    self.judge_window_use(now, true);
                }
                waits
            }
        }
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
        let near = self.linux6.min_rtt().unwrap_or(srtt).times(NEAR);
        let extra = most.checked_shr(near.min(63) as u32).unwrap_or(0);
        let bytes = (paced.min(u128::from(most)) as u64 + extra).min(most);
        bytes.max(SEGMENTS_MIN * u64::from(self.mss))
    }
}
