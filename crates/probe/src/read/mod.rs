//! The only I/O: files of /proc and netlink, as the kernel tells them.

mod file;
mod netlink;
mod probe;
mod processes;

pub use netlink::FlowReader;
pub use probe::Probe;
