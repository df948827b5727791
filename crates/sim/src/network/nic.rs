//! The interface of a host, in closed form.

use netstudy_fabric::{CUT_THROUGH_BYTES, FrameSizes, Link, Transmitter, ethernet};
use netstudy_ring::Ring;
use netstudy_tcp::Segment;
use netstudy_units::{Duration, Serializer, Time};

use super::frame::Frame;
use super::jitter::ReceiveJitter;
use super::limits::{Limits, Unlimited};
use crate::account::ReceiveTimes;
use crate::end_index::EndIndex;
use crate::snapshot::{Carried, NicCounters};
use crate::wiring::InterfaceKind;

/// The interface of a host: a FIFO that sends frames on a link, and the costs of receiving frames.
#[derive(Clone, Debug)]
pub(crate) struct Nic<L = Unlimited> {
    limits: L,
    transmitter: Transmitter,
    queue_frames: usize,
    /// A segment that the full queue does not take is held back by its connection, and so is no
    /// drop.
    holds_back: bool,
    send_latency: Duration,
    interrupt_delay: Duration,
    receive_latency: Duration,
    receive_frame: Duration,
    receive_rate: Option<Serializer>,
    /// Whether receiving takes no time except `receive_latency`.
    receives_at_once: bool,
    jitter: Option<Box<ReceiveJitter>>,
    /// The time at which the CPU has handled all frames received so far.
    cpu_free_at: Time,
    delay: Duration,
    cuts_through: bool,
    /// Frames that were judged ahead of their arrival ([`Self::note_ahead`]): when they arrive at
    /// the switch, and their sizes. Frames that have arrived are removed when the list has
    /// `look_at` entries, or when a frame is sent while no other is in flight.
    ahead: Ring<(Time, u32)>,
    look_at: usize,
    /// Sizes of the frames accepted by the transmit queue. They also give the number of frames.
    sent_sizes: FrameSizes,
    sent_bytes: u64,
    queue_drops: u64,
    ring_dropped: Carried,
}

/// Frames that have arrived are removed from the list `ahead` only when it has at least this many
/// entries. With a larger number, each interface would use more memory for its list, and so more of
/// the cache.
const LOOK_AT_MIN: usize = 16;

/// When a switch can judge a frame that arrives over `link`, not counting the propagation delay.
/// The last bit of the frame leaves the other end of the link at `departs`.
#[cfg_attr(not(debug_assertions), inline(always))]
pub(super) fn judged(link: &Link, cuts_through: bool, departs: Time, frame_bytes: u32) -> Time {
    if !cuts_through {
        return departs;
    }
    let rest = link.serialization(frame_bytes) - link.serialization(CUT_THROUGH_BYTES);
    departs.saturating_sub(rest)
}

impl<L: Limits> Nic<L> {
    /// The interface of a host in the run with the seed `seed`.
    pub(crate) fn new(kind: &InterfaceKind, cuts_through: bool, seed: &str) -> Self {
        let receives_at_once = kind.receive.costs_no_time();
        Self {
            limits: L::new(&kind.receive),
            transmitter: Transmitter::new(kind.link),
            queue_frames: kind.transmit_queue_frames,
            holds_back: kind.holds_back,
            send_latency: kind.send_latency,
            interrupt_delay: kind.receive.interrupt_delay,
            receive_latency: kind.receive.latency,
            receive_frame: kind.receive.per_frame,
            receive_rate: kind.receive.rate,
            receives_at_once,
            jitter: ReceiveJitter::new(&kind.receive, seed, &kind.stream),
            cpu_free_at: Time::ZERO,
            delay: kind.link.delay(),
            cuts_through,
            ahead: Ring::new(),
            look_at: kind.transmit_queue_frames.min(LOOK_AT_MIN),
            sent_sizes: FrameSizes::default(),
            sent_bytes: 0,
            queue_drops: 0,
            ring_dropped: Carried::default(),
        }
    }

    /// Propagation delay of the link.
    pub(crate) const fn delay(&self) -> Duration {
        self.delay
    }

    /// When the last bit of the last frame will have left the interface.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) const fn free_at(&self) -> Time {
        self.transmitter.free_at()
    }

    /// When the interface has taken in the last frame, and when the CPU has handled it.
    pub(crate) fn receive_times(&self) -> ReceiveTimes {
        ReceiveTimes { taken_in_at: self.limits.taken_in_at(), cpu_free_at: self.cpu_free_at }
    }

    /// As [`InterfaceKind::holds_back`].
    pub(crate) const fn holds_back(&self) -> bool {
        self.holds_back
    }

    /// Counters. The sent frames are all frames accepted so far. Received frames are not counted
    /// here: their number is that of the frames forwarded to the interface, minus
    /// [`Self::ring_dropped`].
    pub(crate) fn counters(&self) -> NicCounters {
        NicCounters {
            sent: Carried { frames: self.sent_sizes.total(), bytes: self.sent_bytes },
            received: Carried::default(),
            queue_drops: self.queue_drops,
            ring_drops: self.ring_dropped.frames,
        }
    }

    /// Sizes of all frames accepted for sending so far.
    pub(crate) const fn sent_sizes(&self) -> FrameSizes {
        self.sent_sizes
    }

    /// Sizes of the frames that were judged ahead of their arrival and arrive at the switch after
    /// `time`.
    pub(crate) fn ahead_of(&self, time: Time) -> impl Iterator<Item = u32> {
        let later = self.ahead.iter().rev().take_while(move |&&(arrival, _)| arrival > time);
        later.map(|&(_, frame_bytes)| frame_bytes)
    }

    /// Time from the end of the CPU's work on a frame until TCP gets the frame, without jitter.
    pub(crate) const fn receive_latency(&self) -> Duration {
        self.receive_latency
    }

    /// Receives a frame whose last bit left the switch at `departs`. Returns when TCP gets the
    /// frame; none if the frame finds the ring full. One CPU handles the frames in order. As long
    /// as there are frames, the CPU polls; otherwise it waits for an interrupt.
    #[inline]
    pub(crate) fn receive(&mut self, departs: Time, frame_bytes: u32) -> Option<Time> {
        let Some(there) = self.limits.take_in(departs + self.delay) else {
            self.drop_at_ring(frame_bytes);
            return None;
        };
        if self.receives_at_once {
            self.limits.ends(there);
            return Some(there + self.receive_latency);
        }
        let idles = there >= self.cpu_free_at;
        let begins = if idles { there + self.interrupt_delay } else { self.cpu_free_at };
        let bytes = self.receive_rate.map_or(Duration::ZERO, |rate| rate.time(frame_bytes));
        self.cpu_free_at = begins + self.receive_frame + bytes;
        self.limits.ends(self.cpu_free_at);
        let ready = self.cpu_free_at + self.receive_latency;
        Some(self.jitter.as_mut().map_or(ready, |jitter| jitter.put_off(ready)))
    }

    #[cold]
    fn drop_at_ring(&mut self, frame_bytes: u32) {
        self.ring_dropped.count(frame_bytes);
    }

    /// Frames dropped because the ring was full.
    pub(crate) const fn ring_dropped(&self) -> Carried {
        self.ring_dropped
    }

    /// Sends `segment` at `now`. Earlier frames in flight to the switch are in `on_the_way`, or
    /// were judged ahead. None if the transmit queue is full, because too many of these frames have
    /// not left yet.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn send(
        &mut self,
        now: Time,
        to: EndIndex,
        segment: Segment,
        on_the_way: &Ring<Frame>,
    ) -> Option<Frame> {
        let sent = on_the_way.len() + self.ahead.len();
        if sent >= self.queue_frames && self.is_queue_full(now, on_the_way) {
            self.queue_drops += u64::from(!self.holds_back);
            return None;
        }
        Some(self.transmit(now, to, segment))
    }

    /// Like [`Self::send`], but only if all frames in flight to the switch were judged ahead.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn send_ahead(
        &mut self,
        now: Time,
        to: EndIndex,
        segment: Segment,
    ) -> Option<Frame> {
        if self.is_full_ahead(now) {
            return None;
        }
        Some(self.transmit(now, to, segment))
    }

    /// Does the same as [`Self::send_ahead`] and [`Self::note_ahead`], but the caller stores the
    /// frame. Returns when the switch can judge the frame.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn send_bytes_ahead(&mut self, now: Time, frame_bytes: u32) -> Option<Time> {
        if self.is_full_ahead(now) {
            return None;
        }
        let arrival = self.transmit_bytes(now, frame_bytes);
        self.ahead.push_back((arrival, frame_bytes));
        Some(arrival)
    }

    /// Records a frame that the switch judges ahead of its arrival.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn note_ahead(&mut self, frame: &Frame) {
        self.ahead.push_back((frame.arrival, frame.frame_bytes));
    }

    /// When the transmit queue has room for a segment, at `now` or later; `sending` segments have
    /// yet to reach the queue. [`Time::NEVER`] if none of the frames in the queue makes room.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn room_at(&self, now: Time, on_the_way: &Ring<Frame>, sending: usize) -> Time {
        let sent = on_the_way.len() + self.ahead.len() + sending;
        if sent < self.queue_frames { now } else { self.next_room(now, on_the_way, sending) }
    }

    #[cold]
    fn next_room(&self, now: Time, on_the_way: &Ring<Frame>, sending: usize) -> Time {
        let left = now + self.delay;
        let behind = on_the_way.partition_point(|frame| frame.arrival <= left);
        let ahead = self.ahead.partition_point(|&(arrival, _)| arrival <= left);
        let queued = on_the_way.len() - behind + self.ahead.len() - ahead;
        if queued + sending < self.queue_frames {
            return now;
        }
        let waiting = on_the_way.iter().skip(behind).map(|frame| frame.arrival);
        let waiting = waiting.chain(self.ahead.iter().skip(ahead).map(|&(arrival, _)| arrival));
        waiting.min().map_or(Time::NEVER, |arrival| arrival.saturating_sub(self.delay))
    }

    /// Whether frames that were judged ahead fill the transmit queue. If so, counts a drop.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn is_full_ahead(&mut self, now: Time) -> bool {
        if self.transmitter.free_at() + self.delay <= now {
            self.ahead.clear();
            return false;
        }
        let is_full = self.ahead.len() >= self.look_at && self.is_queue_ahead_full(now);
        self.queue_drops += u64::from(is_full && !self.holds_back);
        is_full
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn transmit(&mut self, now: Time, to: EndIndex, segment: Segment) -> Frame {
        let frame_bytes = ethernet::frame_bytes(segment.ip_bytes());
        let arrival = self.transmit_bytes(now, frame_bytes);
        Frame { arrival, to, frame_bytes, segment }
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn transmit_bytes(&mut self, now: Time, frame_bytes: u32) -> Time {
        self.sent_sizes.count(frame_bytes);
        self.sent_bytes += u64::from(frame_bytes);
        let ready = self.limits.starts(now + self.send_latency, self.transmitter.free_at());
        let sent = self.transmitter.transmit(ready, frame_bytes);
        judged(self.transmitter.link(), self.cuts_through, sent, frame_bytes) + self.delay
    }

    /// Whether the transmit queue is full. A frame is still queued if it will arrive at the switch
    /// later than a frame that leaves now.
    #[cold]
    fn is_queue_full(&self, now: Time, on_the_way: &Ring<Frame>) -> bool {
        let left = now + self.delay;
        let behind = on_the_way.iter().rev().take_while(|frame| frame.arrival > left).count();
        behind + self.ahead_of(left).count() >= self.queue_frames
    }

    /// Like [`Self::is_queue_full`], if all frames in flight were judged ahead.
    #[cold]
    fn is_queue_ahead_full(&mut self, now: Time) -> bool {
        let left = now + self.delay;
        while self.ahead.front().is_some_and(|&(arrival, _)| arrival <= now) {
            self.ahead.drop_front();
        }
        let under_way = self.ahead.len();
        // The list is searched again only at twice this number, so that on average each entry is
        // examined about once.
        self.look_at = (2 * under_way).max(LOOK_AT_MIN).min(self.queue_frames);
        let queued = under_way - self.ahead.partition_point(|&(arrival, _)| arrival <= left);
        queued >= self.queue_frames
    }
}
