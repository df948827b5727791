//! Acknowledgments coming in (`tcp_ack`).

use netstudy_units::{Duration, Time};

use super::{phases, probe, timer, undo, window};
use crate::recovery::Phase;
use crate::{CongestionControl, Delivered, Endpoint, Segment, SentSegment};

/// The content of one acknowledgment, and its effects.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the kernel")]
pub(super) struct AckInfo {
    /// `snd_una` before it.
    pub(super) prior_una: u64,
    /// End of the newest segment that was SACKed before.
    pub(super) prior_sacked_end: u64,
    /// Times that segments were taken for lost before.
    pub(super) prior_losses: u64,
    /// It acknowledges more than before.
    pub(super) advanced: bool,
    /// It carries no data, and changes neither `snd_una` nor the peer's window.
    pub(super) duplicate: bool,
    /// Segments SACKed for the first time.
    pub(super) newly_sacked: u32,
    /// Segments acknowledged.
    pub(super) segments: u32,
    /// Segments acknowledged or SACKed for the first time.
    pub(super) delivered: u32,
    /// A segment from before the phase arrived without a retransmission (`FLAG_ORIG_SACK_ACKED`).
    pub(super) original_arrived: bool,
    /// A retransmitted segment was acknowledged (`FLAG_RETRANS_DATA_ACKED`).
    pub(super) repeat_acknowledged: bool,
    /// A copy turned out to be lost (`FLAG_LOST_RETRANS`).
    pub(super) copy_lost: bool,
    /// The timer restarts (`FLAG_SET_XMIT_TIMER`).
    pub(super) restarts_timer: bool,
    acked: Span,
    sacked: Span,
}

/// Transmission times of the oldest and the newest of some segments that were sent once, and their
/// lowest offset.
#[derive(Clone, Copy, Debug, Default)]
struct Span {
    times: Option<(Time, Time)>,
    lowest: Option<u64>,
}

impl Span {
    #[inline]
    fn take(&mut self, segment: &SentSegment) {
        let first = self.times.map_or(segment.sent_at, |(first, _)| first);
        self.times = Some((first, segment.sent_at));
        self.lowest = Some(self.lowest.map_or(segment.start, |lowest| lowest.min(segment.start)));
    }

    /// How long ago the first one was sent.
    #[inline]
    fn since_first(&self, now: Time) -> Option<Duration> {
        self.times.map(|(first, _)| now.since(first))
    }

    /// How long ago the last one was sent.
    #[inline]
    fn since_last(&self, now: Time) -> Option<Duration> {
        self.times.map(|(_, last)| now.since(last))
    }

    /// The lowest offset, if it lies below `end`.
    #[inline]
    fn starts_below(&self, end: u64) -> Option<u64> {
        self.lowest.filter(|&lowest| lowest < end)
    }
}

/// `tcp_ack`
#[inline(never)]
pub(super) fn on_ack(end: &mut Endpoint, now: Time, segment: &Segment, window_changed: bool) {
    let mut info = ack_info(end, segment, window_changed);
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
        probe::judge(end, segment.ack, &info);
    }
    if info.duplicate || info.newly_sacked > 0 || end.phase != Phase::Open {
        phases::alert(end, now, segment, &mut info);
    }
    if info.restarts_timer {
        timer::restart(end, now);
    }
    window::control(end, now, &info);
}

/// An acknowledgment while nothing is outstanding matters only to a window probe.
#[cold]
pub(super) fn on_idle_ack(end: &mut Endpoint, segment: &Segment, window_changed: bool) {
    let info = ack_info(end, segment, window_changed);
    if end.recovery.prr.probe.is_out() {
        probe::judge(end, segment.ack, &info);
    }
}

#[inline]
fn ack_info(end: &Endpoint, segment: &Segment, window_changed: bool) -> AckInfo {
    let advanced = segment.ack > end.snd_una;
    AckInfo {
        prior_una: end.snd_una,
        prior_sacked_end: sacked_end(end),
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
    }
}

/// `tcp_highest_sack_seq`
#[inline]
pub(super) fn sacked_end(end: &Endpoint) -> u64 {
    if end.sent.sacked() == 0 {
        return end.snd_una;
    }
    end.sent.sacked_end().unwrap_or(end.snd_una)
}

/// `tcp_sacktag_write_queue`
#[cold]
fn take_sacked(end: &mut Endpoint, now: Time, segment: &Segment, info: &mut AckInfo) {
    let (rack, recovery_point) = (&mut end.recovery.prr.rack, end.recovery_point);
    let seen = |sacked: &SentSegment| {
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
        && (end.phase != Phase::Loss || end.recovery.prr.undo.is_open())
    {
        see_reordering(end, lowest);
    }
}

/// `tcp_clean_rtx_queue`
#[inline]
fn take_acknowledged(end: &mut Endpoint, now: Time, segment: &Segment, info: &mut AckInfo) {
    let recovery_point = end.recovery_point;
    let (has_sack, echo_ms) = (end.sack, undo::echoed_ms(end, now, segment));
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
        if !was_sacked {
            first_copies += 1;
            // Not if the retransmission was needless (`tcp_skb_spurious_retrans`).
            if !acked.was_repeated() || !undo::is_before(echo_ms, acked.sent_at) {
                rack.advance(now, acked);
            }
        }
    };
    info.segments = end.sent.acknowledge_each(segment.ack, seen).segments;
    end.recovery.prr.advanced_in_loss = true;
    if has_sack {
        info.delivered += first_copies;
        if let Some(lowest) = info.acked.starts_below(info.prior_sacked_end) {
            // A hole was filled by a segment that was sent only once.
            see_reordering(end, lowest);
        }
    } else {
        info.delivered += phases::remove_duplicates(end, info.segments);
        info.original_arrived &= !info.repeat_acknowledged;
    }
}

/// `tcp_check_sack_reordering`: the segment at `lowest` arrived behind a SACKed one.
pub(super) fn see_reordering(end: &mut Endpoint, lowest: u64) {
    let sacked_end = sacked_end(end);
    if lowest < sacked_end {
        let segments = (sacked_end - lowest).div_ceil(u64::from(end.mss));
        end.recovery.prr.rack.see_reordering(segments.min(u64::from(u32::MAX)) as u32);
    }
}

/// `tcp_ack_update_rtt`: from segments that were sent once, otherwise from the echoed timestamp, in the
/// kernel's milliseconds.
#[inline]
fn take_round_trip(end: &mut Endpoint, now: Time, segment: &Segment, info: &mut AckInfo) {
    let sure = !info.repeat_acknowledged;
    let oldest_acked = info.acked.since_first(now).filter(|_| sure);
    let by_sack = info.sacked.since_first(now);
    let newest = info.sacked.since_last(now);
    let newest = newest.or_else(|| info.acked.since_last(now).filter(|_| sure));
    let by_echo = || echoed_round_trip(end, now, segment).filter(|_| info.advanced);
    let (rtt, newest) = match oldest_acked.or(by_sack) {
        Some(rtt) => (Some(rtt), newest),
        None => (by_echo(), by_echo()),
    };
    if let Some(rtt) = rtt {
        end.rtt.sample(rtt);
    }
    if let Some(newest) = newest {
        end.recovery.prr.rack.take_rtt(newest);
    }
    // While SACKed segments were sent after the oldest one, the timer is not put off.
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
    let echo = undo::echoed_ms(end, now, segment)?;
    Some(Duration::from_ms((now.as_us() / 1000 - echo).max(1)))
}
