//! Counters of a moment: the data that networks and hosts fill in, and that the measurement, laws and records
//! read.

use std::collections::BTreeMap;

use netstudy_fabric::{FrameSizes, PauseCounters, PortCounters};
use netstudy_tcp::Counters;
use netstudy_units::Duration;

use crate::host::stations::StationCounters;

/// All counters of a moment.
#[derive(Clone, Debug)]
pub(crate) struct Snapshot {
    /// TCP counters of each host.
    pub(crate) tcp: Vec<Counters>,
    /// Network counters at each end of each link.
    pub(crate) ends: Vec<EndCounters>,
    pub(crate) connections: Vec<Connection>,
    /// Frames that processes of one host have got from each other without a link, by the host's node.
    pub(crate) inside: BTreeMap<usize, Carried>,
    /// Work done by the stations of hosts, by the host's node.
    pub(crate) stations: BTreeMap<usize, StationCounters>,
}

/// Counters of one connection since it was opened.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Connection {
    /// Counters of both ends, the opener's first.
    pub(crate) ends: [Counters; 2],
    /// Payload that either end has sent, each byte once.
    pub(crate) sent_bytes: [u64; 2],
    /// Time that the opener has waited for requested data.
    pub(crate) receiving: Duration,
}

impl Connection {
    /// Payload for the end on this side that its peer has sent and that has not come in order.
    pub(crate) const fn under_way_bytes(&self, side: usize) -> u64 {
        self.sent_bytes[1 - side].saturating_sub(self.ends[side].bytes_received)
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
