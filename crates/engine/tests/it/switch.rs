//! The `switch` command as its controller sees it, as far as it needs no network.

use std::io::Write;
use std::process::{Command, Output, Stdio};

use netstudy_records::SwitchRecord;

const PLAN: &str = include_str!("../../../../schema/examples/switch-plan.json");

/// The engine's output for `plan` as the first line of input, and no command.
fn switch(plan: &str) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_netstudy-engine"))
        .arg("switch")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the engine starts");
    let mut stdin = child.stdin.take().expect("a pipe");
    stdin.write_all(plan.replace('\n', "").as_bytes()).expect("the engine reads its plan");
    drop(stdin);
    child.wait_with_output().expect("the engine ends")
}

/// The exit code, and the message of the only record.
fn error(plan: &str) -> (Option<i32>, String) {
    let output = switch(plan);
    match serde_json::from_slice(&output.stdout) {
        Ok(SwitchRecord::Error { message }) => (output.status.code(), message),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_plan_that_cannot_be_carried_out_is_refused_with_the_field() {
    let (code, message) = error(&PLAN.replacen("1000000000", "0", 1));
    assert_eq!(code, Some(2));
    assert!(message.contains("links[0].a.rate_bps"), "{message}");
    let (code, message) = error(&PLAN.replacen("\"run\"", "\"rum\"", 1));
    assert_eq!(code, Some(2));
    assert!(message.contains("unknown field `rum`"), "{message}");
}

#[test]
fn an_interface_that_is_not_there_is_named() {
    let plan = PLAN.replacen("\"cpu\": 1", "\"cpu\": null", 1);
    let (code, message) = error(&plan.replace("\"p0\"", "\"no-such-port\""));
    assert_eq!(code, Some(3));
    assert!(message.contains("there is no interface \"no-such-port\""), "{message}");
}
