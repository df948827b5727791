//! The switch of a plan: from the description of its buffer to the code of that architecture.

use netstudy_fabric::stepped::Architecture;
use netstudy_fabric::switch::{
    IngressBuffers, IngressQueued, IngressQueuedConfig, OutputQueued, PacketMemory, PortBuffers,
    SharedMemory, SharedMemoryConfig,
};
use netstudy_fabric::{Link, SwitchBuffer};
use netstudy_records::Buffer;

/// What a switch is made of, whichever buffer it has.
#[derive(Clone, Copy)]
pub struct SwitchSetup<'a> {
    /// The link behind each port.
    pub links: &'a [Link],
    /// Frames that meet a longer queue are marked.
    pub marked_above_bytes: u64,
    /// Room that a frame must find that comes by a port: that of the largest one where it is let in
    /// before its end is there, else none beyond its own.
    pub reserved_bytes: &'a dyn Fn(u32) -> u32,
}

/// What is to be done over a switch, whichever architecture it has.
pub trait OverSwitch<F: Copy> {
    /// What comes of it.
    type Output;

    /// Does it over the architecture that is `B` in closed form and `A` step by step. Of the two, the
    /// one that is taken is made.
    fn over<B: SwitchBuffer<F>, A: Architecture<F>>(
        self,
        closed_form: impl FnOnce() -> B,
        stepped: impl FnOnce() -> A,
    ) -> Self::Output;
}

/// Does `task` over a switch with the given buffer. The code is chosen once, so that no choice is left
/// a frame.
pub fn over_switch<F: Copy + Default, T: OverSwitch<F>>(
    buffer: &Buffer,
    setup: &SwitchSetup<'_>,
    task: T,
) -> T::Output {
    let SwitchSetup { links, marked_above_bytes: marked_above, reserved_bytes: reserved } = *setup;
    match *buffer {
        Buffer::OutputQueued { port_buffer_bytes } => task.over(
            || OutputQueued::new(links, port_buffer_bytes).marking_above(marked_above),
            || PortBuffers::new(links.len(), port_buffer_bytes).marking_above(marked_above),
        ),
        Buffer::SharedMemory {
            pool_bytes,
            port_reserve_bytes,
            cell_bytes,
            alpha,
            ingress_guarantee_frames,
        } => {
            let config = SharedMemoryConfig {
                pool_bytes,
                port_reserve_bytes,
                cell_bytes,
                alpha,
                ingress_guarantee_frames,
            };
            task.over(
                || SharedMemory::new(links, &config).marking_above(marked_above),
                || PacketMemory::new(links.len(), &config).marking_above(marked_above),
            )
        }
        Buffer::IngressQueued {
            ingress_buffer_bytes,
            egress_buffer_bytes,
            random_arbitration_pct: random_pct,
        } => {
            let config =
                IngressQueuedConfig { ingress_buffer_bytes, egress_buffer_bytes, random_pct };
            task.over(
                || {
                    let switch = IngressQueued::new(links, &config);
                    switch.reserving(reserved).marking_above(marked_above)
                },
                || {
                    let buffers = IngressBuffers::new(links, &config);
                    buffers.reserving(reserved).marking_above(marked_above)
                },
            )
        }
    }
}
