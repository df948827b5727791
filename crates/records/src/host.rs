//! Messages between the controller and the process that represents a host: `netstudy-engine host`.
//!
//! Each line, in both directions, is `NAME<TAB>LINE`. The name is that of a child of the host's
//! process, and LINE is a line of the child's standard input or output; or the name is empty, and
//! LINE is a [`HostCommand`] or a [`HostRecord`] as JSON.
//!
//! Times are nanoseconds of the host's own clocks.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use serde::{Deserialize, Serialize};

/// Version of the messages between a controller and an agent: that of [`crate::AgentSchema`].
pub const AGENT_PROTOCOL: u32 = 3;

/// A program that the host's process starts as its child.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HostProgram {
    /// Generates the real traffic of one host.
    Agent,
}

impl HostProgram {
    /// The command of the engine.
    #[must_use]
    pub const fn command(self) -> &'static str {
        match self {
            Self::Agent => "agent",
        }
    }
}

/// A signal that a controller may send to a child.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum HostSignal {
    /// SIGTERM, to the child.
    Term,
    /// SIGKILL, to the child's process group.
    Kill,
}

/// Commands of the controller. `n` is a number that the answer repeats.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "command", rename_all = "kebab-case", deny_unknown_fields)]
pub enum HostCommand {
    /// The controller is there. The answer is [`HostRecord::Alive`].
    Alive,
    /// Read the clocks now. The answer is [`HostRecord::Clock`].
    Clock {
        /// Number of the command.
        n: u64,
    },
    /// Start a child. The answer is [`HostRecord::Started`].
    Start {
        /// The child's name, which no other child has that is still running.
        name: String,
        /// The program.
        program: HostProgram,
    },
    /// Close the standard input of a child.
    Close {
        /// The child's name.
        name: String,
    },
    /// Send a signal to a child.
    Signal {
        /// The child's name.
        name: String,
        /// The signal.
        signal: HostSignal,
    },
    /// Read files. The answer is [`HostRecord::Read`].
    Read {
        /// Number of the command.
        n: u64,
        /// Absolute paths, in which `*` stands for any characters of a component.
        paths: Vec<String>,
    },
    /// List the network interfaces. The answer is [`HostRecord::Interfaces`].
    Interfaces {
        /// Number of the command.
        n: u64,
    },
    /// Answer the probes of [`HostCommand::Reach`] at a TCP and a UDP port of the same number. The
    /// answer is [`HostRecord::Listening`].
    Listen {
        /// Number of the command.
        n: u64,
        /// The local address.
        local: Ipv4Addr,
        /// Addresses whose probes are answered.
        peers: Vec<Ipv4Addr>,
        /// The port; 0: any free one.
        port: u16,
        /// The ports are closed after this time.
        for_ms: u64,
    },
    /// Close ports of [`HostCommand::Listen`] now.
    Unlisten {
        /// Number of the command that opened them; none: of all such commands.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        n: Option<u64>,
    },
    /// Send probes to the ports of a peer that listens. The answer is [`HostRecord::Reached`].
    Reach {
        /// Number of the command.
        n: u64,
        /// The local address.
        local: Ipv4Addr,
        /// The peer's address.
        peer: Ipv4Addr,
        /// The peer's port.
        port: u16,
        /// Sizes of IP packets in bytes, in the order in which they are tried: descending.
        sizes: Vec<u16>,
        /// Time limit of each wait for an answer of the peer.
        timeout_ms: u64,
    },
}

/// Records of the host's process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum HostRecord {
    /// The first record.
    Hello(HostFacts),
    /// Another process holds the lock of this host: the last record.
    Locked {
        /// Process id of the owner; none: it is not visible from here.
        pid: Option<u32>,
        /// User id of the owner; none: the owner did not answer.
        uid: Option<u32>,
        /// When the owner was started (UTC); none: unknown.
        since: Option<String>,
    },
    /// The controller has not been heard of for the time of the lease, so the session ends. Ends of
    /// children may be reported before and after this record, or not at all.
    LeaseOver,
    /// Answer to [`HostCommand::Alive`].
    Alive,
    /// Both clocks, read one after the other.
    Clock {
        /// Number of the command.
        n: u64,
        /// `CLOCK_MONOTONIC`.
        monotonic_ns: u64,
        /// `CLOCK_REALTIME`.
        realtime_ns: u64,
    },
    /// A child was started.
    Started {
        /// Its name.
        name: String,
        /// Its process id.
        pid: u32,
    },
    /// A child was stopped (SIGSTOP) by somebody, and does not go on by itself.
    Paused {
        /// Its name.
        name: String,
    },
    /// A child has ended, and all of its output was passed on.
    Ended {
        /// Its name.
        name: String,
        /// Its exit code; none: it was killed by a signal.
        code: Option<i32>,
        /// The signal that killed it; none: it exited.
        signal: Option<i32>,
        /// The last lines of its standard error.
        errors: String,
    },
    /// The contents of files.
    Read {
        /// Number of the command.
        n: u64,
        /// Text by path. Files that cannot be read are missing.
        files: BTreeMap<String, String>,
    },
    /// The network interfaces.
    Interfaces {
        /// Number of the command.
        n: u64,
        /// All interfaces of the network namespace, in the order of their numbers.
        interfaces: Vec<HostInterface>,
    },
    /// The ports are open.
    Listening {
        /// Number of the command.
        n: u64,
        /// Number of both ports.
        port: u16,
    },
    /// Outcome of the probes to a peer.
    Reached {
        /// Number of the command.
        n: u64,
        /// Why no TCP connection could be opened; none: it was opened.
        tcp: Option<String>,
        /// Time until the connection was open; none: it was not opened.
        connect_ns: Option<u64>,
        /// Size of the first packet that was answered; none: no packet was answered.
        largest_bytes: Option<u16>,
        /// MTU of the path by which the kernel refused a packet; none: it refused no packet.
        told_mtu_bytes: Option<u32>,
    },
    /// A line or a command that cannot be obeyed. The session goes on.
    Error {
        /// The reason.
        message: String,
    },
}

/// The host, its kernel, and the user of the session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostFacts {
    /// Version of the engine.
    pub version: String,
    /// [`AGENT_PROTOCOL`] of the engine.
    pub agent_protocol: u32,
    /// The processor architecture for which the engine was built.
    pub architecture: String,
    /// Release of the kernel.
    pub kernel: String,
    /// Identifies the boot.
    pub boot_id: String,
    /// Identifies the time namespace, whose clocks the host's process reads; none: the kernel has no
    /// time namespaces (before Linux 5.6).
    pub time_namespace: Option<String>,
    /// Time between two interrupts of the kernel's clock: a jiffy, in nanoseconds.
    pub tick_ns: u64,
    /// Process id of the host's process.
    pub pid: u32,
    /// Name of its user; for a user without a name, the number.
    pub user: String,
    /// Number of its user.
    pub uid: u32,
    /// Number of CPUs that it may use.
    pub cpus: u32,
}

/// A network interface of a host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostInterface {
    /// Name.
    pub device: String,
    /// Addresses with the length of their prefix: `192.0.2.1/24`.
    pub addresses: Vec<String>,
    /// Largest IP packet, in bytes.
    pub mtu: u32,
    /// True if the interface is switched on and has a carrier.
    pub up: bool,
    /// Rate of the link, in bit/s; none: unknown.
    pub speed_bps: Option<u64>,
    /// Duplex mode of the link; none: unknown.
    pub duplex: Option<Duplex>,
    /// The kernel's name of its kind: `veth`, `bridge`; `ether` for hardware.
    pub kind: String,
    /// Feature, by the kernel's name -> its state, as `ethtool -k` prints it: `on`, `off`,
    /// `on [fixed]` or `off [fixed]`; none: the kernel does not report it (before Linux 5.6).
    pub features: Option<BTreeMap<String, String>>,
    /// Kinds of its queueing disciplines.
    pub qdiscs: Vec<String>,
}

/// Duplex of a link: full carries both directions at the same time, half only one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Duplex {
    /// One direction at a time.
    Half,
    /// Both directions at the same time.
    Full,
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::mem::discriminant;

    use serde::de::DeserializeOwned;

    use super::*;

    /// Reads each line of an example, and checks that it is written in the same way.
    fn read_and_written<T: DeserializeOwned + Serialize>(name: &str) -> Vec<T> {
        let path = format!("{}/../../schema/examples/{name}", env!("CARGO_MANIFEST_DIR"));
        let text = std::fs::read_to_string(path).expect("the example is there");
        let same = |line: &str| {
            let message: T = serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}"));
            assert_eq!(serde_json::to_string(&message).expect("it is JSON"), line);
            message
        };
        text.lines().map(same).collect()
    }

    #[test]
    fn the_example_commands_hold_one_of_each_kind() {
        let commands: Vec<HostCommand> = read_and_written("host-commands.jsonl");
        assert_eq!(commands.iter().map(discriminant).collect::<HashSet<_>>().len(), 10);
        assert!(commands.contains(&HostCommand::Unlisten { n: None }));
        let term = HostCommand::Signal { name: "client".to_owned(), signal: HostSignal::Term };
        assert!(commands.contains(&term));
    }

    #[test]
    fn the_example_records_hold_one_of_each_kind() {
        let records: Vec<HostRecord> = read_and_written("host-records.jsonl");
        assert_eq!(records.iter().map(discriminant).collect::<HashSet<_>>().len(), 13);
    }

    #[test]
    fn an_unknown_field_or_program_is_refused() {
        for (text, says) in [
            (r#"{"command":"clock","n":1,"extra":2}"#, "unknown field `extra`"),
            (r#"{"command":"start","name":"a","program":"sh"}"#, "unknown variant `sh`"),
            (r#"{"command":"signal","name":"a","signal":"STOP"}"#, "unknown variant `STOP`"),
        ] {
            let error = serde_json::from_str::<HostCommand>(text).expect_err("it is refused");
            assert!(error.to_string().contains(says), "{error}");
        }
    }
}
