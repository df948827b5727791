//! Records of a role's traffic.

use netstudy_records::AgentRecord;
use netstudy_units::Time;
use netstudy_workload::Sample;

use crate::clock::Clock;
use crate::tcp_info::Losses;

/// Records of a role's traffic. Connections are the workload's.
pub(crate) trait Recording {
    /// The measuring phase begins.
    fn begin(&mut self) {}

    /// The application writes a message that was due at `due`.
    fn wrote(&mut self, _clock: Clock, _connection: u32, _due: Time, _now: Time) {}

    /// Whether [`Self::lost`] is to be called.
    fn wants_losses(&self) -> bool {
        false
    }

    /// Losses of a connection so far.
    fn lost(&mut self, _losses: Losses) {}

    /// The kernel has taken the last byte that was written.
    fn flushed(&mut self, _clock: Clock) {}

    /// Bytes have arrived.
    fn received(&mut self, _clock: Clock, _connection: u32, _now: Time) {}

    /// Whether [`Self::answered`] is to be called.
    fn wants_ends(&self) -> bool {
        false
    }

    /// All requested data of a connection has arrived.
    fn answered(&mut self, _clock: Clock, _connection: u32, _now: Time) {}

    /// A sample of the measuring phase has ended; `over`: when the time of the phase was over, if it is.
    fn sample(&mut self, _clock: Clock, _sample: Sample, _over: Option<Time>) {
        unreachable!("a role without samples has none")
    }

    /// All records.
    fn into_records(self: Box<Self>) -> Vec<AgentRecord> {
        Vec::new()
    }
}

/// Of roles whose clients record everything, and of roles without traffic.
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
