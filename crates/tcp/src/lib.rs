//! Sans-IO TCP.
//!
//! An [`Endpoint`] is one end of one connection. Events go in by `handle_*` (a segment arrived, a timer
//! is due) and by [`Endpoint::write`]; segments come out of [`Endpoint::poll_transmit`], which must
//! be called until it returns none; [`Endpoint::next_timeout`] tells when the next timer is due.
//! The crate reads no clock and no random generator.
//!
//! Sequence numbers are 64-bit stream offsets from an initial sequence number of 0, so they never wrap;
//! the 32-bit wrap of the wire is a matter of encoding.
#![no_std]

extern crate alloc;

mod congestion;
mod counters;
mod endpoint;
mod jiffies;
mod linux_2_6_18;
mod reassembly;
mod recovery;
mod rtt;
mod segment;

pub use congestion::{
    Acked, Congestion, CongestionControl, Cubic, Dctcp, Delivered, Feedback, Reno, Window,
};
pub use counters::Counters;
pub use endpoint::{Config, Endpoint, OffloadRule, Outlet, State};
pub use jiffies::Jiffies;
pub use linux_2_6_18::bic::Bic;
pub use reassembly::{Range, Reassembly};
pub use recovery::{Recovery, SentSegment, SentSegments};
pub use rtt::{RtoRule, RttEstimator};
pub use segment::{Ecn, Flags, SackBlocks, Segment, SynOptions};
