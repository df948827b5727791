//! From a host's wire to its TCP: the interface, its ring, and the processor that polls it.
//!
//! A frame takes a descriptor of the ring until the processor has dealt with it. The interface takes
//! frames in at its packet rate; when the first one is in and the processor idles, an interrupt follows
//! after the moderation delay. The processor then polls batches until the ring is empty (NAPI of Linux,
//! `net_rx_action`). In a batch, segments of a connection that follow each other may be merged into one
//! (GRO, `tcp_gro_receive`); what is merged goes to TCP at the end of the batch at the latest.

use std::collections::VecDeque;

use netstudy_tcp::{Flags, Segment};
use netstudy_units::{Duration, Time};

use super::events::{Event, Events};
use crate::network::Frame;
use crate::network::jitter::ReceiveJitter;
use crate::wiring::ReceiveKind;

/// What lies between a wire and a TCP.
#[derive(Clone, Debug)]
pub(super) struct Receiver {
    place: usize,
    kind: ReceiveKind,
    jitter: Option<Box<ReceiveJitter>>,
    /// Frames that the interface has not taken in yet.
    outside: VecDeque<Frame>,
    /// Frames that wait for the processor; it deals with the first, if it polls.
    inside: VecDeque<Frame>,
    processor: Processor,
    /// Frames of the batch that the processor has dealt with.
    batch: u32,
    merging: Vec<Merged>,
    ring_drops: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Processor {
    Idle,
    /// It waits for the interrupt.
    Called,
    Polls,
}

/// Segments that became one.
#[derive(Clone, Copy, Debug)]
struct Merged {
    frame: Frame,
    /// Payload of the first of them.
    unit_bytes: u32,
}

impl Receiver {
    pub(super) fn new(kind: &ReceiveKind, place: usize, seed: &str, host: &str) -> Self {
        Self {
            place,
            kind: *kind,
            jitter: ReceiveJitter::new(kind, seed, host),
            outside: VecDeque::new(),
            inside: VecDeque::new(),
            processor: Processor::Idle,
            batch: 0,
            merging: Vec::new(),
            ring_drops: 0,
        }
    }

    /// Descriptors in use.
    pub(super) fn in_ring(&self) -> usize {
        self.outside.len() + self.inside.len()
    }

    pub(super) const fn ring_drops(&self) -> u64 {
        self.ring_drops
    }

    /// A frame is there. Whether the ring takes it.
    pub(super) fn arrive(&mut self, now: Time, frame: Frame, events: &mut Events) -> bool {
        if self.in_ring() >= self.kind.ring_frames {
            self.ring_drops += 1;
            return false;
        }
        if self.kind.frame_interval == Duration::ZERO {
            self.take_in(now, frame, events);
            return true;
        }
        self.outside.push_back(frame);
        if self.outside.len() == 1 {
            events.put(now + self.kind.frame_interval, self.place, Event::TakenIn);
        }
        true
    }

    /// The interface has taken in the first of the frames outside.
    pub(super) fn taken_in(&mut self, now: Time, events: &mut Events) {
        let frame = self.outside.pop_front().expect("it is taking one in");
        if !self.outside.is_empty() {
            events.put(now + self.kind.frame_interval, self.place, Event::TakenIn);
        }
        self.take_in(now, frame, events);
    }

    fn take_in(&mut self, now: Time, frame: Frame, events: &mut Events) {
        self.inside.push_back(frame);
        if self.processor == Processor::Idle {
            self.processor = Processor::Called;
            events.put(now + self.kind.interrupt_delay, self.place, Event::Poll);
        }
    }

    /// The processor begins with the first frame inside.
    pub(super) fn poll(&mut self, now: Time, events: &mut Events) {
        self.processor = Processor::Polls;
        let first = self.inside.front().expect("it was called for a frame");
        let cost = self.kind.processor_time(first.frame_bytes);
        events.put(now + cost, self.place, Event::Processed);
    }

    /// The processor has dealt with a frame.
    pub(super) fn processed(&mut self, now: Time, events: &mut Events) {
        let frame = self.inside.pop_front().expect("it was dealing with one");
        self.hand_over(now, frame, events);
        self.batch += 1;
        if self.inside.is_empty() || self.kind.batch_frames == Some(self.batch) {
            self.batch = 0;
            for merged in std::mem::take(&mut self.merging) {
                self.deliver(now, merged.frame, events);
            }
        }
        if self.inside.is_empty() {
            self.processor = Processor::Idle;
        } else {
            self.poll(now, events);
        }
    }

    fn deliver(&mut self, now: Time, frame: Frame, events: &mut Events) {
        let ready = now + self.kind.latency;
        let at = self.jitter.as_mut().map_or(ready, |jitter| jitter.put_off(ready));
        events.put(at, self.place, Event::Delivered(frame));
    }

    /// Merges a frame with those before it, or lets it pass behind them.
    fn hand_over(&mut self, now: Time, frame: Frame, events: &mut Events) {
        if self.kind.merge_bytes == 0 {
            self.deliver(now, frame, events);
            return;
        }
        let same = |merged: &Merged| merged.frame.to == frame.to;
        let mut held = self.merging.iter().position(same);
        if let Some(index) = held
            && !self.merging[index].takes(&frame.segment, self.kind.merge_bytes)
        {
            let merged = self.merging.remove(index);
            self.deliver(now, merged.frame, events);
            held = None;
        }
        match held {
            Some(index) => {
                // A shorter segment, or the end of a write, is the last of a burst: nothing follows that
                // could be merged.
                let ends_write = frame.segment.flags.contains(Flags::PSH);
                let is_last = ends_write || frame.segment.len < self.merging[index].unit_bytes;
                let held = &mut self.merging[index].frame.segment;
                held.len += frame.segment.len;
                held.flags = held.flags | frame.segment.flags;
                if is_last {
                    let merged = self.merging.remove(index);
                    self.deliver(now, merged.frame, events);
                }
            }
            None if is_plain(&frame.segment) && !frame.segment.flags.contains(Flags::PSH) => {
                self.merging.push(Merged { frame, unit_bytes: frame.segment.len });
            }
            None => self.deliver(now, frame, events),
        }
    }
}

/// Whether a segment carries data and nothing else of interest; it may end a write.
fn is_plain(segment: &Segment) -> bool {
    segment.len > 0
        && segment.flags.of_state() == Flags::ACK
        && !segment.flags.intersects(Flags::ECE | Flags::CWR)
        && segment.sack.is_empty()
}

impl Merged {
    /// Whether `next` continues it: the same but for its place, as `tcp_gro_receive` asks. Timestamps
    /// may differ, since the kernel compares them by its much coarser clock; the first one stays, which is
    /// the one to be echoed (RFC 7323, 4.3).
    fn takes(&self, next: &Segment, merge_bytes: u32) -> bool {
        let held = &self.frame.segment;
        is_plain(next)
            && next.seq == held.seq + u64::from(held.len)
            && next.len <= self.unit_bytes
            && next.ack == held.ack
            && next.ecn == held.ecn
            && held.len + next.len <= merge_bytes
    }
}
