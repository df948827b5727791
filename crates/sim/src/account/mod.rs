//! Where the time of units of work goes: a trace of a run, from which the time of each unit is
//! divided.
//!
//! Every event of a run, such as the arrival of a frame, is the end of a node. A node is an interval
//! in which time passed at one spot, and refers to the node that led to it (its parent), which ends
//! when it begins. A unit of work is the path from the node of its end back to its start, so the
//! parts of its time add up to the whole. There are two such paths: along the parents only (the
//! journey), and, wherever a node is a wait, along the work in front of it (the cause). This is the
//! critical path of the program activity graph (Yang and Miller, Critical path analysis for the
//! execution of parallel and distributed programs, 1988).
//!
//! The modules: [`frames`] follows a frame through devices, [`stepped`] through devices that are
//! simulated step by step, [`work`] follows packets and calls through the stations of a host,
//! [`steps`] follows the jobs of applications, [`ends`] notes why TCP sends and for which timers it
//! waits, [`walk`] divides the time of a unit, [`units`] adds up groups of units.

mod arena;
mod ends;
mod frames;
#[cfg(test)]
mod memory_tests;
#[cfg(test)]
mod random_tests;
mod record;
mod stepped;
mod steps;
mod units;
mod walk;
mod work;

use netstudy_records::{Reason, UnitKind};
use netstudy_tcp::Segment;
use netstudy_units::{Duration, Time};
use netstudy_workload::Because;

use arena::{Arena, NodeId};
use ends::EndState;
pub(crate) use ends::Fired;
pub(crate) use frames::ReceiveTimes;
use frames::{Receiver, Wire};
pub(crate) use record::Accounts;
pub(crate) use steps::{Job, MaybeTrace, SharedTrace};
use units::{Unit, Units, VIEWS};
use walk::{Adder, Broken, sending, walk};
use work::{AtStages, HostWork};
pub(crate) use work::{CpuWork, Device, Moves, Span};

use crate::applications::Cast;
use crate::end_index::EndIndex;
use crate::wiring::Wiring;

/// The length of the intervals into which unsized streams are divided.
const INTERVAL: Duration = Duration::from_ms(100);
/// At most so many connections of a stream are divided in each interval: the others in the next one.
const STREAMS_MAX: usize = 16;

/// The trace's notes about the application of a host.
#[derive(Clone, Copy, Debug, Default)]
struct HostState {
    /// The host's node.
    node: u32,
    /// The last event of which the application heard.
    heard: NodeId,
    /// The last action that followed only from the application's schedule.
    scheduled: NodeId,
}

/// The trace of a run.
#[derive(Debug)]
pub(crate) struct Trace {
    arena: Arena,
    event: NodeId,
    reason: Reason,
    /// The node, after the current event, of the reason for which data is sent now.
    marker: Option<(Reason, NodeId)>,
    /// The arrival that TCP handles next.
    arriving: NodeId,
    /// For each slot of a packet: the packet's last node.
    packets: Vec<NodeId>,
    wires: Vec<Wire>,
    receivers: Vec<Receiver>,
    ends: Vec<EndState>,
    /// For each end of a connection: its host's node.
    host_of_end: Vec<u32>,
    hosts: Vec<HostState>,
    /// The last step of each [`Job`].
    jobs: Vec<NodeId>,
    host_work: Vec<HostWork>,
    /// The packet at the stations of a host, in the current event.
    packet: NodeId,
    /// The packets at the stations, by interface.
    at_stages: Vec<AtStages>,
    /// The packet that leaves the stations for its interface.
    handled: Option<NodeId>,
    /// Number of the workload's connections.
    connections: usize,
    /// Whether data is sent by the end that opens a connection, and by the other end.
    senders: [bool; 2],
    units: Units,
    adder: Adder,
    /// How many intervals of streams have ended.
    intervals: usize,
    broken: Option<Broken>,
}

impl Trace {
    /// The trace of a run whose units of work are of this kind.
    pub(crate) fn new(wiring: &Wiring, cast: &Cast, kind: UnitKind) -> Self {
        let connections = cast.all_connections();
        let node_of = |member: usize| wiring.node_of(member) as u32;
        let hosts = (0..wiring.members.len())
            .map(|member| HostState { node: node_of(member), ..HostState::default() });
        Self {
            arena: Arena::new(),
            event: NodeId::BEFORE,
            reason: Reason::Own,
            marker: None,
            arriving: NodeId::BEFORE,
            packets: Vec::new(),
            wires: Wire::all(wiring),
            receivers: Vec::new(),
            ends: vec![EndState::default(); 2 * connections.len()],
            host_of_end: connections.iter().flatten().map(|&member| node_of(member)).collect(),
            hosts: hosts.collect(),
            jobs: Vec::new(),
            host_work: Vec::new(),
            packet: NodeId::BEFORE,
            at_stages: Vec::new(),
            handled: None,
            connections: cast.connections.len(),
            senders: cast.senders,
            units: Units::new(kind),
            adder: Adder::new(wiring.topology.nodes().len(), 2 * wiring.topology.cables().len()),
            intervals: 0,
            broken: None,
        }
    }

    /// The network has paths inside of these hosts, numbered after the interfaces.
    pub(crate) fn set_paths_inside(&mut self, wiring: &Wiring, hosts: &[usize]) {
        self.receivers = Receiver::all(wiring, hosts);
    }

    // ---- packets

    /// An end sends a segment as the packet in this slot.
    pub(crate) fn send(&mut self, from: EndIndex, segment: &Segment, slot: usize) {
        let handled = self.handled.take();
        let node = handled.unwrap_or_else(|| self.sends(from, segment));
        if self.packets.len() <= slot {
            self.packets.resize(slot + 1, NodeId::BEFORE);
        }
        self.packets[slot] = node;
    }

    /// TCP handles the packet in this slot next.
    pub(crate) fn arrives(&mut self, slot: usize) {
        self.arriving = self.packets[slot];
    }

    // ---- units of work

    /// A unit of work of this kind, which began at `start`, has ended with the last byte of the end
    /// `end`. `because`: the event that an action of the
    /// application at this end follows.
    pub(crate) fn end_unit(
        &mut self,
        kind: UnitKind,
        start: Time,
        end: EndIndex,
        because: Because,
    ) {
        let last = match because {
            Because::Step(job, _) => self.jobs[job as usize],
            _ => self.ends[end.index()].heard,
        };
        self.end_unit_with(kind, start, end.connection(), last);
    }

    fn end_unit_with(&mut self, kind: UnitKind, start: Time, connection: usize, last: NodeId) {
        if kind != self.units.kind || connection >= self.connections {
            return;
        }
        if let Some(unit) = self.divide(start, last, connection) {
            self.units.add(unit);
        }
    }

    /// A transaction of the workload, which began at `start`, has ended with the last step of `job`.
    pub(crate) fn end_transaction(&mut self, start: Time, connection: usize, job: Job) {
        self.end_unit_with(UnitKind::Transaction, start, connection, self.jobs[job.index()]);
    }

    /// An iteration has ended that began at `start`. `members` are the client's ends of its
    /// connections, each of which has heard its last byte.
    pub(crate) fn end_iteration(&mut self, start: Time, mut members: Vec<EndIndex>) {
        let heard = |end: &EndIndex| self.ends[end.index()].heard;
        members.retain(|end| end.connection() < self.connections);
        members.sort_by_key(|end| self.arena.get(heard(end)).to);
        let Some(&last) = members.last() else { return };
        let median = members[(members.len() - 1) / 2];
        if members.len() > 1
            && let Some(unit) = self.divide(start, heard(&median), median.connection())
        {
            self.units.add_median_member(&unit);
        }
        let node = self.ends[last.index()].heard;
        self.end_unit_with(UnitKind::Iteration, start, last.connection(), node);
    }

    /// Data of an unsized stream has arrived at the end `end`, which is the current event.
    ///
    /// An interval lasts from the sending of data to the sending of later data. With their arrivals
    /// as its ends, the way of the last data would count as the bytes' own, although a stream is
    /// limited by the reason why they were not sent earlier.
    pub(crate) fn stream(&mut self, end: EndIndex) {
        let is_payload = self.senders[end.peer().side()] && end.connection() < self.connections;
        if self.units.kind != UnitKind::Interval || !is_payload {
            return;
        }
        let now = self.arena.get(self.event).to;
        let state = &mut self.ends[end.index()];
        // Nodes are kept from here on, so that the path of data which is sent from now on is known
        // when the data arrive.
        state.measured_from.get_or_insert(now);
        let Some(sent) = sending(&self.arena, self.event) else { return };
        let at = self.arena.get(sent).to;
        let from = *state.interval_from.get_or_insert(at);
        if at < from + INTERVAL {
            return;
        }
        state.interval_from = Some(at);
        self.intervals += 1;
        // Each connection has its turn in the same order.
        let every = self.connections.div_ceil(STREAMS_MAX);
        let turn = self.intervals / self.connections;
        if (end.connection() + turn).is_multiple_of(every)
            && let Some(unit) = self.divide(from, sent, end.connection())
        {
            self.units.add(unit);
        }
    }

    fn divide(&mut self, start: Time, last: NodeId, connection: usize) -> Option<Unit> {
        let whole = self.arena.get(last).to.since(start);
        let connection = connection as u32;
        let mut unit = Unit { whole_ps: whole.as_ps(), connection, ..Unit::default() };
        for (view, parts) in VIEWS.into_iter().zip(&mut unit.parts) {
            match walk(&self.arena, view, start, last, &mut self.adder) {
                Ok(found) => *parts = found,
                Err(broken) => {
                    self.broken.get_or_insert(broken);
                    return None;
                }
            }
        }
        Some(unit)
    }

    // ---- memory

    /// Whether nodes should be removed ([`Self::forget`]).
    pub(crate) const fn is_full(&self) -> bool {
        self.arena.is_full()
    }

    /// Removes all nodes that no unit of work needs. The oldest that is under way began at
    /// `horizon`.
    pub(crate) fn forget(&mut self, horizon: Time) {
        let Self {
            arena, packets, wires, receivers, ends, hosts, jobs, host_work, at_stages, ..
        } = self;
        let intervals = ends.iter().filter_map(|end| end.interval_from.or(end.measured_from)).min();
        let horizon = intervals.map_or(horizon, |from| from.min(horizon));
        let mut held = vec![&mut self.event, &mut self.arriving, &mut self.packet];
        held.extend(&mut self.handled);
        held.extend(self.marker.iter_mut().map(|(_, node)| node));
        held.extend(packets.iter_mut().chain(wires.iter_mut().flat_map(Wire::nodes)));
        for one in receivers {
            held.extend([&mut one.taken_in, &mut one.cpu]);
        }
        for end in ends {
            held.extend(end.nodes());
        }
        held.extend(jobs);
        held.extend(host_work.iter_mut().flat_map(HostWork::nodes));
        held.extend(at_stages.iter_mut().flatten().flatten());
        for host in hosts {
            held.extend([&mut host.heard, &mut host.scheduled]);
        }
        arena.compact(horizon, held.into_iter());
    }
}
