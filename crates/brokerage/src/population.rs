//! Creates the tables and fills them with generated rows. The same seed always generates the same
//! rows.

use std::collections::BTreeMap;

use netstudy_fabric::Chance;
use netstudy_random::Stream;
use netstudy_records::BrokeragePopulation;

use crate::database::connection::{Begin, Cell, Connection};
use crate::database::error::DatabaseError;
use crate::rows::ORDER_FEE_CENTS;

/// Numbers of rows, by table or kind of row.
pub(crate) type Counts = BTreeMap<String, u64>;

/// Date of all generated rows: always 2006-01-01, so that the rows are the same each time.
const CREATED_US: i64 = 1_136_073_600_000_000;
/// The number of holdings of a user is uniform from 0 to this number.
const HOLDINGS_MAX: u32 = 10;
/// The number of shares of a holding is uniform from 1 to this number.
const QUANTITY_MAX: u32 = 200;
/// Prices of quotes are uniform from the first to the second number.
const PRICE_CENTS: (i64, i64) = (100, 20_100);
/// The opening balance of the first user.
const FIRST_BALANCE_CENTS: i64 = 100_000_000;
/// The opening balances of all other users are uniform from the first to the second number.
const BALANCE_CENTS: (i64, i64) = (20_000_000, 30_000_000);
/// Password of all users.
const PASSWORD: &str = "xxx";

/// The tables of the published application. There is one additional column, `broughtforward`: the
/// sum of the money of all orders that resets have removed.
const TABLES: &str = "
DROP TABLE IF EXISTS account;
DROP TABLE IF EXISTS accountprofile;
DROP TABLE IF EXISTS quote;
DROP TABLE IF EXISTS holding;
DROP TABLE IF EXISTS orders;
DROP TABLE IF EXISTS keygen;
CREATE TABLE account (
    accountid BIGINT NOT NULL PRIMARY KEY,
    creationdate BIGINT NOT NULL,
    openbalance BIGINT NOT NULL,
    balance BIGINT NOT NULL,
    broughtforward BIGINT NOT NULL,
    logincount BIGINT NOT NULL,
    logoutcount BIGINT NOT NULL,
    lastlogin BIGINT NOT NULL,
    profile_userid TEXT NOT NULL);
CREATE TABLE accountprofile (
    userid TEXT NOT NULL PRIMARY KEY,
    passwd TEXT NOT NULL,
    fullname TEXT NOT NULL,
    address TEXT NOT NULL,
    email TEXT NOT NULL,
    creditcard TEXT NOT NULL);
CREATE TABLE quote (
    symbol TEXT NOT NULL PRIMARY KEY,
    companyname TEXT NOT NULL,
    volume BIGINT NOT NULL,
    price BIGINT NOT NULL,
    open1 BIGINT NOT NULL,
    low BIGINT NOT NULL,
    high BIGINT NOT NULL,
    change1 BIGINT NOT NULL);
CREATE TABLE holding (
    holdingid BIGINT NOT NULL PRIMARY KEY,
    purchaseprice BIGINT NOT NULL,
    quantity BIGINT NOT NULL,
    purchasedate BIGINT NOT NULL,
    account_accountid BIGINT NOT NULL,
    quote_symbol TEXT NOT NULL);
CREATE TABLE orders (
    orderid BIGINT NOT NULL PRIMARY KEY,
    ordertype TEXT NOT NULL,
    orderstatus TEXT NOT NULL,
    opendate BIGINT NOT NULL,
    completiondate BIGINT,
    quantity BIGINT NOT NULL,
    price BIGINT NOT NULL,
    orderfee BIGINT NOT NULL,
    account_accountid BIGINT NOT NULL,
    quote_symbol TEXT NOT NULL,
    holding_holdingid BIGINT);
CREATE TABLE keygen (
    keyname TEXT NOT NULL PRIMARY KEY,
    keyval BIGINT NOT NULL);
";

const INDEXES: &str = "
CREATE UNIQUE INDEX account_userid ON account (profile_userid);
CREATE INDEX holding_accountid ON holding (account_accountid);
CREATE INDEX orders_accountid ON orders (account_accountid);
CREATE INDEX orders_holdingid ON orders (holding_holdingid);
CREATE INDEX orders_closed ON orders (account_accountid, orderstatus);
";

/// Recreates the tables and fills them, in one transaction.
pub(crate) async fn load<C: Connection>(
    connection: &mut C,
    population: &BrokeragePopulation,
) -> Result<Counts, DatabaseError> {
    connection.claim_tables().await?;
    connection.begin(Begin::Durable).await?;
    connection.run_script(TABLES).await?;
    connection.mark_tables().await?;
    let of = Rows::drawn(population);
    let mut counts = Counts::new();
    for (table, columns, rows) in [
        ("accountprofile", PROFILE, of.profiles),
        ("account", ACCOUNT, of.accounts),
        ("quote", QUOTE, of.quotes),
        ("holding", HOLDING, of.holdings),
        ("orders", ORDER, of.orders),
        ("keygen", KEY, of.keys),
    ] {
        let filled = connection.fill(table, columns, rows.into_iter()).await?;
        counts.insert(table.to_owned(), filled);
    }
    connection.run_script(INDEXES).await?;
    connection.commit().await?;
    Ok(counts)
}

const PROFILE: &[&str] = &["userid", "passwd", "fullname", "address", "email", "creditcard"];
const ACCOUNT: &[&str] = &[
    "accountid",
    "creationdate",
    "openbalance",
    "balance",
    "broughtforward",
    "logincount",
    "logoutcount",
    "lastlogin",
    "profile_userid",
];
const QUOTE: &[&str] =
    &["symbol", "companyname", "volume", "price", "open1", "low", "high", "change1"];
const HOLDING: &[&str] = &[
    "holdingid",
    "purchaseprice",
    "quantity",
    "purchasedate",
    "account_accountid",
    "quote_symbol",
];
const ORDER: &[&str] = &[
    "orderid",
    "ordertype",
    "orderstatus",
    "opendate",
    "completiondate",
    "quantity",
    "price",
    "orderfee",
    "account_accountid",
    "quote_symbol",
    "holding_holdingid",
];
const KEY: &[&str] = &["keyname", "keyval"];

/// The rows of all tables.
#[derive(Debug, Default, PartialEq, Eq)]
struct Rows {
    profiles: Vec<Vec<Cell>>,
    accounts: Vec<Vec<Cell>>,
    quotes: Vec<Vec<Cell>>,
    holdings: Vec<Vec<Cell>>,
    orders: Vec<Vec<Cell>>,
    keys: Vec<Vec<Cell>>,
}

impl Rows {
    /// Generates the rows. Quotes and users have separate random streams, so that more quotes do
    /// not change the random numbers of users, and vice versa.
    fn drawn(population: &BrokeragePopulation) -> Self {
        let mut rows = Self::default();
        let mut chance = Stream::new(&population.seed, "brokerage/quotes");
        let prices: Vec<i64> =
            (0..population.quotes).map(|_| between(&mut chance, PRICE_CENTS)).collect();
        for (number, &price) in prices.iter().enumerate() {
            rows.quotes.push(quote(number, price));
        }
        let mut chance = Stream::new(&population.seed, "brokerage/users");
        for user in 0..population.users {
            rows.add_user(user, &prices, &mut chance);
        }
        let next = |rows: &[Vec<Cell>]| Cell::Int(number_of(rows));
        rows.keys = vec![
            vec![text("account"), next(&rows.accounts)],
            vec![text("holding"), next(&rows.holdings)],
            vec![text("orders"), next(&rows.orders)],
        ];
        rows
    }

    fn add_user(&mut self, user: u32, prices: &[i64], chance: &mut Stream) {
        // Also drawn for the first user, who does not use it, so that the random numbers of the
        // other users stay the same.
        let drawn = between(chance, BALANCE_CENTS);
        let open_balance = if user == 0 { FIRST_BALANCE_CENTS } else { drawn };
        let mut balance = open_balance;
        for _ in 0..chance.below(HOLDINGS_MAX + 1) {
            let symbol = chance.below(prices.len() as u32);
            let price = prices[symbol as usize];
            let quantity = i64::from(chance.below(QUANTITY_MAX)) + 1;
            balance -= price * quantity + ORDER_FEE_CENTS;
            self.add_holding(user, symbol, price, quantity);
        }
        self.profiles.push(vec![
            text(format!("uid:{user}")),
            text(PASSWORD),
            text(format!("first:{user} last:{user}")),
            text(format!("{user} Exchange Street, Armonk, NY")),
            text(format!("uid{user}@example.com")),
            text(format!("{:04}-fake-{:04}-{:04}", user % 9_973, user % 9_967, user % 9_949)),
        ]);
        self.accounts.push(vec![
            Cell::Int(i64::from(user)),
            Cell::Int(CREATED_US),
            Cell::Int(open_balance),
            Cell::Int(balance),
            Cell::Int(0),
            Cell::Int(0),
            Cell::Int(0),
            Cell::Int(CREATED_US),
            text(format!("uid:{user}")),
        ]);
    }

    /// Adds a holding and its purchase order, which is marked as already seen by the user.
    fn add_holding(&mut self, user: u32, symbol: u32, price: i64, quantity: i64) {
        let number = number_of(&self.holdings);
        self.holdings.push(vec![
            Cell::Int(number),
            Cell::Int(price),
            Cell::Int(quantity),
            Cell::Int(CREATED_US),
            Cell::Int(i64::from(user)),
            text(format!("s:{symbol}")),
        ]);
        self.orders.push(vec![
            Cell::Int(number),
            text("buy"),
            text("completed"),
            Cell::Int(CREATED_US),
            Cell::Int(CREATED_US),
            Cell::Int(quantity),
            Cell::Int(price),
            Cell::Int(ORDER_FEE_CENTS),
            Cell::Int(i64::from(user)),
            text(format!("s:{symbol}")),
            Cell::Int(number),
        ]);
    }
}

fn number_of(rows: &[Vec<Cell>]) -> i64 {
    i64::try_from(rows.len()).expect("rows fit into memory")
}

fn quote(number: usize, price: i64) -> Vec<Cell> {
    let [open, low, high] = [price; 3].map(Cell::Int);
    vec![
        text(format!("s:{number}")),
        text(format!("S{number} Incorporated")),
        Cell::Int(0),
        Cell::Int(price),
        open,
        low,
        high,
        Cell::Int(0),
    ]
}

fn text(text: impl Into<String>) -> Cell {
    Cell::Text(text.into())
}

/// A random number, uniform between the two given numbers, both included.
fn between(chance: &mut Stream, (first, last): (i64, i64)) -> i64 {
    let span = u32::try_from(last - first + 1).expect("the span is small");
    first + i64::from(chance.below(span))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn population(users: u32, seed: &str) -> BrokeragePopulation {
        BrokeragePopulation { users, quotes: 100, seed: seed.to_owned() }
    }

    #[test]
    fn a_seed_makes_the_same_rows_and_another_one_others() {
        assert_eq!(Rows::drawn(&population(50, "7")), Rows::drawn(&population(50, "7")));
        assert_ne!(Rows::drawn(&population(50, "7")), Rows::drawn(&population(50, "8")));
    }

    #[test]
    fn the_published_population_has_five_holdings_a_user() {
        let rows = Rows::drawn(&population(15_000, "7"));
        let mean = rows.holdings.len() as f64 / 15_000.0;
        // Five standard errors: the variance of 0..10 is 10.
        assert!((mean - 5.0).abs() < 5.0 * (10.0_f64 / 15_000.0).sqrt(), "{mean}");
        assert_eq!(rows.holdings.len(), rows.orders.len());
        assert_eq!(rows.accounts[0][2], Cell::Int(FIRST_BALANCE_CENTS));
    }
}
