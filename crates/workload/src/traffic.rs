//! The interface between an application and its driver: the simulator, or the agent's poll loop.

use netstudy_units::{Duration, Time};

/// An application's next action. The application numbers its connections from 0; the peer of each
/// connection is configured outside of the application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Opens a connection to its peer. If the peer is the side that opens the connection, and
    /// [`Traffic::REOPENS`] is true, the application listens for the connection instead.
    Open {
        /// The connection.
        connection: u32,
    },
    /// Hands bytes to a connection.
    Write {
        /// The connection.
        connection: u32,
        /// Number of bytes.
        bytes: u64,
    },
    /// Hands bytes to a connection without end, as fast as it takes them: until [`Self::Finish`].
    Stream {
        /// The connection.
        connection: u32,
    },
    /// Ends a stream: a last message follows the bytes that the connection has taken. The driver
    /// reports the length of the stream to the application ([`Traffic::finished`]) and to its peer
    /// ([`Traffic::ends_at`]).
    Finish {
        /// The connection.
        connection: u32,
        /// Number of bytes of the last message, at least 1.
        bytes: u64,
    },
    /// Reads some of the bytes that the application has left unread on a connection: see
    /// [`Traffic::READS_LATER`].
    Read {
        /// The connection.
        connection: u32,
    },
    /// Closes the application's direction of a connection. Data that is already written still
    /// arrives.
    Close {
        /// The connection.
        connection: u32,
    },
    /// The measuring phase begins for this host.
    Begin,
    /// A measured unit of work has ended.
    Sample(Sample),
    /// The time of the measuring phase is over for this host. Exchanges in progress are completed
    /// without being measured; [`Self::End`] follows.
    Over,
    /// The measuring phase has ended for this host, and nothing is in flight.
    End,
    /// The warm-up continues until the time set by [`Traffic::go`], when the measuring phase
    /// begins.
    Ready,
    /// A phase has ended for this host, and the host waits for [`Traffic::go`].
    Hold,
}

impl Action {
    /// The connection on which the action calls its socket; none: it reports to the driver.
    #[must_use]
    pub const fn connection(&self) -> Option<u32> {
        match *self {
            Self::Open { connection }
            | Self::Write { connection, .. }
            | Self::Stream { connection }
            | Self::Finish { connection, .. }
            | Self::Read { connection }
            | Self::Close { connection } => Some(connection),
            Self::Begin | Self::Sample(_) | Self::Over | Self::End | Self::Ready | Self::Hold => {
                None
            }
        }
    }
}

/// A completed unit of work with its times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sample {
    /// An iteration: all servers have answered once.
    Iteration {
        /// When the first request was due.
        started: Time,
        /// When the last byte had arrived.
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
        /// When the first byte of the transfer's data was received or sent; none: not observed.
        first_byte: Option<Time>,
        /// When the last byte of the transfer had arrived, or when the receiving application had
        /// confirmed the transfer.
        ended: Time,
    },
    /// The log-in of an FTP session.
    LogIn {
        /// The connection on which the session transfers its files.
        connection: u32,
        /// How long it took to open the session's control connection.
        connect: Duration,
        /// Time from then until the session was ready for transfers.
        login: Duration,
    },
    /// A request and its response.
    Request {
        /// Its connection.
        connection: u32,
        /// When the request was due. A late start counts as waiting time (no coordinated omission).
        intended: Time,
        /// When the last byte of the response had arrived.
        ended: Time,
    },
}

/// The event that an action on a connection follows: for accounts of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Because {
    /// The last event of which the application heard on this connection, and then this wait.
    Heard(Wait),
    /// The last event of which the application heard on any connection, and then this wait.
    HeardLast(Wait),
    /// The last step of the job with this number, and then this wait. The driver numbers the jobs of
    /// its own applications.
    Step(u32, Wait),
    /// Only the application's schedule.
    Scheduled,
}

/// The reason of the wait between an event and an application's action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// Its own work, such as the delay of an answer.
    Application,
    /// A user thinks, or a client pauses.
    Think,
    /// The time that the schedule of the load sets.
    Schedule,
}

/// The message that a peer is sending or must send, and how much of it has arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Owed {
    /// Number of the message on its connection, from 1.
    pub message: u64,
    /// Bytes of it that have arrived.
    pub received: u64,
    /// Its size; none: the message is a stream that its sender has not ended.
    pub bytes: Option<u64>,
}

impl Owed {
    /// Missing bytes; of a stream that is not ended, at least this many.
    #[must_use]
    pub fn missing(&self) -> u64 {
        self.bytes.map_or(1, |bytes| bytes - self.received)
    }

    /// The missing rest of a partly received request, if the peer sends requests of `bytes` each
    /// and `received` bytes have arrived in total.
    pub(crate) fn of_request(received: u64, bytes: u64) -> Option<Self> {
        let begun = received % bytes;
        (begun > 0).then(|| Self::of_response(received, bytes))
    }

    /// The missing rest of the current message, if the peer must send messages of `bytes` each and
    /// `received` bytes have arrived in total.
    pub(crate) const fn of_response(received: u64, bytes: u64) -> Self {
        Self { message: received / bytes + 1, received: received % bytes, bytes: Some(bytes) }
    }
}

/// One host's application, as a pure state machine. The applications of different hosts communicate
/// only through bytes on connections.
///
/// The driver reports events (`opened`, `received`, `acknowledged`, `closed`); [`Self::poll`]
/// returns all actions of the application. When [`Self::next_action`] is due, the driver calls
/// [`Self::poll`] until it returns none. Events must be reported in the order of time. If the
/// function of an event returns `true`, [`Self::next_action`] may be earlier than before; if it
/// returns `false`, the driver need not check.
pub trait Traffic {
    /// Whether the driver reports acknowledged bytes to the application; if false, this costs
    /// nothing. A driver that does not see each acknowledgment reports the acknowledged bytes
    /// before it calls [`Self::poll`] for a timed action.
    const HEARS_ACKNOWLEDGMENTS: bool = false;

    /// Whether a closed connection may be opened again; if false, this costs nothing. The reopened
    /// connection is a new one between the same ends, and its bytes are counted from 0.
    const REOPENS: bool = false;

    /// Whether the application may leave received bytes unread, which shrinks TCP's receive window.
    /// If false, the application reads all bytes at once, and the feature costs nothing.
    const READS_LATER: bool = false;

    /// True for applications that send few packets. For them, the simulator compiles one general
    /// packet path instead of a faster path per kind of network, which makes the program smaller.
    const PREFERS_SMALL_CODE: bool = false;

    /// Received bytes of a connection that the application has left unread. The number may decrease
    /// after [`Action::Read`].
    fn unread(&self, _connection: u32) -> u64 {
        0
    }

    /// The event that led to the action which [`Self::poll`] has just returned for a connection.
    fn because(&self, _connection: u32) -> Because {
        Because::Heard(Wait::Application)
    }

    /// Start of the oldest unit of work that is under way; [`Time::NEVER`] if there is none.
    fn working_since(&self) -> Time {
        Time::NEVER
    }

    /// Time of the next action; [`Time::NEVER`] if there is none.
    fn next_action(&self) -> Time;

    /// The next action that is due at `now`; none: no further action is due.
    fn poll(&mut self, now: Time) -> Option<Action>;

    /// The controller lets the application continue. After [`Action::Hold`] it continues at once,
    /// and `at` is the current time; after [`Action::Ready`], `at` is the time, now or later, at
    /// which the measuring phase begins.
    fn go(&mut self, _at: Time) -> bool {
        false
    }

    /// Reports that a connection is open at this end.
    fn opened(&mut self, _now: Time, _connection: u32) -> bool {
        false
    }

    /// Reports that the connection has delivered `total` bytes since it was opened; before this
    /// event, it had delivered `before` bytes.
    fn received(&mut self, now: Time, connection: u32, before: u64, total: u64) -> bool;

    /// Reports that the peer's TCP has acknowledged `total` bytes since the connection was opened.
    fn acknowledged(&mut self, _now: Time, _connection: u32, _total: u64) -> bool {
        false
    }

    /// Reports that the stream which the application has finished ([`Action::Finish`]) ends after
    /// `total` bytes, counted since the connection was opened.
    fn finished(&mut self, _connection: u32, _total: u64) {}

    /// Reports that the peer's stream ends after `total` bytes, counted since the connection was
    /// opened. The last of them has not been reported as received yet.
    fn ends_at(&mut self, _connection: u32, _total: u64) {}

    /// Total time so far during which data requested on the connection was outstanding.
    fn receiving(&self, _connection: u32) -> Duration {
        Duration::ZERO
    }

    /// Reports that the peer has closed its direction of the connection.
    fn closed(&mut self, _now: Time, _connection: u32) -> bool {
        false
    }

    /// The missing rest of the message that the peer must send on a connection which has delivered
    /// `received` bytes; none: the peer need not send anything. Drivers use this to decide whether
    /// to wait, and in their messages.
    fn owed(&self, _connection: u32, _received: u64) -> Option<Owed> {
        None
    }
}
