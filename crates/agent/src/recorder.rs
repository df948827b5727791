//! Records the traffic of a run, and reports its progress.

use netstudy_records::{
    AgentPlan, AgentRecord, Answers, InTime, PhaseKind, ProbePlan, RequestsOf, Taken,
};
use netstudy_units::Time;
use netstudy_workload::Sample;

use crate::answers::{note_answer, response_times};
use crate::clock::Clock;
use crate::readings::Reading;
use crate::tallies::Carried;
use crate::workloads;
use crate::workloads::recording::Recording;

/// Bytes received and sent on each connection.
pub(crate) type ConnectionBytes = Vec<(u64, u64)>;

/// The recorded data.
pub(crate) struct Recorder {
    clock: Clock,
    /// How many connections belong to the workload; those of the probe come after them.
    workload_connections: u32,
    phase: PhaseKind,
    began: Time,
    bytes_before: ConnectionBytes,
    /// When the duration of the phase ended, and the bytes carried until then; none: it has not
    /// ended.
    over: Option<(Time, InTime)>,
    /// Number of samples of the workload in this phase.
    samples: u64,
    recording: Box<dyn Recording>,
    /// Response times of the probe, in two parts: in the idle phase, and while the workload runs.
    probe: Option<[Answers; 2]>,
}

impl Recorder {
    /// A recorder for the application of `plan`. The first phase begins now.
    pub(crate) fn new(plan: &AgentPlan, workload_connections: u32, clock: Clock) -> Self {
        let (is_probing, idle_ns) = match plan.probe {
            Some(ProbePlan::Client { idle_ns, .. }) => (true, idle_ns),
            Some(ProbePlan::Server { .. }) | None => (false, 0),
        };
        Self {
            clock,
            workload_connections,
            phase: if idle_ns > 0 { PhaseKind::Idle } else { PhaseKind::WarmUp },
            began: clock.now(),
            bytes_before: vec![(0, 0); plan.connections.len()],
            over: None,
            samples: 0,
            recording: workloads::of(&plan.workload).recording(workload_connections),
            probe: is_probing.then(<[Answers; 2]>::default),
        }
    }

    /// Enters the warm-up if the controller's `go` ended the idle phase. The measuring phase starts with
    /// [`Self::begin`] instead.
    pub(crate) fn go(&mut self, now: Time, bytes: ConnectionBytes) {
        if self.phase == PhaseKind::Idle {
            self.enter(PhaseKind::WarmUp, now, bytes);
        }
    }

    /// Enters the measuring phase.
    pub(crate) fn begin(&mut self, now: Time, bytes: ConnectionBytes) {
        self.enter(PhaseKind::Measure, now, bytes);
        self.recording.begin();
    }

    fn enter(&mut self, phase: PhaseKind, now: Time, bytes: ConnectionBytes) {
        self.phase = phase;
        self.began = now;
        self.bytes_before = bytes;
        self.over = None;
        self.samples = 0;
    }

    /// Notes that the duration of the phase ends at `now`. `carried` lists, per connection, the
    /// bytes that this end has received and the bytes that the peer has acknowledged.
    pub(crate) fn over(&mut self, now: Time, carried: &[Carried]) {
        let grown = carried.iter().zip(&self.bytes_before);
        let bytes_received = grown.clone().map(|(now, before)| now.received - before.0).collect();
        // No data were in flight when the phase began, so all bytes sent before were acknowledged
        // by then.
        let bytes_acknowledged =
            grown.map(|(now, before)| Some(now.acknowledged?.saturating_sub(before.1))).collect();
        self.over = Some((now, InTime { bytes_received, bytes_acknowledged }));
    }

    /// The record of a phase. The phase has ended, and no data are in flight any more.
    pub(crate) fn phase_record(&self, now: Time, bytes: &ConnectionBytes) -> AgentRecord {
        let grown = bytes.iter().zip(&self.bytes_before);
        let (bytes_received, bytes_sent) =
            grown.map(|(now, before)| (now.0 - before.0, now.1 - before.1)).unzip();
        let ended = self.over.as_ref().map_or(now, |&(at, _)| at);
        AgentRecord::Phase {
            name: self.phase,
            from_ns: self.clock.as_ns(self.began),
            to_ns: self.clock.as_ns(ended),
            quiet_ns: self.clock.as_ns(now),
            bytes_received,
            bytes_sent,
            in_time: self.over.as_ref().map(|(_, carried)| carried.clone()),
        }
    }

    /// The progress record of the current phase.
    pub(crate) fn progress(&self, now: Time, bytes: &ConnectionBytes) -> AgentRecord {
        AgentRecord::Progress {
            at_ns: self.clock.as_ns(now),
            samples: self.samples,
            bytes: bytes.iter().map(|(received, sent)| received + sent).sum(),
        }
    }

    /// Records that the application writes a message at `now` that was due at `due`.
    pub(crate) fn wrote(&mut self, connection: u32, due: Time, now: Time) {
        if self.is_workloads(connection) {
            self.recording.wrote(self.clock, connection, due, now);
        }
    }

    /// Whether [`Self::read`] must be called with readings of this connection at such moments.
    pub(crate) fn wants_readings(&self, connection: u32, taken: Taken) -> bool {
        self.is_workloads(connection) && self.recording.wants_readings() == Some(taken)
    }

    /// Records a reading of a connection.
    pub(crate) fn read(&mut self, connection: u32, reading: &Reading) {
        self.recording.read(connection, reading);
    }

    /// Records that the kernel has accepted all bytes written so far.
    pub(crate) fn flushed(&mut self, connection: u32) {
        if self.is_workloads(connection) {
            self.recording.flushed(self.clock);
        }
    }

    /// Records that bytes have arrived.
    pub(crate) fn received(&mut self, connection: u32, now: Time) {
        if self.is_workloads(connection) {
            self.recording.received(self.clock, connection, now);
        }
    }

    /// Whether [`Self::answered`] must be called at the last byte of each response.
    pub(crate) fn wants_ends(&self) -> bool {
        self.recording.wants_ends()
    }

    /// Records that all requested data of a connection have arrived.
    pub(crate) fn answered(&mut self, connection: u32, now: Time) {
        if self.is_workloads(connection) {
            self.recording.answered(self.clock, connection, now);
        }
    }

    /// Whether a connection belongs to the workload; the others belong to the probe.
    const fn is_workloads(&self, connection: u32) -> bool {
        connection < self.workload_connections
    }

    /// Records a sample that has ended.
    pub(crate) fn sample(&mut self, sample: Sample) {
        if let Sample::Request { connection, intended, ended } = sample
            && !self.is_workloads(connection)
        {
            let place = match self.phase {
                PhaseKind::Idle => 0,
                PhaseKind::Measure => 1,
                _ => return,
            };
            let over = self.time_over();
            if let Some(probe) = &mut self.probe {
                note_answer(&mut probe[place], intended, ended, over);
            }
            return;
        }
        self.samples += 1;
        if self.phase == PhaseKind::Measure {
            self.recording.sample(self.clock, sample, self.time_over());
        }
    }

    /// The end of the phase's duration; none: not reached yet.
    fn time_over(&self) -> Option<Time> {
        self.over.as_ref().map(|&(at, _)| at)
    }

    /// All records.
    pub(crate) fn into_records(self) -> Vec<AgentRecord> {
        let mut records = self.recording.into_records();
        if let Some([alone, beside]) = self.probe {
            records.push(response_times(&alone, RequestsOf::Probe, PhaseKind::Idle));
            records.push(response_times(&beside, RequestsOf::Probe, PhaseKind::Measure));
        }
        records
    }
}
