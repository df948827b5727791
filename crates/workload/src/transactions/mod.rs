//! Transactions: users submit operations to an application. Each operation consists of one or more
//! requests.
//!
//! The [`Generator`] decides which user submits which operation, and when. It knows neither HTTP
//! nor message sizes: a driver sends its requests and reports their results. So the simulator and
//! the agent can share the generator. An *operation* is one transaction; a *page element* is one
//! answer.

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

/// Source of random draws, which is implemented outside of this crate.
pub trait Random {
    /// A uniform random number from 0 to `n - 1`.
    fn below(&mut self, n: u32) -> u32;
    /// A uniform random span from zero to `max`.
    fn uniform_span(&mut self, max: Duration) -> Duration;
    /// A random span of the exponential distribution with this mean.
    fn exponential(&mut self, mean: Duration) -> Duration;
}

/// The random streams of a generator, one for each purpose: an additional draw for one purpose does
/// not change the draws for the others.
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
    /// Creates each of the streams by calling `stream` with its name.
    pub fn new(mut stream: impl FnMut(&str) -> R) -> Self {
        Self {
            deck: stream("deck"),
            mix: stream("mix"),
            pace: stream("pace"),
            detail: stream("detail"),
        }
    }
}
