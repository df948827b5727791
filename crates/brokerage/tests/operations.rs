//! The ten operations as a client sees them, on each database.

mod support;

use netstudy_records::{BrokerageCommand, BrokerageRecord};
use support::http::Client;
use support::{Brokerage, Folder, QUOTES, USERS, plan};

#[test]
fn each_operation_answers_with_its_page_and_the_books_balance() {
    let folder = Folder::new();
    let mut brokerage = Brokerage::loaded(&plan(&folder.join("db")));
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
    let form = "uid=ru:1&passwd=p&fullname=N&address=A&email=e&creditcard=c&balance=1000000";
    assert_eq!(client.post("/register", form).status, 200);
    assert!(client.get("/home").text().contains("Welcome ru:1"));
    brokerage.assert_books_balance();
    let counters = brokerage.counters();
    for (name, count) in &counters.operations {
        assert!(*count > 0, "{name}");
    }
    assert_eq!(counters.errors.values().sum::<u64>(), 0);
    assert_eq!(counters.page_elements, counters.operations.values().sum::<u64>());
}

#[test]
fn a_load_fills_all_tables_and_a_reset_takes_back_what_a_run_has_left() {
    let folder = Folder::new();
    let mut brokerage = Brokerage::start(&plan(&folder.join("db")));
    let BrokerageRecord::Done { counts, .. } = brokerage.obey(&BrokerageCommand::Load {}) else {
        panic!("it does not load");
    };
    assert_eq!(counts["account"], u64::from(USERS));
    assert_eq!(counts["quote"], u64::from(QUOTES));
    assert_eq!(counts["holding"], counts["orders"]);
    assert!(matches!(
        brokerage.obey(&BrokerageCommand::GatherStatistics {}),
        BrokerageRecord::Done { .. }
    ));
    let mut client = Client::new(brokerage.at);
    let form = "uid=ru:1&passwd=p&fullname=N&address=A&email=e&creditcard=c&balance=1000000";
    client.post("/register", form);
    client.post("/buy", "symbol=s:1&quantity=1");
    let mut client = Client::of(brokerage.at, 1);
    client.post("/buy", "symbol=s:1&quantity=1");
    let holdings = client.get("/portfolio").attributes("data-holding");
    client.post("/sell", &format!("holding={}", holdings.last().expect("it was bought")));
    let BrokerageRecord::Done { counts, .. } = brokerage.obey(&BrokerageCommand::Reset {}) else {
        panic!("it is not reset");
    };
    assert_eq!(counts["registered_accounts"], 1);
    assert_eq!(counts["registered_holdings"], 1);
    assert_eq!(counts["orders_of_sold_holdings"], 2);
    assert_eq!(counts["log_ins"], 1);
    brokerage.assert_books_balance();
    assert_eq!(client.get("/home").status, 401, "all sessions have ended");
}
