//! What is measured of a run: the phase, a sample an iteration, counters at the edges of the phase.

use std::collections::VecDeque;
use std::ops::ControlFlow;

use netstudy_records::IterationSamples;
use netstudy_tcp::Counters;
use netstudy_units::{Duration, Time};
use netstudy_workload::{Action, Sample, Traffic};

use crate::host::{EndIndex, Hosts};
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
    tally: Tally,
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
            tally: Tally::default(),
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
            return Err("nothing is left to happen, yet the iteration has not ended".to_owned());
        }
        if now.since(self.last) > QUIET_TIME_MAX {
            return Err(format!("an iteration has not ended after {QUIET_TIME_MAX}"));
        }
        if self.tally.ahead.len() > AHEAD_MAX {
            self.tally.settle(now, self.senders);
        }
        Ok(())
    }

    fn next(&mut self) -> Option<(Time, Action)> {
        let first = self.noted.pop_front();
        self.due = self.noted.front().map_or(Time::NEVER, |&(at, _)| at);
        first
    }

    /// What was counted since the sample before, up to `now`.
    fn take_totals(&mut self, now: Time) -> Totals {
        self.tally.settle(now, self.senders);
        std::mem::take(&mut self.tally.totals)
    }

    fn sample(&mut self, now: Time, sample: Sample) {
        let totals = self.take_totals(now);
        if let Sample::Iteration { started, ended } = sample
            && self.base.is_some()
        {
            self.samples.completion_ns.push(ended.since(started).as_ns());
            self.dropped_packets.push(totals.dropped_packets);
            self.samples.retransmissions.push(totals.retransmissions);
            self.samples.timeouts.push(totals.timeouts);
        }
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
        let Some((at, action)) = self.measure().next() else { return Ok(None) };
        match action {
            Action::Sample(sample) => {
                if on_iteration().is_break() {
                    return Err("stopped before its end".to_owned());
                }
                self.measure().sample(at, sample);
            }
            Action::Begin => {
                // What opens connections belongs to the first phase, if nothing was warmed up.
                self.measure().take_totals(at);
                self.measure().base = Some(Snapshot::new(&mut self, network));
                self.measure().from = at;
            }
            Action::End => return self.outcome(at, network).map(Some),
            _ => {}
        }
        self.measure().last = at;
        Ok(None)
    }

    fn outcome(
        &mut self,
        measure_to: Time,
        network: &impl Counted<T, Line = N>,
    ) -> Result<Outcome, String> {
        self.measure().take_totals(measure_to);
        let end = Snapshot::new(self, network);
        let rest = network.rest(self);
        let measure = self.measure();
        let base = measure.base.take().ok_or("the measuring phase ended before it began")?;
        let samples = std::mem::take(&mut measure.samples);
        let dropped_packets = Some(std::mem::take(&mut measure.dropped_packets));
        Ok(Outcome {
            samples: IterationSamples { dropped_packets, ..samples },
            measure_from: measure.from,
            measure_to,
            base,
            end,
            rest,
        })
    }
}
