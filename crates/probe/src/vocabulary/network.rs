//! Interfaces, their links and queues, and the CPUs' backlog (`include/uapi/linux/if_link.h`,
//! `include/uapi/linux/ethtool_netlink.h`, `include/uapi/linux/gen_stats.h`, `net/core/net-procfs.c`).

use super::{Counter, c32, c64, gauge};

/// The queueing discipline of an interface.
pub(super) const QDISCS: &[Counter] = &[
    c32("nic_queue_drops", "drops", "Packets that the queueing discipline dropped."),
    c64("qdisc_bytes", "bytes", "Bytes that the queueing discipline sent."),
    c64(
        "qdisc_packets",
        "packets",
        "Packets that the queueing discipline sent; 32 bits if the kernel reports no more.",
    ),
    c32("qdisc_overlimits", "overlimits", "How often a rate or limit delayed packets."),
    c32("qdisc_requeues", "requeues", "Packets that a busy device returned to the queue."),
    gauge("qdisc_backlog_bytes", "backlog", "Bytes in the queue."),
    gauge("qdisc_backlog_packets", "qlen", "Packets in the queue."),
];

/// A packet is a unit of the driver: with segmentation offload or GRO it can be several frames.
pub(super) const LINKS: &[Counter] = &[
    c64("interface_packets_sent", "tx_packets", "Packets sent."),
    c64("interface_packets_received", "rx_packets", "Packets received."),
    c64("interface_bytes_sent", "tx_bytes", "Bytes of packets sent."),
    c64("interface_bytes_received", "rx_bytes", "Bytes of packets received."),
    c64("ring_drops", "rx_missed_errors", "Frames dropped because the receive ring was full."),
    c64(
        "interface_receive_drops",
        "rx_dropped",
        "Received packets that the host dropped without processing them.",
    ),
    c64("interface_send_drops", "tx_dropped", "Outgoing packets that were dropped."),
    c64("interface_receive_errors", "rx_errors", "Frames received with errors."),
    c64("interface_send_errors", "tx_errors", "Frames that could not be sent."),
    c32("interface_carrier_changes", "carrier_changes", "How often the carrier came or went."),
];

pub(super) const ETHERNET: &[Counter] = &[
    gauge("interface_rate_mbps", "speed", "Rate of the link."),
    c64("interface_pause_frames_sent", "tx_pause_frames", "PAUSE frames sent."),
    c64("interface_pause_frames_received", "rx_pause_frames", "PAUSE frames received."),
];

pub(super) const SOFTNET: &[Counter] = &[
    c32("softnet_processed", "processed", "Packets processed on receipt by CPUs, all namespaces."),
    c32(
        "softnet_dropped",
        "dropped",
        "Packets dropped because a CPU's backlog was full (net.core.netdev_max_backlog).",
    ),
    c32(
        "softnet_time_squeezed",
        "time_squeeze",
        "How often a CPU had to stop with packets left because its budget was used up (net.core.netdev_budget).",
    ),
];
