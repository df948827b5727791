//! Transactions: users who submit operations to an application, each of one or more requests.
//!
//! The [`Generator`] decides who submits which operation and when. It knows neither HTTP nor sizes: a driver
//! sends its requests and reports how each has ended, so the simulator and the agent share it. An *operation* is
//! one transaction; a *page element* is one answer.

mod counts;
mod deck;
mod failure;
mod generator;
mod script;

pub use counts::{Counts, Statistics};
pub use deck::DeckConfig;
pub use failure::{Failure, NetworkFailure, ServerFailure};
pub use generator::{Answer, Failed, Generator, GeneratorConfig, TransactionAction};
pub use script::{Brokerage, Load, OperationConfig, Request, Script, Symbols};

use netstudy_units::Duration;

/// Random draws, made outside of this crate.
pub trait Random {
    /// A number from 0 to `n - 1`, each as likely.
    fn below(&mut self, n: u32) -> u32;
    /// A span from zero to `max`, each as likely.
    fn uniform_span(&mut self, max: Duration) -> Duration;
    /// A span of the exponential distribution with the mean `mean`.
    fn exponential(&mut self, mean: Duration) -> Duration;
}

/// The random streams of a generator, each for one purpose: a further draw of one kind shifts no other.
#[derive(Clone, Debug)]
pub struct Streams<R> {
    /// Shuffles the deck of users.
    pub deck: R,
    /// Draws operations.
    pub mix: R,
    /// Draws arrivals and think times.
    pub pace: R,
    /// Draws the details of requests: symbols and quantities.
    pub detail: R,
}

impl<R> Streams<R> {
    /// The streams that `stream` makes of their names.
    pub fn new(mut stream: impl FnMut(&str) -> R) -> Self {
        Self {
            deck: stream("deck"),
            mix: stream("mix"),
            pace: stream("pace"),
            detail: stream("detail"),
        }
    }
}
