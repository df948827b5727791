//! The simulator: hosts, links and a switch in virtual time.
//!
//! Hosts are ahead of the clock. A frame that leaves a switch port reaches its host over a FIFO, and
//! whatever the host sends in answer reaches the switch later than that, so a host can take a frame
//! as soon as it is known when it will arrive. What is left as events are arrivals at the switch,
//! choices of an egress among held frames, and timers. `docs/concepts/simulator.md` tells more.
//!
//! A second network, `network::general`, makes every hop an event: for PAUSE, and to hold the first one against.
//!
//! At equal times, timers come first, then choices of the switch, then arrivals; those in an order of
//! ports that is drawn anew for each time, so that no port is preferred. Frames of one port stay in order.

// The fixture of the tests speaks of this crate by its name.
#[cfg(test)]
extern crate self as netstudy_sim;

mod applications;
mod counters;
mod host;
mod laws;
mod measure;
mod network;
mod phases;
mod readings;
mod record;
mod run;
mod sampling;
mod wiring;
mod workloads;

pub use record::of_failure as failed;
pub use run::{Progress, run, useful_packets};
