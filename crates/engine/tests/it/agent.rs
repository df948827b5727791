//! Agents as their controller sees them: traffic over loopback addresses, each agent a process.

use std::collections::BTreeMap;
use std::io::{ErrorKind, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream};
use std::process::Command;
use std::thread;
use std::time::Duration;

use netstudy_records::{
    AgentPlan, AgentRecord, AgentSchema, AgentWorkload, ConnectionCounters, ConnectionPlan,
    Direction, Endpoint, InstrumentPlan, Jitter, PhaseKind, ProbePlan, RequestSchedule, RequestsOf,
    Snapshot, SocketOptions, Taken, Token, TransferSize, Until,
};

use crate::process::Agent;

const CLIENT: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
const TOKEN: &str = "000102030405060708090a0b0c0d0e0f";
const SERVER: IpAddr = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 2));
const REQUEST_BYTES: u64 = 64;
/// The token, and the number of a connection.
const GREETING_BYTES: usize = Token::LENGTH + 4;
/// Time in which both ends come to rest.
const QUIET: Duration = Duration::from_millis(100);
/// No test comes near it, unless something hangs.
const TIME_LIMIT_MS: u64 = 60_000;

impl Agent {
    fn phase(&mut self, wanted: PhaseKind) -> Phase {
        self.until(|record| match record {
            AgentRecord::Phase { name, from_ns, to_ns, bytes_received, bytes_sent, .. }
                if name == wanted =>
            {
                Some(Phase { from_ns, to_ns, bytes_received, bytes_sent })
            }
            _ => None,
        })
    }
}

/// A client's records of a phase at its end.
#[derive(Debug)]
struct Phase {
    from_ns: u64,
    to_ns: u64,
    bytes_received: Vec<u64>,
    bytes_sent: Vec<u64>,
}

pub(crate) fn plan(
    node: &str,
    connections: Vec<ConnectionPlan>,
    workload: AgentWorkload,
) -> AgentPlan {
    AgentPlan {
        schema: AgentSchema::V3,
        run: "0123456789ab".to_owned(),
        node: node.to_owned(),
        token: Token::try_from(TOKEN.to_owned()).expect("a token"),
        time_limit_ms: TIME_LIMIT_MS,
        silence_limit_ms: None,
        progress_interval_ms: None,
        cpu: None,
        socket: SocketOptions { no_delay: true, ..SocketOptions::default() },
        instruments: InstrumentPlan {
            interfaces: vec!["lo".to_owned()],
            ..InstrumentPlan::default()
        },
        port: 0,
        ports: None,
        connections,
        workload,
        probe: None,
    }
}

/// Connections that the client opens to a server.
fn accepted(count: usize) -> Vec<ConnectionPlan> {
    vec![ConnectionPlan::Accept { local: SERVER, peer: CLIENT }; count]
}

/// A connection to the one with the number `peer_number` of a server.
fn opened(peer: Endpoint, peer_number: u32) -> ConnectionPlan {
    ConnectionPlan::Open { local: CLIENT, peer, peer_number }
}

fn server_plan(response_bytes: u64) -> AgentPlan {
    plan(
        "server-1",
        accepted(1),
        AgentWorkload::IncastServer {
            request_bytes: REQUEST_BYTES,
            response_bytes,
            start_jitter: Jitter::None,
            number: 1,
            seed: "00112233445566ff".to_owned(),
        },
    )
}

fn client_plan(servers: &[Endpoint], response_bytes: &[u64], iterations: u32) -> AgentPlan {
    plan(
        "client",
        servers.iter().map(|&server| opened(server, 0)).collect(),
        AgentWorkload::IncastClient {
            request_bytes: REQUEST_BYTES,
            response_bytes: response_bytes.to_vec(),
            iterations,
            warmup_iterations: 2,
            request_spacing_ns: 5000,
        },
    )
}

/// A server that is ready, and where it listens.
fn ready(plan: &AgentPlan) -> (Agent, Endpoint) {
    let mut agent = Agent::start(plan);
    match agent.record() {
        AgentRecord::Ready { listening, node, .. } => {
            assert_eq!(node, plan.node);
            (agent, listening[0])
        }
        other => panic!("{other:?}"),
    }
}

fn servers(response_bytes: &[u64]) -> (Vec<Agent>, Vec<Endpoint>) {
    response_bytes.iter().map(|&bytes| ready(&server_plan(bytes))).unzip()
}

/// Requests, iterations and bytes of a client that has ended.
struct Outcome {
    iterations: Vec<(u64, u64)>,
    requests: Vec<[Vec<u64>; 4]>,
    /// Bytes that came in all phases.
    verified_bytes: u64,
}

fn outcome(records: Vec<AgentRecord>, phases: &[Phase]) -> Outcome {
    let verified_bytes = phases.iter().flat_map(|phase| &phase.bytes_received).sum();
    let mut outcome = Outcome { iterations: Vec::new(), requests: Vec::new(), verified_bytes };
    for record in records {
        match record {
            AgentRecord::Iterations { started_ns, ended_ns } => {
                outcome.iterations = started_ns.into_iter().zip(ended_ns).collect();
            }
            AgentRecord::Requests { intended_ns, sent_ns, first_byte_ns, done_ns, .. } => {
                outcome.requests.push([intended_ns, sent_ns, first_byte_ns, done_ns]);
            }
            _ => {}
        }
    }
    outcome
}

/// The phases of a client, one after the other.
fn lead(client: &mut Agent) -> [Phase; 2] {
    let warmup = client.phase(PhaseKind::WarmUp);
    client.go();
    [warmup, client.phase(PhaseKind::Measure)]
}

/// A whole run: warm-up, measuring phase, stop.
fn run(mut client: Agent) -> Outcome {
    let phases = lead(&mut client);
    outcome(client.stop(), &phases)
}

fn served(records: &[AgentRecord]) -> &AgentRecord {
    let is_served = |record: &&AgentRecord| matches!(record, AgentRecord::Served { .. });
    records.iter().find(is_served).expect("a server says what it served")
}

fn refused(records: &[AgentRecord]) -> (u64, u64) {
    let refused = |record: &AgentRecord| match *record {
        AgentRecord::Refused { wrong_address, wrong_token } => Some((wrong_address, wrong_token)),
        _ => None,
    };
    records.iter().find_map(refused).expect("a server says whom it refused")
}

#[test]
fn an_agent_listens_in_the_range_of_its_plan_as_long_as_a_port_is_free() {
    // Free as long as nobody else is given it.
    let free = TcpListener::bind((SERVER, 0)).expect("a port").local_addr().expect("an address");
    let ports = (free.port(), free.port());
    let plan = AgentPlan { ports: Some(ports), ..server_plan(10) };
    let (_first, at) = ready(&plan);
    assert_eq!(at, Endpoint { address: SERVER, port: free.port() });
    let why = Agent::start(&plan).error();
    let port = free.port();
    assert_eq!(why, format!("none of the ports {port} to {port} is free at {SERVER}"));
}

#[test]
fn a_thousand_iterations_arrive_whole_and_in_order() {
    const ITERATIONS: u32 = 1000;
    let responses = [20_000, 20_000, 20_000];
    let (servers, endpoints) = servers(&responses);
    let outcome = run(Agent::start(&client_plan(&endpoints, &responses, ITERATIONS)));

    assert_eq!(outcome.verified_bytes, 60_000 * u64::from(ITERATIONS + 2));
    assert_eq!(outcome.iterations.len(), ITERATIONS as usize);
    for (one, next) in outcome.iterations.iter().zip(&outcome.iterations[1..]) {
        assert!(one.0 < one.1, "it takes time");
        assert_eq!(one.1, next.0, "the next begins when one ends");
    }
    for (index, [intended, sent, first, done]) in outcome.requests.iter().enumerate() {
        for (number, &(started, ended)) in outcome.iterations.iter().enumerate() {
            assert_eq!(intended[number], started + 5000 * index as u64);
            let order =
                [started, intended[number], sent[number], first[number], done[number], ended];
            assert!(order.is_sorted(), "server {index}, iteration {number}: {order:?}");
        }
    }
    for server in servers {
        let records = server.stop();
        let AgentRecord::Served { requested_ns, begun_ns, answered_ns } = served(&records) else {
            unreachable!()
        };
        let requests = ITERATIONS as usize + 2;
        assert_eq!([requested_ns.len(), begun_ns.len(), answered_ns.len()], [requests; 3]);
        assert_eq!(refused(&records), (0, 0));
    }
}

/// Readings of a connection: times, CPU time, waits for a CPU, values.
type Readings = (Vec<u64>, Vec<u64>, Vec<u64>, BTreeMap<String, Vec<u64>>);

fn readings(records: Vec<AgentRecord>, wanted: Taken) -> Vec<Readings> {
    let own = |record| match record {
        AgentRecord::Readings { taken, at_ns, cpu_ns, waited_ns, idle_ns, values, .. }
            if taken == wanted =>
        {
            let is_idle_before =
                |idle: Vec<u64>| idle.iter().zip(&at_ns).all(|(idle, at)| idle < at);
            assert_eq!(idle_ns.map(is_idle_before), (taken != Taken::AtIntervals).then_some(true));
            Some((at_ns, cpu_ns, waited_ns.expect("the kernel counts it"), values))
        }
        _ => None,
    };
    records.into_iter().filter_map(own).collect()
}

#[test]
fn both_ends_of_an_incast_read_each_connection_once_an_iteration() {
    let responses = [20_000, 30_000];
    let (servers, endpoints) = servers(&responses);
    let mut client = Agent::start(&client_plan(&endpoints, &responses, 5));
    lead(&mut client);
    let records = client.stop();
    let done: Vec<Vec<u64>> =
        outcome(records.clone(), &[]).requests.into_iter().map(|[.., done]| done).collect();
    let of_client = readings(records, Taken::AtLastBytes);
    assert_eq!(of_client.len(), responses.len());
    for ((at_ns, cpu_ns, waited_ns, values), (done, bytes)) in
        of_client.iter().zip(done.iter().zip(responses))
    {
        // Two iterations of the warm-up come first.
        assert_eq!(at_ns.len(), 2 + done.len());
        assert!(at_ns[2..].iter().zip(done).all(|(at, done)| at >= done));
        assert!(at_ns.is_sorted() && cpu_ns.is_sorted() && waited_ns.is_sorted());
        let received = &values["tcp_bytes_received"];
        assert!(received.windows(2).all(|pair| pair[1] - pair[0] == bytes), "{received:?}");
    }
    for (server, bytes) in servers.into_iter().zip(responses) {
        let records = server.stop();
        let AgentRecord::Served { requested_ns, begun_ns, .. } = served(&records).clone() else {
            unreachable!()
        };
        let own = readings(records, Taken::BeforeResponses);
        let [(at_ns, .., values)] = &own[..] else { panic!("{own:?}") };
        // Before each of seven responses, and at the end.
        assert_eq!(at_ns.len(), 8);
        assert!(requested_ns.iter().zip(at_ns).all(|(requested, at)| requested <= at));
        assert!(begun_ns[1..].iter().zip(&at_ns[1..]).all(|(begun, at)| begun <= at));
        let acknowledged = &values["tcp_bytes_acked"];
        assert!(acknowledged.windows(2).all(|pair| pair[1] - pair[0] == bytes), "{acknowledged:?}");
        assert_eq!(values["timeouts"], [0; 8]);
    }
}

#[test]
fn a_sender_looks_at_each_of_its_connections() {
    let mut server_plan = transfer_server(2, Direction::Get, STREAM);
    server_plan.instruments.looks_interval_ms = Some(5);
    let (server, endpoint) = ready(&server_plan);
    let flows = vec![opened(endpoint, 0), opened(endpoint, 1)];
    let until = [Until::Count { count: 0 }, ms(200)];
    let mut client = Agent::start(&transfer_client(flows, Direction::Get, STREAM, until));
    lead(&mut client);
    client.stop();
    let records = server.stop();
    let waits = records.iter().filter(|one| matches!(one, AgentRecord::Waits { .. }));
    assert_eq!(waits.count(), 2);
    let own = readings(records, Taken::AtIntervals);
    assert_eq!(own.len(), 2);
    for (at_ns, cpu_ns, waited_ns, values) in own {
        assert!(at_ns.len() > 5, "{at_ns:?}");
        assert!(at_ns.is_sorted() && cpu_ns.is_sorted() && waited_ns.is_sorted());
        assert!(values["tcp_bytes_sent"].is_sorted());
        assert!(values["unacked_segments"].iter().any(|&count| count > 0));
    }
}

#[test]
fn it_works_over_ipv6() {
    let loopback = IpAddr::V6(Ipv6Addr::LOCALHOST);
    let mut server_plan = server_plan(1000);
    server_plan.connections = vec![ConnectionPlan::Accept { local: loopback, peer: loopback }];
    let (server, endpoint) = ready(&server_plan);
    let mut client_plan = client_plan(&[endpoint], &[1000], 10);
    client_plan.connections =
        vec![ConnectionPlan::Open { local: loopback, peer: endpoint, peer_number: 0 }];
    assert_eq!(run(Agent::start(&client_plan)).verified_bytes, 12_000);
    server.stop();
}

#[test]
fn a_striped_block_comes_in_parts_of_different_size() {
    let responses = [333_334, 333_333, 1];
    let (servers, endpoints) = servers(&responses);
    let outcome = run(Agent::start(&client_plan(&endpoints, &responses, 20)));
    assert_eq!(outcome.verified_bytes, 666_668 * 22);
    for server in servers {
        server.stop();
    }
}

#[test]
fn a_large_response_and_a_large_request_arrive_whole() {
    assert_large_messages_arrive(false);
}

#[test]
fn so_they_do_without_a_copy() {
    assert_large_messages_arrive(true);
}

fn assert_large_messages_arrive(zero_copy: bool) {
    let bytes = 50_000_001;
    let mut server_plan = server_plan(bytes);
    server_plan.socket.zero_copy = zero_copy;
    let AgentWorkload::IncastServer { request_bytes, .. } = &mut server_plan.workload else {
        unreachable!()
    };
    *request_bytes = 300_000;
    let (server, endpoint) = ready(&server_plan);
    let mut client_plan = client_plan(&[endpoint], &[bytes], 2);
    let AgentWorkload::IncastClient { request_bytes, .. } = &mut client_plan.workload else {
        unreachable!()
    };
    *request_bytes = 300_000;
    assert_eq!(run(Agent::start(&client_plan)).verified_bytes, bytes * 4);
    server.stop();
}

#[test]
fn a_server_waits_as_long_as_its_stream_of_chance_says() {
    let mut plan = server_plan(1000);
    let AgentWorkload::IncastServer { start_jitter, seed, .. } = &mut plan.workload else {
        unreachable!()
    };
    *start_jitter = Jitter::Uniform { max_ns: 3_000_000 };
    let mut stream = netstudy_random::Stream::new(seed, "server/1/start");
    let jitter = start_jitter.clone();
    let (server, endpoint) = ready(&plan);
    run(Agent::start(&client_plan(&[endpoint], &[1000], 20)));
    let records = server.stop();
    let AgentRecord::Served { requested_ns, begun_ns, .. } = served(&records) else {
        unreachable!()
    };
    for (requested, begun) in requested_ns.iter().zip(begun_ns) {
        let drawn = stream.delay(&jitter).as_ns();
        assert!(begun - requested >= drawn, "never before {drawn} ns, but {}", begun - requested);
    }
    let pacing = records.iter().find_map(|record| match record {
        AgentRecord::Pacing { due_ns, late_ns, .. } => Some((due_ns, late_ns)),
        _ => None,
    });
    let (due_ns, late_ns) = pacing.expect("delays were to be kept");
    let begun: Vec<_> = due_ns.iter().zip(late_ns).map(|(due, late)| due + late).collect();
    assert_eq!(&begun, begun_ns);
}

#[test]
fn options_are_set_and_told_as_the_kernel_has_them() {
    let options = SocketOptions {
        congestion_control: Some("reno".to_owned()),
        send_buffer_bytes: Some(30_000),
        receive_buffer_bytes: Some(40_000),
        no_delay: false,
        zero_copy: false,
        dscp: 0,
    };
    let mut server_plan = server_plan(1000);
    server_plan.socket = options.clone();
    let (mut server, endpoint) = ready(&server_plan);
    let mut client_plan = client_plan(&[endpoint], &[1000], 1);
    client_plan.socket = options;
    let mut client = Agent::start(&client_plan);
    for agent in [&mut client, &mut server] {
        let told = agent.until(|record| match record {
            AgentRecord::Connection {
                congestion_control,
                send_buffer_bytes,
                receive_buffer_bytes,
                no_delay,
                ..
            } => Some((congestion_control, send_buffer_bytes, receive_buffer_bytes, no_delay)),
            _ => None,
        });
        assert_eq!(told, ("reno".to_owned(), 60_000, 80_000, false));
    }
}

#[test]
fn an_option_that_the_kernel_refuses_is_named() {
    let mut plan = server_plan(1000);
    plan.socket.congestion_control = Some("carrier-pigeon".to_owned());
    let mut server = Agent::start(&plan);
    let message = server.error();
    assert!(message.contains("congestion control 'carrier-pigeon'"), "{message}");
    assert_eq!(server.exit_code(), Some(3));
}

#[test]
fn a_client_with_another_token_is_not_served() {
    let (server, endpoint) = ready(&server_plan(1000));
    let mut plan = client_plan(&[endpoint], &[1000], 1);
    let other = TOKEN.replace('0', "f");
    plan.token = Token::try_from(other.clone()).expect("a token");
    let mut client = Agent::start(&plan);
    assert!(
        matches!(client.record(), AgentRecord::Ready { listening, .. } if listening.is_empty())
    );
    let message = client.error();
    assert!(
        message.contains(&format!("server {}:{}", endpoint.address, endpoint.port)),
        "{message}"
    );
    assert!(!message.contains(&other), "{message}");
    assert_eq!(client.exit_code(), Some(3));

    let good = run(Agent::start(&client_plan(&[endpoint], &[1000], 1)));
    assert_eq!(good.verified_bytes, 3000);
    assert_eq!(refused(&server.stop()), (0, 1));
}

#[test]
fn a_connection_from_another_address_is_closed_at_once() {
    let mut plan = server_plan(1000);
    let peer = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 9));
    plan.connections = vec![ConnectionPlan::Accept { local: SERVER, peer }];
    let (server, endpoint) = ready(&plan);
    // From 127.0.0.1, and it even knows the token.
    let mut stranger = connected(endpoint);
    let _ = stranger.write_all(&greeting(0));
    assert!(is_closed(&mut stranger));
    assert_eq!(refused(&server.stop()), (1, 0));
}

#[test]
fn a_second_connection_of_the_client_is_closed_at_once() {
    let (server, endpoint) = ready(&server_plan(1000));
    let mut client = Agent::start(&client_plan(&[endpoint], &[1000], 1));
    let warmup = client.phase(PhaseKind::WarmUp);
    let mut second = connected(endpoint);
    let _ = second.write_all(&greeting(0));
    assert!(is_closed(&mut second));
    client.go();
    let phases = [warmup, client.phase(PhaseKind::Measure)];
    assert_eq!(outcome(client.stop(), &phases).verified_bytes, 3000);
    assert_eq!(refused(&server.stop()), (0, 1));
}

fn connected(endpoint: Endpoint) -> TcpStream {
    TcpStream::connect(SocketAddr::new(endpoint.address, endpoint.port)).expect("it listens")
}

/// The greeting of a peer that knows the token, for the connection `number`.
fn greeting(number: u32) -> Vec<u8> {
    [TOKEN.as_bytes(), &number.to_be_bytes()].concat()
}

/// Whether the peer closes the stream without sending data.
fn is_closed(stream: &mut TcpStream) -> bool {
    match stream.read(&mut [0]) {
        Ok(count) => count == 0,
        Err(error) => error.kind() == ErrorKind::ConnectionReset,
    }
}

#[test]
fn a_killed_server_is_named_with_what_it_still_owes() {
    let bytes = 1_000_000_000_000;
    let (mut servers, endpoints) = servers(&[bytes, bytes]);
    let mut client = Agent::start(&client_plan(&endpoints, &[bytes, bytes], 1));
    for _ in 0..3 {
        client.record();
    }
    servers[1].kill();
    let message = client.error();
    let Endpoint { address, port } = endpoints[1];
    assert!(message.contains(&format!("server {address}:{port} has sent")), "{message}");
    assert!(message.contains("of 1000000000000 bytes of response 1"), "{message}");
    assert_eq!(client.exit_code(), Some(3));
    // The other server's client has broken off in the middle of a response.
    let message = servers[0].error();
    assert!(message.contains("client 127.0.0.1:"), "{message}");
}

#[test]
fn a_server_that_is_not_there_is_named() {
    let free = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = free.local_addr().expect("an address");
    drop(free);
    let endpoint = Endpoint { address: address.ip(), port: address.port() };
    let mut client = Agent::start(&client_plan(&[endpoint], &[1000], 1));
    let message = client.error();
    assert!(message.contains(&format!("connecting to server {address}")), "{message}");
}

/// A server that welcomes a client and then sends `answer` once.
fn false_server(answer: Vec<u8>) -> (Endpoint, thread::JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.3:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    let thread = thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("the client comes");
        stream.read_exact(&mut [0; GREETING_BYTES]).expect("the token");
        stream.write_all(&[6]).expect("the welcome");
        stream.read_exact(&mut [0; REQUEST_BYTES as usize]).expect("a request");
        stream.write_all(&answer).expect("the answer");
        // Until the client has gone.
        let _ = std::io::copy(&mut stream, &mut std::io::sink());
    });
    (Endpoint { address: address.ip(), port: address.port() }, thread)
}

#[test]
fn wrong_bytes_are_found_and_their_server_named() {
    let (endpoint, thread) = false_server(vec![0; 1000]);
    let mut client = Agent::start(&client_plan(&[endpoint], &[1000], 1));
    let message = client.error();
    assert!(
        message.contains(&format!("server {}:{}", endpoint.address, endpoint.port)),
        "{message}"
    );
    assert!(message.contains("differs from the expected pattern"), "{message}");
    assert_eq!(client.exit_code(), Some(3));
    thread.join().expect("the server ends");
}

#[test]
fn a_server_that_never_answers_is_named_at_the_time_limit() {
    let (endpoint, thread) = false_server(Vec::new());
    let mut plan = client_plan(&[endpoint], &[1000], 1);
    plan.time_limit_ms = 300;
    let mut client = Agent::start(&plan);
    let message = client.error();
    assert!(message.contains("the time limit of 300 ms is reached"), "{message}");
    assert!(message.contains("has sent 0 of 1000 bytes of response 1"), "{message}");
    assert_eq!(client.exit_code(), Some(3));
    thread.join().expect("the server ends");
}

#[test]
fn a_server_that_falls_silent_is_named_long_before_the_time_limit() {
    let (endpoint, thread) = false_server(Vec::new());
    let mut plan = client_plan(&[endpoint], &[1000], 1);
    plan.silence_limit_ms = Some(200);
    let mut client = Agent::start(&plan);
    let message = client.error();
    assert!(message.contains("no data received for 200 ms: server 127.0.0.3:"), "{message}");
    assert!(message.contains("has sent 0 of 1000 bytes of response 1"), "{message}");
    assert_eq!(client.exit_code(), Some(3));
    thread.join().expect("the server ends");
}

#[test]
fn a_server_that_falls_silent_is_found_however_often_it_is_asked() {
    let (endpoint, thread) = false_server(Vec::new());
    let schedule = RequestSchedule::Every { interval_ns: 10_000_000 };
    let mut plan = request_client(vec![opened(endpoint, 0)], schedule, ms(20_000));
    plan.silence_limit_ms = Some(200);
    let mut client = Agent::start(&plan);
    let message = client.error();
    assert!(message.contains("no data received for 200 ms: server 127.0.0.3:"), "{message}");
    assert_eq!(client.exit_code(), Some(3));
    thread.join().expect("the server ends");
}

#[test]
fn a_client_gives_signs_of_life_in_the_middle_of_an_iteration() {
    let bytes = 1_000_000_000_000;
    let (servers, endpoints) = servers(&[bytes]);
    let mut plan = client_plan(&endpoints, &[bytes], 1);
    plan.progress_interval_ms = Some(10);
    let mut client = Agent::start(&plan);
    // From the response on: a busy machine may give signs of life before the connection is open.
    let mut sign = || {
        client.until(|record| match record {
            AgentRecord::Progress { at_ns, samples, bytes } if bytes > REQUEST_BYTES => {
                Some((at_ns, samples, bytes))
            }
            _ => None,
        })
    };
    let signs: Vec<_> = (0..5).map(|_| sign()).collect();
    for (one, next) in signs.iter().zip(&signs[1..]) {
        assert!(next.0 - one.0 >= 10_000_000, "an interval apart: {signs:?}");
        assert!(next.2 > one.2, "more has come: {signs:?}");
    }
    assert!(signs.iter().all(|&(_, samples, _)| samples == 0));
    client.stop();
    drop(servers);
}

#[test]
fn a_server_that_does_not_welcome_its_client_is_named_long_before_the_time_limit() {
    let listener = TcpListener::bind("127.0.0.3:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    let endpoint = Endpoint { address: address.ip(), port: address.port() };
    let mut plan = client_plan(&[endpoint], &[1000], 1);
    plan.silence_limit_ms = Some(200);
    let mut client = Agent::start(&plan);
    let message = client.error();
    assert!(
        message.contains(&format!("server {address} has not accepted the greeting")),
        "{message}"
    );
    assert_eq!(client.exit_code(), Some(3));
}

#[test]
fn a_server_without_a_client_ends_at_the_time_limit() {
    let mut plan = server_plan(1000);
    plan.time_limit_ms = 100;
    let (mut server, _) = ready(&plan);
    let message = server.error();
    assert!(
        message.contains("the time limit of 100 ms is reached: no client has connected"),
        "{message}"
    );
    assert_eq!(server.exit_code(), Some(3));
}

#[test]
fn the_end_of_standard_input_ends_an_agent_in_the_middle_of_its_traffic() {
    let bytes = 1_000_000_000_000;
    let (mut servers, endpoints) = servers(&[bytes]);
    let mut client = Agent::start(&client_plan(&endpoints, &[bytes], 1));
    client.record();
    client.record();
    for agent in [&mut client, &mut servers[0]] {
        agent.stdin = None;
        let code = agent.child.wait().expect("it ends").code();
        assert_eq!(code, Some(3));
    }
}

#[test]
fn sigterm_ends_an_agent_in_the_middle_of_its_traffic() {
    let (mut server, _) = ready(&server_plan(1000));
    let pid = server.child.id().to_string();
    Command::new("kill").args(["-TERM", &pid]).status().expect("kill(1)");
    assert_eq!(server.error(), "ended by SIGTERM");
    assert_eq!(server.exit_code(), Some(3));
}

#[test]
fn stop_ends_a_client_in_the_middle_of_its_traffic() {
    let bytes = 1_000_000_000_000;
    let (servers, endpoints) = servers(&[bytes]);
    let mut client = Agent::start(&client_plan(&endpoints, &[bytes], 1));
    client.record();
    client.record();
    let outcome = outcome(client.stop(), &[]);
    assert_eq!(outcome.iterations, []);
    // Its client is gone or it is stopped: one of both comes first.
    drop(servers);
}

#[test]
fn snapshots_are_taken_while_nothing_and_while_something_happens() {
    let (mut server, endpoint) = ready(&server_plan(100_000));
    // Long enough for some samples, on a busy machine as well.
    let mut plan = client_plan(&[endpoint], &[100_000], 3000);
    plan.instruments.counters_interval_ms = Some(1);
    let mut client = Agent::start(&plan);
    client.phase(PhaseKind::WarmUp);
    let start = server.snapshot("measure-start");
    client.go();
    client.phase(PhaseKind::Measure);
    let end = server.snapshot("measure-end");
    assert_eq!([start.name.as_str(), end.name.as_str()], ["measure-start", "measure-end"]);
    // All tests share a namespace, and so this counter: others may have sent as well, but it never
    // falls, unlike sums over open connections.
    let sent = [&start, &end].map(|snapshot| snapshot.counters["tcp_segments_out"]);
    assert!(sent[0] < sent[1], "{sent:?}");
    assert!(start.raw["/proc/net/snmp"].starts_with("Ip: "));
    assert!(start.at_ns + start.cost_ns <= end.at_ns);
    let records = client.stop();
    let samples = records.iter().find_map(|record| match record {
        AgentRecord::Samples { at_ns, values, .. } => Some((at_ns, values)),
        _ => None,
    });
    let (at_ns, values) = samples.expect("the plan has an interval");
    assert!(at_ns.is_sorted() && !at_ns.is_empty());
    assert_eq!(values["segments_sent"].len(), at_ns.len());
    server.stop();
}

const MB: u64 = 1_000_000;
const COUNT_1: Until = Until::Count { count: 1 };

fn ms(ms: u64) -> Until {
    Until::Time { ns: ms * 1_000_000 }
}

const STREAM: TransferSize = TransferSize::Stream;

fn transfer_server(clients: usize, direction: Direction, size: TransferSize) -> AgentPlan {
    let workload = AgentWorkload::TransferServer { direction, size, request_bytes: REQUEST_BYTES };
    plan("server-1", accepted(clients), workload)
}

fn transfer_client(
    connections: Vec<ConnectionPlan>,
    direction: Direction,
    size: TransferSize,
    [warmup, measure]: [Until; 2],
) -> AgentPlan {
    let request_bytes = REQUEST_BYTES;
    let workload = AgentWorkload::TransferClient {
        direction,
        size,
        request_bytes,
        pause_ns: 0,
        starts_ns: Vec::new(),
        warmup,
        measure,
    };
    plan("client", connections, workload)
}

/// Connection, bytes received, bytes sent, start and end of each transfer.
fn transfers(records: &[AgentRecord]) -> Vec<(u32, u64, u64, u64, u64)> {
    let found = records.iter().find_map(|record| match record {
        AgentRecord::Transfers {
            connection,
            bytes_received,
            bytes_sent,
            started_ns,
            ended_ns,
            ..
        } => {
            let row = |at: usize| {
                (connection[at], bytes_received[at], bytes_sent[at], started_ns[at], ended_ns[at])
            };
            Some((0..connection.len()).map(row).collect())
        }
        _ => None,
    });
    found.expect("a client says what it transferred")
}

/// Growth of each connection's counters between two snapshots.
fn grown(before: &Snapshot, after: &Snapshot) -> Vec<(u64, u64)> {
    let bytes = |one: &ConnectionCounters| (one.bytes_received, one.bytes_sent);
    let pairs = before.connections.iter().map(bytes).zip(after.connections.iter().map(bytes));
    pairs.map(|(before, after)| (after.0 - before.0, after.1 - before.1)).collect()
}

#[test]
fn a_transfer_goes_either_way_and_both_ways_on_several_flows() {
    let size = TransferSize::Fixed { bytes: 5 * MB };
    for (direction, received, sent) in [
        (Direction::Get, 5 * MB, 0),
        (Direction::Put, 0, 5 * MB),
        (Direction::Both, 5 * MB, 5 * MB),
    ] {
        let (mut server, endpoint) = ready(&transfer_server(2, direction, size));
        let flows = vec![opened(endpoint, 0), opened(endpoint, 1)];
        let until = [COUNT_1, Until::Count { count: 3 }];
        let mut client = Agent::start(&transfer_client(flows, direction, size, until));
        client.phase(PhaseKind::WarmUp);
        // The client may have a byte before its server has counted it.
        thread::sleep(QUIET);
        let before = [client.snapshot("measure-start"), server.snapshot("measure-start")];
        client.go();
        let phase = client.phase(PhaseKind::Measure);
        thread::sleep(QUIET);
        let after = [client.snapshot("measure-end"), server.snapshot("measure-end")];

        let head = |bytes: u64, other: u64| if other > 0 { bytes + REQUEST_BYTES } else { bytes };
        // With its payload the client sends requests, and the server confirmations.
        let each = (head(received, sent), head(sent, received));
        let phases = [(3 * each.0, 3 * each.1); 2];
        assert_eq!(grown(&before[0], &after[0]), phases, "{direction:?}");
        let mirrored = phases.map(|(received, sent)| (sent, received));
        assert_eq!(grown(&before[1], &after[1]), mirrored, "{direction:?}, the server");
        assert_eq!(phase.bytes_received, phases.map(|phase| phase.0));
        assert_eq!(phase.bytes_sent, phases.map(|phase| phase.1));

        let found = transfers(&client.stop());
        assert_eq!(found.len(), 6, "three of each flow: {found:?}");
        for (_, got, put, started, ended) in found {
            assert_eq!((got, put), (received, sent), "{direction:?}");
            let is_within = phase.from_ns <= started && started < ended && ended <= phase.to_ns;
            assert!(is_within, "{started} to {ended} in {phase:?}");
        }
        server.stop();
    }
}

#[test]
fn tcp_counts_what_the_applications_do() {
    let size = TransferSize::Fixed { bytes: 2 * MB };
    let (mut server, endpoint) = ready(&transfer_server(1, Direction::Get, size));
    let connections = vec![opened(endpoint, 0)];
    let until = [COUNT_1, COUNT_1];
    let mut client = Agent::start(&transfer_client(connections, Direction::Get, size, until));
    client.phase(PhaseKind::WarmUp);
    // The last acknowledgment may be a delayed one, up to 40 ms (TCP_DELACK_MIN, net/tcp.h).
    thread::sleep(Duration::from_millis(50));
    for agent in [&mut client, &mut server] {
        let snapshot = agent.snapshot("measure-start");
        let [own] = &snapshot.connections[..] else { panic!("{:?}", snapshot.connections) };
        // Only TCP counts the greeting and its answer.
        let greeted = own.tcp["tcp_bytes_received"] - own.bytes_received;
        assert!([1, GREETING_BYTES as u64].contains(&greeted), "{own:?}");
        assert!(own.tcp["tcp_bytes_acked"] >= own.bytes_sent, "{own:?}");
        assert!(own.tcp["srtt_us"] > 0 && own.tcp["cwnd_segments"] > 0, "{own:?}");
    }
    client.go();
    client.phase(PhaseKind::Measure);
    client.stop();
    server.stop();
}

/// Most bytes in the two socket buffers of a direction.
fn socket_buffers_bytes() -> u64 {
    let largest = |name: &str| -> u64 {
        let sizes = std::fs::read_to_string(format!("/proc/sys/net/ipv4/{name}")).expect(name);
        sizes.split_whitespace().next_back().and_then(|size| size.parse().ok()).expect(name)
    };
    largest("tcp_wmem") + largest("tcp_rmem")
}

#[test]
fn a_stream_lasts_for_its_time() {
    for (direction, zero_copy) in
        [(Direction::Get, false), (Direction::Get, true), (Direction::Put, false)]
    {
        let mut server_plan = transfer_server(2, direction, STREAM);
        server_plan.socket.zero_copy = zero_copy;
        let (server, endpoint) = ready(&server_plan);
        let flows = vec![opened(endpoint, 0), opened(endpoint, 1)];
        let until = [ms(20), ms(100)];
        let mut client = Agent::start(&transfer_client(flows, direction, STREAM, until));
        let [_, phase] = lead(&mut client);
        let found = transfers(&client.stop());
        assert_eq!(found.len(), 2, "one of each flow");
        for (connection, received, sent, started, ended) in found {
            assert!(ended - started >= 100_000_000, "{started} to {ended}");
            let of_phase = match direction {
                Direction::Get => [received, phase.bytes_received[connection as usize]],
                _ => [sent, phase.bytes_sent[connection as usize]],
            };
            // Data under way when the time is over still arrives.
            assert!(of_phase[0] > 0 && of_phase[0] <= of_phase[1], "{of_phase:?}");
            assert!(of_phase[1] - of_phase[0] <= socket_buffers_bytes(), "{of_phase:?}");
            // However much it carries, it is asked for, ended and confirmed by one message each.
            let other_way = match direction {
                Direction::Get => (phase.bytes_sent[connection as usize], 2 * REQUEST_BYTES),
                _ => (phase.bytes_received[connection as usize], REQUEST_BYTES),
            };
            assert_eq!(other_way.0, other_way.1, "{direction:?}");
        }
        server.stop();
    }
}

/// A row of the table of seconds: connection, start, bytes received and sent.
fn seconds(records: &[AgentRecord]) -> Vec<(u32, u64, u64, u64)> {
    let found = records.iter().find_map(|record| match record {
        AgentRecord::Seconds { connection, start_ns, bytes_received, bytes_sent } => {
            let row = |i| (connection[i], start_ns[i], bytes_received[i], bytes_sent[i]);
            Some((0..connection.len()).map(row).collect())
        }
        _ => None,
    });
    found.expect("a client of transfers tells of its seconds")
}

#[test]
fn each_second_of_the_measuring_phase_says_what_connections_carried() {
    let size = TransferSize::Fixed { bytes: MB };
    let (mut server, endpoint) = ready(&transfer_server(1, Direction::Both, size));
    let flow = vec![opened(endpoint, 0)];
    let plan = transfer_client(flow, Direction::Both, size, [COUNT_1, COUNT_1]);
    let mut client = Agent::start(&plan);
    lead(&mut client);
    // It is over before its first second is; seconds go on until the client is stopped, which cuts one off.
    thread::sleep(Duration::from_millis(1100));
    let records = client.stop();
    let rows = seconds(&records);
    assert_eq!(rows[1..], [(0, 1_000_000_000, 0, 0)], "nothing moved behind the transfer");
    assert_eq!((rows[0].0, rows[0].1), (0, 0));
    // The server counts the transfer of the warm-up as well, which is as large.
    let [came] = server.snapshot("end").connections.try_into().expect("one");
    let (_, _, received, sent) = rows[0];
    assert_eq!(2 * sent, came.bytes_received);
    assert_eq!(2 * received, came.bytes_sent);
    assert!(sent >= MB && received >= MB, "{rows:?}");
    server.stop();
}

#[test]
fn a_stream_of_both_directions_is_one_connection() {
    let (server, endpoint) = ready(&transfer_server(1, Direction::Both, STREAM));
    let connections = vec![opened(endpoint, 0)];
    let until = [Until::Count { count: 0 }, ms(50)];
    let mut client = Agent::start(&transfer_client(connections, Direction::Both, STREAM, until));
    lead(&mut client);
    let [(_, received, sent, ..)] = transfers(&client.stop())[..] else { panic!("one") };
    assert!(received > 0 && sent > 0, "{received} and {sent}");
    server.stop();
}

#[test]
fn several_clients_put_to_one_server_with_several_addresses() {
    let size = TransferSize::Fixed { bytes: MB };
    let other_address = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 4));
    let mut server_plan = transfer_server(2, Direction::Put, size);
    server_plan.connections[1] = ConnectionPlan::Accept { local: other_address, peer: CLIENT };
    let mut server = Agent::start(&server_plan);
    let AgentRecord::Ready { listening, .. } = server.record() else { panic!("it is ready") };
    assert_eq!(
        listening.iter().map(|one| one.address).collect::<Vec<_>>(),
        [SERVER, other_address]
    );
    let mut clients: Vec<_> = (0..)
        .zip(&listening)
        .map(|(number, &endpoint)| {
            let connections = vec![opened(endpoint, number)];
            let until = [COUNT_1, Until::Count { count: 10 }];
            Agent::start(&transfer_client(connections, Direction::Put, size, until))
        })
        .collect();
    for client in &mut clients {
        client.phase(PhaseKind::WarmUp);
    }
    for client in &mut clients {
        client.go();
    }
    for mut client in clients {
        client.phase(PhaseKind::Measure);
        assert_eq!(transfers(&client.stop()).len(), 10);
    }
    let received: u64 =
        server.snapshot("end").connections.iter().map(|one| one.bytes_received).sum();
    assert_eq!(received, 2 * 11 * MB);
    assert_eq!(refused(&server.stop()), (0, 0));
}

#[test]
fn a_connection_to_another_address_of_the_server_is_closed_at_once() {
    let mut server_plan = server_plan(1000);
    let other_address = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 4));
    server_plan.connections.push(ConnectionPlan::Accept { local: other_address, peer: CLIENT });
    server_plan.workload =
        AgentWorkload::RequestServer { request_bytes: 1, response_bytes: 1, writes: 1 };
    let (server, endpoint) = ready(&server_plan);
    // Its number belongs to the other address.
    let mut stranger = connected(endpoint);
    stranger.write_all(&greeting(1)).expect("it takes it");
    assert!(is_closed(&mut stranger));
    assert_eq!(refused(&server.stop()), (0, 1));
}

fn request_server(connections: usize) -> AgentPlan {
    let workload =
        AgentWorkload::RequestServer { request_bytes: 100, response_bytes: 1000, writes: 1 };
    plan("server-1", accepted(connections), workload)
}

fn request_client(
    connections: Vec<ConnectionPlan>,
    schedule: RequestSchedule,
    measure: Until,
) -> AgentPlan {
    let workload = AgentWorkload::RequestClient {
        request_bytes: 100,
        response_bytes: 1000,
        schedule,
        warmup: Until::Count { count: 5 },
        measure,
    };
    plan("client", connections, workload)
}

/// Count, minimum, maximum, sum and histogram of response times.
type ResponseTimes = (u64, Option<u64>, Option<u64>, u64, Vec<(u64, u64)>);

fn response_times(records: &[AgentRecord], whose: RequestsOf, when: PhaseKind) -> ResponseTimes {
    let found = records.iter().find_map(|record| match record {
        AgentRecord::ResponseTimes {
            of, phase, count, min_ns, max_ns, sum_ns, histogram, ..
        } if (*of, *phase) == (whose, when) => {
            Some((*count, *min_ns, *max_ns, *sum_ns, histogram.clone()))
        }
        _ => None,
    });
    found.expect("a client says how long responses took")
}

/// There are response times of `requests` requests, and they are consistent.
fn assert_response_times((count, min, max, sum, histogram): &ResponseTimes, requests: u64) {
    assert_eq!(*count, requests);
    assert_eq!(histogram.iter().map(|class| class.1).sum::<u64>(), requests);
    let (min, max) = (min.expect("the shortest"), max.expect("the longest"));
    assert!(min <= sum / count && sum / count <= max, "{min}, {sum} and {max}");
    assert!(histogram[0].0 >= min && histogram[histogram.len() - 1].0 >= max);
    assert!(histogram.is_sorted());
}

#[test]
fn requests_are_answered_in_a_closed_loop() {
    let (server, endpoint) = ready(&request_server(2));
    let connections = vec![opened(endpoint, 0), opened(endpoint, 1)];
    let schedule = RequestSchedule::Closed { outstanding: 4, think_ns: 0 };
    let measure = Until::Count { count: 500 };
    let mut client = Agent::start(&request_client(connections, schedule, measure));
    let [_, phase] = lead(&mut client);
    assert_eq!(phase.bytes_received, [500_000; 2]);
    assert_eq!(phase.bytes_sent, [50_000; 2]);
    let records = client.stop();
    let times = response_times(&records, RequestsOf::Workload, PhaseKind::Measure);
    assert_response_times(&times, 1000);
    server.stop();
}

#[test]
fn requests_are_sent_at_an_interval_and_what_is_late_is_known() {
    let (server, endpoint) = ready(&request_server(1));
    let schedule = RequestSchedule::Every { interval_ns: 2_000_000 };
    let mut client = Agent::start(&request_client(vec![opened(endpoint, 0)], schedule, ms(100)));
    let [_, phase] = lead(&mut client);
    assert_eq!(phase.bytes_sent, [50 * 100], "50 requests in 100 ms");
    let records = client.stop();
    let times = response_times(&records, RequestsOf::Workload, PhaseKind::Measure);
    // On a busy machine the last response may come after the phase, 2 ms after its request.
    let in_time = phase.bytes_received[0] / 1000;
    assert!((1..=50).contains(&in_time));
    assert_response_times(&times, in_time);
    let pacing = records.iter().find_map(|record| match record {
        AgentRecord::Pacing { due_ns, .. } => Some(due_ns.clone()),
        _ => None,
    });
    let due_ns = pacing.expect("they were waited for");
    let own: Vec<_> = due_ns.into_iter().filter(|&due| due > phase.from_ns).collect();
    let intended: Vec<_> = (1..50).map(|number| phase.from_ns + number * 2_000_000).collect();
    assert_eq!(own, intended, "the first one is due at once");
    server.stop();
}

#[test]
fn responses_are_read_while_one_request_after_the_other_is_due() {
    let connections: usize = 40;
    let (server, endpoint) = ready(&request_server(connections));
    let opened = (0..connections as u32).map(|number| opened(endpoint, number)).collect();
    // A request is due every 25 us, too soon to sleep until then.
    let schedule = RequestSchedule::Every { interval_ns: 1_000_000 };
    let mut client = Agent::start(&request_client(opened, schedule, ms(200)));
    lead(&mut client);
    let records = client.stop();
    let (count, ..) = response_times(&records, RequestsOf::Workload, PhaseKind::Measure);
    // How many depends on how busy the machine is; none, if sockets are not read before the end.
    assert!(count > 100, "{count} of 8,000 were answered within the phase");
    server.stop();
}

#[test]
fn a_client_thinks_between_a_response_and_the_next_request() {
    let (server, endpoint) = ready(&request_server(1));
    let schedule = RequestSchedule::Closed { outstanding: 1, think_ns: 3_000_000 };
    let measure = Until::Count { count: 10 };
    let mut client = Agent::start(&request_client(vec![opened(endpoint, 0)], schedule, measure));
    let [_, phase] = lead(&mut client);
    assert!(phase.to_ns - phase.from_ns >= 9 * 3_000_000, "{phase:?}");
    client.stop();
    server.stop();
}

#[test]
fn a_client_that_thinks_gives_signs_of_life() {
    let (server, endpoint) = ready(&request_server(1));
    let schedule = RequestSchedule::Closed { outstanding: 1, think_ns: 60_000_000_000 };
    let measure = Until::Count { count: 1 };
    let mut plan = request_client(vec![opened(endpoint, 0)], schedule, measure);
    plan.progress_interval_ms = Some(20);
    plan.silence_limit_ms = Some(100);
    let mut client = Agent::start(&plan);
    for _ in 0..20 {
        let samples = client.until(|record| match record {
            AgentRecord::Progress { samples, .. } => Some(samples),
            _ => None,
        });
        assert!(samples <= 1, "{samples} responses: it thinks for a minute");
    }
    client.stop();
    server.stop();
}

#[test]
fn a_probe_measures_alone_and_beside_an_incast() {
    let bytes = 3 * MB;
    let mut server_plan = server_plan(bytes);
    server_plan.connections = accepted(2);
    let (request_bytes, response_bytes) = (64, 64);
    server_plan.probe = Some(ProbePlan::Server { connections: 1, request_bytes, response_bytes });
    let (server, endpoint) = ready(&server_plan);
    let mut client_plan = client_plan(&[endpoint], &[bytes], 30);
    client_plan.connections.push(opened(endpoint, 1));
    client_plan.probe = Some(ProbePlan::Client {
        connections: 1,
        request_bytes,
        response_bytes,
        interval_ns: 1_000_000,
        idle_ns: 50_000_000,
    });
    let mut client = Agent::start(&client_plan);
    let idle = client.phase(PhaseKind::Idle);
    assert_eq!(idle.bytes_sent[0], 0, "the workload has not begun");
    client.go();
    let [warmup, measure] = lead(&mut client);
    assert_eq!(warmup.bytes_received[0], 2 * bytes);
    assert_eq!(measure.bytes_received[0], 30 * bytes);
    let records = client.stop();
    for (phase, when) in [(idle, PhaseKind::Idle), (measure, PhaseKind::Measure)] {
        let times = response_times(&records, RequestsOf::Probe, when);
        assert_response_times(&times, phase.bytes_received[1] / 64);
    }
    let alone = response_times(&records, RequestsOf::Probe, PhaseKind::Idle).0;
    assert_eq!(alone, 50, "a millisecond apart, however late");
    server.stop();
}

#[test]
fn series_tell_of_each_connection_at_both_ends() {
    let mut server_plan = transfer_server(2, Direction::Get, STREAM);
    server_plan.instruments.connections_interval_ms = Some(10);
    let (server, endpoint) = ready(&server_plan);
    let flows = vec![opened(endpoint, 0), opened(endpoint, 1)];
    let until = [Until::Count { count: 0 }, ms(200)];
    let mut client_plan = transfer_client(flows, Direction::Get, STREAM, until);
    client_plan.instruments.connections_interval_ms = Some(10);
    let mut client = Agent::start(&client_plan);
    lead(&mut client);
    for (agent, own) in [(client, "bytes_received"), (server, "bytes_sent")] {
        let records = agent.stop();
        let series: Vec<_> = records
            .iter()
            .filter_map(|record| match record {
                AgentRecord::ConnectionSeries { connection, at_ns, values } => {
                    Some((*connection, at_ns, values))
                }
                _ => None,
            })
            .collect();
        assert_eq!(series.iter().map(|one| one.0).collect::<Vec<_>>(), [0, 1]);
        for (_, at_ns, values) in series {
            assert!(at_ns.len() >= 10, "{} samples in 200 ms", at_ns.len());
            assert!(at_ns.is_sorted());
            assert!(values.values().all(|column| column.len() == at_ns.len()));
            assert!(values[own].is_sorted() && values[own].last() > values[own].first());
            assert!(
                values.contains_key("srtt_us") && values.contains_key("delivery_rate_bytes_per_s")
            );
        }
    }
}

#[test]
fn a_bad_plan_is_refused_with_the_field() {
    for (plan, field) in [
        ("{}".to_owned(), "schema"),
        (serde_json::to_string(&server_plan(0)).expect("JSON"), "workload.response_bytes"),
    ] {
        let mut agent = Agent::start_with(&plan);
        let message = agent.error();
        assert!(message.contains(field), "{message}");
        assert_eq!(agent.exit_code(), Some(2));
    }
}

#[test]
fn an_unknown_command_is_an_error() {
    let (mut server, _) = ready(&server_plan(1000));
    server.tell(r#"{"command":"dance"}"#);
    let message = server.error();
    assert!(message.contains("unknown variant `dance`"), "{message}");
    assert_eq!(server.exit_code(), Some(3));
}

#[test]
fn an_agent_pinned_to_a_missing_cpu_says_so() {
    let mut plan = server_plan(1000);
    plan.cpu = Some(1023);
    let message = Agent::start(&plan).error();
    assert!(message.contains("CPU 1023"), "{message}");
}

#[test]
fn nothing_that_an_agent_writes_holds_the_token() {
    let (server, endpoint) = ready(&server_plan(1000));
    run(Agent::start(&client_plan(&[endpoint], &[1000], 1)));
    let written = serde_json::to_string(&server.stop()).expect("JSON");
    assert!(!written.contains(TOKEN));
    let mut plan = serde_json::to_value(server_plan(1000)).expect("JSON");
    plan["token"] = format!("{TOKEN}00").into();
    let mut agent = Agent::start_with(&plan.to_string());
    let message = agent.error();
    assert!(message.contains("32 hexadecimal digits") && !message.contains(TOKEN), "{message}");
    let mut said = String::new();
    agent.child.stderr.take().expect("a pipe").read_to_string(&mut said).expect("text");
    assert!(!said.is_empty() && !said.contains(TOKEN), "{said}");
}
