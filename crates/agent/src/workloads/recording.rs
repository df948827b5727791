//! Records of a role's traffic.

use netstudy_records::{AgentRecord, Taken};
use netstudy_units::Time;
use netstudy_workload::Sample;

use crate::clock::Clock;
use crate::readings::Reading;

/// Records of a role's traffic. Called only for connections of the workload, not for those of the
/// probe.
pub(crate) trait Recording {
    /// The measuring phase begins.
    fn begin(&mut self) {}

    /// The application writes a message at `now` that was due at `due`.
    fn wrote(&mut self, _clock: Clock, _connection: u32, _due: Time, _now: Time) {}

    /// When [`Self::read`] must be called.
    fn wants_readings(&self) -> Option<Taken> {
        None
    }

    /// A reading of a connection.
    fn read(&mut self, _connection: u32, _reading: &Reading) {}

    /// The kernel has accepted all bytes written so far.
    fn flushed(&mut self, _clock: Clock) {}

    /// Bytes have arrived.
    fn received(&mut self, _clock: Clock, _connection: u32, _now: Time) {}

    /// Whether [`Self::answered`] must be called.
    fn wants_ends(&self) -> bool {
        false
    }

    /// All requested data of a connection have arrived.
    fn answered(&mut self, _clock: Clock, _connection: u32, _now: Time) {}

    /// A sample of the measuring phase has ended. `over` is when the duration of the phase ended;
    /// none: it has not ended yet.
    fn sample(&mut self, _clock: Clock, _sample: Sample, _over: Option<Time>) {
        unreachable!("a role without samples has none")
    }

    /// All records.
    fn into_records(self: Box<Self>) -> Vec<AgentRecord> {
        Vec::new()
    }
}

/// For roles that record nothing: roles without traffic, and servers whose clients record
/// everything.
pub(super) struct NoRecording;

impl Recording for NoRecording {}

/// Starts and ends of samples.
#[derive(Default)]
pub(super) struct Spans {
    pub(super) started_ns: Vec<u64>,
    pub(super) ended_ns: Vec<u64>,
}

impl Spans {
    pub(super) fn add(&mut self, clock: Clock, started: Time, ended: Time) {
        self.started_ns.push(clock.as_ns(started));
        self.ended_ns.push(clock.as_ns(ended));
    }
}
