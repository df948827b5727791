//! TCP, IP and UDP of the namespace, and its connections (`net/ipv4/proc.c`, `include/uapi/linux/snmp.h`,
//! `include/uapi/linux/tcp.h`).

use super::{Counter, c16, c32, c64, gauge, word};

/// Sums over all open connections. A connection that has been closed is no longer included.
pub(super) const FLOWS: &[Counter] = &[
    c32(
        "segments_sent",
        "data_segs_out",
        "Segments sent with payload, retransmissions included. The simulator also counts SYN and FIN.",
    ),
    c32("segments_received", "data_segs_in", "Segments received with payload."),
    c32(
        "acks_sent",
        "segs_out - data_segs_out",
        "Segments sent without payload, that is pure acknowledgments; at a connection's start and end also \
         SYN and FIN.",
    ),
    c64("bytes_sent", "bytes_sent", "Payload bytes sent, retransmissions included."),
    c64("bytes_received", "bytes_received", "Payload bytes received in order."),
    c64(
        "bytes_acked",
        "bytes_acked",
        "Bytes sent that the other end has acknowledged, SYN included.",
    ),
    c64("bytes_retransmitted", "bytes_retrans", "Payload bytes retransmitted."),
    c32("flow_segments_out", "segs_out", "All segments sent."),
    c32("flow_segments_in", "segs_in", "All segments received."),
    c32(
        "flow_segments_retransmitted",
        "total_retrans",
        "Segments retransmitted by open connections.",
    ),
    c16(
        "flow_timeouts",
        "total_rto",
        "Expiries of the retransmission timer of open connections (Linux 6.7 and later).",
    ),
    c32("flow_segments_delivered", "delivered", "Segments that the other end has acknowledged."),
    c32(
        "flow_segments_delivered_ce",
        "delivered_ce",
        "Acknowledged segments for which the other end echoed a congestion mark (RFC 3168, 6.1.2).",
    ),
    c32("flow_segments_out_of_order", "rcv_ooopack", "Segments received out of order."),
    c64("flow_busy_us", "busy_time", "Time with data outstanding or waiting to be sent."),
    c64(
        "flow_receiver_limited_us",
        "rwnd_limited",
        "Time in which the other end's receive window was the limit.",
    ),
    c64("flow_sender_limited_us", "sndbuf_limited", "Time in which the send buffer was the limit."),
];

pub(super) const SNMP: &[Counter] = &[
    word("segments_retransmitted", "Tcp RetransSegs", "All segments retransmitted, SYN included."),
    word(
        "tcp_segments_out",
        "Tcp OutSegs",
        "Segments sent, pure ACKs included, without segments that contain only retransmitted bytes.",
    ),
    word(
        "tcp_segments_in",
        "Tcp InSegs",
        "Segments received, also with errors; several segments merged by GRO count as one.",
    ),
    word("tcp_segments_in_error", "Tcp InErrs", "Segments received with errors."),
    word("tcp_checksum_errors", "Tcp InCsumErrors", "Segments received with a wrong checksum."),
    word("tcp_resets_sent", "Tcp OutRsts", "Segments sent with RST."),
    word("connections_opened", "Tcp ActiveOpens", "Connections opened by this host."),
    word("connections_accepted", "Tcp PassiveOpens", "Connections opened by other hosts."),
    word("connections_failed", "Tcp AttemptFails", "Connections that were never established."),
    word("connections_reset", "Tcp EstabResets", "Established connections that ended by a reset."),
    gauge("connections_established", "Tcp CurrEstab", "Connections in ESTABLISHED or CLOSE-WAIT."),
    c64("ip_packets_received", "Ip InReceives", "IP packets received, also with errors."),
    c64("ip_packets_delivered", "Ip InDelivers", "IP packets handed to TCP, UDP and others."),
    c64("ip_packets_sent", "Ip OutRequests", "IP packets created by this host."),
    c64(
        "ip_in_discards",
        "Ip InDiscards",
        "Received IP packets dropped for lack of memory or route.",
    ),
    c64("ip_out_discards", "Ip OutDiscards", "Outgoing IP packets that were dropped."),
    c64("ip_no_routes", "Ip OutNoRoutes", "Outgoing IP packets without a route."),
    word("udp_datagrams_received", "Udp InDatagrams", "UDP datagrams handed to sockets."),
    word("udp_datagrams_sent", "Udp OutDatagrams", "UDP datagrams sent."),
    word("udp_errors", "Udp InErrors", "Received UDP datagrams that were dropped."),
    word(
        "udp_receive_buffer_errors",
        "Udp RcvbufErrors",
        "Received UDP datagrams dropped because the buffer was full.",
    ),
];

pub(super) const NETSTAT: &[Counter] = &[
    word("timeouts", "TcpExt TCPTimeouts", "Expiries of the retransmission timer, SYN included."),
    word("fast_recoveries", "TcpExt TCPSackRecovery", "Times that fast recovery began, with SACK."),
    word(
        "fast_recoveries",
        "TcpExt TCPRenoRecovery",
        "Times that fast recovery began, without SACK.",
    ),
    word("loss_probes", "TcpExt TCPLossProbes", "Tail loss probes sent (RFC 8985, 7)."),
    word(
        "loss_probe_recoveries",
        "TcpExt TCPLossProbeRecovery",
        "Losses that a tail loss probe repaired.",
    ),
    word(
        "undone_reductions",
        "TcpExt TCPFullUndo",
        "Window reductions undone because all retransmissions were unnecessary.",
    ),
    word(
        "undone_reductions",
        "TcpExt TCPPartialUndo",
        "Window reductions undone by a partial ACK.",
    ),
    word(
        "undone_reductions",
        "TcpExt TCPDSACKUndo",
        "Window reductions undone because DSACK reported duplicates.",
    ),
    word("undone_reductions", "TcpExt TCPLossUndo", "Window reductions undone after a timeout."),
    word(
        "spurious_timeouts",
        "TcpExt TCPSpuriousRTOs",
        "Timeouts detected as unnecessary (RFC 5682).",
    ),
    word("retransmissions_lost", "TcpExt TCPLostRetransmit", "Retransmissions that were lost."),
    word(
        "fast_retransmissions",
        "TcpExt TCPFastRetrans",
        "Segments retransmitted in fast recovery.",
    ),
    word(
        "slow_start_retransmissions",
        "TcpExt TCPSlowStartRetrans",
        "Segments retransmitted after a timeout.",
    ),
    word("syn_retransmissions", "TcpExt TCPSynRetrans", "SYN and SYN-ACK retransmitted."),
    word(
        "retransmission_failures",
        "TcpExt TCPRetransFail",
        "Retransmissions that this host dropped.",
    ),
    word("segments_out_of_order", "TcpExt TCPOFOQueue", "Segments queued out of order."),
    word(
        "out_of_order_drops",
        "TcpExt TCPOFODrop",
        "Out-of-order segments dropped because memory ran out.",
    ),
    word(
        "dsacks_sent",
        "TcpExt TCPDSACKOldSent",
        "DSACKs sent for duplicates of data in order (RFC 2883).",
    ),
    word(
        "dsacks_sent",
        "TcpExt TCPDSACKOfoSent",
        "DSACKs sent for duplicates of out-of-order data.",
    ),
    word("dsacks_received", "TcpExt TCPDSACKRecv", "DSACKs received for data below the ACK."),
    word("dsacks_received", "TcpExt TCPDSACKOfoRecv", "DSACKs received for data above the ACK."),
    word(
        "dsacked_segments_received",
        "TcpExt TCPDSACKRecvSegs",
        "Segments that other hosts reported as duplicates.",
    ),
    word("reorderings_detected", "TcpExt TCPSACKReorder", "Reordering detected by SACK."),
    word("reorderings_detected", "TcpExt TCPRenoReorder", "Reordering detected without SACK."),
    word("reorderings_detected", "TcpExt TCPTSReorder", "Reordering detected by a timestamp."),
    word("delayed_acks_sent", "TcpExt DelayedACKs", "ACKs sent by the delayed-ACK timer."),
    word("acks_compressed", "TcpExt TCPAckCompressed", "ACKs saved by SACK compression."),
    word(
        "original_segments_sent",
        "TcpExt TCPOrigDataSent",
        "Segments sent with payload for the first time.",
    ),
    word(
        "segments_delivered",
        "TcpExt TCPDelivered",
        "Segments that other hosts have acknowledged.",
    ),
    word(
        "segments_delivered_ce",
        "TcpExt TCPDeliveredCE",
        "Acknowledged segments for which the other end echoed a congestion mark (RFC 3168, 6.1.2).",
    ),
    word(
        "hystart_exits",
        "TcpExt TCPHystartTrainDetect",
        "Slow start ended because of a train of ACKs.",
    ),
    word("hystart_exits", "TcpExt TCPHystartDelayDetect", "Slow start ended because of delay."),
    word("window_probes", "TcpExt TCPWinProbe", "Zero-window probes sent."),
    word(
        "zero_windows_advertised",
        "TcpExt TCPToZeroWindowAdv",
        "Times that a connection closed its receive window.",
    ),
    word(
        "socket_backlog_drops",
        "TcpExt TCPBacklogDrop",
        "Segments dropped because the backlog was full.",
    ),
    word(
        "receive_queue_drops",
        "TcpExt TCPRcvQDrop",
        "Segments dropped because the receive queue was full.",
    ),
    word(
        "zero_window_drops",
        "TcpExt TCPZeroWindowDrop",
        "Segments dropped because the window was closed.",
    ),
    word(
        "listen_overflows",
        "TcpExt ListenOverflows",
        "Connections rejected because the accept queue was full.",
    ),
    word("listen_drops", "TcpExt ListenDrops", "SYNs dropped by listeners, for any reason."),
    word("connections_timed_out", "TcpExt TCPAbortOnTimeout", "Connections aborted by a timer."),
    c64("ip_bytes_received", "IpExt InOctets", "Bytes of IP packets received, headers included."),
    c64("ip_bytes_sent", "IpExt OutOctets", "Bytes of IP packets sent, headers included."),
    c64("ip_packets_not_ect", "IpExt InNoECTPkts", "Received packets without ECT (RFC 3168, 5)."),
    c64("ip_packets_ect0", "IpExt InECT0Pkts", "Received packets with ECT(0)."),
    c64("ip_packets_ect1", "IpExt InECT1Pkts", "Received packets with ECT(1)."),
    c64("ip_packets_ce", "IpExt InCEPkts", "Received packets with a congestion mark (CE)."),
];
