//! The session: obeys the controller until it is gone.

use std::os::fd::AsFd;
use std::process;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use netstudy_records::{HostCommand, HostRecord};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};

use crate::children::Children;
use crate::guard::Guard;
use crate::input::Input;
use crate::lease::Lease;
use crate::listen::Listeners;
use crate::lock::Lock;
use crate::output::Output;
use crate::{Failure, clock, facts, files, interfaces, reach};

/// Longest time between two looks at children, by which stopped ones are found.
const LOOK: Duration = Duration::from_millis(250);
/// Longest time for the last records to be written.
const PATIENCE: Duration = Duration::from_millis(200);

/// Carries one session of a controller: reads its lines from standard input, writes records to
/// standard output. Ends the process when the session is over: at the end of standard input, at
/// SIGTERM or SIGHUP, or if no line has come for the time of the lease. All children are then killed.
///
/// `nonce` is written first, so that the controller finds the beginning of the session behind the
/// output of log-in scripts.
///
/// # Errors
/// The session cannot begin or go on.
pub fn run(nonce: &str, lease: Duration) -> Result<(), Failure> {
    // Done before threads are started, because they inherit the mask.
    let signals = take_over_signals()?;
    let output = Output::start()?;
    output.say_line(format!("netstudy {nonce}"));
    output.say(&HostRecord::Hello(facts::read()?));
    let lock = match Lock::take()? {
        Ok(lock) => lock,
        Err(locked) => {
            output.say(&locked);
            output.settle(PATIENCE);
            return Ok(());
        }
    };
    let mut session = Session {
        input: Input::of_stdin().map_err(Failure::during("standard input"))?,
        children: Children::new(Arc::clone(&output)),
        listeners: Listeners::default(),
        lease: Lease::new(lease),
        guard: Guard::start(lease)?,
        lock,
        signals,
        output: Arc::clone(&output),
    };
    let outcome = session.obey();
    session.children.kill_all();
    match &outcome {
        Ok(End::ControllerGone) => {}
        Ok(End::LeaseOver) => output.say(&HostRecord::LeaseOver),
        Err(failure) => output.say(&HostRecord::Error { message: failure.to_string() }),
    }
    output.settle(PATIENCE);
    match outcome {
        // Threads may still wait for a reader of standard output.
        Ok(_) => process::exit(0),
        Err(failure) => Err(failure),
    }
}

/// Why a session is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// The controller, or somebody on this host, has ended it.
    ControllerGone,
    LeaseOver,
}

struct Session {
    output: Arc<Output>,
    input: Input,
    children: Children,
    listeners: Listeners,
    lease: Lease,
    guard: Guard,
    lock: Lock,
    signals: SignalFd,
}

impl Session {
    fn obey(&mut self) -> Result<End, Failure> {
        loop {
            // Before lines are read: lines that arrived while this process was stopped come too late.
            if self.lease.left().is_zero() {
                return Ok(End::LeaseOver);
            }
            self.guard.beat()?;
            self.children.look();
            if self.output.is_broken() {
                return Ok(End::ControllerGone);
            }
            let [has_input, has_signal] = self.wait()?;
            if has_signal && self.is_ended_by_signal()? {
                return Ok(End::ControllerGone);
            }
            if self.lease.left().is_zero() || !has_input {
                continue;
            }
            if !self.input.fill().map_err(Failure::during("standard input"))? {
                return Ok(End::ControllerGone);
            }
            while let Some(line) = self.input.take() {
                self.lease.renew();
                if let Err(message) = self.obey_line(&line) {
                    self.output.say(&HostRecord::Error { message });
                }
            }
        }
    }

    /// Waits for input, for a signal, or until there is something to be looked after.
    fn wait(&self) -> Result<[bool; 2], Failure> {
        let longest = self.lease.left().min(self.guard.interval()).min(LOOK);
        // Rounded up, because a timeout of 0 would make the loop spin during the last millisecond.
        let timeout = PollTimeout::try_from(longest.as_micros().div_ceil(1000));
        let mut fds = [
            PollFd::new(self.input.as_fd(), PollFlags::POLLIN),
            PollFd::new(self.signals.as_fd(), PollFlags::POLLIN),
            PollFd::new(self.lock.as_fd(), PollFlags::POLLIN),
        ];
        match poll(&mut fds, timeout.unwrap_or(PollTimeout::MAX)) {
            Ok(_) | Err(Errno::EINTR) => {}
            Err(error) => return Err(Failure::during("waiting")(error)),
        }
        let [has_input, has_signal, is_asked] = fds.map(|fd| fd.any() == Some(true));
        if is_asked {
            self.lock.dismiss();
        }
        Ok([has_input, has_signal])
    }

    /// Takes all signals; true if one of them ends the session. SIGCHLD only ends the wait.
    fn is_ended_by_signal(&mut self) -> Result<bool, Failure> {
        let mut is_ended = false;
        while let Some(signal) = self.signals.read_signal().map_err(Failure::during("signals"))? {
            is_ended |= signal.ssi_signo != Signal::SIGCHLD as u32;
        }
        Ok(is_ended)
    }

    /// Obeys a line, or passes it on.
    fn obey_line(&mut self, line: &[u8]) -> Result<(), String> {
        let tab = line.iter().position(|&byte| byte == b'\t');
        let tab = tab.ok_or("a line without a tab; lines are NAME<TAB>LINE")?;
        let (name, rest) = (&line[..tab], &line[tab + 1..]);
        if name.is_empty() {
            let command =
                serde_json::from_slice(rest).map_err(|error| format!("a command: {error}"))?;
            return self.obey_command(command);
        }
        self.children.named(&String::from_utf8_lossy(name))?.tell(rest.to_vec());
        Ok(())
    }

    fn obey_command(&mut self, command: HostCommand) -> Result<(), String> {
        match command {
            HostCommand::Alive => self.output.say(&HostRecord::Alive),
            HostCommand::Clock { n } => self.output.say(&HostRecord::Clock {
                n,
                monotonic_ns: clock::monotonic_ns(),
                realtime_ns: clock::realtime_ns(),
            }),
            HostCommand::Start { name, program } => return self.children.start(name, program),
            HostCommand::Close { name } => self.children.named(&name)?.close(),
            HostCommand::Signal { name, signal } => return self.children.signal(&name, signal),
            HostCommand::Read { n, paths } => {
                return self
                    .answer_later(move || HostRecord::Read { n, files: files::read(&paths) });
            }
            HostCommand::Interfaces { n } => {
                return self.answer_later(move || match interfaces::read() {
                    Ok(interfaces) => HostRecord::Interfaces { n, interfaces },
                    Err(error) => HostRecord::Error { message: format!("interfaces {n}: {error}") },
                });
            }
            HostCommand::Listen { n, local, peers, port, for_ms } => {
                let time = Duration::from_millis(for_ms);
                let port = self.listeners.listen(n, local, peers, port, time);
                let port = port.map_err(|error| format!("listen {n}: {error}"))?;
                self.output.say(&HostRecord::Listening { n, port });
            }
            HostCommand::Unlisten { n } => self.listeners.close(n),
            HostCommand::Reach { n, local, peer, port, sizes, timeout_ms } => {
                let timeout = Duration::from_millis(timeout_ms);
                return self
                    .answer_later(move || reach::probe(n, local, peer, port, &sizes, timeout));
            }
        }
        Ok(())
    }

    /// Finds an answer in a thread of its own, because that may take a while.
    fn answer_later(
        &self,
        answer: impl FnOnce() -> HostRecord + Send + 'static,
    ) -> Result<(), String> {
        let output = Arc::clone(&self.output);
        let thread = thread::Builder::new().name("answer".to_owned());
        let started = thread.spawn(move || output.say(&answer()));
        started.map(drop).map_err(|error| format!("starting a thread: {error}"))
    }
}

/// Blocks the signals that this process reads from a descriptor instead, in all its threads.
fn take_over_signals() -> Result<SignalFd, Failure> {
    let mut signals = SigSet::empty();
    for signal in [Signal::SIGTERM, Signal::SIGHUP, Signal::SIGCHLD] {
        signals.add(signal);
    }
    signals.thread_block().map_err(Failure::during("blocking signals"))?;
    let flags = SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC;
    SignalFd::with_flags(&signals, flags).map_err(Failure::during("reading signals"))
}
