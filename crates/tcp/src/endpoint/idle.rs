//! Congestion window validation (RFC 2861): a window that the application does not use may be too
//! large for the path, so it shrinks.

use netstudy_units::Time;

use super::Endpoint;
use crate::recovery::algorithm::Phase;

impl Endpoint {
    /// Halves the window once for each retransmission timeout of idle time, but not below the
    /// initial window. Keeps three quarters of the old window as the threshold (RFC 2861, 3; Linux
    /// `tcp_cwnd_restart`).
    pub(super) fn shrink_after_idle(&mut self, now: Time) {
        let rto = self.rtt.rto();
        let idle = now.since(self.last_sent_at);
        if self.snd_nxt <= 1 || idle < rto {
            return;
        }
        let floor = self.initial_window().min(self.window.cwnd);
        self.window.ssthresh = self.window.ssthresh.max(self.three_quarters());
        let halvings = idle.times(rto).min(31) as u32;
        self.window.cwnd = (self.window.cwnd >> halvings).max(floor).max(1);
        self.window.credit = 0;
        self.window_used = 0;
        self.window_judged_at = now;
    }

    /// The threshold after a window has shrunk without a loss: three quarters of the old window
    /// (`tcp_current_ssthresh`).
    pub(crate) const fn three_quarters(&self) -> u32 {
        self.window.cwnd / 2 + self.window.cwnd / 4
    }

    /// Reports that the window is not fully used: only `out` segments are in flight.
    #[inline]
    pub(crate) fn starve_window(&mut self, now: Time, out: u32) {
        self.window_used = self.window_used.max(out);
        if now.since(self.window_judged_at) >= self.rtt.rto() {
            if self.phase == Phase::Open && self.snd_nxt >= self.write_end {
                let used = self.window_used.max(self.initial_window());
                if used < self.window.cwnd {
                    self.window.ssthresh = self.window.ssthresh.max(self.three_quarters());
                    self.window.cwnd = u32::midpoint(self.window.cwnd, used);
                }
            }
            self.window_used = 0;
            self.window_judged_at = now;
        }
    }
}
