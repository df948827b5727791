//! Quantities with their unit in the type, and sizes of headers. All are integers: the same sums give
//! the same bits on every machine.
//!
//! Time counts picoseconds, because one byte at 100 Gbit/s takes 80 ps and one at 400 Gbit/s 20 ps; 64
//! bits of them last 213 days of virtual time.
#![no_std]

pub mod headers;
mod rate;
mod time;

pub use rate::{Rate, Serializer};
pub use time::{Duration, Time};
