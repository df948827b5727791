//! The parameters of transfers.

use netstudy_units::Duration;

use crate::phases::{Phases, Until};

/// Direction of the payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From the server to the client.
    Get,
    /// From the client to the server.
    Put,
    /// Both directions at once over the same connection; each direction transfers the whole size.
    Both,
}

/// Size of a transfer, in each direction that has data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransferSize {
    /// A fixed number of bytes.
    Fixed(u64),
    /// As many bytes as possible within the time of a phase.
    Stream,
}

/// The parameters of a transfer that both ends know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransferShape {
    /// Direction of the payload.
    pub direction: Direction,
    /// Size of the payload.
    pub size: TransferSize,
    /// Size of a request, of a confirmation, and of the last message of a stream.
    pub request_bytes: u64,
}

impl TransferShape {
    pub(super) const fn sends(&self) -> bool {
        matches!(self.direction, Direction::Put | Direction::Both)
    }

    pub(super) const fn receives(&self) -> bool {
        matches!(self.direction, Direction::Get | Direction::Both)
    }

    pub(super) const fn is_stream(&self) -> bool {
        matches!(self.size, TransferSize::Stream)
    }

    /// Bytes that the client sends in an exchange before its payload.
    pub(super) const fn head(&self) -> u64 {
        if self.receives() { self.request_bytes } else { 0 }
    }

    /// The exchange of a transfer with a fixed size.
    pub(super) const fn exchange(&self) -> Option<Exchange> {
        match self.size {
            TransferSize::Fixed(payload) => Some(Exchange { shape: *self, payload }),
            TransferSize::Stream => None,
        }
    }
}

/// The exchange of a transfer with a fixed size.
#[derive(Clone, Copy, Debug)]
pub(super) struct Exchange {
    shape: TransferShape,
    /// Payload in each direction that has data.
    payload: u64,
}

impl Exchange {
    /// Payload that the client sends.
    pub(super) const fn payload_sent(&self) -> u64 {
        if self.shape.sends() { self.payload } else { 0 }
    }

    /// Payload that the client receives.
    pub(super) const fn payload_received(&self) -> u64 {
        if self.shape.receives() { self.payload } else { 0 }
    }

    /// Bytes that the client sends.
    pub(super) const fn asked(&self) -> u64 {
        self.shape.head() + self.payload_sent()
    }

    /// Bytes that the server sends.
    pub(super) const fn answered(&self) -> u64 {
        self.payload_received() + if self.shape.sends() { self.shape.request_bytes } else { 0 }
    }

    /// Bytes that the server must send in answer to the first `bytes` of the client.
    pub(super) fn due_answer(&self, bytes: u64) -> u64 {
        let ended = bytes / self.asked();
        let begun = ended + u64::from(bytes % self.asked() >= self.shape.head());
        match self.shape.direction {
            Direction::Get => ended * self.payload,
            Direction::Put => ended * self.shape.request_bytes,
            Direction::Both => begun * self.payload + ended * self.shape.request_bytes,
        }
    }
}

/// The transfers of one client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransferConfig {
    /// The shape of each transfer.
    pub shape: TransferShape,
    /// Connections of the client. On each connection, one transfer follows the other.
    pub connections: u32,
    /// Time from the end of a transfer to the start of the next one.
    pub pause: Duration,
    /// The phases. Each lasts for a number of transfers per connection, or for a time.
    pub phases: Phases,
}

impl TransferConfig {
    /// Checks the limits of the configuration.
    ///
    /// # Errors
    /// Says which limit is violated.
    pub fn check(&self) -> Result<(), &'static str> {
        let Self { shape, connections, phases, .. } = self;
        if *connections == 0 {
            return Err("a client of transfers has at least one connection");
        }
        shape.check()?;
        phases.check()?;
        if phases.measure.is_empty() {
            return Err("the measuring phase holds at least one transfer");
        }
        let counted = |until| matches!(until, Until::Count(1..));
        if shape.is_stream() && (counted(phases.warmup) || counted(phases.measure)) {
            return Err("a stream lasts for a time, not for a count");
        }
        Ok(())
    }
}

impl TransferShape {
    /// Checks the sizes.
    ///
    /// # Errors
    /// Says which limit is violated.
    pub const fn check(&self) -> Result<(), &'static str> {
        if matches!(self.size, TransferSize::Fixed(0)) || self.request_bytes == 0 {
            return Err("a transfer and a request have at least one byte");
        }
        Ok(())
    }
}
