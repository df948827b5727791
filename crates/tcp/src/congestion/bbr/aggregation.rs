//! Acknowledgments that come in bursts: the window must cover more than the product of bandwidth and
//! delay, or the sender stops while the receiver, or the path, keeps acknowledgments back
//! (`bbr_update_ack_aggregation` of Linux).

use super::BW_UNIT;
use crate::RateSample;

/// Rounds of each of the two halves of the window of the maximum (`bbr_extra_acked_win_rtts`).
const HALF_WINDOW_ROUNDS: u8 = 5;
/// An epoch ends at this number of segments (`bbr_ack_epoch_acked_reset_thresh`).
const EPOCH_SEGMENTS_MAX: u32 = 1 << 20;
/// The window grows by at most the data of this time at the estimated bandwidth
/// (`bbr_extra_acked_max_us`).
const EXTRA_MAX_US: u64 = 100_000;

/// Segments that were acknowledged faster than the bandwidth explains.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Aggregation {
    epoch_at_us: u64,
    epoch_acked: u32,
    /// Maxima of the present half of the window and of the half before.
    extra: [u32; 2],
    half: u8,
    half_rounds: u8,
}

impl Aggregation {
    /// Begins an epoch at the time `now_us`.
    pub(super) const fn begin_epoch(&mut self, now_us: u64) {
        self.epoch_at_us = now_us;
        self.epoch_acked = 0;
    }

    /// Handles a valid sample. `bw`: estimated bandwidth in segments per microsecond, times
    /// [`BW_UNIT`].
    pub(super) fn update(&mut self, sample: &RateSample, begins_round: bool, bw: u32, cwnd: u32) {
        if sample.acked == 0 {
            return;
        }
        if begins_round {
            self.advance_window();
        }
        let now_us = sample.account.delivered_at.as_us();
        let epoch_us = now_us.saturating_sub(self.epoch_at_us);
        let mut expected = (u128::from(bw) * u128::from(epoch_us) / u128::from(BW_UNIT)) as u64;
        // The epoch ends when acknowledgments come no faster than expected.
        let is_over = u64::from(self.epoch_acked) <= expected
            || self.epoch_acked + sample.acked >= EPOCH_SEGMENTS_MAX;
        if is_over {
            self.begin_epoch(now_us);
            expected = 0;
        }
        self.epoch_acked = (self.epoch_acked + sample.acked).min(EPOCH_SEGMENTS_MAX - 1);
        let extra = u64::from(self.epoch_acked).saturating_sub(expected).min(u64::from(cwnd));
        let most = &mut self.extra[usize::from(self.half)];
        *most = (*most).max(extra as u32);
    }

    const fn advance_window(&mut self) {
        self.half_rounds += 1;
        if self.half_rounds >= HALF_WINDOW_ROUNDS {
            self.half_rounds = 0;
            self.half = 1 - self.half;
            self.extra[self.half as usize] = 0;
        }
    }

    /// Segments by which the window grows (`bbr_ack_aggregation_cwnd`).
    pub(super) fn allowance(&self, bw: u32) -> u32 {
        let most = u64::from(bw) * EXTRA_MAX_US / BW_UNIT;
        u64::from(self.extra[0].max(self.extra[1])).min(most) as u32
    }
}
