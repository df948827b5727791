//! Acknowledgments coming in: the peer's window, round-trip times; the rest is loss recovery's.

use netstudy_units::{Duration, Time};

use super::Endpoint;
use crate::recovery::algorithm::Phase;
use crate::recovery::{self, Acknowledged};
use crate::{CongestionControl, Delivered, Jiffies, Segment};

impl Endpoint {
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn handle_ack<const FAST: bool>(&mut self, now: Time, segment: &Segment) {
        if segment.ack < self.snd_una {
            return;
        }
        let shift = if segment.flags.contains(crate::Flags::SYN) { 0 } else { self.snd_wnd_scale };
        let window = u64::from(segment.window) << shift;
        if segment.ack == self.snd_una && self.sent.is_empty() {
            // Nothing is outstanding: an acknowledgment can only update the window.
            if !FAST {
                recovery::on_idle_ack(self, segment, window != self.snd_wnd);
            }
            self.snd_wnd = window;
            self.keep_probing(now);
            return;
        }
        let window_changed = window != self.snd_wnd;
        self.snd_wnd = window;
        if !FAST && self.ecn.on {
            self.take_echo(segment);
        }
        recovery::on_ack::<FAST>(self, now, segment, window_changed);
        self.keep_probing(now);
    }

    /// Takes the round-trip time, for the timer and for congestion control.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn take_delivered(&mut self, now: Time, segment: &Segment, acked: &Acknowledged) {
        let rtt = self.take_rtt(now, segment, acked);
        if self.phase == Phase::Open && self.congestion.heeds_deliveries() {
            let delivered = Delivered {
                now,
                entries: acked.entries,
                rtt,
                srtt: self.rtt.srtt(),
                snd_una: self.snd_una,
                snd_nxt: self.snd_nxt,
                mss_bytes: self.mss,
            };
            self.congestion.on_delivered(&delivered, &mut self.window);
        }
    }

    /// An RTT sample from the segments themselves if none was retransmitted, otherwise from the echoed
    /// timestamp.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn take_rtt(&mut self, now: Time, segment: &Segment, acked: &Acknowledged) -> Option<Duration> {
        let rtt = if let Some(sent_at) = acked.sent_at {
            now.since(sent_at)
        } else if self.timestamps && segment.timestamps {
            let ticks = Self::timestamp(now).wrapping_sub(segment.ts_echo);
            Duration::from_us(u64::from(ticks))
        } else {
            return None;
        };
        match self.coarse_clock {
            None => self.rtt.sample(rtt),
            Some(clock) => self.take_coarse_rtt(now, rtt, clock),
        }
        Some(rtt)
    }

    /// Less than a tick counts as one (`tcp_rtt_estimator`).
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn take_coarse_rtt(&mut self, now: Time, rtt: Duration, clock: Jiffies) {
        let tick = self.config.clock_tick;
        let measured =
            if rtt < tick { tick } else { clock.between(now.saturating_sub(rtt), now).max(tick) };
        if !self.rtt.is_steady_at(measured) {
            self.rtt.sample(measured);
        }
    }

    /// RFC 6298 (5.2, 5.3): something was acknowledged, and the timer runs from `now` on if anything is
    /// outstanding.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn restart_retransmission(&mut self, now: Time) {
        self.rto_at = if self.sent.is_empty() { Time::NEVER } else { now + self.rtt.rto() };
    }

    /// Runs the timer while data waits for a window that is shut, and no longer.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn keep_probing(&mut self, now: Time) {
        if !self.sent.is_empty() {
            return;
        }
        let shut = self.snd_wnd == 0 && self.snd_nxt < self.write_end;
        if shut && self.rto_at == Time::NEVER {
            self.rto_at = now + self.rtt.rto();
        } else if !shut && self.rto_at != Time::NEVER {
            self.rto_at = Time::NEVER;
            self.rtt.end_backoff();
        }
    }
}
