//! Hosts that receive: the ring, the interface's packet rate, interrupts, batches and merging.

use netstudy_records::{Nic, Run, RunRecord, Status};

use crate::lab::{self, DEEP, counter, incast, make, make_ok, utilisation};

/// One server sends 20 MB at MTU 1500 to a client that receives as `change` says.
fn to_client(change: impl Fn(&mut Nic)) -> Run {
    let mut run = lab::run(1, DEEP);
    for link in &mut run.network.links {
        link.mtu_bytes = 1500;
    }
    incast(&mut run).block_bytes = 20_000_000;
    change(&mut run.network.groups[0].nic);
    run
}

/// One block of one segment, of which the second is measured.
fn completion_ns(change: impl Fn(&mut Nic)) -> u64 {
    let mut run = to_client(change);
    incast(&mut run).block_bytes = 1448;
    lab::set_iterations(&mut run, 1, 1);
    lab::iterations(&make_ok(&run)).completion_ns[0]
}

fn assert_near(share: f64, expected: f64) {
    assert!((share - expected).abs() < 0.01 * expected, "{share:.4} against {expected:.4}");
}

#[test]
fn a_host_bound_by_its_cpu_sets_the_goodput() {
    let run = to_client(|nic| nic.receive_rate_bps = Some(2_000_000_000));
    // 1448 of the 1518 bytes that it deals with are payload.
    assert_near(utilisation(&run, &make_ok(&run)), 0.2 * 1448.0 / 1518.0);
    let run = to_client(|nic| nic.receive_frame_ns = 5_000);
    // 1448 bytes in 5 us: 2.3168 Gbit/s.
    assert_near(utilisation(&run, &make_ok(&run)), 0.231_68);
}

#[test]
fn a_host_bound_by_its_interface_sets_the_goodput() {
    // 100,000 packets of 1448 bytes a second: 1.1584 Gbit/s.
    let run = to_client(|nic| nic.packet_rate_pps = Some(100_000));
    assert_near(utilisation(&run, &make_ok(&run)), 0.115_84);
    // The sender's interface alike.
    let mut run = to_client(|_| {});
    run.network.groups[1].nic.packet_rate_pps = Some(100_000);
    assert_near(utilisation(&run, &make_ok(&run)), 0.115_84);
}

#[test]
fn an_interrupt_delays_what_comes_to_an_idle_cpu() {
    let at_once = completion_ns(|_| {});
    assert_eq!(completion_ns(|nic| nic.interrupt_delay_ns = 30_000), at_once + 30_000);
    // At 100,000 packets a second a frame takes 10 us to come in. No other frame delays the request.
    assert_eq!(completion_ns(|nic| nic.packet_rate_pps = Some(100_000)), at_once + 10_000);
}

#[test]
fn a_busy_cpu_is_not_interrupted() {
    // The CPU is always behind once data flow: delays of idle times do not add up.
    let bound = |delay_ns| {
        let run = to_client(|nic| {
            nic.receive_rate_bps = Some(2_000_000_000);
            nic.interrupt_delay_ns = delay_ns;
        });
        utilisation(&run, &make_ok(&run))
    };
    assert_near(bound(100_000), bound(0));
}

#[test]
fn a_small_ring_drops_what_a_large_one_takes() {
    let drops = |frames| {
        let mut run = to_client(|nic| {
            nic.receive_rate_bps = Some(2_000_000_000);
            nic.receive_ring_frames = Some(frames);
        });
        // The window reaches 1 MB at most: 725 segments.
        run.network.groups[0].tcp.receive_buffer_bytes = 1 << 20;
        let record = make_ok(&run);
        assert_eq!(counter(&record, "switch.client", "frames_dropped"), 0);
        counter(&record, "client", "ring_drops")
    };
    assert!(drops(32) > 0);
    assert_eq!(drops(726), 0);
}

#[test]
fn a_ring_that_is_refilled_by_halves_drops_more() {
    let drops = |refill| {
        let run = to_client(|nic| {
            nic.receive_rate_bps = Some(2_000_000_000);
            nic.receive_ring_frames = Some(64);
            nic.receive_refill_frames = refill;
        });
        counter(&make_ok(&run), "client", "ring_drops")
    };
    assert!(drops(1) > 0);
    assert!(drops(33) > drops(1));
}

#[test]
fn merged_segments_are_acknowledged_once() {
    let acks = |merge_bytes, weight: Option<u32>| {
        let run = to_client(|nic| {
            nic.receive_merge_bytes = merge_bytes;
            nic.poll_weight_frames = weight;
            nic.interrupt_delay_ns = 50_000;
            nic.receive_frame_ns = 500;
        });
        let record = make_ok(&run);
        assert_eq!(counter(&record, "server", "segments_retransmitted"), 0);
        counter(&record, "client", "acks_sent")
    };
    let segments = 20_000_000_u64.div_ceil(1448);
    let each_second = acks(0, None);
    assert!(each_second >= segments / 2 - 1, "{each_second} acknowledgments");
    // Batches of 8 are merged into one segment of more than two full ones, acknowledged at once.
    let each_eighth = acks(65_535, Some(8));
    assert!(each_eighth <= segments / 8 + segments / 50, "{each_eighth} acknowledgments");
    assert!(each_eighth >= segments / 8, "{each_eighth} acknowledgments");
    // 45 segments are 65,160 bytes: no merged one holds more.
    let largest = acks(65_535, None);
    assert!(largest >= segments / 45, "{largest} acknowledgments");
    assert!(largest < each_eighth);
}

#[test]
fn what_receives_nothing_is_refused() {
    let failure = |change: fn(&mut Nic)| -> Option<String> {
        let record: RunRecord = make(&to_client(change));
        assert_eq!(record.status, Status::Failed);
        record.error
    };
    let rate = failure(|nic| nic.packet_rate_pps = Some(0)).expect("a failed run says why");
    assert_eq!(rate, "the packet rate of an interface must be above 0");
    let ring = failure(|nic| nic.receive_ring_frames = Some(0)).expect("a failed run says why");
    assert_eq!(ring, "a receive ring and a poll batch need at least 1 frame");
    let refill = failure(|nic| {
        nic.receive_ring_frames = Some(64);
        nic.receive_refill_frames = 65;
    });
    assert_eq!(
        refill.expect("it says why"),
        "a receive ring must be refilled by 1 frame up to its size, not by 65 frames"
    );
    let marks = failure(|nic| {
        nic.pause_high_frames = Some(10);
        nic.pause_low_frames = Some(11);
    });
    assert_eq!(
        marks.expect("it says why"),
        "the XON threshold, 11, is above the XOFF threshold, 10"
    );
}
