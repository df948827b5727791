//! Lost and reordered segments, and how they are repaired before the timer fires.

use netstudy_tcp::Segment;

use super::lab::solo::{Solo, ack, data, sack};
use super::lab::{Client, Server, lab, ms, ten_segments};

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
    // Segments that had arrived were retransmitted, and their duplicates acknowledge no more than had been
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
    // RFC 6675 (2): data in the same segment makes no difference.
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
fn a_segment_that_arrives_twice_is_taken_once() {
    let mut lab = lab().open();
    lab.duplicate(Server.data(2));
    lab.write(Server, 10_000);
    lab.run_to_completion();
    assert_eq!(lab.counters(Client).bytes_received, 10_000);
    assert_eq!(lab.counters(Server).segments_retransmitted, 0);
}
