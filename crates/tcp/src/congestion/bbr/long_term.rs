//! Long-term sampling: a policer drops traffic above its rate, without a queue that would show the
//! rate. If two intervals with losses, each at least four round trips long, have about the same
//! delivery rate, this rate is used for a while (`bbr_lt_bw_sampling` of Linux).

use super::{BW_UNIT, UNIT, bytes_per_s};
use crate::Account;

/// Minimum length of an interval in rounds (`bbr_lt_intvl_min_rtts`); four times as many are the
/// maximum.
const ROUNDS_MIN: u8 = 4;
/// Lost segments per delivered segment from which on a policer is suspected, in 1/256
/// (`bbr_lt_loss_thresh`).
const LOSS_MIN: u64 = 50;
/// Two rates are alike if they differ by at most an eighth (`bbr_lt_bw_ratio`) ...
const ALIKE: u64 = UNIT as u64 / 8;
/// ... or by at most this many bytes per second (`bbr_lt_bw_diff`).
const ALIKE_BYTES_PER_S: u64 = 4_000 / 8;
/// The rate is used for this number of rounds (`bbr_lt_bw_max_rtts`).
const USE_ROUNDS_MAX: u8 = 48;
/// Intervals from this length on are given up, in milliseconds.
const INTERVAL_MS_MAX: u32 = u32::MAX / 1000;

/// State of the long-term sampling.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct LongTerm {
    /// The rate of the last interval, or the rate in use; 0: none.
    bw: u32,
    /// When the interval began, and what was delivered and lost before.
    since_ms: u32,
    delivered: u32,
    lost: u32,
    rounds: u8,
    samples: bool,
    in_use: bool,
}

/// The consequence of a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// Nothing.
    Nothing,
    /// A policer was found.
    Policed,
    /// The rate was used for long enough: the bandwidth must be probed again.
    ProbeAgain,
}

impl LongTerm {
    /// The rate of a policer, while it is used.
    pub(super) fn bw(&self) -> Option<u32> {
        self.in_use.then_some(self.bw)
    }

    /// `bbr_reset_lt_bw_sampling`
    pub(super) fn reset(&mut self, account: &Account) {
        *self = Self::default();
        self.begin_interval(account);
    }

    fn begin_interval(&mut self, account: &Account) {
        self.since_ms = milliseconds(account);
        self.delivered = account.delivered as u32;
        self.lost = account.lost as u32;
        self.rounds = 0;
    }

    /// Handles an acknowledgment with which `losses` segments were marked lost. `may_probe`: the
    /// gains are cycled, so the bandwidth may be probed.
    pub(super) fn sample(
        &mut self,
        account: &Account,
        losses: u32,
        is_app_limited: bool,
        begins_round: bool,
        may_probe: bool,
    ) -> Outcome {
        if self.in_use {
            return self.use_up(account, begins_round && may_probe);
        }
        // The first loss shows that the policer's bucket is empty.
        if !self.samples {
            if losses == 0 {
                return Outcome::Nothing;
            }
            self.begin_interval(account);
            self.samples = true;
        }
        if is_app_limited {
            self.reset(account);
            return Outcome::Nothing;
        }
        self.rounds += u8::from(begins_round);
        if self.rounds > 4 * ROUNDS_MIN {
            self.reset(account);
        } else if self.rounds >= ROUNDS_MIN && losses > 0 {
            // An interval ends with a loss, when the bucket is empty again.
            return self.end_interval(account);
        }
        Outcome::Nothing
    }

    fn use_up(&mut self, account: &Account, begins_round: bool) -> Outcome {
        self.rounds += u8::from(begins_round);
        if !begins_round || self.rounds < USE_ROUNDS_MAX {
            return Outcome::Nothing;
        }
        self.reset(account);
        Outcome::ProbeAgain
    }

    fn end_interval(&mut self, account: &Account) -> Outcome {
        let lost = u64::from((account.lost as u32).wrapping_sub(self.lost));
        let delivered = u64::from((account.delivered as u32).wrapping_sub(self.delivered));
        if delivered == 0 || lost * u64::from(UNIT) < LOSS_MIN * delivered {
            return Outcome::Nothing;
        }
        let length_ms = milliseconds(account).wrapping_sub(self.since_ms);
        if length_ms == 0 {
            return Outcome::Nothing;
        }
        if length_ms >= INTERVAL_MS_MAX {
            self.reset(account);
            return Outcome::Nothing;
        }
        let bw = delivered * BW_UNIT / (u64::from(length_ms) * 1000);
        self.compare(account, u32::try_from(bw).unwrap_or(u32::MAX))
    }

    /// `bbr_lt_bw_interval_done`
    fn compare(&mut self, account: &Account, bw: u32) -> Outcome {
        let apart = bw.abs_diff(self.bw);
        let is_alike = u64::from(apart) * u64::from(UNIT) <= ALIKE * u64::from(self.bw)
            || bytes_per_s(apart, UNIT, account.mss_bytes) <= ALIKE_BYTES_PER_S;
        if self.bw > 0 && is_alike {
            self.bw = u32::midpoint(bw, self.bw);
            self.in_use = true;
            self.rounds = 0;
            return Outcome::Policed;
        }
        self.bw = bw;
        self.begin_interval(account);
        Outcome::Nothing
    }
}

const fn milliseconds(account: &Account) -> u32 {
    (account.delivered_at.as_us() / 1000) as u32
}
