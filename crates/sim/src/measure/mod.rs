//! The measurement of a run: phases, samples, and counters at the edges of phases.
//!
//! [`Measure`] collects the events that hosts report; it is stored together with the hosts.
//! `control` leads a run through its phases, and `counted` reads the counters of hosts and network.

pub(crate) mod control;
pub(crate) mod counted;
pub(crate) mod outcome;
pub(crate) mod readings;

use std::collections::VecDeque;

use netstudy_records::PhaseKind;
use netstudy_tcp::SenderTimes;
use netstudy_units::{Duration, Time};
use netstudy_workload::{Action, Sample};

use crate::end_index::EndIndex;
use crate::phases::PhasePlan;
use crate::sampling::Sampler;
use outcome::{Edge, Sampled, Span};
use readings::Readings;

/// A run is stopped if the workload reports nothing for this virtual time plus the length of the
/// phases. It is much longer than any series of retransmission timeouts after which a connection
/// recovers.
const QUIET_TIME_MAX: Duration = Duration::from_secs(3600);
/// When all clients wait, the next phase starts after this time, which a controller needs to notify
/// them.
const CONTROL_TIME: Duration = Duration::from_ms(1);
/// The length of a row of [`SecondSamples`].
const SECOND: Duration = Duration::from_secs(1);

/// Counts of events between two samples. The TCP events are counted only at ends that send data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Totals {
    dropped_packets: u64,
    retransmissions: u64,
    timeouts: u64,
}

/// An event that is rare enough to be recorded with its time. Hosts run ahead of the clock, so the
/// counters of a host, when they are read, may include events that happen later. Recorded events
/// can be subtracted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rare {
    /// The end retransmits this many segments.
    Retransmissions(EndIndex, u64),
    /// The end's retransmission timer expires.
    Timeout(EndIndex),
    /// The switch port at this end of a link ([`netstudy_fabric::topology::CableEnd::number`]) drops a
    /// frame of this many bytes.
    Drop(usize, u32),
}

/// Recorded [`Rare`] events.
#[derive(Default)]
struct Tally {
    /// Totals of the events since the last sample, except those in `ahead`.
    totals: Totals,
    /// Events that were later than the clock when they were recorded, in any order.
    ahead: Vec<(Time, Rare)>,
}

/// If `ahead` has more events than this, those that the clock has reached are moved to the totals.
const AHEAD_MAX: usize = 4096;

impl Tally {
    /// Moves the events up to `now` from `ahead` to the totals. The clock must have reached `now`.
    fn settle(&mut self, now: Time, config: &MeasureConfig) {
        let totals = &mut self.totals;
        let flows = config.connections + config.controls;
        let sends = |end: EndIndex| config.senders[end.side()] && end.connection() < flows;
        self.ahead.retain(|&(at, rare)| {
            if at > now {
                return true;
            }
            match rare {
                Rare::Drop(..) => totals.dropped_packets += 1,
                Rare::Retransmissions(end, count) if sends(end) => totals.retransmissions += count,
                Rare::Timeout(end) if sends(end) => totals.timeouts += 1,
                Rare::Retransmissions(..) | Rare::Timeout(_) => {}
            }
            false
        });
    }
}

/// Configuration of the measurement.
pub(crate) struct MeasureConfig {
    /// Number of clients. The measuring phase begins and ends with actions of clients.
    pub(crate) clients: usize,
    /// Number of the workload's connections, which have the lowest numbers.
    pub(crate) connections: usize,
    /// Number of control connections, which have the next numbers: equal to `connections`, or 0.
    pub(crate) controls: usize,
    /// Whether data is sent by the end that opens a connection, and by the other end.
    /// Retransmissions and timeouts are sampled at the ends that send data.
    pub(crate) senders: [bool; 2],
    pub(crate) phases: PhasePlan,
    /// Whether the bytes received on each connection are sampled every second.
    pub(crate) each_second: bool,
    /// Interval samplers.
    pub(crate) samplers: Vec<Sampler>,
}

/// The current phase of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Only the probe runs.
    Idle,
    /// The workload has begun.
    WarmUp,
    /// The workload has been pausing since this time.
    Stopped(Time),
    Measure,
    /// The measuring phase is over for all clients; transfers in progress may still end.
    Over,
}

/// Collects the measurement. An event that an application reports may have a time ahead of the
/// clock. The counters for this event are read when the clock reaches its time.
pub(crate) struct Measure {
    config: MeasureConfig,
    /// Marks to be handled: time, host and mark, in the order of time and host.
    noted: VecDeque<(Time, usize, Mark)>,
    /// Time of the first mark; [`Time::NEVER`] if there is none.
    due: Time,
    /// Time of the last action of the workload, for the check of progress.
    last: Time,
    stage: Stage,
    phases: Vec<Span>,
    edges: Vec<Edge>,
    tally: Tally,
    /// If the measuring phase ends after a time: host counters at its edges and after each second.
    pub(crate) readings: Readings,
    sampled: Sampled,
    /// When the current second began, and the bytes that both ends of each connection had received
    /// by then.
    second: (Time, Vec<[u64; 2]>),
    /// Number of clients that wait for the next phase.
    holding: usize,
    /// Number of clients at full load, if the warm-up ends a fixed time after all clients have
    /// reached it.
    ready: usize,
    /// Number of clients for which the measuring phase is over.
    over: usize,
    /// Number of clients whose workload has ended.
    ended: usize,
}

/// The host number of marks that do not belong to a host. At equal times they are handled last.
const NO_HOST: usize = usize::MAX;

/// An event that the measurement must handle.
#[derive(Clone, Copy, Debug)]
enum Mark {
    /// An action of an application.
    Noted(Action),
    /// The waiting clients may go on.
    Go,
    /// Another second of the measuring phase is over.
    Second,
    /// The warm-up is over and no transfer is in progress. The stop of this length begins.
    Stop(Duration),
    /// The cool-down is over.
    CoolDownEnd,
    /// The sampler with this number is due.
    Sampler(usize),
}

/// Names of the edges (starts and ends of phases) at which counters are read: those of the
/// measuring phase and, of other phases, those at which no transfer is in progress.
const MEASURE_START: &str = "measure-start";
const MEASURE_END: &str = "measure-end";
const WARM_UP_START: &str = "warm-up-start";
const WARM_UP_END: &str = "warm-up-end";
const COOL_DOWN_END: &str = "cool-down-end";

impl Measure {
    pub(crate) fn new(config: MeasureConfig) -> Self {
        let stage = if config.phases.idle.is_some() { Stage::Idle } else { Stage::WarmUp };
        let samplers = config.samplers.len();
        let mut measure = Self {
            config,
            noted: VecDeque::new(),
            due: Time::NEVER,
            last: Time::ZERO,
            stage,
            phases: Vec::new(),
            edges: Vec::new(),
            tally: Tally::default(),
            readings: Readings::default(),
            sampled: Sampled::default(),
            second: (Time::ZERO, Vec::new()),
            holding: 0,
            ready: 0,
            over: 0,
            ended: 0,
        };
        let phases = measure.config.phases;
        // Simulated applications have no data, so the phases that prepare data take no time.
        for kind in phases.preparations() {
            measure.end_phase(kind, Time::ZERO);
        }
        for sampler in 0..samplers {
            measure.mark(Time::ZERO, NO_HOST, Mark::Sampler(sampler));
        }
        measure
    }

    /// Records an action that a host's application reports at `now`.
    pub(crate) fn note(&mut self, now: Time, host: usize, action: Action) {
        self.mark(now, host, Mark::Noted(action));
    }

    /// True during the measuring phase.
    pub(crate) fn is_measuring(&self) -> bool {
        self.stage == Stage::Measure
    }

    /// True if the measuring phase, which must go on, counts this sample.
    pub(crate) fn counts(&self, sample: Sample) -> bool {
        match sample {
            _ if !self.is_measuring() => false,
            Sample::Request { intended, .. } => intended >= self.start_of_measure(),
            _ => true,
        }
    }

    fn mark(&mut self, at: Time, host: usize, mark: Mark) {
        let place = self.noted.partition_point(|&(when, whose, _)| (when, whose) <= (at, host));
        self.noted.insert(place, (at, host, mark));
        self.due = self.noted[0].0;
    }

    /// For an end of a data connection: the end of its control connection at the same host. None if
    /// there is no control connection.
    pub(crate) fn control_of(&self, end: EndIndex) -> Option<EndIndex> {
        let MeasureConfig { connections, controls, .. } = self.config;
        let control = EndIndex(end.0 + 2 * connections as u32);
        (end.connection() < controls).then_some(control)
    }

    /// Records an event that happens at `at`, which may be ahead of the clock.
    #[cold]
    pub(crate) fn count(&mut self, at: Time, rare: Rare) {
        self.tally.ahead.push((at, rare));
    }

    /// Corrects the times of an end in all readings after `from` and before `until`.
    pub(crate) fn correct_times(
        &mut self,
        end: EndIndex,
        host: usize,
        [from, until]: [Time; 2],
        times: &dyn Fn(Time) -> SenderTimes,
    ) {
        self.readings.correct_times(end, [from, until], times);
        for edge in self.edges.iter_mut().filter(|edge| from < edge.at && edge.at < until) {
            edge.counted.correct_times(end, host, times(edge.at));
        }
    }

    /// When the next mark is due.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) const fn due(&self) -> Time {
        self.due
    }

    /// Checks whether the run makes progress at `now`.
    pub(crate) fn check_progress(&mut self, now: Time) -> Result<(), String> {
        if now == Time::NEVER {
            return Err("no event is pending, but the workload has not ended".to_owned());
        }
        let quiet_max = QUIET_TIME_MAX + self.config.phases.time();
        if now.since(self.last) > quiet_max {
            return Err(format!("the workload has not ended after {quiet_max} without progress"));
        }
        if self.tally.ahead.len() > AHEAD_MAX {
            self.settle(now);
        }
        Ok(())
    }

    fn next(&mut self) -> Option<(Time, usize, Mark)> {
        let first = self.noted.pop_front();
        self.due = self.noted.front().map_or(Time::NEVER, |&(at, ..)| at);
        first
    }

    /// Adds the events up to `now` to the totals. Later events stay in `ahead`. The clock must have
    /// reached `now`.
    fn settle(&mut self, now: Time) {
        self.tally.settle(now, &self.config);
    }

    /// Totals since the last sample, up to `now`.
    fn take_totals(&mut self, now: Time) -> Totals {
        self.settle(now);
        std::mem::take(&mut self.tally.totals)
    }

    fn sample_iteration(&mut self, now: Time, started: Time, ended: Time) {
        let totals = self.take_totals(now);
        if self.stage != Stage::Measure {
            return;
        }
        let Sampled { iterations, dropped_packets, .. } = &mut self.sampled;
        iterations.completion_ns.push(ended.since(started).as_ns());
        dropped_packets.push(totals.dropped_packets);
        iterations.retransmissions.get_or_insert_default().push(totals.retransmissions);
        iterations.timeouts.get_or_insert_default().push(totals.timeouts);
    }

    /// Records the end of a phase. Its start is the end of the previous phase.
    fn end_phase(&mut self, kind: PhaseKind, end: Time) {
        let start = self.phases.last().map_or(Time::ZERO, |phase| phase.end);
        self.phases.push(Span { kind, start, end });
    }

    /// Records the end of the phases between the preparations and the measuring phase: warm-up,
    /// stop, reset.
    fn end_warmup(&mut self, now: Time) {
        let PhasePlan { warmup, stop, resets, .. } = self.config.phases;
        let stopped = match self.stage {
            Stage::Stopped(since) if stop.is_some() => since,
            _ => now,
        };
        if warmup.is_some() {
            self.end_phase(PhaseKind::WarmUp, stopped);
        }
        if stop.is_some() {
            self.end_phase(PhaseKind::Stop, now);
        }
        if resets {
            self.end_phase(PhaseKind::Reset, now);
        }
    }

    /// Records that a client waits for the next phase from `now` on.
    fn hold(&mut self, now: Time) {
        self.holding += 1;
        if self.holding < self.config.clients {
            return;
        }
        self.holding = 0;
        let mut next = Mark::Go;
        if self.stage == Stage::WarmUp {
            self.stage = Stage::Stopped(now);
            if let Some(time) = self.config.phases.stop.filter(|time| *time > Duration::ZERO) {
                next = Mark::Stop(time);
            }
        }
        self.mark(now + CONTROL_TIME, NO_HOST, next);
    }

    fn start_of_measure(&self) -> Time {
        self.time_of(MEASURE_START)
    }

    /// The time of an edge, or the start of the run if the edge does not exist.
    fn time_of(&self, name: &str) -> Time {
        self.edges.iter().find(|edge| edge.name == name).map_or(Time::ZERO, |edge| edge.at)
    }

    /// Times at which the counters of hosts must be read, for a measuring phase that begins at
    /// `start`: the end of each second (if seconds are sampled) and the end of the phase. Empty if
    /// the phase ends at a count.
    fn times_of_measure(&self, start: Time) -> Vec<Time> {
        let Some(time) = self.config.phases.measured_time() else { return Vec::new() };
        let seconds = if self.config.each_second { time.as_ps() / SECOND.as_ps() } else { 0 };
        let mut times: Vec<_> = (1..=seconds).map(|number| start + SECOND * number).collect();
        if times.last() != Some(&(start + time)) {
            times.push(start + time);
        }
        times
    }
}
