//! Turns the network of a plan into a graph, interfaces, switches and TCP configurations.

mod queues;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use netstudy_fabric::stepped::PausePolicy;
use netstudy_fabric::topology::{
    Attachment, Cable, CableEnd, Graph, Port, Route, Side, Topology, TopologyError,
};
use netstudy_fabric::{BufferConfig, Link, PauseThresholds, ethernet};
use netstudy_path::Path;
use netstudy_random::Stream;
use netstudy_records as records;
use netstudy_records::Modelled;
use netstudy_tcp::{
    Bbr, Bic, Config, Congestion, Cubic, Dctcp, OffloadRule, Recovery, Reno, RtoRule, Segment,
    WindowRule,
};
use netstudy_units::{Duration, Rate, Serializer};

use crate::account::{MaybeTrace, Trace};
use crate::host::stations::{Shared, Stations};
use crate::snapshot::Carried;

/// The network of a run, and the participants of its workload.
#[derive(Clone, Debug)]
pub(crate) struct Wiring {
    pub(crate) topology: Topology,
    /// All interfaces, by number.
    pub(crate) interfaces: Vec<InterfaceKind>,
    /// All switches, by number.
    pub(crate) switches: Vec<SwitchKind>,
    /// For each link end, by number: loss, duplicates and random delay of the frames that it sends;
    /// none: a perfect link.
    pub(crate) paths: Vec<Option<Box<Path>>>,
    /// The participants that the roles of the workload name. Each has one application.
    pub(crate) members: Vec<Member>,
    /// The route of each connection.
    pub(crate) routes: Vec<Route>,
    /// For each connection: the code points of the packets that its two ends send.
    dscps: Vec<[u8; 2]>,
    /// For each host, by its node: the path of packets that stay inside of the host.
    local_paths: BTreeMap<usize, LocalPath>,
    /// For each host with stations, by its node: the stations.
    stations: BTreeMap<usize, Shared>,
    /// Where the time of units of work goes, if the run is traced.
    pub(crate) trace: MaybeTrace,
    /// Number of connections that carry files; these have the lowest numbers. On these connections,
    /// the CPU time for copying is accounted for by the application, not per packet.
    pub(crate) file_connections: usize,
}

/// The path of packets between endpoints of one host.
#[derive(Clone, Debug)]
struct LocalPath {
    /// The costs of the path, represented as those of an interface without a wire.
    interface: InterfaceKind,
    mtu_bytes: u32,
}

/// A participant of a workload, as its roles name it: `node`, or `node@interface`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Participant {
    pub(crate) role: String,
    /// The name of the random number streams of this participant: its role, and its number in the
    /// role.
    pub(crate) stream: String,
}

/// A host or zone with an application.
#[derive(Clone, Debug)]
pub(crate) struct Member {
    /// The name of its random number streams.
    pub(crate) stream: String,
    /// Its node, and the interface of the node that it uses.
    pub(crate) side: Side,
    shares_clock: bool,
    tcp: Config,
    window_rule: WindowRule,
    /// Code point of the packets that it sends.
    dscp: u8,
}

/// An interface of a host, at one end of a link.
#[derive(Clone, Debug)]
pub(crate) struct InterfaceKind {
    /// The name of its random number streams.
    pub(crate) stream: String,
    /// The link, in the direction in which the interface sends.
    pub(crate) link: Link,
    pub(crate) send_latency: Duration,
    pub(crate) receive: ReceiveKind,
    /// PAUSE policy. The thresholds are numbers of frames in the ring.
    pub(crate) pause: PausePolicy,
    pub(crate) transmit_queue_frames: usize,
    /// True if TCP keeps its segments while the interface's queue is full; if false, the interface
    /// drops them.
    pub(crate) holds_back: bool,
    /// The discipline of the frames that wait to be sent; none: first in, first out.
    pub(crate) queue: Option<records::Queue>,
}

/// A switch.
#[derive(Clone, Debug)]
pub(crate) struct SwitchKind {
    /// The name of the switch and of its random number streams.
    pub(crate) name: String,
    pub(crate) buffer: BufferConfig,
    pub(crate) latency: Duration,
    /// PAUSE policy. The thresholds are bytes that an ingress has in the buffer.
    pub(crate) pause: PausePolicy,
    /// Frames that arrive when the queue is longer than this are marked.
    pub(crate) ecn_threshold_bytes: u64,
    /// For each port, by number: its queue discipline; none: as the buffer says.
    pub(crate) queues: Vec<Option<records::Queue>>,
    cut_through: bool,
    /// The highest rate of all egress ports.
    fastest: Rate,
    /// The largest MTU of all links.
    mtu_bytes_max: u32,
}

/// How an interface and its host receive frames.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReceiveKind {
    /// Latency from the CPU to TCP.
    pub(crate) latency: Duration,
    /// Mean of the random time that is added to `latency`.
    pub(crate) jitter: Duration,
    /// CPU time per frame.
    pub(crate) per_frame: Duration,
    /// Rate at which the CPU handles bytes.
    pub(crate) rate: Option<Serializer>,
    /// Number of descriptors in the ring.
    pub(crate) ring_frames: usize,
    /// Number of descriptors that are returned to the ring together.
    pub(crate) refill_frames: usize,
    /// Minimum time between two sent frames, and between two received frames.
    pub(crate) frame_interval: Duration,
    /// Time from taking in a frame while the CPU is idle until the CPU begins to poll.
    pub(crate) interrupt_delay: Duration,
    /// Maximum number of frames in a batch.
    pub(crate) batch_frames: Option<u32>,
    /// Maximum payload of a merged segment; if 0, segments are not merged.
    pub(crate) merge_bytes: u32,
}

impl ReceiveKind {
    /// Whether the interface has a packet rate or a finite ring.
    fn is_limited(&self) -> bool {
        self.ring_frames < usize::MAX || self.frame_interval > Duration::ZERO
    }

    /// Whether receiving a frame takes no time, apart from the ring and `latency`.
    pub(crate) fn costs_no_time(&self) -> bool {
        self.per_frame == Duration::ZERO
            && self.rate.is_none()
            && self.interrupt_delay == Duration::ZERO
            && self.jitter == Duration::ZERO
    }

    /// Whether frames cost CPU time.
    pub(crate) fn has_cpu_cost(&self) -> bool {
        self.per_frame > Duration::ZERO || self.rate.is_some()
    }

    /// Total CPU time of these frames.
    pub(crate) fn busy(&self, frames: &Carried) -> Duration {
        let per_byte = self.rate.map_or(0, |rate| {
            8 * u128::from(frames.bytes) * u128::from(Duration::from_secs(1).as_ps())
                / u128::from(rate.rate().as_bps())
        });
        self.per_frame * frames.frames + Duration::from_ps(per_byte as u64)
    }

    /// CPU time of one frame.
    pub(crate) fn cpu_time(&self, frame_bytes: u32) -> Duration {
        self.per_frame + self.rate.map_or(Duration::ZERO, |rate| rate.time(frame_bytes))
    }
}

/// A star: members with one interface each, around one switch. Member i is at port i.
#[derive(Clone, Debug)]
pub(crate) struct Star<'a> {
    pub(crate) switch: &'a SwitchKind,
    pub(crate) lines: Vec<Line<'a>>,
    /// Number of link ends in the network.
    pub(crate) cable_ends: usize,
}

/// The two directions of the link of a member.
#[derive(Clone, Debug)]
pub(crate) struct Line<'a> {
    pub(crate) interface: &'a InterfaceKind,
    /// The link end of the interface.
    pub(crate) at: CableEnd,
    /// The direction from the switch to the interface.
    pub(crate) down: Link,
}

impl Wiring {
    /// The wiring of a run, or an error if the plan is inconsistent. `connections` are pairs of
    /// member numbers. `works_at` returns whether applications use CPU time of the host with this
    /// name.
    pub(crate) fn new(
        run: &records::Run,
        participants: &[Participant],
        connections: &[[usize; 2]],
        works_at: impl Fn(&str) -> bool,
    ) -> Result<Self, String> {
        let topology = topology(&run.network)?;
        let switches = topology.switches().iter().enumerate();
        let switches = switches
            .map(|(number, switch)| SwitchKind::new(&run.network, &topology, number, switch.node))
            .collect::<Result<_, _>>()?;
        let members = participants
            .iter()
            .map(|participant| Member::new(&run.network, &topology, participant))
            .collect::<Result<Vec<_>, _>>()?;
        let interfaces = (0..topology.interfaces().len())
            .map(|number| InterfaceKind::new(&run.network, &topology, &members, number))
            .collect::<Result<Vec<_>, _>>()?;
        let routes = connections
            .iter()
            .map(|&[from, to]| topology.route(members[from].side, members[to].side))
            .collect::<Result<Vec<_>, _>>()
            .map_err(|error| error.to_string())?;
        let local_paths = local_paths(run, &topology, &interfaces, &routes)?;
        let stations = stations(run, &topology, works_at)?;
        let wiring = Self {
            topology,
            interfaces,
            switches,
            dscps: connections.iter().map(|ends| ends.map(|member| members[member].dscp)).collect(),
            paths: paths(run)?,
            members,
            routes,
            local_paths,
            stations,
            trace: MaybeTrace::default(),
            file_connections: 0,
        };
        // TCP configurations are checked here because this needs the MTU of each path, which is
        // known only now.
        for (connection, ends) in connections.iter().enumerate() {
            for &member in ends {
                let tcp = wiring.tcp(member, connection, &run.seed);
                tcp.check()
                    .map_err(|why| format!("the TCP of {}: {why}", wiring.name_of(member)))?;
            }
        }
        Ok(wiring)
    }

    /// Lets a trace follow the work of all stations.
    pub(crate) fn set_trace(&mut self, mut trace: Trace) {
        let at_work = |(&node, stations): (&usize, &Shared)| {
            trace.add_host_work(node, stations.borrow().count())
        };
        let numbers: Vec<_> = self.stations.iter().map(at_work).collect();
        self.trace = MaybeTrace::of(Rc::new(RefCell::new(trace)));
        for (stations, number) in self.stations.values().zip(numbers) {
            stations.borrow_mut().set_trace(self.trace.clone(), number);
        }
    }

    /// The TCP configuration of a member at one of its connections. The clock of each member has
    /// its own random phase, unless all hosts share one clock.
    pub(crate) fn tcp(&self, member: usize, connection: usize, seed: &str) -> Config {
        let Member { stream, shares_clock, tcp, window_rule, .. } = &self.members[member];
        let whose = if *shares_clock { "hosts" } else { stream };
        let mut clock = Stream::new(seed, &format!("{whose}/clock"));
        let mtu_bytes = self.mtu_bytes(connection);
        let congestion = match tcp.congestion {
            Congestion::Bbr(_) => {
                let mut phases = Stream::new(seed, &format!("{stream}/bbr/{connection}"));
                Congestion::Bbr(Bbr::new(phases.bits() as u32))
            }
            other => other,
        };
        // The receive buffer of a socket holds the headers and metadata of packets, too.
        let payload_bytes = self.full_bytes(connection);
        let receive_buffer_bytes =
            window_rule.window_bytes(tcp.receive_buffer_bytes, mtu_bytes, payload_bytes);
        let clock_phase = clock.uniform_span(tcp.clock_tick);
        let marks_packets = self.counts_offload_as_one(connection);
        Config { clock_phase, mtu_bytes, congestion, marks_packets, receive_buffer_bytes, ..*tcp }
    }

    /// True if one end of a connection has an interface whose shaper takes tokens only for the first
    /// frame of an offloaded packet.
    fn counts_offload_as_one(&self, connection: usize) -> bool {
        let Route::Wire { from, to, .. } = self.routes[connection] else { return false };
        let mut queues =
            [from, to].into_iter().filter_map(|end| self.interfaces[end].queue.as_ref());
        queues.any(records::Queue::counts_offload_as_one)
    }

    /// Size of a member's TCP send buffer, in bytes.
    pub(crate) fn send_buffer_bytes(&self, member: usize) -> u64 {
        self.members[member].tcp.send_buffer_bytes.into()
    }

    /// For each end of each connection: the code point of the packets that it sends. Empty if all are
    /// 0.
    pub(crate) fn dscp_of_ends(&self) -> Vec<u8> {
        let all = self.dscps.iter().flatten();
        if all.clone().all(|&dscp| dscp == 0) { Vec::new() } else { all.copied().collect() }
    }

    /// Length of the transmit queue, in frames, of the interface at the second end of a connection.
    /// None if the connection stays inside of a host or does not exist.
    pub(crate) fn frames_that_wait(&self, connection: usize) -> Option<usize> {
        match *self.routes.get(connection)? {
            Route::Wire { to, .. } => Some(self.interfaces[to].transmit_queue_frames),
            Route::Inside { .. } => None,
        }
    }

    /// The node of a member.
    pub(crate) fn node_of(&self, member: usize) -> usize {
        self.members[member].side.node
    }

    /// For each end of a link, by number: the node there.
    pub(crate) fn nodes_of_links(&self) -> Vec<usize> {
        let ends = (0..self.topology.cables().len())
            .flat_map(|cable| [0, 1].map(|end| CableEnd { cable, end }));
        let node = |at| match self.topology.attachment(at) {
            Attachment::Interface(interface) => self.topology.interfaces()[interface].host,
            Attachment::SwitchPort { switch, .. } => self.topology.switches()[switch].node,
        };
        ends.map(node).collect()
    }

    /// The name of a member's node.
    pub(crate) fn name_of(&self, member: usize) -> &str {
        &self.topology.nodes()[self.members[member].side.node].name
    }

    /// Interfaces of the host `node`, each with its link end.
    pub(crate) fn interfaces_of(
        &self,
        node: usize,
    ) -> impl Iterator<Item = (CableEnd, &InterfaceKind)> + Clone {
        let all = self.topology.interfaces().iter().zip(&self.interfaces);
        all.filter(move |(one, _)| one.host == node).map(|(one, kind)| (one.at, kind))
    }

    /// For an interface at a link end: the node of its host, and its number among the interfaces of
    /// this host. None if a switch port is at this link end.
    pub(crate) fn place_at_host(&self, at: CableEnd) -> Option<(usize, usize)> {
        let Attachment::Interface(interface) = self.topology.attachment(at) else { return None };
        let all = self.topology.interfaces();
        let host = all[interface].host;
        Some((host, all[..interface].iter().filter(|one| one.host == host).count()))
    }

    /// The costs of packets between processes of the host `node`, represented as those of an
    /// interface without a wire. None if there are no such packets.
    pub(crate) fn inside(&self, node: usize) -> Option<&InterfaceKind> {
        self.local_paths.get(&node).map(|path| &path.interface)
    }

    /// The largest IP packet of a connection, in bytes.
    fn mtu_bytes(&self, connection: usize) -> u32 {
        match self.routes[connection] {
            Route::Wire { mtu_bytes, .. } => mtu_bytes,
            Route::Inside { host } => self.local_paths[&host].mtu_bytes,
        }
    }

    /// Payload of a full segment of a connection.
    pub(crate) fn full_bytes(&self, connection: usize) -> u32 {
        self.mtu_bytes(connection) - Segment::BASE_HEADER_BYTES - Segment::TIMESTAMPS_BYTES
    }

    /// The CPUs, buses and disk of the host `node`, if its work has costs.
    pub(crate) fn stations(&self, node: usize) -> Option<&Shared> {
        self.stations.get(&node)
    }

    /// Like [`Self::stations`], for the host of a member.
    pub(crate) fn stations_of(&self, member: usize) -> Option<&Shared> {
        let node = self.members[member].side.node;
        self.topology.host_of(node).ok().and_then(|host| self.stations(host))
    }

    /// The capacities of the host `node` that the plan models, in the order of [`Modelled`].
    pub(crate) fn modelled(&self, node: usize) -> Vec<Modelled> {
        let stations = self.stations(node).map(|stations| stations.borrow());
        let mut found: Vec<_> = stations.iter().flat_map(|stations| stations.modelled()).collect();
        let inside = self.inside(node);
        let interfaces = self.interfaces_of(node).map(|(_, kind)| kind);
        if interfaces.clone().chain(inside).any(|kind| kind.receive.has_cpu_cost()) {
            found.push(Modelled::Cpu);
        }
        if interfaces.clone().any(|kind| kind.receive.frame_interval > Duration::ZERO) {
            found.push(Modelled::PacketRate);
        }
        found.sort_unstable();
        found.dedup();
        found
    }

    /// Whether any host has stations.
    pub(crate) fn has_stations(&self) -> bool {
        !self.stations.is_empty()
    }

    /// Whether any interface has limits: see [`crate::network::limits`].
    pub(crate) fn is_limited(&self) -> bool {
        self.interfaces.iter().any(|interface| interface.receive.is_limited())
    }

    /// The rule that chooses the network of a run: the star in closed form, if the network is a
    /// star whose hops all have a closed form. None: the general network, in which each port and
    /// each interface is in closed form, or chooses frames by events, or is event-driven at every
    /// step (see [`crate::network::general`]).
    pub(crate) fn closed_star(&self, connections: &[[usize; 2]]) -> Option<Star<'_>> {
        self.star(connections).filter(Star::has_closed_form)
    }

    /// The network as a star around one switch; none if it is not such a star, if hosts have
    /// stations, or if a link is not perfect.
    fn star(&self, connections: &[[usize; 2]]) -> Option<Star<'_>> {
        let [switch] = &self.switches[..] else { return None };
        if self.has_stations() || self.paths.iter().any(Option::is_some) {
            return None;
        }
        let mut at = vec![None; self.members.len()];
        for (route, members) in self.routes.iter().zip(connections) {
            let &Route::Wire { from, to, .. } = route else { return None };
            for (&member, interface) in members.iter().zip([from, to]) {
                // In a star, each member has only one line. So the network is not a star if a
                // member uses two interfaces.
                if *at[member].get_or_insert(interface) != interface {
                    return None;
                }
            }
        }
        let at = at.into_iter().collect::<Option<Vec<usize>>>()?;
        let is_only = |number: usize, interface: &usize| !at[..number].contains(interface);
        let lines = at.iter().enumerate().map(|(number, interface)| {
            let at = self.topology.interfaces()[*interface].at;
            let far = self.topology.attachment(at.far());
            let is_at_switch = matches!(far, Attachment::SwitchPort { .. });
            (is_at_switch && is_only(number, interface)).then(|| Line {
                interface: &self.interfaces[*interface],
                at,
                down: self.topology.link(at.far()),
            })
        });
        let cable_ends = 2 * self.topology.cables().len();
        Some(Star { switch, lines: lines.collect::<Option<_>>()?, cable_ends })
    }
}

/// Assumed rate of a path within a host.
const INSIDE: Rate = Rate::from_gbps(100);

/// The largest IP packet on the loopback interface of a host. The MTU of this interface is one byte
/// larger (`drivers/net/loopback.c` of Linux), but no IP packet can be so large.
const LOOPBACK_MTU_BYTES: u32 = 65_535;

impl Star<'_> {
    /// Whether every hop has a closed form: no link pauses, no host merges segments, and no port or
    /// interface has a queue discipline.
    fn has_closed_form(&self) -> bool {
        let pauses = |policy: &PausePolicy| policy.honours || policy.thresholds.is_some();
        let is_plain = |line: &Line<'_>| {
            let InterfaceKind { pause, receive, queue, .. } = line.interface;
            !pauses(pause) && receive.merge_bytes == 0 && queue.is_none()
        };
        let ports = &self.switch.queues;
        !pauses(&self.switch.pause)
            && ports.iter().all(Option::is_none)
            && self.lines.iter().all(is_plain)
    }

    /// The link at each port of the switch, in the direction in which the port sends.
    pub(crate) fn port_links(&self) -> Vec<Link> {
        self.lines.iter().map(|line| line.down).collect()
    }

    /// Like [`SwitchKind::reserved_bytes`], for the link at this port.
    pub(crate) fn reserved_bytes(&self, port: u32) -> u32 {
        self.switch.reserved_bytes(&self.lines[port as usize].interface.link)
    }
}

impl SwitchKind {
    fn new(
        network: &records::Network,
        topology: &Topology,
        number: usize,
        node: usize,
    ) -> Result<Self, String> {
        let records::Node::Switch(switch) = &network.nodes[node] else {
            unreachable!("the graph has the nodes of the plan in their order")
        };
        let ports = &topology.switches()[number].ports;
        if ports.len() > switch.ports as usize {
            let (name, links) = (&switch.name, ports.len());
            return Err(format!("{name:?} has {} ports and {links} links", switch.ports));
        }
        // The maximum of all ports is needed, because a frame may leave at any port: see
        // [`Self::cuts_through`].
        let fastest = ports.iter().map(|&at| topology.link(at).rate()).max();
        let mtu_bytes = ports.iter().map(|at| topology.cables()[at.cable].mtu_bytes).max();
        Ok(Self {
            name: switch.name.clone(),
            buffer: switch.buffer,
            latency: Duration::from_ns(switch.latency_ns),
            pause: switch_pause(switch)?,
            ecn_threshold_bytes: switch.ecn_threshold_bytes.unwrap_or(u64::MAX),
            queues: queues::of_switch(network, switch, ports)?,
            cut_through: switch.forwarding == records::Forwarding::CutThrough,
            fastest: fastest.unwrap_or(Rate::from_bps(u64::MAX)),
            mtu_bytes_max: mtu_bytes.unwrap_or(0),
        })
    }

    /// Whether frames that arrive over `link` may leave before they have arrived completely. They
    /// may only if no egress is faster than `link`: a faster egress would have to send bits that
    /// have not arrived yet.
    pub(crate) fn cuts_through(&self, link: &Link) -> bool {
        self.cut_through && link.rate() >= self.fastest
    }

    /// Buffer space to reserve for a frame that arrives over `link`. With cut-through, the size of
    /// the largest frame, because the frame's own size is not known yet. Otherwise 0, which stands
    /// for the frame's own size.
    pub(crate) fn reserved_bytes(&self, link: &Link) -> u32 {
        if !self.cuts_through(link) {
            return 0;
        }
        ethernet::frame_bytes(self.mtu_bytes_max)
    }
}

impl InterfaceKind {
    /// The path of packets that never leave the host, if the plan has no costs for it. The path has
    /// the CPU costs and latencies of this interface.
    fn inside(&self) -> Self {
        Self {
            stream: format!("{}/inside", self.stream),
            link: Link::new(self.link.rate(), Duration::ZERO),
            receive: ReceiveKind {
                ring_frames: usize::MAX,
                frame_interval: Duration::ZERO,
                merge_bytes: 0,
                ..self.receive
            },
            pause: PausePolicy::default(),
            queue: None,
            ..self.clone()
        }
    }

    /// Whether a packet that stays inside the host reaches its receiver without delay.
    fn takes_no_time_inside(&self) -> bool {
        let Self { send_latency, receive, .. } = self;
        *send_latency + receive.latency == Duration::ZERO && receive.costs_no_time()
    }
}

impl LocalPath {
    /// The local path of the host `node`, or an error if the path is invalid. `first` is the first
    /// interface of the host.
    fn new(
        network: &records::Network,
        topology: &Topology,
        node: usize,
        first: Option<&InterfaceKind>,
    ) -> Result<Self, String> {
        let name = &topology.nodes()[node].name;
        let records::Node::Host(records::Host { group, .. }) = &network.nodes[node] else {
            unreachable!("packets stay inside of a host")
        };
        let path = if let Some(said) = find_group(network, group)?.local_path {
            Self::said(name, said)?
        } else {
            let first = first.ok_or_else(|| format!("{name:?} has no interface"))?;
            Self { interface: first.inside(), mtu_bytes: LOOPBACK_MTU_BYTES }
        };
        if path.interface.takes_no_time_inside() {
            return Err(format!(
                "traffic stays inside {name:?}, where packets take no time: its local path needs a \
                 latency or a rate, or its interface a latency, or a CPU time a frame or a byte"
            ));
        }
        Ok(path)
    }

    /// The local path that the plan describes.
    fn said(name: &str, said: records::LocalPath) -> Result<Self, String> {
        let records::LocalPath { latency_ns, rate_bps, mtu_bytes } = said;
        if rate_bps == Some(0) || !(576..=65_535).contains(&mtu_bytes) {
            return Err(format!(
                "the local path of {name:?} needs a rate above 0 and an MTU of 576 B to 65535 B"
            ));
        }
        let interface = InterfaceKind {
            stream: format!("{name}/local"),
            // The rate in the plan is that at which the CPU copies, so the link of this path must
            // not add a delay.
            link: Link::new(INSIDE, Duration::ZERO),
            send_latency: Duration::ZERO,
            receive: ReceiveKind {
                latency: Duration::from_ns(latency_ns),
                jitter: Duration::ZERO,
                per_frame: Duration::ZERO,
                rate: rate_bps.map(|bps| Serializer::new(Rate::from_bps(bps))),
                ring_frames: usize::MAX,
                refill_frames: 1,
                frame_interval: Duration::ZERO,
                interrupt_delay: Duration::ZERO,
                batch_frames: None,
                merge_bytes: 0,
            },
            pause: PausePolicy::default(),
            transmit_queue_frames: usize::MAX,
            holds_back: false,
            queue: None,
        };
        Ok(Self { interface, mtu_bytes })
    }
}

/// The local paths of the hosts that have traffic between their own processes.
fn local_paths(
    run: &records::Run,
    topology: &Topology,
    interfaces: &[InterfaceKind],
    routes: &[Route],
) -> Result<BTreeMap<usize, LocalPath>, String> {
    let mut found = BTreeMap::new();
    for route in routes {
        let &Route::Inside { host } = route else { continue };
        if found.contains_key(&host) {
            continue;
        }
        let first = topology.interfaces().iter().position(|interface| interface.host == host);
        let first = first.map(|number| &interfaces[number]);
        found.insert(host, LocalPath::new(&run.network, topology, host, first)?);
    }
    Ok(found)
}

impl Member {
    fn new(
        network: &records::Network,
        topology: &Topology,
        participant: &Participant,
    ) -> Result<Self, String> {
        let Participant { role, stream } = participant;
        let (name, interface) = match role.split_once('@') {
            Some((name, interface)) => (name, Some(interface)),
            None => (role.as_str(), None),
        };
        let node = network.nodes.iter().position(|node| node.name() == name);
        let node = node.ok_or_else(|| format!("a role names {name:?}, which is no node"))?;
        let group = match &network.nodes[node] {
            records::Node::Host(host) => &host.group,
            records::Node::Zone(zone) => &zone.group,
            records::Node::Switch(_) => {
                return Err(TopologyError::NoHost(name.to_owned()).to_string());
            }
        };
        let has_own_stack = matches!(
            &network.nodes[node],
            records::Node::Zone(records::Zone { stack: records::Stack::Own, .. })
        );
        // A zone uses one fixed interface of its host, so a role need not name the interface of a
        // zone.
        let bound = match (&network.nodes[node], interface) {
            (records::Node::Zone(zone), None) => Some(zone.interface.as_str()),
            (_, interface) => interface,
        };
        let interface = bound
            .map(|port| topology.interface_named(node, port))
            .transpose()
            .map_err(|error| error.to_string())?;
        let group = find_group(network, group)?;
        Ok(Self {
            stream: stream.clone(),
            side: Side { node, interface, has_own_stack },
            shares_clock: network.shared_clock,
            tcp: tcp_config(&group.tcp),
            window_rule: window_rule(&group.tcp),
            dscp: dscp(group)?,
        })
    }
}

impl InterfaceKind {
    fn new(
        network: &records::Network,
        topology: &Topology,
        members: &[Member],
        number: usize,
    ) -> Result<Self, String> {
        let interface = &topology.interfaces()[number];
        let host = topology.nodes()[interface.host].name.as_str();
        let records::Node::Host(records::Host { group, .. }) = &network.nodes[interface.host]
        else {
            unreachable!("interfaces are those of hosts")
        };
        let link = &network.links[interface.at.cable];
        let port = if interface.at.end == 0 { &link.a } else { &link.b };
        let group = find_group(network, group)?;
        let nic = port.nic.as_ref().unwrap_or(&group.nic);
        // If a host has only one interface and one application, the random number streams of the
        // interface have the name of those of the application.
        let is_only =
            topology.interfaces().iter().filter(|i| i.host == interface.host).count() == 1;
        let mut here = members.iter().filter(|member| member.side.node == interface.host);
        let stream = match (is_only, here.next(), here.next()) {
            (true, Some(member), None) => member.stream.clone(),
            _ => format!("{host}@{}", port.name),
        };
        let pause = host_pause(nic)?;
        Ok(Self {
            stream,
            link: topology.link(interface.at),
            send_latency: Duration::from_ns(nic.send_latency_ns),
            receive: receive_kind(nic)?,
            pause,
            transmit_queue_frames: nic.transmit_queue_frames as usize,
            holds_back: group.tcp.limit_output_bytes > 0,
            queue: queues::of_interface(port, pause.honours)?,
        })
    }
}

/// The stations of the hosts whose work has costs, by node.
fn stations(
    run: &records::Run,
    topology: &Topology,
    works_at: impl Fn(&str) -> bool,
) -> Result<BTreeMap<usize, Shared>, String> {
    let network = &run.network;
    let mut found = BTreeMap::new();
    for (number, node) in network.nodes.iter().enumerate() {
        let records::Node::Host(records::Host { name, group, .. }) = node else { continue };
        let group = find_group(network, group)?;
        let interfaces = topology.interfaces().iter().filter(|one| one.host == number).count();
        let works = works_at(name);
        let Some(stations) = Stations::new(group, name, &run.seed, interfaces + 1, works)? else {
            continue;
        };
        let at_links = network.links.iter().flat_map(|link| [&link.a, &link.b]);
        let nics = at_links.filter(|port| port.node == *name).filter_map(|port| port.nic.as_ref());
        let is_costly =
            |nic: &records::Nic| nic.receive_frame_ns > 0 || nic.receive_rate_bps.is_some();
        // With both kinds of cost, the CPU time of a frame would count twice: at the interface and
        // at the CPUs of the host.
        if group.cpu.is_some() && nics.chain([&group.nic]).any(is_costly) {
            return Err(format!(
                "received frames cost {name:?} CPU time both at its interface and at its CPUs: give \
                 only one"
            ));
        }
        found.insert(number, Rc::new(RefCell::new(stations)));
    }
    Ok(found)
}

/// The graph of a plan's network. Nodes and links have the order that they have in the plan.
fn topology(network: &records::Network) -> Result<Topology, String> {
    let mut graph = Graph::default();
    let text = |error: TopologyError| error.to_string();
    let place = |name: &str| network.nodes.iter().position(|node| node.name() == name);
    let groups = || network.groups.iter().map(|group| &group.name);
    if let Some(name) = groups().find(|name| groups().filter(|other| other == name).count() > 1) {
        return Err(format!("there are two host groups {name:?}"));
    }
    for (number, node) in network.nodes.iter().enumerate() {
        match node {
            records::Node::Host(records::Host { name, machine: Some(machine), .. }) => {
                return Err(format!(
                    "{name:?} is on the machine {machine:?}, and such hosts cannot be simulated"
                ));
            }
            records::Node::Host(host) => graph.add_host(&host.name),
            records::Node::Switch(switch) => graph.add_switch(&switch.name),
            // In the plan, each zone must come after its host, because the graph is built in one
            // pass.
            records::Node::Zone(zone) => {
                let host = place(&zone.host).filter(|&host| host < number).ok_or_else(|| {
                    format!("{:?} is on {:?}, which is no node before it", zone.name, zone.host)
                })?;
                graph.add_zone(&zone.name, host)
            }
        }
        .map_err(text)?;
    }
    for link in &network.links {
        let ends = [&link.a, &link.b].map(|port| {
            let node = place(&port.node)
                .ok_or_else(|| format!("a link ends at {:?}, which is no node", port.node))?;
            if port.rate_bps == 0 {
                return Err(format!("the link at {:?} has a rate of 0", port.node));
            }
            if port.nic.is_some() && matches!(network.nodes[node], records::Node::Switch(_)) {
                return Err(format!(
                    "a port of the switch {:?} has settings of a host's interface",
                    port.node
                ));
            }
            Ok(Port { node, name: port.name.clone() })
        });
        let [a, b] = ends;
        let mtu_bytes = link.mtu_bytes;
        if !(576..=65_535).contains(&mtu_bytes) {
            return Err(format!("an MTU of {mtu_bytes} B is outside of 576 B to 65535 B"));
        }
        graph
            .connect(Cable {
                ends: [a?, b?],
                rates: [&link.a, &link.b].map(|port| Rate::from_bps(port.rate_bps)),
                delay: Duration::from_ns(link.delay_ns),
                mtu_bytes,
            })
            .map_err(text)?;
    }
    graph.build().map_err(text)
}

/// The code point of the packets of the hosts of a group.
fn dscp(group: &records::Group) -> Result<u8, String> {
    match group.dscp.unwrap_or(0) {
        dscp @ 0..64 => Ok(dscp),
        dscp => Err(format!("the code point {dscp} of {:?} is above 63", group.name)),
    }
}

/// For each link end, by number: the path of frames that it sends.
fn paths(run: &records::Run) -> Result<Vec<Option<Box<Path>>>, String> {
    let ends = run.network.links.iter().flat_map(|link| [&link.a, &link.b]);
    let path = |port: &records::Port| {
        let made =
            port.path.as_ref().map(|path| Path::new(path, &run.seed, &port.node, &port.name));
        made.map(|path| path.map(Box::new)).transpose()
    };
    ends.map(path).collect()
}

fn find_group<'a>(network: &'a records::Network, name: &str) -> Result<&'a records::Group, String> {
    let found = network.groups.iter().find(|group| group.name == name);
    found.ok_or_else(|| format!("there is no host group {name:?}"))
}

fn receive_kind(nic: &records::Nic) -> Result<ReceiveKind, String> {
    if nic.receive_ring_frames == Some(0) || nic.poll_weight_frames == Some(0) {
        return Err("a receive ring and a poll batch need at least 1 frame".to_owned());
    }
    let refill = nic.receive_refill_frames;
    if refill == 0 || nic.receive_ring_frames.is_some_and(|ring| refill > ring) {
        return Err(format!(
            "a receive ring must be refilled by 1 frame up to its size, not by {refill} frames"
        ));
    }
    Ok(ReceiveKind {
        latency: Duration::from_ns(nic.receive_latency_ns),
        jitter: Duration::from_ns(nic.receive_jitter_ns),
        per_frame: Duration::from_ns(nic.receive_frame_ns),
        rate: receive_rate(nic)?,
        ring_frames: nic.receive_ring_frames.map_or(usize::MAX, |frames| frames as usize),
        refill_frames: refill as usize,
        frame_interval: frame_interval(nic)?,
        interrupt_delay: Duration::from_ns(nic.interrupt_delay_ns),
        batch_frames: nic.poll_weight_frames,
        merge_bytes: nic.receive_merge_bytes,
    })
}

/// The time per frame at the packet rate, rounded up to a picosecond.
fn frame_interval(nic: &records::Nic) -> Result<Duration, String> {
    const PS_PER_S: u64 = 1_000_000_000_000;
    match nic.packet_rate_pps {
        None => Ok(Duration::ZERO),
        Some(0) => Err("the packet rate of an interface must be above 0".to_owned()),
        Some(pps) => Ok(Duration::from_ps(PS_PER_S.div_ceil(pps))),
    }
}

fn host_pause(nic: &records::Nic) -> Result<PausePolicy, String> {
    let thresholds = nic.pause_high_frames.map(|xoff| {
        let xon = nic.pause_low_frames.unwrap_or(xoff / 2);
        PauseThresholds { xoff: xoff.into(), xon: xon.into(), quanta: nic.pause_quanta }
    });
    pause_policy(nic.honours_pause, thresholds)
}

fn switch_pause(switch: &records::Switch) -> Result<PausePolicy, String> {
    let thresholds = switch.pause_high_bytes.map(|xoff| {
        let xon = switch.pause_low_bytes.unwrap_or(xoff / 2);
        PauseThresholds { xoff, xon, quanta: switch.pause_quanta }
    });
    pause_policy(switch.honours_pause, thresholds)
}

fn pause_policy(honours: bool, thresholds: Option<PauseThresholds>) -> Result<PausePolicy, String> {
    if let Some(PauseThresholds { xoff, xon, quanta }) = thresholds {
        if xon > xoff {
            return Err(format!("the XON threshold, {xon}, is above the XOFF threshold, {xoff}"));
        }
        if quanta < 2 {
            return Err(
                "a pause needs at least 2 quanta, or it ends before it can be repeated".to_owned()
            );
        }
    }
    Ok(PausePolicy { honours, thresholds })
}

fn receive_rate(nic: &records::Nic) -> Result<Option<Serializer>, String> {
    if nic.receive_rate_bps == Some(0) {
        return Err("the receive rate of a host must be above 0".to_owned());
    }
    Ok(nic.receive_rate_bps.map(|bps| Serializer::new(Rate::from_bps(bps))))
}

const fn window_rule(tcp: &records::Tcp) -> WindowRule {
    match tcp.window_rule {
        records::WindowRule::Buffer => WindowRule::Buffer,
        records::WindowRule::ScalingRatio => WindowRule::ScalingRatio,
    }
}

/// A TCP configuration, without what depends on the path. It cannot be checked here, because the
/// path is not known yet.
fn tcp_config(tcp: &records::Tcp) -> Config {
    let congestion = match tcp.congestion_control {
        records::CongestionControl::Reno => Congestion::Reno(Reno::new(false)),
        records::CongestionControl::RenoAckCounting => Congestion::Reno(Reno::new(true)),
        records::CongestionControl::Bic => Congestion::Bic(Bic::default()),
        records::CongestionControl::Cubic => Congestion::Cubic(Cubic::new(false)),
        records::CongestionControl::CubicHystart => Congestion::Cubic(Cubic::new(true)),
        records::CongestionControl::Dctcp => Congestion::Dctcp(Dctcp::default()),
        // The seed differs between the ends of connections, so [`Wiring::tcp`] draws it.
        records::CongestionControl::Bbr => Congestion::Bbr(Bbr::new(0)),
    };
    // The MTU, the phase of the clock and the marks of packets differ between connections and hosts,
    // so [`Wiring::tcp`] fills them in.
    Config {
        mtu_bytes: 0,
        congestion,
        recovery: match tcp.recovery {
            records::Recovery::Rfc => Recovery::Rfc,
            records::Recovery::Fack => Recovery::Fack,
            records::Recovery::Prr => {
                Recovery::Prr { rack: tcp.rack, tail_loss_probe: tcp.tail_loss_probe }
            }
        },
        offload_bytes: tcp.offload_burst_bytes,
        offload_rule: match tcp.offload_rule {
            records::OffloadRule::Deferral => OffloadRule::Deferral,
            records::OffloadRule::Autosizing => OffloadRule::Autosizing,
        },
        offload_request_bytes: tcp.offload_request_bytes,
        marks_packets: false,
        limit_output_bytes: tcp.limit_output_bytes,
        sack: tcp.sack,
        timestamps: tcp.timestamps,
        ecn: tcp.ecn,
        initial_window_segments: tcp.initial_window_segments,
        rto_rule: match tcp.rto_rule {
            records::RtoRule::Rfc6298 => RtoRule::Rfc6298,
            records::RtoRule::Linux => RtoRule::Linux,
        },
        initial_rto: Duration::from_ns(tcp.initial_rto_ns),
        min_rto: Duration::from_ns(tcp.min_rto_ns),
        max_rto: Duration::from_ns(tcp.max_rto_ns),
        clock_tick: Duration::from_ns(tcp.clock_tick_ns),
        clock_phase: Duration::ZERO,
        delayed_ack: Duration::from_ns(tcp.delayed_ack_ns),
        ack_every_segments: tcp.ack_every_segments,
        quick_ack_segments: tcp.quick_ack_segments,
        quick_ack_disorder: tcp.quick_ack_disorder,
        ack_pushed: tcp.ack_pushed,
        nodelay: tcp.nodelay,
        restart_after_idle: tcp.restart_after_idle,
        send_buffer_bytes: tcp.send_buffer_bytes,
        receive_buffer_bytes: tcp.receive_buffer_bytes,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::tests::lab;
    use crate::workloads;

    fn wiring(run: &records::Run) -> (Wiring, Vec<[usize; 2]>) {
        let cast = workloads::cast(run).expect("the lab's workload has members");
        let wiring = Wiring::new(run, &cast.participants, &cast.connections, |_| false);
        (wiring.expect("the lab's network fits"), cast.connections)
    }

    #[test]
    fn a_port_that_stores_and_forwards_reserves_nothing() {
        let mut run = lab::run(2, lab::INGRESS);
        lab::switch(&mut run).forwarding = records::Forwarding::CutThrough;
        let reserved = |run: &records::Run| {
            let (wiring, connections) = wiring(run);
            let star = wiring.star(&connections).expect("it is a star");
            [0, 1].map(|port| star.reserved_bytes(port))
        };
        // 9000 bytes of MTU plus 18 bytes of Ethernet.
        assert_eq!(reserved(&run), [9018, 9018]);
        lab::set_rate(&mut run.network.links[1], 1_000_000_000);
        assert_eq!(reserved(&run), [9018, 0], "the server's port waits for the end of a frame");
        lab::switch(&mut run).forwarding = records::Forwarding::StoreAndForward;
        assert_eq!(reserved(&run), [0, 0]);
    }

    #[test]
    fn a_tcp_that_cannot_work_is_refused() {
        let refusal = |change: fn(&mut records::Tcp)| {
            let mut run = lab::run(2, lab::INGRESS);
            change(&mut run.network.groups[0].tcp);
            let cast = workloads::cast(&run).expect("the lab's workload has members");
            let wiring = Wiring::new(&run, &cast.participants, &cast.connections, |_| false);
            wiring.map(|_| ()).expect_err("it makes no sense")
        };
        assert_eq!(
            refusal(|tcp| tcp.max_rto_ns = 0),
            "the TCP of client: the maximum retransmission timeout is 0: it must be longer, for \
             example 1 s"
        );
        let refusal = refusal(|tcp| tcp.max_rto_ns = tcp.min_rto_ns - 1);
        assert!(refusal.contains("shorter than the minimum"), "{refusal}");
    }

    #[test]
    fn a_network_that_holds_what_has_no_effect_is_refused() {
        let refusal = |change: fn(&mut records::Network)| {
            let mut run = lab::run(2, lab::INGRESS);
            change(&mut run.network);
            topology(&run.network).map(|_| ()).expect_err("it makes no sense")
        };
        let twice = refusal(|network| network.groups.push(network.groups[0].clone()));
        assert_eq!(twice, "there are two host groups \"client\"");
        let elsewhere = refusal(|network| {
            for node in &mut network.nodes {
                if let records::Node::Host(host) = node {
                    host.machine = Some("lab-7".to_owned());
                }
            }
        });
        assert!(elsewhere.contains("is on the machine \"lab-7\""), "{elsewhere}");
        let port = refusal(|network| {
            let nic = Some(network.groups[0].nic.clone());
            for link in &mut network.links {
                (link.a.nic, link.b.nic) = (nic.clone(), nic.clone());
            }
        });
        assert_eq!(port, "a port of the switch \"switch\" has settings of a host's interface");
    }

    #[test]
    fn clocks_tick_in_phases_of_their_own_unless_they_are_one() {
        let mut run = lab::run(2, lab::INGRESS);
        for group in &mut run.network.groups {
            group.tcp.clock_tick_ns = 4_000_000;
        }
        let phases = |run: &records::Run| {
            let wiring = wiring(run).0;
            [0, 1, 2].map(|host| wiring.tcp(host, 0, &run.seed).clock_phase)
        };
        let [client, first, second] = phases(&run);
        assert!(client != first && first != second && second != client);
        run.network.shared_clock = true;
        let [client, first, second] = phases(&run);
        assert!(client == first && first == second);
    }
}
