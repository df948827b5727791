//! Conversations of two ends, event by event.
//!
//! Unless a test says otherwise the template of the lab holds: segments of 1000 bytes, 5 ms each way, a
//! path without a limit of its own, an initial window of ten segments, a timeout of 200 ms, an
//! acknowledgment after every second segment or 40 ms.

mod lab;

#[path = "conversations/acknowledgments.rs"]
mod acknowledgments;
#[path = "conversations/before_rack.rs"]
mod before_rack;
#[path = "conversations/closing.rs"]
mod closing;
#[path = "conversations/ecn.rs"]
mod ecn;
#[path = "conversations/handshake.rs"]
mod handshake;
#[path = "conversations/loss.rs"]
mod loss;
#[path = "conversations/rfc.rs"]
mod rfc;
#[path = "conversations/small_queue.rs"]
mod small_queue;
#[path = "conversations/timeout.rs"]
mod timeout;
#[path = "conversations/traffic.rs"]
mod traffic;
#[path = "conversations/window.rs"]
mod window;
