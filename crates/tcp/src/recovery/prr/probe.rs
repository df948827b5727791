//! Tail loss probes: one segment when acknowledgments stay away, so that the loss of a tail is found
//! before the timeout (RFC 8985, 7; `tcp_schedule_loss_probe`, `tcp_send_loss_probe`).

use netstudy_units::{Duration, Time};

use super::ack::AckInfo;
use super::phases;
use super::timer::{self, TIMEOUT_MIN, Timer};
use crate::Endpoint;
use crate::recovery::Phase;

/// A tail loss probe, and its outcome.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Probe {
    /// End of the sent data at the probe; there is no further probe until it is acknowledged; 0: none.
    sent_at_end: u64,
    /// The probe is a retransmission.
    repeats: bool,
    /// The timer was set at that time, and the only change since is newly sent data.
    scheduled_at: Time,
}

impl Probe {
    /// The probe has no outcome any more.
    pub(super) const fn end(&mut self) {
        self.sent_at_end = 0;
    }

    #[inline]
    pub(super) const fn is_out(&self) -> bool {
        self.sent_at_end > 0
    }
}

/// Sets the timer for a probe, unless no probe is allowed; a retransmission is due after `rto`.
#[inline]
pub(super) fn schedule(end: &mut Endpoint, now: Time, rto: Duration) -> bool {
    if !end.recovery.prr.probes_tail || !end.sack || end.phase != Phase::Open {
        return false;
    }
    // RFC 8985 (7.2): two round trips, and for a single segment an acknowledgment that is
    // delayed, which Linux takes for as long as the least timeout.
    let wait = match end.rtt.srtt() {
        None => end.config.initial_rto,
        Some(srtt) if end.sent.len() == 1 => srtt * 2 + end.config.min_rto,
        Some(srtt) => srtt * 2 + TIMEOUT_MIN,
    };
    end.recovery.prr.probe.scheduled_at = now;
    timer::run(end, now, Timer::Probe, wait.min(rto));
    true
}

/// New data was sent (`tcp_event_new_data_sent` and the end of `tcp_write_xmit`).
#[inline]
pub(super) fn schedule_behind(end: &mut Endpoint, now: Time) {
    let timer = end.recovery.prr.timer;
    if timer == Timer::Probe && end.recovery.prr.probe.scheduled_at == now && end.sent.len() > 2 {
        // It is one burst: the timer would be set to the same time.
        return;
    }
    let scheduled = schedule(end, now, timer::until_retransmission(end, now));
    if !scheduled && (end.sent.len() == 1 || timer == Timer::Probe) {
        timer::rearm_retransmission(end, now);
    }
}

/// `tcp_send_loss_probe`: new data if the peer has room for it, otherwise the newest segment.
pub(super) fn expired(end: &mut Endpoint, now: Time) {
    if end.recovery.prr.probe.is_out() {
        timer::rearm_retransmission(end, now);
        return;
    }
    let sends_new = end.has_more_to_send();
    end.recovery.prr.probe =
        Probe { sent_at_end: end.snd_nxt, repeats: !sends_new, scheduled_at: now };
    end.recovery.probe_due = !sends_new;
    end.recovery.new_data_at_once = sends_new;
    // New data as a probe is a burst of its own.
    end.burst_left = u32::from(sends_new);
    end.counters.loss_probes += 1;
    timer::restart_retransmission(end, now);
}

/// There is no probe, and none is due.
pub(super) fn forget(end: &mut Endpoint) {
    end.recovery.prr.probe = Probe::default();
    end.recovery.probe_due = false;
    end.recovery.new_data_at_once = false;
}

/// The probe carried new data: from here on it is about that too.
pub(super) const fn sent_new_data(end: &mut Endpoint) {
    end.recovery.new_data_at_once = false;
    end.recovery.prr.probe.sent_at_end = end.snd_nxt;
}

/// Takes the outcome of a probe from an acknowledgment (RFC 8985, 7.4; `tcp_process_tlp_ack`).
#[cold]
pub(super) fn judge(end: &mut Endpoint, ack: u64, info: &AckInfo) {
    let sent_at_end = end.recovery.prr.probe.sent_at_end;
    if ack < sent_at_end {
        return;
    }
    if !end.recovery.prr.probe.repeats {
        end.recovery.prr.probe.end();
    } else if ack > sent_at_end {
        // The probe itself repaired a loss, to be answered like any other.
        phases::begin_reduction(end);
        end.window.cwnd = end.window.ssthresh;
        phases::keep_open(end);
        end.counters.loss_probe_recoveries += 1;
    } else if info.duplicate && info.newly_sacked == 0 {
        // Both copies arrived.
        end.recovery.prr.probe.end();
    }
}
