//! The ten operations: their reads and writes, in the order of the published application. The same code
//! serves both databases.
//!
//! Each operation that moves money is one transaction. The database itself adds the amount to the
//! balance, so that concurrent operations cannot overwrite each other's changes. Locks are always
//! taken in the order holding, account, orders, quote, so operations cannot deadlock with each
//! other.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::answer::{Answer, PricedHolding, View};
use crate::application::Application;
use crate::books;
use crate::counters::count;
use crate::database::connection::{Begin, Connection, Value};
use crate::database::error::{DatabaseError, DatabaseProblem};
use crate::database::statements::Statement;
use crate::job::{Job, Operation, Outcome};
use crate::population::{self, Counts};
use crate::problem::Problem;
use crate::rows::{Account, Holding, ORDER_FEE_CENTS, Order, Profile, Quote};

/// How often a transaction is retried at most, when the database is busy or aborts the transaction
/// to resolve a deadlock.
const RETRIES: u32 = 10;
/// Pause before the first retry. The pause doubles with each retry, up to the longest pause.
const FIRST_PAUSE: Duration = Duration::from_millis(1);
const LONGEST_PAUSE: Duration = Duration::from_millis(100);

/// Why an operation stopped.
enum Stop {
    Problem(Problem),
    Database(DatabaseError),
}

impl From<DatabaseError> for Stop {
    fn from(error: DatabaseError) -> Self {
        Self::Database(error)
    }
}

impl From<Problem> for Stop {
    fn from(problem: Problem) -> Self {
        Self::Problem(problem)
    }
}

/// The transactions of an operation that are committed. They are not run again when a later one is
/// retried.
#[derive(Default)]
struct Committed {
    registration: bool,
    login: bool,
}

/// Runs a job on a connection; retries it if the database reports a transient error.
pub(crate) async fn perform<C: Connection>(
    connection: &mut C,
    application: &Application,
    job: &Job,
) -> Outcome {
    let mut pause = FIRST_PAUSE;
    let mut committed = Committed::default();
    for retries_left in (0..=RETRIES).rev() {
        let stopped = match attempt(connection, application, job, &mut committed).await {
            Ok(outcome) => return outcome,
            Err(stopped) => stopped,
        };
        connection.roll_back().await;
        match stopped {
            Stop::Problem(problem) => return Outcome::Problem(problem),
            Stop::Database(error) if error.problem.is_transient() && retries_left > 0 => {
                application.counters.database_problem(error.problem);
                count(&application.counters.retries);
                connection.pause(pause).await;
                pause = (2 * pause).min(LONGEST_PAUSE);
            }
            Stop::Database(error) if job.is_of_a_user() => return failed(application, &error),
            Stop::Database(error) => {
                application.counters.database_problem(error.problem);
                return Outcome::Failed(error);
            }
        }
    }
    unreachable!("the last attempt returns")
}

/// The outcome of an operation that ended with a database error.
pub(crate) fn failed(application: &Application, error: &DatabaseError) -> Outcome {
    application.counters.database_problem(error.problem);
    Outcome::Problem(error.problem.into())
}

async fn attempt<C: Connection>(
    connection: &mut C,
    application: &Application,
    job: &Job,
    committed: &mut Committed,
) -> Result<Outcome, Stop> {
    match job {
        Job::Operation(operation) => {
            let mut desk = Desk { connection, application, committed };
            Ok(Outcome::Answer(desk.serve(operation).await?))
        }
        Job::Load(of) => {
            let counts = population::load(connection, of).await?;
            application.keys.forget();
            application.market.forget();
            Ok(Outcome::Counts(counts))
        }
        Job::GatherStatistics => {
            connection.run_script("ANALYZE").await?;
            Ok(Outcome::Counts(Counts::new()))
        }
        Job::Reset => Ok(Outcome::Counts(books::reset(connection).await?)),
        Job::Check => Ok(Outcome::Books(books::check(connection).await?)),
    }
}

/// What an operation works with: a connection, and the data that all operations share.
struct Desk<'a, C> {
    connection: &'a mut C,
    application: &'a Application,
    committed: &'a mut Committed,
}

impl<C: Connection> Desk<'_, C> {
    async fn serve(&mut self, operation: &Operation) -> Result<Answer, Stop> {
        let alerts = match operation.told() {
            Some(user) => self.alerts(user).await?,
            None => Vec::new(),
        };
        let view = match operation {
            Operation::Login { user, password } => self.login(user, password).await?,
            Operation::Logout { user } => self.logout(user).await?,
            Operation::Home { user } => self.home(user).await?,
            Operation::Quotes { symbols, .. } => self.quotes(symbols).await?,
            Operation::Portfolio { user } => self.portfolio(user).await?,
            Operation::Account { user } => self.account_page(user).await?,
            Operation::Update { profile } => self.update(profile).await?,
            Operation::Buy { user, symbol, quantity } => self.buy(user, symbol, *quantity).await?,
            Operation::Sell { user, holding } => self.sell(user, *holding).await?,
            Operation::Register { profile, balance_cents } => {
                self.register(profile, *balance_cents).await?
            }
        };
        Ok(Answer { alerts, view })
    }

    /// Returns the orders that were closed since the user last saw alerts, and marks them as seen.
    async fn alerts(&mut self, user: &str) -> Result<Vec<Order>, Stop> {
        let rows = self.connection.query(Statement::ClosedOrders, &[Value::Text(user)]).await?;
        let orders: Vec<Order> = rows.iter().map(Order::of).collect();
        if !orders.is_empty() {
            self.connection.begin(Begin::Ordinary).await?;
            for order in &orders {
                let id = [Value::Int(order.id)];
                self.connection.execute(Statement::CompleteOrder, &id).await?;
            }
            self.commit().await?;
        }
        Ok(orders)
    }

    async fn login(&mut self, user: &str, password: &str) -> Result<View, Stop> {
        if !self.committed.login {
            self.count_login(user, password).await?;
            self.committed.login = true;
        }
        self.home(user).await
    }

    async fn count_login(&mut self, user: &str, password: &str) -> Result<(), Stop> {
        self.connection.begin(Begin::Ordinary).await?;
        let profile = self.profile(user).await?;
        if profile.is_none_or(|profile| profile.password != password) {
            return Err(Problem::WrongPassword.into());
        }
        let at = [Value::Int(now_us()), Value::Text(user)];
        self.connection.execute(Statement::CountLogin, &at).await?;
        self.account(user).await?;
        self.commit().await
    }

    async fn logout(&mut self, user: &str) -> Result<View, Stop> {
        self.connection.begin(Begin::Ordinary).await?;
        self.connection.execute(Statement::CountLogout, &[Value::Text(user)]).await?;
        self.commit().await?;
        Ok(View::Goodbye {})
    }

    async fn home(&mut self, user: &str) -> Result<View, Stop> {
        let account = self.account(user).await?;
        let holdings = self.holdings(user).await?;
        let market = self.application.market.summary(self.connection).await?;
        Ok(View::Home { account, holdings, market })
    }

    async fn quotes(&mut self, symbols: &[String]) -> Result<View, Stop> {
        let (mut quotes, mut unknown) = (Vec::with_capacity(symbols.len()), Vec::new());
        for symbol in symbols {
            match self.quote(Statement::Quote, symbol).await? {
                Some(quote) => quotes.push(quote),
                None => unknown.push(symbol.clone()),
            }
        }
        Ok(View::Quotes { quotes, unknown })
    }

    async fn portfolio(&mut self, user: &str) -> Result<View, Stop> {
        let mut priced = Vec::new();
        for holding in self.holdings(user).await? {
            let quote = self.quote(Statement::Quote, &holding.symbol).await?;
            let price_cents = quote.map(|quote| quote.price_cents);
            priced.push(PricedHolding { holding, price_cents });
        }
        Ok(View::Portfolio { holdings: priced })
    }

    async fn account_page(&mut self, user: &str) -> Result<View, Stop> {
        let account = self.account(user).await?;
        let profile = self.profile(user).await?.ok_or(Problem::UnknownSession)?;
        Ok(View::Account { account, profile })
    }

    async fn update(&mut self, profile: &Profile) -> Result<View, Stop> {
        self.connection.begin(Begin::Ordinary).await?;
        let values = [
            Value::Text(&profile.password),
            Value::Text(&profile.full_name),
            Value::Text(&profile.address),
            Value::Text(&profile.email),
            Value::Text(&profile.credit_card),
            Value::Text(&profile.user),
        ];
        self.connection.execute(Statement::UpdateProfile, &values).await?;
        self.profile(&profile.user).await?;
        self.commit().await?;
        self.account_page(&profile.user).await
    }

    async fn register(&mut self, profile: &Profile, balance_cents: i64) -> Result<View, Stop> {
        if !self.committed.registration {
            self.insert_user(profile, balance_cents).await?;
            self.committed.registration = true;
        }
        self.login(&profile.user, &profile.password).await
    }

    async fn insert_user(&mut self, profile: &Profile, balance_cents: i64) -> Result<(), Stop> {
        let account = self.key("account").await?;
        self.connection.begin(Begin::Ordinary).await?;
        let now = now_us();
        let values = [
            Value::Int(account),
            Value::Int(now),
            Value::Int(balance_cents),
            Value::Int(balance_cents),
            Value::Int(now),
            Value::Text(&profile.user),
        ];
        self.connection.execute(Statement::InsertAccount, &values).await.map_err(exists)?;
        let values = [
            Value::Text(&profile.user),
            Value::Text(&profile.password),
            Value::Text(&profile.full_name),
            Value::Text(&profile.address),
            Value::Text(&profile.email),
            Value::Text(&profile.credit_card),
        ];
        self.connection.execute(Statement::InsertProfile, &values).await.map_err(exists)?;
        self.commit().await
    }

    async fn buy(&mut self, user: &str, symbol: &str, quantity: i64) -> Result<View, Stop> {
        let (order, holding) = (self.key("orders").await?, self.key("holding").await?);
        self.connection.begin(Begin::Ordinary).await?;
        let account = self.account(user).await?;
        let quote = self.quote(Statement::Quote, symbol).await?.ok_or(Problem::UnknownSymbol)?;
        let price = quote.price_cents;
        self.open_order(order, "buy", account.id, &quote, quantity, Value::Null).await?;
        self.order(order).await?;
        self.move_money(account.id, -(price * quantity + ORDER_FEE_CENTS)).await?;
        // As in the published application, an order is read again before it is completed.
        self.order(order).await?;
        self.profile(user).await?;
        let values = [
            Value::Int(holding),
            Value::Int(price),
            Value::Int(quantity),
            Value::Int(now_us()),
            Value::Int(account.id),
            Value::Text(symbol),
        ];
        self.connection.execute(Statement::InsertHolding, &values).await?;
        let link = [Value::Int(holding), Value::Int(order)];
        self.connection.execute(Statement::SetOrderHolding, &link).await?;
        self.close_order(order).await?;
        self.trade(symbol, quantity).await?;
        let order = self.order(order).await?;
        self.commit().await?;
        Ok(View::Order { order })
    }

    async fn sell(&mut self, user: &str, holding: i64) -> Result<View, Stop> {
        let order = self.key("orders").await?;
        self.connection.begin(Begin::Ordinary).await?;
        let account = self.account(user).await?;
        let sold = self.holding(holding, account.id).await?.ok_or(Problem::NoHolding)?;
        let quote =
            self.quote(Statement::Quote, &sold.symbol).await?.ok_or(Problem::UnknownSymbol)?;
        let price = quote.price_cents;
        let of = Value::Int(holding);
        self.open_order(order, "sell", account.id, &quote, sold.quantity, of).await?;
        self.connection.execute(Statement::MarkHolding, &[of]).await?;
        self.order(order).await?;
        self.move_money(account.id, price * sold.quantity - ORDER_FEE_CENTS).await?;
        // As in the published application, an order is read again before it is completed.
        self.order(order).await?;
        self.holding(holding, account.id).await?;
        self.profile(user).await?;
        self.connection.execute(Statement::DeleteHolding, &[of]).await?;
        self.connection.execute(Statement::ForgetHolding, &[of]).await?;
        self.close_order(order).await?;
        self.trade(&sold.symbol, sold.quantity).await?;
        let order = self.order(order).await?;
        self.commit().await?;
        Ok(View::Order { order })
    }

    async fn commit(&mut self) -> Result<(), Stop> {
        self.connection.commit().await?;
        count(&self.application.counters.transactions);
        Ok(())
    }

    async fn key(&mut self, table: &'static str) -> Result<i64, Stop> {
        Ok(self.application.keys.next(self.connection, table).await?)
    }

    /// The account of a logged-in user. It may be missing, because a reset may have removed it
    /// since the log-in.
    async fn account(&mut self, user: &str) -> Result<Account, Stop> {
        let rows = self.connection.query(Statement::Account, &[Value::Text(user)]).await?;
        Ok(rows.first().map(Account::of).ok_or(Problem::UnknownSession)?)
    }

    async fn profile(&mut self, user: &str) -> Result<Option<Profile>, Stop> {
        let rows = self.connection.query(Statement::Profile, &[Value::Text(user)]).await?;
        Ok(rows.first().map(Profile::of))
    }

    async fn holdings(&mut self, user: &str) -> Result<Vec<Holding>, Stop> {
        let rows = self.connection.query(Statement::Holdings, &[Value::Text(user)]).await?;
        Ok(rows.iter().map(Holding::of).collect())
    }

    async fn holding(&mut self, holding: i64, account: i64) -> Result<Option<Holding>, Stop> {
        let of = [Value::Int(holding), Value::Int(account)];
        let rows = self.connection.query(Statement::HoldingForUpdate, &of).await?;
        Ok(rows.first().map(Holding::of))
    }

    async fn quote(&mut self, statement: Statement, symbol: &str) -> Result<Option<Quote>, Stop> {
        let rows = self.connection.query(statement, &[Value::Text(symbol)]).await?;
        Ok(rows.first().map(Quote::of))
    }

    async fn order(&mut self, order: i64) -> Result<Order, Stop> {
        let rows = self.connection.query(Statement::Order, &[Value::Int(order)]).await?;
        let gone = || DatabaseError {
            problem: DatabaseProblem::Other,
            message: format!("order {order} cannot be found in the transaction that inserted it"),
        };
        Ok(rows.first().map(Order::of).ok_or_else(gone)?)
    }

    async fn open_order(
        &mut self,
        order: i64,
        side: &str,
        account: i64,
        quote: &Quote,
        quantity: i64,
        holding: Value<'_>,
    ) -> Result<(), Stop> {
        let values = [
            Value::Int(order),
            Value::Text(side),
            Value::Int(now_us()),
            Value::Int(quantity),
            Value::Int(quote.price_cents),
            Value::Int(ORDER_FEE_CENTS),
            Value::Int(account),
            Value::Text(&quote.symbol),
            holding,
        ];
        self.connection.execute(Statement::InsertOrder, &values).await?;
        Ok(())
    }

    async fn move_money(&mut self, account: i64, cents: i64) -> Result<(), Stop> {
        let values = [Value::Int(cents), Value::Int(account)];
        self.connection.execute(Statement::MoveMoney, &values).await?;
        Ok(())
    }

    async fn close_order(&mut self, order: i64) -> Result<(), Stop> {
        let values = [Value::Int(now_us()), Value::Int(order)];
        self.connection.execute(Statement::CloseOrder, &values).await?;
        Ok(())
    }

    /// Updates the quote after a trade: the price changes, and the volume grows.
    async fn trade(&mut self, symbol: &str, quantity: i64) -> Result<(), Stop> {
        let quote = self.quote(Statement::QuoteForUpdate, symbol).await?;
        let quote = quote.ok_or(Problem::UnknownSymbol)?;
        let price = self.application.market.price_after_trade(quote.price_cents);
        let values = [
            Value::Int(price),
            Value::Int(price.min(quote.low_cents)),
            Value::Int(price.max(quote.high_cents)),
            Value::Int(price - quote.open_cents),
            Value::Int(quantity),
            Value::Text(symbol),
        ];
        self.connection.execute(Statement::UpdateQuote, &values).await?;
        self.quote(Statement::Quote, symbol).await?;
        Ok(())
    }
}

/// Converts an error: a duplicate key means that a user with this name already exists.
fn exists(error: DatabaseError) -> Stop {
    match error.problem {
        DatabaseProblem::Duplicate => Stop::Problem(Problem::UserExists),
        _ => Stop::Database(error),
    }
}

/// Microseconds since 1970.
fn now_us() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
}
