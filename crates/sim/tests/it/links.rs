//! Links that lose, duplicate and delay frames.

use netstudy_random::Stream;
use netstudy_records::{
    CongestionControl, Direction, Jitter, Loss, Path, PhaseKind, Recovery, Roles, Run, RunRecord,
    Transfer, Workload,
};

use crate::lab::{self, DEEP, make, make_ok};

const MS: u64 = 1_000_000;
/// MTU 1500 without the headers of IPv4, TCP and timestamps.
const SEGMENT_BYTES: f64 = 1_448.0;

/// One flow from `server-1` to `client`, for `seconds`, over a path with a round trip of 10 ms.
fn flow(control: CongestionControl, data: Path, seconds: u64) -> Run {
    let mut run = lab::run(1, DEEP);
    for link in &mut run.network.links {
        lab::set_rate(link, 1_000_000_000);
        link.delay_ns = 5 * MS / 2;
        link.mtu_bytes = 1_500;
    }
    for group in &mut run.network.groups {
        group.tcp.congestion_control = control;
        group.tcp.recovery = Recovery::Rfc;
    }
    run.network.links[1].a.path = Some(Box::new(data));
    run.workload = Workload::Transfer(Transfer {
        roles: Roles { client: vec!["client".to_owned()], server: vec!["server-1".to_owned()] },
        direction: Direction::Get,
        size_bytes: None,
        flows: 1,
        request_bytes: 64,
        pause_ns: 0,
        starts_ns: Vec::new(),
        ftp: None,
    });
    lab::set_times(&mut run, &[(PhaseKind::WarmUp, 10_000), (PhaseKind::Measure, 1_000 * seconds)]);
    run
}

fn lossy(share_ppm: u32) -> Path {
    Path { loss: Some(Loss::Independent { share_ppm }), ..Path::default() }
}

fn port_counter(record: &RunRecord, node: &str, port: &str, name: &str) -> u64 {
    match record.ports[node][port][name][..] {
        [Some(begin), Some(end)] => end - begin,
        _ => panic!("{name} of {node}:{port} was not read at two edges"),
    }
}

/// Mean window of a flow that halves its window at a loss and otherwise adds a segment a round trip,
/// if each segment is lost with the probability p: 1.3098 / sqrt(p) (Ott, Kemperman and Mathis, "The
/// stationary behavior of ideal TCP congestion avoidance", 1996).
fn ideal_window(share_ppm: u32) -> f64 {
    1.3098 / (f64::from(share_ppm) / 1e6).sqrt()
}

#[test]
fn reno_gets_the_rate_of_its_response_function_at_random_loss() {
    for (share_ppm, seconds) in [(100, 150), (300, 150), (1_000, 150), (3_000, 300)] {
        let record = make_ok(&flow(CongestionControl::Reno, lossy(share_ppm), seconds));
        let received = lab::bytes_received(&record) as f64;
        let window = received / SEGMENT_BYTES / seconds as f64 * 0.01;
        let ratio = window / ideal_window(share_ppm);
        assert!(
            (0.9..1.1).contains(&ratio),
            "{share_ppm} ppm: a window of {window:.1}, {ratio:.3}"
        );
    }
}

/// Mean window, in segments, of the law of RFC 9438 (4.1 to 4.7) over a round trip of 100 ms, if each
/// segment is lost with this probability: a window of real numbers that grows once a round trip,
/// until a loss of its own random numbers.
fn cubic_window(share_ppm: u32) -> f64 {
    const ROUND_TRIPS: u32 = 2_000_000;
    const RTT_S: f64 = 0.1;
    const C: f64 = 0.4;
    const BETA: f64 = 0.7;
    /// Segments a round trip by which an AIMD flow grows with the same decrease; in Linux, at all
    /// windows (4.3 has 1 above the window before the loss).
    const ALPHA: f64 = 3.0 * (1.0 - BETA) / (1.0 + BETA);
    let mut draws = Stream::new("cubic", "losses");
    let mut until_loss = || -(1.0 - draws.uniform()).ln() * 1e6 / f64::from(share_ppm);
    let (mut left, mut segments) = (until_loss(), 0.0);
    let (mut cwnd, mut max, mut aimd) = (100.0_f64, 100.0_f64, 100.0_f64);
    let (mut k, mut since_s) = (0.0_f64, 0.0_f64);
    for _ in 0..ROUND_TRIPS {
        segments += cwnd;
        left -= cwnd;
        if left <= 0.0 {
            // A flow that is below its last maximum gives way to others (fast convergence).
            max = if cwnd < max { cwnd * (1.0 + BETA) / 2.0 } else { cwnd };
            cwnd *= BETA;
            aimd = cwnd;
            k = ((max - cwnd).max(0.0) / C).cbrt();
            max = max.max(cwnd);
            since_s = 0.0;
            left = until_loss();
        } else {
            since_s += RTT_S;
            let target = max + C * (since_s + RTT_S - k).powi(3);
            aimd += ALPHA;
            cwnd = cwnd.max(target.min(1.5 * cwnd)).max(aimd);
        }
    }
    segments / f64::from(ROUND_TRIPS)
}

#[test]
fn cubic_gets_the_rate_of_its_law_at_random_loss() {
    for (share_ppm, seconds) in [(100, 2_000), (300, 2_000), (1_000, 1_000)] {
        let mut run = flow(CongestionControl::Cubic, lossy(share_ppm), seconds);
        for link in &mut run.network.links {
            link.delay_ns = 25 * MS;
        }
        let received = lab::bytes_received(&make_ok(&run)) as f64;
        let window = received / SEGMENT_BYTES / seconds as f64 * 0.1;
        let ratio = window / cubic_window(share_ppm);
        assert!(
            (0.9..1.1).contains(&ratio),
            "{share_ppm} ppm: a window of {window:.1}, {ratio:.3}"
        );
    }
}

#[test]
fn losses_of_a_link_are_counted_and_nothing_is_lost_elsewhere() {
    let record = make_ok(&flow(CongestionControl::Reno, lossy(10_000), 20));
    let lost = port_counter(&record, "server-1", "eth0", "link_frames_lost");
    let retransmitted = lab::counter(&record, "server", "segments_retransmitted");
    // Frames lost shortly before an edge are sent again shortly after it.
    let differ = lost.abs_diff(retransmitted);
    assert!(lost > 100 && differ < lost / 20, "{lost} lost, {retransmitted} sent again");
    assert_eq!(port_counter(&record, "switch", "client", "frames_dropped"), 0);
    assert!(!record.ports["client"]["eth0"].contains_key("link_frames_lost"), "it is perfect");
}

#[test]
fn duplicates_reach_the_receiver_and_are_no_new_data() {
    let twice = Path { duplicate_ppm: 50_000, ..Path::default() };
    let record = make_ok(&flow(CongestionControl::Reno, twice, 5));
    let duplicated = port_counter(&record, "server-1", "eth0", "link_frames_duplicated");
    let sent = port_counter(&record, "server-1", "eth0", "interface_packets_sent");
    let received = port_counter(&record, "switch", "server-1", "frames_received");
    assert!(duplicated > 1_000, "{duplicated}");
    // Frames in flight at the edge were sent but have not arrived.
    let in_flight = (sent + duplicated).abs_diff(received);
    assert!(in_flight < duplicated / 2, "{sent} + {duplicated} sent, {received} received");
}

#[test]
fn a_delay_of_one_direction_adds_to_the_round_trip_once() {
    let far = Path { extra_delay_ns: 30 * MS, ..Path::default() };
    let mut run = flow(CongestionControl::Reno, far, 5);
    // The window of the receiver is the limit: its rate is the window in a round trip.
    for group in &mut run.network.groups {
        group.tcp.receive_buffer_bytes = 200_000;
    }
    let slow = lab::bytes_received(&make_ok(&run)) as f64;
    run.network.links[1].a.path = None;
    let fast = lab::bytes_received(&make_ok(&run)) as f64;
    let ratio = fast / slow;
    assert!((3.8..4.2).contains(&ratio), "40 ms against 10 ms: {ratio:.2}");
}

#[test]
fn reordered_frames_look_like_losses_to_a_sender_without_rack() {
    let jitter = Jitter::Exponential { mean_ns: MS };
    let in_order = Path { jitter: jitter.clone(), ..Path::default() };
    let reordered = Path { jitter, reorders: true, ..Path::default() };
    let [calm, wild] = [in_order, reordered].map(|path| {
        let mut run = flow(CongestionControl::Reno, path, 5);
        for group in &mut run.network.groups {
            group.tcp.rack = false;
        }
        make_ok(&run)
    });
    assert_eq!(lab::counter(&calm, "server", "segments_retransmitted"), 0);
    assert_eq!(port_counter(&calm, "server-1", "eth0", "link_frames_reordered"), 0);
    assert!(port_counter(&wild, "server-1", "eth0", "link_frames_reordered") > 100);
    assert!(lab::counter(&wild, "server", "segments_retransmitted") > 10);
}

#[test]
fn an_impossible_link_fails_the_run_with_its_name() {
    let record = make(&flow(CongestionControl::Reno, lossy(1_000_001), 1));
    let error = record.error.expect("it fails");
    assert_eq!(error, "server-1:eth0: loss: share_ppm: 1000001 is more than a million millionths");
}
