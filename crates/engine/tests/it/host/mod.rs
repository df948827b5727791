//! The process of a host as its controller sees it. Each test has a network namespace of its own,
//! because there is one lock in each.

mod children;
mod lease;
mod lock;
mod reach;
mod session;

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};

use netstudy_records::{AgentPlan, AgentRecord, AgentWorkload, HostFacts, HostRecord};
use nix::errno::Errno;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::isolated;

/// Runs `inside` as the test `name` in a network namespace in which `setup` was done.
fn in_namespace(module: &str, name: &str, setup: &str, inside: fn()) {
    isolated::run(&isolated::Test { file: file!(), module, name }, setup, inside);
}

const LO: &str = "ip link set lo up";
const NONCE: &str = "0f1e2d3c";
/// A lease that is not over before the end of any test.
const LONG: &str = "600000";
/// A short lease.
const SHORT: &str = "300";

/// A running host's process.
struct Host {
    process: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
}

impl Host {
    /// A session that has begun.
    fn start(lease_ms: &str) -> Self {
        let mut host =
            Self::spawn(&mut Command::new(env!("CARGO_BIN_EXE_netstudy-engine")), lease_ms);
        host.hello();
        host
    }

    /// Starts a command that becomes the engine.
    fn spawn(command: &mut Command, lease_ms: &str) -> Self {
        let mut process = command
            .args(["host", "--nonce", NONCE, "--lease-ms", lease_ms])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the host starts");
        let stdin = process.stdin.take();
        let stdout = BufReader::new(process.stdout.take().expect("a pipe"));
        Self { process, stdin, stdout }
    }

    /// The beginning of the session.
    fn hello(&mut self) -> HostFacts {
        let mut line = String::new();
        self.stdout.read_line(&mut line).expect("the host writes");
        assert_eq!(line, format!("netstudy {NONCE}\n"));
        match self.record() {
            HostRecord::Hello(facts) => facts,
            other => panic!("{other:?}"),
        }
    }

    fn pid(&self) -> Pid {
        Pid::from_raw(self.process.id().cast_signed())
    }

    fn write(&mut self, text: &str) {
        let stdin = self.stdin.as_mut().expect("standard input is open");
        stdin.write_all(text.as_bytes()).expect("the host reads");
    }

    /// Writes a command.
    fn tell(&mut self, command: &str) {
        self.write(&format!("\t{command}\n"));
    }

    /// The next line: the name of a child, and its line.
    fn line(&mut self) -> (String, String) {
        let mut line = String::new();
        self.stdout.read_line(&mut line).expect("the host writes");
        let (name, line) = line.split_once('\t').unwrap_or_else(|| panic!("no tab in {line:?}"));
        (name.to_owned(), line.strip_suffix('\n').expect("a whole line").to_owned())
    }

    /// The next line, which is a record of the host itself.
    fn record(&mut self) -> HostRecord {
        let (name, line) = self.line();
        assert_eq!(name, "", "{line}");
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"))
    }

    /// The next line, which is a record of an agent.
    fn record_of(&mut self, agent: &str) -> AgentRecord {
        let (name, line) = self.line();
        assert_eq!(name, agent, "{line}");
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"))
    }

    /// Starts an agent that waits for commands. Returns its process id.
    fn start_agent(&mut self, name: &str) -> Pid {
        let pid = self.start_without_plan(name);
        let plan: AgentPlan = crate::agent::plan(name, Vec::new(), AgentWorkload::Observer);
        self.write(&format!("{name}\t{}\n", serde_json::to_string(&plan).expect("it is JSON")));
        match self.record_of(name) {
            AgentRecord::Ready { pid: own, node, .. } => {
                assert_eq!((Pid::from_raw(own.cast_signed()), node.as_str()), (pid, name));
            }
            other => panic!("{other:?}"),
        }
        pid
    }

    /// Starts an agent that waits for its plan.
    fn start_without_plan(&mut self, name: &str) -> Pid {
        self.tell(&format!(r#"{{"command":"start","name":"{name}","program":"agent"}}"#));
        match self.record() {
            HostRecord::Started { name: started, pid } if started == name => {
                Pid::from_raw(pid.cast_signed())
            }
            other => panic!("{other:?}"),
        }
    }

    /// The rest of its output, and its status.
    fn rest(&mut self) -> (String, ExitStatus) {
        let mut text = String::new();
        self.stdout.read_to_string(&mut text).expect("the host writes");
        (text, self.process.wait().expect("the host ends"))
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        // A test that fails leaves nothing running.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// True if there is no such process.
fn is_gone(pid: Pid) -> bool {
    kill(pid, None::<Signal>) == Err(Errno::ESRCH)
}

/// Answer to `alive`, as text.
const ALIVE: &str = "\t{\"kind\":\"alive\"}\n";
