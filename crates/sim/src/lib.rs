//! The simulator: hosts, links and switches in virtual time.
//!
//! In a network with one switch, hosts run ahead of the clock (`network::star`). A frame that
//! leaves a switch port reaches its host over a FIFO, and the host's answer reaches the switch only
//! later. So a host can process a frame as soon as its arrival time is known. The remaining events
//! are arrivals at the switch, choices of an egress among held frames, and timers. See
//! `docs/concepts/simulator.md`.
//!
//! A second network, `network::general`, is event-driven at every hop. It serves other topologies
//! and PAUSE, and checks the first network.
//!
//! At equal times, timers come first, then choices of the switch, then arrivals; arrivals at equal
//! times are handled in random order, drawn anew for each time, so no port is preferred. Frames of
//! one port stay in order.
//!
//! Modules from the bottom up; no module imports a module that is listed after it: the data
//! `end_index`, `snapshot` and `phases`; `wiring`; `applications` and `counters`; `sampling`;
//! `measure`, the state of a measurement; `host`; `measure::counted`, `sampling::reading` and
//! `measure::control`, which work on hosts; `network`, `laws`, `workloads`, `record`; `run`.

// The tests' fixture refers to this crate by its name.
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
