//! One timer for three purposes, as in Linux (`icsk_retransmit_timer`).

use netstudy_units::{Duration, Time};

use super::{probe, rack};
use crate::{Endpoint, Jiffies};

/// The purpose of the timer (`icsk_pending`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Timer {
    /// Retransmission, or a probe of a window that is shut.
    #[default]
    Retransmission,
    /// Segments that may be reordered or lost (RFC 8985, 6.3).
    Reordering,
    /// Acknowledgments of the tail of a flight (RFC 8985, 7.2).
    Probe,
}

/// Added by Linux to the timeouts of probes and of reordering (`TCP_TIMEOUT_MIN_US`, since 6.6).
pub(super) const TIMEOUT_MIN: Duration = Duration::from_ms(2);

pub(super) fn run(end: &mut Endpoint, now: Time, timer: Timer, after: Duration) {
    end.recovery.prr.timer = timer;
    end.rto_at = expiry(now, after, end.config.clock_tick, end.config.clock_phase);
}

/// Restarts the retransmission timer.
pub(super) fn restart_retransmission(end: &mut Endpoint, now: Time) {
    run(end, now, Timer::Retransmission, end.rtt.rto());
}

/// The retransmission timer, in place of any other: from now, or from the transmission of the oldest
/// segment where the timer ran for another purpose (`tcp_rearm_rto`).
pub(super) fn rearm_retransmission(end: &mut Endpoint, now: Time) {
    let after = match end.recovery.prr.timer {
        Timer::Retransmission => end.rtt.rto(),
        Timer::Reordering | Timer::Probe => until_retransmission(end, now),
    };
    run(end, now, Timer::Retransmission, after);
}

/// `tcp_rto_delta_us`, at least a microsecond.
pub(super) fn until_retransmission(end: &Endpoint, now: Time) -> Duration {
    let sent_at = end.sent.oldest().map_or(now, |oldest| oldest.sent_at);
    let due = sent_at + end.rtt.rto();
    due.since(now.min(due)).max(Duration::from_us(1))
}

/// Data was acknowledged: the timer for a probe, or for retransmission (`tcp_set_xmit_timer`).
#[inline]
pub(super) fn restart(end: &mut Endpoint, now: Time) {
    if end.sent.is_empty() {
        end.recovery.prr.timer = Timer::Retransmission;
        end.rto_at = Time::NEVER;
    } else if !probe::schedule(end, now, end.rtt.rto()) {
        rearm_retransmission(end, now);
    }
}

/// The timer expired.
#[cold]
pub(super) fn expired(end: &mut Endpoint, now: Time) {
    end.recovery.holds_retransmissions = false;
    match end.recovery.prr.timer {
        Timer::Retransmission => {
            end.retransmission_timeout(now);
            restart_retransmission(end, now);
        }
        Timer::Reordering => rack::reordering_timeout(end, now),
        Timer::Probe => probe::expired(end, now),
    }
}

/// Ticks of the shortest level of the timer wheel (`LVL_START(1)`), and by how many bits each further
/// level is coarser (`LVL_CLK_SHIFT`).
const FINEST_TICKS: u64 = 63;
const LEVEL_SHIFT: u32 = 3;

/// When a timer that is set at `now` for `after` fires on a clock of Linux: timeouts are whole ticks,
/// and the timer wheel rounds up by one, or by a coarser unit for a long one (`usecs_to_jiffies`;
/// `calc_index` of `kernel/time/timer.c`). A tick of zero is exact.
fn expiry(now: Time, after: Duration, tick: Duration, phase: Duration) -> Time {
    if tick == Duration::ZERO {
        return now + after;
    }
    let clock = Jiffies::new(tick, phase);
    let (ticks_now, ticks_after) = (clock.at(now), clock.covering(after).max(1));
    let mut shift = 0;
    while ticks_after >= FINEST_TICKS << shift {
        shift += LEVEL_SHIFT;
    }
    let fires = (((ticks_now + ticks_after) >> shift) + 1) << shift;
    Time::ZERO + phase + clock.span(fires - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TICK: Duration = Duration::from_ms(4);

    fn at_us(us: u64) -> Time {
        Time::ZERO + Duration::from_us(us)
    }

    #[test]
    fn a_short_timer_fires_between_one_and_two_ticks_late() {
        // 200.05 ms are 51 ticks; the wheel adds one: 208 ms from the last tick.
        let rto = Duration::from_us(200_050);
        assert_eq!(expiry(at_us(8000), rto, TICK, Duration::ZERO), at_us(216_000));
        assert_eq!(expiry(at_us(11_999), rto, TICK, Duration::ZERO), at_us(216_000));
        assert_eq!(expiry(at_us(12_000), rto, TICK, Duration::ZERO), at_us(220_000));
        // The tick before 8 ms is at 7 ms.
        assert_eq!(expiry(at_us(8000), rto, TICK, Duration::from_ms(3)), at_us(215_000));
        assert_eq!(expiry(at_us(1000), rto, TICK, Duration::from_ms(3)), at_us(207_000));
    }

    #[test]
    fn a_long_timer_fires_on_a_coarser_clock() {
        // 400 ms are 100 ticks, above 63: units of eight, the next one behind (2 + 1 + 100) / 8 = 12.
        let fires = expiry(at_us(8000), Duration::from_ms(400), TICK, Duration::ZERO);
        assert_eq!(fires, at_us(4000 * (13 * 8 - 1)));
    }

    #[test]
    fn without_ticks_a_timer_is_exact() {
        let fires = expiry(at_us(8000), Duration::from_us(70), Duration::ZERO, Duration::ZERO);
        assert_eq!(fires, at_us(8070));
    }
}
