//! Queue disciplines of ports, end to end: a dumbbell whose narrow link has one.

use netstudy_fabric::queue::{
    Band, BucketConfig, CoDelConfig, DrrClass, DrrConfig, FifoConfig, FqCoDelConfig, PieConfig,
    PriorityConfig, RateStep, RedConfig, VaryingConfig,
};
use netstudy_records::{
    Direction, Link, Node, Phase, PhaseKind, Port, Probe, Queue, QueueStatistics, Roles, Run,
    RunRecord, Switch, Transfer, Until, Workload,
};

use crate::lab::{self, make_ok};

const NARROW_BPS: u64 = 20_000_000;

/// Two pairs of hosts at 1 Gbit/s; between their switches 20 Mbit/s, and a round trip of 40 ms.
fn dumbbell(queue: Option<Queue>) -> Run {
    let mut run = lab::run_with("linux-6", 4, lab::drop_tail(1_000_000));
    let mut switch = lab::switch(&mut run).clone();
    run.network.nodes.remove(0);
    "far".clone_into(&mut switch.name);
    run.network.nodes.push(Node::Switch(switch));
    run.network.links.remove(0);
    for link in &mut run.network.links {
        (link.mtu_bytes, link.delay_ns) = (1500, 10_000);
        lab::set_rate(link, 1_000_000_000);
    }
    for link in &mut run.network.links[2..] {
        "far".clone_into(&mut link.b.node);
    }
    let port = |node: &str, queue| Port {
        node: node.to_owned(),
        name: "narrow".to_owned(),
        rate_bps: NARROW_BPS,
        nic: None,
        path: None,
        queue,
    };
    let ends = (port("switch", None), port("far", queue));
    run.network.links.push(Link { a: ends.0, b: ends.1, delay_ns: 19_980_000, mtu_bytes: 1500 });
    let hosts = |numbers: [u32; 2]| numbers.map(|n| format!("server-{n}")).to_vec();
    run.workload = Workload::Transfer(Transfer {
        roles: Roles { client: hosts([1, 2]), server: hosts([3, 4]) },
        direction: Direction::Get,
        size_bytes: None,
        flows: 2,
        request_bytes: 64,
        pause_ns: 0,
        starts_ns: Vec::new(),
        ftp: None,
    });
    let phase = |kind, s: u64| Phase { kind, until: Some(Until::Time { ns: s * 1_000_000_000 }) };
    run.phases = vec![phase(PhaseKind::WarmUp, 5), phase(PhaseKind::Measure, 30)];
    run
}

/// The only class of the only discipline.
fn only(record: &RunRecord) -> &QueueStatistics {
    let [queue] = &record.samples.queue[..] else { panic!("there is one") };
    assert_eq!((queue.node.as_str(), queue.port.as_str(), queue.dscp), ("far", "narrow", 0));
    queue
}

/// The time that this share of the frames was in the queue at most.
fn sojourn_ns(queue: &QueueStatistics, share: f64) -> u64 {
    let wanted = queue.frames_sent as f64 * share;
    let mut sum = 0;
    for (&ns, &frames) in queue.sojourn_ns.iter().zip(&queue.frames) {
        sum += frames;
        if sum as f64 >= wanted {
            return ns;
        }
    }
    panic!("all frames are in buckets");
}

fn mean_ns(queue: &QueueStatistics) -> u64 {
    queue.sojourn_sum_ns / queue.frames_sent
}

fn codel() -> CoDelConfig {
    CoDelConfig { limit_packets: 1000, target_ns: 5_000_000, interval_ns: 100_000_000, ecn: true }
}

/// Goodput of all clients in bit/s.
fn goodput_bps(record: &RunRecord) -> u64 {
    let measure = lab::measure(record);
    lab::bytes_received(record) * 8 * 1000 / ((measure.end_ns - measure.start_ns) / 1_000_000)
}

/// Checks that every frame that arrived in the phase left, was dropped, or waits; as many as wait at
/// the end may have waited at its start.
fn assert_whole(queue: &QueueStatistics) {
    let gone =
        queue.frames_sent + queue.frames_dropped_at_arrival + queue.frames_dropped_at_departure;
    let waiting_max = 1_000_000 / 64;
    assert!(queue.frames_offered.abs_diff(gone) <= waiting_max, "{queue:?}");
    assert_eq!(queue.frames.iter().sum::<u64>(), queue.frames_sent);
}

#[test]
fn codel_holds_the_queue_at_its_target_and_a_fifo_fills() {
    let fifo = make_ok(&dumbbell(Some(Queue::Fifo(FifoConfig::default()))));
    let codel = make_ok(&dumbbell(Some(Queue::CoDel(codel()))));
    // 1 MB drains in 400 ms. CUBIC reduces its window to 70 %, so the queue is never empty.
    let queue = only(&fifo);
    assert_whole(queue);
    assert!((280_000_000..400_000_000).contains(&mean_ns(queue)), "{}", mean_ns(queue));
    assert_eq!(queue.frames_dropped_at_departure, 0);
    // RFC 8289, 4.4: the standing queue is at the target of 5 ms; a drop an interval lets it swing.
    let queue = only(&codel);
    assert_whole(queue);
    let [median, late] = [0.5, 0.99].map(|share| sojourn_ns(queue, share));
    assert!((4_000_000..8_000_000).contains(&median), "{median}");
    assert!((4_000_000..8_000_000).contains(&mean_ns(queue)), "{}", mean_ns(queue));
    assert!(late < 20_000_000, "{late}");
    assert!(queue.frames_dropped_at_departure > 0 && queue.frames_dropped_at_arrival == 0);
    assert!(goodput_bps(&codel) * 100 > goodput_bps(&fifo) * 98);
}

#[test]
fn a_fifo_with_a_discipline_is_the_fifo_without_one() {
    // Without a discipline, the port is in closed form; with one, each choice is an event.
    let run = dumbbell(None);
    let plain = make_ok(&run);
    let queued = make_ok(&dumbbell(Some(Queue::Fifo(FifoConfig::default()))));
    assert_eq!(plain.samples.connection, queued.samples.connection);
    assert!(plain.samples.queue.is_empty());
}

#[test]
fn pie_holds_the_mean_delay_at_its_target() {
    let pie = PieConfig {
        limit_packets: 1000,
        target_ns: 15_000_000,
        tupdate_ns: 15_000_000,
        alpha: 0.125,
        beta: 1.25,
        ecn: false,
    };
    let record = make_ok(&dumbbell(Some(Queue::Pie(pie))));
    let queue = only(&record);
    assert_whole(queue);
    // RFC 8033, 4.2: the controller drives the mean to the target.
    assert!((10_000_000..20_000_000).contains(&mean_ns(queue)), "{}", mean_ns(queue));
    assert!(queue.frames_dropped_at_arrival > 0 && queue.frames_dropped_at_departure == 0);
}

#[test]
fn marks_keep_the_queue_short_without_drops_of_data() {
    let red = RedConfig {
        limit_bytes: 900_000,
        min_bytes: 30_000,
        max_bytes: 90_000,
        probability: 0.1,
        avpkt_bytes: 1000,
        burst_packets: 50,
        ecn: true,
    };
    let codel = CoDelConfig { ecn: true, ..codel() };
    for queue in [Queue::Red(red), Queue::CoDel(codel)] {
        let mut run = dumbbell(Some(queue));
        for group in &mut run.network.groups {
            group.tcp.ecn = true;
        }
        let record = make_ok(&run);
        let queue = only(&record);
        assert!(queue.frames_marked > 0 && mean_ns(queue) < 40_000_000, "{}", mean_ns(queue));
        // Pure acknowledgments are not ECN-capable (RFC 3168, 6.1.4); their frames have 70 bytes.
        let dropped = queue.frames_dropped_at_arrival + queue.frames_dropped_at_departure;
        let bytes = queue.bytes_dropped_at_arrival + queue.bytes_dropped_at_departure;
        assert_eq!(bytes, 70 * dropped, "{} marked", queue.frames_marked);
    }
}

fn fq_codel() -> Queue {
    Queue::FqCoDel(FqCoDelConfig {
        limit_packets: 10_240,
        flows: 1024,
        target_ns: 5_000_000,
        interval_ns: 100_000_000,
        quantum_bytes: 1514,
        ecn: false,
    })
}

/// Probes the pair of hosts of each connection, every 20 ms.
fn probe(run: &mut Run) {
    run.probe = Some(Probe { every_ns: 20_000_000, request_bytes: 64, response_bytes: 64 });
}

/// The latency that this share of the probes had at most while the workload ran.
fn probe_ns(record: &RunRecord, share: f64) -> u64 {
    let measured = record.samples.request.iter().filter(|one| one.phase == PhaseKind::Measure);
    let mut all: Vec<_> = measured.flat_map(|one| one.value_ns.iter().zip(&one.requests)).collect();
    all.sort_unstable();
    let wanted = all.iter().map(|&(_, &count)| count).sum::<u64>() as f64 * share;
    let mut sum = 0;
    let found = all.iter().find(|&&(_, &count)| {
        sum += count;
        sum as f64 >= wanted
    });
    *found.expect("probes were answered").0
}

#[test]
fn fq_codel_lets_a_probe_pass_and_shares_the_link() {
    let mut run = dumbbell(Some(fq_codel()));
    probe(&mut run);
    let record = make_ok(&run);
    assert_whole(only(&record));
    // A probe is sparse (RFC 8290, 4.2): it waits for a full frame at most, not for the queue.
    assert!(probe_ns(&record, 0.99) < 45_000_000, "{}", probe_ns(&record, 0.99));
    let received = &lab::connections(&record).bytes_received;
    let (least, most) = (received.iter().min(), received.iter().max());
    let [least, most] = [least, most].map(|bytes| *bytes.expect("four flows") as f64);
    // A flow whose window CoDel has cut leaves a part of its turn to the others until it has regrown.
    assert!(least / most > 0.9, "{received:?}");
    let mut fifo = dumbbell(None);
    probe(&mut fifo);
    let fifo = make_ok(&fifo);
    assert!(probe_ns(&fifo, 0.99) > 5 * probe_ns(&record, 0.99));
}

#[test]
fn a_shaper_sends_at_its_rate_and_its_queue_is_where_it_stands() {
    let shaper = |over| BucketConfig {
        rate_bps: 16_000_000,
        burst_bytes: 3_000,
        overhead_bytes: 20,
        offload_as_one: false,
        over: Some(Box::new(over)),
    };
    let record = make_ok(&dumbbell(Some(Queue::Shaper(shaper(Queue::CoDel(codel()))))));
    let queue = only(&record);
    assert_whole(queue);
    // 1448 bytes of payload in 1538 bytes on the wire, gap included.
    let expected = 16_000_000 * 1448 / 1538;
    assert!(goodput_bps(&record).abs_diff(expected) < expected / 100, "{}", goodput_bps(&record));
    assert!(mean_ns(queue) < 10_000_000, "{}", mean_ns(queue));
}

/// Goodput with this queue at the interfaces of both servers, in bit/s.
fn goodput_from_servers_bps(queue: &Queue) -> u64 {
    let mut run = dumbbell(None);
    for link in &mut run.network.links[2..4] {
        let server = if link.a.node.starts_with("server") { &mut link.a } else { &mut link.b };
        server.queue = Some(queue.clone());
    }
    goodput_bps(&make_ok(&run))
}

#[test]
fn a_shaper_of_a_host_that_counts_packets_as_one_lets_two_frames_pass_for_one() {
    let bucket = |offload_as_one| BucketConfig {
        rate_bps: 1_000_000,
        burst_bytes: 3_000,
        overhead_bytes: 0,
        offload_as_one,
        over: None,
    };
    let under = |shaper| {
        let over = Some(Box::new(Queue::Shaper(shaper)));
        // It drops nothing.
        let (rate_bps, burst_bytes) = (1_000_000_000, 1_000_000);
        Queue::Policer(BucketConfig { rate_bps, burst_bytes, over, ..bucket(false) })
    };
    // A round trip of 40 ms and 2 Mbit/s leave only the smallest packet of Linux 6: two segments.
    let single = 2 * 1_000_000 * 1448 / 1518;
    for (queue, expected) in [
        (Queue::Shaper(bucket(false)), single),
        (Queue::Shaper(bucket(true)), 2 * single),
        (under(bucket(true)), 2 * single),
    ] {
        let passed = goodput_from_servers_bps(&queue);
        assert!(passed.abs_diff(expected) < expected / 100, "{passed} of {expected}: {queue:?}");
    }
}

#[test]
fn a_policer_lets_tcp_have_a_part_of_its_rate() {
    let policer = BucketConfig {
        rate_bps: 16_000_000,
        burst_bytes: 30_000,
        overhead_bytes: 20,
        offload_as_one: false,
        over: None,
    };
    let record = make_ok(&dumbbell(Some(Queue::Policer(policer))));
    let queue = only(&record);
    assert_whole(queue);
    assert!(queue.frames_dropped_at_arrival > 0);
    // The link is faster, so hardly anything waits.
    assert!(mean_ns(queue) < 5_000_000, "{}", mean_ns(queue));
    let sent_bps = queue.bytes_sent * 8 / 30;
    assert!(sent_bps < 16_100_000, "{sent_bps}");
}

/// The first server's traffic has the code point 46, in a group of its own.
fn with_classes(queue: Queue) -> Run {
    let mut run = dumbbell(Some(queue));
    let mut urgent = run.network.groups[1].clone();
    (urgent.name, urgent.dscp) = ("urgent".to_owned(), Some(46));
    run.network.groups.push(urgent);
    for node in &mut run.network.nodes {
        if let Node::Host(host) = node
            && host.name == "server-3"
        {
            "urgent".clone_into(&mut host.group);
        }
    }
    run
}

/// Bytes of the class 46 and of all others that left the port.
fn by_class(record: &RunRecord) -> [u64; 2] {
    let [others, urgent] = &record.samples.queue[..] else { panic!("there are two classes") };
    assert_eq!([others.dscp, urgent.dscp], [0, 46]);
    [urgent.bytes_sent, others.bytes_sent]
}

#[test]
fn classes_have_their_shares_by_code_point() {
    let class = |dscp: &[u8], quantum_bytes| DrrClass {
        dscp: dscp.to_vec(),
        quantum_bytes,
        limit_packets: Some(200),
    };
    let drr = DrrConfig { classes: vec![class(&[46], 4500), class(&[], 1500)] };
    let [urgent, others] = by_class(&make_ok(&with_classes(Queue::Drr(drr))));
    let share = urgent as f64 / (urgent + others) as f64;
    assert!((share - 0.75).abs() < 0.01, "{share}");

    let band = |dscp: &[u8]| Band { dscp: dscp.to_vec(), limit_packets: Some(200) };
    let priority = PriorityConfig { bands: vec![band(&[46]), band(&[])] };
    let record = make_ok(&with_classes(Queue::Priority(priority)));
    let [urgent, others] = by_class(&record);
    assert!(urgent > 20 * others, "{urgent} {others}");
}

#[test]
fn an_interface_has_its_discipline_too() {
    // The narrow link begins at the servers: 100 Mbit/s, a round trip of 40 ms.
    let mut run = lab::run_with("linux-6", 2, lab::DEEP);
    let link = &mut run.network.links[2];
    lab::set_rate(link, 100_000_000);
    (link.delay_ns, link.mtu_bytes) = (20_000_000, 1500);
    link.a.queue = Some(Queue::CoDel(codel()));
    let template = dumbbell(None);
    (run.workload, run.phases) = (template.workload, template.phases);
    let Workload::Transfer(transfer) = &mut run.workload else { panic!("it is one") };
    transfer.roles =
        Roles { client: vec!["server-1".to_owned()], server: vec!["server-2".to_owned()] };
    for group in &mut run.network.groups {
        group.tcp.limit_output_bytes = 0;
    }
    let record = make_ok(&run);
    let [queue] = &record.samples.queue[..] else { panic!("there is one") };
    assert_eq!((queue.node.as_str(), queue.port.as_str()), ("server-2", "eth0"));
    assert_whole(queue);
    assert!(queue.frames_dropped_at_departure > 0);
    assert!(mean_ns(queue) < 10_000_000, "{}", mean_ns(queue));
    assert!(goodput_bps(&record) > 90_000_000, "{}", goodput_bps(&record));
}

#[test]
fn a_discipline_that_cannot_be_is_refused_by_name() {
    let refusal = |change: fn(&mut Switch)| {
        let mut run = dumbbell(Some(Queue::CoDel(codel())));
        for node in &mut run.network.nodes {
            if let Node::Switch(switch) = node {
                change(switch);
            }
        }
        lab::make(&run).error.expect("it cannot be simulated")
    };
    let whose = "the queue of \"narrow\" at \"far\": ";
    assert_eq!(
        refusal(|switch| switch.buffer = lab::INGRESS),
        format!("{whose}only ports of a switch with an output-queued buffer can have one")
    );
    assert_eq!(
        refusal(|switch| switch.ecn_threshold_bytes = Some(9000)),
        format!("{whose}the switch marks frames by its ecn_threshold_bytes: give only one")
    );
    assert_eq!(
        refusal(|switch| switch.honours_pause = true),
        format!("{whose}its port honours PAUSE: give only one")
    );
    let never = Queue::CoDel(CoDelConfig { interval_ns: 0, ..codel() });
    let error = lab::make(&dumbbell(Some(never))).error;
    assert_eq!(error, Some(format!("{whose}interval_ns: must be above 0")));
    let mut run = dumbbell(None);
    run.network.groups[1].dscp = Some(64);
    let error = lab::make(&run).error;
    assert_eq!(error.as_deref(), Some("the code point 64 of \"server\" is above 63"));
}

#[test]
fn a_varying_rate_carries_what_its_schedule_has() {
    // 12 Mbit/s for 2 s, nothing for 0.1 s, 2 Mbit/s for 2.9 s: 6 periods of 5 s in 30 s.
    let steps = [(2_000_000_000, 12_000_000), (100_000_000, 0), (2_900_000_000, 2_000_000)];
    let config =
        VaryingConfig { steps: steps.map(RateStep::from).to_vec(), overhead_bytes: 0, over: None };
    let record = make_ok(&dumbbell(Some(Queue::VaryingRate(config))));
    let offered = 6.0 * (2.0 * 12e6 + 2.9 * 2e6) / 8.0;
    let used = only(&record).bytes_sent as f64 / offered;
    // The FIFO of 1 MB is never empty, and phases are whole periods.
    assert!((0.999..=1.001).contains(&used), "{used}");
}
