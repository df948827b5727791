use alloc::vec::Vec;

use super::{Arrival, NEVER_MARKED, SwitchBuffer, Verdict};
use crate::{Link, Transmitter};

/// A private drop-tail buffer behind each egress port.
#[derive(Clone, Debug)]
pub struct OutputQueued {
    ports: Vec<Transmitter>,
    port_buffer_bytes: u64,
    marked_above_bytes: u64,
}

impl OutputQueued {
    /// A switch with a port for each of `links`, and `port_buffer_bytes` for each port. A frame on
    /// the wire still counts.
    #[must_use]
    pub fn new(links: &[Link], port_buffer_bytes: u64) -> Self {
        let ports = links.iter().map(|&link| Transmitter::new(link)).collect();
        Self { ports, port_buffer_bytes, marked_above_bytes: NEVER_MARKED }
    }

    /// Marks frames that meet a queue of more than `bytes`, as DCTCP wants it (RFC 8257, 3.1). A lower
    /// threshold keeps queues shorter, until the link runs empty.
    #[must_use]
    pub const fn marking_above(mut self, bytes: u64) -> Self {
        self.marked_above_bytes = bytes;
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
        let limit = self.port_buffer_bytes.min(self.marked_above_bytes);
        let room = limit.min(port.occupied_max());
        if port.occupied() + u64::from(bytes) > room {
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
