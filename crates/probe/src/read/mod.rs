//! The only module with I/O: reads files of /proc and netlink sockets.

mod file;
mod netlink;
mod probe;
mod processes;

pub use netlink::FlowReader;
pub use probe::Probe;
