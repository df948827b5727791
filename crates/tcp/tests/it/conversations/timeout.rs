//! The retransmission timer, its backoff, and the window after idle times.

use netstudy_units::Duration;

use super::lab::{Client, Server, lab, ms};

#[test]
fn the_timeout_doubles_while_the_path_is_cut_and_the_first_copy_that_arrives_repairs_it() {
    let mut lab = lab().open();
    lab.cut(Server);
    lab.write(Server, 1000);
    lab.run_until(ms(2000));
    lab.heal(Server);
    let done = lab.run_until_acknowledged(Server);
    // RFC 6298 (5.5): 200, 400, 800, 1600 ms after the one before.
    assert_eq!(lab.sent(Server.data(1)), [ms(0), ms(200), ms(600), ms(1400), ms(3000)]);
    // 5 ms there, 40 ms delayed, 5 ms back.
    assert_eq!(done, ms(3050));
    assert_eq!(lab.counters(Server).timeouts, 4);
    assert_eq!(lab.counters(Server).segments_retransmitted, 4);
}

#[test]
fn the_timeout_does_not_double_beyond_its_maximum() {
    let mut lab = lab().both(|c| c.max_rto = ms(500)).open();
    lab.cut(Server);
    lab.write(Server, 1000);
    lab.run_until(ms(1700));
    lab.heal(Server);
    lab.run_to_completion();
    assert_eq!(lab.sent(Server.data(1)), [ms(0), ms(200), ms(600), ms(1100), ms(1600), ms(2100)]);
}

/// Loses the first copy of one segment, then the first of the next, and returns the second timeout.
fn timeout_after_a_repaired_one(timestamps: bool) -> Duration {
    let mut lab = lab().both(|c| c.timestamps = timestamps).open();
    for nth in 1..=2 {
        lab.lose(Server.data(nth));
        lab.write(Server, 900);
        lab.run_to_completion();
    }
    let sent = lab.sent(Server.data(2));
    sent[1] - sent[0]
}

#[test]
fn a_copy_gives_no_sample_and_leaves_the_backoff() {
    // Karn's algorithm: who knows which copy was acknowledged (RFC 6298, 3 and 5.7).
    assert_eq!(timeout_after_a_repaired_one(false), ms(400));
}

#[test]
fn timestamps_tell_which_copy_was_acknowledged_and_end_the_backoff() {
    // 50 ms after 10 ms: SRTT = 15, RTTVAR = 3/4 x 5 + 1/4 x 40 = 13.75, so the minimum holds.
    assert_eq!(timeout_after_a_repaired_one(true), ms(200));
}

#[test]
fn timestamps_count_microseconds() {
    let mut lab = lab()
        .both(|c| {
            c.timestamps = true;
            c.min_rto = ms(1);
            c.ack_every_segments = 1;
        })
        .open();
    for nth in 1..=2 {
        lab.lose(Server.data(nth));
        lab.write(Server, 900);
        lab.run_to_completion();
    }
    // R = 10 ms thrice: RTTVAR = 5 after the handshake, 3.75 after the first segment's copy.
    assert_eq!(lab.sent(Server.data(1)), [ms(0), ms(10 + 4 * 5)]);
    assert_eq!(lab.sent(Server.data(2)), [ms(40), ms(40 + 10 + 15)]);
}

#[test]
fn an_old_copy_does_not_turn_the_echoed_timestamp_back() {
    let mut lab = lab().both(|c| c.timestamps = true).open();
    lab.delay(Server.data(1), ms(475));
    lab.write(Server, 900);
    lab.run_until(ms(260));
    lab.lose(Server.data(2));
    lab.write(Server, 900);
    lab.run_until(ms(490));
    // The second segment's copy of 460 ms waits for its acknowledgment when the first segment's first copy
    // turns up at 480 ms. The answer must echo 460 ms, not 0 (RFC 7323, 4.3): a sample of 25 ms.
    assert_eq!(lab.acks(Client).last(), Some(&(ms(480), 1801)));
    lab.lose(Server.data(3));
    lab.write(Server, 900);
    lab.run_to_completion();
    assert_eq!(lab.sent(Server.data(3)), [ms(490), ms(690)]);
}

#[test]
fn the_timeout_follows_the_round_trip_time_above_its_minimum() {
    let mut lab = lab().both(|c| c.min_rto = ms(1)).delay(ms(50)).open();
    lab.lose(Server.data(1));
    lab.write(Server, 1000);
    lab.run_to_completion();
    // RFC 6298 (2.2): the handshake took R = 100 ms, so SRTT + 4 RTTVAR = 100 + 4 x 50 ms.
    assert_eq!(lab.sent(Server.data(1)), [ms(0), ms(300)]);
}

#[test]
fn a_timeout_starts_over_with_one_segment() {
    let mut lab = lab().both(|c| c.ack_every_segments = 1).open();
    lab.cut(Client);
    lab.write(Server, 30_000);
    lab.run_until(ms(200));
    // RFC 5681 (3.1): cwnd is one segment, ssthresh half of the ten in flight.
    let window = lab.end(Server).window();
    assert_eq!((window.cwnd, window.ssthresh), (1, 5));
    assert_eq!(lab.sent(Server.data(1)), [ms(0), ms(200)]);
    assert_eq!(lab.sent(Server.data(2)), [ms(0)]);
    lab.run_until(ms(204));
    lab.heal(Client);
    lab.run_to_completion();
    assert_eq!(lab.counters(Client).bytes_received, 30_000);
    assert_eq!(lab.counters(Server).segments_retransmitted, 1);
}

#[test]
fn a_timeout_that_follows_a_timeout_leaves_the_threshold() {
    let mut lab = lab().open();
    lab.cut(Server);
    lab.write(Server, 10_000);
    lab.run_until(ms(1400));
    assert_eq!(lab.counters(Server).timeouts, 3);
    // RFC 5681 (3.1): once for a segment that the timer has already repeated.
    assert_eq!(lab.end(Server).window().ssthresh, 5);
}

#[test]
fn after_a_timeout_slow_start_repairs_what_is_lost() {
    let mut lab = lab().both(|c| c.ack_every_segments = 1).open();
    lab.cut(Server);
    lab.write(Server, 10_000);
    lab.run_until(ms(1));
    lab.heal(Server);
    let done = lab.run_until_acknowledged(Server);
    // Flights of 1, 2 and 4 in slow start; then ssthresh = 5 holds, and the last three follow.
    let repeated = |nth| lab.sent(Server.data(nth))[1];
    assert_eq!(repeated(1), ms(200));
    assert_eq!((repeated(2), repeated(3)), (ms(210), ms(210)));
    assert_eq!((repeated(4), repeated(7)), (ms(220), ms(220)));
    assert_eq!((repeated(8), repeated(10)), (ms(230), ms(230)));
    assert_eq!(done, ms(240));
    assert_eq!(lab.counters(Server).timeouts, 1);
    assert_eq!(lab.counters(Server).segments_retransmitted, 10);
}
