//! BBR over a dumbbell of 20 Mbit/s with a round trip of 40 ms and a buffer of 1 MB, twenty times what
//! the path holds.

use netstudy_records::{
    CongestionControl, Direction, Instrument, InstrumentKind, Phase, PhaseKind, Probe, Roles, Run,
    RunRecord, Transfer, Until, Workload,
};

use crate::lab::{self, drop_tail, make_ok};

const MS: u64 = 1_000_000;
const RATE_BPS: u64 = 20_000_000;
const MEASURE_MS: u64 = 25_000;
/// Payload of a full segment with timestamps, and its bytes on the wire: headers, check sequence,
/// preamble and gap.
const PAYLOAD_BYTES: u64 = 1_448;
const WIRE_BYTES: u64 = 1_538;

/// Endless transfers of `flows` connections, with a probe every 20 ms.
fn transfers(control: CongestionControl, flows: u32) -> Run {
    let mut run = lab::run(1, drop_tail(1_000_000));
    for link in &mut run.network.links {
        link.mtu_bytes = 1_500;
    }
    run.network.links[0].delay_ns = 20 * MS;
    lab::set_rate(&mut run.network.links[0], RATE_BPS);
    lab::set_rate(&mut run.network.links[1], 1_000_000_000);
    for group in &mut run.network.groups {
        group.tcp = lab::whole_tcp("linux-6");
        group.tcp.congestion_control = control;
    }
    run.workload = Workload::Transfer(Transfer {
        roles: Roles { client: vec!["client".to_owned()], server: vec!["server-1".to_owned()] },
        direction: Direction::Get,
        size_bytes: None,
        flows,
        request_bytes: 64,
        pause_ns: 0,
        starts_ns: Vec::new(),
        ftp: None,
    });
    run.probe = Some(Probe { every_ns: 20 * MS, request_bytes: 64, response_bytes: 64 });
    let lasts = |kind, ms| Phase { kind, until: Some(Until::Time { ns: ms * MS }) };
    run.phases = vec![lasts(PhaseKind::WarmUp, 5_000), lasts(PhaseKind::Measure, MEASURE_MS)];
    run
}

/// Share of the payload rate of the slow link that each connection got.
fn shares(record: &RunRecord) -> Vec<f64> {
    let most = RATE_BPS / 8 * MEASURE_MS / 1000 * PAYLOAD_BYTES / WIRE_BYTES;
    let received = &lab::connections(record).bytes_received;
    received.iter().map(|&bytes| bytes as f64 / most as f64).collect()
}

/// The mean latency of probes in the measuring phase, in milliseconds.
fn probe_ms(record: &RunRecord) -> f64 {
    let mut all = record.samples.request.iter();
    let found = all.find(|one| one.operation == "probe" && one.phase == PhaseKind::Measure);
    let probes = found.expect("there are probes");
    probes.sum_ns as f64 / probes.count as f64 / MS as f64
}

#[test]
fn bbr_fills_the_link_and_leaves_the_queue_that_cubic_fills_almost_empty() {
    let record = make_ok(&transfers(CongestionControl::Bbr, 1));
    let share = shares(&record)[0];
    assert!(share >= 0.95, "{share}");
    // The idle latency is 40.2 ms. The phase of the gain of 5/4 queues at most a quarter of the round
    // trip, and an eighth of the time.
    let latency_ms = probe_ms(&record);
    assert!((40.0..50.0).contains(&latency_ms), "{latency_ms} ms");
    let cubic = make_ok(&transfers(CongestionControl::Cubic, 1));
    // Full, the buffer takes 400 ms.
    assert!(probe_ms(&cubic) > 200.0, "{} ms", probe_ms(&cubic));
}

#[test]
fn the_round_trip_time_is_probed_with_four_segments_in_flight() {
    let mut run = transfers(CongestionControl::Bbr, 1);
    run.probe = None;
    run.instruments = vec![Instrument {
        kind: InstrumentKind::Tcp,
        node: "server-1".to_owned(),
        port: None,
        every_ns: 20 * MS,
        from: None,
        access: None,
        sysstat: false,
    }];
    let record = make_ok(&run);
    let [series] = &record.series[..] else { panic!("one connection is sampled") };
    let windows = &series.values["cwnd_segments"];
    let mut probes: Vec<usize> = Vec::new();
    let mut length = 0;
    for window in windows.iter().chain([&None]) {
        if *window == Some(4) {
            length += 1;
        } else if length > 0 {
            probes.push(std::mem::take(&mut length));
        }
    }
    // At about 10 and 20 s, and perhaps at the end of the 30 s. Each lasts for 200 ms and up to two
    // round trips.
    assert!((2..=3).contains(&probes.len()), "{probes:?}");
    assert!(probes.iter().take(2).all(|samples| (10..=16).contains(samples)), "{probes:?}");
    let last = |name: &str| series.values[name].last().copied().flatten();
    let min_rtt_us = last("bbr_min_rtt_us").expect("there were round trips");
    assert!((40_000..42_000).contains(&min_rtt_us), "{min_rtt_us}");
    // The link carries 2,353,700 B/s of payload.
    let bandwidth = last("bbr_bandwidth_bytes_per_s").expect("there were samples");
    assert!((2_250_000..2_500_000).contains(&bandwidth), "{bandwidth}");
    assert!(last("pacing_rate_bytes_per_s").is_some_and(|rate| rate > 1_700_000));
}

#[test]
fn two_flows_share_the_link() {
    let record = make_ok(&transfers(CongestionControl::Bbr, 2));
    let shares = shares(&record);
    assert!(shares.iter().sum::<f64>() >= 0.95, "{shares:?}");
    assert!(shares.iter().all(|&share| share > 0.3), "{shares:?}");
    // Both together keep up to twice the product of bandwidth and delay in flight.
    assert!(probe_ms(&record) < 100.0, "{} ms", probe_ms(&record));
}

#[test]
fn flows_with_losses_in_a_small_buffer_still_fill_the_link() {
    let mut run = transfers(CongestionControl::Bbr, 1);
    lab::switch(&mut run).buffer = drop_tail(20_000);
    let record = make_ok(&run);
    assert!(lab::counter(&record, "server", "segments_retransmitted") > 100);
    assert_eq!(lab::counter(&record, "server", "timeouts"), 0);
    let share = shares(&record)[0];
    assert!(share >= 0.9, "{share}");
}

#[test]
fn a_recovery_without_delivery_rates_is_refused() {
    let mut run = transfers(CongestionControl::Bbr, 1);
    for group in &mut run.network.groups {
        group.tcp = lab::whole_tcp("rfc");
        group.tcp.congestion_control = CongestionControl::Bbr;
    }
    let error = lab::make(&run).error.expect("it cannot work");
    assert!(error.contains("BBR needs the loss recovery of Linux 6"), "{error}");
}
