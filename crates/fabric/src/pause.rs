//! PAUSE: flow control of a full-duplex link (IEEE 802.3, annex 31B).
//!
//! A PAUSE frame asks the peer to send no data frames for a given number of quanta. A PAUSE frame
//! with zero quanta ends the pause. A frame that is already on the wire is sent to its end. PAUSE
//! frames themselves are never paused.

use netstudy_units::{Duration, Rate, Time, headers};

/// A quantum lasts as long as 512 bits (31B.2).
const QUANTUM_BYTES: u32 = 512 / 8;

/// Size of a PAUSE frame: a minimum-size frame (31B.1).
pub const PAUSE_FRAME_BYTES: u32 = headers::ETHERNET_FRAME_BYTES_MIN;

/// How long `quanta` last on a link of `rate`.
#[must_use]
pub fn pause_time(rate: Rate, quanta: u16) -> Duration {
    rate.serialization(QUANTUM_BYTES) * u64::from(quanta)
}

/// Buffer levels at which a receiver asks its peer to pause and to resume, in the unit in which the
/// buffer is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PauseThresholds {
    /// Above this level the receiver asks for a pause. The space above the level must hold the
    /// frames that are sent until the peer reacts; otherwise they are lost.
    pub xoff: u64,
    /// At or below this level the receiver ends the pause. If the level is too low, the link idles
    /// until data arrives again.
    pub xon: u64,
    /// Length of a pause that is neither ended early nor repeated. Short pauses cost more PAUSE
    /// frames; with long pauses the link stays idle longer if the PAUSE frame that should end the
    /// pause is lost.
    pub quanta: u16,
}

/// The side of a link that asks for pauses. While its buffer is above the XON threshold, it repeats
/// the request halfway through each pause.
#[derive(Clone, Debug)]
pub struct PauseRequests {
    thresholds: PauseThresholds,
    half: Duration,
    repeat_at: Time,
}

impl PauseRequests {
    /// Creates the requests for a link with the bit rate `rate`.
    #[must_use]
    pub fn new(thresholds: PauseThresholds, rate: Rate) -> Self {
        Self {
            thresholds,
            half: pause_time(rate, thresholds.quanta).div(2),
            repeat_at: Time::NEVER,
        }
    }

    /// Handles a new buffer level. Returns the quanta of the PAUSE frame to send, if one is due.
    pub fn handle_level(&mut self, now: Time, level: u64) -> Option<u16> {
        if self.repeat_at == Time::NEVER && level > self.thresholds.xoff {
            return Some(self.ask(now));
        }
        if self.repeat_at != Time::NEVER && level <= self.thresholds.xon {
            self.repeat_at = Time::NEVER;
            return Some(0);
        }
        None
    }

    /// When the request for a pause is repeated next; [`Time::NEVER`] if there is no pause.
    #[must_use]
    pub const fn next_timeout(&self) -> Time {
        self.repeat_at
    }

    /// Repeats the request for a pause, if the repetition is due.
    pub fn handle_timeout(&mut self, now: Time) -> Option<u16> {
        (self.repeat_at <= now).then(|| self.ask(now))
    }

    fn ask(&mut self, now: Time) -> u16 {
        self.repeat_at = now + self.half;
        self.thresholds.quanta
    }
}

/// PAUSE counters of a port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PauseCounters {
    /// PAUSE frames sent, including the ones that end a pause.
    pub pauses_sent: u64,
    /// PAUSE frames received, whether the port obeyed them or not.
    pub pauses_received: u64,
}

impl PauseCounters {
    /// Adds `other` to each counter.
    pub const fn add(&mut self, other: &Self) {
        self.pauses_sent += other.pauses_sent;
        self.pauses_received += other.pauses_received;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const THRESHOLDS: PauseThresholds = PauseThresholds { xoff: 100, xon: 40, quanta: 1000 };

    fn at(us: u64) -> Time {
        Time::ZERO + Duration::from_us(us)
    }

    #[test]
    fn a_quantum_at_ten_gigabit_lasts_51_2_ns() {
        assert_eq!(pause_time(Rate::from_gbps(10), 1), Duration::from_ps(51_200));
        assert_eq!(pause_time(Rate::from_gbps(10), u16::MAX), Duration::from_ps(3_355_392_000));
    }

    #[test]
    fn a_pause_is_asked_for_above_xoff_and_ended_at_xon() {
        let mut requests = PauseRequests::new(THRESHOLDS, Rate::from_gbps(10));
        assert_eq!(requests.handle_level(at(0), 100), None);
        assert_eq!(requests.handle_level(at(1), 101), Some(1000));
        assert_eq!(requests.handle_level(at(2), 200), None, "it is asked for already");
        assert_eq!(requests.handle_level(at(3), 41), None);
        assert_eq!(requests.handle_level(at(4), 40), Some(0));
        assert_eq!(requests.handle_level(at(5), 41), None);
        assert_eq!(requests.next_timeout(), Time::NEVER);
    }

    #[test]
    fn it_is_asked_for_again_halfway_through() {
        let mut requests = PauseRequests::new(THRESHOLDS, Rate::from_gbps(10));
        requests.handle_level(at(1), 101);
        // Half of 1000 quanta of 51.2 ns.
        let again = at(1) + Duration::from_ns(25_600);
        assert_eq!(requests.next_timeout(), again);
        assert_eq!(requests.handle_timeout(at(2)), None);
        assert_eq!(requests.handle_timeout(again), Some(1000));
        assert_eq!(requests.next_timeout(), again + Duration::from_ns(25_600));
    }
}
