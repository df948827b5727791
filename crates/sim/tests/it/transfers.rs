//! Transfers and requests whose outcome can be worked out by hand.

use netstudy_records::{Direction, PhaseKind, Request, Roles, Run, RunRecord, Transfer, Workload};

use crate::lab::{self, DEEP, make_ok};

/// Picoseconds a byte at 10 Gbit/s.
const BYTE_PS: u64 = 800;
/// Ethernet header, check sequence, preamble and gap; IPv4, TCP and timestamps.
const AROUND_BYTES: u64 = 38 + 52;
const LINK_PS: u64 = 1_000_000;

/// From the socket of one host to that of another: twice on a wire, twice over a link.
fn one_way_ps(payload_bytes: u64) -> u64 {
    2 * ((payload_bytes + AROUND_BYTES) * BYTE_PS + LINK_PS)
}

fn roles(clients: u32, servers: u32) -> Roles {
    let hosts =
        |from: u32, count: u32| (from..from + count).map(|n| format!("server-{n}")).collect();
    Roles { client: hosts(1, clients), server: hosts(1 + clients, servers) }
}

/// Transfers between hosts of a star without loss; the second transfer of each flow is measured.
fn transfers(clients: u32, servers: u32, direction: Direction, size_bytes: u64) -> Run {
    let mut run = lab::run(clients + servers, DEEP);
    lab::set_iterations(&mut run, 1, 1);
    run.workload = Workload::Transfer(Transfer {
        roles: roles(clients, servers),
        direction,
        size_bytes: Some(size_bytes),
        flows: 1,
        request_bytes: 64,
        pause_ns: 1_000_000,
        starts_ns: Vec::new(),
        ftp: None,
    });
    run
}

#[test]
fn a_transfer_of_one_segment_takes_a_message_each_way() {
    for direction in [Direction::Get, Direction::Put] {
        let record = make_ok(&transfers(1, 1, direction, 8_948));
        let table = record.samples.transfer.expect("there were transfers");
        let took: Vec<_> = table.end_ns.iter().zip(&table.start_ns).map(|(e, s)| e - s).collect();
        let expected = (one_way_ps(64) + one_way_ps(8_948)) / 1000;
        // Start and end are rounded down to a nanosecond.
        assert!(took.len() == 1 && took[0].abs_diff(expected) <= 1, "{took:?} {expected}");
        let moved = (table.bytes_received[0], table.bytes_sent[0]);
        let is_put = direction == Direction::Put;
        assert_eq!(moved, if is_put { (0, 8_948) } else { (8_948, 0) });
    }
}

#[test]
fn pairs_that_share_no_link_do_not_share_its_rate() {
    // Each of four clients gets 10 MB from a server of its own: 8948 of 9038 bytes on the wire are payload.
    let record = make_ok(&transfers(4, 4, Direction::Get, 10_000_000));
    let table = record.samples.transfer.expect("there were transfers");
    assert_eq!(table.connection.len(), 4);
    let least_ns = 10_000_000 * 9_038 / 8_948 * BYTE_PS / 1000;
    for (end, start) in table.end_ns.iter().zip(&table.start_ns) {
        let took = end - start;
        assert!(took > least_ns && took < least_ns + least_ns / 20, "{took} ns of {least_ns} ns");
    }
    let connections = record.samples.connection.expect("there were connections");
    let took: Vec<u64> = table.end_ns.iter().zip(&table.start_ns).map(|(e, s)| e - s).collect();
    assert_eq!(connections.busy_ns, took, "a connection is busy with its transfer");
    assert_eq!(connections.client, ["server-1", "server-2", "server-3", "server-4"]);
    assert_eq!(connections.server, ["server-5", "server-6", "server-7", "server-8"]);
}

#[test]
fn the_measuring_phase_begins_when_connections_are_open() {
    let mut run = transfers(2, 1, Direction::Get, 8_948);
    lab::set_iterations(&mut run, 0, 1);
    let record = make_ok(&run);
    let edge = record.edges.iter().find(|edge| edge.name == "measure-start").expect("an edge");
    assert!(edge.at_ns > 0);
    assert_eq!(lab::measure(&record).start_ns, edge.at_ns);
}

#[test]
fn in_a_phase_of_a_time_a_connection_is_busy_for_all_of_it() {
    // 10 MB take 8.1 ms on a link of its own: the phase cuts the fourth one off.
    let mut run = transfers(1, 1, Direction::Get, 10_000_000);
    lab::set_times(&mut run, &[(PhaseKind::WarmUp, 10), (PhaseKind::Measure, 30)]);
    let Workload::Transfer(transfer) = &mut run.workload else { unreachable!("it was set") };
    transfer.pause_ns = 0;
    let connections = make_ok(&run).samples.connection.expect("there were connections");
    assert_eq!(connections.busy_ns, [30 * MS]);
    let bits_per_s = connections.bytes_received[0] * 8_000 / 30;
    assert!((9_800_000_000..9_910_000_000).contains(&bits_per_s), "{bits_per_s} bit/s");
}

#[test]
fn clients_of_one_server_share_the_rate_of_its_link() {
    let record = make_ok(&transfers(4, 1, Direction::Get, 10_000_000));
    let measure = lab::measure(&record);
    let least_ns = 4 * 10_000_000 * 9_038 / 8_948 * BYTE_PS / 1000;
    let took = measure.end_ns - measure.start_ns;
    assert!(took > least_ns && took < least_ns + least_ns / 20, "{took} ns of {least_ns} ns");
}

const MS: u64 = 1_000_000;

/// Streams of `flows` connections a pair, behind a warm-up of 100 ms.
fn streams(clients: u32, servers: u32, direction: Direction, flows: u32, measure_ms: u64) -> Run {
    let mut run = transfers(clients, servers, direction, 1);
    let Workload::Transfer(transfer) = &mut run.workload else { unreachable!("it was set") };
    (transfer.size_bytes, transfer.flows) = (None, flows);
    lab::set_times(&mut run, &[(PhaseKind::WarmUp, 100), (PhaseKind::Measure, measure_ms)]);
    run
}

#[test]
fn flows_start_when_the_plan_says() {
    let with_starts = |starts_ns| {
        let mut run = streams(1, 1, Direction::Get, 2, 50);
        let Workload::Transfer(transfer) = &mut run.workload else { unreachable!("it was set") };
        transfer.starts_ns = starts_ns;
        run
    };
    let apart = with_starts(vec![0, 90 * MS]);
    let [together, spread] = [with_starts(Vec::new()), apart.clone()].map(|run| {
        make_ok(&run).samples.connection.expect("there were connections").bytes_received
    });
    assert!(spread.iter().all(|&bytes| bytes > 0));
    // The flow that starts 10 ms before the phase has less of it than one that starts with the other.
    assert!(spread[1] < together[1], "{spread:?} {together:?}");
    let by_events = make_ok(&by_events(apart)).samples.connection.expect("there were connections");
    assert_eq!(by_events.bytes_received, spread);
    let wrong = lab::make(&with_starts(vec![0]));
    assert!(wrong.error.is_some_and(|error| error.contains("a start for each connection")));
}

/// The same run event-driven: an interface that merges segments up to a single one has no closed form,
/// and behaves the same.
fn by_events(mut run: Run) -> Run {
    for group in &mut run.network.groups {
        group.nic.receive_merge_bytes = 1;
    }
    run
}

/// Payload that a link of 10 Gbit/s carries in a time, in full frames.
fn payload_of(ns: u64) -> u64 {
    ns * 1000 / BYTE_PS * 8_948 / 9_038
}

fn lasted_ns(record: &RunRecord) -> u64 {
    let measure = lab::measure(record);
    measure.end_ns - measure.start_ns
}

#[test]
fn a_phase_of_a_time_lasts_for_it_and_a_full_link_carries_its_rate_less_headers() {
    for run in [Direction::Put, Direction::Get].map(|way| streams(1, 1, way, 1, 3_000)) {
        for run in [run.clone(), by_events(run)] {
            let record = make_ok(&run);
            assert_eq!(lasted_ns(&record), 3_000 * MS, "{:?}", record.mode);
            let connections = lab::connections(&record);
            let moved = connections.bytes_sent[0].max(connections.bytes_received[0]);
            let full = payload_of(3_000 * MS);
            // A request of 64 B for each 65,536 B takes its share of the way back only.
            assert!(moved <= full + 8_948 && moved + full / 1000 > full, "{moved} B of {full} B");
            let table = record.samples.transfer.as_ref().expect("there was a stream");
            let measure = lab::measure(&record);
            assert_eq!(table.start_ns, [measure.start_ns], "it counts from when the phase begins");
            assert_eq!(table.end_ns, [measure.end_ns], "and until it ends");
            let seconds = record.samples.second.as_ref().expect("sampled each second");
            assert_eq!(seconds.start_ns, [0, 1_000 * MS, 2_000 * MS]);
            let sums =
                [&seconds.bytes_received, &seconds.bytes_sent].map(|all| all.iter().sum::<u64>());
            assert_eq!(sums, [connections.bytes_received[0], connections.bytes_sent[0]]);
        }
    }
}

#[test]
fn clients_that_share_a_link_are_measured_in_the_same_time_and_fill_it() {
    for run in [streams(2, 1, Direction::Put, 2, 1_500), streams(2, 1, Direction::Get, 2, 1_500)] {
        let record = make_ok(&run);
        assert_eq!(lasted_ns(&record), 1_500 * MS);
        let connections = lab::connections(&record);
        let moved: u64 =
            connections.bytes_sent.iter().sum::<u64>().max(lab::bytes_received(&record));
        let full = payload_of(1_500 * MS);
        assert!(moved <= full + 8_948 && moved + full / 200 > full, "{moved} B of {full} B");
        let seconds = record.samples.second.as_ref().expect("sampled each second");
        assert_eq!(
            seconds.start_ns,
            [[0; 4], [1_000 * MS; 4]].concat(),
            "the last one is half of one"
        );
        let sum = seconds.bytes_sent.iter().chain(&seconds.bytes_received).sum::<u64>();
        let both = connections.bytes_sent.iter().chain(&connections.bytes_received).sum::<u64>();
        assert_eq!(sum, both);
    }
}

#[test]
fn closed_form_and_events_read_hosts_at_the_same_instant() {
    let of = |run: &Run| {
        let record = make_ok(run);
        let connections = lab::connections(&record).clone();
        let hosts = ["bytes_sent", "bytes_received", "acks_sent", "segments_received"];
        let counted = hosts.map(|name| lab::counter(&record, "server", name));
        (record.mode, connections.bytes_received, connections.bytes_sent, counted)
    };
    for direction in [Direction::Put, Direction::Get, Direction::Both] {
        let run = streams(1, 1, direction, 1, 700);
        let (star, steps) = (of(&run), of(&by_events(run)));
        assert_ne!(star.0, steps.0);
        assert_eq!((&star.1, &star.2, star.3), (&steps.1, &steps.2, steps.3), "{direction:?}");
    }
}

#[test]
fn what_ends_behind_the_phase_is_none_of_it() {
    // 40 MB take 32 ms: of the fourth there are some bytes, and it is no transfer of the phase.
    let mut run = transfers(1, 1, Direction::Get, 40_000_000);
    lab::set_times(&mut run, &[(PhaseKind::Measure, 120)]);
    let record = make_ok(&run);
    assert_eq!(lasted_ns(&record), 120 * MS);
    let table = record.samples.transfer.as_ref().expect("there were transfers");
    let end = lab::measure(&record).end_ns;
    assert_eq!(table.end_ns.len(), 3);
    assert!(table.end_ns.iter().all(|&at| at <= end));
    let received = lab::bytes_received(&record);
    assert!(received > 3 * 40_000_000 && received < 4 * 40_000_000, "{received} B");
    let counted = lab::counter(&record, "server", "bytes_sent");
    assert!(counted >= received && counted < 4 * 40_000_000, "{counted} B");
}

#[test]
fn a_transfer_that_the_warmup_began_counts_by_what_comes_in_the_phase() {
    let mut run = transfers(1, 1, Direction::Get, 40_000_000);
    lab::set_times(&mut run, &[(PhaseKind::WarmUp, 50), (PhaseKind::Measure, 100)]);
    let record = make_ok(&run);
    assert_eq!(lasted_ns(&record), 100 * MS);
    let table = record.samples.transfer.as_ref().expect("there were transfers");
    let start = lab::measure(&record).start_ns;
    assert!(table.start_ns[0] < start && table.end_ns[0] > start, "{table:?}");
    let received = lab::bytes_received(&record);
    let full = payload_of(100 * MS);
    // Pauses of 1 ms lie between transfers, and each starts slowly.
    assert!(received < full && received > full * 9 / 10, "{received} B of {full} B");
}

#[test]
fn a_cooldown_follows_when_all_that_was_under_way_has_come() {
    let mut run = streams(1, 1, Direction::Put, 1, 300);
    lab::set_times(&mut run, &[(PhaseKind::Measure, 300), (PhaseKind::CoolDown, 20)]);
    let record = make_ok(&run);
    assert_eq!(lasted_ns(&record), 300 * MS);
    let cool = record.phases.iter().find(|phase| phase.kind == PhaseKind::CoolDown);
    let cool = cool.expect("there is a cool-down");
    assert_eq!(cool.start_ns, lab::measure(&record).end_ns);
    assert!(cool.end_ns - cool.start_ns > 20 * MS, "what was under way came first: {cool:?}");
    let received = &record.counters["server-2"]["bytes_received"];
    assert!(received[1] < received[2], "{received:?}");
}

/// Requests of 100 B, answered with 1000 B.
fn requests(think_ns: u64, every_ns: Option<u64>) -> Workload {
    Workload::Request(Request {
        roles: roles(1, 1),
        request_bytes: 100,
        response_bytes: 1_000,
        writes: 1,
        connections: 1,
        outstanding: 1,
        think_ns,
        every_ns,
    })
}

#[test]
fn requests_without_an_answer_at_the_end_are_counted_as_such() {
    let mut run = transfers(1, 1, Direction::Get, 1);
    run.workload = requests(0, Some(1_000));
    lab::set_times(&mut run, &[(PhaseKind::WarmUp, 20), (PhaseKind::Measure, 30)]);
    let record = make_ok(&run);
    assert_eq!(lasted_ns(&record), 30 * MS);
    assert_eq!(lab::connections(&record).busy_ns, [30 * MS]);
    let [latencies] = &record.samples.request[..] else { panic!("there is one pair") };
    // One is due each microsecond; an answer takes more than four.
    assert_eq!(latencies.count + latencies.unanswered, 30_000);
    let took_us = (one_way_ps(100) + one_way_ps(1_000)) / 1_000_000;
    assert!(latencies.unanswered.abs_diff(took_us) <= 3, "{latencies:?}");
}

#[test]
fn requests_of_which_none_is_answered_in_time_are_counted_too() {
    let mut run = transfers(1, 1, Direction::Get, 1);
    run.workload = requests(0, Some(1_000_000));
    // The way there and back is 20 ms.
    for link in &mut run.network.links {
        link.delay_ns = 5 * MS;
    }
    lab::set_times(&mut run, &[(PhaseKind::Measure, 10)]);
    let record = make_ok(&run);
    let [latencies] = &record.samples.request[..] else { panic!("there is one pair") };
    assert_eq!((latencies.count, latencies.unanswered), (0, 10), "{latencies:?}");
}

#[test]
fn a_request_takes_its_way_there_and_back() {
    let mut run = transfers(1, 1, Direction::Get, 1);
    lab::set_iterations(&mut run, 1, 100);
    run.workload = requests(1_000_000, None);
    let record = make_ok(&run);
    let [latencies] = &record.samples.request[..] else { panic!("there is one pair") };
    let expected = (one_way_ps(100) + one_way_ps(1_000)) / 1000;
    assert_eq!((latencies.count, latencies.unanswered), (100, 0));
    assert!(latencies.min_ns.abs_diff(expected) <= 1, "{} ns, not {expected}", latencies.min_ns);
    assert!(latencies.max_ns.abs_diff(expected) <= 1, "{} ns, not {expected}", latencies.max_ns);
    // Buckets keep three digits.
    let within = |value: &u64| value.abs_diff(expected) <= expected / 1000 + 1;
    assert!(latencies.value_ns.iter().all(within), "{:?}, not {expected}", latencies.value_ns);
}
