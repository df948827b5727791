//! Records a run's traffic until its end, and reports progress.

use netstudy_records::{
    AgentPlan, AgentRecord, AgentWorkload, Answers, InTime, PhaseKind, ProbePlan, RequestsOf,
};
use netstudy_units::Time;
use netstudy_workload::Sample;

use crate::clock::Clock;
use crate::seconds::Carried;
use crate::tcp_info::Losses;

/// Bytes received and sent on each connection.
pub(crate) type ConnectionBytes = Vec<(u64, u64)>;

/// The recorded data.
pub(crate) struct Recorder {
    clock: Clock,
    /// Number of the workload's connections; the probe's come after them.
    workload_connections: u32,
    phase: PhaseKind,
    began: Time,
    bytes_before: ConnectionBytes,
    /// When the time of the phase was over, if it has one, and the bytes carried by then.
    over: Option<(Time, InTime)>,
    /// Samples of the workload in this phase.
    samples: u64,
    kept: Kept,
    /// Response times of the probe when it is alone, and beside the workload.
    probe: Option<[Answers; 2]>,
}

/// Recorded data of the workload.
enum Kept {
    Incast {
        iterations: Spans,
        exchanges: Vec<Exchanges>,
    },
    Transfers(Transfers),
    Requests(Answers),
    Served(Served),
    /// Nothing: the clients record it, or there is no traffic.
    Nothing,
}

#[derive(Default)]
struct Spans {
    started_ns: Vec<u64>,
    ended_ns: Vec<u64>,
}

/// When the requests of a phase to one server were, in nanoseconds.
#[derive(Default)]
struct Exchanges {
    intended: Vec<u64>,
    sent: Vec<u64>,
    first_byte: Vec<u64>,
    done: Vec<u64>,
}

#[derive(Default)]
struct Transfers {
    connection: Vec<u32>,
    bytes_received: Vec<u64>,
    bytes_sent: Vec<u64>,
    spans: Spans,
}

#[derive(Default)]
struct Served {
    /// When bytes came last.
    heard_ns: u64,
    requested_ns: Vec<u64>,
    begun_ns: Vec<u64>,
    answered_ns: Vec<u64>,
    retransmissions: Vec<u64>,
    timeouts: Vec<u64>,
}

impl Served {
    fn add_losses(&mut self, losses: Losses) {
        self.retransmissions.push(losses.retransmissions);
        self.timeouts.push(losses.timeouts);
    }
}

impl Recorder {
    /// For the application of a plan, which begins now.
    pub(crate) fn new(plan: &AgentPlan, workload_connections: u32, clock: Clock) -> Self {
        let kept = match &plan.workload {
            AgentWorkload::IncastClient { .. } => Kept::Incast {
                iterations: Spans::default(),
                exchanges: (0..workload_connections).map(|_| Exchanges::default()).collect(),
            },
            AgentWorkload::IncastServer { .. } => Kept::Served(Served::default()),
            AgentWorkload::TransferClient { .. } => Kept::Transfers(Transfers::default()),
            AgentWorkload::RequestClient { .. } => Kept::Requests(Answers::default()),
            AgentWorkload::TransferServer { .. }
            | AgentWorkload::RequestServer { .. }
            | AgentWorkload::Observer => Kept::Nothing,
        };
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
            kept,
            probe: is_probing.then(<[Answers; 2]>::default),
        }
    }

    /// A phase goes on: the warm-up at once, the measuring phase with [`Self::begin`].
    pub(crate) fn go(&mut self, now: Time, bytes: ConnectionBytes) {
        if self.phase == PhaseKind::Idle {
            self.enter(PhaseKind::WarmUp, now, bytes);
        }
    }

    /// The measuring phase begins.
    pub(crate) fn begin(&mut self, now: Time, bytes: ConnectionBytes) {
        self.enter(PhaseKind::Measure, now, bytes);
        if let Kept::Incast { exchanges, .. } = &mut self.kept {
            exchanges.fill_with(Exchanges::default);
        }
    }

    fn enter(&mut self, phase: PhaseKind, now: Time, bytes: ConnectionBytes) {
        self.phase = phase;
        self.began = now;
        self.bytes_before = bytes;
        self.over = None;
        self.samples = 0;
    }

    /// The time of the phase is over; `carried` are the bytes that each connection has received, and
    /// its peer acknowledged.
    pub(crate) fn over(&mut self, now: Time, carried: &[Carried]) {
        let grown = carried.iter().zip(&self.bytes_before);
        // Nothing was under way when the phase began: all sent bytes had been acknowledged.
        let (bytes_received, bytes_acknowledged) = grown
            .map(|(now, before)| {
                (now.received - before.0, now.acknowledged.saturating_sub(before.1))
            })
            .unzip();
        self.over = Some((now, InTime { bytes_received, bytes_acknowledged }));
    }

    /// The phase has ended, with nothing of it under way.
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

    /// How far the phase is.
    pub(crate) fn progress(&self, now: Time, bytes: &ConnectionBytes) -> AgentRecord {
        AgentRecord::Progress {
            at_ns: self.clock.as_ns(now),
            samples: self.samples,
            bytes: bytes.iter().map(|(received, sent)| received + sent).sum(),
        }
    }

    /// The application writes a message that was due at `due`.
    pub(crate) fn wrote(&mut self, connection: u32, due: Time, now: Time) {
        let clock = self.clock;
        match &mut self.kept {
            Kept::Incast { exchanges, .. } => {
                if let Some(own) = exchanges.get_mut(connection as usize) {
                    own.intended.push(clock.as_ns(due));
                    own.sent.push(clock.as_ns(now));
                }
            }
            Kept::Served(served) if connection < self.workload_connections => {
                served.requested_ns.push(served.heard_ns);
                served.begun_ns.push(clock.as_ns(now));
            }
            _ => {}
        }
    }

    /// Whether [`Self::lost`] is to be called with the connection's losses, when a message is written
    /// and at the end.
    pub(crate) fn wants_losses(&self, connection: u32) -> bool {
        matches!(self.kept, Kept::Served(_)) && connection < self.workload_connections
    }

    /// Losses of a server's connection so far.
    pub(crate) fn lost(&mut self, losses: Losses) {
        if let Kept::Served(served) = &mut self.kept {
            served.add_losses(losses);
        }
    }

    /// The kernel has taken the last byte that was written.
    pub(crate) fn flushed(&mut self, connection: u32) {
        if let Kept::Served(served) = &mut self.kept
            && connection < self.workload_connections
        {
            served.answered_ns.push(self.clock.as_ns(self.clock.now()));
        }
    }

    /// Bytes have come.
    pub(crate) fn received(&mut self, connection: u32, now: Time) {
        let now_ns = self.clock.as_ns(now);
        match &mut self.kept {
            Kept::Incast { exchanges, .. } => {
                if let Some(own) = exchanges.get_mut(connection as usize)
                    && own.first_byte.len() < own.sent.len()
                {
                    own.first_byte.push(now_ns);
                }
            }
            Kept::Served(served) if connection < self.workload_connections => {
                served.heard_ns = now_ns;
            }
            _ => {}
        }
    }

    /// Whether [`Self::answered`] wants to know of the last byte of a response.
    pub(crate) const fn wants_ends(&self) -> bool {
        matches!(self.kept, Kept::Incast { .. })
    }

    /// All that was asked for on a connection is there.
    pub(crate) fn answered(&mut self, connection: u32, now: Time) {
        let now_ns = self.clock.as_ns(now);
        if let Kept::Incast { exchanges, .. } = &mut self.kept
            && let Some(own) = exchanges.get_mut(connection as usize)
            && own.done.len() < own.sent.len()
        {
            own.done.push(now_ns);
        }
    }

    /// Something that is measured has ended.
    pub(crate) fn sample(&mut self, sample: Sample) {
        if let Sample::Request { connection, intended, ended } = sample
            && connection >= self.workload_connections
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
            self.keep(sample);
        }
    }

    /// When the time of the phase was over; none: it is not.
    fn time_over(&self) -> Option<Time> {
        self.over.as_ref().map(|&(at, _)| at)
    }

    fn keep(&mut self, sample: Sample) {
        let (clock, over) = (self.clock, self.time_over());
        match (&mut self.kept, sample) {
            (Kept::Incast { iterations, .. }, Sample::Iteration { started, ended }) => {
                iterations.add(clock, started, ended);
            }
            // A transfer that ends after the phase does not count.
            (Kept::Transfers(_), Sample::Transfer { .. }) if over.is_some() => {}
            (
                Kept::Transfers(transfers),
                Sample::Transfer { connection, bytes_received, bytes_sent, started, ended },
            ) => {
                transfers.connection.push(connection);
                transfers.bytes_received.push(bytes_received);
                transfers.bytes_sent.push(bytes_sent);
                transfers.spans.add(clock, started, ended);
            }
            (Kept::Requests(answers), Sample::Request { intended, ended, .. }) => {
                note_answer(answers, intended, ended, over);
            }
            _ => unreachable!("a workload has samples of its kind"),
        }
    }

    /// All that was kept.
    pub(crate) fn into_records(self) -> Vec<AgentRecord> {
        let mut records = self.kept.into_records();
        if let Some([alone, beside]) = self.probe {
            records.push(response_times(&alone, RequestsOf::Probe, PhaseKind::Idle));
            records.push(response_times(&beside, RequestsOf::Probe, PhaseKind::Measure));
        }
        records
    }
}

/// A request was answered at `ended`. `over` is when the time of its phase was over, if it is.
fn note_answer(answers: &mut Answers, intended: Time, ended: Time, over: Option<Time>) {
    match over {
        None => answers.latencies.record(ended.since(intended).as_ns()),
        Some(over) if intended < over => answers.unanswered += 1,
        Some(_) => {}
    }
}

impl Spans {
    fn add(&mut self, clock: Clock, started: Time, ended: Time) {
        self.started_ns.push(clock.as_ns(started));
        self.ended_ns.push(clock.as_ns(ended));
    }
}

impl Kept {
    fn into_records(self) -> Vec<AgentRecord> {
        match self {
            Self::Incast { iterations: Spans { started_ns, ended_ns }, exchanges } => {
                let iterations = AgentRecord::Iterations { started_ns, ended_ns };
                let requests =
                    (0..).zip(exchanges).map(|(connection, own)| AgentRecord::Requests {
                        connection,
                        intended_ns: own.intended,
                        sent_ns: own.sent,
                        first_byte_ns: own.first_byte,
                        done_ns: own.done,
                    });
                std::iter::once(iterations).chain(requests).collect()
            }
            Self::Transfers(Transfers { connection, bytes_received, bytes_sent, spans }) => {
                let Spans { started_ns, ended_ns } = spans;
                vec![AgentRecord::Transfers {
                    connection,
                    bytes_received,
                    bytes_sent,
                    started_ns,
                    ended_ns,
                }]
            }
            Self::Requests(times) => {
                vec![response_times(&times, RequestsOf::Workload, PhaseKind::Measure)]
            }
            Self::Served(served) => vec![AgentRecord::Served {
                requested_ns: served.requested_ns,
                begun_ns: served.begun_ns,
                answered_ns: served.answered_ns,
                retransmissions: served.retransmissions,
                timeouts: served.timeouts,
            }],
            Self::Nothing => Vec::new(),
        }
    }
}

fn response_times(answers: &Answers, of: RequestsOf, phase: PhaseKind) -> AgentRecord {
    let Answers { latencies, unanswered } = answers;
    AgentRecord::ResponseTimes {
        of,
        phase,
        count: latencies.count(),
        unanswered: *unanswered,
        min_ns: latencies.min_ns(),
        max_ns: latencies.max_ns(),
        sum_ns: latencies.sum_ns(),
        histogram: latencies.buckets().collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn response_times_keep_three_digits_and_their_extremes_exactly() {
        let mut answers = Answers::default();
        for ns in [1_234_567, 1_234_567, 98_765_432, 17] {
            answers.latencies.record(ns);
        }
        let record = response_times(&answers, RequestsOf::Workload, PhaseKind::Measure);
        let AgentRecord::ResponseTimes { count, min_ns, max_ns, sum_ns, histogram, .. } = record
        else {
            unreachable!()
        };
        assert_eq!((count, min_ns, max_ns), (4, Some(17), Some(98_765_432)));
        assert_eq!(sum_ns, 2 * 1_234_567 + 98_765_432 + 17);
        let counts: Vec<_> = histogram.iter().map(|class| class.1).collect();
        assert_eq!(counts, [1, 2, 1]);
        for (class, ns) in histogram.iter().zip([17.0, 1_234_567.0, 98_765_432.0]) {
            assert!(class.0 as f64 >= ns && class.0 as f64 <= ns * 1.001, "{class:?} of {ns}");
        }
    }

    #[test]
    fn a_request_that_was_due_in_the_time_and_answered_behind_it_is_unanswered() {
        let at = |us| Time::ZERO + netstudy_units::Duration::from_us(us);
        let mut answers = Answers::default();
        note_answer(&mut answers, at(10), at(20), None);
        note_answer(&mut answers, at(15), at(120), Some(at(100)));
        note_answer(&mut answers, at(110), at(130), Some(at(100)));
        assert_eq!((answers.latencies.count(), answers.unanswered), (1, 1));
    }

    #[test]
    fn of_no_request_there_is_no_shortest_one() {
        let record = response_times(&Answers::default(), RequestsOf::Probe, PhaseKind::Idle);
        let AgentRecord::ResponseTimes { count, min_ns, histogram, .. } = record else {
            unreachable!()
        };
        assert_eq!((count, min_ns, histogram), (0, None, Vec::new()));
    }
}
