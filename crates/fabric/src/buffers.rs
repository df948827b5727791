//! All buffer architectures by name: selects the code of the architecture that a plan describes.

use alloc::string::String;

use netstudy_units::Time;
use serde::{Deserialize, Serialize};

use crate::stepped::{Admission, Architecture, Pulled, Room};
use crate::switch::{
    Arrival, Grant, IngressBuffers, IngressQueued, IngressQueuedConfig, OutputQueued,
    OutputQueuedConfig, PacketMemory, Parameters, PortBuffers, SharedMemory, SharedMemoryConfig,
    SwitchBuffer, Verdict,
};
use crate::{Chance, Link};

/// Parameters of a switch that all architectures share.
#[derive(Clone, Copy)]
pub struct SwitchSetup<'a> {
    /// The link behind each port.
    pub links: &'a [Link],
    /// A frame gets a congestion mark if it arrives at a queue longer than this.
    pub marked_above_bytes: u64,
    /// For each ingress port: the frame size for which a buffer must have room to admit a frame. A
    /// maximum-size frame on cut-through ports; otherwise 0, so that the frame's own size counts.
    pub reserved_bytes: &'a dyn Fn(u32) -> u32,
}

/// A task on a switch, which is compiled separately for each buffer architecture.
pub trait SwitchTask<F: Copy> {
    /// The task's result.
    type Output;

    /// Runs the task on one architecture: `B` is its closed form, `A` its event-driven form. Only
    /// the form whose closure is called is constructed.
    fn run_on<B: SwitchBuffer<F>, A: Architecture<F>>(
        self,
        closed_form: impl FnOnce() -> B,
        stepped: impl FnOnce() -> A,
    ) -> Self::Output;
}

/// A switch that can be made from the parameters `C` of its architecture.
pub trait FromConfig<C> {
    /// Makes a switch from these parameters.
    fn from_config(config: &C, setup: &SwitchSetup<'_>) -> Self;
}

/// Defines the types that choose among all architectures. For each architecture, the list gives its
/// name and the types of its parameters, its closed form and its event-driven form.
macro_rules! architectures {
    ($($(#[$doc:meta])* $name:ident: $config:ty, $closed:ty, $stepped:ty;)*) => {
        /// The buffer architecture of a switch and its parameters, as written in plans.
        #[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
        #[serde(tag = "kind", rename_all = "kebab-case")]
        pub enum BufferConfig {
            $($(#[$doc])* $name($config),)*
        }

        impl BufferConfig {
            /// The most bytes that can wait for one egress port.
            #[must_use]
            pub fn room_bytes(&self) -> u64 {
                match self { $(Self::$name(config) => config.room_bytes(),)* }
            }

            /// Checks the parameters that a plan's schema cannot check.
            ///
            /// # Errors
            ///
            /// Names the invalid parameter, its value and the limit.
            pub fn check(&self) -> Result<(), String> {
                match self { $(Self::$name(config) => config.check(),)* }
            }
        }

        /// Runs `task` on a switch with the given buffer. Selects the architecture once per task,
        /// not once per frame.
        pub fn dispatch<F: Copy + Default, T: SwitchTask<F>>(
            buffer: &BufferConfig,
            setup: &SwitchSetup<'_>,
            task: T,
        ) -> T::Output {
            match buffer {
                // Closures, so that only the form that the run needs is constructed: each takes
                // much memory.
                $(BufferConfig::$name(config) => task.run_on(
                    || <$closed>::from_config(config, setup),
                    || <$stepped>::from_config(config, setup),
                ),)*
            }
        }

        /// A switch of any architecture in closed form, for networks whose switches differ. Selects
        /// the architecture anew for each frame.
        #[derive(Clone, Debug)]
        pub enum AnyBuffer<F> {
            $($(#[$doc])* $name($closed),)*
        }

        impl<F: Copy + Default> FromConfig<BufferConfig> for AnyBuffer<F> {
            fn from_config(config: &BufferConfig, setup: &SwitchSetup<'_>) -> Self {
                match config {
                    $(BufferConfig::$name(config) => {
                        Self::$name(FromConfig::from_config(config, setup))
                    })*
                }
            }
        }

        impl<F: Copy + Default> SwitchBuffer<F> for AnyBuffer<F> {
            #[cfg_attr(not(debug_assertions), inline(always))]
            fn offer(&mut self, arrival: &Arrival, frame: &F) -> Verdict {
                match self { $(Self::$name(switch) => switch.offer(arrival, frame),)* }
            }

            #[inline]
            fn next_grant(&self) -> Time {
                match self { $(Self::$name(switch) => SwitchBuffer::<F>::next_grant(switch),)* }
            }

            #[inline]
            fn grant(&mut self, chance: &mut impl Chance) -> Option<Grant<F>> {
                match self { $(Self::$name(switch) => switch.grant(chance),)* }
            }

            fn held(&self) -> usize {
                match self { $(Self::$name(switch) => SwitchBuffer::<F>::held(switch),)* }
            }

            fn held_for(&self, egress: u32) -> (u64, u64) {
                match self { $(Self::$name(switch) => SwitchBuffer::<F>::held_for(switch, egress),)* }
            }

            fn queue_bytes_max(&self, egress: u32) -> u64 {
                match self {
                    $(Self::$name(switch) => SwitchBuffer::<F>::queue_bytes_max(switch, egress),)*
                }
            }

            fn queue_bytes(&self, egress: u32, now: Time) -> u64 {
                match self {
                    $(Self::$name(switch) => SwitchBuffer::<F>::queue_bytes(switch, egress, now),)*
                }
            }
        }

        /// Like [`AnyBuffer`], but event-driven.
        #[derive(Clone, Debug)]
        pub enum AnyArchitecture<F> {
            $($(#[$doc])* $name($stepped),)*
        }

        impl<F: Copy + Default> FromConfig<BufferConfig> for AnyArchitecture<F> {
            fn from_config(config: &BufferConfig, setup: &SwitchSetup<'_>) -> Self {
                match config {
                    $(BufferConfig::$name(config) => {
                        Self::$name(FromConfig::from_config(config, setup))
                    })*
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
                match self { $(Self::$name(buffers) => buffers.admit(arrival, frame, drained_at),)* }
            }

            fn next_pull(&self, egress: u32, drained_at: impl FnOnce() -> Time) -> Time {
                match self {
                    $(Self::$name(buffers) => {
                        Architecture::<F>::next_pull(buffers, egress, drained_at)
                    })*
                }
            }

            fn pull(
                &mut self,
                now: Time,
                egress: u32,
                chance: &mut impl Chance,
            ) -> Option<Pulled<F>> {
                match self { $(Self::$name(buffers) => buffers.pull(now, egress, chance),)* }
            }

            fn release(&mut self, room: &Room) {
                match self { $(Self::$name(buffers) => Architecture::<F>::release(buffers, room),)* }
            }

            fn ingress_bytes(&self, ingress: u32) -> u64 {
                match self {
                    $(Self::$name(buffers) => Architecture::<F>::ingress_bytes(buffers, ingress),)*
                }
            }

            fn queue_bytes_max(&self, egress: u32) -> u64 {
                match self {
                    $(Self::$name(buffers) => Architecture::<F>::queue_bytes_max(buffers, egress),)*
                }
            }

            fn queue_bytes(&self, egress: u32) -> u64 {
                match self {
                    $(Self::$name(buffers) => Architecture::<F>::queue_bytes(buffers, egress),)*
                }
            }
        }
    };
}

architectures! {
    /// A private drop-tail buffer behind each egress port.
    OutputQueued: OutputQueuedConfig, OutputQueued, PortBuffers;
    /// One packet memory for all ports.
    SharedMemory: SharedMemoryConfig, SharedMemory, PacketMemory;
    /// A private buffer at each ingress port.
    IngressQueued: IngressQueuedConfig, IngressQueued<F>, IngressBuffers<F>;
}
