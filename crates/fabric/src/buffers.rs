//! Buffer architectures by name: from the description of a buffer to the code of its architecture.

use netstudy_units::Time;

use crate::stepped::{Admission, Architecture, Pulled, Room};
use crate::switch::{
    Arrival, Grant, IngressBuffers, IngressQueued, IngressQueuedConfig, OutputQueued, PacketMemory,
    PortBuffers, SharedMemory, SharedMemoryConfig, SwitchBuffer, Verdict,
};
use crate::{Chance, Link};

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

impl BufferConfig {
    /// The most bytes that can wait for one egress port.
    #[must_use]
    pub fn room_bytes(&self) -> u64 {
        match self {
            Self::OutputQueued { port_buffer_bytes } => *port_buffer_bytes,
            Self::SharedMemory(config) => config.pool_bytes + config.port_reserve_bytes,
            Self::IngressQueued(config) => {
                config.ingress_buffer_bytes + u64::from(config.egress_buffer_bytes)
            }
        }
    }
}

/// Parameters of a switch that all architectures share.
#[derive(Clone, Copy)]
pub struct SwitchSetup<'a> {
    /// The link behind each port.
    pub links: &'a [Link],
    /// A frame that arrives at a longer queue is marked.
    pub marked_above_bytes: u64,
    /// Buffer space reserved on arrival, by ingress port: a maximum-size frame on cut-through ports, 0
    /// (the frame's own size) otherwise.
    pub reserved_bytes: &'a dyn Fn(u32) -> u32,
}

/// A task that is compiled for each buffer architecture.
pub trait SwitchTask<F: Copy> {
    /// The task's result.
    type Output;

    /// Runs on the architecture that is `B` in closed form and `A` event-driven. Only the one that
    /// is used is constructed.
    fn run_on<B: SwitchBuffer<F>, A: Architecture<F>>(
        self,
        closed_form: impl FnOnce() -> B,
        stepped: impl FnOnce() -> A,
    ) -> Self::Output;
}

/// Runs `task` on a switch with the given buffer. Dispatches once, so that no dispatch is left per frame.
pub fn dispatch<F: Copy + Default, T: SwitchTask<F>>(
    buffer: &BufferConfig,
    setup: &SwitchSetup<'_>,
    task: T,
) -> T::Output {
    let SwitchSetup { links, marked_above_bytes: marked_above, reserved_bytes: reserved } = *setup;
    match buffer {
        &BufferConfig::OutputQueued { port_buffer_bytes } => task.run_on(
            || OutputQueued::new(links, port_buffer_bytes).marking_above(marked_above),
            || PortBuffers::new(links.len(), port_buffer_bytes).marking_above(marked_above),
        ),
        BufferConfig::SharedMemory(config) => task.run_on(
            || SharedMemory::new(links, config).marking_above(marked_above),
            || PacketMemory::new(links.len(), config).marking_above(marked_above),
        ),
        BufferConfig::IngressQueued(config) => task.run_on(
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

/// A switch of any architecture in closed form, for networks of different switches; dispatches per
/// frame.
#[derive(Clone, Debug)]
pub enum AnyBuffer<F> {
    /// A private drop-tail buffer behind each egress port.
    OutputQueued(OutputQueued),
    /// One packet memory for all ports.
    SharedMemory(SharedMemory),
    /// A private buffer at each ingress port.
    IngressQueued(IngressQueued<F>),
}

impl<F: Copy + Default> AnyBuffer<F> {
    /// The switch of `config`.
    #[must_use]
    pub fn new(config: &BufferConfig, setup: &SwitchSetup<'_>) -> Self {
        let SwitchSetup { links, marked_above_bytes: marked_above, reserved_bytes: reserved } =
            *setup;
        match config {
            &BufferConfig::OutputQueued { port_buffer_bytes } => {
                let switch = OutputQueued::new(links, port_buffer_bytes);
                Self::OutputQueued(switch.marking_above(marked_above))
            }
            BufferConfig::SharedMemory(config) => {
                Self::SharedMemory(SharedMemory::new(links, config).marking_above(marked_above))
            }
            BufferConfig::IngressQueued(config) => {
                let switch = IngressQueued::new(links, config).reserving(reserved);
                Self::IngressQueued(switch.marking_above(marked_above))
            }
        }
    }
}

impl<F: Copy + Default> SwitchBuffer<F> for AnyBuffer<F> {
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn offer(&mut self, arrival: &Arrival, frame: &F) -> Verdict {
        match self {
            Self::OutputQueued(switch) => switch.offer(arrival, frame),
            Self::SharedMemory(switch) => switch.offer(arrival, frame),
            Self::IngressQueued(switch) => switch.offer(arrival, frame),
        }
    }

    #[inline]
    fn next_grant(&self) -> Time {
        match self {
            Self::IngressQueued(switch) => switch.next_grant(),
            Self::OutputQueued(_) | Self::SharedMemory(_) => Time::NEVER,
        }
    }

    #[inline]
    fn grant(&mut self, chance: &mut impl Chance) -> Option<Grant<F>> {
        match self {
            Self::IngressQueued(switch) => switch.grant(chance),
            Self::OutputQueued(_) | Self::SharedMemory(_) => None,
        }
    }

    fn held(&self) -> usize {
        match self {
            Self::IngressQueued(switch) => switch.held(),
            Self::OutputQueued(_) | Self::SharedMemory(_) => 0,
        }
    }

    fn held_for(&self, egress: u32) -> (u64, u64) {
        match self {
            Self::IngressQueued(switch) => switch.held_for(egress),
            Self::OutputQueued(_) | Self::SharedMemory(_) => (0, 0),
        }
    }

    fn queue_bytes_max(&self, egress: u32) -> u64 {
        match self {
            Self::OutputQueued(switch) => SwitchBuffer::<F>::queue_bytes_max(switch, egress),
            Self::SharedMemory(switch) => SwitchBuffer::<F>::queue_bytes_max(switch, egress),
            Self::IngressQueued(switch) => switch.queue_bytes_max(egress),
        }
    }

    fn queue_bytes(&self, egress: u32, now: Time) -> u64 {
        match self {
            Self::OutputQueued(switch) => SwitchBuffer::<F>::queue_bytes(switch, egress, now),
            Self::SharedMemory(switch) => SwitchBuffer::<F>::queue_bytes(switch, egress, now),
            Self::IngressQueued(switch) => SwitchBuffer::<F>::queue_bytes(switch, egress, now),
        }
    }
}

/// As [`AnyBuffer`], event-driven.
#[derive(Clone, Debug)]
pub enum AnyArchitecture<F> {
    /// A private drop-tail buffer behind each egress port.
    OutputQueued(PortBuffers),
    /// One packet memory for all ports.
    SharedMemory(PacketMemory),
    /// A private buffer at each ingress port.
    IngressQueued(IngressBuffers<F>),
}

impl<F: Copy + Default> AnyArchitecture<F> {
    /// The architecture of `config`.
    #[must_use]
    pub fn new(config: &BufferConfig, setup: &SwitchSetup<'_>) -> Self {
        let SwitchSetup { links, marked_above_bytes: marked_above, reserved_bytes: reserved } =
            *setup;
        match config {
            &BufferConfig::OutputQueued { port_buffer_bytes } => {
                let buffers = PortBuffers::new(links.len(), port_buffer_bytes);
                Self::OutputQueued(buffers.marking_above(marked_above))
            }
            BufferConfig::SharedMemory(config) => {
                let memory = PacketMemory::new(links.len(), config);
                Self::SharedMemory(memory.marking_above(marked_above))
            }
            BufferConfig::IngressQueued(config) => {
                let buffers = IngressBuffers::new(links, config).reserving(reserved);
                Self::IngressQueued(buffers.marking_above(marked_above))
            }
        }
    }
}

impl<F: Copy + Default> Architecture<F> for AnyArchitecture<F> {
    fn admit(
        &mut self,
        arrival: &Arrival,
        frame: &F,
        drained_at: impl FnOnce() -> Time,
    ) -> Admission {
        match self {
            Self::OutputQueued(buffers) => buffers.admit(arrival, frame, drained_at),
            Self::SharedMemory(memory) => memory.admit(arrival, frame, drained_at),
            Self::IngressQueued(buffers) => buffers.admit(arrival, frame, drained_at),
        }
    }

    fn next_pull(&self, egress: u32, drained_at: impl FnOnce() -> Time) -> Time {
        match self {
            Self::IngressQueued(buffers) => buffers.next_pull(egress, drained_at),
            Self::OutputQueued(_) | Self::SharedMemory(_) => Time::NEVER,
        }
    }

    fn pull(&mut self, egress: u32, chance: &mut impl Chance) -> Option<Pulled<F>> {
        match self {
            Self::IngressQueued(buffers) => buffers.pull(egress, chance),
            Self::OutputQueued(_) | Self::SharedMemory(_) => None,
        }
    }

    fn release(&mut self, room: &Room) {
        match self {
            Self::OutputQueued(buffers) => Architecture::<F>::release(buffers, room),
            Self::SharedMemory(memory) => Architecture::<F>::release(memory, room),
            Self::IngressQueued(buffers) => buffers.release(room),
        }
    }

    fn ingress_bytes(&self, ingress: u32) -> u64 {
        match self {
            Self::OutputQueued(buffers) => Architecture::<F>::ingress_bytes(buffers, ingress),
            Self::SharedMemory(memory) => Architecture::<F>::ingress_bytes(memory, ingress),
            Self::IngressQueued(buffers) => buffers.ingress_bytes(ingress),
        }
    }

    fn queue_bytes_max(&self, egress: u32) -> u64 {
        match self {
            Self::OutputQueued(buffers) => Architecture::<F>::queue_bytes_max(buffers, egress),
            Self::SharedMemory(memory) => Architecture::<F>::queue_bytes_max(memory, egress),
            Self::IngressQueued(buffers) => buffers.queue_bytes_max(egress),
        }
    }

    fn queue_bytes(&self, egress: u32) -> u64 {
        match self {
            Self::OutputQueued(buffers) => Architecture::<F>::queue_bytes(buffers, egress),
            Self::SharedMemory(memory) => Architecture::<F>::queue_bytes(memory, egress),
            Self::IngressQueued(buffers) => buffers.queue_bytes(egress),
        }
    }
}
