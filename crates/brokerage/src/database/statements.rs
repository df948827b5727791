//! All statements of the ten operations. Both databases use the same text, in which parameters are
//! in ascending order. The only difference: `FOR UPDATE` is removed for SQLite, where a writer
//! locks the whole database.

macro_rules! statements {
    ($($(#[$doc:meta])* $name:ident: $sql:expr;)*) => {
        /// A statement, prepared once per connection.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum Statement { $($(#[$doc])* $name),* }

        impl Statement {
            /// All statements, in the order in which the enum lists them.
            pub(crate) const ALL: &[Self] = &[$(Self::$name),*];

            /// The statement's text for PostgreSQL.
            pub(crate) const fn sql(self) -> &'static str {
                match self { $(Self::$name => $sql),* }
            }
        }
    };
}

statements! {
    /// The account of a user.
    Account: "SELECT accountid, creationdate, openbalance, balance, logincount, logoutcount, lastlogin, \
        profile_userid FROM account WHERE profile_userid = $1";
    /// The profile of a user.
    Profile: "SELECT userid, passwd, fullname, address, email, creditcard FROM accountprofile \
        WHERE userid = $1";
    CountLogin: "UPDATE account SET lastlogin = $1, logincount = logincount + 1 \
        WHERE profile_userid = $2";
    CountLogout: "UPDATE account SET logoutcount = logoutcount + 1 WHERE profile_userid = $1";
    /// The holdings of a user.
    Holdings: "SELECT holdingid, purchaseprice, quantity, purchasedate, quote_symbol FROM holding \
        WHERE account_accountid = (SELECT accountid FROM account WHERE profile_userid = $1) \
        ORDER BY holdingid";
    Quote: "SELECT symbol, companyname, volume, price, open1, low, high, change1 FROM quote \
        WHERE symbol = $1";
    /// Closed orders that the user has not seen yet.
    ClosedOrders: "SELECT orderid, ordertype, orderstatus, opendate, completiondate, quantity, price, \
        orderfee, quote_symbol, holding_holdingid FROM orders WHERE orderstatus = 'closed' AND \
        account_accountid = (SELECT accountid FROM account WHERE profile_userid = $1) ORDER BY orderid";
    /// Marks an order as seen by its user.
    CompleteOrder: "UPDATE orders SET orderstatus = 'completed' \
        WHERE orderid = $1 AND orderstatus = 'closed'";
    Order: "SELECT orderid, ordertype, orderstatus, opendate, completiondate, quantity, price, \
        orderfee, quote_symbol, holding_holdingid FROM orders WHERE orderid = $1";
    InsertOrder: "INSERT INTO orders (orderid, ordertype, orderstatus, opendate, quantity, price, \
        orderfee, account_accountid, quote_symbol, holding_holdingid) \
        VALUES ($1, $2, 'open', $3, $4, $5, $6, $7, $8, $9)";
    /// Adds the amount of an order to the account's balance.
    MoveMoney: "UPDATE account SET balance = balance + $1 WHERE accountid = $2";
    InsertHolding: "INSERT INTO holding (holdingid, purchaseprice, quantity, purchasedate, \
        account_accountid, quote_symbol) VALUES ($1, $2, $3, $4, $5, $6)";
    SetOrderHolding: "UPDATE orders SET holding_holdingid = $1 WHERE orderid = $2";
    CloseOrder: "UPDATE orders SET orderstatus = 'closed', completiondate = $1 WHERE orderid = $2";
    QuoteForUpdate: "SELECT symbol, companyname, volume, price, open1, low, high, change1 FROM quote \
        WHERE symbol = $1 FOR UPDATE";
    UpdateQuote: "UPDATE quote SET price = $1, low = $2, high = $3, change1 = $4, \
        volume = volume + $5 WHERE symbol = $6";
    /// A holding of the given account.
    HoldingForUpdate: "SELECT holdingid, purchaseprice, quantity, purchasedate, quote_symbol \
        FROM holding WHERE holdingid = $1 AND account_accountid = $2 FOR UPDATE";
    /// Marks a holding as being sold.
    MarkHolding: "UPDATE holding SET purchasedate = 0 WHERE holdingid = $1";
    DeleteHolding: "DELETE FROM holding WHERE holdingid = $1";
    /// Removes the reference to a sold holding from its purchase order and its sale order.
    ForgetHolding: "UPDATE orders SET holding_holdingid = NULL WHERE holding_holdingid = $1";
    UpdateProfile: "UPDATE accountprofile SET passwd = $1, fullname = $2, address = $3, email = $4, \
        creditcard = $5 WHERE userid = $6";
    InsertProfile: "INSERT INTO accountprofile (userid, passwd, fullname, address, email, creditcard) \
        VALUES ($1, $2, $3, $4, $5, $6)";
    InsertAccount: "INSERT INTO account (accountid, creationdate, openbalance, balance, \
        broughtforward, logincount, logoutcount, lastlogin, profile_userid) \
        VALUES ($1, $2, $3, $4, 0, 0, 0, $5, $6)";
    KeyForUpdate: "SELECT keyval FROM keygen WHERE keyname = $1 FOR UPDATE";
    TakeKeys: "UPDATE keygen SET keyval = keyval + $1 WHERE keyname = $2";
    MarketTotals: "SELECT CAST(COALESCE(AVG(price), 0) AS BIGINT), \
        CAST(COALESCE(AVG(open1), 0) AS BIGINT), CAST(COALESCE(SUM(volume), 0) AS BIGINT) FROM quote";
    Gainers: "SELECT symbol, companyname, volume, price, open1, low, high, change1 FROM quote \
        ORDER BY change1 DESC, symbol LIMIT 5";
    Losers: "SELECT symbol, companyname, volume, price, open1, low, high, change1 FROM quote \
        ORDER BY change1, symbol LIMIT 5";
}

impl Statement {
    /// The statement's text for SQLite.
    pub(crate) fn sql_of_sqlite(self) -> &'static str {
        self.sql().strip_suffix(" FOR UPDATE").unwrap_or(self.sql())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_stand_in_ascending_order_since_sqlite_numbers_them_by_place() {
        for (number, statement) in Statement::ALL.iter().enumerate() {
            assert_eq!(*statement as usize, number);
            let found: Vec<usize> = statement
                .sql()
                .split('$')
                .skip(1)
                .map(|rest| rest.chars().take_while(char::is_ascii_digit).collect::<String>())
                .map(|digits| digits.parse().expect("a parameter has a number"))
                .collect();
            assert_eq!(found, (1..=found.len()).collect::<Vec<_>>(), "{statement:?}");
        }
    }

    #[test]
    fn sqlite_is_not_asked_to_lock_rows() {
        assert!(Statement::ALL.iter().all(|one| !one.sql_of_sqlite().contains("FOR UPDATE")));
        assert!(Statement::QuoteForUpdate.sql().ends_with("FOR UPDATE"));
    }
}
