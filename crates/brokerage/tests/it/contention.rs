//! Many users at once on a few stocks: transactions that the database does not let through are begun again or
//! counted, the books balance, and the market's summary is of one moment.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

use serde_json::Value;

use crate::support::http::Client;
use crate::support::postgresql::Postgresql;
use crate::support::{Brokerage, QUOTES, plan_on};

/// Users who buy and sell until they are told to stop: each returns purchases, sales and refusals.
struct Traders {
    is_over: Arc<AtomicBool>,
    threads: Vec<JoinHandle<(u64, u64, u64)>>,
}

impl Traders {
    /// Users 1 to `count`, on the first `quotes` stocks.
    fn start(brokerage: &Brokerage, count: u32, quotes: usize) -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        // All log in before the first one trades: under load, a log-in may be refused too.
        let clients: Vec<_> = (1..=count).map(|user| Client::of(brokerage.at, user)).collect();
        let threads = clients
            .into_iter()
            .map(|client| {
                let is_over = Arc::clone(&is_over);
                thread::spawn(move || trade(client, quotes, &is_over))
            })
            .collect();
        Self { is_over, threads }
    }

    /// Purchases, sales and refusals of all of them.
    fn stop(self) -> (u64, u64, u64) {
        self.is_over.store(true, Ordering::Relaxed);
        let each = self.threads.into_iter().map(|one| one.join().expect("no other answer came"));
        each.fold((0, 0, 0), |all, one| (all.0 + one.0, all.1 + one.1, all.2 + one.2))
    }
}

fn trade(mut client: Client, quotes: usize, is_over: &AtomicBool) -> (u64, u64, u64) {
    let (mut bought, mut sold, mut refused) = (0, 0, 0);
    for number in 0.. {
        if is_over.load(Ordering::Relaxed) {
            break;
        }
        let form = format!("symbol=s:{}&quantity=2", number % quotes);
        let response = client.post("/api/buy", &form);
        if response.status != 200 {
            assert_eq!(
                (response.status, response.json()["error"].as_str()),
                (503, Some("database-busy"))
            );
            refused += 1;
            continue;
        }
        bought += 1;
        let form = format!("holding={}", response.json()["order"]["holding"]);
        let response = client.post("/api/sell", &form);
        if response.status == 200 {
            sold += 1;
        } else {
            assert_eq!(
                (response.status, response.json()["error"].as_str()),
                (503, Some("database-busy"))
            );
            refused += 1;
        }
    }
    (bought, sold, refused)
}

/// The traders go on until the server has counted this error so often.
fn until_counted(brokerage: &mut Brokerage, error: &str, count: u64) {
    let mut reads = std::iter::repeat_with(|| brokerage.counters().database_errors[error]);
    assert!(reads.by_ref().take(1_000_000).any(|seen| seen >= count), "never {count} of {error}");
}

/// The database aborts some transactions. The brokerage repeats each up to ten times, then refuses the
/// request by the name `database-busy`; its counters hold every one.
fn assert_accounted(brokerage: &mut Brokerage, (bought, sold, refused): (u64, u64, u64)) {
    let counters = brokerage.counters();
    let errors = &counters.database_errors;
    let failures: u64 = ["serialization", "deadlock", "busy"].iter().map(|one| errors[*one]).sum();
    assert_eq!(errors.values().sum::<u64>(), failures, "{errors:?}");
    assert_eq!(counters.retries + refused, failures, "the last time of a refused one is no retry");
    assert_eq!((counters.operations["buy"], counters.operations["sell"]), (bought, sold));
    assert_eq!(counters.errors["database-busy"], refused);
    brokerage.assert_books_balance();
}

#[test]
fn serialization_failures_under_load_are_begun_again_and_the_books_balance() {
    let test = "serialization_failures_under_load_are_begun_again_and_the_books_balance";
    let Some(server) = Postgresql::start(test) else { return };
    for isolation in ["serializable", "repeatable read"] {
        server.psql(&format!(
            "ALTER DATABASE postgres SET default_transaction_isolation = '{isolation}'"
        ));
        let mut brokerage = Brokerage::loaded(&plan_on(server.database()));
        let traders = Traders::start(&brokerage, 4, 1);
        until_counted(&mut brokerage, "serialization", 50);
        let counted = traders.stop();
        assert!(counted.0 > 0, "some purchases are let through: {counted:?}");
        assert_accounted(&mut brokerage, counted);
    }
}

#[test]
fn deadlocks_under_load_are_begun_again_and_the_books_balance() {
    let test = "deadlocks_under_load_are_begun_again_and_the_books_balance";
    let Some(server) = Postgresql::start(test) else { return };
    server.psql("ALTER DATABASE postgres SET deadlock_timeout = '20ms'");
    let mut brokerage = Brokerage::loaded(&plan_on(server.database()));
    let traders = Traders::start(&brokerage, 4, 1);
    // It takes the quote first and then an account, which trades do the other way around. A deadlock is looked
    // for once, by who has waited for that long: the other one is seldom the victim, and then goes on.
    let other = server.psql_meanwhile(
        "DO $$ BEGIN PERFORM set_config('deadlock_timeout', '200ms', false); \
         FOR number IN 1..60 LOOP BEGIN \
         UPDATE quote SET volume = volume WHERE symbol = 's:0'; PERFORM pg_sleep(0.002); \
         UPDATE account SET balance = balance WHERE profile_userid = 'uid:' || (number % 4 + 1); \
         EXCEPTION WHEN deadlock_detected THEN NULL; END; COMMIT; END LOOP; END $$",
    );
    assert!(other.wait_with_output().expect("psql ends").status.success());
    let counted = traders.stop();
    assert!(brokerage.counters().database_errors["deadlock"] > 0);
    assert_accounted(&mut brokerage, counted);
}

/// The market as a brokerage without a summary of its own computes it, for a user who logs in.
fn market(server: &Postgresql, user: u32) -> Value {
    let brokerage = Brokerage::start(&plan_on(server.database()));
    let mut client = Client::new(brokerage.at);
    let response = client.post("/api/login", &format!("uid=uid:{user}&passwd=xxx"));
    assert_eq!(response.status, 200, "{}", response.text());
    response.json()["market"].clone()
}

fn numbers(quotes: &Value, name: &str) -> Vec<i64> {
    let each = quotes.as_array().expect("a list").iter();
    each.map(|quote| quote[name].as_i64().expect("a number")).collect()
}

#[test]
fn the_summary_of_the_market_is_of_one_moment_while_users_trade() {
    let test = "the_summary_of_the_market_is_of_one_moment_while_users_trade";
    let Some(server) = Postgresql::start(test) else { return };
    let mut plan = plan_on(server.database());
    plan.population.quotes = 5;
    let brokerage = Brokerage::loaded(&plan);
    let traders = Traders::start(&brokerage, 4, 5);
    let mut volumes = Vec::new();
    for user in 100..130 {
        let market = market(&server, user);
        // All stocks are among the first five, so the totals must be the sums over the listed stocks.
        let [gainers, losers] = ["gainers", "losers"].map(|name| &market[name]);
        let prices: i64 = numbers(gainers, "price_cents").iter().sum();
        let index = market["index_cents"].as_i64().expect("a number");
        assert!((5 * index - prices).abs() <= 2, "the mean, to the cent: {market}");
        let volume: i64 = numbers(gainers, "volume").iter().sum();
        assert_eq!(market["volume"].as_i64(), Some(volume), "{market}");
        let changes = numbers(gainers, "change_cents");
        assert!(changes.is_sorted_by(|one, next| one >= next), "{market}");
        let mut others = numbers(losers, "change_cents");
        others.reverse();
        assert_eq!(changes, others, "{market}");
        volumes.push(volume);
    }
    traders.stop();
    assert!(volumes.is_sorted() && volumes[0] < volumes[29], "trades went on: {volumes:?}");
}

#[test]
fn gainers_and_losers_after_a_load_are_those_of_the_database() {
    let test = "gainers_and_losers_after_a_load_are_those_of_the_database";
    let Some(server) = Postgresql::start(test) else { return };
    let mut brokerage = Brokerage::loaded(&plan_on(server.database()));
    let traders = Traders::start(&brokerage, 4, QUOTES as usize);
    let mut reads = std::iter::repeat_with(|| brokerage.counters().operations["sell"]);
    assert!(reads.by_ref().take(1_000_000).any(|sold| sold > 200), "users trade");
    traders.stop();
    let market = market(&server, 100);
    for (name, order) in [("gainers", "DESC"), ("losers", "ASC")] {
        let quotes = market[name].as_array().expect("a list").iter();
        let told: Vec<&str> = quotes.map(|one| one["symbol"].as_str().expect("text")).collect();
        let asked = server.psql(&format!(
            "SELECT symbol FROM quote ORDER BY price - open1 {order}, symbol LIMIT 5"
        ));
        assert_eq!(told, asked.lines().collect::<Vec<_>>(), "{name}");
    }
    let totals = server.psql("SELECT ROUND(AVG(price)), ROUND(AVG(open1)), SUM(volume) FROM quote");
    let told =
        ["index_cents", "opening_index_cents", "volume"].map(|name| market[name].to_string());
    assert_eq!(told.join("|"), totals);
}
