//! Runs whose outcome can be worked out by hand.

use netstudy_records::{Forwarding, Jitter, Run, Status};

use crate::lab::{
    self, DEEP, DROP_TAIL, GUARANTEED, INGRESS, PROFILES, counter, incast, make, make_ok,
};

/// Picoseconds a byte at 10 Gbit/s.
const BYTE_PS: u64 = 800;
/// Ethernet header, check sequence, preamble and gap.
const ETHERNET_BYTES: u64 = 38;
/// IPv4, TCP and timestamps.
const HEADERS_BYTES: u64 = 52;
const LINK_PS: u64 = 1_000_000;

/// From the socket of one host to that of another: twice on a wire, twice over a link.
fn one_way_ps(payload_bytes: u64) -> u64 {
    2 * ((payload_bytes + HEADERS_BYTES + ETHERNET_BYTES) * BYTE_PS + LINK_PS)
}

/// A run of two blocks of one segment, of which the second is measured: its request leaves on its own,
/// whereas the first one leaves behind the last acknowledgment of the handshake.
fn one_segment() -> Run {
    let mut run = lab::run(1, DEEP);
    incast(&mut run).block_bytes = 8_948;
    lab::set_iterations(&mut run, 1, 1);
    run
}

fn completion_ns(run: &Run) -> u64 {
    lab::iterations(&make_ok(run)).completion_ns[0]
}

#[test]
fn one_segment_takes_its_serialization_and_propagation_time() {
    let run = one_segment();
    assert_eq!(completion_ns(&run), (one_way_ps(64) + one_way_ps(8_948)) / 1000);
}

#[test]
fn latencies_of_hosts_and_switch_add_up() {
    let mut run = one_segment();
    lab::switch(&mut run).latency_ns = 500;
    for group in &mut run.network.groups {
        group.nic.send_latency_ns = 3_000;
        group.nic.receive_latency_ns = 7_000;
    }
    let latencies_ns = 2 * (500 + 3_000 + 7_000);
    let expected = (one_way_ps(64) + one_way_ps(8_948)) / 1000 + latencies_ns;
    assert_eq!(completion_ns(&run), expected);
}

#[test]
fn jitter_of_hosts_adds_its_mean_each_way_and_scatters_as_much() {
    let (mean_ns, iterations) = (20_000, 4_000);
    let mut run = one_segment();
    for group in &mut run.network.groups {
        group.nic.receive_jitter_ns = mean_ns;
    }
    lab::set_iterations(&mut run, 0, iterations);
    let bare = (one_way_ps(64) + one_way_ps(8_948)) / 1000;
    let completion_ns = lab::iterations(&make_ok(&run)).completion_ns.clone();
    let extra: Vec<f64> = completion_ns.iter().map(|&ns| ns as f64 - bare as f64).collect();
    let count = f64::from(iterations);
    let mean = extra.iter().sum::<f64>() / count;
    let variance = extra.iter().map(|ns| (ns - mean).powi(2)).sum::<f64>() / count;
    // A sum of two exponential delays: mean 2m, variance 2m^2, fourth central moment 24m^4. Within four
    // standard errors.
    let m = mean_ns as f64;
    assert!(
        (mean - 2.0 * m).abs() < 4.0 * m * (2.0 / count).sqrt(),
        "mean {mean} ns, seed {}",
        run.seed
    );
    let variance_error = m * m * ((24.0 - 4.0) / count).sqrt();
    assert!(
        (variance - 2.0 * m * m).abs() < 4.0 * variance_error,
        "variance {variance}, seed {}",
        run.seed
    );
}

#[test]
fn cutting_through_saves_all_of_a_frame_but_its_first_64_bytes() {
    let mut run = one_segment();
    lab::switch(&mut run).forwarding = Forwarding::CutThrough;
    let saved = |payload: u64| (payload + HEADERS_BYTES + 18 - 64) * BYTE_PS;
    let stored = one_way_ps(64) + one_way_ps(8_948);
    assert_eq!(completion_ns(&run), (stored - saved(64) - saved(8_948)) / 1000);
}

#[test]
fn a_slower_ingress_is_stored_even_by_a_switch_that_cuts_through() {
    let mut run = one_segment();
    lab::set_rate(&mut run.network.links[1], 1_000_000_000);
    let stored = completion_ns(&run);
    lab::switch(&mut run).forwarding = Forwarding::CutThrough;
    // Only the request, which comes from the fast side, gains.
    let saved_ps = (64 + HEADERS_BYTES + 18 - 64) * BYTE_PS;
    assert_eq!(completion_ns(&run), stored - saved_ps / 1000);
}

#[test]
fn a_block_without_loss_takes_its_time_on_the_wire_and_the_round_trips_of_slow_start() {
    let mut run = lab::run(1, DEEP);
    // 2 + 4 + 8 + 16 segments: an initial window of 2 (RFC 3390 at this size), doubled each round
    // because each segment is acknowledged. A link of 1 ms keeps the rounds apart.
    incast(&mut run).block_bytes = 30 * 8_948;
    for link in &mut run.network.links {
        link.delay_ns = 1_000_000;
    }
    for group in &mut run.network.groups {
        group.tcp.ack_every_segments = 1;
    }
    let far = 2 * (1_000_000_000 - LINK_PS);
    let round_trip = one_way_ps(8_948) + one_way_ps(0) + 2 * far;
    let segment = (9_000 + ETHERNET_BYTES) * BYTE_PS;
    // The request leaves behind the handshake's last acknowledgment, the data behind that of the
    // request.
    let acknowledgments = 2 * (HEADERS_BYTES + ETHERNET_BYTES) * BYTE_PS;
    let expected = acknowledgments
        + one_way_ps(64)
        + far
        + 3 * round_trip
        + one_way_ps(8_948)
        + far
        + 15 * segment;
    assert_eq!(completion_ns(&run), expected / 1000);
}

#[test]
fn a_large_block_fills_the_link() {
    let mut run = lab::run(1, DEEP);
    incast(&mut run).block_bytes = 1_000_000_000;
    // A full frame carries 8948 of 9038 bytes; slow start costs some round trips of 20 µs.
    let wire_ns = 1_000_000_000 * 9_038 / 8_948 * BYTE_PS / 1000;
    let took = completion_ns(&run);
    assert!(took >= wire_ns, "faster than the wire: {took} ns against {wire_ns} ns");
    assert!(took - wire_ns < 1_000_000, "{} ns lost", took - wire_ns);
}

#[test]
fn a_large_block_fills_the_link_with_every_whole_tcp() {
    for profile in PROFILES {
        let mut run = lab::run_with(profile, 1, DEEP);
        incast(&mut run).block_bytes = 1_000_000_000;
        let wire_ns = 1_000_000_000 * 9_038 / 8_948 * BYTE_PS / 1000;
        let took = completion_ns(&run);
        assert!(took >= wire_ns, "{profile}: {took} ns against {wire_ns} ns");
        assert!(took - wire_ns < 1_000_000, "{profile}: {} ns lost", took - wire_ns);
    }
}

#[test]
fn with_every_whole_tcp_a_run_twice_is_the_same_and_every_loss_is_repaired() {
    for profile in PROFILES {
        let mut run = lab::run_with(profile, 12, DROP_TAIL);
        lab::set_iterations(&mut run, 0, 10);
        incast(&mut run).start_jitter = Jitter::Exponential { mean_ns: 75_000 };
        let record = make_ok(&run);
        assert_eq!(record, make_ok(&run), "{profile}");
        assert_eq!(lab::bytes_received(&record), 10 * 12 * 4_000_000, "{profile}");
        let samples = lab::iterations(&record);
        let dropped: u64 = samples.dropped_packets.iter().flatten().sum();
        let repeated: u64 = lab::known(samples.retransmissions.as_ref()).iter().sum();
        assert!(dropped > 0, "{profile}: the port overflows");
        assert!(repeated >= dropped, "{profile}: {repeated} for {dropped}");
    }
}

#[test]
fn a_striped_block_comes_from_all_servers_and_is_as_large() {
    let mut run = lab::run(7, DEEP);
    incast(&mut run).striped = true;
    let record = make_ok(&run);
    assert_eq!(lab::bytes_received(&record), 4_000_000);
    assert_eq!(counter(&record, "server", "segments_retransmitted"), 0);
}

#[test]
fn every_byte_arrives_once_and_no_queue_exceeds_its_room() {
    let frame = 9_018;
    for (buffer, room) in [(DROP_TAIL, 512_000), (GUARANTEED, 435_000 + 16 * frame)] {
        let mut run = lab::run(16, buffer);
        lab::set_iterations(&mut run, 0, 20);
        incast(&mut run).start_jitter = Jitter::Exponential { mean_ns: 75_000 };
        let record = make_ok(&run);
        assert_eq!(lab::bytes_received(&record), 16 * 20 * 4_000_000);
        let longest = counter(&record, "switch.client", "queue_bytes_max");
        assert!(longest <= room, "{longest} B in {room} B");
        assert!(longest > room / 2, "the queue was never put to the test");
    }
}

#[test]
fn samples_add_up_to_the_counters() {
    for buffer in [DROP_TAIL, GUARANTEED, INGRESS] {
        let mut run = lab::run(12, buffer);
        lab::set_iterations(&mut run, 5, 30);
        let record = make_ok(&run);
        let samples = lab::iterations(&record);
        assert_eq!(samples.completion_ns.len(), 30);
        let dropped = counter(&record, "switch.client", "frames_dropped")
            + counter(&record, "switch.server", "frames_dropped");
        assert_eq!(samples.dropped_packets.iter().flatten().sum::<u64>(), dropped);
        assert!(dropped > 0, "an incast of 12 x 4 MB loses frames");
        // Of the servers, which send the data.
        let again = counter(&record, "server", "segments_retransmitted");
        assert_eq!(lab::known(samples.retransmissions.as_ref()).iter().sum::<u64>(), again);
        let timeouts = counter(&record, "server", "timeouts");
        assert_eq!(lab::known(samples.timeouts.as_ref()).iter().sum::<u64>(), timeouts);
        let measure = lab::measure(&record);
        let total: u64 = samples.completion_ns.iter().sum();
        // Each sample is rounded down to a nanosecond.
        assert!((measure.end_ns - measure.start_ns).abs_diff(total) <= 31);
    }
}

#[test]
fn each_frame_dropped_is_sent_again() {
    let mut run = lab::run(12, DROP_TAIL);
    lab::set_iterations(&mut run, 0, 20);
    let record = make_ok(&run);
    let dropped = counter(&record, "switch.client", "frames_dropped");
    let again = counter(&record, "server", "segments_retransmitted");
    assert!(again >= dropped, "{dropped} dropped, {again} retransmitted");
}

#[test]
fn an_iteration_with_a_timeout_lasts_at_least_the_minimum_rto() {
    let mut run = lab::run(8, DROP_TAIL);
    lab::set_iterations(&mut run, 0, 50);
    let samples = lab::iterations(&make_ok(&run)).clone();
    let iterations = samples.completion_ns.iter().zip(lab::known(samples.timeouts.as_ref()));
    let with_timeout: Vec<_> = iterations.filter(|pair| *pair.1 > 0).collect();
    assert!(!with_timeout.is_empty(), "eight servers through 512 kB time out");
    assert!(with_timeout.iter().all(|pair| *pair.0 >= 200_000_000), "{with_timeout:?}");
}

#[test]
fn the_same_run_gives_the_same_record_and_another_seed_another() {
    let mut run = lab::run(6, INGRESS);
    lab::set_iterations(&mut run, 0, 20);
    incast(&mut run).start_jitter = Jitter::Exponential { mean_ns: 75_000 };
    let first = make_ok(&run);
    assert_eq!(first, make_ok(&run));
    run.seed = "0123456789abcdee".to_owned();
    assert_ne!(first.samples, make_ok(&run).samples);
}

#[test]
fn a_server_more_leaves_the_start_delays_of_the_others_alone() {
    // One segment each, far apart: completion is set by the largest start delay.
    let delays = |servers| {
        let mut run = lab::run(servers, DEEP);
        incast(&mut run).block_bytes = 100;
        lab::set_iterations(&mut run, 0, 50);
        incast(&mut run).start_jitter = Jitter::Exponential { mean_ns: 10_000_000 };
        lab::iterations(&make_ok(&run)).completion_ns.clone()
    };
    let (three, four) = (delays(3), delays(4));
    assert!(three.iter().zip(&four).all(|(three, four)| three <= four));
    assert!(three.iter().zip(&four).any(|(three, four)| three == four));
}

#[test]
fn what_cannot_be_simulated_is_a_failed_record_that_says_why() {
    let failure = |change: &dyn Fn(&mut Run)| {
        let mut run = lab::run(4, DEEP);
        change(&mut run);
        let record = make(&run);
        assert_eq!(record.status, Status::Failed);
        record.error.expect("a failed run says why")
    };
    let ports = failure(&|run| lab::switch(run).ports = 4);
    assert_eq!(ports, "\"switch\" has 4 ports and 5 links");
    let link = failure(&|run| run.network.links.truncate(4));
    assert_eq!(link, "\"server-4\" has no link");
    let rate = failure(&|run| run.network.links[0].a.rate_bps = 0);
    assert_eq!(rate, "the link at \"client\" has a rate of 0");
    let name = failure(&|run| incast(run).roles.server[0] = "servers".to_owned());
    assert_eq!(name, "a role names \"servers\", which is no node");
}

#[test]
fn a_buffer_smaller_than_a_frame_ends_as_a_failure_not_as_a_hang() {
    let mut run = lab::run(1, lab::drop_tail(1_000));
    incast(&mut run).block_bytes = 8_948;
    let record = make(&run);
    assert_eq!(record.status, Status::Failed);
    let error = record.error.expect("a failed run says why");
    assert!(error.contains("has not ended after"), "{error}");
}

#[test]
fn an_interface_drops_what_its_queue_cannot_take() {
    let mut run = one_segment();
    // Twelve segments leave TCP at once, and the queue holds ten; the last two are retransmitted after
    // the timeout.
    incast(&mut run).block_bytes = 12 * 8_948;
    run.network.groups[1].tcp.initial_window_segments = Some(12);
    run.network.groups[1].nic.transmit_queue_frames = 10;
    lab::set_iterations(&mut run, 0, 1);
    let record = make_ok(&run);
    assert_eq!(counter(&record, "server", "nic_queue_drops"), 2);
    assert_eq!(counter(&record, "server", "segments_retransmitted"), 2);
    assert_eq!(counter(&record, "server", "timeouts"), 1);
}

#[test]
fn the_queue_of_the_client_counts_whatever_the_switch() {
    let drops = |buffer| {
        let mut run = lab::run(5, buffer);
        lab::set_iterations(&mut run, 0, 3);
        incast(&mut run).block_bytes = 8_948;
        // Five requests at once: the first two fit, the others wait for their timers.
        run.network.groups[0].nic.transmit_queue_frames = 2;
        counter(&make_ok(&run), "client", "nic_queue_drops")
    };
    let expected = drops(lab::GUARANTEED);
    assert!(expected >= 3 * 3, "{expected} drops");
    assert_eq!(drops(DEEP), expected);
}

#[test]
fn connections_add_up_to_their_run() {
    let mut run = lab::run(8, DROP_TAIL);
    lab::set_iterations(&mut run, 2, 1);
    let record = make_ok(&run);
    let connections = lab::connections(&record);
    assert_eq!(connections.bytes_received, [4_000_000; 8]);
    let samples = lab::iterations(&record);
    // The iteration ends with the last byte of the slowest.
    assert_eq!(connections.busy_ns.iter().max(), Some(&samples.completion_ns[0]));
    let sum = |values: &[u64]| values.iter().sum::<u64>();
    assert!(sum(lab::known(connections.retransmissions.as_ref())) > 0);
    assert_eq!(
        sum(lab::known(connections.retransmissions.as_ref())),
        sum(lab::known(samples.retransmissions.as_ref()))
    );
    assert_eq!(
        sum(lab::known(connections.timeouts.as_ref())),
        sum(lab::known(samples.timeouts.as_ref()))
    );
}
