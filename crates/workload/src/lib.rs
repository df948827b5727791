//! Traffic patterns as pure state machines, shared by everything that drives traffic: they are told
//! what happened and when, and answer what to do.
#![no_std]

extern crate alloc;

mod incast;
mod traffic;

pub use incast::{Completed, Delays, Incast, IncastConfig, IncastHost, Responder};
pub use traffic::{Action, Sample, Traffic};
