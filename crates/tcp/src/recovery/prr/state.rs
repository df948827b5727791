//! The state that this recovery keeps for a connection, and computations that need no other part of
//! the endpoint.

use netstudy_units::{Duration, Time};

use crate::recovery::Place;
use crate::recovery::algorithm::DUP_THRESH;
use crate::{Jiffies, SentSegment};

/// State that this recovery keeps for a connection.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct State {
    /// If true, losses are found by time (RACK), otherwise by the number of later segments that are
    /// SACKed.
    pub(super) uses_rack: bool,
    /// Tail loss probes are sent before the timeout.
    pub(super) probes_tail: bool,
    /// New data was acknowledged after the timeout that began the phase Loss (`icsk_retransmits` is
    /// zero).
    pub(super) advanced_in_loss: bool,
    pub(super) timer: Timer,
    /// When the timer was set; for a retransmission, the time from which its timeout counts.
    pub(super) timer_armed_at: Time,
    pub(super) probe: Probe,
    pub(super) window_use: WindowUse,
    pub(super) rack: Rack,
    pub(super) reduction: Reduction,
    pub(super) undo: Undo,
}

impl State {
    pub(in super::super) fn new(uses_rack: bool, probes_tail: bool) -> Self {
        Self {
            uses_rack,
            probes_tail,
            advanced_in_loss: false,
            timer: Timer::default(),
            timer_armed_at: Time::ZERO,
            probe: Probe::default(),
            window_use: WindowUse::default(),
            rack: Rack::new(),
            reduction: Reduction::default(),
            undo: Undo::default(),
        }
    }

    pub(in super::super) const fn min_rtt(&self) -> Option<Duration> {
        self.rack.min_rtt
    }
}

// ---- an acknowledgment

/// The content of one acknowledgment, and the effects of this acknowledgment.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the kernel")]
pub(super) struct AckInfo {
    /// `snd_una` before this acknowledgment.
    pub(super) prior_una: u64,
    /// End of the newest segment that was SACKed before this acknowledgment.
    pub(super) prior_sacked_end: u64,
    /// Value of `SentSegments::losses` before this acknowledgment.
    pub(super) prior_losses: u64,
    /// The acknowledgment advances `snd_una`.
    pub(super) advanced: bool,
    /// The acknowledgment carries no data, and changes neither `snd_una` nor the peer's window.
    pub(super) duplicate: bool,
    /// Number of newly SACKed segments.
    pub(super) newly_sacked: u32,
    /// Number of newly acknowledged segments.
    pub(super) segments: u32,
    /// Number of segments reported as arrived for the first time, by acknowledgment or SACK.
    pub(super) delivered: u32,
    /// A segment that was sent before the current phase and never retransmitted has arrived
    /// (`FLAG_ORIG_SACK_ACKED`).
    pub(super) original_arrived: bool,
    /// A retransmitted segment was acknowledged (`FLAG_RETRANS_DATA_ACKED`).
    pub(super) repeat_acknowledged: bool,
    /// A retransmission was found to be lost (`FLAG_LOST_RETRANS`).
    pub(super) copy_lost: bool,
    /// The timer must be restarted (`FLAG_SET_XMIT_TIMER`).
    pub(super) restarts_timer: bool,
    pub(super) acked: Span,
    pub(super) sacked: Span,
    /// The round-trip time of the newest segment that arrived (`ca_rtt_us`).
    pub(super) newest_rtt: Option<Duration>,
}

/// For a group of segments that were never retransmitted: when the oldest and the newest were sent,
/// and the lowest stream offset among them.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Span {
    times: Option<(Time, Time)>,
    lowest: Option<u64>,
}

impl Span {
    #[inline]
    pub(super) fn take(&mut self, segment: &SentSegment) {
        let first = self.times.map_or(segment.sent_at, |(first, _)| first);
        self.times = Some((first, segment.sent_at));
        self.lowest = Some(self.lowest.map_or(segment.start, |lowest| lowest.min(segment.start)));
    }

    /// How long ago the first segment was sent.
    #[inline]
    pub(super) fn since_first(&self, now: Time) -> Option<Duration> {
        self.times.map(|(first, _)| now.since(first))
    }

    /// How long ago the last segment was sent.
    #[inline]
    pub(super) fn since_last(&self, now: Time) -> Option<Duration> {
        self.times.map(|(_, last)| now.since(last))
    }

    /// The lowest offset, if it lies below `end`.
    #[inline]
    pub(super) fn starts_below(&self, end: u64) -> Option<u64> {
        self.lowest.filter(|&lowest| lowest < end)
    }
}

/// Whether the segment with the echoed timestamp was sent in an earlier millisecond than `at`.
pub(super) fn is_before(echo_ms: Option<u64>, at: Time) -> bool {
    echo_ms.is_some_and(|echo| echo < at.as_us() / 1000)
}

// ---- the timer

/// The purpose of the timer (`icsk_pending`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Timer {
    /// Retransmission, or a zero-window probe.
    #[default]
    Retransmission,
    /// Wait for segments that may be reordered or lost (RFC 8985, 6.3).
    Reordering,
    /// Tail loss probe (RFC 8985, 7.2).
    Probe,
}

/// Linux adds this to the timeouts of probes and of reordering (`TCP_TIMEOUT_MIN_US`, since 6.6).
pub(super) const TIMEOUT_MIN: Duration = Duration::from_ms(2);

/// Number of ticks that the finest level of the timer wheel covers (`LVL_START(1)`), and the number
/// of bits by which each further level is coarser (`LVL_CLK_SHIFT`).
const FINEST_TICKS: u64 = 63;
const LEVEL_SHIFT: u32 = 3;

/// Returns when a timer fires on Linux that is set at `now` to expire after the time `after`. The
/// timeout is rounded up to whole ticks, and the timer wheel adds one tick, or for a long timeout
/// one coarser unit (`usecs_to_jiffies`; `calc_index` of `kernel/time/timer.c`). With a `tick` of
/// zero the timer is exact.
pub(super) fn expiry(now: Time, after: Duration, tick: Duration, phase: Duration) -> Time {
    if tick == Duration::ZERO {
        return now + after;
    }
    let clock = Jiffies::new(tick, phase);
    let (ticks_now, ticks_after) = (clock.at(now), clock.covering(after).max(1));
    let mut shift = 0;
    while ticks_after >= FINEST_TICKS << shift {
        shift += LEVEL_SHIFT;
    }
    let fires = (((ticks_now + ticks_after) >> shift) + 1) << shift;
    Time::ZERO + phase + clock.span(fires - 1)
}

// ---- losses

/// State of the tail loss probe.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Probe {
    /// `snd_nxt` when the probe was sent. Until this offset is acknowledged, no further probe is
    /// sent. 0: no probe is outstanding.
    pub(super) sent_at_end: u64,
    /// The probe is a retransmission.
    pub(super) repeats: bool,
    /// When the timer was last set for a probe, or when the probe was sent.
    pub(super) scheduled_at: Time,
}

impl Probe {
    /// Ends the wait for the outcome of the probe.
    pub(super) const fn end(&mut self) {
        self.sent_at_end = 0;
    }

    #[inline]
    pub(super) const fn is_out(&self) -> bool {
        self.sent_at_end > 0
    }
}

/// Upper limit of the reordering tolerance (`net.ipv4.tcp_max_reordering`).
const REORDERING_MAX: u32 = 300;

/// State of RACK: the order and the times in which segments arrive.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rack {
    /// Position, in the order of transmission, of the most recently sent segment that has arrived.
    pub(super) latest: Place,
    /// Round-trip time of the segment that last changed this state (`rack.rtt_us`).
    pub(super) rtt: Duration,
    /// A segment has arrived since the last search for losses.
    pub(super) advanced: bool,
    /// The minimum round-trip time of the whole connection. The kernel uses the minimum of the last
    /// five minutes.
    pub(super) min_rtt: Option<Duration>,
    /// Reordering tolerance: number of later segments that may arrive while a segment is missing,
    /// without the missing segment counting as lost (`tp->reordering`).
    pub(super) reordering: u32,
    /// A segment that was never retransmitted arrived after a later segment.
    pub(super) reordering_seen: bool,
}

impl Rack {
    pub(super) const fn new() -> Self {
        Self {
            latest: (Time::ZERO, 0),
            rtt: Duration::ZERO,
            advanced: false,
            min_rtt: None,
            reordering: DUP_THRESH,
            reordering_seen: false,
        }
    }

    /// Records that an acknowledgment at `now` reported the arrival of `segment` (RFC 8985, 6.2,
    /// step 2; `tcp_rack_advance`).
    #[inline]
    pub(super) fn advance(&mut self, now: Time, segment: &SentSegment) {
        let rtt = now.since(segment.sent_at);
        if segment.was_repeated() && self.min_rtt.is_some_and(|least| rtt < least) {
            // The acknowledgment is too early for the retransmission: the original has arrived.
            return;
        }
        self.advanced = true;
        self.rtt = rtt;
        self.latest = self.latest.max(segment.place());
    }

    /// `tcp_update_rtt_min`
    #[inline]
    pub(super) fn take_rtt(&mut self, rtt: Duration) {
        self.min_rtt = Some(self.min_rtt.map_or(rtt, |least| least.min(rtt)));
    }

    /// Records that a segment that was never retransmitted arrived `segments` segments late
    /// (`tcp_check_sack_reordering`).
    pub(super) fn see_reordering(&mut self, segments: u32) {
        self.reordering = self.reordering.max(segments.min(REORDERING_MAX));
        self.reordering_seen = true;
    }

    /// A timeout has occurred although `sacked` segments are SACKed, which suggests that reordering
    /// was overestimated (`tcp_enter_loss`).
    pub(super) fn doubt_reordering(&mut self, sacked: u32) {
        if sacked >= DUP_THRESH {
            self.reordering = self.reordering.min(DUP_THRESH);
        }
    }

    /// Makes the next search for losses run even if no segment arrives.
    pub(super) const fn look_again(&mut self) {
        self.advanced = true;
    }
}

// ---- the window

/// State of a reduction of the window, kept since the loss that began it
/// (`tcp_init_cwnd_reduction`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Reduction {
    /// The window at the time of the loss (`RecoverFS` in segments; `prior_cwnd`).
    before: u32,
    /// Number of segments delivered since the loss (`prr_delivered`).
    delivered: u32,
    /// Number of segments sent since the loss (`prr_out`).
    pub(super) sent: u32,
}

/// The segments that an acknowledgment in a recovery reports as delivered.
#[derive(Clone, Copy, Debug)]
pub(super) struct Delivery {
    /// Number of segments that were acknowledged or SACKed for the first time.
    pub(super) segments: u32,
    /// The acknowledgment advanced `snd_una` and no further losses were found, so retransmissions
    /// reach the receiver (`SafeACK` of the revision of RFC 6937, draft-ietf-tcpm-prr-rfc6937bis).
    pub(super) is_safe: bool,
}

impl Reduction {
    pub(super) const fn new(cwnd: u32) -> Self {
        Self { before: cwnd, delivered: 0, sent: 0 }
    }

    /// Number of segments that may be sent after `delivery` (`tcp_cwnd_reduction`).
    pub(super) fn allowance(&mut self, delivery: Delivery, in_flight: u32, ssthresh: u32) -> u32 {
        self.delivered += delivery.segments;
        let sendable = if in_flight > ssthresh {
            let share = u64::from(ssthresh) * u64::from(self.delivered);
            (share.div_ceil(u64::from(self.before)) as u32).saturating_sub(self.sent)
        } else {
            // Below the threshold, slow start raises the window back to the threshold, with one
            // more segment if the delivery is safe.
            let bound = self.delivered.saturating_sub(self.sent).max(delivery.segments);
            (bound + u32::from(delivery.is_safe)).min(ssthresh - in_flight)
        };
        // The first retransmission of a recovery is always allowed.
        sendable.max(u32::from(self.sent == 0))
    }
}

/// Use of the window in the current round trip.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct WindowUse {
    /// The window was fully used.
    pub(super) full: bool,
    /// Maximum number of unacknowledged segments.
    pub(super) most: u32,
    /// The round trip ends when data up to this offset is acknowledged.
    pub(super) until: u64,
}

/// State needed to undo a reduction of the window.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Undo {
    /// There is a reduction that may be undone (`undo_marker`).
    pub(super) is_open: bool,
    /// The threshold before the reduction (`prior_ssthresh`); none: neither threshold nor window
    /// may be restored.
    pub(super) ssthresh: Option<u32>,
    /// The window before the reduction (`prior_cwnd`).
    pub(super) cwnd: u32,
    /// Time of the first retransmission (`retrans_stamp`).
    pub(super) first_repeat: Option<Time>,
    /// Detection of a spurious timeout is in progress (`frto`).
    pub(super) after_timeout: bool,
}

impl Undo {
    pub(super) const fn begin(&mut self, ssthresh: Option<u32>, cwnd: u32) {
        self.is_open = true;
        self.ssthresh = ssthresh;
        self.cwnd = cwnd;
    }

    /// Makes the current reduction permanent.
    pub(super) const fn forbid(&mut self) {
        self.ssthresh = None;
    }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use std::vec::Vec;

    use super::*;

    const TICK: Duration = Duration::from_ms(4);

    fn at_us(us: u64) -> Time {
        Time::ZERO + Duration::from_us(us)
    }

    #[test]
    fn a_short_timer_fires_between_one_and_two_ticks_late() {
        // 200.05 ms are 51 ticks, and the wheel adds one: the timer fires 208 ms after the last
        // tick.
        let rto = Duration::from_us(200_050);
        assert_eq!(expiry(at_us(8000), rto, TICK, Duration::ZERO), at_us(216_000));
        assert_eq!(expiry(at_us(11_999), rto, TICK, Duration::ZERO), at_us(216_000));
        assert_eq!(expiry(at_us(12_000), rto, TICK, Duration::ZERO), at_us(220_000));
        // The last tick before 8 ms is at 7 ms.
        assert_eq!(expiry(at_us(8000), rto, TICK, Duration::from_ms(3)), at_us(215_000));
        assert_eq!(expiry(at_us(1000), rto, TICK, Duration::from_ms(3)), at_us(207_000));
    }

    #[test]
    fn a_long_timer_fires_on_a_coarser_clock() {
        // 400 ms are 100 ticks, more than 63. So the unit is eight ticks, and the timer fires at
        // the next unit after (2 + 1 + 100) / 8 = 12.
        let fires = expiry(at_us(8000), Duration::from_ms(400), TICK, Duration::ZERO);
        assert_eq!(fires, at_us(4000 * (13 * 8 - 1)));
    }

    #[test]
    fn without_ticks_a_timer_is_exact() {
        let fires = expiry(at_us(8000), Duration::from_us(70), Duration::ZERO, Duration::ZERO);
        assert_eq!(fires, at_us(8070));
    }

    const fn one(is_safe: bool) -> Delivery {
        Delivery { segments: 1, is_safe }
    }

    #[test]
    fn above_the_threshold_seven_leave_for_ten() {
        let mut reduction = Reduction::new(100);
        // RFC 6937 (3.1): ceil(70 x delivered / 100) - out. Each allowed segment is sent.
        let mut left = Vec::new();
        for _ in 0..10 {
            let allowed = reduction.allowance(one(false), 90, 70);
            reduction.sent += allowed;
            left.push(allowed);
        }
        assert_eq!(left, [1, 1, 1, 0, 1, 1, 0, 1, 1, 0]);
        assert_eq!(reduction.sent, 7);
    }

    #[test]
    fn below_the_threshold_one_leaves_for_one_and_two_when_it_is_safe() {
        let mut reduction = Reduction { before: 100, delivered: 10, sent: 10 };
        assert_eq!(reduction.allowance(one(false), 40, 70), 1);
        reduction.sent += 1;
        assert_eq!(reduction.allowance(one(true), 40, 70), 2);
    }

    #[test]
    fn the_threshold_is_not_exceeded() {
        let mut reduction = Reduction { before: 100, delivered: 50, sent: 10 };
        assert_eq!(reduction.allowance(one(true), 68, 70), 2);
        assert_eq!(reduction.allowance(one(true), 70, 70), 0);
    }

    #[test]
    fn the_first_retransmission_always_goes_out() {
        let mut reduction = Reduction::new(10);
        assert_eq!(reduction.allowance(Delivery { segments: 3, is_safe: false }, 7, 7), 1);
    }
}
