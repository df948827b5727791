//! Response times of requests.

use netstudy_records::{AgentRecord, Answers, Latency, PhaseKind, RequestsOf};
use netstudy_units::Time;

/// Records that a request due at `intended` was answered at `ended`. `over` is the time at which
/// the phase ended; none: the phase still runs. A request that was due before `over` but answered
/// after it counts as unanswered.
pub(crate) fn note_answer(answers: &mut Answers, intended: Time, ended: Time, over: Option<Time>) {
    match over {
        None => answers.latencies.record(ended.since(intended).as_ns()),
        Some(over) if intended < over => answers.unanswered += 1,
        Some(_) => {}
    }
}

pub(crate) fn response_times(answers: &Answers, of: RequestsOf, phase: PhaseKind) -> AgentRecord {
    let Answers { latencies, unanswered } = answers;
    AgentRecord::ResponseTimes {
        of,
        operation: None,
        latency: Latency::Response,
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
