//! The samples that a generator records in the measuring phase, and the tables and conservation
//! laws computed from them.

use netstudy_records::{
    Answers, Check, Latency, PhaseKind, RequestHistogram, Samples, StatisticsSamples,
    TransactionErrors, TransactionSamples,
};
use netstudy_units::{Duration, Time};
use netstudy_workload::transactions::{Counts, Statistics};

use crate::record::{TRANSACTION, histogram};

/// The `operation` of the histograms of page elements, which combine all operations.
const PAGE_ELEMENT: &str = "page element";

/// Latencies of answered requests: from the time when they were due (`response`), and from the time
/// when they were sent (`service`).
#[derive(Debug, Default)]
struct Ended {
    response: Answers,
    service: Answers,
}

impl Ended {
    fn record(&mut self, intended: Time, sent: Time, ended: Time) {
        self.response.latencies.record(ended.since(intended).as_ns());
        self.service.latencies.record(ended.since(sent).as_ns());
    }

    fn histograms(
        &mut self,
        operation: &str,
        unfinished: u64,
        ends: [&str; 2],
    ) -> impl Iterator<Item = RequestHistogram> {
        [(Latency::Response, &mut self.response), (Latency::Service, &mut self.service)]
            .into_iter()
            .filter_map(move |(latency, answers)| {
                answers.unanswered = unfinished;
                of_answers(operation, latency, ends, answers)
            })
    }
}

fn of_answers(
    operation: &str,
    latency: Latency,
    ends: [&str; 2],
    answers: &Answers,
) -> Option<RequestHistogram> {
    histogram(operation, PhaseKind::Measure, ends, answers)
        .map(|found| RequestHistogram { latency, ..found })
}

/// The samples of one generator.
#[derive(Debug)]
pub(super) struct Recorder {
    client: String,
    users: u32,
    /// The names of the operations, by number.
    names: Vec<String>,
    operations: Vec<Ended>,
    elements: Ended,
    first_bytes: Answers,
    transactions: Ended,
    statistics: Vec<Statistics>,
    counts: Vec<Counts>,
}

impl Recorder {
    pub(super) fn new(client: String, users: u32, names: Vec<String>) -> Self {
        Self {
            client,
            users,
            operations: names.iter().map(|_| Ended::default()).collect(),
            names,
            elements: Ended::default(),
            first_bytes: Answers::default(),
            transactions: Ended::default(),
            statistics: Vec::new(),
            counts: Vec::new(),
        }
    }

    pub(super) fn element(&mut self, intended: Time, sent: Time, first_byte: Time, ended: Time) {
        self.elements.record(intended, sent, ended);
        self.first_bytes.latencies.record(first_byte.since(sent).as_ns());
    }

    pub(super) fn transaction(&mut self, operation: u32, intended: Time, sent: Time, ended: Time) {
        self.transactions.record(intended, sent, ended);
        self.operations[operation as usize].record(intended, sent, ended);
    }

    pub(super) fn statistics(&mut self, block: Statistics) {
        self.statistics.push(block);
    }

    /// Stores the counts of the measuring phase, at its end.
    pub(super) fn end(&mut self, counts: &[Counts]) {
        self.counts = counts.to_vec();
    }

    fn sum(&self) -> Counts {
        sum(self.counts.iter().copied())
    }

    /// Adds the rows of this generator, whose requests went to `server`.
    pub(super) fn add_to(&mut self, tables: &mut Samples, server: &str) {
        self.add_counts(tables.transaction.get_or_insert_default());
        tables.error.get_or_insert_with(TransactionErrors::default);
        self.add_statistics(tables.statistics.get_or_insert_default());
        let unfinished = self.sum().unfinished;
        let Self { client, elements, first_bytes, transactions, operations, names, counts, .. } =
            self;
        let ends = [client.as_str(), server];
        let found = &mut tables.request;
        found.extend(elements.histograms(PAGE_ELEMENT, unfinished, ends));
        found.extend(of_answers(PAGE_ELEMENT, Latency::FirstByte, ends, first_bytes));
        found.extend(transactions.histograms(TRANSACTION, unfinished, ends));
        for ((one, name), counts) in operations.iter_mut().zip(names).zip(counts) {
            found.extend(one.histograms(name, counts.unfinished, ends));
        }
    }

    fn add_counts(&self, table: &mut TransactionSamples) {
        for (name, counts) in self.names.iter().zip(&self.counts) {
            table.client.push(self.client.clone());
            table.operation.push(name.clone());
            table.offered.push(counts.offered);
            table.carried.push(counts.carried);
            table.not_met.push(counts.not_met);
            table.completed.push(counts.completed);
            table.unfinished.push(counts.unfinished);
            table.page_elements.push(counts.page_elements);
            table.network_errors.push(counts.network_errors);
            table.server_errors.push(counts.server_errors);
            table.bytes_read.push(counts.bytes_read);
            table.bytes_written.push(counts.bytes_written);
        }
    }

    fn add_statistics(&self, table: &mut StatisticsSamples) {
        for &Statistics { at, users, starved, counts } in &self.statistics {
            table.client.push(self.client.clone());
            table.at_ns.push(at.as_ns());
            table.users.push(users.into());
            table.page_elements.push(counts.page_elements);
            table.transactions.push(counts.completed);
            table.network_errors.push(counts.network_errors);
            table.server_errors.push(counts.server_errors);
            table.bytes_read.push(counts.bytes_read);
            table.bytes_written.push(counts.bytes_written);
            table.response_sum_ns.push(counts.response_sum_ns);
            table.not_met.push(counts.not_met);
            table.starved_users.push(starved.into());
        }
    }
}

fn sum(counts: impl Iterator<Item = Counts>) -> Counts {
    counts.fold(Counts::default(), |mut sum, one| {
        sum += one;
        sum
    })
}

/// Checks that each offered operation was completed, failed, was not met, or was in progress at the
/// end of the phase.
pub(super) fn nothing_vanished(recorders: &[&Recorder]) -> Check {
    let sum = sum(recorders.iter().map(|one| one.sum()));
    let ended = sum.completed + sum.network_errors + sum.server_errors;
    Check {
        law: "operations offered are completed, failed, not met or under way".to_owned(),
        holds: sum.offered == ended + sum.not_met + sum.unfinished,
        detail: format!(
            "{} offered, {} completed, {} failed, {} not met, {} under way at the end",
            sum.offered,
            sum.completed,
            sum.network_errors + sum.server_errors,
            sum.not_met,
            sum.unfinished,
        ),
    }
}

/// The interactive response time law: users = throughput × (response time + think time). At any
/// time, each user either waits for a response or thinks. So these times, summed over all users,
/// must equal the length of the phase times the number of users. They can differ by the response or
/// think time that each user has in progress at the start and at the end of the phase.
pub(super) fn users_are_somewhere(
    recorders: &[&Recorder],
    took: Duration,
    think: Duration,
) -> Check {
    let users: u64 = recorders.iter().map(|one| u64::from(one.users)).sum();
    let seconds = |ns: u64| ns as f64 / 1e9;
    let responses: u64 = recorders.iter().map(|one| one.sum().response_sum_ns).sum();
    let completed: u64 = recorders.iter().map(|one| one.sum().completed).sum();
    let longest = recorders.iter().filter_map(|one| one.elements.response.latencies.max_ns()).max();
    let there = seconds(took.as_ns()) * users as f64;
    let found = seconds(responses) + seconds(think.as_ns()) * completed as f64;
    // `cut` is for response and think times that begin before the phase or end after it. `scatter`
    // is for the random think times: five standard deviations of a sum of exponential times.
    let cut = 2.0 * users as f64 * (seconds(longest.unwrap_or(0)) + seconds(think.as_ns()));
    let scatter = 5.0 * seconds(think.as_ns()) * (completed as f64).sqrt();
    Check {
        law: "users = throughput x (response time + think time)".to_owned(),
        holds: (there - found).abs() <= cut + scatter,
        detail: format!("{users} users for {took}: {there:.3} s, {found:.3} s accounted for"),
    }
}
