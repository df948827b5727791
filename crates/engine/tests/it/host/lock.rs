//! The lock: one session in a network namespace at a time.

use netstudy_records::HostRecord;
use nix::sys::signal::{Signal, kill};

use super::{Host, LO, LONG, in_namespace};

/// A session that has the lock: it says so by obeying.
fn owner() -> Host {
    let mut host = Host::start(LONG);
    host.tell(r#"{"command":"alive"}"#);
    assert_eq!(host.record(), HostRecord::Alive);
    host
}

#[test]
fn a_second_session_is_refused_with_the_owner_of_the_first() {
    let name = "a_second_session_is_refused_with_the_owner_of_the_first";
    in_namespace(module_path!(), name, LO, || {
        let mut first = owner();
        let mut second = Host::start(LONG);
        let HostRecord::Locked { pid, uid, since } = second.record() else {
            panic!("another answer")
        };
        assert_eq!((pid, uid), (Some(first.process.id()), Some(0)));
        let since = since.expect("/proc has it");
        assert!(since.starts_with("20") && since.ends_with('Z') && since.len() == 20, "{since}");
        let (text, status) = second.rest();
        assert_eq!((text.as_str(), status.code()), ("", Some(0)));
        // The owner goes on, and its end frees the lock, whatever that end is.
        first.tell(r#"{"command":"alive"}"#);
        assert_eq!(first.record(), HostRecord::Alive);
        kill(first.pid(), Signal::SIGKILL).expect("it runs");
        first.rest();
        owner();
    });
}

#[test]
fn an_owner_that_stands_still_is_known_all_the_same() {
    let name = "an_owner_that_stands_still_is_known_all_the_same";
    in_namespace(module_path!(), name, LO, || {
        let first = owner();
        kill(first.pid(), Signal::SIGSTOP).expect("it runs");
        let mut second = Host::start(LONG);
        let owner = Some(first.process.id());
        assert!(matches!(second.record(), HostRecord::Locked { pid, .. } if pid == owner));
    });
}
