//! Reno and the recovery of RFC 6675 and RFC 6582: other profiles differ.

use netstudy_tcp::State;
use netstudy_units::{Duration, Rate};

use super::lab::{Client, Lab, Server, lab, ms, ten_segments, us};

#[test]
fn a_fin_counts_as_the_third_segment_above_a_hole() {
    for sack in [true, false] {
        let mut lab = lab().both(|c| c.sack = sack).open();
        lab.lose(Server.data(1));
        lab.write(Server, 3000);
        lab.close(Server);
        lab.run_to_completion();
        assert_eq!(lab.sent(Server.data(1)), [ms(0), ms(10)]);
        assert_eq!(lab.counters(Server).timeouts, 0);
        assert_eq!(lab.counters(Client).bytes_received, 3000);
        assert_eq!(lab.end(Client).state(), State::CloseWait);
    }
}

/// 1040 bytes of IP, a full segment of the template, take 1.04 ms.
const SLOW: Rate = Rate::from_bps(8_000_000);

#[test]
fn the_first_segment_of_a_block_is_lost() {
    let lab = ten_segments(true, &[1]);
    lab.assert_conversation(
        "0.000 server 1..1001 ack 1 (lost)
         0.000 server 1001..2001 ack 1
         0.000 server 2001..3001 ack 1
         0.000 server 3001..4001 ack 1
         0.000 server 4001..5001 ack 1
         0.000 server 5001..6001 ack 1
         0.000 server 6001..7001 ack 1
         0.000 server 7001..8001 ack 1
         0.000 server 8001..9001 ack 1
         0.000 server 9001..10001 ack 1
         5.000 client ack 1 sack 1001..2001
         5.000 client ack 1 sack 1001..3001
         5.000 client ack 1 sack 1001..4001
         5.000 client ack 1 sack 1001..5001
         5.000 client ack 1 sack 1001..6001
         5.000 client ack 1 sack 1001..7001
         5.000 client ack 1 sack 1001..8001
         5.000 client ack 1 sack 1001..9001
         5.000 client ack 1 sack 1001..10001
        10.000 server 1..1001 ack 1
        15.000 client ack 10001",
    );
    // RFC 5681 (4): half of the ten segments in flight.
    let window = lab.end(Server).window();
    assert_eq!((window.cwnd, window.ssthresh), (5, 5));
}

#[test]
fn a_middle_segment_of_a_block_is_lost() {
    for sack in [true, false] {
        let lab = ten_segments(sack, &[5]);
        assert_eq!(lab.sent(Server.data(5)), [ms(0), ms(10)]);
        assert_eq!(lab.received_at(Client, 4000), ms(5));
        assert_eq!(lab.received_at(Client, 10_000), ms(15));
        let counters = lab.counters(Server);
        assert_eq!(counters.segments_retransmitted, 1);
        assert_eq!((counters.fast_recoveries, counters.timeouts), (1, 0));
        // Segments 6 to 10.
        assert_eq!(counters.duplicate_acks_received, 5);
    }
}

#[test]
fn a_lost_retransmission_waits_for_the_timer() {
    for sack in [true, false] {
        let mut lab = lab().both(|c| c.sack = sack).open();
        lab.lose(Server.data(1));
        lab.lose(Server.data(1).copy(2));
        lab.write(Server, 10_000);
        let done = lab.run_until_acknowledged(Server);
        // Nothing was acknowledged since the first transmission started the timer.
        assert_eq!(lab.sent(Server.data(1)), [ms(0), ms(10), ms(200)]);
        assert_eq!(done, ms(210));
        let counters = lab.counters(Server);
        assert_eq!((counters.fast_recoveries, counters.timeouts), (1, 1));
        assert_eq!(counters.segments_retransmitted, 2);
    }
}

#[test]
fn a_lost_retransmission_lowers_the_threshold_twice() {
    let mut lab = lab().both(|c| c.initial_window_segments = Some(40)).open();
    lab.lose(Server.data(1));
    lab.lose(Server.data(1).copy(2));
    lab.write(Server, 40_000);
    lab.run_until(ms(100));
    assert_eq!(lab.end(Server).window().ssthresh, 20);
    lab.run_until(ms(200));
    // RFC 5681 (4.3): the loss of a retransmission is a second indication of congestion.
    assert_eq!(lab.end(Server).window().ssthresh, 10);
}

#[test]
fn two_losses_in_a_window_are_one_recovery_with_sack() {
    let lab = ten_segments(true, &[2, 6]);
    assert_eq!(lab.sent(Server.data(2)), [ms(0), ms(10)]);
    assert_eq!(lab.sent(Server.data(6)), [ms(0), ms(10), ms(20)]);
    assert_eq!(lab.received_at(Client, 10_000), ms(15));
    let counters = lab.counters(Server);
    assert_eq!((counters.fast_recoveries, counters.timeouts), (1, 0));
    // Segment 6 once more as the rescue: when 2 is acknowledged, it is the last that is not SACKed.
    assert_eq!(counters.segments_retransmitted, 3);
    // The first segment is acknowledged, nine are in flight.
    assert_eq!(lab.end(Server).window().ssthresh, 9 / 2);
}

#[test]
fn a_hole_below_what_is_sacked_is_filled_when_nothing_new_is_left() {
    let mut lab = lab().open();
    lab.lose(Server.data(1));
    lab.lose(Server.data(5));
    lab.write(Server, 6_000);
    lab.run_to_completion();
    // Only 6 is SACKed above 5, which is thus not lost. Half of six may be on the way: the copy of 1, and
    // 5 or its copy (RFC 6675, 4, NextSeg (3)). When 1 is acknowledged, 5 is the last that is not SACKed:
    // the rescue.
    assert_eq!(lab.sent(Server.data(5)), [ms(0), ms(10), ms(20)]);
    assert_eq!(lab.received_at(Client, 6_000), ms(15));
    assert_eq!(lab.counters(Server).timeouts, 0);
}

#[test]
fn the_end_of_what_was_sent_is_rescued_once_a_recovery() {
    let mut lab = lab().open();
    lab.lose(Server.data(1));
    lab.lose(Server.data(10));
    lab.write(Server, 10_000);
    lab.run_to_completion();
    // The first retransmission must be acknowledged before (RFC 6675, 4, NextSeg (4); 5, step 4.3).
    assert_eq!(lab.sent(Server.data(10)), [ms(0), ms(20)]);
    assert_eq!(lab.received_at(Client, 10_000), ms(25));
    assert_eq!(lab.counters(Server).timeouts, 0);
}

#[test]
fn a_rescue_that_is_lost_waits_for_the_timer() {
    let mut lab = lab().open();
    lab.lose(Server.data(1));
    lab.lose(Server.data(10));
    lab.lose(Server.data(10).copy(2));
    lab.write(Server, 10_000);
    lab.run_to_completion();
    // The last acknowledgment, at 20 ms, restarted the timer.
    assert_eq!(lab.sent(Server.data(10)), [ms(0), ms(20), ms(220)]);
    assert_eq!(lab.counters(Server).timeouts, 1);
}

#[test]
fn a_retransmission_goes_out_on_the_third_duplicate_whatever_the_window_allows() {
    for (sack, ack_bytes) in [(true, 40 + 4 + 8), (false, 40)] {
        let mut lab = lab().both(|c| c.sack = sack).rate(SLOW).open();
        lab.lose(Server.data(1));
        lab.write(Server, 20_000);
        lab.run_to_completion();
        // Segments leave one behind the other; each from the second on is answered.
        let answered =
            |nth| SLOW.serialization(1040) * nth + ms(5) + SLOW.serialization(ack_bytes) + ms(5);
        // RFC 3042: one new segment for each of the first two duplicates.
        assert_eq!(lab.sent(Server.data(11)), [answered(2)]);
        assert_eq!(lab.sent(Server.data(12)), [answered(3)]);
        // RFC 6675 (5, step 4.3), RFC 5681 (3.2, step 3). Ten segments are still on the way then.
        assert_eq!(lab.sent(Server.data(1)), [ms(0), answered(4)]);
        // RFC 6675 (5, step 4.2): segments sent by limited transmit are not part of FlightSize.
        assert_eq!(lab.end(Server).window().ssthresh, 5);
        assert_eq!(lab.counters(Server).timeouts, 0);
    }
}

#[test]
fn a_recovery_keeps_half_of_the_window_on_the_way() {
    let mut lab = lab().rate(SLOW).open();
    lab.lose(Server.data(1));
    lab.write(Server, 20_000);
    let repaired = lab.sent(Server.data(1)).len();
    assert_eq!(repaired, 1);
    lab.run_until(ms(19));
    // At the third duplicate 12 were sent, 3 are SACKed, 1 is lost: 8 in flight, 9 with the copy. The next
    // acknowledgments come each 1.04 ms from 14.2 ms on: four until 19 ms.
    assert_eq!(lab.end(Server).in_flight(), 9 - 4);
    let sent_before = lab.segments(Server).count();
    lab.run_until(ms(20));
    // From five on, one new segment leaves for each that arrived.
    assert_eq!(lab.segments(Server).count(), sent_before + 1);
    assert_eq!(lab.end(Server).in_flight(), 5);
    lab.run_to_completion();
    assert_eq!(lab.counters(Client).bytes_received, 20_000);
}

#[test]
fn reordering_by_one_or_two_places_is_no_loss() {
    for sack in [true, false] {
        for places in [1, 2] {
            let mut lab = lab().both(|c| c.sack = sack).open();
            lab.hold_back(Server.data(3), places);
            lab.write(Server, 10_000);
            lab.run_to_completion();
            let counters = lab.counters(Server);
            assert_eq!(counters.duplicate_acks_received, u64::from(places));
            assert_eq!(counters.segments_retransmitted, 0);
            assert_eq!(counters.fast_recoveries, 0);
            assert_eq!(lab.received_at(Client, 10_000), ms(5));
            // Ten were on the way and each acknowledgment found them so.
            assert!(lab.end(Server).window().cwnd >= 10);
        }
    }
}

#[test]
fn reordering_by_three_places_is_taken_for_a_loss() {
    // With SACK the acknowledgment of 6 allows the rescue of 10; without, the ones of 6 and of 8 look
    // partial: 7 and 9 are repeated too.
    for (sack, repeated) in [(true, 2), (false, 3)] {
        let mut lab = lab().both(|c| c.sack = sack).open();
        lab.hold_back(Server.data(3), 3);
        lab.write(Server, 10_000);
        lab.run_to_completion();
        // DupThresh is three (RFC 5681, 2).
        assert_eq!(lab.sent(Server.data(3)), [ms(0), ms(10)]);
        let counters = lab.counters(Server);
        assert_eq!((counters.segments_retransmitted, counters.fast_recoveries), (repeated, 1));
        assert_eq!(counters.timeouts, 0);
        assert_eq!(lab.received_at(Client, 10_000), ms(5));
        assert_eq!(lab.counters(Client).bytes_received, 10_000);
        // The copies arrive, are counted as segments, and give no byte.
        assert_eq!(lab.counters(Client).segments_received, 1 + 10 + repeated);
    }
}

/// A connection whose window has grown from 4 to 33 segments by slow start: 4 + 8 + 16 + 32 segments,
/// and one more when the last flight began to be acknowledged.
fn grown_to_33_segments(restart_after_idle: bool) -> Lab {
    let mut lab = lab()
        .both(|c| {
            c.initial_window_segments = Some(4);
            c.ack_every_segments = 1;
            c.restart_after_idle = restart_after_idle;
        })
        .open();
    lab.write(Server, 60_000);
    lab.run_to_completion();
    assert_eq!(lab.end(Server).window().cwnd, 33);
    lab
}

/// The window after an idle time of `idle` since the last segment was sent, at 30 ms.
fn window_after(mut lab: Lab, idle: Duration) -> u32 {
    lab.run_until(ms(30) + idle);
    let before = lab.segments(Server).count();
    lab.write(Server, 100_000);
    let cwnd = lab.end(Server).window().cwnd;
    assert_eq!(lab.segments(Server).count() - before, cwnd as usize, "sent at once");
    cwnd
}

#[test]
fn an_idle_time_halves_the_window_for_each_timeout_that_passes() {
    // RFC 2861 (3.2): 33 / 2 = 16, 8, 4, and not below the initial window.
    for (idle_ms, cwnd) in [(199, 33), (200, 16), (399, 16), (400, 8), (600, 4), (5000, 4)] {
        let lab = grown_to_33_segments(true);
        assert_eq!(window_after(lab, ms(idle_ms)), cwnd, "after {idle_ms} ms");
    }
}

#[test]
fn the_window_outlives_an_idle_time_when_restart_is_off() {
    assert_eq!(window_after(grown_to_33_segments(false), ms(5000)), 33);
}

#[test]
fn an_idle_time_is_remembered_in_the_threshold() {
    let mut lab = grown_to_33_segments(true);
    // A loss leaves 33 / 2 = 16 for both.
    lab.lose(Server.data(61));
    lab.write(Server, 33_000);
    lab.run_to_completion();
    let window = lab.end(Server).window();
    assert_eq!((window.cwnd, window.ssthresh), (16, 16));
    lab.run_until(lab.now() + ms(1000));
    lab.write(Server, 1000);
    // RFC 2861 (3.2): ssthresh = max(ssthresh, 3/4 cwnd) keeps 16, the window starts over.
    let window = lab.end(Server).window();
    assert_eq!((window.cwnd, window.ssthresh), (4, 16));
    // Long enough for the window to grow beyond 4/3 of the threshold.
    lab.write(Server, 500_000);
    lab.run_to_completion();
    let grown = lab.end(Server).window().cwnd;
    assert!(grown > 22);
    lab.run_until(lab.now() + ms(1000));
    lab.write(Server, 1000);
    let window = lab.end(Server).window();
    assert_eq!((window.cwnd, window.ssthresh), (4, grown / 2 + grown / 4));
}

#[test]
fn the_threshold_after_a_timeout_is_half_of_all_that_is_not_acknowledged() {
    let mut lab = lab().open();
    for nth in 1..=8 {
        lab.lose(Server.data(nth));
    }
    lab.write(Server, 10_000);
    lab.run_until(ms(200));
    // RFC 5681 (2): FlightSize counts the two segments that are SACKed.
    let window = lab.end(Server).window();
    assert_eq!((window.cwnd, window.ssthresh), (1, 5));
}

/// When a block of `segments` has arrived without loss and with each segment acknowledged: the window
/// doubles each round trip until the link never idles, and then the link's rate rules.
///
/// `each` is the time of a segment on the link, `round_trip` from the start of a segment's transmission
/// to its acknowledgment.
fn slow_start(segments: u64, initial: u64, each: Duration, round_trip: Duration) -> Duration {
    let (mut started, mut left, mut flight) = (Duration::ZERO, segments, initial);
    while left > flight && each * flight < round_trip {
        left -= flight;
        started = started + round_trip;
        flight *= 2;
    }
    started + each * left
}

#[test]
fn a_block_takes_its_bytes_over_the_rate_and_the_round_trips_of_slow_start() {
    let rate = Rate::from_gbps(1);
    for (segments, initial) in [(1, 2), (2, 2), (3, 2), (50, 2), (51, 3), (400, 3), (2000, 10)] {
        let mut lab = lab()
            .both(|c| {
                c.initial_window_segments = Some(initial as u32);
                c.ack_every_segments = 1;
                c.receive_buffer_bytes = 100_000_000;
            })
            .delay(us(500))
            .rate(rate)
            .open();
        lab.write(Server, 1000 * segments);
        lab.run_to_completion();
        let each = rate.serialization(1040);
        let round_trip = each + us(500) + rate.serialization(40) + us(500);
        let expected = slow_start(segments, initial, each, round_trip) + us(500);
        assert_eq!(lab.received_at(Client, 1000 * segments), expected, "{segments} segments");
    }
}

#[test]
fn congestion_avoidance_adds_a_segment_a_round_trip() {
    let mut lab = lab().both(|c| c.ack_every_segments = 1).open();
    lab.lose(Server.data(1));
    lab.write(Server, 1_000_000);
    lab.run_until(ms(29));
    // The loss of one of ten is repaired after two round trips and leaves five.
    let before = lab.end(Server).window();
    assert_eq!((before.cwnd, before.ssthresh), (5, 5));
    for round in 1..=20 {
        lab.run_until(ms(29 + 10 * round));
        assert_eq!(u64::from(lab.end(Server).window().cwnd), 5 + round);
    }
}

#[test]
fn slow_start_doubles_the_window_each_round_trip() {
    let mut lab = lab().both(|c| c.ack_every_segments = 1).open();
    lab.write(Server, 1_000_000);
    for round in 0..5 {
        lab.run_until(ms(10 * round + 9));
        assert_eq!(lab.end(Server).window().cwnd, 10 << round);
        assert_eq!(lab.end(Server).in_flight(), 10 << round);
    }
}

#[test]
fn without_sack_one_hole_is_filled_a_round_trip() {
    let lab = ten_segments(false, &[2, 4, 6]);
    // RFC 6582 (3.2): each partial acknowledgment tells of one more hole.
    assert_eq!(lab.sent(Server.data(2)), [ms(0), ms(10)]);
    assert_eq!(lab.sent(Server.data(4)), [ms(0), ms(20)]);
    assert_eq!(lab.sent(Server.data(6)), [ms(0), ms(30)]);
    assert_eq!(lab.received_at(Client, 10_000), ms(35));
    let counters = lab.counters(Server);
    assert_eq!((counters.fast_recoveries, counters.timeouts), (1, 0));
    assert_eq!(counters.segments_retransmitted, 3);
    assert_eq!(lab.end(Server).window().ssthresh, 9 / 2);
}
