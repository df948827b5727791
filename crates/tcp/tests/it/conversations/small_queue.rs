//! TCP small queues: packets that wait in the sender's own host.
//!
//! A packet with a segment of 1000 bytes takes 1896 bytes of memory. At 8.32 Mbit/s it leaves in 1 ms:
//! 1040 bytes of IP.

use netstudy_tcp::{Config, OffloadRule, Outlet, Segment};
use netstudy_units::{Duration, Rate, Time};

use super::lab::solo::{Solo, ack, sack};
use super::lab::{Client, Lab, Server, Setup, lab, ms, us};

const LIMIT: u32 = 1 << 20;
const PACKET: u64 = 1000 + 896;

/// Ends behind interfaces that take a millisecond for a segment.
fn slow_hosts(limit_output_bytes: u32) -> Setup {
    lab().rate(Rate::from_bps(8_320_000)).both(|c| c.limit_output_bytes = limit_output_bytes)
}

/// When the first ten segments of a server left TCP.
fn first_ten(mut lab: Lab) -> Vec<Duration> {
    lab.write(Server, 10_000);
    lab.run_to_completion();
    (1..=10).map(|nth| lab.sent(Server.data(nth))[0]).collect()
}

#[test]
fn without_a_limit_the_whole_window_waits_in_the_host() {
    assert_eq!(first_ten(slow_hosts(0).open()), [ms(0); 10]);
}

#[test]
fn two_packets_wait_in_the_host_and_each_that_leaves_makes_room_for_one() {
    // Ten segments a round trip of 10 ms are paced at 2 MB/s in slow start: 1953 bytes in 1/1024 s, which
    // is less than two packets.
    let sent = first_ten(slow_hosts(LIMIT).open());
    assert_eq!(sent, [0, 0, 1, 2, 3, 4, 5, 6, 7, 8].map(ms));
}

#[test]
fn a_limit_below_a_packet_keeps_one_in_the_host() {
    // The second one may leave in any case: there is only one on the way. The third one waits until
    // both have left, though it is looked at when the first one has.
    let sent = first_ten(slow_hosts(1).open());
    assert_eq!(sent, [0, 0, 2, 3, 4, 5, 6, 7, 8, 9].map(ms));
}

#[test]
fn a_millisecond_at_the_pacing_rate_waits_in_the_host() {
    let mut lab = slow_hosts(LIMIT).both(|c| c.initial_window_segments = Some(100)).open();
    lab.write(Server, 100_000);
    // 20 MB/s, less the handshake's time on the wire, are some 19,400 bytes in 1/1024 s: ten packets
    // are below, eleven are not.
    let sent_at_once = lab.segments(Server).filter(|segment| segment.len > 0).count();
    assert_eq!(sent_at_once, 11);
    assert_eq!(lab.end(Server).bytes_below(lab.opened_at()), 11 * PACKET);
    lab.run_until(us(999));
    assert_eq!(lab.sent(Server.data(11)), [ms(0)]);
    lab.run_to_completion();
    assert_eq!(lab.sent(Server.data(12)), [ms(1)]);
}

#[test]
fn the_line_is_never_idle() {
    for limit in [0, 1, LIMIT] {
        let mut lab = slow_hosts(limit).open();
        lab.write(Server, 100_000);
        lab.run_until_received(Client, 10_000);
        // The first ten come back to back, and 5 ms later than they left.
        assert_eq!(lab.received_at(Client, 10_000), ms(10 + 5), "limit of {limit}");
        lab.run_to_completion();
    }
}

#[test]
fn acknowledgments_are_not_held() {
    let mut lab = slow_hosts(1).both(|c| c.ack_every_segments = 1).open();
    lab.write(Server, 10_000);
    lab.write(Client, 1_000);
    lab.run_until(ms(7));
    // The client's segment is there after 6 ms: the server has data to send, and does not wait for it.
    let [(at, acked)] = lab.acks(Server)[..] else { panic!("{}", lab.conversation()) };
    assert_eq!((at, acked), (ms(6), 1001));
    lab.run_to_completion();
}

fn solo(change: impl Fn(&mut Config)) -> Solo {
    let setup = lab().both(|c| {
        c.limit_output_bytes = LIMIT;
        change(c);
    });
    Solo::open(setup.client_config()).holds()
}

fn starts(said: &[Segment]) -> Vec<u64> {
    said.iter().filter(|segment| segment.len > 0).map(|segment| segment.seq).collect()
}

#[test]
fn retransmissions_may_take_twice_as_much() {
    // The handshake took no time: the pacing rate has no bound, and the window leaves at once.
    let mut solo = solo(|_| ());
    assert_eq!(starts(&solo.writes(ms(100), 20_000)).len(), 10);
    // With a round trip of 100 ms in the mean the pacing rate carries less than two packets in 1/1024 s:
    // 3792 bytes of new data may wait, 7584 of retransmissions. The second segment is lost.
    assert_eq!(starts(&solo.hears(ms(200), &ack(1001))), []);
    assert_eq!(starts(&solo.hears(ms(200), &sack(1001, &[(2001, 5001)]))), []);
    let below = |solo: &Solo| solo.end().bytes_below(Time::ZERO + ms(201));
    for nth in 1..=6 {
        assert_eq!(starts(&solo.leaves(ms(200) + us(nth))), [], "departure {nth}");
    }
    assert_eq!(below(&solo), 4 * PACKET);
    // Then there is room for the lost segment, and for no new one.
    assert_eq!(starts(&solo.leaves(ms(201))), [1001]);
    assert_eq!(below(&solo), 4 * PACKET);
}

#[test]
fn a_burst_is_one_packet_until_its_last_frame_has_left() {
    let mut solo = solo(|c| {
        c.offload_bytes = 65_536;
        c.offload_rule = OffloadRule::Autosizing;
        c.limit_output_bytes = 12_000;
    });
    assert_eq!(starts(&solo.writes(ms(100), 30_000)).len(), 10);
    let below = |solo: &Solo| solo.end().bytes_below(Time::ZERO + ms(106));
    assert_eq!(below(&solo), 10_896);
    // There is room for one more packet, of two segments; the next one has to wait.
    assert_eq!(starts(&solo.hears(ms(102), &ack(1001))), [10_001, 11_001]);
    assert_eq!(below(&solo), 10_896 + 2_896);
    assert_eq!(starts(&solo.hears(ms(104), &ack(2001))), []);
    for nth in 1..=9 {
        assert_eq!(starts(&solo.leaves(ms(104) + us(nth))), [], "frame {nth}");
        assert_eq!(below(&solo), 10_896 + 2_896);
    }
    assert_eq!(starts(&solo.leaves(ms(106))), [12_001, 13_001]);
    assert_eq!(below(&solo), 2 * 2_896);
}

#[test]
fn what_the_host_drops_does_not_wait_there() {
    // Nobody says that anything was handed over.
    let mut solo = Solo::open(lab().both(|c| c.limit_output_bytes = 1).client_config());
    assert_eq!(starts(&solo.writes(ms(1), 20_000)).len(), 10);
    assert_eq!(solo.end().bytes_below(Time::ZERO), 0);
}

/// The queue of a host, which takes this many more segments.
struct HostQueue(usize);

impl Outlet for HostQueue {
    fn send(&mut self, _segment: Segment) -> Option<Time> {
        self.0 -= 1;
        Some(Time::NEVER)
    }

    fn has_room(&mut self) -> bool {
        self.0 > 0
    }
}

#[test]
fn new_data_stays_in_tcp_while_the_queue_of_the_host_is_full() {
    let mut end =
        Solo::open(lab().both(|c| c.limit_output_bytes = LIMIT).client_config()).end().clone();
    let now = Time::ZERO + ms(1);
    end.write(now, 8_000);
    assert!(!end.send_held_news(now, &mut HostQueue(3)));
    assert_eq!(end.bytes_sent_once(), 3_000);
    assert!(end.may_have_due(), "five segments fit into the window");
    let later = Time::ZERO + ms(2);
    assert!(end.send_held_news(later, &mut HostQueue(9)));
    assert_eq!((end.bytes_sent_once(), end.may_have_due()), (8_000, false));
}
