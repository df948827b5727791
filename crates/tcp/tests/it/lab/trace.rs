//! The conversation, with a name for each segment.

use std::collections::BTreeMap;
use std::fmt::Write;

use netstudy_tcp::{Flags, Segment};
use netstudy_units::Time;

use super::path::Fate;
use super::{Client, Side};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    Syn,
    Fin,
    Rst,
    /// A data segment, numbered from 1 in the order of first transmission.
    Data(usize),
    /// An acknowledgment without data, numbered from 1.
    Ack(usize),
}

/// One transmission of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pick {
    pub(crate) side: Side,
    pub(crate) kind: Kind,
    /// 1 for the first transmission.
    copy: u32,
}

impl Pick {
    pub(crate) const fn first(side: Side, kind: Kind) -> Self {
        Self { side, kind, copy: 1 }
    }

    pub(crate) const fn is_first(self) -> bool {
        self.copy == 1
    }

    /// The `copy`-th transmission, from 1.
    pub(crate) const fn copy(self, copy: u32) -> Self {
        Self { copy, ..self }
    }
}

/// A segment that was sent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    pub(crate) at: Time,
    pub(crate) pick: Pick,
    pub(crate) segment: Segment,
    pub(crate) fate: Fate,
}

/// Expected counters of a side.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    /// With data, SYN or FIN.
    pub(crate) segments: u64,
    /// Of these, other than the first transmission.
    pub(crate) copies: u64,
    pub(crate) copied_bytes: u64,
    /// Without.
    pub(crate) acks: u64,
}

#[derive(Default)]
pub(crate) struct Trace {
    entries: Vec<Entry>,
    /// First offsets of the data segments of each side.
    starts: [Vec<u64>; 2],
    acks: [usize; 2],
    copies: BTreeMap<(bool, Kind), u32>,
}

impl Trace {
    pub(crate) fn push(&mut self, entry: Entry) {
        self.entries.push(entry);
    }

    pub(crate) fn from(&self, side: Side) -> impl Iterator<Item = &Entry> {
        self.entries.iter().filter(move |entry| entry.pick.side == side)
    }

    pub(crate) fn tally(&self, side: Side) -> Tally {
        let mut tally = Tally::default();
        // Where packets are cut, a copy may begin within a segment sent before it.
        let mut reached = 0;
        for Entry { pick, segment, .. } in self.from(side) {
            if let Kind::Ack(_) = pick.kind {
                tally.acks += 1;
                continue;
            }
            tally.segments += 1;
            let end = segment.seq + segment.sequence_len();
            let is_copy = end <= reached;
            reached = reached.max(end);
            if is_copy {
                tally.copies += 1;
                tally.copied_bytes += u64::from(segment.len);
            }
        }
        tally
    }

    /// The name of a segment that is about to be sent.
    pub(crate) fn name(&mut self, side: Side, segment: &Segment) -> Pick {
        let kind = self.kind(side, segment);
        let copies = self.copies.entry((side == Client, kind)).or_default();
        *copies += 1;
        Pick { side, kind, copy: *copies }
    }

    fn kind(&mut self, side: Side, segment: &Segment) -> Kind {
        if segment.flags.contains(Flags::RST) {
            Kind::Rst
        } else if segment.flags.contains(Flags::SYN) {
            Kind::Syn
        } else if segment.len > 0 {
            Kind::Data(self.number(side, segment.seq))
        } else if segment.flags.contains(Flags::FIN) {
            Kind::Fin
        } else {
            self.acks[side as usize] += 1;
            Kind::Ack(self.acks[side as usize])
        }
    }

    fn number(&mut self, side: Side, start: u64) -> usize {
        let starts = &mut self.starts[side as usize];
        let number = starts.partition_point(|&known| known < start);
        if starts.get(number) != Some(&start) {
            starts.insert(number, start);
        }
        number + 1
    }

    pub(crate) fn print(&self, origin: Time) -> String {
        self.entries.iter().fold(String::new(), |text, entry| text + &line(entry, origin))
    }
}

fn line(entry: &Entry, origin: Time) -> String {
    let at_us = entry.at.since(origin).as_ns() / 1000;
    let at = format!("{}.{:03}", at_us / 1000, at_us % 1000);
    let side = if entry.pick.side == Client { "client" } else { "server" };
    format!("{at:>12} {side} {}{}\n", describe(&entry.segment), describe_fate(entry.fate))
}

fn describe_fate(fate: Fate) -> String {
    match fate {
        Fate::Arrives => String::new(),
        Fate::Lost => " (lost)".into(),
        Fate::Marked => " (marked)".into(),
        Fate::Late(span) => format!(" (late by {span})"),
        Fate::Behind(count) => format!(" (behind {count})"),
        Fate::Twice(_) => " (twice)".into(),
    }
}

fn describe(segment: &Segment) -> String {
    let mut words = Vec::new();
    if segment.flags.contains(Flags::RST) {
        words.push("RST".into());
    }
    if segment.flags.contains(Flags::SYN) {
        words.push(format!("SYN {}", describe_options(segment)));
    }
    for (bit, name) in [(Flags::ECE, "ECE"), (Flags::CWR, "CWR")] {
        if segment.flags.contains(bit) {
            words.push(name.into());
        }
    }
    if segment.len > 0 {
        words.push(format!("{}..{}", segment.seq, segment.seq + u64::from(segment.len)));
    }
    if segment.flags.contains(Flags::FIN) {
        words.push(format!("FIN {}", segment.seq + u64::from(segment.len)));
    }
    if segment.flags.contains(Flags::ACK) {
        words.push(format!("ack {}", segment.ack));
    }
    let blocks = segment.sack.iter(segment.ack).fold(String::new(), |mut text, block| {
        write!(text, " {}..{}", block.start, block.end).expect("a string takes all");
        text
    });
    if !blocks.is_empty() {
        words.push(format!("sack{blocks}"));
    }
    words.join(" ")
}

fn describe_options(segment: &Segment) -> String {
    let mut options = format!("win {} mss {}", segment.window, segment.syn.mss_bytes);
    if let Some(shift) = segment.syn.window_scale {
        write!(options, " scale {shift}").expect("a string takes all");
    }
    if segment.syn.sack_permitted {
        options += " sack";
    }
    if segment.syn.timestamps {
        options += " timestamps";
    }
    options
}
