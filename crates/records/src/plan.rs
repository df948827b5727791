use serde::{Deserialize, Serialize};

/// The schema that this engine reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum PlanSchema {
    /// The first one.
    #[serde(rename = "netstudy/plan/1")]
    V1,
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
    /// Hosts, switch and links.
    pub network: Network,
    /// What is done over them.
    pub workload: Workload,
}

/// Hosts that meet in one switch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Network {
    /// Groups of identical hosts.
    pub hosts: Vec<HostGroup>,
    /// The switch.
    pub switch: Switch,
    /// A link for each group of hosts.
    pub links: Vec<Link>,
    /// The clocks of all hosts tick at the same instants.
    pub shared_clock: bool,
}

/// Identical hosts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostGroup {
    /// Name of the group.
    pub name: String,
    /// How many there are.
    pub count: u32,
    /// Profile from which the figures came.
    pub profile: String,
    /// Their TCP.
    pub tcp: Tcp,
    /// Their network interface.
    pub nic: Nic,
    /// Processor time of their processes in percent of one processor: for testbeds of real hosts, the
    /// simulator is not asked for it.
    #[serde(default)]
    pub cpu_quota_pct: Option<u32>,
}

/// Congestion controls by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CongestionControl {
    /// RFC 5681, counting what is acknowledged.
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

/// What the minimum timeout bounds.
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
    /// What the minimum timeout bounds.
    pub rto_rule: RtoRule,
    /// Timeout before the first round-trip time is known.
    pub initial_rto_ns: u64,
    /// Least timeout.
    pub min_rto_ns: u64,
    /// Largest timeout.
    pub max_rto_ns: u64,
    /// Tick of the clock by which timeouts fire and CUBIC grows; 0 is exact.
    pub clock_tick_ns: u64,
    /// How long an acknowledgment may wait.
    pub delayed_ack_ns: u64,
    /// Full segments after which it waits no longer.
    pub ack_every_segments: u32,
    /// Segments acknowledged at once when data starts to come, also after a gap longer than the timeout,
    /// and after a copy of old data.
    pub quick_ack_segments: u32,
    /// Acknowledge the end of what was written as soon as it is read.
    pub ack_pushed: bool,
    /// Share of received segments upon which the application reads at once, which sends an
    /// acknowledgment that waits.
    pub read_at_once_pct: u32,
    /// Shrink the window after an idle time.
    pub restart_after_idle: bool,
    /// Largest burst that segmentation offload makes of several segments; 0 is no offload.
    pub offload_burst_bytes: u32,
    /// How bursts are made.
    pub offload_rule: OffloadRule,
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
    pub send_latency_ns: u64,
    /// From the wire to the socket.
    pub receive_latency_ns: u64,
    /// Mean of what a segment takes beyond that, at random (exponential); the order stays.
    pub receive_jitter_ns: u64,
    /// Processor time that a received frame costs.
    pub receive_frame_ns: u64,
    /// Rate at which the processor deals with the bytes of received frames; none: at once.
    pub receive_rate_bps: Option<u64>,
    /// Frames that may wait for the wire.
    pub transmit_queue_frames: u32,
    /// Frames a second that it carries at most in either direction; none: no limit.
    pub packet_rate_pps: Option<u64>,
    /// Descriptors of the receive ring; none: no end of them.
    pub receive_ring_frames: Option<u32>,
    /// From the first frame in the ring to the processor, when that idles.
    pub interrupt_delay_ns: u64,
    /// Frames that the processor takes in one batch at most; none: all there are.
    pub poll_weight_frames: Option<u32>,
    /// Payload of a segment merged from several of a batch at most; 0: none is merged.
    pub receive_merge_bytes: u32,
    /// Whether it pauses when the switch asks for it.
    pub honours_pause: bool,
    /// It asks for a pause when more descriptors are in use; none: never.
    pub pause_high_frames: Option<u32>,
    /// The pause ends when no more are in use; none: half of the above.
    pub pause_low_frames: Option<u32>,
    /// How long a pause is asked for.
    pub pause_quanta: u16,
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

/// The switch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Switch {
    /// Profile from which the figures came.
    pub profile: String,
    /// Number of ports.
    pub ports: u32,
    /// Where frames wait.
    pub buffer: Buffer,
    /// When a frame is forwarded.
    pub forwarding: Forwarding,
    /// From there to the egress port.
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

/// Buffer architectures.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Buffer {
    /// A private drop-tail buffer a port.
    OutputQueued {
        /// Room of each port.
        port_buffer_bytes: u64,
    },
    /// One memory for all ports.
    SharedMemory {
        /// What all ports share.
        pool_bytes: u64,
        /// What each port has of its own.
        port_reserve_bytes: u64,
        /// A frame takes whole cells.
        cell_bytes: u32,
        /// A queue may hold this many times the free part of the pool.
        alpha: f64,
        /// Frames that an ingress port may always have queued.
        ingress_guarantee_frames: u32,
    },
    /// A private buffer an ingress port, in virtual output queues.
    IngressQueued {
        /// Room of each ingress port.
        ingress_buffer_bytes: u64,
        /// What an egress port may have pulled beyond the wire.
        egress_buffer_bytes: u32,
        /// Share of an egress' choices made at random.
        random_arbitration_pct: u32,
    },
}

/// A link from each host of a group to the switch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// The group and the switch.
    pub between: (String, String),
    /// Bit rate of either direction.
    pub rate_bps: u64,
    /// Propagation delay.
    pub delay_ns: u64,
    /// Largest IP packet.
    pub mtu_bytes: u32,
}

/// What is done over the network.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Workload {
    /// Synchronized reads.
    Incast(Incast),
}

/// One client asks every server at once for a block, waits for all, repeats.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Incast {
    /// Group of the client: one host.
    pub client: String,
    /// Group of the servers.
    pub servers: String,
    /// Unstriped: what each server sends. Striped: what all of them send together.
    pub block_bytes: u64,
    /// Whether the block is spread over the servers.
    pub striped: bool,
    /// Iterations of the measuring phase.
    pub iterations: u32,
    /// Iterations before it.
    pub warmup_iterations: u32,
    /// Size of a request.
    pub request_bytes: u64,
    /// Time between the request to one server and that to the next.
    pub request_spacing_ns: u64,
    /// Delay between a server's receipt of a request and its first byte.
    pub start_jitter: Jitter,
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
        max_ns: u64,
    },
    /// Short delays are likely, long ones are possible.
    Exponential {
        /// Mean delay.
        mean_ns: u64,
    },
}
