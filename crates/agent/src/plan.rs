//! Checks of a plan beyond those that its schema makes.

use netstudy_records::{AgentPlan, ConnectionPlan, ProbePlan};

use crate::failure::Failure;
use crate::workloads;
use crate::workloads::role::{Role, Task, positive};

/// A valid plan, and the task that the plan describes.
pub(crate) struct Checked {
    pub(crate) plan: AgentPlan,
    pub(crate) task: Task,
    /// How many connections belong to the workload.
    pub(crate) workload_connections: u32,
}

/// Reads and checks the plan in `line`.
pub(crate) fn read(line: &[u8]) -> Result<Checked, Failure> {
    let mut text = serde_json::Deserializer::from_slice(line);
    let plan: AgentPlan = serde_path_to_error::deserialize(&mut text)
        .map_err(|error| Failure::Plan(error.to_string()))?;
    text.end().map_err(|error| Failure::Plan(error.to_string()))?;
    check(plan).map_err(Failure::Plan)
}

fn check(plan: AgentPlan) -> Result<Checked, String> {
    positive("time_limit_ms", plan.time_limit_ms)?;
    if let Some((first, last)) = plan.ports.filter(|(first, last)| *first == 0 || first > last) {
        return Err(format!("ports: {first} to {last} is no range of ports"));
    }
    positive("silence_limit_ms", u64::from(plan.silence_limit_ms.unwrap_or(1)))?;
    positive("progress_interval_ms", u64::from(plan.progress_interval_ms.unwrap_or(1)))?;
    let instruments = &plan.instruments;
    let interval_ms = |interval_ms: Option<u64>| interval_ms.unwrap_or(1);
    positive("instruments.counters_interval_ms", interval_ms(instruments.counters_interval_ms))?;
    positive(
        "instruments.connections_interval_ms",
        interval_ms(instruments.connections_interval_ms),
    )?;
    positive("instruments.looks_interval_ms", interval_ms(instruments.looks_interval_ms))?;
    let workload_connections = workload_connections(&plan)?;
    let role = workloads::of(&plan.workload);
    role.check(workload_connections as usize)?;
    check_directions(&plan, role.as_ref(), workload_connections as usize)?;
    let task = role.task(&plan, workload_connections);
    let task = task.map_err(|why| format!("workload: {why}"))?;
    drop(role);
    Ok(Checked { plan, task, workload_connections })
}

/// How many connections belong to the workload. In the plan's list, they come before those of the
/// probe.
fn workload_connections(plan: &AgentPlan) -> Result<u32, String> {
    let all = plan.connections.len();
    if !workloads::of(&plan.workload).has_connections() {
        let is_alone = all == 0 && plan.probe.is_none();
        let why = || format!("this role takes no probe and no connections; connections has {all}");
        return is_alone.then_some(0).ok_or_else(why);
    }
    let probes = match plan.probe {
        None => 0,
        Some(ProbePlan::Server { connections, .. } | ProbePlan::Client { connections, .. }) => {
            connections as usize
        }
    };
    let own = all.checked_sub(probes).filter(|own| *own > 0);
    own.map(|own| own as u32).ok_or_else(|| {
        format!("connections has {all}, the probe needs {probes}: none is left for the workload")
    })
}

/// Checks that clients open their connections and servers accept theirs.
fn check_directions(
    plan: &AgentPlan,
    role: &dyn Role,
    workload_connections: usize,
) -> Result<(), String> {
    let probes = matches!(plan.probe, Some(ProbePlan::Client { .. }));
    for (number, connection) in plan.connections.iter().enumerate() {
        let is_ours = matches!(connection, ConnectionPlan::Open { .. });
        let (part, opens) = if number < workload_connections {
            ("workload", role.opens())
        } else {
            ("probe", probes)
        };
        if is_ours != opens {
            let kind = if opens { "open" } else { "accept" };
            return Err(format!(
                "connections[{number}] belongs to the {part} and must be of the kind '{kind}'"
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example(name: &str) -> String {
        let path = format!("{}/../../schema/examples/{name}", env!("CARGO_MANIFEST_DIR"));
        std::fs::read_to_string(path).expect("the example is there")
    }

    #[test]
    fn the_examples_can_be_carried_out() {
        for name in ["agent-client.json", "agent-server.json"] {
            assert!(read(example(name).as_bytes()).is_ok(), "{name} is a good plan");
        }
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (name, from, to, field) in [
            ("agent-client.json", "[262144, 262143]", "[262144]", "workload.response_bytes"),
            ("agent-client.json", "262143", "0", "workload.response_bytes"),
            ("agent-client.json", "\"iterations\": 20", "\"iterations\": 0", "workload.iterations"),
            ("agent-client.json", "\"connections\": 1", "\"connections\": 3", "connections has 3"),
            ("agent-client.json", "10000000", "0", "probe.interval_ns"),
            ("agent-server.json", "\"request_bytes\": 64", "\"request_bytes\": 0", "request_bytes"),
            (
                "agent-server.json",
                "\"counters_interval_ms\": null",
                "\"counters_interval_ms\": 0",
                "counters_interval_ms",
            ),
            (
                "agent-server.json",
                "{\"kind\": \"accept\", \"local\": \"10.77.1.1\", \"peer\": \"10.77.0.1\"},",
                "",
                "none is left for the workload",
            ),
            ("agent-server.json", "60000", "0", "time_limit_ms"),
            ("agent-server.json", "\"token\"", "\"tokn\"", "tokn"),
            ("agent-server.json", "\"no_delay\": true", "\"no_delay\": 1", "socket.no_delay"),
            ("agent-server.json", "\"port\": 0", "\"port\": 70000", "port"),
            ("agent-server.json", "[40000, 40099]", "[40099, 40000]", "ports: 40099 to 40000"),
            ("agent-server.json", "[40000, 40099]", "[0, 9]", "ports: 0 to 9"),
        ] {
            let text = example(name).replacen(from, to, 1);
            let failure = read(text.as_bytes()).err().expect("a bad plan");
            assert_eq!(failure.exit_code(), 2);
            assert!(failure.to_string().contains(field), "{failure}");
        }
    }

    #[test]
    fn every_example_of_a_workload_can_be_carried_out() {
        for workload in example("agent-workloads.jsonl").lines() {
            let name = if workload.contains("client") { "client" } else { "server" };
            let text = example(&format!("agent-{name}.json"));
            let mut plan: serde_json::Value = serde_json::from_str(&text).expect("JSON");
            plan["workload"] = serde_json::from_str(workload).expect("JSON");
            if workload.contains("observer") || workload.contains("transaction-client") {
                plan["connections"] = serde_json::json!([]);
                plan["probe"] = serde_json::Value::Null;
            }
            if workload.contains("ftp") {
                plan["probe"] = serde_json::Value::Null;
            }
            let checked = read(plan.to_string().as_bytes());
            assert!(checked.is_ok(), "{workload}: {}", checked.err().expect("a reason"));
        }
    }

    #[test]
    fn files_by_ftp_that_cannot_be_carried_are_refused() {
        let server = r#"{"kind": "ftp-server", "direction": "get", "size_bytes": 5,
            "store": {"kind": "memory"}, "data_path": "copying", "login": null, "verify": true}"#;
        for (from, to, says) in [
            ("copying", "sendfile", "data_path: sendfile needs a file"),
            ("\"get\"", "\"both\"", "direction: a file is sent one way"),
            ("5", "0", "size_bytes: a file must have at least one byte"),
        ] {
            let mut plan: serde_json::Value =
                serde_json::from_str(&example("agent-server.json")).expect("JSON");
            plan["workload"] = serde_json::from_str(&server.replacen(from, to, 1)).expect("JSON");
            plan["probe"] = serde_json::Value::Null;
            let failure = read(plan.to_string().as_bytes()).err().expect("a bad plan");
            assert!(failure.to_string().contains(says), "{failure}");
        }
        let client = r#"{"kind": "ftp-client", "direction": "put", "size_bytes": 5, "path": "data",
            "store": {"kind": "memory"}, "data_path": "sendfile", "login": null, "verify": true,
            "pause_ns": 0, "warmup": {"kind": "count", "count": 0},
            "measure": {"kind": "count", "count": 1}}"#;
        let mut sent: serde_json::Value =
            serde_json::from_str(&example("agent-client.json")).expect("JSON");
        sent["workload"] = serde_json::from_str(client).expect("JSON");
        sent["probe"] = serde_json::Value::Null;
        let failure = read(sent.to_string().as_bytes()).err().expect("a bad plan");
        assert!(failure.to_string().contains("data_path: sendfile needs"), "{failure}");
        let mut probed: serde_json::Value =
            serde_json::from_str(&example("agent-server.json")).expect("JSON");
        probed["workload"] = serde_json::from_str(server).expect("JSON");
        let failure = read(probed.to_string().as_bytes()).err().expect("a bad plan");
        assert!(failure.to_string().contains("with a probe"), "{failure}");
    }

    #[test]
    fn an_observer_with_connections_is_refused() {
        let mut plan: serde_json::Value =
            serde_json::from_str(&example("agent-server.json")).expect("JSON");
        plan["workload"] = serde_json::json!({"kind": "observer"});
        let failure = read(plan.to_string().as_bytes()).err().expect("a bad plan").to_string();
        assert!(failure.contains("no connections; connections has 2"), "{failure}");
    }

    #[test]
    fn who_opens_a_connection_is_checked() {
        let text = example("agent-server.json");
        let mut plan: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        plan["workload"] = serde_json::json!({"kind": "incast-client", "request_bytes": 64, "response_bytes": [1],
                "iterations": 1, "warmup_iterations": 0, "request_spacing_ns": 0});
        let failure = read(plan.to_string().as_bytes()).err().expect("a bad plan").to_string();
        assert!(failure.contains("connections[0] belongs to the workload"), "{failure}");
        assert!(failure.contains("'open'"), "{failure}");
    }
}
