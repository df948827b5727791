//! The only module with I/O: reads files of /proc and netlink sockets.

mod file;
mod interfaces;
mod netlink;
mod probe;
mod processes;
mod throttle;

pub use interfaces::{InterfaceState, interfaces};
pub use netlink::FlowReader;
pub use probe::Probe;
