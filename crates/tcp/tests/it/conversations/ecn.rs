//! Explicit congestion notification (RFC 3168), and the accurate echo of DCTCP (RFC 8257).

use netstudy_tcp::{Congestion, Dctcp, Ecn, Flags, Segment};

use super::lab::solo::{Solo, data};
use super::lab::{Client, Lab, Server, Setup, lab, ms};

fn ecn() -> Setup {
    lab().both(|c| c.ecn = true)
}

/// A server that sends ten segments at once, of which some are marked.
fn ten_segments(marked: &[usize]) -> Lab {
    let mut lab = ecn().open();
    for &nth in marked {
        lab.mark(Server.data(nth));
    }
    lab.write(Server, 10_000);
    lab.run_to_completion();
    lab
}

#[test]
fn both_ends_agree_in_their_syns() {
    let mut lab = ecn().unopened();
    lab.connect();
    lab.run_to_completion();
    lab.assert_conversation(
        "0.000 client SYN win 65535 mss 1000 scale 4 sack ECE CWR
         5.000 server SYN win 65535 mss 1000 scale 4 sack ECE ack 1
        10.000 client ack 1",
    );
    // RFC 3168 (6.1.1): neither SYN is subject to marks; (6.1.4): nor is an acknowledgment.
    assert!(lab.segments(Client).chain(lab.segments(Server)).all(|s| s.ecn == Ecn::NotEct));
}

#[test]
fn one_end_alone_does_without() {
    for setup in [lab().client(|c| c.ecn = true), lab().server(|c| c.ecn = true)] {
        let mut lab = setup.open();
        lab.write(Server, 1000);
        lab.run_to_completion();
        assert!(lab.segments(Server).all(|segment| segment.ecn == Ecn::NotEct));
    }
}

#[test]
fn a_mark_is_echoed_until_the_sender_says_that_it_has_slowed_down() {
    let mut lab = ten_segments(&[3]);
    lab.write(Server, 2000);
    lab.run_to_completion();
    lab.assert_conversation(
        "0.000 server 1..1001 ack 1
         0.000 server 1001..2001 ack 1
         0.000 server 2001..3001 ack 1 (marked)
         0.000 server 3001..4001 ack 1
         0.000 server 4001..5001 ack 1
         0.000 server 5001..6001 ack 1
         0.000 server 6001..7001 ack 1
         0.000 server 7001..8001 ack 1
         0.000 server 8001..9001 ack 1
         0.000 server 9001..10001 ack 1
         5.000 client ack 2001
         5.000 client ECE ack 4001
         5.000 client ECE ack 6001
         5.000 client ECE ack 8001
         5.000 client ECE ack 10001
        10.000 server CWR 10001..11001 ack 1
        10.000 server 11001..12001 ack 1
        15.000 client ack 12001",
    );
    assert_eq!(lab.counters(Server).ece_acks_received, 4);
}

#[test]
fn a_mark_halves_the_window_once_and_nothing_is_retransmitted() {
    for marked in [&[3][..], &[3, 7], &[3, 4, 5, 6, 7, 8, 9, 10]] {
        let lab = ten_segments(marked);
        // RFC 5681 (4): half of the eight segments in flight when the first echo comes.
        let window = lab.end(Server).window();
        assert_eq!((window.cwnd, window.ssthresh), (4, 4), "marked: {marked:?}");
        assert_eq!(lab.counters(Server).segments_retransmitted, 0);
    }
}

#[test]
fn a_mark_in_the_next_window_halves_it_again() {
    let mut lab = ten_segments(&[1]);
    assert_eq!(lab.end(Server).window().cwnd, 5);
    lab.mark(Server.data(11));
    lab.write(Server, 5000);
    lab.run_to_completion();
    assert_eq!(lab.end(Server).window().cwnd, 2);
}

#[test]
fn a_loss_in_a_window_with_a_mark_lowers_it_no_further() {
    let mut lab = ecn().open();
    lab.mark(Server.data(1));
    lab.lose(Server.data(4));
    lab.write(Server, 10_000);
    lab.run_to_completion();
    let window = lab.end(Server).window();
    assert_eq!((window.cwnd, window.ssthresh), (5, 5));
    assert_eq!(lab.counters(Server).fast_recoveries, 1);
}

#[test]
fn what_is_sent_again_is_not_subject_to_marks() {
    let mut lab = ecn().open();
    lab.lose(Server.data(1));
    lab.write(Server, 20_000);
    lab.run_to_completion();
    let copies: Vec<_> = lab.segments(Server).filter(|s| s.seq == 1).map(|s| s.ecn).collect();
    assert_eq!(copies, [Ecn::Ect0, Ecn::NotEct]);
    // RFC 3168 (6.1.2): CWR reports any reduction, on the next new data. Limited transmit sent two
    // segments before the reduction.
    let told: Vec<_> =
        lab.segments(Server).filter(|s| s.flags.contains(Flags::CWR)).map(|s| s.seq).collect();
    assert_eq!(told, [12_001]);
}

/// The content of each acknowledgment: up to where, and whether with ECE.
fn said(acks: &[Segment]) -> Vec<(u64, bool)> {
    acks.iter().map(|ack| (ack.ack, ack.flags.contains(Flags::ECE))).collect()
}

#[test]
fn dctcp_acknowledges_apart_what_was_marked_and_what_was_not() {
    let setup = lab().both(|c| c.congestion = Congestion::Dctcp(Dctcp::default()));
    let mut solo = Solo::open(setup.client_config());
    let mut hears = |seq, ecn| said(&solo.hears(ms(seq), &Segment { ecn, ..data(seq, 1000) }));
    assert_eq!(hears(1, Ecn::Ect0), []);
    // The first segment waits for a second one, and is acknowledged without that.
    assert_eq!(hears(1001, Ecn::Ce), [(1001, false), (2001, true)]);
    assert_eq!(hears(2001, Ecn::Ce), []);
    assert_eq!(hears(3001, Ecn::Ce), [(4001, true)]);
    assert_eq!(hears(4001, Ecn::Ce), []);
    assert_eq!(hears(5001, Ecn::Ect0), [(5001, true), (6001, false)]);
    // Nothing waits: one acknowledgment.
    assert_eq!(hears(6001, Ecn::Ce), [(7001, true)]);
}

#[test]
fn the_window_granted_with_an_acknowledgment_of_what_came_before_ends_at_the_same_edge() {
    let dctcp = lab().both(|c| {
        c.congestion = Congestion::Dctcp(Dctcp::default());
        c.receive_buffer_bytes = 20_000;
    });
    let mut solo = Solo::open(dctcp.client_config());
    solo.hears(ms(1), &data(1, 1000));
    let acks = solo.hears(ms(2), &Segment { ecn: Ecn::Ce, ..data(1001, 1000) });
    let edges: Vec<_> = acks.iter().map(|ack| ack.ack + u64::from(ack.window)).collect();
    assert_eq!(edges, [22_001, 22_001]);
}
