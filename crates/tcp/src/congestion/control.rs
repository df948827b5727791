//! The interface between a connection and its congestion control, and arithmetic that several
//! congestion controls share.

use netstudy_units::{Duration, Time};

use crate::Jiffies;

/// The congestion window and its related state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Congestion window in segments, at least 1.
    pub cwnd: u32,
    /// Slow start threshold in segments.
    pub ssthresh: u32,
    /// Segments acknowledged since the window last grew in congestion avoidance.
    pub credit: u32,
}

impl Window {
    /// A window of `cwnd` segments with an unlimited slow start threshold (RFC 5681, 3.1).
    #[must_use]
    pub const fn new(cwnd: u32) -> Self {
        Self { cwnd, ssthresh: u32::MAX, credit: 0 }
    }

    /// Whether the window is in slow start.
    #[must_use]
    #[inline]
    pub const fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }
}

/// The properties of an acknowledgment of new data that congestion controls can use.
#[derive(Clone, Copy, Debug)]
pub struct Acked {
    /// When the acknowledgment arrived.
    pub now: Time,
    /// Segments that it acknowledged.
    pub segments: u32,
}

/// The properties of a delivery that congestion controls can use, while no loss is suspected.
#[derive(Clone, Copy, Debug)]
pub struct Delivered {
    /// When the acknowledgment arrived.
    pub now: Time,
    /// Number of segments that the acknowledgment covers. If the send queue holds packets: number
    /// of packets fully acknowledged (`pkts_acked` of Linux 2.6.18).
    pub entries: u32,
    /// The round-trip time measured by this acknowledgment.
    pub rtt: Option<Duration>,
    /// The smoothed round-trip time.
    pub srtt: Option<Duration>,
    /// All data below this offset is acknowledged.
    pub snd_una: u64,
    /// All data below this offset was sent.
    pub snd_nxt: u64,
    /// Payload bytes of a full segment.
    pub mss_bytes: u32,
}

/// The ECN feedback of an acknowledgment, on a connection with ECN.
#[derive(Clone, Copy, Debug)]
pub struct Feedback {
    /// Bytes that the acknowledgment covers.
    pub acked_bytes: u64,
    /// Whether the acknowledgment carries ECE.
    pub marked: bool,
    /// All data below this offset is acknowledged.
    pub snd_una: u64,
    /// All data below this offset was sent.
    pub snd_nxt: u64,
}

/// The delivery of a connection's data so far, in segments, as Linux counts it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Account {
    /// The present time.
    pub now: Time,
    /// Segments that have arrived, by acknowledgment or SACK (`tp->delivered`).
    pub delivered: u64,
    /// When the last of them was acknowledged (`tp->delivered_mstamp`).
    pub delivered_at: Time,
    /// Number of times that a segment or a retransmission was marked lost (`tp->lost`).
    pub lost: u64,
    /// Payload bytes of a full segment.
    pub mss_bytes: u32,
    /// The smoothed round-trip time.
    pub srtt: Option<Duration>,
}

/// The rate at which the network delivered segments, measured from the transmission of a segment
/// until it was acknowledged (`struct rate_sample` of Linux).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeliveryRate {
    /// Segments that had arrived when the measured segment was sent (`prior_delivered`).
    pub prior_delivered: u64,
    /// Segments that have arrived since then.
    pub segments: u64,
    /// The longer one of the times in which these segments were sent and were acknowledged, in
    /// microseconds; not 0.
    pub interval_us: u64,
    /// True if the application, or the control itself, kept data back during this time, so the
    /// network may be able to deliver more.
    pub is_app_limited: bool,
}

/// How far the repair of a loss is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Repair {
    /// No loss is being repaired.
    None,
    /// Fast recovery (`TCP_CA_Recovery`).
    Recovery,
    /// After a timeout (`TCP_CA_Loss`).
    Loss,
}

/// An acknowledgment, as a congestion control sees it that sets the window itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateSample {
    /// The delivery so far, this acknowledgment included.
    pub account: Account,
    /// The delivery rate; none if nothing was measured, or in less than the minimum round-trip
    /// time.
    pub rate: Option<DeliveryRate>,
    /// Segments that arrived by this acknowledgment (`acked_sacked`).
    pub acked: u32,
    /// Segments marked lost because of this acknowledgment.
    pub losses: u32,
    /// Segments in flight before this acknowledgment.
    pub prior_in_flight: u32,
    /// Segments in flight after it.
    pub in_flight: u32,
    /// The round-trip time of the newest segment that arrived.
    pub rtt: Option<Duration>,
    /// True if the receiver may have delayed this acknowledgment (`FLAG_ACK_MAYBE_DELAYED`).
    pub is_ack_delayed: bool,
    /// Whether a loss is being repaired, after this acknowledgment.
    pub repair: Repair,
    /// Earliest time at which pacing lets the next packet leave (`tcp_wstamp_ns`); in the past if
    /// pacing does not hold it back.
    pub paced_until: Time,
}

/// A burst of segmentation offload is the data that the pacing rate carries in 1/1024 s: the rate is
/// shifted by this number of bits (`sk_pacing_shift`).
pub(crate) const PACING_SHIFT: u32 = 10;

/// Slow start that counts acknowledged segments (RFC 3465 with L unlimited; `tcp_slow_start` of
/// Linux 6). Returns how many segments are left over when the window has reached the threshold;
/// outside of slow start, all of them.
#[inline]
pub(super) fn slow_start(window: &mut Window, segments: u32) -> u32 {
    let growth = window.ssthresh.saturating_sub(window.cwnd).min(segments);
    window.cwnd += growth;
    segments - growth
}

/// Increases the window by one for each `per_increment` segments acknowledged (`tcp_cong_avoid_ai`
/// of Linux 6).
#[inline]
pub(super) fn increase_additively(window: &mut Window, per_increment: u32, segments: u32) {
    // Credit that was collected while `per_increment` was larger raises the window by at most one
    // segment.
    if window.credit >= per_increment {
        window.credit = 0;
        window.cwnd += 1;
    }
    window.credit += segments;
    window.cwnd += window.credit / per_increment;
    window.credit %= per_increment;
}

/// The functions that each congestion control implements in its own way.
pub trait CongestionControl {
    /// Sets the clock with which the algorithm measures time: the clock of the host. Called once
    /// before the connection opens.
    fn keep_time(&mut self, _clock: Jiffies) {}

    /// New data was acknowledged outside of recovery while the window was fully used.
    fn on_ack(&mut self, acked: Acked, window: &mut Window);

    /// Segments were acknowledged while no loss is suspected, whether or not the window was fully
    /// used.
    #[inline]
    fn on_delivered(&mut self, _delivered: &Delivered, _window: &mut Window) {}

    /// The application writes after an idle time with no data in flight; the last segment was sent
    /// at `last_sent_at`.
    #[inline]
    fn on_restart(&mut self, _now: Time, _last_sent_at: Time) {}

    /// The slow start threshold after a loss, if `flight` segments are sent and not acknowledged.
    fn ssthresh_after_loss(&mut self, window: &Window, flight: u32) -> u32;

    /// Whether the algorithm requires explicit congestion notification and must know which bytes
    /// were marked (RFC 8257, 3.2).
    fn needs_ecn(&self) -> bool {
        false
    }

    /// An acknowledgment arrived on a connection with explicit congestion notification.
    fn on_feedback(&mut self, _feedback: &Feedback) {}

    /// The slow start threshold after a mark: by default the same as after a loss (RFC 3168, 5).
    fn ssthresh_after_mark(&mut self, window: &Window, flight: u32) -> u32 {
        self.ssthresh_after_loss(window, flight)
    }

    /// The retransmission timer expired.
    fn on_timeout(&mut self) {}

    /// The window to restore after a spurious reduction to `cwnd` segments. Used only by loss
    /// recoveries that do not store the earlier window themselves.
    fn undone(&self, cwnd: u32) -> u32 {
        cwnd
    }

    /// The slow start threshold of a new connection.
    fn initial_ssthresh(&self) -> u32 {
        u32::MAX
    }

    /// True if the algorithm sets the window itself, at each acknowledgment and by the rate at which
    /// the network delivers, and paces the segments (`cong_control` of Linux). Then neither loss
    /// recovery nor idle times change the window, and [`Self::on_ack`] is not called.
    #[inline]
    fn owns_window(&self) -> bool {
        false
    }

    /// The connection has opened. This function and those below are called only if
    /// [`Self::owns_window`] is true.
    fn on_open(&mut self, _account: &Account, _window: &Window) {}

    /// An acknowledgment arrived while segments were outstanding. Returns true if the algorithm
    /// itself keeps the flight below the capacity of the network, so that segments in flight now do
    /// not show it.
    fn on_sample(&mut self, _sample: &RateSample, _window: &mut Window) -> bool {
        false
    }

    /// Data is sent while nothing is in flight, after the application had nothing to send
    /// (`CA_EVENT_TX_START`).
    fn on_start(&mut self, _account: &Account, _window: &mut Window) {}

    /// A timeout was taken for a loss (`TCP_CA_Loss`).
    fn on_loss(&mut self, _account: &Account) {}

    /// A reduction was spurious (`undo_cwnd`).
    fn on_undo(&mut self, _account: &Account) {}

    /// Minimum number of segments in a burst of segmentation offload (`min_tso_segs`); none: that
    /// of Linux.
    fn burst_segments_min(&self) -> Option<u64> {
        None
    }

    /// The rate at which data may be sent, in bytes of payload per second; 0: no limit.
    fn pacing_bytes_per_s(&self) -> u64 {
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn additive_increase_keeps_the_remainder_and_spends_old_savings_on_one() {
        let mut window = Window { cwnd: 10, ssthresh: 10, credit: 0 };
        // 25 = 2 x 10 + 5.
        increase_additively(&mut window, 10, 25);
        assert_eq!((window.cwnd, window.credit), (12, 5));
        // A credit of 5, left over with 10 segments per increment, gives one increment with 4 per
        // increment; then 9 = 2 x 4 + 1.
        increase_additively(&mut window, 4, 9);
        assert_eq!((window.cwnd, window.credit), (15, 1));
    }

    #[test]
    fn slow_start_stops_at_the_threshold() {
        let mut window = Window { cwnd: 8, ssthresh: 10, credit: 0 };
        assert_eq!(slow_start(&mut window, 5), 3);
        assert_eq!(window.cwnd, 10);
        assert_eq!(slow_start(&mut window, 5), 5);
        assert_eq!(window.cwnd, 10);
    }
}
