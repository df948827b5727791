//! Counters of a separate namespace, where nobody else sends: they show exactly the actions of the
//! tests.

use std::io::ErrorKind;
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::process::Command;
use std::thread;
use std::time::Duration;

use netstudy_probe::{Growth, Probe, Snapshot, Source, Sources, growth};

use crate::isolated;

/// Runs `inside` as the test `name` in a namespace in which `setup` was done.
fn in_namespace(name: &str, setup: &str, inside: fn()) {
    isolated::run(&isolated::Test { file: file!(), module: module_path!(), name }, setup, inside);
}

fn grown(sources: Sources, act: impl FnOnce()) -> Growth {
    let mut probe = Probe::open(sources);
    let before = probe.take();
    act();
    growth(&before, &probe.take()).unwrap()
}

/// The counters that grew by anything.
fn moved(growth: &Growth) -> Vec<(&str, u64)> {
    let counters = growth.counters.iter().filter(|(_, by)| **by > 0);
    counters.map(|(name, by)| (name.as_str(), *by)).collect()
}

#[test]
fn a_new_namespace_has_counted_nothing() {
    in_namespace("a_new_namespace_has_counted_nothing", "true", || {
        let snapshot = Snapshot::take(&Sources::of_namespace());

        assert!(snapshot.missing.is_empty(), "{:?}", snapshot.missing);
        assert!(snapshot.flows.is_empty());
        assert!(snapshot.counters().contains_key("segments_retransmitted"));
        assert!(snapshot.counters().values().all(|value| *value == 0), "{:?}", snapshot.counters());
    });
}

#[test]
fn a_syn_without_an_answer_is_sent_again_after_a_timeout() {
    let name = "a_syn_without_an_answer_is_sent_again_after_a_timeout";
    // Packets to that address come back to this host, which does not have it and stays silent.
    let setup = "ip link set lo up; ip route add 192.0.2.0/24 dev lo";
    in_namespace(name, setup, || {
        let nobody: SocketAddr = "192.0.2.1:9".parse().unwrap();
        let growth = grown(Sources::of([Source::Snmp, Source::Netstat]), || {
            // The first timeout comes after 1 s, the second 2 s later (RFC 6298, 2.1 and 5.5); Linux
            // may send some more at the pace of the first (tcp_syn_linear_timeouts).
            let error =
                TcpStream::connect_timeout(&nobody, Duration::from_millis(1500)).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::TimedOut);
        });

        assert_eq!(growth.counters["segments_retransmitted"], 1);
        assert_eq!(growth.counters["timeouts"], 1);
        assert_eq!(growth.counters["syn_retransmissions"], 1);
        assert_eq!(growth.counters["connections_opened"], 1);
        assert_eq!(growth.counters["tcp_segments_out"], 1, "without retransmissions");
        assert_eq!(growth.counters["ip_packets_sent"], 2);
        assert_eq!(growth.counters["fast_recoveries"], 0);
    });
}

#[test]
fn datagrams_are_counted_by_every_layer() {
    let name = "datagrams_are_counted_by_every_layer";
    in_namespace(name, "ip link set lo up", || {
        let receiver = UdpSocket::bind("127.0.0.1:0").unwrap();
        let sender = UdpSocket::bind("127.0.0.1:0").unwrap();
        let growth = grown(Sources::of_namespace(), || {
            for _ in 0..10 {
                sender.send_to(&[0; 1000], receiver.local_addr().unwrap()).unwrap();
                receiver.recv(&mut [0; 1000]).unwrap();
            }
        });
        let bytes = 10 * (1000 + 8 + 20); // headers of UDP and IPv4
        let expected = [
            ("interface_bytes_received", bytes),
            ("interface_bytes_sent", bytes),
            ("interface_packets_received", 10),
            ("interface_packets_sent", 10),
            ("ip_bytes_received", bytes),
            ("ip_bytes_sent", bytes),
            ("ip_packets_delivered", 10),
            ("ip_packets_not_ect", 10),
            ("ip_packets_received", 10),
            ("ip_packets_sent", 10),
            ("udp_datagrams_received", 10),
            ("udp_datagrams_sent", 10),
        ];

        assert_eq!(moved(&growth), expected);
    });
}

#[test]
fn a_full_queue_drops_what_does_not_fit() {
    let name = "a_full_queue_drops_what_does_not_fit";
    // 100 bytes a second: while the test runs, only the first burst leaves the queue.
    let setup = "ip link set lo up; \
                 tc qdisc add dev lo root tbf rate 800bit burst 1600 limit 4000";
    in_namespace(name, setup, || {
        let receiver = UdpSocket::bind("127.0.0.1:0").unwrap();
        let sender = UdpSocket::bind("127.0.0.1:0").unwrap();
        let growth = grown(Sources::of([Source::Links, Source::Qdiscs]), || {
            for _ in 0..10 {
                // A drop at the queue is told to the sender or not, as its socket has it.
                let _ = sender.send_to(&[0; 1400], receiver.local_addr().unwrap());
            }
        });
        let frame = 1400 + 8 + 20 + 14;

        // One by the burst, two that wait (2884 of 4000 bytes), and no room for the other seven.
        assert_eq!(growth.counters["nic_queue_drops"], 7);
        assert_eq!(growth.counters["qdisc_packets"], 1);
        assert_eq!(growth.counters["qdisc_bytes"], frame);
        assert_eq!(growth.parts["lo"]["nic_queue_drops"], 7);
        let gauges = Snapshot::take(&Sources::of([Source::Qdiscs])).gauges();
        assert_eq!(gauges["qdisc_backlog_packets"], 2);
        assert_eq!(gauges["qdisc_backlog_bytes"], 2 * frame);
    });
}

#[test]
fn a_link_tells_its_rate_its_features_and_the_changes_of_its_carrier() {
    let name = "a_link_tells_its_rate_its_features_and_the_changes_of_its_carrier";
    let setup = "ip link add v0 type veth peer name v1; \
                 ip link set dev v0 up; ip link set dev v1 up";
    in_namespace(name, setup, || {
        let sources = Sources::of([Source::Links, Source::Ethernet]);
        let sources = sources.with_interfaces(vec!["v0".to_owned()]);
        let growth = grown(sources.clone(), || {
            for state in ["down", "up"] {
                let changed = Command::new("ip").args(["link", "set", "dev", "v1", state]).status();
                assert!(changed.unwrap().success());
            }
        });

        assert_eq!(growth.counters["interface_carrier_changes"], 2);
        let now = Snapshot::take(&sources);
        // The rate that the driver of veth claims, which counts no PAUSE.
        assert_eq!(now.gauges()["interface_rate_mbps"], 10_000);
        assert!(!now.counters().contains_key("interface_pause_frames_received"));
        let interfaces = netstudy_probe::interfaces().unwrap();
        let veth = interfaces.iter().find(|one| one.interface.name == "v0").unwrap();
        assert_eq!(veth.interface.kind, "veth");
        assert_eq!(veth.qdiscs[0].kind, "noqueue");
        let features = veth.features.as_deref().unwrap();
        let feature = |name| features.iter().find(|one| one.name == name).unwrap();
        let (merging, damaged) = (feature("rx-gro"), feature("rx-all"));
        assert!(!merging.is_fixed, "ethtool -K v0 gro on");
        assert!(!damaged.is_on && damaged.is_fixed, "damaged frames need hardware");
    });
}

#[test]
fn connections_add_up_to_what_the_namespace_counts() {
    let name = "connections_add_up_to_what_the_namespace_counts";
    in_namespace(name, "ip link set lo up", || {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (server, _) = listener.accept().unwrap();
        let growth = grown(Sources::of_namespace(), || exchange(&client, &server));
        let counter = |name: &str| growth.counters[name];

        // On a busy machine a tail loss probe may send the end twice.
        let again = counter("segments_retransmitted");
        assert_eq!(counter("bytes_sent"), SENT + counter("bytes_retransmitted"));
        assert_eq!(counter("bytes_received"), SENT);
        assert_eq!(counter("segments_sent"), counter("original_segments_sent") + again);
        assert_eq!(counter("segments_sent"), counter("segments_received"));
        assert_eq!(
            counter("segments_sent") + counter("acks_sent"),
            counter("tcp_segments_out") + again
        );
        assert_eq!(counter("flow_segments_in"), counter("flow_segments_out"));
        // A packet of segmentation offload is one segment there.
        assert!(counter("tcp_segments_in") <= counter("flow_segments_in"));
        assert_eq!(counter("flow_segments_retransmitted"), counter("segments_retransmitted"));
    });
}

const SENT: u64 = 1_000_000;

/// Sends from client to server, until all of it was read.
fn exchange(mut client: &TcpStream, mut server: &TcpStream) {
    use std::io::{Read, Write};
    thread::scope(|scope| {
        scope.spawn(move || {
            server.read_exact(&mut vec![0; SENT as usize - 1]).unwrap();
            server.write_all(&[1]).unwrap();
        });
        client.write_all(&vec![7; SENT as usize - 1]).unwrap();
        client.read_exact(&mut [0]).unwrap();
    });
    // The answer carries the last acknowledgment; its own may still be under way.
    wait_for_quiet();
}

/// Until nothing is left to be acknowledged.
fn wait_for_quiet() {
    let mut reader = netstudy_probe::FlowReader::open().unwrap();
    let outstanding = |flow: &netstudy_probe::Flow| {
        use netstudy_probe::parse::Fields;
        flow.info.field("unacked") != Some(0)
    };
    while reader.flows().unwrap().iter().any(outstanding) {
        thread::yield_now();
    }
}
