use alloc::vec;
use alloc::vec::Vec;

use netstudy_units::Time;
use serde::{Deserialize, Serialize};

use super::{Arrival, NEVER_MARKED, Parameters, SwitchBuffer, Verdict};
use crate::stepped::{Admission, Architecture, Room};
use crate::{FromConfig, Link, SwitchSetup, Transmitter};

/// The private buffers of the egress ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OutputQueuedConfig {
    /// Buffer size of each port; the frame on the wire is in the buffer too.
    pub port_buffer_bytes: u64,
}

impl Parameters for OutputQueuedConfig {
    fn room_bytes(&self) -> u64 {
        self.port_buffer_bytes
    }
}

/// A private drop-tail buffer behind each egress port.
#[derive(Clone, Debug)]
pub struct OutputQueued {
    ports: Vec<Port>,
    port_buffer_bytes: u64,
    marked_above_bytes: u64,
}

#[derive(Clone, Debug)]
struct Port {
    transmitter: Transmitter,
    /// While the queue, with the new frame and with departed frames that are not subtracted yet, is
    /// not longer than this, the frame has room, needs no mark and sets no new maximum. So
    /// departures need not be subtracted first.
    looked_at_above_bytes: u64,
}

impl OutputQueued {
    /// A switch with a port for each of `links`, and `port_buffer_bytes` for each port. A frame
    /// occupies its buffer until its last bit has left.
    #[must_use]
    pub fn new(links: &[Link], port_buffer_bytes: u64) -> Self {
        let port = |&link| Port { transmitter: Transmitter::new(link), looked_at_above_bytes: 0 };
        Self {
            ports: links.iter().map(port).collect(),
            port_buffer_bytes,
            marked_above_bytes: NEVER_MARKED,
        }
    }

    /// Marks frames that arrive at a queue of more than `bytes`, as DCTCP requires (RFC 8257, 3.1).
    /// A lower threshold keeps queues shorter; if it is too low, the link is idle at times.
    #[must_use]
    pub const fn marking_above(mut self, bytes: u64) -> Self {
        self.marked_above_bytes = bytes;
        self
    }
}

impl FromConfig<OutputQueuedConfig> for OutputQueued {
    fn from_config(config: &OutputQueuedConfig, setup: &SwitchSetup<'_>) -> Self {
        Self::new(setup.links, config.port_buffer_bytes).marking_above(setup.marked_above_bytes)
    }
}

impl<F: Copy> SwitchBuffer<F> for OutputQueued {
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn is_private(&self, _arrival: &Arrival) -> bool {
        true
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn offer(&mut self, arrival: &Arrival, _frame: &F) -> Verdict {
        let Arrival { ready, ingress, egress, frame_bytes: bytes, .. } = *arrival;
        let Port { transmitter, looked_at_above_bytes } = &mut self.ports[egress as usize];
        if transmitter.occupied() + u64::from(bytes) <= *looked_at_above_bytes {
            return Verdict::Departs(transmitter.send_below_max(ready, bytes, bytes, ingress));
        }
        transmitter.release_if_idle(arrival.now);
        transmitter.release(arrival.now, |_| {});
        if transmitter.occupied() + u64::from(bytes) > self.port_buffer_bytes {
            return Verdict::Dropped;
        }
        let marked = transmitter.occupied() > self.marked_above_bytes;
        let departs = transmitter.send(ready, bytes, bytes, ingress);
        *looked_at_above_bytes = transmitter.occupied_max().min(self.marked_above_bytes);
        Verdict::departs(departs, marked)
    }

    fn queue_bytes_max(&self, egress: u32) -> u64 {
        self.ports[egress as usize].transmitter.occupied_max()
    }

    fn queue_bytes(&self, egress: u32, now: Time) -> u64 {
        self.ports[egress as usize].transmitter.occupied_at(now)
    }
}

/// The rules of [`OutputQueued`] for [`crate::stepped`].
#[derive(Clone, Debug)]
pub struct PortBuffers {
    port_buffer_bytes: u64,
    marked_above_bytes: u64,
    /// Queued bytes of each egress port, the frame on the wire included.
    queued: Vec<u64>,
    queued_max: Vec<u64>,
    ingress: Vec<u64>,
}

impl PortBuffers {
    /// Like [`OutputQueued::new`], for this number of ports.
    #[must_use]
    pub fn new(ports: usize, port_buffer_bytes: u64) -> Self {
        Self {
            port_buffer_bytes,
            marked_above_bytes: NEVER_MARKED,
            queued: vec![0; ports],
            queued_max: vec![0; ports],
            ingress: vec![0; ports],
        }
    }

    /// As [`OutputQueued::marking_above`].
    #[must_use]
    pub const fn marking_above(mut self, bytes: u64) -> Self {
        self.marked_above_bytes = bytes;
        self
    }
}

impl FromConfig<OutputQueuedConfig> for PortBuffers {
    fn from_config(config: &OutputQueuedConfig, setup: &SwitchSetup<'_>) -> Self {
        let buffers = Self::new(setup.links.len(), config.port_buffer_bytes);
        buffers.marking_above(setup.marked_above_bytes)
    }
}

impl<F> Architecture<F> for PortBuffers {
    fn admit(
        &mut self,
        arrival: &Arrival,
        _frame: &F,
        _drained_at: impl FnOnce() -> Time,
    ) -> Admission {
        let egress = arrival.egress as usize;
        let met = self.queued[egress];
        let bytes = u64::from(arrival.frame_bytes);
        if met + bytes > self.port_buffer_bytes {
            return Admission::Dropped;
        }
        self.queued[egress] += bytes;
        self.queued_max[egress] = self.queued_max[egress].max(met + bytes);
        self.ingress[arrival.ingress as usize] += bytes;
        Admission::Queued { marked: met > self.marked_above_bytes }
    }

    fn release(&mut self, room: &Room) {
        self.queued[room.egress as usize] -= u64::from(room.frame_bytes);
        self.ingress[room.ingress as usize] -= u64::from(room.frame_bytes);
    }

    fn ingress_bytes(&self, ingress: u32) -> u64 {
        self.ingress[ingress as usize]
    }

    fn queue_bytes_max(&self, egress: u32) -> u64 {
        self.queued_max[egress as usize]
    }

    fn queue_bytes(&self, egress: u32) -> u64 {
        self.queued[egress as usize]
    }
}
