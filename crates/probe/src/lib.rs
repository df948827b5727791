//! What a host tells of itself: counters of the kernel, read at one moment.
//!
//! `parse` turns what the kernel says into fields by the kernel's own names, without I/O; `read` is
//! the only I/O. `vocabulary` says which fields are counters of ours, under which name and with which
//! meaning. A [`Snapshot`] holds the chosen [`Sources`] as they were at one moment, with what the kernel
//! said kept beside it; [`growth`] is what happened between two of them. A [`Sampler`] takes one after
//! the other, in a thread of its own.
//!
//! Nothing here changes the host, and nothing needs to be root.

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
