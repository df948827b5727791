//! Where the time of units of work goes at hosts and pauses, worked out by hand to the picosecond.

use netstudy_records::{
    Cpu, DataPath, Direction, Disk, FileSink, FileSource, Ftp, Place, Reason, Roles, Run,
    RunRecord, Service, TimeAccount, TimeGroup, TimeView, Transfer, Workload,
};

use crate::lab::{self, DEEP, incast, make_ok};
use crate::transactions::{MS, closed, costs};

const US_PS: u64 = 1_000_000;
const MS_PS: u64 = 1_000 * US_PS;
/// Propagation delay of a link.
const LINK_PS: u64 = US_PS;

/// Time of a segment with this payload on a link of 10 Gbit/s, with IP, TCP, Ethernet, preamble and
/// gap.
const fn wire_ps(payload_bytes: u64) -> u64 {
    (payload_bytes + 52 + 38) * 800
}

/// From the socket of one host to that of another.
const fn one_way_ps(payload_bytes: u64) -> u64 {
    2 * (wire_ps(payload_bytes) + LINK_PS)
}

fn traced(mut run: Run) -> RunRecord {
    run.trace = true;
    let record = make_ok(&run);
    let law = record.checks.iter().find(|check| check.law.starts_with("the parts of each unit"));
    assert!(law.expect("it is checked").holds);
    record
}

fn account(record: &RunRecord, view: TimeView) -> &TimeAccount {
    let is_it = |one: &&TimeAccount| one.view == view && one.group == TimeGroup::All;
    record.samples.time.iter().find(is_it).expect("there were units")
}

/// The time of all units in a view for which `counts` is true.
fn time_ps(
    record: &RunRecord,
    view: TimeView,
    counts: impl Fn(&TimeAccount, usize) -> bool,
) -> u64 {
    let account = account(record, view);
    (0..account.low_ps.len())
        .filter(|&row| counts(account, row))
        .map(|row| account.low_ps[row])
        .sum()
}

fn at_place(record: &RunRecord, view: TimeView, place: Place) -> u64 {
    time_ps(record, view, |account, row| account.place[row] == place)
}

const JOURNEY: TimeView = TimeView::Journey;
const CAUSE: TimeView = TimeView::Cause;

#[test]
fn a_user_waits_for_the_slot_that_the_other_user_holds() {
    let costs = netstudy_records::Costs {
        app_cpu_ns: 0,
        database_calls: 1,
        database_hold_ns: 10 * MS,
        database_slots: 1,
        service: Service::Fixed,
        ..costs()
    };
    let record = traced(crate::transactions::run(closed(2), costs, 1));
    let account = account(&record, JOURNEY);
    // The slot is never free, so that a user's turn comes every 20 ms.
    let units = account.units;
    assert_eq!([units, account.whole_ps], [100, 100 * 20 * MS_PS]);
    let way_ps = 4 * one_way_ps(100);
    assert_eq!(at_place(&record, JOURNEY, Place::DatabaseHold), units * 10 * MS_PS);
    assert_eq!(at_place(&record, JOURNEY, Place::DatabaseSlot), units * (10 * MS_PS - way_ps));
    // The other user got the slot when this one had given it back: two ways before this one began.
    let held_ps = 20 * MS_PS - way_ps / 2;
    assert_eq!(at_place(&record, CAUSE, Place::DatabaseSlot), 0);
    assert_eq!(at_place(&record, CAUSE, Place::DatabaseHold), units * held_ps);
    assert_eq!(at_place(&record, CAUSE, Place::Propagation), units * 4 * LINK_PS);
}

#[test]
fn threads_and_connections_of_a_pool_are_waited_for() {
    let busy = netstudy_records::Costs {
        app_cpu_ns: 0,
        database_calls: 1,
        database_hold_ns: 5 * MS,
        delay_ns: 5 * MS,
        service: Service::Fixed,
        ..costs()
    };
    for (threads, pool_connections, place) in
        [(Some(1), 1_000, Place::Thread), (None, 1, Place::Pool)]
    {
        let costs = netstudy_records::Costs { threads, pool_connections, ..busy.clone() };
        let record = traced(crate::transactions::run(closed(4), costs, 1));
        let waited_ps = at_place(&record, JOURNEY, place);
        let whole_ps = account(&record, JOURNEY).whole_ps;
        assert!(waited_ps > whole_ps / 4, "{waited_ps} of {whole_ps} ps: {place:?}");
        assert_eq!(at_place(&record, CAUSE, place), 0, "work stands for the wait: {place:?}");
    }
}

#[test]
fn a_packet_waits_at_the_cpu_for_the_one_before_it() {
    let mut run = lab::run(2, DEEP);
    incast(&mut run).block_bytes = 8_948;
    lab::set_iterations(&mut run, 1, 1);
    run.network.groups[0].cpu = Some(Cpu { cpus: 1, receive_packet_ns: 10_000, ..Cpu::FREE });
    let record = traced(run);
    // The second response is on the link to the client behind the first one.
    let whole_ps = one_way_ps(64) + one_way_ps(8_948) + 20 * US_PS;
    assert_eq!(account(&record, JOURNEY).whole_ps, whole_ps);
    assert_eq!(at_place(&record, JOURNEY, Place::Cpu), 10 * US_PS);
    assert_eq!(at_place(&record, JOURNEY, Place::CpuQueue), 10 * US_PS - wire_ps(8_948));
    assert_eq!(at_place(&record, CAUSE, Place::Cpu), 20 * US_PS);
    assert_eq!(at_place(&record, CAUSE, Place::CpuQueue), 0);
}

/// One client fetches a file once.
fn file(size_bytes: u64, ftp: Ftp) -> Run {
    let mut run = lab::run(1, DEEP);
    lab::set_iterations(&mut run, 0, 1);
    run.workload = Workload::Transfer(Transfer {
        roles: Roles { client: vec!["server-1".to_owned()], server: vec!["client".to_owned()] },
        direction: Direction::Get,
        size_bytes: Some(size_bytes),
        flows: 1,
        request_bytes: 64,
        pause_ns: 0,
        starts_ns: Vec::new(),
        ftp: Some(ftp),
    });
    run
}

#[test]
fn a_file_is_read_from_the_disk_without_a_break() {
    let ftp = Ftp { source: FileSource::Disk, sink: FileSink::Null, data_path: DataPath::Copying };
    let mut run = file(500_000, ftp);
    run.network.groups[0].cpu = Some(Cpu { call_bytes: 50_000, ..Cpu::FREE });
    run.network.groups[0].disk = Some(Disk {
        disk_rate_bps: 50_000_000,
        access_ns: MS,
        write_cache_bytes: 0,
        page_cache_bytes: 0,
    });
    let record = traced(run);
    // One access, and then 4 Mbit at 50 Mbit/s.
    for view in [JOURNEY, CAUSE] {
        assert_eq!(at_place(&record, view, Place::Disk), 81 * MS_PS);
    }
}

#[test]
fn an_upload_waits_until_the_server_has_synced_its_disk() {
    let ftp = Ftp {
        source: FileSource::Memory,
        sink: FileSink::SyncedDisk,
        data_path: DataPath::Copying,
    };
    let mut run = file(1_000_000, ftp);
    if let Workload::Transfer(transfer) = &mut run.workload {
        transfer.direction = Direction::Put;
    }
    let disk = Disk {
        disk_rate_bps: 80_000_000,
        access_ns: 0,
        write_cache_bytes: 1 << 30,
        page_cache_bytes: 0,
    };
    run.network.groups[0].disk = Some(disk);
    let record = traced(run);
    // The first piece arrives within the first of 100 ms, and the disk never rests afterwards.
    let disk_ps = at_place(&record, CAUSE, Place::Disk);
    assert_eq!(disk_ps, 100 * MS_PS, "in the cause, every byte is written");
    assert!(at_place(&record, JOURNEY, Place::DiskQueue) > 90 * MS_PS);
}

#[test]
fn a_full_send_buffer_is_the_reason_for_round_trips() {
    let ftp =
        Ftp { source: FileSource::Memory, sink: FileSink::Null, data_path: DataPath::Copying };
    let mut run = file(4_000_000, ftp);
    for link in &mut run.network.links {
        link.delay_ns = 5 * MS;
    }
    let server = &mut run.network.groups[0];
    server.tcp.send_buffer_bytes = 65_536;
    server.cpu = Some(Cpu { call_ns: 1, call_bytes: 8_192, ..Cpu::FREE });
    let record = traced(run);
    let whole_ps = account(&record, JOURNEY).whole_ps;
    let is_own_buffer = |account: &TimeAccount, row: usize| {
        account.reason[row] == Reason::OwnBuffer && account.place[row] == Place::Propagation
    };
    let waited_ps = time_ps(&record, JOURNEY, is_own_buffer);
    assert!(waited_ps > whole_ps * 8 / 10, "{waited_ps} of {whole_ps} ps");
}

#[test]
fn a_paused_frame_waits_until_the_frames_before_it_have_left_the_switch() {
    // Four segments of 1448 bytes; the link to the client has a tenth of the rate. The switch pauses
    // the server when the first one has arrived, and lets it go on when it has sent three.
    let mut run = lab::run(1, DEEP);
    for link in &mut run.network.links {
        link.mtu_bytes = 1_500;
    }
    lab::set_rate(&mut run.network.links[0], 1_000_000_000);
    incast(&mut run).block_bytes = 4 * 1_448;
    lab::set_iterations(&mut run, 1, 1);
    let switch = lab::switch(&mut run);
    switch.pause_high_bytes = Some(1_000);
    switch.pause_low_bytes = Some(1_000);
    let server = &mut run.network.groups[1];
    server.nic.honours_pause = true;
    server.tcp.initial_window_segments = Some(10);
    let record = traced(run);
    let (fast, slow) = (wire_ps(1_448), 10 * wire_ps(1_448));
    // A PAUSE frame has 64 bytes, preamble and gap.
    let pause_frame_ps = 84 * 800;
    let resumed_ps = fast + LINK_PS + 3 * slow + pause_frame_ps + LINK_PS;
    let paused_ps = resumed_ps - 3 * fast;
    assert_eq!(at_place(&record, JOURNEY, Place::Pause), paused_ps);
    // On the client's link, the acknowledgment of the iteration before is in front of the request.
    let request_ps = 10 * wire_ps(0) + 11 * wire_ps(64) + 2 * LINK_PS;
    let whole_ps = request_ps + resumed_ps + fast + slow + 2 * LINK_PS;
    assert_eq!(account(&record, JOURNEY).whole_ps, whole_ps);
    // The link to the client is the limit.
    assert_eq!(at_place(&record, CAUSE, Place::Pause), 0);
    let to_client = |account: &TimeAccount, row: usize| {
        account.place[row] == Place::Serialization
            && account.node[row] == "switch"
            && account.to[row] == "client"
    };
    assert_eq!(time_ps(&record, CAUSE, to_client), 4 * slow);
}

#[test]
fn merged_segments_wait_for_the_end_of_their_batch() {
    // Three segments arrive while the CPU handles the first one, which takes 20 us as each of them.
    let mut run = lab::run(1, DEEP);
    for link in &mut run.network.links {
        link.mtu_bytes = 1_500;
    }
    incast(&mut run).block_bytes = 3 * 1_448;
    lab::set_iterations(&mut run, 1, 1);
    let client = &mut run.network.groups[0];
    client.nic.receive_merge_bytes = 65_535;
    client.nic.receive_frame_ns = 20_000;
    client.nic.interrupt_delay_ns = 7_000;
    let server = &mut run.network.groups[1];
    server.tcp.initial_window_segments = Some(10);
    let record = traced(run);
    // The acknowledgment of the iteration before is in front of the request.
    let whole_ps = wire_ps(0) + one_way_ps(64) + one_way_ps(1_448) + (7 + 3 * 20) * US_PS;
    assert_eq!(account(&record, JOURNEY).whole_ps, whole_ps);
    let fast = wire_ps(1_448);
    assert_eq!(at_place(&record, JOURNEY, Place::Cpu), 20 * US_PS);
    assert_eq!(at_place(&record, JOURNEY, Place::CpuQueue), 47 * US_PS - 2 * fast);
    assert_eq!(at_place(&record, CAUSE, Place::Cpu), 60 * US_PS);
    assert_eq!(at_place(&record, CAUSE, Place::Interrupt), 7 * US_PS);
}
