//! Waiting for frames, commands, signals, or a point in time, whichever comes first.
//!
//! A timer wakes a thread tens of microseconds late, several times the duration of a frame, and a frame
//! wakes a thread on another CPU not much sooner. So the last part of a wait is busy polling. With a
//! CPU of its own, a switch also polls for a while after each step; on a machine with one CPU, where
//! polling would hold up the hosts, it sleeps whenever it can.

use std::num::NonZeroUsize;
use std::os::fd::{BorrowedFd, OwnedFd};

use netstudy_units::{Duration, Time};
use nix::errno::Errno;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::SignalFd;
use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};

use crate::clock::Clock;

/// On a shared CPU, waits shorter than this are polled instead of slept: 99 of 100 timers wake within
/// it on most machines.
const AWAKE_SHARED: Duration = Duration::from_us(50);
/// How long before and after each step a switch with a CPU of its own polls. A virtual machine in a
/// virtual machine may take a tenth of that to wake a thread.
const AWAKE_ALONE: Duration = Duration::from_ms(1);

const INPUT: u64 = u64::MAX;
const SIGNAL: u64 = u64::MAX - 1;
const TIMER: u64 = u64::MAX - 2;

/// Something to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ready {
    /// A port has received frames.
    Port(usize),
    /// The controller said something, or is gone.
    Input,
    /// SIGTERM.
    Signal,
}

/// How long before and after each step a switch polls.
fn awake(alone: bool) -> (Duration, Duration) {
    let cpus = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    match (cpus, alone) {
        (1, false) => (Duration::ZERO, Duration::ZERO),
        (_, false) => (AWAKE_SHARED, Duration::ZERO),
        (_, true) => (AWAKE_ALONE, AWAKE_ALONE),
    }
}

/// All that is waited for.
pub(crate) struct Waiting {
    epoll: Epoll,
    timer: TimerFd,
    /// Holds the signal back from the process.
    _signals: SignalFd,
    events: Vec<EpollEvent>,
    ready: usize,
    /// How long before a due time polling begins.
    before: Duration,
    /// How long after a step polling goes on.
    behind: Duration,
    active_at: Time,
    alarm: Time,
}

impl Waiting {
    /// Waits for `ports` and `input` from now on, on a CPU of its own if `alone`. SIGTERM no longer
    /// ends the process by itself.
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
        // Edge-triggered, so that an alarm need not be read away.
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

    /// Waits until there is something to do, or `until` is near; see [`Self::ready`].
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

    /// The source that is ready, as of the last call of [`Self::wait`].
    pub(crate) fn ready(&self) -> usize {
        self.ready
    }

    /// The thing to do with that number.
    pub(crate) fn get(&self, number: usize) -> Option<Ready> {
        match self.events[number].data() {
            INPUT => Some(Ready::Input),
            SIGNAL => Some(Ready::Signal),
            TIMER => None,
            port => Some(Ready::Port(port as usize)),
        }
    }
}
