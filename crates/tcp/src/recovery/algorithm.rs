//! The interface between an endpoint and its loss recovery algorithm, and code that all algorithms
//! share.

use netstudy_units::{Duration, Time};

use crate::{Config, CongestionControl, Endpoint, Segment, SentSegment};

/// Number of duplicate acknowledgments, or of SACKed segments above a segment, after which the
/// segment counts as lost (`DupThresh` of RFC 5681 and RFC 6675).
pub(crate) const DUP_THRESH: u32 = 3;

/// The phase of loss recovery, with the names of Linux.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// No loss is suspected.
    Open,
    /// Segments arrived out of order.
    Disorder,
    /// Fast recovery, until `recovery_point` is acknowledged (RFC 6675, 5; RFC 6582, 3.2).
    Recovery,
    /// Slow start after a timeout, until `recovery_point` is acknowledged.
    Loss,
}

/// A loss recovery algorithm, as called by its endpoint.
pub(crate) trait Algorithm {
    /// The minimum timeout on a host with the clock of `config`.
    fn min_rto(config: &Config) -> Duration {
        config.min_rto
    }

    /// The peer's SYN has arrived, so the options of the connection are known.
    fn on_options(_end: &mut Endpoint) {}

    /// An acknowledgment arrived while segments are outstanding. `window_changed`: the
    /// acknowledgment changed the peer's window. `FAST`: the endpoint is on its fast path, where
    /// there are no congestion marks.
    fn on_ack<const FAST: bool>(
        end: &mut Endpoint,
        now: Time,
        segment: &Segment,
        window_changed: bool,
    );

    /// An acknowledgment arrived while no segment is outstanding.
    fn on_idle_ack(_end: &mut Endpoint, _segment: &Segment, _window_changed: bool) {}

    /// Data, a SYN or a FIN was sent for the first time.
    fn on_sent(end: &mut Endpoint, now: Time);

    /// The segment `again` was retransmitted.
    fn on_retransmitted(_end: &mut Endpoint, _now: Time, _again: &SentSegment) {}

    /// Segmentation offload holds back data that the window would allow, in order to send a larger
    /// burst.
    fn on_deferred(_end: &mut Endpoint, _now: Time) {}

    /// Retransmits the next lost segment that has not been retransmitted since it was lost.
    fn next_lost(end: &mut Endpoint, now: Time) -> Option<SentSegment> {
        end.sent.retransmit_next(now)
    }

    /// In fast recovery with SACK, when the window has room but no lost segment and no new data is
    /// left to send: retransmits a segment that may be lost too.
    fn next_in_case(_end: &mut Endpoint, _now: Time) -> Option<SentSegment> {
        None
    }

    /// Since when the timer has been running.
    fn timer_armed_at(end: &Endpoint) -> Time {
        end.rto_at.saturating_sub(end.rtt.rto())
    }

    /// The timer expired.
    fn on_timer(end: &mut Endpoint, now: Time) {
        end.retransmission_timeout(now);
    }

    /// The retransmission timer expired while segments are outstanding: the phase Loss begins.
    fn enter_loss(end: &mut Endpoint, now: Time);

    /// Number of segments from which congestion control computes the new threshold after a loss or
    /// a mark (`FlightSize` of RFC 5681, 2). It counts segments that were sent and are not
    /// cumulatively acknowledged yet, including lost ones. Segments that limited transmit sent
    /// beyond the window do not count (RFC 6675, 5, step 4.2).
    fn flight_size(end: &Endpoint) -> u32 {
        end.sent.len().min(end.window.cwnd)
    }
}

/// Handles a timeout as described in the RFCs: the threshold falls if this is a new loss event, and
/// slow start begins with one segment (RFC 5681, 3.1; RFC 6298, 5.4 to 5.7). The caller marks all
/// segments that are not SACKed as lost.
pub(crate) fn begin_loss(end: &mut Endpoint, is_same_event: bool) {
    if !is_same_event || end.snd_una >= end.recovery_point {
        end.lower_threshold();
    }
    end.ecn.lowered_at = 0;
    end.congestion.on_timeout();
    end.window.cwnd = 1;
    end.window.credit = 0;
    end.phase = Phase::Loss;
    end.recovery_point = end.snd_nxt;
    end.dup_acks = 0;
}
