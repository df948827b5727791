//! Nodes are removed only when no unit of work needs them any more. In tests, nodes are removed
//! often.

use netstudy_records::{
    Cpu, Direction, Request, Roles, Run, Service, Status, TimeGroup, Transfer, Workload,
};

use super::random_tests::{made, timed};
use crate::run::tests::lab;

const MSS: u64 = 8_948;

fn roles() -> Roles {
    Roles { client: vec!["client".to_owned()], server: vec!["server-1".to_owned()] }
}

/// The number of units in the account of a run, whose parts must add up.
fn units(run: &Run) -> u64 {
    let record = made(run, true, false).expect("it ends");
    assert_eq!(record.status, Status::Ok, "{:?}", record.checks);
    let all = record.samples.time.iter().find(|one| one.group == TimeGroup::All);
    all.map_or(0, |account| account.units)
}

#[test]
fn nodes_of_a_request_are_kept_until_its_account_is_made() {
    let mut run = lab::run(1, lab::DEEP);
    lab::set_iterations(&mut run, 0, 3_000);
    for group in &mut run.network.groups {
        // Without jitter, nodes would be removed at the same step of each request.
        group.nic.receive_jitter_ns = 20_000;
    }
    // The second segment of the response is acknowledged in the event that ends the request, so
    // that this event adds nodes.
    run.workload = Workload::Request(Request {
        writes: 1,
        roles: roles(),
        request_bytes: 64,
        response_bytes: 2 * MSS,
        connections: 2,
        outstanding: 1,
        think_ns: 0,
        every_ns: None,
    });
    assert_eq!(units(&run), 2 * 3_000);
}

#[test]
fn the_first_interval_of_a_stream_begins_with_data_whose_path_is_known() {
    let mut run = lab::run(1, lab::DEEP);
    timed(&mut run, 1_000, 800);
    for group in &mut run.network.groups {
        // The segments wait 90 ms for the CPU of the sender: many nodes are removed meanwhile.
        group.cpu =
            Some(Cpu { cpus: 1, service: Service::Fixed, send_packet_ns: 100_000, ..Cpu::FREE });
        group.tcp.send_buffer_bytes = 450 * MSS as u32;
    }
    run.workload = Workload::Transfer(Transfer {
        roles: roles(),
        direction: Direction::Put,
        size_bytes: None,
        flows: 2,
        request_bytes: 64,
        pause_ns: 0,
        starts_ns: Vec::new(),
        ftp: None,
    });
    // Each of both flows sends a buffer in 45 ms, so that an interval is over after the second turn of
    // both, 180 ms: four in 800 ms.
    assert_eq!(units(&run), 2 * 4);
}
