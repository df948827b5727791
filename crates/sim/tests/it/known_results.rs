//! Results that the field agrees on, each with its paper.

use netstudy_records::{CongestionControl, Jitter, Run, RunRecord};

use crate::lab::{self, counter, drop_tail, incast, make_ok, utilisation};

// ---- Vasudevan et al., "Safe and effective fine-grained TCP retransmissions for datacenter
// communication", SIGCOMM 2009: a block of 1 MB striped over the servers, 1 Gbit/s, 32 kB a port.

fn barrier_synchronized(servers: u32, min_rto_ms: u64) -> (Run, RunRecord) {
    let mut run = lab::run(servers, drop_tail(32_000));
    for link in &mut run.network.links {
        lab::set_rate(link, 1_000_000_000);
        // A round trip of about 100 us.
        link.delay_ns = 20_000;
        link.mtu_bytes = 1500;
    }
    for group in &mut run.network.groups {
        group.tcp.min_rto_ns = min_rto_ms * 1_000_000;
        group.tcp.delayed_ack_ns = group.tcp.delayed_ack_ns.min(group.tcp.min_rto_ns);
    }
    lab::set_iterations(&mut run, 2, 30);
    *incast(&mut run) = netstudy_records::Incast {
        block_bytes: 1_000_000,
        striped: true,
        start_jitter: Jitter::Uniform { max_ns: 20_000 },
        ..incast(&mut run).clone()
    };
    let record = make_ok(&run);
    (run, record)
}

#[test]
fn goodput_collapses_at_a_minimum_timeout_of_200_ms() {
    // Section 2: one server fills the link; from a few on, goodput falls by an order of magnitude,
    // because the link idles for 200 ms while one server waits for its timer.
    let (run, record) = barrier_synchronized(1, 200);
    let full = utilisation(&run, &record);
    assert!(full > 0.9, "one server fills {full:.2} of the link");
    for servers in [8, 16, 32] {
        let (run, record) = barrier_synchronized(servers, 200);
        let share = utilisation(&run, &record);
        assert!(share < 0.1, "{servers} servers fill {share:.2} of the link");
        assert!(counter(&record, "server", "timeouts") >= 20, "a timer fires in most iterations");
    }
}

#[test]
fn a_minimum_timeout_of_1_ms_cures_the_collapse() {
    // Section 5: the same losses, repaired within milliseconds.
    for servers in [8, 16, 32] {
        let (run, record) = barrier_synchronized(servers, 1);
        let share = utilisation(&run, &record);
        assert!(share > 0.7, "{servers} servers fill {share:.2} of the link");
        assert!(counter(&record, "server", "timeouts") > 0, "it is timers that are short");
    }
}

// ---- Alizadeh et al., "Data center TCP (DCTCP)", SIGCOMM 2010: two long-lived flows at 10 Gbit/s,
// K = 65 packets.

const FRAME_BYTES: u64 = 1518;
const K_BYTES: u64 = 65 * FRAME_BYTES;
const DEEP_BYTES: u64 = 1000 * FRAME_BYTES;

fn long_lived(control: CongestionControl, servers: u32) -> (Run, RunRecord) {
    let mut run = lab::run(servers, drop_tail(DEEP_BYTES));
    lab::switch(&mut run).ecn_threshold_bytes = Some(K_BYTES);
    for link in &mut run.network.links {
        // A round trip of 80 us; K must exceed a seventh of the bandwidth-delay product (eq. 13).
        link.delay_ns = 20_000;
        link.mtu_bytes = 1500;
    }
    for group in &mut run.network.groups {
        group.tcp.congestion_control = control;
    }
    incast(&mut run).block_bytes = 200_000_000 / u64::from(servers);
    let record = make_ok(&run);
    (run, record)
}

#[test]
fn dctcp_keeps_the_queue_short_and_the_link_full() {
    let (run, record) = long_lived(CongestionControl::Dctcp, 2);
    let longest = counter(&record, "switch.client", "queue_bytes_max");
    // Section 3.3: K + N packets once the flows are under way. Before, slow start doubles within the
    // round trip that the first mark needs to come back. The first marked frame meets more than K, so K
    // + 1 packets; with those on the path, 82.6 us with two serialisations, so 68 packets of 1.23 us,
    // that is the window to be doubled. Each flow may have released two more, because every second
    // segment is acknowledged.
    let first_mark_bytes = K_BYTES + FRAME_BYTES;
    let path_bytes = (68 + 2 * 2) * FRAME_BYTES;
    assert!(longest <= 2 * first_mark_bytes + path_bytes, "{} packets", longest / FRAME_BYTES);
    assert!(longest > K_BYTES, "the threshold was reached");
    assert_eq!(counter(&record, "switch.client", "frames_dropped"), 0);
    let full = utilisation(&run, &record);
    // 1448 of 1538 bytes on the wire are payload: 0.941.
    assert!(full > 0.93, "{full:.3} of the link");
}

#[test]
fn reno_fills_the_buffer_that_dctcp_leaves_empty() {
    let (_, record) = long_lived(CongestionControl::Reno, 2);
    let longest = counter(&record, "switch.client", "queue_bytes_max");
    assert!(longest > DEEP_BYTES - FRAME_BYTES, "{} packets", longest / FRAME_BYTES);
    assert_eq!(counter(&record, "switch.client", "frames_marked"), 0, "it is not subject to marks");
    assert_eq!(counter(&record, "server", "ece_acks_received"), 0);
}

#[test]
fn marks_spare_reno_its_losses() {
    // RFC 3168 (1): congestion is told without a loss.
    let (mut run, _) = long_lived(CongestionControl::Reno, 2);
    for group in &mut run.network.groups {
        group.tcp.ecn = true;
    }
    let record = make_ok(&run);
    assert_eq!(counter(&record, "server", "segments_retransmitted"), 0);
    assert!(counter(&record, "switch.client", "frames_marked") > 0);
    assert!(counter(&record, "server", "ece_acks_received") > 0);
}

// ---- Chiu and Jain, "Analysis of the increase and decrease algorithms for congestion avoidance in
// computer networks", Computer Networks and ISDN Systems 17, 1989: additive increase with
// multiplicative decrease converges to equal shares, whatever flows start with.

/// Jain's index, (sum x)^2 / (n sum x^2): 1 when all are equal, k / n when k of n have equal shares and
/// the others nothing, and 1 / (1 + c^2) with the coefficient of variation c (Jain, Chiu and Hawe,
/// DEC-TR-301, 1984).
fn jains_index(shares: &[f64]) -> f64 {
    let sum: f64 = shares.iter().sum();
    let squares: f64 = shares.iter().map(|share| share * share).sum();
    sum * sum / (shares.len() as f64 * squares)
}

/// The throughput of each connection while it had something to receive.
fn throughputs(record: &RunRecord) -> Vec<f64> {
    let connections = lab::connections(record);
    let each = connections.bytes_received.iter().zip(&connections.busy_ns);
    each.map(|(&bytes, &ns)| bytes as f64 / ns as f64).collect()
}

/// Equal flows through a bottleneck of 1 Gbit/s with a buffer of one bandwidth-delay product, 128
/// packets, for 17 s, which are thousands of round trips.
fn equal_flows(control: CongestionControl, servers: u32) -> (Run, RunRecord) {
    let mut run = lab::run(servers, drop_tail(128 * FRAME_BYTES));
    for link in &mut run.network.links {
        // A round trip of 1.57 ms.
        link.delay_ns = 390_000;
        link.mtu_bytes = 1500;
    }
    // The hosts' own links are faster. Otherwise a single flow would never overflow the switch: the
    // excess of its window would wait in the sender.
    lab::set_rate(&mut run.network.links[0], 1_000_000_000);
    for group in &mut run.network.groups {
        group.tcp.congestion_control = control;
    }
    *incast(&mut run) = netstudy_records::Incast {
        block_bytes: 2_000_000_000 / u64::from(servers),
        start_jitter: Jitter::Uniform { max_ns: 10_000_000 },
        ..incast(&mut run).clone()
    };
    let record = make_ok(&run);
    (run, record)
}

#[test]
fn equal_flows_get_equal_shares() {
    assert!((jains_index(&[3.0, 3.0, 0.0, 0.0]) - 0.5).abs() < 1e-12, "two of four");
    for control in [CongestionControl::Reno, CongestionControl::Cubic] {
        for servers in [2, 8] {
            let (run, record) = equal_flows(control, servers);
            let index = jains_index(&throughputs(&record));
            // The shares' standard deviation is below a tenth of their mean.
            assert!(index > 0.99, "{control:?}, {servers} flows: {index:.4}");
            let full = utilisation(&run, &record);
            assert!(full > 0.93, "{control:?}, {servers} flows: {full:.3} of the link");
            assert!(counter(&record, "switch.client", "frames_dropped") > 0, "they did compete");
        }
    }
}
