//! The phases of a run, as planned.

use netstudy_records as records;
use netstudy_records::PhaseKind;
use netstudy_units::Duration;
use netstudy_workload::Until;

/// The phases of a run, in this order. A phase without a value does not take place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PhasePlan {
    /// Length of the phase in which only the probe runs.
    pub(crate) idle: Option<Duration>,
    pub(crate) warmup: Option<Until>,
    /// How long the workload pauses before the measuring phase. The pause begins when no transfer
    /// is in progress.
    pub(crate) stop: Option<Duration>,
    /// Whether the phases `Load`, `Configure` and `GatherStatistics` take place; `resets`: whether the
    /// phase Reset takes place. These phases prepare the data of an application. They take no time
    /// here, because a simulated application has no data.
    pub(crate) prepares: [bool; 3],
    pub(crate) resets: bool,
    pub(crate) measure: Until,
    /// Length of the cool-down, after the end of the workload.
    pub(crate) cooldown: Option<Duration>,
    /// True if a probe runs with the workload.
    pub(crate) is_probed: bool,
}

impl PhasePlan {
    /// The phases of a run, or an error if the plan combines them wrongly. `has_application`: the
    /// workload has an application whose data can be prepared.
    pub(crate) fn new(run: &records::Run, has_application: bool) -> Result<Self, String> {
        let is_probed = run.probe.is_some();
        let measure = Until::Count(0);
        let mut plan = Self {
            idle: None,
            warmup: None,
            stop: None,
            prepares: [false; 3],
            resets: false,
            measure,
            cooldown: None,
            is_probed,
        };
        for phase in &run.phases {
            match phase.kind {
                PhaseKind::Idle => plan.idle = Some(idle(phase, is_probed)?),
                PhaseKind::WarmUp => plan.warmup = Some(end(phase)?),
                PhaseKind::Stop => plan.stop = Some(rest(phase)?),
                PhaseKind::Measure => plan.measure = end(phase)?,
                PhaseKind::CoolDown => plan.cooldown = Some(rest(phase)?),
                PhaseKind::Load if has_application => plan.prepares[0] = true,
                PhaseKind::Configure if has_application => plan.prepares[1] = true,
                PhaseKind::GatherStatistics if has_application => plan.prepares[2] = true,
                PhaseKind::Reset if has_application => plan.resets = true,
                PhaseKind::Load
                | PhaseKind::Configure
                | PhaseKind::GatherStatistics
                | PhaseKind::Reset => {
                    return Err(format!(
                        "the phase {:?} is for applications with data, which a simulated workload \
                         does not have",
                        phase.kind
                    ));
                }
            }
        }
        // The variants of `PhaseKind` are declared in the order of the phases in a run.
        if let Some(pair) = run.phases.windows(2).find(|pair| pair[0].kind >= pair[1].kind) {
            let [first, second] = [pair[0].kind, pair[1].kind];
            return Err(format!("the phase {second:?} must come before {first:?}, and only once"));
        }
        if !run.phases.iter().any(|phase| phase.kind == PhaseKind::Measure) {
            return Err("a run needs the phase Measure".to_owned());
        }
        Ok(plan)
    }

    /// Whether clients wait for the controller between phases. Then several clients enter the
    /// measuring phase together, and no packet of a probe is in flight between phases.
    pub(crate) const fn holds(&self, clients: usize) -> bool {
        clients > 1 || self.is_probed || self.stop.is_some()
    }

    /// If the load of the warm-up continues into the measuring phase: length of the warm-up. This
    /// is so if both phases end after a time and there is no stop between them.
    pub(crate) const fn continuous_warmup(&self) -> Option<Duration> {
        match (self.warmup, self.stop, self.measure) {
            (Some(Until::Time(time)), None, Until::Time(_)) if time.as_ps() > 0 => Some(time),
            _ => None,
        }
    }

    /// The phases that prepare the data of the application. They come before all other phases.
    pub(crate) fn preparations(&self) -> impl Iterator<Item = PhaseKind> {
        let kinds = [PhaseKind::Load, PhaseKind::Configure, PhaseKind::GatherStatistics];
        kinds.into_iter().zip(self.prepares).filter_map(|(kind, is_asked)| is_asked.then_some(kind))
    }

    /// Length of the measuring phase, if it ends after a time.
    pub(crate) const fn measured_time(&self) -> Option<Duration> {
        match self.measure {
            Until::Time(time) if time.as_ps() > 0 => Some(time),
            _ => None,
        }
    }

    /// Total length of the phases that end after a time.
    pub(crate) fn time(&self) -> Duration {
        let time = |until| match until {
            Until::Time(time) => time,
            Until::Count(_) | Until::Told => Duration::ZERO,
        };
        let pauses = [self.idle, self.stop, self.cooldown].into_iter().flatten();
        let busy = self.warmup.into_iter().chain([self.measure]).map(time);
        pauses.chain(busy).fold(Duration::ZERO, |sum, time| sum + time)
    }
}

/// Length of the phase in which only the probe runs.
fn idle(phase: &records::Phase, is_probed: bool) -> Result<Duration, String> {
    if !is_probed {
        return Err(
            "nothing but a probe runs in the phase Idle, and this run has no probe".to_owned()
        );
    }
    match phase.until {
        Some(records::Until::Time { ns }) if ns > 0 => Ok(Duration::from_ns(ns)),
        _ => Err("the phase Idle must end after a time".to_owned()),
    }
}

/// The condition that ends a phase of the workload.
fn end(phase: &records::Phase) -> Result<Until, String> {
    match phase.until {
        Some(records::Until::Count { count }) => Ok(Until::Count(u64::from(count))),
        Some(records::Until::Time { ns }) => Ok(Until::Time(Duration::from_ns(ns))),
        None => Err(format!("the phase {:?} must end after a count or a time", phase.kind)),
    }
}

/// Length of a phase in which the workload rests.
fn rest(phase: &records::Phase) -> Result<Duration, String> {
    match phase.until {
        Some(records::Until::Time { ns }) => Ok(Duration::from_ns(ns)),
        None => Ok(Duration::ZERO),
        Some(records::Until::Count { .. }) => Err(format!(
            "the phase {:?} must end after a time: nothing is counted in it",
            phase.kind
        )),
    }
}
