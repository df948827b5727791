//! Threads that carry files.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use nix::sys::eventfd::{EfdFlags, EventFd};

use super::carry::{Cargo, Carried};
use crate::failure::Failure;

/// Threads that carry files, and the news of their ends.
pub(super) struct Carriers {
    news: Receiver<(u64, Carried)>,
    tell: Sender<(u64, Carried)>,
    /// Readable while there are news.
    pub(super) wake: Arc<EventFd>,
}

impl Carriers {
    pub(super) fn new() -> Result<Self, Failure> {
        let (tell, news) = channel();
        let wake = EventFd::from_flags(EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK)
            .map_err(Failure::run("an event descriptor"))?;
        Ok(Self { news, tell, wake: Arc::new(wake) })
    }

    /// Begins to carry, under a number of the caller's.
    pub(super) fn start(&self, number: u64, cargo: Cargo) -> Result<(), Failure> {
        let (tell, wake) = (self.tell.clone(), Arc::clone(&self.wake));
        let carry = move || {
            let carried = cargo.carry();
            // Nobody is there to hear it when the agent ends.
            let _ = tell.send((number, carried));
            let _ = wake.write(1);
        };
        thread::Builder::new()
            .name("carrier".to_owned())
            .spawn(carry)
            .map(drop)
            .map_err(Failure::run("starting a thread"))
    }

    /// Files that have been carried since the last call.
    pub(super) fn ended(&self) -> Vec<(u64, Carried)> {
        let _ = self.wake.read();
        self.news.try_iter().collect()
    }
}
