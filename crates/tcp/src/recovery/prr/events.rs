//! How this recovery reacts to an acknowledgment (`tcp_ack`), to a transmission, and to the timer.
//!
//! An acknowledgment changes the congestion window: in a recovery by proportional rate reduction
//! (RFC 6937); otherwise the window grows if it limits the sender (`tcp_cwnd_validate`,
//! `tcp_is_cwnd_limited`).
//!
//! A tail loss probe is one segment that is sent when acknowledgments do not arrive, so that a loss
//! of the last segments in flight is found before the timeout (RFC 8985, 7;
//! `tcp_schedule_loss_probe`, `tcp_send_loss_probe`).

use netstudy_units::{Duration, Time};

use super::phases;
use super::state::{AckInfo, Delivery, Probe, Span, TIMEOUT_MIN, Timer, WindowUse, is_before};
use crate::endpoint::OfAck;
use crate::recovery::algorithm::{DUP_THRESH, Phase};
use crate::{Acked, CongestionControl, Delivered, Endpoint, Segment, SentSegment};

/// `tcp_ack`
#[inline(never)]
pub(super) fn on_ack(end: &mut Endpoint, now: Time, segment: &Segment, window_changed: bool) {
    let mut info = ack_info(end, segment, window_changed);
    let prior = end.paced.is_some().then(|| Prior::of(end));
    end.recovery.holds_retransmissions = false;
    end.snd_una = segment.ack;
    if end.sack && !segment.sack.is_empty() {
        take_sacked(end, now, segment, &mut info);
    }
    if info.advanced {
        take_acknowledged(end, now, segment, &mut info);
    }
    take_round_trip(end, now, segment, &mut info);
    if end.recovery.prr.probe.is_out() {
        judge_probe(end, segment.ack, &info);
    }
    if info.duplicate || info.newly_sacked > 0 || end.phase != Phase::Open {
        phases::alert(end, now, segment, &mut info);
    }
    if info.restarts_timer {
        restart_timer(end, now);
    }
    match prior {
        None => control_window(end, now, &info),
        Some(prior) => control_by_rate(end, now, &info, prior),
    }
}

/// An acknowledgment while nothing is outstanding matters only as the answer to a tail loss probe.
#[cold]
pub(super) fn on_idle_ack(end: &mut Endpoint, segment: &Segment, window_changed: bool) {
    let info = ack_info(end, segment, window_changed);
    if end.recovery.prr.probe.is_out() {
        judge_probe(end, segment.ack, &info);
    }
}

#[inline]
fn ack_info(end: &Endpoint, segment: &Segment, window_changed: bool) -> AckInfo {
    let advanced = segment.ack > end.snd_una;
    AckInfo {
        prior_una: end.snd_una,
        prior_sacked_end: phases::sacked_end(end),
        prior_losses: end.sent.losses(),
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
        newest_rtt: None,
    }
}

/// `tcp_sacktag_write_queue`
#[cold]
fn take_sacked(end: &mut Endpoint, now: Time, segment: &Segment, info: &mut AckInfo) {
    let (rack, recovery_point) = (&mut end.recovery.prr.rack, end.recovery_point);
    let paced = &mut end.paced;
    let seen = |number: u64, sacked: &SentSegment| {
        if let Some(paced) = paced {
            paced.rates.sacked(number, sacked);
        }
        rack.advance(now, sacked);
        if !sacked.was_repeated() {
            info.sacked.take(sacked);
            info.original_arrived |= sacked.end() <= recovery_point;
        }
    };
    let newly = end.sent.mark_sacked_each(segment.ack, &segment.sack, seen);
    info.newly_sacked = newly;
    info.delivered = newly;
    if let Some(lowest) = info.sacked.starts_below(info.prior_sacked_end)
        && (end.phase != Phase::Loss || end.recovery.prr.undo.is_open)
    {
        phases::see_reordering(end, lowest);
    }
}

/// `tcp_clean_rtx_queue`
#[inline]
fn take_acknowledged(end: &mut Endpoint, now: Time, segment: &Segment, info: &mut AckInfo) {
    let recovery_point = end.recovery_point;
    let (has_sack, echo_ms) = (end.sack, phases::echoed_ms(end, now, segment));
    let rack = &mut end.recovery.prr.rack;
    let mut first_copies = 0;
    let seen = |acked: &SentSegment| {
        let was_sacked = acked.is_sacked();
        if acked.was_repeated() {
            info.repeat_acknowledged = true;
        } else if !was_sacked {
            info.acked.take(acked);
            info.original_arrived |= acked.end() <= recovery_point;
        }
        // A segment that was SACKed before was counted, and checked for reordering, when its SACK
        // arrived.
        if !was_sacked {
            first_copies += 1;
            // The segment is not used for RACK if its retransmission was spurious
            // (`tcp_skb_spurious_retrans`).
            if !acked.was_repeated() || !is_before(echo_ms, acked.sent_at) {
                rack.advance(now, acked);
            }
        }
    };
    if let Some(paced) = &mut end.paced {
        paced.rates.acknowledged(&end.sent, segment.ack);
    }
    info.segments = end.sent.acknowledge_each(segment.ack, seen).segments;
    end.recovery.prr.advanced_in_loss = true;
    if has_sack {
        info.delivered += first_copies;
        if let Some(lowest) = info.acked.starts_below(info.prior_sacked_end) {
            // A segment that was sent only once has filled a hole, so the path has reordered it.
            phases::see_reordering(end, lowest);
        }
    } else {
        info.delivered += phases::remove_duplicates(end, info.segments);
        // Without SACK, an original and its retransmission cannot be distinguished.
        info.original_arrived &= !info.repeat_acknowledged;
    }
}

/// `tcp_ack_update_rtt`: takes the round-trip time from segments that were sent only once,
/// otherwise from the echoed timestamp, in milliseconds like the kernel.
#[inline]
fn take_round_trip(end: &mut Endpoint, now: Time, segment: &Segment, info: &mut AckInfo) {
    // Karn's algorithm: the acknowledgment of a retransmitted segment may be for either copy.
    let sure = !info.repeat_acknowledged;
    let oldest_acked = info.acked.since_first(now).filter(|_| sure);
    let by_sack = info.sacked.since_first(now);
    let newest = info.sacked.since_last(now);
    let newest = newest.or_else(|| info.acked.since_last(now).filter(|_| sure));
    let by_echo = || echoed_round_trip(end, now, segment).filter(|_| info.advanced);
    let (rtt, newest) = match oldest_acked.or(by_sack) {
        Some(rtt) => (Some(rtt), newest),
        // The timestamp distinguishes original and retransmission, at the kernel's resolution (RFC
        // 7323, 4).
        None => (by_echo(), by_echo()),
    };
    if let Some(rtt) = rtt {
        end.rtt.sample(rtt);
    }
    if let Some(newest) = newest {
        end.recovery.prr.rack.take_rtt(newest);
    }
    info.newest_rtt = newest;
    // The timer restarts only for SACKed segments that were sent before the oldest outstanding one.
    info.restarts_timer |= by_sack
        .is_some_and(|rtt| end.sent.oldest().is_some_and(|oldest| rtt > now.since(oldest.sent_at)));
    let delivered = Delivered {
        now,
        entries: info.segments,
        rtt: newest,
        srtt: end.rtt.srtt(),
        snd_una: end.snd_una,
        snd_nxt: end.snd_nxt,
        mss_bytes: end.mss,
    };
    end.congestion.on_delivered(&delivered, &mut end.window);
}

#[cold]
fn echoed_round_trip(end: &Endpoint, now: Time, segment: &Segment) -> Option<Duration> {
    let echo = phases::echoed_ms(end, now, segment)?;
    Some(Duration::from_ms((now.as_us() / 1000 - echo).max(1)))
}

// ---- the window

/// `tcp_cong_control`: reduces the window in a recovery; otherwise lets it grow if it limits the
/// sender.
#[inline]
fn control_window(end: &mut Endpoint, now: Time, info: &AckInfo) {
    if end.phase == Phase::Recovery {
        let is_safe = info.advanced && end.sent.losses() == info.prior_losses;
        reduce_window(end, info.delivered, is_safe);
        return;
    }
    // On a path that reorders, the window also grows on SACKs (`tcp_may_raise_cwnd`).
    let reorders = end.recovery.prr.rack.reordering > DUP_THRESH;
    if !(info.advanced || (reorders && info.newly_sacked > 0)) {
        return;
    }
    if is_limiting(end) && !end.is_lowered_for_mark() {
        let acked = Acked { now, segments: info.delivered };
        end.congestion.on_ack(acked, &mut end.window);
    }
    end.window_judged_at = now;
}

/// The state before an acknowledgment that a control needs which sets the window itself.
#[derive(Clone, Copy, Debug)]
struct Prior {
    in_flight: u32,
    has_sacked: bool,
}

impl Prior {
    fn of(end: &Endpoint) -> Self {
        Self { in_flight: end.in_flight(), has_sacked: end.sent.sacked() > 0 }
    }
}

#[inline(never)]
fn control_by_rate(end: &mut Endpoint, now: Time, info: &AckInfo, prior: Prior) {
    let bytes = end.snd_una - info.prior_una;
    let is_single = info.segments == 1 && info.newly_sacked == 0 && !prior.has_sacked;
    let of_ack = OfAck {
        acked: info.delivered,
        losses: (end.sent.losses() - info.prior_losses) as u32,
        prior_in_flight: prior.in_flight,
        rtt: info.newest_rtt,
        may_be_delayed: is_single && bytes < u64::from(end.mss),
    };
    end.control_by_rate(now, of_ack);
}

/// Stamps the newest segment, which was sent at `now`. A FIN is no data, so it is not paced.
#[inline(never)]
pub(super) fn stamp_newest(end: &mut Endpoint, now: Time) {
    let newest = end.sent.newest().copied().unwrap_or_default();
    let len = if newest.start < end.write_end { newest.len } else { 0 };
    end.stamp_fresh(now, len);
}

/// `tcp_cwnd_reduction`
fn reduce_window(end: &mut Endpoint, segments: u32, is_safe: bool) {
    if segments > 0 {
        let in_flight = end.in_flight();
        let delivery = Delivery { segments, is_safe };
        let allowance =
            end.recovery.prr.reduction.allowance(delivery, in_flight, end.window.ssthresh);
        end.window.cwnd = (in_flight + allowance).max(1);
    }
}

/// Records how much of the window is used after a segment was sent, or while data `waits` for more
/// room.
#[inline]
pub(super) fn judge_window_use(end: &mut Endpoint, now: Time, waits: bool) {
    let full = waits || end.in_flight() >= end.window.cwnd;
    let out = end.sent.len();
    let used = &mut end.recovery.prr.window_use;
    if full || end.snd_una >= used.until || (!used.full && out > used.most) {
        *used = WindowUse { full, most: out, until: end.snd_nxt };
    }
    if is_limiting(end) {
        end.window_used = 0;
        end.window_judged_at = now;
    } else if end.config.restart_after_idle && end.paced.is_none() {
        end.starve_window(now, out);
    }
}

/// Whether the window limits the sender. In slow start, a window limits the sender if it is less
/// than twice the used part.
#[inline]
const fn is_limiting(end: &Endpoint) -> bool {
    let used = &end.recovery.prr.window_use;
    used.full || (end.window.in_slow_start() && end.window.cwnd < 2 * used.most)
}

// ---- tail loss probes

/// Sets the timer for a probe, at most `rto` from now. Returns false if no probe is allowed.
#[inline]
fn schedule_probe(end: &mut Endpoint, now: Time, rto: Duration) -> bool {
    if !end.recovery.prr.probes_tail || !end.sack || end.phase != Phase::Open {
        return false;
    }
    // RFC 8985 (7.2): two round trips, plus the longest delay of an acknowledgment if a single
    // segment is outstanding. Linux assumes the minimum timeout for that delay.
    let wait = match end.rtt.srtt() {
        None => end.config.initial_rto,
        Some(srtt) if end.sent.len() == 1 => srtt * 2 + end.config.min_rto,
        Some(srtt) => srtt * 2 + TIMEOUT_MIN,
    };
    end.recovery.prr.probe.scheduled_at = now;
    phases::run_timer(end, now, Timer::Probe, wait.min(rto));
    true
}

/// Sets the timer after new data was sent (`tcp_event_new_data_sent` and the end of
/// `tcp_write_xmit`).
#[inline]
pub(super) fn schedule_probe_behind(end: &mut Endpoint, now: Time) {
    let timer = end.recovery.prr.timer;
    if timer == Timer::Probe && end.recovery.prr.probe.scheduled_at == now && end.sent.len() > 2 {
        // For another segment of the same burst, the timer would be set to the same time again.
        return;
    }
    let scheduled = schedule_probe(end, now, phases::until_retransmission(end, now));
    if !scheduled && (end.sent.len() == 1 || timer == Timer::Probe) {
        phases::rearm_retransmission(end, now);
    }
}

/// `tcp_send_loss_probe`: sends new data if the peer has room for it, otherwise the newest segment
/// again.
fn send_probe(end: &mut Endpoint, now: Time) {
    if end.recovery.prr.probe.is_out() {
        phases::rearm_retransmission(end, now);
        return;
    }
    end.waited_for_timer(now, end.timer_armed_at());
    let sends_new = end.has_more_to_send();
    end.recovery.prr.probe =
        Probe { sent_at_end: end.snd_nxt, repeats: !sends_new, scheduled_at: now };
    end.recovery.probe_due = !sends_new;
    end.recovery.new_data_at_once = sends_new;
    // New data sent as a probe is a separate burst.
    end.burst_left = u32::from(sends_new);
    end.burst_pushes = false;
    end.counters.loss_probes += 1;
    phases::restart_retransmission(end, now);
}

/// Records the end of a probe that carried new data: it is the end of this data.
pub(super) const fn probe_sent_new_data(end: &mut Endpoint) {
    end.recovery.new_data_at_once = false;
    end.recovery.prr.probe.sent_at_end = end.snd_nxt;
}

/// Determines the outcome of a probe from an acknowledgment (RFC 8985, 7.4; `tcp_process_tlp_ack`).
#[cold]
fn judge_probe(end: &mut Endpoint, ack: u64, info: &AckInfo) {
    let sent_at_end = end.recovery.prr.probe.sent_at_end;
    if ack < sent_at_end {
        return;
    }
    if !end.recovery.prr.probe.repeats {
        end.recovery.prr.probe.end();
    } else if ack > sent_at_end {
        // The probe itself repaired a loss. Congestion control must react to this loss like to any
        // other.
        phases::begin_reduction(end);
        if end.paced.is_none() {
            end.window.cwnd = end.window.ssthresh;
        }
        phases::keep_open(end);
        end.counters.loss_probe_recoveries += 1;
    } else if info.duplicate && info.newly_sacked == 0 {
        // Both copies arrived.
        end.recovery.prr.probe.end();
    }
}

// ---- the timer

/// Sets the timer after an acknowledgment of data: for a probe if one is allowed, otherwise for
/// retransmission (`tcp_set_xmit_timer`).
#[inline]
fn restart_timer(end: &mut Endpoint, now: Time) {
    if end.sent.is_empty() {
        end.recovery.prr.timer = Timer::Retransmission;
        end.rto_at = Time::NEVER;
    } else if !schedule_probe(end, now, end.rtt.rto()) {
        phases::rearm_retransmission(end, now);
    }
}

/// The timer expired.
#[cold]
pub(super) fn timer_expired(end: &mut Endpoint, now: Time) {
    end.recovery.holds_retransmissions = false;
    match end.recovery.prr.timer {
        Timer::Retransmission => {
            end.retransmission_timeout(now);
            phases::restart_retransmission(end, now);
        }
        Timer::Reordering => reordering_timeout(end, now),
        Timer::Probe => send_probe(end, now),
    }
}

/// The possibly reordered segments did not arrive in time (RFC 8985, 6.3; `tcp_rack_reo_timeout`).
fn reordering_timeout(end: &mut Endpoint, now: Time) {
    let before = end.in_flight();
    phases::lose_overdue(end, now);
    if end.in_flight() != before && end.phase != Phase::Recovery {
        phases::enter_recovery(end);
        if end.paced.is_none() {
            reduce_window(end, 1, false);
        }
    }
    phases::rearm_retransmission(end, now);
}
