//! Loss recovery of Linux 2.6.18: forward acknowledgment and rate halving.
//!
//! The names are those of `net/ipv4/tcp_input.c` (`tcp_ack`, `tcp_fastretrans_alert` and what they
//! call). What is left out: undoing of a reduction that turned out to be needless, which takes
//! reordering or spurious timeouts; and segments that count as lost because they are older than the
//! timeout although the timer was restarted (`tcp_head_timedout`).

use netstudy_units::Time;

use super::{Endpoint, Phase};
use crate::recovery::DUP_THRESH;
use crate::{Acked, CongestionControl, Segment};

/// Segments that may leave in a burst when something looks lost (`tcp_max_burst`).
const MAX_BURST: u32 = 3;

impl Endpoint {
    /// `tcp_ack`
    #[inline]
    pub(super) fn handle_ack_fack(&mut self, now: Time, segment: &Segment, window_changed: bool) {
        let mut prior_in_flight = self.in_flight();
        let advanced = segment.ack > self.snd_una;
        let mut newly_sacked = 0;
        if !segment.sack.is_empty() {
            newly_sacked = self.sent.mark_sacked(segment.ack, &segment.sack);
            prior_in_flight = self.in_flight();
        }
        let mut segments = 0;
        if advanced {
            let acked = self.sent.acknowledge(segment.ack);
            segments = acked.segments;
            self.snd_una = segment.ack;
            self.take_delivered(now, segment, &acked);
            self.rto_at = if self.sent.is_empty() { Time::NEVER } else { now + self.rtt.rto() };
        }
        let is_duplicate = !advanced && segment.sequence_len() == 0 && !window_changed;
        if self.phase == Phase::Open && !is_duplicate && newly_sacked == 0 {
            if advanced {
                self.window_judged_at = now;
                self.raise_window(now, segments, prior_in_flight);
            }
            return;
        }
        if self.sent.is_empty() && !advanced {
            return;
        }
        self.window_judged_at = now;
        self.counters.duplicate_acks_received += u64::from(!advanced);
        if self.phase == Phase::Recovery && newly_sacked > 0 {
            let newest = segment.sack.iter(segment.ack).map(|block| block.end).max();
            self.sent.lose_copies(newest.unwrap_or(0));
        }
        if advanced && self.phase != Phase::Recovery {
            self.raise_window(now, segments, prior_in_flight);
        }
        self.alert(advanced, is_duplicate);
    }

    /// `tcp_cong_avoid` behind `tcp_is_cwnd_limited`
    #[inline]
    fn raise_window(&mut self, now: Time, segments: u32, in_flight: u32) {
        if self.is_lowered_for_mark() {
            return;
        }
        let left = self.window.cwnd.saturating_sub(in_flight);
        // With segmentation offload, what is put off still counts as use of the window.
        if left == 0 || (self.config.offload_bytes > 0 && left * 3 < self.window.cwnd) {
            self.congestion.on_ack(Acked { now, segments }, &mut self.window);
        }
    }

    /// `tcp_fastretrans_alert`
    #[cold]
    fn alert(&mut self, advanced: bool, is_duplicate: bool) {
        if self.phase != Phase::Open && self.snd_una >= self.recovery_point {
            self.leave_phase();
        }
        let mut find_losses = is_duplicate;
        match self.phase {
            Phase::Recovery => {
                if advanced {
                    // `tcp_try_undo_partial`
                    find_losses = self.sent.facked() > DUP_THRESH;
                }
            }
            Phase::Loss => {
                self.advanced_in_loss |= advanced;
                self.moderate_window();
                return;
            }
            Phase::Open | Phase::Disorder => {
                if !self.is_time_to_recover() {
                    self.try_to_open();
                    return;
                }
                self.start_rate_halving();
                find_losses = true;
            }
        }
        if find_losses {
            self.update_scoreboard();
        }
        self.lower_window();
    }

    /// What was sent before the phase began is acknowledged.
    fn leave_phase(&mut self) {
        match self.phase {
            Phase::Recovery => {
                self.window.cwnd = self.window.cwnd.min(self.window.ssthresh);
                self.phase = Phase::Open;
            }
            Phase::Loss => self.phase = Phase::Open,
            Phase::Disorder if !self.reduced || self.snd_una > self.recovery_point => {
                self.reduced = false;
                self.phase = Phase::Open;
            }
            Phase::Disorder | Phase::Open => {}
        }
    }

    /// `tcp_time_to_recover`
    fn is_time_to_recover(&self) -> bool {
        let out = self.sent.len();
        self.sent.lost() > 0
            || self.sent.facked() > DUP_THRESH
            || (out <= DUP_THRESH
                && out > 0
                && self.sent.sacked() >= (out / 2).max(DUP_THRESH)
                && self.snd_nxt >= self.write_end)
    }

    /// `tcp_try_to_open`
    fn try_to_open(&mut self) {
        let is_open = self.sent.sacked() == 0 && self.sent.retransmitted() == 0 && !self.reduced;
        let phase = if is_open { Phase::Open } else { Phase::Disorder };
        if phase != self.phase {
            self.phase = phase;
            self.recovery_point = self.snd_nxt;
        }
        self.moderate_window();
    }

    fn start_rate_halving(&mut self) {
        self.recovery_point = self.snd_nxt;
        self.lower_threshold();
        self.window.credit = 0;
        self.phase = Phase::Recovery;
        self.reduced = true;
        self.counters.fast_recoveries += 1;
    }

    /// `tcp_update_scoreboard`: all but the last three segments up to the newest SACKed one are lost.
    fn update_scoreboard(&mut self) {
        let lost = self.sent.facked().saturating_sub(DUP_THRESH).max(1);
        self.sent.lose_head(lost, self.recovery_point);
    }

    /// `tcp_cwnd_down`: down by one on every second acknowledgment, not below the threshold, and never
    /// more than one above what is in flight.
    fn lower_window(&mut self) {
        let decrement = self.window.credit + 1;
        self.window.credit = decrement & 1;
        if decrement > 1 && self.window.cwnd > self.window.ssthresh {
            self.window.cwnd -= 1;
        }
        self.window.cwnd = self.window.cwnd.min(self.in_flight() + 1);
    }

    /// `tcp_moderate_cwnd`
    fn moderate_window(&mut self) {
        self.window.cwnd = self.window.cwnd.min(self.in_flight() + MAX_BURST);
    }

    /// `tcp_cwnd_validate`: a window that was neither used up nor judged by an acknowledgment for a
    /// timeout, because the application had nothing to send, shrinks half way to what was used.
    pub(super) fn validate_window(&mut self, now: Time) {
        let out = self.sent.len();
        if out >= self.window.cwnd {
            self.window_used = 0;
            self.window_judged_at = now;
            return;
        }
        self.starve_window(now, out);
    }

    /// The window is not used up: only `out` segments are on the way.
    #[inline]
    pub(super) fn starve_window(&mut self, now: Time, out: u32) {
        self.window_used = self.window_used.max(out);
        if now.since(self.window_judged_at) >= self.rtt.rto() {
            if self.phase == Phase::Open && self.snd_nxt >= self.write_end {
                let used = self.window_used.max(self.initial_window());
                if used < self.window.cwnd {
                    self.window.ssthresh = self.window.ssthresh.max(self.three_quarters());
                    self.window.cwnd = u32::midpoint(self.window.cwnd, used);
                }
            }
            self.window_used = 0;
            self.window_judged_at = now;
        }
    }
}
