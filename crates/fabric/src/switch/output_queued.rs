use alloc::vec::Vec;

use super::{Arrival, SwitchBuffer, Verdict};
use crate::{Link, Transmitter};

/// A private drop-tail buffer behind each egress port.
#[derive(Clone, Debug)]
pub struct OutputQueued {
    ports: Vec<Transmitter>,
    port_buffer_bytes: u64,
}

impl OutputQueued {
    /// A switch with a port for each of `links`, and `port_buffer_bytes` for each port. A frame on
    /// the wire still counts.
    #[must_use]
    pub fn new(links: &[Link], port_buffer_bytes: u64) -> Self {
        let ports = links.iter().map(|&link| Transmitter::new(link)).collect();
        Self { ports, port_buffer_bytes }
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
        let room = self.port_buffer_bytes.min(port.occupied_max());
        if port.occupied() + u64::from(bytes) > room {
            port.release(arrival.now, |_| {});
            if port.occupied() + u64::from(bytes) > self.port_buffer_bytes {
                return Verdict::Dropped;
            }
        }
        Verdict::Departs(port.send(arrival.ready, bytes, bytes, arrival.ingress))
    }

    fn queue_bytes_max(&self, egress: u32) -> u64 {
        self.ports[egress as usize].occupied_max()
    }
}
