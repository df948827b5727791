//! What an application is to whatever drives it: the simulator, or the agent's poll loop.

use netstudy_units::{Duration, Time};

/// What an application does next. It numbers its connections itself, from 0; who the peer of each is
/// stands in the set-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Opens a connection to its peer.
    Open {
        /// Which.
        connection: u32,
    },
    /// Hands bytes to a connection.
    Write {
        /// Which.
        connection: u32,
        /// How many.
        bytes: u64,
    },
    /// Closes its direction of a connection: what was written still arrives.
    Close {
        /// Which.
        connection: u32,
    },
    /// The measuring phase begins for this host.
    Begin,
    /// Something that is measured has ended.
    Sample(Sample),
    /// The time of the measuring phase is over for this host. What is under way still ends, and is not
    /// measured any more; [`Self::End`] follows.
    Over,
    /// The measuring phase has ended for this host, and nothing of it is under way.
    End,
    /// The warm-up goes on until the time of [`Traffic::go`], when the measuring phase is to begin.
    Ready,
    /// A phase has ended for this host, which waits for [`Traffic::go`].
    Hold,
}

/// Something that has ended, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sample {
    /// All servers have answered once.
    Iteration {
        /// When the first request was due.
        started: Time,
        /// When the last byte was there.
        ended: Time,
    },
    /// A transfer.
    Transfer {
        /// Its connection.
        connection: u32,
        /// Bytes that the client received.
        bytes_received: u64,
        /// Bytes that the client sent.
        bytes_sent: u64,
        /// When it was due.
        started: Time,
        /// When its last byte was there, or was confirmed by the receiving application.
        ended: Time,
    },
    /// A request and its response.
    Request {
        /// Its connection.
        connection: u32,
        /// When it was due: what is late counts as waiting (no coordinated omission).
        intended: Time,
        /// When the last byte of the response was there.
        ended: Time,
    },
}

/// What a peer still has to send of the message that it is in, or that it was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Owed {
    /// Number of the message on its connection, from 1.
    pub message: u64,
    /// Its size.
    pub bytes: u64,
    /// What of it is missing.
    pub missing: u64,
}

impl Owed {
    /// Of a peer that sends requests of `bytes` each, and of which `received` bytes have come: the
    /// rest of a request that it has begun.
    pub(crate) fn of_request(received: u64, bytes: u64) -> Option<Self> {
        let begun = received % bytes;
        (begun > 0).then(|| Self::of_response(received, bytes))
    }

    /// Of a peer that was asked for messages of `bytes` each, and of which `received` bytes have come:
    /// the rest of the message that it is in.
    pub(crate) const fn of_response(received: u64, bytes: u64) -> Self {
        Self { message: received / bytes + 1, bytes, missing: bytes - received % bytes }
    }
}

/// One host's application, as a pure state machine. Hosts talk through bytes on connections and
/// through nothing else.
///
/// The driver says what happened (`opened`, `received`, `acknowledged`, `closed`); all that the
/// application does comes out of [`Self::poll`], which the driver calls when [`Self::next_action`] is
/// due, until it answers none. Facts come in the order of time, and the answer `true` says that
/// [`Self::next_action`] may be earlier than before: who hears `false` need not ask.
pub trait Traffic {
    /// Whether it wants to hear of acknowledged bytes; who does not pays nothing for them. A driver
    /// that does not hear of each acknowledgment tells of them before it calls [`Self::poll`] for
    /// something that is due at an instant.
    const HEARS_ACKNOWLEDGMENTS: bool = false;

    /// When something is due; [`Time::NEVER`] if nothing is.
    fn next_action(&self) -> Time;

    /// What is to be done at `now`, one thing at a time.
    fn poll(&mut self, now: Time) -> Option<Action>;

    /// The controller starts what waits behind [`Action::Hold`], at once: `at` is now then. Behind
    /// [`Action::Ready`], it names the time, now or later, at which the measuring phase begins.
    fn go(&mut self, _at: Time) -> bool {
        false
    }

    /// A connection is open at this end.
    fn opened(&mut self, _now: Time, _connection: u32) -> bool {
        false
    }

    /// The connection has delivered `total` bytes since it was opened, and `before` that until now.
    fn received(&mut self, now: Time, connection: u32, before: u64, total: u64) -> bool;

    /// The peer's TCP has acknowledged `total` bytes since the connection was opened.
    fn acknowledged(&mut self, _now: Time, _connection: u32, _total: u64) -> bool {
        false
    }

    /// Whether it answers what it receives, as a server of requests does. The kernel takes such a
    /// connection for interactive, whose reads send no acknowledgment by themselves
    /// (`inet_csk_in_pingpong_mode` of Linux).
    fn answers(&self) -> bool {
        false
    }

    /// How long it has waited so far for what it asked for on that connection.
    fn receiving(&self, _connection: u32) -> Duration {
        Duration::ZERO
    }

    /// The peer has closed its direction.
    fn closed(&mut self, _now: Time, _connection: u32) -> bool {
        false
    }

    /// What the peer owes on a connection that has delivered `received` bytes; none: nothing. For
    /// drivers that wait for it, and for their messages.
    fn owed(&self, _connection: u32, _received: u64) -> Option<Owed> {
        None
    }
}
