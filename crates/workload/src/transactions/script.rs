//! The requests of each operation, as data.

use alloc::string::String;

use netstudy_units::Duration;

/// One request. The driver converts it to HTTP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request {
    /// Begins a session of a registered user. An earlier session of the client ends.
    Login {
        /// The user's number.
        user: u32,
    },
    /// Ends the session.
    Logout,
    /// The user's home page.
    Home,
    /// Prices of some stocks.
    Quotes(Symbols),
    /// The user's holdings. The answer contains the first holding.
    Portfolio,
    /// The user's account.
    Account,
    /// Changes the user's profile.
    Update {
        /// Number of this change: each number gives other details.
        number: u64,
    },
    /// Buys shares of a stock.
    Buy {
        /// The stock's number.
        symbol: u32,
        /// Number of shares.
        quantity: u32,
        /// Number of this purchase, unique in a generator: the application treats a repeated number
        /// as the same purchase.
        number: u64,
    },
    /// Sells a holding.
    Sell {
        /// The number of the holding in the application.
        holding: u64,
    },
    /// Registers a new user. A session of this user begins.
    Register {
        /// Number of this user, unique in a generator.
        number: u64,
    },
    /// An image of the previous page.
    Image {
        /// Its number, from 0.
        number: u32,
    },
    /// A request that is listed in the plan.
    Plain {
        /// Number of the operation in the mix.
        operation: u32,
        /// Number of the request in the operation.
        request: u32,
    },
}

/// Numbers of stocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Symbols {
    count: u8,
    numbers: [u32; Self::MOST as usize],
}

impl Symbols {
    /// Maximum number of stocks in one request.
    pub(super) const MOST: u32 = 10;

    pub(super) fn new(count: u32, mut draw: impl FnMut() -> u32) -> Self {
        let mut numbers = [0; Self::MOST as usize];
        numbers[..count as usize].fill_with(&mut draw);
        Self { count: count as u8, numbers }
    }

    /// The numbers.
    #[must_use]
    pub fn as_slice(&self) -> &[u32] {
        &self.numbers[..self.count.into()]
    }
}

/// The requests of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Script {
    /// An operation of the brokerage.
    Brokerage(Brokerage),
    /// Requests listed in the plan.
    Plain {
        /// Number of requests.
        requests: u32,
    },
}

/// Operations of the brokerage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Brokerage {
    /// A session of another user begins.
    Login,
    /// The session ends; a session of another user begins.
    Logout,
    /// The home page.
    Home,
    /// Some prices.
    Quotes,
    /// The holdings.
    Portfolio,
    /// The account.
    Account,
    /// Views the account and changes the profile.
    Update,
    /// Views a price and buys.
    Buy,
    /// Views the holdings and sells the first one; buys instead if there is none.
    Sell,
    /// The session ends; a session of a new user begins.
    Register,
}

/// A request whose details are drawn when it is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    Login,
    Logout,
    Home,
    Quotes,
    /// The price of the stock that is bought next.
    Quote,
    Portfolio,
    Account,
    Update,
    Buy,
    Sell,
    Register,
}

/// The remaining steps of a sale without a holding.
pub(super) const BUY_INSTEAD: &[Step] = &[Step::Quote, Step::Buy];

impl Brokerage {
    /// All operations with their names.
    const NAMES: [(&'static str, Self); 10] = [
        ("login", Self::Login),
        ("logout", Self::Logout),
        ("home", Self::Home),
        ("quotes", Self::Quotes),
        ("portfolio", Self::Portfolio),
        ("account", Self::Account),
        ("update", Self::Update),
        ("buy", Self::Buy),
        ("sell", Self::Sell),
        ("register", Self::Register),
    ];

    /// The requests of the operation, like in the public successors of the published application:
    /// the scenario servlet and the load scripts of `DayTrader` 7 and 8.
    pub(super) const fn steps(self) -> &'static [Step] {
        match self {
            Self::Login => &[Step::Login],
            Self::Logout => &[Step::Logout, Step::Login],
            Self::Home => &[Step::Home],
            Self::Quotes => &[Step::Quotes],
            Self::Portfolio => &[Step::Portfolio],
            Self::Account => &[Step::Account],
            Self::Update => &[Step::Account, Step::Update],
            Self::Buy => BUY_INSTEAD,
            Self::Sell => &[Step::Portfolio, Step::Sell],
            Self::Register => &[Step::Logout, Step::Register, Step::Home],
        }
    }
}

impl Script {
    /// The brokerage operation with this name; none: there is no such operation.
    #[must_use]
    pub fn of_brokerage(name: &str) -> Option<Self> {
        let (_, operation) = Brokerage::NAMES.iter().find(|(own, _)| *own == name)?;
        Some(Self::Brokerage(*operation))
    }

    /// Number of page elements of one operation, without images. A sale without a holding has one
    /// page element more.
    #[must_use]
    pub const fn requests(self) -> u32 {
        match self {
            Self::Brokerage(operation) => operation.steps().len() as u32,
            Self::Plain { requests } => requests,
        }
    }
}

/// An operation of the mix.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OperationConfig {
    /// Its name.
    pub name: String,
    /// The share of this operation in all operations, in millionths; the shares sum to a million.
    pub share_ppm: u32,
    /// Its requests.
    pub script: Script,
}

/// The load of one generator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Load {
    /// Users who submit, wait for the answer, think, and submit again (closed loop).
    Closed {
        /// Number of users.
        users: u32,
        /// Mean time from an answer to the next submission.
        think: Duration,
        /// Whether think times vary (exponentially) or are all the same.
        varies: bool,
    },
    /// Submissions at a rate, whether or not earlier ones are answered (open loop).
    Open {
        /// Mean time between two submissions.
        interval: Duration,
        /// Whether submissions are independent of each other (Poisson) or equally spaced.
        varies: bool,
        /// For equally spaced submissions: time until the first one. It staggers the generators.
        offset: Duration,
        /// Maximum number of submissions in progress; further submissions count as not met.
        users: u32,
    },
}

impl Load {
    /// Maximum number of submissions in progress.
    #[must_use]
    pub const fn users(&self) -> u32 {
        match *self {
            Self::Closed { users, .. } | Self::Open { users, .. } => users,
        }
    }
}
