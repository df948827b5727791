//! Probes between two hosts.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use netstudy_records::HostRecord;

use super::{Host, LO, LONG, in_namespace};

/// Listens at `local` for `peer`, and returns the port.
fn listen(host: &mut Host, n: u64, local: &str, peer: &str) -> u16 {
    host.tell(&format!(
        r#"{{"command":"listen","n":{n},"local":"{local}","peers":["{peer}"],"port":0,"for_ms":60000}}"#
    ));
    match host.record() {
        HostRecord::Listening { n: answered, port } if answered == n => port,
        other => panic!("{other:?}"),
    }
}

/// Outcome of probes: error and presence of a TCP connection, largest packet, MTU.
type Reached = (Option<String>, bool, Option<u16>, Option<u32>);

fn reach(host: &mut Host, local: &str, peer: &str, port: u16, timeout_ms: u64) -> Reached {
    host.tell(
        &format!(
            r#"{{"command":"reach","n":9,"local":"{local}","peer":"{peer}","port":{port},
            "sizes":[9000,1500,1400,1280,576],"timeout_ms":{timeout_ms}}}"#
        )
        .replace('\n', ""),
    );
    match host.record() {
        HostRecord::Reached { n: 9, tcp, connect_ns, largest_bytes, told_mtu_bytes } => {
            (tcp, connect_ns.is_some(), largest_bytes, told_mtu_bytes)
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_listener_answers_its_peers_only_and_until_it_is_closed() {
    let name = "a_listener_answers_its_peers_only_and_until_it_is_closed";
    in_namespace(module_path!(), name, LO, || {
        let mut host = Host::start(LONG);
        let port = listen(&mut host, 1, "127.0.0.2", "127.0.0.3");
        let other = listen(&mut host, 2, "127.0.0.2", "127.0.0.3");
        assert_eq!(
            reach(&mut host, "127.0.0.3", "127.0.0.2", port, 10_000),
            (None, true, Some(9000), None)
        );
        let stranger = reach(&mut host, "127.0.0.4", "127.0.0.2", port, 20);
        assert_eq!(stranger, (None, true, None, None));
        let refused = Some("ECONNREFUSED: Connection refused".to_owned());
        for (command, closed, open) in [
            (r#"{"command":"unlisten","n":1}"#, port, Some(other)),
            (r#"{"command":"unlisten"}"#, other, None),
        ] {
            host.tell(command);
            // The port is closed by another thread: until then it answers, and a connection that
            // waits to be accepted at that moment is reset.
            let reset = Some("ECONNRESET: Connection reset by peer".to_owned());
            let mut seen = reach(&mut host, "127.0.0.3", "127.0.0.2", closed, 20);
            while seen.0.is_none() || seen.0 == reset {
                seen = reach(&mut host, "127.0.0.3", "127.0.0.2", closed, 20);
            }
            assert_eq!(seen, (refused.clone(), false, None, None));
            if let Some(open) = open {
                let reached = reach(&mut host, "127.0.0.3", "127.0.0.2", open, 10_000);
                assert_eq!(reached.2, Some(9000));
            }
        }
    });
}

#[test]
fn an_address_of_another_host_is_an_error() {
    in_namespace(module_path!(), "an_address_of_another_host_is_an_error", LO, || {
        let mut host = Host::start(LONG);
        let (tcp, ..) = reach(&mut host, "192.0.2.9", "127.0.0.2", 9, 20);
        assert_eq!(tcp.as_deref(), Some("EADDRNOTAVAIL: Cannot assign requested address"));
    });
}

/// A second network namespace: that of a process.
struct Neighbour(Child);

impl Neighbour {
    /// Makes a namespace with the end `far` of a pair of interfaces, whose end `near` is here.
    fn join(mtu_here: u32, mtu_of_far: u32) -> Self {
        let mut holder = Command::new("unshare")
            .args(["--net", "--", "sh", "-c", "echo ready; read -r end"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("root may");
        let mut said = String::new();
        let stdout = holder.stdout.take().expect("a pipe");
        BufReader::new(stdout).read_line(&mut said).expect("it writes");
        let neighbour = Self(holder);
        let pid = neighbour.0.id();
        let script = format!(
            "ip link add near type veth peer name far; ip link set far netns {pid}
             ip addr add 192.0.2.1/24 dev near; ip link set near mtu {mtu_here} up
             nsenter --net=/proc/{pid}/ns/net sh -ec '
                 ip addr add 192.0.2.2/24 dev far; ip link set far mtu {mtu_of_far} up'"
        );
        let status = Command::new("sh").args(["-ec", &script]).status().expect("sh is there");
        assert!(status.success(), "{status}");
        neighbour
    }

    fn start_host(&self) -> Host {
        let mut command = Command::new("nsenter");
        command.arg(format!("--net=/proc/{}/ns/net", self.0.id()));
        command.arg(env!("CARGO_BIN_EXE_netstudy-engine"));
        let mut host = Host::spawn(&mut command, LONG);
        host.hello();
        host
    }
}

impl Drop for Neighbour {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn the_largest_packet_is_that_of_the_own_interface_and_the_kernel_says_so() {
    let name = "the_largest_packet_is_that_of_the_own_interface_and_the_kernel_says_so";
    in_namespace(module_path!(), name, LO, || {
        let neighbour = Neighbour::join(1400, 1500);
        let (mut here, mut there) = (Host::start(LONG), neighbour.start_host());
        let port = listen(&mut there, 1, "192.0.2.2", "192.0.2.1");
        assert_eq!(
            reach(&mut here, "192.0.2.1", "192.0.2.2", port, 10_000),
            (None, true, Some(1400), Some(1400))
        );
    });
}

#[test]
fn a_packet_that_is_dropped_on_the_way_is_found_by_its_missing_answer() {
    let name = "a_packet_that_is_dropped_on_the_way_is_found_by_its_missing_answer";
    in_namespace(module_path!(), name, LO, || {
        let neighbour = Neighbour::join(1500, 1400);
        let (mut here, mut there) = (Host::start(LONG), neighbour.start_host());
        let port = listen(&mut there, 1, "192.0.2.2", "192.0.2.1");
        assert_eq!(
            reach(&mut here, "192.0.2.1", "192.0.2.2", port, 1000),
            (None, true, Some(1400), Some(1500))
        );
    });
}
