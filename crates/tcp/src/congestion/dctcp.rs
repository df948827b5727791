use super::control::{Acked, CongestionControl, Feedback, Window, increase_additively, slow_start};

/// The value 1 in the fixed-point format of `alpha` (`DCTCP_MAX_ALPHA`).
const ONE: u32 = 1024;
/// g = 1/16: the weight of a new window in `alpha` (RFC 8257, 4.2).
const GAIN_SHIFT: u32 = 4;

/// Data center TCP (RFC 8257; Alizadeh et al., SIGCOMM 2010), with the integer arithmetic of Linux
/// 6 (`net/ipv4/tcp_dctcp.c`): the window shrinks in proportion to the share of marked bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dctcp {
    /// Smoothed share of marked bytes, in 1/1024.
    alpha: u32,
    acked_bytes: u64,
    marked_bytes: u64,
    /// The current observation window ends when data beyond this offset is acknowledged.
    window_end: u64,
}

impl Default for Dctcp {
    /// Alpha begins at 1, so that the first mark halves the window (RFC 8257, 4.2).
    fn default() -> Self {
        Self { alpha: ONE, acked_bytes: 0, marked_bytes: 0, window_end: 0 }
    }
}

impl Dctcp {
    /// alpha = (1 - g) alpha + g M (RFC 8257, 3.3), where M is the share of marked bytes in the
    /// observation window that ends.
    fn end_window(&mut self, snd_nxt: u64) {
        let decay = self.alpha >> GAIN_SHIFT;
        // If a sixteenth of alpha rounds to zero, alpha becomes zero.
        self.alpha -= if decay > 0 { decay } else { self.alpha };
        let marked = self.marked_bytes * u64::from(ONE >> GAIN_SHIFT) / self.acked_bytes.max(1);
        self.alpha = (self.alpha + marked as u32).min(ONE);
        *self = Self { acked_bytes: 0, marked_bytes: 0, window_end: snd_nxt, ..*self };
    }
}

impl CongestionControl for Dctcp {
    /// `tcp_reno_cong_avoid`
    #[inline]
    fn on_ack(&mut self, acked: Acked, window: &mut Window) {
        let segments = slow_start(window, acked.segments);
        if segments > 0 {
            increase_additively(window, window.cwnd, segments);
        }
    }

    fn needs_ecn(&self) -> bool {
        true
    }

    fn on_feedback(&mut self, feedback: &Feedback) {
        self.acked_bytes += feedback.acked_bytes;
        self.marked_bytes += if feedback.marked { feedback.acked_bytes } else { 0 };
        if feedback.snd_una > self.window_end {
            self.end_window(feedback.snd_nxt);
        }
    }

    /// cwnd (1 - alpha / 2) (RFC 8257, 3.3).
    fn ssthresh_after_mark(&mut self, window: &Window, _flight: u32) -> u32 {
        let reduction = u64::from(window.cwnd) * u64::from(self.alpha) / u64::from(2 * ONE);
        (window.cwnd - reduction as u32).max(2)
    }

    /// The same threshold as in conventional TCP (RFC 8257, 3.5; `dctcp_react_to_loss`).
    fn ssthresh_after_loss(&mut self, window: &Window, _flight: u32) -> u32 {
        (window.cwnd / 2).max(2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the state of DCTCP after windows of 10,000 bytes, each with the given number of
    /// marked bytes.
    fn after(marked_bytes: &[u64]) -> Dctcp {
        let mut dctcp = Dctcp { window_end: 10_000, ..Dctcp::default() };
        for (nth, &marked) in marked_bytes.iter().enumerate() {
            let start = 10_000 * nth as u64;
            let snd_nxt = start + 20_000;
            let said =
                |acked_bytes, marked, snd_una| Feedback { acked_bytes, marked, snd_una, snd_nxt };
            dctcp.on_feedback(&said(marked, true, start + marked));
            dctcp.on_feedback(&said(10_000 - marked, false, start + 10_001));
        }
        dctcp
    }

    fn alpha_after(marked_bytes: &[u64]) -> u32 {
        after(marked_bytes).alpha
    }

    #[test]
    fn alpha_follows_the_marked_share_with_a_gain_of_a_sixteenth() {
        // 1024 x 15/16 = 960, x 15/16 = 900, x 15/16 = 843.75.
        assert_eq!(alpha_after(&[0]), 960);
        assert_eq!(alpha_after(&[0, 0]), 900);
        assert_eq!(alpha_after(&[0, 0, 0]), 844, "a decay of 56.25 is one of 56");
        // 960 + 64 x 1/2 = 992.
        assert_eq!(alpha_after(&[5000]), 992);
        assert_eq!(alpha_after(&[10_000; 5]), 1024);
    }

    #[test]
    fn without_marks_alpha_falls_to_zero() {
        assert_eq!(alpha_after(&[0; 100]), 0);
    }

    #[test]
    fn a_steady_share_is_found() {
        // A quarter of 1024. The decay is rounded down, so alpha settles less than 16 above this
        // value.
        let alpha = alpha_after(&[2500; 200]);
        assert!((256..272).contains(&alpha), "{alpha}");
    }

    #[test]
    fn a_window_is_judged_when_all_of_it_is_acknowledged() {
        let mut dctcp = Dctcp { window_end: 10_000, ..Dctcp::default() };
        let half = Feedback { acked_bytes: 5000, marked: true, snd_una: 10_000, snd_nxt: 30_000 };
        dctcp.on_feedback(&half);
        assert_eq!((dctcp.alpha, dctcp.marked_bytes), (1024, 5000));
        dctcp.on_feedback(&Feedback { marked: false, snd_una: 15_000, ..half });
        assert_eq!((dctcp.alpha, dctcp.marked_bytes, dctcp.window_end), (992, 0, 30_000));
    }

    #[test]
    fn the_window_falls_by_half_of_alpha() {
        let mut window = Window::new(100);
        assert_eq!(Dctcp::default().ssthresh_after_mark(&window, 100), 50);
        // 100 x 256 / 2048 = 12.5
        let mut quarter = Dctcp { alpha: 256, ..Dctcp::default() };
        assert_eq!(quarter.ssthresh_after_mark(&window, 100), 88);
        assert_eq!(quarter.ssthresh_after_loss(&window, 100), 50);
        window.cwnd = 2;
        assert_eq!(quarter.ssthresh_after_mark(&window, 2), 2);
    }
}
