//! The controller's commands. A separate thread reads them, so that traffic never waits for
//! commands. It also ends the process when the controller has gone away.

use std::collections::VecDeque;
use std::io::{self, Write};
use std::mem;
use std::os::fd::AsFd;
use std::process;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use netstudy_records::{AgentRecord, Command};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::eventfd::{EfdFlags, EventFd};
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::SignalFd;

use crate::failure::Failure;
use crate::input::{Input, Lines};
use crate::output::Output;
use crate::sampling::Snapshots;

/// Time between the time limit and the forced end of the process, so that the traffic thread can
/// end by itself first.
const GRACE: Duration = Duration::from_secs(1);
/// Exit code of a process that this thread ends early.
const ENDED_EARLY: i32 = 3;

/// Messages to the traffic thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// The next phase may begin.
    Go,
    /// The traffic must end.
    Interrupted(Interruption),
}

/// Why the traffic must end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Interruption {
    /// The controller sent `stop`.
    Stop,
    /// The time limit is reached.
    TimeLimit,
}

/// Queue of events (commands, the time limit) for the traffic thread, which is woken by an eventfd.
#[derive(Debug)]
pub(crate) struct Events {
    said: Mutex<VecDeque<Event>>,
    /// Readable while events are queued.
    wake: EventFd,
}

impl Events {
    fn new() -> Result<Self, Failure> {
        let wake = EventFd::from_flags(EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK)
            .map_err(Failure::run("an event descriptor"))?;
        Ok(Self { said: Mutex::default(), wake })
    }

    /// Readable while events are queued.
    pub(crate) fn wake(&self) -> &EventFd {
        &self.wake
    }

    /// Takes all queued events.
    pub(crate) fn hear(&self) -> VecDeque<Event> {
        // The read fails if there is nothing to read, which is harmless.
        let _ = self.wake.read();
        mem::take(&mut *self.said.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn say(&self, event: Event) {
        self.said.lock().unwrap_or_else(PoisonError::into_inner).push_back(event);
        // Adding one to a counter cannot block before 2^64 additions.
        let _ = self.wake.write(1);
    }
}

/// The thread that listens to the controller.
pub(crate) struct Control {
    lines: Lines,
    terminations: SignalFd,
    deadline: Instant,
    time_limit_ms: u64,
    events: Arc<Events>,
    output: Arc<Output>,
    snapshots: Snapshots,
}

/// Events that wake the thread.
enum Wakening {
    Readable,
    Termination,
    TimeLimit,
}

impl Control {
    /// Starts the thread, which ends the process after `time_limit_ms`.
    pub(crate) fn start(
        lines: Lines,
        time_limit_ms: u64,
        output: Arc<Output>,
        snapshots: Snapshots,
    ) -> Result<Arc<Events>, Failure> {
        let events = Arc::new(Events::new()?);
        let control = Self {
            lines,
            terminations: take_over_terminations()?,
            deadline: Instant::now() + Duration::from_millis(time_limit_ms),
            time_limit_ms,
            events: Arc::clone(&events),
            output,
            snapshots,
        };
        thread::Builder::new()
            .name("control".to_owned())
            .spawn(move || control.run())
            .map_err(Failure::run("starting a thread"))?;
        Ok(events)
    }

    fn run(mut self) {
        loop {
            while let Some(line) = self.lines.take() {
                if self.obey(&line) == Some(Interruption::Stop) {
                    return self.watch_the_end();
                }
            }
            match self.wait() {
                Wakening::Readable => {
                    if !matches!(self.lines.fill(), Ok(Input::Some)) {
                        self.end("standard input ended before `stop`: the controller is gone");
                    }
                }
                Wakening::Termination => self.end("ended by SIGTERM"),
                Wakening::TimeLimit => return self.give_up(),
            }
        }
    }

    fn obey(&mut self, line: &[u8]) -> Option<Interruption> {
        match serde_json::from_slice(line) {
            Ok(Command::Snapshot { name }) => {
                let snapshot = self.snapshots.take(name);
                self.answer(&AgentRecord::Snapshot(snapshot));
            }
            Ok(Command::Go) => self.events.say(Event::Go),
            Ok(Command::Stop) => {
                self.events.say(Event::Interrupted(Interruption::Stop));
                return Some(Interruption::Stop);
            }
            Err(error) => self.end(&format!("a command on standard input: {error}")),
        }
        None
    }

    fn answer(&self, record: &AgentRecord) {
        if self.output.write(record).is_err() {
            self.end("the records cannot be written to standard output");
        }
    }

    /// Waits for a command, SIGTERM or the time limit.
    fn wait(&self) -> Wakening {
        let mut fds = [
            PollFd::new(self.terminations.as_fd(), PollFlags::POLLIN),
            PollFd::new(self.lines.as_fd(), PollFlags::POLLIN),
        ];
        wait_for(&mut fds, self.deadline);
        let [termination, line] = fds.map(|fd| fd.any() == Some(true));
        match (termination, line) {
            (true, _) => Wakening::Termination,
            (false, true) => Wakening::Readable,
            (false, false) => Wakening::TimeLimit,
        }
    }

    /// Called after `stop`, while the last records are written: waits for SIGTERM or the time
    /// limit. The end of standard input is no longer an error.
    fn watch_the_end(&self) {
        let mut fds = [PollFd::new(self.terminations.as_fd(), PollFlags::POLLIN)];
        wait_for(&mut fds, self.deadline);
        if fds[0].any() == Some(true) {
            self.end("ended by SIGTERM");
        }
        self.give_up();
    }

    fn give_up(&self) {
        self.events.say(Event::Interrupted(Interruption::TimeLimit));
        thread::sleep(GRACE);
        self.end(&time_limit_message(self.time_limit_ms));
    }

    fn end(&self, why: &str) -> ! {
        // Not by eprintln!, which panics if the reader has gone away.
        let _ = writeln!(io::stderr(), "netstudy-engine: {why}");
        self.output.write_last(&AgentRecord::Error { message: why.to_owned() });
        process::exit(ENDED_EARLY)
    }
}

/// Beginning of the error message of an agent that has reached its time limit.
pub(crate) fn time_limit_message(time_limit_ms: u64) -> String {
    format!("the time limit of {time_limit_ms} ms is reached")
}

/// Waits for one of `fds` until `deadline`.
fn wait_for(fds: &mut [PollFd<'_>], deadline: Instant) {
    loop {
        // Rounded up, because a timeout of 0 would make this loop spin during the last millisecond.
        let left = deadline.saturating_duration_since(Instant::now()).as_micros().div_ceil(1000);
        let timeout = PollTimeout::try_from(left).unwrap_or(PollTimeout::MAX);
        match poll(fds, timeout) {
            Ok(0) if Instant::now() < deadline => {}
            Err(Errno::EINTR) => {}
            _ => return,
        }
    }
}

/// Blocks SIGTERM for this process and the threads that it starts, and returns a descriptor from
/// which the signal can be read instead.
fn take_over_terminations() -> Result<SignalFd, Failure> {
    let signals = SigSet::from(Signal::SIGTERM);
    signals.thread_block().map_err(Failure::run("blocking SIGTERM"))?;
    SignalFd::new(&signals).map_err(Failure::run("reading signals"))
}
