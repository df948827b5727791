//! Errors of submissions, with the names that they have in records.

use core::fmt;

/// Why a submission failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Failure {
    /// The connection of the submission failed.
    Network(NetworkFailure),
    /// The application rejected the submission or failed to process it.
    Server(ServerFailure),
}

/// Failures of connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum NetworkFailure {
    /// The connection was refused: nothing listens at the peer.
    Refused,
    /// The peer reset the connection.
    Reset,
    /// No complete answer arrived in time.
    TimedOut,
    /// The peer closed the connection before the answer was complete.
    ClosedEarly,
    /// There is no route to the peer.
    Unreachable,
    /// Any other failure.
    Broken,
}

/// Failures of applications.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ServerFailure {
    /// The application answered with this status.
    Status(u16),
    /// The answer is not HTTP.
    Malformed,
    /// The header of the answer is longer than the client accepts.
    HeadTooLong,
    /// The answer has an unsupported HTTP version or transfer coding.
    Unsupported,
}

impl Failure {
    /// Whether the session is over, so that the user must log in again.
    #[must_use]
    pub const fn ends_session(self) -> bool {
        matches!(self, Self::Server(ServerFailure::Status(300..=399 | 401 | 403)))
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self {
            Self::Network(NetworkFailure::Refused) => "connection refused",
            Self::Network(NetworkFailure::Reset) => "connection reset",
            Self::Network(NetworkFailure::TimedOut) => "timed out",
            Self::Network(NetworkFailure::ClosedEarly) => "closed early",
            Self::Network(NetworkFailure::Unreachable) => "unreachable",
            Self::Network(NetworkFailure::Broken) => "connection broken",
            Self::Server(ServerFailure::Status(status)) => return write!(f, "{status}"),
            Self::Server(ServerFailure::Malformed) => "malformed answer",
            Self::Server(ServerFailure::HeadTooLong) => "head too long",
            Self::Server(ServerFailure::Unsupported) => "unsupported answer",
        };
        f.write_str(name)
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::*;

    #[test]
    fn a_status_is_told_by_its_number() {
        assert_eq!(Failure::Server(ServerFailure::Status(503)).to_string(), "503");
        assert_eq!(Failure::Network(NetworkFailure::Reset).to_string(), "connection reset");
    }

    #[test]
    fn a_session_ends_where_a_log_in_is_wanted() {
        let ends = |status| Failure::Server(ServerFailure::Status(status)).ends_session();
        assert!([302, 401, 403].map(ends).iter().all(|&ends| ends));
        assert!([404, 409, 500, 503].map(ends).iter().all(|&ends| !ends));
        assert!(!Failure::Network(NetworkFailure::Reset).ends_session());
    }
}
