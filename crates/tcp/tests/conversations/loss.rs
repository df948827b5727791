//! Lost and reordered segments, and how they are repaired before the timer fires.

use netstudy_tcp::Segment;
use netstudy_units::Rate;

use crate::lab::solo::{Solo, ack, data, sack};
use crate::lab::{Client, Lab, Server, lab, ms};

/// 1040 bytes of IP, a full segment of the template, take 1.04 ms.
const SLOW: Rate = Rate::from_bps(8_000_000);

/// A server that sends a block of ten segments, of which some are lost.
fn ten_segments(sack: bool, lost: &[usize]) -> Lab {
    let mut lab = lab().both(|c| c.sack = sack).open();
    for &nth in lost {
        lab.lose(Server.data(nth));
    }
    lab.write(Server, 10_000);
    lab.run_to_completion();
    lab
}

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
fn the_last_segment_of_a_block_waits_for_the_timer() {
    let mut lab = lab().both(|c| c.ack_every_segments = 1).open();
    lab.lose(Server.data(10));
    lab.write(Server, 10_000);
    lab.run_to_completion();
    // The ninth segment is acknowledged at 10 ms and starts the timer again (RFC 6298, 5.3).
    assert_eq!(lab.sent(Server.data(10)), [ms(0), ms(210)]);
    assert_eq!(lab.received_at(Client, 10_000), ms(215));
    assert_eq!(lab.counters(Server).timeouts, 1);
    assert_eq!(lab.counters(Server).segments_retransmitted, 1);
}

#[test]
fn a_delayed_acknowledgment_postpones_the_timer() {
    let lab = ten_segments(true, &[10]);
    // The ninth segment waits 40 ms for the tenth: it is acknowledged at 5 + 40 + 5 ms.
    assert_eq!(lab.sent(Server.data(10)), [ms(0), ms(250)]);
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
    assert_eq!(lab.sent(Server.data(6)), [ms(0), ms(10)]);
    assert_eq!(lab.received_at(Client, 10_000), ms(15));
    let counters = lab.counters(Server);
    assert_eq!((counters.fast_recoveries, counters.timeouts), (1, 0));
    assert_eq!(counters.segments_retransmitted, 2);
    // The first segment is acknowledged, nine are in flight.
    assert_eq!(lab.end(Server).window().ssthresh, 9 / 2);
}

#[test]
fn the_newest_block_is_reported_first() {
    let lab = ten_segments(true, &[2, 4, 6, 8]);
    // RFC 2018 (4): the block that holds the newest segment, then those reported before; three at most.
    let reports: Vec<String> = lab
        .conversation()
        .lines()
        .filter(|line| line.trim_start().starts_with("5.000 client"))
        .map(|line| line.split("ack 1001 ").nth(1).unwrap_or("").to_owned())
        .collect();
    assert_eq!(
        reports,
        [
            "sack 2001..3001",
            "sack 4001..5001 2001..3001",
            "sack 6001..7001 4001..5001 2001..3001",
            "sack 8001..9001 6001..7001 4001..5001",
            "sack 8001..10001 6001..7001 4001..5001",
        ]
    );
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
        // RFC 6675 (5, step 4.2): what limited transmit added is not part of FlightSize.
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
fn duplicates_of_what_a_timeout_repeated_in_vain_are_no_loss() {
    let mut lab = lab().both(|c| c.sack = false).open();
    for nth in [1, 3, 5] {
        lab.lose(Server.data(nth));
    }
    lab.cut(Client);
    lab.write(Server, 30_000);
    lab.run_until(ms(100));
    lab.heal(Client);
    lab.run_to_completion();
    let counters = lab.counters(Server);
    assert_eq!(counters.timeouts, 1);
    // Segments that had arrived were sent again, and their duplicates acknowledge no more than had been
    // sent before the timeout (RFC 6582, 3.2, step 1).
    assert!(counters.segments_retransmitted > 3);
    assert!(counters.duplicate_acks_received >= 3);
    assert_eq!(counters.fast_recoveries, 0);
    assert_eq!(lab.sent(Server.data(11)).len(), 1);
}

#[test]
fn a_report_beside_data_counts() {
    let mut solo = Solo::open(lab().client_config());
    solo.writes(ms(0), 10_000);
    let report = Segment { len: 500, ..sack(1, &[(1001, 4001)]) };
    // RFC 6675 (2): data beside it makes no difference.
    let said = solo.hears(ms(10), &report);
    assert_eq!((said[0].seq, said[0].len), (1, 1000));
    assert_eq!(solo.end().counters().fast_recoveries, 1);
}

#[test]
fn an_acknowledgment_that_says_more_is_no_duplicate() {
    let mut solo = Solo::open(lab().both(|c| c.sack = false).client_config());
    solo.writes(ms(0), 10_000);
    // RFC 5681 (2): not with data, not with a new window.
    for nth in 1..=4 {
        solo.hears(ms(1), &data(1 + 100 * (nth - 1), 100));
    }
    for window in [60_000, 50_000, 40_000, 30_000] {
        solo.hears(ms(2), &Segment { window, seq: 401, ..ack(1) });
    }
    assert_eq!(solo.end().counters().fast_recoveries, 0);
    assert_eq!(solo.end().in_flight(), 10);
    for _ in 0..3 {
        solo.hears(ms(3), &Segment { window: 30_000, seq: 401, ..ack(1) });
    }
    assert_eq!(solo.end().counters().fast_recoveries, 1);
}

#[test]
fn a_fin_is_no_duplicate_acknowledgment() {
    let mut lab = lab().both(|c| c.sack = false).open();
    lab.write(Server, 10_000);
    lab.close(Client);
    lab.run_to_completion();
    assert_eq!(lab.counters(Server).duplicate_acks_received, 0);
}

#[test]
fn a_partial_acknowledgment_repeats_its_hole_whatever_the_window_allows() {
    let mut solo = Solo::open(lab().both(|c| c.sack = false).client_config());
    solo.writes(ms(0), 10_000);
    for _ in 0..3 {
        solo.hears(ms(10), &ack(1));
    }
    // Ten were sent, three have arrived, one is lost, its copy is on the way; the other duplicates are
    // lost. So far it is more than the window of five.
    assert_eq!((solo.end().in_flight(), solo.end().window().cwnd), (7, 5));
    // Two are acknowledged, one of them a duplicate before: 8 left, two of them have arrived, the oldest
    // is lost and on the way again (RFC 6582, 3.2, step 3).
    let said = solo.hears(ms(20), &ack(2001));
    assert_eq!(said.iter().map(|s| s.seq).collect::<Vec<_>>(), [2001]);
    assert_eq!(solo.end().in_flight(), 8 - 2);
}

#[test]
fn a_lost_acknowledgment_is_covered_by_the_next() {
    let mut lab = lab().both(|c| c.ack_every_segments = 1).open();
    lab.lose(Client.ack(3));
    lab.write(Server, 10_000);
    let done = lab.run_until_acknowledged(Server);
    assert_eq!(done, ms(10));
    assert_eq!(lab.acks(Client)[2], (ms(5), 3001));
    assert_eq!(lab.counters(Server).segments_sent, 10 + 1, "the block and the SYN");
    assert_eq!(lab.counters(Server).duplicate_acks_received, 0);
}

#[test]
fn when_all_acknowledgments_are_lost_one_segment_is_repeated() {
    let mut lab = lab().open();
    lab.cut(Client);
    lab.write(Server, 10_000);
    lab.run_until(ms(100));
    lab.heal(Client);
    let done = lab.run_until_acknowledged(Server);
    // The copy of the first segment is old, and is answered at once with all that is there.
    assert_eq!(lab.sent(Server.data(1)), [ms(0), ms(200)]);
    assert_eq!(done, ms(210));
    assert_eq!(lab.counters(Server).segments_retransmitted, 1);
    assert_eq!(lab.counters(Client).bytes_received, 10_000);
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
    // Without SACK the acknowledgments of 6 and of 8 look like partial ones: 7 and 9 are repeated too.
    for (sack, repeated) in [(true, 1), (false, 3)] {
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

#[test]
fn a_segment_that_arrives_twice_is_taken_once() {
    let mut lab = lab().open();
    lab.duplicate(Server.data(2));
    lab.write(Server, 10_000);
    lab.run_to_completion();
    assert_eq!(lab.counters(Client).bytes_received, 10_000);
    assert_eq!(lab.counters(Server).segments_retransmitted, 0);
}
