//! Transfers and requests whose outcome can be worked out by hand.

mod lab;

use lab::{DEEP, make_ok};
use netstudy_records::{
    Direction, Phase, PhaseKind, Request, Roles, Run, Transfer, Until, Workload,
};

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

/// Transfers between hosts of a star that loses nothing, the second of each flow measured.
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
    assert_eq!(connections.client, ["server-1", "server-2", "server-3", "server-4"]);
    assert_eq!(connections.server, ["server-5", "server-6", "server-7", "server-8"]);
}

#[test]
fn clients_of_one_server_share_the_rate_of_its_link() {
    let record = make_ok(&transfers(4, 1, Direction::Get, 10_000_000));
    let measure = lab::measure(&record);
    let least_ns = 4 * 10_000_000 * 9_038 / 8_948 * BYTE_PS / 1000;
    let took = measure.end_ns - measure.start_ns;
    assert!(took > least_ns && took < least_ns + least_ns / 20, "{took} ns of {least_ns} ns");
}

#[test]
fn a_stream_fills_its_link_for_as_long_as_its_phase_lasts() {
    let mut run = transfers(1, 1, Direction::Put, 1);
    let Workload::Transfer(transfer) = &mut run.workload else { unreachable!("it was set") };
    transfer.size_bytes = None;
    let lasts = |kind, ns| Phase { kind, until: Some(Until::Time { ns }) };
    run.phases =
        vec![lasts(PhaseKind::WarmUp, 100_000_000), lasts(PhaseKind::Measure, 3_000_000_000)];
    let record = make_ok(&run);
    let table = record.samples.transfer.expect("there was a stream");
    let rate = table.bytes_sent[0] as f64 * 8.0 / (table.end_ns[0] - table.start_ns[0]) as f64;
    let full = 10.0 * 8_948.0 / 9_038.0;
    assert!((rate - full).abs() < 0.01 * full, "{rate} of {full} Gbit/s");
    let seconds = record.samples.second.expect("a stream is sampled each second");
    assert_eq!(seconds.start_ns, [0, 1_000_000_000, 2_000_000_000]);
}

#[test]
fn a_request_takes_its_way_there_and_back() {
    let mut run = transfers(1, 1, Direction::Get, 1);
    lab::set_iterations(&mut run, 1, 100);
    run.workload = Workload::Request(Request {
        roles: roles(1, 1),
        request_bytes: 100,
        response_bytes: 1_000,
        connections: 1,
        outstanding: 1,
        think_ns: 1_000_000,
        every_ns: None,
        new_connections: false,
    });
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
