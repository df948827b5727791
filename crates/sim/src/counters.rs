//! The names of what is counted, as records have them.

use netstudy_tcp::Counters;

use crate::network::EndCounters;

/// What the TCP of a host counts.
pub(crate) fn of_host(c: &Counters) -> [(&'static str, u64); 13] {
    [
        ("segments_sent", c.segments_sent),
        ("segments_received", c.segments_received),
        ("segments_retransmitted", c.segments_retransmitted),
        ("timeouts", c.timeouts),
        ("fast_recoveries", c.fast_recoveries),
        ("loss_probes", c.loss_probes),
        ("loss_probe_recoveries", c.loss_probe_recoveries),
        ("undone_reductions", c.undone_reductions),
        ("acks_sent", c.acks_sent),
        ("duplicate_acks_received", c.duplicate_acks_received),
        ("ece_acks_received", c.ece_acks_received),
        ("bytes_sent", c.bytes_sent),
        ("bytes_received", c.bytes_received),
    ]
}

/// What an interface counts.
pub(crate) fn of_interface(end: &EndCounters) -> [(&'static str, u64); 4] {
    [
        ("nic_queue_drops", end.nic.queue_drops),
        ("ring_drops", end.nic.ring_drops),
        ("pauses_sent", end.pauses.pauses_sent),
        ("pauses_received", end.pauses.pauses_received),
    ]
}

/// What the port of a switch counts.
pub(crate) fn of_port(end: &EndCounters) -> [(&'static str, u64); 8] {
    let (port, pauses) = (&end.port, &end.pauses);
    [
        ("frames_forwarded", port.frames_forwarded),
        ("bytes_forwarded", port.bytes_forwarded),
        ("frames_dropped", port.frames_dropped),
        ("bytes_dropped", port.bytes_dropped),
        ("frames_marked", port.frames_marked),
        ("pauses_sent", pauses.pauses_sent),
        ("pauses_received", pauses.pauses_received),
        ("queue_bytes_max", end.queue_bytes_max),
    ]
}
