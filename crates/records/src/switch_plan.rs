//! Messages to and from the process of the user-space switch, which may act as several switches.
//! Each message is a line of JSON. Each command is a [`crate::Command`].
//!
//! Times are nanoseconds of `CLOCK_MONOTONIC`, which all processes of a machine share.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{Buffer, Check, Forwarding, Path, Queue, QueueStatistics, Secret, spans};

/// The schema of [`SwitchPlan`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum SwitchPlanSchema {
    /// Several switches, with the links between them.
    #[serde(rename = "netstudy/switch/2")]
    V2,
}

/// The schema of [`SwitchRecord`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum SwitchRecordSchema {
    /// Counters by switch and port.
    #[serde(rename = "netstudy/switch-record/2")]
    V2,
}

/// The switches of one run, with their links. This is the first line of standard input.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SwitchPlan {
    /// Version of this contract.
    pub schema: SwitchPlanSchema,
    /// Identifier of the run.
    pub run: String,
    /// After this time the process ends by itself, with an error.
    pub time_limit_ms: u64,
    /// The CPU to which the process is pinned. No other process should use this CPU, because the
    /// switch polls it between frames. None: the process runs on any CPU and does not poll.
    pub cpu: Option<u32>,
    /// Seed for the random choice of egress ports: 16 hexadecimal digits.
    pub seed: String,
    /// The switches. The list is empty if each link connects two hosts.
    pub switches: Vec<SwitchElement>,
    /// The links: between host and switch, between two switches, or between two hosts. A link
    /// delays frames by its serialization time and propagation delay. Switches and links must not
    /// form a cycle.
    pub links: Vec<SwitchLink>,
    /// Switches whose counters are read at intervals.
    #[serde(default)]
    pub sampled: Vec<SwitchSampling>,
    /// If true, frames from a host arrive at the rate of its link, as over a wire. Otherwise they
    /// arrive as fast as the host sends them.
    #[serde(default)]
    pub paced_ingress: bool,
}

/// A switch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SwitchElement {
    /// The switch's name.
    pub name: String,
    /// The buffer architecture.
    pub buffer: Buffer,
    /// When a frame is forwarded.
    pub forwarding: Forwarding,
    /// Latency from the forwarding decision to the egress port.
    #[serde(deserialize_with = "spans::ns")]
    pub latency_ns: u64,
    /// ECN-capable frames that arrive at a queue longer than this are marked; none: no marks.
    pub ecn_threshold_bytes: Option<u64>,
    /// The address at which the switch answers SNMP requests; none: it does not answer SNMP.
    #[serde(default)]
    pub management: Option<Management>,
}

/// Management access to a switch: `SNMPv2c` over IPv4, port 161.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Management {
    /// The Ethernet address of the switch.
    pub mac: String,
    /// The IPv4 address of the switch.
    pub ip: String,
    /// The community. Requests with a different community are not answered.
    pub community: Secret,
}

/// A full-duplex link.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SwitchLink {
    /// One end.
    pub a: SwitchLinkEnd,
    /// The other end.
    pub b: SwitchLinkEnd,
    /// Propagation delay, in each direction.
    #[serde(deserialize_with = "spans::ns")]
    pub delay_ns: u64,
    /// Largest IP packet.
    pub mtu_bytes: u32,
}

/// An end of a link.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SwitchLinkEnd {
    /// A switch of the plan by name, or a host.
    pub node: String,
    /// Its port there. The ports of a switch are numbered in the order of the links.
    pub port: String,
    /// Bit rate at which this end sends.
    pub rate_bps: u64,
    /// How the switch process reaches the host; none if this end is at a switch.
    pub host: Option<SwitchHost>,
    /// The discipline of the frames that wait to be sent from this end, which must be at a switch.
    /// None: they leave in the order in which they came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<Queue>,
    /// Loss, duplicates and random delay of frames that this end sends; none: a perfect link.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<Box<Path>>,
}

/// How the switch process reaches a host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SwitchHost {
    /// The interface that leads to the host, in the network namespace of the switch process.
    pub interface: String,
    /// Ethernet addresses of the host and its zones on this link. Frames to these addresses are
    /// sent over this link.
    pub macs: Vec<String>,
}

/// A switch whose ports are sampled at an interval, beginning when the switch is ready.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SwitchSampling {
    /// The switch's name.
    pub switch: String,
    /// The port; none: all ports.
    pub port: Option<String>,
    /// Time between two samples.
    #[serde(deserialize_with = "spans::ns")]
    pub every_ns: u64,
}

/// One line of the switch's standard output.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum SwitchRecord {
    /// The first record: from now on, frames are forwarded.
    Ready {
        /// Version of this contract.
        schema: SwitchRecordSchema,
        /// Version of the engine.
        version: String,
        /// Identifier of the run.
        run: String,
        /// Process id of the switch.
        pid: u32,
    },
    /// All counters, read because of a snapshot command.
    Snapshot {
        /// The name given by the command.
        name: String,
        /// When they were read.
        at_ns: u64,
        /// Counters of each port since the switch was ready, by switch and port.
        counters: BTreeMap<String, BTreeMap<String, SwitchPortCounters>>,
        /// Counters of each queue discipline since the switch was ready, by class. Empty: no port
        /// has one.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        queues: Vec<QueueStatistics>,
        /// Counters of imperfect links since the switch was ready, by sending end. Empty: all links
        /// are perfect.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        paths: Vec<PathStatistics>,
        /// How long it took to read the counters. Meanwhile no frame was forwarded.
        cost_ns: u64,
        /// Full text of the /proc files that were read with the counters.
        raw: BTreeMap<String, String>,
    },
    /// Frames that a switch dropped because its buffer was full, or by a queue discipline.
    Drops {
        /// The switch.
        switch: String,
        /// When each frame was dropped.
        at_ns: Vec<u64>,
        /// The number of each frame's egress port.
        egress: Vec<u32>,
    },
    /// Samples of a port at intervals.
    Samples {
        /// The switch.
        switch: String,
        /// The port.
        port: String,
        /// When each sample was taken.
        at_ns: Vec<u64>,
        /// By counter: its values at these times.
        values: BTreeMap<String, Vec<u64>>,
    },
    /// Whether links lost, duplicated and delayed frames as asked. Only if a link is not perfect.
    Links {
        /// One check for each property.
        checks: Vec<Check>,
    },
    /// Timing accuracy of the switch.
    Clock(SwitchClock),
    /// Why the switch ended early. This is then the last record.
    Error {
        /// For people.
        message: String,
    },
    /// End of the stream: the last record.
    End {},
}

/// Counters of a port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SwitchPortCounters {
    /// Frames received on this port.
    pub frames_received: u64,
    /// Bytes of these frames, check sequences included.
    pub bytes_received: u64,
    /// Frames for this port that the switch admitted to its buffer. At a port with a queue
    /// discipline: frames that have left the queue.
    pub frames_forwarded: u64,
    /// Bytes of these frames, check sequences included.
    pub bytes_forwarded: u64,
    /// Frames for this port dropped because the buffer was full, or by its queue discipline.
    pub frames_dropped: u64,
    /// Bytes of the dropped frames.
    pub bytes_dropped: u64,
    /// Frames for this port that got a congestion mark.
    pub frames_marked: u64,
    /// Bytes queued for this port now.
    pub queue_bytes: u64,
    /// Maximum of `queue_bytes` so far.
    pub queue_bytes_max: u64,
    /// Frames received on this port whose destination is not reached through any other port. They
    /// are discarded.
    pub frames_unaddressed: u64,
    /// Frames received on this port for the switch itself: SNMP requests.
    pub frames_consumed: u64,
    /// Frames that the switch itself sent from this port, such as answers. `frames_forwarded`
    /// includes them.
    pub frames_originated: u64,
    /// Frames received on this port, by size: see [`FRAMES_RECEIVED_BY_SIZE`].
    pub frames_received_by_size: [u64; FRAMES_RECEIVED_BY_SIZE.len()],
}

/// Counters of the frames that one end of an imperfect link has sent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PathStatistics {
    /// The sending end: a switch or a host.
    pub node: String,
    /// Its port.
    pub port: String,
    /// Frames that never arrive.
    pub frames_lost: u64,
    /// Frames that arrive a second time.
    pub frames_duplicated: u64,
    /// Frames that arrive before a frame that was sent earlier.
    pub frames_reordered: u64,
}

/// Names of the counters of received frames by size, check sequence included. The size classes are
/// those of RMON's etherStatsTable (RFC 2819, 5), plus a class for longer frames.
pub const FRAMES_RECEIVED_BY_SIZE: [&str; 7] = [
    "frames_received_64",
    "frames_received_65_127",
    "frames_received_128_255",
    "frames_received_256_511",
    "frames_received_512_1023",
    "frames_received_1024_1518",
    "frames_received_over_1518",
];

/// How accurate the switch's timing was. If it was poor, the run did not measure the planned
/// network.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SwitchClock {
    /// Frames that were sent.
    pub departures: u64,
    /// Departures that were too late. Allowed is the time that a full frame takes at the port, or
    /// 50 us if that is longer.
    pub departures_late: u64,
    /// The median of the lateness of departures.
    pub late_ns_p50: u64,
    /// The 99th percentile of the lateness.
    pub late_ns_p99: u64,
    /// The maximum of the lateness.
    pub late_ns_max: u64,
    /// Frames that were lost before or after the switch, or because the switch had no memory for
    /// them.
    pub frames_lost: u64,
    /// Whether the switch's timing and losses allow the run to be valid.
    pub kept_up: bool,
    /// Why the run is not valid.
    pub why: Option<String>,
    /// CPU time of the switch, from start to end.
    pub cpu_ns: u64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    const PLAN: &str = include_str!("../../../schema/examples/switch-plan.json");
    const RECORDS: &str = include_str!("../../../schema/examples/switch-records.jsonl");

    #[test]
    fn the_example_plan_is_read_and_written_without_loss() {
        let plan: SwitchPlan = serde_json::from_str(PLAN).expect("the example is a plan");
        let again = serde_json::to_value(&plan).expect("a plan is JSON");
        assert_eq!(again, serde_json::from_str::<Value>(PLAN).expect("it is JSON"));
    }

    #[test]
    fn the_example_records_are_read_and_written_without_loss() {
        for line in RECORDS.lines() {
            let record: SwitchRecord = serde_json::from_str(line).expect("a line is a record");
            let again = serde_json::to_value(&record).expect("a record is JSON");
            assert_eq!(again, serde_json::from_str::<Value>(line).expect("it is JSON"));
        }
    }

    #[test]
    fn what_is_not_of_the_contract_is_refused() {
        let plan = PLAN.replacen("\"links\"", "\"linkz\": 1, \"links\"", 1);
        let error = serde_json::from_str::<SwitchPlan>(&plan).expect_err("it has a field too many");
        assert!(error.to_string().contains("unknown field `linkz`"), "{error}");
    }
}
