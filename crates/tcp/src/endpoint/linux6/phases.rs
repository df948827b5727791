//! The state machine: Open, Disorder, Recovery and Loss (`tcp_fastretrans_alert`).

use netstudy_units::Time;

use super::super::{Endpoint, Phase};
use super::probe::Probe;
use super::prr::Prr;
use super::told::Told;
use crate::{CongestionControl, Flags, Segment};

impl Endpoint {
    /// `tcp_fastretrans_alert`
    #[cold]
    pub(super) fn alert_linux6(&mut self, now: Time, segment: &Segment, told: &mut Told) {
        self.counters.duplicate_acks_received += u64::from(!told.advanced);
        let mut finds = told.duplicate || (told.newly_sacked > 0 && self.is_hole_wide());
        if segment.flags.contains(Flags::ECE) {
            self.linux6.undo.forbid();
        }
        if self.phase == Phase::Open {
            self.linux6.undo.first_repeat = None;
        } else if self.phase == Phase::Recovery && self.snd_una >= self.recovery_point {
            self.dup_acks = 0;
            if self.undo_recovery(now, segment) {
                return;
            }
            self.end_reduction();
        }
        let enters = match self.phase {
            Phase::Recovery => {
                if !told.advanced {
                    self.take_duplicate(told);
                } else if self.undo_partly(now, segment, told) {
                    self.linux6.holds_retransmissions = true;
                    return;
                } else {
                    finds |= self.is_hole_wide();
                }
                self.find_losses(now, told);
                self.phase != Phase::Recovery && self.sent.lost() > 0
            }
            Phase::Loss => {
                self.process_loss(now, segment, told);
                self.find_losses(now, told);
                if self.phase != Phase::Open && !told.copy_lost {
                    return;
                }
                self.look_for_recovery(now, told)
            }
            Phase::Open | Phase::Disorder => self.look_for_recovery(now, told),
        };
        if enters {
            self.enter_recovery_linux6();
        }
        if !self.linux6.repair.rack && self.sack && finds && self.phase == Phase::Recovery {
            self.update_scoreboard_linux6(enters);
        }
    }

    /// The part of the state machine that is common to all phases without a recovery: whether one is
    /// to begin.
    fn look_for_recovery(&mut self, now: Time, told: &mut Told) -> bool {
        if told.advanced {
            self.dup_acks = 0;
        }
        self.take_duplicate(told);
        self.find_losses(now, told);
        // `tcp_time_to_recover`
        let by_count = !self.linux6.repair.rack
            && self.sent.sacked() + self.dup_acks >= self.linux6.rack.reordering;
        if self.sent.lost() > 0 || by_count {
            return true;
        }
        // `tcp_try_to_open`
        self.forget_repeats();
        self.keep_open();
        false
    }

    fn take_duplicate(&mut self, told: &mut Told) {
        if told.duplicate && !self.sack {
            told.delivered += self.add_duplicate();
        }
    }

    /// `tcp_identify_packet_loss`
    fn find_losses(&mut self, now: Time, told: &mut Told) {
        if self.sent.is_empty() {
            return;
        }
        if !self.sack {
            self.lose_oldest_by_duplicates(told.advanced);
        } else if self.linux6.repair.rack {
            let copies = self.sent.retransmitted();
            told.restarts_timer &= !self.look_for_overdue(now);
            told.copy_lost |= self.sent.retransmitted() < copies;
        }
    }

    /// `tcp_force_fast_retransmit`
    fn is_hole_wide(&self) -> bool {
        let width = u64::from(self.linux6.rack.reordering) * u64::from(self.mss);
        self.sacked_end() > self.snd_una + width
    }

    /// `tcp_update_scoreboard`: without RACK, a segment is lost if as many above it are SACKed as
    /// reordering explains (RFC 6675, 4), and the oldest one where a recovery begins.
    fn update_scoreboard_linux6(&mut self, begins: bool) {
        let reordering = self.linux6.rack.reordering;
        if self.sent.sacked() >= reordering {
            self.sent.decide_lost(reordering);
        } else if begins {
            self.sent.lose_oldest();
        }
    }

    /// `tcp_enter_recovery`
    pub(super) fn enter_recovery_linux6(&mut self) {
        self.linux6.undo.begin(self.threshold_to_keep(), self.window.cwnd);
        self.begin_reduction();
        self.phase = Phase::Recovery;
        self.counters.fast_recoveries += 1;
    }

    /// `tcp_init_cwnd_reduction`
    pub(super) fn begin_reduction(&mut self) {
        self.recovery_point = self.snd_nxt;
        self.linux6.probe.end();
        self.linux6.prr = Prr::new(self.window.cwnd);
        self.window.credit = 0;
        self.lower_threshold();
    }

    /// `tcp_end_cwnd_reduction`: the window is the threshold, unless the reduction was undone.
    fn end_reduction(&mut self) {
        if self.linux6.undo.is_open() {
            self.window.cwnd = self.window.ssthresh;
        }
    }

    /// `tcp_try_keep_open`
    pub(super) fn keep_open(&mut self) {
        let is_clear = self.sent.sacked() + self.sent.lost() + self.dup_acks == 0
            && !self.sent.is_any_repeated();
        let phase = if is_clear { Phase::Open } else { Phase::Disorder };
        if phase != self.phase {
            self.phase = phase;
            self.recovery_point = self.snd_nxt;
        }
    }

    /// An acknowledgment behind a timeout (`tcp_process_loss`; RFC 5682, 3.1).
    fn process_loss(&mut self, now: Time, segment: &Segment, told: &mut Told) {
        let recovered = self.snd_una >= self.recovery_point;
        if told.advanced && self.undo_loss(now, segment, false) {
            return;
        }
        if self.linux6.undo.after_timeout {
            if told.original_arrived && self.undo_loss(now, segment, true) {
                return;
            }
            if self.snd_nxt > self.recovery_point {
                // Step 3.a: what was sent since arrived, and what was sent before did not.
                self.linux6.undo.after_timeout &= told.newly_sacked == 0 && !told.duplicate;
            } else if told.advanced && !recovered {
                // Step 2.b: new data tells whether what is left arrived as well.
                if self.may_send_more() {
                    self.linux6.holds_retransmissions = true;
                    return;
                }
                self.linux6.undo.after_timeout = false;
            }
        }
        if recovered {
            self.undo_recovery(now, segment);
        } else if !self.sack && self.snd_nxt > self.recovery_point && told.duplicate {
            self.take_duplicate(told);
        } else if told.advanced {
            self.dup_acks = 0;
        }
    }

    /// The retransmission timer expired (`tcp_enter_loss`).
    pub(in super::super) fn enter_loss_linux6(&mut self, now: Time) {
        let is_new = matches!(self.phase, Phase::Open | Phase::Disorder);
        let after_progress = self.phase == Phase::Loss && self.advanced_in_loss;
        let sacked = self.sent.sacked();
        self.dup_acks = 0;
        self.lose_timed_out(now, self.sack && self.linux6.repair.rack);
        if is_new || self.recovery_point <= self.snd_una || after_progress {
            let (ssthresh, cwnd) = (self.threshold_to_keep(), self.window.cwnd);
            self.lower_threshold();
            // The loss of a SYN is no matter of the window.
            if self.snd_nxt > 1 {
                self.linux6.undo.begin(ssthresh, cwnd);
            }
        }
        if is_new {
            self.linux6.rack.doubt_reordering(sacked);
        }
        self.linux6.undo.after_timeout =
            is_new || (self.phase == Phase::Loss && !self.advanced_in_loss);
        self.linux6.probe = Probe::default();
        self.ecn.lowered_at = 0;
        self.congestion.on_timeout();
        self.window.cwnd = self.in_flight() + 1;
        self.window.credit = 0;
        self.phase = Phase::Loss;
        self.advanced_in_loss = false;
        self.recovery_point = self.snd_nxt;
    }
}
