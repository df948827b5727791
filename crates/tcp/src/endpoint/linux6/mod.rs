//! Loss recovery of Linux 6: RACK, tail loss probes, proportional rate reduction and F-RTO.
//!
//! The names in brackets are those of the kernel (`net/ipv4/tcp_input.c` where no other file is
//! named): [`Endpoint::handle_ack_linux6`] is `tcp_ack`, the state machine is
//! `tcp_fastretrans_alert`. A connection without SACK goes the same way with duplicate
//! acknowledgments in place of SACKs (`newreno`). What is left out: reports of duplicates (RFC 2883),
//! since receivers here do not make them, and all that follows from them; a phase of its own for
//! congestion marks (see `ecn`); a receiver that takes back what it SACKed.

mod newreno;
mod probe;
mod prr;
mod rack;
mod timer;
mod told;
mod undo;
mod window_use;

use netstudy_units::{Duration, Time};

use super::{Config, Endpoint, Phase, Recovery};
use crate::{Acked, CongestionControl, Delivered, Segment, SentSegment, SentSegments};
use probe::Probe;
use prr::{Delivery, Prr};
use rack::Rack;
use timer::Timer;
use told::Told;
use undo::Undo;
use window_use::WindowUse;

/// Which parts of loss detection are on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Repair {
    /// The window follows proportional rate reduction: this recovery is the one in use.
    pub(super) on: bool,
    rack: bool,
    tail_loss_probe: bool,
}

impl Repair {
    const fn new(recovery: Recovery) -> Self {
        match recovery {
            Recovery::Prr { rack, tail_loss_probe } => Self { on: true, rack, tail_loss_probe },
            Recovery::Rfc | Recovery::Fack => {
                Self { on: false, rack: false, tail_loss_probe: false }
            }
        }
    }
}

/// What this recovery knows of a connection.
#[derive(Clone, Copy, Debug)]
pub(super) struct Linux6 {
    pub(super) repair: Repair,
    pub(super) probe: Probe,
    /// Until the next acknowledgment, only new data may be sent.
    pub(super) holds_retransmissions: bool,
    timer: Timer,
    window_use: WindowUse,
    rack: Rack,
    prr: Prr,
    undo: Undo,
}

impl Linux6 {
    pub(super) fn new(recovery: Recovery) -> Self {
        Self {
            repair: Repair::new(recovery),
            probe: Probe::default(),
            holds_retransmissions: false,
            timer: Timer::default(),
            window_use: WindowUse::default(),
            rack: Rack::new(),
            prr: Prr::default(),
            undo: Undo::default(),
        }
    }

    /// The least round-trip time, as far as this recovery has looked for it.
    pub(super) const fn min_rtt(&self) -> Option<Duration> {
        self.rack.min_rtt()
    }
}

/// The least timeout is whole ticks (`tcp_rto_min`).
pub(super) fn with_whole_ticks(mut config: Config) -> Config {
    let tick = config.clock_tick;
    if tick > Duration::ZERO && matches!(config.recovery, Recovery::Prr { .. }) {
        config.min_rto = tick * config.min_rto.as_ps().div_ceil(tick.as_ps());
    }
    config
}

// ---- acknowledgments

impl Endpoint {
    /// `tcp_ack`
    #[inline(never)]
    pub(super) fn handle_ack_linux6(&mut self, now: Time, segment: &Segment, window_changed: bool) {
        let mut told = self.told(segment, window_changed);
        self.linux6.holds_retransmissions = false;
        self.snd_una = segment.ack;
        if self.sack && !segment.sack.is_empty() {
            self.take_sacked(now, segment, &mut told);
        }
        if told.advanced {
            self.take_acknowledged(now, segment, &mut told);
        }
        self.take_round_trip(now, segment, &mut told);
        if self.linux6.probe.is_out() {
            self.judge_probe(segment.ack, &told);
        }
        if told.duplicate || told.newly_sacked > 0 || self.phase != Phase::Open {
            self.alert_linux6(now, segment, &mut told);
        }
        if told.restarts_timer {
            self.restart_timer(now);
        }
        self.control_window(now, &told);
    }

    /// An acknowledgment while nothing is outstanding tells of a probe at most.
    #[cold]
    pub(super) fn handle_idle_ack(&mut self, segment: &Segment, window_changed: bool) {
        let told = self.told(segment, window_changed);
        if self.linux6.probe.is_out() {
            self.judge_probe(segment.ack, &told);
        }
    }

    #[inline]
    fn told(&self, segment: &Segment, window_changed: bool) -> Told {
        let advanced = segment.ack > self.snd_una;
        Told {
            prior_una: self.snd_una,
            prior_sacked_end: self.sacked_end(),
            prior_losses: self.sent.losses(),
            advanced,
            duplicate: !advanced && segment.sequence_len() == 0 && !window_changed,
            newly_sacked: 0,
            segments: 0,
            delivered: 0,
            original_arrived: false,
            repeat_acknowledged: false,
            copy_lost: false,
            restarts_timer: advanced,
            acked: told::Span::default(),
            sacked: told::Span::default(),
        }
    }

    /// `tcp_highest_sack_seq`
    #[inline]
    fn sacked_end(&self) -> u64 {
        if self.sent.sacked() == 0 {
            return self.snd_una;
        }
        self.sent.sacked_end().unwrap_or(self.snd_una)
    }

    /// `tcp_sacktag_write_queue`
    #[cold]
    fn take_sacked(&mut self, now: Time, segment: &Segment, told: &mut Told) {
        let (rack, recovery_point) = (&mut self.linux6.rack, self.recovery_point);
        let seen = |sacked: &SentSegment| {
            rack.advance(now, sacked);
            if !sacked.was_repeated() {
                told.sacked.take(sacked);
                told.original_arrived |= sacked.end() <= recovery_point;
            }
        };
        let newly = self.sent.mark_sacked_each(segment.ack, &segment.sack, seen);
        told.newly_sacked = newly;
        told.delivered = newly;
        if let Some(lowest) = told.sacked.starts_below(told.prior_sacked_end)
            && (self.phase != Phase::Loss || self.linux6.undo.is_open())
        {
            self.see_reordering(lowest);
        }
    }

    /// `tcp_clean_rtx_queue`
    #[inline]
    fn take_acknowledged(&mut self, now: Time, segment: &Segment, told: &mut Told) {
        let recovery_point = self.recovery_point;
        let (has_sack, echo_ms) = (self.sack, self.echoed_ms(now, segment));
        let rack = &mut self.linux6.rack;
        let mut first_copies = 0;
        let seen = |acked: &SentSegment| {
            let was_sacked = SentSegments::is_sacked(acked);
            if acked.was_repeated() {
                told.repeat_acknowledged = true;
            } else if !was_sacked {
                told.acked.take(acked);
                told.original_arrived |= acked.end() <= recovery_point;
            }
            if !was_sacked {
                first_copies += 1;
                // Not if the copy was for nothing (`tcp_skb_spurious_retrans`).
                if !acked.was_repeated() || !undo::is_before(echo_ms, acked.sent_at) {
                    rack.advance(now, acked);
                }
            }
        };
        told.segments = self.sent.acknowledge_each(segment.ack, seen).segments;
        self.advanced_in_loss = true;
        if has_sack {
            told.delivered += first_copies;
            if let Some(lowest) = told.acked.starts_below(told.prior_sacked_end) {
                // A hole was filled by what had only been sent once.
                self.see_reordering(lowest);
            }
        } else {
            told.delivered += self.remove_duplicates(told.segments);
            told.original_arrived &= !told.repeat_acknowledged;
        }
    }

    /// `tcp_check_sack_reordering`: the segment at `lowest` arrived behind a SACKed one.
    fn see_reordering(&mut self, lowest: u64) {
        let end = self.sacked_end();
        if lowest < end {
            let segments = (end - lowest).div_ceil(u64::from(self.mss));
            self.linux6.rack.see_reordering(segments.min(u64::from(u32::MAX)) as u32);
        }
    }

    /// `tcp_ack_update_rtt`: from segments that were sent once, else from the echoed timestamp, in
    /// the kernel's milliseconds.
    #[inline]
    fn take_round_trip(&mut self, now: Time, segment: &Segment, told: &mut Told) {
        let sure = !told.repeat_acknowledged;
        let oldest_acked = told.acked.since_first(now).filter(|_| sure);
        let by_sack = told.sacked.since_first(now);
        let newest = told.sacked.since_last(now);
        let newest = newest.or_else(|| told.acked.since_last(now).filter(|_| sure));
        let by_echo = || self.echoed_round_trip(now, segment).filter(|_| told.advanced);
        let (rtt, newest) = match oldest_acked.or(by_sack) {
            Some(rtt) => (Some(rtt), newest),
            None => (by_echo(), by_echo()),
        };
        if let Some(rtt) = rtt {
            self.rtt.sample(rtt);
        }
        if let Some(newest) = newest {
            self.linux6.rack.take_rtt(newest);
        }
        // While what is SACKed was sent after the oldest segment, the timer is not put off.
        told.restarts_timer |= by_sack.is_some_and(|rtt| {
            self.sent.oldest().is_some_and(|oldest| rtt > now.since(oldest.sent_at))
        });
        let delivered = Delivered {
            now,
            segments: told.segments,
            rtt: newest,
            srtt: self.rtt.srtt(),
            snd_una: self.snd_una,
            snd_nxt: self.snd_nxt,
            mss_bytes: self.mss,
        };
        self.congestion.on_delivered(&delivered, &mut self.window);
    }

    #[cold]
    fn echoed_round_trip(&self, now: Time, segment: &Segment) -> Option<Duration> {
        let echo = self.echoed_ms(now, segment)?;
        Some(Duration::from_ms((now.as_us() / 1000 - echo).max(1)))
    }

    /// `tcp_cong_control`: reduces the window in a recovery, and else lets it grow if it is in use.
    #[inline]
    fn control_window(&mut self, now: Time, told: &Told) {
        if self.phase == Phase::Recovery {
            let is_safe = told.advanced && self.sent.losses() == told.prior_losses;
            self.reduce_window(told.delivered, is_safe);
            return;
        }
        // On a path that reorders, SACKs count as well (`tcp_may_raise_cwnd`).
        let reorders = self.linux6.rack.reordering > crate::recovery::DUP_THRESH;
        if !(told.advanced || (reorders && told.newly_sacked > 0)) {
            return;
        }
        if self.is_window_limiting() && !self.is_lowered_for_mark() {
            let acked = Acked { now, segments: told.delivered };
            self.congestion.on_ack(acked, &mut self.window);
        }
        self.window_judged_at = now;
    }

    /// `tcp_cwnd_reduction`
    fn reduce_window(&mut self, segments: u32, is_safe: bool) {
        if segments > 0 {
            let in_flight = self.in_flight();
            let delivery = Delivery { segments, is_safe };
            let allowance = self.linux6.prr.allowance(delivery, in_flight, self.window.ssthresh);
            self.window.cwnd = (in_flight + allowance).max(1);
        }
    }
}

// ---- phases

impl Endpoint {
    /// `tcp_fastretrans_alert`
    #[cold]
    fn alert_linux6(&mut self, now: Time, segment: &Segment, told: &mut Told) {
        self.counters.duplicate_acks_received += u64::from(!told.advanced);
        let mut finds = told.duplicate || (told.newly_sacked > 0 && self.is_hole_wide());
        if segment.flags.contains(crate::Flags::ECE) {
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
        if !self.sent.is_any_repeated() {
            self.linux6.undo.first_repeat = None;
        }
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
    fn enter_recovery_linux6(&mut self) {
        self.linux6.undo.begin(self.threshold_to_keep(), self.window.cwnd);
        self.begin_reduction();
        self.phase = Phase::Recovery;
        self.counters.fast_recoveries += 1;
    }

    /// `tcp_init_cwnd_reduction`
    fn begin_reduction(&mut self) {
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
    fn keep_open(&mut self) {
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
    pub(super) fn enter_loss_linux6(&mut self, now: Time) {
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

// ---- what is sent

impl Endpoint {
    /// There is new data that the peer takes.
    fn may_send_more(&self) -> bool {
        self.snd_nxt < self.write_end && self.may_send_data() && self.new_data_len().is_some()
    }

    /// New data, a SYN or a FIN was sent.
    #[inline(never)]
    pub(super) fn fresh_sent(&mut self, now: Time) {
        self.linux6.prr.sent += u32::from(self.phase == Phase::Recovery);
        if self.linux6.probe.new_data_due {
            self.probe_sent_new_data();
        } else if self.snd_nxt > 1 {
            self.schedule_probe_behind(now);
        } else {
            self.restart_retransmission(now);
        }
        self.judge_window_use(now, false);
    }

    /// A segment was sent again (`tcp_retransmit_skb`, and the end of `tcp_xmit_retransmit_queue`).
    pub(super) fn repeat_sent(&mut self, now: Time, again: &SentSegment) {
        self.linux6.prr.sent += u32::from(self.phase == Phase::Recovery);
        self.linux6.undo.first_repeat.get_or_insert(now);
        self.sent.note_copy(again);
        if again.start == self.snd_una && self.linux6.timer != Timer::Reordering {
            self.restart_retransmission(now);
        }
    }
}
