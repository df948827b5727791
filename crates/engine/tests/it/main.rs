//! The tests of this crate from outside, in one program: a module a file. Only `protocol.rs`, which says
//! why, is another program.

mod agent;
mod process;
mod switch;
mod transactions;
