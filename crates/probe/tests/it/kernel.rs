//! Against the kernel of this machine: counters show the actions of the tests.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Command;
use std::time::Duration;

use netstudy_probe::parse::Fields;
use netstudy_probe::{FlowReader, Probe, Sampler, Snapshot, Socket, Source, Sources, growth};

/// A connection of this process with itself, over loopback.
struct Connection {
    client: TcpStream,
    server: TcpStream,
}

impl Connection {
    fn open() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (server, _) = listener.accept().unwrap();
        Self { client, server }
    }

    /// Sends `bytes` to the server, and waits for a byte that says that all are there.
    fn send(&mut self, bytes: usize) {
        let mut server = self.server.try_clone().unwrap();
        let receiver = std::thread::spawn(move || {
            let mut left = bytes;
            let mut buffer = vec![0; 65_536];
            while left > 0 {
                left -= server.read(&mut buffer[..left.min(65_536)]).unwrap();
            }
            server.write_all(&[1]).unwrap();
        });
        self.client.write_all(&vec![7; bytes]).unwrap();
        self.client.read_exact(&mut [0]).unwrap();
        receiver.join().unwrap();
    }

    /// The client's end.
    fn socket(&self) -> Socket {
        Socket {
            local: self.client.local_addr().unwrap(),
            remote: self.client.peer_addr().unwrap(),
        }
    }
}

const BYTES: usize = 3_000_000;

#[test]
fn a_transfer_is_acknowledged_byte_for_byte() {
    let mut connection = Connection::open();
    connection.send(BYTES);
    let flow = FlowReader::open().unwrap().flow(connection.socket()).unwrap();

    assert_eq!(flow.socket, connection.socket());
    // The SYN counts for a byte (RFC 9293, 3.4).
    assert_eq!(flow.info.field("bytes_acked"), Some(BYTES as u64 + 1));
    // On a busy machine a tail loss probe may send the end twice.
    let again = flow.info.field("bytes_retrans").unwrap();
    assert_eq!(flow.info.field("bytes_sent"), Some(BYTES as u64 + again));
    assert_eq!(flow.info.field("bytes_received"), Some(1));
    assert!(flow.congestion_control.is_some());
}

#[test]
fn the_list_of_connections_holds_both_ends() {
    let mut connection = Connection::open();
    connection.send(BYTES);
    let client = connection.socket();
    let server = Socket { local: client.remote, remote: client.local };
    let flows = FlowReader::open().unwrap().flows().unwrap();
    let received = |socket| {
        let flow = flows.iter().find(|flow| flow.socket == socket);
        flow.and_then(|flow| flow.info.field("bytes_received"))
    };

    assert_eq!(received(client), Some(1));
    assert_eq!(received(server), Some(BYTES as u64));
}

#[test]
fn a_connection_that_is_not_there_is_not_found() {
    let connection = Connection::open();
    let socket = connection.socket();
    let stranger = Socket { remote: "127.0.0.2:9".parse().unwrap(), ..socket };
    let error = FlowReader::open().unwrap().flow(stranger).unwrap_err();

    assert_eq!(error.kind(), std::io::ErrorKind::NotFound);
}

#[test]
fn counters_grow_by_what_was_sent() {
    let mut connection = Connection::open();
    let mut probe = Probe::open(Sources::all().with_interfaces(vec!["lo".to_owned()]));
    let before = probe.take();
    connection.send(BYTES);
    let after = probe.take();
    let growth = growth(&before, &after).unwrap();

    // Other tests send over loopback as well.
    let sent = growth.parts["lo"]["interface_bytes_sent"];
    assert!(sent > BYTES as u64, "{sent}");
    let octets = growth.counters["ip_bytes_sent"];
    assert!(octets > BYTES as u64, "{octets}");
    assert!(growth.counters["original_segments_sent"] >= (BYTES / 65_536) as u64);
    assert!(growth.counters["softnet_processed"] > 0);
    assert!(growth.counters["context_switches"] > 0);
}

#[test]
fn a_snapshot_tells_all_sources_and_keeps_what_the_kernel_said() {
    let snapshot = Snapshot::take(&Sources::all());

    // A kernel can be built without pressure, and boot with it off.
    let missing: Vec<_> =
        snapshot.missing.iter().filter(|(source, _)| **source != Source::Pressure).collect();
    assert_eq!(missing, []);
    assert!(snapshot.raw()["/proc/net/snmp"].starts_with("Ip: "));
    assert!(snapshot.raw()["netlink:link"].starts_with("[{\"index\":"));
    for name in ["segments_retransmitted", "timeouts", "cpu_system_ms", "page_faults"] {
        assert!(snapshot.counters().contains_key(name), "{name}");
    }
    assert!(snapshot.gauges()["memory_available_bytes"] > 1 << 20);
    assert!(snapshot.cost_ns > 0 && snapshot.cpu_ns > 0);
}

#[test]
fn the_clock_of_the_process_goes_on_with_its_work_and_holds_all_its_threads() {
    let sources = Sources::of([Source::ProcessClock]);
    let mut probe = Probe::open(sources);
    let read = |probe: &mut Probe| probe.take().counters()["process_cpu_ns"];
    let before = read(&mut probe);
    std::thread::spawn(|| (0..2_000_000_u64).map(std::hint::black_box).sum::<u64>())
        .join()
        .unwrap();
    let took = read(&mut probe) - before;
    // Two million additions, of which no CPU does a hundred in a nanosecond.
    assert!(took > 20_000, "{took} ns");
}

#[test]
fn the_time_of_the_namespace_holds_processes_beside_this_one_and_those_that_have_ended() {
    let mut probe = Probe::open(Sources::of([Source::ProcessClock, Source::Processes]));
    let mut others_ns = || {
        let counters = probe.take().counters();
        counters["namespace_cpu_ns"] - counters["process_cpu_ns"]
    };
    let mut before_ns = others_ns();
    let mut child = Command::new("sh").args(["-c", "while :; do :; done"]).spawn().unwrap();
    loop {
        let now_ns = others_ns();
        if now_ns >= before_ns + 100_000_000 {
            break;
        }
        // The sum falls when another process ends and its parent does not wait for it.
        before_ns = before_ns.min(now_ns);
        std::thread::yield_now();
    }
    child.kill().unwrap();
    child.wait().unwrap();
    // User and system time of a process that has ended are whole ticks.
    assert!(others_ns() > before_ns + 100_000_000 - 2 * 10_000_000);
}

#[test]
fn the_clock_of_another_process_is_missing() {
    let sources = Sources { process: Some(1), ..Sources::of([Source::ProcessClock]) };
    let snapshot = Snapshot::take(&sources);
    assert!(snapshot.missing[&Source::ProcessClock].contains("process 1"));
}

#[test]
fn a_source_that_is_not_there_is_missing_with_the_reason() {
    let sources = Sources::all().with_interfaces(vec!["nothing0".to_owned()]);
    let snapshot = Snapshot::take(&sources);

    assert!(snapshot.missing[&Source::Links].contains("nothing0"));
    assert!(!snapshot.counters().contains_key("interface_bytes_sent"));
}

#[test]
fn samples_stand_on_the_grid_of_their_interval() {
    let sources = Sources::of([Source::Snmp, Source::Cpus]);
    let interval = Duration::from_millis(5);
    let running = Sampler::start(sources, interval, 8).unwrap();
    while !running.is_finished() {
        std::thread::yield_now();
    }
    let samples = running.stop();

    assert_eq!(samples.samples.len(), 8);
    let start = samples.samples[0].at_ns - samples.samples[0].late_ns;
    let mut last = None;
    for sample in &samples.samples {
        let deadline = sample.at_ns - sample.late_ns - start;
        assert_eq!(deadline % 5_000_000, 0);
        assert!(last < Some(deadline));
        last = Some(deadline);
    }
    assert_eq!(last, Some((7 + samples.skipped) * 5_000_000));
    assert!(samples.value(0, "tcp_segments_in") <= samples.value(7, "tcp_segments_in"));
    assert_eq!(samples.value(0, "page_faults"), None);
    assert_eq!(samples.value(8, "tcp_segments_in"), None);
}
