//! Jobs that need a database connection, and their results.

use netstudy_records::BrokeragePopulation;

use crate::answer::Answer;
use crate::books::Books;
use crate::database::error::DatabaseError;
use crate::population::Counts;
use crate::problem::Problem;
use crate::rows::Profile;

/// The names of the operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Name {
    Account,
    Buy,
    Home,
    Login,
    Logout,
    Portfolio,
    Quotes,
    Register,
    Sell,
    Update,
}

impl Name {
    /// All names, in the order in which the enum lists them.
    pub(crate) const ALL: [Self; 10] = [
        Self::Account,
        Self::Buy,
        Self::Home,
        Self::Login,
        Self::Logout,
        Self::Portfolio,
        Self::Quotes,
        Self::Register,
        Self::Sell,
        Self::Update,
    ];

    /// The name in counters and pages.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Account => "account",
            Self::Buy => "buy",
            Self::Home => "home",
            Self::Login => "login",
            Self::Logout => "logout",
            Self::Portfolio => "portfolio",
            Self::Quotes => "quotes",
            Self::Register => "register",
            Self::Sell => "sell",
            Self::Update => "update",
        }
    }
}

/// An operation of a user, with the fields of its form.
#[derive(Clone, Debug)]
pub(crate) enum Operation {
    Login { user: String, password: String },
    Logout { user: String },
    Home { user: String },
    Quotes { user: String, symbols: Vec<String> },
    Portfolio { user: String },
    Account { user: String },
    Update { profile: Profile },
    Buy { user: String, symbol: String, quantity: i64 },
    Sell { user: String, holding: i64 },
    Register { profile: Profile, balance_cents: i64 },
}

impl Operation {
    pub(crate) const fn name(&self) -> Name {
        match self {
            Self::Login { .. } => Name::Login,
            Self::Logout { .. } => Name::Logout,
            Self::Home { .. } => Name::Home,
            Self::Quotes { .. } => Name::Quotes,
            Self::Portfolio { .. } => Name::Portfolio,
            Self::Account { .. } => Name::Account,
            Self::Update { .. } => Name::Update,
            Self::Buy { .. } => Name::Buy,
            Self::Sell { .. } => Name::Sell,
            Self::Register { .. } => Name::Register,
        }
    }

    /// The user to whom the page first reports newly closed orders; none for log-in, log-out and
    /// registration.
    pub(crate) fn told(&self) -> Option<&str> {
        match self {
            Self::Login { .. } | Self::Logout { .. } | Self::Register { .. } => None,
            Self::Update { profile } => Some(&profile.user),
            Self::Home { user }
            | Self::Quotes { user, .. }
            | Self::Portfolio { user }
            | Self::Account { user }
            | Self::Buy { user, .. }
            | Self::Sell { user, .. } => Some(user),
        }
    }
}

/// A job that runs on a connection of the pool.
#[derive(Clone, Debug)]
pub(crate) enum Job {
    Operation(Operation),
    Load(BrokeragePopulation),
    GatherStatistics,
    Reset,
    Check,
}

impl Job {
    /// Whether a user waits for the result.
    pub(crate) const fn is_of_a_user(&self) -> bool {
        matches!(self, Self::Operation(_))
    }
}

/// The result of a job.
#[derive(Debug)]
pub(crate) enum Outcome {
    Answer(Answer),
    Problem(Problem),
    Counts(Counts),
    Books(Books),
    /// A command of the controller failed.
    Failed(DatabaseError),
}
