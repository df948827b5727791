//! Packets that the adapter takes in requests of one page, and cuts by itself.

use super::lab::solo::{Solo, ack, sack};
use super::lab::{lab, ms};
use netstudy_tcp::{Flags, Segment};

fn sender_with(cwnd: u32) -> Solo {
    let setup = lab().both(|c| {
        c.offload_bytes = 65_536;
        c.offload_request_bytes = 4096;
        c.initial_window_segments = Some(cwnd);
    });
    Solo::open(setup.client_config())
}

fn lens(said: &[Segment]) -> Vec<u32> {
    said.iter().map(|segment| segment.len).collect()
}

fn places(said: &[Segment]) -> Vec<(u64, u32)> {
    said.iter().map(|segment| (segment.seq, segment.len)).collect()
}

#[test]
fn requests_make_more_frames_than_the_window_has_segments() {
    let said = sender_with(12).writes(ms(0), 100_000);
    // Each packet leaves when a page completes its first segment, and its requests end with pages.
    let packets = [&[1000; 4][..], &[96, 1000, 1000, 1000, 904], &[192, 1000, 1000, 1000, 808]];
    assert_eq!(lens(&said), packets.concat());
}

#[test]
fn frames_behind_the_first_of_a_packet_are_marked_whichever_way_they_are_sent() {
    let setup = lab().both(|c| {
        c.offload_bytes = 65_536;
        c.offload_request_bytes = 4096;
        c.initial_window_segments = Some(12);
        c.marks_packets = true;
    });
    let polled = Solo::open(setup.client_config()).writes(ms(0), 100_000);
    let at_once = Solo::open(setup.client_config()).writes_news(ms(0), 100_000);
    assert_eq!(polled, at_once);
    let starts: Vec<_> = polled
        .iter()
        .enumerate()
        .filter(|(_, segment)| !segment.flags.contains(Flags::CONTINUES))
        .map(|(index, _)| index)
        .collect();
    // Packets of 4, 5 and 5 frames: see `requests_make_more_frames_than_the_window_has_segments`.
    assert_eq!((starts, polled.len()), (vec![0, 4, 9], 14));
}

#[test]
fn a_single_segment_is_not_cut_where_its_page_ends() {
    let mut solo = sender_with(4);
    assert_eq!(lens(&solo.writes(ms(0), 4000)), [1000; 4]);
    solo.hears(ms(1), &ack(4001));
    assert_eq!(lens(&solo.writes(ms(2), 1000)), [1000]);
}

#[test]
fn a_packet_begins_its_requests_where_its_pages_are() {
    let mut solo = sender_with(2);
    assert_eq!(lens(&solo.writes(ms(0), 100_000)), [1000, 1000]);
    let said = solo.hears(ms(1), &ack(2001));
    assert_eq!(places(&said), [(2001, 1000), (3001, 1000), (4001, 96), (4097, 904)]);
}

#[test]
fn parts_of_a_lost_segment_are_sent_again_together() {
    let mut solo = sender_with(2);
    solo.writes(ms(0), 100_000);
    solo.hears(ms(1), &ack(2001));
    let (at, said) = solo.waits();
    assert_eq!(places(&said), [(2001, 1000)]);
    let said = solo.hears(at, &ack(3001));
    assert_eq!(places(&said), [(3001, 1000), (4001, 1000)]);
    assert_eq!(solo.end().counters().segments_retransmitted, 3);
}

#[test]
fn a_retransmission_takes_no_more_than_a_segment() {
    let mut solo = sender_with(12);
    solo.writes(ms(0), 100_000);
    solo.hears(ms(1), &ack(4001));
    // The two parts around the first page's end are missing.
    let mut again = vec![];
    for end in [6097, 7097, 8001, 8193, 9193, 10_193, 11_193, 12_001] {
        let said = solo.hears(ms(2), &sack(4001, &[(5097, end)]));
        again.extend(places(&said).into_iter().filter(|&(seq, _)| seq < 5097));
    }
    assert_eq!(again, [(4001, 1000), (5001, 96)], "the rest is a retransmission of its own");
    assert_eq!(solo.end().counters().segments_retransmitted, 2);
}

#[test]
fn an_acknowledgment_of_a_part_alone_leaves_the_window() {
    let mut solo = sender_with(2);
    solo.writes(ms(0), 100_000);
    solo.hears(ms(1), &ack(2001));
    solo.hears(ms(2), &ack(4001));
    let cwnd = solo.end().window().cwnd;
    solo.hears(ms(2), &ack(4097));
    assert_eq!(solo.end().window().cwnd, cwnd, "less than a segment is none");
    solo.hears(ms(2), &ack(5001));
    assert!(solo.end().window().cwnd > cwnd);
}
