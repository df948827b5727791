//! The lease: a session whose controller is silent ends, whatever else happens.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::thread;
use std::time::Duration;

use netstudy_records::HostRecord;
use nix::sys::prctl::set_child_subreaper;
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::Pid;

use super::{Host, LO, SHORT, in_namespace, is_gone};

/// The record. Ends of children may be reported before or after it.
const LEASE_OVER: &str = "\t{\"kind\":\"lease-over\"}\n";

#[test]
fn a_session_without_a_line_is_over_and_nothing_is_left() {
    let name = "a_session_without_a_line_is_over_and_nothing_is_left";
    in_namespace(module_path!(), name, LO, || {
        let mut host = Host::start(SHORT);
        let agent = host.start_agent("h1");
        let (text, status) = host.rest();
        assert!(text.contains(LEASE_OVER), "{text}");
        assert!(status.success(), "{status}");
        assert!(is_gone(agent));
    });
}

#[test]
fn a_session_whose_controller_writes_goes_on() {
    in_namespace(module_path!(), "a_session_whose_controller_writes_goes_on", LO, || {
        let mut host = Host::start("3000");
        for _ in 0..40 {
            thread::sleep(Duration::from_millis(100));
            host.tell(r#"{"command":"alive"}"#);
            assert_eq!(host.record(), HostRecord::Alive);
        }
    });
}

#[test]
fn a_session_whose_output_nobody_reads_ends_as_well() {
    let name = "a_session_whose_output_nobody_reads_ends_as_well";
    in_namespace(module_path!(), name, LO, || {
        // Orphans become children of this test, so that it can wait for their ends.
        set_child_subreaper(true).expect("the kernel can");
        let mut host = Host::start("2000");
        let agent = host.start_agent("h1");
        // More than the pipe and the queue hold: each snapshot has some 20 kB.
        for _ in 0..200 {
            host.write("h1\t{\"command\":\"snapshot\",\"name\":\"a\"}\n");
            host.tell(r#"{"command":"alive"}"#);
        }
        let status = host.process.wait().expect("it ends by itself");
        assert!(status.success(), "{status}");
        assert!(is_gone(agent));
    });
}

#[test]
fn a_host_that_stands_still_is_killed_with_its_children() {
    let name = "a_host_that_stands_still_is_killed_with_its_children";
    in_namespace(module_path!(), name, LO, || {
        set_child_subreaper(true).expect("the kernel can");
        let mut host = Host::start(SHORT);
        let agent = host.start_without_plan("h1");
        wait_until_bound(agent);
        // A stopped agent cannot end by itself when its input ends.
        for pid in [agent, host.pid()] {
            kill(pid, Signal::SIGSTOP).expect("it runs");
        }
        let (_, status) = host.rest();
        assert_eq!(status.signal(), Some(Signal::SIGKILL as i32));
        let end = waitpid(agent, None);
        assert!(matches!(end, Ok(WaitStatus::Signaled(_, Signal::SIGKILL, _))), "{end:?}");
    });
}

#[test]
fn a_lease_that_ended_while_the_host_stood_still_is_over() {
    let name = "a_lease_that_ended_while_the_host_stood_still_is_over";
    in_namespace(module_path!(), name, LO, || {
        // The guard becomes a child of this test, so that it can wait for its end.
        set_child_subreaper(true).expect("the kernel can");
        let mut host = Host::start("1000");
        let agent = host.start_without_plan("h1");
        let guard = guard_of(host.pid());
        for pid in [guard, host.pid()] {
            kill(pid, Signal::SIGSTOP).expect("it runs");
        }
        // Lines that arrive meanwhile do not count.
        host.tell(r#"{"command":"alive"}"#);
        thread::sleep(Duration::from_millis(1100));
        kill(host.pid(), Signal::SIGCONT).expect("it is there");
        let (text, status) = host.rest();
        assert!(text.contains(LEASE_OVER), "{text}");
        assert!(!text.contains("alive"), "{text}");
        assert!(status.success(), "{status}");
        assert!(is_gone(agent));
        let end = waitpid(guard, None);
        assert!(matches!(end, Ok(WaitStatus::Signaled(_, Signal::SIGKILL, _))), "{end:?}");
    });
}

/// The other child of a host that has one agent: the first one that it has started, once it is bound.
fn guard_of(host: Pid) -> Pid {
    let children = fs::read_to_string(format!("/proc/{host}/task/{host}/children"));
    let children = children.expect("the kernel lists them");
    let first = children.split_ascii_whitespace().next().expect("it has a guard");
    let guard = Pid::from_raw(first.parse().expect("a number"));
    wait_until_bound(guard);
    guard
}

/// Returns when a child of a host waits for its input, which it does only after it was bound to its
/// parent.
fn wait_until_bound(child: Pid) {
    let waits_in = || fs::read_to_string(format!("/proc/{child}/wchan")).expect("it is there");
    while !["poll", "pipe_read"].iter().any(|input| waits_in().contains(input)) {
        thread::sleep(Duration::from_millis(5));
    }
}
