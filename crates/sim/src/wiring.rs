//! From a plan's network to links, switch ports and TCP configurations.
//!
//! Host 0 is the client; host i + 1 is the server with the index i.

use netstudy_fabric::stepped::PausePolicy;
use netstudy_fabric::{Link, PauseMarks, ethernet};
use netstudy_records as records;
use netstudy_tcp::{Bic, Config, Congestion, Cubic, Dctcp, OffloadRule, Recovery, Reno, RtoRule};
use netstudy_units::{Duration, Rate, Serializer};

use netstudy_random::Stream;

/// A host: its link, its interface, its TCP.
#[derive(Clone, Debug)]
pub(crate) struct HostKind {
    /// The name of its streams of random numbers.
    pub(crate) name: String,
    pub(crate) link: Link,
    pub(crate) send_latency: Duration,
    pub(crate) receive: ReceiveKind,
    /// Its marks count descriptors of the ring.
    pub(crate) pause: PausePolicy,
    pub(crate) read_at_once_pct: u32,
    shares_clock: bool,
    pub(crate) transmit_queue_frames: usize,
    pub(crate) tcp: Config,
}

/// How a kind of host receives.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReceiveKind {
    /// From the processor to TCP.
    pub(crate) latency: Duration,
    /// Mean of what it takes beyond that.
    pub(crate) jitter: Duration,
    /// Processor time of a frame.
    pub(crate) per_frame: Duration,
    /// Rate at which the processor deals with bytes.
    pub(crate) rate: Option<Serializer>,
    /// Descriptors of the ring.
    pub(crate) ring_frames: usize,
    /// The least time from one frame to the next, in either direction.
    pub(crate) frame_interval: Duration,
    /// From the first frame in the ring to the processor.
    pub(crate) interrupt_delay: Duration,
    /// Frames of a batch at most.
    pub(crate) batch_frames: Option<u32>,
    /// Payload of a merged segment at most; 0: none is merged.
    pub(crate) merge_bytes: u32,
}

impl ReceiveKind {
    /// Whether there is more than a queue, a wire and a processor.
    fn is_limited(&self) -> bool {
        self.ring_frames < usize::MAX || self.frame_interval > Duration::ZERO
    }

    /// Whether a frame is with TCP as soon as it has passed the ring and the latency.
    pub(crate) fn costs_no_time(&self) -> bool {
        self.per_frame == Duration::ZERO
            && self.rate.is_none()
            && self.interrupt_delay == Duration::ZERO
            && self.jitter == Duration::ZERO
    }

    /// Processor time that a frame costs.
    pub(crate) fn processor_time(&self, frame_bytes: u32) -> Duration {
        self.per_frame + self.rate.map_or(Duration::ZERO, |rate| rate.time(frame_bytes))
    }
}

/// A star: hosts around a switch, each behind the port with its index.
#[derive(Clone, Debug)]
pub(crate) struct Star {
    pub(crate) hosts: Vec<HostKind>,
    pub(crate) switch_latency: Duration,
    /// Its marks count bytes of an ingress.
    pub(crate) switch_pause: PausePolicy,
    /// Frames that meet a longer queue are marked.
    pub(crate) ecn_threshold_bytes: u64,
    pub(crate) cut_through: bool,
}

impl Star {
    /// Reads the star out of a run, or says what does not fit.
    pub(crate) fn new(run: &records::Run) -> Result<Self, String> {
        let records::Workload::Incast(incast) = &run.workload;
        let network = &run.network;
        let client = group(network, &incast.client)?;
        let servers = group(network, &incast.servers)?;
        if client.count != 1 {
            return Err(format!("the client group {:?} has {} hosts", client.name, client.count));
        }
        if incast.client == incast.servers {
            return Err(format!("client and servers are both {:?}", client.name));
        }
        let hosts = servers.count + 1;
        if hosts > network.switch.ports {
            let ports = network.switch.ports;
            return Err(format!("{hosts} hosts do not fit a switch of {ports} ports"));
        }
        if incast.request_bytes == 0 || incast.block_bytes < u64::from(servers.count) {
            return Err("requests and blocks need at least one byte a server".to_owned());
        }
        let client = HostKind::new(network, client, "client".to_owned())?;
        let server = HostKind::new(network, servers, String::new())?;
        let server = |number| HostKind { name: format!("server/{number}"), ..server.clone() };
        Ok(Self {
            hosts: std::iter::once(client).chain((1..hosts).map(server)).collect(),
            switch_latency: Duration::from_ns(network.switch.latency_ns),
            switch_pause: switch_pause(&network.switch)?,
            ecn_threshold_bytes: network.switch.ecn_threshold_bytes.unwrap_or(u64::MAX),
            cut_through: network.switch.forwarding == records::Forwarding::CutThrough,
        })
    }

    /// Whether any interface has [`crate::limits`].
    pub(crate) fn is_limited(&self) -> bool {
        self.hosts.iter().any(|host| host.receive.is_limited())
    }

    /// The links behind the switch's ports.
    pub(crate) fn port_links(&self) -> Vec<Link> {
        self.hosts.iter().map(|host| host.link).collect()
    }

    /// Whether frames that enter over `link` may leave before they are in whole: no egress may be
    /// faster, or it would run out of bits.
    pub(crate) fn cuts_through(&self, link: &Link) -> bool {
        self.cut_through && self.hosts.iter().all(|host| link.rate() >= host.link.rate())
    }

    /// Room that a frame must find that comes by `port`: that of the largest one where it is let in
    /// before its end is there, else none beyond its own.
    pub(crate) fn reserved_bytes(&self, port: u32) -> u32 {
        if !self.cuts_through(&self.hosts[port as usize].link) {
            return 0;
        }
        let mtu_bytes = self.hosts.iter().map(|host| host.tcp.mtu_bytes).max();
        ethernet::frame_bytes(mtu_bytes.unwrap_or(0))
    }
}

impl HostKind {
    fn new(
        network: &records::Network,
        group: &records::HostGroup,
        name: String,
    ) -> Result<Self, String> {
        let link = network
            .links
            .iter()
            .find(|link| link.between.0 == group.name || link.between.1 == group.name)
            .ok_or_else(|| format!("the host group {:?} has no link", group.name))?;
        if link.rate_bps == 0 {
            return Err(format!("the link of {:?} has a rate of 0", group.name));
        }
        Ok(Self {
            name,
            link: Link::new(Rate::from_bps(link.rate_bps), Duration::from_ns(link.delay_ns)),
            send_latency: Duration::from_ns(group.nic.send_latency_ns),
            receive: receive_kind(&group.nic)?,
            pause: host_pause(&group.nic)?,
            read_at_once_pct: group.tcp.read_at_once_pct,
            shares_clock: network.shared_clock,
            transmit_queue_frames: group.nic.transmit_queue_frames as usize,
            tcp: tcp_config(&group.tcp, link.mtu_bytes)?,
        })
    }

    /// The TCP of the host: its retransmission clock ticks in a phase of its own, unless all hosts
    /// have one clock.
    pub(crate) fn tcp_with_phase(&self, seed: &str) -> Config {
        let whose = if self.shares_clock { "hosts" } else { &self.name };
        let mut clock = Stream::new(seed, &format!("{whose}/clock"));
        Config { clock_phase: clock.uniform_span(self.tcp.clock_tick), ..self.tcp }
    }
}

fn receive_kind(nic: &records::Nic) -> Result<ReceiveKind, String> {
    if nic.receive_ring_frames == Some(0) || nic.poll_weight_frames == Some(0) {
        return Err("a ring or a batch of 0 frames receives nothing".to_owned());
    }
    Ok(ReceiveKind {
        latency: Duration::from_ns(nic.receive_latency_ns),
        jitter: Duration::from_ns(nic.receive_jitter_ns),
        per_frame: Duration::from_ns(nic.receive_frame_ns),
        rate: receive_rate(nic)?,
        ring_frames: nic.receive_ring_frames.map_or(usize::MAX, |frames| frames as usize),
        frame_interval: frame_interval(nic)?,
        interrupt_delay: Duration::from_ns(nic.interrupt_delay_ns),
        batch_frames: nic.poll_weight_frames,
        merge_bytes: nic.receive_merge_bytes,
    })
}

/// The time of a frame at the packet rate, rounded up to a picosecond.
fn frame_interval(nic: &records::Nic) -> Result<Duration, String> {
    const PS_PER_S: u64 = 1_000_000_000_000;
    match nic.packet_rate_pps {
        None => Ok(Duration::ZERO),
        Some(0) => Err("an interface of 0 packets a second carries nothing".to_owned()),
        Some(pps) => Ok(Duration::from_ps(PS_PER_S.div_ceil(pps))),
    }
}

fn host_pause(nic: &records::Nic) -> Result<PausePolicy, String> {
    let marks = nic.pause_high_frames.map(|high| {
        let low = nic.pause_low_frames.unwrap_or(high / 2);
        PauseMarks { high: high.into(), low: low.into(), quanta: nic.pause_quanta }
    });
    pause_policy(nic.honours_pause, marks)
}

fn switch_pause(switch: &records::Switch) -> Result<PausePolicy, String> {
    let marks = switch.pause_high_bytes.map(|high| {
        let low = switch.pause_low_bytes.unwrap_or(high / 2);
        PauseMarks { high, low, quanta: switch.pause_quanta }
    });
    pause_policy(switch.honours_pause, marks)
}

fn pause_policy(honours: bool, marks: Option<PauseMarks>) -> Result<PausePolicy, String> {
    if let Some(PauseMarks { high, low, quanta }) = marks {
        if low > high {
            return Err(format!("a pause begins above {high} and ends at {low}, which is more"));
        }
        if quanta < 2 {
            return Err("a pause of less than 2 quanta cannot be asked for again".to_owned());
        }
    }
    Ok(PausePolicy { honours, marks })
}

fn receive_rate(nic: &records::Nic) -> Result<Option<Serializer>, String> {
    if nic.receive_rate_bps == Some(0) {
        return Err("a host that receives at a rate of 0 receives nothing".to_owned());
    }
    Ok(nic.receive_rate_bps.map(|bps| Serializer::new(Rate::from_bps(bps))))
}

fn group<'a>(network: &'a records::Network, name: &str) -> Result<&'a records::HostGroup, String> {
    let found = network.hosts.iter().find(|group| group.name == name);
    found.ok_or_else(|| format!("there is no host group {name:?}"))
}

fn tcp_config(tcp: &records::Tcp, mtu_bytes: u32) -> Result<Config, String> {
    if !(576..=65_535).contains(&mtu_bytes) {
        return Err(format!("an MTU of {mtu_bytes} B is outside of 576 B to 65535 B"));
    }
    if tcp.ack_every_segments == 0 {
        return Err("acknowledgments every 0 segments make no sense".to_owned());
    }
    let congestion = match tcp.congestion_control {
        records::CongestionControl::Reno => Congestion::Reno(Reno::new(false)),
        records::CongestionControl::RenoAckCounting => Congestion::Reno(Reno::new(true)),
        records::CongestionControl::Bic => Congestion::Bic(Bic::default()),
        records::CongestionControl::Cubic => Congestion::Cubic(Cubic::new(false)),
        records::CongestionControl::CubicHystart => Congestion::Cubic(Cubic::new(true)),
        records::CongestionControl::Dctcp => Congestion::Dctcp(Dctcp::default()),
    };
    Ok(Config {
        mtu_bytes,
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
        ack_pushed: tcp.ack_pushed,
        restart_after_idle: tcp.restart_after_idle,
        send_buffer_bytes: tcp.send_buffer_bytes,
        receive_buffer_bytes: tcp.receive_buffer_bytes,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::tests::lab;

    #[test]
    fn a_port_that_stores_and_forwards_reserves_nothing() {
        let mut run = lab::run(2, lab::INGRESS);
        run.network.switch.forwarding = records::Forwarding::CutThrough;
        let reserved = |run: &records::Run| {
            let star = Star::new(run).expect("the lab's network fits");
            [0, 1].map(|port| star.reserved_bytes(port))
        };
        // An MTU of 9000 and 18 bytes of Ethernet.
        assert_eq!(reserved(&run), [9018, 9018]);
        run.network.links[1].rate_bps /= 10;
        assert_eq!(reserved(&run), [9018, 0], "the servers' ports wait for the end of a frame");
        run.network.switch.forwarding = records::Forwarding::StoreAndForward;
        assert_eq!(reserved(&run), [0, 0]);
    }

    #[test]
    fn clocks_tick_in_phases_of_their_own_unless_they_are_one() {
        let mut run = lab::run(2, lab::INGRESS);
        for group in &mut run.network.hosts {
            group.tcp.clock_tick_ns = 4_000_000;
        }
        let phases = |run: &records::Run| {
            let star = Star::new(run).expect("the lab's network fits");
            [0, 1, 2].map(|host| star.hosts[host].tcp_with_phase(&run.seed).clock_phase)
        };
        let [client, first, second] = phases(&run);
        assert!(client != first && first != second && second != client);
        run.network.shared_clock = true;
        let [client, first, second] = phases(&run);
        assert!(client == first && first == second);
    }
}
