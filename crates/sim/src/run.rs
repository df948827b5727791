//! One run of a plan: from its description to its record.

use std::ops::ControlFlow;

use netstudy_fabric::SwitchBuffer;
use netstudy_fabric::stepped::Architecture;
use netstudy_records as records;
use netstudy_records::{Mode, RunRecord};
use netstudy_tcp::Segment;
use netstudy_units::Duration;
use netstudy_workload::{IncastConfig, Traffic};

use crate::applications;
use crate::buffers::{OverSwitch, SwitchSetup, over_switch};
use crate::host::{Applications, Hosts};
use crate::measure::{Measure, OnIteration, Outcome};
use crate::network::general::General;
use crate::network::limits::{Limited, Limits, Unlimited};
use crate::network::star::{self, Star};
use crate::network::{Frame, Observer};
use crate::record;
use crate::wiring;

/// Told of each iteration that has ended.
pub trait Progress {
    /// An iteration of `packets` useful data packets has ended. The answer says whether to go on.
    fn iteration(&mut self, packets: u64) -> ControlFlow<()>;
}

/// Makes one run. A run that cannot be made, or does not end, is a record as well.
#[must_use]
pub fn run(run: &records::Run, progress: &mut dyn Progress) -> RunRecord {
    let manner = Manner { mode: mode(run), sends_ahead: true, observer: () };
    carry_out(run, manner, progress).unwrap_or_else(|error| record::of_failure(run, error))
}

/// The mode of a run: closed form, unless it has what only one event a hop can express.
pub(crate) fn mode(run: &records::Run) -> Mode {
    let switch = &run.network.switch;
    let needs_hops = |nic: &records::Nic| {
        nic.honours_pause || nic.pause_high_frames.is_some() || nic.receive_merge_bytes > 0
    };
    let per_hop = switch.honours_pause
        || switch.pause_high_bytes.is_some()
        || run.network.hosts.iter().any(|group| needs_hops(&group.nic));
    if per_hop { Mode::PerHop } else { Mode::ClosedForm }
}

/// Data packets that a run carries when none is lost, warm-up included.
#[must_use]
pub fn useful_packets(run: &records::Run) -> u64 {
    let records::Workload::Incast(incast) = &run.workload;
    let servers = run.network.hosts.iter().find(|group| group.name == incast.servers);
    let config = workload(incast, servers.map_or(0, |group| group.count));
    packets_per_iteration(&config, &run.network) * u64::from(config.iterations)
}

fn packets_per_iteration(config: &IncastConfig, network: &records::Network) -> u64 {
    let headers = Segment::BASE_HEADER_BYTES + Segment::TIMESTAMPS_BYTES;
    let mtu = network.links.iter().map(|link| link.mtu_bytes).min().unwrap_or(1500);
    let mss = u64::from(mtu.saturating_sub(headers).max(1));
    (0..config.servers).map(|server| config.response_bytes(server).div_ceil(mss)).sum()
}

fn workload(incast: &records::Incast, servers: u32) -> IncastConfig {
    IncastConfig {
        servers,
        block_bytes: incast.block_bytes,
        striped: incast.striped,
        iterations: incast.warmup_iterations + incast.iterations,
        warmup_iterations: incast.warmup_iterations,
        hold: false,
        request_bytes: incast.request_bytes,
        request_spacing: Duration::from_ns(incast.request_spacing_ns),
    }
}

/// How a run is carried out. Its outcome does not depend on it.
pub(crate) struct Manner<O> {
    pub(crate) mode: Mode,
    /// In closed form: frames are judged as soon as they are sent, where they may be.
    pub(crate) sends_ahead: bool,
    /// Hears of each frame.
    pub(crate) observer: O,
}

/// Makes one run, or says why it cannot be made or does not end.
pub(crate) fn carry_out(
    run: &records::Run,
    manner: Manner<impl Observer>,
    progress: &mut dyn Progress,
) -> Result<RunRecord, String> {
    let records::Workload::Incast(incast) = &run.workload;
    let star = wiring::Star::new(run)?;
    let config = workload(incast, star.hosts.len() as u32 - 1);
    let packets = packets_per_iteration(&config, &run.network);
    let execution = Execution {
        star: &star,
        seed: &run.seed,
        applications: applications::incast(&config, &incast.start_jitter, &run.seed),
        measure: Measure::new(incast.iterations),
        manner,
        on_iteration: &mut || progress.iteration(packets),
    };
    let links = star.port_links();
    let switch = SwitchSetup {
        links: &links,
        marked_above_bytes: star.ecn_threshold_bytes,
        reserved_bytes: &|port| star.reserved_bytes(port),
    };
    let outcome = over_switch(&run.network.switch.buffer, &switch, execution)?;
    Ok(record::of_outcome(run, &star, &config, outcome))
}

/// Applications that are to be carried out over a star.
struct Execution<'a, T, O> {
    star: &'a wiring::Star,
    seed: &'a str,
    applications: Applications<T>,
    measure: Measure,
    manner: Manner<O>,
    on_iteration: &'a mut OnIteration<'a>,
}

impl<T: Traffic, O: Observer> Execution<'_, T, O> {
    fn in_closed_form<L: Limits>(
        self,
        buffer: impl SwitchBuffer<Frame>,
    ) -> Result<Outcome, String> {
        let Self { star, seed, applications, measure, manner, on_iteration } = self;
        let mut ahead = star::who_sends_ahead(star.hosts.len(), &applications.connections);
        if !manner.sends_ahead {
            ahead.fill(false);
        }
        let mut hosts = Hosts::new(star, seed, applications, measure);
        let network = Star::<_, L, _>::new(star, seed, &ahead, buffer, manner.observer);
        network.run(&mut hosts, on_iteration)
    }

    fn per_hop(self, architecture: impl Architecture<Frame>) -> Result<Outcome, String> {
        let Self { star, seed, applications, measure, manner, on_iteration } = self;
        let mut hosts = Hosts::new(star, seed, applications, measure);
        General::new(star, seed, architecture, manner.observer).run(&mut hosts, on_iteration)
    }
}

impl<T: Traffic, O: Observer> OverSwitch<Frame> for Execution<'_, T, O> {
    type Output = Result<Outcome, String>;

    /// Chooses the code for the limits of interfaces once, so that no choice is left a packet.
    fn over<B: SwitchBuffer<Frame>, A: Architecture<Frame>>(
        self,
        closed_form: impl FnOnce() -> B,
        stepped: impl FnOnce() -> A,
    ) -> Self::Output {
        match self.manner.mode {
            Mode::PerHop => self.per_hop(stepped()),
            Mode::ClosedForm if self.star.is_limited() => {
                self.in_closed_form::<Limited>(closed_form())
            }
            Mode::ClosedForm => self.in_closed_form::<Unlimited>(closed_form()),
        }
    }
}

#[cfg(test)]
pub(crate) mod tests;
