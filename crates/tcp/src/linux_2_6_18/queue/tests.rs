//! Tests of the queue of packets: scenarios with the results of the kernel, and counters compared
//! with counts over the packets.

extern crate std;

use std::format;
use std::string::String;
use std::vec;
use std::vec::Vec;

use netstudy_units::{Duration, Time};
use proptest::prelude::*;

use super::super::scoreboard::Prefix;
use super::TAGS;
use super::tagging::{Report, Tagged, Walk};
use crate::recovery::algorithm::Phase;
use crate::recovery::sent::{LOST, RETRANSMITTED, SACKED, SentSegment, SentSegments};
use crate::{Range, SackBlocks};

const MSS: u32 = 10;
const NOW: Time = Time::ZERO;

/// A queue of packets of these lengths, the first at offset 0.
fn queue(lens: &[u32]) -> SentSegments {
    let mut sent = SentSegments::default();
    sent.hold_packets(MSS);
    let mut start = 0;
    for &len in lens {
        sent.push_packet(SentSegment::fresh(start, len, NOW));
        start += u64::from(len);
    }
    sent
}

fn tag(sent: &mut SentSegments, ack: u64, phase: Phase, blocks: &[(u64, u64)]) -> Tagged {
    let mut sack = SackBlocks::default();
    for &(start, end) in blocks {
        sack.push(Range { start, end });
    }
    sent.tag(&Report { ack, blocks: &sack, snd_una: ack, phase, phase_end: u64::MAX })
}

fn hears(sent: &mut SentSegments, blocks: &[(u64, u64)]) {
    tag(sent, 0, Phase::Recovery, blocks);
}

/// The packets: start, end, and whether one is SACKed, lost, retransmitted.
fn packets(sent: &SentSegments) -> Vec<(u64, u64, &'static str)> {
    let tags = |state: u8| match state & TAGS {
        SACKED => "sacked",
        LOST => "lost",
        RETRANSMITTED => "again",
        0 => "",
        _ => "lost, again",
    };
    sent.iter().map(|packet| (packet.start, packet.end(), tags(packet.state))).collect()
}

#[test]
fn a_packet_is_split_where_a_block_begins_and_ends() {
    let mut sent = queue(&[70]);
    hears(&mut sent, &[(18, 33)]);
    assert_eq!(packets(&sent), [(0, 18, ""), (18, 33, "sacked"), (33, 70, "")]);
    assert_eq!((sent.len(), sent.sacked(), sent.facked_segments()), (2 + 2 + 4, 2, 4));
}

#[test]
fn a_part_of_a_segment_does_not_count() {
    let mut sent = queue(&[10, 10]);
    hears(&mut sent, &[(14, 20)]);
    assert_eq!(packets(&sent), [(0, 10, ""), (10, 20, "")]);
    assert_eq!(sent.sacked(), 0);
}

#[test]
fn a_packet_is_lost_as_a_whole_or_not_at_all() {
    let mut sent = queue(&[20, 30, 50]);
    sent.lose_oldest_packets(4, 100);
    assert_eq!(packets(&sent)[..2], [(0, 20, "lost"), (20, 50, "")]);
    assert_eq!(sent.lost(), 2);
    sent.lose_oldest_packets(9, 60);
    assert_eq!(sent.lost(), 5, "the last one ends behind the limit");
}

#[test]
fn a_lost_packet_is_sent_again_by_segments() {
    let mut sent = queue(&[25]);
    sent.lose_oldest_packets(3, 25);
    let again: Vec<_> = core::iter::from_fn(|| sent.retransmit_lost_packet(NOW, 25))
        .map(|segment| (segment.start, segment.end()))
        .collect();
    assert_eq!(again, [(0, 10), (10, 20), (20, 25)]);
    assert_eq!((sent.lost(), sent.retransmitted(), sent.in_flight()), (3, 3, 3));
}

#[test]
fn forward_retransmissions_count_packets_up_to_a_number_of_segments() {
    let mut sent = queue(&[10, 30, 10, 10]);
    hears(&mut sent, &[(10, 40)]);
    assert_eq!(sent.facked_segments(), 4);
    let again: Vec<_> = core::iter::from_fn(|| sent.retransmit_packet_forward(NOW, 60))
        .map(|segment| segment.start)
        .collect();
    assert_eq!(again, [0, 40, 50], "two of them are behind the newest that has arrived");
}

#[test]
fn a_part_that_is_acknowledged_leaves_the_count() {
    let mut sent = queue(&[70, 10]);
    assert_eq!(sent.acknowledge_packets(25).segments, 2);
    assert_eq!((sent.len(), packets(&sent)[0]), (6, (25, 70, "")));
    assert_eq!(sent.acknowledge_packets(29).segments, 0, "less than a segment is none");
    assert_eq!(sent.acknowledge_packets(80).segments, 6);
    assert!(sent.is_empty());
}

#[test]
fn three_blocks_in_the_wrong_order_are_mixed_up() {
    let mut sent = queue(&[10; 8]);
    // The first block has the highest offsets; the other two are in ascending order.
    hears(&mut sent, &[(60, 70), (20, 30), (40, 50)]);
    assert_eq!(sent.sacked(), 2, "the newest is ignored");
    hears(&mut sent, &[(60, 80), (20, 30), (40, 50)]);
    assert_eq!(sent.sacked(), 4, "until it alone has grown");
}

#[test]
fn what_comes_late_ends_forward_acknowledgment() {
    let mut sent = queue(&[10; 8]);
    hears(&mut sent, &[(50, 60)]);
    assert!(sent.packets().is_forward());
    hears(&mut sent, &[(10, 20), (50, 60)]);
    assert!(!sent.packets().is_forward());
    assert_eq!(sent.packets().reordering(), 6 + 1 - 2);
    sent.lose_all_packets();
    assert_eq!(sent.packets().reordering(), super::REORDERING, "a timeout ends the patience");
    assert!(!sent.packets().is_forward());
}

#[test]
fn a_retransmission_is_never_late() {
    let mut sent = queue(&[10; 8]);
    hears(&mut sent, &[(50, 60)]);
    sent.lose_oldest_packets(2, 80);
    while sent.retransmit_lost_packet(NOW, 80).is_some() {}
    hears(&mut sent, &[(10, 20), (50, 60)]);
    assert!(sent.packets().is_forward());
}

#[test]
fn an_arrival_sent_after_a_copy_says_that_the_copy_is_lost() {
    let mut sent = queue(&[10; 4]);
    hears(&mut sent, &[(30, 40)]);
    sent.lose_oldest_packets(1, 40);
    sent.retransmit_lost_packet(NOW, 40);
    sent.push_packet(SentSegment::fresh(40, 10, NOW));
    assert!(!sent.may_retransmit());
    let tagged = tag(&mut sent, 0, Phase::Recovery, &[(30, 50)]);
    assert!(tagged.is_news);
    assert_eq!(sent.retransmit_lost_packet(NOW, 50).map(|segment| segment.start), Some(0));
}

#[test]
fn a_copy_that_the_receiver_calls_needless_is_counted_out() {
    let mut sent = queue(&[10; 4]);
    sent.packets_mut().begin_undo(0, 0);
    hears(&mut sent, &[(30, 40)]);
    sent.lose_oldest_packets(1, 40);
    sent.retransmit_lost_packet(NOW, 40);
    assert!(!sent.packets().is_all_needless());
    sent.acknowledge_packets(10);
    tag(&mut sent, 10, Phase::Recovery, &[(0, 10), (30, 40)]);
    assert!(sent.packets().is_all_needless());
}

#[derive(Clone, Copy, Debug)]
enum Operation {
    Send {
        len: u32,
    },
    Acknowledge {
        share: u64,
    },
    Sack {
        shares: [u64; 3],
        len: u64,
        count: usize,
    },
    /// Data arrives at a receiver, which reports all data that it holds.
    Arrive {
        share: u64,
        len: u64,
    },
    LoseOldest {
        segments: u32,
    },
    LoseAll,
    Retransmit,
    RetransmitForward,
}

fn operation() -> impl Strategy<Value = Operation> {
    let share = || 0..1000_u64;
    prop_oneof![
        4 => (1..80_u32).prop_map(|len| Operation::Send { len }),
        3 => (0..400_u64).prop_map(|share| Operation::Acknowledge { share }),
        6 => ([share(), share(), share()], 1..60_u64, 1..4_usize)
            .prop_map(|(shares, len, count)| Operation::Sack { shares, len, count }),
        20 => (share(), 1..60_u64).prop_map(|(share, len)| Operation::Arrive { share, len }),
        4 => (1..20_u32).prop_map(|segments| Operation::LoseOldest { segments }),
        1 => Just(Operation::LoseAll),
        5 => Just(Operation::Retransmit),
        4 => Just(Operation::RetransmitForward),
    ]
}

/// A queue, and the state of the stream at both ends.
#[derive(Clone)]
struct Stream {
    sent: SentSegments,
    /// Ranges that the receiver holds beyond `una`, the newest arrival first.
    held: Vec<Range>,
    una: u64,
    next: u64,
    now: Time,
}

impl Stream {
    fn begin(start: u64) -> Self {
        Self { sent: queue(&[]), held: Vec::new(), una: start, next: start, now: NOW }
    }

    fn report(&mut self, ranges: &[Range], snd_una: u64) {
        let mut blocks = SackBlocks::default();
        for &range in ranges.iter().take(SackBlocks::MAX) {
            blocks.push(range);
        }
        if !blocks.is_empty() {
            self.sent.tag(&Report {
                ack: self.una,
                blocks: &blocks,
                snd_una,
                phase: Phase::Recovery,
                phase_end: self.next,
            });
        }
    }

    /// The receiver joins a new range with the ranges that it holds (RFC 2018, 4).
    fn arrive(&mut self, arrived: Range) {
        let touches = |held: &Range| held.start <= arrived.end && arrived.start <= held.end;
        let mut whole = arrived;
        for held in self.held.extract_if(.., |held| touches(held)) {
            whole.start = whole.start.min(held.start);
            whole.end = whole.end.max(held.end);
        }
        self.held.insert(0, whole);
    }

    fn apply(&mut self, operation: Operation) {
        self.now += Duration::from_us(1);
        let span = self.next - self.una;
        match operation {
            Operation::Send { len } => {
                self.sent.push_packet(SentSegment::fresh(self.next, len, self.now));
                self.next += u64::from(len);
            }
            Operation::Acknowledge { share } => {
                let snd_una = self.una;
                self.una += span * share / 1000;
                self.held.retain(|held| held.start > self.una);
                self.report(&self.held.clone(), snd_una);
                self.sent.acknowledge_packets(self.una);
            }
            Operation::Sack { shares, len, count } => {
                let ranges: Vec<Range> = shares[..count]
                    .iter()
                    .map(|share| self.una + 1 + span * share / 1000)
                    .map(|start| Range { start, end: (start + len).min(self.next) })
                    .filter(|range| range.start < range.end)
                    .collect();
                self.report(&ranges, self.una);
            }
            Operation::Arrive { share, len } => {
                // Segments begin at multiples of the MSS, so that arriving data adjoins held data.
                let start = (self.una + 1 + span * share / 1000).next_multiple_of(u64::from(MSS));
                let end = (start + len).min(self.next);
                if start < end {
                    self.arrive(Range { start, end });
                    self.report(&self.held.clone(), self.una);
                }
            }
            Operation::LoseOldest { segments } => {
                self.sent.lose_oldest_packets(segments, self.next);
            }
            Operation::LoseAll => self.sent.lose_all_packets(),
            Operation::Retransmit => {
                self.sent.retransmit_lost_packet(self.now, self.next);
            }
            Operation::RetransmitForward => {
                self.sent.retransmit_packet_forward(self.now, self.next);
            }
        }
    }

    fn check(&self) -> Result<(), TestCaseError> {
        let sent = &self.sent;
        let count = |tags: u8| -> u32 {
            sent.iter().filter(|one| one.is(tags)).map(|one| one.len.div_ceil(MSS)).sum()
        };
        prop_assert_eq!(sent.len(), count(0));
        prop_assert_eq!(sent.sacked(), count(SACKED));
        prop_assert_eq!(sent.lost(), count(LOST));
        prop_assert_eq!(sent.retransmitted(), count(RETRANSMITTED));
        let waits = sent.iter().filter(|one| one.state & TAGS == LOST).count();
        prop_assert_eq!(sent.waiting as usize, waits);
        prop_assert_eq!(sent.may_retransmit(), waits > 0);
        prop_assert!(sent.facked_segments() <= sent.len());
        let mut at = self.una;
        for packet in sent.iter() {
            prop_assert_eq!(packet.start, at, "a gap or an overlap");
            prop_assert!(packet.len > 0);
            at = packet.end();
        }
        prop_assert_eq!(at, self.next);
        Ok(())
    }
}

proptest! {
    #![proptest_config(crate::recovery::sent::tests::cases())]

    #[test]
    fn counts_are_those_of_the_packets(operations in prop::collection::vec(operation(), 1..80)) {
        // Offsets beyond 32 bits, so that blocks must be unwrapped.
        let start = (1 << 32) - 50;
        let mut stream = Stream::begin(start);
        for operation in operations {
            stream.apply(operation);
            stream.check()?;
        }
    }
}

/// The debug output of a queue without the record of previous passes.
fn without_memory(sent: &SentSegments) -> String {
    let mut sent = sent.clone();
    sent.packets.compared = Prefix::default();
    sent.packets.compared_blocks = Default::default();
    sent.packets.reached = Prefix::default();
    sent.packets.touched = Prefix::default();
    sent.packets.copies_from = 0;
    sent.known_as = SackBlocks::NONE;
    format!("{sent:?}")
}

/// Makes a separate pass for each block, like the kernel.
fn tag_one_by_one(sent: &mut SentSegments, blocks: &[Range], walk: &mut Walk) {
    for block in blocks {
        sent.tag_blocks(core::slice::from_ref(block), Prefix::default(), walk);
    }
}

proptest! {
    #![proptest_config(crate::recovery::sent::tests::cases())]

    #[test]
    fn one_pass_for_all_blocks_marks_what_a_pass_for_each_does(
        operations in prop::collection::vec(operation(), 1..60),
        mut edges in prop::collection::btree_set(0..1200_u64, 6),
        count in 1..4_usize,
        below in 0..1000_u64,
        is_copy in any::<bool>(),
    ) {
        let mut stream = Stream::begin(1);
        for operation in operations {
            stream.apply(operation);
        }
        let span = stream.next - stream.una;
        let mut edge = || stream.una + span * edges.pop_first().unwrap() / 1000;
        let blocks: Vec<Range> = (0..count)
            .map(|_| Range { start: edge(), end: edge() })
            .filter(|block| block.start < block.end)
            .collect();
        let ack = stream.una + span * below / 3000;
        let (mut once, mut each) = (stream.sent.clone(), stream.sent);
        let (mut walk, mut walks) = (once.walk(ack, Phase::Recovery, is_copy), each.walk(ack, Phase::Recovery, is_copy));
        once.tag_blocks(&blocks, Prefix::default(), &mut walk);
        tag_one_by_one(&mut each, &blocks, &mut walks);
        prop_assert_eq!(walk, walks);
        prop_assert_eq!(without_memory(&once), without_memory(&each));
    }
}

proptest! {
    #![proptest_config(crate::recovery::sent::tests::cases())]

    #[test]
    fn passes_that_leave_out_settled_packets_mark_what_whole_ones_do(
        operations in prop::collection::vec(operation(), 1..120),
    ) {
        let mut stream = Stream::begin(1);
        let mut whole = stream.clone();
        for operation in operations {
            whole.sent.packets.compared = Prefix::default();
            whole.sent.packets.reached = Prefix::default();
            whole.sent.packets.touched = Prefix::default();
            whole.apply(operation);
            stream.apply(operation);
            prop_assert_eq!(without_memory(&stream.sent), without_memory(&whole.sent));
        }
    }
}

#[test]
fn a_packet_of_one_segment_is_a_segment() {
    let mut sent = queue(&[10; 5]);
    hears(&mut sent, &[(30, 40)]);
    sent.lose_oldest_packets(1, 50);
    let tagged =
        vec![(0, 10, "lost"), (10, 20, ""), (20, 30, ""), (30, 40, "sacked"), (40, 50, "")];
    assert_eq!(packets(&sent), tagged);
}
