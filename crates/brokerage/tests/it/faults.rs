//! Mistakes and attacks of clients: an error with a name, and books that balance.

use std::thread;

use netstudy_records::{BrokerageCommand, BrokerageRecord};

use crate::support::http::Client;
use crate::support::{Brokerage, Folder, plan};

/// A loaded brokerage in a folder.
fn brokerage(change: impl FnOnce(&mut netstudy_records::BrokeragePlan)) -> (Folder, Brokerage) {
    let folder = Folder::new();
    let mut plan = plan(&folder.join("db"));
    change(&mut plan);
    let brokerage = Brokerage::loaded(&plan);
    (folder, brokerage)
}

fn as_it_is(_: &mut netstudy_records::BrokeragePlan) {}

#[test]
fn sql_in_a_log_in_field_is_a_name_that_nobody_has() {
    let (_folder, mut brokerage) = brokerage(as_it_is);
    let mut client = Client::new(brokerage.at);
    for user in ["' OR '1'='1", "uid:0'; DROP TABLE account; --", "uid:0' --"] {
        let encoded = user.replace('\'', "%27").replace(' ', "+").replace(';', "%3B");
        let response = client.post("/login", &format!("uid={encoded}&passwd=%27+OR+1%3D1"));
        assert_eq!(response.status, 401, "{user}");
        assert_eq!(response.attributes("data-error"), ["wrong-password"]);
    }
    assert_eq!(brokerage.counters().errors["wrong-password"], 3);
    brokerage.assert_books_balance();
}

#[test]
fn what_a_user_writes_is_text_on_every_page() {
    let (_folder, brokerage) = brokerage(as_it_is);
    let mut client = Client::of(brokerage.at, 1);
    let form = "fullname=%22%3E%3Cscript%3E&address=A&email=e&creditcard=c&passwd=p";
    let page = client.post("/update", form).text();
    assert!(page.contains("&quot;&gt;&lt;script&gt;") && !page.contains("<script>"), "{page}");
}

#[test]
fn an_over_long_header_is_answered_and_counted() {
    let (_folder, mut brokerage) = brokerage(as_it_is);
    let mut client = Client::new(brokerage.at);
    let long = "x".repeat(20_000);
    client.send(format!("GET / HTTP/1.1\r\nHost: b\r\nX-Long: {long}\r\n\r\n").as_bytes());
    assert_eq!(client.receive().expect("an answer").status, 431);
    assert!(client.receive().is_none(), "the connection is closed");
    let counters = brokerage.counters_when_closed();
    assert_eq!(counters.errors["header-too-long"], 1);
    assert_eq!(counters.responses["4xx"], 1);
}

#[test]
fn requests_that_are_not_http_and_forms_that_are_none_are_refused_by_name() {
    let (_folder, mut brokerage) = brokerage(as_it_is);
    let mut garbage = Client::new(brokerage.at);
    garbage.send(b"\x16\x03\x01 this is not HTTP\r\n\r\n");
    assert_eq!(garbage.receive().expect("an answer").status, 400);
    let mut client = Client::of(brokerage.at, 1);
    for (path, form, status, name) in [
        ("/buy", "symbol=s:1", 400, "bad-form"),
        ("/buy", "symbol=s%3&quantity=1", 400, "bad-form"),
        ("/buy", "quantity=1", 400, "bad-form"),
        ("/buy", "symbol=s:1&quantity=-5", 400, "bad-quantity"),
        ("/buy", "symbol=s:1&quantity=0", 400, "bad-quantity"),
        ("/buy", "symbol=s:1&quantity=1.5", 400, "bad-quantity"),
        ("/buy", "symbol=s:1&quantity=99999999999999999999", 400, "bad-quantity"),
        ("/buy", "symbol=s:100&quantity=1", 404, "unknown-symbol"),
        ("/sell", "holding=x", 400, "bad-form"),
        ("/sell", "holding=999999", 409, "no-holding"),
        ("/update", "fullname=A", 400, "bad-form"),
        ("/register", "uid=ru:9&passwd=p", 400, "bad-form"),
        ("/home", "", 405, "method-not-allowed"),
        ("/nowhere", "", 404, "not-found"),
    ] {
        let response = client.post(path, form);
        assert_eq!(response.status, status, "{path} {form}");
        assert_eq!(response.attributes("data-error"), [name], "{path} {form}");
    }
    let long = format!("symbol={}&quantity=1", "x".repeat(20_000));
    assert_eq!(client.post("/buy", &long).status, 413);
    drop((garbage, client));
    let counters = brokerage.counters_when_closed();
    assert_eq!(counters.errors["bad-quantity"], 4);
    assert_eq!(counters.errors["malformed-request"], 1);
    assert_eq!(counters.operations["buy"], 0);
    brokerage.assert_books_balance();
}

#[test]
fn the_json_face_names_the_same_errors() {
    let (_folder, brokerage) = brokerage(as_it_is);
    let mut client = Client::new(brokerage.at);
    let response = client.get("/api/home");
    assert_eq!(
        (response.status, response.json()["error"].clone()),
        (401, "unknown-session".into())
    );
    client.post("/api/login", "uid=uid:1&passwd=xxx");
    let holdings = client.get("/api/portfolio").json()["holdings"].clone();
    assert!(holdings.as_array().expect("a list").iter().all(|one| one["id"].is_i64()));
}

#[test]
fn a_session_that_is_not_known_is_refused() {
    let (_folder, mut brokerage) = brokerage(as_it_is);
    let mut client = Client::new(brokerage.at);
    client.cookie = Some(format!("netstudy-session={}", "0".repeat(32)));
    for path in ["/home", "/quotes?symbols=s:1", "/portfolio", "/account", "/logout"] {
        let response = client.get(path);
        assert_eq!(
            (response.status, response.attributes("data-error")),
            (401, vec!["unknown-session".to_owned()])
        );
    }
    assert_eq!(brokerage.counters().errors["unknown-session"], 5);
}

#[test]
fn the_oldest_session_ends_where_there_are_too_many() {
    let (_folder, mut brokerage) = brokerage(|plan| plan.settings.session_limit = 2);
    let mut first = Client::of(brokerage.at, 1);
    let mut others = [2, 3].map(|user| Client::of(brokerage.at, user));
    assert_eq!(first.get("/home").status, 401);
    assert!(others.iter_mut().all(|client| client.get("/home").status == 200));
    let counters = brokerage.counters();
    assert_eq!((counters.sessions, counters.sessions_evicted), (2, 1));
}

#[test]
fn a_double_click_buys_once() {
    let (_folder, mut brokerage) = brokerage(as_it_is);
    let mut client = Client::of(brokerage.at, 1);
    let cookie = client.cookie.clone();
    let at = brokerage.at;
    let clicks: Vec<_> = (0..8)
        .map(|_| {
            let cookie = cookie.clone();
            thread::spawn(move || {
                let mut click = Client::new(at);
                click.cookie = cookie;
                click.post("/buy", "symbol=s:1&quantity=7&nonce=n1").attributes("data-order")
            })
        })
        .collect();
    let mut orders: Vec<_> =
        clicks.into_iter().map(|click| click.join().expect("it is answered")).collect();
    orders.dedup();
    assert_eq!(orders.len(), 1, "{orders:?}");
    let other = client.post("/buy", "symbol=s:1&quantity=7&nonce=n2").attributes("data-order");
    assert_ne!(other, orders[0]);
    let BrokerageRecord::Done { counts, .. } = brokerage.obey(&BrokerageCommand::Reset {}) else {
        panic!("it is not reset");
    };
    assert_eq!(counts["log_ins"], 1);
    brokerage.assert_books_balance();
}

#[test]
fn a_holding_is_sold_once_however_often_it_is_asked() {
    let (_folder, mut brokerage) = brokerage(as_it_is);
    let mut client = Client::of(brokerage.at, 1);
    client.post("/buy", "symbol=s:1&quantity=7");
    let holding = client.get("/portfolio").attributes("data-holding").pop().expect("it was bought");
    let (at, cookie) = (brokerage.at, client.cookie.clone());
    let sales: Vec<_> = (0..8)
        .map(|_| {
            let (cookie, form) = (cookie.clone(), format!("holding={holding}"));
            thread::spawn(move || {
                let mut sale = Client::new(at);
                sale.cookie = cookie;
                sale.post("/sell", &form).status
            })
        })
        .collect();
    let mut statuses: Vec<_> =
        sales.into_iter().map(|sale| sale.join().expect("it is answered")).collect();
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 409, 409, 409, 409, 409, 409, 409]);
    brokerage.assert_books_balance();
}

#[test]
fn nobody_sells_what_is_another_users() {
    let (_folder, mut brokerage) = brokerage(as_it_is);
    let mut owner = Client::of(brokerage.at, 1);
    owner.post("/buy", "symbol=s:1&quantity=7");
    let holding = owner.get("/portfolio").attributes("data-holding").pop().expect("it was bought");
    let mut other = Client::of(brokerage.at, 2);
    assert_eq!(other.post("/sell", &format!("holding={holding}")).status, 409);
    brokerage.assert_books_balance();
}

#[test]
fn a_client_that_sends_a_header_byte_by_byte_is_cut_off_and_others_are_served() {
    let (_folder, mut brokerage) = brokerage(|plan| plan.settings.request_timeout_ms = 400);
    let mut slow = Client::new(brokerage.at);
    let mut other = Client::of(brokerage.at, 1);
    slow.send(b"GET /");
    while slow.try_send(b"x") {
        assert_eq!(other.get("/home").status, 200);
    }
    drop(other);
    assert_eq!(brokerage.counters_when_closed().errors["header-timeout"], 1);
}

#[test]
fn a_form_that_does_not_come_to_its_end_is_given_up() {
    let (_folder, mut brokerage) = brokerage(|plan| plan.settings.request_timeout_ms = 200);
    let mut client = Client::of(brokerage.at, 1);
    let cookie = client.cookie.clone().expect("a session");
    let head = format!(
        "POST /buy HTTP/1.1\r\nHost: b\r\nCookie: {cookie}\r\nContent-Length: 100\r\n\r\nsymbol="
    );
    client.send(head.as_bytes());
    assert_eq!(client.receive().expect("an answer").status, 408);
    assert_eq!(brokerage.counters().errors["body-timeout"], 1);
    brokerage.assert_books_balance();
}

#[test]
fn a_connection_without_a_request_is_closed_after_its_time_and_not_before() {
    let (_folder, mut brokerage) = brokerage(|plan| {
        plan.settings.request_timeout_ms = 100;
        plan.settings.idle_timeout_ms = 1_000;
    });
    let mut client = Client::of(brokerage.at, 1);
    assert!(client.receive().is_none());
    let counters = brokerage.counters_when_closed();
    assert_eq!(counters.errors["header-timeout"], 0, "it was idle, not slow");
}

#[test]
fn images_are_page_elements_of_their_own() {
    let (_folder, mut brokerage) = brokerage(|plan| plan.settings.page_images = 3);
    let mut client = Client::of(brokerage.at, 1);
    let images = client.get("/home").attributes("img src");
    assert_eq!(images, ["/images/0.gif", "/images/1.gif", "/images/2.gif"]);
    for image in &images {
        let response = client.get(image);
        assert_eq!((response.status, response.body.len()), (200, 2_048));
        assert!(response.body.starts_with(b"GIF89a") && response.body.ends_with(b";"));
    }
    let counters = brokerage.counters();
    assert_eq!(counters.operations.values().sum::<u64>(), 2);
    assert_eq!(counters.page_elements, 5);
}

#[test]
fn a_database_without_tables_is_an_error_with_a_name() {
    let folder = Folder::new();
    let mut brokerage = Brokerage::start(&plan(&folder.join("db")));
    let mut client = Client::new(brokerage.at);
    let response = client.post("/login", "uid=uid:1&passwd=xxx");
    assert_eq!(
        (response.status, response.attributes("data-error")),
        (503, vec!["not-loaded".to_owned()])
    );
    assert!(matches!(brokerage.obey(&BrokerageCommand::Check {}), BrokerageRecord::Failed { .. }));
}

#[test]
fn the_brokerage_ends_with_its_input() {
    let (_folder, brokerage) = brokerage(as_it_is);
    let at = brokerage.at;
    assert_eq!(brokerage.end_of_input(), Ok(()));
    assert!(std::net::TcpStream::connect(at).is_err());
}

#[test]
fn a_plan_that_cannot_be_carried_out_is_refused_with_the_field() {
    let folder = Folder::new();
    let mut wrong = plan(&folder.join("db"));
    wrong.pool_connections = 0;
    let message = Brokerage::try_start(&wrong).err().expect("it is refused");
    assert!(message.contains("pool_connections"), "{message}");
    let message = Brokerage::try_start(&plan("/nowhere/db")).err().expect("it cannot start");
    assert!(message.contains("database"), "{message}");
}
