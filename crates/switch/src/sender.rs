//! Sends frames to the kernel, many per system call.

use std::io::IoSlice;
use std::os::fd::{AsRawFd, OwnedFd};

use nix::sys::socket::{LinkAddr, MsgFlags, MultiHeaders, sendmmsg};

/// Maximum frames per system call.
pub(crate) const BATCH: usize = 32;

/// The outcome of writing frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Written {
    /// The given number of frames, beginning with the first, were sent.
    Sent(usize),
    /// The kernel had no room for the first frame.
    Refused,
}

/// Message headers for system calls. All ports use the same ones, one after the other.
pub(crate) struct Sender {
    headers: MultiHeaders<LinkAddr>,
}

impl Sender {
    pub(crate) fn new() -> Self {
        Self { headers: MultiHeaders::preallocate(BATCH, None) }
    }

    /// Writes frames to the interface of `socket`.
    pub(crate) fn send<'a>(
        &mut self,
        socket: &OwnedFd,
        frames: impl Iterator<Item = &'a [u8]>,
    ) -> nix::Result<Written> {
        let mut slices = [[IoSlice::new(&[])]; BATCH];
        let mut count = 0;
        for (slice, frame) in slices.iter_mut().zip(frames) {
            *slice = [IoSlice::new(frame)];
            count += 1;
        }
        let sent = sendmmsg(
            socket.as_raw_fd(),
            &mut self.headers,
            &slices[..count],
            [None::<LinkAddr>; BATCH],
            [],
            MsgFlags::MSG_DONTWAIT,
        );
        match sent {
            Ok(messages) => Ok(Written::Sent(messages.count())),
            // The buffer of the socket or the queue of the interface is full: packet(7).
            Err(nix::Error::EAGAIN | nix::Error::ENOBUFS) => Ok(Written::Refused),
            Err(nix::Error::EINTR) => Ok(Written::Sent(0)),
            Err(error) => Err(error),
        }
    }
}
