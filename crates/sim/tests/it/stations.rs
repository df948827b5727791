//! Hosts with CPUs, buses and disks, held against the laws of queues of that kind.

use netstudy_records::{
    Bus, Cpu, DataPath, Direction, Disk, FileSink, FileSource, Ftp, Group, Node, Roles, Run,
    RunRecord, Service, Transfer, Workload,
};

use crate::lab::{self, DEEP, make_ok};

const FILE_BYTES: u64 = 4_000_000;
const CACHED: Ftp =
    Ftp { source: FileSource::Cache, sink: FileSink::Null, data_path: DataPath::Copying };

const DISK: Disk = Disk {
    disk_rate_bps: 400_000_000,
    access_ns: 0,
    write_cache_bytes: 0,
    page_cache_bytes: 1 << 40,
};

/// Clients fetch a file from one server, each so many times.
fn files(clients: usize, ftp: Option<Ftp>, repeats: u32) -> Run {
    let mut run = lab::run(clients as u32, DEEP);
    lab::set_iterations(&mut run, 0, repeats);
    let client = (1..=clients).map(|number| format!("server-{number}")).collect();
    run.workload = Workload::Transfer(Transfer {
        roles: Roles { client, server: vec!["client".to_owned()] },
        direction: Direction::Get,
        size_bytes: Some(FILE_BYTES),
        flows: 1,
        request_bytes: 64,
        pause_ns: 0,
        starts_ns: Vec::new(),
        ftp,
    });
    run
}

/// The group of the files' server, which is the lab's client.
fn server(run: &mut Run) -> &mut Group {
    &mut run.network.groups[0]
}

fn clients(run: &mut Run) -> &mut Group {
    &mut run.network.groups[1]
}

fn seconds(record: &RunRecord) -> f64 {
    let (from, to) = (record.edges.first(), record.edges.last());
    let at = |edge: Option<&netstudy_records::Edge>| edge.expect("it was measured").at_ns as f64;
    (at(to) - at(from)) / 1e9
}

/// Growth of a counter of a node over the run.
fn grown(record: &RunRecord, node: &str, counter: &str) -> u64 {
    let values = &record.counters[node][counter];
    let read = |value: Option<&Option<u64>>| value.copied().flatten().expect("it was read");
    read(values.last()) - read(values.first())
}

fn mbps(record: &RunRecord) -> f64 {
    let table = record.samples.connection.as_ref().expect("there are connections");
    table.bytes_received.iter().sum::<u64>() as f64 * 8e-6 / seconds(record)
}

fn assert_near(found: f64, expected: f64, share: f64) {
    assert!((found / expected - 1.0).abs() < share, "{found} is not near {expected}");
}

#[test]
fn a_host_without_costs_is_as_one_without_stations() {
    let without = make_ok(&files(2, Some(CACHED), 2));
    let mut run = files(2, Some(CACHED), 2);
    server(&mut run).bus = Some(Bus {
        memory_channels: 1,
        memory_channel_bps: None,
        io_channels: 1,
        io_channel_bps: None,
    });
    assert_near(seconds(&make_ok(&run)), seconds(&without), 0.001);
}

#[test]
fn packets_of_an_interface_take_one_cpu_at_most() {
    // 8,948 bytes of payload a packet, 20 us each: 3.58 Gbit/s, however many CPUs there are.
    let mut run = files(4, Some(CACHED), 2);
    server(&mut run).cpu = Some(Cpu { cpus: 8, send_packet_ns: 20_000, ..Cpu::FREE });
    let record = make_ok(&run);
    assert_near(mbps(&record), 8_948.0 * 8.0 / 20.0, 0.02);
    let busy = (0..8).map(|cpu| grown(&record, "client", &format!("cpu_busy_ns.{cpu}")));
    let busiest = busy.max().expect("it has CPUs");
    let share = busiest as f64 / seconds(&record) / 1e9;
    assert_near(share, 1.0, 0.02);
    assert_eq!(record.nodes["client"].cpus, Some(8.0));
}

#[test]
fn busy_time_is_throughput_times_cost() {
    // U = X S (Denning and Buzen 1978), at a load that saturates nothing.
    let mut run = files(2, Some(CACHED), 2);
    let cpu = Cpu { cpus: 4, file_read_ps_per_byte: 300, send_ps_per_byte: 200, ..Cpu::FREE };
    server(&mut run).cpu = Some(cpu);
    let record = make_ok(&run);
    let expected = 2 * 2 * FILE_BYTES * 500 / 1_000;
    // Some hundred bytes of replies are copied too.
    assert_near(grown(&record, "client", "host_cpu_ns") as f64, expected as f64, 1e-4);
}

#[test]
fn calls_of_one_connection_take_one_cpu_and_those_of_several_all() {
    // 8 ns a byte: 1 Gbit/s a CPU.
    let rate = |clients, cpus| {
        let mut run = files(clients, Some(CACHED), 1);
        server(&mut run).cpu = Some(Cpu { cpus, file_read_ps_per_byte: 8_000, ..Cpu::FREE });
        mbps(&make_ok(&run))
    };
    assert_near(rate(1, 4), 1_000.0, 0.03);
    assert_near(rate(3, 4), 3_000.0, 0.03);
    assert_near(rate(3, 1), 1_000.0, 0.03);
}

#[test]
fn twice_the_speed_is_half_the_time() {
    let busy = |speed_pct| {
        let mut run = files(1, Some(CACHED), 1);
        let cpu = Cpu { speed_pct, send_packet_ns: 8_000, call_ns: 50_000, ..Cpu::FREE };
        server(&mut run).cpu = Some(cpu);
        grown(&make_ok(&run), "client", "host_cpu_ns")
    };
    assert_near(busy(100) as f64, 2.0 * busy(200) as f64, 0.01);
}

#[test]
fn sendfile_saves_the_copies() {
    let busy = |data_path| {
        let mut run = files(1, Some(Ftp { data_path, ..CACHED }), 1);
        server(&mut run).cpu = Some(Cpu {
            file_read_ps_per_byte: 3_000,
            send_ps_per_byte: 2_000,
            sendfile_ps_per_byte: 1_000,
            ..Cpu::FREE
        });
        server(&mut run).bus = Some(Bus {
            memory_channels: 2,
            memory_channel_bps: Some(50_000_000_000),
            io_channels: 1,
            io_channel_bps: Some(50_000_000_000),
        });
        let record = make_ok(&run);
        let of = |counter| grown(&record, "client", counter);
        let copied = (of("memory_bus_bytes") - of("io_bus_bytes")) as f64;
        (of("host_cpu_ns") as f64 / FILE_BYTES as f64, copied / FILE_BYTES as f64)
    };
    // Some hundred bytes of replies are copied too.
    let (copying_ns, copied) = busy(DataPath::Copying);
    assert_near(copying_ns, 5.0, 1e-3);
    assert_near(copied, 4.0, 1e-3);
    let (sendfile_ns, copied) = busy(DataPath::Sendfile);
    assert_near(sendfile_ns, 1.0, 1e-3);
    assert!(copied < 1e-3, "{copied}");
}

#[test]
fn a_slow_client_is_its_own_limit_and_no_other_ones() {
    // 8 ns a byte for the first client, 16 for the second.
    let mut run = files(2, Some(CACHED), 1);
    let mut slow = clients(&mut run).clone();
    clients(&mut run).cpu = Some(Cpu { receive_ps_per_byte: 8_000, ..Cpu::FREE });
    slow.name = "slow".to_owned();
    slow.cpu = Some(Cpu { receive_ps_per_byte: 16_000, ..Cpu::FREE });
    run.network.groups.push(slow);
    for node in &mut run.network.nodes {
        if let Node::Host(host) = node
            && host.name == "server-2"
        {
            host.group = "slow".to_owned();
        }
    }
    let record = make_ok(&run);
    let table = record.samples.transfer.as_ref().expect("there were transfers");
    let took_ns = |connection: u32| {
        let place = table.connection.iter().position(|&one| one == connection);
        let place = place.expect("it ended");
        (table.end_ns[place] - table.start_ns[place]) as f64
    };
    assert_near(took_ns(0), 8.0 * FILE_BYTES as f64, 0.03);
    assert_near(took_ns(1), 16.0 * FILE_BYTES as f64, 0.03);
}

#[test]
fn a_bus_carries_no_more_than_its_channels_together() {
    let rate = |channels| {
        let mut run = files(2, Some(CACHED), 1);
        server(&mut run).bus = Some(Bus {
            memory_channels: 1,
            memory_channel_bps: None,
            io_channels: channels,
            io_channel_bps: Some(500_000_000),
        });
        let record = make_ok(&run);
        let busy = grown(&record, "client", "io_bus_busy_ns") as f64 / 1e9;
        assert_near(busy / seconds(&record), 1.0, 0.03);
        mbps(&record)
    };
    assert_near(rate(1), 500.0, 0.03);
    assert_near(rate(4), 2_000.0, 0.03);
}

#[test]
fn a_file_that_fits_into_the_page_cache_is_not_read_from_the_disk() {
    let run = |source, page_cache_bytes| {
        let mut run = files(1, Some(Ftp { source, ..CACHED }), 2);
        server(&mut run).disk = Some(Disk { page_cache_bytes, ..DISK });
        let record = make_ok(&run);
        (grown(&record, "client", "disk_read_bytes"), mbps(&record))
    };
    assert_eq!(run(FileSource::Cache, FILE_BYTES).0, 0);
    for (source, room) in [(FileSource::Cache, FILE_BYTES - 1), (FileSource::Disk, 1 << 40)] {
        let (read_bytes, mbps) = run(source, room);
        assert_eq!(read_bytes, 2 * FILE_BYTES, "each transfer reads it");
        assert_near(mbps, 400.0, 0.03);
    }
}

#[test]
fn a_disk_that_takes_turns_between_files_positions_for_each_request() {
    // 61 pieces of 65,536 bytes and a rest, each 1 ms away from the one before.
    let mut run = files(2, Some(Ftp { source: FileSource::Disk, ..CACHED }), 1);
    server(&mut run).disk = Some(Disk { access_ns: 1_000_000, ..DISK });
    let record = make_ok(&run);
    let moved_s = 2.0 * FILE_BYTES as f64 * 8.0 / 400e6;
    let positioned_s = 2.0 * 62.0 * 1e-3;
    assert_near(seconds(&record), moved_s + positioned_s, 0.03);
    assert_near(
        grown(&record, "client", "disk_busy_ns") as f64 / 1e9,
        moved_s + positioned_s,
        0.03,
    );
}

#[test]
fn writers_wait_for_the_disk_when_its_cache_is_full_and_sync_waits_for_all() {
    let took = |sink, write_cache_bytes| {
        let mut run = files(1, Some(Ftp { sink, ..CACHED }), 1);
        clients(&mut run).disk = Some(Disk { write_cache_bytes, ..DISK });
        let record = make_ok(&run);
        let table = record.samples.transfer.as_ref().expect("there was a transfer");
        assert_eq!(
            record.counters["server-1"]["disk_written_bytes"].last(),
            Some(&Some(FILE_BYTES)),
            "every byte is written"
        );
        (table.end_ns[0] - table.start_ns[0]) as f64 / 1e9
    };
    let whole_s = FILE_BYTES as f64 * 8.0 / 400e6;
    assert_near(took(FileSink::Disk, 0), whole_s, 0.03);
    assert_near(took(FileSink::Disk, FILE_BYTES / 2), whole_s / 2.0, 0.06);
    assert!(took(FileSink::Disk, FILE_BYTES) < whole_s / 5.0);
    assert_near(took(FileSink::SyncedDisk, FILE_BYTES), whole_s, 0.03);
}

#[test]
fn plain_transfers_copy_each_byte_once_however_often_it_is_sent() {
    let mut run = files(1, None, 1);
    server(&mut run).cpu =
        Some(Cpu { send_ps_per_byte: 1_000, receive_ps_per_byte: 1_000, ..Cpu::FREE });
    let record = make_ok(&run);
    assert_eq!(grown(&record, "client", "host_cpu_ns"), FILE_BYTES + 64, "and the request");
}

#[test]
fn random_times_have_the_cost_as_their_mean_and_are_the_same_each_time() {
    let mut run = files(1, Some(CACHED), 4);
    server(&mut run).cpu = Some(Cpu {
        call_ns: 20_000,
        call_bytes: 8_192,
        service: Service::Exponential,
        ..Cpu::FREE
    });
    let record = make_ok(&run);
    // Two calls for each of 489 pieces, drawn together: the mean of 1,956 draws.
    let calls = 4.0 * 2.0 * 489.0;
    assert_near(grown(&record, "client", "host_cpu_ns") as f64, calls * 20_000.0, 0.07);
    let twice = make_ok(&run);
    assert_eq!(grown(&twice, "client", "host_cpu_ns"), grown(&record, "client", "host_cpu_ns"));
}

#[test]
fn costs_at_two_places_and_a_missing_disk_are_refused() {
    let error = |change: fn(&mut Run)| {
        let mut run = files(1, Some(Ftp { source: FileSource::Disk, ..CACHED }), 1);
        change(&mut run);
        lab::make(&run).error.expect("it cannot be made")
    };
    let twice = error(|run| {
        server(run).cpu = Some(Cpu::FREE);
        server(run).nic.receive_frame_ns = 1;
    });
    assert!(twice.contains("at its interface and at its CPUs: give only one"), "{twice}");
    let diskless = error(|run| server(run).cpu = Some(Cpu::FREE));
    assert!(diskless.contains("\"client\" has no disk"), "{diskless}");
}
