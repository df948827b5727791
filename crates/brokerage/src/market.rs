//! The market: prices that change with each trade, and a summary that is recomputed periodically.

use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::{AcqRel, Release};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use netstudy_random::Stream;
use serde::Serialize;

use crate::database::connection::{Begin, Connection, Row};
use crate::database::error::DatabaseError;
use crate::database::statements::Statement;
use crate::rows::Quote;

/// Age at which the summary is recomputed.
const SUMMARY_AGE: Duration = Duration::from_secs(20);
/// A price of one cent is multiplied by this factor, because a change of some per cent would be
/// rounded away.
const PENNY_RECOVERY: i64 = 600;
const PENNY_CENTS: i64 = 1;
/// A price above this is halved (a stock split).
const SPLIT_CENTS: i64 = 40_000;

/// The market summary: top gainers and losers, and the index.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Summary {
    /// The mean price.
    pub(crate) index_cents: i64,
    /// The mean of the opening prices.
    pub(crate) opening_index_cents: i64,
    /// Shares traded.
    pub(crate) volume: i64,
    pub(crate) gainers: Vec<Quote>,
    pub(crate) losers: Vec<Quote>,
}

/// Data of the market that are kept in memory, not in the database.
#[derive(Debug)]
pub(crate) struct Market {
    chance: Mutex<Stream>,
    latest: Mutex<Option<(Instant, Arc<Summary>)>>,
    is_computing: AtomicBool,
}

impl Market {
    pub(crate) fn new(seed: &str) -> Self {
        Self {
            chance: Mutex::new(Stream::new(seed, "brokerage/prices")),
            latest: Mutex::new(None),
            is_computing: AtomicBool::new(false),
        }
    }

    /// The price after a trade at `price_cents`: multiplied by a random factor from 0.90 to 1.10, in steps
    /// of 0.01.
    pub(crate) fn price_after_trade(&self, price_cents: i64) -> i64 {
        let chance = lock(&self.chance).uniform();
        moved(price_cents, 90 + (chance * 21.0) as i64)
    }

    /// The summary, recomputed if it is older than [`SUMMARY_AGE`]. Only one request at a time
    /// recomputes it; meanwhile, other requests get the previous summary.
    pub(crate) async fn summary<C: Connection>(
        &self,
        connection: &mut C,
    ) -> Result<Arc<Summary>, DatabaseError> {
        let latest = lock(&self.latest).clone();
        match latest {
            Some((at, summary)) if at.elapsed() < SUMMARY_AGE => Ok(summary),
            Some((_, summary)) if self.is_computing.swap(true, AcqRel) => Ok(summary),
            _ => {
                let _until_done = Computing(&self.is_computing);
                let computed = compute(connection).await.map(Arc::new);
                if let Ok(summary) = &computed {
                    *lock(&self.latest) = Some((Instant::now(), Arc::clone(summary)));
                }
                computed
            }
        }
    }

    /// Discards the summary. Called after the tables have been loaded again.
    pub(crate) fn forget(&self) {
        *lock(&self.latest) = None;
    }
}

/// A guard that exists while a request computes the summary. Dropping it resets the flag, also if
/// the request is cancelled.
struct Computing<'a>(&'a AtomicBool);

impl Drop for Computing<'_> {
    fn drop(&mut self) {
        self.0.store(false, Release);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The new price: normally the price times `percent` / 100, rounded to the nearest cent. Prices of
/// one cent and prices above [`SPLIT_CENTS`] change differently.
const fn moved(price_cents: i64, percent: i64) -> i64 {
    if price_cents <= PENNY_CENTS {
        return PENNY_CENTS * PENNY_RECOVERY;
    }
    if price_cents > SPLIT_CENTS {
        return (price_cents + 1) / 2;
    }
    let moved = (price_cents * percent + 50) / 100;
    if moved < PENNY_CENTS { PENNY_CENTS } else { moved }
}

/// Computes the summary from one snapshot, so that concurrent trades do not affect it. After an
/// error, the caller must roll back the transaction.
async fn compute<C: Connection>(connection: &mut C) -> Result<Summary, DatabaseError> {
    connection.begin(Begin::Snapshot).await?;
    let totals = connection.query(Statement::MarketTotals, &[]).await?;
    let total = |column| totals.first().map_or(0, |row| row.int(column));
    let gainers = connection.query(Statement::Gainers, &[]).await?;
    let losers = connection.query(Statement::Losers, &[]).await?;
    connection.commit().await?;
    let quotes = |rows: &[Row]| rows.iter().map(Quote::of).collect();
    Ok(Summary {
        index_cents: total(0),
        opening_index_cents: total(1),
        volume: total(2),
        gainers: quotes(&gainers),
        losers: quotes(&losers),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trade_moves_the_price_by_up_to_a_tenth() {
        let market = Market::new("7");
        let mut seen = std::collections::BTreeSet::new();
        for _ in 0..2_000 {
            let price = market.price_after_trade(10_000);
            assert!((9_000..=11_000).contains(&price), "{price}");
            seen.insert(price);
        }
        assert_eq!(seen.len(), 21, "0.90, 0.91 .. 1.10");
    }

    #[test]
    fn a_penny_stock_recovers_and_a_dear_one_splits() {
        assert_eq!(moved(1, 90), 600);
        assert_eq!(moved(40_001, 110), 20_001);
        assert_eq!(moved(40_000, 110), 44_000);
        assert_eq!(moved(2, 90), 2);
    }
}
