//! The only I/O: reads files of /proc and netlink.

mod file;
mod netlink;
mod probe;
mod processes;

pub use netlink::FlowReader;
pub use probe::Probe;
