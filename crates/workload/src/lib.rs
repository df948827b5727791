//! Traffic patterns as pure state machines, shared by all drivers of traffic: they receive events
//! with their times, and return actions.
#![no_std]

extern crate alloc;

mod application;
mod beside;
mod client_or_server;
pub mod ftp;
mod incast;
mod outbox;
mod phases;
mod request;
mod traffic;
pub mod transactions;
mod transfer;

pub use application::Application;
pub use beside::{Beside, Companion};
pub use client_or_server::ClientOrServer;
pub use incast::{Delays, IncastConfig, IncastHost};
pub use phases::{Phases, Until};
pub use request::{Probe, RequestClient, RequestConfig, RequestServer, RequestShape, Schedule};
pub use traffic::{Action, Because, Owed, Sample, Traffic, Wait};
pub use transfer::{
    Direction, TransferClient, TransferConfig, TransferServer, TransferShape, TransferSize,
};
