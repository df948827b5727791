//! Interfaces, their queues, and the CPUs' backlog (`include/uapi/linux/if_link.h`,
//! `include/uapi/linux/gen_stats.h`, `net/core/net-procfs.c`).

use super::{Counter, c32, c64, gauge};

/// The queueing discipline that an interface sends through.
pub(super) const QDISCS: &[Counter] = &[
    c32("nic_queue_drops", "drops", "Packets that the queueing discipline dropped."),
    c64("qdisc_bytes", "bytes", "Bytes that left it."),
    c64(
        "qdisc_packets",
        "packets",
        "Packets that left it; 32 bits where the kernel sends no more.",
    ),
    c32("qdisc_overlimits", "overlimits", "Times that a rate or limit held packets back."),
    c32("qdisc_requeues", "requeues", "Packets that came back from a busy device."),
    gauge("qdisc_backlog_bytes", "backlog", "Bytes that it holds."),
    gauge("qdisc_backlog_packets", "qlen", "Packets that it holds."),
];

/// A packet is a unit of the driver: with segmentation offload or GRO several frames in one.
pub(super) const LINKS: &[Counter] = &[
    c64("interface_packets_sent", "tx_packets", "Packets sent."),
    c64("interface_packets_received", "rx_packets", "Packets received."),
    c64("interface_bytes_sent", "tx_bytes", "Bytes of packets sent."),
    c64("interface_bytes_received", "rx_bytes", "Bytes of packets received."),
    c64("ring_drops", "rx_missed_errors", "Frames that found no room in the receive ring."),
    c64("interface_receive_drops", "rx_dropped", "Received packets that the host dropped unread."),
    c64("interface_send_drops", "tx_dropped", "Packets to be sent that were dropped."),
    c64("interface_receive_errors", "rx_errors", "Frames received in error."),
    c64("interface_send_errors", "tx_errors", "Frames that could not be sent."),
];

pub(super) const SOFTNET: &[Counter] = &[
    c32("softnet_processed", "processed", "Packets that CPUs took in, of all namespaces."),
    c32(
        "softnet_dropped",
        "dropped",
        "Packets dropped because a CPU's backlog was full (net.core.netdev_max_backlog).",
    ),
    c32(
        "softnet_time_squeezed",
        "time_squeeze",
        "Times that a CPU left packets behind because its turn was over (net.core.netdev_budget).",
    ),
];
