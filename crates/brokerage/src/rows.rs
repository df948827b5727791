//! Rows of the tables, as operations read them and pages show them.

use serde::Serialize;

use crate::database::connection::Row;

/// Fee of each order, whatever its size.
pub(crate) const ORDER_FEE_CENTS: i64 = 2_495;
/// Largest number of shares in one order. A larger number must be a mistake; the limit also keeps
/// balances from overflowing.
pub(crate) const QUANTITY_MAX: i64 = 1_000_000;

#[derive(Clone, Debug, Serialize)]
pub(crate) struct Account {
    pub(crate) id: i64,
    pub(crate) created_us: i64,
    pub(crate) open_balance_cents: i64,
    pub(crate) balance_cents: i64,
    pub(crate) logins: i64,
    pub(crate) logouts: i64,
    pub(crate) last_login_us: i64,
    pub(crate) user: String,
}

#[derive(Clone, Debug, Serialize)]
pub(crate) struct Profile {
    pub(crate) user: String,
    #[serde(skip)]
    pub(crate) password: String,
    pub(crate) full_name: String,
    pub(crate) address: String,
    pub(crate) email: String,
    pub(crate) credit_card: String,
}

#[derive(Clone, Debug, Serialize)]
pub(crate) struct Quote {
    pub(crate) symbol: String,
    pub(crate) company: String,
    pub(crate) volume: i64,
    pub(crate) price_cents: i64,
    pub(crate) open_cents: i64,
    pub(crate) low_cents: i64,
    pub(crate) high_cents: i64,
    pub(crate) change_cents: i64,
}

#[derive(Clone, Debug, Serialize)]
pub(crate) struct Holding {
    pub(crate) id: i64,
    pub(crate) purchase_price_cents: i64,
    pub(crate) quantity: i64,
    pub(crate) purchased_us: i64,
    pub(crate) symbol: String,
}

#[derive(Clone, Debug, Serialize)]
pub(crate) struct Order {
    pub(crate) id: i64,
    /// `buy` or `sell`.
    pub(crate) side: String,
    pub(crate) status: String,
    pub(crate) opened_us: i64,
    pub(crate) completed_us: Option<i64>,
    pub(crate) quantity: i64,
    pub(crate) price_cents: i64,
    pub(crate) fee_cents: i64,
    pub(crate) symbol: String,
    pub(crate) holding: Option<i64>,
}

impl Account {
    pub(crate) fn of(row: &Row) -> Self {
        Self {
            id: row.int(0),
            created_us: row.int(1),
            open_balance_cents: row.int(2),
            balance_cents: row.int(3),
            logins: row.int(4),
            logouts: row.int(5),
            last_login_us: row.int(6),
            user: row.text(7).to_owned(),
        }
    }
}

impl Profile {
    pub(crate) fn of(row: &Row) -> Self {
        let [user, password, full_name, address, email, credit_card] =
            [0, 1, 2, 3, 4, 5].map(|column| row.text(column).to_owned());
        Self { user, password, full_name, address, email, credit_card }
    }
}

impl Quote {
    pub(crate) fn of(row: &Row) -> Self {
        Self {
            symbol: row.text(0).to_owned(),
            company: row.text(1).to_owned(),
            volume: row.int(2),
            price_cents: row.int(3),
            open_cents: row.int(4),
            low_cents: row.int(5),
            high_cents: row.int(6),
            change_cents: row.int(7),
        }
    }
}

impl Holding {
    pub(crate) fn of(row: &Row) -> Self {
        Self {
            id: row.int(0),
            purchase_price_cents: row.int(1),
            quantity: row.int(2),
            purchased_us: row.int(3),
            symbol: row.text(4).to_owned(),
        }
    }
}

impl Order {
    pub(crate) fn of(row: &Row) -> Self {
        Self {
            id: row.int(0),
            side: row.text(1).to_owned(),
            status: row.text(2).to_owned(),
            opened_us: row.int(3),
            completed_us: row.int_or_null(4),
            quantity: row.int(5),
            price_cents: row.int(6),
            fee_cents: row.int(7),
            symbol: row.text(8).to_owned(),
            holding: row.int_or_null(9),
        }
    }
}
