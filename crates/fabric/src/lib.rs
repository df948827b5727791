//! What lies between hosts: links, transmitters and switches, in closed form and step by step; and the
//! graph that they form.
//!
//! A FIFO that sends at a fixed rate needs no event a frame: when a frame leaves it is known when it
//! enters, `max(ready, free) + serialization time`. Only a switch whose egress chooses among several
//! queues has to be asked at each choice. Links that pause have no such form: for them, and for a real
//! clock, [`stepped`] drives the same buffer architectures one step at a time.
//!
//! At equal times, frames leave before frames arrive.
#![no_std]

extern crate alloc;

mod buffers;
mod link;
mod pause;
mod schedule;
pub mod stepped;
pub mod switch;
pub mod topology;
mod transmitter;

pub use buffers::{AnyArchitecture, AnyBuffer, BufferConfig, SwitchSetup, SwitchTask, dispatch};
pub use link::{CUT_THROUGH_BYTES, Link, ethernet};
pub use pause::{PAUSE_FRAME_BYTES, PauseCounters, PauseMarks, PauseRequests, pause_time};
pub use schedule::Schedule;
pub use switch::{Chance, Grant, PortCounters, SwitchBuffer, Verdict};
pub use transmitter::Transmitter;
