//! Sans-IO TCP.
//!
//! An [`Endpoint`] is one end of one connection. The caller reports events with the `handle_*`
//! functions (a segment arrived, a timer is due) and with [`Endpoint::write`]. Afterwards it must
//! call [`Endpoint::poll_transmit`], which returns the segments to send, until this returns none.
//! [`Endpoint::next_timeout`] tells when the next timer is due. The crate reads no clock and uses
//! no random numbers.
//!
//! Sequence numbers are 64-bit stream offsets from an initial sequence number of 0, so they never
//! wrap; only their encoding on the wire wraps at 32 bits.
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
    Account, Acked, Bbr, Congestion, CongestionControl, Cubic, Dctcp, Delivered, DeliveryRate,
    Feedback, Mode, Model, RateSample, Reno, Repair, Window,
};
pub use counters::Counters;
pub use endpoint::{
    Config, Endpoint, OffloadRule, Outlet, SenderTimes, Standing, State, Timers, WindowRule,
};
pub use jiffies::Jiffies;
pub use linux_2_6_18::bic::Bic;
pub use reassembly::{Range, Reassembly};
pub use recovery::{Recovery, SentSegment, SentSegments};
pub use rtt::{RtoRule, RttEstimator};
pub use segment::{Ecn, Flags, SackBlocks, Segment, SynOptions};
