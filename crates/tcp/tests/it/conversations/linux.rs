//! The TCP of Linux 2.6.18: the names in brackets are the kernel's functions, and each figure
//! is worked by hand from them.

use netstudy_tcp::{Config, RtoRule, Segment};
use netstudy_units::Duration;

use super::lab::solo::{Solo, ack, sack};
use super::lab::{Server, lab, ms, us};

/// A sender with a window of `cwnd` segments of 1000 bytes, without segmentation offload.
fn sender(cwnd: u32) -> Solo {
    sender_with(cwnd, |_| ())
}

fn sender_with(cwnd: u32, change: impl Fn(&mut Config)) -> Solo {
    let setup = lab().both(|c| {
        c.offload_bytes = 0;
        c.initial_window_segments = Some(cwnd);
        change(c);
    });
    Solo::open(setup.client_config())
}

fn starts(said: &[Segment]) -> Vec<u64> {
    said.iter().map(|segment| segment.seq).collect()
}

fn window(solo: &Solo) -> (u32, u32) {
    let window = solo.end().window();
    (window.cwnd, window.ssthresh)
}

/// The receiver holds the segments from the second to the `newest`; only the first is missing.
fn all_but_the_first(newest: u64) -> Segment {
    sack(1, &[(1001, 1000 * newest + 1)])
}

/// Twenty segments are on the way, the first is lost, and the second to the `newest` arrive one by
/// one. The window and how many segments left after each of these acknowledgments.
fn halving(solo: &mut Solo, newest: u64) -> Vec<(u32, usize)> {
    solo.writes(ms(0), 100_000);
    (2..=newest)
        .map(|newest| {
            let said = solo.hears(ms(10), &all_but_the_first(newest));
            (solo.end().window().cwnd, said.len())
        })
        .collect()
}

#[test]
fn a_wide_hole_is_a_loss_at_the_first_duplicate() {
    let mut solo = sender(10);
    solo.writes(ms(0), 10_000);
    // `tcp_time_to_recover`: five segments up to the newest SACKed one are more than three.
    // `tcp_update_scoreboard`: all but the last three of them are lost.
    assert_eq!(starts(&solo.hears(ms(10), &sack(1, &[(4001, 5001)]))), [1]);
    assert_eq!(solo.end().counters().fast_recoveries, 1);
    // 10 - 1 SACKed - 2 lost = 7 in flight; `tcp_cwnd_down` leaves room for one more.
    assert_eq!((solo.end().in_flight(), window(&solo)), (8, (8, 5)));
}

#[test]
fn a_hole_of_two_is_disorder_until_a_fourth_segment_is_there() {
    let mut solo = sender(10);
    solo.writes(ms(0), 10_000);
    assert!(solo.hears(ms(10), &sack(1, &[(2001, 3001)])).is_empty(), "three are not enough");
    assert_eq!(solo.end().counters().fast_recoveries, 0);
    assert_eq!(starts(&solo.hears(ms(10), &sack(1, &[(2001, 4001)]))), [1]);
    assert_eq!(solo.end().counters().fast_recoveries, 1);
}

#[test]
fn a_window_is_halved_by_one_on_every_second_acknowledgment() {
    let mut solo = sender(20);
    let disorder = [(20, 1), (20, 1)];
    // The fourth segment begins the recovery: 22 - 3 SACKed - 1 lost = 18 in flight, so 19, and the
    // first segment goes again. BIC: 20 x 819 / 1024 = 15.
    let recovery = [(19, 1), (18, 0), (18, 1), (17, 0), (17, 1), (16, 0), (16, 1), (15, 0)];
    // Not below the threshold: from there a segment leaves for each that arrived.
    let held = [(15, 1), (15, 1), (15, 1)];
    let expected = [&disorder[..], &recovery, &held].concat();
    assert_eq!(halving(&mut solo, 14), expected);
    assert_eq!(window(&solo), (15, 15));
}

#[test]
fn a_window_is_never_more_than_one_above_what_is_in_flight() {
    let mut solo = sender(20);
    solo.writes(ms(0), 20_000);
    // Ten are lost at a blow, and nothing is left in flight.
    assert_eq!(starts(&solo.hears(ms(10), &sack(1, &[(10_001, 20_001)]))), [1]);
    assert_eq!(window(&solo), (1, 15));
    assert_eq!(starts(&solo.hears(ms(20), &sack(1001, &[(10_001, 20_001)]))), [1001]);
    assert_eq!(window(&solo), (1, 15));
}

#[test]
fn a_recovery_ends_with_the_lesser_of_window_and_threshold() {
    let mut halved = sender(20);
    halving(&mut halved, 22);
    // 14 new segments have left since: more than moderation asks for.
    halved.hears(ms(20), &ack(22_001));
    assert_eq!(window(&halved), (15, 15));
    let mut low = sender(20);
    low.writes(ms(0), 20_000);
    low.hears(ms(10), &sack(1, &[(10_001, 20_001)]));
    low.hears(ms(20), &ack(20_001));
    assert_eq!(window(&low), (1, 15));
}

#[test]
fn a_short_flight_at_the_end_of_a_recovery_moderates_the_window() {
    let mut solo = sender(20);
    // Two in limited transmit, and one at the fifth duplicate, the 23rd.
    halving(&mut solo, 6);
    assert_eq!(window(&solo).0, 18);
    // min(18, 15, 1 + 3), which lets three new ones go.
    assert_eq!(solo.hears(ms(20), &ack(22_001)).len(), 3);
    assert_eq!(window(&solo), (4, 15));
}

#[test]
fn after_a_recovery_disorder_lasts_until_more_is_acknowledged() {
    let mut solo = sender(20);
    halving(&mut solo, 22);
    // 36 segments have left when the recovery ends (`high_seq`), one more leaves then.
    assert_eq!(starts(&solo.hears(ms(20), &ack(22_001))), [36_001]);
    // `undo_marker`: still Disorder, so the window is moderated to 1 + 3.
    solo.hears(ms(30), &ack(36_001));
    assert_eq!(window(&solo), (4, 15));
    // Now it is Open, and a window that is acknowledged at once is not moderated.
    solo.hears(ms(40), &ack(40_001));
    let open = window(&solo).0;
    solo.hears(ms(50), &ack(40_001 + 1000 * u64::from(open)));
    assert_eq!(window(&solo).0, open + 1);
}

#[test]
fn a_lost_retransmission_is_found_by_what_was_sent_after_it() {
    let mut solo = sender(20);
    // The first segment goes again when 22 have been sent; the 23rd leaves after that.
    halving(&mut solo, 22);
    assert_eq!(solo.end().counters().segments_retransmitted, 1);
    // `tcp_sacktag_write_queue`: the 23rd is there, the copy that left before it is not.
    let said = solo.hears(ms(20), &all_but_the_first(23));
    assert_eq!(said[0].seq, 1);
    let counters = solo.end().counters();
    assert_eq!((counters.segments_retransmitted, counters.timeouts), (2, 0));
    // The second copy left behind the 36th.
    for newest in 24..=36 {
        assert!(!starts(&solo.hears(ms(20), &all_but_the_first(newest))).contains(&1));
    }
    assert!(starts(&solo.hears(ms(20), &all_but_the_first(37))).contains(&1));
}

/// Ten segments, of which the first five seem lost, are repaired up to the fourth. Returns the segments
/// that leave when there is room for one more.
fn behind_the_last_loss(bytes: u64) -> Vec<u64> {
    let mut solo = sender(10);
    solo.writes(ms(0), bytes);
    let sacked = [(5001, 7001)];
    // Six up to the newest: three are lost. Of ten, six are in flight, seven with the copy.
    assert_eq!(starts(&solo.hears(ms(10), &sack(1, &[(5001, 6001)]))), [1]);
    // Each is followed by the in-flight and the window that `tcp_cwnd_down` leaves: 5 + 1 = 6, 6,
    // 5 = 5, 5, and then 4 of 5.
    assert_eq!(starts(&solo.hears(ms(10), &sack(1, &sacked))), [1001]);
    assert_eq!(starts(&solo.hears(ms(20), &sack(1001, &sacked))), [2001]);
    assert!(solo.hears(ms(20), &sack(2001, &sacked)).is_empty());
    assert_eq!(starts(&solo.hears(ms(30), &sack(3001, &sacked))), [3001]);
    // Three up to the newest: the fifth segment is not lost, but not SACKed either.
    let said = starts(&solo.hears(ms(30), &sack(4001, &sacked)));
    assert_eq!(window(&solo), (5, 5));
    said
}

#[test]
fn a_forward_retransmission_waits_until_nothing_new_can_be_sent() {
    assert_eq!(behind_the_last_loss(10_000), [4001], "the oldest of which nothing is known");
    assert_eq!(behind_the_last_loss(20_000), [10_001], "new data goes first");
}

#[test]
fn disorder_moderates_the_window() {
    let mut solo = sender(20);
    solo.writes(ms(0), 20_000);
    solo.hears(ms(10), &ack(10_001));
    assert_eq!(window(&solo).0, 21, "slow start, one an acknowledgment");
    // Nine in flight and a burst of three.
    solo.hears(ms(10), &sack(10_001, &[(11_001, 12_001)]));
    assert_eq!(window(&solo).0, 9 + 3);
}

#[test]
fn what_was_just_sacked_is_no_use_of_the_window() {
    let mut solo = sender(10);
    solo.writes(ms(0), 10_000);
    solo.hears(ms(10), &sack(1, &[(1001, 2001)]));
    // Ten of ten were on the way, but not behind the SACK of the third: `tcp_ack` looks then.
    solo.hears(ms(10), &sack(2001, &[(3001, 4001)]));
    assert_eq!(window(&solo).0, 10);
}

#[test]
fn a_timeout_in_a_recovery_leaves_the_threshold() {
    let mut solo = sender(10);
    solo.writes(ms(0), 10_000);
    solo.hears(ms(10), &sack(1, &[(4001, 5001)]));
    assert_eq!(window(&solo), (8, 5));
    // `tcp_xmit_retransmit_queue`: the timer started again with the copy of the oldest segment.
    let (fired, said) = solo.waits();
    assert_eq!((fired, starts(&said)), (ms(210), vec![1]));
    assert_eq!(window(&solo), (1, 5));
    // `tcp_enter_loss`: nor does a second one, while nothing is acknowledged.
    let (fired, _) = solo.waits();
    assert_eq!((fired, window(&solo)), (ms(210 + 400), (1, 5)));
}

#[test]
fn a_timeout_after_progress_is_another_loss() {
    let mut solo = sender(10);
    solo.writes(ms(0), 10_000);
    solo.waits();
    assert_eq!(window(&solo), (1, 5));
    assert_eq!(starts(&solo.hears(ms(210), &ack(1001))), [1001, 2001]);
    solo.waits();
    // BIC: half of a window of two, not below two.
    assert_eq!(window(&solo), (1, 2));
}

#[test]
fn a_loss_phase_grows_and_repairs_by_slow_start() {
    let mut solo = sender(10);
    solo.writes(ms(0), 10_000);
    solo.waits();
    assert_eq!(starts(&solo.hears(ms(210), &ack(1001))), [1001, 2001]);
    assert_eq!(starts(&solo.hears(ms(220), &ack(2001))), [3001, 4001]);
    assert_eq!(window(&solo), (3, 5));
    assert_eq!(solo.end().counters().fast_recoveries, 0);
}

#[test]
fn bic_searches_for_the_window_of_the_last_loss() {
    let mut solo = sender(20);
    solo.writes(ms(0), 1_000_000);
    for newest in 2..=22 {
        solo.hears(ms(10), &all_but_the_first(newest));
    }
    solo.hears(ms(20), &ack(22_001));
    assert_eq!(window(&solo), (15, 15));
    // At the threshold it is still slow start.
    solo.hears(ms(30), &ack(24_001));
    assert_eq!(window(&solo), (16, 15));
    // (20 - 16) / 4 = 1, so 16 x 20 / 4 = 80 segments, 40 acknowledgments of two, and one more; the
    // recovery left a count of one.
    let mut acks = 0;
    while window(&solo).0 == 16 {
        acks += 1;
        solo.hears(ms(30), &ack(24_001 + 2000 * acks));
    }
    assert_eq!(acks, 40 + 1 - 1);
}

#[test]
fn a_burst_waits_for_a_third_of_the_window() {
    let mut solo = sender_with(12, |c| c.offload_bytes = 65_536);
    assert_eq!(solo.writes(ms(0), 100_000).len(), 12);
    // 13 - 10 segments of room are less than 13 / 3; `tcp_is_cwnd_limited` counts them as used.
    assert!(solo.hears(ms(10), &ack(2001)).is_empty());
    assert_eq!(solo.hears(ms(10), &ack(3001)).len(), 14 - 9);
}

#[test]
fn a_burst_as_large_as_one_may_be_does_not_wait() {
    let mut solo = sender_with(12, |c| c.offload_bytes = 3000);
    assert_eq!(solo.writes(ms(0), 100_000).len(), 12);
    assert!(solo.hears(ms(10), &ack(1001)).is_empty(), "13 - 11 segments of room are no burst");
    // 14 - 10 = 4 segments: a burst of three, and the fourth waits again.
    assert_eq!(solo.hears(ms(10), &ack(2001)).len(), 3);
}

#[test]
fn nothing_waits_for_a_burst_when_something_looks_lost() {
    let mut solo = sender_with(12, |c| c.offload_bytes = 65_536);
    solo.writes(ms(0), 100_000);
    assert_eq!(solo.hears(ms(10), &sack(1, &[(1001, 2001)])).len(), 1);
}

#[test]
fn the_last_segment_does_not_wait_for_a_burst() {
    let after_one_acknowledgment = |bytes| {
        let mut solo = sender_with(12, |c| c.offload_bytes = 65_536);
        solo.writes(ms(0), bytes);
        solo.hears(ms(10), &ack(1001)).len()
    };
    assert_eq!(after_one_acknowledgment(12_500), 1);
    assert_eq!(after_one_acknowledgment(13_000), 1);
    assert_eq!(after_one_acknowledgment(13_500), 0, "two segments are a burst");
}

#[test]
fn a_burst_ends_with_what_is_written() {
    let mut solo = sender_with(12, |c| c.offload_bytes = 65_536);
    assert_eq!(solo.writes(ms(0), 2000).len(), 2);
    solo.hears(ms(10), &ack(2001));
    assert_eq!(solo.writes(ms(20), 100_000).len(), 12, "one burst of a whole window");
}

/// A window that grew from 4 to 13, all of it acknowledged at 10 ms.
fn grown_to_13() -> Solo {
    let mut solo = sender_with(4, |c| c.restart_after_idle = true);
    solo.writes(ms(0), 20_000);
    for nth in 1..=20 {
        solo.hears(ms(10), &ack(1000 * nth + 1));
    }
    // Slow start until all is sent: 4 + 2 x 8 segments, and one more that found the window in use.
    assert_eq!(window(&solo), (13, 100));
    solo
}

#[test]
fn a_window_that_the_application_does_not_use_shrinks_half_way_to_what_it_used() {
    let mut solo = grown_to_13();
    solo.writes(ms(160), 1000);
    assert_eq!(window(&solo).0, 13);
    // 250 ms since the last acknowledgment are more than the timeout. Half way from 13 to 4: the used
    // part counts as the initial window at least.
    solo.writes(ms(260), 1000);
    assert_eq!(window(&solo), (8, 100));
}

#[test]
fn an_acknowledgment_keeps_a_window_that_is_not_used() {
    let mut solo = grown_to_13();
    solo.writes(ms(160), 1000);
    solo.hears(ms(200), &ack(21_001));
    // `tcp_cong_avoid` sets `snd_cwnd_stamp` whether or not the window grows.
    solo.writes(ms(260), 1000);
    assert_eq!(window(&solo), (13, 100));
}

#[test]
fn an_idle_time_halves_the_window_once_a_timeout() {
    for (idle, cwnd) in [(199, 13), (250, 13 / 2), (450, 4), (5000, 4)] {
        let mut solo = grown_to_13();
        // `tcp_cwnd_restart`: not below the initial window of 4.
        assert_eq!(solo.writes(ms(10 + idle), 100_000).len(), cwnd as usize);
        assert_eq!(window(&solo), (cwnd, 100));
    }
}

#[test]
fn the_timeout_is_the_round_trip_time_and_200_ms_on_a_tick() {
    let timeout = |tick: Duration, phase: Duration| {
        let mut lab = lab()
            .both(|c| {
                c.rto_rule = RtoRule::Linux;
                c.clock_tick = tick;
                c.clock_phase = phase;
            })
            .open();
        lab.lose(Server.data(1));
        lab.write(Server, 1000);
        lab.run_to_completion();
        lab.sent(Server.data(1))[1]
    };
    // `tcp_set_rto`: SRTT = 10 ms; four deviations, 20 ms, are less than 200 ms.
    assert_eq!(timeout(Duration::ZERO, Duration::ZERO), ms(210));
    assert_eq!(timeout(ms(1), us(300)), us(210_300));
}
