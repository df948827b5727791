//! Children: their lines, their ends, their names.

use std::collections::BTreeMap;

use netstudy_records::{AgentRecord, HostRecord};
use nix::errno::Errno;
use nix::sys::prctl::set_child_subreaper;
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::{getpgid, getsid};

use super::{Host, LO, LONG, in_namespace, is_gone};

#[test]
fn an_agent_is_led_through_its_host_to_its_end() {
    let name = "an_agent_is_led_through_its_host_to_its_end";
    in_namespace(module_path!(), name, LO, || {
        let mut host = Host::start(LONG);
        let agent = host.start_agent("h1 (client)");
        assert_eq!((getsid(Some(agent)), getpgid(Some(agent))), (Ok(agent), Ok(agent)));
        host.write("h1 (client)\t{\"command\":\"snapshot\",\"name\":\"first\"}\n");
        let snapshot = host.record_of("h1 (client)");
        assert!(matches!(snapshot, AgentRecord::Snapshot(it) if it.name == "first"));
        host.write("h1 (client)\t{\"command\":\"stop\"}\n");
        while host.record_of("h1 (client)") != AgentRecord::End {}
        let errors = String::new();
        let name = "h1 (client)".to_owned();
        let ended = HostRecord::Ended { name, code: Some(0), signal: None, errors };
        assert_eq!(host.record(), ended);
        assert!(is_gone(agent));

        // Its name is free, and lines that come too late for it are dropped.
        host.write("h1 (client)\tlate\n");
        host.tell(r#"{"command":"close","name":"h1 (client)"}"#);
        host.start_agent("h1 (client)");
    });
}

#[test]
fn lines_of_several_agents_are_whole_and_in_order() {
    const SNAPSHOTS: usize = 40;
    let name = "lines_of_several_agents_are_whole_and_in_order";
    in_namespace(module_path!(), name, LO, || {
        let mut host = Host::start(LONG);
        let agents = ["h1", "h2", "h3"];
        for agent in agents {
            host.start_agent(agent);
        }
        for number in 0..SNAPSHOTS {
            for agent in agents {
                host.write(&format!(
                    "{agent}\t{{\"command\":\"snapshot\",\"name\":\"{number}\"}}\n"
                ));
            }
        }
        let mut seen: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for _ in 0..SNAPSHOTS * agents.len() {
            let (name, line) = host.line();
            match serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}")) {
                AgentRecord::Snapshot(snapshot) => {
                    seen.entry(name).or_default().push(snapshot.name);
                }
                other => panic!("{other:?}"),
            }
        }
        let all: Vec<String> = (0..SNAPSHOTS).map(|number| number.to_string()).collect();
        assert_eq!(
            seen.into_iter().collect::<Vec<_>>(),
            agents.map(|it| (it.to_owned(), all.clone()))
        );
    });
}

#[test]
fn a_long_line_reaches_the_agent_and_its_errors_come_back() {
    let name = "a_long_line_reaches_the_agent_and_its_errors_come_back";
    in_namespace(module_path!(), name, LO, || {
        let mut host = Host::start(LONG);
        host.start_without_plan("h1");
        // Much more than a pipe holds.
        let plan = format!("{{\"{}\": 1}}", "x".repeat(4 << 20));
        host.write(&format!("h1\t{plan}\n"));
        let AgentRecord::Error { message } = host.record_of("h1") else { panic!("no error") };
        assert!(message.contains("unknown field `xxx"), "{}", &message[..100]);
        let HostRecord::Ended { code: Some(2), signal: None, errors, .. } = host.record() else {
            panic!("another end")
        };
        assert!(errors.ends_with("column 4194307"), "{}", &errors[errors.len() - 100..]);
    });
}

#[test]
fn a_name_in_use_is_refused() {
    in_namespace(module_path!(), "a_name_in_use_is_refused", LO, || {
        let mut host = Host::start(LONG);
        host.start_without_plan("h1");
        host.tell(r#"{"command":"start","name":"h1","program":"agent"}"#);
        let HostRecord::Error { message } = host.record() else { panic!("no error") };
        assert_eq!(message, "the name 'h1' is in use");
    });
}

#[test]
fn children_are_ended_by_signal_or_by_the_end_of_their_input() {
    let name = "children_are_ended_by_signal_or_by_the_end_of_their_input";
    in_namespace(module_path!(), name, LO, || {
        let mut host = Host::start(LONG);
        for (command, number) in [
            (r#"{"command":"signal","name":"h1","signal":"KILL"}"#, Some(Signal::SIGKILL as i32)),
            (r#"{"command":"signal","name":"h1","signal":"TERM"}"#, None),
            (r#"{"command":"close","name":"h1"}"#, None),
        ] {
            host.start_agent("h1");
            host.tell(command);
            if number.is_none() {
                assert!(matches!(host.record_of("h1"), AgentRecord::Error { .. }), "{command}");
            }
            let HostRecord::Ended { name, code, signal, .. } = host.record() else {
                panic!("another answer")
            };
            assert_eq!((name.as_str(), signal), ("h1", number), "{command}");
            assert_eq!(code, number.is_none().then_some(3), "{command}");
        }
    });
}

#[test]
fn a_child_that_somebody_stops_is_reported_each_time() {
    let name = "a_child_that_somebody_stops_is_reported_each_time";
    in_namespace(module_path!(), name, LO, || {
        let mut host = Host::start(LONG);
        let agent = host.start_agent("h1");
        for name in ["a", "b"] {
            kill(agent, Signal::SIGSTOP).expect("it runs");
            assert_eq!(host.record(), HostRecord::Paused { name: "h1".to_owned() });
            kill(agent, Signal::SIGCONT).expect("it is there");
            host.write(&format!("h1\t{{\"command\":\"snapshot\",\"name\":\"{name}\"}}\n"));
            assert!(matches!(host.record_of("h1"), AgentRecord::Snapshot(_)));
        }
    });
}

#[test]
fn no_child_outlives_its_host() {
    in_namespace(module_path!(), "no_child_outlives_its_host", LO, || {
        // Orphans become children of this test, so that it can wait for their ends.
        set_child_subreaper(true).expect("the kernel can");
        let mut host = Host::start(LONG);
        let agents = [host.start_agent("h1"), host.start_without_plan("h2")];
        kill(host.pid(), Signal::SIGKILL).expect("it runs");
        host.rest();
        for agent in agents {
            // An agent may see the end of its input first, and then ends by itself.
            let end = waitpid(agent, None);
            let is_killed = matches!(end, Ok(WaitStatus::Signaled(_, Signal::SIGKILL, _)));
            assert!(is_killed || matches!(end, Ok(WaitStatus::Exited(..))), "{end:?}");
        }
        let guard = waitpid(None, None);
        let has_ended = matches!(guard, Ok(WaitStatus::Exited(..) | WaitStatus::Signaled(..)));
        assert!(has_ended, "{guard:?}");
        assert_eq!(waitpid(None, None), Err(Errno::ECHILD));
    });
}
