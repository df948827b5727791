//! What is measured of a run: the phase, samples, counters at the edges of the phase.

use std::collections::{BTreeMap, VecDeque};
use std::ops::ControlFlow;

use hdrhistogram::Histogram;
use netstudy_records::{IterationSamples, SecondSamples, TransferSamples};
use netstudy_tcp::Counters;
use netstudy_units::{Duration, Time};
use netstudy_workload::{Action, Sample, Traffic};

use crate::host::{EndIndex, Hosts};
use crate::network::{Counted, EndCounters, Frames};

/// Hears of each sample and second, and says whether to go on.
pub(crate) type OnIteration<'a> = dyn FnMut() -> ControlFlow<()> + 'a;

/// Virtual time that may pass without a sample, beyond what phases last: far more than any series of
/// timeouts that still ends.
const QUIET_TIME_MAX: Duration = Duration::from_secs(3600);
/// From the last client that holds to the start of the next phase: the time of a controller that tells
/// all of them.
const CONTROL_TIME: Duration = Duration::from_ms(1);
/// Of the rows of [`SecondSamples`].
const SECOND: Duration = Duration::from_secs(1);
/// Decimal digits that histograms of latencies keep.
pub(crate) const SIGNIFICANT_DIGITS: u8 = 3;

/// What a run that came to its end gives.
pub(crate) struct Outcome {
    pub(crate) samples: Sampled,
    pub(crate) measure_from: Time,
    pub(crate) measure_to: Time,
    pub(crate) base: Snapshot,
    pub(crate) end: Snapshot,
    pub(crate) frames: Frames,
    /// What peers still had to send of what applications had asked for.
    pub(crate) owed_bytes: u64,
}

impl Outcome {
    /// Bytes that a host received in the measuring phase.
    pub(crate) fn received(&self, host: usize) -> u64 {
        self.end.tcp[host].bytes_received - self.base.tcp[host].bytes_received
    }
}

/// What was sampled in the measuring phase.
#[derive(Default)]
pub(crate) struct Sampled {
    pub(crate) iterations: IterationSamples,
    /// Of each iteration.
    pub(crate) dropped_packets: Vec<u64>,
    pub(crate) transfers: TransferSamples,
    /// By the hosts that asked and answered.
    pub(crate) requests: BTreeMap<[u32; 2], Latencies>,
    pub(crate) seconds: SecondSamples,
}

/// Latencies of requests, in nanoseconds.
pub(crate) struct Latencies {
    pub(crate) histogram: Histogram<u64>,
    pub(crate) min: u64,
    pub(crate) max: u64,
    pub(crate) sum: u64,
}

impl Latencies {
    fn new() -> Self {
        // A histogram that grows takes any value.
        let histogram = Histogram::new(SIGNIFICANT_DIGITS).expect("so many digits are kept");
        Self { histogram, min: u64::MAX, max: 0, sum: 0 }
    }

    fn record(&mut self, latency: Duration) {
        let ns = latency.as_ns();
        self.histogram.record(ns).expect("a histogram that grows takes any value");
        self.min = self.min.min(ns);
        self.max = self.max.max(ns);
        self.sum += ns;
    }
}

/// All counters of a moment.
#[derive(Clone, Debug)]
pub(crate) struct Snapshot {
    /// What the TCP of each host counts.
    pub(crate) tcp: Vec<Counters>,
    /// What the network counts at each end of each link.
    pub(crate) ends: Vec<EndCounters>,
    pub(crate) connections: Vec<Connection>,
}

/// What one connection did so far.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Connection {
    /// What either end counts, the one that opens it first.
    pub(crate) ends: [Counters; 2],
    /// How long the host that opened it waited for what it had asked for.
    pub(crate) receiving: Duration,
}

impl Snapshot {
    /// That of the time up to which rare things are settled. All else may be ahead of it by what a host
    /// does before the next frame that the clock knows of reaches it.
    fn new<T: Traffic, N: Counted<T>>(hosts: &mut Hosts<'_, T, N::Line>, network: &N) -> Self {
        let mut snapshot = Self {
            tcp: vec![Counters::default(); hosts.len()],
            ends: network.ends(hosts),
            connections: vec![Connection::default(); hosts.ends().count() / 2],
        };
        for (index, end) in hosts.ends().enumerate() {
            let connection = &mut snapshot.connections[index / 2];
            connection.ends[index % 2] = *end.tcp.counters();
            if index % 2 == 0 {
                let (app, number) = hosts.application(end);
                connection.receiving = app.receiving(number);
            }
        }
        for &(_, rare) in &hosts.measure().tally.ahead {
            snapshot.take_back(rare);
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

    /// Takes off what is counted and happens later.
    fn take_back(&mut self, rare: Rare) {
        match rare {
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

/// What is counted for each sample. Those of TCP are of the ends that send data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Totals {
    dropped_packets: u64,
    retransmissions: u64,
    timeouts: u64,
}

/// Something that is counted, and rare enough to be noted with its time: hosts are ahead of the clock, so
/// that a counter which is read at some time may hold what happens a moment later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rare {
    /// The end sends so many segments again.
    Retransmissions(EndIndex, u64),
    /// The end's retransmission timer expires.
    Timeout(EndIndex),
    /// The port of a switch at this end of a link, by
    /// [`netstudy_fabric::topology::CableEnd::number`], drops a frame of so many bytes.
    Drop(usize, u32),
}

/// What was noted of [`Rare`] things.
#[derive(Default)]
struct Tally {
    /// Since the last sample, up to a time that the clock has reached.
    totals: Totals,
    /// Later than that, in any order.
    ahead: Vec<(Time, Rare)>,
}

/// More are not kept ahead than need be.
const AHEAD_MAX: usize = 4096;

impl Tally {
    /// Adds what happened by `now`, which the clock has reached.
    fn settle(&mut self, now: Time, senders: [bool; 2]) {
        let totals = &mut self.totals;
        let sends = |end: EndIndex| senders[end.side()];
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

/// What a run is measured by.
pub(crate) struct MeasureConfig {
    /// Hosts that begin and end the measuring phase.
    pub(crate) clients: usize,
    /// Whether the end that opens a connection sends data, and whether its peer does: whose
    /// retransmissions and timeouts are sampled.
    pub(crate) senders: [bool; 2],
    /// How long phases last that end after a time.
    pub(crate) phases_time: Duration,
    /// Whether what connections carry is sampled each second.
    pub(crate) each_second: bool,
}

/// Collects what is measured. Applications note it at their own time, which may lie ahead of the clock;
/// counters are read when the clock gets there.
pub(crate) struct Measure {
    config: MeasureConfig,
    /// What was noted and not read, with the host, in the order of time and of hosts.
    noted: VecDeque<(Time, usize, Mark)>,
    /// When the first of them was noted; [`Time::NEVER`] if there is none.
    due: Time,
    /// What was read last was noted then.
    last: Time,
    /// Counters at the start of the measuring phase.
    base: Option<Snapshot>,
    from: Time,
    tally: Tally,
    sampled: Sampled,
    /// Bytes that either end of each connection had received a second before.
    second_before: Vec<[u64; 2]>,
    /// Clients that wait for the next phase.
    holding: usize,
    /// Clients whose measuring phase has ended.
    ended: usize,
}

/// What is no host's is read after what is.
const NO_HOST: usize = usize::MAX;

/// Something to be read.
#[derive(Clone, Copy, Debug)]
enum Mark {
    /// An application did it.
    Noted(Action),
    /// The clients that hold may go on.
    Go,
    /// Another second of the measuring phase is over.
    Second,
}

impl Measure {
    pub(crate) fn new(config: MeasureConfig) -> Self {
        Self {
            config,
            noted: VecDeque::new(),
            due: Time::NEVER,
            last: Time::ZERO,
            base: None,
            from: Time::ZERO,
            tally: Tally::default(),
            sampled: Sampled::default(),
            second_before: Vec::new(),
            holding: 0,
            ended: 0,
        }
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

    /// Something is counted at `at`, which may lie ahead of the clock.
    #[cold]
    pub(crate) fn count(&mut self, at: Time, rare: Rare) {
        self.tally.ahead.push((at, rare));
    }

    /// When counters are to be read.
    #[inline(always)]
    pub(crate) const fn due(&self) -> Time {
        self.due
    }

    /// Whether there is reason to go on at `now`.
    pub(crate) fn check_progress(&mut self, now: Time) -> Result<(), String> {
        if now == Time::NEVER {
            return Err("nothing is left to happen, yet the workload has not ended".to_owned());
        }
        let quiet_max = QUIET_TIME_MAX + self.config.phases_time;
        if now.since(self.last) > quiet_max {
            return Err(format!("what was begun has not ended after {quiet_max}"));
        }
        if self.tally.ahead.len() > AHEAD_MAX {
            self.tally.settle(now, self.config.senders);
        }
        Ok(())
    }

    fn next(&mut self) -> Option<(Time, usize, Mark)> {
        let first = self.noted.pop_front();
        self.due = self.noted.front().map_or(Time::NEVER, |&(at, ..)| at);
        first
    }

    /// What was counted since the sample before, up to `now`.
    fn take_totals(&mut self, now: Time) -> Totals {
        self.tally.settle(now, self.config.senders);
        std::mem::take(&mut self.tally.totals)
    }

    fn sample_iteration(&mut self, now: Time, started: Time, ended: Time) {
        let totals = self.take_totals(now);
        if self.base.is_none() {
            return;
        }
        let Sampled { iterations, dropped_packets, .. } = &mut self.sampled;
        iterations.completion_ns.push(ended.since(started).as_ns());
        dropped_packets.push(totals.dropped_packets);
        iterations.retransmissions.push(totals.retransmissions);
        iterations.timeouts.push(totals.timeouts);
    }
}

impl<T: Traffic, N> Hosts<'_, T, N> {
    /// Reads what the clock has reached. The outcome, if that was the end.
    #[inline(never)]
    pub(crate) fn read(
        mut self,
        network: &impl Counted<T, Line = N>,
        on_iteration: &mut OnIteration<'_>,
    ) -> Result<Option<Outcome>, String> {
        let Some((at, host, mark)) = self.measure().next() else { return Ok(None) };
        self.measure().last = at;
        match mark {
            Mark::Noted(Action::Sample(sample)) => {
                go_on(on_iteration)?;
                self.sample(at, host, sample);
            }
            Mark::Noted(Action::Begin) => self.begin(at, network),
            Mark::Noted(Action::End) => {
                self.measure().ended += 1;
                if self.measure().ended == self.measure().config.clients {
                    return self.outcome(at, network).map(Some);
                }
            }
            Mark::Noted(Action::Hold) => {
                let measure = self.measure();
                measure.holding += 1;
                if measure.holding == measure.config.clients {
                    measure.holding = 0;
                    measure.mark(at + CONTROL_TIME, NO_HOST, Mark::Go);
                }
            }
            Mark::Noted(Action::Open { .. } | Action::Write { .. } | Action::Close { .. }) => {}
            Mark::Go => self.go(at),
            Mark::Second => {
                go_on(on_iteration)?;
                self.sample_second(at);
            }
        }
        Ok(None)
    }

    /// The measuring phase begins with the first client that begins it.
    fn begin(&mut self, at: Time, network: &impl Counted<T, Line = N>) {
        if self.measure().base.is_some() {
            return;
        }
        self.measure().take_totals(at);
        self.measure().base = Some(Snapshot::new(self, network));
        self.measure().from = at;
        if self.measure().config.each_second {
            self.measure().second_before = self.bytes_received().collect();
            self.measure().mark(at + SECOND, NO_HOST, Mark::Second);
        }
    }

    fn sample(&mut self, at: Time, host: usize, sample: Sample) {
        let is_measured = self.measure().base.is_some();
        match sample {
            Sample::Iteration { started, ended } => {
                self.measure().sample_iteration(at, started, ended);
            }
            Sample::Transfer { connection, bytes_received, bytes_sent, started, ended }
                if is_measured =>
            {
                let connection = self.end_of(host, connection).connection() as u32;
                let transfers = &mut self.measure().sampled.transfers;
                transfers.connection.push(connection);
                transfers.start_ns.push(started.as_ns());
                transfers.end_ns.push(ended.as_ns());
                transfers.bytes_received.push(bytes_received);
                transfers.bytes_sent.push(bytes_sent);
            }
            Sample::Request { connection, intended, ended, .. } if is_measured => {
                let peer = self.end_of(host, connection).peer();
                let hosts = [host as u32, self.host_of(peer) as u32];
                let requests = &mut self.measure().sampled.requests;
                let latencies = requests.entry(hosts).or_insert_with(Latencies::new);
                latencies.record(ended.since(intended));
            }
            Sample::Transfer { .. } | Sample::Request { .. } => {}
        }
    }

    fn bytes_received(&self) -> impl Iterator<Item = [u64; 2]> {
        let ends: Vec<u64> = self.ends().map(|end| end.tcp.bytes_received()).collect();
        (0..ends.len() / 2).map(move |connection| [ends[2 * connection], ends[2 * connection + 1]])
    }

    fn sample_second(&mut self, at: Time) {
        let received: Vec<_> = self.bytes_received().collect();
        let measure = self.measure();
        let start_ns = at.since(measure.from).as_ns() - SECOND.as_ns();
        let seconds = &mut measure.sampled.seconds;
        for (number, (now, before)) in received.iter().zip(&measure.second_before).enumerate() {
            seconds.connection.push(number as u32);
            seconds.start_ns.push(start_ns);
            seconds.bytes_received.push(now[0] - before[0]);
            seconds.bytes_sent.push(now[1] - before[1]);
        }
        measure.second_before = received;
        measure.mark(at + SECOND, NO_HOST, Mark::Second);
    }

    fn outcome(
        &mut self,
        measure_to: Time,
        network: &impl Counted<T, Line = N>,
    ) -> Result<Outcome, String> {
        self.measure().take_totals(measure_to);
        let end = Snapshot::new(self, network);
        let frames = network.frames(self);
        let owed_bytes = self.owed_bytes();
        let measure = self.measure();
        let base = measure.base.take().ok_or("the measuring phase ended before it began")?;
        Ok(Outcome {
            samples: std::mem::take(&mut measure.sampled),
            measure_from: measure.from,
            measure_to,
            base,
            end,
            frames,
            owed_bytes,
        })
    }
}

/// Whether to go on.
fn go_on(on_iteration: &mut OnIteration<'_>) -> Result<(), String> {
    if on_iteration().is_break() {
        return Err("stopped before its end".to_owned());
    }
    Ok(())
}
