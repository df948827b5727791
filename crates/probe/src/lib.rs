//! Counters and states of a host, read from the kernel at one moment.
//!
//! `parse` turns the kernel's output into fields by the kernel's own names, without I/O; `read` is the
//! only I/O. `vocabulary` maps fields to our counters, with names and meanings. A [`Snapshot`]
//! holds the readings of the chosen [`Sources`] at one moment, together with the kernel's output;
//! [`growth`] compares two of them. A [`Sampler`] takes snapshots in a thread of its own.
//!
//! The probe does not change the host, and needs no root.

mod clock;
mod growth;
pub mod parse;
mod read;
mod readings;
mod sampler;
mod snapshot;
mod sources;
mod totals;
mod vocabulary;

pub use growth::{Growth, GrowthError, growth};
pub use parse::flow::{Flow, Socket};
pub use read::{FlowReader, Probe};
pub use readings::Reading;
pub use sampler::{Sample, Sampler, Samples};
pub use snapshot::{Origin, Snapshot};
pub use sources::{Source, Sources};
pub use vocabulary::{Counter, Kind, Unit};
