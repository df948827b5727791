//! Networks: they carry segments from host to host.

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

use netstudy_fabric::{FrameSizes, PauseCounters, PortCounters};
use netstudy_tcp::{Outlet, Segment};
use netstudy_units::Time;

use crate::host::stations::StationCounters;
use crate::host::{EndIndex, Hosts};

pub(crate) use trace::{TracePoint, Tracer};

/// A network, as hosts with applications `T` see it. It calls [`Hosts::receive`] for each segment that
/// arrives at a host, and [`Hosts::fire_timers`] when a host's timer is due.
pub(crate) trait Network<T>: Sized {
    /// The network's state at each host.
    type Line;

    /// The end `from`, at `host`, sends a segment at `now`, unless the host's queue is full. If the
    /// arrival time is already known, the network may call the receiving host before this returns.
    /// Returns when the segment will have left the host: [`Time::NEVER`] if the network reports it
    /// later with [`Hosts::note_departure`]; none if the segment was dropped or does not wait.
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

/// Counters of a network.
pub(crate) trait Counted<T>: Network<T> {
    /// At every end of every link, by [`netstudy_fabric::topology::CableEnd::number`], at `now`, which the
    /// clock has reached.
    fn ends(&self, hosts: &Hosts<'_, T, Self::Line>, now: Time) -> Vec<EndCounters>;

    /// Frame counts at the end of a run.
    fn frames(&self, hosts: &Hosts<'_, T, Self::Line>) -> Frames;

    /// Frames that processes of one host have got from each other without a link, by the host's node.
    fn inside(&self, _hosts: &Hosts<'_, T, Self::Line>, _now: Time) -> BTreeMap<usize, Carried> {
        BTreeMap::new()
    }

    /// Work that the stations of hosts have done at `now`, by the host's node.
    fn stations(&self, _now: Time) -> BTreeMap<usize, StationCounters> {
        BTreeMap::new()
    }

    /// As [`Self::frames`], by switch in their order; none where there is never more than one.
    fn switches(&self, _hosts: &Hosts<'_, T, Self::Line>) -> Vec<SwitchFrames> {
        Vec::new()
    }
}

/// Counters at one end of a link: of an interface, or of a switch port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct EndCounters {
    /// Of an interface.
    pub(crate) nic: NicCounters,
    /// Of a port.
    pub(crate) port: PortCounters,
    /// Of a port: frames that came in by it.
    pub(crate) port_received: Carried,
    /// Of a port: the sizes of these frames.
    pub(crate) port_received_sizes: FrameSizes,
    /// Of a port: most bytes that ever waited for it.
    pub(crate) queue_bytes_max: u64,
    /// Of a port: queue length now, with frames on the way that were judged ahead.
    pub(crate) queue_bytes: u64,
    pub(crate) pauses: PauseCounters,
}

impl EndCounters {
    /// Adds the counters of another interface.
    pub(crate) const fn add_interface(&mut self, other: &Self) {
        self.nic.add(&other.nic);
        self.pauses.add(&other.pauses);
    }
}

/// Frame counts of a run that has ended.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Frames {
    /// Sent by hosts.
    pub(crate) sent: u64,
    /// Of those, dropped, delivered, or forwarded to their host.
    pub(crate) ended: u64,
    /// Of those, not yet judged by the switch.
    pub(crate) under_way: u64,
}

/// Frames sent to one switch, in a run that has ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SwitchFrames {
    /// Counted as sent by the interfaces and switches at the other ends of its links.
    pub(crate) came: u64,
    /// Forwarded or dropped.
    pub(crate) judged: u64,
    /// On its links.
    pub(crate) on_the_way: u64,
    /// Most frames that may still wait at a sender that has counted them; 0: the network is at rest.
    pub(crate) waiting_max: u64,
}

/// A segment in its frame, on the way to the switch or held there.
#[derive(Clone, Copy, Debug, Default)]
#[allow(clippy::struct_field_names, reason = "the field's word for it")]
pub(crate) struct Frame {
    /// When the switch can judge it.
    pub(crate) arrival: Time,
    /// The destination.
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
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) const fn count(&mut self, frame_bytes: u32) {
        self.frames += 1;
        self.bytes += frame_bytes as u64;
    }

    pub(crate) const fn add(&mut self, other: &Self) {
        self.frames += other.frames;
        self.bytes += other.bytes;
    }

    /// The counts without some of the counted frames.
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

/// Counters of an interface.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct NicCounters {
    /// Frames accepted by the transmit queue; in a snapshot, only the ones that have left.
    pub(crate) sent: Carried,
    /// Frames that the ring had room for and the CPU has handled.
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
