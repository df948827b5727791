//! What is measured of a run: the phase, a sample an iteration, counters at the edges of the phase.

use std::collections::VecDeque;
use std::ops::ControlFlow;

use netstudy_records::IterationSamples;
use netstudy_tcp::Counters;
use netstudy_units::{Duration, Time};
use netstudy_workload::{Action, Sample, Traffic};

use crate::host::{End, Hosts};
use crate::network::{Counted, EndCounters, Rest};

/// Hears of each iteration that has ended, and says whether to go on.
pub(crate) type OnIteration<'a> = dyn FnMut() -> ControlFlow<()> + 'a;

/// Virtual time that may pass without anything that is measured: far beyond any series of timeouts that
/// still ends.
const QUIET_TIME_MAX: Duration = Duration::from_secs(3600);

/// What a run that came to its end gives.
pub(crate) struct Outcome {
    pub(crate) samples: IterationSamples,
    pub(crate) measure_from: Time,
    pub(crate) measure_to: Time,
    pub(crate) base: Snapshot,
    pub(crate) end: Snapshot,
    pub(crate) rest: Rest,
}

impl Outcome {
    /// Bytes that a host received in the measuring phase.
    pub(crate) fn received(&self, host: usize) -> u64 {
        self.end.tcp[host].bytes_received - self.base.tcp[host].bytes_received
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
    fn new<T: Traffic>(hosts: &Hosts<T>, network: &impl Counted) -> Self {
        let mut snapshot = Self {
            tcp: vec![Counters::default(); hosts.len()],
            ends: network.ends(),
            connections: vec![Connection::default(); hosts.ends().count() / 2],
        };
        for (index, end) in hosts.ends().enumerate() {
            let connection = &mut snapshot.connections[index / 2];
            connection.ends[index % 2] = *end.tcp.counters();
            snapshot.tcp[end.host as usize].add(end.tcp.counters());
            if index % 2 == 0 {
                let (app, number) = hosts.application(end);
                connection.receiving = app.receiving(number);
            }
        }
        snapshot
    }
}

/// Counters whose growth is reported for each iteration; those of TCP are of the ends that send data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Totals {
    dropped_packets: u64,
    retransmissions: u64,
    timeouts: u64,
}

impl Totals {
    fn new<T: Traffic>(hosts: &Hosts<T>, network: &impl Counted) -> Self {
        let mut totals = Self { dropped_packets: network.frames_dropped(), ..Self::default() };
        let senders = hosts.measure.senders;
        let counts = |(index, end): (usize, _)| senders[index % 2].then_some(end);
        for end in hosts.ends().enumerate().filter_map(counts) {
            let end: &End = end;
            totals.retransmissions += end.tcp.counters().segments_retransmitted;
            totals.timeouts += end.tcp.counters().timeouts;
        }
        totals
    }
}

/// Collects what is measured. Applications note it at their own time, which may lie ahead of the clock;
/// counters are read when the clock gets there.
pub(crate) struct Measure {
    /// Whether the end that opens a connection sends data, and whether its peer does: whose
    /// retransmissions and timeouts are sampled.
    senders: [bool; 2],
    /// What was noted and not read, in the order of time.
    noted: VecDeque<(Time, Action)>,
    /// When the first of them was noted; [`Time::NEVER`] if there is none.
    due: Time,
    /// What was read last was noted then.
    last: Time,
    /// Counters at the start of the measuring phase.
    base: Option<Snapshot>,
    from: Time,
    before: Totals,
    dropped_packets: Vec<u64>,
    samples: IterationSamples,
}

impl Measure {
    /// For so many iterations in the measuring phase.
    pub(crate) fn new(senders: [bool; 2], iterations: u32) -> Self {
        let room = || Vec::with_capacity(iterations as usize);
        let samples = IterationSamples {
            completion_ns: room(),
            dropped_packets: None,
            retransmissions: room(),
            timeouts: room(),
        };
        Self {
            senders,
            noted: VecDeque::new(),
            due: Time::NEVER,
            last: Time::ZERO,
            base: None,
            from: Time::ZERO,
            before: Totals::default(),
            dropped_packets: room(),
            samples,
        }
    }

    /// An application notes an action at `now`.
    pub(crate) fn note(&mut self, now: Time, action: Action) {
        let place = self.noted.partition_point(|&(at, _)| at <= now);
        self.noted.insert(place, (now, action));
        self.due = self.noted[0].0;
    }

    /// When counters are to be read.
    #[inline(always)]
    pub(crate) const fn due(&self) -> Time {
        self.due
    }

    /// Whether there is reason to go on at `now`.
    pub(crate) fn check_progress(&self, now: Time) -> Result<(), String> {
        if now == Time::NEVER {
            return Err("nothing is left to happen, yet the iteration has not ended".to_owned());
        }
        if now.since(self.last) > QUIET_TIME_MAX {
            return Err(format!("an iteration has not ended after {QUIET_TIME_MAX}"));
        }
        Ok(())
    }

    fn next(&mut self) -> Option<(Time, Action)> {
        let first = self.noted.pop_front();
        self.due = self.noted.front().map_or(Time::NEVER, |&(at, _)| at);
        first
    }

    fn sample(&mut self, sample: Sample, now: Totals) {
        if let Sample::Iteration { started, ended } = sample
            && self.base.is_some()
        {
            self.samples.completion_ns.push(ended.since(started).as_ns());
            self.dropped_packets.push(now.dropped_packets - self.before.dropped_packets);
            self.samples.retransmissions.push(now.retransmissions - self.before.retransmissions);
            self.samples.timeouts.push(now.timeouts - self.before.timeouts);
        }
        self.before = now;
    }
}

impl<T: Traffic> Hosts<T> {
    /// Reads what the clock has reached. The outcome, if that was the end.
    pub(crate) fn read(
        &mut self,
        network: &impl Counted,
        on_iteration: &mut OnIteration<'_>,
    ) -> Result<Option<Outcome>, String> {
        let Some((at, action)) = self.measure.next() else { return Ok(None) };
        match action {
            Action::Sample(sample) => {
                if on_iteration().is_break() {
                    return Err("stopped before its end".to_owned());
                }
                let totals = Totals::new(self, network);
                self.measure.sample(sample, totals);
            }
            Action::Begin => {
                // What opens connections belongs to the first phase, if nothing was warmed up.
                self.measure.base = Some(Snapshot::new(self, network));
                self.measure.before = Totals::new(self, network);
                self.measure.from = at;
            }
            Action::End => return self.outcome(at, network).map(Some),
            _ => {}
        }
        self.measure.last = at;
        Ok(None)
    }

    fn outcome(&mut self, measure_to: Time, network: &impl Counted) -> Result<Outcome, String> {
        let end = Snapshot::new(self, network);
        let measure = &mut self.measure;
        let base = measure.base.take().ok_or("the measuring phase ended before it began")?;
        let samples = std::mem::take(&mut measure.samples);
        let dropped_packets = Some(std::mem::take(&mut measure.dropped_packets));
        Ok(Outcome {
            samples: IterationSamples { dropped_packets, ..samples },
            measure_from: measure.from,
            measure_to,
            base,
            end,
            rest: network.rest(),
        })
    }
}
