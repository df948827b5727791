//! Counters at one instant. Networks and hosts fill them in; measurement, laws and records read
//! them.

use std::collections::BTreeMap;

use netstudy_fabric::queue::ClassStatistics;
use netstudy_fabric::{FrameSizes, PauseCounters, PortCounters};
use netstudy_path::PathCounters;
use netstudy_tcp::{Counters, SenderTimes, Standing};
use netstudy_units::Duration;

use crate::end_index::EndIndex;
use crate::host::stations::StationCounters;

/// All counters at one instant.
#[derive(Clone, Debug)]
pub(crate) struct Snapshot {
    /// TCP counters of each host.
    pub(crate) tcp: Vec<Counters>,
    /// Times of the senders of each host.
    pub(crate) flows: Vec<FlowTimes>,
    /// Network counters at each end of each link.
    pub(crate) ends: Vec<EndCounters>,
    pub(crate) connections: Vec<Connection>,
    /// For each host, by its node: the frames that its processes have received from each other,
    /// without a link.
    pub(crate) inside: BTreeMap<usize, Carried>,
    /// For each host with stations, by its node: the work that they have done.
    pub(crate) stations: BTreeMap<usize, StationCounters>,
    /// For each link end whose port or interface has a queue discipline, by number: the counters of
    /// the discipline by class.
    pub(crate) queues: BTreeMap<usize, Vec<ClassStatistics>>,
}

impl Snapshot {
    /// Corrects the times of one end at a host.
    pub(crate) fn correct_times(&mut self, end: EndIndex, host: usize, times: SenderTimes) {
        let read = &mut self.connections[end.connection()].times[end.side()];
        self.flows[host].remove(&FlowTimes::of(read));
        *read = times;
        self.flows[host].add(&FlowTimes::of(read));
    }
}

/// Times of the ends at one host, in the three parts of which Linux keeps account.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(clippy::struct_field_names, reason = "the name of a number ends in its unit")]
pub(crate) struct FlowTimes {
    /// Data is outstanding or waits to be sent.
    pub(crate) busy_ns: u64,
    /// The other end's window is the limit.
    pub(crate) receiver_limited_ns: u64,
    /// The send buffer is the limit.
    pub(crate) sender_limited_ns: u64,
}

impl FlowTimes {
    pub(crate) fn of(times: &SenderTimes) -> Self {
        Self {
            busy_ns: (times.total() - times[Standing::Idle]).as_ns(),
            receiver_limited_ns: times[Standing::PeerWindow].as_ns(),
            sender_limited_ns: times[Standing::OwnBuffer].as_ns(),
        }
    }

    pub(crate) const fn add(&mut self, other: &Self) {
        self.busy_ns += other.busy_ns;
        self.receiver_limited_ns += other.receiver_limited_ns;
        self.sender_limited_ns += other.sender_limited_ns;
    }

    const fn remove(&mut self, other: &Self) {
        self.busy_ns -= other.busy_ns;
        self.receiver_limited_ns -= other.receiver_limited_ns;
        self.sender_limited_ns -= other.sender_limited_ns;
    }
}

/// Counters of one connection since it was opened.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Connection {
    /// TCP counters of the two ends: first of the end that opened the connection.
    pub(crate) ends: [Counters; 2],
    /// Why the two ends did not send.
    pub(crate) times: [SenderTimes; 2],
    /// Payload that each end has sent, without retransmissions.
    pub(crate) sent_bytes: [u64; 2],
    /// Total time for which the application at the first end has waited for requested data.
    pub(crate) receiving: Duration,
}

impl Connection {
    /// Payload in flight to the end on this side: the other end has sent it, but this end has not
    /// received it in order yet.
    pub(crate) const fn under_way_bytes(&self, side: usize) -> u64 {
        self.sent_bytes[1 - side].saturating_sub(self.ends[side].bytes_received)
    }
}

/// Counters at one end of a link. At an interface, only the fields of an interface are filled in;
/// at a switch port, only those of a port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct EndCounters {
    /// Frame counters of an interface.
    pub(crate) nic: NicCounters,
    /// Frame counters of a port.
    pub(crate) port: PortCounters,
    /// Frames that arrived at a port.
    pub(crate) port_received: Carried,
    /// Sizes of the frames that arrived at a port.
    pub(crate) port_received_sizes: FrameSizes,
    /// Longest queue of a port so far, in bytes.
    pub(crate) queue_bytes_max: u64,
    /// Queue length of a port now, in bytes. It includes frames that were judged ahead of their
    /// arrival and are still in flight to the switch.
    pub(crate) queue_bytes: u64,
    pub(crate) pauses: PauseCounters,
    /// Losses and duplicates of frames that this end sent; none if its link is perfect.
    pub(crate) path: Option<PathCounters>,
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
    /// Frames sent by hosts.
    pub(crate) sent: u64,
    /// Sent frames that were dropped, delivered, or forwarded to their destination.
    pub(crate) ended: u64,
    /// Sent frames that the switch has not judged yet.
    pub(crate) under_way: u64,
}

/// Frames sent to one switch, in a run that has ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SwitchFrames {
    /// Frames sent to the switch, as counted by the interfaces and switches at the other ends of
    /// its links.
    pub(crate) came: u64,
    /// Frames forwarded or dropped.
    pub(crate) judged: u64,
    /// Frames in flight to the switch on its links.
    pub(crate) on_the_way: u64,
    /// Maximum number of frames that are counted as sent but that the senders still hold; 0 if the
    /// network is at rest.
    pub(crate) waiting_max: u64,
}

/// A number of frames and of their bytes, from the Ethernet header to the frame check sequence.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Carried {
    pub(crate) frames: u64,
    pub(crate) bytes: u64,
}

impl Carried {
    /// Counts one more frame.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) const fn count(&mut self, frame_bytes: u32) {
        self.frames += 1;
        self.bytes += frame_bytes as u64;
    }

    pub(crate) const fn add(&mut self, other: &Self) {
        self.frames += other.frames;
        self.bytes += other.bytes;
    }

    /// Subtracts some of the counted frames.
    pub(crate) const fn without(self, other: &Self) -> Self {
        Self { frames: self.frames - other.frames, bytes: self.bytes - other.bytes }
    }

    /// Counts frames of these sizes.
    pub(crate) fn of(frames_bytes: impl Iterator<Item = u32>) -> Self {
        let mut carried = Self::default();
        frames_bytes.for_each(|frame_bytes| carried.count(frame_bytes));
        carried
    }
}

/// Counters of an interface.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct NicCounters {
    /// Frames accepted by the transmit queue. In a snapshot, only those that have left.
    pub(crate) sent: Carried,
    /// Frames that found room in the ring and that the CPU has handled.
    pub(crate) received: Carried,
    /// Outgoing frames that found the transmit queue full.
    pub(crate) queue_drops: u64,
    /// Incoming frames that found the ring full.
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
