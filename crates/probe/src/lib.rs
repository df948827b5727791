//! Reads counters and gauges of a host from the kernel, all at one moment.
//!
//! `parse` turns the kernel's output into fields with the kernel's own names, without I/O. Only
//! `read` does I/O. `vocabulary` maps fields to our counters, with their names and meanings. A
//! [`Snapshot`] holds the readings of the chosen [`Sources`] at one moment, together with the
//! kernel's output; [`growth`] compares two snapshots. A [`Sampler`] takes snapshots in a separate
//! thread.
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
pub use read::{FlowReader, InterfaceState, Probe, interfaces};
pub use readings::Reading;
pub use sampler::{Sample, Sampler, Samples};
pub use snapshot::{Origin, Snapshot};
pub use sources::{Source, Sources};
pub use vocabulary::{Counter, Kind, Unit};
