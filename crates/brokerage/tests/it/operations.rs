//! The ten operations as a client sees them, on each database.

use std::thread;
use std::time::Instant;

use netstudy_records::{BrokerageCommand, BrokeragePlan, BrokerageRecord};

use crate::support::http::Client;
use crate::support::postgresql::Postgresql;
use crate::support::{Brokerage, Folder, QUOTES, USERS, plan, plan_on};

/// Calls `check` with a plan for each database that this machine has.
fn on_each_database(test: &str, check: impl Fn(BrokeragePlan)) {
    let folder = Folder::new();
    check(plan(&folder.join("db")));
    if let Some(server) = Postgresql::start(test) {
        check(plan_on(server.database()));
    }
}

const REGISTRATION: &str =
    "uid=ru:1&passwd=p&fullname=N&address=A&email=e&creditcard=c&balance=1000000";

#[test]
fn each_operation_answers_with_its_page_and_the_books_balance() {
    on_each_database("each_operation_answers_with_its_page_and_the_books_balance", |plan| {
        let mut brokerage = Brokerage::loaded(&plan);
        let mut client = Client::of(brokerage.at, 1);
        assert_eq!(client.get("/home").status, 200);
        assert_eq!(client.get("/quotes?symbols=s:1,s:2").attributes("data-symbol"), ["s:1", "s:2"]);
        assert_eq!(client.get("/account").status, 200);
        let form = "fullname=Ann&address=Here&email=a@example.com&creditcard=1&passwd=yyy";
        assert!(client.post("/update", form).text().contains("value=\"Ann\""));
        let before = client.get("/portfolio").attributes("data-holding");
        assert_eq!(client.post("/buy", "symbol=s:3&quantity=10").attributes("data-order").len(), 1);
        let after = client.get("/portfolio").attributes("data-holding");
        assert_eq!(after.len(), before.len() + 1);
        let sold = client.post("/sell", &format!("holding={}", after[0]));
        assert_eq!(sold.status, 200, "{}", sold.text());
        assert_eq!(client.get("/logout").status, 200);
        assert!(client.cookie.is_none());
        assert_eq!(client.post("/register", REGISTRATION).status, 200);
        assert!(client.get("/home").text().contains("Welcome ru:1"));
        assert_eq!(
            client.post("/register", REGISTRATION).attributes("data-error"),
            ["user-exists"]
        );
        brokerage.assert_books_balance();
        let counters = brokerage.counters();
        for (name, count) in &counters.operations {
            assert!(*count > 0, "{name}");
        }
        assert_eq!(counters.errors.values().sum::<u64>(), 1);
        assert_eq!(counters.page_elements, counters.operations.values().sum::<u64>() + 1);
    });
}

#[test]
fn each_operation_sends_the_published_number_of_statements() {
    on_each_database("each_operation_sends_the_published_number_of_statements", |plan| {
        let mut brokerage = Brokerage::loaded(&plan);
        let mut client = Client::of(brokerage.at, 1);
        // The first ones take a block of keys each, and the market summary, which is good for 20 s.
        let bought = client.post("/api/buy", "symbol=s:1&quantity=1").json();
        client.get("/home");
        let holdings = client.get("/portfolio").attributes("data-holding").len() as u64;
        let sale = format!("holding={}", bought["order"]["holding"]);
        let update = "fullname=A&address=A&email=e&creditcard=c&passwd=xxx";
        // Selects, inserts, updates and deletes; with the select of the alert before them.
        for (method, path, form, published) in [
            ("GET", "/home", "", 1 + 2),
            ("GET", "/quotes?symbols=s:1,s:2,s:3", "", 1 + 3),
            ("GET", "/portfolio", "", 1 + 1 + holdings),
            ("GET", "/account", "", 1 + 2),
            ("POST", "/update", update, 1 + 2 + 2),
            ("POST", "/buy", "symbol=s:1&quantity=1", 1 + 8 + 2 + 4),
            ("GET", "/home", "", 1 + 1 + 2), // with the update of the alert
            ("POST", "/sell", &sale, 1 + 10 + 1 + 5 + 1),
            ("GET", "/logout", "", 1),
            ("POST", "/login", "uid=uid:1&passwd=xxx", 3 + 2),
        ] {
            let before = brokerage.counters().statements;
            let response = if method == "GET" { client.get(path) } else { client.post(path, form) };
            assert_eq!(response.status, 200, "{path}");
            assert_eq!(brokerage.counters().statements - before, published, "{path}");
        }
    });
}

#[test]
fn keys_are_taken_in_blocks() {
    let folder = Folder::new();
    let file = folder.join("db");
    let brokerage = Brokerage::loaded(&plan(&file));
    let other = rusqlite::Connection::open(&file).expect("it is a database");
    let key = || -> i64 {
        let sql = "SELECT keyval FROM keygen WHERE keyname = 'orders'";
        other.query_row(sql, [], |row| row.get(0)).expect("there is a key")
    };
    let before = key();
    let mut client = Client::of(brokerage.at, 1);
    let order = |client: &mut Client| {
        client.post("/api/buy", "symbol=s:1&quantity=1").json()["order"]["id"].as_i64()
    };
    assert_eq!([order(&mut client), order(&mut client)], [Some(before), Some(before + 1)]);
    assert_eq!(key(), before + 1_000);
}

#[test]
fn pages_have_about_the_published_size() {
    let folder = Folder::new();
    let brokerage = Brokerage::loaded(&plan(&folder.join("db")));
    let mut client = Client::of(brokerage.at, 1);
    // In the mix of the published study, 9.0 to 9.4 kB on average; each page is near it.
    for path in ["/home", "/quotes?symbols=s:1,s:2,s:3,s:4,s:5", "/portfolio", "/account"] {
        let response = client.get(path);
        let bytes = response.head.len() + response.body.len();
        assert!((8_000..10_500).contains(&bytes), "{path}: {bytes}");
    }
}

#[test]
fn money_and_shares_move_by_the_price_and_the_fee() {
    on_each_database("money_and_shares_move_by_the_price_and_the_fee", |plan| {
        let brokerage = Brokerage::loaded(&plan);
        let mut client = Client::of(brokerage.at, 1);
        let balance = |client: &mut Client| {
            client.get("/api/account").json()["account"]["balance_cents"].as_i64().expect("cents")
        };
        let price = |client: &mut Client| {
            let quotes = client.get("/api/quotes?symbols=s:3").json()["quotes"].clone();
            quotes[0]["price_cents"].as_i64().expect("cents")
        };
        let (before, paid) = (balance(&mut client), price(&mut client));
        let order = client.post("/api/buy", "symbol=s:3&quantity=10").json()["order"].clone();
        assert_eq!(order["price_cents"], paid);
        assert_eq!(balance(&mut client), before - (10 * paid + 2_495));
        let got = price(&mut client);
        assert!((90 * paid..=110 * paid + 99).contains(&(100 * got)), "{paid} became {got}");
        let form = format!("holding={}", order["holding"]);
        assert_eq!(client.post("/api/sell", &form).status, 200);
        assert_eq!(balance(&mut client), before - (10 * paid + 2_495) + (10 * got - 2_495));
    });
}

#[test]
fn a_user_is_told_of_an_order_once() {
    on_each_database("a_user_is_told_of_an_order_once", |plan| {
        let brokerage = Brokerage::loaded(&plan);
        let mut client = Client::of(brokerage.at, 1);
        let order = client.post("/api/buy", "symbol=s:3&quantity=10").json()["order"]["id"].clone();
        let alerts = client.get("/api/quotes?symbols=s:1").json()["alerts"].clone();
        assert_eq!(alerts[0]["id"], order);
        assert_eq!(client.get("/api/home").json()["alerts"], serde_json::json!([]));
    });
}

#[test]
fn a_load_fills_all_tables_and_a_reset_takes_back_what_a_run_has_left() {
    on_each_database("a_load_fills_all_tables_and_a_reset_takes_back", |plan| {
        let mut brokerage = Brokerage::start(&plan);
        for _ in 0..2 {
            let loaded = brokerage.obey(&BrokerageCommand::Load {});
            let BrokerageRecord::Done { counts, .. } = loaded else { panic!("{loaded:?}") };
            assert_eq!(counts["account"], u64::from(USERS));
            assert_eq!(counts["quote"], u64::from(QUOTES));
            assert_eq!(counts["holding"], counts["orders"]);
            let gathered = brokerage.obey(&BrokerageCommand::GatherStatistics {});
            assert!(matches!(gathered, BrokerageRecord::Done { .. }), "{gathered:?}");
            let mut client = Client::new(brokerage.at);
            client.post("/register", REGISTRATION);
            client.post("/buy", "symbol=s:1&quantity=1");
            let mut client = Client::of(brokerage.at, 1);
            client.post("/buy", "symbol=s:1&quantity=1");
            let holdings = client.get("/portfolio").attributes("data-holding");
            client.post("/sell", &format!("holding={}", holdings.last().expect("it was bought")));
            let reset = brokerage.obey(&BrokerageCommand::Reset {});
            let BrokerageRecord::Done { counts, .. } = reset else { panic!("{reset:?}") };
            assert_eq!(counts["registered_accounts"], 1);
            assert_eq!(counts["registered_holdings"], 1);
            assert_eq!(counts["orders_of_sold_holdings"], 2);
            assert_eq!(counts["log_ins"], 1);
            brokerage.assert_books_balance();
            assert_eq!(client.get("/home").status, 401, "all sessions have ended");
        }
    });
}

#[test]
fn both_databases_have_the_same_population() {
    let Some(server) = Postgresql::start("both_databases_have_the_same_population") else { return };
    let folder = Folder::new();
    let plans = [plan(&folder.join("db")), plan_on(server.database())];
    let [one, other] = plans.map(|plan| {
        let brokerage = Brokerage::loaded(&plan);
        [0, 7, USERS - 1].map(|user| {
            let mut client = Client::of(brokerage.at, user);
            (client.get("/portfolio").text(), client.get("/quotes?symbols=s:0,s:99").text())
        })
    });
    assert_eq!(one, other);
}

/// A user who buys and sells, and begins again where the session was ended.
fn trade(at: std::net::SocketAddr, user: u32, rounds: u32) {
    let mut client = Client::of(at, user);
    for round in 0..rounds {
        let symbol = (user + round) % 5;
        let bought = client.post("/api/buy", &format!("symbol=s:{symbol}&quantity=3"));
        assert_eq!(bought.status, 200, "{}", bought.text());
        if round % 2 == 0 {
            let form = format!("holding={}", bought.json()["order"]["holding"]);
            assert_eq!(client.post("/sell", &form).status, 200);
        }
    }
}

#[test]
fn the_books_balance_after_users_have_traded_the_same_quotes_at_once() {
    on_each_database("the_books_balance_after_users_have_traded_at_once", |plan| {
        let started = Instant::now();
        let mut brokerage = Brokerage::loaded(&plan);
        let at = brokerage.at;
        // Two of them are the same user.
        let users: Vec<_> =
            [1, 1, 2, 3, 4, 5].map(|user| thread::spawn(move || trade(at, user, 30))).into();
        for user in users {
            user.join().expect("all their orders are carried out");
        }
        brokerage.assert_books_balance();
        let counters = brokerage.counters();
        assert_eq!((counters.operations["buy"], counters.operations["sell"]), (180, 90));
        assert!(counters.pool_waits > 0, "six users have four connections");
        let elapsed_ns = started.elapsed().as_nanos() as u64;
        for (busy_ns, most) in [
            (counters.pool_busy_ns, plan.pool_connections),
            (counters.threads_busy_ns, plan.worker_threads),
        ] {
            assert!(busy_ns > 0 && busy_ns <= u64::from(most) * elapsed_ns, "{busy_ns}");
        }
    });
}

#[test]
fn statements_are_prepared_each_time_where_the_variant_says_so() {
    on_each_database("statements_are_prepared_each_time", |mut plan| {
        plan.settings.statement_cache = false;
        let mut brokerage = Brokerage::loaded(&plan);
        trade(brokerage.at, 1, 3);
        brokerage.assert_books_balance();
    });
}

#[test]
fn a_client_that_leaves_in_the_middle_of_a_purchase_leaves_it_whole() {
    on_each_database("a_client_that_leaves_in_the_middle_of_a_purchase", |plan| {
        let mut brokerage = Brokerage::loaded(&plan);
        let cookie = Client::of(brokerage.at, 1).cookie;
        for _ in 0..30 {
            let mut client = Client::new(brokerage.at);
            client.cookie.clone_from(&cookie);
            client.send_post("/buy", "symbol=s:1&quantity=3");
        }
        brokerage.assert_books_balance();
    });
}
