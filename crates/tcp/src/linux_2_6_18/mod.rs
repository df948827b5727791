//! The parts of the TCP of Linux 2.6.18 that differ from the RFCs and from later kernels.
//!
//! The rest of the crate calls this module in one place for each difference: `recovery` uses
//! `fack`, `congestion` uses `bic`, the queue of sent segments keeps the `scoreboard`, and the
//! endpoint asks `packets` and `deferral` for segmentation offload and `receiver` for
//! acknowledgments. For `fack`, `queue` turns the queue of sent segments into a queue of packets.
//! The configuration of a connection alone decides which of these parts the connection uses.

pub(crate) mod bic;
mod deferral;
pub(crate) mod fack;
pub(crate) mod packets;
mod queue;
pub(crate) mod receiver;
pub(crate) mod scoreboard;
