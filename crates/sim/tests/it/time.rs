//! Where the time of units of work goes: units worked by hand, to the picosecond.
//!
//! Links of 10 Gbit/s carry a byte in 800 ps, and delay by 1 us. An MTU of 9000 bytes carries 8948
//! bytes of payload, in a frame of 9038 bytes with its gap.

use std::collections::BTreeMap;

use netstudy_records::{Place, Reason, Run, RunRecord, TimeAccount, TimeGroup, TimeView, Workload};

use crate::lab::{self, DEEP, make_ok};

const MSS: u64 = 8_948;
const FULL_PS: u64 = 9_038 * 800;
/// A request: 64 bytes in 154 bytes on the wire.
const REQUEST_PS: u64 = 154 * 800;
/// An acknowledgment: 52 bytes of headers and 18 of its frame, in 90 bytes on the wire. That of the
/// handshake is right in front of the request.
const ACK_PS: u64 = 90 * 800;
const DELAY_PS: u64 = 1_000_000;
const MS_PS: u64 = 1_000_000_000;

type Part = (Reason, Place, String, String);

fn account(record: &RunRecord, view: TimeView, group: TimeGroup) -> &TimeAccount {
    let mut all = record.samples.time.iter();
    all.find(|one| one.view == view && one.group == group).expect("the run was traced")
}

fn parts(account: &TimeAccount) -> BTreeMap<Part, u64> {
    let names = account.node.iter().zip(&account.to);
    let spots = account.reason.iter().zip(&account.place).zip(names);
    let keys =
        spots.map(|((reason, place), (node, to))| (*reason, *place, node.clone(), to.clone()));
    keys.zip(account.low_ps.iter().copied()).collect()
}

fn part(reason: Reason, place: Place, node: &str, to: &str) -> Part {
    (reason, place, node.to_owned(), to.to_owned())
}

/// One iteration in which one server answers with so many bytes, at once; it is traced.
fn traced(bytes: u64) -> Run {
    let mut run = lab::run(1, DEEP);
    if let Workload::Incast(incast) = &mut run.workload {
        incast.block_bytes = bytes;
    }
    run.network.groups[1].tcp.initial_window_segments = Some(10);
    run.trace = true;
    run
}

/// The way of the request, and the latencies and last steps of the last segment of the answer.
fn way() -> Vec<(Part, u64)> {
    let own = |place, node, to, ps| (part(Reason::Own, place, node, to), ps);
    vec![
        own(Place::Serialization, "client", "switch", REQUEST_PS),
        own(Place::Propagation, "client", "switch", DELAY_PS),
        own(Place::Serialization, "switch", "server", REQUEST_PS),
        own(Place::Propagation, "switch", "server", DELAY_PS),
        own(Place::Propagation, "server", "switch", DELAY_PS),
        own(Place::Serialization, "switch", "client", FULL_PS),
        own(Place::Propagation, "switch", "client", DELAY_PS),
    ]
}

#[test]
fn of_three_segments_over_two_links_the_last_one_waits_for_the_two_before_it() {
    let record = make_ok(&traced(3 * MSS));
    let journey = account(&record, TimeView::Journey, TimeGroup::All);
    let server_link = |place, ps| (part(Reason::Own, place, "server", "switch"), ps);
    let mut expected: BTreeMap<_, _> = way().into_iter().collect();
    expected.extend([
        (part(Reason::Own, Place::Queue, "client", "switch"), ACK_PS),
        server_link(Place::Queue, 2 * FULL_PS),
        server_link(Place::Serialization, FULL_PS),
    ]);
    assert_eq!(parts(journey), expected);
    assert_eq!(journey.whole_ps, ACK_PS + 2 * REQUEST_PS + 4 * DELAY_PS + 4 * FULL_PS);

    let cause = account(&record, TimeView::Cause, TimeGroup::All);
    let mut expected: BTreeMap<_, _> = way().into_iter().collect();
    expected.extend([
        (part(Reason::Own, Place::Serialization, "client", "switch"), ACK_PS + REQUEST_PS),
        server_link(Place::Serialization, 3 * FULL_PS),
    ]);
    assert_eq!(parts(cause), expected);
    assert_eq!(cause.whole_ps, journey.whole_ps);
}

#[test]
fn a_window_of_one_segment_waits_for_the_timer_of_the_acknowledgment() {
    let mut run = traced(2 * MSS);
    run.network.groups[1].tcp.initial_window_segments = Some(1);
    let record = make_ok(&run);
    let journey = account(&record, TimeView::Journey, TimeGroup::All);
    let waits = part(Reason::CongestionWindow, Place::DelayedAckTimer, "client", "");
    assert_eq!(parts(journey)[&waits], 40 * MS_PS);
    let round_trip = 2 * FULL_PS + 2 * ACK_PS + 4 * DELAY_PS;
    let by_reason = |reason| {
        parts(journey).iter().filter(|((why, ..), _)| *why == reason).map(|(_, ps)| ps).sum::<u64>()
    };
    assert_eq!(by_reason(Reason::CongestionWindow), 40 * MS_PS + round_trip);
    let own = ACK_PS + 2 * REQUEST_PS + 2 * FULL_PS + 4 * DELAY_PS;
    assert_eq!(by_reason(Reason::Own), own);
}

#[test]
fn a_lost_last_segment_waits_for_the_retransmission_timer() {
    // The port to the client is ten times slower, and holds two frames.
    let mut run = traced(3 * MSS);
    lab::set_rate(&mut run.network.links[0], 1_000_000_000);
    lab::switch(&mut run).buffer = lab::drop_tail(2 * 9_018);
    let record = make_ok(&run);
    let iterations = record.samples.iteration.as_ref().expect("an incast has iterations");
    assert_eq!(lab::known(iterations.timeouts.as_ref()), [1]);
    for view in [TimeView::Journey, TimeView::Cause] {
        let account = account(&record, view, TimeGroup::All);
        let timer = part(Reason::Recovery, Place::RetransmissionTimer, "server", "");
        assert_eq!(parts(account)[&timer], 200 * MS_PS);
        // The timer was set when the first two segments were acknowledged.
        let rest = account.whole_ps - 200 * MS_PS;
        assert_eq!(rest, parts(account).values().sum::<u64>() - 200 * MS_PS);
        assert_eq!(account.whole_ps / 1_000, iterations.completion_ns[0]);
    }
}

#[test]
fn the_slowest_member_of_an_iteration_and_the_median_one_are_told_apart() {
    // Each of three servers sends a segment; they leave the switch one after the other.
    let mut run = lab::run(3, DEEP);
    if let Workload::Incast(incast) = &mut run.workload {
        incast.block_bytes = MSS;
    }
    run.trace = true;
    let record = make_ok(&run);
    let all = account(&record, TimeView::Journey, TimeGroup::All);
    let median = account(&record, TimeView::Journey, TimeGroup::MedianMember);
    assert_eq!(all.whole_ps - median.whole_ps, FULL_PS);
    let last = record.samples.connection.as_ref().and_then(|table| table.last.clone());
    assert_eq!(last.expect("an incast has it").iter().sum::<u64>(), 1);
    let worst = account(&record, TimeView::Journey, TimeGroup::Worst);
    assert_eq!((worst.number, worst.whole_ps), (Some(1), all.whole_ps));
}

#[test]
fn an_untraced_run_has_no_account() {
    let mut run = traced(MSS);
    run.trace = false;
    assert!(make_ok(&run).samples.time.is_empty());
}
