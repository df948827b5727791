//! A child of the host's process, and the threads of its streams.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{ChildStderr, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;

use netstudy_records::{HostProgram, HostRecord};
use nix::errno::Errno;
use nix::sys::signal::{Signal, kill, killpg};
use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid};
use nix::unistd::Pid;

use crate::output::Output;
use crate::tail;

/// Longest line of a child.
const LINE_BYTES_MAX: u64 = 64 << 20;

/// A child of this process.
#[derive(Debug)]
pub(crate) struct Child {
    /// None: it has ended and was waited for, so that its number may belong to another process.
    pid: Option<Pid>,
    /// Lines for its standard input; none: closed.
    input: Option<Sender<Vec<u8>>>,
    /// Takes the status of the ended child to the thread that reports it.
    ended: Sender<Ended>,
    is_reported: Arc<AtomicBool>,
    is_paused: bool,
}

/// How a child has ended. Both are none if somebody else has waited for it.
#[derive(Clone, Copy, Debug, Default)]
struct Ended {
    code: Option<i32>,
    signal: Option<i32>,
}

/// The ends of the child's streams at this process.
struct Streams {
    stdin: ChildStdin,
    stdout: ChildStdout,
    stderr: ChildStderr,
}

impl Child {
    /// Starts a child. Must be called by a thread that lives as long as this process: the kernel
    /// kills the child when the thread ends.
    ///
    /// # Errors
    /// The message says why the child cannot be started.
    pub(crate) fn start(
        name: &str,
        program: HostProgram,
        output: &Arc<Output>,
    ) -> Result<Self, String> {
        let starting = |error| format!("starting '{name}': {error}");
        let mut process = Command::new("/proc/self/exe")
            .args([program.command(), "--child-of", &std::process::id().to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(starting)?;
        let pid = process.id();
        output.say(&HostRecord::Started { name: name.to_owned(), pid });
        let (Some(stdin), Some(stdout), Some(stderr)) =
            (process.stdin.take(), process.stdout.take(), process.stderr.take())
        else {
            unreachable!("all are pipes")
        };
        let (input, lines) = mpsc::channel();
        let (ended, status) = mpsc::channel();
        let is_reported = Arc::default();
        let reporter = Reporter {
            name: name.to_owned(),
            output: Arc::clone(output),
            is_reported: Arc::clone(&is_reported),
        };
        let child = Self {
            pid: Some(Pid::from_raw(pid.cast_signed())),
            input: Some(input),
            ended,
            is_reported,
            is_paused: false,
        };
        reporter.start(Streams { stdin, stdout, stderr }, lines, status).map_err(|error| {
            child.kill();
            starting(error)
        })?;
        Ok(child)
    }

    /// True if the end of the child was reported: its name is free.
    pub(crate) fn is_reported(&self) -> bool {
        self.is_reported.load(Ordering::Acquire)
    }

    /// True until the process has ended and was waited for.
    pub(crate) fn is_running(&self) -> bool {
        self.pid.is_some()
    }

    /// Queues a line for its standard input. Never blocks. Lines that come after its end are
    /// dropped.
    pub(crate) fn tell(&self, line: Vec<u8>) {
        if let Some(input) = &self.input {
            let _ = input.send(line);
        }
    }

    /// Closes its standard input behind the lines that are queued.
    pub(crate) fn close(&mut self) {
        self.input = None;
    }

    /// Asks it to end.
    pub(crate) fn terminate(&self) {
        // A child that has just ended needs no signal.
        if let Some(pid) = self.pid {
            let _ = kill(pid, Signal::SIGTERM);
        }
    }

    /// Kills it and everything in its process group.
    pub(crate) fn kill(&self) {
        if let Some(pid) = self.pid {
            // It is killed as a process too, because it may not have its own group yet.
            let _ = kill(pid, Signal::SIGKILL);
            let _ = killpg(pid, Signal::SIGKILL);
        }
    }

    /// Looks whether the child has ended. Returns true if it has been paused since the last look.
    pub(crate) fn look(&mut self) -> bool {
        let Some(pid) = self.pid else { return false };
        let flags = WaitPidFlag::WNOHANG | WaitPidFlag::WNOWAIT;
        let ended = match waitid(Id::Pid(pid), flags | WaitPidFlag::WEXITED) {
            Ok(WaitStatus::Exited(_, code)) => Ended { code: Some(code), signal: None },
            Ok(WaitStatus::Signaled(_, signal, _)) => {
                Ended { code: None, signal: Some(signal as i32) }
            }
            Err(Errno::ECHILD) => Ended::default(),
            _ => return self.look_whether_paused(pid),
        };
        // Before it is waited for, because then its number may become that of another group.
        let _ = killpg(pid, Signal::SIGKILL);
        let _ = waitid(Id::Pid(pid), WaitPidFlag::WNOHANG | WaitPidFlag::WEXITED);
        self.pid = None;
        self.input = None;
        let _ = self.ended.send(ended);
        false
    }

    fn look_whether_paused(&mut self, pid: Pid) -> bool {
        let flags = WaitPidFlag::WNOHANG | WaitPidFlag::WNOWAIT | WaitPidFlag::WSTOPPED;
        let was = self.is_paused;
        // The kernel repeats the answer until the child is continued.
        self.is_paused = matches!(waitid(Id::Pid(pid), flags), Ok(WaitStatus::Stopped(..)));
        self.is_paused && !was
    }
}

/// Passes on the output of a child, and reports its end.
struct Reporter {
    name: String,
    output: Arc<Output>,
    is_reported: Arc<AtomicBool>,
}

impl Reporter {
    fn start(
        self,
        Streams { stdin, stdout, stderr }: Streams,
        lines: Receiver<Vec<u8>>,
        status: Receiver<Ended>,
    ) -> std::io::Result<()> {
        let thread = |stream: &str| thread::Builder::new().name(format!("{} {stream}", self.name));
        thread("in").spawn(move || feed(stdin, &lines))?;
        let errors = thread("err").spawn(move || tail::of(stderr))?;
        thread("out").spawn(move || {
            self.pass_all(stdout);
            let errors = errors.join().unwrap_or_default();
            let Ended { code, signal } = status.recv().unwrap_or_default();
            self.is_reported.store(true, Ordering::Release);
            let Self { name, output, .. } = self;
            output.say_in_turn(&HostRecord::Ended { name, code, signal, errors });
        })?;
        Ok(())
    }

    fn pass_all(&self, stdout: ChildStdout) {
        let mut stdout = BufReader::new(stdout);
        loop {
            let mut line = format!("{}\t", self.name).into_bytes();
            let empty = line.len();
            let read = stdout.by_ref().take(LINE_BYTES_MAX).read_until(b'\n', &mut line);
            if read.is_err() || line.len() == empty {
                return;
            }
            // The last line of a child that was killed may lack its end.
            if line.last() != Some(&b'\n') {
                line.push(b'\n');
            }
            self.output.pass(line);
        }
    }
}

/// Writes lines to the standard input of a child, until it is closed or the child is gone.
fn feed(mut stdin: ChildStdin, lines: &Receiver<Vec<u8>>) {
    for line in lines {
        if stdin.write_all(&line).is_err() {
            return;
        }
    }
}
