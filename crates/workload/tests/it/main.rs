//! The tests of this crate from outside, in one program: a module a file.

mod incasts;
mod pipes;
mod requests;
mod transactions;
mod transfers;
