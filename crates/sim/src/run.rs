//! One run of a plan: from its description to its record.

use std::ops::ControlFlow;

use netstudy_fabric::stepped::Architecture;
use netstudy_fabric::{OverSwitch, SwitchBuffer, SwitchSetup, over_switch};
use netstudy_records as records;
use netstudy_records::{Mode, RunRecord, Workload};
use netstudy_tcp::Segment;
use netstudy_workload::{IncastConfig, Traffic};

use crate::applications::{self, Cast};
use crate::host::Hosts;
use crate::laws;
use crate::measure::{Measure, OnIteration, Outcome};
use crate::network::general::General;
use crate::network::limits::{Limited, Limits, Unlimited};
use crate::network::star::{self, Star};
use crate::network::{Frame, Observer};
use crate::record;
use crate::wiring::{self, Wiring};

/// Told of each iteration that has ended.
pub trait Progress {
    /// An iteration of `packets` useful data packets has ended. The answer says whether to go on.
    fn iteration(&mut self, packets: u64) -> ControlFlow<()>;
}

/// Makes one run. A run that cannot be made, or does not end, is a record as well.
#[must_use]
pub fn run(run: &records::Run, progress: &mut dyn Progress) -> RunRecord {
    let manner = Manner { mode: None, sends_ahead: true, observer: () };
    carry_out(run, manner, progress).unwrap_or_else(|error| record::of_failure(run, error))
}

/// Data packets that a run carries when none is lost, warm-up included.
#[must_use]
pub fn useful_packets(run: &records::Run) -> u64 {
    match &run.workload {
        Workload::Incast(incast) => applications::incast_config(run, incast).map_or(0, |config| {
            packets_per_iteration(&config, &run.network) * u64::from(config.iterations)
        }),
        Workload::Transfer(_) | Workload::Request(_) => 0,
    }
}

fn packets_per_iteration(config: &IncastConfig, network: &records::Network) -> u64 {
    let headers = Segment::BASE_HEADER_BYTES + Segment::TIMESTAMPS_BYTES;
    let mtu = network.links.iter().map(|link| link.mtu_bytes).min().unwrap_or(1500);
    let mss = u64::from(mtu.saturating_sub(headers).max(1));
    (0..config.servers).map(|server| config.response_bytes(server).div_ceil(mss)).sum()
}

/// How a run is carried out. Its outcome does not depend on it.
pub(crate) struct Manner<O> {
    /// None: in closed form, unless the run has what only one event a hop can express.
    pub(crate) mode: Option<Mode>,
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
    refuse_beside(run)?;
    let cast = Cast::new(&run.workload)?;
    let wiring = Wiring::new(run, &cast.participants, &cast.connections)?;
    let star = wiring.star(&cast.connections).ok_or("the network is no star of hosts")?;
    let mode = manner.mode.unwrap_or_else(|| mode(&star));
    let Workload::Incast(incast) = &run.workload else { unreachable!("it has no cast") };
    let config = applications::incast_config(run, incast)?;
    let packets = packets_per_iteration(&config, &run.network);
    let measured = config.iterations - config.warmup_iterations;
    let execution = Execution {
        wiring: &wiring,
        star: &star,
        seed: &run.seed,
        applications: applications::incast(&config, &incast.start_jitter, &run.seed),
        cast: &cast,
        measure: Measure::new(cast.senders, measured),
        mode,
        manner,
        on_iteration: &mut || progress.iteration(packets),
    };
    let outcome = execution.run()?;
    let client = outcome.received(0);
    let mut checks =
        vec![laws::all_bytes_arrived(client, config.iteration_bytes() * u64::from(measured))];
    checks.push(laws::below_line_rate(&wiring, &star, &outcome));
    checks.push(laws::frames_conserved(&outcome));
    Ok(record::of_outcome(run, &wiring, &star, &cast, mode, checks, outcome))
}

/// The mode of a run over a star.
fn mode(star: &wiring::Star<'_>) -> Mode {
    if star.has_closed_form() { Mode::ClosedForm } else { Mode::PerHop }
}

/// What a plan may ask for beside its workload and is not simulated.
fn refuse_beside(run: &records::Run) -> Result<(), String> {
    if run.probe.is_some() {
        return Err("the simulator sends no probe beside a workload".to_owned());
    }
    match run.instruments.first() {
        Some(instrument) => Err(format!("the simulator has no instrument {:?}", instrument.kind)),
        None => Ok(()),
    }
}

/// Applications that are to be carried out over a star.
struct Execution<'a, T, O> {
    wiring: &'a Wiring,
    star: &'a wiring::Star<'a>,
    seed: &'a str,
    applications: Vec<T>,
    cast: &'a Cast,
    measure: Measure,
    mode: Mode,
    manner: Manner<O>,
    on_iteration: &'a mut OnIteration<'a>,
}

impl<T: Traffic, O: Observer> Execution<'_, T, O> {
    fn run(self) -> Result<Outcome, String> {
        let switch = self.star.switch;
        let star = self.star;
        let setup = SwitchSetup {
            links: &star.port_links(),
            marked_above_bytes: switch.ecn_threshold_bytes,
            reserved_bytes: &|port| star.reserved_bytes(port),
        };
        over_switch(&switch.buffer, &setup, self)
    }

    fn in_closed_form<L: Limits>(
        self,
        buffer: impl SwitchBuffer<Frame>,
    ) -> Result<Outcome, String> {
        let connections = &self.cast.connections;
        let mut ahead = star::who_sends_ahead(self.applications.len(), connections);
        if !self.manner.sends_ahead {
            ahead.fill(false);
        }
        let observer = self.manner.observer;
        let network = Star::<_, L, _>::new(self.star, self.seed, &ahead, buffer, observer);
        let (applications, measure) = (self.applications, self.measure);
        let mut hosts = Hosts::new(self.wiring, self.seed, applications, connections, measure);
        network.run(&mut hosts, self.on_iteration)
    }

    fn per_hop(self, architecture: impl Architecture<Frame>) -> Result<Outcome, String> {
        let network = General::new(self.star, self.seed, architecture, self.manner.observer);
        let (applications, connections) = (self.applications, &self.cast.connections);
        let mut hosts = Hosts::new(self.wiring, self.seed, applications, connections, self.measure);
        network.run(&mut hosts, self.on_iteration)
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
        match self.mode {
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
