//! The TCP of Linux 2.6.18, in all that it does differently from the RFCs and from later kernels.
//!
//! The rest of the crate calls it at one place for each difference: `recovery` uses `fack`, `congestion` uses
//! `bic`, the queue of sent segments keeps the `scoreboard`, and the endpoint asks `packets` and `deferral` for
//! segmentation offload and `receiver` for acknowledgments. `queue` turns the queue of sent segments into
//! one of packets, for `fack`. Nothing here is chosen at run time beyond what a connection's configuration says.

pub(crate) mod bic;
mod deferral;
pub(crate) mod fack;
pub(crate) mod packets;
mod queue;
pub(crate) mod receiver;
pub(crate) mod scoreboard;
