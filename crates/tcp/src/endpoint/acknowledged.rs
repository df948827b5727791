//! Handles incoming acknowledgments: the peer's window and the round-trip times. The rest is done
//! by loss recovery.

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

    /// Passes the round-trip time of an acknowledgment to the timer and to congestion control.
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

    /// Takes an RTT sample. It is computed from the send time if none of the acknowledged segments
    /// was retransmitted, otherwise from the echoed timestamp.
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

    /// Takes an RTT sample, measured in ticks: at least one tick (`tcp_rtt_estimator`).
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn take_coarse_rtt(&mut self, now: Time, rtt: Duration, clock: Jiffies) {
        let tick = self.config.clock_tick;
        let measured =
            if rtt < tick { tick } else { clock.between(now.saturating_sub(rtt), now).max(tick) };
        if !self.rtt.is_steady_at(measured) {
            self.rtt.sample(measured);
        }
    }

    /// RFC 6298 (5.2, 5.3): new data was acknowledged, so the timer restarts at `now` if anything
    /// is still outstanding, and stops otherwise.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn restart_retransmission(&mut self, now: Time) {
        self.rto_at = if self.sent.is_empty() { Time::NEVER } else { now + self.rtt.rto() };
    }

    /// Starts the timer when data waits because the peer's window is zero, and stops it when the
    /// window opens.
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
