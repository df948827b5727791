//! The interface between an application and its driver: the simulator, or the agent's poll loop.

use netstudy_units::{Duration, Time};

/// An application's next action. It numbers its connections itself, from 0; the set-up knows the peer
/// of each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Opens a connection to its peer; an application with [`Traffic::REOPENS`] listens for it where the
    /// peer opens it.
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
    /// Takes some of the bytes of a connection that it has left: see [`Traffic::READS_LATER`].
    Read {
        /// Which.
        connection: u32,
    },
    /// Closes its direction of a connection: written data still arrives.
    Close {
        /// Which.
        connection: u32,
    },
    /// The measuring phase begins for this host.
    Begin,
    /// Something that is measured has ended.
    Sample(Sample),
    /// The time of the measuring phase is over for this host. Exchanges under way still end,
    /// unmeasured; [`Self::End`] follows.
    Over,
    /// The measuring phase has ended for this host, with nothing under way.
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
        /// When the first byte of its data came, or left; none: that is not observed.
        first_byte: Option<Time>,
        /// When its last byte was there, or was confirmed by the receiving application.
        ended: Time,
    },
    /// A session of FTP has logged in.
    LogIn {
        /// The connection of its files.
        connection: u32,
        /// Time until its control connection was open.
        connect: Duration,
        /// Time from there until it was ready for transfers.
        login: Duration,
    },
    /// A request and its response.
    Request {
        /// Its connection.
        connection: u32,
        /// When it was due: lateness counts as waiting (no coordinated omission).
        intended: Time,
        /// When the last byte of the response was there.
        ended: Time,
    },
}

/// Bytes that a peer still has to send of its current or requested message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Owed {
    /// Number of the message on its connection, from 1.
    pub message: u64,
    /// Its size.
    pub bytes: u64,
    /// Missing bytes.
    pub missing: u64,
}

impl Owed {
    /// Of a peer that sends requests of `bytes` each, and of which `received` bytes have come: the
    /// rest of a request that it has begun.
    pub(crate) fn of_request(received: u64, bytes: u64) -> Option<Self> {
        let begun = received % bytes;
        (begun > 0).then(|| Self::of_response(received, bytes))
    }

    /// The rest of the current message of a peer that owes messages of `bytes` each, after `received`
    /// bytes.
    pub(crate) const fn of_response(received: u64, bytes: u64) -> Self {
        Self { message: received / bytes + 1, bytes, missing: bytes - received % bytes }
    }
}

/// One host's application, as a pure state machine. Hosts talk through bytes on connections and through
/// nothing else.
///
/// The driver reports events (`opened`, `received`, `acknowledged`, `closed`); the application's
/// actions all come out of [`Self::poll`], which the driver calls when [`Self::next_action`] is due,
/// until it returns none. Events come in the order of time. A return of `true` says that
/// [`Self::next_action`] may be earlier than before; after `false` the driver need not ask.
pub trait Traffic {
    /// Whether the application hears of acknowledged bytes; without it they cost nothing. A driver that
    /// does not see each acknowledgment reports them before it calls [`Self::poll`] for a timed action.
    const HEARS_ACKNOWLEDGMENTS: bool = false;

    /// Whether a connection may be opened again after it was closed; without that it costs nothing. It is
    /// a new connection between the same ends: its bytes are counted from 0.
    const REOPENS: bool = false;

    /// Whether the application may leave bytes with TCP that have come, which then takes fewer further ones;
    /// without that it takes all at once, and this costs nothing.
    const READS_LATER: bool = false;

    /// True for applications that send few packets. The simulator then compiles one general packet path for them
    /// instead of a faster path for each kind of network, and the engine is smaller.
    const PREFERS_SMALL_CODE: bool = false;

    /// Bytes that have come on a connection and that the application has left with TCP. It may be less after
    /// [`Action::Read`].
    fn unread(&self, _connection: u32) -> u64 {
        0
    }

    /// Time of the next action; [`Time::NEVER`] if there is none.
    fn next_action(&self) -> Time;

    /// The next action due at `now`; none: no further one.
    fn poll(&mut self, now: Time) -> Option<Action>;

    /// The controller lets the application go on: after [`Action::Hold`] at once, with `at` as the
    /// current time; after [`Action::Ready`] it names the time, now or later, at which the measuring
    /// phase begins.
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

    /// Total time so far with requested data outstanding on the connection.
    fn receiving(&self, _connection: u32) -> Duration {
        Duration::ZERO
    }

    /// The peer has closed its direction.
    fn closed(&mut self, _now: Time, _connection: u32) -> bool {
        false
    }

    /// The rest of the message that the peer owes on a connection that has delivered `received` bytes;
    /// none: nothing is owed. For drivers that wait for it, and for their messages.
    fn owed(&self, _connection: u32, _received: u64) -> Option<Owed> {
        None
    }
}
