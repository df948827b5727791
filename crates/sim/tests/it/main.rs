//! The tests of this crate from outside, in one program: a module a file.

mod bbr;
mod capacities;
mod files;
mod golden;
mod instruments;
mod known_results;
mod links;
// Next to this folder, since the unit tests of `src/run` use it as well.
#[path = "../lab/mod.rs"]
mod lab;
mod oracles;
mod pause;
mod probes;
mod queues;
mod receivers;
mod stations;
mod time;
mod time_at_hosts;
mod transactions;
mod transfers;
mod waits;
