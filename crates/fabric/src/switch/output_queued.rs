use alloc::vec;
use alloc::vec::Vec;

use netstudy_units::Time;

use super::{Arrival, NEVER_MARKED, SwitchBuffer, Verdict};
use crate::stepped::{Admission, Architecture, Room};
use crate::{Link, Transmitter};

/// A private drop-tail buffer behind each egress port.
#[derive(Clone, Debug)]
pub struct OutputQueued {
    ports: Vec<Transmitter>,
    port_buffer_bytes: u64,
    marked_above_bytes: u64,
    /// The lesser of the two: below it, what has left does not matter.
    looked_at_bytes: u64,
}

impl OutputQueued {
    /// A switch with a port for each of `links`, and `port_buffer_bytes` for each port. A frame on
    /// the wire still counts.
    #[must_use]
    pub fn new(links: &[Link], port_buffer_bytes: u64) -> Self {
        let ports = links.iter().map(|&link| Transmitter::new(link)).collect();
        Self {
            ports,
            port_buffer_bytes,
            marked_above_bytes: NEVER_MARKED,
            looked_at_bytes: port_buffer_bytes,
        }
    }

    /// Marks frames that meet a queue of more than `bytes`, as DCTCP wants it (RFC 8257, 3.1). A lower
    /// threshold keeps queues shorter, until the link runs empty.
    #[must_use]
    pub const fn marking_above(mut self, bytes: u64) -> Self {
        self.marked_above_bytes = bytes;
        if bytes < self.looked_at_bytes {
            self.looked_at_bytes = bytes;
        }
        self
    }
}

impl<F: Copy> SwitchBuffer<F> for OutputQueued {
    const PRIVATE_EGRESS: bool = true;

    #[inline(always)]
    fn offer(&mut self, arrival: &Arrival, _frame: &F) -> Verdict {
        let port = &mut self.ports[arrival.egress as usize];
        let bytes = arrival.frame_bytes;
        // What has left is looked up only when it matters: when the queue seems to outgrow its room
        // or to become the longest so far.
        // It also matters when the queue seems longer than the threshold.
        let room = self.looked_at_bytes.min(port.occupied_max());
        if port.occupied() + u64::from(bytes) > room {
            port.release_if_idle(arrival.now);
            port.release(arrival.now, |_| {});
            if port.occupied() + u64::from(bytes) > self.port_buffer_bytes {
                return Verdict::Dropped;
            }
        }
        let marked = port.occupied() > self.marked_above_bytes;
        let departs = port.send(arrival.ready, bytes, bytes, arrival.ingress);
        if marked { Verdict::Marked(departs) } else { Verdict::Departs(departs) }
    }

    fn queue_bytes_max(&self, egress: u32) -> u64 {
        self.ports[egress as usize].occupied_max()
    }
}

/// The rule of [`OutputQueued`] for [`crate::stepped`].
#[derive(Clone, Debug)]
pub struct PortBuffers {
    port_buffer_bytes: u64,
    marked_above_bytes: u64,
    /// By egress, the frame on the wire included.
    queued: Vec<u64>,
    queued_max: Vec<u64>,
    ingress: Vec<u64>,
}

impl PortBuffers {
    /// As [`OutputQueued::new`], for so many ports.
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
}
