//! Nagle's rule (RFC 896) in Minshall's variant, against RFC 9293 (3.7.4) and `tcp_nagle_check` of
//! Linux. Segments have 1000 bytes.

use netstudy_tcp::Segment;
use netstudy_units::Duration;

use super::lab::solo::{Solo, ack};
use super::lab::{Client, Server, Setup, lab, ms};

fn nagle() -> Setup {
    lab().both(|c| c.nodelay = false)
}

/// When the client has these two writes of the server.
fn arrives(nodelay: bool, writes: [u64; 2]) -> [Duration; 2] {
    let mut lab = lab().both(|c| c.nodelay = nodelay).open();
    lab.write(Server, writes[0]);
    lab.write(Server, writes[1]);
    lab.run_to_completion();
    [lab.received_at(Client, writes[0]), lab.received_at(Client, writes[0] + writes[1])]
}

#[test]
fn a_second_short_segment_waits_for_the_delayed_acknowledgment_of_the_first() {
    // 5 ms to the client, which delays its acknowledgment by 40 ms, 5 ms back, and 5 ms again.
    assert_eq!(arrives(false, [600, 700]), [ms(5), ms(55)]);
    assert_eq!(arrives(true, [600, 700]), [ms(5), ms(5)]);
}

#[test]
fn waiting_data_leaves_when_it_fills_a_segment() {
    let mut solo = Solo::open(nagle().client_config());
    assert_eq!(lens(&solo.writes(ms(1), 600)), [600]);
    assert!(solo.writes(ms(2), 700).is_empty());
    assert_eq!(lens(&solo.writes(ms(3), 500)), [1000], "200 bytes wait on");
}

#[test]
fn a_short_segment_behind_full_ones_does_not_wait() {
    // By the rule of RFC 896 it would, since the full segments are not acknowledged.
    let mut solo = Solo::open(nagle().client_config());
    assert_eq!(lens(&solo.writes(ms(1), 2500)), [1000, 1000, 500]);
}

fn lens(segments: &[Segment]) -> Vec<u32> {
    segments.iter().map(|segment| segment.len).collect()
}

#[test]
fn an_acknowledgment_of_the_short_segment_releases_the_next_one_and_no_other_does() {
    let mut solo = Solo::open(nagle().client_config());
    assert_eq!(lens(&solo.writes(ms(1), 1600)), [1000, 600]);
    assert!(solo.writes(ms(2), 300).is_empty());
    assert!(solo.hears(ms(3), &ack(1001)).is_empty(), "only the full segment is acknowledged");
    assert_eq!(lens(&solo.hears(ms(4), &ack(1601))), [300]);
}

#[test]
fn the_end_of_the_data_does_not_wait_before_a_fin() {
    let mut lab = nagle().open();
    lab.write(Client, 600);
    lab.write(Client, 700);
    lab.close(Client);
    lab.run_to_completion();
    assert_eq!(lab.received_at(Server, 1300), ms(5));
}
