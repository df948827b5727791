//! Differences of the receiver: duplicate data, quick acknowledgments, and the clock with which it
//! measures times.

use netstudy_units::Duration;

use crate::{Config, Endpoint, Jiffies, Range, Recovery};

/// The clock for round-trip times and idle times: Linux 2.6.18 measures them in jiffies. None for
/// later kernels, which measure in microseconds.
pub(crate) fn coarse_clock(config: &Config) -> Option<Jiffies> {
    let is_coarse = config.recovery == Recovery::Fack && config.clock_tick > Duration::ZERO;
    is_coarse.then(|| Jiffies::new(config.clock_tick, config.clock_phase))
}

/// Makes the receiver report at once, as a duplicate, the part of `range` that it had received
/// before (`tcp_dsack_set`).
#[inline]
pub(crate) fn report_copy(end: &mut Endpoint, range: Range) {
    if end.config.recovery == Recovery::Fack {
        end.copied = end.received.held(range);
        end.ack_now |= end.copied.is_some();
    }
}

/// The rules for quick acknowledgments that differ between kernels before 4.18 and later kernels
/// (`tcp_data_queue`, `tcp_measure_rcv_mss`).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Disorder {
    is_old: bool,
}

impl Disorder {
    pub(crate) const fn new(config: &Config) -> Self {
        Self { is_old: config.quick_ack_disorder }
    }

    /// Whether out-of-order data starts quick acknowledgments.
    pub(crate) const fn begins_quick_acks(self) -> bool {
        self.is_old
    }

    /// Whether the application no longer counts as interactive once a gap is filled.
    pub(crate) const fn ends_answers(self) -> bool {
        self.is_old
    }

    /// Whether a segment with PSH counts as the end of a write: in kernels before 4.18, only if the
    /// segment is short.
    pub(crate) const fn counts_push(self, is_short: bool) -> bool {
        !self.is_old || is_short
    }
}
