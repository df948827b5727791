//! Networks, which carry segments from host to host.

mod event_queue;
pub(crate) mod frame;
pub(crate) mod general;
mod jitter;
pub(crate) mod limits;
mod nic;
pub(crate) mod star;
pub(crate) mod trace;

#[cfg(test)]
mod tests;
