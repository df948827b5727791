//! What carries segments from host to host.

mod event_queue;
pub(crate) mod general;
mod jitter;
pub(crate) mod limits;
mod nic;
pub(crate) mod star;
mod trace;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use netstudy_fabric::{PauseCounters, PortCounters};
use netstudy_tcp::{Outlet, Segment};
use netstudy_units::Time;

use crate::host::{EndIndex, Hosts};

pub(crate) use trace::{TracePoint, Tracer};

/// A network, as hosts with applications `T` see it. It calls [`Hosts::receive`] for each segment that
/// arrives at a host, and [`Hosts::fire_timers`] when a host's timer is due.
pub(crate) trait Network<T>: Sized {
    /// What it keeps at each host.
    type Line;

    /// The end `from`, at `host`, sends a segment at `now`, unless the host's queue is full. The network
    /// may call the receiving host before this returns, if it knows by now when the segment will be
    /// there. Returns when the segment will have left the host: [`Time::NEVER`] if the network tells that
    /// later by [`Hosts::note_departure`]; none if it was dropped, or is nothing that waits.
    fn send(
        &mut self,
        hosts: &mut Hosts<'_, T, Self::Line>,
        now: Time,
        host: usize,
        from: EndIndex,
        segment: Segment,
    ) -> Option<Time>;

    /// As [`Self::send`], for a burst of an end at a host with the `line`: none if the network may call
    /// the receiving host at once.
    fn outlet<'a>(
        &'a mut self,
        line: &'a mut Self::Line,
        now: Time,
        host: usize,
        from: EndIndex,
    ) -> Option<impl Outlet + 'a>;
}

/// What a network counts.
pub(crate) trait Counted<T>: Network<T> {
    /// At every end of every link, by [`netstudy_fabric::topology::CableEnd::number`], at `now`, which the
    /// clock has reached.
    fn ends(&self, hosts: &Hosts<'_, T, Self::Line>, now: Time) -> Vec<EndCounters>;

    /// What is read once, when a run has ended.
    fn frames(&self, hosts: &Hosts<'_, T, Self::Line>) -> Frames;

    /// Frames that processes of one host have got from each other without a link, by the host's node.
    fn inside(&self, _hosts: &Hosts<'_, T, Self::Line>, _now: Time) -> BTreeMap<usize, Carried> {
        BTreeMap::new()
    }

    /// As [`Self::frames`], by switch in their order; none where there is never more than one.
    fn switches(&self, _hosts: &Hosts<'_, T, Self::Line>) -> Vec<SwitchFrames> {
        Vec::new()
    }
}

/// What is counted at one end of a link: by an interface, or by a port of a switch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct EndCounters {
    /// Of an interface.
    pub(crate) nic: NicCounters,
    /// Of a port.
    pub(crate) port: PortCounters,
    /// Of a port: frames that came in by it.
    pub(crate) port_received: Carried,
    /// Of a port: most bytes that ever waited for it.
    pub(crate) queue_bytes_max: u64,
    /// Of a port: what waits for it at the moment, with what is on the way and was judged ahead.
    pub(crate) queue_bytes: u64,
    pub(crate) pauses: PauseCounters,
}

impl EndCounters {
    /// Adds what another interface counts.
    pub(crate) const fn add_interface(&mut self, other: &Self) {
        self.nic.add(&other.nic);
        self.pauses.add(&other.pauses);
    }
}

/// What became of the frames of a run that has ended.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Frames {
    /// Those that hosts sent.
    pub(crate) sent: u64,
    /// Of them, those that were dropped, or are with their host or forwarded to it.
    pub(crate) ended: u64,
    /// Those that are neither at a host nor judged by the switch.
    pub(crate) under_way: u64,
}

/// What became of the frames that were sent to one switch, in a run that has ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SwitchFrames {
    /// Those that the interfaces and switches at the other ends of its links have counted as sent.
    pub(crate) came: u64,
    /// Those that it has forwarded or dropped.
    pub(crate) judged: u64,
    /// Those that are on its links.
    pub(crate) on_the_way: u64,
    /// At most so many wait where they were counted as sent; 0: the network is at rest.
    pub(crate) waiting_max: u64,
}

/// A segment in its frame, on the way to the switch or held there.
#[derive(Clone, Copy, Debug, Default)]
#[allow(clippy::struct_field_names, reason = "the field's word for it")]
pub(crate) struct Frame {
    /// When the switch can judge it.
    pub(crate) arrival: Time,
    /// The end that it is sent to.
    pub(crate) to: EndIndex,
    pub(crate) frame_bytes: u32,
    pub(crate) segment: Segment,
}

/// Frames, and their bytes from the header to the check sequence.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Carried {
    pub(crate) frames: u64,
    pub(crate) bytes: u64,
}

impl Carried {
    /// One more frame.
    #[inline(always)]
    pub(crate) const fn count(&mut self, frame_bytes: u32) {
        self.frames += 1;
        self.bytes += frame_bytes as u64;
    }

    pub(crate) const fn add(&mut self, other: &Self) {
        self.frames += other.frames;
        self.bytes += other.bytes;
    }

    /// The counts less those of some of the counted frames.
    pub(crate) const fn without(self, other: &Self) -> Self {
        Self { frames: self.frames - other.frames, bytes: self.bytes - other.bytes }
    }

    /// Of these sizes.
    pub(crate) fn of(frames_bytes: impl Iterator<Item = u32>) -> Self {
        let mut carried = Self::default();
        frames_bytes.for_each(|frame_bytes| carried.count(frame_bytes));
        carried
    }
}

/// What an interface counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct NicCounters {
    /// Frames that it was given to send and had room for; at a moment, those of them that have left.
    pub(crate) sent: Carried,
    /// Frames that the ring had room for and the CPU has dealt with.
    pub(crate) received: Carried,
    /// Frames to be sent that found the queue full.
    pub(crate) queue_drops: u64,
    /// Frames received that found the ring full.
    pub(crate) ring_drops: u64,
}

impl NicCounters {
    pub(crate) const fn add(&mut self, other: &Self) {
        self.sent.add(&other.sent);
        self.received.add(&other.received);
        self.queue_drops += other.queue_drops;
        self.ring_drops += other.ring_drops;
    }
}
