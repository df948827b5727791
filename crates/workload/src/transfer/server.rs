//! The server of transfers.

use alloc::vec::Vec;

use netstudy_units::Time;

use super::{Direction, TransferShape};
use crate::outbox::Outbox;
use crate::{Action, Owed, Traffic};

/// The server of transfers, for any number of clients.
#[derive(Clone, Debug)]
pub struct TransferServer {
    shape: TransferShape,
    /// The streams of each connection, as far as connections have carried data.
    streams: Vec<Stream>,
    outbox: Outbox,
}

/// The stream of a connection, as far as the client's bytes tell.
#[derive(Clone, Copy, Debug, Default)]
struct Stream {
    /// Earlier streams of the connection.
    earlier: u64,
    /// Bytes received before the current stream.
    begun_at: u64,
    /// The client's stream ends after this number of received bytes; none: not known yet.
    ends_at: Option<u64>,
    /// True while the server writes its own stream.
    writes: bool,
}

impl Stream {
    /// The next stream begins after the received bytes `total`.
    fn end(&mut self, total: u64) {
        *self = Self { earlier: self.earlier + 1, begun_at: total, ..Self::default() };
    }
}

impl TransferServer {
    /// A server that has received no requests.
    #[must_use]
    pub fn new(shape: TransferShape) -> Self {
        Self { shape, streams: Vec::new(), outbox: Outbox::default() }
    }

    /// The stream of a connection.
    fn stream(&mut self, connection: u32) -> &mut Stream {
        let place = connection as usize;
        if self.streams.len() <= place {
            self.streams.resize(place + 1, Stream::default());
        }
        &mut self.streams[place]
    }

    /// Begins, ends or confirms the stream of a connection that has delivered `total` bytes.
    /// Returns whether there was anything to do.
    fn go_on(&mut self, now: Time, connection: u32, total: u64) -> bool {
        let TransferShape { direction, request_bytes: bytes, .. } = self.shape;
        let head = self.shape.head();
        let stream = self.stream(connection);
        let begins =
            direction != Direction::Put && !stream.writes && total >= stream.begun_at + head;
        stream.writes |= begins;
        let ends_at = match direction {
            // The second request of a stream ends it.
            Direction::Get => Some(stream.begun_at + 2 * bytes),
            Direction::Put | Direction::Both => stream.ends_at,
        };
        let ends = ends_at.is_some_and(|end| total >= end);
        let (begun_at, writes) = (stream.begun_at, stream.writes);
        if ends {
            stream.end(ends_at.unwrap_or(begun_at));
        }
        if begins {
            self.outbox.push(now, Action::Stream { connection });
        }
        if ends && writes {
            self.outbox.push(now, Action::Finish { connection, bytes });
        } else if ends {
            self.outbox.push(now, Action::Write { connection, bytes });
        }
        begins || ends
    }
}

impl Traffic for TransferServer {
    fn next_action(&self) -> Time {
        self.outbox.due()
    }

    fn poll(&mut self, _now: Time) -> Option<Action> {
        self.outbox.pop()
    }

    fn received(&mut self, now: Time, connection: u32, before: u64, total: u64) -> bool {
        let Some(exchange) = self.shape.exchange() else {
            return self.go_on(now, connection, total);
        };
        let bytes = exchange.due_answer(total) - exchange.due_answer(before);
        if bytes > 0 {
            self.outbox.push(now, Action::Write { connection, bytes });
        }
        bytes > 0
    }

    fn ends_at(&mut self, connection: u32, total: u64) {
        self.stream(connection).ends_at = Some(total);
    }

    fn owed(&self, connection: u32, received: u64) -> Option<Owed> {
        if let Some(exchange) = self.shape.exchange() {
            return Owed::of_request(received, exchange.asked());
        }
        if self.shape.direction == Direction::Get {
            return Owed::of_request(received, self.shape.request_bytes);
        }
        let Stream { earlier, begun_at, ends_at, .. } =
            self.streams.get(connection as usize).copied().unwrap_or_default();
        let bytes = ends_at.map(|end| end - begun_at);
        let received = received - begun_at;
        (received > 0).then_some(Owed { message: earlier + 1, received, bytes })
    }
}
