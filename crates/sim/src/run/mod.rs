//! One run of a plan: from its description to its record.

use std::ops::ControlFlow;

use netstudy_fabric::stepped::Architecture;
use netstudy_fabric::{SwitchBuffer, SwitchSetup, SwitchTask, dispatch};
use netstudy_records as records;
use netstudy_records::{Check, InstrumentKind, Mode, RunRecord, Samples, Until};
use netstudy_workload::Traffic;

use crate::account::{Accounts, SharedTrace, Trace};
use crate::applications::{self, Cast};
use crate::host::Population;
use crate::laws;
use crate::measure::control::OnSamples;
use crate::measure::outcome::Outcome;
use crate::measure::{Measure, MeasureConfig};
use crate::network::frame::Frame;
use crate::network::general::General;
use crate::network::limits::{Limited, Limits, Stationed, Unlimited};
use crate::network::star::{self, Star};
use crate::network::trace::Tracer;
use crate::phases::PhasePlan;
use crate::record;
use crate::sampling::Sampler;
use crate::wiring::{self, Wiring};
use crate::workloads::{self, Applications, Stage, for_workload};

/// Progress of a run.
pub trait Progress {
    /// Reports that `packets` further data packets have been carried, not counting retransmissions.
    /// Returns whether the run may go on.
    fn carried(&mut self, packets: u64) -> ControlFlow<()>;
}

/// Simulates one run. If the run cannot start or does not end, the record has the error.
#[must_use]
pub fn run(run: &records::Run, progress: &mut dyn Progress) -> RunRecord {
    let manner = Manner { mode: None, all_steps: false, sends_ahead: true, tracer: () };
    carry_out(run, manner, progress).unwrap_or_else(|error| record::of_failure(run, error))
}

/// Number of data packets that a run carries if no packet is lost, including the warm-up. 0 if its
/// phases end after a time.
#[must_use]
pub fn useful_packets(run: &records::Run) -> u64 {
    let counts = run.phases.iter().map(|phase| match phase.until {
        Some(Until::Count { count }) => u64::from(count),
        _ => 0,
    });
    let workload = workloads::of(run);
    workload.packets_per_sample(run) * workload.samples_per_count() * counts.sum::<u64>()
}

/// How a run is simulated. The results depend on this only where frames tie: the mode decides which
/// of them comes first.
pub(crate) struct Manner<O> {
    /// The mode. If none: closed form for a network that has one, otherwise per hop.
    pub(crate) mode: Option<Mode>,
    /// If per hop: every hop is event-driven, even if it has a closed form.
    pub(crate) all_steps: bool,
    /// If in closed form: switches judge frames as soon as they are sent, wherever this is
    /// possible.
    pub(crate) sends_ahead: bool,
    /// Gets every trace point.
    pub(crate) tracer: O,
}

/// Simulates one run, or returns why it cannot start or does not end.
pub(crate) fn carry_out(
    run: &records::Run,
    manner: Manner<impl Tracer>,
    progress: &mut dyn Progress,
) -> Result<RunRecord, String> {
    let phases = workloads::phase_plan(run)?;
    let cast = workloads::cast(run)?;
    let connections = &cast.all_connections();
    let workload = workloads::of(run);
    let works_at = |host: &str| workload.works_at(host);
    let mut wiring = Wiring::new(run, &cast.participants, connections, works_at)?;
    wiring.file_connections = cast.file_connections();
    if run.trace {
        let trace = Trace::new(&wiring, &cast, workload.unit());
        wiring.set_trace(trace);
    }
    // The closed form is faster and gives the same results.
    let star = wiring.closed_star(connections);
    let form = if star.is_some() && !run.trace { Mode::ClosedForm } else { Mode::PerHop };
    let mode = manner.mode.unwrap_or(form);
    let setting = Setting {
        run,
        wiring: &wiring,
        star: star.as_ref().filter(|_| mode == Mode::ClosedForm),
        cast: &cast,
        connections,
        phases,
        mode,
    };
    let performance = Performance { setting: &setting, manner, progress };
    for_workload!(&run.workload, workload => workload.perform(run, &cast, &wiring, performance))
}

/// A run, and how to simulate it.
struct Performance<'a, O> {
    setting: &'a Setting<'a>,
    manner: Manner<O>,
    progress: &'a mut dyn Progress,
}

impl<O: Tracer> Stage for Performance<'_, O> {
    type Done = RunRecord;

    fn perform_and<T: Traffic + 'static>(
        self,
        applications: Vec<T>,
        add: impl FnOnce(&Outcome, &mut Samples, &mut Vec<Check>),
    ) -> Result<RunRecord, String> {
        self.setting.carry_out(applications, self.manner, self.progress, add)
    }
}

/// A run before its applications are created.
struct Setting<'a> {
    run: &'a records::Run,
    wiring: &'a Wiring,
    /// The star, if the run is simulated in closed form.
    star: Option<&'a wiring::Star<'a>>,
    cast: &'a Cast,
    /// Connections of the workload and of the probe.
    connections: &'a [[usize; 2]],
    phases: PhasePlan,
    mode: Mode,
}

impl Setting<'_> {
    /// Simulates the run with the workload's applications, and the probe if it has one.
    fn carry_out<T: Traffic + 'static>(
        &self,
        applications: Vec<T>,
        manner: Manner<impl Tracer>,
        progress: &mut dyn Progress,
        add: impl FnOnce(&Outcome, &mut Samples, &mut Vec<Check>),
    ) -> Result<RunRecord, String> {
        let (outcome, accounts) = match &self.run.probe {
            None => self.execute_any(applications, manner, progress)?,
            Some(probe) => {
                let probed = applications::probed(probe, &self.phases, self.cast, applications)?;
                self.execute_any(probed, manner, progress)?
            }
        };
        let Self { run, wiring, cast, mode, .. } = *self;
        let mut checks = vec![
            workloads::of(run).check(run, cast, &outcome),
            laws::below_line_rate(wiring, &outcome),
            laws::frames_conserved(&outcome),
        ];
        checks.extend(laws::switches_conserve(wiring, &outcome));
        checks.extend(laws::links_are_as_asked(run, &outcome));
        let mut samples = record::samples(run, wiring, cast, &outcome);
        add(&outcome, &mut samples, &mut checks);
        if let Some(accounts) = accounts {
            checks.push(accounts.add_to(&mut samples));
        }
        Ok(record::of_outcome(run, wiring, mode, checks, samples, outcome))
    }

    /// Simulates the run, with a trace of time if the plan asks for it.
    fn execute_any<T: Traffic + 'static>(
        &self,
        applications: Vec<T>,
        manner: Manner<impl Tracer>,
        progress: &mut dyn Progress,
    ) -> Result<(Outcome, Option<Accounts>), String> {
        let Some(trace) = self.wiring.trace.shared() else {
            return Ok((self.execute(applications, manner, progress)?, None));
        };
        let Manner { mode, all_steps, sends_ahead, .. } = manner;
        let manner = Manner { mode, all_steps, sends_ahead, tracer: SharedTrace::clone(trace) };
        let outcome = if T::REOPENS || T::READS_LATER {
            self.execute(applications, manner, progress)?
        } else {
            // The code of a traced run is compiled only once for all of these.
            self.execute(workloads::boxed(applications), manner, progress)?
        };
        let accounts = Accounts::new(&mut trace.borrow_mut(), self.run, self.wiring);
        Ok((outcome, Some(accounts)))
    }

    fn execute<T: Traffic>(
        &self,
        applications: Vec<T>,
        mut manner: Manner<impl Tracer>,
        progress: &mut dyn Progress,
    ) -> Result<Outcome, String> {
        let Self { run, wiring, star, connections, .. } = *self;
        let packets = workloads::of(run).packets_per_sample(run);
        // If queues are sampled, they must not include frames that were judged ahead of their
        // arrival.
        let is_at_ports = |one: &records::Instrument| {
            matches!(one.kind, InstrumentKind::Ports | InstrumentKind::Snmp)
        };
        manner.sends_ahead &= !run.instruments.iter().any(is_at_ports);
        let execution = Execution {
            wiring,
            star,
            seed: &run.seed,
            applications,
            connections,
            measure: Measure::new(self.measure_config()?),
            manner,
            on_samples: &mut |samples| progress.carried(samples * packets),
        };
        execution.run()
    }

    fn measure_config(&self) -> Result<MeasureConfig, String> {
        let Self { run, wiring, cast, phases, .. } = *self;
        let sampler = |instrument| Sampler::new(instrument, wiring, &cast.connections);
        Ok(MeasureConfig {
            clients: cast.clients(),
            connections: cast.connections.len(),
            controls: cast.controls.len(),
            senders: cast.senders,
            phases,
            each_second: workloads::of(run).samples_seconds(),
            samplers: run.instruments.iter().map(sampler).collect::<Result<_, _>>()?,
        })
    }
}

/// Applications to be run over a network.
struct Execution<'a, T, O> {
    wiring: &'a Wiring,
    /// The star, if the run is simulated in closed form.
    star: Option<&'a wiring::Star<'a>>,
    seed: &'a str,
    applications: Vec<T>,
    connections: &'a [[usize; 2]],
    measure: Measure,
    manner: Manner<O>,
    on_samples: &'a mut OnSamples<'a>,
}

impl<T: Traffic, O: Tracer> Execution<'_, T, O> {
    /// Selects, once per run, the code that is compiled for this kind of network, interface limits
    /// and buffer. So the code for a packet need not check their kinds.
    fn run(self) -> Result<Outcome, String> {
        if O::ACCOUNTS {
            return self.by_events::<Stationed>();
        }
        match (self.star, self.wiring.is_limited()) {
            (Some(star), _) => self.in_closed_form(star),
            (None, _) if T::PREFERS_SMALL_CODE || self.wiring.has_stations() => {
                self.by_events::<Stationed>()
            }
            (None, true) => self.by_events::<Limited>(),
            (None, false) => self.by_events::<Unlimited>(),
        }
    }

    fn by_events<L: Limits>(self) -> Result<Outcome, String> {
        let Self { wiring, seed, connections, manner, .. } = self;
        let network = General::<L, _>::new(wiring, seed, manner.all_steps, manner.tracer);
        let (applications, measure) = (self.applications, self.measure);
        let lines = vec![(); applications.len()];
        let mut hosts = Population::new(wiring, seed, applications, lines, connections, measure);
        network.run(&mut hosts.at_work(), self.on_samples)
    }

    fn in_closed_form(self, star: &wiring::Star<'_>) -> Result<Outcome, String> {
        let setup = SwitchSetup {
            links: &star.port_links(),
            marked_above_bytes: star.switch.ecn_threshold_bytes,
            reserved_bytes: &|port| star.reserved_bytes(port),
        };
        dispatch(&star.switch.buffer, &setup, StarTask { star, execution: self })
    }
}

/// Applications to be run over a star in closed form.
struct StarTask<'s, 'a, T, O> {
    star: &'s wiring::Star<'s>,
    execution: Execution<'a, T, O>,
}

impl<T: Traffic, O: Tracer> StarTask<'_, '_, T, O> {
    fn run<L: Limits>(self, buffer: impl SwitchBuffer<Frame>) -> Result<Outcome, String> {
        let Self { star, execution } = self;
        let Execution { wiring, seed, applications, connections, measure, manner, .. } = execution;
        let lines = star::Line::<L>::all(star, seed, connections, manner.sends_ahead);
        let network = Star::<_, L, _>::new(star, seed, connections, buffer, manner.tracer);
        let mut hosts = Population::new(wiring, seed, applications, lines, connections, measure);
        network.run(&mut hosts.at_work(), execution.on_samples)
    }
}

impl<T: Traffic, O: Tracer> SwitchTask<Frame> for StarTask<'_, '_, T, O> {
    type Output = Result<Outcome, String>;

    fn run_on<B: SwitchBuffer<Frame>, A: Architecture<Frame>>(
        self,
        closed_form: impl FnOnce() -> B,
        _stepped: impl FnOnce() -> A,
    ) -> Self::Output {
        if T::PREFERS_SMALL_CODE || self.execution.wiring.is_limited() {
            self.run::<Limited>(closed_form())
        } else {
            self.run::<Unlimited>(closed_form())
        }
    }
}

#[cfg(test)]
pub(crate) mod tests;
