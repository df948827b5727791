//! Tail loss probes: one segment when acknowledgments stay away, so that the loss of a tail is found
//! before the timeout (RFC 8985, 7; `tcp_schedule_loss_probe`, `tcp_send_loss_probe`).

use netstudy_units::{Duration, Time};

use super::super::{Endpoint, Phase};
use super::timer::{TIMEOUT_MIN, Timer};
use super::told::Told;
use crate::Segment;

/// A probe, and what becomes of it.
#[derive(Clone, Copy, Debug, Default)]
pub(in super::super) struct Probe {
    /// What had been sent when it was; until that is acknowledged there is no other one; 0: none.
    sent_at_end: u64,
    /// It carries what was sent before.
    repeats: bool,
    /// The newest segment is to be sent again.
    pub(in super::super) due: bool,
    /// One new segment may leave beyond the window.
    pub(in super::super) new_data_due: bool,
    /// The timer was set at that time, and nothing changed but that more was sent.
    scheduled_at: Time,
}

impl Probe {
    /// The probe tells nothing any more.
    pub(super) const fn end(&mut self) {
        self.sent_at_end = 0;
    }

    #[inline]
    pub(in super::super) const fn is_out(&self) -> bool {
        self.sent_at_end > 0
    }
}

impl Endpoint {
    /// Sets the timer for a probe, unless nothing may be probed; a retransmission is due after `rto`.
    #[inline]
    pub(super) fn schedule_probe(&mut self, now: Time, rto: Duration) -> bool {
        if !self.linux6.repair.tail_loss_probe || !self.sack || self.phase != Phase::Open {
            return false;
        }
        // RFC 8985 (7.2): two round trips, and for a single segment an acknowledgment that is
        // delayed, which Linux takes for as long as the least timeout.
        let wait = match self.rtt.srtt() {
            None => self.config.initial_rto,
            Some(srtt) if self.sent.len() == 1 => srtt * 2 + self.config.min_rto,
            Some(srtt) => srtt * 2 + TIMEOUT_MIN,
        };
        self.linux6.probe.scheduled_at = now;
        self.run_timer(now, Timer::Probe, wait.min(rto));
        true
    }

    /// New data was sent (`tcp_event_new_data_sent` and the end of `tcp_write_xmit`).
    #[inline]
    pub(super) fn schedule_probe_behind(&mut self, now: Time) {
        let timer = self.linux6.timer;
        if timer == Timer::Probe && self.linux6.probe.scheduled_at == now && self.sent.len() > 2 {
            // It is one burst: the timer would be set to the same time.
            return;
        }
        let scheduled = self.schedule_probe(now, self.until_retransmission(now));
        if !scheduled && (self.sent.len() == 1 || timer == Timer::Probe) {
            self.rearm_retransmission(now);
        }
    }

    /// `tcp_send_loss_probe`: new data if there is any that the peer takes, else the newest segment.
    pub(super) fn probe_timeout(&mut self, now: Time) {
        if self.linux6.probe.is_out() {
            self.rearm_retransmission(now);
            return;
        }
        let sends_new = self.may_send_more();
        self.linux6.probe = Probe {
            sent_at_end: self.snd_nxt,
            repeats: !sends_new,
            due: !sends_new,
            new_data_due: sends_new,
            scheduled_at: now,
        };
        // New data as a probe is a burst of its own.
        self.burst_left = u32::from(sends_new);
        self.counters.loss_probes += 1;
        self.restart_retransmission(now);
    }

    /// The newest segment goes out again as a probe.
    #[cold]
    pub(in super::super) fn poll_probe(&mut self, now: Time) -> Option<Segment> {
        self.linux6.probe.due = false;
        let again = self.sent.repeat_newest(now)?;
        self.counters.segments_retransmitted += 1;
        Some(self.build(now, &again))
    }

    /// The probe carried new data: from here on it is about that too.
    pub(super) const fn probe_sent_new_data(&mut self) {
        self.linux6.probe.new_data_due = false;
        self.linux6.probe.sent_at_end = self.snd_nxt;
    }

    /// What an acknowledgment says of a probe (RFC 8985, 7.4; `tcp_process_tlp_ack`).
    #[cold]
    pub(super) fn judge_probe(&mut self, ack: u64, told: &Told) {
        let end = self.linux6.probe.sent_at_end;
        if ack < end {
            return;
        }
        if !self.linux6.probe.repeats {
            self.linux6.probe.end();
        } else if ack > end {
            // The probe itself repaired a loss, to be answered like any other.
            self.begin_reduction();
            self.window.cwnd = self.window.ssthresh;
            self.keep_open();
            self.counters.loss_probe_recoveries += 1;
        } else if told.duplicate && told.newly_sacked == 0 {
            // Both copies arrived.
            self.linux6.probe.end();
        }
    }
}
