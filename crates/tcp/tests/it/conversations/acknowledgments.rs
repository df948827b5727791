//! When a receiver acknowledges (RFC 1122, 4.2.3.2; RFC 5681, 4.2).

use netstudy_tcp::{Config, Segment};
use netstudy_units::Duration;

use super::lab::solo::{Solo, data, sack};
use super::lab::{Client, Server, Setup, lab, ms};

/// When which acknowledgment leaves the client for a write of `bytes` by the server.
fn acks_of(setup: &Setup, bytes: u64) -> Vec<(Duration, u64)> {
    let mut lab = setup.open();
    lab.write(Server, bytes);
    lab.run_to_completion();
    lab.acks(Client)
}

#[test]
fn every_second_full_segment_is_acknowledged_at_once() {
    assert_eq!(acks_of(&lab(), 6000), [(ms(5), 2001), (ms(5), 4001), (ms(5), 6001)]);
}

#[test]
fn an_odd_last_segment_waits_40_ms() {
    assert_eq!(acks_of(&lab(), 1000), [(ms(45), 1001)]);
    assert_eq!(acks_of(&lab(), 3000), [(ms(5), 2001), (ms(45), 3001)]);
}

#[test]
fn a_second_short_segment_does_not_prolong_the_wait() {
    let mut lab = lab().open();
    lab.write(Server, 400);
    lab.run_until(ms(30));
    lab.write(Server, 400);
    lab.run_to_completion();
    assert_eq!(lab.acks(Client), [(ms(45), 801)]);
}

#[test]
fn more_than_one_full_segment_waits_no_longer() {
    // As in Linux: 1500 bytes are more than one segment.
    assert_eq!(acks_of(&lab(), 1500), [(ms(5), 1501)]);
    assert_eq!(acks_of(&lab(), 2500), [(ms(5), 2001), (ms(45), 2501)]);
}

#[test]
fn the_first_segments_of_a_connection_are_acknowledged_one_by_one() {
    let quick = lab().both(|c| c.quick_ack_segments = 3);
    assert_eq!(
        acks_of(&quick, 7000),
        [(ms(5), 1001), (ms(5), 2001), (ms(5), 3001), (ms(5), 5001), (ms(5), 7001)]
    );
}

#[test]
fn the_end_of_a_write_is_acknowledged_at_once_where_pushes_are_heeded() {
    let pushed = lab().both(|c| c.ack_pushed = true);
    assert_eq!(acks_of(&pushed, 3000), [(ms(5), 2001), (ms(5), 3001)]);
    assert_eq!(acks_of(&pushed, 2300), [(ms(5), 2001), (ms(5), 2301)]);
}

#[test]
fn who_answers_lets_the_end_of_a_write_wait_until_that_was_in_vain() {
    let mut lab = lab().both(|c| c.ack_pushed = true).open();
    lab.write(Server, 500);
    lab.run_until(ms(10));
    lab.write(Client, 100);
    lab.run_until(ms(20));
    lab.write(Server, 500);
    lab.run_until(ms(100));
    lab.write(Server, 500);
    lab.run_to_completion();
    // The second write waits for an answer, which does not come; the third does not.
    assert_eq!(lab.acks(Client), [(ms(5), 501), (ms(65), 1001), (ms(105), 1501)]);
}

/// The client gets twelve segments, the second one after the sixth. Returns its acknowledgments from the
/// second one on.
fn acks_behind_a_gap(change: impl Fn(&mut Config)) -> Vec<u64> {
    let change = |c: &mut Config| {
        c.quick_ack_segments = 3;
        c.sack = true;
        change(c);
    };
    let mut solo = Solo::open(lab().both(change).client_config());
    let mut hear = |place: u64| solo.hears(ms(1 + place), &data(1 + place * 1000, 1000));
    for place in [0, 2, 3, 4, 5] {
        hear(place);
    }
    [1, 6, 7, 8, 9, 10, 11].into_iter().flat_map(hear).map(|segment| segment.ack).collect()
}

#[test]
fn before_linux_4_18_segments_behind_a_gap_are_acknowledged_one_by_one() {
    // Of the three, one reports the last segment above the gap and one that the gap is filled.
    let quick = acks_behind_a_gap(|c| c.quick_ack_disorder = true);
    assert_eq!(quick, [6001, 7001, 9001, 11_001]);
    let usual = acks_behind_a_gap(|_| ());
    assert_eq!(usual, [6001, 8001, 10_001, 12_001]);
}

#[test]
fn acknowledgments_may_be_rarer() {
    let rare = lab().both(|c| c.ack_every_segments = 4);
    assert_eq!(acks_of(&rare, 10_000), [(ms(5), 4001), (ms(5), 8001), (ms(45), 10_001)]);
}

#[test]
fn a_delayed_acknowledgment_rides_on_data() {
    let mut lab = lab().open();
    lab.write(Server, 1000);
    lab.run_until(ms(20));
    lab.write(Client, 500);
    lab.run_to_completion();
    lab.assert_conversation(
        "0.000 server 1..1001 ack 1
        20.000 client 1..501 ack 1001
        65.000 server ack 501",
    );
}

#[test]
fn a_report_beside_data_travels_on_its_own() {
    let mut solo = Solo::open(lab().both(|c| c.offload_bytes = 0).client_config());
    solo.writes(ms(0), 30_000);
    // It acknowledges two segments and leaves a hole.
    let said = solo.hears(ms(10), &Segment { ack: 2001, ..data(1001, 1000) });
    // The window lets three full segments go, in which the option has no room.
    let (report, full) = said.split_last().unwrap();
    assert_eq!(full.len(), 3);
    assert!(full.iter().all(|s| s.len == 1000 && s.sack.is_empty() && s.ip_bytes() == 1040));
    assert_eq!(report.len, 0);
    assert_eq!(report.sack, sack(1, &[(1001, 2001)]).sack);
}

#[test]
fn the_timestamp_of_the_first_segment_that_waits_is_echoed() {
    let mut solo = Solo::open(lab().both(|c| c.timestamps = true).client_config());
    let at = |ts_value, seq| Segment { ts_value, timestamps: true, ..data(seq, 988) };
    assert!(solo.hears(ms(1), &at(100, 1)).is_empty());
    // RFC 7323 (4.3): so that the sample covers the delay of the acknowledgment.
    assert_eq!(solo.hears(ms(2), &at(200, 989))[0].ts_echo, 100);
    // Above a hole, the newest segment below it.
    assert_eq!(solo.hears(ms(3), &at(400, 2965))[0].ts_echo, 100);
    // The segment that fills it.
    assert_eq!(solo.hears(ms(4), &at(500, 1977))[0].ts_echo, 500);
}

#[test]
fn an_old_segment_below_the_window_is_answered() {
    let mut lab = lab().open();
    lab.delay(Client.ack(1), ms(100));
    lab.write(Server, 2000);
    lab.run_until(ms(6));
    // The client's acknowledgment with sequence number 1 is on the way when its data overtakes it.
    lab.write(Client, 2000);
    lab.run_to_completion();
    // RFC 9293 (3.10.7.4): the server answers the late one at 105 ms.
    assert_eq!(lab.acks(Server), [(ms(11), 2001), (ms(110), 2001)]);
}
