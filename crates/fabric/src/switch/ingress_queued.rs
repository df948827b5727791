use alloc::vec;
use alloc::vec::Vec;

use netstudy_ring::Ring;
use netstudy_units::{Duration, Time};

use super::{Arrival, Chance, Grant, NEVER_MARKED, SwitchBuffer, Verdict};
use crate::stepped::{Admission, Architecture, Pulled, Room};
use crate::{Link, Transmitter};

/// A private buffer at each ingress port, in virtual output queues; egress ports pull from them.
///
/// An egress pulls the next frame when no more than its own small stage is left to be sent, from one
/// of the ingress ports that have one for it: the next in turn, or, for a share of the choices, any.
#[derive(Clone, Debug)]
pub struct IngressQueued<F> {
    ingress_buffer_bytes: u64,
    reserved_bytes: u32,
    random_pct: u32,
    marked_above_bytes: u64,
    occupied: Vec<u64>,
    egresses: Vec<Egress<F>>,
    /// Egress ports that have something to pull.
    waiting: Vec<u32>,
    next_grant: Time,
    held: usize,
}

#[derive(Clone, Debug)]
struct Egress<F> {
    transmitter: Transmitter,
    /// How long before the wire is free the next frame is pulled.
    lead: Duration,
    queues: VirtualQueues<F>,
}

/// The virtual output queues of one egress, and whose turn it is.
#[derive(Clone, Debug)]
struct VirtualQueues<F> {
    /// By ingress port, as far as any was used.
    queues: Vec<Ring<Waiting<F>>>,
    /// Ingress ports with a frame for this egress, ascending.
    nonempty: Vec<u32>,
    /// The ingress port served last.
    last: u32,
    queued_bytes: u64,
    queued_bytes_max: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Waiting<F> {
    frame: F,
    ready: Time,
    frame_bytes: u32,
}

impl<F: Copy + Default> IngressQueued<F> {
    /// A switch with a port for each of `links`; `random_pct` of the choices are made at random.
    #[must_use]
    pub fn new(
        links: &[Link],
        ingress_buffer_bytes: u64,
        egress_buffer_bytes: u32,
        random_pct: u32,
    ) -> Self {
        let egress = |link: &Link| Egress::new(*link, egress_buffer_bytes);
        Self {
            ingress_buffer_bytes,
            reserved_bytes: 0,
            random_pct,
            marked_above_bytes: NEVER_MARKED,
            occupied: vec![0; links.len()],
            egresses: links.iter().map(egress).collect(),
            waiting: Vec::new(),
            next_grant: Time::NEVER,
            held: 0,
        }
    }

    /// Lets a frame in only where one of `bytes` would have room, since a switch that cuts through does
    /// not know how long a frame will be.
    #[must_use]
    pub const fn reserving(mut self, bytes: u32) -> Self {
        self.reserved_bytes = bytes;
        self
    }

    /// Marks frames that leave more than `bytes` waiting for the same egress behind them.
    #[must_use]
    pub const fn marking_above(mut self, bytes: u64) -> Self {
        self.marked_above_bytes = bytes;
        self
    }

    fn find_next_grant(&self) -> Time {
        let times = self.waiting.iter().map(|&port| self.egresses[port as usize].grant_at());
        times.min().unwrap_or(Time::NEVER)
    }

    /// The egress whose choice is due; the lowest port of several.
    fn due(&self) -> Option<u32> {
        let is_due = |&&port: &&u32| self.egresses[port as usize].grant_at() == self.next_grant;
        self.waiting.iter().filter(is_due).min().copied()
    }

    fn hold(&mut self, arrival: &Arrival, frame: &F) {
        let egress = &mut self.egresses[arrival.egress as usize];
        if egress.queues.nonempty.is_empty() {
            self.waiting.push(arrival.egress);
        }
        egress.queues.push(arrival, frame);
        self.occupied[arrival.ingress as usize] += u64::from(arrival.frame_bytes);
        self.held += 1;
        self.next_grant = self.next_grant.min(egress.grant_at());
    }
}

impl<F: Copy + Default> Egress<F> {
    fn new(link: Link, buffer_bytes: u32) -> Self {
        Self {
            lead: link.serialization(buffer_bytes),
            transmitter: Transmitter::new(link),
            queues: VirtualQueues::new(),
        }
    }

    #[inline]
    fn grant_at(&self) -> Time {
        self.transmitter.free_at().saturating_sub(self.lead)
    }
}

impl<F: Copy + Default> VirtualQueues<F> {
    const fn new() -> Self {
        Self {
            queues: Vec::new(),
            nonempty: Vec::new(),
            last: 0,
            queued_bytes: 0,
            queued_bytes_max: 0,
        }
    }

    #[inline(always)]
    fn push(&mut self, arrival: &Arrival, frame: &F) {
        let ingress = arrival.ingress as usize;
        if self.queues.len() <= ingress {
            self.queues.resize_with(ingress + 1, Ring::new);
        }
        let queue = &mut self.queues[ingress];
        if queue.is_empty() {
            let place = self.nonempty.partition_point(|&port| port < arrival.ingress);
            self.nonempty.insert(place, arrival.ingress);
        }
        let frame_bytes = arrival.frame_bytes;
        queue.push_back(Waiting { frame: *frame, ready: arrival.ready, frame_bytes });
        self.queued_bytes += u64::from(frame_bytes);
        self.queued_bytes_max = self.queued_bytes_max.max(self.queued_bytes);
    }

    /// Takes a frame from the next ingress port in turn, or from a random one.
    #[inline(always)]
    fn pull(&mut self, random_pct: u32, chance: &mut impl Chance) -> (u32, Waiting<F>) {
        let count = self.nonempty.len() as u32;
        let place = if count > 1 && chance.below(100) < random_pct {
            chance.below(count) as usize
        } else {
            self.nonempty.partition_point(|&port| port <= self.last) % count as usize
        };
        let ingress = self.nonempty[place];
        let queue = &mut self.queues[ingress as usize];
        let waiting = queue.pop_front().expect("a port is listed while its queue holds a frame");
        if queue.is_empty() {
            self.nonempty.remove(place);
        }
        self.last = ingress;
        self.queued_bytes -= u64::from(waiting.frame_bytes);
        (ingress, waiting)
    }
}

impl<F: Copy + Default> SwitchBuffer<F> for IngressQueued<F> {
    #[inline(always)]
    fn offer(&mut self, arrival: &Arrival, frame: &F) -> Verdict {
        let egress = &mut self.egresses[arrival.egress as usize];
        if egress.queues.nonempty.is_empty() && egress.grant_at() <= arrival.now {
            egress.queues.last = arrival.ingress;
            return Verdict::Departs(
                egress.transmitter.transmit(arrival.ready, arrival.frame_bytes),
            );
        }
        let occupied = self.occupied[arrival.ingress as usize];
        let room = u64::from(arrival.frame_bytes.max(self.reserved_bytes));
        if occupied + room > self.ingress_buffer_bytes {
            return Verdict::Dropped;
        }
        self.hold(arrival, frame);
        Verdict::Held
    }

    #[inline]
    fn next_grant(&self) -> Time {
        self.next_grant
    }

    #[inline(always)]
    fn grant(&mut self, chance: &mut impl Chance) -> Option<Grant<F>> {
        let port = self.due()?;
        let now = self.next_grant;
        let egress = &mut self.egresses[port as usize];
        let (ingress, waiting) = egress.queues.pull(self.random_pct, chance);
        let departs = egress.transmitter.transmit(waiting.ready.max(now), waiting.frame_bytes);
        let marked = egress.queues.queued_bytes > self.marked_above_bytes;
        if egress.queues.nonempty.is_empty() {
            self.waiting.retain(|&other| other != port);
        }
        self.occupied[ingress as usize] -= u64::from(waiting.frame_bytes);
        self.held -= 1;
        self.next_grant = self.find_next_grant();
        Some(Grant { frame: waiting.frame, egress: port, departs, marked })
    }

    fn held(&self) -> usize {
        self.held
    }

    fn queue_bytes_max(&self, egress: u32) -> u64 {
        self.egresses[egress as usize].queues.queued_bytes_max
    }
}

/// The rule of [`IngressQueued`] for [`crate::stepped`].
#[derive(Clone, Debug)]
pub struct IngressBuffers<F> {
    ingress_buffer_bytes: u64,
    reserved_bytes: u32,
    random_pct: u32,
    marked_above_bytes: u64,
    occupied: Vec<u64>,
    /// By egress: its virtual output queues, and how long before its wire is free it takes a frame.
    egresses: Vec<(VirtualQueues<F>, Duration)>,
}

impl<F: Copy + Default> IngressBuffers<F> {
    /// As [`IngressQueued::new`].
    #[must_use]
    pub fn new(
        links: &[Link],
        ingress_buffer_bytes: u64,
        egress_buffer_bytes: u32,
        random_pct: u32,
    ) -> Self {
        let egress = |link: &Link| (VirtualQueues::new(), link.serialization(egress_buffer_bytes));
        Self {
            ingress_buffer_bytes,
            reserved_bytes: 0,
            random_pct,
            marked_above_bytes: NEVER_MARKED,
            occupied: vec![0; links.len()],
            egresses: links.iter().map(egress).collect(),
        }
    }

    /// As [`IngressQueued::reserving`].
    #[must_use]
    pub const fn reserving(mut self, bytes: u32) -> Self {
        self.reserved_bytes = bytes;
        self
    }

    /// As [`IngressQueued::marking_above`].
    #[must_use]
    pub const fn marking_above(mut self, bytes: u64) -> Self {
        self.marked_above_bytes = bytes;
        self
    }
}

impl<F: Copy + Default> Architecture<F> for IngressBuffers<F> {
    fn admit(
        &mut self,
        arrival: &Arrival,
        frame: &F,
        drained_at: impl FnOnce() -> Time,
    ) -> Admission {
        let (queues, lead) = &mut self.egresses[arrival.egress as usize];
        if queues.nonempty.is_empty() && drained_at().saturating_sub(*lead) <= arrival.now {
            queues.last = arrival.ingress;
            return Admission::Queued { marked: false };
        }
        let occupied = &mut self.occupied[arrival.ingress as usize];
        let room = u64::from(arrival.frame_bytes.max(self.reserved_bytes));
        if *occupied + room > self.ingress_buffer_bytes {
            return Admission::Dropped;
        }
        queues.push(arrival, frame);
        *occupied += u64::from(arrival.frame_bytes);
        Admission::Held
    }

    fn next_pull(&self, egress: u32, drained_at: impl FnOnce() -> Time) -> Time {
        let (queues, lead) = &self.egresses[egress as usize];
        if queues.nonempty.is_empty() { Time::NEVER } else { drained_at().saturating_sub(*lead) }
    }

    fn pull(&mut self, egress: u32, chance: &mut impl Chance) -> Option<Pulled<F>> {
        let queues = &mut self.egresses[egress as usize].0;
        if queues.nonempty.is_empty() {
            return None;
        }
        let (ingress, waiting) = queues.pull(self.random_pct, chance);
        self.occupied[ingress as usize] -= u64::from(waiting.frame_bytes);
        Some(Pulled {
            frame: waiting.frame,
            ready: waiting.ready,
            room: Room { ingress, egress, frame_bytes: waiting.frame_bytes },
            marked: queues.queued_bytes > self.marked_above_bytes,
        })
    }

    fn ingress_bytes(&self, ingress: u32) -> u64 {
        self.occupied[ingress as usize]
    }

    fn queue_bytes_max(&self, egress: u32) -> u64 {
        self.egresses[egress as usize].0.queued_bytes_max
    }
}
