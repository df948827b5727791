//! The simulator: hosts, links and switches in virtual time.
//!
//! In a network with one switch, hosts run ahead of the clock (`network::star`). Once a frame has
//! left a switch port, nothing can change when it reaches its host, and whatever the host sends in
//! answer reaches the switch only later. So a host can process a frame as soon as its arrival time
//! is known. Three kinds of event remain: a frame arrives at the switch, an egress of the switch
//! chooses among the frames that it holds, a timer fires. See `docs/concepts/simulator.md`.
//!
//! A second network, `network::general`, is event-driven at every hop. It is used for other
//! topologies and for PAUSE, and in tests to check the results of the first network.
//!
//! At equal times, timers come first, then choices of the switch, then arrivals. The order of
//! arrivals with equal times is random and is drawn anew for each time, so no port is preferred.
//! Frames that arrive at the same port stay in order.
//!
//! The modules, from the bottom up. A module imports only modules listed before it: the data
//! `end_index`, `snapshot` and `phases`; `wiring`; `applications` and `counters`; `sampling`;
//! `measure`, the state of a measurement; `host`; `measure::counted`, `sampling::reading` and
//! `measure::control`, which work on hosts; `network`, `laws`, `workloads`, `record`; `run`. All of
//! them may tell `account`, the trace of a run, where time goes.

// The fixture of the tests refers to this crate by its name.
#[cfg(test)]
extern crate self as netstudy_sim;

mod account;
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
