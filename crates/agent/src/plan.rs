//! What a plan must obey beyond its form.

use netstudy_records::{AgentPlan, AgentRole};

use crate::failure::Failure;

/// The plan in `line`.
pub(crate) fn read(line: &[u8]) -> Result<AgentPlan, Failure> {
    let mut text = serde_json::Deserializer::from_slice(line);
    let plan: AgentPlan = serde_path_to_error::deserialize(&mut text)
        .map_err(|error| Failure::Plan(error.to_string()))?;
    text.end().map_err(|error| Failure::Plan(error.to_string()))?;
    check(&plan).map_err(Failure::Plan)?;
    Ok(plan)
}

fn check(plan: &AgentPlan) -> Result<(), String> {
    positive("time_limit_ms", plan.time_limit_ms)?;
    if plan.probe.interval_ms == Some(0) {
        return Err("probe.interval_ms must be at least 1".to_owned());
    }
    match &plan.role {
        AgentRole::IncastServer { request_bytes, response_bytes, .. } => {
            positive("role.request_bytes", *request_bytes)?;
            positive("role.response_bytes", *response_bytes)
        }
        AgentRole::IncastClient {
            servers,
            request_bytes,
            response_bytes,
            iterations,
            silence_limit_ms,
            progress_interval_ms,
            ..
        } => {
            positive("role.silence_limit_ms", u64::from(silence_limit_ms.unwrap_or(1)))?;
            let interval_ms = progress_interval_ms.unwrap_or(1);
            positive("role.progress_interval_ms", u64::from(interval_ms))?;
            positive("role.request_bytes", *request_bytes)?;
            positive("role.iterations", u64::from(*iterations))?;
            if servers.is_empty() || servers.len() != response_bytes.len() {
                return Err(format!(
                    "role.response_bytes has {} values for {} role.servers; there must be as many, \
                     and at least one",
                    response_bytes.len(),
                    servers.len()
                ));
            }
            response_bytes.iter().try_for_each(|&bytes| positive("role.response_bytes", bytes))
        }
    }
}

fn positive(field: &str, value: u64) -> Result<(), String> {
    if value == 0 { Err(format!("{field} must be at least 1")) } else { Ok(()) }
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
            read(example(name).as_bytes()).expect("a good plan");
        }
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (name, from, to, field) in [
            ("agent-client.json", "[262144, 262143]", "[262144]", "role.response_bytes"),
            ("agent-client.json", "262143", "0", "role.response_bytes"),
            ("agent-client.json", "\"iterations\": 20", "\"iterations\": 0", "role.iterations"),
            ("agent-server.json", "\"request_bytes\": 64", "\"request_bytes\": 0", "request_bytes"),
            ("agent-server.json", "\"interval_ms\": null", "\"interval_ms\": 0", "interval_ms"),
            ("agent-server.json", "60000", "0", "time_limit_ms"),
            ("agent-server.json", "\"token\"", "\"tokn\"", "tokn"),
            ("agent-server.json", "\"no_delay\": true", "\"no_delay\": 1", "socket.no_delay"),
            ("agent-server.json", "\"port\": 0", "\"port\": 70000", "role"),
        ] {
            let text = example(name).replacen(from, to, 1);
            let failure = read(text.as_bytes()).expect_err("a bad plan");
            assert_eq!(failure.exit_code(), 2);
            assert!(failure.to_string().contains(field), "{failure}");
        }
    }
}
