//! What is read at the end of each iteration.

use netstudy_records::IterationSamples;
use netstudy_units::Time;
use netstudy_workload::Completed;

/// Counters whose growth is reported for each iteration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Totals {
    pub(crate) dropped_packets: u64,
    pub(crate) retransmissions: u64,
    pub(crate) timeouts: u64,
}

/// Collects one sample an iteration, and tells when the measuring phase begins.
#[derive(Clone, Debug)]
pub(crate) struct Barrier {
    warmup_iterations: u32,
    before: Totals,
    dropped_packets: Vec<u64>,
    samples: IterationSamples,
    /// An iteration that has ended for the client, whose end the clock has not reached.
    pending: Option<Completed>,
    /// When it ends; [`Time::NEVER`] if there is none.
    due: Time,
}

impl Barrier {
    pub(crate) fn new(warmup_iterations: u32, iterations: u32) -> Self {
        let room = || Vec::with_capacity(iterations as usize);
        let samples = IterationSamples {
            completion_ns: room(),
            dropped_packets: None,
            retransmissions: room(),
            timeouts: room(),
        };
        Self {
            warmup_iterations,
            before: Totals::default(),
            dropped_packets: room(),
            samples,
            pending: None,
            due: Time::NEVER,
        }
    }

    /// An iteration ended for the client; counters are read when the clock gets there.
    pub(crate) const fn completed(&mut self, iteration: Completed) {
        self.due = iteration.ended;
        self.pending = Some(iteration);
    }

    /// When counters are to be read.
    #[inline]
    pub(crate) const fn due(&self) -> Time {
        self.due
    }

    /// Takes the counters at the end of the pending iteration, and returns that iteration.
    pub(crate) fn read(&mut self, now: Totals) -> Option<Completed> {
        let iteration = self.pending.take()?;
        self.due = Time::NEVER;
        if iteration.iteration >= self.warmup_iterations {
            let took = iteration.ended.since(iteration.started);
            self.samples.completion_ns.push(took.as_ns());
            self.dropped_packets.push(now.dropped_packets - self.before.dropped_packets);
            self.samples.retransmissions.push(now.retransmissions - self.before.retransmissions);
            self.samples.timeouts.push(now.timeouts - self.before.timeouts);
        }
        self.before = now;
        Some(iteration)
    }

    /// Whether the measuring phase begins at the end of `iteration`.
    pub(crate) const fn measures_after(&self, iteration: &Completed) -> bool {
        iteration.iteration + 1 == self.warmup_iterations
    }

    pub(crate) fn into_samples(self) -> IterationSamples {
        IterationSamples { dropped_packets: Some(self.dropped_packets), ..self.samples }
    }
}
