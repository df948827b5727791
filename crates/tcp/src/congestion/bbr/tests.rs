//! Steps of BBR, worked by hand. Segments have 1000 bytes of payload, the path carries a segment a
//! millisecond, and the round-trip time is 40 ms: 40 segments are the product of both.

extern crate std;

use std::vec;
use std::vec::Vec;

use super::*;
use crate::DeliveryRate;

const MSS: u32 = 1000;
const RTT: Duration = Duration::from_ms(40);
/// A segment a millisecond.
const RATE: u32 = (BW_UNIT / 1000) as u32;

const fn at_ms(ms: u64) -> Time {
    Time::from_ps(ms * 1_000_000_000)
}

/// A control and its window, with one acknowledgment after another.
struct Flow {
    bbr: Bbr,
    window: Window,
    now_ms: u64,
    delivered: u64,
    lost: u64,
    /// Properties of the next samples.
    like: Like,
}

#[derive(Clone, Copy)]
struct Like {
    /// Segments per millisecond that the samples find.
    per_ms: u64,
    rtt: Duration,
    in_flight: u32,
    losses: u32,
    repair: Repair,
    is_app_limited: bool,
    is_ack_delayed: bool,
}

impl Flow {
    fn new() -> Self {
        let window = Window::new(10);
        let mut flow = Self {
            bbr: Bbr::new(7),
            window,
            now_ms: 0,
            delivered: 1,
            lost: 0,
            like: Like {
                per_ms: 1,
                rtt: RTT,
                in_flight: 40,
                losses: 0,
                repair: Repair::None,
                is_app_limited: false,
                is_ack_delayed: false,
            },
        };
        let account = flow.account();
        flow.bbr.on_open(&account, &window);
        flow
    }

    fn account(&self) -> Account {
        Account {
            now: at_ms(self.now_ms),
            delivered: self.delivered,
            delivered_at: at_ms(self.now_ms),
            lost: self.lost,
            mss_bytes: MSS,
            srtt: Some(RTT),
        }
    }

    /// A round trip later, the acknowledgment of a round trip's segments arrives: a round of its
    /// own.
    fn round(&mut self) -> bool {
        self.acknowledge(40, 40 * self.like.per_ms as u32)
    }

    fn rounds(&mut self, count: u32) {
        for _ in 0..count {
            self.round();
        }
    }

    /// `ms` later, `acked` segments are acknowledged that were sent in the last round trip.
    fn acknowledge(&mut self, ms: u64, acked: u32) -> bool {
        let prior_delivered = self.delivered;
        self.now_ms += ms;
        self.delivered += u64::from(acked);
        self.lost += u64::from(self.like.losses);
        let Like { per_ms, rtt, in_flight, losses, repair, is_app_limited, is_ack_delayed } =
            self.like;
        let rate = Some(DeliveryRate {
            prior_delivered,
            segments: 40 * per_ms,
            interval_us: 40_000,
            is_app_limited,
        });
        let sample = RateSample {
            account: self.account(),
            rate,
            acked,
            losses,
            prior_in_flight: in_flight + acked,
            in_flight,
            rtt: Some(rtt),
            is_ack_delayed,
            repair,
            paced_until: at_ms(self.now_ms),
        };
        self.bbr.on_sample(&sample, &mut self.window)
    }

    /// A flow that has found the bandwidth and probes it, in the first phase of a cycle.
    fn probing() -> Self {
        let mut flow = Self::new();
        flow.rounds(4);
        assert_eq!(flow.bbr.mode, Mode::ProbeBw);
        flow.bbr.phase = 7;
        let account = flow.account();
        flow.bbr.advance_phase(&account);
        flow.bbr.update_gains();
        flow
    }
}

#[test]
fn the_state_is_not_larger_than_that_of_cubic() {
    // Other controls must not pay for it: all are one enum in each endpoint.
    assert!(size_of::<Bbr>() <= size_of::<crate::Cubic>(), "{}", size_of::<Bbr>());
}

#[test]
fn pacing_begins_with_the_window_in_a_round_trip_times_the_gain_of_startup() {
    // 10 segments in 40 ms, 250,000 B/s, x 739/256, less 1 %: 714,463 B/s. The bandwidth is rounded
    // down to 1/2^24 segments per microsecond, and the gain's product to whole 1/256.
    let flow = Flow::new();
    let exact = 250_000.0 * 739.0 / 256.0 * 0.99;
    let found = flow.bbr.pacing_bytes_per_s() as f64;
    assert!((exact - found).abs() < exact * 0.001, "{found}, not {exact}");
    let account = Account { srtt: None, ..flow.account() };
    let mut before = Bbr::new(0);
    before.on_open(&account, &Window::new(10));
    // Without a round-trip time, a millisecond is assumed: 40 times as much.
    let ratio = before.pacing_bytes_per_s() as f64 / found;
    assert!((39.9..40.1).contains(&ratio), "{ratio}");
}

#[test]
fn the_bandwidth_is_segments_over_the_interval() {
    let mut flow = Flow::new();
    flow.round();
    // 40 x 2^24 / 40,000 us = 16,777.2: rounded down.
    assert_eq!(flow.bbr.bandwidth(), RATE);
    assert_eq!(RATE, 16_777);
    assert_eq!(flow.bbr.model(MSS).bandwidth_bytes_per_s, 999_987);
}

#[test]
fn startup_ends_after_three_rounds_without_a_quarter_more() {
    let mut flow = Flow::new();
    for (per_ms, mode) in [(1, Mode::Startup), (2, Mode::Startup), (4, Mode::Startup)] {
        flow.like.per_ms = per_ms;
        flow.round();
        assert_eq!(flow.bbr.mode, mode);
    }
    // The flight stays above the product, 160 segments, so the queue must be drained.
    flow.like.in_flight = 400;
    flow.rounds(2);
    assert_eq!((flow.bbr.mode, flow.bbr.full_bw_rounds), (Mode::Startup, 2));
    flow.round();
    assert_eq!((flow.bbr.mode, flow.bbr.pacing_gain), (Mode::Drain, DRAIN_GAIN));
    // 256 x 1000 / 2885
    assert_eq!(DRAIN_GAIN, 88);
    // 256 x 2885 / 1000 + 1
    assert_eq!(HIGH_GAIN, 739);
    flow.like.in_flight = 160;
    flow.round();
    assert_eq!(flow.bbr.mode, Mode::ProbeBw);
}

#[test]
fn application_limited_rounds_do_not_end_startup_nor_lower_the_bandwidth() {
    let mut flow = Flow::new();
    flow.like.per_ms = 4;
    flow.round();
    flow.like = Like { per_ms: 1, is_app_limited: true, ..flow.like };
    flow.rounds(30);
    assert_eq!(flow.bbr.mode, Mode::Startup);
    assert_eq!(flow.bbr.bandwidth(), (4 * BW_UNIT / 1000) as u32);
    // Samples that are larger count, application-limited or not.
    flow.like.per_ms = 8;
    flow.round();
    assert_eq!(flow.bbr.bandwidth(), (8 * BW_UNIT / 1000) as u32);
}

#[test]
fn a_bandwidth_is_forgotten_after_ten_rounds() {
    let mut flow = Flow::probing();
    flow.like.per_ms = 4;
    flow.round();
    flow.like.per_ms = 1;
    flow.rounds(10);
    assert_eq!(flow.bbr.bandwidth(), (4 * BW_UNIT / 1000) as u32);
    flow.round();
    assert_eq!(flow.bbr.bandwidth(), RATE);
}

#[test]
fn a_cycle_has_a_high_gain_a_low_one_and_six_of_one() {
    let mut flow = Flow::probing();
    // With the budget for bursts, 5/4 of the product are 50 + 3 x 2 segments and two for the gain.
    flow.like.in_flight = 60;
    let mut gains = vec![];
    for _ in 0..9 {
        gains.push(flow.bbr.pacing_gain);
        // A phase lasts for more than a minimum round-trip time.
        flow.acknowledge(40, 40);
        assert_eq!(Some(&flow.bbr.pacing_gain), gains.last());
        flow.acknowledge(1, 1);
    }
    assert_eq!(gains, [320, 192, 256, 256, 256, 256, 256, 256, 320]);
}

#[test]
fn the_high_gain_lasts_until_the_flight_has_grown_or_a_segment_is_lost() {
    let mut flow = Flow::probing();
    // The flight before an acknowledgment of one segment is 46, and 58 are needed: 50 + 6 + 2. The
    // burst of 2 that leaves next counts too.
    flow.like.in_flight = 45;
    flow.acknowledge(41, 1);
    flow.acknowledge(41, 1);
    assert_eq!(flow.bbr.phase, 0);
    flow.like.losses = 1;
    flow.acknowledge(1, 1);
    assert_eq!(flow.bbr.phase, 1);

    let mut flow = Flow::probing();
    for (in_flight, phase) in [(54, 0), (55, 1)] {
        flow.like.in_flight = in_flight;
        flow.acknowledge(41, 1);
        assert_eq!(flow.bbr.phase, phase, "{in_flight}");
    }
}

#[test]
fn the_low_gain_ends_early_when_the_queue_is_drained() {
    let mut flow = Flow::probing();
    flow.like.in_flight = 60;
    flow.acknowledge(41, 1);
    assert_eq!(flow.bbr.phase, 1);
    // 40 + 6 are the product and the budget.
    for (in_flight, phase) in [(46, 1), (45, 2)] {
        flow.like.in_flight = in_flight;
        flow.acknowledge(1, 1);
        assert_eq!(flow.bbr.phase, phase, "{in_flight}");
    }
}

#[test]
fn cycles_of_different_seeds_begin_in_different_phases_but_never_with_the_low_gain() {
    let begin = |seed| {
        let mut bbr = Bbr::new(seed);
        bbr.begin_probe_bw(&Flow::new().account());
        bbr.phase
    };
    let mut found: Vec<u8> = (0..200).map(begin).collect();
    found.sort_unstable();
    found.dedup();
    assert_eq!(found, [0, 2, 3, 4, 5, 6, 7]);
}

#[test]
fn the_window_is_twice_the_product_and_the_budget_of_three_bursts() {
    let mut flow = Flow::probing();
    flow.like.in_flight = 60;
    flow.rounds(12);
    // 2 x 40 + 41 + 3 x 2, up to an even number, and two in the phase of the high gain. A round
    // trip's segments come at once: 40 are extra at the beginning of an epoch, and one because a
    // round trip later 39.99 are expected, rounded down.
    let extra = flow.bbr.aggregation.allowance(RATE);
    assert_eq!(extra, 41);
    let gain = if flow.bbr.phase == 0 { 2 } else { 0 };
    assert_eq!(flow.window.cwnd, 128 + gain);
}

#[test]
fn the_round_trip_time_is_probed_after_ten_seconds_for_200_ms_and_a_round() {
    let mut flow = Flow::probing();
    let before = flow.window.cwnd;
    // Its minimum is that of the start; a longer one does not replace it.
    flow.like.rtt = RTT * 2;
    while flow.now_ms < 10_000 {
        flow.acknowledge(40, 40);
        assert_eq!(flow.bbr.model(MSS).min_rtt, Some(RTT), "at {} ms", flow.now_ms);
    }
    assert_eq!((flow.now_ms, flow.bbr.mode), (10_000, Mode::ProbeBw));
    let before = before.max(flow.window.cwnd);
    assert!(flow.acknowledge(1, 1), "samples count as application-limited");
    assert_eq!((flow.bbr.mode, flow.window.cwnd), (Mode::ProbeRtt, 4));
    assert_eq!(flow.bbr.model(MSS).min_rtt, Some(RTT * 2), "the old one has expired");
    // The time begins when four segments are in flight.
    flow.like.in_flight = 5;
    flow.acknowledge(100, 4);
    flow.like = Like { in_flight: 4, rtt: RTT, ..flow.like };
    flow.acknowledge(40, 4);
    let began_ms = flow.now_ms;
    while flow.now_ms < began_ms + 200 {
        flow.acknowledge(40, 4);
        assert_eq!((flow.bbr.mode, flow.window.cwnd), (Mode::ProbeRtt, 4));
    }
    assert_eq!(flow.now_ms, began_ms + 200);
    assert!(flow.acknowledge(1, 1));
    assert_eq!(flow.bbr.mode, Mode::ProbeBw);
    assert!(flow.window.cwnd >= before.min(86), "{} of {before}", flow.window.cwnd);
    assert_eq!(flow.bbr.model(MSS).min_rtt, Some(RTT));
    assert!(!flow.acknowledge(1, 1));
    // The next probe begins ten seconds after the end of this one.
    let ended_ms = began_ms + 201;
    flow.like = Like { in_flight: 60, rtt: RTT * 2, ..flow.like };
    while flow.now_ms < ended_ms + 10_000 {
        assert_eq!(flow.bbr.mode, Mode::ProbeBw);
        flow.acknowledge(1, 1);
    }
    flow.acknowledge(1, 1);
    assert_eq!(flow.bbr.mode, Mode::ProbeRtt);
}

#[test]
fn a_probe_of_the_round_trip_time_keeps_the_larger_window_of_before() {
    // `bbr_save_cwnd` is called in PROBE_RTT, so it takes the maximum of both windows.
    for (saved, now) in [(300, 100), (50, 100)] {
        let mut flow = Flow::probing();
        flow.now_ms = 10_040;
        flow.bbr.prior_cwnd = saved;
        flow.window.cwnd = now;
        flow.like.rtt = RTT * 2;
        flow.acknowledge(1, 1);
        assert_eq!((flow.bbr.mode, flow.bbr.prior_cwnd), (Mode::ProbeRtt, saved.max(now)));
    }
}

#[test]
fn a_delayed_acknowledgment_is_no_new_minimum() {
    let mut flow = Flow::probing();
    flow.now_ms = 10_040;
    flow.like = Like { rtt: RTT * 2, is_ack_delayed: true, ..flow.like };
    flow.acknowledge(1, 1);
    assert_eq!(flow.bbr.mode, Mode::ProbeRtt);
    assert_eq!(flow.bbr.model(MSS).min_rtt, Some(RTT));
}

#[test]
fn a_loss_conserves_packets_for_a_round_and_then_the_window_returns() {
    let mut flow = Flow::probing();
    flow.like.in_flight = 60;
    flow.rounds(12);
    let before = flow.window.cwnd;
    let ssthresh = flow.bbr.ssthresh_after_loss(&flow.window, before);
    assert_eq!(ssthresh, flow.window.ssthresh, "the threshold stays");
    flow.like = Like { losses: 10, in_flight: 50, repair: Repair::Recovery, ..flow.like };
    // The round begins with this acknowledgment, so the conservation is not ended by it.
    flow.acknowledge(1, 2);
    assert_eq!(flow.window.cwnd, 50 + 2);
    flow.like.losses = 0;
    flow.bbr.round_end = u64::MAX;
    flow.acknowledge(1, 2);
    assert_eq!(flow.window.cwnd, 50 + 2, "a segment for each that has arrived");
    // A round later, the window grows by what arrives.
    flow.bbr.round_end = flow.delivered;
    flow.acknowledge(38, 2);
    assert_eq!(flow.window.cwnd, 50 + 4);
    flow.like.repair = Repair::None;
    flow.acknowledge(1, 2);
    assert!(flow.window.cwnd >= before.min(86), "{} of {before}", flow.window.cwnd);
}

#[test]
fn a_timeout_starts_the_search_for_the_bandwidth_anew_in_startup() {
    let mut flow = Flow::new();
    flow.rounds(2);
    assert_eq!(flow.bbr.full_bw_rounds, 1);
    let account = flow.account();
    flow.bbr.on_loss(&account);
    // The next round counts as growth.
    flow.round();
    assert_eq!((flow.bbr.full_bw_rounds, flow.bbr.mode), (0, Mode::Startup));
}

#[test]
fn data_after_an_idle_time_is_paced_at_the_bandwidth() {
    let mut flow = Flow::probing();
    flow.bbr.pace(&flow.account(), 320, 80);
    let account = flow.account();
    flow.bbr.on_start(&account, &mut flow.window);
    assert_eq!(flow.bbr.pacing_bytes_per_s(), 989_987);
    // 16,777 x 1000 x 990,000 / 2^24 = 989,987.7
    // The idle time is no reason to probe the round-trip time.
    flow.now_ms += 60_000;
    let sample_of_no_data = flow.acknowledge(1, 0);
    assert!(!sample_of_no_data);
    assert_eq!(flow.bbr.mode, Mode::ProbeBw);
}

#[test]
fn bursts_of_losses_at_the_same_rate_show_a_policer() {
    let mut flow = Flow::probing();
    flow.like.in_flight = 60;
    let loss = |flow: &mut Flow| {
        // Two of these among 160 segments are more than 50/256, one is not.
        flow.like.losses = 20;
        flow.round();
        flow.like.losses = 0;
    };
    loss(&mut flow);
    for _ in 0..2 {
        assert_eq!(flow.bbr.long_term.bw(), None);
        flow.rounds(2);
        loss(&mut flow);
        loss(&mut flow);
    }
    // Two intervals, each four rounds with 160 segments in 160 ms.
    assert_eq!(flow.bbr.long_term.bw(), Some(RATE));
    assert_eq!(flow.bbr.pacing_gain, UNIT);
    flow.like.losses = 0;
    flow.rounds(47);
    assert_eq!(flow.bbr.long_term.bw(), Some(RATE));
    flow.round();
    assert_eq!(flow.bbr.long_term.bw(), None, "after 48 rounds the bandwidth is probed again");
}

#[test]
fn few_losses_show_no_policer() {
    let mut flow = Flow::probing();
    flow.like = Like { in_flight: 60, losses: 1, ..flow.like };
    // One of 40 segments, less than 50/256.
    flow.rounds(60);
    assert_eq!(flow.bbr.long_term.bw(), None);
}

#[test]
fn aggregated_acknowledgments_widen_the_window() {
    let mut flow = Flow::probing();
    flow.like.in_flight = 60;
    flow.rounds(2);
    // 60 segments a millisecond after an epoch began: all of them but one are extra.
    flow.acknowledge(1, 60);
    assert!(flow.bbr.aggregation.allowance(RATE) >= 59);
    // At most the data of 100 ms.
    flow.window.cwnd = 400;
    flow.acknowledge(1, 300);
    assert_eq!(flow.bbr.aggregation.allowance(RATE), 99);
    // 16,777 x 100,000 / 2^24 = 99.999. A pause ends the epoch, and after ten rounds its maximum is
    // forgotten.
    flow.acknowledge(1_000, 40);
    flow.rounds(10);
    assert_eq!(flow.bbr.aggregation.allowance(RATE), 41);
}
