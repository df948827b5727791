//! Counters by their names in records.

use netstudy_tcp::Counters;
use netstudy_units::Duration;
use netstudy_units::headers::ETHERNET_CHECK_BYTES;

use crate::measure::Snapshot;
use crate::network::{Carried, EndCounters, NicCounters};
use crate::wiring::{ReceiveKind, Wiring};

/// TCP counters of a host.
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

/// Drop and pause counters of an interface.
pub(crate) fn of_interface(end: &EndCounters) -> [(&'static str, u64); 4] {
    [
        ("nic_queue_drops", end.nic.queue_drops),
        ("ring_drops", end.nic.ring_drops),
        ("pauses_sent", end.pauses.pauses_sent),
        ("pauses_received", end.pauses.pauses_received),
    ]
}

/// Packet and byte counters of an interface: packets with the header of Ethernet and its padding, as the kernel counts
/// them.
pub(crate) fn of_packets(end: &EndCounters) -> [(&'static str, u64); 4] {
    let bytes =
        |carried: &Carried| carried.bytes - u64::from(ETHERNET_CHECK_BYTES) * carried.frames;
    let NicCounters { sent, received, .. } = &end.nic;
    [
        ("interface_bytes_sent", bytes(sent)),
        ("interface_packets_sent", sent.frames),
        ("interface_bytes_received", bytes(received)),
        ("interface_packets_received", received.frames),
    ]
}

/// The CPUs of a host: one for each interface whose frames cost CPU time, and one for packets between
/// its own processes, which cost the same as at its first interface.
#[derive(Debug)]
pub(crate) struct Cpus {
    /// By the number of the interface's end of its link.
    at_links: Vec<(usize, ReceiveKind)>,
    /// With the number of the host.
    inside: Option<(usize, ReceiveKind)>,
}

impl Cpus {
    /// The CPUs of the host `node`; none: frames cost it no CPU time.
    pub(crate) fn of_host(wiring: &Wiring, node: usize) -> Option<Self> {
        let interfaces = wiring.interfaces_of(node).map(|(at, kind)| (at, kind.receive));
        let mut costly = interfaces.clone().filter(|(_, kind)| kind.has_cpu_cost());
        let at_links: Vec<_> = costly.by_ref().map(|(at, kind)| (at.number(), kind)).collect();
        let first = interfaces.map(|(_, kind)| kind).next();
        let inside = first.filter(|kind| kind.has_cpu_cost() && wiring.carries_inside(node));
        let inside = inside.map(|kind| (node, kind));
        (!at_links.is_empty()).then_some(Self { at_links, inside })
    }

    /// How many there are.
    pub(crate) fn count(&self) -> f64 {
        (self.at_links.len() + usize::from(self.inside.is_some())) as f64
    }

    /// Busy time of the CPUs.
    pub(crate) fn counters(&self, counted: &Snapshot) -> [(&'static str, u64); 1] {
        let at_links =
            self.at_links.iter().map(|(end, kind)| kind.busy(&counted.ends[*end].nic.received));
        let inside = self.inside.iter().filter_map(|(node, kind)| {
            counted.inside.get(node).map(|received| kind.busy(received))
        });
        let busy = at_links.chain(inside).fold(Duration::ZERO, |sum, busy| sum + busy);
        [("host_cpu_ns", busy.as_ns())]
    }
}

/// Counters of a switch port.
pub(crate) fn of_port(end: &EndCounters) -> [(&'static str, u64); 11] {
    let (port, received, pauses) = (&end.port, &end.port_received, &end.pauses);
    [
        ("frames_received", received.frames),
        ("bytes_received", received.bytes),
        ("frames_forwarded", port.frames_forwarded),
        ("bytes_forwarded", port.bytes_forwarded),
        ("frames_dropped", port.frames_dropped),
        ("bytes_dropped", port.bytes_dropped),
        ("frames_marked", port.frames_marked),
        ("pauses_sent", pauses.pauses_sent),
        ("pauses_received", pauses.pauses_received),
        ("queue_bytes", end.queue_bytes),
        ("queue_bytes_max", end.queue_bytes_max),
    ]
}
