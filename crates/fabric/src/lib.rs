//! The network between hosts: its graph, and its links, transmitters and switches. A switch exists
//! in two forms: in closed form, which computes departure times in advance, and event-driven.
//!
//! A FIFO that sends at a fixed rate needs no event per frame: the time at which a frame leaves is
//! known when it enters, `max(ready, free) + serialization time`. Only a switch whose egress ports
//! choose among several queues, or have a queue discipline ([`queue`]), needs an event for each
//! choice. Links with PAUSE have no closed
//! form: for such links, and for a real clock, [`stepped`] drives the same buffer architectures
//! event by event.
//!
//! If one frame leaves and another arrives at the same time, the departure comes first.
#![no_std]

extern crate alloc;

mod buffers;
mod link;
mod pause;
pub mod queue;
mod schedule;
mod sizes;
pub mod stepped;
pub mod switch;
pub mod topology;
mod transmitter;

pub use buffers::{
    AnyArchitecture, AnyBuffer, BufferConfig, FromConfig, SwitchSetup, SwitchTask, dispatch,
};
pub use link::{CUT_THROUGH_BYTES, Link, ethernet};
pub use pause::{PAUSE_FRAME_BYTES, PauseCounters, PauseRequests, PauseThresholds, pause_time};
pub use schedule::Schedule;
pub use sizes::FrameSizes;
pub use switch::{Chance, Grant, PortCounters, SwitchBuffer, Verdict};
pub use transmitter::Transmitter;
