//! Switches of a network with their forwarding tables, in closed form or event-driven.

use netstudy_fabric::queue::{ClassStatistics, GrantedPort};
use netstudy_fabric::stepped::Stepped;
use netstudy_fabric::{
    AnyArchitecture, AnyBuffer, FromConfig, Link, PauseCounters, PortCounters, SwitchBuffer,
    SwitchSetup,
};
use netstudy_random::Stream;
use netstudy_units::{Duration, Time};

use super::granting::Granting;
use super::packets::Packet;
use crate::wiring::Wiring;

/// The state of a switch.
pub(super) struct Switch {
    pub(super) form: Form,
    pub(super) latency: Duration,
    pub(super) arbitration: Stream,
    /// For each interface of the network, by number: the port through which it is reached.
    pub(super) egress: Box<[u32]>,
    /// For each port, by number: the wire on which it sends.
    pub(super) wires: Box<[u32]>,
    /// Seed of the random order of ports at equal times.
    pub(super) salt: u64,
    /// Number of ports of all switches with lower numbers. Trace points number the ports of all
    /// switches consecutively.
    pub(super) first_port: usize,
}

/// How a switch is simulated.
pub(super) enum Form {
    /// The departure time of a frame is known when the frame enters, or when its egress chooses it.
    Closed {
        buffer: AnyBuffer<Packet>,
        counters: Box<[PortCounters]>,
        /// The ports that have a queue discipline; none: no port has one.
        granting: Option<Box<Granting>>,
    },
    /// Ports may pause, so every step is an event.
    Stepped(Box<Stepped<Packet, AnyArchitecture<Packet>>>),
}

/// The egress for interfaces that cannot be reached from the switch.
const NO_PORT: u32 = u32::MAX;

impl Switch {
    /// Creates the switch with the number `index`. If `steps`, it is event-driven at every step.
    pub(super) fn new(wiring: &Wiring, index: usize, steps: bool, seed: &str) -> Self {
        let (topology, kind) = (&wiring.topology, &wiring.switches[index]);
        let node = &topology.switches()[index];
        let links: Vec<Link> = node.ports.iter().map(|&port| topology.link(port)).collect();
        let ingress = |port: u32| topology.link(node.ports[port as usize].far());
        let setup = SwitchSetup {
            links: &links,
            marked_above_bytes: kind.ecn_threshold_bytes,
            reserved_bytes: &|port| kind.reserved_bytes(&ingress(port)),
        };
        let form = if steps {
            let architecture = AnyArchitecture::from_config(&kind.buffer, &setup);
            let mut stepped = Box::new(Stepped::new(&links, architecture, kind.pause));
            for (port, queue) in (0..).zip(&kind.queues) {
                if let Some(queue) = queue {
                    stepped.set_queue(port, queue);
                }
            }
            Form::Stepped(stepped)
        } else {
            let counters = vec![PortCounters::default(); links.len()].into();
            let granting = Granting::new(&kind.queues, &links, &kind.buffer);
            Form::Closed {
                buffer: AnyBuffer::from_config(&kind.buffer, &setup),
                counters,
                granting,
            }
        };
        let interfaces = 0..topology.interfaces().len();
        Self {
            form,
            latency: kind.latency,
            arbitration: Stream::new(seed, &format!("{}/arbitration", kind.name)),
            egress: interfaces.map(|to| node.egress(to).unwrap_or(NO_PORT)).collect(),
            wires: node.ports.iter().map(|port| port.number() as u32).collect(),
            salt: Stream::new(seed, &format!("{}/arrivals", kind.name)).bits(),
            first_port: topology.switches()[..index].iter().map(|switch| switch.ports.len()).sum(),
        }
    }

    /// Time of the next step.
    #[inline]
    pub(super) fn next_step(&self) -> Time {
        match &self.form {
            Form::Closed { buffer, granting: None, .. } => buffer.next_grant(),
            Form::Closed { buffer, granting: Some(granting), .. } => {
                buffer.next_grant().min(granting.next())
            }
            Form::Stepped(stepped) => stepped.next_step(),
        }
    }

    pub(super) fn counters(&self, port: u32) -> PortCounters {
        match &self.form {
            Form::Closed { counters, .. } => {
                self.granting(port).map_or(counters[port as usize], GrantedPort::counters)
            }
            Form::Stepped(stepped) => stepped.counters(port),
        }
    }

    /// The counters of the queue discipline of a port by class; none if it has no discipline.
    pub(super) fn classes(&self, port: u32) -> &[ClassStatistics] {
        match &self.form {
            Form::Closed { .. } => self.granting(port).map_or(&[], GrantedPort::classes),
            Form::Stepped(stepped) => stepped.classes(port),
        }
    }

    /// The port, if it chooses frames by a queue discipline, each by an event.
    fn granting(&self, port: u32) -> Option<&GrantedPort<Packet>> {
        match &self.form {
            Form::Closed { granting: Some(granting), .. } => granting.port(port),
            _ => None,
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
            Form::Closed { buffer, .. } => self
                .granting(port)
                .map_or_else(|| buffer.queue_bytes_max(port), GrantedPort::queue_bytes_max),
            Form::Stepped(stepped) => stepped.queue_bytes_max(port),
        }
    }

    pub(super) fn queue_bytes(&self, port: u32, now: Time) -> u64 {
        match &self.form {
            Form::Closed { buffer, .. } => self
                .granting(port)
                .map_or_else(|| buffer.queue_bytes(port, now), |queue| queue.queue_bytes(now)),
            Form::Stepped(stepped) => stepped.queue_bytes(port),
        }
    }
}
