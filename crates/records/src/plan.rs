use serde::{Deserialize, Serialize};

use crate::{Authentication, Buffer, Cipher, Queue, Transactions, spans};

/// For each factor, in the order of the study: its level.
pub type Treatment = serde_json::Map<String, serde_json::Value>;

/// One treatment and one replicate, with all that a plan's lines say of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// A hash of treatment and replicate.
    pub id: String,
    /// Test cases that share this run.
    pub cases: Vec<String>,
    /// The treatment.
    pub treatment: Treatment,
    /// Number of the replicate, from 1.
    pub replicate: u32,
    /// Seed of the run: 16 hexadecimal digits.
    pub seed: String,
    /// Nodes and links.
    pub network: Network,
    /// The workload on this network.
    pub workload: Workload,
    /// A probe that sends small requests at an interval during the workload; none: no probe.
    pub probe: Option<Probe>,
    /// The phases of the run, in order; one of them is [`PhaseKind::Measure`].
    pub phases: Vec<Phase>,
    /// What is sampled at intervals. Counters are also read at the start and end of phases, even
    /// without any instrument.
    pub instruments: Vec<Instrument>,
    /// Whether the simulator traces where the time of each unit of work goes. Other testbeds always
    /// measure the bounds that they can.
    pub trace: bool,
}

/// A graph of hosts, zones and switches.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Network {
    /// Groups of hosts that have the same settings.
    pub groups: Vec<Group>,
    /// Hosts, zones and switches, each with a unique name.
    pub nodes: Vec<Node>,
    /// Full-duplex links.
    pub links: Vec<Link>,
    /// Whether the clocks of all hosts tick at the same instants.
    pub shared_clock: bool,
}

/// Properties of identical hosts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Group {
    /// Name of the group.
    pub name: String,
    /// Name of the profile that the values come from.
    pub profile: String,
    /// The TCP settings of these hosts.
    pub tcp: Tcp,
    /// The network interfaces of these hosts.
    pub nic: Nic,
    /// Limit on the CPU time of each host's processes, in percent of one CPU. Only for testbeds of
    /// real hosts.
    #[serde(default)]
    pub cpu_quota_pct: Option<f64>,
    /// Main memory; none: unknown. The simulator does not use it.
    #[serde(default)]
    pub memory_bytes: Option<u64>,
    /// Settings for packets between two endpoints on the same simulated host. None: such packets
    /// have the latencies and the CPU time of the host's first interface.
    #[serde(default)]
    pub local_path: Option<LocalPath>,
    /// Simulated CPUs, and how much CPU time work costs; none: only the CPU times in [`Group::nic`]
    /// are simulated.
    #[serde(default)]
    pub cpu: Option<crate::Cpu>,
    /// Simulated buses; none: no limit.
    #[serde(default)]
    pub bus: Option<crate::Bus>,
    /// A simulated disk; none: the host has none.
    #[serde(default)]
    pub disk: Option<crate::Disk>,
    /// The differentiated services code point of the packets that these hosts send (RFC 2474, 3),
    /// by which queue disciplines tell classes apart; none: 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dscp: Option<u8>,
}

/// The path of packets between two endpoints of the same host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LocalPath {
    /// Latency from the socket of one endpoint to the socket of the other.
    #[serde(deserialize_with = "spans::ns")]
    pub latency_ns: u64,
    /// Rate at which the host copies packets between the endpoints; none: copying takes no time.
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
    /// An endpoint with its own address on a host. It shares the host's interfaces.
    Zone(Zone),
    /// A switch.
    Switch(Switch),
}

impl Node {
    /// The node's name.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Host(host) => &host.name,
            Self::Zone(zone) => &zone.name,
            Self::Switch(switch) => &switch.name,
        }
    }
}

/// A host. Its interfaces are listed as ends of links.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Host {
    /// The host's name.
    pub name: String,
    /// The group of hosts that it belongs to.
    pub group: String,
    /// The machine that it runs on; none: the testbed's own machine.
    #[serde(default)]
    pub machine: Option<String>,
}

/// A zone of a host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Zone {
    /// The zone's name.
    pub name: String,
    /// The group of hosts that the zone belongs to.
    pub group: String,
    /// The host that it is on.
    pub host: String,
    /// The interface of the host on which the zone has its address.
    pub interface: String,
    /// `shared`: the zone's address is in its host's network stack. `own`: the zone has a separate
    /// stack.
    #[serde(default)]
    pub stack: Stack,
}

/// The network stack of a zone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stack {
    /// A separate stack, with a virtual interface on top of an interface of the host. Data to a
    /// zone on another interface of the host go over the wire.
    Own,
    /// The stack of the host. Data to any other zone of the host stay inside the host.
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
    /// Binary increase congestion control, as in Linux 2.6.18.
    Bic,
    /// RFC 9438; slow start ends with a loss.
    Cubic,
    /// RFC 9438 with `HyStart`: slow start may end before a loss.
    CubicHystart,
    /// RFC 8257.
    Dctcp,
    /// BBR, version 1, as in Linux 6; only with the recovery `prr`.
    Bbr,
}

/// Loss recovery algorithms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Recovery {
    /// RFC 6675 with SACK, RFC 6582 without.
    Rfc,
    /// Forward acknowledgment with rate halving, as in Linux 2.6.18.
    Fack,
    /// Proportional rate reduction, as in Linux 6; with the options `rack` and `tail_loss_probe`.
    Prr,
}

/// How segmentation offload decides on the size of bursts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OffloadRule {
    /// A burst waits until a third of the window can be sent at once, as in Linux 2.6.18.
    Deferral,
    /// The size follows from the pacing rate, as in Linux 6.
    Autosizing,
}

/// How much of the receive buffer is offered as window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WindowRule {
    /// The whole buffer, as in RFC 9293.
    Buffer,
    /// The payload of the packets that fit, as in Linux since 6.6.
    ScalingRatio,
}

/// The quantity to which the minimum timeout applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum RtoRule {
    /// The whole timeout.
    #[serde(rename = "rfc-6298")]
    Rfc6298,
    /// The variance term of the timeout.
    #[serde(rename = "linux")]
    Linux,
}

/// TCP of a host.
#[allow(clippy::struct_excessive_bools, reason = "each is a separate option of the protocol")]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tcp {
    /// Name of the profile that the values come from.
    pub profile: String,
    /// Congestion control.
    pub congestion_control: CongestionControl,
    /// Loss recovery.
    pub recovery: Recovery,
    /// Time-based loss detection, RACK (RFC 8985); only with the recovery `prr`.
    pub rack: bool,
    /// Tail loss probe (RFC 8985, 7); only with the recovery `prr`.
    pub tail_loss_probe: bool,
    /// Selective acknowledgments.
    pub sack: bool,
    /// Timestamps.
    pub timestamps: bool,
    /// Explicit congestion notification; DCTCP always uses it.
    pub ecn: bool,
    /// Initial congestion window; none: as in RFC 3390.
    pub initial_window_segments: Option<u32>,
    /// The quantity to which the minimum timeout applies.
    pub rto_rule: RtoRule,
    /// Timeout before the first measurement of the round-trip time.
    #[serde(deserialize_with = "spans::ns")]
    pub initial_rto_ns: u64,
    /// Minimum timeout.
    #[serde(deserialize_with = "spans::ns")]
    pub min_rto_ns: u64,
    /// Maximum timeout.
    #[serde(deserialize_with = "spans::ns")]
    pub max_rto_ns: u64,
    /// Resolution of the clock for timeouts and for CUBIC's window growth; 0: the clock is exact.
    #[serde(deserialize_with = "spans::ns")]
    pub clock_tick_ns: u64,
    /// Maximum delay of an acknowledgment.
    #[serde(deserialize_with = "spans::ns")]
    pub delayed_ack_ns: u64,
    /// Number of full-size segments after which an acknowledgment is sent at once.
    pub ack_every_segments: u32,
    /// How many segments are acknowledged at once when data start to arrive. The same applies after
    /// a gap longer than the timeout, and after a duplicate of old data.
    pub quick_ack_segments: u32,
    /// Whether data out of order also make the receiver acknowledge at once, as in Linux before
    /// 4.18.
    pub quick_ack_disorder: bool,
    /// The receiver acknowledges the last segment of a write as soon as the application has read
    /// it.
    pub ack_pushed: bool,
    /// Whether short segments are sent at once (`TCP_NODELAY`); if false, they wait by Nagle's rule.
    pub nodelay: bool,
    /// Whether the congestion window is reduced after an idle time.
    pub restart_after_idle: bool,
    /// Maximum size of a segmentation offload burst; 0: no offload.
    pub offload_burst_bytes: u32,
    /// How the size of bursts is decided.
    pub offload_rule: OffloadRule,
    /// Maximum bytes of one adapter request. The adapter takes an offloaded packet request by
    /// request and segments each request separately; 0: one request for the whole packet.
    pub offload_request_bytes: u32,
    /// Limit on the memory of one connection's packets that wait in the host's queues below TCP; 0:
    /// no limit.
    pub limit_output_bytes: u32,
    /// Maximum number of bytes that are sent but not acknowledged.
    pub send_buffer_bytes: u32,
    /// Size of the receiving socket's buffer, which limits the window.
    pub receive_buffer_bytes: u32,
    /// How much of the receive buffer is offered as window.
    pub window_rule: WindowRule,
}

/// Network interface of a host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Nic {
    /// Latency from the socket to the wire.
    #[serde(deserialize_with = "spans::ns")]
    pub send_latency_ns: u64,
    /// Latency from the wire to the socket.
    #[serde(deserialize_with = "spans::ns")]
    pub receive_latency_ns: u64,
    /// Mean of an exponentially distributed latency that is added for each segment. Segments are
    /// not reordered.
    #[serde(deserialize_with = "spans::ns")]
    pub receive_jitter_ns: u64,
    /// CPU time per received frame.
    #[serde(deserialize_with = "spans::ns")]
    pub receive_frame_ns: u64,
    /// Rate at which the CPU handles the bytes of received frames; none: this takes no time.
    pub receive_rate_bps: Option<u64>,
    /// Number of frames that may wait to be sent.
    pub transmit_queue_frames: u32,
    /// Maximum frames per second in each direction; none: no limit.
    pub packet_rate_pps: Option<u64>,
    /// Descriptors of the receive ring; none: unlimited.
    pub receive_ring_frames: Option<u32>,
    /// Number of descriptors that the driver returns to the interface at a time.
    pub receive_refill_frames: u32,
    /// Interrupt coalescing: how long after the first frame in the ring an idle CPU is interrupted.
    #[serde(deserialize_with = "spans::ns")]
    pub interrupt_delay_ns: u64,
    /// Maximum frames that the CPU polls in one batch; none: all frames in the ring.
    pub poll_weight_frames: Option<u32>,
    /// Maximum payload of a segment merged from several segments of a batch (GRO); 0: no merging.
    pub receive_merge_bytes: u32,
    /// Whether the interface stops sending when the switch sends a PAUSE frame.
    pub honours_pause: bool,
    /// The interface sends a PAUSE frame when more than this many frames are in its ring; none: it
    /// never sends one.
    pub pause_high_frames: Option<u32>,
    /// It ends the pause when at most this many frames are in the ring; none: half of
    /// `pause_high_frames`.
    pub pause_low_frames: Option<u32>,
    /// Length of a requested pause.
    pub pause_quanta: u16,
    /// Whether the interface computes and checks TCP checksums; none: the machine's setting is
    /// kept. The simulator ignores this field.
    #[serde(default)]
    pub checksum_offload: Option<bool>,
}

/// When a switch begins to forward a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Forwarding {
    /// When the whole frame has arrived.
    StoreAndForward,
    /// When its header has arrived.
    CutThrough,
}

/// A switch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Switch {
    /// The switch's name.
    pub name: String,
    /// Name of the profile that the values come from.
    pub profile: String,
    /// Number of ports.
    pub ports: u32,
    /// The buffer architecture.
    pub buffer: Buffer,
    /// When a frame is forwarded.
    pub forwarding: Forwarding,
    /// Latency from the forwarding decision to the egress port.
    #[serde(deserialize_with = "spans::ns")]
    pub latency_ns: u64,
    /// ECN-capable frames that arrive at a queue longer than this are marked; none: no marks.
    pub ecn_threshold_bytes: Option<u64>,
    /// Whether a port stops sending when the host sends a PAUSE frame.
    pub honours_pause: bool,
    /// The switch sends a PAUSE frame to a host whose frames occupy more buffer space than this;
    /// none: it never sends one.
    pub pause_high_bytes: Option<u64>,
    /// The switch ends the pause when the frames of the host occupy at most this space; none: half
    /// of `pause_high_bytes`.
    pub pause_low_bytes: Option<u64>,
    /// Length of a requested pause.
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
    /// Name of the interface or port, unique within the node.
    pub name: String,
    /// Bit rate at which this end sends.
    pub rate_bps: u64,
    /// Settings of this interface; none: those of the host's group. Always none at a switch.
    #[serde(default)]
    pub nic: Option<Nic>,
    /// The discipline of the frames that wait to be sent from this end. None: they leave in the
    /// order in which they came, a switch has room for them as its buffer says, and an interface for
    /// [`Nic::transmit_queue_frames`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<Queue>,
    /// Loss, duplicates and random delay of frames that this end sends; none: a perfect link.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<Box<Path>>,
}

/// One direction of a link that loses, duplicates or delays frames at random.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Path {
    /// Constant delay of this direction in addition to the link's.
    #[serde(deserialize_with = "spans::ns")]
    pub extra_delay_ns: u64,
    /// Frames that are lost; none: a frame is lost only where a queue has no room for it.
    pub loss: Option<Loss>,
    /// Millionths of the frames that arrive twice.
    pub duplicate_ppm: u32,
    /// Random delay of each frame in addition to the constant one.
    pub jitter: Jitter,
    /// True if a frame may overtake those sent before it; otherwise it waits for them.
    pub reorders: bool,
}

/// A model of random loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Loss {
    /// Each frame is lost with the same probability.
    Independent {
        /// Millionths of the frames that are lost.
        share_ppm: u32,
    },
    /// The link is in a good or a bad state (Gilbert 1960, Elliott 1963).
    GilbertElliott {
        /// Millionths of the frames in the good state that are the last ones there.
        to_bad_ppm: u32,
        /// Millionths of the frames in the bad state that are the last ones there.
        to_good_ppm: u32,
        /// Millionths of the frames in the bad state that are lost.
        in_bad_ppm: u32,
        /// Millionths of the frames in the good state that are lost.
        in_good_ppm: u32,
    },
}

/// The traffic of a run. Roles are bound to hosts and zones by name; `host@interface` selects an
/// interface of a host that has several.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
#[allow(clippy::large_enum_variant, reason = "a run has one")]
pub enum Workload {
    /// Synchronized reads from several servers.
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
    /// Pairs of a client and a server, as indices into the two lists. There are as many pairs as
    /// the longer list has members; the members of the shorter list are reused in turn. No list may
    /// be empty.
    pub fn pairs(&self) -> impl Iterator<Item = [usize; 2]> {
        let (clients, servers) = (self.client.len(), self.server.len());
        (0..clients.max(servers)).map(move |n| [n % clients, n % servers])
    }
}

/// One client requests a block from every server at once, waits for all responses, and repeats. The
/// length of a phase is given in iterations.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Incast {
    /// One client, some servers.
    pub roles: Roles,
    /// Size of a block: bytes from each server if unstriped, from all servers together if striped.
    pub block_bytes: u64,
    /// Whether one block is distributed over all servers (striped).
    pub striped: bool,
    /// Size of a request.
    pub request_bytes: u64,
    /// Time between the request to one server and that to the next.
    #[serde(deserialize_with = "spans::ns")]
    pub request_spacing_ns: u64,
    /// Delay between a server's receipt of a request and its first byte.
    pub start_jitter: Jitter,
}

/// Direction of a transfer's data.
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

/// Each pair of client and server transfers data, one transfer after the other. A phase ends after
/// a given number of transfers per flow, or after a given time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Transfer {
    /// Clients and servers. [`Roles::pairs`] defines which client uses which server.
    pub roles: Roles,
    /// Direction of the data.
    pub direction: Direction,
    /// Size of a transfer, in each direction in which data are sent; none: a transfer lasts until
    /// the phase ends.
    pub size_bytes: Option<u64>,
    /// Simultaneous connections of each pair.
    pub flows: u32,
    /// Size of the request that asks for a transfer, and of the answer that confirms one.
    pub request_bytes: u64,
    /// Time between the end of a transfer and the next of the same flow.
    #[serde(deserialize_with = "spans::ns")]
    pub pause_ns: u64,
    /// Delay of the start of each connection, in the order of the connections; empty: all start
    /// together.
    #[serde(default, deserialize_with = "spans::all_ns")]
    pub starts_ns: Vec<u64>,
    /// FTP settings. None: FTP is not used, and data follow their request on the same connection.
    #[serde(default)]
    pub ftp: Option<Ftp>,
}

/// Transfers are files by FTP: each flow is a session, each transfer has a data connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ftp {
    /// Where the sender reads the file.
    pub source: FileSource,
    /// What the receiver does with the data.
    pub sink: FileSink,
    /// How the server sends the file.
    pub data_path: DataPath,
}

/// Where the sender of a file reads it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FileSource {
    /// No file: the bytes are generated.
    Memory,
    /// On a RAM disk.
    Ram,
    /// In the page cache.
    Cache,
    /// On a disk; each transfer reads it from there.
    Disk,
}

/// What the receiver of a file does with the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FileSink {
    /// It discards them.
    Null,
    /// It writes them to a RAM disk.
    Ram,
    /// It writes them to a disk.
    Disk,
    /// It writes them to a disk and flushes them before the transfer ends (fsync(2)).
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

/// Each pair of client and server exchanges requests and responses. A phase ends after a given
/// number of requests per connection, or after a given time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// Clients and servers. [`Roles::pairs`] defines which client uses which server.
    pub roles: Roles,
    /// Size of a request.
    pub request_bytes: u64,
    /// Size of a response.
    pub response_bytes: u64,
    /// Number of writes in which the server hands a response to its connection.
    pub writes: u32,
    /// Connections of each pair.
    pub connections: u32,
    /// Maximum number of outstanding requests of a connection.
    pub outstanding: u32,
    /// Time from a response to the request that replaces it.
    #[serde(deserialize_with = "spans::ns")]
    pub think_ns: u64,
    /// Interval at which requests are sent, whether or not earlier ones are answered; none: each
    /// request follows a response.
    #[serde(default, deserialize_with = "spans::some_ns")]
    pub every_ns: Option<u64>,
}

/// Small requests at a fixed interval, on a separate connection for each pair of the workload. They
/// measure the latency that other traffic has while the workload runs.
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
    /// The workload runs, but no samples are kept.
    WarmUp,
    /// The workload is stopped. The phase ends when nothing is in flight; the next phase starts the
    /// workload again.
    Stop,
    /// The application's data are reset to their initial state.
    Reset,
    /// The workload runs and is measured by all instruments.
    Measure,
    /// The workload has ended; transfers in progress are completed.
    CoolDown,
}

/// A phase of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Phase {
    /// The kind of the phase.
    pub kind: PhaseKind,
    /// When the phase ends; none: as soon as nothing of the phase is in flight.
    #[serde(default)]
    pub until: Option<Until>,
}

/// When a phase ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Until {
    /// After this number of iterations, transfers or requests.
    Count {
        /// The number.
        count: u32,
    },
    /// After a time.
    Time {
        /// The duration.
        #[serde(deserialize_with = "spans::ns")]
        ns: u64,
    },
}

/// What an instrument reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum InstrumentKind {
    /// CPU, memory, disk and interfaces of a host, with counters like those of sar.
    Host,
    /// Connections of a host: the values that `TCP_INFO` has, such as round-trip times and
    /// congestion windows.
    Tcp,
    /// Ports of a switch, read by the switch itself.
    Ports,
    /// Ports of a switch, read by SNMP.
    Snmp,
}

/// A sampler that reads at an interval.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Instrument {
    /// What it reads.
    pub kind: InstrumentKind,
    /// The node that is read.
    pub node: String,
    /// The port; none: all ports.
    #[serde(default)]
    pub port: Option<String>,
    /// Time between two samples.
    #[serde(deserialize_with = "spans::ns")]
    pub every_ns: u64,
    /// The node that polls; none: the node itself.
    #[serde(default)]
    pub from: Option<String>,
    /// SNMP credentials; none: no SNMP.
    #[serde(default)]
    pub access: Option<SnmpAccess>,
    /// For a host: sysstat's own collector also records the measuring phase.
    #[serde(default)]
    pub sysstat: bool,
}

/// Credentials of a poller: a community (`SNMPv2c`) or a user (`SNMPv3`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SnmpAccess {
    /// Where to find the community. None for an emulated switch, for which the testbed generates a
    /// community.
    pub community: Option<SecretSource>,
    /// The user of `SNMPv3`; none: `SNMPv2c`.
    pub user: Option<String>,
    /// How messages are signed.
    pub authentication: Authentication,
    /// Where to find the password for signatures.
    pub authentication_password: Option<SecretSource>,
    /// How messages are encrypted; none: no encryption.
    pub privacy: Option<Cipher>,
    /// Where to find the password for encryption.
    pub privacy_password: Option<SecretSource>,
}

/// Where to find a community or a password.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SecretSource {
    /// An environment variable.
    pub env: Option<String>,
    /// A file with the secret on its first line.
    pub file: Option<String>,
}

/// A random delay.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Jitter {
    /// No delay.
    #[default]
    None,
    /// Uniform between zero and a limit.
    Uniform {
        /// The limit.
        #[serde(deserialize_with = "spans::ns")]
        max_ns: u64,
    },
    /// Exponential: short delays are likely, long delays are possible.
    Exponential {
        /// Mean delay.
        #[serde(deserialize_with = "spans::ns")]
        mean_ns: u64,
    },
}
