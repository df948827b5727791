//! Acknowledgments coming in: round-trip times, loss recovery, growth of the window.

use netstudy_units::{Duration, Time};

use super::{Endpoint, Phase, Recovery};
use crate::recovery::{Acknowledged, DUP_THRESH};
use crate::{Acked, CongestionControl, Delivered, SackBlocks, Segment};

impl Endpoint {
    #[inline(always)]
    pub(super) fn handle_ack<const PLAIN: bool>(&mut self, now: Time, segment: &Segment) {
        if segment.ack < self.snd_una {
            return;
        }
        let shift = if segment.flags.contains(crate::Flags::SYN) { 0 } else { self.snd_wnd_scale };
        let window = u64::from(segment.window) << shift;
        if segment.ack == self.snd_una && self.sent.is_empty() {
            // Nothing is outstanding: all that an acknowledgment can tell is the window.
            if !PLAIN && self.linux6.repair.on {
                self.handle_idle_ack(segment, window != self.snd_wnd);
            }
            self.snd_wnd = window;
            self.keep_probing(now);
            return;
        }
        let window_changed = window != self.snd_wnd;
        self.snd_wnd = window;
        if !PLAIN && self.ecn.on {
            self.take_echo(segment);
        }
        if !PLAIN && self.linux6.repair.on {
            self.handle_ack_linux6(now, segment, window_changed);
            self.keep_probing(now);
        } else if !PLAIN && self.config.recovery == Recovery::Fack {
            self.handle_ack_fack(now, segment, window_changed);
            self.keep_probing(now);
        } else if segment.ack > self.snd_una {
            self.advance::<PLAIN>(now, segment);
            self.keep_probing(now);
        } else if segment.sequence_len() == 0 || !segment.sack.is_empty() {
            self.handle_duplicate(segment.ack, &segment.sack, window_changed);
        }
    }

    #[inline(always)]
    fn advance<const PLAIN: bool>(&mut self, now: Time, segment: &Segment) {
        let in_flight = self.in_flight();
        let acked = self.sent.acknowledge(segment.ack);
        self.snd_una = segment.ack;
        self.take_delivered(now, segment, &acked);
        self.rto_at = if self.sent.is_empty() { Time::NEVER } else { now + self.rtt.rto() };
        // Only duplicates above what is now acknowledged are still held by the receiver.
        if self.dup_acks > 0 {
            self.dup_acks = self.dup_acks.saturating_sub(acked.segments.saturating_sub(1));
        }
        if !segment.sack.is_empty() {
            self.sent.sack(segment.ack, &segment.sack);
        }
        if self.phase == Phase::Open && self.sent.sacked() == 0 {
            self.grow::<PLAIN>(now, &acked, in_flight);
        } else {
            self.advance_recovery(now, &acked, in_flight);
        }
    }

    /// Takes the round-trip time, for the timer and for congestion control.
    #[inline(always)]
    pub(super) fn take_delivered(&mut self, now: Time, segment: &Segment, acked: &Acknowledged) {
        let rtt = self.take_rtt(now, segment, acked);
        if self.phase == Phase::Open && self.congestion.heeds_deliveries() {
            let delivered = Delivered {
                now,
                segments: acked.segments,
                rtt,
                srtt: self.rtt.srtt(),
                snd_una: self.snd_una,
                snd_nxt: self.snd_nxt,
                mss_bytes: self.mss,
            };
            self.congestion.on_delivered(&delivered, &mut self.window);
        }
    }

    /// A sample from the segments themselves if none was sent twice, else from the echoed timestamp.
    #[inline(always)]
    fn take_rtt(&mut self, now: Time, segment: &Segment, acked: &Acknowledged) -> Option<Duration> {
        let rtt = if let Some(sent_at) = acked.sent_at {
            now.since(sent_at)
        } else if self.timestamps && segment.timestamps {
            let ticks = Self::timestamp(now).wrapping_sub(segment.ts_echo);
            Duration::from_us(u64::from(ticks))
        } else {
            return None;
        };
        self.rtt.sample(rtt);
        Some(rtt)
    }

    /// The window grows only when it was what held sending back (RFC 2861, 3).
    #[inline(always)]
    fn grow<const PLAIN: bool>(&mut self, now: Time, acked: &Acknowledged, in_flight: u32) {
        if in_flight >= self.window.cwnd && (PLAIN || !self.is_lowered_for_mark()) {
            let acked = Acked { now, segments: acked.segments };
            self.congestion.on_ack(acked, &mut self.window);
        }
    }

    #[cold]
    fn advance_recovery(&mut self, now: Time, acked: &Acknowledged, in_flight: u32) {
        match self.phase {
            Phase::Open | Phase::Disorder => {
                self.dup_acks = 0;
                self.grow::<false>(now, acked, in_flight);
            }
            Phase::Recovery if self.snd_una >= self.recovery_point => self.end_recovery(),
            Phase::Recovery => self.repair_partial(),
            Phase::Loss if self.snd_una >= self.recovery_point => self.end_loss(),
            Phase::Loss => self.grow_in_loss(now, acked),
        }
        self.react_to_losses();
    }

    /// RFC 6675 (5): the window is the threshold when recovery ends; RFC 6582 (3.2) likewise.
    const fn end_recovery(&mut self) {
        self.window.cwnd = self.window.ssthresh;
        self.window.credit = 0;
        self.dup_acks = 0;
        self.phase = Phase::Open;
    }

    const fn end_loss(&mut self) {
        self.dup_acks = 0;
        self.phase = Phase::Open;
    }

    /// Without SACK, a partial acknowledgment says that the next segment is lost too, and that it is
    /// sent again at once (RFC 6582, 3.2, step 3).
    fn repair_partial(&mut self) {
        if !self.sack {
            self.sent.lose_oldest();
            self.retransmit_at_once = self.sent.may_retransmit();
        }
    }

    fn grow_in_loss(&mut self, now: Time, acked: &Acknowledged) {
        let acked = Acked { now, segments: acked.segments };
        self.congestion.on_ack(acked, &mut self.window);
    }

    #[inline]
    fn handle_duplicate(&mut self, ack: u64, sack: &SackBlocks, window_changed: bool) {
        self.counters.duplicate_acks_received += 1;
        if self.sack {
            if !sack.is_empty() {
                self.sent.sack(ack, sack);
            }
        } else if !window_changed {
            self.count_duplicate();
        }
        self.react_to_losses();
    }

    fn count_duplicate(&mut self) {
        self.dup_acks = (self.dup_acks + 1).min(self.sent.len());
        // RFC 6582 (3.2, step 1): only if more is acknowledged than was sent when an earlier recovery
        // began or a timeout fired: else the duplicates may come from what was sent again in vain.
        if self.dup_acks >= DUP_THRESH && self.snd_una > self.recovery_point {
            self.sent.lose_oldest();
        }
    }

    /// Enters recovery when a loss was found, and tells order from disorder.
    fn react_to_losses(&mut self) {
        if matches!(self.phase, Phase::Recovery | Phase::Loss) {
            return;
        }
        if self.sent.lost() > 0 {
            self.enter_recovery();
        } else if self.sent.sacked() > 0 || self.dup_acks > 0 {
            self.phase = Phase::Disorder;
        } else {
            self.phase = Phase::Open;
        }
    }

    fn enter_recovery(&mut self) {
        self.lower_threshold();
        self.window.cwnd = self.window.ssthresh;
        self.window.credit = 0;
        self.recovery_point = self.snd_nxt;
        self.phase = Phase::Recovery;
        self.rescue_after = self.sent.oldest_end();
        // RFC 6675 (5, step 4.3); RFC 5681 (3.2, step 3): whatever the window allows.
        self.retransmit_at_once = self.sent.may_retransmit();
        self.counters.fast_recoveries += 1;
    }

    /// `FlightSize` of RFC 5681 (2): sent and not acknowledged cumulatively, losses included. What
    /// limited transmit added beyond the window does not count (RFC 6675, 5, step 4.2).
    ///
    /// Linux 6 halves the window, whether or not it is used (`tcp_reno_ssthresh`).
    pub(super) fn flight_size(&self) -> u32 {
        if self.linux6.repair.on {
            return self.window.cwnd;
        }
        self.sent.len().min(self.window.cwnd)
    }

    /// Runs the timer while data waits for a window that is shut, and no longer.
    #[inline(always)]
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
