//! What crosses between the controller of a real testbed and the agents in its hosts: a plan and
//! commands coming in, records going out, each a line of JSON.
//!
//! The same contract as `python/netstudy/testbed/real/wire.py`; both sides are tested against
//! `schema/examples/agent-*`. Times are nanoseconds of `CLOCK_MONOTONIC`, which all processes of a
//! machine share.

use std::collections::BTreeMap;
use std::fmt;
use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use crate::Jitter;

/// The schema of the plan that an agent reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum AgentSchema {
    /// The first one.
    #[serde(rename = "netstudy/agent/1")]
    V1,
}

/// The schema of the records that an agent writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum AgentRecordSchema {
    /// The first one.
    #[serde(rename = "netstudy/agent-record/1")]
    V1,
}

/// What one agent is to do: the first line on its standard input.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AgentPlan {
    /// Version of this contract.
    pub schema: AgentSchema,
    /// Identifier of the run.
    pub run: String,
    /// Name of the host.
    pub node: String,
    /// What the agents of a run know each other by.
    pub token: Token,
    /// The agent ends with an error after this time, whatever it is doing.
    pub time_limit_ms: u64,
    /// Processor that the agent stays on; none: wherever the kernel puts it.
    pub cpu: Option<u32>,
    /// Options of its connections.
    pub socket: SocketOptions,
    /// What is read of the host meanwhile.
    pub probe: ProbePlan,
    /// Its part in the traffic.
    pub role: AgentRole,
}

/// A secret of one run: 32 hexadecimal digits. It is never shown.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String")]
pub struct Token(String);

impl Token {
    /// Hexadecimal digits of a token.
    pub const LENGTH: usize = 32;

    /// The digits.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

impl TryFrom<String> for Token {
    type Error = &'static str;

    fn try_from(digits: String) -> Result<Self, Self::Error> {
        // The message must not repeat what it refuses.
        let is_token =
            digits.len() == Self::LENGTH && digits.bytes().all(|b| b.is_ascii_hexdigit());
        is_token.then_some(Self(digits)).ok_or("a token is 32 hexadecimal digits")
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(…)")
    }
}

/// Options of a TCP socket; none: what the kernel does by itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SocketOptions {
    /// Congestion control by the kernel's name for it (`TCP_CONGESTION`).
    pub congestion_control: Option<String>,
    /// `SO_SNDBUF` as passed to the kernel, which doubles it for its own bookkeeping: socket(7).
    pub send_buffer_bytes: Option<u32>,
    /// `SO_RCVBUF`, likewise.
    pub receive_buffer_bytes: Option<u32>,
    /// `TCP_NODELAY`: short writes do not wait for acknowledgments.
    pub no_delay: bool,
    /// Responses are sent without a copy on the way from the server to the kernel (sendfile(2)).
    /// Cheaper where the interface takes care of checksums; dearer where the kernel has to.
    #[serde(default)]
    pub zero_copy: bool,
}

/// What an agent reads of its host.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProbePlan {
    /// Time between two samples; none: snapshots are taken on command only.
    pub interval_ms: Option<u64>,
    /// Network interfaces of the host.
    pub interfaces: Vec<String>,
}

/// A part in the traffic of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum AgentRole {
    /// Answers the requests of one client.
    IncastServer {
        /// Where it listens.
        address: IpAddr,
        /// The port; 0: one that the kernel chooses.
        port: u16,
        /// The only address that it takes connections from.
        client: IpAddr,
        /// Size of a request.
        request_bytes: u64,
        /// Size of its response to each request.
        response_bytes: u64,
        /// Delay between the receipt of a request and the first byte of the response.
        start_jitter: Jitter,
        /// Its number among the servers, from 1: its delays are those that the simulator draws for it.
        number: u32,
        /// Seed of the run: 16 hexadecimal digits.
        seed: String,
    },
    /// Asks every server at once, waits for all, repeats.
    IncastClient {
        /// Where its connections come from.
        address: IpAddr,
        /// The servers.
        servers: Vec<Endpoint>,
        /// Size of a request.
        request_bytes: u64,
        /// Size of the response of each server.
        response_bytes: Vec<u64>,
        /// Iterations of the measuring phase.
        iterations: u32,
        /// Iterations before it.
        warmup_iterations: u32,
        /// Time between the request to one server and that to the next.
        request_spacing_ns: u64,
        /// How long all servers that owe something may be silent before that is an error; none: as
        /// long as the time limit allows.
        #[serde(default)]
        silence_limit_ms: Option<u32>,
        /// Time between two signs of life while its traffic goes on; none: it gives none.
        #[serde(default)]
        progress_interval_ms: Option<u32>,
    },
}

/// Where a server listens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Endpoint {
    /// Its address.
    pub address: IpAddr,
    /// Its port.
    pub port: u16,
}

/// What the controller tells a process of the testbed: a line each, after the plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "command", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Command {
    /// Read all counters now.
    Snapshot {
        /// What the record will be named.
        name: String,
    },
    /// Begin the measuring phase.
    Go,
    /// Write what is left to be written, and end.
    Stop,
}

/// Ends of phases of an incast client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PhaseName {
    /// The warm-up is over; the client waits for [`Command::Go`].
    WarmedUp,
    /// The measuring phase is over; the client waits for [`Command::Stop`].
    Measured,
}

/// One line of an agent's output.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum AgentRecord {
    /// The agent is there: the first record.
    Ready {
        /// Version of this contract.
        schema: AgentRecordSchema,
        /// Version of the engine.
        version: String,
        /// Name of the host.
        node: String,
        /// Process of the agent, in its own pid namespace.
        pid: u32,
        /// Its address.
        address: IpAddr,
        /// Where it listens; none: it does not.
        port: Option<u16>,
    },
    /// A connection is open, its options are as the kernel says they are.
    Connection {
        /// The other end.
        peer: Endpoint,
        /// Congestion control in use.
        congestion_control: String,
        /// Room to send, bookkeeping included: twice what was asked for.
        send_buffer_bytes: u64,
        /// Room to receive, likewise.
        receive_buffer_bytes: u64,
        /// Whether short writes are sent at once.
        no_delay: bool,
    },
    /// A phase has ended.
    Phase {
        /// Which.
        name: PhaseName,
        /// When.
        at_ns: u64,
    },
    /// A sign of life of a client, and how far it is.
    Progress {
        /// When.
        at_ns: u64,
        /// Iterations of this phase that have ended.
        iterations: u32,
        /// Bytes verified so far, warm-up included.
        bytes: u64,
    },
    /// Counters of the host.
    Snapshot(Snapshot),
    /// When each iteration of the measuring phase was.
    Iterations {
        /// When its first request was due.
        started_ns: Vec<u64>,
        /// When the last byte was there.
        ended_ns: Vec<u64>,
    },
    /// When the requests of the measuring phase to one server were.
    Requests {
        /// Index of the server, from 0.
        server: u32,
        /// When each was due.
        intended_ns: Vec<u64>,
        /// When it was handed to the kernel.
        sent_ns: Vec<u64>,
        /// When the first bytes of the response were read.
        first_byte_ns: Vec<u64>,
        /// When its last byte was read.
        done_ns: Vec<u64>,
    },
    /// Bytes that were received and are those that were sent, warm-up included.
    Verified {
        /// How many.
        bytes: u64,
    },
    /// Requests that a server got, warm-up included.
    Served {
        /// When the last byte of each was read.
        requested_ns: Vec<u64>,
        /// When the first bytes of the response were handed to the kernel.
        begun_ns: Vec<u64>,
        /// When its last byte was.
        answered_ns: Vec<u64>,
        /// Segments that the connection had sent again as of each request, and at the end
        /// (`tcpi_total_retrans`).
        retransmissions: Vec<u64>,
        /// Its retransmission timeouts, likewise (`tcpi_total_rto`).
        timeouts: Vec<u64>,
    },
    /// What was read of the host at intervals. Absent when the plan has no interval.
    Samples {
        /// When each sample was begun.
        at_ns: Vec<u64>,
        /// How late that was.
        late_ns: Vec<u64>,
        /// Time that reading it took.
        cost_ns: Vec<u64>,
        /// Samples that were left out, because an earlier one took until they were over.
        skipped: u64,
        /// Counters and states by name, a value a sample; none: it could not be read.
        values: BTreeMap<String, Vec<Option<u64>>>,
    },
    /// Connections that a server closed at once.
    Refused {
        /// They came from another address than the client's.
        wrong_address: u64,
        /// They did not know the token, or came after the client was there.
        wrong_token: u64,
    },
    /// How late what was due at an instant was done: requests of a client that are not the first of
    /// their iteration, delayed responses of a server. Absent when there was none.
    Pacing {
        /// The instants.
        due_ns: Vec<u64>,
        /// How late each was met.
        late_ns: Vec<u64>,
    },
    /// Why the agent ends early; nothing follows it.
    Error {
        /// What happened, and to whom.
        message: String,
    },
    /// The agent has written all: the last record.
    End,
}

/// All counters of a host at one instant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Snapshot {
    /// What the command named it.
    pub name: String,
    /// When.
    pub at_ns: u64,
    /// What grows, by name.
    pub counters: BTreeMap<String, u64>,
    /// What does not: states of the host, by name.
    pub gauges: BTreeMap<String, u64>,
    /// What could not be read, with the reason.
    pub missing: BTreeMap<String, String>,
    /// Time that reading them took.
    pub cost_ns: u64,
    /// What they were read from, byte for byte, by where it was.
    pub raw: BTreeMap<String, String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example(name: &str) -> String {
        let path = format!("{}/../../schema/examples/{name}", env!("CARGO_MANIFEST_DIR"));
        std::fs::read_to_string(path).expect("the example is there")
    }

    /// The text of an example survives reading and writing.
    fn assert_same<T: Serialize + for<'a> Deserialize<'a>>(text: &str) -> T {
        let value: T = serde_json::from_str(text).expect("the example is of the contract");
        let again = serde_json::to_value(&value).expect("it is JSON");
        assert_eq!(again, serde_json::from_str::<serde_json::Value>(text).expect("it is JSON"));
        value
    }

    #[test]
    fn the_example_plans_are_plans() {
        let client: AgentPlan = assert_same(&example("agent-client.json"));
        assert!(matches!(client.role, AgentRole::IncastClient { .. }));
        let server: AgentPlan = assert_same(&example("agent-server.json"));
        assert!(matches!(server.role, AgentRole::IncastServer { .. }));
        assert_eq!(client.token, server.token);
    }

    #[test]
    fn the_example_records_hold_one_of_each_kind() {
        let text = example("agent-records.jsonl");
        let records: Vec<AgentRecord> = text.lines().map(assert_same).collect();
        let kinds: std::collections::HashSet<_> =
            records.iter().map(std::mem::discriminant).collect();
        assert_eq!(kinds.len(), 14);
    }

    #[test]
    fn the_example_commands_are_commands() {
        let commands: Vec<Command> =
            example("agent-commands.jsonl").lines().map(assert_same).collect();
        let snapshot = Command::Snapshot { name: "measure-start".to_owned() };
        assert_eq!(commands, [snapshot, Command::Go, Command::Stop]);
    }

    #[test]
    fn an_unknown_field_is_refused_at_every_level() {
        for (from, to) in [
            ("\"run\":", "\"extra\": 1, \"run\":"),
            ("\"no_delay\":", "\"extra\": 1, \"no_delay\":"),
            ("\"interfaces\":", "\"extra\": 1, \"interfaces\":"),
            ("\"request_bytes\":", "\"extra\": 1, \"request_bytes\":"),
        ] {
            let text = example("agent-server.json").replacen(from, to, 1);
            let error = serde_json::from_str::<AgentPlan>(&text).expect_err("it is refused");
            assert!(error.to_string().contains("unknown field `extra`"), "{error}");
        }
    }

    #[test]
    fn a_token_is_neither_shown_nor_repeated_when_it_is_refused() {
        let digits = "0123456789abcdef0123456789abcdef";
        let token = Token::try_from(digits.to_owned()).expect("a token");
        assert_eq!(format!("{token:?}"), "Token(…)");
        for bad in [&digits[1..], "0123456789abcdef0123456789abcdeg"] {
            let text = format!("\"{bad}\"");
            let error = serde_json::from_str::<Token>(&text).expect_err("not a token");
            assert!(!error.to_string().contains("123456789"), "{error}");
        }
    }
}
