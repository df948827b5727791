//! Users, an application server and its database, held against the laws of queueing networks.

use netstudy_records::{
    Application, Arrivals, Costs, Cpu, Database, Latency, Load, Medium, Operation, Phase,
    PhaseKind, Probe, RequestHistogram, Run, RunRecord, Service, Status, TierRoles, Transactions,
    Until, Workload,
};

use crate::lab::{self, DEEP, make, make_ok};

pub(crate) const MS: u64 = 1_000_000;
pub(crate) const APP: &str = "client";
pub(crate) const DB: &str = "server-1";

/// Nothing costs anything but 10 ms of CPU time at the application server.
pub(crate) fn costs() -> Costs {
    Costs {
        profile: "lab".to_owned(),
        request_bytes: 100,
        response_bytes: 100,
        app_cpu_ns: 10 * MS,
        app_cpu_growth_ppm: 0,
        database_calls: 0,
        database_request_bytes: 100,
        database_response_bytes: 100,
        database_cpu_ns: 0,
        database_disk_cpu_ns: 0,
        database_shared_cpu_ns: 0,
        database_hold_ns: 0,
        database_contention_ns: 0,
        database_buffer_wait_ns: 0,
        database_slots: 1_000,
        database_disk_ns: 0,
        delay_ns: 0,
        service: Service::Exponential,
        threads: None,
        pool_connections: 1_000,
    }
}

pub(crate) const fn closed(users: u32) -> Load {
    Load::Closed { users, think_ns: 0, think: Service::Fixed }
}

const fn timed(kind: PhaseKind, ns: u64) -> Phase {
    Phase { kind, until: Some(Until::Time { ns }) }
}

/// Two generators, a server and a database, measured for so many seconds after one.
pub(crate) fn run(load: Load, costs: Costs, seconds: u64) -> Run {
    let mut run = lab::run(3, DEEP);
    let operation = |name: &str, share_ppm| Operation {
        name: name.to_owned(),
        share_ppm,
        elements_ppm: 1_000_000,
        requests: Vec::new(),
    };
    run.workload = Workload::Transactions(Transactions {
        roles: TierRoles {
            client: vec!["server-2".to_owned(), "server-3".to_owned()],
            server: vec![APP.to_owned()],
            database: vec![DB.to_owned()],
        },
        application: Application::Brokerage {
            variant: None,
            threads: None,
            pool_connections: 16,
            page_images: 0,
            database: Database::Postgresql,
            data: Medium::Disk,
            users: 15_000,
            quotes: 10_000,
            existing: None,
        },
        mix: vec![operation("home", 400_000), operation("quotes", 600_000)],
        load,
        statistics_every_ns: 1_000_000_000,
        costs: Some(costs),
    });
    run.phases = vec![
        timed(PhaseKind::WarmUp, 1_000_000_000),
        timed(PhaseKind::Measure, seconds * 1_000_000_000),
    ];
    run
}

/// CPUs of the application server, and of the database.
pub(crate) fn with_cpus(mut run: Run, app: u32, database: u32) -> Run {
    for (group, cpus) in run.network.groups.iter_mut().zip([app, database]) {
        group.cpu = Some(Cpu { cpus, ..Cpu::FREE });
    }
    run
}

fn elements(record: &RunRecord) -> u64 {
    let table = record.samples.transaction.as_ref().expect("it has transactions");
    table.page_elements.iter().sum()
}

pub(crate) fn throughput(record: &RunRecord) -> f64 {
    let phase = lab::measure(record);
    elements(record) as f64 * 1e9 / (phase.end_ns - phase.start_ns) as f64
}

fn histograms<'a>(
    record: &'a RunRecord,
    operation: &'a str,
    latency: Latency,
) -> impl Iterator<Item = &'a RequestHistogram> {
    let found = record.samples.request.iter();
    found.filter(move |one| one.operation == operation && one.latency == latency)
}

pub(crate) fn mean_ms(record: &RunRecord, operation: &str, latency: Latency) -> f64 {
    let sum: u64 = histograms(record, operation, latency).map(|one| one.sum_ns).sum();
    let count: u64 = histograms(record, operation, latency).map(|one| one.count).sum();
    sum as f64 / count as f64 / 1e6
}

fn cpu_share(record: &RunRecord, node: &str) -> f64 {
    let values = &record.counters[node]["host_cpu_ns"];
    let at = |value: Option<&Option<u64>>| value.copied().flatten().expect("it was read") as f64;
    let phase = lab::measure(record);
    let busy = at(values.last()) - at(values.first());
    let cpus = record.nodes[node].cpus.expect("it has CPUs");
    busy / ((phase.end_ns - phase.start_ns) as f64 * cpus)
}

pub(crate) fn close(found: f64, expected: f64, share: f64) {
    assert!((found / expected - 1.0).abs() < share, "{found} is not {expected}");
}

/// Exact mean value analysis of a closed network (Reiser and Lavenberg 1980; load-dependent stations):
/// throughput with `users`, where each station has a demand and a number of servers, and a delay.
fn mean_value_analysis(users: usize, stations: &[(f64, usize)], delay: f64) -> f64 {
    let mut marginal = vec![vec![1.0; 1]; stations.len()];
    let mut throughput = 0.0;
    for n in 1..=users {
        let rate = |servers: usize, jobs: usize| jobs.min(servers) as f64;
        let residence: Vec<f64> = stations
            .iter()
            .zip(&marginal)
            .map(|(&(demand, servers), p)| {
                let terms = (1..=n).map(|j| j as f64 / rate(servers, j) * p[j - 1]);
                demand * terms.sum::<f64>()
            })
            .collect();
        throughput = n as f64 / (delay + residence.iter().sum::<f64>());
        for (&(demand, servers), p) in stations.iter().zip(&mut marginal) {
            let mut next: Vec<f64> =
                (1..=n).map(|j| throughput * demand / rate(servers, j) * p[j - 1]).collect();
            next.insert(0, (1.0 - next.iter().sum::<f64>()).max(0.0));
            *p = next;
        }
    }
    throughput
}

/// Mean response time of M/M/c (Erlang C).
fn erlang_response(arrivals: f64, service: f64, servers: u32) -> f64 {
    let load = arrivals * service;
    let mut term = 1.0;
    let mut sum = 1.0;
    for k in 1..servers {
        term *= load / f64::from(k);
        sum += term;
    }
    let spare = f64::from(servers) - load;
    let last = term * load / f64::from(servers) * f64::from(servers) / spare;
    service + last / (sum + last) * service / spare
}

#[test]
fn a_closed_network_has_the_throughput_of_mean_value_analysis() {
    for (users, app, database) in [(1, 1, 1), (5, 1, 2), (12, 4, 2), (30, 8, 4)] {
        let costs =
            Costs { database_calls: 1, database_cpu_ns: 4 * MS, delay_ns: 3 * MS, ..costs() };
        let record = make_ok(&with_cpus(run(closed(users), costs, 300), app, database));
        let stations = [(0.010, app as usize), (0.004, database as usize)];
        let expected = mean_value_analysis(users as usize, &stations, 0.003);
        close(throughput(&record), expected, 0.01);
        // The utilisation law.
        close(cpu_share(&record, APP), throughput(&record) * 0.010 / f64::from(app), 0.01);
        close(cpu_share(&record, DB), throughput(&record) * 0.004 / f64::from(database), 0.01);
    }
}

#[test]
fn an_open_loop_waits_as_long_as_erlang_says() {
    for cpus in [1, 4] {
        let interval_ps = 14_000_000_000 / u64::from(cpus);
        let rate = 1e12 / interval_ps as f64;
        let load = Load::Open { interval_ps, arrivals: Arrivals::Poisson, users: 1_000 };
        let record = make_ok(&with_cpus(run(load, costs(), 1_000), cpus, 1));
        close(throughput(&record), rate, 0.01);
        let expected_ms = 1e3 * erlang_response(rate, 0.010, cpus);
        close(mean_ms(&record, "page element", Latency::Response), expected_ms, 0.03);
    }
}

#[test]
fn fixed_times_add_up() {
    let costs = Costs {
        service: Service::Fixed,
        database_calls: 2,
        database_cpu_ns: 3 * MS,
        database_disk_cpu_ns: MS,
        database_hold_ns: 2 * MS,
        database_contention_ns: 50 * MS,
        database_disk_ns: 4 * MS,
        delay_ns: 5 * MS,
        ..costs()
    };
    let record = make_ok(&run(closed(1), costs, 10));
    let response = mean_ms(&record, "page element", Latency::Response);
    // 10 + 3 + 1 + 2 + 4 + 5 ms; a single user waits for nobody's locks. Six messages of two links
    // each take less than 5 us.
    assert!((25.0..25.03).contains(&response), "{response} ms");
    // One is under way when the phase begins.
    assert!((elements(&record) as f64 - 10_000.0 / response).abs() <= 1.0);
    let transaction = mean_ms(&record, "transaction", Latency::Service);
    assert!((transaction - response).abs() < 1e-6, "each operation is one element");
}

#[test]
fn a_tier_without_room_makes_elements_wait() {
    let fixed = Costs { service: Service::Fixed, database_calls: 1, app_cpu_ns: 0, ..costs() };
    let rate = |costs: Costs| throughput(&make_ok(&with_cpus(run(closed(20), costs, 20), 8, 8)));
    let hold = 10 * MS;
    let slots = Costs { database_hold_ns: hold, database_slots: 3, ..fixed.clone() };
    close(rate(slots), 300.0, 0.005);
    let pool = Costs { database_hold_ns: hold, pool_connections: 4, ..fixed.clone() };
    close(rate(pool), 400.0, 0.005);
    let threads = Costs { delay_ns: 10 * MS, threads: Some(5), ..fixed.clone() };
    close(rate(threads), 500.0, 0.005);
    let disk = Costs { database_disk_ns: 4 * MS, ..fixed };
    close(rate(disk), 250.0, 0.005);
}

#[test]
fn locks_are_waited_for_in_proportion_to_the_other_slots_in_use() {
    let costs = Costs {
        service: Service::Fixed,
        app_cpu_ns: 0,
        database_calls: 1,
        database_hold_ns: 5 * MS,
        database_contention_ns: 10 * MS,
        database_slots: 5,
        ..costs()
    };
    // With one other slot in use: a quarter of it. With four: all of it, however many wait for a slot.
    for (users, elements_per_s) in [(2, 2.0 / 0.0075), (5, 5.0 / 0.015), (20, 5.0 / 0.015)] {
        let record = make_ok(&with_cpus(run(closed(users), costs.clone(), 20), 1, 1));
        close(throughput(&record), elements_per_s, 0.01);
    }
}

#[test]
fn work_that_is_done_for_all_requests_is_shared_by_those_that_hold_slots() {
    let costs = Costs {
        service: Service::Fixed,
        app_cpu_ns: 0,
        database_calls: 1,
        database_shared_cpu_ns: 12 * MS,
        database_hold_ns: 100 * MS,
        database_slots: 4,
        ..costs()
    };
    // Each hold is far longer than the work, so that all who may hold a slot do when one begins.
    for (users, ms) in [(1, 112.0), (2, 106.0), (4, 103.0)] {
        let record = make_ok(&with_cpus(run(closed(users), costs.clone(), 20), 1, 4));
        let response = mean_ms(&record, "page element", Latency::Response);
        assert!((ms..ms + 0.5).contains(&response), "{response} ms for {users} users");
    }
}

#[test]
fn the_wait_for_a_buffer_is_shorter_the_more_frames_may_wait() {
    for (frames, ms) in [(500, 12.0), (1_000, 6.0), (4_000, 1.5)] {
        let costs = Costs {
            service: Service::Fixed,
            app_cpu_ns: 0,
            database_calls: 1,
            database_buffer_wait_ns: 6 * MS,
            pool_connections: 10, // opened at once: all fit into the shortest queue
            ..costs()
        };
        let mut run = run(closed(1), costs, 10);
        for group in &mut run.network.groups {
            group.nic.transmit_queue_frames = frames;
        }
        let response = mean_ms(&make_ok(&run), "page element", Latency::Response);
        assert!((ms..ms + 0.03).contains(&response), "{response} ms with {frames} frames");
    }
}

#[test]
fn further_cpus_cost_what_the_growth_says() {
    let costs = Costs { service: Service::Fixed, app_cpu_growth_ppm: 100_000, ..costs() };
    let record = make_ok(&with_cpus(run(closed(20), costs, 20), 4, 1));
    close(throughput(&record), 400.0 / 1.3, 0.005);
}

#[test]
fn the_database_can_be_on_the_application_s_host() {
    let costs =
        Costs { service: Service::Fixed, database_calls: 2, database_cpu_ns: 10 * MS, ..costs() };
    let mut run = run(closed(20), costs, 20);
    if let Workload::Transactions(work) = &mut run.workload {
        work.roles.database.clear();
    }
    let record = make_ok(&run);
    close(throughput(&record), 50.0, 0.005);
    assert!(cpu_share(&record, APP) > 0.999);
}

#[test]
fn users_share_generators_and_one_may_have_none() {
    let record = make_ok(&run(closed(5), costs(), 20));
    let table = record.samples.statistics.as_ref().expect("it has statistics");
    let users = |client: &str| {
        let at = table.client.iter().position(|name| name == client);
        at.map(|at| table.users[at])
    };
    assert_eq!([users("server-2"), users("server-3")], [Some(3), Some(2)]);
    let alone = make_ok(&run(closed(1), costs(), 20));
    let table = alone.samples.transaction.as_ref().expect("it has transactions");
    assert!(table.client.iter().all(|client| client == "server-2"));
}

#[test]
fn a_full_queue_of_an_interface_drops_and_tcp_repairs() {
    let costs = Costs { response_bytes: 200_000, app_cpu_ns: MS / 10, ..costs() };
    let mut run = with_cpus(run(closed(20), costs, 5), 8, 1);
    for link in &mut run.network.links {
        let queue = &mut run.network.groups[0].nic.transmit_queue_frames;
        *queue = 20;
        lab::set_rate(link, 1_000_000_000);
    }
    let record = make_ok(&run);
    assert!(lab::counter(&record, APP, "nic_queue_drops") > 0);
    assert!(lab::counter(&record, APP, "segments_retransmitted") > 0);
    // 200 kB at 1 Gbit/s take 1.6 ms without headers.
    assert!(throughput(&record) < 625.0);
}

#[test]
fn an_open_loop_counts_what_it_could_not_begin() {
    let load = Load::Open { interval_ps: 5_000_000_000, arrivals: Arrivals::Uniform, users: 10 };
    let costs = Costs { service: Service::Fixed, ..costs() };
    let record = make_ok(&run(load, costs, 10));
    let table = record.samples.transaction.as_ref().expect("it has transactions");
    // 200 a second are due, and 100 are served.
    let columns =
        [&table.offered, &table.carried, &table.not_met, &table.completed, &table.unfinished];
    let [offered, carried, not_met, completed, unfinished]: [u64; 5] =
        columns.map(|column| column.iter().sum());
    // All of the ten are busy when the phase begins, and when it ends.
    assert_eq!((carried, unfinished), (10, 10));
    assert!((1_999..=2_001).contains(&(offered - carried)), "{offered}");
    assert!((999..=1_001).contains(&completed), "{completed}");
    assert_eq!(offered, not_met + completed + unfinished);
}

#[test]
fn phases_of_the_application_take_no_time() {
    let mut run = run(closed(2), costs(), 2);
    let at_once = |kind| Phase { kind, until: None };
    let [warmup, measure] = [run.phases[0], run.phases[1]];
    run.phases = vec![
        at_once(PhaseKind::Load),
        at_once(PhaseKind::GatherStatistics),
        warmup,
        at_once(PhaseKind::Stop),
        at_once(PhaseKind::Reset),
        measure,
    ];
    let record = make_ok(&run);
    let kinds: Vec<_> = record.phases.iter().map(|phase| phase.kind).collect();
    let asked: Vec<_> = run.phases.iter().map(|phase| phase.kind).collect();
    assert_eq!(kinds, asked);
    for phase in &record.phases {
        let is_empty = phase.start_ns == phase.end_ns;
        let prepares =
            !matches!(phase.kind, PhaseKind::WarmUp | PhaseKind::Stop | PhaseKind::Measure);
        assert_eq!(is_empty, prepares, "{:?}", phase.kind);
    }
}

#[test]
fn the_same_run_gives_the_same_record_and_another_seed_another_one() {
    let run = run(closed(10), costs(), 5);
    let text = |run: &Run| serde_json::to_string(&make_ok(run)).expect("records are JSON");
    assert_eq!(text(&run), text(&run));
    let other = Run { seed: "fedcba9876543210".to_owned(), ..run.clone() };
    assert_ne!(elements(&make_ok(&run)), elements(&make_ok(&other)));
}

#[test]
fn a_plan_without_costs_is_refused() {
    let mut run = run(closed(1), costs(), 1);
    if let Workload::Transactions(work) = &mut run.workload {
        work.costs = None;
    }
    let record = make(&run);
    assert_eq!(record.status, Status::Failed);
    assert_eq!(record.error.as_deref(), Some("the plan has no costs of a page element"));
}

/// With a probe every 10 ms, which runs on its own for 100 ms first.
fn probed(mut run: Run) -> Run {
    run.probe = Some(Probe { every_ns: 10 * MS, request_bytes: 64, response_bytes: 64 });
    run.phases.insert(0, timed(PhaseKind::Idle, 100 * MS));
    run
}

/// Mean latencies of the probes of all generators: idle and loaded, in ms.
fn probe_ms(record: &RunRecord) -> [f64; 2] {
    [PhaseKind::Idle, PhaseKind::Measure].map(|phase| {
        let of_probes = histograms(record, "probe", Latency::Response);
        let found: Vec<_> = of_probes.filter(|one| one.phase == phase).collect();
        assert_eq!(found.len(), 2, "each generator has a probe in {phase:?}");
        assert!(found.iter().all(|one| one.server == APP));
        let sum: u64 = found.iter().map(|one| one.sum_ns).sum();
        let count: u64 = found.iter().map(|one| one.count).sum();
        sum as f64 / count as f64 / 1e6
    })
}

#[test]
fn a_probe_beside_users_waits_for_the_network_they_fill() {
    let costs = Costs { response_bytes: 200_000, app_cpu_ns: MS / 10, ..costs() };
    let mut run = with_cpus(run(closed(20), costs, 5), 8, 1);
    for link in &mut run.network.links {
        lab::set_rate(link, 1_000_000_000);
    }
    let record = make_ok(&probed(run));
    let [idle, loaded] = probe_ms(&record);
    assert!(idle < 0.1, "{idle} ms");
    // The responses of most users wait before the server's link, which takes 1.6 ms for each.
    assert!(loaded > 10.0 * 1.6, "{loaded} ms");
    assert!(mean_ms(&record, "page element", Latency::Response) > loaded);
}

#[test]
fn a_probe_beside_users_waits_for_no_page_and_takes_nothing_from_them() {
    let run = with_cpus(run(closed(20), costs(), 20), 1, 1);
    let [alone, record] = [make_ok(&run), make_ok(&probed(run))];
    let [idle, loaded] = probe_ms(&record);
    assert!(idle < 0.1 && loaded < 0.1, "{idle} and {loaded} ms");
    assert!(mean_ms(&record, "page element", Latency::Response) > 150.0);
    close(throughput(&record), throughput(&alone), 0.01);
}
