//! The example records, which the front reads too (`tests/wire/test_records.py`).

use netstudy_records::{Record, RunRecord};

const RECORDS: &str = include_str!("../../../../schema/examples/records.jsonl");

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
    let [real, failed, ..] = &runs()[..] else { panic!("two runs and more") };
    assert_eq!(real.samples.iteration.as_ref().expect("samples").dropped_packets, None);
    let exceeded: Vec<_> = real.limits.iter().filter(|limit| limit.exceeded).collect();
    assert_eq!(exceeded[0].name, "frames lost in the backlog queue");
    assert_eq!(exceeded[0].value, Some(2.0));
    assert_eq!(real.limits[2].value, None, "missing is not zero");
    assert_eq!(real.ports["switch"]["server-2"]["frames_dropped"], [Some(0), Some(0), None]);
    assert_eq!(real.reconciliation[1].explained.as_deref(), Some("1 tail loss probe"));
    assert_eq!(real.environment["testbed"], "netns");
    assert_eq!(real.clocks["CLOCK_MONOTONIC of another machine"].offset_high_ns, 1_000_000_038_000);
    assert_eq!(real.scaled_by.as_deref(), Some("1/20"));
    assert!(failed.limits.is_empty() && failed.clocks.is_empty() && failed.scaled_by.is_none());
}

#[test]
fn the_example_plans_are_read() {
    for text in [
        include_str!("../../../../schema/examples/plan.json"),
        include_str!("../../../../schema/examples/graph-plan.json"),
    ] {
        let plan: netstudy_records::Plan = serde_json::from_str(text).expect("a plan");
        assert_eq!(plan.runs.len(), 2);
        let again: serde_json::Value = serde_json::to_value(&plan).expect("a plan is JSON");
        let written: serde_json::Value = serde_json::from_str(text).expect("JSON");
        assert_eq!(again["runs"][0]["network"]["links"], written["runs"][0]["network"]["links"]);
        assert_eq!(again["runs"][0]["workload"], written["runs"][0]["workload"]);
        assert_eq!(again["runs"][0]["phases"], written["runs"][0]["phases"]);
        assert_eq!(again["runs"][0]["instruments"], written["runs"][0]["instruments"]);
    }
}
