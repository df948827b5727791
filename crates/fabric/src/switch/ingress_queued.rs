use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use netstudy_ring::Ring;
use netstudy_units::{Duration, Time};
use serde::{Deserialize, Serialize};

use super::cells::Cells;
use super::{Arrival, Chance, Grant, NEVER_MARKED, Parameters, SwitchBuffer, Verdict};
use crate::stepped::{Admission, Architecture, Pulled, Room};
use crate::{FromConfig, Link, SwitchSetup, Transmitter};

/// The ingress buffers of a switch, and the scheduling of its egress ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IngressQueuedConfig {
    /// Buffer of each ingress port.
    pub ingress_buffer_bytes: u64,
    /// A frame takes whole cells of this size.
    pub ingress_cell_bytes: u32,
    /// Number of maximum-size frames for which a port must have room to admit a frame, if the port
    /// does not know the length of arriving frames ([`IngressBuffers::reserving`]).
    pub ingress_reserve_frames: u32,
    /// Bytes that an egress port may pull in advance, in addition to the frame on the wire. A
    /// larger value keeps the wire busy despite the latency of the switch, but makes the port
    /// choose its next frame earlier.
    pub egress_buffer_bytes: u32,
    /// Percentage of the egress ports' choices that are random.
    pub random_arbitration_pct: u32,
}

impl Parameters for IngressQueuedConfig {
    fn room_bytes(&self) -> u64 {
        self.ingress_buffer_bytes + u64::from(self.egress_buffer_bytes)
    }

    fn check(&self) -> Result<(), String> {
        match self.random_arbitration_pct {
            0..=100 => Ok(()),
            percent => Err(format!("random_arbitration_pct: {percent} is above 100")),
        }
    }
}

/// A private buffer at each ingress port, divided into virtual output queues. The egress ports pull
/// frames from these queues.
///
/// An egress port pulls the next frame when its unsent bytes fall to `egress_buffer_bytes`. It
/// chooses among the ingress ports that have a frame for it: round-robin, or at random for a given
/// share of the choices.
///
/// [`IngressBuffers`] decides on admission and on the next pull; this type adds departure times.
#[derive(Clone, Debug)]
pub struct IngressQueued<F> {
    buffers: IngressBuffers<F, Transmitter>,
    /// Egress ports that have a frame to pull.
    waiting: Vec<u32>,
    /// Time of the next pull, and the egress port that pulls. If several ports pull at that time,
    /// this is the lowest port.
    next_grant: (Time, u32),
}

/// Means that no egress port has a frame to pull.
const NO_GRANT: (Time, u32) = (Time::NEVER, 0);

impl<F: Copy + Default> IngressQueued<F> {
    /// A switch with a port for each of `links`.
    #[must_use]
    pub fn new(links: &[Link], config: &IngressQueuedConfig) -> Self {
        Self {
            buffers: IngressBuffers::with_wires(links, config, Transmitter::new),
            waiting: Vec::new(),
            next_grant: NO_GRANT,
        }
    }

    /// As [`IngressBuffers::reserving`].
    #[must_use]
    pub fn reserving(mut self, bytes: impl Fn(u32) -> u32) -> Self {
        self.buffers = self.buffers.reserving(bytes);
        self
    }

    /// As [`IngressBuffers::marking_above`].
    #[must_use]
    pub fn marking_above(mut self, bytes: u64) -> Self {
        self.buffers = self.buffers.marking_above(bytes);
        self
    }

    /// Time of the next pull of the egress port `port`, which must have a frame to pull; and the
    /// port itself.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn grant_of(&self, port: u32) -> (Time, u32) {
        let egress = &self.buffers.egresses[port as usize];
        (egress.pull_at(egress.wire.free_at()), port)
    }

    fn find_next_grant(&self) -> (Time, u32) {
        self.waiting.iter().map(|&port| self.grant_of(port)).min().unwrap_or(NO_GRANT)
    }
}

impl<F: Copy + Default> FromConfig<IngressQueuedConfig> for IngressQueued<F> {
    fn from_config(config: &IngressQueuedConfig, setup: &SwitchSetup<'_>) -> Self {
        let switch = Self::new(setup.links, config).reserving(setup.reserved_bytes);
        switch.marking_above(setup.marked_above_bytes)
    }
}

impl<F: Copy + Default> SwitchBuffer<F> for IngressQueued<F> {
    /// True if the egress port of the frame pulls it on arrival.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn is_private(&self, arrival: &Arrival) -> bool {
        self.buffers.passes_by(arrival, Transmitter::free_at)
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn offer(&mut self, arrival: &Arrival, frame: &F) -> Verdict {
        let holds_nothing = self.buffers.holds_nothing_for(arrival.egress);
        match self.buffers.judge(arrival, frame, Transmitter::free_at) {
            Admission::Dropped => Verdict::Dropped,
            Admission::Queued { marked } => {
                let wire = &mut self.buffers.egresses[arrival.egress as usize].wire;
                let departs = wire.transmit(arrival.ready, arrival.frame_bytes);
                Verdict::departs(departs, marked)
            }
            Admission::Held => {
                if holds_nothing {
                    self.waiting.push(arrival.egress);
                    self.next_grant = self.next_grant.min(self.grant_of(arrival.egress));
                }
                Verdict::Held
            }
        }
    }

    #[inline]
    fn next_grant(&self) -> Time {
        self.next_grant.0
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn grant(&mut self, chance: &mut impl Chance) -> Option<Grant<F>> {
        let (due, egress) = self.next_grant;
        if due == Time::NEVER {
            return None;
        }
        let place = self.buffers.choose(egress, chance);
        let Egress { wire, queues, .. } = &mut self.buffers.egresses[egress as usize];
        let &Waiting { ready, frame_bytes, ref frame } = queues.front(place);
        let departs = wire.transmit(ready.max(due), frame_bytes);
        let mut grant = Grant { frame: *frame, egress, departs, marked: false };
        self.buffers.take(egress, place);
        grant.marked = self.buffers.marks(egress);
        if self.buffers.holds_nothing_for(egress) {
            self.waiting.retain(|&other| other != egress);
        }
        self.next_grant = self.find_next_grant();
        Some(grant)
    }

    fn held(&self) -> usize {
        self.buffers.egresses.iter().map(|egress| egress.queues.frames()).sum()
    }

    fn held_for(&self, egress: u32) -> (u64, u64) {
        let queues = &self.buffers.egresses[egress as usize].queues;
        (queues.frames() as u64, queues.queued_bytes)
    }

    fn queue_bytes_max(&self, egress: u32) -> u64 {
        self.buffers.egresses[egress as usize].queues.queued_bytes_max
    }

    fn queue_bytes(&self, egress: u32, _now: Time) -> u64 {
        self.buffers.egresses[egress as usize].queues.queued_bytes
    }
}

/// The rules shared by [`IngressQueued`] and [`crate::stepped`]. [`IngressQueued`] stores the wire
/// `W` of each egress port here, next to the port's queues.
#[derive(Clone, Debug)]
pub struct IngressBuffers<F, W = ()> {
    config: IngressQueuedConfig,
    cells: Cells,
    marked_above_bytes: u64,
    ingresses: Vec<Ingress>,
    egresses: Vec<Egress<F, W>>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Ingress {
    /// Bytes of the occupied cells.
    occupied: u64,
    /// Minimum free space for a frame to be admitted.
    reserved_bytes: u64,
}

#[derive(Clone, Debug)]
struct Egress<F, W> {
    wire: W,
    /// The port pulls a frame this long before its wire becomes free.
    lead: Duration,
    queues: VirtualQueues<F>,
}

impl<F, W> Egress<F, W> {
    /// Time at which the port pulls, if its wire becomes free at `free_at`.
    #[cfg_attr(not(debug_assertions), inline(always))]
    const fn pull_at(&self, free_at: Time) -> Time {
        free_at.saturating_sub(self.lead)
    }
}

impl<F: Copy + Default> IngressBuffers<F> {
    /// As [`IngressQueued::new`].
    #[must_use]
    pub fn new(links: &[Link], config: &IngressQueuedConfig) -> Self {
        Self::with_wires(links, config, |_| ())
    }
}

impl<F: Copy + Default> FromConfig<IngressQueuedConfig> for IngressBuffers<F> {
    fn from_config(config: &IngressQueuedConfig, setup: &SwitchSetup<'_>) -> Self {
        let buffers = Self::new(setup.links, config).reserving(setup.reserved_bytes);
        buffers.marking_above(setup.marked_above_bytes)
    }
}

impl<F: Copy + Default, W> IngressBuffers<F, W> {
    fn with_wires(links: &[Link], config: &IngressQueuedConfig, wire: impl Fn(Link) -> W) -> Self {
        let egress = |link: &Link| Egress {
            wire: wire(*link),
            lead: link.serialization(config.egress_buffer_bytes),
            queues: VirtualQueues::new(),
        };
        Self {
            config: *config,
            cells: Cells::new(config.ingress_cell_bytes.max(1)),
            marked_above_bytes: NEVER_MARKED,
            ingresses: links.iter().map(|_| Ingress::default()).collect(),
            egresses: links.iter().map(egress).collect(),
        }
    }

    /// Admits a frame at an ingress port only if there is room for the configured number of frames
    /// of `bytes` each: a cut-through port does not know the length of an arriving frame.
    #[must_use]
    pub fn reserving(mut self, bytes: impl Fn(u32) -> u32) -> Self {
        for (port, ingress) in (0..).zip(&mut self.ingresses) {
            ingress.reserved_bytes =
                self.cells.bytes(bytes(port)) * u64::from(self.config.ingress_reserve_frames);
        }
        self
    }

    /// When a frame is pulled, marks it if more than `bytes` still wait for the same egress port.
    #[must_use]
    pub const fn marking_above(mut self, bytes: u64) -> Self {
        self.marked_above_bytes = bytes;
        self
    }

    /// Whether the frame that `egress` pulled last gets a congestion mark (ECN).
    #[inline]
    fn marks(&self, egress: u32) -> bool {
        self.egresses[egress as usize].queues.queued_bytes > self.marked_above_bytes
    }

    /// Index of the queue from which the egress port takes its next held frame.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn choose(&self, egress: u32, chance: &mut impl Chance) -> usize {
        self.egresses[egress as usize].queues.choose(self.config.random_arbitration_pct, chance)
    }

    /// Removes the first frame of one queue of the egress port; `place` is the index of the queue
    /// among the nonempty ones. Returns the frame's ingress port.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn take(&mut self, egress: u32, place: usize) -> u32 {
        let (ingress, frame_bytes) = self.egresses[egress as usize].queues.drop_front(place);
        self.ingresses[ingress as usize].occupied -= self.cells.bytes(frame_bytes);
        ingress
    }

    /// True if the egress port pulls the frame on arrival: the frame then takes no room in the
    /// ingress buffer.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn passes_by(&self, arrival: &Arrival, drained_at: impl FnOnce(&W) -> Time) -> bool {
        let egress = &self.egresses[arrival.egress as usize];
        egress.queues.nonempty.is_empty() && egress.pull_at(drained_at(&egress.wire)) <= arrival.now
    }

    /// Like [`Architecture::admit`], but `drained_at` is computed from the wire of the egress port.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn judge(
        &mut self,
        arrival: &Arrival,
        frame: &F,
        drained_at: impl FnOnce(&W) -> Time,
    ) -> Admission {
        let passes_by = self.passes_by(arrival, drained_at);
        let egress = &mut self.egresses[arrival.egress as usize];
        if passes_by {
            egress.queues.passed_by(arrival.ingress);
            return Admission::Queued { marked: false };
        }
        let ingress = &mut self.ingresses[arrival.ingress as usize];
        let taken = self.cells.bytes(arrival.frame_bytes);
        let needed = taken.max(ingress.reserved_bytes);
        if ingress.occupied + needed > self.config.ingress_buffer_bytes {
            return Admission::Dropped;
        }
        ingress.occupied += taken;
        egress.queues.push(arrival, frame);
        Admission::Held
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn holds_nothing_for(&self, egress: u32) -> bool {
        self.egresses[egress as usize].queues.nonempty.is_empty()
    }
}

impl<F: Copy + Default> Architecture<F> for IngressBuffers<F> {
    fn admit(
        &mut self,
        arrival: &Arrival,
        frame: &F,
        drained_at: impl FnOnce() -> Time,
    ) -> Admission {
        self.judge(arrival, frame, |()| drained_at())
    }

    fn next_pull(&self, egress: u32, drained_at: impl FnOnce() -> Time) -> Time {
        let egress = &self.egresses[egress as usize];
        if egress.queues.nonempty.is_empty() { Time::NEVER } else { egress.pull_at(drained_at()) }
    }

    fn pull(&mut self, _now: Time, egress: u32, chance: &mut impl Chance) -> Option<Pulled<F>> {
        if self.holds_nothing_for(egress) {
            return None;
        }
        let place = self.choose(egress, chance);
        let Waiting { frame, ready, frame_bytes } =
            *self.egresses[egress as usize].queues.front(place);
        let ingress = self.take(egress, place);
        let room = Room { ingress, egress, frame_bytes };
        Some(Pulled { frame, ready, room, marked: self.marks(egress) })
    }

    fn ingress_bytes(&self, ingress: u32) -> u64 {
        self.ingresses[ingress as usize].occupied
    }

    fn queue_bytes_max(&self, egress: u32) -> u64 {
        self.egresses[egress as usize].queues.queued_bytes_max
    }

    fn queue_bytes(&self, egress: u32) -> u64 {
        self.egresses[egress as usize].queues.queued_bytes
    }
}

/// The virtual output queues of one egress port, and the state of the port's round-robin.
#[derive(Clone, Debug)]
struct VirtualQueues<F> {
    /// One queue per ingress port, up to the highest port used so far.
    queues: Vec<Ring<Waiting<F>>>,
    /// Ingress ports with a frame for this egress, ascending.
    nonempty: Vec<u32>,
    /// The ingress port served last.
    last: u32,
    /// Index in `nonempty` of the port that is next in turn: the number of ports in `nonempty` that
    /// are not above `last`.
    turn: usize,
    queued_bytes: u64,
    queued_bytes_max: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Waiting<F> {
    frame: F,
    ready: Time,
    frame_bytes: u32,
}

impl<F: Copy + Default> VirtualQueues<F> {
    const fn new() -> Self {
        Self {
            queues: Vec::new(),
            nonempty: Vec::new(),
            last: 0,
            turn: 0,
            queued_bytes: 0,
            queued_bytes_max: 0,
        }
    }

    fn frames(&self) -> usize {
        self.queues.iter().map(Ring::len).sum()
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn push(&mut self, arrival: &Arrival, frame: &F) {
        let ingress = arrival.ingress as usize;
        if self.queues.len() <= ingress {
            self.queues.resize_with(ingress + 1, Ring::new);
        }
        let queue = &mut self.queues[ingress];
        if queue.is_empty() {
            let place = self.nonempty.partition_point(|&port| port < arrival.ingress);
            self.nonempty.insert(place, arrival.ingress);
            self.turn += usize::from(arrival.ingress <= self.last);
        }
        let frame_bytes = arrival.frame_bytes;
        queue.push_back(Waiting { frame: *frame, ready: arrival.ready, frame_bytes });
        self.queued_bytes += u64::from(frame_bytes);
        self.queued_bytes_max = self.queued_bytes_max.max(self.queued_bytes);
    }

    /// Records that a frame from `ingress` was pulled on arrival, while no frame was waiting.
    #[inline]
    const fn passed_by(&mut self, ingress: u32) {
        self.last = ingress;
        self.turn = 0;
    }

    /// Index in `nonempty` of the ingress port to serve: the next in turn or a random one.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn choose(&self, random_pct: u32, chance: &mut impl Chance) -> usize {
        let count = self.nonempty.len();
        if count > 1 && chance.below(100) < random_pct {
            chance.below(count as u32) as usize
        } else if self.turn < count {
            self.turn
        } else {
            0
        }
    }

    /// The first frame from the ingress port at `place` in `nonempty`.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn front(&self, place: usize) -> &Waiting<F> {
        let queue = &self.queues[self.nonempty[place] as usize];
        queue.front().expect("a port is listed while its queue holds a frame")
    }

    /// Removes the first frame from the ingress port at `place`. Returns the ingress port and the
    /// frame's size.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn drop_front(&mut self, place: usize) -> (u32, u32) {
        let frame_bytes = self.front(place).frame_bytes;
        let ingress = self.nonempty[place];
        let queue = &mut self.queues[ingress as usize];
        queue.drop_front();
        self.last = ingress;
        self.turn = place + 1;
        if queue.is_empty() {
            self.nonempty.remove(place);
            self.turn = place;
        }
        self.queued_bytes -= u64::from(frame_bytes);
        (ingress, frame_bytes)
    }
}
