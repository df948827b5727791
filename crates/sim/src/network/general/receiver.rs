//! The path from a host's wire to its TCP: the interface, its ring, and the CPU that polls the
//! ring.
//!
//! Each frame uses a descriptor of the ring. After the CPU has handled the frame, its descriptor is
//! not free at once: descriptors are returned in batches. The interface takes in frames at its
//! packet rate. If the CPU is idle when a frame was taken in, the interface raises an interrupt
//! after the coalescing delay. The CPU then polls the ring in batches until it is empty (NAPI of
//! Linux, `net_rx_action`). Consecutive segments of a connection may be merged within a batch (GRO,
//! `tcp_gro_receive`). They are passed to TCP at the end of the batch at the latest.

use netstudy_ring::Ring;
use netstudy_tcp::{Flags, Segment};
use netstudy_units::{Duration, Time};

use super::packets::{Packet, Packets};
use crate::account::Trace;
use crate::network::jitter::ReceiveJitter;
use crate::network::trace::Tracer;
use crate::snapshot::Carried;
use crate::wiring::ReceiveKind;

/// The tracer of a run, and the number of the interface that it follows.
pub(super) struct Watch<'a, O> {
    pub(super) tracer: &'a O,
    pub(super) interface: usize,
}

/// The event-driven path from a wire to TCP. Each function `next_*` returns when the next step of
/// one kind is due.
#[derive(Clone, Debug)]
pub(super) struct Receiver {
    kind: ReceiveKind,
    jitter: Option<Box<ReceiveJitter>>,
    /// Frames that the interface has not taken in yet.
    outside: Ring<Packet>,
    /// When the interface will have taken in the first frame of `outside`.
    taken_in_at: Time,
    /// Frames that were taken in but not handled yet. If the CPU polls, it is handling the first of
    /// them.
    inside: Ring<Packet>,
    /// Number of handled frames whose descriptors are not returned yet.
    spent: usize,
    cpu: CpuState,
    /// When the CPU finishes the current frame, or when it gets the interrupt that it waits for.
    cpu_at: Time,
    /// Number of frames handled in the current batch.
    batch: u32,
    merging: Vec<Merged>,
    /// Segments that have yet to reach TCP, and when they will.
    delivered: Ring<(Time, Packet)>,
    ring_drops: u64,
    /// Frames and bytes that the CPU has handled.
    processed: Carried,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CpuState {
    Idle,
    /// The CPU waits for the interrupt.
    Called,
    Polls,
}

/// Several segments merged into one.
#[derive(Clone, Copy, Debug)]
struct Merged {
    packet: Packet,
    /// Payload of the first merged segment.
    unit_bytes: u32,
}

impl Receiver {
    /// The receiver of the interface `name` in the run with the seed `seed`.
    pub(super) fn new(kind: &ReceiveKind, seed: &str, name: &str) -> Self {
        Self {
            kind: *kind,
            jitter: ReceiveJitter::new(kind, seed, name),
            outside: Ring::new(),
            taken_in_at: Time::NEVER,
            inside: Ring::new(),
            spent: 0,
            cpu: CpuState::Idle,
            cpu_at: Time::NEVER,
            batch: 0,
            merging: Vec::new(),
            delivered: Ring::new(),
            ring_drops: 0,
            processed: Carried::default(),
        }
    }

    /// Number of frames in the ring that the CPU has not handled. PAUSE depends on this number, not
    /// on the number of used descriptors. Otherwise a pause could last forever: descriptors are
    /// returned only when a batch is complete, and a paused link delivers no frames to complete it.
    pub(super) const fn waiting(&self) -> usize {
        self.outside.len() + self.inside.len()
    }

    /// Descriptors in use.
    const fn in_ring(&self) -> usize {
        self.waiting() + self.spent
    }

    pub(super) const fn ring_drops(&self) -> u64 {
        self.ring_drops
    }

    /// Frames that the CPU has handled.
    pub(super) const fn processed_frames(&self) -> Carried {
        self.processed
    }

    /// When the CPU finishes the current frame; [`Time::NEVER`] if it handles none.
    pub(super) fn next_processed(&self) -> Time {
        if self.cpu == CpuState::Polls { self.cpu_at } else { Time::NEVER }
    }

    /// When the interface will have taken in the next frame.
    pub(super) const fn next_taken_in(&self) -> Time {
        self.taken_in_at
    }

    /// When the CPU begins to poll.
    pub(super) fn next_poll(&self) -> Time {
        if self.cpu == CpuState::Called { self.cpu_at } else { Time::NEVER }
    }

    /// When the next segment reaches TCP.
    pub(super) fn next_delivered(&self) -> Time {
        self.delivered.front().map_or(Time::NEVER, |&(at, _)| at)
    }

    /// Handles the arrival of a frame. Returns whether the ring has room for it.
    pub(super) fn arrive(&mut self, now: Time, packet: Packet) -> bool {
        if self.in_ring() >= self.kind.ring_frames {
            self.ring_drops += 1;
            return false;
        }
        if self.kind.frame_interval == Duration::ZERO {
            self.take_in(now, packet);
            return true;
        }
        self.outside.push_back(packet);
        if self.outside.len() == 1 {
            self.taken_in_at = now + self.kind.frame_interval;
        }
        true
    }

    /// Moves the first frame of `outside` to `inside`, because the interface has taken it in.
    pub(super) fn taken_in(&mut self, now: Time, watch: &Watch<'_, impl Tracer>) {
        let packet = self.outside.pop_front().expect("it is taking one in");
        watch.note(|trace| trace.take_in(watch.interface, packet.slot(), now));
        let more = !self.outside.is_empty();
        self.taken_in_at = if more { now + self.kind.frame_interval } else { Time::NEVER };
        self.take_in(now, packet);
    }

    fn take_in(&mut self, now: Time, packet: Packet) {
        self.inside.push_back(packet);
        if self.cpu == CpuState::Idle {
            self.cpu = CpuState::Called;
            self.cpu_at = now + self.kind.interrupt_delay;
        }
    }

    /// Starts the CPU, which has got the interrupt.
    pub(super) fn interrupted(&mut self, now: Time, watch: &Watch<'_, impl Tracer>) {
        let first = self.inside.front().expect("it was called for a frame");
        watch.note(|trace| trace.interrupt(watch.interface, first.slot(), now));
        self.poll(now);
    }

    /// Starts the CPU on the first frame of `inside`.
    fn poll(&mut self, now: Time) {
        self.cpu = CpuState::Polls;
        let first = self.inside.front().expect("there is a frame");
        self.cpu_at = now + self.kind.cpu_time(first.frame_bytes);
    }

    /// Handles the end of the CPU's work on a frame.
    pub(super) fn processed(
        &mut self,
        now: Time,
        packets: &mut Packets,
        watch: &Watch<'_, impl Tracer>,
    ) {
        let packet = self.inside.pop_front().expect("it was dealing with one");
        watch.note(|trace| trace.process(watch.interface, packet.slot(), now));
        self.processed.count(packet.frame_bytes);
        self.spent += 1;
        if self.spent >= self.kind.refill_frames {
            self.spent = 0;
        }
        self.hand_over(now, packet, packets, watch);
        self.batch += 1;
        if self.inside.is_empty() || self.kind.batch_frames == Some(self.batch) {
            self.batch = 0;
            for merged in std::mem::take(&mut self.merging) {
                self.deliver(now, merged.packet, watch);
            }
        }
        if self.inside.is_empty() {
            self.cpu = CpuState::Idle;
        } else {
            self.poll(now);
        }
    }

    /// Removes the first segment that has reached TCP.
    pub(super) fn take_delivered(&mut self) -> Option<Packet> {
        self.delivered.pop_front().map(|(_, packet)| packet)
    }

    fn deliver(&mut self, now: Time, packet: Packet, watch: &Watch<'_, impl Tracer>) {
        let ready = now + self.kind.latency;
        let at = self.jitter.as_mut().map_or(ready, |jitter| jitter.put_off(ready));
        watch.note(|trace| trace.pass_on(watch.interface, packet.slot(), now, at));
        self.delivered.push_back((at, packet));
    }

    /// Merges a frame with the segment that is held for its connection, if possible. Otherwise
    /// passes on the held segment, then holds the frame or passes it on too.
    fn hand_over(
        &mut self,
        now: Time,
        packet: Packet,
        packets: &mut Packets,
        watch: &Watch<'_, impl Tracer>,
    ) {
        if self.kind.merge_bytes == 0 {
            self.deliver(now, packet, watch);
            return;
        }
        let segment = packets.segment(&packet);
        let mut held = self.merging.iter().position(|merged| merged.packet.to == packet.to);
        if let Some(index) = held
            && !self.merging[index].takes(&segment, self.kind.merge_bytes, packets)
        {
            let merged = self.merging.remove(index);
            self.deliver(now, merged.packet, watch);
            held = None;
        }
        match held {
            Some(index) => {
                // After a shorter segment or the end of a write, no segment is merged: the burst
                // has ended.
                let ends_write = segment.flags.contains(Flags::PSH);
                let is_last = ends_write || segment.len < self.merging[index].unit_bytes;
                let slot = self.merging[index].packet.slot();
                watch.note(|trace| trace.merge(slot, packet.slot()));
                let held = packets.segment_mut(&self.merging[index].packet);
                held.len += segment.len;
                held.flags = held.flags | segment.flags;
                packets.drop(&packet);
                if is_last {
                    let merged = self.merging.remove(index);
                    self.deliver(now, merged.packet, watch);
                }
            }
            None if is_plain(&segment) && !segment.flags.contains(Flags::PSH) => {
                self.merging.push(Merged { packet, unit_bytes: segment.len });
            }
            None => self.deliver(now, packet, watch),
        }
    }
}

impl<O: Tracer> Watch<'_, O> {
    /// Tells the trace of time, if there is one.
    fn note(&self, note: impl FnOnce(&mut Trace)) {
        if O::ACCOUNTS {
            note(&mut self.tracer.trace());
        }
    }
}

/// Whether a segment carries only data. PSH is allowed.
fn is_plain(segment: &Segment) -> bool {
    segment.len > 0
        && segment.flags.of_state() == Flags::ACK
        && !segment.flags.intersects(Flags::ECE | Flags::CWR)
        && segment.sack.is_empty()
}

impl Merged {
    /// Whether `next` can be merged: it must follow the held segment directly and have the same
    /// header fields, as in `tcp_gro_receive`. Only timestamps may differ, because those of the
    /// simulator are much finer than those of the kernel. The first timestamp is kept, because TCP
    /// must echo the earliest one (RFC 7323, 4.3).
    fn takes(&self, next: &Segment, merge_bytes: u32, packets: &Packets) -> bool {
        let held = packets.segment(&self.packet);
        is_plain(next)
            && next.seq == held.seq + u64::from(held.len)
            && next.len <= self.unit_bytes
            && next.ack == held.ack
            && next.ecn == held.ecn
            && held.len + next.len <= merge_bytes
    }
}
