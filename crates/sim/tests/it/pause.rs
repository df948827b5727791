//! PAUSE (IEEE 802.3, annex 31B): losses become waiting.

use netstudy_records::{Buffer, Mode, Run, RunRecord};

use crate::lab::{self, INGRESS, counter, make_ok, utilisation};

const SMALL: Buffer = lab::drop_tail(512_000);

/// Sixteen servers send 4 MB each at once, at MTU 1500, four times.
fn sixteen(buffer: Buffer) -> Run {
    let mut run = lab::run(16, buffer);
    for link in &mut run.network.links {
        link.mtu_bytes = 1500;
    }
    lab::set_iterations(&mut run, 0, 4);
    run
}

/// The switch asks the servers to pause, and they do. 16 x (20 kB + data under way) stays below 512 kB:
/// a PAUSE frame waits for one frame, travels 1 µs, and meets another frame on the wire; frames sent by
/// then travel another 1 µs. That is 2 x 1538 + 2 x 1250 bytes and the frame that passed the XOFF
/// threshold, 7.1 kB.
fn with_pause(mut run: Run) -> Run {
    lab::switch(&mut run).pause_high_bytes = Some(20_000);
    lab::switch(&mut run).pause_low_bytes = Some(10_000);
    run.network.groups[1].nic.honours_pause = true;
    run
}

fn drops(record: &RunRecord) -> u64 {
    counter(record, "switch.client", "frames_dropped")
        + counter(record, "switch.server", "frames_dropped")
}

#[test]
fn an_incast_with_pause_loses_nothing_and_fills_the_link() {
    let run = sixteen(SMALL);
    let lossy = make_ok(&run);
    assert_eq!(lossy.mode, Some(Mode::ClosedForm));
    assert!(drops(&lossy) > 200, "{} drops without PAUSE", drops(&lossy));
    assert!(counter(&lossy, "server", "timeouts") > 0);

    let run = with_pause(run);
    let lossless = make_ok(&run);
    assert_eq!(lossless.mode, Some(Mode::PerHop));
    assert_eq!(drops(&lossless), 0);
    assert_eq!(counter(&lossless, "server", "segments_retransmitted"), 0);
    assert_eq!(counter(&lossless, "server", "timeouts"), 0);
    assert!(counter(&lossless, "switch.server", "pauses_sent") > 0);
    assert_eq!(
        counter(&lossless, "server", "pauses_received"),
        counter(&lossless, "switch.server", "pauses_sent")
    );
    // 1448 of 1538 bytes on the wire are payload: 0.941.
    let full = utilisation(&run, &lossless);
    assert!(full > 0.92, "{full:.3} of the link");
    // The queue of one port for each of 16 servers.
    let longest = counter(&lossless, "switch.client", "queue_bytes_max");
    assert!(longest <= 16 * 27_100, "{longest} B");
}

#[test]
fn virtual_output_queues_lose_nothing_either() {
    let mut run = lab::run(16, INGRESS);
    lab::set_iterations(&mut run, 0, 5);
    assert!(drops(&make_ok(&run)) > 0);
    lab::switch(&mut run).pause_high_bytes = Some(40_000);
    run.network.groups[1].nic.honours_pause = true;
    let record = make_ok(&run);
    assert_eq!(drops(&record), 0);
    assert_eq!(counter(&record, "server", "timeouts"), 0);
}

#[test]
fn a_server_that_does_not_honour_it_loses_as_before() {
    let run = sixteen(SMALL);
    let mut deaf = with_pause(run.clone());
    deaf.network.groups[1].nic.honours_pause = false;
    let (deaf, before) = (make_ok(&deaf), make_ok(&run));
    assert!(counter(&deaf, "server", "pauses_received") > 0);
    // PAUSE frames take 67 ns of the wire to the servers each, so that acknowledgments come a little
    // later: the losses are others, and as many.
    let (deaf, before) = (drops(&deaf), drops(&before));
    assert!(deaf.abs_diff(before) < before / 5, "{deaf} drops against {before}");
}

#[test]
fn short_pauses_are_asked_for_again_and_still_lose_nothing() {
    let mut run = with_pause(sixteen(SMALL));
    lab::set_iterations(&mut run, 0, 2);
    // 10 us, where a queue of 300 kB lasts 240 us.
    lab::switch(&mut run).pause_quanta = 200;
    let record = make_ok(&run);
    assert_eq!(drops(&record), 0);
    let mut long = run.clone();
    lab::switch(&mut long).pause_quanta = u16::MAX;
    let pauses = |record: &RunRecord| counter(record, "switch.server", "pauses_sent");
    assert!(pauses(&record) > 2 * pauses(&make_ok(&long)));
}

/// A client whose CPU handles a quarter of the link's rate, with a ring of 64 frames.
fn slow_client(servers: u32) -> Run {
    let mut run = lab::run(servers, lab::drop_tail(2_000_000));
    for link in &mut run.network.links {
        link.mtu_bytes = 1500;
    }
    let nic = &mut run.network.groups[0].nic;
    nic.receive_rate_bps = Some(2_500_000_000);
    nic.receive_ring_frames = Some(64);
    run
}

#[test]
fn a_slow_host_drops_in_its_ring_without_pause_and_nothing_with_it() {
    let run = slow_client(4);
    let lossy = make_ok(&run);
    assert!(counter(&lossy, "client", "ring_drops") > 100);
    assert_eq!(drops(&lossy), 0, "the switch has room, and counts none of it");

    let mut run = run;
    run.network.groups[0].nic.pause_high_frames = Some(48);
    run.network.groups[0].nic.pause_low_frames = Some(16);
    lab::switch(&mut run).honours_pause = true;
    // The switch has 2 MB, so that its port has to ask the servers in turn.
    lab::switch(&mut run).pause_high_bytes = Some(400_000);
    run.network.groups[1].nic.honours_pause = true;
    let record = make_ok(&run);
    assert_eq!(counter(&record, "client", "ring_drops"), 0);
    assert_eq!(drops(&record), 0);
    assert_eq!(counter(&record, "server", "segments_retransmitted"), 0);
    assert!(counter(&record, "client", "pauses_sent") > 0);
    assert!(counter(&record, "server", "pauses_received") > 0, "the pressure reaches the servers");
    // The CPU is never without work: 1448 of 1518 bytes are payload, at 2.5 of 10 Gbit/s.
    let share = utilisation(&run, &record);
    let expected = 0.25 * 1448.0 / 1518.0;
    assert!((share - expected).abs() < 0.01 * expected, "{share:.4} against {expected:.4}");
}
