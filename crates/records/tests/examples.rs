//! The example records, which the front reads too (`tests/wire/test_records.py`).

use netstudy_records::{Record, RunRecord};

const RECORDS: &str = include_str!("../../../schema/examples/records.jsonl");

fn runs() -> Vec<RunRecord> {
    let records = RECORDS.lines().map(|line| serde_json::from_str(line).expect("a record"));
    let run = |record: Record| match record {
        Record::Run(run) => Some(*run),
        _ => None,
    };
    records.filter_map(run).collect()
}

#[test]
fn each_example_is_written_as_it_was_read() {
    for line in RECORDS.lines() {
        let record: Record = serde_json::from_str(line).expect("a record");
        let written = serde_json::to_string(&record).expect("a record is JSON");
        assert_eq!(written, line);
    }
}

#[test]
fn a_run_of_real_machines_says_what_it_was_made_on_and_how_far_it_can_be_trusted() {
    let [real, failed] = &runs()[..] else { panic!("two runs") };
    assert_eq!(real.iterations.as_ref().expect("samples").dropped_packets, None);
    let exceeded: Vec<_> = real.limits.iter().filter(|limit| limit.exceeded).collect();
    assert_eq!(exceeded[0].name, "frames lost in the backlog queue");
    assert_eq!(exceeded[0].value, Some(2.0));
    assert_eq!(real.limits[2].value, None, "missing is not zero");
    assert_eq!(real.reconciliation[1].explained.as_deref(), Some("1 tail loss probe"));
    assert_eq!(real.environment["testbed"], "netns");
    assert_eq!(real.scaled_by.as_deref(), Some("1/20"));
    assert!(failed.limits.is_empty() && failed.scaled_by.is_none());
}
