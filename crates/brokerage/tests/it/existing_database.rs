//! An existing PostgreSQL server: its contents stay, and one brokerage at a time loads it.

use netstudy_records::{BrokerageCommand, BrokerageDatabase, BrokerageRecord, Secret};

use crate::support::http::Client;
use crate::support::postgresql::Postgresql;
use crate::support::{Brokerage, plan_on};

/// Why the tables cannot be filled.
fn refusal(brokerage: &mut Brokerage) -> String {
    match brokerage.obey(&BrokerageCommand::Load {}) {
        BrokerageRecord::Failed { command, message } => {
            assert_eq!(command, "load");
            message
        }
        other => panic!("{other:?}"),
    }
}

fn assert_done(brokerage: &mut Brokerage, command: &BrokerageCommand) {
    let answer = brokerage.obey(command);
    assert!(matches!(answer, BrokerageRecord::Done { .. }), "{command:?}: {answer:?}");
}

#[test]
fn tables_of_others_are_named_and_stay() {
    let Some(server) = Postgresql::start("tables_of_others_are_named_and_stay") else { return };
    let mut brokerage = Brokerage::start(&plan_on(server.database()));
    // One of them has a name that the brokerage would drop.
    server.psql("CREATE TABLE orders (text TEXT); INSERT INTO orders VALUES ('precious')");
    server.psql("CREATE SCHEMA shop; CREATE VIEW shop.customers AS SELECT 1 AS one");
    let message = refusal(&mut brokerage);
    assert!(message.contains("public.orders, shop.customers is not the brokerage's"), "{message}");
    assert_eq!(server.psql("SELECT text FROM orders"), "precious");

    server.psql("DROP TABLE orders; DROP SCHEMA shop CASCADE");
    assert_done(&mut brokerage, &BrokerageCommand::Load {});
    server.psql("CREATE SEQUENCE numbers");
    let message = refusal(&mut brokerage);
    assert!(message.contains("the database is not empty: public.numbers"), "{message}");
    assert_ne!(server.psql("SELECT COUNT(*) FROM account"), "0", "a refused load changes nothing");
}

#[test]
fn a_database_of_a_role_with_a_password_is_loaded_again_reset_and_checked() {
    let test = "a_database_of_a_role_with_a_password_is_loaded_again_reset_and_checked";
    let Some(server) = Postgresql::start(test) else { return };
    let mut database = server.database_with_password("hush-4711");
    let mut brokerage = Brokerage::loaded(&plan_on(database.clone()));
    assert_done(&mut brokerage, &BrokerageCommand::GatherStatistics {});
    let mut client = Client::of(brokerage.at, 1);
    assert_eq!(client.post("/buy", "symbol=s:1&quantity=3").status, 200);
    brokerage.assert_books_balance();
    for command in [BrokerageCommand::Reset {}, BrokerageCommand::Load {}] {
        assert_done(&mut brokerage, &command);
        brokerage.assert_books_balance();
    }
    if let BrokerageDatabase::Postgresql { password, .. } = &mut database {
        *password = Some(Secret::from("wrong-4711"));
    }
    let message = Brokerage::try_start(&plan_on(database)).err().expect("the password is wrong");
    assert!(message.contains("password authentication failed"), "{message}");
    assert!(!message.contains("4711"), "{message}");
}

#[test]
fn a_database_is_loaded_by_one_brokerage_at_a_time() {
    let Some(server) = Postgresql::start("a_database_is_loaded_by_one_brokerage_at_a_time") else {
        return;
    };
    let first = Brokerage::loaded(&plan_on(server.database()));
    let mut second = Brokerage::start(&plan_on(server.database()));
    let message = refusal(&mut second);
    assert!(message.contains("another brokerage has loaded this database"), "{message}");
    drop(first);
    assert_done(&mut second, &BrokerageCommand::Load {});
}
