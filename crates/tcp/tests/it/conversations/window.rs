//! The peer's window: filled, narrow, shut.

use netstudy_tcp::Segment;

use super::lab::solo::{Solo, ack, data};
use super::lab::{Client, Server, lab, ms};

fn window(ack_at: u64, window: u16) -> Segment {
    Segment { window, ..ack(ack_at) }
}

#[test]
fn a_receive_window_bounds_what_is_on_the_way() {
    let mut lab = lab().both(|c| c.receive_buffer_bytes = 4000).open();
    lab.write(Server, 20_000);
    lab.run_to_completion();
    // Four segments a round trip.
    for flight in 0..5 {
        assert_eq!(lab.sent(Server.data(4 * flight + 1)), [ms(10 * flight as u64)]);
    }
    assert_eq!(lab.received_at(Client, 20_000), ms(4 * 10 + 5));
    // RFC 2861 (3): a window that is not used up does not grow.
    assert_eq!(lab.end(Server).window().cwnd, 10);
}

#[test]
fn the_window_of_a_syn_is_not_scaled() {
    let mut lab = lab().both(|c| c.initial_window_segments = Some(100)).unopened();
    lab.write(Client, 200_000);
    lab.run_until(ms(10));
    // 65,535 bytes until the first acknowledgment without SYN (RFC 7323, 2.2).
    let data = lab.segments(Client).filter(|segment| segment.len > 0);
    assert_eq!(data.count(), 65);
    lab.run_to_completion();
}

#[test]
fn what_arrived_out_of_order_takes_room_in_the_buffer() {
    let setup = lab().both(|c| c.receive_buffer_bytes = 4000);
    let mut solo = Solo::open(setup.client_config());
    let window = |said: &[Segment]| (said[0].ack, said[0].window);
    assert_eq!(window(&solo.hears(ms(1), &data(1, 1001))), (1002, 4000));
    // The edge stays at 5002 while there is less room (RFC 9293, 3.8.6).
    assert_eq!(window(&solo.hears(ms(2), &data(2002, 1000))), (1002, 4000));
    assert_eq!(window(&solo.hears(ms(2), &data(4002, 1000))), (1002, 4000));
    // The first gap is filled: 1000 of the 4000 bytes hold the data above the second.
    assert_eq!(window(&solo.hears(ms(3), &data(1002, 1000))), (3002, 3000));
    assert_eq!(window(&solo.hears(ms(3), &data(3002, 1000))), (5002, 4000));
}

#[test]
fn a_send_buffer_bounds_what_is_on_the_way() {
    let mut lab = lab().both(|c| c.send_buffer_bytes = 4000).open();
    lab.write(Server, 20_000);
    lab.run_to_completion();
    assert_eq!(lab.received_at(Client, 20_000), ms(4 * 10 + 5));
}

#[test]
fn a_window_narrower_than_a_segment_is_used_one_segment_at_a_time() {
    let mut lab = lab().both(|c| c.receive_buffer_bytes = 300).open();
    lab.write(Server, 700);
    lab.run_to_completion();
    // Each waits for the delayed acknowledgment of the one before.
    lab.assert_conversation(
        "0.000 server 1..301 ack 1
        45.000 client ack 301
        50.000 server 301..601 ack 1
        95.000 client ack 601
       100.000 server 601..701 ack 1
       145.000 client ack 701",
    );
}

#[test]
fn a_remnant_of_the_window_is_not_used_while_data_is_on_the_way() {
    let mut solo = Solo::open(lab().client_config());
    solo.hears(ms(0), &window(1, 2500));
    let lens = |segments: &[Segment]| segments.iter().map(|s| s.len).collect::<Vec<_>>();
    // RFC 9293 (3.8.6.2.1): 500 bytes of room are not used.
    assert_eq!(lens(&solo.writes(ms(0), 5000)), [1000, 1000]);
    assert_eq!(lens(&solo.hears(ms(1), &window(2001, 2500))), [1000, 1000]);
    // The last segment of the written data is sent at any length.
    assert_eq!(lens(&solo.hears(ms(2), &window(4001, 2500))), [1000]);
}

#[test]
fn a_shut_window_is_probed_ever_more_rarely_until_it_opens() {
    let mut solo = Solo::open(lab().client_config());
    let ssthresh = solo.end().window().ssthresh;
    solo.writes(ms(0), 1000);
    solo.hears(ms(10), &window(1001, 0));
    assert!(solo.writes(ms(20), 2000).is_empty());
    for at in [220, 620, 1420] {
        let (fired, probe) = solo.waits();
        assert_eq!(
            fired,
            ms(at),
            "RFC 9293 (3.8.6.1): as the retransmission timer, 200, 400, 800 ms"
        );
        assert_eq!((probe.len(), probe[0].seq, probe[0].len), (1, 1000, 0));
        assert!(solo.hears(fired, &window(1001, 0)).is_empty());
    }
    let sent = solo.hears(ms(1500), &window(1001, 60_000));
    assert_eq!(sent.len(), 2);
    // Nothing was lost, and the timer starts afresh.
    assert_eq!(solo.end().counters().timeouts, 0);
    assert_eq!(solo.end().window().ssthresh, ssthresh);
    assert_eq!(solo.waits().0, ms(1700));
}

#[test]
fn data_written_while_the_window_is_shut_is_probed_for() {
    let mut solo = Solo::open(lab().client_config());
    solo.writes(ms(0), 1000);
    solo.hears(ms(10), &window(1001, 0));
    // The window opened meanwhile and the peer's update of it was lost.
    assert!(solo.writes(ms(5000), 1000).is_empty());
    let (fired, _) = solo.waits();
    assert_eq!(fired, ms(5200));
    assert_eq!(solo.hears(ms(5210), &window(1001, 60_000)).len(), 1);
}

#[test]
fn a_window_that_opens_stops_the_probing() {
    let mut solo = Solo::open(lab().client_config());
    solo.writes(ms(0), 1000);
    solo.hears(ms(10), &window(1001, 0));
    solo.writes(ms(20), 1000);
    // The probe would be due at 220 ms.
    assert_eq!(solo.hears(ms(219), &window(1001, 60_000)).len(), 1);
    assert_eq!(solo.waits().0, ms(419), "the timer of the data that was sent at 219 ms");
}

#[test]
fn a_probe_is_answered() {
    let mut solo = Solo::open(lab().client_config());
    let probe = Segment { seq: 0, ..ack(1) };
    let answer = solo.hears(ms(5), &probe);
    assert_eq!((answer.len(), answer[0].ack, answer[0].len), (1, 1, 0));
}

#[test]
fn data_outside_of_the_window_is_refused_and_answered() {
    let mut solo = Solo::open(lab().both(|c| c.receive_buffer_bytes = 1500).client_config());
    let answer = solo.hears(ms(5), &Segment { seq: 1001, len: 1000, ..ack(1) });
    assert_eq!((answer.len(), answer[0].ack), (1, 1));
    assert!(answer[0].sack.is_empty());
    assert_eq!(solo.end().bytes_received(), 0);
}
