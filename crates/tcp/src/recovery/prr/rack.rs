//! Recent acknowledgment: losses by the time of transmission (RFC 8985; `net/ipv4/tcp_recovery.c`).

use netstudy_units::{Duration, Time};

use super::timer::{self, TIMEOUT_MIN, Timer};
use super::{phases, window};
use crate::recovery::{DUP_THRESH, Phase, Place};
use crate::{Endpoint, SentSegment};

/// The largest reordering that is believed (`net.ipv4.tcp_max_reordering`).
const REORDERING_MAX: u32 = 300;

/// The order and the times in which segments arrive.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rack {
    /// Place of the arrived segment that was sent last.
    latest: Place,
    /// How long it took (`rack.rtt_us`).
    rtt: Duration,
    /// Something arrived since losses were last looked for.
    advanced: bool,
    /// The least round-trip time of the connection; the kernel forgets after five minutes.
    min_rtt: Option<Duration>,
    /// Number of segments that may arrive ahead of an earlier one without its loss (`tp->reordering`).
    pub(super) reordering: u32,
    /// A segment that was sent once arrived behind a later one.
    reordering_seen: bool,
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

    /// `segment` arrived, as an acknowledgment at `now` tells (RFC 8985, 6.2, step 2;
    /// `tcp_rack_advance`).
    #[inline]
    pub(super) fn advance(&mut self, now: Time, segment: &SentSegment) {
        let rtt = now.since(segment.sent_at);
        if segment.was_repeated() && self.min_rtt.is_some_and(|least| rtt < least) {
            // The original arrived, not the retransmission that was just sent.
            return;
        }
        self.advanced = true;
        self.rtt = rtt;
        self.latest = self.latest.max(segment.place());
    }

    pub(super) const fn min_rtt(&self) -> Option<Duration> {
        self.min_rtt
    }

    /// `tcp_update_rtt_min`
    #[inline]
    pub(super) fn take_rtt(&mut self, rtt: Duration) {
        self.min_rtt = Some(self.min_rtt.map_or(rtt, |least| least.min(rtt)));
    }

    /// A segment that was sent once arrived `segments` behind (`tcp_check_sack_reordering`).
    pub(super) fn see_reordering(&mut self, segments: u32) {
        self.reordering = self.reordering.max(segments.min(REORDERING_MAX));
        self.reordering_seen = true;
    }

    /// A timeout in spite of this many SACKs says that reordering was overestimated (`tcp_enter_loss`).
    pub(super) fn doubt_reordering(&mut self, sacked: u32) {
        if sacked >= DUP_THRESH {
            self.reordering = self.reordering.min(DUP_THRESH);
        }
    }

    /// Looks for losses again although nothing arrived.
    pub(super) const fn look_again(&mut self) {
        self.advanced = true;
    }
}

/// How long a segment may arrive behind a later one (RFC 8985, 6.2, step 4; `tcp_rack_reo_wnd`). DSACK,
/// which would widen it, is not sent by receivers here.
fn reordering_window(end: &Endpoint) -> Duration {
    let rack = &end.recovery.prr.rack;
    let repairs = matches!(end.phase, Phase::Recovery | Phase::Loss);
    if !rack.reordering_seen && (repairs || end.sent.sacked() >= rack.reordering) {
        return Duration::ZERO;
    }
    let quarter = rack.min_rtt.unwrap_or(Duration::ZERO).div(4);
    quarter.min(end.rtt.srtt().unwrap_or(Duration::ZERO))
}

/// `tcp_rack_detect_loss`; returns how long to wait for segments that are not lost yet.
fn lose_overdue(end: &mut Endpoint, now: Time) -> Option<Duration> {
    let patience = end.recovery.prr.rack.rtt + reordering_window(end);
    end.sent.lose_overdue(now, end.recovery.prr.rack.latest, patience)
}

/// `tcp_rack_mark_lost`; returns whether the timer runs for possibly reordered segments.
pub(super) fn look_for_overdue(end: &mut Endpoint, now: Time) -> bool {
    if !core::mem::take(&mut end.recovery.prr.rack.advanced) {
        return false;
    }
    let Some(wait) = lose_overdue(end, now) else { return false };
    let wait = wait + TIMEOUT_MIN;
    timer::run(end, now, Timer::Reordering, wait.min(end.rtt.rto()));
    true
}

/// The awaited segments did not arrive (RFC 8985, 6.3; `tcp_rack_reo_timeout`).
pub(super) fn reordering_timeout(end: &mut Endpoint, now: Time) {
    let before = end.in_flight();
    lose_overdue(end, now);
    if end.in_flight() != before && end.phase != Phase::Recovery {
        phases::enter_recovery(end);
        window::reduce(end, 1, false);
    }
    timer::rearm_retransmission(end, now);
}

/// Marks segments lost after a retransmission timeout (`tcp_timeout_mark_lost`).
pub(super) fn lose_timed_out(end: &mut Endpoint, now: Time, by_time: bool) {
    let patience = if by_time { end.recovery.prr.rack.rtt } else { Duration::ZERO };
    end.sent.lose_timed_out(now, patience);
}
