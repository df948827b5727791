//! Connections that live long: many writes, both directions, whole blocks.

use netstudy_units::Rate;

use super::lab::{Client, Server, lab, ms, us};

#[test]
fn requests_and_responses_share_a_connection() {
    let mut lab = lab().open();
    for round in 1..=3 {
        lab.write(Client, 100);
        lab.run_until_received(Server, 100 * round);
        lab.write(Server, 2500);
        lab.run_until_received(Client, 2500 * round);
    }
    assert_eq!(lab.now(), ms(30), "a round trip each");
    // Each write ends in a short segment; each request acknowledges the response before it.
    lab.assert_conversation(
        "0.000 client 1..101 ack 1
         5.000 server 1..1001 ack 101
         5.000 server 1001..2001 ack 101
         5.000 server 2001..2501 ack 101
        10.000 client ack 2001
        10.000 client 101..201 ack 2501
        15.000 server 2501..3501 ack 201
        15.000 server 3501..4501 ack 201
        15.000 server 4501..5001 ack 201
        20.000 client ack 4501
        20.000 client 201..301 ack 5001
        25.000 server 5001..6001 ack 301
        25.000 server 6001..7001 ack 301
        25.000 server 7001..7501 ack 301
        30.000 client ack 7001",
    );
}

#[test]
fn writes_are_not_joined() {
    let mut lab = lab().open();
    for bytes in [1500, 300, 2000] {
        lab.write(Server, bytes);
    }
    let lens: Vec<u32> = lab.segments(Server).map(|segment| segment.len).collect();
    assert_eq!(lens, [1000, 500, 300, 1000, 1000]);
}

#[test]
fn both_directions_at_once_do_not_interfere() {
    let mut lab = lab().rate(Rate::from_bps(8_000_000)).open();
    lab.write(Client, 500_000);
    lab.write(Server, 500_000);
    lab.run_to_completion();
    for side in [Client, Server] {
        let counters = lab.counters(side);
        assert_eq!(counters.bytes_received, 500_000);
        assert_eq!(counters.segments_retransmitted, 0);
        assert_eq!(counters.bytes_sent, 500_000);
    }
}

#[test]
fn losses_in_both_directions_at_once_are_repaired_without_a_timeout() {
    let mut lab = lab().rate(Rate::from_bps(8_000_000)).open();
    for side in [Client, Server] {
        for nth in [20, 22, 60] {
            lab.lose(side.data(nth));
        }
        lab.write(side, 200_000);
    }
    lab.run_to_completion();
    for side in [Client, Server] {
        let counters = lab.counters(side);
        assert_eq!(counters.bytes_received, 200_000);
        assert_eq!((counters.segments_retransmitted, counters.timeouts), (3, 0));
        assert_eq!(counters.fast_recoveries, 2);
    }
}

#[test]
fn a_jumbo_block_at_ten_gigabit_is_bound_by_the_link() {
    let rate = Rate::from_gbps(10);
    let mut lab = lab()
        .both(|c| {
            c.mtu_bytes = 9000;
            c.timestamps = true;
            c.receive_buffer_bytes = 4_000_000;
        })
        .delay(us(1))
        .rate(rate)
        .open();
    lab.write(Server, 4_000_000);
    lab.run_to_completion();
    // ceil(4,000,000 / 8948) = 448 segments, the last of 244 bytes; ten of them take 72 µs, far more than
    // a round trip of about 9 µs, so the link never idles.
    let link = rate.serialization(9000) * 447 + rate.serialization(244 + 52);
    assert_eq!(lab.received_at(Client, 4_000_000), link + us(1));
}
