//! Hosts around one switch, in closed form: hosts run ahead of the clock, so there are few events.
//!
//! If an egress gets frames from only one host, this host may send them ahead: the switch judges a
//! frame as soon as it is sent. There are two more conditions: the buffer must allow it
//! ([`SwitchBuffer::is_private`]), and no earlier frame of the host may be in flight. The receiver
//! of a frame that was sent ahead acts at once, within the call that sends the frame. So such a
//! host never sends ahead itself; otherwise calls could be nested without end.

use core::marker::PhantomData;

use netstudy_fabric::switch::Arrival;
use netstudy_fabric::topology::CableEnd;
use netstudy_fabric::{FrameSizes, PortCounters, SwitchBuffer, Verdict};
use netstudy_random::Stream;
use netstudy_ring::Ring;
use netstudy_tcp::{Ecn, Outlet, Segment};
use netstudy_units::{Duration, Time};
use netstudy_workload::Traffic;

use super::event_queue::EventQueue;
use super::frame::Frame;
use super::limits::Limits;
use super::nic::Nic;
use super::trace::{TracePoint, Tracer};
use crate::end_index::EndIndex;
use crate::host::{Hosts, Network};
use crate::measure::control::OnSamples;
use crate::measure::counted::Counted;
use crate::measure::outcome::Outcome;
use crate::measure::{Measure, Rare};
use crate::snapshot::{Carried, EndCounters, Frames, NicCounters};
use crate::wiring;

/// The interface of a host, its link to the switch, and the switch port at the other end.
pub(crate) struct Line<L> {
    nic: Nic<L>,
    /// Frames in flight to the switch.
    to_switch: Ring<Frame>,
    /// True if the switch may judge a frame of this host as soon as it is sent, before it arrives.
    sends_ahead: bool,
    /// The destination of all frames of the host, if it has only one connection.
    only: Option<Destination>,
    port: PortCounters,
    /// The link end of the interface. The port is at the other end of the link.
    at: CableEnd,
}

/// Destination of a frame. If a host has only one connection, its destination is stored with the
/// host, for speed: the frame is often no longer in the cache, so reading the destination from the
/// frame would delay everything that depends on it.
#[derive(Clone, Copy)]
struct Destination {
    host: u32,
    end: EndIndex,
}

/// A switch with the buffer architecture `B`.
struct Switch<B, O> {
    buffer: B,
    latency: Duration,
    tracer: O,
}

/// Hosts around one switch with the buffer architecture `B`; the interfaces have the limits `L`.
pub(crate) struct Star<B, L, O> {
    /// The ports that have frames in flight to the switch, ordered by the arrival time of their
    /// first frame.
    arrivals: EventQueue,
    /// For each [`EndIndex`], the host at this end. A separate array, because a small one stays in
    /// the cache, and it is the first thing that is read for each frame.
    host_of: Box<[u32]>,
    switch: Switch<B, O>,
    arbitration: Stream,
    /// Number of link ends in the network.
    cable_ends: usize,
    limits: PhantomData<L>,
}

/// The network that a host uses when it acts on a frame that was sent ahead. It is the same star,
/// but does not send the host's own frames ahead.
struct Behind<'a, B, L, O>(&'a mut Star<B, L, O>);

impl<B: SwitchBuffer<Frame>, O: Tracer> Switch<B, O> {
    /// Describes the arrival of a frame, as input of the buffer.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn arrival(&self, ingress: usize, egress: usize, frame: &Frame) -> Arrival {
        Arrival {
            now: frame.arrival,
            ready: frame.arrival + self.latency,
            ingress: ingress as u32,
            egress: egress as u32,
            frame_bytes: frame.frame_bytes,
        }
    }

    /// Judges a frame for the port `egress` of the host with the `line`. Either the frame has
    /// arrived, or nothing that happens before its arrival can change what the switch does. Returns
    /// when the TCP of the host gets the frame; none if the frame is dropped, or if the time is not
    /// known yet.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn judge<L: Limits>(
        &mut self,
        line: &mut Line<L>,
        measure: &mut Measure,
        ingress: usize,
        egress: usize,
        frame: &mut Frame,
    ) -> Option<Time> {
        let arrival = self.arrival(ingress, egress, frame);
        self.tracer.note(TracePoint::Arrived(ingress), frame.arrival, frame);
        let verdict = self.buffer.offer(&arrival, frame);
        if verdict == Verdict::Dropped {
            line.port.frames_dropped += 1;
            line.port.bytes_dropped += u64::from(frame.frame_bytes);
            // The drop is recorded with its time, because the clock may not have reached the
            // arrival of the frame yet.
            measure.count(frame.arrival, Rare::Drop(line.at.far().number(), frame.frame_bytes));
            self.tracer.note(TracePoint::Dropped(egress), frame.arrival, frame);
            return None;
        }
        line.port.frames_forwarded += 1;
        line.port.bytes_forwarded += u64::from(frame.frame_bytes);
        match verdict {
            Verdict::Departs(departs) => self.take_in(line, egress, departs, frame),
            Verdict::Marked(departs) => {
                frame.segment.ecn = mark(frame.segment.ecn, &mut line.port);
                self.take_in(line, egress, departs, frame)
            }
            Verdict::Dropped | Verdict::Held => None,
        }
    }

    /// Passes a frame to the host behind the port `egress`. Its last bit leaves the port at
    /// `departs`. Returns when the TCP of the host gets the frame; none if the ring is full.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn take_in<L: Limits>(
        &mut self,
        line: &mut Line<L>,
        egress: usize,
        departs: Time,
        frame: &Frame,
    ) -> Option<Time> {
        let tracer = &mut self.tracer;
        tracer.note(TracePoint::Left(egress), departs, frame);
        let there = line.nic.receive(departs, frame.frame_bytes);
        match there {
            Some(now) => tracer.note(TracePoint::Delivered(egress), now, frame),
            None => tracer.note(TracePoint::RingDropped(egress), departs + line.nic.delay(), frame),
        }
        there
    }
}

/// Marks a frame if it is ECN-capable (RFC 3168, 5).
#[cold]
#[inline(never)]
fn mark(ecn: Ecn, port: &mut PortCounters) -> Ecn {
    if ecn == Ecn::NotEct {
        return ecn;
    }
    port.frames_marked += 1;
    Ecn::Ce
}

impl<B: SwitchBuffer<Frame>, L: Limits, O: Tracer> Star<B, L, O> {
    pub(crate) fn new(
        star: &wiring::Star<'_>,
        seed: &str,
        connections: &[[usize; 2]],
        buffer: B,
        tracer: O,
    ) -> Self {
        let switch = star.switch;
        let stream = |name| Stream::new(seed, &format!("{}/{name}", switch.name));
        Self {
            arrivals: EventQueue::new(stream("arrivals").bits()),
            host_of: connections.iter().flatten().map(|&host| host as u32).collect(),
            switch: Switch { buffer, latency: switch.latency, tracer },
            arbitration: stream("arbitration"),
            cable_ends: star.cable_ends,
            limits: PhantomData,
        }
    }

    /// Runs the traffic of `hosts` to the end. Calls `on_samples` when samples have ended.
    pub(crate) fn run<T: Traffic>(
        mut self,
        hosts: &mut Hosts<'_, T, Line<L>>,
        on_samples: &mut OnSamples<'_>,
    ) -> Result<Outcome, String> {
        let mut hosts = hosts.again();
        loop {
            let (port, arrival) = self.arrivals.earliest();
            let (host, timer) = hosts.next_timer();
            let grant = self.switch.buffer.next_grant();
            let read = hosts.measure().due();
            let now = arrival.min(timer).min(grant).min(read);
            // The crate's documentation defines the order at equal times.
            if timer == now {
                hosts.measure().check_progress(now)?;
                hosts.again().fire_timers(&mut self, host, timer);
            } else if grant == now {
                self.handle_grant(&mut hosts);
            } else if arrival == now {
                self.handle_arrival(&mut hosts, port);
            } else if let Some(outcome) = hosts.again().read(&self, on_samples)? {
                return Ok(outcome);
            }
        }
    }

    /// Handles the arrival of the first frame in flight to `port`.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn handle_arrival<T: Traffic>(&mut self, hosts: &mut Hosts<'_, T, Line<L>>, port: usize) {
        let Line { to_switch: queue, only, .. } = hosts.line(port);
        let only = *only;
        let mut frame = *queue.front().expect("a port has an arrival only with a frame on the way");
        queue.drop_front();
        self.arrivals.advance(queue.front().map(|next| next.arrival));
        let Destination { host: egress, end } = match only {
            Some(only) => only,
            None => Destination { host: self.host_of[frame.to.index()], end: frame.to },
        };
        let egress = egress as usize;
        let (line, measure) = hosts.line_and_measure(egress);
        if let Some(now) = self.switch.judge(line, measure, port, egress, &mut frame) {
            hosts.receive(self, now, egress, end, &frame.segment);
        }
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn handle_grant<T: Traffic>(&mut self, hosts: &mut Hosts<'_, T, Line<L>>) {
        let Some(mut grant) = self.switch.buffer.grant(&mut self.arbitration) else { return };
        let egress = grant.egress as usize;
        let line = hosts.line(egress);
        let frame = &mut grant.frame;
        if grant.marked {
            frame.segment.ecn = mark(frame.segment.ecn, &mut line.port);
        }
        if let Some(now) = self.switch.take_in(line, egress, grant.departs, frame) {
            hosts.receive(self, now, egress, frame.to, &frame.segment);
        }
    }

    /// An outlet that does not send ahead: segments of the host `host` are judged when they arrive
    /// at the switch.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn outlet_behind<'a>(
        &'a mut self,
        line: &'a mut Line<L>,
        now: Time,
        host: usize,
        from: EndIndex,
    ) -> LineOutlet<'a, L> {
        LineOutlet { line, arrivals: &mut self.arrivals, host, to: from.peer(), now }
    }
}

impl<T: Traffic, B: SwitchBuffer<Frame>, L: Limits, O: Tracer> Network<T> for Star<B, L, O> {
    type Line = Line<L>;

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn send(
        &mut self,
        hosts: &mut Hosts<'_, T, Line<L>>,
        now: Time,
        host: usize,
        from: EndIndex,
        segment: Segment,
    ) -> Option<Time> {
        let line = hosts.line(host);
        if !(line.sends_ahead && line.to_switch.is_empty()) {
            return self.outlet_behind(line, now, host, from).send(segment);
        }
        let mut frame = line.nic.send_ahead(now, from.peer(), segment)?;
        let left_at = Some(line.nic.free_at());
        let egress = self.host_of[frame.to.index()] as usize;
        // Frames from other hosts may still reach the egress before this frame, so it is judged
        // only on arrival.
        if !self.switch.buffer.is_private(&self.switch.arrival(host, egress, &frame)) {
            self.outlet_behind(line, now, host, from).put(frame);
            return left_at;
        }
        line.nic.note_ahead(&frame);
        let (line, measure) = hosts.line_and_measure(egress);
        if let Some(now) = self.switch.judge(line, measure, host, egress, &mut frame) {
            hosts.receive(&mut Behind(self), now, egress, frame.to, &frame.segment);
        }
        left_at
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn room_at(
        &mut self,
        hosts: &mut Hosts<'_, T, Line<L>>,
        now: Time,
        from: EndIndex,
    ) -> (usize, Time) {
        let host = hosts.host_of(from);
        (host, hosts.line(host).room_at(now))
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn outlet<'a>(
        &'a mut self,
        line: &'a mut Line<L>,
        now: Time,
        host: usize,
        from: EndIndex,
    ) -> Option<impl Outlet + 'a> {
        if line.sends_ahead {
            return None;
        }
        Some(self.outlet_behind(line, now, host, from))
    }
}

impl<T: Traffic, B: SwitchBuffer<Frame>, L: Limits, O: Tracer> Network<T> for Behind<'_, B, L, O> {
    type Line = Line<L>;

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn send(
        &mut self,
        hosts: &mut Hosts<'_, T, Line<L>>,
        now: Time,
        host: usize,
        from: EndIndex,
        segment: Segment,
    ) -> Option<Time> {
        self.0.outlet_behind(hosts.line(host), now, host, from).send(segment)
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn room_at(
        &mut self,
        hosts: &mut Hosts<'_, T, Line<L>>,
        now: Time,
        from: EndIndex,
    ) -> (usize, Time) {
        self.0.room_at(hosts, now, from)
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn outlet<'a>(
        &'a mut self,
        line: &'a mut Line<L>,
        now: Time,
        host: usize,
        from: EndIndex,
    ) -> Option<impl Outlet + 'a> {
        debug_assert!(!line.sends_ahead, "who receives frames sent ahead sends none ahead");
        Some(self.0.outlet_behind(line, now, host, from))
    }
}

impl<T: Traffic, B: SwitchBuffer<Frame>, L: Limits, O: Tracer> Counted<T> for Star<B, L, O> {
    fn ends(&self, hosts: &Hosts<'_, T, Line<L>>, now: Time) -> Vec<EndCounters> {
        let mut ends = vec![EndCounters::default(); self.cable_ends];
        for (port, line) in hosts.lines().enumerate() {
            let (frames, bytes) = self.switch.buffer.held_for(port as u32);
            ends[line.at.number()].nic = line.counters(now, &Carried { frames, bytes });
            let end = &mut ends[line.at.far().number()];
            end.port = line.port;
            end.port_received = line.judged().without(&Carried::of(line.nic.ahead_of(now)));
            end.port_received_sizes = line.judged_sizes().without(line.nic.ahead_of(now));
            end.queue_bytes_max = self.switch.buffer.queue_bytes_max(port as u32);
            end.queue_bytes = self.switch.buffer.queue_bytes(port as u32, now);
        }
        ends
    }

    fn frames(&self, hosts: &Hosts<'_, T, Line<L>>) -> Frames {
        let on_the_way: usize = hosts.lines().map(|line| line.to_switch.len()).sum();
        let judged = |line: &Line<L>| line.port.frames_forwarded + line.port.frames_dropped;
        Frames {
            sent: hosts.lines().map(|line| line.nic.counters().sent.frames).sum(),
            ended: hosts.lines().map(judged).sum(),
            under_way: on_the_way as u64,
        }
    }
}

impl<L: Limits> Line<L> {
    /// When the interface's queue has room for a segment: at `now`, or when a frame leaves.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn room_at(&self, now: Time) -> Time {
        self.nic.room_at(now, &self.to_switch, 0)
    }

    /// Counters of the interface at `now`. `held` are the frames for the interface that the switch
    /// still holds. The counts of received frames may include frames later than `now`, because the
    /// host may be ahead of the clock.
    fn counters(&self, now: Time, held: &Carried) -> NicCounters {
        let leaves = now + self.nic.delay();
        let later = self.to_switch.iter().rev().take_while(|frame| frame.arrival > leaves);
        let waiting = Carried::of(later.map(|frame| frame.frame_bytes));
        let counters = self.nic.counters();
        let sent = counters.sent.without(&waiting).without(&Carried::of(self.nic.ahead_of(leaves)));
        let PortCounters { frames_forwarded: frames, bytes_forwarded: bytes, .. } = self.port;
        let forwarded = Carried { frames, bytes };
        let received = forwarded.without(held).without(&self.nic.ring_dropped());
        NicCounters { sent, received, ..counters }
    }

    /// Frames sent by the interface that the switch has judged.
    fn judged(&self) -> Carried {
        self.nic.counters().sent.without(&Carried::of(self.on_the_way()))
    }

    /// Sizes of the frames in [`Self::judged`].
    fn judged_sizes(&self) -> FrameSizes {
        self.nic.sent_sizes().without(self.on_the_way())
    }

    /// Sizes of the frames sent by the interface that the switch has not judged yet.
    fn on_the_way(&self) -> impl Iterator<Item = u32> {
        self.to_switch.iter().map(|frame| frame.frame_bytes)
    }

    /// The lines of all hosts. If `sends_ahead`, those hosts send ahead that may do so.
    pub(crate) fn all(
        star: &wiring::Star<'_>,
        seed: &str,
        connections: &[[usize; 2]],
        sends_ahead: bool,
    ) -> Vec<Self> {
        let ahead = who_sends_ahead(star.lines.len(), connections);
        let only = only_destinations(star.lines.len(), connections);
        let line = |(host, (line, may)): (usize, (&wiring::Line<'_>, bool))| Self {
            nic: Nic::new(line.interface, star.switch.cuts_through(&line.interface.link), seed),
            to_switch: Ring::new(),
            sends_ahead: may && sends_ahead,
            only: only[host],
            port: PortCounters::default(),
            at: line.at,
        };
        star.lines.iter().zip(ahead).enumerate().map(line).collect()
    }
}

/// An outlet for segments that the host `host` sends at `now` to the connection end `to`.
struct LineOutlet<'a, L> {
    line: &'a mut Line<L>,
    arrivals: &'a mut EventQueue,
    host: usize,
    to: EndIndex,
    now: Time,
}

impl<L> LineOutlet<'_, L> {
    /// Adds a frame to those in flight to the switch.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn put(&mut self, frame: Frame) {
        if self.line.to_switch.is_empty() {
            self.arrivals.add(self.host, frame.arrival);
        }
        self.line.to_switch.push_back(frame);
    }
}

impl<L: Limits> Outlet for LineOutlet<'_, L> {
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn has_room(&mut self) -> bool {
        self.line.room_at(self.now) <= self.now
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn send(&mut self, segment: Segment) -> Option<Time> {
        let Line { nic, to_switch, .. } = &mut *self.line;
        let frame = nic.send(self.now, self.to, segment, to_switch)?;
        let left_at = nic.free_at();
        self.put(frame);
        Some(left_at)
    }
}

/// For each host: the destination of its frames if it has exactly one connection, otherwise none.
fn only_destinations(hosts: usize, connections: &[[usize; 2]]) -> Vec<Option<Destination>> {
    let mut counts = vec![0; hosts];
    let mut only = vec![None; hosts];
    for (&[opener, peer], number) in connections.iter().zip(0..) {
        let [own, far] = [EndIndex(2 * number), EndIndex(2 * number + 1)];
        for (host, to, end) in [(opener, peer, far), (peer, opener, own)] {
            counts[host] += 1;
            only[host] = (counts[host] == 1).then_some(Destination { host: to as u32, end });
        }
    }
    only
}

/// Which hosts may send ahead. A host may if each of its peers has no other peer, and none of its
/// peers sends ahead.
fn who_sends_ahead(hosts: usize, connections: &[[usize; 2]]) -> Vec<bool> {
    let mut peers = vec![Vec::new(); hosts];
    for &[one, other] in connections {
        peers[one].push(other);
        peers[other].push(one);
    }
    let mut ahead = vec![false; hosts];
    for host in 0..hosts {
        let is_alone = |&peer: &usize| !ahead[peer] && peers[peer].iter().all(|&p| p == host);
        ahead[host] = peers[host].iter().all(is_alone);
    }
    ahead
}
