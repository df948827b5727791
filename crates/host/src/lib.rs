//! The process that represents a host to its controller. One session carries everything for the
//! host: the lines of its agents, its clock, its lease and its lock.
//!
//! One thread ([`session`]) reads the controller's lines and never blocks: standard output has a
//! thread and a queue ([`output`]), each child has a thread for each of its streams ([`child`]), and
//! commands that may take a while run in a thread of their own. So the lease ([`lease`]) ends the
//! session in time even if nobody reads its output. If the process itself is stopped, a second
//! process ([`guard`]) kills it when the lease is over, and the kernel then kills the children,
//! which are bound to this process ([`bound`]).

mod bound;
mod child;
mod children;
mod clock;
mod facts;
mod failure;
mod files;
mod guard;
mod input;
mod interfaces;
mod lease;
mod listen;
mod lock;
mod output;
mod pattern;
mod reach;
mod session;
mod tail;

pub use bound::bind_to;
pub use failure::Failure;
pub use guard::guard;
pub use session::run;
