//! Latency under a workload, in figures that can be worked out by hand; and the phases that go with it.

use netstudy_records::{
    Direction, Phase, PhaseKind, Probe, RequestHistogram, Roles, Run, RunRecord, Transfer, Until,
    Workload,
};

use crate::lab::{self, DEEP, make, make_ok};

const MS: u64 = 1_000_000;
/// Ethernet header, check sequence, preamble and gap; IPv4, TCP and timestamps.
const AROUND_BYTES: u64 = 38 + 52;
const PROBE_BYTES: u64 = 64;

/// Transfers of one host from another, with a probe every 10 ms.
fn probed(size_bytes: Option<u64>, phases: &[(PhaseKind, Option<u64>)]) -> Run {
    let mut run = lab::run(1, DEEP);
    run.workload = Workload::Transfer(Transfer {
        roles: Roles { client: vec!["client".to_owned()], server: vec!["server-1".to_owned()] },
        direction: Direction::Get,
        size_bytes,
        flows: 1,
        request_bytes: 64,
        pause_ns: MS,
        starts_ns: Vec::new(),
        ftp: None,
    });
    run.probe =
        Some(Probe { every_ns: 10 * MS, request_bytes: PROBE_BYTES, response_bytes: PROBE_BYTES });
    run.phases = phases
        .iter()
        .map(|&(kind, ns)| Phase { kind, until: ns.map(|ns| Until::Time { ns }) })
        .collect();
    run
}

/// The latencies of the probe in a phase.
fn latencies(record: &RunRecord, phase: PhaseKind) -> &RequestHistogram {
    let mut all = record.samples.request.iter();
    let found = all.find(|one| one.operation == "probe" && one.phase == phase);
    found.unwrap_or_else(|| panic!("there are probes in {phase:?}"))
}

#[test]
fn an_idle_probe_takes_the_sum_of_its_parts_over_a_direct_link() {
    let phases = [(PhaseKind::Idle, Some(100 * MS)), (PhaseKind::Measure, Some(50 * MS))];
    let mut run = probed(Some(1_000), &phases);
    run.network.nodes.retain(|node| node.name() != "switch");
    run.network.links.truncate(1);
    run.network.links[0].b.node = "server-1".to_owned();
    run.network.links[0].b.name = "eth0".to_owned();
    for group in &mut run.network.groups {
        group.nic.send_latency_ns = 3_000;
        group.nic.receive_latency_ns = 5_000;
    }
    let record = make_ok(&run);
    let idle = latencies(&record, PhaseKind::Idle);
    // 10 Gbit/s are 0.8 ns a byte; the link takes 1 µs.
    let one_way_ps = (PROBE_BYTES + AROUND_BYTES) * 800 + 1_000_000 + 3_000_000 + 5_000_000;
    let expected_ns = 2 * one_way_ps / 1000;
    // The first one waits on the wire behind the acknowledgment that opens its connection.
    let behind_ns = AROUND_BYTES * 800 / 1000;
    assert_eq!((idle.min_ns, idle.max_ns), (expected_ns, expected_ns + behind_ns));
    assert_eq!(idle.sum_ns, 10 * expected_ns + behind_ns);
    assert_eq!((idle.count, idle.unanswered), (10, 0), "one at the start, and each 10 ms");
    assert_eq!((idle.client.as_str(), idle.server.as_str()), ("client", "server-1"));
    let connections = lab::connections(&record);
    assert_eq!(connections.client.len(), 1, "the probe's is none of the workload's connections");
    let transfers = record.samples.transfer.as_ref().expect("there were transfers");
    assert_eq!(connections.bytes_received[0], 1_000 * transfers.connection.len() as u64);
}

#[test]
fn a_loaded_probe_waits_behind_what_the_window_lets_queue() {
    let phases = [
        (PhaseKind::Idle, Some(50 * MS)),
        (PhaseKind::WarmUp, Some(500 * MS)),
        (PhaseKind::Measure, Some(1_000 * MS)),
    ];
    let mut run = probed(None, &phases);
    // The server may send 50 full segments; all of them wait at the port to the client, which is ten
    // times slower than the server's link.
    let (segments, segment_bytes) = (50, 8_948);
    run.network.groups[1].tcp.send_buffer_bytes = segments * segment_bytes;
    lab::set_rate(&mut run.network.links[0], 1_000_000_000);
    let record = make_ok(&run);
    let segment_ns = (u64::from(segment_bytes) + AROUND_BYTES) * 8;
    let (queue_ns, loaded) =
        (u64::from(segments) * segment_ns, latencies(&record, PhaseKind::Measure));
    let mean_ns = loaded.sum_ns / loaded.count;
    assert!(mean_ns.abs_diff(queue_ns) < 3 * segment_ns, "{mean_ns} ns behind {queue_ns} ns");
    let idle = latencies(&record, PhaseKind::Idle);
    assert!(idle.max_ns < segment_ns, "{} ns", idle.max_ns);
}

#[test]
fn a_probe_goes_on_from_the_warmup_into_a_phase_that_lasts_for_its_time() {
    let phases = [
        (PhaseKind::Idle, Some(50 * MS)),
        (PhaseKind::WarmUp, Some(105 * MS)),
        (PhaseKind::Measure, Some(200 * MS)),
    ];
    let record = make_ok(&probed(None, &phases));
    let measure = lab::measure(&record);
    assert_eq!(measure.end_ns - measure.start_ns, 200 * MS);
    let loaded = latencies(&record, PhaseKind::Measure);
    assert_eq!(loaded.count + loaded.unanswered, 20, "one is due each 10 ms");
    assert_eq!(latencies(&record, PhaseKind::Idle).count, 5);
    let series = record.series.iter().flat_map(|one| &one.at_ns);
    assert!(series.clone().all(|&at| at <= measure.end_ns));
}

#[test]
fn phases_follow_each_other_and_counters_are_read_where_nothing_is_under_way() {
    let phases = [
        (PhaseKind::Idle, Some(50 * MS)),
        (PhaseKind::WarmUp, Some(100 * MS)),
        (PhaseKind::Stop, Some(20 * MS)),
        (PhaseKind::Measure, Some(200 * MS)),
        (PhaseKind::CoolDown, Some(30 * MS)),
    ];
    let record = make_ok(&probed(Some(1_000_000), &phases));
    let kinds: Vec<_> = record.phases.iter().map(|phase| phase.kind).collect();
    assert_eq!(kinds, phases.map(|(kind, _)| kind));
    assert_eq!(record.phases[0].start_ns, 0);
    for (pair, asked) in record.phases.windows(2).zip([50, 100, 20, 200]) {
        assert_eq!(pair[0].end_ns, pair[1].start_ns);
        // A transfer and the pause behind it take 3 ms at most, and the last one ends.
        let took = pair[0].end_ns - pair[0].start_ns;
        assert!(took.abs_diff(asked * MS) < 3 * MS, "{pair:?}");
    }
    let cool = record.phases[4];
    assert_eq!(cool.end_ns - cool.start_ns, 30 * MS);
    let names: Vec<_> = record.edges.iter().map(|edge| edge.name.as_str()).collect();
    let all = ["warm-up-start", "warm-up-end", "measure-start", "measure-end", "cool-down-end"];
    assert_eq!(names, all);
    let received = &record.counters["client"]["bytes_received"];
    assert_eq!(received[0], Some(5 * PROBE_BYTES), "five probes were due in 50 ms");
    assert_eq!(received[1], received[2], "the workload rests between");
    assert_eq!(received[3], received[4], "the workload has ended");
    assert!(received[1] > received[0] && received[3] > received[2]);
}

#[test]
fn phases_that_make_no_sense_are_refused_by_name() {
    let refusal = |phases: &[(PhaseKind, Option<u64>)], is_probed: bool| {
        let mut run = probed(Some(1_000), phases);
        run.probe = run.probe.filter(|_| is_probed);
        make(&run).error.expect("it is refused")
    };
    let measure = (PhaseKind::Measure, Some(MS));
    assert!(
        refusal(&[(PhaseKind::Idle, Some(MS)), measure], false).contains("nothing but a probe")
    );
    assert!(refusal(&[(PhaseKind::Load, None), measure], true).contains("Load"));
    assert!(refusal(&[measure, (PhaseKind::WarmUp, Some(MS))], true).contains("only once"));
    assert!(refusal(&[(PhaseKind::WarmUp, Some(MS))], true).contains("Measure"));
}
