//! Whether the congestion window is what holds sending back: only then it grows
//! (`tcp_cwnd_validate`, `tcp_is_cwnd_limited`).

use netstudy_units::Time;

use super::super::Endpoint;

/// Use of the window in a round trip.
#[derive(Clone, Copy, Debug, Default)]
pub(in super::super) struct WindowUse {
    /// It was in full use.
    full: bool,
    /// Most segments that were not acknowledged.
    most: u32,
    /// The round trip is over when this is acknowledged.
    until: u64,
}

impl Endpoint {
    /// Judges the use of the window when something was sent, or waits for more room in it.
    #[inline]
    pub(in super::super) fn judge_window_use(&mut self, now: Time, waits: bool) {
        let full = waits || self.in_flight() >= self.window.cwnd;
        let out = self.sent.len();
        let used = &mut self.linux6.window_use;
        if full || self.snd_una >= used.until || (!used.full && out > used.most) {
            *used = WindowUse { full, most: out, until: self.snd_nxt };
        }
        if self.is_window_limiting() {
            self.window_used = 0;
            self.window_judged_at = now;
        } else if self.config.restart_after_idle {
            self.starve_window(now, out);
        }
    }

    /// In slow start the window may grow to twice what was in use.
    #[inline]
    pub(super) const fn is_window_limiting(&self) -> bool {
        let used = &self.linux6.window_use;
        used.full || (self.window.in_slow_start() && self.window.cwnd < 2 * used.most)
    }
}
