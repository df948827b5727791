//! Conversations of two ends, event by event.
//!
//! Unless a test says otherwise the template of the lab holds: segments of 1000 bytes, 5 ms each way, a
//! path without a limit of its own, an initial window of ten segments, a timeout of 200 ms, an
//! acknowledgment after every second segment or 40 ms.

use crate::lab;

mod acknowledgments;
mod before_rack;
mod closing;
mod ecn;
mod handshake;
mod loss;
mod nagle;
mod rfc;
mod small_queue;
mod timeout;
mod traffic;
mod window;
