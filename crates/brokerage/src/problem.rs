//! Errors of operations and requests, and their names in counters and pages.

/// Why an operation or a request failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Problem {
    /// The cookie has the identifier of a session that does not exist.
    UnknownSession,
    /// No user has this name and password.
    WrongPassword,
    /// A field of the form is missing or cannot be read.
    BadForm,
    /// A quantity outside 1 to [`crate::rows::QUANTITY_MAX`].
    BadQuantity,
    /// No quote has this symbol.
    UnknownSymbol,
    /// The account has no such holding.
    NoHolding,
    /// A user with this name already exists.
    UserExists,
    /// There is no page at this address.
    NotFound,
    /// The page does not support the request's method.
    MethodNotAllowed,
    /// The body of a request is longer than any valid form.
    BodyTooLong,
    /// The body of a request did not arrive in time.
    BodyTimeout,
    /// The header of a request is too long.
    HeaderTooLong,
    /// The header of a request did not arrive in time.
    HeaderTimeout,
    /// The request is not HTTP.
    MalformedRequest,
    /// The client did not read the response in time.
    SendTimeout,
    /// The database cannot be reached.
    DatabaseUnavailable,
    /// The database's disk is full.
    DatabaseFull,
    /// At each attempt, the database was busy or aborted the operation to resolve a deadlock.
    DatabaseBusy,
    /// The database did not answer in time.
    DatabaseTimeout,
    /// The database has no tables yet.
    NotLoaded,
    /// Any other error of the database.
    DatabaseError,
}

impl Problem {
    /// All problems, in the order in which the enum lists them.
    pub(crate) const ALL: [Self; 21] = [
        Self::UnknownSession,
        Self::WrongPassword,
        Self::BadForm,
        Self::BadQuantity,
        Self::UnknownSymbol,
        Self::NoHolding,
        Self::UserExists,
        Self::NotFound,
        Self::MethodNotAllowed,
        Self::BodyTooLong,
        Self::BodyTimeout,
        Self::HeaderTooLong,
        Self::HeaderTimeout,
        Self::MalformedRequest,
        Self::SendTimeout,
        Self::DatabaseUnavailable,
        Self::DatabaseFull,
        Self::DatabaseBusy,
        Self::DatabaseTimeout,
        Self::NotLoaded,
        Self::DatabaseError,
    ];

    /// The problem's name, the status of its response, and a sentence for users.
    const fn described(self) -> (&'static str, u16, &'static str) {
        // Statuses: RFC 9110, 15.5 and 15.6; 431: RFC 6585, 5. After a header timeout or a send
        // timeout the connection is closed without a response, so these two statuses are never
        // sent.
        match self {
            Self::UnknownSession => ("unknown-session", 401, "Please log in first."),
            Self::WrongPassword => ("wrong-password", 401, "No user has that name and password."),
            Self::BadForm => ("bad-form", 400, "A field is missing or cannot be read."),
            Self::BadQuantity => ("bad-quantity", 400, "The quantity is not a number of shares."),
            Self::UnknownSymbol => ("unknown-symbol", 404, "No quote has that symbol."),
            Self::NoHolding => ("no-holding", 409, "The account has no such holding."),
            Self::UserExists => ("user-exists", 409, "There is a user of that name."),
            Self::NotFound => ("not-found", 404, "There is no such page."),
            Self::MethodNotAllowed => {
                ("method-not-allowed", 405, "This page does not support that method.")
            }
            Self::BodyTooLong => ("body-too-long", 413, "The form is too long."),
            Self::BodyTimeout => ("body-timeout", 408, "The form did not come in time."),
            Self::HeaderTooLong => ("header-too-long", 431, "The header is too long."),
            Self::HeaderTimeout => ("header-timeout", 408, "The header did not come in time."),
            Self::MalformedRequest => ("malformed-request", 400, "The request is not HTTP."),
            Self::SendTimeout => ("send-timeout", 408, "The answer was not taken in time."),
            Self::DatabaseUnavailable => {
                ("database-unavailable", 503, "The database cannot be reached.")
            }
            Self::DatabaseFull => ("database-full", 503, "The database's disk is full."),
            Self::DatabaseBusy => ("database-busy", 503, "The database is busy."),
            Self::DatabaseTimeout => ("database-timeout", 503, "The database does not answer."),
            Self::NotLoaded => ("not-loaded", 503, "The database has no tables yet."),
            Self::DatabaseError => ("database-error", 500, "The database reports an error."),
        }
    }

    /// The problem's name in counters, pages and JSON.
    pub(crate) const fn name(self) -> &'static str {
        self.described().0
    }

    /// The status of the response.
    pub(crate) const fn status(self) -> u16 {
        self.described().1
    }

    /// A sentence for users.
    pub(crate) const fn sentence(self) -> &'static str {
        self.described().2
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_problem_stands_at_its_number() {
        for (number, problem) in Problem::ALL.into_iter().enumerate() {
            assert_eq!(problem as usize, number);
        }
    }
}
