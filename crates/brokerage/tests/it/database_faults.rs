//! Databases that fail: an error with a name, a server that goes on, and books that balance.

use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use crate::support::http::Client;
use crate::support::postgresql::{Postgresql, is_root};
use crate::support::{Brokerage, Folder, plan, plan_on, skipped};

#[test]
fn a_database_that_goes_away_is_an_error_and_comes_back() {
    let Some(server) = Postgresql::start("a_database_that_goes_away_is_an_error") else { return };
    let mut brokerage = Brokerage::loaded(&plan_on(server.database()));
    let mut client = Client::of(brokerage.at, 1);
    server.go_down();
    let response = client.get("/home");
    assert_eq!(
        (response.status, response.attributes("data-error")),
        (503, vec!["database-unavailable".to_owned()])
    );
    server.go_up();
    let response = client.get("/home");
    assert_eq!(response.status, 200, "the session is still there: {}", response.text());
    let counters = brokerage.counters();
    assert_eq!(counters.errors["database-unavailable"], 1);
    assert_eq!(counters.database_errors["unavailable"], 1);
    brokerage.assert_books_balance();
}

#[test]
fn the_books_balance_where_the_database_crashes_under_load() {
    let Some(server) = Postgresql::start("the_books_balance_where_the_database_crashes") else {
        return;
    };
    let mut brokerage = Brokerage::loaded(&plan_on(server.database()));
    let at = brokerage.at;
    let is_over = Arc::new(AtomicBool::new(false));
    let users: Vec<_> = (1..5)
        .map(|user| {
            let is_over = Arc::clone(&is_over);
            let mut client = Client::of(at, user);
            thread::spawn(move || {
                let (mut bought, mut refused) = (0, 0);
                while !is_over.load(Ordering::Relaxed) {
                    match client.post("/buy", "symbol=s:1&quantity=3").status {
                        200 => bought += 1,
                        503 => refused += 1,
                        other => panic!("{other}"),
                    }
                }
                (bought, refused)
            })
        })
        .collect();
    server.go_down();
    server.go_up();
    is_over.store(true, Ordering::Relaxed);
    let refused: u32 =
        users.into_iter().map(|user| user.join().expect("no answer is another error").1).sum();
    assert!(refused > 0);
    brokerage.assert_books_balance();
    assert_eq!(brokerage.counters().errors["database-unavailable"], u64::from(refused));
}

#[test]
fn the_victim_of_a_deadlock_is_begun_again() {
    let Some(server) = Postgresql::start("the_victim_of_a_deadlock_is_begun_again") else { return };
    let mut brokerage = Brokerage::loaded(&plan_on(server.database()));
    let mut client = Client::of(brokerage.at, 1);
    // It holds the quote, and wants the account as soon as the purchase, which has it, waits for the quote.
    let other = server.psql_meanwhile(
        "SET deadlock_timeout = '60s'; BEGIN; \
         UPDATE quote SET volume = volume WHERE symbol = 's:1'; \
         SELECT pg_advisory_lock(1); \
         DO $$ BEGIN WHILE NOT EXISTS (SELECT FROM pg_locks WHERE NOT granted) LOOP \
         PERFORM pg_sleep(0.01); END LOOP; END $$; \
         UPDATE account SET balance = balance WHERE profile_userid = 'uid:1'; COMMIT",
    );
    server.wait_for("SELECT COUNT(*) FROM pg_locks WHERE locktype = 'advisory' AND objid = 1");
    assert_eq!(client.post("/buy", "symbol=s:1&quantity=3").status, 200);
    assert!(other.wait_with_output().expect("psql ends").status.success());
    let counters = brokerage.counters();
    // PostgreSQL promises no order: begun again, it may get the account before the other does.
    let deadlocks = counters.database_errors["deadlock"];
    assert!(deadlocks >= 1);
    assert_eq!(counters.retries, deadlocks);
    assert_eq!(counters.operations["buy"], 1);
    brokerage.assert_books_balance();
}

#[test]
fn a_registration_is_committed_once_when_its_log_in_is_retried() {
    let test = "a_registration_is_committed_once_when_its_log_in_is_retried";
    let Some(server) = Postgresql::start(test) else { return };
    let mut brokerage = Brokerage::loaded(&plan_on(server.database()));
    // The first count of a log-in fails as a serialization does. (Sequences are not rolled back.)
    server.psql(
        "CREATE SEQUENCE attempts; CREATE FUNCTION fail_once() RETURNS trigger AS $$ BEGIN \
         IF nextval('attempts') = 1 THEN RAISE EXCEPTION 'not now' USING ERRCODE = '40001'; \
         END IF; RETURN NEW; END $$ LANGUAGE plpgsql; CREATE TRIGGER fail_once BEFORE UPDATE OF \
         logincount ON account FOR EACH ROW EXECUTE FUNCTION fail_once()",
    );
    let body = "uid=ru:1&passwd=p&fullname=N&address=A&email=e&creditcard=c&balance=1000000";
    let response = Client::new(brokerage.at).post("/register", body);
    assert_eq!(response.status, 200, "{}", response.text());
    let counters = brokerage.counters();
    assert_eq!((counters.database_errors["serialization"], counters.retries), (1, 1));
    brokerage.assert_books_balance();
}

#[test]
fn a_database_that_another_program_locks_is_tried_again_and_then_busy() {
    let folder = Folder::new();
    let file = folder.join("db");
    let mut brokerage = Brokerage::loaded(&plan(&file));
    let mut client = Client::of(brokerage.at, 1);
    let other = rusqlite::Connection::open(&file).expect("it is a database");
    other.execute_batch("BEGIN IMMEDIATE").expect("nobody else writes");
    let response = client.post("/buy", "symbol=s:1&quantity=3");
    assert_eq!(
        (response.status, response.attributes("data-error")),
        (503, vec!["database-busy".to_owned()])
    );
    assert_eq!(client.get("/home").status, 200, "readers do not wait");
    other.execute_batch("COMMIT").expect("it ends");
    assert_eq!(client.post("/buy", "symbol=s:1&quantity=3").status, 200);
    let counters = brokerage.counters();
    assert_eq!((counters.retries, counters.database_errors["busy"]), (10, 11));
    brokerage.assert_books_balance();
}

#[test]
fn a_full_disk_is_an_error_with_a_name_and_the_books_balance() {
    let test = "a_full_disk_is_an_error_with_a_name_and_the_books_balance";
    if !is_root() {
        return skipped(test, "needs root for a RAM disk of 4 MB");
    }
    let folder = Folder::new();
    mount_ram_disk(&folder, "4m");
    let mut brokerage = Brokerage::loaded(&plan(&folder.join("db")));
    let mut client = Client::of(brokerage.at, 1);
    let fill = fill(&folder);
    let mut names = Vec::new();
    for _ in 0..2_000 {
        let response = client.post("/buy", "symbol=s:1&quantity=3");
        if response.status != 200 {
            names = response.attributes("data-error");
            break;
        }
    }
    assert_eq!(names, ["database-full"]);
    std::fs::remove_file(&fill).expect("it is there");
    assert_eq!(client.post("/buy", "symbol=s:1&quantity=3").status, 200);
    brokerage.assert_books_balance();
    assert_eq!(brokerage.counters().errors["database-full"], 1);
}

#[test]
fn a_full_disk_under_postgresql_is_an_error_and_the_books_balance() {
    let test = "a_full_disk_under_postgresql_is_an_error_and_the_books_balance";
    if !is_root() {
        return skipped(test, "needs root for a RAM disk of 128 MB");
    }
    let folder = Folder::new();
    mount_ram_disk(&folder, "128m");
    let Some(server) = Postgresql::start_in(folder, test) else { return };
    let mut brokerage = Brokerage::loaded(&plan_on(server.database()));
    let mut client = Client::of(brokerage.at, 1);
    let fill = fill(server.folder());
    let mut refused = 0;
    for _ in 0..100_000 {
        // The server's log of writes cannot grow either: it may end itself, which is "unavailable".
        let response = client.post("/buy", "symbol=s:1&quantity=3");
        if response.status != 200 {
            assert_eq!(response.status, 503, "{}", response.text());
            refused += 1;
            break;
        }
    }
    assert_eq!(refused, 1);
    std::fs::remove_file(&fill).expect("it is there");
    server.come_back();
    let response = client.post("/buy", "symbol=s:1&quantity=3");
    assert_eq!(response.status, 200, "{}", response.text());
    brokerage.assert_books_balance();
    let errors = brokerage.counters().errors;
    assert_eq!(errors["database-full"] + errors["database-unavailable"], 1);
}

/// A small disk in a folder, for this thread, the threads and the programs that it starts.
fn mount_ram_disk(folder: &Folder, size: &str) {
    nix::sched::unshare(nix::sched::CloneFlags::CLONE_NEWNS).expect("root may");
    let mount = |arguments: &[&str]| {
        let status = Command::new("mount").args(arguments).status().expect("mount starts");
        assert!(status.success(), "{arguments:?}");
    };
    mount(&["--make-rprivate", "/"]);
    mount(&["-t", "tmpfs", "-o", &format!("size={size}"), "tmpfs", &folder.join("")]);
}

/// Takes all the room that a disk has left, with a file.
fn fill(folder: &Folder) -> String {
    let fill = folder.join("fill");
    let filled =
        Command::new("dd").args(["if=/dev/zero", &format!("of={fill}"), "bs=4096"]).output();
    assert!(!filled.expect("dd starts").status.success(), "the disk is full");
    fill
}

#[test]
fn a_broken_book_is_found() {
    for (change, law) in [
        ("UPDATE account SET balance = balance + 1 WHERE accountid = 3", "accounts have a balance"),
        (
            "UPDATE orders SET orderstatus = 'open' WHERE orderid = 3",
            "neither closed nor completed",
        ),
        ("DELETE FROM orders WHERE orderid = 3", "do not have exactly one purchase order"),
        ("DELETE FROM holding WHERE holdingid = 3", "a holding that does not exist"),
        (
            "UPDATE orders SET holding_holdingid = NULL WHERE orderid = 3",
            "shares bought and shares sold differ",
        ),
        ("UPDATE orders SET orderfee = 0 WHERE orderid = 3", "a fee other than"),
        ("UPDATE orders SET account_accountid = 9999 WHERE orderid = 3", "belong to no account"),
        ("UPDATE quote SET price = price + 1 WHERE symbol = 's:3'", "outside low and high"),
        ("DELETE FROM accountprofile WHERE userid = 'uid:3'", "accounts have no profile"),
        ("UPDATE keygen SET keyval = 3 WHERE keyname = 'orders'", "assigned again"),
    ] {
        let folder = Folder::new();
        let file = folder.join("db");
        let mut brokerage = Brokerage::loaded(&plan(&file));
        let other = rusqlite::Connection::open(&file).expect("it is a database");
        assert_eq!(other.execute(change, []).expect("it is SQL"), 1, "{change}");
        let broken = brokerage.broken_laws();
        assert!(broken.iter().any(|sentence| sentence.contains(law)), "{change}: {broken:?}");
    }
}

#[test]
fn a_password_is_in_no_message() {
    let folder = Folder::new();
    let database = netstudy_records::BrokerageDatabase::Postgresql {
        host: folder.join(""),
        port: 5432,
        user: "netstudy".to_owned(),
        database: "postgres".to_owned(),
        password: Some(netstudy_records::Secret::from("hush-77777")),
    };
    let message = Brokerage::try_start(&plan_on(database)).err().expect("there is no server");
    assert!(message.contains("the database") && !message.contains("hush"), "{message}");
}
