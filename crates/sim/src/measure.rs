//! The measurement of a run: phases, samples, and counters at the edges of phases.

use std::collections::{BTreeMap, VecDeque};
use std::ops::{ControlFlow, Range};

use netstudy_records::{Answers, IterationSamples, PhaseKind, SecondSamples, TransferSamples};
use netstudy_tcp::Counters;
use netstudy_units::{Duration, Time};
use netstudy_workload::{Action, Sample, Traffic};

use crate::applications::Cast;
use crate::host::stations::StationCounters;
use crate::host::{EndIndex, Hosts};
use crate::network::{Carried, Counted, EndCounters, Frames, SwitchFrames};
use crate::phases::PhasePlan;
use crate::readings::{Reading, Readings};
use crate::sampling::Sampler;

/// Called with the number of samples ended since the last call, which may be 0; returns whether to go
/// on.
pub(crate) type OnSamples<'a> = dyn FnMut(u64) -> ControlFlow<()> + 'a;

/// Longest virtual time without a sample, in addition to the length of phases: far more than any series
/// of timeouts that still ends.
const QUIET_TIME_MAX: Duration = Duration::from_secs(3600);
/// Samples are not taken later than this: virtual time has room for 213 days, of which a phase and the
/// quiet time may take some.
const LAST_SAMPLE: Time = Time::from_ps(180 * 24 * 3_600 * 1_000_000_000_000);
/// Time from the last client that holds to the start of the next phase, as a controller needs to tell
/// all clients.
const CONTROL_TIME: Duration = Duration::from_ms(1);
/// The length of a row of [`SecondSamples`].
const SECOND: Duration = Duration::from_secs(1);
/// The measurement of a run that has ended.
pub(crate) struct Outcome {
    pub(crate) samples: Sampled,
    /// All phases, in order.
    pub(crate) phases: Vec<Span>,
    pub(crate) edges: Vec<Edge>,
    /// Which of the edges are the start and the end of the measuring phase.
    measured: [usize; 2],
    /// Whether the measuring phase began while the load of the warm-up went on.
    pub(crate) begins_loaded: bool,
    /// True: the measuring phase ends after a time. False: it ends at a count.
    pub(crate) is_timed: bool,
    pub(crate) samplers: Vec<Sampler>,
    pub(crate) frames: Frames,
    /// The same by switch, where there may be several.
    pub(crate) switches: Vec<SwitchFrames>,
    /// Bytes requested by the workload that peers had not sent yet.
    pub(crate) owed_bytes: u64,
}

impl Outcome {
    /// How long the measuring phase was.
    pub(crate) fn took(&self) -> Duration {
        let [from, to] = self.measured.map(|edge| self.edges[edge].at);
        to.since(from)
    }

    /// Counters at the start of the measuring phase.
    pub(crate) fn base(&self) -> &Snapshot {
        &self.edges[self.measured[0]].counted
    }

    /// Counters at the end of the measuring phase.
    pub(crate) fn end(&self) -> &Snapshot {
        &self.edges[self.measured[1]].counted
    }

    /// Bytes received in the measuring phase by the ends that open connections, on the first
    /// `connections`.
    pub(crate) fn received(&self, connections: usize) -> u64 {
        let received = |snapshot: &Snapshot| -> u64 {
            let workload = snapshot.connections.iter().take(connections);
            workload.map(|connection| connection.ends[0].bytes_received).sum()
        };
        received(self.end()) - received(self.base())
    }

    /// Growth of a counter of each of the workload's connections in the measuring phase.
    pub(crate) fn grown(&self, cast: &Cast, value: &dyn Fn(&Connection) -> u64) -> Vec<u64> {
        self.grown_in(0..cast.connections.len(), value)
    }

    /// As [`Self::grown`], of the connections that control them, if there are any.
    pub(crate) fn grown_of_controls(
        &self,
        cast: &Cast,
        value: &dyn Fn(&Connection) -> u64,
    ) -> Vec<u64> {
        let first = cast.connections.len();
        self.grown_in(first..first + cast.controls.len(), value)
    }

    fn grown_in(&self, range: Range<usize>, value: &dyn Fn(&Connection) -> u64) -> Vec<u64> {
        let pairs = self.end().connections[range.clone()].iter();
        let pairs = pairs.zip(&self.base().connections[range]);
        pairs.map(|(end, base)| value(end) - value(base)).collect()
    }
}

/// A phase that took place.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span {
    pub(crate) kind: PhaseKind,
    pub(crate) start: Time,
    pub(crate) end: Time,
}

/// The start or the end of a phase, with all counters.
#[derive(Debug)]
pub(crate) struct Edge {
    pub(crate) name: &'static str,
    pub(crate) at: Time,
    pub(crate) counted: Snapshot,
}

/// Samples of the measuring phase.
#[derive(Default)]
pub(crate) struct Sampled {
    pub(crate) iterations: IterationSamples,
    /// Of each iteration.
    pub(crate) dropped_packets: Vec<u64>,
    pub(crate) transfers: TransferSamples,
    /// Of files: when the first byte of each transfer came, or left.
    pub(crate) first_bytes_ns: Vec<u64>,
    /// By connection: the times to connect and to log in.
    pub(crate) log_ins: BTreeMap<u32, [Duration; 2]>,
    /// By client and server.
    pub(crate) requests: BTreeMap<(RequestsOf, [u32; 2]), Answers>,
    pub(crate) seconds: SecondSamples,
}

/// The source of requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum RequestsOf {
    /// The workload's, in the measuring phase.
    Workload,
    /// The probe's, in this phase.
    Probe(PhaseKind),
}

/// All counters of a moment.
#[derive(Clone, Debug)]
pub(crate) struct Snapshot {
    /// TCP counters of each host.
    pub(crate) tcp: Vec<Counters>,
    /// Network counters at each end of each link.
    pub(crate) ends: Vec<EndCounters>,
    pub(crate) connections: Vec<Connection>,
    /// Frames that processes of one host have got from each other without a link, by the host's node.
    pub(crate) inside: BTreeMap<usize, Carried>,
    /// Work done by the stations of hosts, by the host's node.
    pub(crate) stations: BTreeMap<usize, StationCounters>,
}

/// Counters of one connection since it was opened.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Connection {
    /// Counters of both ends, the opener's first.
    pub(crate) ends: [Counters; 2],
    /// Payload that either end has sent, each byte once.
    pub(crate) sent_bytes: [u64; 2],
    /// Time that the opener has waited for requested data.
    pub(crate) receiving: Duration,
}

impl Connection {
    /// Payload for the end on this side that its peer has sent and that has not come in order.
    pub(crate) const fn under_way_bytes(&self, side: usize) -> u64 {
        self.sent_bytes[1 - side].saturating_sub(self.ends[side].bytes_received)
    }
}

impl Snapshot {
    /// Counters at `now`, which the clock has reached. Host counters are exact where [`Readings`] were
    /// planned for `now`. Otherwise they may be ahead by the host's actions before the next frame known
    /// to the clock reaches it, except for [`Rare`] events.
    pub(crate) fn new<T: Traffic, N: Counted<T>>(
        hosts: &mut Hosts<'_, T, N::Line>,
        network: &N,
        now: Time,
    ) -> Self {
        hosts.measure().settle(now);
        let (read, is_of_now) = hosts.read_ends(now);
        let mut snapshot = Self {
            tcp: vec![Counters::default(); hosts.len()],
            ends: network.ends(hosts, now),
            connections: vec![Connection::default(); read.len() / 2],
            inside: network.inside(hosts, now),
            stations: network.stations(now),
        };
        for (index, reading) in read.iter().enumerate() {
            let connection = &mut snapshot.connections[index / 2];
            connection.ends[index % 2] = reading.counters;
            connection.sent_bytes[index % 2] = reading.sent_bytes;
            if index % 2 == 0 {
                connection.receiving = reading.receiving;
            }
        }
        for &(_, rare) in &hosts.measure().tally.ahead {
            snapshot.take_back(rare, is_of_now);
        }
        for (index, end) in hosts.ends().enumerate() {
            let counters = &snapshot.connections[index / 2].ends[index % 2];
            snapshot.tcp[end.host as usize].add(counters);
        }
        snapshot
    }

    fn end(&mut self, end: EndIndex) -> &mut Counters {
        &mut self.connections[end.connection()].ends[end.side()]
    }

    /// Subtracts an event that is already counted and happens later. Host counters that are `of_now` do
    /// not hold it.
    fn take_back(&mut self, rare: Rare, is_of_now: bool) {
        match rare {
            Rare::Retransmissions(..) | Rare::Timeout(_) if is_of_now => {}
            Rare::Retransmissions(end, count) => self.end(end).segments_retransmitted -= count,
            Rare::Timeout(end) => self.end(end).timeouts -= 1,
            Rare::Drop(end, bytes) => {
                let port = &mut self.ends[end].port;
                port.frames_dropped -= 1;
                port.bytes_dropped -= u64::from(bytes);
            }
        }
    }
}

/// Counters of each sample; TCP counters are of the ends that send data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Totals {
    dropped_packets: u64,
    retransmissions: u64,
    timeouts: u64,
}

/// A counted event that is rare enough to be noted with its time. Hosts run ahead of the clock, so a
/// counter read at some time may include events shortly after it.
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

/// Noted [`Rare`] events.
#[derive(Default)]
struct Tally {
    /// Since the last sample, up to a time that the clock has reached.
    totals: Totals,
    /// Later than that, in any order.
    ahead: Vec<(Time, Rare)>,
}

/// Number of early events above which the measurement settles the past ones.
const AHEAD_MAX: usize = 4096;

impl Tally {
    /// Adds the events up to `now`, which the clock has reached.
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
    /// Hosts that begin and end the measuring phase.
    pub(crate) clients: usize,
    /// Number of the workload's connections, which come before all others.
    pub(crate) connections: usize,
    /// Number of the connections that control them, which come next: as many, or none.
    pub(crate) controls: usize,
    /// Whether the end that opens a connection sends data, and whether its peer does: whose
    /// retransmissions and timeouts are sampled.
    pub(crate) senders: [bool; 2],
    pub(crate) phases: PhasePlan,
    /// Whether bytes of connections are sampled each second.
    pub(crate) each_second: bool,
    /// Interval samplers.
    pub(crate) samplers: Vec<Sampler>,
}

/// How far a run is in its phases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Only the probe runs.
    Idle,
    /// The workload has begun.
    WarmUp,
    /// It rests since then.
    Stopped(Time),
    Measure,
    /// The measuring phase is over for all clients; transfers under way may still end.
    Over,
}

/// Collects the measurement. Applications note events at their own time, which may be ahead of the
/// clock; counters are read when the clock gets there.
pub(crate) struct Measure {
    config: MeasureConfig,
    /// Marks that are noted and not read yet, with the host, in the order of time and of hosts.
    noted: VecDeque<(Time, usize, Mark)>,
    /// Time of the first mark; [`Time::NEVER`] if there is none.
    due: Time,
    /// Time of the mark read last.
    last: Time,
    stage: Stage,
    phases: Vec<Span>,
    edges: Vec<Edge>,
    tally: Tally,
    /// Host counters at the edges of a measuring phase that ends after a time, and at its seconds.
    pub(crate) readings: Readings,
    sampled: Sampled,
    /// When the second began that is under way, and the bytes that either end of each connection had
    /// received then.
    second: (Time, Vec<[u64; 2]>),
    /// Clients that wait for the next phase.
    holding: usize,
    /// Clients in a warm-up whose end the controller decides.
    ready: usize,
    /// Clients for which the time of the measuring phase is over.
    over: usize,
    /// Clients with nothing under way any more.
    ended: usize,
}

/// Marks without a host are read after marks of hosts.
const NO_HOST: usize = usize::MAX;

/// An event that the measurement has to record.
#[derive(Clone, Copy, Debug)]
enum Mark {
    /// An application did it.
    Noted(Action),
    /// The clients that hold may go on.
    Go,
    /// Another second of the measuring phase is over.
    Second,
    /// The warm-up is over, and nothing is under way; the stop lasts for this time.
    Stop(Duration),
    /// The cool-down is over.
    CoolDownEnd,
    /// The sampler of this number reads.
    Sampler(usize),
}

/// Edges at which counters are read: of the measuring phase, and of other phases with nothing under
/// way.
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
        for kind in phases.preparations() {
            measure.end_phase(kind, Time::ZERO);
        }
        for sampler in 0..samplers {
            measure.mark(Time::ZERO, NO_HOST, Mark::Sampler(sampler));
        }
        measure
    }

    /// The application of a host notes an action at `now`.
    pub(crate) fn note(&mut self, now: Time, host: usize, action: Action) {
        self.mark(now, host, Mark::Noted(action));
    }

    fn mark(&mut self, at: Time, host: usize, mark: Mark) {
        let place = self.noted.partition_point(|&(when, whose, _)| (when, whose) <= (at, host));
        self.noted.insert(place, (at, host, mark));
        self.due = self.noted[0].0;
    }

    /// The end of the connection that controls the connection of an end; none if there is none.
    pub(crate) fn control_of(&self, end: EndIndex) -> Option<EndIndex> {
        let MeasureConfig { connections, controls, .. } = self.config;
        let control = EndIndex(end.0 + 2 * connections as u32);
        (end.connection() < controls).then_some(control)
    }

    /// Something is counted at `at`, which may lie ahead of the clock.
    #[cold]
    pub(crate) fn count(&mut self, at: Time, rare: Rare) {
        self.tally.ahead.push((at, rare));
    }

    /// When counters are to be read.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) const fn due(&self) -> Time {
        self.due
    }

    /// Checks whether the run makes progress at `now`.
    pub(crate) fn check_progress(&mut self, now: Time) -> Result<(), String> {
        if now == Time::NEVER {
            return Err("nothing is left to happen, yet the workload has not ended".to_owned());
        }
        let quiet_max = QUIET_TIME_MAX + self.config.phases.time();
        if now.since(self.last) > quiet_max {
            return Err(format!("what was begun has not ended after {quiet_max}"));
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

    /// Settles events up to `now`, which the clock has reached; later events stay ahead.
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
        iterations.retransmissions.push(totals.retransmissions);
        iterations.timeouts.push(totals.timeouts);
    }

    /// A phase is over that began with the end of the one before.
    fn end_phase(&mut self, kind: PhaseKind, end: Time) {
        let start = self.phases.last().map_or(Time::ZERO, |phase| phase.end);
        self.phases.push(Span { kind, start, end });
    }

    /// The phases before the measuring phase are over.
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

    /// A client waits for the next phase at `now`.
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

    /// When an edge was; the start of the run if it was not.
    fn time_of(&self, name: &str) -> Time {
        self.edges.iter().find(|edge| edge.name == name).map_or(Time::ZERO, |edge| edge.at)
    }

    /// When hosts are to be read in a measuring phase from `start` that lasts for a time: at the end of
    /// each second, and at its own.
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

impl<T: Traffic, N> Hosts<'_, T, N> {
    /// Handles the first mark, whose time the clock has reached. Returns the outcome at the end of the
    /// run.
    #[inline(never)]
    pub(crate) fn read(
        mut self,
        network: &impl Counted<T, Line = N>,
        on_samples: &mut OnSamples<'_>,
    ) -> Result<Option<Outcome>, String> {
        let Some((at, host, mark)) = self.measure().next() else { return Ok(None) };
        match mark {
            Mark::Noted(action) => return self.take_note(at, host, action, network, on_samples),
            Mark::Go => {
                if self.measure().stage == Stage::Idle {
                    self.read_edge(WARM_UP_START, at, network);
                    self.measure().end_phase(PhaseKind::Idle, at);
                    self.measure().stage = Stage::WarmUp;
                } else {
                    self.begin(at, network);
                }
                self.go(at);
            }
            Mark::Stop(time) => {
                self.read_edge(WARM_UP_END, at, network);
                self.measure().mark(at + time, NO_HOST, Mark::Go);
            }
            Mark::Second => {
                self.measure().check_progress(at)?;
                go_on(on_samples, 0)?;
                self.sample_second(at);
            }
            Mark::Sampler(number) => {
                self.measure().check_progress(at)?;
                go_on(on_samples, 0)?;
                self.read_instrument(number, at, network);
            }
            Mark::CoolDownEnd => {
                self.measure().end_phase(PhaseKind::CoolDown, at);
                if self.measure().config.phases.cooldown > Some(Duration::ZERO) {
                    self.read_edge(COOL_DOWN_END, at, network);
                }
                return self.outcome(network).map(Some);
            }
        }
        Ok(None)
    }

    /// The application of a host did something that is measured. The outcome, if that was the end.
    fn take_note(
        &mut self,
        at: Time,
        host: usize,
        action: Action,
        network: &impl Counted<T, Line = N>,
        on_samples: &mut OnSamples<'_>,
    ) -> Result<Option<Outcome>, String> {
        if let Action::Sample(sample) = action
            && let Some(end) = self.probe_end(host, sample)
        {
            // A probe goes on whether or not the workload does: it is no sign of progress.
            self.sample_probe(end, sample);
            return Ok(None);
        }
        self.measure().last = at;
        match action {
            Action::Sample(sample) => {
                if at > LAST_SAMPLE {
                    return Err(format!("the run is not over after {LAST_SAMPLE} of virtual time"));
                }
                let is_log_in = matches!(sample, Sample::LogIn { .. });
                go_on(on_samples, u64::from(!is_log_in))?;
                self.sample(at, host, sample);
            }
            Action::Ready => self.ready(at),
            Action::Begin => self.begin(at, network),
            Action::Over => {
                self.measure().over += 1;
                if self.measure().over == self.measure().config.clients {
                    self.end_measuring(at, network)?;
                }
            }
            Action::End => {
                self.measure().ended += 1;
                if self.measure().ended == self.measure().config.clients {
                    return self.end_workload(at, network);
                }
            }
            Action::Hold => self.measure().hold(at),
            Action::Open { .. }
            | Action::Write { .. }
            | Action::Read { .. }
            | Action::Close { .. } => {}
        }
        Ok(None)
    }

    /// A client is under load. The warm-up's time begins when all clients are.
    fn ready(&mut self, at: Time) {
        self.measure().ready += 1;
        let measure = self.measure();
        let Some(time) = measure.config.phases.continuous_warmup() else { return };
        if measure.ready == measure.config.clients {
            let start = at + time;
            let times = measure.times_of_measure(start);
            self.plan_readings(std::iter::once(start).chain(times));
            self.go(start);
        }
    }

    /// Series end with the measuring phase, or after it with the plan's cool-down.
    fn read_instrument(&mut self, number: usize, at: Time, network: &impl Counted<T, Line = N>) {
        let measure = self.measure();
        if measure.stage == Stage::Over && measure.config.phases.cooldown.is_none() {
            return;
        }
        let mut samplers = std::mem::take(&mut self.measure().config.samplers);
        let sampler = &mut samplers[number];
        self.read_sampler(sampler, at, network);
        self.measure().mark(at + sampler.every(), NO_HOST, Mark::Sampler(number));
        self.measure().config.samplers = samplers;
    }

    fn read_edge(&mut self, name: &'static str, at: Time, network: &impl Counted<T, Line = N>) {
        let counted = Snapshot::new(self, network, at);
        self.measure().edges.push(Edge { name, at, counted });
    }

    /// The measuring phase begins: before holding clients go on, or at the client's first measured
    /// action.
    fn begin(&mut self, at: Time, network: &impl Counted<T, Line = N>) {
        if self.measure().stage == Stage::Measure {
            return;
        }
        self.measure().take_totals(at);
        self.measure().end_warmup(at);
        self.read_edge(MEASURE_START, at, network);
        self.measure().stage = Stage::Measure;
        if self.measure().config.phases.continuous_warmup().is_none() {
            let times = self.measure().times_of_measure(at);
            self.plan_readings(times);
        }
        if self.measure().config.each_second {
            self.measure().second = (at, self.bytes_received(at));
            self.measure().mark(at + SECOND, NO_HOST, Mark::Second);
        }
    }

    /// The probe's end that a sample belongs to; none if the sample is the workload's.
    fn probe_end(&mut self, host: usize, sample: Sample) -> Option<EndIndex> {
        let Sample::Request { connection, .. } = sample else { return None };
        let end = self.end_of(host, connection);
        (end.connection() >= self.measure().config.connections).then_some(end)
    }

    fn sample_probe(&mut self, end: EndIndex, sample: Sample) {
        match self.measure().stage {
            Stage::Idle => self.sample_request(RequestsOf::Probe(PhaseKind::Idle), end, sample),
            Stage::Measure | Stage::Over => {
                self.sample_request(RequestsOf::Probe(PhaseKind::Measure), end, sample);
            }
            Stage::WarmUp | Stage::Stopped(_) => {}
        }
    }

    /// A request has been answered. It counts for the phase that it was due in.
    fn sample_request(&mut self, of: RequestsOf, end: EndIndex, sample: Sample) {
        let Sample::Request { intended, ended, .. } = sample else { return };
        let measure = self.measure();
        if measure.stage != Stage::Idle && intended < measure.start_of_measure() {
            return;
        }
        let is_over = measure.stage == Stage::Over;
        if is_over && intended >= measure.time_of(MEASURE_END) {
            return;
        }
        let hosts = [self.host_of(end) as u32, self.host_of(end.peer()) as u32];
        let requests = &mut self.measure().sampled.requests;
        let answers = requests.entry((of, hosts)).or_default();
        if is_over {
            answers.unanswered += 1;
        } else {
            answers.latencies.record(ended.since(intended).as_ns());
        }
    }

    fn sample(&mut self, at: Time, host: usize, sample: Sample) {
        let is_measured = self.measure().stage == Stage::Measure;
        match sample {
            Sample::Iteration { started, ended } => {
                self.measure().sample_iteration(at, started, ended);
            }
            Sample::LogIn { connection, connect, login } => {
                let connection = self.end_of(host, connection).connection() as u32;
                self.measure().sampled.log_ins.insert(connection, [connect, login]);
            }
            Sample::Transfer {
                connection,
                bytes_received,
                bytes_sent,
                started,
                first_byte,
                ended,
            } if is_measured => {
                let connection = self.end_of(host, connection).connection() as u32;
                let transfers = &mut self.measure().sampled.transfers;
                transfers.connection.push(connection);
                transfers.start_ns.push(started.as_ns());
                transfers.end_ns.push(ended.as_ns());
                transfers.bytes_received.push(bytes_received);
                transfers.bytes_sent.push(bytes_sent);
                let first_byte_ns = first_byte.map(Time::as_ns);
                self.measure().sampled.first_bytes_ns.extend(first_byte_ns);
            }
            Sample::Request { connection, .. }
                if is_measured || self.measure().stage == Stage::Over =>
            {
                let end = self.end_of(host, connection);
                self.sample_request(RequestsOf::Workload, end, sample);
            }
            Sample::Transfer { .. } | Sample::Request { .. } => {}
        }
    }

    /// At either end of each connection of the workload, at `at`, which the clock has reached.
    fn bytes_received(&mut self, at: Time) -> Vec<[u64; 2]> {
        let connections = self.measure().config.connections;
        let (read, _) = self.read_ends(at);
        let received =
            |ends: &[Reading]| [ends[0].counters.bytes_received, ends[1].counters.bytes_received];
        read.chunks_exact(2).take(connections).map(received).collect()
    }

    /// A second is over, or the phase with its last one.
    fn sample_second(&mut self, at: Time) {
        if self.measure().stage != Stage::Measure {
            return;
        }
        let received = self.bytes_received(at);
        let measure = self.measure();
        let (began, before) = std::mem::replace(&mut measure.second, (at, received));
        let start_ns = began.since(measure.start_of_measure()).as_ns();
        let seconds = &mut measure.sampled.seconds;
        for (number, (now, before)) in measure.second.1.iter().zip(before).enumerate() {
            seconds.connection.push(number as u32);
            seconds.start_ns.push(start_ns);
            seconds.bytes_received.push(now[0] - before[0]);
            seconds.bytes_sent.push(now[1] - before[1]);
        }
        measure.mark(at + SECOND, NO_HOST, Mark::Second);
    }

    /// The measuring phase is over.
    fn end_measuring(
        &mut self,
        at: Time,
        network: &impl Counted<T, Line = N>,
    ) -> Result<(), String> {
        if self.measure().stage != Stage::Measure {
            return Err("the measuring phase ended before it began".to_owned());
        }
        let measure = self.measure();
        let is_timed = measure.config.phases.measured_time().is_some();
        if measure.config.each_second && is_timed && measure.second.0 < at {
            self.sample_second(at);
        }
        self.measure().take_totals(at);
        self.read_edge(MEASURE_END, at, network);
        let measure = self.measure();
        measure.end_phase(PhaseKind::Measure, at);
        let start = measure.start_of_measure();
        if let Some(phase) = measure.phases.last_mut() {
            // Without a warm-up, connections were opened before.
            phase.start = start;
        }
        measure.stage = Stage::Over;
        Ok(())
    }

    /// The workload has ended. The outcome, if that is the end of the run.
    fn end_workload(
        &mut self,
        at: Time,
        network: &impl Counted<T, Line = N>,
    ) -> Result<Option<Outcome>, String> {
        if self.measure().stage != Stage::Over {
            self.end_measuring(at, network)?;
        }
        let measure = self.measure();
        let Some(time) = measure.config.phases.cooldown else {
            return self.outcome(network).map(Some);
        };
        let time = if time > Duration::ZERO { time } else { CONTROL_TIME };
        measure.mark(at + time, NO_HOST, Mark::CoolDownEnd);
        Ok(None)
    }

    fn outcome(&mut self, network: &impl Counted<T, Line = N>) -> Result<Outcome, String> {
        let frames = network.frames(self);
        let switches = network.switches(self);
        let connections = self.measure().config.connections;
        let owed_bytes = self.owed_bytes(connections);
        let measure = self.measure();
        let place = |name| measure.edges.iter().position(|edge| edge.name == name);
        let (Some(from), Some(to)) = (place(MEASURE_START), place(MEASURE_END)) else {
            return Err("the measuring phase was not read at both edges".to_owned());
        };
        Ok(Outcome {
            samples: std::mem::take(&mut measure.sampled),
            phases: std::mem::take(&mut measure.phases),
            edges: std::mem::take(&mut measure.edges),
            measured: [from, to],
            begins_loaded: measure.config.phases.continuous_warmup().is_some(),
            is_timed: measure.config.phases.measured_time().is_some(),
            samplers: std::mem::take(&mut measure.config.samplers),
            frames,
            switches,
            owed_bytes,
        })
    }
}

/// Whether to go on.
fn go_on(on_samples: &mut OnSamples<'_>, samples: u64) -> Result<(), String> {
    if on_samples(samples).is_break() {
        return Err("stopped before its end".to_owned());
    }
    Ok(())
}
