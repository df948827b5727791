//! Switches of a network: where they forward to, and in which form they are carried out.

use netstudy_fabric::stepped::Stepped;
use netstudy_fabric::topology::Topology;
use netstudy_fabric::{
    AnyArchitecture, AnyBuffer, CUT_THROUGH_BYTES, Link, PauseCounters, PortCounters, SwitchBuffer,
    SwitchSetup, ethernet,
};
use netstudy_random::Stream;
use netstudy_units::{Duration, Time};

use super::packets::Packet;
use crate::wiring::SwitchKind;

/// A switch at work.
pub(super) struct Switch {
    pub(super) form: Form,
    pub(super) latency: Duration,
    pub(super) arbitration: Stream,
    /// By interface: the port that leads to it.
    pub(super) egress: Box<[u32]>,
    /// By port: the wire that it sends by.
    pub(super) wires: Box<[u32]>,
    /// What the order of its ports at equal times is drawn with.
    pub(super) salt: u64,
}

/// How a switch is carried out.
pub(super) enum Form {
    /// When a frame leaves is known when it enters, or when its egress chooses it.
    Closed { buffer: AnyBuffer<Packet>, counters: Box<[PortCounters]> },
    /// Ports may pause.
    Stepped(Box<Stepped<Packet, AnyArchitecture<Packet>>>),
}

/// Of a packet for an interface that no path leads to from here: there is none.
const NO_PORT: u32 = u32::MAX;

impl Switch {
    /// The switch number `index` of `topology`, step by step if `steps`; `cuts_through` says by port
    /// whether frames may leave before they are in whole.
    pub(super) fn new(
        topology: &Topology,
        index: usize,
        kind: &SwitchKind,
        cuts_through: &[bool],
        steps: bool,
        seed: &str,
    ) -> Self {
        let node = &topology.switches()[index];
        let links: Vec<Link> = node.ports.iter().map(|&port| topology.link(port)).collect();
        let mtus = node.ports.iter().map(|port| topology.cables()[port.cable].mtu_bytes);
        let largest = ethernet::frame_bytes(mtus.max().unwrap_or(0));
        let setup = SwitchSetup {
            links: &links,
            marked_above_bytes: kind.ecn_threshold_bytes,
            reserved_bytes: &|port| if cuts_through[port as usize] { largest } else { 0 },
        };
        let form = if steps {
            let architecture = AnyArchitecture::new(&kind.buffer, &setup);
            Form::Stepped(Box::new(Stepped::new(&links, architecture, kind.pause)))
        } else {
            let counters = vec![PortCounters::default(); links.len()].into();
            Form::Closed { buffer: AnyBuffer::new(&kind.buffer, &setup), counters }
        };
        let interfaces = 0..topology.interfaces().len();
        Self {
            form,
            latency: kind.latency,
            arbitration: Stream::new(seed, &format!("{}/arbitration", kind.name)),
            egress: interfaces.map(|to| node.egress(to).unwrap_or(NO_PORT)).collect(),
            wires: node.ports.iter().map(|port| port.number() as u32).collect(),
            salt: Stream::new(seed, &format!("{}/arrivals", kind.name)).bits(),
        }
    }

    /// When it next does something by itself.
    #[inline]
    pub(super) fn next_step(&self) -> Time {
        match &self.form {
            Form::Closed { buffer, .. } => buffer.next_grant(),
            Form::Stepped(stepped) => stepped.next_step(),
        }
    }

    pub(super) fn counters(&self, port: u32) -> PortCounters {
        match &self.form {
            Form::Closed { counters, .. } => counters[port as usize],
            Form::Stepped(stepped) => *stepped.counters(port),
        }
    }

    pub(super) fn pauses(&self, port: u32) -> PauseCounters {
        match &self.form {
            Form::Closed { .. } => PauseCounters::default(),
            Form::Stepped(stepped) => *stepped.pauses(port),
        }
    }

    pub(super) fn queue_bytes_max(&self, port: u32) -> u64 {
        match &self.form {
            Form::Closed { buffer, .. } => buffer.queue_bytes_max(port),
            Form::Stepped(stepped) => stepped.queue_bytes_max(port),
        }
    }
}

/// By port of the switch number `index`: whether frames that enter there may leave before they are in
/// whole. No egress may be faster than that ingress, or it would run out of bits.
pub(super) fn cuts_through(topology: &Topology, index: usize, kind: &SwitchKind) -> Vec<bool> {
    let ports = &topology.switches()[index].ports;
    let fastest = ports.iter().map(|&port| topology.link(port).rate()).max();
    let enters = |port: &netstudy_fabric::topology::CableEnd| topology.link(port.far()).rate();
    ports.iter().map(|port| kind.cut_through && Some(enters(port)) >= fastest).collect()
}

/// When a switch can judge a frame whose last bit leaves the other end of `link` at `departs`, but for
/// the delay.
#[inline(always)]
pub(super) fn judged(link: &Link, cuts_through: bool, departs: Time, frame_bytes: u32) -> Time {
    if !cuts_through {
        return departs;
    }
    let rest = link.serialization(frame_bytes) - link.serialization(CUT_THROUGH_BYTES);
    departs.saturating_sub(rest)
}
