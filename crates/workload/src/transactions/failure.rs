//! Errors of submissions, by their names in records.

use core::fmt;

/// Why a submission failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Failure {
    /// Its connection failed.
    Network(NetworkFailure),
    /// The application refused it, or failed at it.
    Server(ServerFailure),
}

/// Failures of connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum NetworkFailure {
    /// Nobody listens.
    Refused,
    /// The peer reset it.
    Reset,
    /// There was no whole answer in time.
    TimedOut,
    /// The peer closed it before the answer was whole.
    ClosedEarly,
    /// There is no way to the peer.
    Unreachable,
    /// Any other.
    Broken,
}

/// Failures of applications.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ServerFailure {
    /// It answered with this status.
    Status(u16),
    /// Its answer is not one of HTTP.
    Malformed,
    /// The head of its answer is longer than is read.
    HeadTooLong,
    /// Its answer is of a version or a coding that is not understood.
    Unsupported,
}

impl Failure {
    /// Whether the session is over: the application wants a log-in.
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
