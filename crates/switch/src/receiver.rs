//! Receives frames from the kernel, many per system call.

use std::io::IoSliceMut;
use std::os::fd::{AsRawFd, OwnedFd};

use nix::libc;
use nix::sys::socket::{ControlMessageOwned, LinkAddr, MsgFlags, MultiHeaders, RecvMsg, recvmmsg};
use nix::sys::time::TimeSpec;

/// Maximum frames per system call.
const BATCH: usize = 32;

/// A frame received from the kernel.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Received {
    /// Index of the frame's buffer, for [`Receiver::buffer`].
    pub(crate) place: usize,
    /// Length of the frame.
    pub(crate) bytes: usize,
    /// When the kernel received the frame, by `CLOCK_REALTIME`.
    pub(crate) stamp: Option<TimeSpec>,
    /// Whether the frame was longer than a buffer.
    pub(crate) cut_off: bool,
}

/// Receive buffers, shared by all ports.
pub(crate) struct Receiver {
    buffers: [Box<[u8]>; BATCH],
    headers: MultiHeaders<LinkAddr>,
    received: Vec<Received>,
}

impl Receiver {
    pub(crate) fn new(buffer_bytes: usize) -> Self {
        let stamp = nix::cmsg_space!(TimeSpec);
        Self {
            buffers: std::array::from_fn(|_| vec![0; buffer_bytes].into_boxed_slice()),
            headers: MultiHeaders::preallocate(BATCH, Some(stamp)),
            received: Vec::with_capacity(BATCH),
        }
    }

    /// Receives frames that wait at `socket`, at most as many as there are buffers. Returns whether
    /// more frames may be waiting.
    ///
    /// Frames that the kernel of this namespace itself sends on the interface are skipped.
    pub(crate) fn receive(&mut self, socket: &OwnedFd) -> nix::Result<bool> {
        self.received.clear();
        let mut slices = self.buffers.each_mut().map(|buffer| [IoSliceMut::new(buffer)]);
        let messages = recvmmsg(
            socket.as_raw_fd(),
            &mut self.headers,
            slices.iter_mut(),
            MsgFlags::MSG_DONTWAIT,
            None,
        );
        let messages = match messages {
            Err(nix::Error::EAGAIN | nix::Error::EINTR) => return Ok(false),
            other => other?,
        };
        let mut count = 0;
        for (place, message) in messages.enumerate() {
            // Skipped frames are counted too: they also fill the batch, and more frames may follow
            // a full batch.
            count += 1;
            if !is_outgoing(&message) {
                self.received.push(Received {
                    place,
                    bytes: message.bytes,
                    stamp: stamp(&message),
                    cut_off: message.flags.contains(MsgFlags::MSG_TRUNC),
                });
            }
        }
        Ok(count == BATCH)
    }

    /// The frames of the last call of [`Self::receive`].
    pub(crate) fn received(&self) -> &[Received] {
        &self.received
    }

    /// The buffer of a frame of the last call of [`Self::receive`].
    pub(crate) fn buffer(&mut self, place: usize) -> &mut Box<[u8]> {
        &mut self.buffers[place]
    }
}

fn is_outgoing(message: &RecvMsg<'_, '_, LinkAddr>) -> bool {
    let address: Option<&libc::sockaddr_ll> = message.address.as_ref().map(AsRef::as_ref);
    address.is_some_and(|address| address.sll_pkttype == libc::PACKET_OUTGOING)
}

fn stamp(message: &RecvMsg<'_, '_, LinkAddr>) -> Option<TimeSpec> {
    message.cmsgs().ok()?.find_map(|part| match part {
        ControlMessageOwned::ScmTimestampns(stamp) => Some(stamp),
        _ => None,
    })
}
