use serde::{Deserialize, Serialize};

use crate::{Authentication, Buffer, Cipher, Transactions, spans};

/// The schema that this engine reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum PlanSchema {
    /// A network is a graph, a workload binds roles to its nodes.
    #[serde(rename = "netstudy/plan/2")]
    V2,
}

/// Runs in the order in which they are to be made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Version of this contract.
    pub schema: PlanSchema,
    /// Name of the study.
    pub study: String,
    /// Seed from which every run's seed was derived.
    pub seed: i64,
    /// The runs.
    pub runs: Vec<Run>,
}

/// A level of each factor, in the order of the study.
pub type Treatment = serde_json::Map<String, serde_json::Value>;

/// One treatment and one replicate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Run {
    /// A hash of treatment and replicate.
    pub id: String,
    /// Test cases that share this run.
    pub cases: Vec<String>,
    /// The treatment.
    pub treatment: Treatment,
    /// Number of the replicate, from 1.
    pub replicate: u32,
    /// 16 hexadecimal digits.
    pub seed: String,
    /// Nodes and links.
    pub network: Network,
    /// The workload over them.
    pub workload: Workload,
    /// Small requests that run with the workload; none: there are none.
    #[serde(default)]
    pub probe: Option<Probe>,
    /// The phases of the run, in order; one of them is [`PhaseKind::Measure`].
    pub phases: Vec<Phase>,
    /// Samplers. Counters are always read at the edges of phases.
    #[serde(default)]
    pub instruments: Vec<Instrument>,
}

/// A graph of hosts, zones and switches.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Network {
    /// Common settings of hosts.
    pub groups: Vec<Group>,
    /// Hosts, zones and switches, each with a name of its own.
    pub nodes: Vec<Node>,
    /// Full-duplex links.
    pub links: Vec<Link>,
    /// The clocks of all hosts tick at the same instants.
    pub shared_clock: bool,
}

/// Properties of identical hosts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Group {
    /// Name of the group.
    pub name: String,
    /// Profile from which the figures came.
    pub profile: String,
    /// Their TCP.
    pub tcp: Tcp,
    /// Their network interfaces.
    pub nic: Nic,
    /// CPU time of their processes in percent of one CPU: for testbeds of real hosts, the
    /// simulator is not asked for it.
    #[serde(default)]
    pub cpu_quota_pct: Option<f64>,
    /// Main memory; none: not said. The simulator is not asked for it.
    #[serde(default)]
    pub memory_bytes: Option<u64>,
    /// How packets go from one endpoint of a simulated host to another without leaving it; none: with the
    /// latencies and the CPU time of its first interface.
    #[serde(default)]
    pub local_path: Option<LocalPath>,
    /// Simulated CPUs and the costs of work; none: work takes no CPU time beyond [`Group::nic`]'s.
    #[serde(default)]
    pub cpu: Option<crate::Cpu>,
    /// Simulated buses; none: they are never the limit.
    #[serde(default)]
    pub bus: Option<crate::Bus>,
    /// A simulated disk; none: the host has none.
    #[serde(default)]
    pub disk: Option<crate::Disk>,
}

/// The path of packets from one endpoint of a host to another that do not leave it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LocalPath {
    /// From the socket of one endpoint to that of the other.
    #[serde(deserialize_with = "spans::ns")]
    pub latency_ns: u64,
    /// Rate at which the host copies packets from one to the other; none: at once.
    pub rate_bps: Option<u64>,
    /// Largest IP packet.
    pub mtu_bytes: u32,
}

/// A node of the network.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Node {
    /// A host with its interfaces.
    Host(Host),
    /// An endpoint with an address of its own on a host, whose interfaces it shares.
    Zone(Zone),
    /// A switch.
    Switch(Switch),
}

impl Node {
    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Host(host) => &host.name,
            Self::Zone(zone) => &zone.name,
            Self::Switch(switch) => &switch.name,
        }
    }
}

/// A host. Its interfaces are the ports that links name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Host {
    /// Its name.
    pub name: String,
    /// Its group.
    pub group: String,
    /// The machine that it lives on; none: the testbed's own.
    #[serde(default)]
    pub machine: Option<String>,
}

/// A zone of a host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Zone {
    /// Its name.
    pub name: String,
    /// Its group.
    pub group: String,
    /// The host that it is on.
    pub host: String,
    /// The host's interface that its address belongs to.
    pub interface: String,
    /// `shared`: the zone's address is in its host's network stack. `own`: the zone has a stack apart.
    #[serde(default)]
    pub stack: Stack,
}

/// Whose network stack a zone has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stack {
    /// One of its own, at a virtual interface on its host's interface: data to a zone at another
    /// interface go over the wire.
    Own,
    /// That of its host: data to any other zone of the host stay inside.
    #[default]
    Shared,
}

/// Congestion controls by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CongestionControl {
    /// RFC 5681, counting acknowledged segments.
    Reno,
    /// RFC 5681, counting acknowledgments in congestion avoidance.
    RenoAckCounting,
    /// Binary increase, of Linux 2.6.18.
    Bic,
    /// RFC 9438, whose slow start ends with a loss.
    Cubic,
    /// RFC 9438, whose slow start may end before.
    CubicHystart,
    /// RFC 8257.
    Dctcp,
}

/// Ways to find and repair losses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Recovery {
    /// RFC 6675, and RFC 6582 without SACK.
    Rfc,
    /// Forward acknowledgment and rate halving, of Linux 2.6.18.
    Fack,
    /// Proportional rate reduction, of Linux 6; `rack` and `tail_loss_probe` are parts of it.
    Prr,
}

/// How segmentation offload makes bursts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OffloadRule {
    /// Put off until a third of the window can go at once, of Linux 2.6.18.
    Deferral,
    /// By the pacing rate, of Linux 6.
    Autosizing,
}

/// The quantity that the minimum timeout bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum RtoRule {
    /// The timeout.
    #[serde(rename = "rfc-6298")]
    Rfc6298,
    /// Its part for variation.
    #[serde(rename = "linux")]
    Linux,
}

/// TCP of a host.
#[allow(clippy::struct_excessive_bools, reason = "each is a separate option of the protocol")]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tcp {
    /// Profile from which the figures came.
    pub profile: String,
    /// Congestion control.
    pub congestion_control: CongestionControl,
    /// How losses are found and repaired.
    pub recovery: Recovery,
    /// Losses are found by time (RFC 8985); with the recovery `prr` only.
    pub rack: bool,
    /// The tail of a flight is probed (RFC 8985, 7); with the recovery `prr` only.
    pub tail_loss_probe: bool,
    /// Selective acknowledgments.
    pub sack: bool,
    /// Timestamps.
    pub timestamps: bool,
    /// Explicit congestion notification; DCTCP has it in any case.
    pub ecn: bool,
    /// Initial congestion window; none: by RFC 3390.
    pub initial_window_segments: Option<u32>,
    /// The quantity that the minimum timeout bounds.
    pub rto_rule: RtoRule,
    /// Timeout before the first round-trip time is known.
    #[serde(deserialize_with = "spans::ns")]
    pub initial_rto_ns: u64,
    /// Least timeout.
    #[serde(deserialize_with = "spans::ns")]
    pub min_rto_ns: u64,
    /// Largest timeout.
    #[serde(deserialize_with = "spans::ns")]
    pub max_rto_ns: u64,
    /// Tick of the clock by which timeouts fire and CUBIC grows; 0 is exact.
    #[serde(deserialize_with = "spans::ns")]
    pub clock_tick_ns: u64,
    /// How long an acknowledgment may wait.
    #[serde(deserialize_with = "spans::ns")]
    pub delayed_ack_ns: u64,
    /// Full segments after which it waits no longer.
    pub ack_every_segments: u32,
    /// Segments acknowledged at once when data starts to come, also after a gap longer than the timeout,
    /// and after a copy of old data.
    pub quick_ack_segments: u32,
    /// Data out of order begins quick acknowledgments as well, as in Linux before 4.18.
    pub quick_ack_disorder: bool,
    /// Acknowledge the end of a write as soon as it is read.
    pub ack_pushed: bool,
    /// Shrink the window after an idle time.
    pub restart_after_idle: bool,
    /// Largest burst that segmentation offload makes of several segments; 0 is no offload.
    pub offload_burst_bytes: u32,
    /// How bursts are made.
    pub offload_rule: OffloadRule,
    /// Bytes of one adapter request: the adapter takes a packet request by request and segments each by
    /// itself; 0: one request for the whole packet.
    pub offload_request_bytes: u32,
    /// Memory that a connection's own packets may take in its host before it holds back; 0 is no limit.
    pub limit_output_bytes: u32,
    /// Most bytes sent and not acknowledged.
    pub send_buffer_bytes: u32,
    /// Most bytes received and not in order.
    pub receive_buffer_bytes: u32,
}

/// Network interface of a host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Nic {
    /// From the socket to the wire.
    #[serde(deserialize_with = "spans::ns")]
    pub send_latency_ns: u64,
    /// From the wire to the socket.
    #[serde(deserialize_with = "spans::ns")]
    pub receive_latency_ns: u64,
    /// Mean of the random time of a segment in addition (exponential); the order stays.
    #[serde(deserialize_with = "spans::ns")]
    pub receive_jitter_ns: u64,
    /// CPU time of a received frame.
    #[serde(deserialize_with = "spans::ns")]
    pub receive_frame_ns: u64,
    /// Rate at which the CPU handles the bytes of received frames; none: at once.
    pub receive_rate_bps: Option<u64>,
    /// Frames that may wait for the wire.
    pub transmit_queue_frames: u32,
    /// Frames a second that it carries at most in either direction; none: no limit.
    pub packet_rate_pps: Option<u64>,
    /// Descriptors of the receive ring; none: unlimited.
    pub receive_ring_frames: Option<u32>,
    /// Descriptors that the driver gives back to the interface at a time.
    pub receive_refill_frames: u32,
    /// From the first frame in the ring to the idle CPU: interrupt coalescing.
    #[serde(deserialize_with = "spans::ns")]
    pub interrupt_delay_ns: u64,
    /// Most frames that the CPU polls in one batch; none: all in the ring.
    pub poll_weight_frames: Option<u32>,
    /// Payload of a segment merged from several of a batch at most; 0: none is merged.
    pub receive_merge_bytes: u32,
    /// Whether it pauses when the switch asks for it.
    pub honours_pause: bool,
    /// It asks for a pause when more frames wait in its ring; none: never.
    pub pause_high_frames: Option<u32>,
    /// The pause ends when no more wait; none: half of the above.
    pub pause_low_frames: Option<u32>,
    /// How long a pause is asked for.
    pub pause_quanta: u16,
    /// Whether it makes and checks the checksums of TCP; none: as the machine has it. The simulator is not
    /// asked for it.
    #[serde(default)]
    pub checksum_offload: Option<bool>,
}

/// When a switch begins to forward a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Forwarding {
    /// When the whole frame is there.
    StoreAndForward,
    /// When its header is there.
    CutThrough,
}

/// A switch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Switch {
    /// Its name.
    pub name: String,
    /// Profile from which the figures came.
    pub profile: String,
    /// Number of ports.
    pub ports: u32,
    /// Where frames wait.
    pub buffer: Buffer,
    /// When a frame is forwarded.
    pub forwarding: Forwarding,
    /// From there to the egress port.
    #[serde(deserialize_with = "spans::ns")]
    pub latency_ns: u64,
    /// Frames that meet a longer queue are marked, if they are subject to it; none: no marks.
    pub ecn_threshold_bytes: Option<u64>,
    /// Whether an egress pauses when its host asks for it.
    pub honours_pause: bool,
    /// The switch asks a host to pause when its frames hold more of the buffer; none: never.
    pub pause_high_bytes: Option<u64>,
    /// The pause ends when they hold no more; none: half of the above.
    pub pause_low_bytes: Option<u64>,
    /// How long a pause is asked for.
    pub pause_quanta: u16,
}

/// A full-duplex link.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// One end.
    pub a: Port,
    /// The other end.
    pub b: Port,
    /// Propagation delay, in either direction.
    #[serde(deserialize_with = "spans::ns")]
    pub delay_ns: u64,
    /// Largest IP packet.
    pub mtu_bytes: u32,
}

/// An end of a link: an interface of a host, or a port of a switch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Port {
    /// The host or the switch.
    pub node: String,
    /// Name of the interface or port, different from every other of that node.
    pub name: String,
    /// Bit rate at which this end sends.
    pub rate_bps: u64,
    /// The interface, where it is not that of the host's group; none at a switch.
    #[serde(default)]
    pub nic: Option<Nic>,
}

/// The traffic of a run. Roles are bound to hosts and zones by name; `host@interface` selects the
/// interface of a host with several.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
#[allow(clippy::large_enum_variant, reason = "a run has one")]
pub enum Workload {
    /// Synchronized reads.
    Incast(Incast),
    /// Bulk transfers.
    Transfer(Transfer),
    /// Requests and responses.
    Request(Request),
    /// Transactions of an application.
    Transactions(Transactions),
}

/// Clients and servers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Roles {
    /// Hosts that open connections.
    pub client: Vec<String>,
    /// Hosts that listen.
    pub server: Vec<String>,
}

impl Roles {
    /// Pairs each client with a server, as indices into the two roles. The larger role decides the number of
    /// pairs; the members of the smaller role are reused in turn. Neither role may be empty.
    pub fn pairs(&self) -> impl Iterator<Item = [usize; 2]> {
        let (clients, servers) = (self.client.len(), self.server.len());
        (0..clients.max(servers)).map(move |n| [n % clients, n % servers])
    }
}

/// One client asks every server at once for a block, waits for all, repeats. Phases count iterations.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Incast {
    /// One client, some servers.
    pub roles: Roles,
    /// Unstriped: bytes of each server. Striped: bytes of all servers together.
    pub block_bytes: u64,
    /// Whether the block is spread over the servers.
    pub striped: bool,
    /// Size of a request.
    pub request_bytes: u64,
    /// Time between the request to one server and that to the next.
    #[serde(deserialize_with = "spans::ns")]
    pub request_spacing_ns: u64,
    /// Delay between a server's receipt of a request and its first byte.
    pub start_jitter: Jitter,
}

/// Which way the bytes of a transfer go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// From the server to the client.
    Get,
    /// From the client to the server.
    Put,
    /// Both ways at once over the same connection.
    Both,
}

/// Each pair of client and server moves bytes, one transfer after the other. Phases count the transfers
/// of each flow, or last for a time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Transfer {
    /// Clients and servers, joined as [`Roles::pairs`] says.
    pub roles: Roles,
    /// Which way.
    pub direction: Direction,
    /// Bytes of a transfer each way; none: it goes on until the phase ends.
    pub size_bytes: Option<u64>,
    /// Connections of each pair, all at once.
    pub flows: u32,
    /// Size of the request that asks for a transfer, and of the answer that confirms one.
    pub request_bytes: u64,
    /// Time between the end of a transfer and the next of the same flow.
    #[serde(deserialize_with = "spans::ns")]
    pub pause_ns: u64,
    /// By FTP; none: the bytes follow their request on the same connection.
    #[serde(default)]
    pub ftp: Option<Ftp>,
}

/// Transfers are files by FTP: each flow is a session, each transfer has a data connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ftp {
    /// Where the sender has the file.
    pub source: FileSource,
    /// How the receiver treats the bytes.
    pub sink: FileSink,
    /// How the server sends the file.
    pub data_path: DataPath,
}

/// Where the sender of a file has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FileSource {
    /// Nowhere: its bytes are made.
    Memory,
    /// On a RAM disk.
    Ram,
    /// In the page cache.
    Cache,
    /// On a disk, from which each transfer reads it.
    Disk,
}

/// How the receiver of a file treats its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FileSink {
    /// It discards them.
    Null,
    /// It writes them to a RAM disk.
    Ram,
    /// It writes them to a disk.
    Disk,
    /// It has them on the disk before the transfer ends (fsync(2)).
    #[serde(rename = "synced disk")]
    SyncedDisk,
}

/// How a server sends a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DataPath {
    /// It reads the file and writes to the socket.
    Copying,
    /// The kernel sends it without a copy through user space (sendfile(2)).
    Sendfile,
}

/// Each pair of client and server exchanges requests and responses. Phases count the requests of each
/// connection, or last for a time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// Clients and servers, joined as [`Roles::pairs`] says.
    pub roles: Roles,
    /// Size of a request.
    pub request_bytes: u64,
    /// Size of a response.
    pub response_bytes: u64,
    /// Connections of each pair.
    pub connections: u32,
    /// Requests of a connection that may wait for their responses.
    pub outstanding: u32,
    /// Time between a response and the request that takes its place.
    #[serde(deserialize_with = "spans::ns")]
    pub think_ns: u64,
    /// A request each so often, answered or not; none: the next one follows an answer.
    #[serde(default, deserialize_with = "spans::some_ns")]
    pub every_ns: Option<u64>,
}

/// Small requests at a fixed interval, on a connection of their own for each pair of the workload: they
/// measure the latency of other traffic under the workload.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Probe {
    /// Time from one request to the next, answered or not.
    #[serde(deserialize_with = "spans::ns")]
    pub every_ns: u64,
    /// Size of a request.
    pub request_bytes: u64,
    /// Size of a response.
    pub response_bytes: u64,
}

/// The kind of a phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PhaseKind {
    /// The application's data are loaded.
    Load,
    /// The application is set up.
    Configure,
    /// The application gathers statistics of its own data.
    GatherStatistics,
    /// Only the probe runs, before the workload begins.
    Idle,
    /// The workload runs, and no sample is kept.
    WarmUp,
    /// The workload rests until nothing is under way; it begins again with the next phase.
    Stop,
    /// The application's data are brought back to their first state.
    Reset,
    /// The workload runs and is measured: one window for all instruments.
    Measure,
    /// The workload has ended; transfers under way end.
    CoolDown,
}

/// A phase of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Phase {
    /// Its kind.
    pub kind: PhaseKind,
    /// Its end; none: when nothing of it is under way.
    #[serde(default)]
    pub until: Option<Until>,
}

/// When a phase ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Until {
    /// After this number of iterations, transfers or requests.
    Count {
        /// How many.
        count: u32,
    },
    /// After a time.
    Time {
        /// How long.
        #[serde(deserialize_with = "spans::ns")]
        ns: u64,
    },
}

/// The readings of an instrument.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum InstrumentKind {
    /// CPU, memory, disk and interfaces of a host, as sar does.
    Host,
    /// Connections of a host: smoothed and minimum round-trip time, congestion window, as `TCP_INFO` does.
    Tcp,
    /// Ports of a switch, by the switch itself.
    Ports,
    /// Ports of a switch, by SNMP.
    Snmp,
}

/// Something that is sampled at an interval.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Instrument {
    /// Its readings.
    pub kind: InstrumentKind,
    /// Of which node.
    pub node: String,
    /// The port; none: all ports.
    #[serde(default)]
    pub port: Option<String>,
    /// Time between two samples.
    #[serde(deserialize_with = "spans::ns")]
    pub every_ns: u64,
    /// The node that asks; none: the node itself.
    #[serde(default)]
    pub from: Option<String>,
    /// How it shows who it is; none: nobody asks by SNMP.
    #[serde(default)]
    pub access: Option<SnmpAccess>,
    /// Of a host: sysstat's own program records the measuring phase as well.
    #[serde(default)]
    pub sysstat: bool,
}

/// How a poller shows who it is: by a community (`SNMPv2c`), or as a user (`SNMPv3`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SnmpAccess {
    /// Where the community is; none: that of an emulated switch, which the testbed makes up.
    pub community: Option<SecretSource>,
    /// The user of `SNMPv3`; none: `SNMPv2c`.
    pub user: Option<String>,
    /// How messages are signed.
    pub authentication: Authentication,
    /// Where the password of signatures is.
    pub authentication_password: Option<SecretSource>,
    /// How messages are encrypted; none: not.
    pub privacy: Option<Cipher>,
    /// Where the password of the encryption is.
    pub privacy_password: Option<SecretSource>,
}

/// Where a community or a password is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SecretSource {
    /// An environment variable.
    pub env: Option<String>,
    /// A file whose first line it is.
    pub file: Option<String>,
}

/// A random delay.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Jitter {
    /// No delay.
    None,
    /// Any delay up to a limit is as likely.
    Uniform {
        /// The limit.
        #[serde(deserialize_with = "spans::ns")]
        max_ns: u64,
    },
    /// Short delays are likely, long ones are possible.
    Exponential {
        /// Mean delay.
        #[serde(deserialize_with = "spans::ns")]
        mean_ns: u64,
    },
}
