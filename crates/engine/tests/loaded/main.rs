//! The tests of this crate from outside that take all processors for a while, in one program.

#[path = "../it/process/mod.rs"]
#[allow(dead_code, reason = "the tests of agents use the rest")]
mod process;
mod protocol;
mod transactions;
