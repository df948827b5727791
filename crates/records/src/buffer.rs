//! The buffer of a plan's switch, as the fabric builds it.

use netstudy_fabric::BufferConfig;
use netstudy_fabric::switch::{IngressQueuedConfig, SharedMemoryConfig};

use crate::Buffer;

impl From<&Buffer> for BufferConfig {
    fn from(buffer: &Buffer) -> Self {
        match *buffer {
            Buffer::OutputQueued { port_buffer_bytes } => Self::OutputQueued { port_buffer_bytes },
            Buffer::SharedMemory {
                pool_bytes,
                port_reserve_bytes,
                cell_bytes,
                alpha,
                ingress_guarantee_frames,
            } => Self::SharedMemory(SharedMemoryConfig {
                pool_bytes,
                port_reserve_bytes,
                cell_bytes,
                alpha,
                ingress_guarantee_frames,
            }),
            Buffer::IngressQueued {
                ingress_buffer_bytes,
                ingress_cell_bytes: cell_bytes,
                ingress_reserve_frames: reserve_frames,
                egress_buffer_bytes,
                random_arbitration_pct: random_pct,
            } => Self::IngressQueued(IngressQueuedConfig {
                ingress_buffer_bytes,
                cell_bytes,
                reserve_frames,
                egress_buffer_bytes,
                random_pct,
            }),
        }
    }
}
