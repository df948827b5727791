//! Opening, and the options agreed on.

use netstudy_tcp::{Segment, State};

use super::lab::solo::{Solo, ack, data};
use super::lab::{Client, Lab, Server, lab, ms};

/// Sends from the start, and returns how many segments the first flight has.
fn first_flight(mut lab: Lab) -> usize {
    lab.write(Server, 100_000);
    lab.segments(Server).count()
}

#[test]
fn three_segments_open_a_connection() {
    let mut lab = lab().unopened();
    lab.connect();
    lab.run_to_completion();
    // 1,000,000 has 20 bits, so a shift of 4 lets 16 bits express it. The window of a SYN has no shift.
    lab.assert_conversation(
        "0.000 client SYN win 65535 mss 1000 scale 4 sack
         5.000 server SYN win 65535 mss 1000 scale 4 sack ack 1
        10.000 client ack 1",
    );
    assert_eq!(lab.segments(Client).last().unwrap().window, (1_000_000_u32 >> 4) as u16);
    assert_eq!(lab.end(Client).state(), State::Established);
    assert_eq!(lab.end(Server).state(), State::Established);
}

#[test]
fn a_lost_syn_is_retransmitted_after_the_initial_timeout_and_leaves_a_window_of_one() {
    let mut lab = lab().unopened();
    lab.lose(Client.syn());
    lab.lose(Client.syn().copy(2));
    lab.connect();
    lab.run_to_completion();
    // RFC 6298 (2.1, 5.5): one second, then two.
    assert_eq!(lab.sent(Client.syn()), [ms(0), ms(1000), ms(3000)]);
    assert_eq!(lab.sent(Server.syn()), [ms(3005)]);
    // RFC 5681 (3.1): the initial window is one segment. The server never lost a SYN.
    assert_eq!(lab.end(Client).window().cwnd, 1);
    assert_eq!(lab.end(Server).window().cwnd, 10);
}

#[test]
fn after_a_lost_syn_the_timeout_starts_at_three_seconds() {
    let mut lab = lab().unopened();
    lab.lose(Client.syn());
    lab.connect();
    lab.run_to_completion();
    let written = lab.now();
    lab.lose(Client.data(1));
    lab.write(Client, 1000);
    lab.run_to_completion();
    // RFC 6298 (5.7): the copy of the SYN gave no sample (Karn's algorithm).
    assert_eq!(lab.sent(Client.data(1)), [written, written + ms(3000)]);
}

#[test]
fn after_a_lost_syn_timestamps_still_give_a_round_trip_time() {
    let mut lab = lab().both(|c| c.timestamps = true).unopened();
    lab.lose(Client.syn());
    lab.connect();
    lab.run_to_completion();
    let written = lab.now();
    lab.lose(Client.data(1));
    lab.write(Client, 1000);
    lab.run_to_completion();
    // The sample is 10 ms, so the minimum of 200 ms holds.
    assert_eq!(lab.sent(Client.data(1)), [written, written + ms(200)]);
}

#[test]
fn a_lost_syn_ack_is_retransmitted() {
    let mut lab = lab().unopened();
    lab.lose(Server.syn());
    lab.connect();
    lab.run_to_completion();
    // Both timers fire after a second. The server's comes first, then the copy of the SYN arrives and is
    // answered (RFC 9293, 3.10.7.4), which means nothing to the client.
    lab.assert_conversation(
        "   0.000 client SYN win 65535 mss 1000 scale 4 sack
            5.000 server SYN win 65535 mss 1000 scale 4 sack ack 1 (lost)
         1000.000 client SYN win 65535 mss 1000 scale 4 sack
         1005.000 server SYN win 65535 mss 1000 scale 4 sack ack 1
         1005.000 server ack 1
         1010.000 client ack 1",
    );
    assert_eq!(lab.end(Server).window().cwnd, 1);
}

#[test]
fn data_stands_in_for_a_lost_last_acknowledgment_of_the_handshake() {
    let mut lab = lab().unopened();
    lab.lose(Client.ack(1));
    lab.connect();
    lab.run_until(ms(20));
    assert_eq!(lab.end(Server).state(), State::SynReceived);
    lab.write(Client, 1000);
    lab.run_until(ms(25));
    assert_eq!(lab.end(Server).state(), State::Established);
    assert_eq!(lab.end(Server).bytes_received(), 1000);
}

#[test]
fn a_server_that_speaks_first_repeats_its_syn_when_the_last_acknowledgment_is_lost() {
    let mut lab = lab().unopened();
    lab.lose(Client.ack(1));
    lab.connect();
    lab.write(Server, 1000);
    lab.run_to_completion();
    // The SYN of 5 ms is repeated a second later, acknowledged at 1010 ms, and data follows.
    assert_eq!(lab.sent(Server.syn()), [ms(5), ms(1005)]);
    assert_eq!(lab.sent(Server.data(1)), [ms(1015)]);
    assert_eq!(lab.received_at(Client, 1000), ms(1020));
}

#[test]
fn what_was_written_before_the_connection_is_open_follows_the_handshake() {
    let mut lab = lab().unopened();
    lab.write(Client, 1500);
    lab.run_to_completion();
    lab.assert_conversation(
        "0.000 client SYN win 65535 mss 1000 scale 4 sack
         5.000 server SYN win 65535 mss 1000 scale 4 sack ack 1
        10.000 client 1..1001 ack 1
        10.000 client 1001..1501 ack 1
        15.000 server ack 1501",
    );
}

#[test]
fn sack_is_used_only_when_both_sides_permit_it() {
    let with_server = |sack| {
        let mut lab = lab().server(|c| c.sack = sack).open();
        lab.lose(Server.data(2));
        lab.write(Server, 10_000);
        lab.run_to_completion();
        lab.segments(Client).filter(|segment| !segment.sack.is_empty()).count()
    };
    // Segments 3 to 10 each find the second missing.
    assert_eq!(with_server(true), 8);
    assert_eq!(with_server(false), 0);
}

#[test]
fn timestamps_are_used_only_when_both_sides_have_them() {
    let with_server = |timestamps| {
        let lab = lab().client(|c| c.timestamps = true).server(|c| c.timestamps = timestamps);
        let mut lab = lab.open();
        lab.write(Client, 1000);
        let first = *lab.segments(Client).next().unwrap();
        (first.timestamps, first.len, first.ip_bytes())
    };
    // The option takes 12 of the 1000 bytes (RFC 7323, appendix A).
    assert_eq!(with_server(true), (true, 988, 1040));
    assert_eq!(with_server(false), (false, 1000, 1040));
}

#[test]
fn the_smaller_mtu_rules_both_directions() {
    let mut lab = lab().client(|c| c.mtu_bytes = 9000).server(|c| c.mtu_bytes = 1500).open();
    for side in [Client, Server] {
        lab.write(side, 100_000);
        let largest = lab.segments(side).map(Segment::ip_bytes).max();
        assert_eq!(largest, Some(1500));
        assert_eq!(lab.end(side).mss_bytes(), 1460);
    }
}

#[test]
fn the_initial_window_follows_rfc_3390() {
    // min(4 MSS, max(2 MSS, 4380 bytes)) in segments.
    for (mss, segments) in [(500, 4), (1000, 4), (1095, 4), (1460, 3), (2190, 2), (8960, 2)] {
        let by_rfc = std::cmp::min(4 * mss, std::cmp::max(2 * mss, 4380)) / mss;
        assert_eq!(by_rfc, segments);
        let lab = lab().both(|c| {
            c.mtu_bytes = mss + 40;
            c.initial_window_segments = None;
        });
        assert_eq!(first_flight(lab.open()), segments as usize, "MSS {mss}");
    }
}

#[test]
fn an_initial_window_of_one_is_one_on_both_sides() {
    let lab = lab().both(|c| c.initial_window_segments = Some(1)).open();
    // The acknowledgment of the SYN is not part of slow start.
    assert_eq!(lab.end(Client).window().cwnd, 1);
    assert_eq!(first_flight(lab), 1);
}

#[test]
fn a_peer_without_window_scaling_is_given_and_gives_windows_of_16_bits() {
    let mut solo = Solo::open(lab().client_config());
    assert_eq!(
        solo.hears(ms(1), &data(1, 2000))[0].window,
        u16::MAX,
        "1,000,000 bytes, in 16 bits"
    );
    solo.hears(ms(2), &Segment { window: 3000, ..ack(1) });
    // Not 3000 << 4.
    assert_eq!(solo.writes(ms(2), 10_000).len(), 3);
}
