//! Hosts around one switch, in closed form: what is ahead of the clock, and the event loop.
//!
//! Frames for an egress that only one host sends to may be judged as soon as they are sent, if the buffer
//! allows it ([`SwitchBuffer::PRIVATE_EGRESS`]). A host does so for all of its frames or for none, and who
//! receives such frames sends none of them: so the calls end.

use netstudy_fabric::switch::Arrival;
use netstudy_fabric::topology::CableEnd;
use netstudy_fabric::{PortCounters, SwitchBuffer, Verdict};
use netstudy_random::Stream;
use netstudy_ring::Ring;
use netstudy_tcp::{Ecn, Outlet, Segment};
use netstudy_units::{Duration, Time};
use netstudy_workload::Traffic;

use super::agenda::Agenda;
use super::limits::Limits;
use super::nic::Nic;
use super::{Counted, EndCounters, Frame, Moment, Network, Observer, Rest};
use crate::host::{EndIndex, Hosts};
use crate::measure::{OnIteration, Outcome};
use crate::wiring;

/// What lies between a host and the switch, and the port that it is behind.
struct Line<L> {
    nic: Nic<L>,
    /// Frames on the way to the switch.
    to_switch: Ring<Frame>,
    /// Whether its frames are judged as soon as they are sent.
    sends_ahead: bool,
    port: PortCounters,
    /// Where its interface is.
    at: CableEnd,
}

/// A switch with the buffer architecture `B`.
struct Switch<B, O> {
    buffer: B,
    latency: Duration,
    observer: O,
}

/// Hosts around one switch with the buffer architecture `B`; the interfaces have the limits `L`.
pub(crate) struct Star<B, L, O> {
    /// Which port's first frame on the way is at the switch next.
    arrivals: Agenda,
    lines: Box<[Line<L>]>,
    switch: Switch<B, O>,
    arbitration: Stream,
    /// Ends of all links of the run.
    cable_ends: usize,
}

/// The star, as a host sees it that receives a frame sent ahead.
struct Behind<'a, B, L, O>(&'a mut Star<B, L, O>);

impl<B: SwitchBuffer<Frame>, O: Observer> Switch<B, O> {
    /// The switch judges a frame that has arrived, or whose arrival nothing else can influence. When
    /// the frame leaves, if that is known by now. `port` counts for the egress.
    #[inline(always)]
    fn judge(
        &mut self,
        ingress: usize,
        egress: usize,
        port: &mut PortCounters,
        frame: &mut Frame,
    ) -> Option<Time> {
        let arrival = Arrival {
            now: frame.arrival,
            ready: frame.arrival + self.latency,
            ingress: ingress as u32,
            egress: egress as u32,
            frame_bytes: frame.frame_bytes,
        };
        self.observer.note(Moment::Arrived(ingress), frame.arrival, frame);
        let verdict = self.buffer.offer(&arrival, frame);
        if verdict == Verdict::Dropped {
            port.frames_dropped += 1;
            port.bytes_dropped += u64::from(frame.frame_bytes);
            self.observer.note(Moment::Dropped(egress), frame.arrival, frame);
            return None;
        }
        port.frames_forwarded += 1;
        port.bytes_forwarded += u64::from(frame.frame_bytes);
        match verdict {
            Verdict::Departs(departs) => Some(departs),
            Verdict::Marked(departs) => {
                frame.segment.ecn = mark(frame.segment.ecn, port);
                Some(departs)
            }
            Verdict::Dropped | Verdict::Held => None,
        }
    }
}

/// The mark is left on a frame that is subject to marks, and on no other (RFC 3168, 5).
#[cold]
#[inline(never)]
fn mark(ecn: Ecn, port: &mut PortCounters) -> Ecn {
    if ecn == Ecn::NotEct {
        return ecn;
    }
    port.frames_marked += 1;
    Ecn::Ce
}

impl<B: SwitchBuffer<Frame>, L: Limits, O: Observer> Star<B, L, O> {
    /// `sends_ahead` says of each host whether its frames are judged as soon as they are sent.
    pub(crate) fn new(
        star: &wiring::Star<'_>,
        seed: &str,
        sends_ahead: &[bool],
        buffer: B,
        observer: O,
    ) -> Self {
        let switch = star.switch;
        let line = |(line, &sends_ahead): (&wiring::Line<'_>, &bool)| Line {
            nic: Nic::new(line.interface, switch.cuts_through(&line.interface.link), seed),
            to_switch: Ring::new(),
            sends_ahead,
            port: PortCounters::default(),
            at: line.at,
        };
        let stream = |name| Stream::new(seed, &format!("{}/{name}", switch.name));
        Self {
            arrivals: Agenda::new(stream("arrivals").bits()),
            lines: star.lines.iter().zip(sends_ahead).map(line).collect(),
            switch: Switch { buffer, latency: switch.latency, observer },
            arbitration: stream("arbitration"),
            cable_ends: star.cable_ends,
        }
    }

    /// Carries the traffic of `hosts` out; `on_iteration` hears of each iteration that has ended.
    pub(crate) fn run<T: Traffic>(
        mut self,
        hosts: &mut Hosts<T>,
        on_iteration: &mut OnIteration<'_>,
    ) -> Result<Outcome, String> {
        loop {
            let (port, arrival) = self.arrivals.earliest();
            let (host, timer) = hosts.next_timer();
            let grant = self.switch.buffer.next_grant();
            let read = hosts.measure.due();
            let now = arrival.min(timer).min(grant).min(read);
            // The order at equal times, as the crate's documentation says.
            if timer == now {
                hosts.measure.check_progress(now)?;
                hosts.fire_timers(&mut self, host, timer);
            } else if grant == now {
                self.handle_grant(hosts);
            } else if arrival == now {
                self.handle_arrival(hosts, port);
            } else if let Some(outcome) = hosts.read(&self, on_iteration)? {
                return Ok(outcome);
            }
        }
    }

    /// The frame at the head of `port` has arrived at the switch.
    #[inline(always)]
    fn handle_arrival<T: Traffic>(&mut self, hosts: &mut Hosts<T>, port: usize) {
        let queue = &mut self.lines[port].to_switch;
        let mut frame = *queue.front().expect("a port has an arrival only with a frame on the way");
        queue.drop_front();
        self.arrivals.advance(queue.front().map(|next| next.arrival));
        let egress = hosts.host_of(frame.to);
        let counters = &mut self.lines[egress].port;
        if let Some(departs) = self.switch.judge(port, egress, counters, &mut frame) {
            deliver(self, hosts, egress, departs, &frame);
        }
    }

    fn handle_grant<T: Traffic>(&mut self, hosts: &mut Hosts<T>) {
        let Some(mut grant) = self.switch.buffer.grant(&mut self.arbitration) else { return };
        let egress = grant.egress as usize;
        if grant.marked {
            let ecn = &mut grant.frame.segment.ecn;
            *ecn = mark(*ecn, &mut self.lines[egress].port);
        }
        deliver(self, hosts, egress, grant.departs, &grant.frame);
    }

    /// The last bit of a frame leaves by the port `egress` at `departs`. When it is with the TCP of the
    /// host there, unless the ring is full.
    #[inline(always)]
    fn take_in(&mut self, egress: usize, departs: Time, frame: &Frame) -> Option<Time> {
        let observer = &mut self.switch.observer;
        let nic = &mut self.lines[egress].nic;
        observer.note(Moment::Left(egress), departs, frame);
        let there = nic.receive(departs, frame.frame_bytes);
        match there {
            Some(now) => observer.note(Moment::Delivered(egress), now, frame),
            None => observer.note(Moment::RingDropped(egress), departs + nic.delay(), frame),
        }
        there
    }

    /// The host `host` sends a segment that has to wait for its turn at the switch.
    #[inline(always)]
    fn send_behind(&mut self, now: Time, host: usize, to: EndIndex, segment: Segment) {
        let line = &mut self.lines[host];
        let mut outlet = LineOutlet { line, arrivals: &mut self.arrivals, host, to, now };
        outlet.send(segment);
    }
}

/// As [`Star::take_in`]; the host hears of it.
#[inline(always)]
fn deliver<T: Traffic, B: SwitchBuffer<Frame>, L: Limits, O: Observer>(
    star: &mut Star<B, L, O>,
    hosts: &mut Hosts<T>,
    egress: usize,
    departs: Time,
    frame: &Frame,
) {
    if let Some(now) = star.take_in(egress, departs, frame) {
        hosts.receive(star, now, frame.to, &frame.segment);
    }
}

impl<T: Traffic, B: SwitchBuffer<Frame>, L: Limits, O: Observer> Network<T> for Star<B, L, O> {
    #[inline(always)]
    fn send(&mut self, hosts: &mut Hosts<T>, now: Time, from: EndIndex, segment: Segment) {
        let host = hosts.host_of(from);
        let line = &mut self.lines[host];
        if !(B::PRIVATE_EGRESS && line.sends_ahead) {
            self.send_behind(now, host, from.peer(), segment);
            return;
        }
        let Some(mut frame) = line.nic.send_ahead(now, from.peer(), segment) else { return };
        let egress = hosts.host_of(frame.to);
        let counters = &mut self.lines[egress].port;
        let Some(departs) = self.switch.judge(host, egress, counters, &mut frame) else { return };
        if let Some(now) = self.take_in(egress, departs, &frame) {
            hosts.receive(&mut Behind(self), now, frame.to, &frame.segment);
        }
    }

    #[inline(always)]
    fn outlet(&mut self, now: Time, host: usize, from: EndIndex) -> Option<impl Outlet> {
        let line = &mut self.lines[host];
        if B::PRIVATE_EGRESS && line.sends_ahead {
            return None;
        }
        Some(LineOutlet { line, arrivals: &mut self.arrivals, host, to: from.peer(), now })
    }
}

impl<T: Traffic, B: SwitchBuffer<Frame>, L: Limits, O: Observer> Network<T>
    for Behind<'_, B, L, O>
{
    #[inline(always)]
    fn send(&mut self, hosts: &mut Hosts<T>, now: Time, from: EndIndex, segment: Segment) {
        self.0.send_behind(now, hosts.host_of(from), from.peer(), segment);
    }

    #[inline(always)]
    fn outlet(&mut self, now: Time, host: usize, from: EndIndex) -> Option<impl Outlet> {
        let line = &mut self.0.lines[host];
        debug_assert!(!line.sends_ahead, "who receives frames sent ahead sends none ahead");
        Some(LineOutlet { line, arrivals: &mut self.0.arrivals, host, to: from.peer(), now })
    }
}

impl<B: SwitchBuffer<Frame>, L: Limits, O: Observer> Counted for Star<B, L, O> {
    fn ends(&self) -> Vec<EndCounters> {
        let mut ends = vec![EndCounters::default(); self.cable_ends];
        for (port, line) in self.lines.iter().enumerate() {
            ends[line.at.number()].nic = *line.nic.counters();
            let end = &mut ends[line.at.far().number()];
            end.port = line.port;
            end.queue_bytes_max = self.switch.buffer.queue_bytes_max(port as u32);
        }
        ends
    }

    fn frames_dropped(&self) -> u64 {
        self.lines.iter().map(|line| line.port.frames_dropped).sum()
    }

    fn rest(&self) -> Rest {
        let on_the_way: usize = self.lines.iter().map(|line| line.to_switch.len()).sum();
        let judged = |line: &Line<L>| line.port.frames_forwarded + line.port.frames_dropped;
        Rest {
            frames_sent: self.lines.iter().map(|line| line.nic.counters().frames_sent).sum(),
            frames_ended: self.lines.iter().map(judged).sum(),
            frames_under_way: on_the_way as u64,
        }
    }
}

/// The line of the host `host`, at `now`, for segments to the end `to`.
struct LineOutlet<'a, L> {
    line: &'a mut Line<L>,
    arrivals: &'a mut Agenda,
    host: usize,
    to: EndIndex,
    now: Time,
}

impl<L: Limits> Outlet for LineOutlet<'_, L> {
    #[inline(always)]
    fn send(&mut self, segment: Segment) {
        let Line { nic, to_switch, .. } = &mut *self.line;
        if let Some(frame) = nic.send(self.now, self.to, segment, to_switch) {
            if to_switch.is_empty() {
                self.arrivals.add(self.host, frame.arrival);
            }
            to_switch.push_back(frame);
        }
    }
}

/// Which hosts may send ahead: each is the only one that sends to any of its peers, and none of them
/// sends ahead.
pub(crate) fn who_sends_ahead(hosts: usize, connections: &[[usize; 2]]) -> Vec<bool> {
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
