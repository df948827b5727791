//! The simulator: hosts, links and switches in virtual time.
//!
//! Around one switch, hosts run ahead of the clock (`network::star`). A frame that leaves a switch port
//! reaches its host over a FIFO, and the host's answer reaches the switch later than that, so a host
//! can process a frame as soon as its arrival time is known. The remaining events are arrivals at the
//! switch, choices of an egress among held frames, and timers. See `docs/concepts/simulator.md`.
//!
//! A second network, `network::general`, is event-driven at every hop: for other topologies, for PAUSE,
//! and as a check of the first.
//!
//! At equal times, timers come first, then choices of the switch, then arrivals; arrivals at equal
//! times come in random order, drawn anew for each time, so no port is preferred. Frames of one port
//! stay in order.
//!
//! Modules from the bottom up; none imports one above it: the data `end_index`, `snapshot` and `phases`; `wiring`;
//! `applications` and `counters`; `sampling`; `measure`, the state of a measurement; `host`; `measure::counted`,
//! `sampling::reading` and `measure::control`, which work on hosts; `network`, `laws`, `workloads`, `record`; `run`.

// The fixture of the tests speaks of this crate by its name.
#[cfg(test)]
extern crate self as netstudy_sim;

mod applications;
mod counters;
mod end_index;
mod host;
mod laws;
mod measure;
mod network;
mod phases;
mod record;
mod run;
mod sampling;
mod snapshot;
mod wiring;
mod workloads;

pub use record::of_failure as failed;
pub use run::{Progress, run, useful_packets};
