//! The ends of connections: why they send, and which timers they wait for.

use std::collections::VecDeque;

use netstudy_records::{Place, Reason};
use netstudy_tcp::{Segment, Standing, Timers};
use netstudy_units::Time;
use netstudy_workload::{Because, Wait};

use super::Trace;
use super::arena::{Node, NodeId, Site, Spot, What};
use crate::end_index::EndIndex;

/// A timer of an end, and the event that set it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Armed {
    at: Time,
    by: NodeId,
}

/// The state of an end of a connection.
#[derive(Clone, Debug, Default)]
pub(crate) struct EndState {
    /// The last event of which the application heard.
    pub(crate) heard: NodeId,
    pub(crate) retransmission: Armed,
    pub(crate) acknowledgment: Armed,
    pub(crate) pace: Armed,
    /// The event after which the end waits for room in the queue of its host.
    pub(crate) held: NodeId,
    /// Data segments in the host's queue: when each leaves, and its node.
    pub(crate) departures: VecDeque<(Time, NodeId)>,
    /// Stream offset up to which data was sent.
    sent_to: u64,
    /// The first arrival of data of a stream while it was measured.
    pub(crate) measured_from: Option<Time>,
    /// Start of the interval of a stream that is under way; none: no interval has begun.
    pub(crate) interval_from: Option<Time>,
}

impl EndState {
    /// All nodes that the end refers to.
    pub(crate) fn nodes(&mut self) -> impl Iterator<Item = &mut NodeId> {
        let timers = [&mut self.retransmission.by, &mut self.acknowledgment.by, &mut self.pace.by];
        let departures = self.departures.iter_mut().map(|(_, node)| node);
        timers.into_iter().chain(departures).chain([&mut self.heard, &mut self.held])
    }
}

/// The end of a wait of an end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fired {
    /// A timer of the sender.
    Sender(Place),
    /// The timer of a delayed acknowledgment.
    Acknowledgment,
    /// The departure of earlier data from the host's queue.
    Room,
    /// The pacing rate lets the next packet leave.
    Pace,
    /// The queue of this interface of the host, which was full, has room.
    HostQueue { interface: usize },
}

impl Trace {
    /// An event happens that is the end of the node `event`. Data that an end sends now had to wait
    /// for it because of `reason`.
    pub(crate) fn begin(&mut self, event: NodeId, reason: Reason) {
        self.event = event;
        self.reason = reason;
        self.marker = None;
    }

    /// A segment arrives at an end. `before`: why the end had not sent more.
    pub(crate) fn arrive(&mut self, before: Standing) {
        self.begin(self.arriving, reason_of(before));
    }

    /// The application of a host hears of the event.
    pub(crate) fn hear(&mut self, end: EndIndex, host: usize) {
        self.ends[end.index()].heard = self.event;
        self.hosts[host].heard = self.event;
    }

    /// A timer of an end fires at `due`.
    pub(crate) fn fire(&mut self, end: EndIndex, due: Time, fired: Fired, before: Standing) {
        let state = &mut self.ends[end.index()];
        let (place, by, reason) = match fired {
            Fired::Sender(place) => (place, state.retransmission.by, Reason::Recovery),
            Fired::Acknowledgment => {
                (Place::DelayedAckTimer, state.acknowledgment.by, reason_of(before))
            }
            // The data waited for the congestion control since the event at which it was held back.
            Fired::Pace => {
                let held_at = state.pace.by;
                self.begin(held_at, Reason::CongestionWindow);
                return;
            }
            // The wait for room counts as a wait in the queue of the interface.
            Fired::HostQueue { interface } => {
                let held = state.held;
                let event = self.spend(held, self.own_queue(interface), due);
                self.begin(event, Reason::OwnInterface);
                return;
            }
            Fired::Room => {
                let mut left = NodeId::BEFORE;
                while let Some((at, node)) = state.departures.front().copied()
                    && at <= due
                {
                    left = node;
                    state.departures.pop_front();
                }
                self.begin(left, Reason::OwnInterface);
                return;
            }
        };
        let host = self.host_of_end[end.index()];
        let spot = Spot { place, site: Site::Node(host) };
        let event = self.spend(by, spot, due);
        self.begin(event, reason);
    }

    /// An end begins to wait for room in the queue of its host.
    pub(crate) fn hold(&mut self, end: EndIndex) {
        self.ends[end.index()].held = self.marker.map_or(self.event, |(_, node)| node);
    }

    /// Notes the timers of an end after an event.
    pub(crate) fn set_timers(&mut self, end: EndIndex, timers: Timers) {
        let by = self.marker.map_or(self.event, |(_, node)| node);
        let state = &mut self.ends[end.index()];
        for (armed, at) in [
            (&mut state.retransmission, timers.sender),
            (&mut state.acknowledgment, timers.acknowledgment),
            (&mut state.pace, timers.pace),
        ] {
            if armed.at != at {
                *armed = Armed { at, by };
            }
        }
    }

    /// The application of a host acts at `now` on the connection of this end.
    pub(crate) fn act(
        &mut self,
        now: Time,
        host: usize,
        end: EndIndex,
        because: Because,
        before: Standing,
    ) {
        let heard = self.ends[end.index()].heard;
        let heard_last = self.hosts[host].heard;
        let (parent, wait) = match because {
            Because::Heard(wait) if heard != NodeId::BEFORE => (heard, wait),
            Because::Step(job, wait) => (self.jobs[job as usize], wait),
            Because::HeardLast(wait) if heard_last != NodeId::BEFORE => (heard_last, wait),
            _ => (self.hosts[host].scheduled, Wait::Schedule),
        };
        let place = match wait {
            Wait::Application => Place::Application,
            Wait::Think => Place::Think,
            Wait::Schedule => Place::Generator,
        };
        let node = self.hosts[host].node;
        let event = self.spend(parent, Spot { place, site: Site::Node(node) }, now);
        if wait == Wait::Schedule {
            self.hosts[host].scheduled = event;
        }
        self.begin(event, reason_of(before));
    }

    /// The event that the sending of a segment follows, at an end that sends it now.
    pub(crate) fn sends(&mut self, from: EndIndex, segment: &Segment) -> NodeId {
        if segment.len == 0 {
            return self.event;
        }
        let state = &mut self.ends[from.index()];
        let end = segment.seq + u64::from(segment.len);
        let reason = if end <= state.sent_to { Reason::Recovery } else { self.reason };
        state.sent_to = state.sent_to.max(end);
        match self.marker {
            Some((known, node)) if known == reason => node,
            _ => {
                let at = self.arena.get(self.event).to;
                let node = self.arena.push(Node {
                    parent: self.event,
                    behind: NodeId::BEFORE,
                    from: at,
                    to: at,
                    what: What::Because(reason, Some(from)),
                });
                self.marker = Some((reason, node));
                node
            }
        }
    }

    /// A segment of an end leaves the host at `at`, which is the end of the node `node`.
    pub(crate) fn depart(
        &mut self,
        from: EndIndex,
        segment: &Segment,
        now: Time,
        at: Time,
        node: NodeId,
    ) {
        if segment.len == 0 {
            return;
        }
        let departures = &mut self.ends[from.index()].departures;
        while departures.front().is_some_and(|&(left, _)| left < now) {
            departures.pop_front();
        }
        departures.push_back((at, node));
    }

    /// The end opens its next connection, whose bytes count from 0.
    pub(crate) fn reopen(&mut self, end: EndIndex) {
        self.ends[end.index()].sent_to = 0;
    }
}

/// Why data that is sent now was not sent before.
const fn reason_of(standing: Standing) -> Reason {
    match standing {
        Standing::Idle | Standing::Sent => Reason::Own,
        Standing::PeerWindow => Reason::PeerWindow,
        Standing::OwnBuffer => Reason::OwnBuffer,
        Standing::CongestionWindow => Reason::CongestionWindow,
        Standing::Recovery | Standing::Timer => Reason::Recovery,
        Standing::OwnInterface => Reason::OwnInterface,
    }
}
