//! Buffer architectures by name: from the description of a buffer to the code of its architecture.

use crate::Link;
use crate::stepped::Architecture;
use crate::switch::{
    IngressBuffers, IngressQueued, IngressQueuedConfig, OutputQueued, PacketMemory, PortBuffers,
    SharedMemory, SharedMemoryConfig, SwitchBuffer,
};

/// The buffer architecture of a switch, with its parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum BufferConfig {
    /// A private drop-tail buffer behind each egress port: [`OutputQueued`].
    OutputQueued {
        /// Room of each port; the frame on the wire counts.
        port_buffer_bytes: u64,
    },
    /// One packet memory for all ports: [`SharedMemory`].
    SharedMemory(SharedMemoryConfig),
    /// A private buffer at each ingress port: [`IngressQueued`].
    IngressQueued(IngressQueuedConfig),
}

/// What a switch is made of, whichever buffer it has.
#[derive(Clone, Copy)]
pub struct SwitchSetup<'a> {
    /// The link behind each port.
    pub links: &'a [Link],
    /// Frames that meet a longer queue are marked.
    pub marked_above_bytes: u64,
    /// Buffer space reserved on arrival, by ingress port: a maximum-size frame on cut-through ports, 0
    /// (the frame's own size) otherwise.
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
    buffer: &BufferConfig,
    setup: &SwitchSetup<'_>,
    task: T,
) -> T::Output {
    let SwitchSetup { links, marked_above_bytes: marked_above, reserved_bytes: reserved } = *setup;
    match buffer {
        &BufferConfig::OutputQueued { port_buffer_bytes } => task.over(
            || OutputQueued::new(links, port_buffer_bytes).marking_above(marked_above),
            || PortBuffers::new(links.len(), port_buffer_bytes).marking_above(marked_above),
        ),
        BufferConfig::SharedMemory(config) => task.over(
            || SharedMemory::new(links, config).marking_above(marked_above),
            || PacketMemory::new(links.len(), config).marking_above(marked_above),
        ),
        BufferConfig::IngressQueued(config) => task.over(
            || {
                let switch = IngressQueued::new(links, config);
                switch.reserving(reserved).marking_above(marked_above)
            },
            || {
                let buffers = IngressBuffers::new(links, config);
                buffers.reserving(reserved).marking_above(marked_above)
            },
        ),
    }
}
