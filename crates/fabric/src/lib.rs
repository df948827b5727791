//! What lies between hosts: links, transmitters and switches, in closed form.
//!
//! A FIFO that sends at a fixed rate needs no event a frame: when a frame leaves it is known when it
//! enters, `max(ready, free) + serialization time`. Only a switch whose egress chooses among several
//! queues has to be asked at each choice.
//!
//! At equal times, frames leave before frames arrive.
#![no_std]

extern crate alloc;

mod link;
pub mod switch;
mod transmitter;

pub use link::{Link, ethernet};
pub use switch::{Chance, Grant, PortCounters, SwitchBuffer, Verdict};
pub use transmitter::Transmitter;
