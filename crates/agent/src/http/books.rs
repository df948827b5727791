//! Samples, errors and statistics of the measuring phase of a load generator.

use std::collections::BTreeMap;

use netstudy_records::{AgentRecord, Latencies, Latency, PhaseKind, RequestsOf};
use netstudy_units::Time;
use netstudy_workload::transactions::{Counts, Failure, Statistics, TransactionAction};

/// Histograms and counts.
#[derive(Debug, Default)]
pub(super) struct Books {
    element: Spans,
    element_first_byte: Latencies,
    transaction: Spans,
    operations: Vec<Spans>,
    errors: BTreeMap<(u32, Failure), u64>,
    statistics: Vec<Statistics>,
}

/// Durations of requests until their end, measured from when each was due (response time) and from
/// when it was sent (service time).
#[derive(Clone, Debug, Default)]
struct Spans {
    response: Latencies,
    service: Latencies,
}

impl Spans {
    fn add(&mut self, intended: Time, sent: Time, ended: Time) {
        self.response.record(ended.since(intended).as_ns());
        self.service.record(ended.since(sent).as_ns());
    }
}

impl Books {
    /// Empty books for this number of operations.
    pub(super) fn new(operations: usize) -> Self {
        Self { operations: vec![Spans::default(); operations], ..Self::default() }
    }

    /// Records ended elements, transactions, errors and statistics; ignores other actions.
    pub(super) fn note(&mut self, action: TransactionAction) {
        match action {
            TransactionAction::Element { intended, sent, first_byte, ended, .. } => {
                self.element.add(intended, sent, ended);
                self.element_first_byte.record(first_byte.since(sent).as_ns());
            }
            TransactionAction::Transaction { operation, intended, sent, ended, .. } => {
                self.transaction.add(intended, sent, ended);
                self.operations[operation as usize].add(intended, sent, ended);
            }
            TransactionAction::Failed { operation, why } => {
                *self.errors.entry((operation, why)).or_default() += 1;
            }
            TransactionAction::Statistics(statistics) => self.statistics.push(statistics),
            _ => {}
        }
    }

    /// All records. `names` and `counts` have one entry per operation.
    pub(super) fn into_records(self, names: &[&str], counts: &[Counts]) -> Vec<AgentRecord> {
        let unfinished = counts.iter().map(|counts| counts.unfinished).sum();
        let mut records = self.element.into_records("page element", unfinished);
        let first_byte = Latency::FirstByte;
        records.push(times("page element", first_byte, &self.element_first_byte, unfinished));
        records.extend(self.transaction.into_records("transaction", unfinished));
        for ((spans, name), counts) in self.operations.into_iter().zip(names).zip(counts) {
            records.extend(spans.into_records(name, counts.unfinished));
        }
        records.push(transactions(names, counts));
        records.push(errors(names, &self.errors));
        records.push(statistics(&self.statistics));
        records
    }
}

impl Spans {
    fn into_records(self, operation: &str, unfinished: u64) -> Vec<AgentRecord> {
        let Self { response, service } = self;
        [(Latency::Response, response), (Latency::Service, service)]
            .map(|(latency, latencies)| times(operation, latency, &latencies, unfinished))
            .into()
    }
}

fn times(operation: &str, latency: Latency, times: &Latencies, unfinished: u64) -> AgentRecord {
    AgentRecord::ResponseTimes {
        of: RequestsOf::Workload,
        operation: Some(operation.to_owned()),
        latency,
        phase: PhaseKind::Measure,
        count: times.count(),
        unanswered: unfinished,
        min_ns: times.min_ns(),
        max_ns: times.max_ns(),
        sum_ns: times.sum_ns(),
        histogram: times.buckets().collect(),
    }
}

fn transactions(names: &[&str], counts: &[Counts]) -> AgentRecord {
    let column = |value: fn(&Counts) -> u64| counts.iter().map(value).collect();
    AgentRecord::Transactions {
        operation: names.iter().map(|&name| name.to_owned()).collect(),
        offered: column(|counts| counts.offered),
        carried: column(|counts| counts.carried),
        not_met: column(|counts| counts.not_met),
        completed: column(|counts| counts.completed),
        unfinished: column(|counts| counts.unfinished),
        page_elements: column(|counts| counts.page_elements),
        network_errors: column(|counts| counts.network_errors),
        server_errors: column(|counts| counts.server_errors),
        bytes_read: column(|counts| counts.bytes_read),
        bytes_written: column(|counts| counts.bytes_written),
    }
}

fn errors(names: &[&str], errors: &BTreeMap<(u32, Failure), u64>) -> AgentRecord {
    AgentRecord::TransactionErrors {
        operation: errors.keys().map(|&(at, _)| names[at as usize].to_owned()).collect(),
        reason: errors.keys().map(|(_, why)| why.to_string()).collect(),
        count: errors.values().copied().collect(),
    }
}

fn statistics(rows: &[Statistics]) -> AgentRecord {
    let column = |value: fn(&Counts) -> u64| rows.iter().map(|row| value(&row.counts)).collect();
    AgentRecord::Statistics {
        at_ns: rows.iter().map(|row| row.at.as_ns()).collect(),
        users: rows.iter().map(|row| row.users.into()).collect(),
        page_elements: column(|counts| counts.page_elements),
        transactions: column(|counts| counts.completed),
        network_errors: column(|counts| counts.network_errors),
        server_errors: column(|counts| counts.server_errors),
        bytes_read: column(|counts| counts.bytes_read),
        bytes_written: column(|counts| counts.bytes_written),
        response_sum_ns: column(|counts| counts.response_sum_ns),
        not_met: column(|counts| counts.not_met),
        starved_users: rows.iter().map(|row| row.starved.into()).collect(),
    }
}

#[cfg(test)]
mod tests {
    use netstudy_units::Duration;
    use netstudy_workload::transactions::{NetworkFailure, ServerFailure};

    use super::*;

    fn at(ms: u64) -> Time {
        Time::ZERO + Duration::from_ms(ms)
    }

    #[test]
    fn each_time_is_in_the_histograms_that_it_belongs_to() {
        let mut books = Books::new(2);
        let (intended, sent, first_byte, ended) = (at(1), at(3), at(4), at(9));
        books.note(TransactionAction::Element { operation: 1, intended, sent, first_byte, ended });
        let (client, operation) = (0, 1);
        books.note(TransactionAction::Transaction { client, operation, intended, sent, ended });
        let counts = [Counts::default(), Counts { unfinished: 3, ..Counts::default() }];
        let mut times = BTreeMap::new();
        for record in books.into_records(&["home", "buy"], &counts) {
            if let AgentRecord::ResponseTimes {
                operation: Some(operation),
                latency,
                count,
                unanswered,
                max_ns,
                ..
            } = record
            {
                let ms = max_ns.map(|ns| ns / 1_000_000);
                times.insert((operation, format!("{latency:?}")), (count, unanswered, ms));
            }
        }
        let of = |operation: &str, latency: &str| times[&(operation.into(), latency.into())];
        for operation in ["page element", "transaction", "buy"] {
            assert_eq!(of(operation, "Response"), (1, 3, Some(8)));
            assert_eq!(of(operation, "Service"), (1, 3, Some(6)));
        }
        assert_eq!(of("page element", "FirstByte"), (1, 3, Some(1)));
        assert_eq!(of("home", "Response"), (0, 0, None));
        assert_eq!(times.len(), 9);
    }

    #[test]
    fn errors_are_counted_by_operation_and_reason() {
        let mut books = Books::new(2);
        let busy = Failure::Server(ServerFailure::Status(503));
        let reset = Failure::Network(NetworkFailure::Reset);
        for (operation, why) in [(1, busy), (0, reset), (1, busy)] {
            books.note(TransactionAction::Failed { operation, why });
        }
        let counted = books
            .into_records(&["home", "buy"], &[Counts::default(); 2])
            .into_iter()
            .find(|record| matches!(record, AgentRecord::TransactionErrors { .. }));
        let expected = AgentRecord::TransactionErrors {
            operation: vec!["home".into(), "buy".into()],
            reason: vec!["connection reset".into(), "503".into()],
            count: vec![1, 2],
        };
        assert_eq!(counted, Some(expected));
    }
}
