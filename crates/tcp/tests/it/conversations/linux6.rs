//! The TCP of Linux 6: the names in brackets are the kernel's functions, and each figure is
//! worked by hand from them.
//!
//! Segments have 1000 bytes, a round trip takes 20 ms, the timeout is 200 ms, and the application
//! writes at 100 ms.

use netstudy_tcp::{Bbr, Config, Congestion, Flags, OffloadRule, Recovery, Segment};
use netstudy_units::Duration;

use super::lab::solo::{Solo, ack, sack};
use super::lab::{linux6, ms, us};

const RTT: Duration = ms(20);
const START: Duration = ms(100);
/// Until the first segments are acknowledged.
const FIRST: Duration = ms(120);
/// Arrival of the second round's acknowledgments.
const SECOND: Duration = ms(140);

/// A sender with a window of `cwnd` segments, with RACK and without probes.
fn sender(cwnd: u32) -> Solo {
    sender_with(cwnd, true, false, |_| ())
}

fn sender_with(cwnd: u32, rack: bool, probes: bool, change: impl Fn(&mut Config)) -> Solo {
    let setup = linux6().both(|c| {
        c.recovery = Recovery::Prr { rack, tail_loss_probe: probes };
        c.initial_window_segments = Some(cwnd);
        change(c);
    });
    Solo::open_after(RTT, setup.client_config())
}

fn starts(said: &[Segment]) -> Vec<u64> {
    said.iter().map(|segment| segment.seq).collect()
}

fn window(solo: &Solo) -> (u32, u32) {
    let window = solo.end().window();
    (window.cwnd, window.ssthresh)
}

/// The segments sent when the next timer expires, and its time.
fn waits(solo: &mut Solo) -> (Duration, Vec<u64>) {
    let (at, said) = solo.waits();
    (at, starts(&said))
}

/// The receiver holds the segments from the second to the `newest`; only the first is missing.
fn all_but_the_first(newest: u64) -> Segment {
    sack(1, &[(1001, 1000 * newest + 1)])
}

fn recoveries(solo: &Solo) -> u64 {
    solo.end().counters().fast_recoveries
}

// ---- RACK

#[test]
fn a_segment_that_may_be_late_has_a_quarter_of_the_least_round_trip() {
    let mut solo = sender(10);
    solo.writes(START, 10_000);
    assert!(solo.hears(FIRST, &all_but_the_first(2)).is_empty());
    // `tcp_rack_reo_wnd`: 20 / 4 ms, and the 2 ms that Linux adds to every such timeout. The window is
    // 10 x 717 / 1024 = 7 from now on; 8 on the way are more than that, so PRR lets ceil(7 x 1 / 10)
    // go, which is the retransmission.
    assert_eq!(waits(&mut solo), (ms(127), vec![1]));
    assert_eq!((window(&solo), recoveries(&solo)), ((9, 7), 1));
}

#[test]
fn a_segment_that_is_late_is_not_repeated() {
    let mut solo = sender(10);
    solo.writes(START, 10_000);
    solo.hears(FIRST, &all_but_the_first(2));
    solo.hears(ms(124), &ack(2001));
    // The awaited segment has arrived; the timer runs for retransmission again, from when the oldest
    // segment was sent (`tcp_rearm_rto`).
    assert_eq!(waits(&mut solo), (ms(300), vec![2001]));
    assert_eq!(recoveries(&solo), 0);
}

#[test]
fn three_above_are_a_loss_at_once() {
    let mut solo = sender(10);
    solo.writes(START, 10_000);
    assert!(solo.hears(FIRST, &all_but_the_first(3)).is_empty());
    assert_eq!(starts(&solo.hears(FIRST, &all_but_the_first(4))), [1]);
}

#[test]
fn on_a_path_that_reorders_three_above_are_no_proof() {
    let mut solo = sender(10);
    solo.writes(START, 10_000);
    solo.hears(FIRST, &all_but_the_first(2));
    // The first one arrives behind the second: `reord_seen`.
    solo.hears(ms(121), &ack(2001));
    assert!(solo.hears(ms(122), &sack(2001, &[(3001, 7001)])).is_empty());
    // The latest arrival took 22 ms; segments sent with it have 5 + 2 ms more.
    assert_eq!(waits(&mut solo), (ms(129), vec![2001]));
}

#[test]
fn a_lost_copy_is_found_by_what_was_sent_after_it() {
    let mut solo = sender(10);
    solo.writes(START, 20_000);
    // Limited transmit, then the copy.
    assert_eq!(starts(&solo.hears(FIRST, &all_but_the_first(3))), [10_001, 11_001]);
    assert_eq!(starts(&solo.hears(ms(121), &all_but_the_first(4))), [1]);
    assert_eq!(starts(&solo.hears(ms(122), &all_but_the_first(5))), [12_001]);
    // Segments sent before the retransmission say nothing of it.
    assert!(!starts(&solo.hears(ms(141), &all_but_the_first(12))).contains(&1));
    assert_eq!(starts(&solo.hears(ms(142), &all_but_the_first(13)))[0], 1);
    assert_eq!(solo.end().counters().timeouts, 0);
}

#[test]
fn a_loss_far_behind_is_found_whatever_lies_between() {
    let mut solo = sender(10);
    solo.writes(START, 1000);
    solo.writes(ms(130), 1000);
    // Thirty milliseconds are more than a round trip and a quarter.
    assert_eq!(starts(&solo.hears(ms(150), &all_but_the_first(2))), [1]);
}

// ---- without RACK (`tcp_recovery` = 0, up to Linux 6.16)

#[test]
fn without_rack_only_three_above_are_a_loss() {
    let mut solo = sender_with(10, false, false, |_| ());
    solo.writes(START, 10_000);
    solo.hears(FIRST, &all_but_the_first(3));
    // No timer for reordering runs: the timeout.
    assert_eq!(solo.end().next_timeout().as_us(), 300_000);
    assert_eq!(starts(&solo.hears(FIRST, &all_but_the_first(4))), [1]);
    assert_eq!((window(&solo), recoveries(&solo)), ((7, 7), 1));
}

#[test]
fn without_rack_a_lost_copy_waits_for_the_timeout() {
    let mut solo = sender_with(10, false, false, |_| ());
    solo.writes(START, 20_000);
    solo.hears(FIRST, &all_but_the_first(4));
    for newest in 5..=15 {
        assert!(!starts(&solo.hears(SECOND, &all_but_the_first(newest))).contains(&1));
    }
    // SACKs of segments sent before the retransmission put the timer off (`tcp_clean_rtx_queue`).
    let (fired, said) = waits(&mut solo);
    assert_eq!((fired, said[0]), (ms(340), 1));
    assert_eq!(solo.end().counters().timeouts, 1);
}

// ---- proportional rate reduction

#[test]
fn above_the_threshold_seven_tenths_of_what_arrives_leave() {
    let mut solo = sender(20);
    solo.writes(START, 100_000);
    let left: Vec<usize> =
        (2..=20).map(|newest| solo.hears(FIRST, &all_but_the_first(newest)).len()).collect();
    // Limited transmit of two. Then 22 - 3 SACKed - 1 lost = 18 are on the way, 14 are to be:
    // ceil(14 n / 20) may have left behind the n-th delivery.
    let reduction = [1, 1, 1, 0, 1, 1, 0, 1, 1, 0, 1, 1, 1, 0];
    // Down to 14 with the 15th; then one for one.
    assert_eq!(left, [&[1, 1][..], &reduction, &[0, 1, 1]].concat());
    assert_eq!(window(&solo), (14, 14));
    // `tcp_end_cwnd_reduction`
    solo.hears(SECOND, &ack(22_001));
    assert_eq!(window(&solo), (14, 14));
}

#[test]
fn below_the_threshold_retransmissions_that_get_through_speed_up() {
    let mut solo = sender(20);
    solo.writes(START, 100_000);
    // Ten arrive, ten are lost: as many leave as arrived.
    let said = solo.hears(FIRST, &sack(1, &[(10_001, 20_001)]));
    assert_eq!(starts(&said), (0..10).map(|n| 1000 * n + 1).collect::<Vec<_>>());
    assert_eq!(window(&solo), (10, 14));
    // One is acknowledged, and nothing more is lost: two for one.
    let said = solo.hears(SECOND, &sack(1001, &[(10_001, 20_001)]));
    assert_eq!(starts(&said), [20_001, 21_001]);
    assert_eq!(window(&solo), (11, 14));
}

#[test]
fn without_sack_a_duplicate_is_a_delivery() {
    let mut solo = sender_with(10, true, false, |c| c.sack = false);
    solo.writes(START, 100_000);
    let left: Vec<_> = (0..7).map(|_| starts(&solo.hears(FIRST, &ack(1)))).collect();
    // Limited transmit; 12 - 3 - 1 = 8 on the way and 7 to be: ceil(7 n / 10).
    let expected: [&[u64]; 7] = [&[10_001], &[11_001], &[1], &[12_001], &[13_001], &[], &[]];
    assert_eq!(left, expected);
    // A partial acknowledgment: the next hole (RFC 6582, 3.2, step 3).
    assert_eq!(starts(&solo.hears(SECOND, &ack(2001)))[0], 2001);
}

// ---- tail loss probes

#[test]
fn after_two_round_trips_and_2_ms_the_last_segment_is_retransmitted() {
    let mut solo = sender_with(10, true, true, |_| ());
    solo.writes(START, 3000);
    assert_eq!(waits(&mut solo), (ms(142), vec![2001]));
    let counters = solo.end().counters();
    assert_eq!((counters.loss_probes, counters.timeouts), (1, 0));
    // Then the timeout, from the probe on; there is one probe a flight.
    assert_eq!(waits(&mut solo), (ms(342), vec![1]));
}

#[test]
fn a_probe_that_was_for_nothing_leaves_the_window() {
    let mut solo = sender_with(10, true, true, |_| ());
    solo.writes(START, 3000);
    solo.waits();
    solo.hears(ms(143), &ack(3001));
    // The copy arrived as well: a duplicate acknowledgment while nothing is outstanding.
    solo.hears(ms(160), &ack(3001));
    solo.writes(ms(170), 1000);
    solo.hears(ms(190), &ack(4001));
    assert_eq!(window(&solo), (10, u32::MAX));
}

#[test]
fn a_probe_that_repaired_a_loss_costs_a_reduction() {
    let mut solo = sender_with(10, true, true, |_| ());
    solo.writes(START, 3000);
    solo.waits();
    solo.hears(ms(160), &ack(3001));
    solo.writes(ms(170), 1000);
    assert_eq!(window(&solo), (10, u32::MAX), "it may still have been for nothing");
    // No duplicate came (`tcp_process_tlp_ack`).
    solo.hears(ms(190), &ack(4001));
    assert_eq!(window(&solo), (7, 7));
    assert_eq!(solo.end().counters().loss_probe_recoveries, 1);
}

#[test]
fn a_probe_shows_what_was_lost_before_it() {
    let mut solo = sender_with(10, true, true, |_| ());
    solo.writes(START, 4000);
    solo.hears(FIRST, &ack(2001));
    assert_eq!(waits(&mut solo), (ms(162), vec![3001]));
    // The third is 82 ms old, and a segment sent 62 ms later is there.
    assert_eq!(starts(&solo.hears(ms(182), &sack(2001, &[(3001, 4001)]))), [2001]);
    assert_eq!(recoveries(&solo), 1);
}

#[test]
fn a_probe_carries_new_data_beyond_the_window() {
    let mut solo = sender_with(2, true, true, |_| ());
    assert_eq!(solo.writes(START, 10_000).len(), 2);
    assert_eq!(waits(&mut solo), (ms(142), vec![2001]));
    assert_eq!((solo.end().in_flight(), window(&solo).0), (3, 2));
    // It is acknowledged with the others: nothing was lost.
    solo.hears(ms(160), &ack(3001));
    assert_eq!(window(&solo).1, u32::MAX);
}

#[test]
fn a_single_segment_is_given_time_for_a_delayed_acknowledgment() {
    // Two round trips and `tcp_rto_min`, here 60 ms; the timeout is longer: 20 + 4 x 7.5 ms are less
    // than it, so it is the maximum of 200 ms that another sample of 180 ms makes.
    let mut solo = sender_with(10, true, true, |c| c.min_rto = ms(60));
    solo.writes(START, 1000);
    solo.hears(ms(280), &ack(1001));
    // RFC 6298: SRTT = 20 + 160 / 8 = 40, RTTVAR = 7.5 + 40 = 47.5, RTO = 230.
    solo.writes(ms(300), 1000);
    assert_eq!(waits(&mut solo), (ms(300 + 2 * 40 + 60), vec![1001]));
}

#[test]
fn a_probe_is_not_later_than_the_timeout() {
    let mut solo = sender_with(10, true, true, |_| ());
    solo.writes(START, 1000);
    // 2 x 20 + 200 ms are more than the timeout of 200 ms.
    assert_eq!(waits(&mut solo), (ms(300), vec![1]));
    assert_eq!(solo.end().counters().timeouts, 0);
}

#[test]
fn without_probes_a_tail_waits_for_the_timeout() {
    let mut solo = sender(10);
    solo.writes(START, 3000);
    assert_eq!(waits(&mut solo), (ms(300), vec![1]));
    assert_eq!(solo.end().counters().loss_probes, 0);
}

// ---- timeouts and their undoing

#[test]
fn a_timeout_leaves_what_was_just_sent() {
    let after_a_timeout = |rack| {
        let mut solo = sender_with(10, rack, false, |_| ());
        solo.writes(START, 5000);
        solo.writes(ms(290), 5000);
        assert_eq!(waits(&mut solo), (ms(300), vec![1]));
        window(&solo).0
    };
    // `tcp_timeout_mark_lost`: a round trip took 20 ms, these have been on the way for 10.
    assert_eq!(after_a_timeout(true), 5 + 1);
    assert_eq!(after_a_timeout(false), 1);
}

#[test]
fn a_timeout_for_nothing_is_undone() {
    let mut solo = sender(10);
    solo.writes(START, 100_000);
    assert_eq!(waits(&mut solo), (ms(300), vec![1]));
    assert_eq!(window(&solo), (1, 7));
    // RFC 5682 (3.1, step 2.b): new data, and no retransmission.
    assert_eq!(starts(&solo.hears(ms(310), &ack(1001))), [10_001, 11_001]);
    // Step 3.b: the second segment was sent once and is there.
    solo.hears(ms(311), &ack(2001));
    assert_eq!(solo.end().counters().undone_reductions, 1);
    // Slow start goes on from the window of ten.
    assert_eq!(window(&solo), (11, u32::MAX));
}

#[test]
fn a_timeout_for_a_loss_is_repaired_in_slow_start() {
    let mut solo = sender(10);
    solo.writes(START, 100_000);
    solo.waits();
    assert_eq!(starts(&solo.hears(ms(320), &ack(1001))), [10_001, 11_001]);
    // Step 3.a: new data arrives, earlier data does not.
    let said = solo.hears(ms(340), &sack(1001, &[(10_001, 11_001)]));
    assert_eq!(starts(&said), [1001]);
    assert_eq!(solo.end().counters().undone_reductions, 0);
}

/// An acknowledgment that echoes the timestamp of `sent`.
fn echo(ack_at: u64, sent: Duration) -> Segment {
    let ts_echo = (sent.as_ns() / 1000) as u32;
    Segment { timestamps: true, ts_echo, ..ack(ack_at) }
}

#[test]
fn timestamps_tell_that_a_segment_was_only_late() {
    let recovery = |echoed| {
        let mut solo = sender_with(10, true, false, |c| {
            c.timestamps = true;
            c.mtu_bytes = 1052;
        });
        solo.writes(START, 10_000);
        assert_eq!(starts(&solo.hears(FIRST, &all_but_the_first(4))), [1]);
        assert_eq!(window(&solo), (7, 7));
        solo.hears(ms(121), &echo(4001, echoed));
        (window(&solo), solo.end().counters().undone_reductions)
    };
    // `tcp_try_undo_partial`: sent before the first retransmission. Then slow start goes on.
    assert_eq!(recovery(START), ((11, u32::MAX), 1));
    assert_eq!(recovery(FIRST).1, 0);
}

// ---- growth

#[test]
fn slow_start_grows_to_twice_what_was_in_use() {
    let grown = |segments: u64| {
        let mut solo = sender(10);
        solo.writes(START, 1000 * segments);
        solo.hears(FIRST, &ack(1000 * segments + 1));
        window(&solo).0
    };
    // `tcp_is_cwnd_limited`
    assert_eq!(grown(5), 10);
    assert_eq!(grown(6), 16);
}

// ---- segmentation offload

/// How many segments leave upon acknowledgments of one, and then of two more, a round trip after
/// twelve segments left.
fn bursts(round_trip: Duration) -> [usize; 2] {
    let setup = linux6().both(|c| {
        c.initial_window_segments = Some(12);
        c.offload_bytes = 65_536;
        c.offload_rule = OffloadRule::Autosizing;
    });
    let mut solo = Solo::open_after(round_trip, setup.client_config());
    assert_eq!(solo.writes(START, 100_000).len(), 12);
    let at = START + round_trip;
    [1001, 3001].map(|acked| solo.hears(at, &ack(acked)).len())
}

#[test]
fn on_a_short_path_a_burst_waits_for_a_third_of_the_window() {
    // `tcp_tso_autosize`: below 512 us a burst is 65,536 bytes. 13 - 11 segments of room are less than
    // 13 / 3; 15 - 9 are more than 15 / 3.
    assert_eq!(bursts(us(400)), [0, 6]);
}

#[test]
fn on_a_long_path_nothing_waits() {
    // A window of 12 a round trip is paced at 24 in 20 ms: bursts of two segments, the least. The last
    // one left more than a millisecond ago.
    assert_eq!(bursts(RTT), [2, 4]);
}

/// How many segments leave upon an acknowledgment half a millisecond after the second half of a
/// window of sixty, which left `later` than the first. A round trip takes 20 ms.
fn burst_after(later: Duration) -> usize {
    let setup = linux6().both(|c| {
        c.initial_window_segments = Some(60);
        c.offload_bytes = 65_536;
        c.offload_rule = OffloadRule::Autosizing;
    });
    let mut solo = Solo::open_after(RTT, setup.client_config());
    assert_eq!(solo.writes(START, 30_000).len(), 30);
    assert_eq!(solo.writes(START + later, 100_000).len(), 30);
    solo.hears(START + later + us(500), &ack(1001)).len()
}

#[test]
fn a_burst_waits_only_for_an_acknowledgment_that_is_a_millisecond_away_at_most() {
    // 61 segments a round trip are paced at 6 MB/s: bursts of six. 61 - 59 segments of room are
    // less than that and than a third of the window, and the last segment left 0.5 ms ago. The
    // oldest segment left 15.5 ms ago; with SRTT = 20 - 4.5 / 8 = 19.44 ms, its acknowledgment is
    // 3.9 ms away.
    assert_eq!(burst_after(ms(15)), 2);
    // 19 ms ago; SRTT = 20 - 1 / 8 = 19.875 ms: 0.875 ms away.
    assert_eq!(burst_after(us(18_500)), 0);
}

#[test]
fn on_a_paced_connection_a_burst_waits_within_a_millisecond_of_its_turn() {
    let setup = linux6().both(|c| {
        c.congestion = Congestion::Bbr(Bbr::new(1));
        c.initial_window_segments = Some(60);
        c.offload_bytes = 65_536;
        c.offload_rule = OffloadRule::Autosizing;
    });
    let mut solo = Solo::open_after(RTT, setup.client_config());
    solo.writes(START, 30_000);
    while solo.end().in_flight() < 30 {
        solo.waits();
    }
    // At 0.99 x 2.89 x 60 segments in 20 ms, 8.57 MB/s, bursts have 8 segments and take 0.93 ms. The
    // first one has waited, so that the second follows after half of that: 116, 116.47, 117.4.
    // The last one has the other 6 segments: 118.33 + 0.7 = 119.03 ms.
    solo.writes(ms(116), 100_000);
    let mut last = ms(116);
    while solo.end().in_flight() < 60 {
        last = solo.waits().0;
    }
    assert!(last > us(118_320) && last < us(118_345), "{last:?}");
    // The last segment left more than a millisecond ago, but less than that after its time. With
    // SRTT = 19.94 ms, the next acknowledgment is 0.44 ms away.
    assert_eq!(solo.hears(us(119_500), &ack(1001)).len(), 0);
}

/// Which of the six segments of a window carry PSH; more data is written than the window takes.
fn pushed(offload_bytes: u32) -> Vec<bool> {
    let mut solo = sender_with(6, true, false, |c| {
        c.ack_pushed = true;
        c.offload_bytes = offload_bytes;
        c.offload_rule = OffloadRule::Autosizing;
    });
    let said = solo.writes(START, 100_000);
    said.iter().map(|segment| segment.flags.contains(Flags::PSH)).collect()
}

#[test]
fn the_end_of_each_packet_of_several_segments_is_pushed() {
    // `__tcp_transmit_skb`: packets of two segments, the least of `tcp_tso_autosize`.
    assert_eq!(pushed(65_536), [false, true, false, true, false, true]);
    assert_eq!(pushed(0), [false; 6]);
}

/// For each of some segments: whether it continues a packet.
fn continues(said: &[Segment]) -> Vec<bool> {
    said.iter().map(|segment| segment.flags.contains(Flags::CONTINUES)).collect()
}

/// A sender with a window of twelve segments that marks its packets.
fn marking(round_trip: Duration, offload_bytes: u32) -> Solo {
    let setup = linux6().both(|c| {
        c.initial_window_segments = Some(12);
        c.offload_bytes = offload_bytes;
        c.offload_rule = OffloadRule::Autosizing;
        c.marks_packets = true;
    });
    Solo::open_after(round_trip, setup.client_config())
}

#[test]
fn segments_behind_the_first_of_a_burst_are_marked() {
    // Bursts of two segments: see `on_a_long_path_nothing_waits`.
    let mut solo = marking(RTT, 65_536);
    assert_eq!(continues(&solo.writes(START, 100_000)), [false, true].repeat(6));
    assert_eq!(continues(&solo.hears(START + RTT, &ack(1001))), [false, true]);
    // One burst of the whole window: see `on_a_short_path_a_burst_waits_for_a_third_of_the_window`.
    let mut solo = marking(us(400), 65_536);
    assert_eq!(continues(&solo.writes(START, 100_000)), [vec![false], vec![true; 11]].concat());
}

#[test]
fn without_offload_each_segment_is_a_packet() {
    assert_eq!(continues(&marking(RTT, 0).writes(START, 100_000)), [false; 12]);
}

#[test]
fn a_retransmission_is_a_packet_of_its_own() {
    let mut solo = marking(us(400), 65_536);
    solo.writes(START, 12_000);
    let again = solo.hears(START + us(400), &sack(1, &[(3001, 12_001)]));
    assert_eq!(again.iter().map(|segment| segment.seq).collect::<Vec<_>>(), [1, 1001, 2001]);
    assert_eq!(continues(&again), [false; 3]);
}

#[test]
fn a_probe_of_new_data_is_a_packet_of_its_own() {
    let mut solo = marking(us(400), 65_536);
    solo.writes(START, 100_000);
    let (_, probe) = solo.waits();
    assert_eq!(solo.end().counters().loss_probes, 1);
    assert_eq!((probe[0].seq, continues(&probe)), (12_001, vec![false]));
}

/// The window behind each of some acknowledgments that follow a loss, 1.2 ms apart.
fn regrown(tick: Duration, phase: Duration) -> Vec<u32> {
    let mut solo = sender_with(6, true, true, |c| {
        c.clock_tick = tick;
        c.clock_phase = phase;
    });
    solo.writes(START, 1_000_000);
    solo.hears(START + RTT, &all_but_the_first(6));
    let acks = (0..40).map(|n| {
        let at = START + RTT * 2 + us(1200) * n;
        solo.hears(at, &ack(6001 + 2000 * n));
        window(&solo).0
    });
    acks.collect()
}

#[test]
fn cubic_counts_time_by_the_clock_of_its_host() {
    let exact = regrown(Duration::ZERO, Duration::ZERO);
    assert_eq!(exact, regrown(ms(1), Duration::ZERO), "an exact clock is read in milliseconds");
    assert_ne!(exact, regrown(ms(4), Duration::ZERO));
    assert_ne!(regrown(ms(4), us(2200)), regrown(ms(4), Duration::ZERO));
}
