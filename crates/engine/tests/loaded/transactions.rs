//! A generator of transactions as its controller sees it, against servers of HTTP over loopback addresses.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{IpAddr, Ipv4Addr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;

use netstudy_records::{
    AgentPlan, AgentRecord, AgentSchema, AgentWorkload, Arrivals, BrokerageCounters,
    BrokerageDatabase, BrokeragePlan, BrokeragePlanSchema, BrokeragePopulation, BrokerageRecord,
    BrokerageSettings, Deck, Endpoint, HttpMethod, HttpRequest, InstrumentPlan, Latency, Load,
    Operation, PhaseKind, Service, SocketOptions, Token, TransactionClient, TransactionScript,
    Until,
};

use crate::process::Agent;

const CLIENT: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
const SERVER: IpAddr = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 2));
/// Where no other test listens: a port that was given back is not given to one of them meanwhile.
const ASIDE: IpAddr = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 5));
const MS: u64 = 1_000_000;

/// A request as a server sees it.
struct Asked {
    /// Its number on this connection, from 0.
    number: u64,
    line: String,
    head: String,
    body: String,
}

/// The server's reaction.
enum Reply {
    /// Writes these bytes.
    Send(Vec<u8>),
    /// Writes them, and closes the connection.
    End(Vec<u8>),
}

fn page(body: &str) -> Reply {
    Reply::Send(with_length(200, "", body))
}

fn with_length(status: u16, headers: &str, body: &str) -> Vec<u8> {
    let length = body.len();
    format!("HTTP/1.1 {status} X\r\n{headers}Content-Length: {length}\r\n\r\n{body}").into_bytes()
}

/// A server of HTTP in this process, a thread a connection.
struct Server {
    at: Endpoint,
    connections: Arc<AtomicU64>,
    bytes_sent: Arc<AtomicU64>,
}

impl Server {
    fn start(handle: impl Fn(Asked) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind((SERVER, 0)).expect("a port");
        let at =
            Endpoint { address: SERVER, port: listener.local_addr().expect("it has one").port() };
        let (connections, bytes_sent) = (Arc::<AtomicU64>::default(), Arc::<AtomicU64>::default());
        let (count, sent, handle) =
            (Arc::clone(&connections), Arc::clone(&bytes_sent), Arc::new(handle));
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                count.fetch_add(1, Ordering::SeqCst);
                let (sent, handle) = (Arc::clone(&sent), Arc::clone(&handle));
                thread::spawn(move || serve(&stream, handle.as_ref(), &sent));
            }
        });
        Self { at, connections, bytes_sent }
    }
}

fn serve(stream: &TcpStream, handle: &(impl Fn(Asked) -> Reply + ?Sized), sent: &AtomicU64) {
    let (mut reader, mut writer) = (BufReader::new(stream), stream);
    for number in 0.. {
        let Some(asked) = read_request(&mut reader, number) else { return };
        let reply = handle(asked);
        let (Reply::Send(bytes) | Reply::End(bytes)) = &reply;
        sent.fetch_add(bytes.len() as u64, Ordering::SeqCst);
        if writer.write_all(bytes).is_err() || matches!(reply, Reply::End(_)) {
            return;
        }
    }
}

fn read_request(reader: &mut impl BufRead, number: u64) -> Option<Asked> {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head).ok()? == 0 {
            return None;
        }
    }
    let length = head.lines().find_map(|line| line.strip_prefix("Content-Length: "));
    let mut body = vec![0; length.map_or(0, |text| text.parse().expect("a number"))];
    reader.read_exact(&mut body).ok()?;
    let line = head.lines().next()?.to_owned();
    Some(Asked { number, line, head, body: String::from_utf8(body).ok()? })
}

/// One page of any application.
fn one_page(path: &str) -> Vec<Operation> {
    let (method, path) = (HttpMethod::Get, path.to_owned());
    let request = HttpRequest { method, path, body: None, content_type: None };
    let name = "page".to_owned();
    vec![Operation { name, share_ppm: 1_000_000, elements_ppm: 1_000_000, requests: vec![request] }]
}

const fn closed(users: u32) -> Load {
    Load::Closed { users, think_ns: 0, think: Service::Fixed }
}

fn client(target: Endpoint, mix: Vec<Operation>, load: Load) -> TransactionClient {
    TransactionClient {
        target,
        local: CLIENT,
        host: "app".to_owned(),
        script: TransactionScript::Plain,
        mix,
        load,
        deck: Deck { first: 0, step: 1, users: 0 },
        quotes: 0,
        page_images: 0,
        statistics_every_ns: 50 * MS,
        request_timeout_ns: 10_000 * MS,
        seed: "00112233445566ff".to_owned(),
        number: 0,
        warmup: Until::Count { count: 0 },
        measure: Until::Time { ns: 200 * MS },
    }
}

fn plan(client: TransactionClient) -> AgentPlan {
    AgentPlan {
        schema: AgentSchema::V3,
        run: "0123456789ab".to_owned(),
        node: "load-1".to_owned(),
        token: Token::try_from("0".repeat(Token::LENGTH)).expect("a token"),
        time_limit_ms: 60_000,
        silence_limit_ms: None,
        progress_interval_ms: Some(20),
        cpu: None,
        socket: SocketOptions { no_delay: true, ..SocketOptions::default() },
        instruments: InstrumentPlan::default(),
        port: 0,
        ports: None,
        connections: Vec::new(),
        workload: AgentWorkload::TransactionClient(Box::new(client)),
        probe: None,
    }
}

/// Count, unanswered, shortest, longest.
type Times = (u64, u64, Option<u64>, Option<u64>);

/// A generator's records.
#[derive(Debug, Default)]
struct Outcome {
    /// By operation: its columns.
    counts: BTreeMap<String, BTreeMap<&'static str, u64>>,
    /// By operation and reason.
    errors: BTreeMap<(String, String), u64>,
    /// By operation and latency.
    times: BTreeMap<(String, &'static str), Times>,
    /// Ends of the blocks of statistics, and their page elements and response times.
    statistics: Vec<(u64, u64, u64)>,
    /// HTTP bytes read and written in the measuring phase, by the counters at its edges.
    bytes: [u64; 2],
    /// Times of the measuring phase: begin, end, quiet.
    phase: [u64; 3],
}

impl Outcome {
    fn of(&self, operation: &str, column: &str) -> u64 {
        self.counts[operation][column]
    }

    fn all(&self, column: &str) -> u64 {
        self.counts.values().map(|counts| counts[column]).sum()
    }

    fn reasons(&self) -> Vec<&str> {
        self.errors.keys().map(|(_, reason)| reason.as_str()).collect()
    }
}

fn quiet(agent: &mut Agent, wanted: PhaseKind) -> [u64; 3] {
    agent.until(|record| match record {
        AgentRecord::Phase { name, from_ns, to_ns, quiet_ns, .. } if name == wanted => {
            Some([from_ns, to_ns, quiet_ns])
        }
        _ => None,
    })
}

/// A whole run: warm-up, measuring phase, stop.
fn run(client: TransactionClient) -> Outcome {
    let mut agent = Agent::start(&plan(client));
    quiet(&mut agent, PhaseKind::WarmUp);
    measure(agent)
}

fn measure(mut agent: Agent) -> Outcome {
    let counters = ["http_bytes_read", "http_bytes_written"];
    let before = agent.snapshot("before");
    agent.go();
    let phase = quiet(&mut agent, PhaseKind::Measure);
    let after = agent.snapshot("after");
    let bytes = counters.map(|name| after.counters[name] - before.counters[name]);
    collect(agent, phase, bytes)
}

/// The records of a generator whose measuring phase is over.
fn collect(agent: Agent, phase: [u64; 3], bytes: [u64; 2]) -> Outcome {
    let mut outcome = Outcome { bytes, phase, ..Outcome::default() };
    agent.stop().into_iter().for_each(|record| outcome.add(record));
    for (operation, counts) in &outcome.counts {
        let ends = ["completed", "network_errors", "server_errors", "not_met", "unfinished"];
        let ended: u64 = ends.iter().map(|end| counts[end]).sum();
        assert_eq!(counts["offered"], ended, "{operation}: {counts:?}");
    }
    outcome
}

impl Outcome {
    fn add(&mut self, record: AgentRecord) {
        match record {
            AgentRecord::Transactions {
                operation,
                offered,
                carried,
                not_met,
                completed,
                unfinished,
                page_elements,
                network_errors,
                server_errors,
                bytes_read,
                bytes_written,
            } => {
                for (row, name) in operation.into_iter().enumerate() {
                    let columns = [
                        ("offered", &offered),
                        ("carried", &carried),
                        ("not_met", &not_met),
                        ("completed", &completed),
                        ("unfinished", &unfinished),
                        ("page_elements", &page_elements),
                        ("network_errors", &network_errors),
                        ("server_errors", &server_errors),
                        ("bytes_read", &bytes_read),
                        ("bytes_written", &bytes_written),
                    ];
                    let counts = columns.map(|(name, values)| (name, values[row]));
                    self.counts.insert(name, counts.into());
                }
            }
            AgentRecord::TransactionErrors { operation, reason, count } => {
                self.errors = operation.into_iter().zip(reason).zip(count).collect();
            }
            AgentRecord::ResponseTimes {
                operation: Some(operation),
                latency,
                count,
                unanswered,
                min_ns,
                max_ns,
                histogram,
                ..
            } => {
                assert_eq!(histogram.iter().map(|(_, count)| count).sum::<u64>(), count);
                let latency = match latency {
                    Latency::Response => "response",
                    Latency::Service => "service",
                    Latency::FirstByte => "first-byte",
                };
                self.times.insert((operation, latency), (count, unanswered, min_ns, max_ns));
            }
            AgentRecord::Statistics { at_ns, page_elements, response_sum_ns, .. } => {
                let rows = at_ns.into_iter().zip(page_elements).zip(response_sum_ns);
                self.statistics = rows.map(|((at, count), sum)| (at, count, sum)).collect();
            }
            _ => {}
        }
    }
}

#[test]
fn a_closed_loop_is_counted_timed_and_adds_up() {
    let server = Server::start(|asked| {
        if asked.number.is_multiple_of(2) {
            page("hello")
        } else {
            let chunks = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n";
            Reply::Send(chunks.into())
        }
    });
    let outcome = run(client(server.at, one_page("/"), closed(3)));
    let done = outcome.of("page", "completed");
    assert!(done > 0);
    assert_eq!((outcome.of("page", "page_elements"), outcome.of("page", "unfinished")), (done, 3));
    assert_eq!(outcome.errors, BTreeMap::new());
    assert_eq!(server.connections.load(Ordering::SeqCst), 3, "a connection a user");
    let [read, written] = outcome.bytes;
    assert_eq!(read, server.bytes_sent.load(Ordering::SeqCst), "what was sent was read");
    assert!(written > read / 4);
    for operation in ["page element", "transaction", "page"] {
        for latency in ["response", "service"] {
            let (count, unanswered, min, max) = outcome.times[&(operation.to_owned(), latency)];
            assert_eq!((count, unanswered), (done, 3));
            assert!(min > Some(0) && min <= max);
        }
    }
    let response = outcome.times[&("page element".to_owned(), "response")];
    let service = outcome.times[&("page element".to_owned(), "service")];
    let first = outcome.times[&("page element".to_owned(), "first-byte")];
    assert!(first.3 <= service.3 && service.3 <= response.3);
    let rows: Vec<u64> = outcome.statistics.iter().map(|&(at, ..)| at / MS).collect();
    assert_eq!(rows, [50, 100, 150, 200]);
    assert!(outcome.statistics.is_sorted());
    assert_eq!(outcome.statistics[3].1, done, "the last block is of the whole phase");
    let [began, ended, quiet] = outcome.phase;
    assert_eq!(ended - began, 200 * MS);
    assert!(quiet >= ended);
}

#[test]
fn an_open_loop_waits_for_no_answer() {
    const TOGETHER: usize = 20;
    // Nobody is answered before twenty have asked.
    let gate = Arc::new((Mutex::new(0), Condvar::new()));
    let server = Server::start(move |_| {
        let (asked, more) = &*gate;
        let mut count = asked.lock().expect("no thread panics");
        *count += 1;
        more.notify_all();
        drop(more.wait_while(count, |count| *count < TOGETHER).expect("no thread panics"));
        page("late")
    });
    let load = Load::Open { interval_ps: 5_000_000_000, arrivals: Arrivals::Uniform, users: 100 };
    let outcome = run(client(server.at, one_page("/"), load));
    assert_eq!(outcome.of("page", "offered"), 40, "each 5 ms of 200 ms");
    assert_eq!(outcome.of("page", "not_met"), 0);
    let longest = outcome.times[&("page element".to_owned(), "response")].3;
    assert!(longest >= Some((TOGETHER as u64 - 1) * 5 * MS), "the first one waited for 19 others");
}

#[test]
fn a_submission_that_is_one_too_many_is_not_met() {
    let gate = Arc::new((Mutex::new(0), Condvar::new()));
    let server = Server::start(move |_| {
        let (asked, more) = &*gate;
        let mut count = asked.lock().expect("no thread panics");
        *count += 1;
        more.notify_all();
        drop(more.wait_while(count, |count| *count < 3).expect("no thread panics"));
        page("never")
    });
    let load = Load::Open { interval_ps: 5_000_000_000, arrivals: Arrivals::Uniform, users: 2 };
    let mut client = client(server.at, one_page("/"), load);
    client.request_timeout_ns = 300 * MS;
    let outcome = run(client);
    assert_eq!((outcome.of("page", "offered"), outcome.of("page", "not_met")), (40, 38));
    assert_eq!(outcome.of("page", "unfinished"), 2);
}

#[test]
fn errors_are_counted_by_their_reason() {
    let too_long = format!("HTTP/1.1 200 OK\r\nX: {}\r\n\r\n", "x".repeat(70_000));
    for (reply, reason, kind) in [
        (Reply::Send(with_length(503, "", "busy")), "503", "server_errors"),
        (Reply::Send(with_length(404, "", "")), "404", "server_errors"),
        (Reply::Send(b"SSH-2.0-OpenSSH\r\n".to_vec()), "malformed answer", "server_errors"),
        (Reply::Send(too_long.into()), "head too long", "server_errors"),
        (
            Reply::Send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n".into()),
            "unsupported answer",
            "server_errors",
        ),
        (
            Reply::End(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhel".into()),
            "closed early",
            "network_errors",
        ),
        (Reply::End(Vec::new()), "closed early", "network_errors"),
    ] {
        let (Reply::Send(bytes) | Reply::End(bytes)) = &reply;
        let (bytes, ends) = (bytes.clone(), matches!(reply, Reply::End(_)));
        let server = Server::start(move |_| {
            if ends { Reply::End(bytes.clone()) } else { Reply::Send(bytes.clone()) }
        });
        let outcome = run(client(server.at, one_page("/"), closed(1)));
        assert_eq!(outcome.reasons(), [reason]);
        assert_eq!((outcome.all("completed"), outcome.all("page_elements")), (0, 0));
        assert_eq!(outcome.all(kind), outcome.errors.values().sum::<u64>());
        assert!(outcome.all(kind) > 0);
    }
}

#[test]
fn nobody_there_is_an_error_of_the_network() {
    let gone = TcpListener::bind((ASIDE, 0)).expect("a port");
    let port = gone.local_addr().expect("it has one").port();
    drop(gone);
    let outcome = run(client(Endpoint { address: ASIDE, port }, one_page("/"), closed(2)));
    assert_eq!(outcome.reasons(), ["connection refused"]);
    assert_eq!(outcome.all("server_errors"), 0);
}

#[test]
fn a_server_that_says_nothing_is_timed_out_and_left() {
    let server = Server::start(|asked| {
        // A byte of the answer, and no more.
        if asked.number == 0 { Reply::Send(b"H".to_vec()) } else { page("never asked") }
    });
    let mut client = client(server.at, one_page("/"), closed(1));
    client.request_timeout_ns = 20 * MS;
    let outcome = run(client);
    assert_eq!(outcome.reasons(), ["timed out"]);
    let connections = server.connections.load(Ordering::SeqCst);
    assert!(connections >= outcome.all("network_errors"), "each connection is left");
}

#[test]
fn a_connection_that_the_server_closes_is_opened_again() {
    for (version, header) in [("1.1", "Connection: close\r\n"), ("1.0", "")] {
        let server = Server::start(move |_| {
            let text = format!("HTTP/{version} 200 OK\r\n{header}Content-Length: 2\r\n\r\nok");
            Reply::End(text.into())
        });
        let outcome = run(client(server.at, one_page("/"), closed(2)));
        assert_eq!(outcome.errors, BTreeMap::new());
        let done = outcome.all("completed");
        assert!(done > 0);
        assert!(server.connections.load(Ordering::SeqCst) >= done);
    }
}

#[test]
fn a_body_without_a_length_ends_with_its_connection() {
    let server = Server::start(|_| Reply::End(b"HTTP/1.1 200 OK\r\n\r\nto the end".to_vec()));
    let outcome = run(client(server.at, one_page("/"), closed(1)));
    assert_eq!(outcome.errors, BTreeMap::new());
    assert!(outcome.all("page_elements") > 0);
}

#[test]
fn a_server_that_closes_idle_connections_makes_no_error_of_a_page() {
    // It closes without a word after each answer: the next request may be on its way already.
    let server =
        Server::start(
            |asked| {
                if asked.number == 0 { page("first") } else { Reply::End(Vec::new()) }
            },
        );
    let outcome = run(client(server.at, one_page("/"), closed(1)));
    assert_eq!(outcome.errors, BTreeMap::new(), "a page is asked for again");
    assert!(outcome.all("completed") > 1);
}

#[test]
fn a_form_is_not_submitted_twice() {
    let server =
        Server::start(
            |asked| {
                if asked.number == 0 { page("first") } else { Reply::End(Vec::new()) }
            },
        );
    let mut mix = one_page("/form");
    mix[0].requests[0].method = HttpMethod::Post;
    mix[0].requests[0].body = Some("a=b".to_owned());
    let outcome = run(client(server.at, mix, closed(1)));
    assert_eq!(outcome.reasons(), ["closed early"]);
}

/// Operations of the brokerage, each as often.
fn brokerage_mix(names: &[&str]) -> Vec<Operation> {
    let count = names.len() as u32;
    let operation = |(place, name): (u32, &&str)| Operation {
        name: (*name).to_owned(),
        share_ppm: 1_000_000 / count + u32::from(place < 1_000_000 % count),
        elements_ppm: 1_000_000,
        requests: Vec::new(),
    };
    (0..).zip(names).map(operation).collect()
}

#[test]
fn users_of_the_brokerage_keep_their_session_and_sell_what_they_hold() {
    let logged_in = Arc::new(Mutex::new(BTreeMap::new()));
    let server = Server::start(move |asked| {
        let mut sessions = logged_in.lock().expect("no thread panics");
        if asked.line == "POST /login HTTP/1.1" {
            let user = asked
                .body
                .strip_prefix("uid=uid%3A")
                .and_then(|rest| rest.strip_suffix("&passwd=xxx"));
            let key = sessions.len().to_string();
            sessions.insert(key.clone(), user.expect("a user").to_owned());
            let cookie = format!("Set-Cookie: session={key}; Path=/; HttpOnly\r\n");
            return Reply::Send(with_length(200, &cookie, "welcome"));
        }
        let cookie = asked.head.lines().find_map(|line| line.strip_prefix("Cookie: session="));
        let known = cookie.and_then(|key| sessions.get(key));
        match (asked.line.as_str(), known) {
            (_, None) => Reply::Send(with_length(401, "", "log in")),
            ("GET /portfolio HTTP/1.1", Some(user)) => {
                page(&format!("<tr data-holding=\"7{user}\"></tr><tr data-holding=\"1\"></tr>"))
            }
            ("POST /sell HTTP/1.1", Some(user)) if asked.body == format!("holding=7{user}") => {
                page("sold")
            }
            ("GET /logout HTTP/1.1", Some(_)) => page("bye"),
            _ => Reply::Send(with_length(400, "", "what?")),
        }
    });
    let mut client = client(server.at, brokerage_mix(&["sell", "logout"]), closed(4));
    client.script = TransactionScript::Brokerage;
    client.deck = Deck { first: 1, step: 2, users: 10 };
    client.quotes = 5;
    let outcome = run(client);
    assert_eq!(outcome.errors, BTreeMap::new());
    assert_eq!(outcome.of("login", "completed"), 4, "each logs in once");
    for operation in ["sell", "logout"] {
        let (elements, done) =
            (outcome.of(operation, "page_elements"), outcome.of(operation, "completed"));
        assert!(done > 0 && elements >= 2 * done, "{operation}: {elements} of {done}");
    }
}

#[test]
fn a_warm_up_is_not_measured_and_the_application_may_restart_behind_it() {
    let is_warm = Arc::new(AtomicU64::new(0));
    let phase = Arc::clone(&is_warm);
    let server = Server::start(move |_| {
        // An answer in the warm-up would be an error.
        if phase.load(Ordering::SeqCst) == 0 {
            Reply::End(with_length(500, "", "cold"))
        } else {
            page("warm")
        }
    });
    let mut client = client(server.at, one_page("/"), closed(2));
    client.warmup = Until::Time { ns: 50 * MS };
    let mut agent = Agent::start(&plan(client));
    let [began, _, quiet_at] = quiet(&mut agent, PhaseKind::WarmUp);
    assert!(quiet_at - began >= 50 * MS);
    is_warm.store(1, Ordering::SeqCst);
    let outcome = measure(agent);
    assert_eq!(outcome.errors, BTreeMap::new());
    assert!(outcome.all("completed") > 0);
}

#[test]
fn more_users_than_open_files_are_refused() {
    let at = Endpoint { address: SERVER, port: 9 };
    let text = serde_json::to_string(&plan(client(at, one_page("/"), closed(100))));
    let limited = format!("ulimit -n 90 && exec {} agent", env!("CARGO_BIN_EXE_netstudy-engine"));
    let mut command = Command::new("sh");
    let mut agent = Agent::spawn(command.args(["-c", &limited]));
    agent.tell(&text.expect("a plan is JSON"));
    let error = agent.error();
    assert!(error.contains("100 users need 164 open files"), "{error}");
    assert_eq!(agent.exit_code(), Some(3));
}

#[test]
fn a_plan_that_cannot_be_carried_out_is_refused() {
    let at = Endpoint { address: SERVER, port: 9 };
    let good = client(at, one_page("/"), closed(2));
    let of_brokerage = TransactionClient {
        script: TransactionScript::Brokerage,
        mix: brokerage_mix(&["home"]),
        ..good.clone()
    };
    for (bad, says) in [
        (TransactionClient { load: closed(0), ..good.clone() }, "at least one user"),
        (TransactionClient { load: closed(u32::MAX), ..good.clone() }, "at most a million users"),
        (TransactionClient { mix: one_page("/a b"), ..good.clone() }, "'page' has an invalid path"),
        (TransactionClient { mix: one_page("x"), ..good.clone() }, "'page' has an invalid path"),
        (TransactionClient { host: "a\r\nb".to_owned(), ..good.clone() }, "host"),
        (TransactionClient { request_timeout_ns: 0, ..good.clone() }, "request_timeout_ns"),
        (
            TransactionClient { measure: Until::Count { count: 5 }, ..good },
            "measuring phase of a generator has a time",
        ),
        (of_brokerage.clone(), "as many registered users"),
        (TransactionClient { mix: one_page("/"), ..of_brokerage }, "no operation 'page'"),
    ] {
        let mut agent = Agent::start(&plan(bad));
        let error = agent.error();
        assert!(error.contains(says), "{error}");
        assert_eq!(agent.exit_code(), Some(2));
    }
}

/// The engine's brokerage over SQLite, in a folder of its own.
struct Brokerage {
    child: Child,
    records: std::io::Lines<BufReader<std::process::ChildStdout>>,
    folder: std::path::PathBuf,
    at: Endpoint,
}

impl Brokerage {
    fn start(name: &str, population: (u32, u32)) -> Self {
        let folder = std::env::temp_dir().join(format!("brokerage-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let mut child = Command::new(env!("CARGO_BIN_EXE_netstudy-engine"))
            .arg("brokerage")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the brokerage starts");
        let records = BufReader::new(child.stdout.take().expect("a pipe")).lines();
        let plan = BrokeragePlan {
            schema: BrokeragePlanSchema::V1,
            run: "0123456789ab".to_owned(),
            node: "app".to_owned(),
            listen: Endpoint { address: SERVER, port: 0 },
            database: BrokerageDatabase::Sqlite {
                file: folder.join("brokerage.sqlite").to_string_lossy().into_owned(),
            },
            pool_connections: 4,
            worker_threads: 2,
            population: BrokeragePopulation {
                users: population.0,
                quotes: population.1,
                seed: "ff".to_owned(),
            },
            settings: BrokerageSettings {
                statement_cache: true,
                durable_commits: false,
                page_images: 2,
                session_limit: 1000,
                request_timeout_ms: 10_000,
                idle_timeout_ms: 60_000,
            },
            time_limit_ms: 120_000,
        };
        let at = Endpoint { address: SERVER, port: 0 };
        let mut brokerage = Self { child, records, folder, at };
        brokerage.tell(&serde_json::to_string(&plan).expect("a plan is JSON"));
        brokerage.at = brokerage.until(|record| match record {
            BrokerageRecord::Ready { listening, .. } => Some(listening),
            _ => None,
        });
        brokerage.done("load");
        brokerage
    }

    fn tell(&mut self, line: &str) {
        let stdin = self.child.stdin.as_mut().expect("standard input is open");
        writeln!(stdin, "{line}").expect("the brokerage reads");
    }

    fn until<T>(&mut self, mut wanted: impl FnMut(BrokerageRecord) -> Option<T>) -> T {
        loop {
            let line = self.records.next().expect("a further record").expect("it is text");
            if let Some(found) = wanted(serde_json::from_str(&line).expect("it is a record")) {
                return found;
            }
        }
    }

    fn done(&mut self, command: &str) {
        self.tell(&format!(r#"{{"command":"{command}"}}"#));
        self.until(|record| match record {
            BrokerageRecord::Done { command: done, .. } => (done == command).then_some(()),
            other => panic!("{other:?}"),
        });
    }

    fn counters(&mut self) -> BrokerageCounters {
        self.tell(r#"{"command":"snapshot","name":"now"}"#);
        self.until(|record| match record {
            BrokerageRecord::Snapshot { counters, .. } => Some(counters),
            _ => None,
        })
    }

    /// The laws that its books break.
    fn broken_laws(&mut self) -> Vec<String> {
        self.tell(r#"{"command":"check"}"#);
        self.until(|record| match record {
            BrokerageRecord::Books { balanced, detail, .. } => {
                assert_eq!(balanced, detail.is_empty());
                Some(detail)
            }
            _ => None,
        })
    }
}

impl Drop for Brokerage {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

#[test]
fn the_standard_mix_is_carried_out_without_an_error_and_books_balance() {
    let mut brokerage = Brokerage::start("mix", (60, 100));
    let names =
        ["home", "quotes", "logout", "register", "account", "portfolio", "buy", "sell", "update"];
    let mut client = client(brokerage.at, brokerage_mix(&names), closed(6));
    client.script = TransactionScript::Brokerage;
    client.deck = Deck { first: 0, step: 2, users: 30 };
    client.quotes = 100;
    client.page_images = 2;
    client.warmup = Until::Time { ns: 200 * MS };
    client.measure = Until::Time { ns: 1000 * MS };
    let mut agent = Agent::start(&plan(client));
    quiet(&mut agent, PhaseKind::WarmUp);
    // As between the phases of a study.
    brokerage.done("reset");
    let before = brokerage.counters();
    let outcome = measure(agent);
    let after = brokerage.counters();
    assert_eq!(outcome.errors, BTreeMap::new());
    assert_eq!(outcome.of("login", "completed"), 6, "sessions end with a reset");
    let served = |counters: &BrokerageCounters| counters.operations.values().sum::<u64>();
    let asked = outcome.all("page_elements");
    assert!(asked > 0 && served(&after) > served(&before));
    assert_eq!(brokerage.broken_laws(), Vec::<String>::new());
}

#[test]
fn an_application_that_is_killed_is_an_error_by_its_name() {
    let mut brokerage = Brokerage::start("killed", (20, 20));
    let mut client = client(brokerage.at, brokerage_mix(&["home", "buy"]), closed(4));
    client.script = TransactionScript::Brokerage;
    client.deck = Deck { first: 0, step: 1, users: 20 };
    client.quotes = 20;
    client.measure = Until::Time { ns: 2000 * MS };
    let mut agent = Agent::start(&plan(client));
    quiet(&mut agent, PhaseKind::WarmUp);
    agent.go();
    agent.until(|record| match record {
        AgentRecord::Progress { samples, .. } => (samples > 0).then_some(()),
        _ => None,
    });
    brokerage.child.kill().expect("it can be killed");
    let phase = quiet(&mut agent, PhaseKind::Measure);
    let outcome = collect(agent, phase, [0, 0]);
    assert!(outcome.all("completed") > 0);
    assert!(outcome.reasons().contains(&"connection refused"), "{outcome:?}");
    let known = ["connection refused", "connection reset", "closed early"];
    assert!(outcome.reasons().iter().all(|reason| known.contains(reason)), "{outcome:?}");
    assert_eq!(outcome.all("server_errors"), 0);
}

/// nginx with one page, in a folder of its own; none: it is not installed.
struct Nginx {
    child: Child,
    folder: std::path::PathBuf,
    at: Endpoint,
}

impl Nginx {
    fn start(body: &str) -> Option<Self> {
        let program = ["/usr/sbin/nginx", "/usr/local/sbin/nginx", "/usr/bin/nginx"];
        let program = program.iter().find(|path| std::path::Path::new(path).exists())?;
        let free = TcpListener::bind((ASIDE, 0)).expect("a port");
        let port = free.local_addr().expect("it has one").port();
        drop(free);
        let folder = std::env::temp_dir().join(format!("nginx-{}-{port}", std::process::id()));
        std::fs::create_dir_all(folder.join("html")).expect("a folder");
        std::fs::write(folder.join("html/index.html"), body).expect("a page");
        let configuration = format!(
            "daemon off; master_process off; pid nginx.pid; error_log stderr;\n\
            events {{ }}\n\
            http {{ access_log off; client_body_temp_path t1; proxy_temp_path t2;\n\
            fastcgi_temp_path t3; uwsgi_temp_path t4; scgi_temp_path t5;\n\
            keepalive_requests 10; server {{ listen {ASIDE}:{port}; root html; }} }}\n"
        );
        let path = folder.join("nginx.conf");
        std::fs::write(&path, configuration).expect("a file");
        let mut child = Command::new(program)
            .arg("-p")
            .arg(&folder)
            .arg("-c")
            .arg(&path)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("nginx starts");
        let at = Endpoint { address: ASIDE, port };
        while TcpStream::connect((ASIDE, port)).is_err() {
            assert!(child.try_wait().expect("it is ours").is_none(), "nginx has ended");
            thread::yield_now();
        }
        Some(Self { child, folder, at })
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

#[test]
fn nginx_is_asked_without_an_error() {
    let body = "x".repeat(9000);
    let Some(nginx) = Nginx::start(&body) else {
        eprintln!("skipped: nginx_is_asked_without_an_error - nginx is not installed");
        return;
    };
    // It closes each connection after ten requests.
    let outcome = run(client(nginx.at, one_page("/index.html"), closed(8)));
    assert_eq!(outcome.errors, BTreeMap::new());
    let elements = outcome.of("page", "page_elements");
    assert!(elements > 80, "{elements}");
    assert!(outcome.of("page", "bytes_read") > elements * body.len() as u64);
}
