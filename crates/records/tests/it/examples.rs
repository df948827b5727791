//! The example records, which the front reads too (`tests/wire/test_records.py`).

use netstudy_records::{PlanLine, PlannedRuns, Record, RunRecord, read_plan};

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
fn the_example_plans_are_read_and_each_line_is_written_as_it_was_read() {
    for text in [
        include_str!("../../../../schema/examples/plan.jsonl"),
        include_str!("../../../../schema/examples/graph-plan.jsonl"),
    ] {
        let runs = read_plan(text.as_bytes()).expect("a plan");
        assert_eq!((runs.sound.len(), runs.failed.len()), (2, 0));
        for line in text.lines().skip(1) {
            let read: PlanLine = serde_json::from_str(line).expect("a line");
            let again = serde_json::to_value(&read).expect("a line is JSON");
            let written: serde_json::Value = serde_json::from_str(line).expect("JSON");
            for part in ["workload", "treatment", "cases", "phases", "instruments"] {
                assert_eq!(again.get(part), written.get(part), "{part}");
            }
            let links = |line: &serde_json::Value| line.pointer("/network/links").cloned();
            assert_eq!(links(&again), links(&written));
        }
    }
}

/// The example with a change of its text.
fn changed(from: &str, to: &str) -> Result<PlannedRuns, String> {
    let text = include_str!("../../../../schema/examples/plan.jsonl");
    assert!(text.contains(from), "{from}");
    read_plan(text.replacen(from, to, 1).as_bytes())
}

#[test]
fn a_plan_that_breaks_off_is_refused() {
    let said = changed("\"runs\":2", "\"runs\":3").expect_err("one is missing");
    assert_eq!(said, "it ends after 2 of its 3 runs");
}

#[test]
fn a_line_that_names_a_part_that_no_line_has_is_refused_with_its_number() {
    let said = changed("\"kind\":\"network\",\"name\":\"", "\"kind\":\"network\",\"name\":\"x")
        .expect_err("the network is missing");
    assert!(said.starts_with("line 5: no line before it is the network "), "{said}");
}

#[test]
fn a_number_out_of_range_in_a_part_fails_the_runs_that_have_it() {
    let runs = changed("\"pause_quanta\":65535", "\"pause_quanta\":65536").expect("a plan");
    assert_eq!((runs.sound.len(), runs.places, runs.failed.len()), (1, vec![1], 1));
    let (place, record) = &runs.failed[0];
    assert_eq!((*place, record.replicate), (0, 1));
    let said = record.error.as_deref().expect("why");
    assert!(said.starts_with("the simulator cannot compute with network.groups[0].nic"), "{said}");
    assert!(said.ends_with("expected 0 to 65535"), "{said}");
}
