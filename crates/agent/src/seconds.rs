//! The table of seconds: the bytes that each connection of a client carried in each second of the
//! measuring phase.

use netstudy_records::{AgentPlan, AgentRecord};
use netstudy_units::{Duration, Time};

use crate::tallies::Carried;
use crate::workloads;

const SECOND: Duration = Duration::from_secs(1);

/// A table with one row per second and connection.
#[derive(Debug)]
pub(crate) struct Seconds {
    /// Start of the measuring phase; none before it.
    phase: Option<Time>,
    /// End of the current second; [`Time::NEVER`] outside the measuring phase.
    due: Time,
    before: Vec<Carried>,
    connection: Vec<u32>,
    start_ns: Vec<u64>,
    bytes_received: Vec<u64>,
    /// None: unknown.
    bytes_sent: Vec<Option<u64>>,
}

impl Seconds {
    /// An empty table; none for roles that do not record seconds.
    pub(crate) fn of(plan: &AgentPlan) -> Option<Self> {
        workloads::of(&plan.workload).records_seconds().then(Self::new)
    }

    const fn new() -> Self {
        Self {
            phase: None,
            due: Time::NEVER,
            before: Vec::new(),
            connection: Vec::new(),
            start_ns: Vec::new(),
            bytes_received: Vec::new(),
            bytes_sent: Vec::new(),
        }
    }

    /// Starts the measuring phase at `at`; `carried` lists the bytes that each connection has
    /// carried before.
    pub(crate) fn begin(&mut self, at: Time, carried: Vec<Carried>) {
        self.phase = Some(at);
        self.due = at + SECOND;
        self.before = carried;
    }

    /// End of the current second; [`Time::NEVER`] outside the measuring phase.
    pub(crate) const fn due(&self) -> Time {
        self.due
    }

    /// Adds the rows of each second that has ended by `now`. If this is called after a stall of
    /// several seconds, all bytes count for the first of these seconds.
    pub(crate) fn add(&mut self, now: Time, carried: &[Carried]) {
        while self.due <= now {
            self.push_rows(carried);
            self.due += SECOND;
        }
    }

    /// Ends the phase at `at`; the last row covers a partial second.
    pub(crate) fn end(&mut self, at: Time, carried: &[Carried]) {
        if self.due == Time::NEVER {
            return;
        }
        self.add(at, carried);
        if self.due < at + SECOND {
            self.push_rows(carried);
        }
        self.due = Time::NEVER;
    }

    /// Adds the rows of the current second.
    fn push_rows(&mut self, carried: &[Carried]) {
        let Some(phase) = self.phase else { return };
        let start_ns = self.due.since(phase).as_ns() - SECOND.as_ns();
        for (number, (now, before)) in (0..).zip(carried.iter().zip(&self.before)) {
            self.connection.push(number);
            self.start_ns.push(start_ns);
            self.bytes_received.push(now.received - before.received);
            let acknowledged = now.acknowledged.zip(before.acknowledged);
            self.bytes_sent.push(acknowledged.map(|(now, before)| now - before));
        }
        self.before.copy_from_slice(carried);
    }

    /// The record; none: some of its values are unknown.
    pub(crate) fn into_record(self) -> Option<AgentRecord> {
        let Self { connection, start_ns, bytes_received, bytes_sent, .. } = self;
        let bytes_sent = bytes_sent.into_iter().collect::<Option<_>>()?;
        Some(AgentRecord::Seconds { connection, start_ns, bytes_received, bytes_sent })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Time {
        Time::ZERO + Duration::from_ms(ms)
    }

    fn carried(received: u64, acknowledged: u64) -> Vec<Carried> {
        let carried =
            |received, acknowledged| Carried { received, acknowledged: Some(acknowledged) };
        vec![carried(received, acknowledged), carried(7, 0)]
    }

    #[test]
    fn a_row_is_what_was_carried_since_the_second_before() {
        let mut seconds = Seconds::new();
        assert_eq!(seconds.due(), Time::NEVER);
        seconds.begin(at(500), carried(100, 10));
        assert_eq!(seconds.due(), at(1500));
        seconds.add(at(1501), &carried(150, 11));
        assert_eq!(seconds.due(), at(2500));
        // The reader stalls until 3600 ms: the rows of two seconds are due.
        seconds.add(at(3600), &carried(350, 31));
        let Some(AgentRecord::Seconds { connection, start_ns, bytes_received, bytes_sent }) =
            seconds.into_record()
        else {
            unreachable!()
        };
        assert_eq!(connection, [0, 1, 0, 1, 0, 1]);
        let s = 1_000_000_000;
        assert_eq!(start_ns, [0, 0, s, s, 2 * s, 2 * s]);
        assert_eq!(bytes_received, [50, 0, 200, 0, 0, 0]);
        assert_eq!(bytes_sent, [1, 0, 20, 0, 0, 0]);
    }

    #[test]
    fn a_table_with_unknown_bytes_is_left_out() {
        let mut seconds = Seconds::new();
        let unknown = [Carried { received: 1, acknowledged: None }];
        seconds.begin(at(0), unknown.to_vec());
        seconds.end(at(500), &unknown);
        assert!(seconds.into_record().is_none());
    }

    #[test]
    fn the_end_of_the_phase_cuts_the_last_second_off() {
        let rows_of = |end_ms| {
            let mut seconds = Seconds::new();
            seconds.begin(at(500), carried(0, 0));
            seconds.end(at(end_ms), &carried(150, 11));
            seconds.add(at(9000), &carried(900, 90));
            let Some(AgentRecord::Seconds { start_ns, bytes_received, .. }) = seconds.into_record()
            else {
                unreachable!()
            };
            (start_ns, bytes_received)
        };
        let s = 1_000_000_000;
        assert_eq!(rows_of(1800), (vec![0, 0, s, s], vec![150, 0, 0, 0]), "one and a part");
        assert_eq!(rows_of(1500), (vec![0, 0], vec![150, 0]), "one, with nothing behind it");
    }
}
