//! One run of a plan: from its description to its record.

use std::ops::ControlFlow;

use netstudy_fabric::stepped::Architecture;
use netstudy_fabric::{OverSwitch, SwitchBuffer, SwitchSetup, over_switch};
use netstudy_records as records;
use netstudy_records::{Mode, RunRecord, Workload};
use netstudy_tcp::Segment;
use netstudy_workload::{IncastConfig, Traffic};

use crate::applications::{self, Cast};
use crate::host::Population;
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
    let manner = Manner { mode: None, all_steps: false, sends_ahead: true, observer: () };
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
    /// None: in closed form, if the network has one.
    pub(crate) mode: Option<Mode>,
    /// Not in closed form: everything goes one step at a time.
    pub(crate) all_steps: bool,
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
    let star = wiring.star(&cast.connections).filter(wiring::Star::has_closed_form);
    let form = if star.is_some() { Mode::ClosedForm } else { Mode::PerHop };
    let mode = manner.mode.unwrap_or(form);
    let Workload::Incast(incast) = &run.workload else { unreachable!("it has no cast") };
    let config = applications::incast_config(run, incast)?;
    let packets = packets_per_iteration(&config, &run.network);
    let measured = config.iterations - config.warmup_iterations;
    let execution = Execution {
        wiring: &wiring,
        star: star.as_ref().filter(|_| mode == Mode::ClosedForm),
        seed: &run.seed,
        applications: applications::incast(&config, &incast.start_jitter, &run.seed),
        cast: &cast,
        measure: Measure::new(cast.senders, measured),
        manner,
        on_iteration: &mut || progress.iteration(packets),
    };
    let outcome = execution.run()?;
    let client = outcome.received(0);
    let mut checks =
        vec![laws::all_bytes_arrived(client, config.iteration_bytes() * u64::from(measured))];
    checks.push(laws::below_line_rate(&wiring, &outcome));
    checks.push(laws::frames_conserved(&outcome));
    Ok(record::of_outcome(run, &wiring, &cast, mode, checks, outcome))
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

/// Applications that are to be carried out over a network.
struct Execution<'a, T, O> {
    wiring: &'a Wiring,
    /// The star to be carried out in closed form, if it is one.
    star: Option<&'a wiring::Star<'a>>,
    seed: &'a str,
    applications: Vec<T>,
    cast: &'a Cast,
    measure: Measure,
    manner: Manner<O>,
    on_iteration: &'a mut OnIteration<'a>,
}

impl<T: Traffic, O: Observer> Execution<'_, T, O> {
    /// Chooses the code for the network, the limits of interfaces and the buffer once, so that no choice
    /// is left a packet.
    fn run(self) -> Result<Outcome, String> {
        match (self.star, self.wiring.is_limited()) {
            (Some(star), _) => self.in_closed_form(star),
            (None, true) => self.by_events::<Limited>(),
            (None, false) => self.by_events::<Unlimited>(),
        }
    }

    fn by_events<L: Limits>(self) -> Result<Outcome, String> {
        let Self { wiring, seed, manner, .. } = self;
        let network = General::<L, _>::new(wiring, seed, manner.all_steps, manner.observer)?;
        let (applications, measure) = (self.applications, self.measure);
        let (lines, connections) = (vec![(); applications.len()], &self.cast.connections);
        let mut hosts = Population::new(wiring, seed, applications, lines, connections, measure);
        network.run(&mut hosts.at_work(), self.on_iteration)
    }

    fn in_closed_form(self, star: &wiring::Star<'_>) -> Result<Outcome, String> {
        let setup = SwitchSetup {
            links: &star.port_links(),
            marked_above_bytes: star.switch.ecn_threshold_bytes,
            reserved_bytes: &|port| star.reserved_bytes(port),
        };
        over_switch(&star.switch.buffer, &setup, OverStar { star, execution: self })
    }
}

/// Applications that are to be carried out over a star in closed form.
struct OverStar<'s, 'a, T, O> {
    star: &'s wiring::Star<'s>,
    execution: Execution<'a, T, O>,
}

impl<T: Traffic, O: Observer> OverStar<'_, '_, T, O> {
    fn run<L: Limits>(self, buffer: impl SwitchBuffer<Frame>) -> Result<Outcome, String> {
        let Self { star, execution } = self;
        let Execution { wiring, seed, applications, cast, measure, manner, .. } = execution;
        let connections = &cast.connections;
        let lines = star::Line::<L>::all(star, seed, connections, manner.sends_ahead);
        let network = Star::<_, L, _>::new(star, seed, buffer, manner.observer);
        let mut hosts = Population::new(wiring, seed, applications, lines, connections, measure);
        network.run(&mut hosts.at_work(), execution.on_iteration)
    }
}

impl<T: Traffic, O: Observer> OverSwitch<Frame> for OverStar<'_, '_, T, O> {
    type Output = Result<Outcome, String>;

    fn over<B: SwitchBuffer<Frame>, A: Architecture<Frame>>(
        self,
        closed_form: impl FnOnce() -> B,
        _stepped: impl FnOnce() -> A,
    ) -> Self::Output {
        if self.execution.wiring.is_limited() {
            self.run::<Limited>(closed_form())
        } else {
            self.run::<Unlimited>(closed_form())
        }
    }
}

#[cfg(test)]
pub(crate) mod tests;
