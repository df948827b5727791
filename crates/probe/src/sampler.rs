use std::collections::BTreeSet;
use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::clock::monotonic_ns;
use crate::{Probe, Snapshot, Sources};

/// Marks a missing value of a sample. No kernel counter reaches this value.
const ABSENT: u64 = u64::MAX;

/// Takes samples at an interval, in a separate thread.
///
/// Deadlines are multiples of the interval, counted from the start, so a late sample does not delay
/// later samples. Memory for all samples is allocated and touched before the first sample.
#[derive(Debug)]
pub struct Sampler {
    stop: Sender<()>,
    thread: JoinHandle<Samples>,
}

impl Sampler {
    /// Starts to sample `sources` at once, and then every `interval`, at most `samples_max` times.
    ///
    /// # Errors
    /// The thread cannot be started.
    pub fn start(sources: Sources, interval: Duration, samples_max: usize) -> io::Result<Self> {
        let (stop, stopped) = channel();
        let samples = Samples::with_room(&sources, samples_max);
        // Opened here, because the caller's thread is in the namespace to be sampled.
        let probe = Probe::open(sources);
        let interval_ns = (interval.as_nanos() as u64).max(1);
        let thread = thread::Builder::new()
            .name("sampler".to_owned())
            .spawn(move || sample(probe, samples, interval_ns, &stopped))?;
        Ok(Self { stop, thread })
    }

    /// Whether `samples_max` samples have been taken.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.thread.is_finished()
    }

    /// Ends the sampler and returns its samples.
    ///
    /// # Panics
    /// If the thread panicked.
    #[must_use]
    pub fn stop(self) -> Samples {
        // Sending fails if the thread has already ended because it has taken all samples.
        let _ = self.stop.send(());
        self.thread.join().expect("the sampler does not panic")
    }
}

fn sample(
    mut probe: Probe,
    mut samples: Samples,
    interval_ns: u64,
    stopped: &Receiver<()>,
) -> Samples {
    let start = monotonic_ns();
    let mut deadline = start;
    let mut snapshot = Snapshot::default();
    while samples.has_room() && waited(deadline, stopped) {
        probe.take_into(&mut snapshot, false);
        samples.push(deadline, &snapshot);
        let next = next_deadline(start, interval_ns, deadline, monotonic_ns());
        if samples.has_room() {
            samples.skipped += (next - deadline) / interval_ns - 1;
        }
        deadline = next;
    }
    samples
}

/// The first deadline that is later than both `deadline` and `now`.
fn next_deadline(start: u64, interval_ns: u64, deadline: u64, now: u64) -> u64 {
    (deadline + interval_ns).max(start + (now - start).div_ceil(interval_ns) * interval_ns)
}

/// Waits until `deadline`. Returns false if the sampler was stopped before.
fn waited(deadline: u64, stopped: &Receiver<()>) -> bool {
    let left = Duration::from_nanos(deadline.saturating_sub(monotonic_ns()));
    matches!(stopped.recv_timeout(left), Err(RecvTimeoutError::Timeout))
}

/// Samples of a sampler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Samples {
    /// Names of counters and gauges, in order.
    pub names: Vec<&'static str>,
    /// Number of deadlines that were skipped because the previous sample was still being taken.
    pub skipped: u64,
    /// Time and cost of each sample.
    pub samples: Vec<Sample>,
    /// The values of the first sample in the order of the names, then those of the second sample,
    /// and so on.
    values: Vec<u64>,
}

/// Time and cost of a sample.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sample {
    /// When the sample began (`CLOCK_MONOTONIC`).
    pub at_ns: u64,
    /// How long after the deadline the sample began.
    pub late_ns: u64,
    /// How long the sample took.
    pub cost_ns: u64,
    /// CPU time that the sample took.
    pub cpu_ns: u64,
}

impl Samples {
    fn with_room(sources: &Sources, samples_max: usize) -> Self {
        let counters = sources.chosen.iter().flat_map(|source| source.counters());
        let names: BTreeSet<_> = counters.map(|counter| counter.name).collect();
        Self {
            skipped: 0,
            samples: Vec::with_capacity(samples_max),
            // All values are written once at the start, so that the kernel maps the memory before
            // the first sample.
            values: vec![ABSENT; names.len() * samples_max],
            names: names.into_iter().collect(),
        }
    }

    /// The value of `name` in a sample, summed as in [`Snapshot::counters`]; none: not reported.
    #[must_use]
    pub fn value(&self, sample: usize, name: &str) -> Option<u64> {
        let column = self.names.binary_search(&name).ok()?;
        let value = *self.row(sample).get(column)?;
        (value != ABSENT).then_some(value)
    }

    fn row(&self, sample: usize) -> &[u64] {
        let taken = sample < self.samples.len();
        if taken { &self.values[sample * self.names.len()..][..self.names.len()] } else { &[] }
    }

    fn has_room(&self) -> bool {
        self.samples.len() < self.samples.capacity()
    }

    fn push(&mut self, deadline: u64, snapshot: &Snapshot) {
        let columns = self.names.len();
        let row = &mut self.values[self.samples.len() * columns..][..columns];
        for reading in &snapshot.readings {
            if let Ok(column) = self.names.binary_search(&reading.counter.name) {
                let so_far = if row[column] == ABSENT { 0 } else { row[column] };
                row[column] = so_far.saturating_add(reading.scaled());
            }
        }
        self.samples.push(Sample {
            at_ns: snapshot.at_ns,
            late_ns: snapshot.at_ns.saturating_sub(deadline),
            cost_ns: snapshot.cost_ns,
            cpu_ns: snapshot.cpu_ns,
        });
    }
}
