//! Bookkeeping: checks invariants of the data that must hold after any load, and resets the data
//! without violating them.

use std::collections::BTreeMap;

use crate::database::connection::{Begin, Connection};
use crate::database::error::DatabaseError;
use crate::population::Counts;
use crate::rows::ORDER_FEE_CENTS;

/// The result of checking the invariants.
#[derive(Debug)]
pub(crate) struct Books {
    /// Descriptions of the violated invariants.
    pub(crate) broken: Vec<String>,
    /// Totals, and the number of rows that violate each invariant.
    pub(crate) figures: BTreeMap<String, i64>,
}

/// SQL expression: the amount by which an order changes the balance of its account (negative for a
/// purchase).
const MONEY: &str = "CASE ordertype WHEN 'sell' THEN price * quantity - orderfee \
    ELSE -(price * quantity + orderfee) END";
const DONE: &str = "orderstatus IN ('closed', 'completed')";

/// An invariant: its name among the figures, a description of rows that violate it, and the SQL
/// statement that counts such rows.
type Law = (&'static str, &'static str, String);

fn laws() -> Vec<Law> {
    // The casts are needed because PostgreSQL's sum of BIGINT has the type NUMERIC, which `Row`
    // cannot hold.
    vec![
        (
            "accounts_off",
            "accounts have a balance other than the sum of opening balance, amount brought \
             forward and their orders",
            format!(
                "SELECT COUNT(*) FROM account a LEFT JOIN (SELECT account_accountid, \
                 CAST(SUM({MONEY}) AS BIGINT) AS moved FROM orders WHERE {DONE} \
                 GROUP BY account_accountid) o ON o.account_accountid = a.accountid \
                 WHERE a.balance <> a.openbalance + a.broughtforward + COALESCE(o.moved, 0)"
            ),
        ),
        (
            "orders_open",
            "orders are neither closed nor completed: their transaction was cut short",
            format!("SELECT COUNT(*) FROM orders WHERE NOT ({DONE})"),
        ),
        (
            "orders_without_account",
            "orders belong to no account",
            "SELECT COUNT(*) FROM orders WHERE account_accountid NOT IN \
             (SELECT accountid FROM account)"
                .to_owned(),
        ),
        (
            "holdings_without_order",
            "holdings do not have exactly one purchase order with the same account, quote, quantity and \
             price",
            format!(
                "SELECT COUNT(*) FROM holding h WHERE 1 <> (SELECT COUNT(*) FROM orders o \
                 WHERE o.holding_holdingid = h.holdingid AND o.ordertype = 'buy' AND {DONE} \
                 AND o.account_accountid = h.account_accountid AND o.quote_symbol = h.quote_symbol \
                 AND o.quantity = h.quantity AND o.price = h.purchaseprice)"
            ),
        ),
        (
            "orders_without_holding",
            "orders refer to a holding that does not exist",
            "SELECT COUNT(*) FROM orders WHERE holding_holdingid IS NOT NULL AND \
             holding_holdingid NOT IN (SELECT holdingid FROM holding)"
                .to_owned(),
        ),
        (
            "sales_off",
            "pairs of account and quote have orders of sold holdings in which shares bought and shares \
             sold differ",
            format!(
                "SELECT COUNT(*) FROM (SELECT account_accountid FROM orders WHERE {DONE} AND \
                 holding_holdingid IS NULL GROUP BY account_accountid, quote_symbol HAVING \
                 SUM(CASE ordertype WHEN 'sell' THEN quantity ELSE -quantity END) <> 0 OR \
                 SUM(CASE ordertype WHEN 'sell' THEN 1 ELSE -1 END) <> 0) off"
            ),
        ),
        (
            "fees_off",
            "orders have a fee other than 24.95, no shares, or no price",
            format!(
                "SELECT COUNT(*) FROM orders WHERE orderfee <> {ORDER_FEE_CENTS} OR quantity < 1 OR \
                 price < 1"
            ),
        ),
        (
            "quotes_off",
            "quotes have a price outside low and high, or a change other than price minus opening price",
            "SELECT COUNT(*) FROM quote WHERE price < low OR price > high OR change1 <> price - open1"
                .to_owned(),
        ),
        (
            "users_off",
            "accounts have no profile, or profiles no account",
            "SELECT (SELECT COUNT(*) FROM account WHERE profile_userid NOT IN \
             (SELECT userid FROM accountprofile)) + (SELECT COUNT(*) FROM accountprofile WHERE \
             userid NOT IN (SELECT profile_userid FROM account))"
                .to_owned(),
        ),
        (
            "keys_off",
            "tables have a row whose key would be assigned again",
            "SELECT COUNT(*) FROM keygen WHERE keyval <= CASE keyname \
             WHEN 'account' THEN (SELECT COALESCE(MAX(accountid), -1) FROM account) \
             WHEN 'holding' THEN (SELECT COALESCE(MAX(holdingid), -1) FROM holding) \
             ELSE (SELECT COALESCE(MAX(orderid), -1) FROM orders) END"
                .to_owned(),
        ),
    ]
}

const TOTALS: &str = "SELECT (SELECT COUNT(*) FROM account), (SELECT COUNT(*) FROM holding), \
    (SELECT COUNT(*) FROM orders), \
    (SELECT CAST(COALESCE(SUM(openbalance), 0) AS BIGINT) FROM account), \
    (SELECT CAST(COALESCE(SUM(broughtforward), 0) AS BIGINT) FROM account), \
    (SELECT CAST(COALESCE(SUM(balance), 0) AS BIGINT) FROM account)";
const TOTAL_NAMES: [&str; 6] = [
    "accounts",
    "holdings",
    "orders",
    "open_balance_cents",
    "brought_forward_cents",
    "balance_cents",
];

/// Counts the rows that violate each invariant.
pub(crate) async fn check<C: Connection>(connection: &mut C) -> Result<Books, DatabaseError> {
    let mut books = Books { broken: Vec::new(), figures: BTreeMap::new() };
    // Operations may run at the same time, so all counts must come from one snapshot.
    connection.begin(Begin::Snapshot).await?;
    let totals = connection.ask(TOTALS).await?;
    for (column, name) in TOTAL_NAMES.into_iter().enumerate() {
        books.figures.insert(name.to_owned(), totals[0].int(column));
    }
    for (name, sentence, count) in laws() {
        let off = connection.ask(&count).await?[0].int(0);
        if off != 0 {
            books.broken.push(format!("{off} {sentence}"));
        }
        books.figures.insert(name.to_owned(), off);
    }
    connection.commit().await?;
    Ok(books)
}

/// Removes what a run has added, as the published application does: registered users, cancelled
/// orders, orders of sold holdings, counts of log-ins. The money of removed orders is added to
/// `broughtforward`, so that the books still balance afterwards.
pub(crate) async fn reset<C: Connection>(connection: &mut C) -> Result<Counts, DatabaseError> {
    connection.begin(Begin::Alone).await?;
    let mut counts = Counts::new();
    for (name, statement) in removals() {
        let removed = connection.change(&statement).await?;
        if let Some(name) = name {
            counts.insert(name.to_owned(), removed);
        }
    }
    connection.commit().await?;
    Ok(counts)
}

/// The statements of a reset, in order. If a statement has a name, the rows that it changes are
/// counted under this name.
fn removals() -> Vec<(Option<&'static str>, String)> {
    let registered = "substr(profile_userid, 1, 3) = 'ru:'";
    let of_registered =
        format!("account_accountid IN (SELECT accountid FROM account WHERE {registered})");
    let sold = format!("{DONE} AND holding_holdingid IS NULL");
    // The order matters. Rows of registered users are found by means of their accounts, so accounts
    // are deleted after them. The money to bring forward is summed over orders, so orders are
    // deleted last.
    vec![
        (
            Some("holdings_without_account"),
            "DELETE FROM holding WHERE account_accountid NOT IN (SELECT accountid FROM account)"
                .to_owned(),
        ),
        (Some("registered_orders"), format!("DELETE FROM orders WHERE {of_registered}")),
        (Some("registered_holdings"), format!("DELETE FROM holding WHERE {of_registered}")),
        (
            Some("registered_profiles"),
            "DELETE FROM accountprofile WHERE substr(userid, 1, 3) = 'ru:'".to_owned(),
        ),
        (Some("registered_accounts"), format!("DELETE FROM account WHERE {registered}")),
        (
            Some("log_ins"),
            "UPDATE account SET logincount = 0, logoutcount = 0 \
             WHERE logincount <> 0 OR logoutcount <> 0"
                .to_owned(),
        ),
        (
            None,
            format!(
                "UPDATE account SET broughtforward = broughtforward + (SELECT \
                 CAST(SUM({MONEY}) AS BIGINT) FROM orders WHERE account_accountid = accountid AND \
                 {sold}) WHERE accountid IN (SELECT account_accountid FROM orders WHERE {sold})"
            ),
        ),
        (Some("cancelled_orders"), "DELETE FROM orders WHERE orderstatus = 'cancelled'".to_owned()),
        (Some("orders_of_sold_holdings"), format!("DELETE FROM orders WHERE {sold}")),
    ]
}
