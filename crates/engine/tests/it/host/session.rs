//! Beginning and end of a session, and its simple commands.

use std::fs;
use std::process;

use netstudy_records::HostRecord;
use nix::sys::signal::{Signal, kill};
use nix::time::{ClockId, clock_gettime};

use super::{ALIVE, Host, LO, LONG, in_namespace};

#[test]
fn a_session_begins_with_its_nonce_and_the_facts_of_the_host() {
    let name = "a_session_begins_with_its_nonce_and_the_facts_of_the_host";
    in_namespace(module_path!(), name, LO, || {
        let engine = env!("CARGO_BIN_EXE_netstudy-engine");
        let mut host = Host::spawn(&mut process::Command::new(engine), LONG);
        let facts = host.hello();
        let boot_id = fs::read_to_string("/proc/sys/kernel/random/boot_id").expect("it is there");
        let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").expect("it is there");
        assert_eq!(
            (facts.boot_id.as_str(), facts.kernel.as_str()),
            (boot_id.trim(), kernel.trim())
        );
        assert_eq!(facts.pid, host.process.id());
        // As in the user namespace of this test.
        assert_eq!((facts.user.as_str(), facts.uid), ("root", 0));
        assert_eq!(facts.architecture, std::env::consts::ARCH);
        assert_eq!(facts.version, env!("CARGO_PKG_VERSION"));
        assert!(facts.cpus > 0);
    });
}

#[test]
fn the_clock_is_read_between_question_and_answer() {
    let name = "the_clock_is_read_between_question_and_answer";
    in_namespace(module_path!(), name, LO, || {
        let mut host = Host::start(LONG);
        let now = |clock| {
            let now = clock_gettime(clock).expect("a clock");
            now.tv_sec().cast_unsigned() * 1_000_000_000 + now.tv_nsec().cast_unsigned()
        };
        for number in [7, 8] {
            let before = [ClockId::CLOCK_MONOTONIC, ClockId::CLOCK_REALTIME].map(now);
            host.tell(&format!(r#"{{"command":"clock","n":{number}}}"#));
            let HostRecord::Clock { n, monotonic_ns, realtime_ns } = host.record() else {
                panic!("another answer")
            };
            let after = [ClockId::CLOCK_MONOTONIC, ClockId::CLOCK_REALTIME].map(now);
            assert_eq!(n, number);
            assert!((before[0]..=after[0]).contains(&monotonic_ns), "{monotonic_ns}");
            assert!((before[1]..=after[1]).contains(&realtime_ns), "{realtime_ns}");
        }
    });
}

#[test]
fn a_line_that_cannot_be_obeyed_is_an_error_and_the_session_goes_on() {
    let name = "a_line_that_cannot_be_obeyed_is_an_error_and_the_session_goes_on";
    in_namespace(module_path!(), name, LO, || {
        let mut host = Host::start(LONG);
        for (line, says) in [
            ("alive\n", "a line without a tab"),
            ("\tplease\n", "a command: expected value"),
            ("\t{\"command\":\"sleep\"}\n", "unknown variant `sleep`"),
            ("h1\tgo\n", "no child is named 'h1'"),
            ("\t{\"command\":\"close\",\"name\":\"h1\"}\n", "no child is named 'h1'"),
            (
                "\t{\"command\":\"signal\",\"name\":\"h1\",\"signal\":\"TERM\"}\n",
                "no child is named 'h1'",
            ),
            ("\t{\"command\":\"start\",\"name\":\"\",\"program\":\"agent\"}\n", "cannot be a name"),
            (
                "\t{\"command\":\"listen\",\"n\":3,\"local\":\"192.0.2.9\",\"peers\":[],\"port\":0,\
                 \"for_ms\":1}\n",
                "listen 3: Cannot assign requested address",
            ),
        ] {
            host.write(line);
            let HostRecord::Error { message } = host.record() else { panic!("{line}") };
            assert!(message.contains(says), "{message}");
        }
        host.tell(r#"{"command":"alive"}"#);
        assert_eq!(host.record(), HostRecord::Alive);
    });
}

#[test]
fn files_are_read_by_pattern_and_missing_ones_are_left_out() {
    let name = "files_are_read_by_pattern_and_missing_ones_are_left_out";
    in_namespace(module_path!(), name, LO, || {
        let folder = std::env::temp_dir().join(format!("netstudy-host-{}", process::id()));
        fs::create_dir(&folder).expect("it is made");
        fs::write(folder.join("long"), vec![b'x'; (1 << 20) + 1]).expect("it is written");
        fs::write(folder.join("text"), b"a\xff\n").expect("it is written");
        nix::unistd::mkfifo(&folder.join("fifo"), nix::sys::stat::Mode::S_IRUSR).expect("a pipe");
        let mut host = Host::start(LONG);
        let at = folder.display();
        host.tell(&format!(
            r#"{{"command":"read","n":5,"paths":["{at}/*","/proc/sys/kernel/osrelease","/none"]}}"#
        ));
        let HostRecord::Read { n: 5, files } = host.record() else { panic!("another answer") };
        fs::remove_dir_all(&folder).expect("it is removed");
        assert_eq!(files.len(), 3, "{:?}", files.keys());
        assert_eq!(files[&format!("{at}/long")].len(), 1 << 20);
        assert_eq!(files[&format!("{at}/text")], "a\u{fffd}\n");
        assert!(files.contains_key("/proc/sys/kernel/osrelease"));
    });
}

#[test]
fn interfaces_are_those_of_the_namespace() {
    let setup = "ip link set lo up; ip link add near type veth peer name far; ip link set near mtu 1400; \
                 ip addr add 192.0.2.1/24 dev near; ip link set near up; ip link set far up; \
                 ip link add off type veth peer name other";
    in_namespace(module_path!(), "interfaces_are_those_of_the_namespace", setup, || {
        let mut host = Host::start(LONG);
        host.tell(r#"{"command":"interfaces","n":1}"#);
        let HostRecord::Interfaces { n: 1, interfaces } = host.record() else {
            panic!("another answer")
        };
        let named = |device| {
            let mut all = interfaces.iter();
            all.find(|interface| interface.device == device).expect("it is listed")
        };
        let (lo, near, off) = (named("lo"), named("near"), named("off"));
        assert_eq!(interfaces.len(), 5);
        assert!(lo.addresses.contains(&"127.0.0.1/8".to_owned()), "{lo:?}");
        assert_eq!((near.mtu, near.up, off.up), (1400, true, false));
        assert!(near.addresses.contains(&"192.0.2.1/24".to_owned()), "{near:?}");
        assert_eq!((near.kind.as_str(), lo.qdiscs.is_empty()), ("veth", false));
        if let Some(features) = &near.features {
            // A veth says that it has a rate, and segments in software: drivers/net/veth.c.
            assert_eq!(near.speed_bps, Some(10_000_000_000));
            assert_eq!(features["tx-tcp-segmentation"], "on", "{features:?}");
            assert_eq!(features["rx-lro"], "off [fixed]", "{features:?}");
        }
    });
}

#[test]
fn the_end_of_standard_input_or_a_signal_ends_the_session_and_its_children() {
    let name = "the_end_of_standard_input_or_a_signal_ends_the_session_and_its_children";
    in_namespace(module_path!(), name, LO, || {
        for signal in [None, Some(Signal::SIGTERM), Some(Signal::SIGHUP)] {
            let mut host = Host::start(LONG);
            let agent = host.start_agent("h1");
            // An answer that is due is still written.
            host.tell(r#"{"command":"alive"}"#);
            match signal {
                None => host.stdin = None,
                Some(signal) => {
                    assert_eq!(host.record(), HostRecord::Alive);
                    kill(host.pid(), signal).expect("it runs");
                }
            }
            let (text, status) = host.rest();
            assert!(status.success(), "{status}: {text}");
            assert_eq!(text.contains(ALIVE), signal.is_none(), "{text}");
            assert!(super::is_gone(agent), "{signal:?}");
        }
    });
}
