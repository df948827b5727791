//! Threads that transfer files.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use nix::sys::eventfd::{EfdFlags, EventFd};

use super::carry::{Cargo, Carried};
use crate::failure::Failure;
use crate::scheduling::Scheduling;

/// Starts threads that transfer files, and collects their results.
pub(super) struct Carriers {
    news: Receiver<(u64, Carried)>,
    tell: Sender<(u64, Carried)>,
    scheduling: Arc<Scheduling>,
    /// Readable while results are waiting.
    pub(super) wake: Arc<EventFd>,
}

impl Carriers {
    /// The threads count in `scheduling`.
    pub(super) fn new(scheduling: &Arc<Scheduling>) -> Result<Self, Failure> {
        let (tell, news) = channel();
        let wake = EventFd::from_flags(EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK)
            .map_err(Failure::run("an event descriptor"))?;
        let scheduling = Arc::clone(scheduling);
        Ok(Self { news, tell, scheduling, wake: Arc::new(wake) })
    }

    /// Starts a transfer in a new thread. The caller's `number` identifies its result.
    pub(super) fn start(&self, number: u64, cargo: Cargo) -> Result<(), Failure> {
        let (tell, wake) = (self.tell.clone(), Arc::clone(&self.wake));
        let scheduling = Arc::clone(&self.scheduling);
        let carry = move || {
            let counted = scheduling.count();
            let carried = cargo.carry();
            drop(counted);
            // Sending the result fails only when the agent has ended; then nobody needs it.
            let _ = tell.send((number, carried));
            let _ = wake.write(1);
        };
        thread::Builder::new()
            .name("carrier".to_owned())
            .spawn(carry)
            .map(drop)
            .map_err(Failure::run("starting a thread"))
    }

    /// Results of the transfers that have ended since the last call.
    pub(super) fn ended(&self) -> Vec<(u64, Carried)> {
        let _ = self.wake.read();
        self.news.try_iter().collect()
    }
}
