//! Waits for frames, commands, signals or a point in time, whichever comes first.
//!
//! A timer wakes a thread tens of microseconds late, which is several times the duration of a
//! frame. Waking a thread on another CPU when a frame arrives takes about as long. So at the end of
//! each wait the switch polls instead of sleeping. With a dedicated CPU, it also polls for a while
//! after each step. On a machine with one CPU, polling would delay the hosts, so the switch sleeps
//! whenever it can.

use std::num::NonZeroUsize;
use std::os::fd::{BorrowedFd, OwnedFd};

use netstudy_units::{Duration, Time};
use nix::errno::Errno;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::SignalFd;
use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};

use crate::clock::Clock;

/// If a wait on a shared CPU is shorter than this, the switch polls instead of sleeping. On most
/// machines, 99 % of timers are late by less than this.
const AWAKE_SHARED: Duration = Duration::from_us(50);
/// How long a switch with a dedicated CPU polls before and after each step. It is ten times as long
/// as waking a thread may take in nested virtual machines.
const AWAKE_ALONE: Duration = Duration::from_ms(1);

const INPUT: u64 = u64::MAX;
const SIGNAL: u64 = u64::MAX - 1;
const TIMER: u64 = u64::MAX - 2;

/// An event source that is ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ready {
    /// A port has received frames.
    Port(usize),
    /// The controller sent input or is gone.
    Input,
    /// SIGTERM.
    Signal,
}

/// How long a switch polls before each step, and how long after it.
fn awake(alone: bool) -> (Duration, Duration) {
    let cpus = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    match (cpus, alone) {
        (1, false) => (Duration::ZERO, Duration::ZERO),
        (_, false) => (AWAKE_SHARED, Duration::ZERO),
        (_, true) => (AWAKE_ALONE, AWAKE_ALONE),
    }
}

/// All sources that the switch waits for.
pub(crate) struct Waiting {
    epoll: Epoll,
    timer: TimerFd,
    /// While this exists, SIGTERM does not end the process but can be read.
    _signals: SignalFd,
    events: Vec<EpollEvent>,
    ready: usize,
    /// How long before a due time polling starts.
    before: Duration,
    /// How long polling continues after a step.
    behind: Duration,
    active_at: Time,
    alarm: Time,
}

impl Waiting {
    /// Prepares to wait for `ports` and `input`; `alone` is true on a dedicated CPU. From now on,
    /// SIGTERM no longer ends the process directly but is reported as an event.
    pub(crate) fn new(ports: &[OwnedFd], input: BorrowedFd<'_>, alone: bool) -> nix::Result<Self> {
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
        let timer = TimerFd::new(ClockId::CLOCK_MONOTONIC, TimerFlags::TFD_CLOEXEC)?;
        let mut terminate = SigSet::empty();
        terminate.add(Signal::SIGTERM);
        terminate.thread_block()?;
        let signals = SignalFd::new(&terminate)?;
        for (port, fd) in ports.iter().enumerate() {
            epoll.add(fd, EpollEvent::new(EpollFlags::EPOLLIN, port as u64))?;
        }
        epoll.add(input, EpollEvent::new(EpollFlags::EPOLLIN, INPUT))?;
        epoll.add(&signals, EpollEvent::new(EpollFlags::EPOLLIN, SIGNAL))?;
        // Edge-triggered, so that the timer need not be read after an alarm.
        epoll.add(&timer, EpollEvent::new(EpollFlags::EPOLLIN | EpollFlags::EPOLLET, TIMER))?;
        let (before, behind) = awake(alone);
        Ok(Self {
            epoll,
            timer,
            _signals: signals,
            events: vec![EpollEvent::empty(); ports.len() + 3],
            ready: 0,
            before,
            behind,
            active_at: Time::ZERO,
            alarm: Time::NEVER,
        })
    }

    /// Waits until a source is ready or `until` is near. Afterwards, [`Self::ready`] tells how many
    /// sources are ready.
    pub(crate) fn wait(&mut self, clock: Clock, until: Time) -> nix::Result<()> {
        let now = clock.now();
        if until <= now {
            self.active_at = now;
        }
        let alarm = until.saturating_sub(self.before);
        let sleeps = now < alarm && now >= self.active_at + self.behind;
        if sleeps && alarm != self.alarm {
            let at = Expiration::OneShot(clock.alarm(alarm));
            self.timer.set(at, TimerSetTimeFlags::TFD_TIMER_ABSTIME)?;
            self.alarm = alarm;
        }
        let timeout = if sleeps { EpollTimeout::NONE } else { EpollTimeout::ZERO };
        self.ready = match self.epoll.wait(&mut self.events, timeout) {
            Err(Errno::EINTR) => 0,
            other => other?,
        };
        if self.ready > 0 {
            self.active_at = clock.now();
        }
        Ok(())
    }

    /// Number of sources that are ready since the last call of [`Self::wait`].
    pub(crate) fn ready(&self) -> usize {
        self.ready
    }

    /// The ready source with the index `number`; none for the timer.
    pub(crate) fn get(&self, number: usize) -> Option<Ready> {
        match self.events[number].data() {
            INPUT => Some(Ready::Input),
            SIGNAL => Some(Ready::Signal),
            TIMER => None,
            port => Some(Ready::Port(port as usize)),
        }
    }
}
