use netstudy_units::{Duration, Time};

use super::control::{Delivered, Window};

/// While the window is below this, slow start does not end early (`hystart_low_window`).
const LOW_WINDOW: u32 = 16;
/// Number of round-trip time samples at the start of a round that only update the minimum
/// (`HYSTART_MIN_SAMPLES`).
const SAMPLES_MIN: u32 = 8;
/// Slow start ends if round-trip times rise by more than an eighth of the minimum. This eighth is
/// clamped to the two bounds here (`HYSTART_DELAY_MIN`, `_MAX`).
const RISE_MIN: Duration = Duration::from_ms(4);
const RISE_MAX: Duration = Duration::from_ms(16);
/// Acknowledgments at most this far apart form a train (`hystart_ack_delta_us`).
const TRAIN_GAP_MAX: Duration = Duration::from_ms(2);
/// Maximum delay of a train that is assumed to come from segmentation offload
/// (`hystart_ack_delay`).
const OFFLOAD_DELAY_MAX: Duration = Duration::from_ms(1);
/// Bytes that segmentation offload may hold back: four times `GSO_MAX_SIZE`.
const OFFLOAD_BYTES: u64 = 4 * 65_536;

/// `HyStart`: leaves slow start before a loss, when the train of acknowledgments in a round is longer
/// than half the minimum round-trip time, or when round-trip times grow (Ha and Rhee, "Taming the
/// elephants: new TCP slow start", Computer Networks 55, 2011; `hystart_update` of Linux 6).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct HyStart {
    /// The round ends when data beyond this offset is acknowledged.
    round_end: u64,
    round_began: Time,
    last_ack: Time,
    round_min: Option<Duration>,
    samples: u32,
    found: bool,
}

impl HyStart {
    /// Handles an acknowledgment during slow start, and ends slow start if a criterion is met.
    pub(super) fn on_delivered(
        &mut self,
        delivered: &Delivered,
        rtt: Duration,
        min_rtt: Duration,
        window: &mut Window,
    ) {
        if self.found || window.cwnd < LOW_WINDOW {
            return;
        }
        if delivered.snd_una > self.round_end {
            self.begin_round(delivered);
        }
        let train = self.is_long_train(delivered, min_rtt, window);
        if train || self.has_risen(rtt, min_rtt) {
            self.found = true;
            window.ssthresh = window.cwnd;
        }
    }

    /// `bictcp_hystart_reset`
    fn begin_round(&mut self, delivered: &Delivered) {
        self.round_began = delivered.now;
        self.last_ack = delivered.now;
        self.round_end = delivered.snd_nxt;
        self.round_min = None;
        self.samples = 0;
    }

    fn is_long_train(&mut self, delivered: &Delivered, min_rtt: Duration, window: &Window) -> bool {
        if delivered.now.since(self.last_ack) > TRAIN_GAP_MAX {
            return false;
        }
        self.last_ack = delivered.now;
        let threshold = (min_rtt + offload_delay(delivered, window)).div(2);
        delivered.now.since(self.round_began) > threshold
    }

    fn has_risen(&mut self, rtt: Duration, min_rtt: Duration) -> bool {
        let round_min = self.round_min.map_or(rtt, |least| least.min(rtt));
        self.round_min = Some(round_min);
        if self.samples < SAMPLES_MIN {
            self.samples += 1;
            return false;
        }
        round_min > min_rtt + min_rtt.div(8).max(RISE_MIN).min(RISE_MAX)
    }
}

/// How long segmentation offload holds data back at the pacing rate of slow start, two windows per
/// round trip (`tcp_update_pacing_rate`).
fn offload_delay(delivered: &Delivered, window: &Window) -> Duration {
    let Some(srtt) = delivered.srtt else { return Duration::ZERO };
    let per_round_trip = 2 * u64::from(window.cwnd) * u64::from(delivered.mss_bytes);
    let held = u128::from(srtt.as_ps()) * u128::from(OFFLOAD_BYTES) / u128::from(per_round_trip);
    Duration::from_ps(held.min(u128::from(OFFLOAD_DELAY_MAX.as_ps())) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Duration = Duration::from_ms(40);

    fn ack(at_us: u64, snd_una: u64, snd_nxt: u64) -> Delivered {
        Delivered {
            now: Time::ZERO + Duration::from_us(at_us),
            entries: 1,
            rtt: Some(RTT),
            srtt: None,
            snd_una,
            snd_nxt,
            mss_bytes: 1448,
        }
    }

    /// Whether slow start has ended after a round with these round-trip times. The acknowledgments
    /// are 3 ms apart, too far for a train.
    fn ends_after(rtts_ms: &[u64], cwnd: u32) -> bool {
        let (mut hystart, mut window) = (HyStart::default(), Window::new(cwnd));
        for (place, &ms) in rtts_ms.iter().enumerate() {
            let delivered = ack(3000 * place as u64, 1, 100_000);
            hystart.on_delivered(&delivered, Duration::from_ms(ms), RTT, &mut window);
        }
        window.ssthresh == cwnd
    }

    #[test]
    fn a_round_trip_longer_by_an_eighth_ends_slow_start() {
        // The rise must be more than 40 / 8 = 5 ms: round-trip times above 45 ms count, from the
        // ninth sample on.
        assert!(ends_after(&[46; 9], 16));
        assert!(!ends_after(&[46; 8], 16), "eight samples are not judged");
        assert!(!ends_after(&[45; 20], 16));
        assert!(!ends_after(&[46, 46, 46, 46, 46, 46, 46, 46, 44, 46, 46], 16), "the least counts");
        assert!(!ends_after(&[46; 9], 15), "a small window");
    }

    #[test]
    fn a_train_of_half_a_round_trip_ends_slow_start() {
        let (mut hystart, mut window) = (HyStart::default(), Window::new(100));
        // Acknowledgments every 1 ms, starting at 0: at 20 ms, half of 40 ms is reached but not
        // exceeded.
        for at_ms in 0..=20 {
            hystart.on_delivered(&ack(1000 * at_ms, 1, 100_000), RTT, RTT, &mut window);
            assert!(window.in_slow_start() && window.ssthresh == u32::MAX, "at {at_ms} ms");
        }
        hystart.on_delivered(&ack(21_000, 1, 100_000), RTT, RTT, &mut window);
        assert_eq!(window.ssthresh, 100);
    }

    #[test]
    fn a_gap_ends_a_train_and_a_round_begins_another() {
        let (mut hystart, mut window) = (HyStart::default(), Window::new(100));
        for (at_ms, snd_una) in [(0, 1), (1, 1), (30, 1), (31, 1), (32, 100_001), (33, 100_001)] {
            hystart.on_delivered(&ack(1000 * at_ms, snd_una, 100_000), RTT, RTT, &mut window);
        }
        assert_eq!(window.ssthresh, u32::MAX);
    }

    #[test]
    fn offload_lengthens_a_train() {
        let delivered = Delivered { srtt: Some(Duration::from_us(100)), ..ack(0, 1, 1) };
        // 262,144 B at 2 x 100 x 1448 B per 100 us take 90.519 us.
        let held = offload_delay(&delivered, &Window::new(100));
        assert_eq!(held.as_ns(), 90_519);
        let slow = Delivered { srtt: Some(RTT), ..delivered };
        assert_eq!(offload_delay(&slow, &Window::new(16)), OFFLOAD_DELAY_MAX);
    }
}
