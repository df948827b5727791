//! Capacities of hosts: what a record says is modelled, and the busy and waiting times of it, held
//! against operational laws and against times worked by hand.

use netstudy_records::{
    Arrivals, Bus, Costs, Cpu, Disk, Latency, Load, Modelled, Run, RunRecord, Service, Workload,
};

use crate::lab::{self, DEEP, make_ok};
use crate::transactions::{APP, DB, MS, close, closed, costs, mean_ms, run, throughput, with_cpus};

/// Length of the measuring phase.
fn phase_ns(record: &RunRecord) -> u64 {
    let phase = lab::measure(record);
    phase.end_ns - phase.start_ns
}

/// Mean of a sum of times, over the measuring phase: jobs in service, or jobs that wait.
fn mean_number(record: &RunRecord, node: &str, counter: &str) -> f64 {
    lab::counter(record, node, counter) as f64 / phase_ns(record) as f64
}

/// Growth of the busy time of each CPU of a node.
fn each_cpu(record: &RunRecord, node: &str) -> Vec<u64> {
    let names = record.counters[node].keys().filter(|name| name.starts_with("cpu_busy_ns."));
    names.map(|name| lab::counter(record, node, name)).collect()
}

fn assert_sum_of_cpus(record: &RunRecord, node: &str, cpus: usize) {
    let each = each_cpu(record, node);
    assert_eq!(each.len(), cpus);
    let sum: u64 = each.iter().sum();
    let all = lab::counter(record, node, "host_cpu_ns");
    assert!(all > 0);
    // Each is cut to whole ns at both edges.
    assert!(sum.abs_diff(all) <= cpus as u64, "{each:?} are not {all}");
}

fn names_with(record: &RunRecord, node: &str, part: &str) -> usize {
    record.counters[node].keys().filter(|name| name.contains(part)).count()
}

fn on_one_host(mut run: Run) -> Run {
    if let Workload::Transactions(work) = &mut run.workload {
        work.roles.database.clear();
    }
    run
}

#[test]
fn busy_times_of_cpus_add_up_to_that_of_the_host() {
    let load = Costs { database_calls: 1, database_cpu_ns: 5 * MS, ..costs() };
    let record = make_ok(&with_cpus(run(closed(10), load, 5), 3, 2));
    assert_sum_of_cpus(&record, APP, 3);
    assert_sum_of_cpus(&record, DB, 2);
    assert!(each_cpu(&record, "server-2").is_empty(), "the work of a generator costs no CPU time");
}

#[test]
fn each_interface_whose_frames_cost_time_has_a_cpu() {
    let mut run = lab::run(2, DEEP);
    for group in &mut run.network.groups {
        group.nic.receive_frame_ns = 500;
    }
    let record = make_ok(&run);
    for node in ["client", "server-1", "server-2"] {
        assert_sum_of_cpus(&record, node, 1);
    }
}

#[test]
fn one_thread_is_in_use_all_the_time_and_the_other_users_wait_for_it() {
    // The answer of the thread and the next request cross the network, which takes microseconds.
    let work = Costs { threads: Some(1), delay_ns: 10 * MS, app_cpu_ns: 0, ..costs() };
    let work = Costs { service: Service::Fixed, ..work };
    let record = make_ok(&run(closed(3), work, 5));
    assert_eq!(lab::counter(&record, APP, "threads_busy_ns"), phase_ns(&record));
    close(mean_number(&record, APP, "threads_waiting_ns"), 2.0, 0.001);
}

#[test]
fn connections_of_the_pool_count_at_the_application_and_slots_at_the_database() {
    let work = Costs { database_calls: 1, database_hold_ns: 10 * MS, app_cpu_ns: 0, ..costs() };
    let work = Costs { service: Service::Fixed, pool_connections: 2, database_slots: 5, ..work };
    let record = make_ok(&run(closed(6), work, 5));
    assert_eq!(lab::counter(&record, APP, "pool_busy_ns"), 2 * phase_ns(&record));
    close(mean_number(&record, APP, "pool_waiting_ns"), 4.0, 0.001);
    // A slot is free while the answer and the next call cross the network.
    close(mean_number(&record, DB, "database_slots_busy_ns"), 2.0, 0.01);
    assert_eq!(lab::counter(&record, DB, "database_slots_waiting_ns"), 0);
    assert_eq!([names_with(&record, APP, "slots"), names_with(&record, DB, "pool")], [0, 0]);
    assert_eq!(names_with(&record, APP, "threads"), 0, "their number is not limited");
}

#[test]
fn a_database_on_the_application_s_host_has_slots_there_and_no_pool() {
    let work = Costs { database_calls: 1, database_hold_ns: 10 * MS, app_cpu_ns: 0, ..costs() };
    let work = Costs { service: Service::Fixed, database_slots: 2, ..work };
    let record = make_ok(&on_one_host(run(closed(6), work, 5)));
    assert_eq!(lab::counter(&record, APP, "database_slots_busy_ns"), 2 * phase_ns(&record));
    close(mean_number(&record, APP, "database_slots_waiting_ns"), 4.0, 0.001);
    assert_eq!(names_with(&record, APP, "pool"), 0);
    let expected = vec![Modelled::Cpu, Modelled::DatabaseSlots];
    assert_eq!(record.nodes[APP].modelled, Some(expected));
}

#[test]
fn jobs_at_the_slots_are_throughput_times_the_time_that_they_spend_there() {
    // Little (1961): L = X R. Nothing else takes time, but for the network.
    let work = Costs { database_calls: 1, database_hold_ns: 20 * MS, app_cpu_ns: 0, ..costs() };
    let record = make_ok(&run(closed(8), Costs { database_slots: 2, ..work }, 100));
    let [busy, waiting] = ["database_slots_busy_ns", "database_slots_waiting_ns"]
        .map(|counter| mean_number(&record, DB, counter));
    let response_s = mean_ms(&record, "page element", Latency::Response) / 1e3;
    close(busy + waiting, throughput(&record) * response_s, 0.005);
    assert!(busy <= 2.0 && busy > 1.99, "{busy}");
}

#[test]
fn jobs_that_wait_for_one_slot_are_those_of_a_queue_with_one_server() {
    // M/M/1 at a load of 0.5: 0.5² / (1 − 0.5) jobs wait, and 0.5 are served (Kleinrock 1975, 3.2).
    let load = Load::Open { interval_ps: 20_000_000_000, arrivals: Arrivals::Poisson, users: 200 };
    let work = Costs { database_calls: 1, database_hold_ns: 10 * MS, app_cpu_ns: 0, ..costs() };
    let record = make_ok(&run(load, Costs { database_slots: 1, ..work }, 1_000));
    close(mean_number(&record, DB, "database_slots_busy_ns"), 0.5, 0.02);
    close(mean_number(&record, DB, "database_slots_waiting_ns"), 0.5, 0.05);
}

#[test]
fn the_disk_of_the_database_is_busy_for_its_time_and_never_longer_than_the_phase() {
    let work = Costs { database_calls: 1, database_disk_ns: 10 * MS, app_cpu_ns: 0, ..costs() };
    let full = make_ok(&run(closed(8), work.clone(), 5));
    assert_eq!(lab::counter(&full, DB, "disk_busy_ns"), phase_ns(&full));
    assert_eq!(names_with(&full, DB, "disk_read_bytes"), 0, "its accesses have no size");
    // U = X S (Denning and Buzen 1978), with one user who thinks.
    let load = Load::Closed { users: 1, think_ns: 30 * MS, think: Service::Fixed };
    let half = make_ok(&run(load, Costs { service: Service::Fixed, ..work }, 20));
    let share = lab::counter(&half, DB, "disk_busy_ns") as f64 / phase_ns(&half) as f64;
    close(share, throughput(&half) * 0.01, 0.002);
}

#[test]
fn the_disk_of_the_database_counts_at_a_host_that_has_a_disk_for_files_too() {
    let work = Costs { database_calls: 1, database_disk_ns: 10 * MS, app_cpu_ns: 0, ..costs() };
    let mut run = run(closed(8), work, 5);
    let disk_rate_bps = 1_000_000_000;
    run.network.groups[1].disk =
        Some(Disk { disk_rate_bps, access_ns: 0, write_cache_bytes: 0, page_cache_bytes: 0 });
    let record = make_ok(&run);
    assert_eq!(lab::counter(&record, DB, "disk_busy_ns"), phase_ns(&record));
}

#[test]
fn a_record_names_what_is_modelled_at_a_host() {
    let work = Costs { database_calls: 1, database_disk_ns: MS, threads: Some(4), ..costs() };
    let record = make_ok(&run(closed(2), work, 1));
    let modelled = |node: &str| record.nodes[node].modelled.clone();
    assert_eq!(modelled("server-2"), Some(Vec::new()), "a generator costs nothing");
    assert_eq!(modelled(APP), Some(vec![Modelled::Cpu, Modelled::Threads, Modelled::Pool]));
    let of_database = [Modelled::Cpu, Modelled::Disk, Modelled::DatabaseSlots];
    assert_eq!(modelled(DB), Some(of_database.to_vec()));
    let switch = record.nodes.values().find(|node| node.kind == "switch");
    assert_eq!(switch.expect("there is a switch").modelled, None);
}

#[test]
fn a_record_names_the_stations_and_the_packet_rate_of_a_host() {
    let mut run = lab::run(1, DEEP);
    assert_eq!(make_ok(&run).nodes["client"].modelled, Some(Vec::new()));
    let [client, server, ..] = &mut run.network.groups[..] else { panic!("it has two groups") };
    client.bus = Some(Bus {
        memory_channels: 1,
        memory_channel_bps: Some(100_000_000_000),
        io_channels: 1,
        io_channel_bps: None,
    });
    client.cpu = Some(Cpu { cpus: 1, ..Cpu::FREE });
    server.nic.packet_rate_pps = Some(1_000_000);
    server.nic.receive_frame_ns = 10;
    let record = make_ok(&run);
    let stations = vec![Modelled::Cpu, Modelled::MemoryBus];
    assert_eq!(record.nodes["client"].modelled, Some(stations));
    let interface = vec![Modelled::Cpu, Modelled::PacketRate];
    assert_eq!(record.nodes["server-1"].modelled, Some(interface));
}
