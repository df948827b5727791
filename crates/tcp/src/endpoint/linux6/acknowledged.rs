//! Acknowledgments coming in: what they tell, and what the window makes of it (`tcp_ack`).

use netstudy_units::{Duration, Time};

use super::super::{Endpoint, Phase};
use super::prr::Delivery;
use super::told::{Span, Told};
use super::undo;
use crate::recovery::DUP_THRESH;
use crate::{Acked, CongestionControl, Delivered, Segment, SentSegment};

impl Endpoint {
    /// `tcp_ack`
    #[inline(never)]
    pub(in super::super) fn handle_ack_linux6(
        &mut self,
        now: Time,
        segment: &Segment,
        window_changed: bool,
    ) {
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
    pub(in super::super) fn handle_idle_ack(&mut self, segment: &Segment, window_changed: bool) {
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
            acked: Span::default(),
            sacked: Span::default(),
        }
    }

    /// `tcp_highest_sack_seq`
    #[inline]
    pub(super) fn sacked_end(&self) -> u64 {
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
            let was_sacked = acked.is_sacked();
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
    pub(super) fn see_reordering(&mut self, lowest: u64) {
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
        let reorders = self.linux6.rack.reordering > DUP_THRESH;
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
    pub(super) fn reduce_window(&mut self, segments: u32, is_safe: bool) {
        if segments > 0 {
            let in_flight = self.in_flight();
            let delivery = Delivery { segments, is_safe };
            let allowance = self.linux6.prr.allowance(delivery, in_flight, self.window.ssthresh);
            self.window.cwnd = (in_flight + allowance).max(1);
        }
    }
}
