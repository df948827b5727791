//! How a receiver differs: duplicate data, quick acknowledgments, and the clock of its measurements.

use netstudy_units::Duration;

use crate::{Config, Endpoint, Jiffies, Range, Recovery};

/// The clock in whose ticks round-trip times and idle gaps are measured: Linux 2.6.18 uses jiffies,
/// later kernels microseconds (none).
pub(crate) fn coarse_clock(config: &Config) -> Option<Jiffies> {
    let is_coarse = config.recovery == Recovery::Fack && config.clock_tick > Duration::ZERO;
    is_coarse.then(|| Jiffies::new(config.clock_tick, config.clock_phase))
}

/// Duplicate data is reported at once (`tcp_dsack_set`): the part of `range` received before.
#[inline]
pub(crate) fn report_copy(end: &mut Endpoint, range: Range) {
    if end.config.recovery == Recovery::Fack {
        end.copied = end.received.held(range);
        end.ack_now |= end.copied.is_some();
    }
}

/// Where quick acknowledgments of kernels before 4.18 differ from later ones (`tcp_data_queue`,
/// `tcp_measure_rcv_mss`).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Disorder {
    is_old: bool,
}

impl Disorder {
    pub(crate) const fn new(config: &Config) -> Self {
        Self { is_old: config.quick_ack_disorder }
    }

    /// Data out of order begins quick acknowledgments.
    pub(crate) const fn begins_quick_acks(self) -> bool {
        self.is_old
    }

    /// Once a gap is filled, the application is taken for one that answers no more.
    pub(crate) const fn ends_answers(self) -> bool {
        self.is_old
    }

    /// Whether a pushed segment ends a write: in the old kernels only a short one does.
    pub(crate) const fn counts_push(self, is_short: bool) -> bool {
        !self.is_old || is_short
    }
}
