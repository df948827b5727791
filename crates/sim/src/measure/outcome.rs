//! The measurement of a run that has ended.

use std::collections::BTreeMap;
use std::ops::Range;

use netstudy_records::{Answers, IterationSamples, PhaseKind, SecondSamples, TransferSamples};
use netstudy_units::{Duration, Time};

use crate::applications::Cast;
use crate::sampling::Sampler;
use crate::snapshot::{Connection, Frames, Snapshot, SwitchFrames};

/// The measurement of a run that has ended.
pub(crate) struct Outcome {
    pub(crate) samples: Sampled,
    /// All phases, in order.
    pub(crate) phases: Vec<Span>,
    pub(crate) edges: Vec<Edge>,
    /// Indices in `edges` of the start and the end of the measuring phase.
    pub(super) measured: [usize; 2],
    /// Whether the measuring phase began under the load of the warm-up, without a stop between
    /// them.
    pub(crate) begins_loaded: bool,
    /// True: the measuring phase ends after a time. False: it ends at a count.
    pub(crate) is_timed: bool,
    pub(crate) samplers: Vec<Sampler>,
    pub(crate) frames: Frames,
    /// Frame counts per switch, in a network that may have several switches.
    pub(crate) switches: Vec<SwitchFrames>,
    /// Bytes that the workload had requested but that had not arrived when the run ended.
    pub(crate) owed_bytes: u64,
}

impl Outcome {
    /// Length of the measuring phase.
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

    /// Bytes that arrived in the measuring phase at the ends that open connections; only the first
    /// `connections` connections count.
    pub(crate) fn received(&self, connections: usize) -> u64 {
        let received = |snapshot: &Snapshot| -> u64 {
            let workload = snapshot.connections.iter().take(connections);
            workload.map(|connection| connection.ends[0].bytes_received).sum()
        };
        received(self.end()) - received(self.base())
    }

    /// For each connection of the workload: how much a counter grew in the measuring phase.
    pub(crate) fn grown(&self, cast: &Cast, value: &dyn Fn(&Connection) -> u64) -> Vec<u64> {
        self.grown_in(0..cast.connections.len(), value)
    }

    /// Like [`Self::grown`], for the control connections, if there are any.
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
    /// Number of dropped packets in each iteration.
    pub(crate) dropped_packets: Vec<u64>,
    pub(crate) transfers: TransferSamples,
    /// For each transfer of a file: when its first byte arrived, or was sent.
    pub(crate) first_bytes_ns: Vec<u64>,
    /// For each connection that logged in: the time to connect, and the time to log in.
    pub(crate) log_ins: BTreeMap<u32, [Duration; 2]>,
    /// Answers to requests. The key is the source of the requests, with the hosts of client and
    /// server.
    pub(crate) requests: BTreeMap<(RequestsOf, [u32; 2]), Answers>,
    pub(crate) seconds: SecondSamples,
}

/// The source of requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum RequestsOf {
    /// The workload, in the measuring phase.
    Workload,
    /// The probe, in this phase.
    Probe(PhaseKind),
}
