//! Lists counters with the names that they have in the record of a run.

use std::borrow::Cow;
use std::iter;

use netstudy_path::PathCounters;
use netstudy_records::FRAMES_RECEIVED_BY_SIZE;
use netstudy_tcp::Counters;
use netstudy_units::Duration;
use netstudy_units::headers::ETHERNET_CHECK_BYTES;

use crate::host::stations::StationCounters;
use crate::snapshot::{Carried, EndCounters, FlowTimes, NicCounters, Snapshot};
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

/// Times of a host's senders, with the names of Linux's counters.
pub(crate) fn of_flows(flows: &FlowTimes) -> [(&'static str, u64); 3] {
    [
        ("flow_busy_us", flows.busy_ns / 1000),
        ("flow_receiver_limited_us", flows.receiver_limited_ns / 1000),
        ("flow_sender_limited_us", flows.sender_limited_ns / 1000),
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

/// Packet and byte counters of an interface. The bytes include the Ethernet header and padding,
/// like the kernel's counters.
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

/// The CPUs of a host. A host without stations has one CPU for each interface whose frames cost CPU
/// time, and one for packets between its own processes.
#[derive(Debug)]
pub(crate) struct Cpus {
    /// For each interface: the number of the link end to which it is attached, and the costs of its
    /// CPU.
    at_links: Vec<(usize, ReceiveKind)>,
    /// For packets between the host's own processes: the node of the host, and the costs of the
    /// CPU.
    inside: Option<(usize, ReceiveKind)>,
    /// For a host with stations: its node and number of CPUs.
    stationed: Option<(usize, u32)>,
}

impl Cpus {
    /// The CPUs of the host `node`; none if frames cost no CPU time there.
    pub(crate) fn of_host(wiring: &Wiring, node: usize) -> Option<Self> {
        if let Some(cpus) = wiring.stations(node).and_then(|stations| stations.borrow().cpus()) {
            return Some(Self {
                at_links: Vec::new(),
                inside: None,
                stationed: Some((node, cpus)),
            });
        }
        let interfaces = wiring.interfaces_of(node).map(|(at, kind)| (at.number(), kind.receive));
        let at_links: Vec<_> = interfaces.filter(|(_, kind)| kind.has_cpu_cost()).collect();
        let inside = wiring.inside(node).map(|kind| (node, kind.receive));
        let inside = inside.filter(|(_, kind)| kind.has_cpu_cost());
        (!at_links.is_empty() || inside.is_some()).then_some(Self {
            at_links,
            inside,
            stationed: None,
        })
    }

    /// Number of CPUs.
    pub(crate) fn count(&self) -> f64 {
        let of_interfaces = self.at_links.len() + usize::from(self.inside.is_some());
        self.stationed.map_or(of_interfaces as f64, |(_, cpus)| f64::from(cpus))
    }

    /// Busy time of all CPUs together, and of each of them.
    pub(crate) fn counters(&self, counted: &Snapshot) -> Vec<(Cow<'static, str>, u64)> {
        let at_links =
            self.at_links.iter().map(|(end, kind)| kind.busy(&counted.ends[*end].nic.received));
        let inside = self.inside.iter().filter_map(|(node, kind)| {
            counted.inside.get(node).map(|received| kind.busy(received))
        });
        let stationed = self.stationed.iter().filter_map(|(node, _)| counted.stations.get(node));
        let stationed = stationed.flat_map(|stations| stations.cpus.iter().copied());
        let each: Vec<Duration> = at_links.chain(inside).chain(stationed).collect();
        let all = each.iter().fold(Duration::ZERO, |sum, busy| sum + *busy);
        let each = each.iter().enumerate();
        let each = each.map(|(cpu, busy)| (format!("cpu_busy_ns.{cpu}").into(), busy.as_ns()));
        iter::once((Cow::Borrowed("host_cpu_ns"), all.as_ns())).chain(each).collect()
    }
}

/// Counters of a switch port.
pub(crate) fn of_port(end: &EndCounters) -> [(&'static str, u64); 18] {
    let (port, received, pauses) = (&end.port, &end.port_received, &end.pauses);
    let (name, sizes) = (FRAMES_RECEIVED_BY_SIZE, end.port_received_sizes.frames());
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
        (name[0], sizes[0]),
        (name[1], sizes[1]),
        (name[2], sizes[2]),
        (name[3], sizes[3]),
        (name[4], sizes[4]),
        (name[5], sizes[5]),
        (name[6], sizes[6]),
    ]
}

/// Counters of frames that an end sends on a link that is not perfect.
pub(crate) fn of_path(path: &PathCounters) -> [(&'static str, u64); 3] {
    [
        ("link_frames_lost", path.frames_lost),
        ("link_frames_duplicated", path.frames_duplicated),
        ("link_frames_reordered", path.frames_reordered),
    ]
}

/// Counters of the buses, the disk and the permits of a host. A host without one of them has no
/// counter of it.
pub(crate) fn of_stations(counted: &StationCounters) -> Vec<(&'static str, u64)> {
    let StationCounters { memory_bus, io_bus, disk_busy, disk_bytes, permits, .. } = counted;
    let memory = memory_bus.iter().flat_map(|bus| {
        [("memory_bus_busy_ns", bus.busy.as_ns()), ("memory_bus_bytes", bus.bytes)]
    });
    let io = io_bus
        .iter()
        .flat_map(|bus| [("io_bus_busy_ns", bus.busy.as_ns()), ("io_bus_bytes", bus.bytes)]);
    let busy = disk_busy.iter().map(|busy| ("disk_busy_ns", busy.as_ns()));
    let bytes = disk_bytes
        .iter()
        .flat_map(|[read, written]| [("disk_read_bytes", *read), ("disk_written_bytes", *written)]);
    let permits = permits.iter().flat_map(|(kind, times)| {
        let [busy, waiting] = kind.counters();
        [(busy, times.busy_ns), (waiting, times.waiting_ns)]
    });
    memory.chain(io).chain(busy).chain(bytes).chain(permits).collect()
}
