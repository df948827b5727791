//! An agent as a process, as its controller sees it.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};

use netstudy_records::{AgentPlan, AgentRecord, Snapshot};

/// A running agent.
pub(crate) struct Agent {
    pub(crate) child: Child,
    pub(crate) stdin: Option<ChildStdin>,
    pub(crate) stdout: BufReader<ChildStdout>,
}

impl Agent {
    pub(crate) fn start(plan: &AgentPlan) -> Self {
        Self::start_with(&serde_json::to_string(plan).expect("a plan is JSON"))
    }

    pub(crate) fn start_with(plan: &str) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_netstudy-engine"));
        let mut agent = Self::spawn(command.arg("agent"));
        agent.tell(plan);
        agent
    }

    /// A command that becomes an agent, which has no plan yet.
    pub(crate) fn spawn(command: &mut Command) -> Self {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the agent starts");
        let stdin = child.stdin.take();
        let stdout = BufReader::new(child.stdout.take().expect("a pipe"));
        Self { child, stdin, stdout }
    }

    pub(crate) fn tell(&mut self, line: &str) {
        let stdin = self.stdin.as_mut().expect("standard input is open");
        writeln!(stdin, "{line}").expect("the agent reads");
    }

    /// The next record.
    pub(crate) fn record(&mut self) -> AgentRecord {
        let mut line = String::new();
        self.stdout.read_line(&mut line).expect("the agent writes");
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"))
    }

    /// Skips records until `wanted` accepts one.
    pub(crate) fn until<T>(&mut self, mut wanted: impl FnMut(AgentRecord) -> Option<T>) -> T {
        loop {
            let record = self.record();
            let shown = format!("{record:?}");
            let is_last = matches!(record, AgentRecord::End | AgentRecord::Error { .. });
            if let Some(found) = wanted(record) {
                return found;
            }
            assert!(!is_last, "{shown}");
        }
    }

    pub(crate) fn go(&mut self) {
        self.tell(r#"{"command":"go"}"#);
    }

    pub(crate) fn snapshot(&mut self, name: &str) -> Snapshot {
        self.tell(&format!(r#"{{"command":"snapshot","name":"{name}"}}"#));
        self.until(|record| match record {
            AgentRecord::Snapshot(snapshot) => Some(snapshot),
            _ => None,
        })
    }

    pub(crate) fn error(&mut self) -> String {
        self.until(|record| match record {
            AgentRecord::Error { message } => Some(message),
            _ => None,
        })
    }

    /// The remaining records, and the exit status.
    pub(crate) fn rest(mut self) -> (Vec<AgentRecord>, ExitStatus) {
        let mut text = String::new();
        self.stdout.read_to_string(&mut text).expect("the agent writes");
        let status = self.child.wait().expect("the agent ends");
        let record = |line| serde_json::from_str(line).expect("a line is a record");
        (text.lines().map(record).collect(), status)
    }

    /// Told to stop, it ends well.
    pub(crate) fn stop(mut self) -> Vec<AgentRecord> {
        self.tell(r#"{"command":"stop"}"#);
        let (records, status) = self.rest();
        assert!(status.success(), "{status}: {records:?}");
        assert_eq!(records.last(), Some(&AgentRecord::End));
        records
    }

    pub(crate) fn exit_code(mut self) -> Option<i32> {
        self.child.wait().expect("the agent ends").code()
    }

    pub(crate) fn kill(&mut self) {
        self.child.kill().expect("it can be killed");
        self.child.wait().expect("it ends");
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        // A test that fails leaves nothing running.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
